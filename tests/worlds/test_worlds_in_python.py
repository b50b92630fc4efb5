"""Worlds and rollouts whose schemes or joints are computed in Python.

Oracle: `simulate` of the same scene, or the same worlds undisturbed, to the bit: steps are powers of two, so that all
times are exact.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import JointError, SimulationError
from tests.resumed_scenes import PLUGINS, disc_text

STEP = 2.0**-9
INPUT = """
[[signal]]
name = "push"
type = "input"
size = 1
unit = "N·m"

[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "push"
"""
FAR = """
[[event]]
name = "far"
joint = "hinge"
at = 9.0
release = ["motor"]
"""
CASES = [
    ("resumed_adams", "revolute"),
    ("resumed_adams", "resumed_slot"),
    ("rk4", "resumed_slot"),
    ("semi_implicit", "resumed_slot"),
]

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


@pytest.fixture
def disc(tmp_path: Path) -> Any:
    """Return a function that loads the scene of a disc with a scheme and a type of joint."""

    def load(scheme: str, kind: str = "resumed_slot", more: str = "") -> pysim.Scene:
        (tmp_path / "own.py").write_text(PLUGINS)
        text = disc_text(kind, more).replace("0.007", f"{4 * STEP}")
        (tmp_path / "disc.toml").write_text(text)
        given = {
            "simulation.integrator": scheme,
            "simulation.step": STEP,
            "simulation.duration": 64 * STEP,
            "output.every": 8 * STEP,
        }
        return pysim.load_scene(tmp_path / "disc.toml", given, allow_code=True)

    return load


@pytest.mark.parametrize(("scheme", "kind"), CASES)
def test_worlds_stepped_by_hand_have_the_bits_of_a_run(scheme: str, kind: str, disc: Any) -> None:
    scene = disc(scheme, kind)
    run = pysim.simulate(scene)
    worlds = pysim.Worlds(scene, 3)
    for row in range(1, len(run.t)):
        for steps in (3, 1, 4):
            worlds.step(steps=steps)
        assert worlds.t[0] == run.t[row]
        if kind == "resumed_slot":  # the noise of controlled worlds differs
            assert worlds.q[1].tobytes() == run.q[row].tobytes()
        assert worlds.q[0].tobytes() == run.q[row].tobytes()
        assert worlds.v[0].tobytes() == run.v[row].tobytes()
    assert not worlds.lost.any()


@pytest.mark.parametrize(("scheme", "kind"), CASES)
def test_saved_copied_and_pickled_worlds_go_on_with_the_same_bits(
    scheme: str, kind: str, disc: Any
) -> None:
    worlds = pysim.Worlds(disc(scheme, kind), 3)
    worlds.v[:] += [[0.0], [0.3], [-0.7]]
    worlds.step(steps=7)
    saved, reloaded = worlds.save(), pickle.loads(pickle.dumps(worlds))
    worlds.step(steps=9)
    expected = worlds.q.tobytes(), worlds.v.tobytes()
    worlds.load(saved)
    worlds.step(steps=4)
    worlds.step(steps=5)
    assert (worlds.q.tobytes(), worlds.v.tobytes()) == expected
    reloaded.step(steps=9)
    assert (reloaded.q.tobytes(), reloaded.v.tobytes()) == expected
    reloaded.load(saved)
    reloaded.copy([2, 2], [0, 1])
    reloaded.step(steps=9)
    assert reloaded.q[2].tobytes() == worlds.q[2].tobytes()
    if kind == "resumed_slot":
        assert reloaded.q[0].tobytes() == reloaded.q[1].tobytes() == worlds.q[2].tobytes()
    some = worlds.save(where=[1])
    worlds.step(steps=2)
    worlds.load(some, where=[1])


def test_a_reset_world_has_forgotten_what_its_scheme_remembers(disc: Any) -> None:
    worlds = pysim.Worlds(disc("resumed_adams"), 2)
    worlds.step(steps=5)
    first = worlds.q[0].tobytes()
    worlds.reset(where=[1])
    worlds.step(steps=5, where=[1])
    assert worlds.q[1].tobytes() == first


def test_a_scheme_begins_anew_at_a_state_that_is_written(disc: Any) -> None:
    worlds = pysim.Worlds(disc("resumed_adams"), 2)
    worlds.step(steps=5)
    worlds.v[0] += 0.25
    worlds.reset(where=[1], q=worlds.q[0].copy(), v=worlds.v[0].copy())
    worlds.step(steps=5)
    assert worlds.q[0].tobytes() == worlds.q[1].tobytes()


def test_memory_that_bytes_do_not_hold_is_named(disc: Any) -> None:
    worlds = pysim.Worlds(disc("resumed_odd"), 1)
    worlds.step()
    with pytest.raises(SimulationError, match="'resumed_odd' cannot be saved: its attribute seen"):
        worlds.save()


def test_the_error_of_a_scheme_s_code_ends_the_call_and_leaves_the_world_whole(disc: Any) -> None:
    worlds = pysim.Worlds(disc("resumed_faulty"), 2)
    with pytest.raises(JointError, match="nothing left"):
        worlds.step(steps=40)
    assert worlds.lost[0]
    assert worlds.t[0] == 6 * STEP
    assert "nothing left" in worlds.reason(0)
    worlds.reset()
    worlds.step(steps=5)
    assert not worlds.lost.any()


def test_numbers_of_worlds_are_those_of_the_scene(disc: Any) -> None:
    worlds = pysim.Worlds(disc("resumed_heun"), 2)
    with pytest.raises(SimulationError, match="'resumed_heun' run in Python, with the numbers of"):
        worlds.parameters["body.disc.mass"][:] = 2.0


@pytest.mark.parametrize("event", ["", FAR])
def test_rollouts_under_inputs_go_on_with_what_a_scheme_remembers(event: str, disc: Any) -> None:
    """An event, which never fires here, makes the worlds run one by one."""
    scene = disc("resumed_adams", "resumed_slot", INPUT + event)
    controls = np.random.default_rng(5).normal(size=(2, 8, 1))
    run = pysim.rollout(scene, np.stack([scene.state.q, scene.state.q + 0.2]), controls=controls)
    worlds = pysim.Worlds(disc("resumed_adams", "resumed_slot", INPUT), 2)
    worlds.reset(q=np.stack([scene.state.q, scene.state.q + 0.2]))
    for row in range(8):
        worlds.step(steps=8, controls=np.repeat(controls[:, row : row + 1], 8, axis=1))
        assert worlds.q.tobytes() == run.q[:, row + 1].tobytes()


@pytest.mark.parametrize("event", ["", FAR])
def test_a_rollout_that_goes_on_has_the_bits_of_one_in_one_piece(event: str, disc: Any) -> None:
    scene = disc("resumed_adams", "resumed_slot", INPUT + event)
    starts = np.stack([scene.state.q, scene.state.q + 0.2])
    keys: dict[str, Any] = {"every": 8}
    whole = pysim.rollout(scene, starts, steps=64, **keys)
    first = pysim.rollout(scene, starts, steps=40, **keys)
    rest = pysim.rollout(scene, first.q[:, -1], first.v[:, -1], steps=24, state=first.state, **keys)
    assert rest.q.tobytes() == whole.q[:, 5:].tobytes()


def test_a_rollout_whose_scheme_was_not_saved_does_not_go_on(disc: Any) -> None:
    scene = disc("resumed_odd")
    run = pysim.rollout(scene, steps=8, every=8)
    with pytest.raises(
        SimulationError, match="state: cannot hold the attributes of scheme 'resumed_odd'"
    ):
        pysim.rollout(scene, run.q[-1], run.v[-1], steps=8, every=8, state=run.state)
