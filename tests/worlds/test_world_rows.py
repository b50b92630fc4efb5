"""`Worlds.rollout`: rows of many steps in one call. Oracle: a call of `step` for every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from tests.simulation.test_worlds import SERVO as PLANT

SCENES = Path(__file__).parents[2] / "scenes"
pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
MANY, ROWS, EVERY = 11, 7, 3  # more than a pack
SERVO = PLANT.replace("PERIOD", "").replace("INTEGRATOR", "rk4")


def servo(folder: Path, **keys: Any) -> pysim.Scene:
    path = folder / "servo.toml"
    path.write_text(SERVO, "utf-8")
    return pysim.load_scene(path, {key.replace("__", "."): x for key, x in keys.items()})


def draws(inputs: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(-0.3, 0.3, (MANY, ROWS, inputs))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("integrator", ["rk4", "convex", "generalized_alpha", "variational"])
def test_rows_have_the_bits_of_a_call_of_step_for_each(
    tmp_path: Path, integrator: str, dtype: Any
) -> None:
    scene = servo(tmp_path, simulation__integrator=integrator)
    together, apart = (pysim.Worlds(scene, MANY, dtype=dtype, threads=2) for _ in range(2))
    for worlds in (together, apart):
        worlds.step(steps=4)
        worlds.q[:, 0] += np.linspace(0, 0.3, MANY)
    controls = draws(1)
    rows = together.rollout(controls, every=EVERY, signals=["pd", "angle.q"])
    for k in range(ROWS):
        apart.inputs.all[:] = controls[:, k]
        apart.step(steps=EVERY)
        np.testing.assert_array_equal(rows.q[:, k], apart.q)
        np.testing.assert_array_equal(rows.v[:, k], apart.v)
        np.testing.assert_array_equal(rows.t[:, k], apart.t)
        np.testing.assert_array_equal(rows.signals["angle.q"][:, k], apart.signals["angle.q"])
    for worlds in (together, apart):
        worlds.step(steps=4)
    np.testing.assert_array_equal(together.q, apart.q)
    assert rows.q.dtype == dtype


def test_robots_in_contact_go_on_as_in_steps() -> None:
    scene = pysim.load_scene(SCENES / "environments" / "go1.toml")
    together, apart = (pysim.Worlds(scene, 5) for _ in range(2))
    size = together.inputs.all.shape[1]
    controls = together.inputs.all[:, None] + 0.1 * draws(size)[:5]
    rows = together.rollout(controls, every=EVERY, signals=["trunk.rate"])
    for k in range(ROWS):
        apart.inputs.all[:] = controls[:, k]
        apart.step(steps=EVERY)
        np.testing.assert_array_equal(rows.q[:, k], apart.q)
    np.testing.assert_array_equal(rows.signals["trunk.rate"][:, -1], apart.signals["trunk.rate"])
    np.testing.assert_array_equal(together.contacts, apart.contacts)
    together.step(steps=5)
    apart.step(steps=5)
    np.testing.assert_array_equal(together.q, apart.q)


def test_sampled_blocks_at_a_row_read_the_inputs_of_the_next_as_in_rollouts(tmp_path: Path) -> None:
    path = tmp_path / "sampled.toml"
    text = SERVO.replace('type = "pd"', 'type = "pd"\nperiod = 0.0078125').replace(
        "2e-3", "0.0009765625"
    )
    path.write_text(text, "utf-8")
    scene = pysim.load_scene(path)
    controls = draws(1)
    controls[:, 0] = 0.0  # which the blocks have read at the start
    rows = pysim.Worlds(scene, MANY).rollout(controls, every=8)
    start = np.tile(scene.state.q, (MANY, 1))
    run = pysim.rollout(scene, start, controls=controls, steps=8 * ROWS, every=8)
    np.testing.assert_array_equal(rows.q, run.q[:, 1:])


def test_rows_are_written_to_the_arrays_of_the_caller_and_held_inputs_stay(tmp_path: Path) -> None:
    worlds, other = (pysim.Worlds(servo(tmp_path), MANY) for _ in range(2))
    for own in (worlds, other):
        own.inputs["target"][:] = np.linspace(0, 1, MANY)[:, None]
    out = {"q": np.empty((MANY, ROWS, 1)), "pd": np.empty((MANY, ROWS))}
    rows = worlds.rollout(rows=ROWS, every=EVERY, signals=["pd"], out=out)
    assert rows.q is out["q"]
    assert rows.signals["pd"] is out["pd"]
    other.step(steps=ROWS * EVERY)
    np.testing.assert_array_equal(rows.q[:, -1], other.q)
    np.testing.assert_array_equal(rows.signals["pd"][:, -1], other.signals["pd"])


def test_worlds_share_controls_without_their_axis(tmp_path: Path) -> None:
    shared, apart = (pysim.Worlds(servo(tmp_path), 3) for _ in range(2))
    controls = draws(1)[0]
    rows = shared.rollout(controls)
    np.testing.assert_array_equal(rows.q, apart.rollout(np.tile(controls, (3, 1, 1))).q)


def test_a_single_world_has_rows_without_their_axis(tmp_path: Path) -> None:
    world = pysim.Worlds(servo(tmp_path))
    rows = world.rollout(draws(1)[0], signals=["angle.q"])
    assert rows.q.shape == (ROWS, 1)
    assert rows.signals["angle.q"].shape == (ROWS,)
    np.testing.assert_allclose(rows.t, 2e-3 * np.arange(1, ROWS + 1), rtol=1e-14)


def test_a_lost_world_has_nan_from_then_on_and_others_go_on(tmp_path: Path) -> None:
    scene = servo(tmp_path, controller__pd__kd=2e6)  # which amplifies any velocity
    worlds, alone = pysim.Worlds(scene, 3), pysim.Worlds(scene, 1)
    for own in (worlds, alone):
        own.q[:] = own.v[:] = 0.0
    worlds.v[1] = 1e250
    rows = worlds.rollout(rows=ROWS, every=EVERY, signals=["pd"])
    alone.step(steps=ROWS * EVERY)
    assert worlds.lost.tolist() == [False, True, False]
    assert np.isnan(rows.q[1, -1]).all()
    assert np.isnan(rows.signals["pd"][1, -1])
    np.testing.assert_array_equal(rows.q[2, -1], alone.q[0])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"controls": np.zeros((2, 2))}, r"controls: must have shape \(3, rows, 1\) or \(rows, 1\), got \(2, 2\)"),
        ({}, "rows: must be given without controls"),
        ({"rows": 2, "signals": ["angl.q"]}, "signals: 'angl.q': the scene has no such signal"),
        ({"rows": 2, "out": {"q": np.zeros((3, 2))}}, r"out: 'q': must be a writeable, C-contiguous array \(3, 2, 1\)"),
        ({"rows": 2, "out": {"x": np.zeros(3)}}, "out: 'x': is neither"),
        ({"rows": 2, "every": 0}, "every: must be from 1"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(
    tmp_path: Path, arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(SimulationError, match=text):
        pysim.Worlds(servo(tmp_path), 3).rollout(**arguments)
