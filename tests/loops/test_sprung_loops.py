"""Springs and dampers of loops. Oracle: the same body on a joint of the tree, whose springs and dampers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError

BODY: dict[str, Any] = {
    "mass": 1.3,
    "com": [0.1, -0.05, 0.2],
    "inertia": {"xx": 0.03, "yy": 0.04, "zz": 0.02, "xy": 0.004},
}
AT_A = {"xyz": [0.1, 0.2, 0.9], "rpy": [0.3, -0.2, 0.4]}
AT_B = {"xyz": [-0.05, 0.1, 0.02], "rpy": [0.1, 0.5, -0.3]}
AXIS = [0.2, 0.9, -0.4]


def scene(kind: str, keys: dict[str, Any], *, start: Any, looped: bool) -> pysim.Scene:
    """A body on a joint, or free and closed to it by a loop. Frame B is the body's on the joint of the tree."""
    builder = pysim.SceneBuilder("body")
    axis: dict[str, Any] = (
        {"axis": AXIS} if kind in {"revolute", "prismatic", "cylindrical"} else {}
    )
    builder.body("hinged", mass=1e-9, inertia={"xx": 1e-12, "yy": 1e-12, "zz": 1e-12})
    builder.body("body", **BODY)
    if looped:
        builder.joint("free", "free", child="body", start=start)
        builder.loop("hinge", kind, b="body", at_a=AT_A, at_b=AT_B, **axis, **keys)
        builder.joint("rest", "prismatic", child="hinged")
    else:
        builder.joint("hinge", kind, child="hinged", at=AT_A, start=start, **axis, **keys)
        X = pysim.spatial.inverse(matrix(AT_B))
        builder.joint("fixing", "fixed", parent="hinged", child="body", at=pose(X))
    builder.simulation(duration=0.3, step=1e-3, integrator="rk4")
    builder.output(every=0.3)
    return builder.build()


def matrix(table: dict[str, Any]) -> np.ndarray:
    X = np.eye(4)
    x, y, z = table["rpy"]
    turns = [np.array([x, 0, 0]), np.array([0, y, 0]), np.array([0, 0, z])]
    Rx, Ry, Rz = (pysim.spatial.exp(turn) for turn in turns)
    X[:3, :3], X[:3, 3] = Rz @ Ry @ Rx, table["xyz"]
    return X


def pose(X: np.ndarray) -> dict[str, Any]:
    return {"xyz": X[:3, 3].tolist(), "quat_xyzw": quaternion(X).tolist()}


def turned(vector: list[float]) -> dict[str, Any]:
    X = np.eye(4)
    X[:3, :3] = pysim.spatial.exp(np.array(vector))
    return {"quat_xyzw": quaternion(X).tolist()}


def quaternion(X: np.ndarray) -> np.ndarray:
    return np.asarray(pysim.spatial.quaternion_from_rotation(X[:3, :3]))


@pytest.mark.parametrize(
    ("kind", "start", "keys"),
    [
        ("ball", [0.4, -0.3, 0.5], {"stiffness": [3.0, 8.0, 5.0]}),
        ("ball", [0.4, -0.3, 0.5], {"stiffness": 6.0}),
        ("revolute", 0.7, {"stiffness": 6.0, "damping": 0.3}),
        ("prismatic", 0.2, {"stiffness": 90.0, "damping": 2.0}),
        ("cylindrical", [0.1, 0.6], {"stiffness": [90.0, 6.0], "damping": [2.0, 0.2]}),
        ("translation", [0.1, -0.2, 0.05], {"stiffness": [90.0, 60.0, 40.0], "damping": 1.0}),
    ],
)
def test_a_sprung_loop_moves_a_free_body_as_a_sprung_joint_does(
    kind: str, start: Any, keys: dict[str, Any]
) -> None:
    begin = turned(start) if kind == "ball" else start
    tree = scene(kind, keys, start=begin, looped=False)
    X = pysim.frame_placement(tree.model, tree.state.q, "body")
    free = {"xyz": X[:3, 3].tolist(), "quat_xyzw": quaternion(X).tolist()}
    loop = scene(kind, keys, start=free, looped=True)
    ends = []
    for own in (tree, loop):
        run = pysim.simulate(own)
        ends.append(pysim.frame_placement(own.model, run.q[-1], "body"))
    assert np.abs(ends[0] - X).max() > 0.01
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_the_damper_of_a_ball_acts_on_the_rate_of_its_rotation_vector() -> None:
    """It has the power of the joint's damper near the rest."""
    keys = {"damping": 0.2}
    rates = []
    for looped in (False, True):
        tree = scene("ball", keys, start=turned([1e-3, 0.0, 0.0]), looped=False)
        X = pysim.frame_placement(tree.model, tree.state.q, "body")
        start = {"xyz": X[:3, 3].tolist(), "quat_xyzw": quaternion(X).tolist()}
        own = scene("ball", keys, start=start, looped=True) if looped else tree
        run = pysim.simulate(own)
        rates.append(pysim.frame_placement(own.model, run.q[-1], "body"))
    np.testing.assert_allclose(rates[1], rates[0], atol=0.02)


def test_a_loop_without_coordinates_of_axes_has_no_spring() -> None:
    with pytest.raises(
        SceneError, match=r"a weld loop has no stiffness; remove it, or add a \[\[force\]\]"
    ):
        scene("weld", {"stiffness": 3.0}, start={"xyz": [0, 0, 0]}, looped=True)


def test_a_sprung_loop_takes_a_number_for_every_coordinate() -> None:
    with pytest.raises(SceneError, match="must have 1 or 3 numbers for a ball joint, got 2"):
        scene("ball", {"stiffness": [3.0, 2.0]}, start={"xyz": [0, 0, 0]}, looped=True)


def test_a_saved_scene_keeps_the_spring_of_its_loop(tmp_path: Any) -> None:
    own = scene("revolute", {"stiffness": 6.0}, start={"xyz": [0, 0, 0]}, looped=True)
    own.save(tmp_path / "saved.toml")
    again = pysim.load_scene(tmp_path / "saved.toml")
    (spring,) = again.spec.model.forces
    assert spring.name == "hinge spring"
