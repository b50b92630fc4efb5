"""Rolling and spinning friction: moments that stop, hold and are passed on between bodies.

Oracle: closed forms of a solid ball, I = 2/5 m r², whose friction has the moment ρ μ m g.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from tests.contact.scenes import G, at, free, free_body, on_slope, ran, world

RADIUS, LENGTH, FRICTION = 0.1, 2e-3, 0.5
MOMENT = LENGTH * FRICTION * G  # [N·m] of a ball of 1 kg
INERTIA = 0.4 * RADIUS**2
BALL = "{ sphere = { radius = 0.1 } }"
TURNING = f"rolling = {LENGTH}\nspinning = {LENGTH}"
SURFACE = f"friction = {FRICTION}\nsink = 1e-5\n{TURNING}"
SCHEMES = {
    "convex": "",
    "controlled": "accuracy = 1e-5",
    "smooth": 'integrator = "dopri5"\nslip_speed = 1e-5',
}


def ball(tmp_path: Path, start: str, run: str = "", **changes: Any) -> pysim.Scene:
    given: dict[str, Any] = {
        "shape": BALL,
        "mass": 1.0,
        "start": start,
        "surface": SURFACE,
        "every": 0.01,
        "run": run,
    }
    return free_body(tmp_path, **(given | changes))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ball_that_spins_stops_as_its_moment_lets_it(tmp_path: Path, scheme: str) -> None:
    rate = 2.0
    stops = INERTIA * rate / MOMENT
    trajectory = ran(
        ball(tmp_path, f"{{ xyz = [0, 0, 0.1], v = [0, 0, 0, 0, 0, {rate}] }}", SCHEMES[scheme])
    )
    assert stops < 0.9
    half = at(trajectory, stops / 2)
    expected = rate * (1 - trajectory.t[half] / stops)
    np.testing.assert_allclose(trajectory.v[half, 5], expected, rtol=2e-3)
    limit = 1e-9 if scheme != "smooth" else 1e-3
    assert np.abs(trajectory.v[-1]).max() < limit
    np.testing.assert_allclose(trajectory.a[half, 5], -MOMENT / INERTIA, rtol=2e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ball_that_rolls_slows_down_stops_and_rests(tmp_path: Path, scheme: str) -> None:
    speed, length = 0.5, 0.02
    start = f"{{ xyz = [0, 0, 0.1], v = [{speed}, 0, 0, 0, {speed / RADIUS}, 0] }}"
    surface = f"friction = {FRICTION}\nsink = 1e-5\nrolling = {length}"
    trajectory = ran(ball(tmp_path, start, SCHEMES[scheme], surface=surface, duration=1.2))
    slows = length * FRICTION * G * RADIUS / (INERTIA + RADIUS**2)
    assert speed / slows < 0.8
    t = np.minimum(trajectory.t, speed / slows)
    np.testing.assert_allclose(trajectory.q[:, 0], speed * t - slows * t**2 / 2, atol=5e-4)
    rests = trajectory.t > 1.0
    drift = np.ptp(trajectory.q[rests, 0])
    assert np.abs(trajectory.v[rests]).max() < (1e-9 if scheme != "smooth" else 1e-3)
    assert drift < (1e-10 if scheme != "smooth" else 1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_moments_never_add_energy(tmp_path: Path, scheme: str) -> None:
    start = "{ xyz = [0, 0, 0.1], v = [0.4, 0.3, 0, 2, -3, 4] }"
    surface = SURFACE.replace(str(LENGTH), "0.01")
    scene = ball(tmp_path, start, SCHEMES[scheme], surface=surface, every=0.001)
    v = ran(scene).v
    energy = 0.5 * (v[:, :3] ** 2).sum(axis=1) + 0.5 * INERTIA * (v[:, 3:] ** 2).sum(axis=1)
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert energy[-1] < 0.7 * energy[0]


def test_a_ball_rests_on_a_slope_that_rolling_friction_holds(tmp_path: Path) -> None:
    holds = np.arctan(LENGTH * FRICTION / RADIUS)
    start = "{ xyz = [0, 0, 0.1] }"
    rest = ran(ball(tmp_path, start, gravity=on_slope(0.9 * holds), duration=5.0))
    assert np.abs(rest.v[-1]).max() < 1e-9
    assert np.abs(rest.q[-1, 0] - rest.q[len(rest.t) // 2, 0]) < 1e-10
    slope = 1.2 * holds
    rolls = ran(ball(tmp_path, start, gravity=on_slope(slope), duration=5.0))
    moment = np.sin(slope) * G * RADIUS - MOMENT * np.cos(slope)
    moved = moment * RADIUS / (INERTIA + RADIUS**2) * 5.0**2 / 2
    assert rolls.q[-1, 0] == pytest.approx(moved, rel=1e-2)


def test_spin_is_passed_on_between_bodies(tmp_path: Path) -> None:
    bodies = free("disc", "{ box = [0.3, 0.3, 0.02] }", 0.5, "{ xyz = [0, 0, 0.01] }")
    bodies += free("ball", BALL, 1.0, "{ xyz = [0, 0, 0.12], v = [0, 0, 0, 0, 0, 3] }")
    ground = """
    [[ground]]
    plane = { normal = [0, 0, 1], offset = 0.0 }
    [[contact]]
    between = ["world", "disc"]
    friction = 0
    """
    text = bodies + "\n".join(line.strip() for line in ground.splitlines())
    trajectory = ran(scene := world(tmp_path, text, surface=SURFACE, duration=1.5, every=0.01))
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)
    np.testing.assert_allclose(h[:, 5], h[0, 5], rtol=1e-9)
    assert trajectory.v[-1, 5] == pytest.approx(trajectory.v[-1, 11], rel=1e-6)  # turn as one
    assert trajectory.v[-1, 5] > 0.1


@pytest.mark.parametrize("bodies", ["balls", "box"])
def test_derivatives_of_moments_match_finite_differences(
    tmp_path: Path, rng: np.random.Generator, bodies: str
) -> None:
    """By q of a box alone: derivatives take points as fixed on a body, which those of balls are not."""
    text = free("a", BALL, 1.0, "{ xyz = [0, 0, 0.098] }")
    text += free("b", BALL, 2.0, "{ xyz = [0, 0, 0.296] }")
    if bodies == "box":
        text = free("a", "{ box = [0.3, 0.2, 0.1] }", 1.0, "{ xyz = [0, 0, 0.046] }")
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }\n"
    surface = "friction = 0.4\nstiffness = 4e3\nrolling = 0.05\nspinning = 0.03"
    run = 'integrator = "rk4"\nslip_speed = 0.1'
    scene = world(tmp_path, text + ground, surface=surface, run=run)
    assert scene.contacts is not None
    contacts, h = scene.contacts.engine, 1e-7
    n = scene.model.nv
    q, v = scene.model.integrate(scene.state.q, 1e-3 * rng.normal(size=n)), rng.normal(size=n)

    def force(dq: np.ndarray, dv: np.ndarray) -> np.ndarray:
        at = scene.model.integrate(q, dq)
        found: np.ndarray = _engine.contact_forces(contacts, at, v + dv)[0]
        return found

    _, by_q, by_v = _engine.contact_forces(contacts, q, v)
    zero, unit = np.zeros(n), h * np.eye(n)
    wanted_v = np.array([(force(zero, e) - force(zero, -e)) / (2 * h) for e in unit]).T
    wanted_q = np.array([(force(e, zero) - force(-e, zero)) / (2 * h) for e in unit]).T
    np.testing.assert_allclose(by_v, wanted_v, atol=1e-6 * np.abs(wanted_v).max())
    if bodies == "box":
        np.testing.assert_allclose(by_q, wanted_q, atol=1e-6 * np.abs(wanted_q).max())


def test_friction_without_lengths_leaves_a_spin_alone(tmp_path: Path) -> None:
    start = "{ xyz = [0, 0, 0.1], v = [0, 0, 0, 0, 0, 2] }"
    scene = ball(tmp_path, start, surface=SURFACE.replace(TURNING, ""))
    assert ran(scene).v[-1, 5] == pytest.approx(2, abs=1e-12)


def test_a_pair_replaces_the_lengths_of_its_materials(tmp_path: Path) -> None:
    extra = '[[contact]]\nbetween = ["world", "body"]\nrolling = 0\nspinning = 5e-3'
    scene = ball(tmp_path, "{ xyz = [0, 0, 0.1] }", extra=extra)
    assert scene.contacts is not None
    law = scene.contacts.shapes[0].law
    assert (law.rolling, law.spinning) == (0, 5e-3)
