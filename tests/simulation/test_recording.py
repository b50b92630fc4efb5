"""Worlds by hand that are recorded, pushed and closed.

Oracles: states of the same worlds without a recording, bit for bit; rows of `simulate`; closed forms of impulses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError

SCENES = Path(__file__).parents[2] / "scenes"


def scene(name: str, **simulation: float) -> pysim.Scene:
    keys = {"duration": 0.3} | simulation
    changes = {f"simulation.{key}": value for key, value in keys.items()}
    return pysim.load_scene(SCENES / f"{name}.toml", changes)


@pytest.mark.parametrize("name", ["four_bar", "servo_pid", "anymal_pushed", "falling_box"])
def test_rows_are_the_states_of_worlds_that_nobody_records(name: str) -> None:
    own = scene(name)
    worlds, stepped = pysim.Worlds(own, 3), pysim.Worlds(own, 3)
    every = own.settings.every
    recording = worlds.record(every=every, world=1)
    worlds.step(seconds=0.1)  # calls that pass many rows
    worlds.step(seconds=0.2)
    rows = [(stepped.t[1], stepped.q[1].copy(), stepped.v[1].copy())]
    for _ in range(round(0.3 / every)):
        stepped.step(seconds=every)
        rows.append((stepped.t[1], stepped.q[1].copy(), stepped.v[1].copy()))
    run = recording.trajectory()
    for k, found in enumerate((run.t, run.q, run.v)):
        np.testing.assert_array_equal(found, [row[k] for row in rows])
    for own_state, other in ((worlds.q, stepped.q), (worlds.v, stepped.v), (worlds.t, stepped.t)):
        np.testing.assert_array_equal(own_state, other)


@pytest.mark.parametrize("name", ["four_bar", "servo_pid", "anymal_pushed"])
def test_a_recording_has_the_columns_of_a_run(name: str, tmp_path: Path) -> None:
    own = scene(name)
    simulated = pysim.simulate(own)
    worlds = pysim.Worlds(own)
    recording = worlds.record()
    worlds.step(seconds=0.3)
    run = recording.trajectory()
    assert run.names | {"work": ()} == simulated.names | {"work": ()}
    for key in ("t", "q", "v", "poses", "kinetic", "potential"):
        np.testing.assert_allclose(getattr(run, key), getattr(simulated, key), atol=1e-9)
    np.testing.assert_allclose(run.contact_forces, simulated.contact_forces, atol=1e-6)
    np.testing.assert_allclose(run.loop_wrenches, simulated.loop_wrenches, rtol=1e-6, atol=1e-6)
    for signal, values in run.signals.items():
        np.testing.assert_allclose(values, simulated.signals[signal], rtol=1e-6, atol=1e-6)
    run.save(tmp_path / "run.h5")
    assert len(pysim.load_trajectory(tmp_path / "run.h5")) == len(run)


def test_single_precision_and_adaptive_steps_are_recorded() -> None:
    worlds = pysim.Worlds(scene("double_pendulum"), 2, dtype=np.float32)
    recording = worlds.record(every=0.01)
    worlds.step(seconds=0.05)
    np.testing.assert_array_equal(recording.trajectory().q[-1], worlds.q[0].astype(float))
    own = pysim.load_scene(SCENES / "double_pendulum.toml", {"simulation.integrator": "dopri5"})
    worlds = pysim.Worlds(own)
    recording = worlds.record(every=0.01)
    worlds.step(seconds=0.035)
    worlds.step(seconds=0.015)
    run = recording.trajectory()
    np.testing.assert_allclose(run.t, 0.01 * np.arange(6), atol=1e-15)
    np.testing.assert_array_equal(run.q[-1], worlds.q)


def test_a_reset_begins_the_rows_anew_and_the_end_of_the_block_ends_them() -> None:
    worlds = pysim.Worlds(scene("double_pendulum"), 2)
    with worlds.record(every=0.01) as recording:
        worlds.step(seconds=0.05)
        worlds.reset()
        worlds.step(seconds=0.03)
        worlds.step(seconds=0.01, where=[1])
    worlds.step(seconds=0.05)
    run = recording.trajectory()
    np.testing.assert_allclose(run.t, 0.01 * np.arange(4), atol=1e-15)
    np.testing.assert_array_equal(run.q[0], scene("double_pendulum").state.q)


def test_rows_use_the_parameters_of_their_world() -> None:
    worlds = pysim.Worlds(scene("double_pendulum"), 2)
    name = f"body.{worlds.model.body_names[0]}.mass"
    worlds.parameters[name][1] *= 3.0
    runs = []
    for k in (0, 1):
        recording = worlds.record(every=0.01, world=k)
        worlds.step(seconds=0.01)
        runs.append(recording.trajectory())
    own = worlds.scene(1).model
    expected = pysim.kinetic_energy(own, runs[1].q, runs[1].v)
    np.testing.assert_allclose(runs[1].kinetic, expected, rtol=1e-13)
    others = np.asarray(pysim.kinetic_energy(worlds.model, runs[1].q, runs[1].v))
    assert np.abs(others - expected).max() > 0


@pytest.mark.parametrize(
    ("every", "message"),
    [
        (0.0013, r"every: 0.0013 s is no whole number of steps of 0.0005 s; the nearest is 0.0015"),
        (-1.0, "every: must be more than 0 and finite, got -1 s"),
        ("fast", "every: must be a number, got 'fast'"),
    ],
)
def test_a_wrong_interval_is_an_error(every: float, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        pysim.Worlds(scene("double_pendulum")).record(every=every)


def test_an_impulse_changes_the_momentum_of_a_free_body_alone() -> None:
    worlds = pysim.Worlds(scene("quadruped"), 3)
    model, q, v = worlds.model, worlds.q.copy(), worlds.v.copy()
    impulse = np.array([0.3, -0.2, 0.5, 0.1, 0.0, -0.4])
    body = model.body_names[0]
    worlds.push(body, impulse, where=[0, 2])
    np.testing.assert_array_equal(worlds.v[1], v[1])
    change = pysim.centroidal_momentum(model, q, worlds.v) - pysim.centroidal_momentum(model, q, v)
    arm = pysim.frame_placement(model, q, body)[:, :3, 3] - pysim.center_of_mass(model, q)
    moment = impulse[3:] + np.cross(arm, impulse[:3])
    for k in (0, 2):
        np.testing.assert_allclose(change[k], [*impulse[:3], *moment[k]], atol=1e-12)
    worlds.step()  # velocities count from the next step on
    assert not worlds.lost.any()


def test_an_impulse_on_a_closed_mechanism_keeps_its_loops_closed() -> None:
    """The work of an impulse P is P·(u⁻ + u⁺)/2, of the point's velocities before and after."""
    worlds = pysim.Worlds(scene("four_bar"))
    model, q, v = worlds.model, worlds.q.copy(), worlds.v.copy()
    body, P = model.body_names[1], np.array([0.4, -0.1, 0.2])
    worlds.push(body, P)
    at = pysim.loops.constraints(model, q, worlds.v)
    assert np.abs(at.jacobian @ worlds.v).max() < 1e-12
    before, after = (pysim.frame_velocity(model, q, x, body, "aligned")[:3] for x in (v, worlds.v))
    work = pysim.kinetic_energy(model, q, worlds.v) - pysim.kinetic_energy(model, q, v)
    assert work == pytest.approx(P @ (before + after) / 2, rel=1e-10)


def test_wrong_impulses_are_errors() -> None:
    worlds = pysim.Worlds(scene("double_pendulum"), 2)
    body = worlds.model.body_names[0]
    with pytest.raises(SimulationError, match=r"impulse: must have shape \(3,\), \(6,\)"):
        worlds.push(body, [1.0, 2.0])
    with pytest.raises(SimulationError, match="impulse: must be finite"):
        worlds.push(body, [np.nan, 0.0, 0.0])


def test_worlds_know_their_step_and_model_and_cannot_be_used_once_closed() -> None:
    own = scene("double_pendulum")
    with pysim.Worlds(own, 2) as worlds:
        assert worlds.dt == own.settings.step
        assert worlds.model is own.model
    for use in (lambda: worlds.q, lambda: worlds.step(steps=1), lambda: len(worlds)):
        with pytest.raises(SimulationError, match="worlds: are closed; make new ones"):
            use()
    worlds.close()
