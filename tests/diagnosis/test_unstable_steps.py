"""Explicit steps beyond stability that no infinite value ends.

Oracles: the same run with shorter steps; the limit of rk4 on the negative real axis; the name of the cause.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.diagnosis.stability import step_bounds
from pysim.diagnosis.unstable_steps import StepGuard
from pysim.worlds.saved_parts import SavedParts
from pysim.worlds.segment import Segment
from tests.elements.blocks import constant, disc, mass, scene_of, simulation, table

SLOW = 6.283  # [rad/s]


def four_bar(
    lengths: tuple[float, float, float, float] = (0.1, 0.3, 0.25, 0.3), start: float = 30.0
) -> str:
    """A four-bar of aluminium bars 20 × 20 mm: the lengths are those of crank, coupler, rocker, ground [m]."""
    a, b, c, d = lengths
    crank = math.radians(start)
    A, D = np.array([a * math.cos(crank), a * math.sin(crank)]), np.array([d, 0.0])
    r = D - A
    L = float(np.linalg.norm(r))
    x = (b * b - c * c + L * L) / (2 * L)
    B = A + x * r / L + math.sqrt(b * b - x * x) * np.array([-r[1], r[0]]) / L
    coupler, rocker = math.atan2(*(B - A)[::-1]), math.atan2(*(B - D)[::-1])
    text = "gravity = [0, 0, -9.81]\n"
    for name, length in (("crank", a), ("coupler", b), ("rocker", c)):
        shape = {"box": [length, 0.02, 0.02], "at": {"xyz": [length / 2, 0, 0]}, "density": 2700}
        text += table("body", name=name, shape=shape)
    hinge = {"type": "revolute", "axis": [0, -1, 0]}
    text += table("joint", name="drive", child="crank", start=crank, **hinge)
    text += table(
        "joint",
        name="knee",
        parent="crank",
        child="coupler",
        at={"xyz": [a, 0, 0]},
        start=coupler - crank,
        **hinge,
    )
    text += table(
        "joint", name="swing", child="rocker", at={"xyz": [d, 0, 0]}, start=rocker, **hinge
    )
    return text + table(
        "loop",
        name="pin",
        a="coupler",
        b="rocker",
        at_a={"xyz": [b, 0, 0]},
        at_b={"xyz": [c, 0, 0]},
        **hinge,
    )


def servo(kd: float, joint: str = "drive", speed: float = SLOW) -> str:
    return constant("speed", speed, "rad/s") + table(
        "actuator", name="turner", type="velocity_servo", joint=joint, command="speed", kd=kd
    )


def run_of(folder: Path, text: str) -> pysim.Trajectory:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # of the step, before the run
        return pysim.simulate(scene_of(folder, text))


LINKAGES = (
    ((0.1, 0.3, 0.25, 0.3), 30.0),
    ((0.08, 0.22, 0.2, 0.25), 100.0),
    ((0.15, 0.4, 0.35, 0.38), 200.0),
)


@pytest.mark.parametrize(("beyond", "work"), [(1.1, True), (1.5, True), (3.0, True), (3.0, False)])
@pytest.mark.parametrize(("lengths", "start"), LINKAGES)
def test_a_linkage_whose_servo_is_beyond_stability_ends_with_its_name(
    tmp_path: Path,
    lengths: tuple[float, float, float, float],
    start: float,
    beyond: float,
    work: bool,
) -> None:
    text = four_bar(lengths, start)
    short = scene_of(tmp_path, text + servo(1.0) + simulation("rk4"))
    kd = (
        beyond * step_bounds(short).stable / 1e-3
    )  # the largest damping that 1 ms is stable for, times beyond
    text += servo(kd) + simulation("rk4", duration=3.0, interval=0.01)
    text += f"work = {str(work).lower()}\n"
    with pytest.raises(pysim.SimulationError, match=r"simulation\.step is .*'turner'"):
        run_of(tmp_path, text)


def test_a_linkage_within_stability_runs_as_with_shorter_steps(tmp_path: Path) -> None:
    runs = [
        run_of(tmp_path, four_bar() + servo(1.5) + simulation("rk4", step=step, duration=1.0))
        for step in (1e-3, 1e-4)
    ]
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], rtol=1e-3)


@pytest.mark.parametrize("integrator", ["rk4", "rk2", "semi_implicit"])
def test_a_damper_beyond_stability_ends_the_run_with_the_joint(
    tmp_path: Path, integrator: str
) -> None:
    text = four_bar().replace('child = "crank"\n', 'child = "crank"\ndamping = 6.0\n')
    text = text.replace("start = 0.5235987755982988", "start = { q = 0.5235987755982988, v = 5.0 }")
    with pytest.raises(pysim.SimulationError, match=r"because of joint '(drive|knee)'"):
        run_of(tmp_path, text + simulation(integrator, duration=3.0, interval=0.01))


@pytest.mark.filterwarnings("ignore:.*step is .* beyond:pysim.PysimWarning")  # before the run
def test_a_rollout_of_a_model_that_does_not_follow_its_velocity_is_warned_of(
    tmp_path: Path,
) -> None:
    """A rollout has no ledger, and a model's worlds no error each."""
    start = "start = { q = 0.5235987755982988, v = 5.0 }"
    text = four_bar().replace('child = "crank"\n', 'child = "crank"\ndamping = 5.0\n')
    text = text.replace("start = 0.5235987755982988", start)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=3.0, interval=0.01))
    q0, v0 = (np.tile(x, (8, 1)) for x in (scene.state.q, scene.state.v))
    pattern = r"^rollout: world 0: at t = 6 s 'drive' does not follow its velocity of .*: step is "
    with pytest.warns(pysim.PysimWarning, match=pattern):
        pysim.rollout(scene.model, q0, v0, None, 1e-3, steps=6000, every=10)


def overdamped() -> str:
    """A mass whose damper is beyond the stability of rk4 with 1 ms, so that v grows by a third in ten steps."""
    text = mass(1.0, 0.0, 1e-3).replace('name = "x"\n', 'name = "x"\ndamping = 2800.0\n')
    return text + simulation("rk4", duration=1.0, interval=0.01)


@pytest.mark.filterwarnings("ignore:.*step is .* beyond:pysim.PysimWarning")  # before the run
def test_a_kinetic_energy_that_grows_beyond_reason_ends_a_run_without_a_ledger(
    tmp_path: Path,
) -> None:
    with pytest.raises(pysim.SimulationError, match=r"the kinetic energy has grown from .* J: "):
        run_of(tmp_path, overdamped() + "work = false\n")


@pytest.mark.filterwarnings("ignore:.*step is .* beyond:pysim.PysimWarning")  # before the run
def test_a_kinetic_energy_that_grows_beyond_reason_is_warned_of_in_a_rollout(
    tmp_path: Path,
) -> None:
    scene = scene_of(tmp_path, overdamped())
    q0, v0 = (np.tile(x, (200, 1)) for x in (scene.state.q, scene.state.v))
    pattern = r"^rollout: world \d+: at t = 2 s the kinetic energy has grown from .* J: step is"
    with pytest.warns(pysim.PysimWarning, match=pattern):
        pysim.rollout(scene.model, q0, v0, None, 1e-3, steps=2000, every=10)


def test_a_rollout_beyond_stability_loses_its_worlds_with_the_servo(tmp_path: Path) -> None:
    scene = scene_of(
        tmp_path, four_bar() + servo(5.0) + simulation("rk4", duration=2.0, interval=0.01)
    )
    q0, v0 = (np.tile(x, (3, 1)) for x in (scene.state.q, scene.state.v))
    with pytest.warns(pysim.PysimWarning, match="'turner'"):
        run = pysim.rollout(scene, q0, v0)
    assert np.isnan(run.v[:, -1]).all()
    for text in run.failures:
        assert "does not follow its velocity" in text
        assert "'turner'" in text


def test_control_that_is_unstable_only_later_is_warned_of(tmp_path: Path) -> None:
    text = four_bar(start=120.0) + servo(4.3)
    scene = scene_of(tmp_path, text + simulation("rk4", step=1e-3, duration=2.0, interval=0.01))
    with pytest.warns(pysim.PysimWarning, match=r"rk4 is stable at t = .* by 'turner'"):
        pysim.rollout(scene)


@pytest.mark.parametrize("integrator", ["rk4", "rk2", "semi_implicit"])
def test_a_divergence_names_the_servo_behind_it(tmp_path: Path, integrator: str) -> None:
    text = disc(inertia=1e-3) + servo(20.0, "hinge") + simulation(integrator)
    with pytest.raises(
        pysim.SimulationError, match=r"reaches NaN .*'turner'|balance is off .*'turner'"
    ):
        run_of(tmp_path, text)


def test_a_motion_with_the_period_of_its_outputs_is_not_mistaken(tmp_path: Path) -> None:
    text = (
        disc(v=1.0)
        + constant("zero", 0.0, "rad")
        + table(
            "actuator",
            name="spring",
            type="position_servo",
            joint="hinge",
            command="zero",
            kp=0.1 * (2 * np.pi / 0.1) ** 2,
        )
    )
    run = run_of(tmp_path, text + simulation("rk4", step=1e-3, duration=2.0, interval=0.1))
    assert np.abs(run.v[:, 0] - 1).max() < 1e-3


def test_the_outputs_kept_of_a_run_without_a_ledger_are_few_and_evenly_spaced(
    tmp_path: Path,
) -> None:
    scene = scene_of(tmp_path, disc() + simulation("rk4", step=1e-3, duration=1.0))
    guard = StepGuard(scene, None, energy=False)
    angles = np.arange(1.0, 5001.0)  # [rad]
    for part in np.split(angles, 1000):
        rows = np.ones((len(part), 1))
        guard.check(Segment(part, part[:, None], rows, np.zeros((len(part), 0)), part[-1], 5))
    again = StepGuard(scene, None, energy=False)
    again.restore(SavedParts(guard.saved(), "checkpoint"))
    for own in (guard, again):
        kept = own.saved()["rows_q"][:, 0]
        assert 256 <= len(kept) <= 512
        assert np.ptp(np.diff(kept)) == 0
        assert kept[0] == 1
        assert kept[-1] > 4980
