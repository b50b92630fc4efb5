"""Models of OpenSim that vary from public ones by a seed: other numbers, other joints, other paths.

Bodies, offset frames, axes, functions, paths, muscles and gravity get other numbers, and some pins become sliders,
universal, gimbal, planar or ball joints, the last only where nothing else refers to a coordinate: pysim reads such
balls as three angles. Coordinates keep their names, and joints with more of them get further ones.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.random import Generator

PINS = {
    "PinJoint": 1,
    "SliderJoint": 1,
    "UniversalJoint": 2,
    "GimbalJoint": 3,
    "PlanarJoint": 3,
    "BallJoint": 3,
}  # what a pin may become, with the number of coordinates
MUSCLE_KEYS = ("max_isometric_force", "optimal_fiber_length", "tendon_slack_length")
POINTS = {"PathPoint", "ConditionalPathPoint"}


def write_variant(source: Path, seed: int, target: Path) -> None:
    """Write a model that varies from `source`."""
    tree = ET.parse(source)
    root, rng = tree.getroot(), np.random.default_rng(seed)
    named = {element.text for element in root.iter("coordinate")}
    for joints in root.iter("JointSet"):
        for pin in [*joints.iter("PinJoint")]:
            if rng.uniform() < 0.5:
                _replace(pin, str(rng.choice(list(PINS))), named)
    for gravity in root.iter("gravity"):
        _shift(gravity, rng, 1.0)
    for body in root.iter("Body"):
        _vary_body(body, rng)
    for frame in root.iter("PhysicalOffsetFrame"):
        for tag, size in (("translation", 0.02), ("orientation", 0.1)):
            for number in frame.findall(tag):
                _shift(number, rng, size)
    for axis in root.iter("TransformAxis"):
        for number in axis.findall("axis"):
            _shift(number, rng, 0.1)
    for function in [*root.iter("SimmSpline"), *root.iter("LinearFunction")]:
        for tag in ("y", "coefficients"):
            for number in function.findall(tag):
                _scale(number, rng, 0.1)
    for point in root.iter():
        if point.tag in POINTS:
            for number in point.findall("location"):
                _shift(number, rng, 0.003)
    for tag in MUSCLE_KEYS:
        for number in root.iter(tag):
            _scale(number, rng, 0.1)
    tree.write(target, "utf-8", xml_declaration=True)


def _vary_body(body: ET.Element, rng: Generator) -> None:
    factor, mass = rng.uniform(0.5, 2.0), float(body.findtext("mass", "0"))
    least = {"mass": np.zeros(1), "inertia": 1e-3 * mass * np.array([1.0, 1, 1, 0, 0, 0])}
    for tag, more in least.items():
        for number in body.findall(tag):
            values = factor * np.array((number.text or "").split(), float) + more
            number.text = " ".join(map(repr, values.tolist()))
    for number in body.findall("mass_center"):
        _shift(number, rng, 0.01)


def _replace(pin: ET.Element, kind: str, named: set[str | None]) -> None:
    """Make another joint of a pin, of whose coordinates some are named elsewhere."""
    coordinates = pin.find("coordinates")
    assert coordinates is not None
    (first,) = coordinates.findall("Coordinate")
    is_used = first.attrib["name"] in named or first.findtext("locked") == "true"
    kind = "GimbalJoint" if kind == "BallJoint" and is_used else kind
    pin.tag = kind
    for k in range(2, PINS[kind] + 1):
        further = ET.SubElement(coordinates, "Coordinate", name=f"{first.attrib['name']}_{k}")
        for tag, value in (("default_value", "0"), ("range", "-1 1"), ("locked", "false")):
            ET.SubElement(further, tag).text = value


def _shift(number: ET.Element, rng: Generator, size: float) -> None:
    values = np.array((number.text or "").split(), float)
    number.text = " ".join(map(repr, (values + size * rng.normal(size=values.shape)).tolist()))


def _scale(number: ET.Element, rng: Generator, size: float) -> None:
    values = np.array((number.text or "").split(), float)
    factors = 1 + size * rng.uniform(-1, 1, size=values.shape)
    number.text = " ".join(map(repr, (values * factors).tolist()))
