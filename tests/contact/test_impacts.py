"""Impacts as events, `contact_law = "impact"`.

Oracles: tests/data/reference/contact (closed forms, ContactBench); Newton's restitution with Coulomb friction at one
point, solved in the plane here; balances of momentum and energy.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.contact.impact_law import solve_impact
from pysim.simulation import Update, summarize
from tests.contact.scenes import GROUND, G, case, free, ran, speeds, within, world

IMPACT = 'integrator = "dopri5"\ncontact_law = "impact"'


def scene_of(tmp_path: Path, bodies: str, *, run: str = "", **changes: Any) -> pysim.Scene:
    """A scene whose surfaces strike each other at events; steps are as long as their errors allow."""
    changes = {"step": 10.0, "every": 0.01} | changes
    changes["step"] = changes.get("duration", 1.0)
    return world(tmp_path, bodies, run=f"{IMPACT}\n{run}", **changes)


def ball(start: str, radius: float = 0.1, mass: float = 1.0, name: str = "ball") -> str:
    return free(name, f"{{ sphere = {{ radius = {radius} }} }}", mass, start)


def restitution(e: float, mu: float = 0.0) -> str:
    return f"restitution = {{ value = {e}, at = 1.0 }}\nfriction = {mu}"


def energy(trajectory: pysim.Trajectory) -> np.ndarray:
    found: np.ndarray = trajectory.kinetic + trajectory.potential
    return found


def test_ball_bounces_at_the_times_and_heights_of_newtons_restitution(tmp_path: Path) -> None:
    setup, expect = case("bouncing_ball")
    r, drop, e = setup["radius_m"], setup["lowest_point_height_m"], setup["restitution"]
    scene = scene_of(
        tmp_path,
        ball(f"{{ xyz = [0, 0, {r + drop}] }}", r, setup["mass_kg"]) + GROUND,
        surface=restitution(e),
        duration=5.0,
        every=0.5,
    )
    trajectory = pysim.simulate(scene)
    events = trajectory.events
    assert set(events.names) == {"impact of world, ball"}
    times, tops = expect["times of impacts"], expect["heights between impacts"]
    assert np.abs(events.t[:6] - times["value"]).max() <= times["tolerance"]
    heights = events.v[:5, 2] ** 2 / (2 * G)
    assert np.abs(heights - tops["value"]).max() <= tops["tolerance"]
    assert within(expect["time when all bouncing has ended"], events.t[-1])
    assert scene.contacts is not None
    sink = scene.contacts.shapes[0].law.sink
    assert trajectory.q[-1, 2] == pytest.approx(r - sink, rel=1e-9)
    assert np.abs(trajectory.v[-1]).max() < 1e-9


def test_balls_with_gaps_strike_one_after_the_other(tmp_path: Path) -> None:
    setup, expect = case("cradle_gaps")
    r, gap, n = setup["radius_m"], setup["gap_m"], setup["balls"]
    text = "".join(
        ball(
            f"{{ xyz = [{k * (2 * r + gap)}, 0, 0]"
            + (f", v = [{setup['speed_m_s']}, 0, 0, 0, 0, 0] }}" if k == 0 else " }"),
            r,
            setup["mass_kg"],
            f"ball {k}",
        )
        for k in range(n)
    )
    end = (n - 1) * gap / setup["speed_m_s"] + 1e-4
    scene = scene_of(
        tmp_path,
        text,
        surface=restitution(setup["restitution"]),
        gravity=(0, 0, 0),
        duration=end,
        every=end,
    )
    trajectory = pysim.simulate(scene)
    wanted = expect["speeds after the first round of impacts"]
    assert np.abs(speeds(trajectory, n)[-1, :, 0] - wanted["value"]).max() <= wanted["tolerance"]
    assert len(trajectory.events) == n - 1


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_impact_passes_on_through_balls_that_touch(tmp_path: Path, e: float) -> None:
    text = ball("{ xyz = [-1, 0, 0], v = [2, 0, 0, 0, 0, 0] }", name="cue") + "".join(
        ball(f"{{ xyz = [{0.2 * k}, 0, 0] }}", name=f"ball {k}") for k in range(3)
    )
    scene = scene_of(tmp_path, text, surface=restitution(e), gravity=(0, 0, 0), every=1.0)
    v = speeds(pysim.simulate(scene), 4)[-1]
    assert v.sum(axis=0) == pytest.approx([2, 0, 0], abs=1e-12)
    first = 0.5 * (1 + e)
    if e == 1:
        assert v[:, 0] == pytest.approx([0, 0, 0, 2], abs=1e-9)
    else:
        assert v[-1, 0] == pytest.approx(2 * first**3, abs=1e-9)
        assert (np.diff(v[:, 0]) >= -1e-6).all()  # none still approaches another


def test_billiard_balls_part_along_and_across_their_line_of_centres(tmp_path: Path) -> None:
    e, offset, u = 0.9, 0.08, 3.0
    text = ball(f"{{ xyz = [-1, {offset}, 0], v = [{u}, 0, 0, 0, 0, 0] }}", name="cue") + ball(
        "{ xyz = [0, 0, 0] }", name="object"
    )
    scene = scene_of(tmp_path, text, surface=restitution(e), gravity=(0, 0, 0), every=1.0)
    v = speeds(pysim.simulate(scene), 2)[-1]
    n = np.array([np.sqrt(0.2**2 - offset**2), -offset, 0]) / 0.2  # towards the object
    along = u * n[0]
    np.testing.assert_allclose(v[1], 0.5 * (1 + e) * along * n, atol=1e-9)
    np.testing.assert_allclose(v[0], [u, 0, 0] - 0.5 * (1 + e) * along * n, atol=1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.6])
def test_ball_with_backspin_slips_or_grips_in_an_impact(tmp_path: Path, mu: float) -> None:
    r, u, w, drop, e = 0.1, 1.0, -20.0, 0.5, 0.7
    start = f"{{ xyz = [0, 0, {r + drop}], v = [{u}, 0, 0, 0, {w}, 0] }}"
    scene = scene_of(
        tmp_path, ball(start, r) + GROUND, surface=restitution(e, mu), duration=0.4, every=0.4
    )
    found = pysim.simulate(scene).events
    R = pysim.forward_kinematics(scene.model, found.q[0])[0, :3, :3]
    v = np.concatenate([R @ found.v[0, :3], R @ found.v[0, 3:]])
    fall = np.sqrt(2 * G * drop)
    slip = u - r * w  # of the lowest point
    friction = min(mu * (1 + e) * fall, slip / 3.5)  # impulse over mass; 1/(1 + m r²/I) = 2/7
    assert v[0] == pytest.approx(u - friction, abs=1e-6)
    assert v[2] == pytest.approx(e * fall, abs=1e-6)
    assert v[4] == pytest.approx(w + 2.5 * friction / r, abs=1e-6)


def rod_impulse(
    mass: float, inertia: float, r: np.ndarray, c: np.ndarray, e: float, mu: float
) -> np.ndarray:
    """Impulse (x, z) at a point r from the centre of a body in the plane, approaching with c."""
    K = np.array(
        [
            [1 / mass + r[1] ** 2 / inertia, -r[0] * r[1] / inertia],
            [-r[0] * r[1] / inertia, 1 / mass + r[0] ** 2 / inertia],
        ]
    )
    stuck = np.linalg.solve(K, [-c[0], -(1 + e) * c[1]])
    if abs(stuck[0]) <= mu * stuck[1]:
        return np.asarray(stuck)
    for side in (-1.0, 1.0):  # direction of the friction
        normal = -(1 + e) * c[1] / (K[1, 1] + side * mu * K[1, 0])
        slips = c[0] + (K[0, 0] * side * mu + K[0, 1]) * normal
        if normal > 0 and slips * side < 0:
            return np.array([side * mu * normal, normal])
    raise AssertionError("no solution")


@pytest.mark.parametrize("angle", [0.3, 0.8, 1.2])
@pytest.mark.parametrize("mu", [0.0, 0.2, 0.5])
def test_falling_rod_receives_the_impulse_of_one_point_with_friction(
    tmp_path: Path, angle: float, mu: float
) -> None:
    length, radius, mass, e, u = 1.0, 0.01, 2.0, 0.5, 0.4
    half = length / 2
    height = half * np.sin(angle) + radius + 0.3
    rod = free(
        "rod",
        f"{{ capsule = {{ radius = {radius}, length = {length} }} }}",
        mass,
        f"{{ xyz = [0, 0, {height}], rpy = [0, {np.pi / 2 + angle}, 0] }}",
    )
    scene = scene_of(tmp_path, rod + GROUND, surface=restitution(e, mu), duration=0.3, every=0.3)
    inertia = scene.model.parameters[0, 6]
    start = scene.state.v.copy()
    R0 = pysim.forward_kinematics(scene.model, scene.state.q)[0, :3, :3]
    start[:3] = R0.T @ [u, 0, 0]
    scene = pysim.load_scene(
        scene.spec.path, {"joint[0].start.v": [*map(float, start[:3]), 0.0, 0.0, 0.0]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trajectory = pysim.simulate(scene)
    q, v = trajectory.events.q[0], trajectory.events.v[0]
    R = pysim.forward_kinematics(scene.model, q)[0, :3, :3]
    axis = R[:, 2] if R[2, 2] < 0 else -R[:, 2]
    r = (half * axis + [0, 0, -radius])[[0, 2]]
    c = np.array([u, -np.sqrt(2 * G * 0.3)])
    impulse = rod_impulse(mass, inertia, r, c, e, mu)
    np.testing.assert_allclose((R @ v[:3])[[0, 2]], c + impulse / mass, atol=1e-7)
    spin = (r[1] * impulse[0] - r[0] * impulse[1]) / inertia
    assert (R @ v[3:])[1] == pytest.approx(spin, abs=1e-6)


def test_box_that_lands_flat_bounces_flat(tmp_path: Path) -> None:
    box = free(
        "box", "{ box = [0.4, 0.3, 0.1] }", 3.0, "{ xyz = [0, 0, 0.55], v = [1, 0, 0, 0, 0, 0] }"
    )
    scene = scene_of(tmp_path, box + GROUND, surface=restitution(0.6), duration=0.5, every=0.5)
    trajectory = pysim.simulate(scene)
    v = trajectory.events.v[0]
    assert v[:3] == pytest.approx([1, 0, 0.6 * np.sqrt(2 * G * 0.5)], abs=1e-8)
    assert np.abs(v[3:]).max() < 1e-8


def test_box_that_lands_flat_and_slides_is_braked_without_turning_aside(tmp_path: Path) -> None:
    box = free(
        "box", "{ box = [0.4, 0.3, 0.02] }", 3.0, "{ xyz = [0, 0, 0.51], v = [3, 0, 0, 0, 0, 0] }"
    )
    scene = scene_of(tmp_path, box + GROUND, surface=restitution(0.0, 0.3), duration=0.4, every=0.4)
    trajectory = pysim.simulate(scene)
    v = trajectory.events.v[0]
    assert v[:3] == pytest.approx([3 - 0.3 * np.sqrt(2 * G * 0.5), 0, 0], abs=1e-7)
    assert np.abs(v[3:]).max() < 1e-7


def test_impulses_balance_the_momentum_of_every_interval(tmp_path: Path) -> None:
    start = "{ xyz = [0, 0, 0.9], v = [1, 0.5, 0, 3, -8, 2] }"
    scene = scene_of(
        tmp_path,
        ball(start, mass=2.0) + GROUND,
        surface=restitution(0.8, 0.4),
        duration=1.5,
        every=0.1,
        run="rtol = 1e-12\natol = 1e-13",
    )
    trajectory = pysim.simulate(scene)
    assert len(trajectory.events) >= 2
    velocity = np.array(
        [
            pysim.forward_kinematics(scene.model, q)[0, :3, :3] @ v[:3]
            for q, v in zip(trajectory.q, trajectory.v, strict=True)
        ]
    )
    change = 2.0 * (np.diff(velocity, axis=0) + np.outer(np.diff(trajectory.t), [0, 0, G]))
    np.testing.assert_allclose(trajectory.contact_impulses[1:, 0], change, atol=1e-10)


def test_elastic_balls_keep_their_energy(tmp_path: Path) -> None:
    setup, expect = case("simbench_bouncing")
    r, height = setup["radius_m"], setup["centre_height_m"]
    side = 3
    text = "".join(
        ball(f"{{ xyz = [{0.5 * i}, {0.5 * j}, {height}] }}", r, setup["mass_kg"], f"ball {i} {j}")
        for i in range(side)
        for j in range(side)
    )
    scene = scene_of(
        tmp_path,
        text + GROUND,
        surface=restitution(setup["restitution"]),
        duration=setup["time_s"],
        every=0.1,
    )
    trajectory = pysim.simulate(scene)
    bodies = side**2
    scale = bodies * setup["mass_kg"] * G * height
    entry = expect["energy of a ball over m g H, all the time"]
    assert np.abs(energy(trajectory) / scale - 1).max() <= entry["tolerance"]
    strikes = trajectory.contact_impulses[:, :, 2] > 0
    wanted = expect["number of impacts of each"]["value"]
    assert (strikes.sum(axis=0)[:bodies] == wanted).all()


def grid(setup: dict[str, Any], side: int) -> str:
    """Balls in a cube above the floor, moved aside a little."""
    random, gap = np.random.default_rng(3), setup["gap_m"]
    cells = np.argwhere(np.ones((side, side, side)))
    moved = setup["perturbation_m"] * random.uniform(-1, 1, (len(cells), 3)) * [1, 1, 0]
    centres = gap * cells + [0, 0, setup["lowest_centre_m"]] + moved
    return "".join(
        ball(f"{{ xyz = {centre.tolist()} }}", setup["radius_m"], setup["mass_kg"], f"ball {k}")
        for k, centre in enumerate(centres)
    )


def test_cube_of_elastic_balls_keeps_its_energy(tmp_path: Path) -> None:
    """27 balls of the case's 216."""
    setup, expect = case("simbench_666_elastic")
    scene = scene_of(
        tmp_path,
        grid(setup, 3) + GROUND,
        surface=restitution(setup["restitution"]),
        duration=setup["time_s"],
        every=0.1,
    )
    trajectory = pysim.simulate(scene)
    found = energy(trajectory)
    assert len(trajectory.events) > 300
    assert within(expect["energy drift over the energy above the floor"], np.ptp(found) / found[0])
    heights = trajectory.q.reshape(len(trajectory.t), -1, 7)[:, :, 2]
    assert heights.min() > setup["radius_m"] - 1e-9  # none is lost


def test_cube_of_balls_falls_apart_without_penetrating(tmp_path: Path) -> None:
    """27 balls of the case's 216, with convex steps."""
    setup, expect = case("simbench_666")
    scene = world(
        tmp_path,
        grid(setup, 3) + GROUND,
        surface=f"{restitution(setup['restitution'])}\nstiffness = 2e8",
        duration=setup["time_s"],
        step=2e-3,
        every=0.02,
    )
    trajectory = ran(scene)
    rows = range(len(trajectory.t))
    deepest = [trajectory.contacts.of_row(k).penetration.max(initial=0) for k in rows]
    assert within(expect["greatest penetration, mean over time"], float(np.mean(deepest)))
    heights = trajectory.q.reshape(len(trajectory.t), -1, 7)[:, :, 2]
    assert heights.min() > setup["radius_m"] - 1e-3


@pytest.mark.parametrize("name", ["contactbench_sliding_cube", "contactbench_2cubes_t0"])
def test_problem_of_complementarity_has_its_contact_velocities(name: str) -> None:
    setup, expect = case(name)
    order = np.arange(len(setup["g"])).reshape(-1, 3)[:, [2, 0, 1]].ravel()  # normal first
    G, g = np.array(setup["G"])[np.ix_(order, order)], np.array(setup["g"])[order]
    mu = np.array(setup["mu"])
    impact = solve_impact(G, g.reshape(-1, 3), np.zeros(len(mu)), mu)
    assert impact is not None
    velocities = np.zeros(len(g))
    velocities[order] = G @ impact.impulses.ravel() + g
    wanted = expect["contact velocities c (lambda need not be unique)"]
    assert np.abs(velocities - np.ravel(wanted["value"])).max() <= wanted["tolerance"]
    assert within(expect["sum of normal impulses"], impact.impulses[:, 0].sum())


def test_pendulum_bounces_off_a_wall(tmp_path: Path) -> None:
    text = """
[[body]]
name = "bob"
shape = { sphere = { radius = 0.1 } }
mass = 1.0
collision = true
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "bob"
at = { xyz = [0, 0, 1] }
start = { q = 0.6 }
[body.frames]
[[ground]]
plane = { normal = [-1, 0, 0], offset = -0.1 }
""".replace("[body.frames]\n", "").replace(
        "shape = { sphere = { radius = 0.1 } }",
        "shape = { sphere = { radius = 0.1 }, at = { xyz = [0, 0, -1] } }",
    )
    scene = scene_of(tmp_path, text, surface=restitution(0.5, 0.9), duration=2.5, every=0.01)
    trajectory = pysim.simulate(scene)
    struck = trajectory.events
    assert len(struck) >= 2
    np.testing.assert_allclose(struck.q[:2, 0], 0, atol=1e-9)
    assert struck.v[0, 0] / struck.v[1, 0] == pytest.approx(2.0, rel=1e-6)


def test_body_that_a_loop_holds_bounces_as_on_a_joint(tmp_path: Path) -> None:
    bob = free(
        "bob",
        "{ sphere = { radius = 0.1 } }",
        1.0,
        f"{{ xyz = [{-np.sin(0.6)}, 0, {1 - np.cos(0.6)}], rpy = [0, 0.6, 0] }}",
    )
    hinge = """
[[loop]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
a = "world"
b = "bob"
at_a = { xyz = [0, 0, 1] }
at_b = { xyz = [0, 0, 1] }
[[ground]]
plane = { normal = [-1, 0, 0], offset = -0.1 }
"""
    scene = scene_of(tmp_path, bob + hinge, surface=restitution(0.5, 0.9), duration=2.0)
    struck = pysim.simulate(scene).events
    assert len(struck) >= 2
    assert struck.v[0, 4] / struck.v[1, 4] == pytest.approx(2.0, rel=1e-6)


def test_controllers_and_stops_act_beside_impacts(tmp_path: Path) -> None:
    text = ball("{ xyz = [0, 0, 1.1] }") + GROUND
    plain = pysim.simulate(scene_of(tmp_path, text, surface=restitution(0.8), duration=2.0))
    sampled = """
[[sensor]]
name = "height"
type = "pose"
frame = "ball"
[[event]]
name = "third top"
body = "ball"
plane = { normal = [0, 0, 1], offset = 0.3 }
direction = "rising"
"""
    seen = pysim.simulate(
        scene_of(tmp_path, text + sampled, surface=restitution(0.8), duration=2.0)
    )
    np.testing.assert_allclose(
        seen.events.times_of("impact of world, ball"), plain.events.t, atol=1e-9
    )
    assert len(seen.events.times_of("third top")) == 3


def test_moving_surface_drags_a_ball_in_an_impact(tmp_path: Path) -> None:
    text = (
        ball("{ xyz = [0, 0, 0.6] }")
        + GROUND
        + ('[[contact]]\nbetween = ["world", "ball"]\nsurface_velocity = [2, 0, 0]\n')
    )
    scene = scene_of(tmp_path, text, surface=restitution(0.5, 0.1), duration=0.4, every=0.4)
    v = pysim.simulate(scene).events.v[0]
    assert v[0] == pytest.approx(0.1 * 1.5 * np.sqrt(2 * G * 0.5), abs=1e-8)


def test_impact_at_one_point_adds_no_energy() -> None:
    M = np.diag([1.0, 1.0, 1 / 12])
    J = np.array([[0, 1.0, -0.4], [1.0, 0, 0.5], [0, 0, 0]])  # normal, tangent of a steep rod's tip
    K = J @ np.linalg.inv(M) @ J.T
    c = np.array([[-1.0, -0.6, 0.0]])
    impact = solve_impact(K, c, np.array([0.9]), np.array([0.6]))
    assert impact is not None
    x = impact.impulses.ravel()
    assert x @ (c.ravel() + 0.5 * K @ x) <= 1e-12


def test_random_throws_never_add_energy(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    for k in range(12):
        q = random.normal(size=4)
        q /= np.linalg.norm(q)
        v = random.uniform(-2, 2, 6)
        box = free(
            "box",
            "{ box = [0.4, 0.3, 0.2] }",
            1.0,
            f"{{ xyz = [0, 0, 0.8], quat_xyzw = {q.tolist()}, v = {v.tolist()} }}",
        )
        e, mu = random.uniform(0, 1, 2)
        scene = scene_of(tmp_path, box + GROUND, surface=restitution(e, mu), duration=1.0)
        trajectory = ran(scene)
        gained = np.diff(energy(trajectory))
        assert gained.max() < 1e-4 * energy(trajectory)[0], k
        assert np.isfinite(trajectory.q).all()


def test_impact_that_would_add_energy_is_reported_with_its_restitution(tmp_path: Path) -> None:
    rod = free(
        "rod",
        "{ capsule = { radius = 0.01, length = 1.0 } }",
        1.0,
        "{ xyz = [0, 0, 0.6], rpy = [0, 2.2, 0], v = [0.3, 0, 0.9, 0, 0, 0] }",
    )
    scene = scene_of(tmp_path, rod + GROUND, surface=restitution(0.9, 0.6), duration=1.5)
    with pytest.warns(pysim.PysimWarning) as caught:
        trajectory = pysim.simulate(scene)
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 1
    assert texts[0].startswith("contact world, rod: the impact at t = ")
    assert (
        " s would add energy with the restitution 0.9 and the friction 0.6, so its restitution is "
        in texts[0]
    )
    assert texts[0].endswith('; reduce one of them, or take simulation.contact_law = "compliant"')
    assert np.diff(energy(trajectory)).max() < 1e-6


BALL = """
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 } }
mass = 1.0
collision = true
[[joint]]
name = "moves"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.3] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
[simulation]
duration = 1.0
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BALL + 'integrator = "rk4"\ncontact_law = "impact"\n',
            (
                "s.toml:16:15: simulation.contact_law: \"impact\" locates events, and 'rk4' takes steps of one size; "
                'take integrator = "dopri5", or contact_law = "compliant"'
            ),
        ),
        (
            BALL + 'contact_law = "impact"\n',
            (
                "s.toml:15:15: simulation.contact_law: \"impact\" locates events, and 'convex' takes steps of one "
                'size; take integrator = "dopri5", or contact_law = "compliant"'
            ),
        ),
        (
            BALL + "rest_speed = 1e-3\n",
            (
                's.toml:15:1: simulation.rest_speed: belongs to impacts; take contact_law = "impact", or remove '
                "it"
            ),
        ),
        (
            BALL.partition("[[ground]]")[0].replace("collision = true\n", "")
            + '[simulation]\nintegrator = "dopri5"\ncontact_law = "impact"\n',
            "s.toml:12:1: simulation.contact_law: nothing in the scene touches; remove contact_law",
        ),
    ],
)
def test_misplaced_impacts_are_rejected(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text.lstrip("\n"), "utf-8")
    with pytest.raises(pysim.PysimError) as error:
        pysim.load_scene(path)
    assert str(error.value).removeprefix(f"{tmp_path}/") == message


def test_impacts_without_end_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysim.worlds.impacts.ROUNDS", 2)
    text = ball("{ xyz = [-1, 0, 0], v = [2, 0, 0, 0, 0, 0] }", name="cue") + "".join(
        ball(f"{{ xyz = [{0.2 * k}, 0, 0] }}", name=f"ball {k}") for k in range(3)
    )
    scene = scene_of(tmp_path, text, surface=restitution(1.0), gravity=(0, 0, 0))
    with pytest.raises(pysim.SimulationError) as error:
        pysim.simulate(scene)
    assert str(error.value) == (
        f"{scene.spec.path}: at t = 0.4 s the impacts of ball 1, ball 2 follow one another without end; take"
        ' simulation.contact_law = "compliant", or a larger rest_speed [m/s]'
    )


def test_impact_without_a_solution_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysim.contact.impact_law._ITERATIONS", 0)
    scene = scene_of(tmp_path, ball("{ xyz = [0, 0, 0.3] }") + GROUND, surface=restitution(0.5))
    with pytest.raises(pysim.SimulationError) as error:
        pysim.simulate(scene)
    assert (
        "the impact of world, ball at 1 points has no solution that Newton's method finds"
        in str(error.value)
    )


def test_file_keeps_impacts_and_the_scene_its_law(tmp_path: Path) -> None:
    scene = scene_of(
        tmp_path,
        ball("{ xyz = [0, 0, 0.3] }") + GROUND,
        surface=restitution(0.5),
        run="rest_speed = 1e-4",
    )
    ran_ = pysim.simulate(scene, tmp_path / "run.h5")
    found = pysim.load_trajectory(tmp_path / "run.h5")
    (summary,) = summarize(scene, ran_, Update(1.0, 1.0, 1.0, 1)).events
    assert (summary.name, summary.count) == ("impact of world, ball", len(ran_.events))
    assert found.events.names == ran_.events.names == ("impact of world, ball",) * len(ran_.events)
    np.testing.assert_array_equal(found.events.v, ran_.events.v)
    assert abs(found.events.v[-1, 2]) < 1e-3
    from pysim.scene.convert import convert

    convert(scene.spec.path, tmp_path / "again.toml")
    again = pysim.load_scene(tmp_path / "again.toml").settings
    assert (again.contact_law, again.rest_speed) == ("impact", 1e-4)


def test_check_prints_the_restitution_and_the_time_of_contact(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pysim.cli.checks.command import check_scene

    scene = scene_of(tmp_path, ball("{ xyz = [0, 0, 0.3] }") + GROUND, surface=restitution(0.25))
    text = Path(scene.spec.path).read_text("utf-8").replace("step = 1.0\n", "")
    Path(scene.spec.path).write_text(text, "utf-8")
    check_scene(Path(scene.spec.path))
    lines = [line for line in capsys.readouterr().out.splitlines() if "world, ball" in line]
    assert scene.contacts is not None
    law = scene.contacts.shapes[0].law
    assert f"  {law.restitution:.3g}  " in lines[0]
    assert lines[0].split()[-1] == f"{law.half_period:.3g}"
