"""Writer of a mechanism as a URDF file: links, joints of its types, shapes and inertias, numbers exact to the last bit.

The joint "root_fixed" that the reader adds is left out; bodies on the world are joined to a root link "world". What a
URDF file cannot hold is refused with its name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from pysim.inertia import center_of_mass
from pysim.joints import find_joint
from pysim.scene.inertia_text import ENTRIES, clean_inertia
from pysim.scene.poses import rpy_of
from pysim.scene.stop_defaults import with_stops
from pysim.scene.toml.contacts import DEFAULT
from pysim.scene.tree import WORLD
from pysim.scene.urdf.reader import GRAVITY, ROOT_FIXED
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pysim.scene.conversion_limits import Refusals
    from pysim.scene.spec import BodySpec, JointSpec, ModelSpec
    from pysim.shapes import Geometry, Shape

_TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "free": "floating",
    "ball": "spherical",
}
_AXIAL = ("revolute", "prismatic")
_NEEDED = ("effort", "velocity")  # attributes of <limit> that other readers demand


@dataclass
class UrdfWriter:
    """Writer of a mechanism, which names meshes by a function and reports to `refusals`."""

    refusals: Refusals
    mesh_name: Callable[[Path, str], str]

    def text(self, spec: ModelSpec) -> str:
        """Return the text of the file."""
        self._refuse_parts(spec)
        robot = Element("robot", name=spec.name)
        root = self._root(spec)
        if root is None:
            SubElement(robot, "link", name=WORLD)
        for body in spec.bodies:
            self._link(robot, body)
        chosen = _with_own_stops(spec)
        for joint in spec.joints:
            if joint is not root:
                self._joint(robot, joint, chosen[joint.name])
        for frame in spec.frames:
            SubElement(robot, "link", name=frame.name)
            weld = SubElement(robot, "joint", name=f"{frame.name}_fixed", type="fixed")
            SubElement(weld, "parent", link=frame.body)
            SubElement(weld, "child", link=frame.name)
            _origin(weld, frame.pose)
        indent(robot)
        return '<?xml version="1.0"?>\n' + tostring(robot, encoding="unicode") + "\n"

    def _root(self, spec: ModelSpec) -> JointSpec | None:
        """Return the joint that the reader adds to the root link, None if the world is a link of its own."""
        on_world = [joint for joint in spec.joints if joint.parent == WORLD]
        frames = [frame for frame in spec.frames if frame.body == WORLD]
        first = on_world[0] if len(on_world) == 1 and not frames else None
        is_added = (
            first is not None
            and (first.name, first.type) == (ROOT_FIXED, "fixed")
            and np.array_equal(first.at, np.eye(4))
        )
        return first if is_added else None

    def _refuse_parts(self, spec: ModelSpec) -> None:
        parts: list[tuple[str, Iterable[object]]] = [
            ("loop", spec.loops),
            ("motion", spec.motions),
            ("coupling", spec.couplings),
            ("force", spec.forces),
            ("keyframe", spec.keyframes),
        ]
        for word, items in parts:
            for item in items:
                name, where = getattr(item, "name", ""), getattr(item, "where", "")
                self.refusals.add(where, f"{word} {name!r}")
        for joint in spec.joints:
            if joint.motions:
                self.refusals.add(joint.where, f"the prescribed motion of joint {joint.name!r}")
        if tuple(spec.gravity.tolist()) != GRAVITY:
            x, y, z = spec.gravity
            self.refusals.add(spec.where, f"gravity {x:g} {y:g} {z:g} m/s²")
        contacts = spec.contacts
        if spec.grounds:
            self.refusals.add(spec.where, "the ground")
        for name in contacts.materials if contacts is not None else ():
            if name != DEFAULT:
                self.refusals.add(spec.where, f"material {name!r}")

    def _link(self, robot: Element, body: BodySpec) -> None:
        link = SubElement(robot, "link", name=body.name)
        theta = body.theta
        if theta.any() and theta[0] > 0:
            inertial = SubElement(link, "inertial")
            xyz = _format_numbers(center_of_mass(theta))
            SubElement(inertial, "origin", xyz=xyz, rpy="0 0 0")
            SubElement(inertial, "mass", value=repr(float(theta[0])))
            I_C = clean_inertia(theta)
            entries = {f"i{name}": repr(float(I_C[at])) for name, at in ENTRIES.items()}
            SubElement(inertial, "inertia", entries)
        elif theta.any():
            problem = f"body {body.name!r} has an inertia and no mass; give it a mass [kg]"
            self.refusals.reject(body.where, problem)
        collide = [(own.shape, own.pose) for own in body.collisions]
        drawn = {id(g) for g in body.geometries if g.role == "collision"}
        for geometry in body.geometries:
            self._geometry(link, body, geometry)
        if collide and not drawn:
            for shape, pose in collide:
                element = SubElement(link, "collision")
                _origin(element, pose)
                self._form(element, shape, body)

    def _geometry(self, link: Element, body: BodySpec, geometry: Geometry) -> None:
        element = SubElement(link, geometry.role)
        _origin(element, geometry.pose)
        if not self._form(element, geometry.shape, body):
            link.remove(element)
        elif geometry.color is not None and geometry.role == "visual":
            material = SubElement(element, "material", name="")
            SubElement(material, "color", rgba=_format_numbers(geometry.color))

    def _form(self, element: Element, shape: Shape, body: BodySpec) -> bool:
        """Add a shape; return whether a URDF file has its kind."""
        primitive = shape.primitive
        if shape.kind != "mesh" and (primitive is None or not primitive.is_in_urdf):
            self.refusals.add(body.where, f"the {shape.kind} of body {body.name!r}")
            return False
        form = SubElement(element, "geometry")
        if shape.mesh is not None:
            mesh = SubElement(form, "mesh", filename=self.mesh_name(shape.mesh, body.where))
            if shape.scale != (1.0, 1.0, 1.0):
                mesh.set("scale", _format_numbers(shape.scale))
        elif primitive is not None:
            size = iter(shape.size)
            keys = {
                key: _format_numbers(tuple(islice(size, count)))
                for key, count in primitive.xml_keys
            }
            SubElement(form, shape.kind, keys)
        return True

    def _joint(self, robot: Element, joint: JointSpec, chosen: JointSpec) -> None:
        """Add a joint; `chosen` is the one whose stops and friction the reader would choose."""
        if joint.type not in _TYPES:
            problem = f"joint {joint.name!r} of type {joint.type!r} has no place in a URDF file"
            self.refusals.reject(joint.where, f"{problem}; its types are {', '.join(_TYPES)}")
            return
        bounded = np.isfinite(joint.lower).any() or np.isfinite(joint.upper).any()
        kind = "continuous" if joint.type == "revolute" and not bounded else _TYPES[joint.type]
        element = SubElement(robot, "joint", name=joint.name, type=kind)
        SubElement(element, "parent", link=joint.parent)
        SubElement(element, "child", link=joint.child)
        _origin(element, joint.at)
        if find_joint(joint.type).nv == 0:
            return
        if joint.type in {*_AXIAL, "planar"}:
            SubElement(element, "axis", xyz=_format_numbers(joint.axis))
        self._limit(element, joint)
        if joint.damping.any() or joint.friction.any():
            given = {"damping": joint.damping, "friction": joint.friction}
            for name, values in given.items():
                if len(set(values.tolist())) > 1:
                    self.refusals.add(joint.where, f"the {name} of joint {joint.name!r} by axis")
            attributes = {name: repr(float(values[0])) for name, values in given.items()}
            SubElement(element, "dynamics", attributes)
        if joint.mimic is not None:
            m = joint.mimic
            ratio, offset = repr(float(m.ratio)), repr(float(m.offset))
            SubElement(element, "mimic", joint=m.joint, multiplier=ratio, offset=offset)
        self._refuse_values(joint, chosen)

    def _limit(self, element: Element, joint: JointSpec) -> None:
        bounds = {"lower": joint.lower, "upper": joint.upper}
        attributes: dict[str, str] = {}
        finite = {name: bool(np.isfinite(values).all()) for name, values in bounds.items()}
        if all(finite.values()) and joint.type in _AXIAL:
            attributes = {name: repr(float(values[0])) for name, values in bounds.items()}
        elif any(np.isfinite(values).any() for values in bounds.values()):
            what = f"the limits of joint {joint.name!r}"
            self.refusals.add(joint.where, what, "give a hinge or slider lower and upper")
        for name in _NEEDED:
            value = getattr(joint, f"{name}_limit")
            if value is not None:
                attributes[name] = repr(float(value))
        if attributes:
            SubElement(element, "limit", attributes)

    def _refuse_values(self, joint: JointSpec, chosen: JointSpec) -> None:
        """Refuse what a URDF joint has no attribute for."""
        kind = find_joint(joint.type)
        names = [name for name in ("armature", "stiffness") if getattr(joint, name).any()]
        if joint.mimic is None:
            if not np.array_equal(joint.start_q, kind.neutral):
                names.append("start")
            if joint.start_v.any():
                names.append("start velocity")
        names += [
            word
            for word, key in (
                ("friction_width", "friction_width"),
                ("limits.stiffness", "stop_stiffness"),
                ("limits.damping", "stop_damping"),
            )
            if not np.allclose(getattr(joint, key), getattr(chosen, key), rtol=1e-9, atol=0)
        ]
        for name in names:
            self.refusals.add(joint.where, f"the {name} of joint {joint.name!r}")


def _with_own_stops(spec: ModelSpec) -> dict[str, JointSpec]:
    """Return the joints with the stops and friction that a reader chooses, by name."""
    unsaid = [
        replace(
            joint,
            friction_width=np.full_like(joint.friction, np.nan),
            stop_stiffness=np.full_like(joint.friction, np.nan),
            stop_damping=np.full_like(joint.friction, np.nan),
        )
        for joint in spec.joints
    ]
    return {joint.name: joint for joint in with_stops(unsaid, spec.bodies)}


def _origin(element: Element, X: Array) -> None:
    if np.array_equal(X, np.eye(4)):
        return
    SubElement(
        element, "origin", xyz=_format_numbers(X[:3, 3]), rpy=_format_numbers(rpy_of(X[:3, :3]))
    )


def _format_numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)
