"""Convex steps under control of their error: order 2, restitution, balances, and the number of solves.

Oracle: fine runs of the same scheme and of dopri5; Hunt and Crossley's restitution; a reference case of
tests/data/reference/contact; the balance of momentum.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.simulation.record_runs import RecordRun
from tests.contact.scenes import (
    G,
    anymal,
    at,
    case,
    free,
    free_body,
    impact,
    lowest_foot,
    ran,
    within,
    world,
)

BALL = "{ sphere = { radius = 0.1 } }"
BOX = "{ box = [0.2, 0.3, 0.1] }"
SOFT = "friction = 0.4\nstiffness = 4e3\ndissipation = 0.2"
SMOOTH = SOFT.replace("0.4", "0")
ROUGH = SOFT.replace("0.4", "5")
ANY = "accuracy = 1e9"  # every step has the longest length


def pressed(tmp_path: Path, step: float, run: str = ANY, **changes: Any) -> pysim.Scene:
    """A body that stays in contact, by default a ball that slides."""
    values: dict[str, Any] = {
        "shape": BALL,
        "mass": 1.0,
        "start": "{ xyz = [0, 0, 0.094], v = [3.0, 0.3, -0.05, 3, 2, 1] }",
        "surface": SOFT,
        "duration": 0.032,
        "every": 0.032,
        "step": step,
        "run": run,
    }
    return free_body(tmp_path, **(values | changes))


def end(scene: pysim.Scene) -> np.ndarray:
    trajectory = ran(scene)
    return np.concatenate([trajectory.q[-1], trajectory.v[-1]])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"surface": ROUGH, "start": "{ xyz = [0, 0, 0.094], v = [0.02, 0.01, -0.05, 0, 0.2, 1] }"},
        {
            "shape": BOX,
            "start": "{ xyz = [0, 0, 0.046], v = [1.3, 0.1, -0.05, 0.05, 0.1, 0.5] }",
            "duration": 0.016,
            "every": 0.016,
        },
        {
            "gravity": (2.0, 6.0, -9.81),  # slips along a curve
            "start": "{ xyz = [0, 0, 0.094], v = [3.0, -2.0, -0.05, 3, 2, 1] }",
        },
        {
            "gravity": (0.0, 8.0, -9.81),
            "start": "{ xyz = [0, 0, 0.0976], v = [0.5, 0, 0, 0, 0, 0] }",
        },
    ],
    ids=["sliding", "sticking", "box", "turning", "turning slowly"],
)
def test_halving_the_step_divides_the_error_by_four(tmp_path: Path, changes: Any) -> None:
    exact = end(pressed(tmp_path, 1e-3 / 64, **changes))
    errors = [
        np.abs(end(pressed(tmp_path, 2e-3 / 2**k, **changes)) - exact).max() for k in range(5)
    ]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.2)


def test_euler_steps_halve_their_error(tmp_path: Path) -> None:
    exact = end(pressed(tmp_path, 1e-3 / 64))
    errors = [np.abs(end(pressed(tmp_path, 1e-3 / 2**k, "")) - exact).max() for k in range(5)]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1, atol=0.2)


def test_a_sliding_ball_agrees_with_dopri5(tmp_path: Path) -> None:
    fine = end(pressed(tmp_path, 1e-3 / 64))
    run = 'integrator = "dopri5"\nrtol = 1e-10\natol = 1e-12\nslip_speed = 1e-6'
    np.testing.assert_allclose(fine, end(pressed(tmp_path, 0.032, run)), atol=1e-7)


ARM = """
[[body]]
name = "upper"
shape = { capsule = { radius = 0.03, length = 0.4 } }
mass = 1.0
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
at = { xyz = [0, 0, 0.5] }
start = { q = 1.0, v = 0.5 }
damping = 0.02
stiffness = 2
[[body]]
name = "fore"
mass = 1.0
com = [0, 0, -0.1]
inertia = { xx = 0.01, yy = 0.01, zz = 0.002 }
collision = [{ sphere = { radius = 0.05 }, at = { xyz = [0, 0, -0.25] } }]
[[joint]]
name = "elbow"
type = "universal"
parent = "upper"
child = "fore"
at = { xyz = [0, 0, -0.2] }
start = { q = [0.2, -0.8], v = [1.0, -0.3] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.105 }
"""


def test_an_arm_that_slides_has_order_two(tmp_path: Path) -> None:
    def arm(step: float) -> np.ndarray:
        scene = world(
            tmp_path, ARM, surface=SMOOTH, duration=0.032, every=0.032, step=step, run=ANY
        )
        assert ran(scene).contact_forces[-1, 0, 2] > 1
        return end(scene)

    exact = arm(1e-3 / 64)
    errors = [np.abs(arm(2e-3 / 2**k) - exact).max() for k in range(5)]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2, atol=0.2)


def test_restitution_is_that_of_the_law(tmp_path: Path) -> None:
    setup, expect = case("hunt_crossley_impact")
    errors = []
    for accuracy in (1e-5, 1e-6, 1e-7):
        trajectory = ran(impact(tmp_path, setup, f"accuracy = {accuracy}", step=0.05))
        errors.append(
            abs(trajectory.v[-1, 2] / setup["speed_m_s"] - expect["restitution"]["value"])
        )
    assert errors[-1] < 1e-4
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def bounces(tmp_path: Path, run: str, step: float = 0.05) -> pysim.Scene:
    """A ball that is thrown and bounces twice, with spin."""
    return free_body(
        tmp_path,
        shape=BALL,
        mass=1.0,
        start="{ xyz = [0, 0, 0.3], v = [1, 0, 0, 0, 0, 0] }",
        surface="friction = 0.3\nstiffness = 4e4\ndissipation = 0.3\nrelaxation_time = 1e-3",
        duration=0.45,
        every=0.45,
        step=step,
        run=run,
    )


def solved(scene: pysim.Scene) -> tuple[np.ndarray, int]:
    """Final position, and the number of convex problems solved."""
    run = RecordRun(scene)
    run.begin()
    times = iter([0.0, scene.settings.duration])
    assert [part.t[-1] for part in run.segments(times) if len(part.t)] == [scene.settings.duration]
    stages = int(run.records.scheme[0, -scene.model.nv - 1])
    position: np.ndarray = run.records.q[0, :3].copy()
    return position, stages


def test_two_oblique_bounces_take_fewer_than_a_hundred_solves(tmp_path: Path) -> None:
    exact, _ = solved(bounces(tmp_path, "accuracy = 1e-9"))
    found, stages = solved(bounces(tmp_path, "accuracy = 1e-3"))
    assert np.abs(found - exact).max() < 4e-3
    assert stages <= 100


def test_impulses_balance_the_momentum_of_a_body(tmp_path: Path) -> None:
    scene = dataclasses.replace(bounces(tmp_path, "accuracy = 1e-4"))
    trajectory = ran(scene)
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)[:, :3]
    gained = trajectory.contact_impulses.sum(axis=(0, 1))
    assert gained[2] > 1
    np.testing.assert_allclose(h[-1] - h[0], gained - [0, 0, G * 0.45], atol=1e-12)


def test_a_worlds_bits_do_not_depend_on_its_neighbours(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = bounces(tmp_path, "accuracy = 1e-4")
    q0 = np.tile(scene.state.q, (11, 1))
    q0[:, 2] += 0.1 * rng.random(11)
    v0 = scene.state.v + rng.normal(size=(11, 6))
    together, worlds = pysim.rollout(scene, q0, v0), pysim.Worlds(scene, 11)
    worlds.load(together.state)
    for k in (0, 4, 10):
        alone = pysim.rollout(scene, q0[k], v0[k])
        np.testing.assert_array_equal(alone.q, together.q[k])
        np.testing.assert_array_equal(alone.v, together.v[k])
        assert worlds.save([k]) == alone.state


def test_steps_longer_than_a_contact_never_add_energy(tmp_path: Path) -> None:
    """Steps of order 1 from 0.1 to 3 times the time of contact."""
    speed, duration = 1.0, np.pi * np.sqrt(1 / 2e4)
    for share in np.geomspace(0.1, 3, 9):
        scene = free_body(
            tmp_path,
            shape=BALL,
            mass=1.0,
            start=f"{{ xyz = [0, 0, 0.105], v = [0, 0, {-speed}, 0, 0, 0] }}",
            gravity=(0, 0, 0),
            surface="friction = 0\nstiffness = 4e4\ndissipation = 0",
            step=share * duration,
            duration=0.3,
        )
        assert ran(scene).v[-1, 2] <= speed


def test_balls_that_collide_keep_momentum(tmp_path: Path) -> None:
    bodies = free("a", BALL, 1.0, "{ xyz = [0, 0, 0], v = [1, 0, 0, 0, 0, 3] }")
    bodies += free("b", BALL, 2.0, "{ xyz = [0.3, 0.05, 0] }")
    scene = world(
        tmp_path,
        bodies,
        surface=SOFT,
        gravity=(0, 0, 0),
        duration=0.5,
        every=0.05,
        step=0.05,
        run="accuracy = 1e-5",
    )
    trajectory = ran(scene)
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)
    assert np.abs(trajectory.v[-1, 6:]).max() > 0.1
    np.testing.assert_allclose(h[:, :3], np.tile(h[0, :3], (len(h), 1)), atol=1e-13)
    np.testing.assert_allclose(h[:, 3:], np.tile(h[0, 3:], (len(h), 1)), atol=1e-5)


@pytest.mark.slow
def test_anymal_stands_under_error_control(tmp_path: Path) -> None:
    setup, expect = case("anymal_stand")
    run = ("duration = 3", "accuracy = 1e-4", "step = 0.01")
    height = lowest_foot(anymal(tmp_path, setup, 0.6))
    trajectory = ran(scene := anymal(tmp_path, setup, height, run))
    late = at(trajectory, 2.5)
    weight = trajectory.contact_forces[late:, :, 2].sum(axis=1) / (scene.model.total_mass * G)
    np.testing.assert_allclose(weight, 1, atol=1e-2)
    assert np.abs(trajectory.v[-1, :6]).max() < 1e-3
    assert within(expect["deepest penetration"], trajectory.contacts.penetration.max())


def test_a_world_that_is_turned_as_a_whole_moves_alike(tmp_path: Path) -> None:
    """The joints' frames, the ground and gravity turn together, so coordinates of free bodies are the same."""
    turn = [0.5, -0.7, 0.9]
    R = pysim.spatial.rotation_from_rpy(turn)
    bodies = free(
        "box", "{ box = [0.2, 0.3, 0.1], at = { xyz = [0.02, 0, 0] } }", 1.0,
        "{ xyz = [0, 0, 0.15], rpy = [0.3, 0.2, 0], v = [0.5, 0, -1, 1, 2, 3] }",
    ) + free("ball", BALL, 0.5, "{ xyz = [0, 0, 0.32], v = [0, 0, -2, 5, 0, 0] }")  # fmt: skip
    runs = []
    for rpy, axes in ([0.0, 0.0, 0.0], np.eye(3)), (turn, R):
        ground = f"[[ground]]\nplane = {{ normal = {axes[:, 2].tolist()}, offset = 0 }}\n"
        placed = bodies.replace('type = "free"', f'type = "free"\nat = {{ rpy = {rpy} }}')
        scene = world(
            tmp_path,
            placed + ground,
            surface=SOFT,
            gravity=-G * axes[:, 2],
            duration=0.1,
            every=0.02,
            step=1e-2,
            run="accuracy = 1e-5",
        )
        runs.append(ran(scene))
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-8)
    np.testing.assert_allclose(runs[0].v, runs[1].v, atol=1e-6)
