"""Friction of the links of a URDF file, which it has for other programs: Gazebo, Bullet and Drake.

    <gazebo reference="foot"><mu1>0.9</mu1><mu2>0.9</mu2></gazebo>
    <link name="foot"><contact><lateral_friction value="0.9"/></contact></link>
    <collision><drake:proximity_properties><drake:mu_static value="0.9"/></drake:proximity_properties></collision>

The number for each program is taken as the friction of a material of pysim. One that is given for several programs is
that of Drake, else of Gazebo. Stiffness and damping for these programs are listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pysim.scene.materials import Materials, with_contacts
from pysim.scene.spec import SurfaceSpec
from pysim.scene.urdf.xml import parse_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.spec import BodySpec, ContactsSpec
    from pysim.scene.urdf.xml import Element
    from pysim.shapes import Geometry

DRAKE = "drake:proximity_properties"
DEFAULT = "default"


def read_contacts(
    robot: Element,
    stem: str,
    bodies: Iterable[BodySpec],
    excluded: tuple[tuple[str, str], ...],
    omissions: Omissions,
) -> tuple[tuple[BodySpec, ...], ContactsSpec | None]:
    """Return the bodies and their contacts, with the pairs that an SRDF file excludes; None if there are neither."""
    frictions: dict[str, SurfaceSpec] = {}
    for link in robot.all("link"):
        name = link.attributes.get("name", "")
        for contact in link.all("contact"):
            _add(frictions, name, contact, ("lateral_friction",), omissions)
            _add_turning(frictions, name, contact, omissions)
    for extension in robot.all("gazebo"):
        _add(
            frictions,
            extension.attributes.get("reference", ""),
            extension,
            ("mu1", "mu2"),
            omissions,
        )
    for link in robot.all("link"):
        name = link.attributes.get("name", "")
        for properties in (p for c in link.all("collision") for p in c.all(DRAKE)):
            _add(frictions, name, properties, ("drake:mu_static", "drake:mu_dynamic"), omissions)
    materials = Materials(stem)

    def material(body: BodySpec, _: Geometry) -> str:
        found = frictions.get(body.name)
        return DEFAULT if found is None else materials.name(found)

    return with_contacts(bodies, material, materials, excluded=excluded)


def _add(
    frictions: dict[str, SurfaceSpec],
    link: str,
    holder: Element,
    tags: tuple[str, ...],
    omissions: Omissions,
) -> None:
    """Record the friction in the children of an element, the larger of two as the static one."""
    coefficients = [
        value
        for tag in tags
        for element in holder.all(tag)
        if (value := _read_friction(element, link, omissions)) is not None
    ]
    if not coefficients:
        return
    static, dynamic = max(coefficients), min(coefficients)
    if tags[0] == "mu1" and static != dynamic:
        item = f"link {link!r}: <mu1> {coefficients[0]:g} and <mu2> {coefficients[-1]:g}"
        reason = f"differ, and friction has no direction: it is {dynamic:g}"
        omissions.add("frictions", item, holder.where, reason)
        static = dynamic
    frictions[link] = SurfaceSpec(static_friction=static, dynamic_friction=dynamic)


def _add_turning(
    frictions: dict[str, SurfaceSpec], link: str, contact: Element, omissions: Omissions
) -> None:
    """Record the lengths of rolling and spinning friction [m], which Bullet multiplies by the ground's friction."""
    for name in ("rolling", "spinning"):
        for element in contact.all(f"{name}_friction"):
            value = _read_friction(element, link, omissions)
            own = frictions.get(link, SurfaceSpec())
            if value and name == "rolling":
                frictions[link] = replace(own, rolling=value)
            elif value:
                frictions[link] = replace(own, spinning=value)


def _read_friction(element: Element, link: str, omissions: Omissions) -> float | None:
    """Return the number in an element's text or attribute `value`; None if it is no friction."""
    text = element.attributes.get("value", element.content).strip()
    numbers = parse_numbers(text)
    if numbers is None or len(numbers) != 1 or numbers[0] < 0:
        item = f"link {link!r}: <{element.tag}>"
        reason = f"is left out: friction must be a number that is not negative, got {text!r}"
        omissions.add("frictions", item, element.where, reason)
        return None
    return numbers[0]
