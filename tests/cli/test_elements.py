"""`pysim elements`: every type that comes with pysim is listed and described. The oracle is the text."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

import pytest

from pysim.cli.app import answer
from pysim.elements.block import KINDS
from pysim.elements.force import FORCES


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "force",
            [
                "spring",
                "path_spring",
                "slack_spring",
                "weighted_stop",
                "thruster",
                "lugre_friction",
            ],
        ),
        ("signal", ["constant", "waypoints", "trajectory"]),
        ("sensor", ["imu", "noisy", "force_torque"]),
        ("controller", ["pid", "computed_torque"]),
        ("actuator", ["dc_motor", "affine_filter"]),
    ],
)
def test_types_of_a_kind_are_listed(capsys, kind, names):
    assert answer(["elements", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]
    assert set(names) <= set(listed)


def test_every_type_is_described(capsys, monkeypatch):
    monkeypatch.setattr("pysim.plugins.registry.entry_points", cache(entry_points))  # 1 s otherwise
    answer(["elements"])
    for kind, plugins in {"force": FORCES, **KINDS}.items():
        for name, plugin in plugins.registered.items():
            if plugin.__module__.startswith("pysim."):
                assert answer(["elements", name]) == 0
                assert f'[[{kind}]] type = "{name}"' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bushing", "b, at_b, a and at_a: bodies or frames between which it acts"),
        ("rope", "path: points along which it acts"),
        ("coordinate_spring", "coordinates: joints on which it acts"),
        ("imu", "frame, at and relative_to: the frame that it measures"),
        ("distance", "path: points whose path it measures"),
        ("force_torque", "joint: the joint that it measures"),
        ("power", "element: the force, actuator or joint that it measures"),
        ("dc_motor", "joint, coordinates or path: what it drives"),
    ],
)
def test_a_description_names_the_keys_that_place_a_type(capsys, name, place):
    answer(["elements", name])
    assert f"place       {place}" in capsys.readouterr().out


def test_comments_of_keys_are_shown_without_notes_to_type_checkers(capsys):
    answer(["elements", "thruster"])
    line = next(x for x in capsys.readouterr().out.splitlines() if x.split()[:1] == ["command"])
    assert line.split() == ["command", "Signal", "required", "sets", "the", "thrust"]


def test_the_spring_between_points_is_described_with_its_units(capsys):
    assert answer(["elements", "spring"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == '[[force]] type = "spring"'
    assert lines[2].startswith("  place       a, at_a, b and at_b: bodies or frames")
    rows = {line.split()[0]: line.split()[2:4] for line in lines[4:] if line.strip()}
    expected = {"stiffness": ["N/m", "0.0"], "damping": ["N·s/m", "0.0"], "length": ["m", "0.0"]}
    assert {key: rows[key] for key in expected} == expected
