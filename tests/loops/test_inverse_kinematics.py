"""Inverse kinematics: poses and positions of frames, limits, loops, weights, batches, and what it rejects.

Oracles: forward kinematics of the result, closed forms of planar arms, minimisation by SciPy, and Pinocchio's poses.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import pysim
from pysim import spatial
from pysim.loops import constraint_residual
from tests.robots import robot_path


@pytest.fixture(scope="module")
def panda() -> pysim.Model:
    return pysim.load_model(robot_path("panda"))


def limits(model: pysim.Model) -> tuple[np.ndarray, np.ndarray]:
    leaders = [joint for joint in model.joints if joint.mimic is None]
    return (
        np.concatenate([joint.lower for joint in leaders]),
        np.concatenate([joint.upper for joint in leaders]),
    )


def configurations(model: pysim.Model, n: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([model.random_configuration(rng) for _ in range(n)])


def arm(second_limit: str = "") -> pysim.Model:
    """Two links of 0.5 m and 0.4 m that turn about y, hanging along −z, the tip a frame."""
    builder = pysim.SceneBuilder("arm")
    bar = {"xx": 0.1, "yy": 0.1, "zz": 0.1}
    builder.body("upper", mass=1.0, inertia=bar)
    builder.body("lower", mass=1.0, inertia=bar)
    builder.joint("shoulder", "revolute", child="upper", axis=[0, 1, 0])
    own = {"limits": {"lower": 0.0, "upper": 2.5}} if second_limit else {}
    at = {"xyz": [0, 0, -0.5]}
    builder.joint("elbow", "revolute", parent="upper", child="lower", axis=[0, 1, 0], at=at, **own)
    builder.frame("tip", body="lower", at={"xyz": [0, 0, -0.4]})
    return builder.build().model


def four_bar() -> pysim.Scene:
    builder = pysim.SceneBuilder("four bar")
    for name, length in (("crank", 0.2), ("coupler", 0.5), ("rocker", 0.4)):
        small = {"xx": 0.01, "yy": 0.01, "zz": 0.01}
        builder.body(name, mass=1.0, com=[length / 2, 0, 0], inertia=small)
    z = [0, 0, 1]
    builder.joint("a", "revolute", child="crank", axis=z, start=1.0)
    at = {"xyz": [0.2, 0, 0]}
    builder.joint("b", "revolute", parent="crank", child="coupler", axis=z, at=at, start=-0.5)
    builder.joint("d", "revolute", child="rocker", axis=z, at={"xyz": [0.5, 0, 0]}, start=1.5)
    builder.loop(
        "c",
        "revolute",
        a="coupler",
        b="rocker",
        axis=z,
        at_a={"xyz": [0.5, 0, 0]},
        at_b={"xyz": [0.4, 0, 0]},
    )
    builder.frame("point", body="coupler", at={"xyz": [0.25, 0.1, 0]})
    return builder.build()


def test_every_reachable_pose_of_a_robot_arm_is_found_within_its_limits(panda: pysim.Model) -> None:
    X = pysim.frame_placement(panda, configurations(panda, 1000), "panda_hand")
    found = pysim.inverse_kinematics(panda, {"panda_hand": X}, panda.neutral())
    assert found.converged.all()
    assert np.abs(pysim.frame_placement(panda, found.q, "panda_hand") - X).max() < 2e-8
    lower, upper = limits(panda)
    assert (found.q >= lower).all()
    assert (found.q <= upper).all()
    assert found.error.max() <= 1e-8


def test_a_result_does_not_depend_on_the_rest_of_its_batch(panda: pysim.Model) -> None:
    X = pysim.frame_placement(panda, configurations(panda, 40), "panda_hand")
    together = pysim.inverse_kinematics(panda, {"panda_hand": X}, panda.neutral())
    for k in (0, 7, 39):
        alone = pysim.inverse_kinematics(panda, {"panda_hand": X[k]}, panda.neutral())
        assert alone.q.shape == (8,)
        np.testing.assert_allclose(alone.q, together.q[k], atol=1e-9)


def test_threads_change_no_bit(panda: pysim.Model) -> None:
    X = pysim.frame_placement(panda, configurations(panda, 100), "panda_hand")
    one = pysim.inverse_kinematics(panda, {"panda_hand": X})
    two = pysim.inverse_kinematics(panda, {"panda_hand": X}, threads=2)
    assert np.array_equal(one.q, two.q)


def test_leading_axes_of_targets_and_starts_broadcast(panda: pysim.Model) -> None:
    q = configurations(panda, 3)
    X = pysim.frame_placement(panda, q, "panda_hand")
    found = pysim.inverse_kinematics(panda, {"panda_hand": X[:, None]}, configurations(panda, 2, 5))
    assert found.q.shape == (3, 2, 8)
    assert found.converged.all()
    assert found.error.shape == found.converged.shape == (3, 2)


def test_a_start_at_the_solution_stays_there(panda: pysim.Model) -> None:
    q = configurations(panda, 20)
    X = pysim.frame_placement(panda, q, "panda_hand")
    found = pysim.inverse_kinematics(panda, {"panda_hand": X}, q)
    assert np.array_equal(found.q, q)


def test_the_two_solutions_of_a_planar_arm_are_those_of_the_law_of_cosines() -> None:
    model, goal = arm(), np.array([0.6, 0.0, -0.3])
    elbow = np.arccos((goal @ goal - 0.5**2 - 0.4**2) / (2 * 0.5 * 0.4))
    for start in (0.5, -0.5):
        found = pysim.inverse_kinematics(model, {"tip": goal}, [0.0, start], restarts=0)
        assert found.converged
        assert found.q[1] == pytest.approx(np.sign(start) * elbow, abs=1e-7)


def test_a_limit_excludes_a_solution() -> None:
    model = arm("limited")
    found = pysim.inverse_kinematics(model, {"tip": [0.6, 0.0, -0.3]}, [0.0, 0.0])
    assert found.converged
    assert 0 < found.q[1] < 2.5


def test_a_target_out_of_reach_gives_the_nearest_configuration_and_the_distance(
    panda: pysim.Model,
) -> None:
    result = pysim.inverse_kinematics(arm(), {"tip": [2.0, 0.0, 0.0]}, [0.3, 0.2])
    assert not result.converged
    assert result.error == pytest.approx(2.0 - 0.9, abs=1e-6)
    goal, (lower, upper) = np.array([3.0, 0, 0]), limits(panda)
    best = min(
        minimize(
            lambda q: ((pysim.frame_placement(panda, q, "panda_hand")[:3, 3] - goal) ** 2).sum(),
            start,
            bounds=list(zip(lower, upper, strict=True)),
        ).fun
        for start in configurations(panda, 5)
    )
    result = pysim.inverse_kinematics(panda, {"panda_hand": goal})
    assert not result.converged
    assert result.error == pytest.approx(best**0.5, rel=1e-4)


def test_several_frames_are_met_at_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        model = pysim.load_model(robot_path("anymal"), free_base=True)
    q = configurations(model, 1)[0]
    feet = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
    targets = {foot: pysim.frame_placement(model, q, foot)[:3, 3] for foot in feet}
    targets["base"] = pysim.frame_placement(model, q, "base")
    found = pysim.inverse_kinematics(model, targets)
    assert found.converged
    assert np.linalg.norm(found.q[3:7]) == pytest.approx(1.0, abs=1e-12)
    for frame, target in targets.items():
        X = pysim.frame_placement(model, found.q, frame)
        np.testing.assert_allclose(X if target.ndim == 2 else X[:3, 3], target, atol=3e-8)


def test_loops_are_closed_where_a_point_of_a_linkage_is_sought() -> None:
    scene = four_bar()
    model = scene.model
    closed = []
    for angle in np.linspace(0.5, 5.5, 12):
        held = pysim.inverse_kinematics(
            model,
            {"crank": spatial.pose(spatial.exp([0, 0, angle]), np.zeros(3))},
            scene.state.q,
        )
        assert held.converged
        closed.append(held.q)
    points = pysim.frame_placement(model, np.array(closed), "point")[:, :3, 3]
    found = pysim.inverse_kinematics(model, {"point": points}, scene.state.q)
    assert found.converged.all()
    assert np.abs(constraint_residual(model, found.q)).max() < 1e-10
    there = pysim.frame_placement(model, found.q, "point")[:, :3, 3]
    assert np.abs(there - points).max() < 1e-8


def test_loops_are_closed_where_the_target_is_out_of_reach() -> None:
    scene = four_bar()
    found = pysim.inverse_kinematics(scene.model, {"point": [0.0, 3.0, 0.0]}, scene.state.q)
    assert not found.converged
    assert np.abs(constraint_residual(scene.model, found.q)).max() < 1e-10
    assert found.error > 2


def test_a_component_of_weight_zero_is_free(panda: pysim.Model) -> None:
    X = np.eye(4)
    X[:3, :3] = np.diag([1.0, -1.0, -1.0])
    X[:3, 3] = 0.5, 0.1, 0.4
    free = {"panda_hand": [1, 1, 1, 1, 1, 0]}
    q0 = [0.3, 0.2, 0.1, -1.5, 0.1, 1.5, 2.0, 0.0]
    found = pysim.inverse_kinematics(panda, {"panda_hand": X}, q0, weights=free)
    assert found.converged
    there = pysim.frame_placement(panda, found.q, "panda_hand")
    np.testing.assert_allclose(there[:3, 3], X[:3, 3], atol=1e-8)
    np.testing.assert_allclose(there[:3, 2], X[:3, 2], atol=1e-8)  # points down
    assert np.abs(there[:3, 0] - X[:3, 0]).max() > 0.01  # turned about its axis


def test_weights_decide_between_targets_that_contradict_each_other() -> None:
    model = arm()
    for weights, near in (({"tip": 100.0}, "tip"), ({"lower": 100.0}, "lower")):
        goals = {"tip": [0.9, 0.0, 0.0], "lower": [-0.5, 0.0, 0.0]}
        found = pysim.inverse_kinematics(model, goals, [0.1, 0.1], weights=weights)
        assert not found.converged
        there = pysim.frame_placement(model, found.q, near)[:3, 3]
        assert np.linalg.norm(there - goals[near]) < 0.02


def test_limits_of_followers_bound_their_leader(panda: pysim.Model) -> None:
    goal = pysim.frame_placement(panda, panda.neutral(), "panda_leftfinger")[:3, 3] + [0, 0, 0.3]
    found = pysim.inverse_kinematics(panda, {"panda_leftfinger": goal})
    assert 0 <= found.q[7] <= 0.04


def test_small_and_large_mechanisms_converge_alike() -> None:
    for size in (1e-3, 1.0, 1e3):
        builder = pysim.SceneBuilder("arm")
        inertia = dict.fromkeys(("xx", "yy", "zz"), 0.1)
        builder.body("upper", mass=1.0, inertia=inertia)
        builder.body("lower", mass=1.0, inertia=inertia)
        builder.joint("shoulder", "revolute", child="upper", axis=[0, 1, 0])
        at = {"xyz": [0, 0, -size]}
        builder.joint("elbow", "revolute", parent="upper", child="lower", axis=[0, 1, 0], at=at)
        builder.frame("tip", body="lower", at={"xyz": [0, 0, -size]})
        model, goal = builder.build().model, np.array([0.7 * size, 0, -0.9 * size])
        tolerance = 1e-9 * size
        found = pysim.inverse_kinematics(
            model, {"tip": goal}, [0.1, 0.1], restarts=0, tolerance=tolerance
        )
        assert found.converged, size


@pytest.mark.parametrize(
    ("targets", "arguments", "text"),
    [
        ({"panda_hnad": np.eye(4)}, {}, "no such frame; did you mean 'panda_hand'"),
        ({}, {}, "targets: there is none"),
        ({"panda_hand": np.zeros((2, 5))}, {}, r"must be poses \(…, 4, 4\) or positions \(…, 3\)"),
        ({"panda_hand": np.ones((4, 4))}, {}, r"targets\['panda_hand'\]"),
        ({"panda_hand": np.diag([1, 1, -1, 1.0])}, {}, r"targets\['panda_hand'\]"),
        ({"panda_hand": [np.nan, 0, 0]}, {}, r"targets\['panda_hand'\]\[0\] is nan"),
        ({"panda_hand": "up"}, {}, "must be an array of numbers"),
        ({"panda_hand": [0, 0, 1]}, {"q0": [0.0]}, r"q0 must have shape \(…, 8\), got \(1,\)"),
        ({"panda_hand": [0, 0, 1]}, {"q0": np.full(8, np.inf)}, "q0"),
        ({"panda_hand": np.zeros((3, 3))}, {"q0": np.zeros((2, 8))}, "leading axes must agree"),
        ({"panda_hand": [0, 0, 1]}, {"weights": {"hand": 1.0}}, "a frame without a target"),
        ({"panda_hand": [0, 0, 1]}, {"weights": {"panda_hand": [1, 2]}}, "a number or 3 numbers"),
        ({"panda_hand": [0, 0, 1]}, {"weights": {"panda_hand": -1}}, "must be positive"),
        ({"panda_hand": [0, 0, 1]}, {"weights": {"panda_hand": 0}}, "must be positive"),
        ({"panda_hand": [0, 0, 1]}, {"tolerance": 0}, "tolerance must be positive"),
        ({"panda_hand": [0, 0, 1]}, {"restarts": -1}, "restarts must be a whole number"),
        ({"panda_hand": [0, 0, 1]}, {"iterations": 2.5}, "iterations must be a whole number"),
    ],
)
def test_bad_input_is_rejected_with_its_name(
    panda: pysim.Model, targets: dict[str, Any], arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        pysim.inverse_kinematics(panda, targets, **arguments)


def test_targets_that_are_no_mapping_are_rejected(panda: pysim.Model) -> None:
    with pytest.raises(TypeError, match="must be a mapping"):
        pysim.inverse_kinematics(panda, np.eye(4))  # type: ignore[arg-type]


def test_an_empty_batch_gives_an_empty_result(panda: pysim.Model) -> None:
    found = pysim.inverse_kinematics(panda, {"panda_hand": np.zeros((0, 3))})
    assert found.q.shape == (0, 8)
    assert found.converged.shape == (0,)


def test_poses_written_with_seven_digits_are_met(panda: pysim.Model) -> None:
    X = pysim.frame_placement(panda, configurations(panda, 1)[0], "panda_hand").round(7)
    assert pysim.inverse_kinematics(panda, {"panda_hand": X}).converged


def travelling_arm(root: str) -> pysim.Model:
    """Four hinges on a base that goes anywhere: free, along x and y with a turn, or along three axes."""
    small = {"xx": 0.1, "yy": 0.1, "zz": 0.1}
    builder = pysim.SceneBuilder(root)
    kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "free": [("free", {})],
        "planar": [
            ("prismatic", {"axis": [1, 0, 0]}),
            ("prismatic", {"axis": [0, 1, 0]}),
            ("revolute", {"axis": [0, 0, 1]}),
        ],
        "gantry": [
            ("prismatic", {"axis": [0, 1, 0]}),
            ("prismatic", {"axis": [1, 0, 1]}),
            ("prismatic", {"axis": [0, 0, 1], "limits": {"lower": -2e4}}),
        ],
        "translation": [("translation", {})],
    }
    rails = kinds[root]
    before = "world"
    for k, (kind, keys) in enumerate(rails):
        name = "base" if k == len(rails) - 1 else f"rail{k}"
        builder.body(name, mass=1.0, inertia=small)
        builder.joint(f"r{k}", kind, parent=before, child=name, **keys)
        before = name
    for k, axis in enumerate(([0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])):
        builder.body(f"a{k}", mass=0.5, com=[0, 0, 0.15], inertia=small)
        builder.joint(
            f"h{k}",
            "revolute",
            parent=before,
            child=f"a{k}",
            axis=axis,
            at={"xyz": [0, 0, 0.3]},
            limits={"lower": -2.0, "upper": 2.0},
        )
        before = f"a{k}"
    return builder.build().model


@pytest.mark.parametrize("start", ["beside", "at the origin"])
@pytest.mark.parametrize("root", ["free", "planar", "gantry", "translation"])
def test_poses_are_found_wherever_they_are_in_the_world(root: str, start: str) -> None:
    model = travelling_arm(root)
    rng = np.random.default_rng(4)
    drawn = np.array([model.random_configuration(rng) for _ in range(40)])
    for far in (0.0, 10.0, 1e4):
        q = drawn.copy()
        q[:, 0] += far
        q[:, 1] -= far
        targets = {body: pysim.frame_placement(model, q, body) for body in ("a3", "base")}
        q0 = model.neutral()
        if start == "beside":
            q0[:2] = far, -far
        found = pysim.inverse_kinematics(model, targets, q0)
        assert found.converged.sum() >= 39, f"{far} m away"
        for body, pose in targets.items():
            error = np.abs(pysim.frame_placement(model, found.q, body) - pose).max(axis=(1, 2))
            assert error[found.converged].max() < 1e-6


def test_a_rotation_as_a_target_is_warned_of(panda: pysim.Model) -> None:
    R = spatial.exp(np.array([0.3, 0.4, -0.2]))
    with pytest.warns(pysim.PysimWarning, match=r"'panda_hand'.* three positions.*weights"):
        pysim.inverse_kinematics(panda, {"panda_hand": R}, restarts=0, iterations=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysim.inverse_kinematics(panda, {"panda_hand": 0.4 * R}, restarts=0, iterations=1)


def circle(model: pysim.Model, rows: int) -> np.ndarray:
    """Poses (rows, 4, 4) of a gripper along a circle about a reachable one."""
    angle = np.linspace(0, 2 * np.pi, rows)
    poses = np.tile(np.diag([1.0, -1.0, -1.0, 1.0]), (rows, 1, 1))
    poses[:, :3, 3] = [0.5, 0.1, 0.4]
    poses[:, :2, 3] += 0.1 * np.column_stack([np.cos(angle), np.sin(angle)])
    return poses


def test_a_path_is_followed_without_jumps(panda: pysim.Model) -> None:
    targets = circle(panda, 100)
    found = pysim.inverse_kinematics(panda, {"panda_hand": targets}, path=True)
    assert found.converged.all()
    reached = pysim.frame_placement(panda, found.q, "panda_hand")
    np.testing.assert_allclose(reached, targets, atol=1e-8)
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.1
    apart = pysim.inverse_kinematics(panda, {"panda_hand": targets[50:]}, seed=3)
    assert np.abs(apart.q[0] - found.q[50]).max() > 0.2  # another solution, found on its own


def test_several_paths_of_a_batch_are_those_of_each_alone(panda: pysim.Model) -> None:
    targets = circle(panda, 12)
    shifted = targets.copy()
    shifted[:, 2, 3] += 0.05
    both = np.stack([targets, shifted], axis=1)  # (12, 2, 4, 4)
    found = pysim.inverse_kinematics(panda, {"panda_hand": both}, path=True)
    for k, alone in enumerate((targets, shifted)):
        own = pysim.inverse_kinematics(panda, {"panda_hand": alone}, path=True)
        np.testing.assert_array_equal(found.q[:, k], own.q)


def test_a_path_of_a_loop_closes_it_in_every_row() -> None:
    model = four_bar().model
    start = np.array(four_bar().state.q)
    turned = np.linspace(0, 1.5, 40)
    goals = 0.2 * np.column_stack([np.cos(1 + turned), np.sin(1 + turned), 0 * turned])
    found = pysim.inverse_kinematics(model, {"coupler": goals}, start, path=True)
    assert found.converged.all()
    np.testing.assert_allclose(found.q[:, 0], 1 + turned, atol=1e-6)
    assert np.abs(np.diff(found.q, axis=0)).max() < 0.2


def test_a_path_that_leaves_the_workspace_says_where() -> None:
    model = arm()
    x = np.linspace(0.3, 1.2, 10)
    goals = np.column_stack([x, np.zeros(10), np.zeros(10)])
    found = pysim.inverse_kinematics(model, {"tip": goals}, [0.3, 0.5], path=True)
    np.testing.assert_array_equal(found.converged, x < 0.9)
    np.testing.assert_allclose(found.error[x > 0.9], x[x > 0.9] - 0.9, atol=1e-6)


def test_a_path_needs_rows(panda: pysim.Model) -> None:
    with pytest.raises(ValueError, match="path needs targets of several rows"):
        pysim.inverse_kinematics(panda, {"panda_hand": [0.3, 0, 0.5]}, path=True)
