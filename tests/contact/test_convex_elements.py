"""Controllers, actuators and states of elements in convex steps.

Oracles: runs under dopri5 without contacts, closed forms of a motor and of a cart, and the same world alone.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.diagnosis.stability import step_bounds
from tests.contact.scenes import GROUND, anymal, ran, robots, world
from tests.elements.blocks import constant, disc, motor, scene_of, simulation, table

G = 9.81  # [m/s²]


def drive(**keys: float) -> str:
    """A voltage and a motor on the hinge."""
    return constant("volts", 5.0, "V") + table(
        "actuator", name="drive", type="dc_motor", joint="hinge", command="volts", **keys
    )


def pid_and_motor() -> str:
    """A disc that a PID controller turns against a motor with an inductance; three states."""
    gains = {"kp": 40.0, "ki": 30.0, "kd": 4.0, "filter": 60.0}
    return (
        disc(0.1, damping=0.05)
        + drive(resistance=1.0, inductance=0.02, constant=0.5)
        + constant("target", 0.5, "rad")
        + table("controller", name="pid", type="pid", inputs=["target", "angle.q"], **gains)
        + motor("pid")
    )


def error_of(folder: Path, text: str, keys: dict[str, float], exact: pysim.Trajectory) -> float:
    """The largest error of q and v at the outputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # steps that are long on purpose
        run = pysim.simulate(scene_of(folder, text + simulation("convex", **keys)))
    return float(max(np.abs(run.q - exact.q).max(), np.abs(run.v - exact.v).max()))


@pytest.mark.parametrize(
    ("keys", "longest", "order"),
    [({}, 2e-3, 1), ({"accuracy": 1.0}, 8e-3, 2)],
    ids=["fixed", "accuracy"],
)
def test_states_of_elements_have_the_order_of_the_scheme(
    tmp_path: Path, keys: dict[str, float], longest: float, order: int
) -> None:
    text = pid_and_motor()
    exact = pysim.simulate(scene_of(tmp_path, text + simulation(duration=0.8, interval=0.16)))
    errors = [
        error_of(
            tmp_path,
            text,
            {"step": longest / 2**k, "duration": 0.8, "interval": 0.16} | keys,
            exact,
        )
        for k in range(4)
    ]
    assert np.log2(errors[-2] / errors[-1]) == pytest.approx(order, abs=0.15)
    assert errors[-1] < 0.02 / order


def test_a_motor_whose_current_settles_faster_than_the_step(tmp_path: Path) -> None:
    """L / R = 1e-5 s at 1 ms; v = u / k (1 − e^(−t / T)), T = R J / k², and k² / R h is ten times J."""
    text = disc(0.1) + drive(resistance=1.0, inductance=1e-5, constant=30.0)
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", step=1e-3)))
    np.testing.assert_allclose(run.v[1:, 0], 5.0 / 30.0, rtol=1e-9)
    slow = disc(0.1) + drive(resistance=1.0, inductance=1e-6, constant=0.5)
    run = pysim.simulate(scene_of(tmp_path, slow + simulation("convex", step=1e-4)))
    exact = 10.0 * (1 - np.exp(-run.t / 0.4))
    np.testing.assert_allclose(run.v[:, 0], exact, atol=1e-3)


def cart(**sampling: float) -> str:
    """A box of 2 kg that a PI controller pushes over a plane with friction."""
    slide = {"type": "prismatic", "damping": 0.0}
    return (
        GROUND
        + table("body", name="rail", mass=0.5, inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
        + table("joint", name="x", child="rail", axis=[1, 0, 0], **slide)
        + table(
            "body",
            name="box",
            mass=2.0,
            shape={"box": {"x": 0.4, "y": 0.3, "z": 0.2}},
            collision=True,
        )
        + table(
            "joint", name="z", parent="rail", child="box", axis=[0, 0, 1], start={"q": 0.1}, **slide
        )
        + table("sensor", name="place", type="coordinates", coordinates=["x"])
        + constant("target", 0.5, "m")
        + table(
            "controller",
            name="pid",
            type="pid",
            inputs=["target", "place.q"],
            kp=60.0,
            ki=40.0,
            kd=25.0,
            filter=100.0,
            **sampling,
        )
        + table("actuator", name="push", type="force", joint="x", command="pid")
    )


def test_an_integral_pushes_a_box_against_friction(tmp_path: Path) -> None:
    """A PD force below μ m g leaves it short of the target; the integral grows until it slides there."""
    run = pysim.simulate(
        world(tmp_path, cart(), surface="friction = 0.3", duration=8.0, every=0.05)
    )
    force = np.abs(run.contact_forces[1:].sum(axis=1))
    assert force[:, 0].max() <= 0.3 * 2.0 * G * 1.01
    assert abs(run.q[-1, 0] - 0.5) < 0.1
    assert abs(run.v[-1, 0]) < 0.05
    np.testing.assert_allclose(force[-1, 2], 2.0 * G, rtol=1e-6)


def test_sampled_control_is_the_same_within_calls_of_the_engine_and_between_them(
    tmp_path: Path,
) -> None:
    """An accelerometer of the same period, which nothing reads, makes the blocks run between calls."""
    text = cart(period=3e-3)
    sensor = table("sensor", name="shake", type="acceleration", frame="box", period=3e-3)
    within, between = (
        pysim.simulate(world(tmp_path, x, surface="friction = 0.3", duration=1.0, every=0.02))
        for x in (text, text + sensor)
    )
    assert within.q[-1, 0] > 0.2
    for key in ("q", "v", "contact_forces"):
        np.testing.assert_array_equal(getattr(within, key), getattr(between, key))
    np.testing.assert_array_equal(within.signals["pid"], between.signals["pid"])


def test_a_world_has_the_same_bits_alone_and_in_a_batch(tmp_path: Path) -> None:
    scene = world(tmp_path, cart(), surface="friction = 0.3", duration=0.3, every=0.05)
    rng = np.random.default_rng(3)
    q = np.tile(scene.state.q, (11, 1))
    q[:, 0] += rng.uniform(-0.3, 0.3, 11)
    q[:, 1] += rng.uniform(0.0, 0.05, 11)
    v = rng.uniform(-0.5, 0.5, (11, 2))
    rows = pysim.rollout(scene, q, v, steps=100, every=20)
    threads = pysim.rollout(scene, q, v, threads=2, steps=100, every=20)
    np.testing.assert_array_equal(threads.q, rows.q)
    np.testing.assert_array_equal(threads.v, rows.v)
    worlds = pysim.Worlds(scene, 11)
    worlds.load(rows.state)
    for k in range(11):
        alone = pysim.rollout(scene, q[k], v[k], steps=100, every=20)
        np.testing.assert_array_equal(alone.q, rows.q[k])
        assert worlds.save([k]) == alone.state
    assert np.ptp(rows.q[:, -1, 0]) > 0.1


def test_a_rollout_goes_on_where_another_ended(tmp_path: Path) -> None:
    scene = world(tmp_path, cart(), surface="friction = 0.3", duration=0.3, every=0.05)
    q, v = scene.state.q[np.newaxis], scene.state.v[np.newaxis]
    whole = pysim.rollout(scene, q, v, steps=200, every=100)
    half = pysim.rollout(scene, q, v, steps=100, every=100)
    rest = pysim.rollout(
        scene, half.q[:, -1], half.v[:, -1], steps=100, every=100, state=half.state
    )
    np.testing.assert_array_equal(rest.q[:, -1], whole.q[:, -1])
    run = pysim.simulate(world(tmp_path, cart(), surface="friction = 0.3", duration=0.2, every=0.1))
    np.testing.assert_array_equal(run.q[-1], whole.q[0, -1])


def test_rows_have_the_states_of_their_times(tmp_path: Path) -> None:
    text = pid_and_motor() + table("sensor", name="power", type="power", element="drive")
    fine = pysim.simulate(scene_of(tmp_path, text + simulation("convex", interval=0.01)))
    coarse = pysim.simulate(scene_of(tmp_path, text + simulation("convex", interval=0.5)))
    assert np.ptp(fine.signals["power"]) > 0.1
    for one, other in (
        (fine.q, coarse.q),
        (fine.work["drive"], coarse.work["drive"]),
        (fine.signals["power"], coarse.signals["power"]),
    ):
        np.testing.assert_allclose(one[::50], other, rtol=1e-9, atol=1e-12)


def servos(text: str) -> str:
    """The scene with servos in place of the springs and dampers of its joints."""
    springs = re.findall(
        r"\[model\.joint\.(\w+)\]\nstiffness = (\S+)\ndamping = (\S+)\nrest = (\S+)\n?", text
    )
    scene_text = re.sub(
        r"\[model\.joint\.\w+\]\nstiffness = \S+\ndamping = \S+\nrest = \S+\n", "", text
    )
    blocks = ""
    for joint, kp, kd, rest in springs:
        blocks += constant(f"{joint} target", float(rest), "rad")
        blocks += table(
            "actuator",
            name=f"{joint} servo",
            type="affine",
            joint=joint,
            command=f"{joint} target",
            gain=[float(kp)],
            bias=[0.0, -float(kp), -float(kd)],
        )
    assert len(springs) == 12
    scene_text = scene_text.replace("free_base = true", "free_base = true\nenforce_limits = false")
    return scene_text.replace("[simulation]", blocks + "[simulation]")


def test_servos_of_a_robot_act_as_springs_and_dampers_of_its_joints(tmp_path: Path) -> None:
    """ANYmal drops onto its feet; explicit dampers of this size need steps of 0.1 ms."""
    setup = {"kp": 400.0, "kd": 200.0, "mu": 0.8}
    runs = [("duration = 0.4", "step = 2e-3")]
    springs = anymal(tmp_path, setup, 0.5, *runs)
    expected = ran(springs)
    file = tmp_path / "anymal.toml"
    file.write_text(servos(file.read_text("utf-8")), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # a weightless link
        scene = pysim.load_scene(file, package_dirs=[robots()])
    assert step_bounds(scene).stable == np.inf
    explicit = np.linalg.eigvals(pysim.minverse(scene.model, scene.state.q)[6:, 6:] * 200.0)
    assert 2 / explicit.real.max() < 2e-3 / 15
    run = ran(scene)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-7)
    assert run.contact_forces[-1].any()
    each = [name for name in run.work if name.endswith("servo")]
    assert len(each) == 12


def test_a_force_without_stiffness_and_damping_does_not_limit_the_step(tmp_path: Path) -> None:
    """A push that an event releases at 0.05 m; closed form: t = √(2 h/(F/m − g)), and free flight after it."""
    text = (
        table("body", name="ball", mass=2.0, inertia={"xx": 0.01, "yy": 0.02, "zz": 0.03})
        + table("joint", name="free", type="free", parent="world", child="ball")
        + table("force", name="push", type="constant_force", b="ball", load=[0.0, 0.0, 40.0])
        + table("event", name="up", joint="free", coordinate="z", at=0.05, release=["push"])
    )
    scene = scene_of(tmp_path, text + simulation("convex", duration=0.2, step=1e-3))
    assert step_bounds(scene).stable == np.inf
    run = pysim.simulate(scene)
    up = 40.0 / 2.0 - G
    t = np.sqrt(2 * 0.05 / up)
    np.testing.assert_allclose(run.events.t, [t], atol=1e-3)
    rest = run.t[-1] - t
    expected = 0.05 + up * t * rest - G * rest**2 / 2
    np.testing.assert_allclose(run.q[-1, 2], expected, atol=2e-3)
