"""Mechanisms that are hardly meant are warned of, with what to write; all others are not.

Oracle: the mechanism with the remedy has no warning; a loop with the axis of the remedy has a mobility of one.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.diagnosis.implausible_mechanisms import implausible_parts
from pysim.spatial import rotation_from_rpy

SMALL = {"xx": 0.01, "yy": 0.01, "zz": 0.01}


def pendulum(com: list[float], at: list[float] | None = None) -> pysim.Scene:
    builder = pysim.SceneBuilder("pendulum")
    builder.body("bob", mass=2.0, com=com, inertia=SMALL)
    keys: dict[str, Any] = {} if at is None else {"at": {"xyz": at}}
    builder.joint("hinge", "revolute", child="bob", axis=[0, 1, 0], **keys)
    return builder.build()


def four_bar(axis: list[float], rpy: list[float] | None = None) -> pysim.Scene:
    """A crank, a coupler and a rocker about y, or all turned."""
    turn = {} if rpy is None else {"rpy": rpy}
    builder = pysim.SceneBuilder("four bar")
    builder.body("base", mass=1.0, inertia=SMALL)
    builder.joint("mount", "fixed", child="base", at=turn or None)
    y = [0, 1, 0]
    for name, parent, x in (
        ("crank", "base", 0),
        ("coupler", "crank", 0.1),
        ("rocker", "base", 0.3),
    ):
        builder.body(name, mass=0.1, inertia=SMALL)
        at = {"xyz": [x, 0, 0]}
        builder.joint(f"to {name}", "revolute", parent=parent, child=name, axis=y, at=at, start=0.4)
    ends = {"at_a": {"xyz": [0.3, 0, 0]}, "at_b": {"xyz": [0, 0, 0.25]}}
    builder.loop("close", "revolute", "coupler", "rocker", axis=axis, **ends)
    return builder.build()


def texts(scene: pysim.Scene) -> list[str]:
    return list(implausible_parts(scene))


def test_a_centre_of_mass_in_millimetres_is_warned_of() -> None:
    with pytest.warns(pysim.PysimWarning, match="centre of mass is 300 m from its frame"):
        scene = pendulum([0, 0, -300])
    (text,) = texts(scene)
    assert text.endswith("; if millimetres were meant, write com = [0, 0, -0.3]")
    assert texts(pendulum([0, 0, -0.3])) == []


def test_a_body_whose_frame_is_far_away_in_a_mechanism_of_that_size_is_not_warned_of() -> None:
    assert texts(pendulum([0, 0, -300], at=[0, 0, 300])) == []
    assert texts(pendulum([0, 0, -9])) == []


def test_gravity_away_from_the_ground_is_warned_of() -> None:
    def ball(gravity: list[float], *normals: list[float]) -> pysim.Scene:
        builder = pysim.SceneBuilder("ball", gravity=gravity)
        builder.body(
            "ball", shape={"sphere": {"radius": 0.1}, "density": 1000}, collision=bool(normals)
        )
        builder.joint("free", "free", child="ball", start={"xyz": [0, 0, 1]})
        for normal in normals:
            builder.ground(normal, -5.0 if normal[2] < 0 else 0.0)
        return builder.build()

    with pytest.warns(pysim.PysimWarning, match="pulls away from the ground"):
        (text,) = texts(ball([0, 0, 9.81], [0, 0, 1]))
    assert text.endswith("whose normal is [0, 0, 1]; write gravity = [0, 0, -9.81]")
    assert texts(ball([0, 0, -9.81], [0, 0, 1])) == []
    assert texts(ball([0, 0, -9.81], [0, 0, 1], [0, 0, -1])) == []  # with a ceiling
    assert texts(ball([0, 0, 9.81])) == []  # z may point downwards
    assert texts(ball([0, 0, 0], [0, 0, 1])) == []


@pytest.mark.parametrize("rpy", [None, [0.3, -0.4, 1.1]])
@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 0, 1], [0.6, 0, 0.8]])
def test_a_hinge_that_locks_its_loop_is_named_with_the_axis_that_does_not(
    axis: list[float], rpy: list[float] | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = four_bar(axis, rpy)
    (text,) = texts(scene)
    found = re.search(r"loop 'close': its axis .* is not parallel .*; write axis = \[(.*)\]$", text)
    assert found is not None
    remedy = [float(x) for x in found[1].split(",")]
    np.testing.assert_allclose(np.abs(remedy), [0, 1, 0], atol=1e-6)
    assert texts(four_bar(remedy, rpy)) == []


def test_a_spherical_linkage_is_not_warned_of() -> None:
    """Its axes meet in a point and are not parallel to each other."""
    builder = pysim.SceneBuilder("spherical")
    before = "world"
    for k, angle in enumerate((0.0, 0.5, 1.2)):
        builder.body(f"b{k}", mass=0.1, inertia=SMALL)
        axis = (rotation_from_rpy(np.array([0, angle, 0])) @ [0, 0, 1]).tolist()
        builder.joint(f"j{k}", "revolute", parent=before, child=f"b{k}", axis=axis)
        before = f"b{k}"
    axis = (rotation_from_rpy(np.array([0.6, 0.3, 0])) @ [0, 0, 1]).tolist()
    builder.loop("close", "revolute", before, "world", axis=axis)
    assert texts(builder.build()) == []


def arm(value: object, unit: str = "", kind: str = "revolute", **keys: Any) -> pysim.Scene:
    builder = pysim.SceneBuilder("arm")
    builder.body("arm", mass=1.0, com=[0.2, 0, 0], inertia=SMALL)
    builder.joint("elbow", kind, child="arm", axis=[0, 1, 0])
    keys = keys or {"type": "constant", "value": value}
    builder.signal("target", **{**keys, **({"unit": unit} if unit else {})})
    builder.actuator("drive", joint="elbow", type="position_servo", kp=50, kd=5, command="target")
    return builder.build()


def test_a_command_in_degrees_is_warned_of_where_its_signal_has_no_unit() -> None:
    with pytest.warns(pysim.PysimWarning, match=r"commands hinge 'elbow' to 30 \[rad\]"):
        (text,) = texts(arm(30))
    remedy = '; write 0.523599 if degrees were meant, and unit = "rad" if not'
    assert text.endswith(remedy)
    with pytest.warns(pysim.PysimWarning, match="beyond one full turn"):
        arm(0, type="waypoints", t=[0, 1], values=[0, -90])
    for scene in (
        arm(np.radians(30)),
        arm(30, "rad"),
        arm(6),
        arm(12.5),
        arm(30, kind="prismatic"),
    ):
        assert texts(scene) == []
