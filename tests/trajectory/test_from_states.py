"""Trajectories of a user's own states; oracle: the recorder of a run of the same states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import TrajectoryError

SCENES = Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def run() -> tuple[pysim.Model, pysim.Trajectory]:
    changes = {"simulation.duration": 0.5, "output.every": 0.002}
    scene = pysim.load_scene(SCENES / "t_handle.toml", changes)
    return scene.model, pysim.simulate(scene)


def test_states_become_the_trajectory_that_a_run_records(
    run: tuple[pysim.Model, pysim.Trajectory],
) -> None:
    model, recorded = run
    made = pysim.Trajectory.of(model, recorded.t, recorded.q, recorded.v, name="mine")
    assert made.header.name == "mine"
    for key in ("t", "q", "v", "poses", "kinetic", "potential", "elastic"):
        np.testing.assert_array_equal(getattr(made, key), getattr(recorded, key))
    assert made.names["frames"] == recorded.names["frames"]
    assert made.visuals == recorded.visuals
    scale = np.abs(recorded.a).max()
    np.testing.assert_allclose(made.a[1:-1], recorded.a[1:-1], atol=1e-3 * scale)


def test_velocities_that_are_left_out_are_differences_of_q(
    run: tuple[pysim.Model, pysim.Trajectory],
) -> None:
    """A free body: the differences are taken on SE(3), second order in the interval."""
    model, recorded = run
    made = pysim.Trajectory.of(model, recorded.t, recorded.q)
    scale = np.abs(recorded.v).max()
    np.testing.assert_allclose(made.v[1:-1], recorded.v[1:-1], atol=1e-3 * scale)


def test_one_state_and_none_have_trajectories(
    run: tuple[pysim.Model, pysim.Trajectory],
) -> None:
    model, recorded = run
    one = pysim.Trajectory.of(model, [2.0], recorded.q[:1])
    assert len(one) == 1
    assert not one.v.any()
    assert not one.a.any()
    none = pysim.Trajectory.of(model, [], np.zeros((0, model.nq)))
    assert (len(none), none.poses.shape) == (0, (0, 1, 7))


def test_a_rollout_is_saved_a_file_for_each_world(tmp_path: Path) -> None:
    model = pysim.load_model(SCENES / "double_pendulum.toml")
    q0 = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    q, v = pysim.rollout(model, q0, np.zeros_like(q0), None, step=1e-3, steps=20, every=10)
    paths = pysim.save_rollout(tmp_path / "run.h5", model, 1e-2, q, v, worlds=[0, 2])
    assert paths == [tmp_path / "run-0.h5", tmp_path / "run-2.h5"]
    saved = pysim.load_trajectory(paths[1])
    np.testing.assert_array_equal(saved.q, q[2])
    np.testing.assert_allclose(saved.t, [0.0, 0.01, 0.02])
    assert saved.header.connections == pysim.Trajectory.of(model, [0], q0[:1]).header.connections
    assert pysim.save_rollout(tmp_path / "one.h5", model, saved.t, q[0]) == [tmp_path / "one.h5"]


def test_the_connections_of_a_scene_are_kept_in_the_file(tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / "governor.toml", {"simulation.duration": 0.01})
    pysim.simulate(scene, tmp_path / "governor.h5")
    header = pysim.load_trajectory(tmp_path / "governor.h5").header
    assert not header.imported
    connections = {entry["name"]: entry for entry in header.connections}
    assert connections["spring1"] == {
        "role": "force",
        "name": "spring1",
        "type": "spring",
        "points": [[1, [0.05, 0.0, 0.0]], [2, [0.5, 0.0, 0.0]]],
        "stiffness": 8e5,
        "damping": 4e4,
        "length": 0.5,
    }
    assert connections["spin"]["frames"][0][0] == -1
    assert connections["spin"]["axis"] == [0.0, 0.0, 1.0]
    assert "end1" not in connections  # fixed


def test_a_robot_file_is_known_as_imported() -> None:
    model = pysim.load_model("package://ur_description/urdf/ur5_robot.urdf")
    assert pysim.Trajectory.of(model, [0.0], model.neutral()[None]).header.imported


BAD = [
    ({"t": [[0.0]]}, "t: must have shape (rows,), got (1, 1)"),
    (
        {"t": [0.0, 0.0, 1.0]},
        "t: must increase from row to row [s], got 0 then 0 at row 1; sort the rows",
    ),
    ({"t": [0.0, np.nan, 1.0]}, "t: must be finite [s]"),
    ({"q": np.zeros((2, 2))}, "q: must have shape (3, 2), got (2, 2)"),
    ({"v": np.zeros((3, 1))}, "v: must have shape (3, 2), got (3, 1)"),
    (
        {"q": [[0, 0], [np.nan, 0], [0, 0]]},
        "q: is NaN or infinite from row 1; leave out the rows from there on",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_states_that_do_not_fit_are_rejected(changes: dict[str, Any], message: str) -> None:
    model = pysim.load_model(SCENES / "double_pendulum.toml")
    good: dict[str, Any] = {"t": [0.0, 0.5, 1.0], "q": np.zeros((3, 2)), "v": np.zeros((3, 2))}
    with pytest.raises(TrajectoryError) as caught:
        pysim.Trajectory.of(model, **(good | changes))
    assert str(caught.value) == message


def test_worlds_that_are_not_there_and_too_many_are_rejected(tmp_path: Path) -> None:
    model = pysim.load_model(SCENES / "double_pendulum.toml")
    cases = {
        "worlds: must lie between 0 and 1, got 2": (2, [2]),
        "worlds: a batch of 101 worlds would be written to more than 100 files; name those to save, "
        "for example worlds=range(10)": (101, None),
    }
    for message, (count, worlds) in cases.items():
        with pytest.raises(TrajectoryError) as caught:
            pysim.save_rollout(
                tmp_path / "a.h5", model, 0.1, np.zeros((count, 2, 2)), worlds=worlds
            )
        assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []
