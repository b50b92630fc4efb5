"""Worlds under steps of adapted size.

Oracle: runs of `simulate`, whose rows are interpolated in the same steps, bit for bit; and worlds whose time is divided
otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from pysim.scene.toml.overrides import UNSET
from tests.elements.blocks import disc, motor, scene_of, simulation, table
from tests.resumed_scenes import disc_text
from tests.simulation.test_replay_adaptive import HARD_STOP

SCENES = Path(__file__).parents[2] / "scenes"
SCENE_NAMES = [
    "double_pendulum",
    "four_bar",  # loops whose rows depend on others
    "servo_pid",  # states of elements
    "falling_box",  # smooth contacts
    "tracking_arm",
    "sampled",  # blocks with a period and noise
]
EVERY = 0.01

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def scene_named(name: str, folder: Path) -> pysim.Scene:
    """Return a scene of 0.2 s with adaptive steps that sets no step, and rows every 0.01 s."""
    path = SCENES / f"{name}.toml"
    if name == "sampled":
        path = folder / "scene.toml"
        path.write_text(disc_text("revolute", "").replace("plugins", "#"))
    changes = {
        "simulation.integrator": "dopri5",
        "simulation.duration": 0.2,
        "output.every": EVERY,
    }
    if not np.isfinite(pysim.load_scene(path, changes).settings.step):
        return pysim.load_scene(path, changes)
    return pysim.load_scene(path, {**changes, "simulation.step": UNSET})


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_worlds_that_are_stepped_have_the_rows_of_a_run_to_the_bit(
    name: str, tmp_path: Path
) -> None:
    scene = scene_named(name, tmp_path)
    run = pysim.simulate(scene)
    worlds = pysim.Worlds(scene)
    for k in range(1, 20):
        worlds.step(seconds=EVERY)
        assert worlds.t == run.t[k]
        assert worlds.q.tobytes() == run.q[k].tobytes()
        assert worlds.v.tobytes() == run.v[k].tobytes()


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_no_division_of_time_nor_other_worlds_change_a_bit(
    name: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Eleven worlds: a pack and some; each goes forward by spans of its own."""
    scene = scene_named(name, tmp_path)
    start = np.linspace(0.5, 1.0, 11)[:, None] * scene.state.v if not scene.model.rows else None
    worlds, alone = pysim.Worlds(scene, 11, threads=2), pysim.Worlds(scene, 11)
    for own in (worlds, alone):
        if start is not None:
            own.v[:] = start
    rows = [alone.q.copy()]
    for _ in range(12):
        for k in range(11):
            alone.step(seconds=EVERY, where=[k])
        rows.append(np.hstack([alone.q, alone.v]))
    made = np.zeros(11, int)
    while made.min() < 12:
        which = (rng.random(11) < 0.5) & (made < 12)
        worlds.step(seconds=EVERY, where=which)
        made += which
        saved = worlds.save()
        worlds.step(seconds=0.05)
        worlds.load(saved)
        for k in np.flatnonzero(made).tolist():
            expected = rows[made[k]][k]
            assert np.r_[worlds.q[k], worlds.v[k]].tobytes() == expected.tobytes()
    assert worlds.save() == alone.save()


def test_a_scene_with_a_step_is_stepped_by_it() -> None:
    changes = {"simulation.integrator": "dopri5", "simulation.step": 0.01}
    scene = pysim.load_scene(SCENES / "double_pendulum.toml", changes)
    one, other = pysim.Worlds(scene), pysim.Worlds(scene)
    one.step(steps=6)
    for _ in range(3):
        other.step(seconds=0.02)
    assert one.save() == other.save()
    with pytest.raises(SimulationError, match=r"0.013 s is no whole number of steps of 0.01 s"):
        one.step(seconds=0.013)


def test_a_scene_without_a_step_needs_a_span_in_seconds(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_named("double_pendulum", tmp_path))
    for keys in ({}, {"steps": 3}):
        with pytest.raises(SimulationError, match="give seconds, or set"):
            worlds.step(**keys)
    worlds.step(seconds=0.0)
    assert worlds.t == 0.0
    with pytest.raises(SimulationError, match="must be 0 or more"):
        worlds.step(seconds=-1.0)


def test_written_states_are_gone_on_from(tmp_path: Path) -> None:
    """As from a start of their own, and not from that of the step before."""
    scene = scene_named("double_pendulum", tmp_path)
    worlds, other = pysim.Worlds(scene, 3), pysim.Worlds(scene, 3)
    worlds.step(seconds=0.05)
    worlds.q[1], worlds.v[1] = [0.4, -0.2], [1.0, 2.0]
    other.reset(q=[0.4, -0.2], v=[1.0, 2.0])
    for own in (worlds, other):
        own.step(seconds=0.05)
    np.testing.assert_allclose(worlds.v[1], other.v[1], rtol=1e-13)
    assert worlds.t.tolist() == [0.1, 0.1, 0.1]


DRIVEN = disc(0.1, 0.2) + table("signal", name="torque", type="input", unit="N·m") + motor("torque")


def test_an_input_acts_from_the_call_on_in_which_it_is_given(tmp_path: Path) -> None:
    """v' = (u − 0.2 v) / I, solved interval by interval; its disc has 0.1 kg·m²."""
    scene = scene_of(tmp_path, DRIVEN + simulation("dopri5", duration=1.0))
    values = np.sin(np.arange(20.0))
    worlds = pysim.Worlds(scene)
    v, rate = 0.0, 2.0
    for u in values:
        worlds.inputs["torque"][:] = u
        worlds.step(seconds=0.05)
        v = u / 0.2 + (v - u / 0.2) * np.exp(-rate * 0.05)
        assert worlds.v[0] == pytest.approx(v, abs=1e-6)


def test_a_world_that_fails_says_what_a_run_says(tmp_path: Path) -> None:
    (tmp_path / "stop.toml").write_text(HARD_STOP)
    scene = pysim.load_scene(tmp_path / "stop.toml")
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(scene)
    worlds = pysim.Worlds(scene, 3)
    worlds.v[1] = -1.0
    worlds.step(seconds=0.5)
    assert worlds.lost.tolist() == [True, False, True]
    assert worlds.reason(0) == str(caught.value)
    assert worlds.t[0] == pytest.approx(0.4, abs=1e-6)
    assert worlds.t[1] == 0.5


def test_worlds_may_differ_in_numbers(tmp_path: Path) -> None:
    scene = scene_named("double_pendulum", tmp_path)
    name = f"body.{scene.spec.model.bodies[0].name}.mass"
    worlds = pysim.Worlds(scene, 9)
    worlds.parameters[name][:] = np.linspace(0.5, 2.0, 9)
    worlds.step(seconds=0.05)
    for k in (0, 8):
        alone = pysim.Worlds(worlds.scene(k))
        alone.reset(q=scene.state.q, v=scene.state.v)
        alone.step(seconds=0.05)
        assert alone.v.tobytes() == worlds.v[k].tobytes()


def test_a_number_that_is_written_acts_from_then_on(tmp_path: Path) -> None:
    """And not from the start of the step that the call before has passed."""
    scene = scene_named("double_pendulum", tmp_path)
    name = f"body.{scene.spec.model.bodies[0].name}.mass"
    worlds = pysim.Worlds(scene, 2)
    worlds.step(seconds=0.05)
    q, v = worlds.q[0].copy(), worlds.v[0].copy()
    worlds.parameters[name][:] = 5.0
    worlds.step(seconds=0.05)
    alone = pysim.Worlds(worlds.scene(0))
    alone.reset(q=q, v=v)
    alone.step(seconds=0.05)
    np.testing.assert_allclose(worlds.v[1], alone.v, rtol=1e-12)


def test_states_of_elements_go_on_from_the_ends_of_intervals_of_controls(tmp_path: Path) -> None:
    """T y' = u − y: intervals began with the y at the start of the last step before them."""
    text = DRIVEN + table(
        "controller", name="slow", type="low_pass", inputs=["torque"], time_constant=0.3
    )
    scene = scene_of(tmp_path, text + simulation("dopri5", duration=1.0))
    controls = np.ones((1, 10, 1))
    controls[0, 0] = 0.0
    run = pysim.rollout(scene, [[0.0]], [[0.0]], controls=controls, signals=["slow"])
    expected = 1 - np.exp(-np.maximum(run.t - 0.1, 0) / 0.3)
    np.testing.assert_allclose(run.signals["slow"][0], expected, atol=1e-9)


def test_a_run_is_the_beginning_of_a_longer_one(tmp_path: Path) -> None:
    """Steps end at instants of blocks behind the last output, too."""
    scene = scene_named("sampled", tmp_path)
    whole = pysim.simulate(scene)
    for duration in (0.187, 0.1934):
        settings = replace(scene.settings, duration=duration)
        run = pysim.simulate(replace(scene, settings=settings))
        rows = len(run) - 1  # the last is at its own end
        assert run.q[:rows].tobytes() == whole.q[:rows].tobytes()
        assert run.v[:rows].tobytes() == whole.v[:rows].tobytes()
        assert run.complete
