"""Servos at their force range in convex steps.

Oracles: runs of rk4 with small steps, the potential of a bounded spring, and the same world alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from tests.elements.blocks import constant, disc, scene_of, simulation, table

INERTIA, RANGE, KP = 0.1, 10.0, 1e5  # [kg·m²], [N·m], [N·m/rad]


def servo(kd: float, damping: float, **keys: Any) -> str:
    """A disc, 1 rad from the target of its servo."""
    own = {"kp": KP, "kd": kd, "force_range": [-RANGE, RANGE]} | keys
    return (
        disc(INERTIA, damping=damping)
        + constant("target", 1.0, "rad")
        + table(
            "actuator", name="servo", type="position_servo", joint="hinge", command="target", **own
        )
    )


def run(folder: Path, text: str, step: float, **keys: Any) -> pysim.Trajectory:
    """Run with an output at every step."""
    settings = {"step": step, "duration": 1.0, "interval": step} | keys
    return pysim.simulate(scene_of(folder, text + simulation("convex", **settings)))


def reference(folder: Path, text: str) -> pysim.Trajectory:
    keys = {"step": 1e-5, "duration": 1.0, "interval": 0.01}
    return pysim.simulate(scene_of(folder, text + simulation("rk4", **keys)))


@pytest.mark.filterwarnings("ignore:simulation.step:pysim.PysimWarning")  # of the free servo
@pytest.mark.parametrize("bound", [RANGE, 1e12, np.inf])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_servo_leaves_a_bound_within_a_step_however_far_the_other_one_is(
    side: float, bound: float, tmp_path: Path
) -> None:
    """At the start x is six times its bound, at the end within. Oracle: implicit Euler's spring and damper."""
    ends = sorted((side * RANGE, -side * bound))
    h, kd, x = 5e-3, 10.0, side * 6.0 * RANGE
    scene = scene_of(tmp_path, servo(kd, 0.0, force_range=ends) + simulation("convex", step=h))
    worlds = pysim.Worlds(scene)
    worlds.q[:] = 1.0 - x / KP
    worlds.step()
    v = h * x / (INERTIA + h * kd + h**2 * KP)
    assert abs(x - (h * KP + kd) * v) < RANGE
    assert worlds.v[0] == pytest.approx(v, rel=1e-5)


@pytest.mark.parametrize(("kd", "damping"), [(1e3, 5.0), (3e3, 2.0)])
def test_a_stiff_servo_brakes_into_its_target_at_any_step(
    tmp_path: Path, kd: float, damping: float
) -> None:
    """A force that stays as at the start of a step turns back and forth here up to 80 times."""
    text = servo(kd, damping)
    exact = reference(tmp_path, text)
    for step in (4e-3, 1e-2, 2e-2):
        found = run(tmp_path, text, step)
        q, v = found.q[:, 0], found.v[:, 0]
        assert q.max() < 1.0 + 1e-8
        assert v.min() > -1e-6
        assert abs(q[-1] - exact.q[-1, 0]) < 1e-8
        torque = INERTIA * np.diff(v) / step + damping * v[1:]
        assert np.abs(torque).max() <= RANGE * (1 + 1e-12)
        assert np.abs(q - np.interp(found.t, exact.t, exact.q[:, 0])).max() < step


@pytest.mark.parametrize(("keys", "order"), [({}, 1), ({"accuracy": 1e-5}, None)])
def test_errors_shrink_with_the_step(
    tmp_path: Path, keys: dict[str, float], order: int | None
) -> None:
    text = servo(1e3, 5.0)
    exact = reference(tmp_path, text)
    errors = [
        float(np.abs(run(tmp_path, text, step, interval=0.01, **keys).q - exact.q).max())
        for step in (5e-3, 2.5e-3, 1.25e-3)
    ]
    if order is None:
        assert max(errors) < 1e-4
    else:
        assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(order, abs=0.3)


def test_an_undamped_servo_gains_no_energy(tmp_path: Path) -> None:
    """U(x) = f |x| − f² / 2 k beyond the range, k x² / 2 within: an implicit step never gains ½ J v² + U."""
    for step in (1e-3, 5e-3, 3e-2):
        found = run(tmp_path, servo(0.0, 0.0), step)
        x = np.abs(1.0 - found.q[:, 0])
        bounded = RANGE * x - RANGE**2 / (2 * KP)
        energy = INERTIA * found.v[:, 0] ** 2 / 2 + np.where(KP * x < RANGE, KP * x**2 / 2, bounded)
        assert np.diff(energy).max() < 1e-9


def test_every_way_to_bound_a_servo_is_the_same(tmp_path: Path) -> None:
    """A range of the servo, an effort limit of the joint, both, a
    velocity limit far off, a servo of MuJoCo's form, and a gear of −2."""
    text = servo(1e3, 5.0)
    bound = "force_range = [-10.0, 10.0]"
    at_joint = text.replace(bound, "").replace(
        'type = "revolute"', 'type = "revolute"\neffort_limit = 10.0'
    )
    twice_bounded = text.replace(bound, "force_range = [-30.0, 10.0]").replace(
        'type = "revolute"', 'type = "revolute"\neffort_limit = 10.0'
    )
    in_band = at_joint.replace(
        "effort_limit = 10.0", "effort_limit = 10.0\nvelocity_limit = 50.0\nvelocity_band = 0.05"
    )
    affine = text.replace('"position_servo"', '"affine"').replace(
        "kp = 100000.0\nkd = 1000.0", "gain = [1e5]\nbias = [0.0, -1e5, -1e3]"
    )
    geared = (
        affine.replace("gain = [1e5]", "gear = [-2.0]\ngain = [-5e4]")
        .replace("bias = [0.0, -1e5, -1e3]", "bias = [0.0, -2.5e4, -250.0]")
        .replace(bound, "force_range = [-5.0, 5.0]")
    )
    first, *others = (
        run(tmp_path, own, 4e-3, interval=0.02).q
        for own in (text, at_joint, twice_bounded, in_band, affine, geared)
    )
    for q in others:
        np.testing.assert_allclose(q, first, atol=1e-9)


def test_a_velocity_servo_and_a_filtered_one_hold_at_their_range(tmp_path: Path) -> None:
    """With a time constant of 10 ms; both reach the speed at which damping takes all of the range."""
    drive = table(
        "actuator",
        name="servo",
        type="velocity_servo",
        joint="hinge",
        command="speed",
        kd=1e4,
        force_range=[-RANGE, RANGE],
    )
    text = disc(INERTIA, damping=5.0) + constant("speed", 1.9, "rad/s") + drive
    found = run(tmp_path, text, 2e-2)
    assert found.v[:, 0].max() <= 1.9
    assert found.v[-1, 0] == pytest.approx(1.9, abs=2e-3)
    filtered = servo(0.0, 5.0).replace('"position_servo"', '"affine_filter"')
    filtered = filtered.replace(
        "kp = 100000.0\nkd = 0.0", "time_constant = 0.01\ngain = [1e5]\nbias = [0.0, -1e5, -1e3]"
    )
    exact = reference(tmp_path, filtered)
    errors = [
        float(np.abs(run(tmp_path, filtered, step, interval=0.01).q - exact.q).max())
        for step in (5e-3, 2.5e-3, 1.25e-3)
    ]
    assert errors[2] < 0.35 * errors[0] < 0.01


def test_a_world_has_the_same_bits_beside_others(tmp_path: Path) -> None:
    text = servo(3e3, 2.0)
    keys = {"step": 1e-2, "duration": 1.0, "interval": 0.1}
    scene = scene_of(tmp_path, text + simulation("convex", **keys))
    rng = np.random.default_rng(1)
    q = rng.uniform(-2, 2, (11, 1))
    q[3] = 1.0  # within the range from the start
    v = rng.uniform(-3, 3, (11, 1))
    together = pysim.rollout(scene, q, v, steps=100, every=10)
    for k in range(11):
        alone = pysim.rollout(scene, q[k : k + 1], v[k : k + 1], steps=100, every=10)
        np.testing.assert_array_equal(alone.q[0], together.q[k])
        np.testing.assert_array_equal(alone.v[0], together.v[k])


@pytest.mark.filterwarnings("ignore:joint 'elbow' stays:pysim.PysimWarning")
def test_servos_of_mjcf_hold_an_arm_against_its_stop(tmp_path: Path) -> None:
    """The target is beyond the stop, which carries the range less the arm's weight; the file names both."""
    (tmp_path / "arm.xml").write_text(
        """<mujoco><compiler angle="radian"/><worldbody><body name="arm">
        <joint name="elbow" axis="0 1 0" range="-0.5 0.5" limited="true"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/></body></worldbody>
        <actuator><position name="servo" joint="elbow" kp="1e5" kv="1e3" forcerange="-5 5"/></actuator>
        <keyframe><key name="home" qpos="0" ctrl="2.0"/></keyframe></mujoco>""",
        "utf-8",
    )
    text = '[[model]]\nfile = "arm.xml"\nkeyframe = "home"\n'
    found = [run(tmp_path, text, step, interval=0.1) for step in (1e-3, 1e-2)]
    for own in found:
        assert own.v[-1, 0] == pytest.approx(0.0, abs=1e-6)
        assert own.q[-1, 0] == pytest.approx(0.5, abs=0.1)  # the stop is soft
    assert found[0].q[-1, 0] == pytest.approx(found[1].q[-1, 0], abs=1e-6)


def test_worlds_rollouts_and_runs_without_a_ledger_are_those_of_a_run(tmp_path: Path) -> None:
    """A stiff servo brakes a disc at its target from 1 rad/s, at its force range and within it."""
    step = 5e-3
    text = servo(1e3, 0.0) + simulation("convex", step=step, duration=4 * step, interval=step)
    scene = scene_of(tmp_path, text)
    q, v = np.array([[0.999]]), np.array([[1.0]])
    start = replace(scene.state, q=q[0], v=v[0])
    expected = pysim.simulate(replace(scene, state=start))
    assert np.abs(expected.v[1:]).max() < 1.0
    without = replace(scene, state=start, settings=replace(scene.settings, work=False))
    rollout = pysim.rollout(scene, q, v, steps=4)
    worlds = pysim.Worlds(scene, 1)
    worlds.q[:], worlds.v[:] = q, v
    worlds.step(steps=4)
    np.testing.assert_array_equal(pysim.simulate(without).v, expected.v)
    np.testing.assert_array_equal(rollout.v[0, -1], expected.v[-1])
    np.testing.assert_array_equal(worlds.v[0], expected.v[-1])


@pytest.mark.parametrize("force", [-8.0, -9.0, -9.9])
def test_a_servo_that_reaches_its_bound_within_a_step_pushes_no_more(
    tmp_path: Path, force: float
) -> None:
    """J (v₁ − v₀) = −h f, f the bound: a spring at the start of the step would pass it by 2 N·m."""
    kp, speed, h = 1e3, 4.0, 1e-3
    text = servo(0.0, 0.0, kp=kp) + simulation("convex", step=h, duration=h, interval=h)
    worlds = pysim.Worlds(scene_of(tmp_path, text))
    worlds.q[:], worlds.v[:] = 1.0 - force / kp, speed
    worlds.step()
    assert float(worlds.v[0]) == pytest.approx(speed - h * RANGE / INERTIA, rel=1e-12)
