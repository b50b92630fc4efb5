"""Mistakes in the table of a rod, each with its place, problem and remedy. Oracle: the messages as they should read."""

from __future__ import annotations

import re

import pytest

import pysim
from pysim.errors import SceneError

STEEL = {"young": 2e11, "density": 7850}
ROD = {"length": 1.0, "section": {"circle": 0.01}, "material": STEEL, "bars": 4}
STIFF = {"EI": 1.0, "GJ": 1.0, "mass_per_length": 0.1}
HELD = {"b": "world", "at_b": {"xyz": [1, 0, 0]}}
CORNER = [[0, 0, 0], [1, 0, 0], [1, 1, 0]]

MISTAKES = {
    "no length": ({"length": None}, "has no length; give length [m], or path"),
    "two lengths": ({"path": CORNER}, "has length and path, which has a length; give one"),
    "negative length": ({"length": -1.0}, "must be positive [m], got -1.0"),
    "length as text": ({"length": "long"}, "must be a number [m], got 'long'"),
    "length in degrees": ({"length": "3 deg"}, "length"),
    "no section": ({"section": None}, "section: is missing; add it"),
    "empty section": ({"section": {}, "material": None}, "has no EI and GJ and mass_per_length; give EI"),
    "shape without material": ({"material": None}, "give material = { young, density }, or EI and GJ"),
    "material without shape": ({"section": STIFF}, "needs the shape of the section; give circle, tube"),
    "material without effect": (
        {"section": {"circle": 0.01, **STIFF}}, "has no effect, as section has EI, GJ and mass_per_length"
    ),
    "two shapes": ({"section": {"circle": 0.01, "tube": [0.02, 0.01]}}, "has circle and tube; give one of them"),
    "misspelt shape": ({"section": {"circel": 0.01}}, "unknown key; did you mean 'circle'"),
    "tube inside out": ({"section": {"tube": [0.01, 0.012]}}, "is not less than the outer one 0.01 [m]"),
    "tube of one number": ({"section": {"tube": 0.01}}, "write tube = [outer, inner]"),
    "rectangle of three": ({"section": {"rectangle": [0.1, 0.1, 0.1]}}, "write rectangle = [y, z]"),
    "negative diameter": ({"section": {"circle": -0.01}}, "circle: must be positive, got -0.01"),
    "negative stiffness": ({"section": {**STIFF, "EI": -1.0}, "material": None}, "EI: must not be negative, got -1"),
    "rows out of order": ({"section": {"circle": [[1.0, 0.02], [0.0, 0.01]]}}, "s must increase from row to row"),
    "rows beyond the rod": ({"section": {"circle": [[0.0, 0.02], [1.5, 0.01]]}}, "s = 1.5 [m] is not on the rod"),
    "rows of different length": (
        {"section": {**STIFF, "EI": [[0, 1.0], [1, 1.0, 2.0]]}, "material": None}, "same count of numbers"
    ),
    "GJ with two numbers": ({"section": {**STIFF, "GJ": [1.0, 2.0]}, "material": None}, "write GJ = number"),
    "no Young's modulus": ({"material": {"density": 1000}}, "young: is missing; add it: Young's modulus [Pa]"),
    "no density": ({"material": {"young": 1e9}}, "density: is missing; add it"),
    "impossible Poisson's ratio": ({"material": {**STEEL, "poisson": 0.7}}, "must be at most 0.5"),
    "two shear moduli": ({"material": {**STEEL, "poisson": 0.3, "shear": 1e9}}, "has poisson and shear; give one"),
    "material by name": ({"material": "steel"}, "must be a table"),
    "odd bars": ({"bars": 5}, "as an end is clamped and its hinges have Simpson's weights, got 5; take 6"),
    "one bar": ({"bars": 1}, "must be at least 2"),
    "fractional bars": ({"bars": 4.5}, "bars: must be a whole number, got 4.5"),
    "one end": ({"ends": ["clamped"]}, "must have 2 names, got 1"),
    "unknown end": ({"ends": ["clamped", "welded"]}, "unknown value 'welded'; known: clamped, ball, free"),
    "far end of nothing": ({"ends": ["clamped", "ball"]}, "the far end is 'ball', and nothing holds it; give b"),
    "free end in a hand": ({**HELD, "ends": ["clamped", "free"]}, "the far end is free, and b is 'world'"),
    "free beginning on a body": (
        {"ends": ["free", "free"], "a": "block"}, "a free end starts in the world, leave a out"
    ),
    "at_b without b": ({"at_b": {"xyz": [1, 0, 0]}}, "has no effect without b; give b, or leave at_b out"),
    "slide without b": ({"slide": True}, "has no effect without b; give b, or leave slide out"),
    "unknown body": ({"a": "blok"}, "unknown body or frame 'blok'; did you mean 'block'"),
    "unknown far body": ({"b": "blok"}, "unknown body or frame 'blok'; did you mean 'block'"),
    "negative damping": ({"damping": -1e-3}, "must not be negative [s], got -0.001"),
    "unknown axis": ({"planar": "x"}, "unknown value 'x'; known: y, z"),
    "curve out of its plane": (
        {"length": None, "path": CORNER, "planar": "y"}, "leaves the plane in which the rod bends about y, by 1 [m]"
    ),
    "point twice": ({"length": None, "path": [[0, 0, 0], [0, 0, 0], [1, 0, 0]]}, "is the point before it; leave one"),
    "one point": ({"length": None, "path": [[0, 0, 0]]}, "must have 2 "),
    "point in the plane": ({"length": None, "path": [[0, 0], [1, 0]]}, "must have 3 numbers [m], got 2"),
    "there and back": ({"length": None, "path": [[0, 0, 0], [1, 0, 0], [0.5, 0, 0]]}, "a rod cannot turn on the spot"),
    "start too short": ({"start": [[0, 0, 0], [0.5, 0, 0]]}, "is a curve of 0.5 [m], and rod 'hose' has 1 [m]"),
    "start elsewhere": ({"start": [[0, 1, 0], [1, 1, 0]]}, "begins at (0, 1, 0), and the rod is held at (0, 0, 0)"),
    "surface without collision": ({"surface": "default"}, "add collision = true, or remove it"),
    "unknown surface": ({"collision": True, "surface": "ruber"}, "unknown material 'ruber'"),
    "name of the world": ({"name": "world"}, "'world' is the name of the world; choose another"),
    "unknown key": ({"lenght": 1.0}, "unknown key; did you mean 'length'"),
}  # fmt: skip


def build(changes, **more):
    builder = pysim.SceneBuilder("mistakes")
    builder.body("block", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1})
    builder.joint("block", "free", child="block")
    keys = {"name": "hose", **ROD, **changes}
    builder.rod(**{name: value for name, value in keys.items() if value is not None})
    for frame in more.get("frames", ()):
        builder.sensor("place", "pose", frame=frame)
    return builder.build()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_at_its_place(name):
    changes, text = MISTAKES[name]
    with pytest.raises(SceneError, match=re.escape(text)) as error:
        build(changes)
    assert "rod[0]" in str(error.value)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ({"rod": "hosee", "s": 0.5}, "unknown rod 'hosee'; did you mean 'hose'"),
        ({"rod": "hose", "s": 1.5}, "s = 1.5 [m] is not on rod 'hose', whose length is 1 [m]; take 0 to 1"),
        ({"rod": "hose"}, "s must be a length along rod 'hose' [m], got None; write s = 0.4"),
        ({"rod": "hose", "x": 0.5}, "unknown key 'x'"),
        ({"s": 0.5}, "rod must be the name of a rod, got None"),
        ({"rod": "hose", "s": "30 deg"}, "s: "),
        ("hose", "unknown body or frame 'hose'"),
        ("hose@0.5x", "unknown body or frame 'hose@0.5x'"),
    ],
)  # fmt: skip
def test_a_place_along_a_rod_is_checked(frame, text):
    with pytest.raises(SceneError, match=re.escape(text)) as error:
        build({}, frames=[frame])
    assert "sensor[0].frame" in str(error.value)


def test_lengths_may_have_units_and_expressions():
    builder = pysim.SceneBuilder("units")
    builder.parameters(L=2.0)
    builder.rod("hose", length="= L", section={"circle": "10 mm"}, material=STEEL, bars=4)
    builder.sensor("middle", "pose", frame={"rod": "hose", "s": "= L / 2"})
    builder.sensor("near", "pose", frame={"rod": "hose", "s": "50 cm"})
    model = builder.build().model
    q = model.neutral()
    assert pysim.frame_placement(model, q, "hose@1")[0, 3] == pytest.approx(1.0)
    assert pysim.frame_placement(model, q, "hose@0.5")[0, 3] == pytest.approx(0.5)
