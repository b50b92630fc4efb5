"""Contacts as smooth forces in the schemes that integrate them.

Oracle: the law written with NumPy; finite differences of the forces; fine runs of dopri5 for the orders of the others;
statics for a robot that stands.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.integrators import INTEGRATORS, Integrator, System, integrator
from pysim.render.plots.recorded_quantities import quantities_of
from pysim.worlds.python_stepping import IN_PYTHON
from tests.contact.scenes import (
    G,
    anymal,
    case,
    free,
    free_body,
    impact,
    lowest_foot,
    on_slope,
    ran,
    within,
    world,
)

SOFT = "friction = 0.4\nstiffness = 4e3\ndissipation = 0.2"  # 2000 N/m of two such surfaces
BALL = "{ sphere = { radius = 0.1 } }"
SHAPES = {  # and half of their heights [m]
    "sphere": (BALL, 0.1),
    "capsule": ("{ capsule = { radius = 0.05, length = 0.2 } }", 0.15),
    "box": ("{ box = [0.2, 0.3, 0.1] }", 0.05),
    "cylinder": ("{ cylinder = { radius = 0.1, length = 0.15 } }", 0.075),
    "ellipsoid": ("{ ellipsoid = [0.1, 0.15, 0.08] }", 0.08),
}
EXACT = "rtol = 1e-11\natol = 1e-13"


def slider(tmp_path: Path, run: str, step: float | None = None, **changes: Any) -> pysim.Scene:
    """A ball that stays in contact while it slips at first and bounces in the contact's spring."""
    values: dict[str, Any] = {
        "shape": BALL,
        "mass": 1.0,
        "start": "{ xyz = [0, 0, 0.094], v = [1.0, 0.3, -0.05, 0, 2, 1] }",
        "surface": SOFT,
        "duration": 0.1,
        "step": step or 1.0,
        "every": 0.1,
        "run": f"{run}\nslip_speed = 0.5",
    }
    if step is None:
        values["step"] = 0.1
    return free_body(tmp_path, **(values | changes))


def end(scene: pysim.Scene) -> np.ndarray:
    trajectory = ran(scene)
    return np.concatenate([trajectory.q[-1], trajectory.v[-1]])


def test_forces_are_those_of_the_law(tmp_path: Path) -> None:
    scene = slider(tmp_path, 'integrator = "rk4"', 1e-3)
    assert scene.contacts is not None
    q, v = scene.state.q, scene.state.v
    law, radius, v_s = scene.contacts.shapes[0].law, 0.1, 0.5
    depth = radius - q[2]
    center = np.array([0, 0, -radius])  # contact point, the lowest of the ball
    u = v[:3] + np.cross(v[3:], center)
    normal = law.stiffness * depth * (1 - law.dissipation * u[2])
    slip = np.array([u[0], u[1], 0])
    friction = -0.4 * normal * slip / np.sqrt(slip @ slip + v_s**2)

    report = _engine.contact_points(scene.contacts.engine, q, v)[0]

    np.testing.assert_allclose(report[:3], friction + np.array([0, 0, normal]), rtol=1e-13)
    np.testing.assert_allclose(report[6:8], [depth, np.linalg.norm(slip)], rtol=1e-13)
    tau = _engine.contact_forces(scene.contacts.engine, q, v)[0]
    np.testing.assert_allclose(tau[:3], report[:3], rtol=1e-13)
    np.testing.assert_allclose(tau[3:], np.cross(center, report[:3]), rtol=1e-13, atol=1e-13)


def touching(tmp_path: Path, shape: str, rng: np.random.Generator) -> tuple[pysim.Scene, Any, Any]:
    """A body of a shape that overlaps the ground and a ball."""
    own, half = SHAPES[shape]
    top = 2 * half + 0.096  # of the ball's centre [m]
    bodies = free("a", own, 1.0, f"{{ xyz = [0, 0, {half - 0.002}] }}")
    bodies += free("b", BALL, 2.0, f"{{ xyz = [0, 0, {top}] }}")
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }\n"
    if shape == "ellipsoid":  # has no contact with a sphere
        ground += '[[exclude]]\nbetween = ["a", "b"]\n'
    scene = world(
        tmp_path,
        bodies + ground,
        surface=SOFT,
        run='integrator = "generalized_alpha"\nslip_speed = 0.1',
    )
    q = scene.model.integrate(scene.state.q, 1e-3 * rng.normal(size=12))
    return scene, q, 0.3 * rng.normal(size=12)


@pytest.mark.parametrize("shape", SHAPES)
def test_derivatives_match_finite_differences_to_depth_over_radius(
    tmp_path: Path, shape: str, rng: np.random.Generator
) -> None:
    scene, q, v = touching(tmp_path, shape, rng)
    assert scene.contacts is not None
    contacts, h = scene.contacts.engine, 1e-7

    def force(dq: np.ndarray, dv: np.ndarray) -> np.ndarray:
        found: np.ndarray = _engine.contact_forces(contacts, scene.model.integrate(q, dq), v + dv)[
            0
        ]
        return found

    _, by_q, by_v = _engine.contact_forces(contacts, q, v)
    zero, unit = np.zeros(12), h * np.eye(12)
    wanted_v = np.array([(force(zero, e) - force(zero, -e)) / (2 * h) for e in unit]).T
    wanted_q = np.array([(force(e, zero) - force(-e, zero)) / (2 * h) for e in unit]).T

    np.testing.assert_allclose(by_v, wanted_v, atol=1e-6 * np.abs(wanted_v).max())
    off = np.abs(by_q - wanted_q).max() / np.abs(wanted_q).max()
    assert off < 1e-2


@pytest.mark.parametrize(
    ("scheme", "order"),
    [
        ('integrator = "semi_implicit"', 1),
        ('integrator = "rk2"', 2),
        ('integrator = "rk4"', 4),
        ('integrator = "implicit_midpoint"', 2),
        ('integrator = "generalized_alpha"', 2),
    ],
)
def test_orders_hold_in_lasting_contact(tmp_path: Path, scheme: str, order: int) -> None:
    exact = end(slider(tmp_path, f'integrator = "dopri5"\n{EXACT}'))
    steps = [(4e-3 if order == 4 else 2e-3) / 2**k for k in range(5)]
    errors = [np.abs(end(slider(tmp_path, scheme, step)) - exact).max() for step in steps]
    measured = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(measured, order, atol=0.2)


def test_dopri5_has_the_restitution_depth_and_duration_of_the_law(tmp_path: Path) -> None:
    setup, expect = case("hunt_crossley_impact")
    run = 'integrator = "dopri5"\nrtol = 1e-12\natol = 1e-14'
    trajectory = ran(impact(tmp_path, setup, run, step=0.05, every=1e-5))
    speed = trajectory.v[-1, 2] / setup["speed_m_s"]
    assert within(expect["restitution"], speed)
    depth = setup["radius_m"] - trajectory.q[:, 2]
    k = int(depth.argmax())
    bent = np.polyfit(trajectory.t[k - 2 : k + 3] - trajectory.t[k], depth[k - 2 : k + 3], 4)
    top = np.polyval(bent, np.roots(np.polyder(bent)).real).max()
    assert top == pytest.approx(expect["greatest penetration"]["value"], rel=1e-8)
    flight = -depth[-1] / trajectory.v[-1, 2]
    time = 0.05 - flight
    assert within(expect["time of contact"], time)


@pytest.mark.parametrize("name", ["rod_sliding", "painleve"])
def test_a_rod_slides_on_its_tip(tmp_path: Path, name: str) -> None:
    """Also where rigid bodies have no solution, because friction drives the tip into the floor [Painlevé 1895]."""
    setup, expect = case(name)
    lean, half, mass = setup["lean_rad_from_floor"], setup["length_m"] / 2, setup["mass_kg"]
    sunk = 0.25 * mass * G / setup["K"]
    x, z = setup["speed_m_s"] * np.cos(lean), -setup["speed_m_s"] * np.sin(lean)  # of the velocity
    radius, moment = 1e-7, mass * setup["length_m"] ** 2 / 12
    bodies = f"""
[[body]]
name = "rod"
mass = {mass}
inertia = {{ xx = 1e-4, yy = {moment}, zz = {moment} }}
collision = [{{ sphere = {{ radius = {radius} }}, at = {{ xyz = [{-half}, 0, 0] }} }}]
[[joint]]
name = "free"
type = "free"
child = "rod"
[joint.start]
xyz = [0, 0, {half * np.sin(lean) - sunk + radius}]
rpy = [0, {-lean}, 0]
v = [{x}, 0, {z}, 0, 0, 0]
[[ground]]
plane = {{ normal = [0, 0, 1], offset = 0.0 }}
"""
    d, mu = setup["d_s_per_m"], setup["mu"]
    run = f'integrator = "dopri5"\nrtol = 1e-10\natol = 1e-12\nslip_speed = {setup["v_s"]}'
    scene = world(
        tmp_path,
        bodies,
        surface=f"friction = {mu}\nstiffness = {2 * setup['K']}\ndissipation = {d}",
        duration=setup["time_s"],
        step=setup["time_s"],
        run=run,
    )
    trajectory = ran(scene)
    (px, py, pz, *q), v = trajectory.q[-1], trajectory.v[-1]
    turned = 2 * np.arctan2(-q[1], q[3])
    axis, up = (
        np.array([np.cos(turned), np.sin(turned)]),
        np.array([-np.sin(turned), np.cos(turned)]),
    )
    vx, vz = v[0] * axis + v[2] * up
    found = [px, pz, turned, vx, vz, -v[4]]
    entry = expect["centre x, z; angle; their rates"]
    assert abs(py) < 1e-12
    np.testing.assert_allclose(found, entry["value"], atol=entry["tolerance"])


def test_stiff_contact_needs_few_iterations_of_generalized_alpha(tmp_path: Path) -> None:
    counts: list[tuple[int, int]] = []
    scene = free_body(
        tmp_path,
        shape=SHAPES["box"][0],
        mass=1.0,
        start="{ xyz = [0, 0, 0.0499], v = [0.2, 0, 0, 0, 0, 0] }",
        surface="friction = 0.4\nsink = 1e-5",
        duration=0.5,
        run='integrator = "generalized_alpha"',
    )
    pysim.simulate(scene, progress=lambda update: counts.append((update.iterations, update.steps)))
    iterations, steps = counts[-1]
    assert iterations < 8 * steps


def test_a_world_has_the_same_bits_alone_and_in_a_batch(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    for scheme in ("rk4", "generalized_alpha"):
        scene = slider(tmp_path, f'integrator = "{scheme}"', 1e-3, every=0.01)
        q0 = np.array(
            [scene.model.integrate(scene.state.q, 2e-3 * rng.normal(size=6)) for _ in range(11)]
        )
        v0 = scene.state.v + 0.1 * rng.normal(size=(11, 6))
        together = pysim.rollout(scene, q0, v0)
        for k in (0, 5, 10):
            alone = pysim.rollout(scene, q0[k], v0[k])
            np.testing.assert_array_equal(alone.q, together.q[k])
            np.testing.assert_array_equal(alone.v, together.v[k])
        run = ran(
            dataclasses.replace(scene, state=dataclasses.replace(scene.state, q=q0[3], v=v0[3]))
        )
        np.testing.assert_array_equal(run.q, together.q[3])


@pytest.mark.parametrize("scheme", ["rk4", "dopri5", "generalized_alpha"])
def test_a_run_is_stored_and_read_with_its_contacts(tmp_path: Path, scheme: str) -> None:
    scene = slider(tmp_path, f'integrator = "{scheme}"', step=1e-3, every=0.01)
    run = pysim.simulate(scene, tmp_path / "run.h5")
    stored = pysim.load_trajectory(tmp_path / "run.h5")
    assert stored.complete
    assert np.linalg.norm(run.contact_forces[-1]) > 0
    np.testing.assert_array_equal(stored.contact_forces, run.contact_forces)
    np.testing.assert_array_equal(stored.contacts.force, run.contacts.force)
    assert np.isnan(stored.contact_impulses).all()  # no scheme integrates them
    names = list(quantities_of(stored))
    assert "contacts.world, body.force" in names
    assert not [name for name in names if name.endswith(".impulse")]


def test_schemes_in_python_see_the_forces_of_the_engine(tmp_path: Path) -> None:
    class Classical(Integrator):
        """The engine's rk4, step by step."""

        def step(self, system: System, t: float, h: float, q: Any, v: Any) -> tuple[Any, Any]:
            return IN_PYTHON["rk4"].step(system, t, h, q, v)

    integrator("classical_for_contacts")(Classical)
    try:
        own = end(slider(tmp_path, 'integrator = "classical_for_contacts"', 1e-3))
    finally:
        del INTEGRATORS.registered["classical_for_contacts"]
    engine = end(slider(tmp_path, 'integrator = "rk4"', 1e-3))
    np.testing.assert_allclose(own, engine, rtol=1e-12, atol=1e-12)


def test_balls_that_collide_keep_momentum_under_dopri5(tmp_path: Path) -> None:
    bodies = free("a", BALL, 1.0, "{ xyz = [0, 0, 0], v = [1, 0, 0, 0, 0, 3] }")
    bodies += free("b", BALL, 2.0, "{ xyz = [0.3, 0.05, 0] }")
    scene = world(
        tmp_path,
        bodies,
        surface=SOFT,
        gravity=(0, 0, 0),
        duration=0.5,
        every=0.05,
        run=f'integrator = "dopri5"\n{EXACT}',
    )
    trajectory = ran(scene)
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)
    assert np.abs(trajectory.v[-1, 6:]).max() > 0.1
    np.testing.assert_allclose(h, np.tile(h[0], (len(h), 1)), atol=1e-9)


def test_a_loop_in_contact_moves_alike_under_two_schemes(tmp_path: Path) -> None:
    text = """
    [[body]]
    name = "left"
    shape = { capsule = { radius = 0.02, length = 0.4 } }
    mass = 1.0
    [[joint]]
    name = "pivot"
    type = "revolute"
    child = "left"
    axis = [0, 1, 0]
    at = { xyz = [0, 0, 0.25], rpy = [0, 1.2, 0] }
    [[body]]
    name = "right"
    shape = { sphere = { radius = 0.05 } }
    mass = 1.0
    collision = true
    [[joint]]
    name = "free"
    type = "free"
    child = "right"
    start = { xyz = [0.2, 0, 0.049] }
    [[loop]]
    name = "rod"
    type = "distance"
    a = "left"
    b = "right"
    at_a = { xyz = [0, 0, 0.2] }
    length = 0.15
    [[ground]]
    plane = { normal = [0, 0, 1], offset = 0.0 }
    """
    bodies = "\n".join(line.strip() for line in text.splitlines())
    ends = []
    for run in (f'integrator = "dopri5"\n{EXACT}', 'integrator = "generalized_alpha"'):
        scene = world(tmp_path, bodies, surface=SOFT, duration=0.4, step=2e-4, every=0.4, run=run)
        trajectory = ran(scene)
        ends.append(np.concatenate([trajectory.q[-1], trajectory.v[-1]]))
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-4)


def test_a_box_on_a_slope_creeps_at_the_speed_that_friction_needs(tmp_path: Path) -> None:
    angle, mu, v_s = 0.2, 0.5, 0.01
    scene = free_body(
        tmp_path,
        shape="{ box = [0.4, 0.4, 0.05] }",
        mass=1.0,
        start="{ xyz = [0, 0, 0.025] }",
        gravity=on_slope(angle),
        surface=f"friction = {mu}\nsink = 1e-4",
        duration=1.0,
        every=0.01,
        run=f'integrator = "dopri5"\nslip_speed = {v_s}',
    )
    trajectory = ran(scene)
    share = np.tan(angle) / mu  # = v / √(v² + v_s²)
    creep = v_s * share / np.sqrt(1 - share**2)
    np.testing.assert_allclose(trajectory.v[-1, 0], creep, rtol=1e-3)
    np.testing.assert_allclose(trajectory.contact_forces[-1, 0, 2], G * np.cos(angle), rtol=1e-4)
    assert np.isnan(trajectory.contact_impulses[1:]).all()
    assert trajectory.a[-1] == pytest.approx(0, abs=1e-2)


@pytest.mark.slow
def test_anymal_stands_under_dopri5(tmp_path: Path) -> None:
    setup, _ = case("anymal_stand")
    height = lowest_foot(anymal(tmp_path, setup, 0.6))
    run = ("duration = 1", 'integrator = "dopri5"', "rtol = 1e-6", "atol = 1e-8")
    trajectory = ran(scene := anymal(tmp_path, setup, height, run))
    assert scene.model.total_mass > 20
    late = trajectory.t > 0.8
    weight = trajectory.contact_forces[late, :, 2].sum(axis=1) / (scene.model.total_mass * G)
    np.testing.assert_allclose(weight, 1, atol=0.02)
    assert np.abs(trajectory.v[-1, :6]).max() < 0.02
    paths = np.array([trajectory.path_of(f"{leg}_FOOT") for leg in ("LF", "RF", "LH", "RH")])
    assert np.ptp(paths[:, late], axis=1).max() < 0.2 * 0.01  # slower than the slip speed


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_run_that_its_contacts_make_diverge_says_which_scheme_needs_no_short_steps(
    tmp_path: Path,
) -> None:
    scene = free_body(
        tmp_path,
        shape="{ box = [0.2, 0.3, 0.1] }",
        mass=1.0,
        start="{ xyz = [0, 0, 0.06], v = [1, 0, 0, 0, 0, 0] }",
        surface="friction = 0.6\nstiffness = 1e6",
        duration=2.0,
        step=5e-3,
        every=0.1,
        run='integrator = "semi_implicit"',
    )
    with pytest.raises(pysim.SimulationError) as error:
        pysim.simulate(scene)
    assert '; take integrator = "convex", whose contacts need no short steps, or 0.0' in str(
        error.value
    )


STEEP = """
name = "drop"
[materials.default]
friction = 0.8
stiffness = 8500.0
dissipation = 250.0
[[body]]
name = "ball"
shape = { sphere = { radius = 0.03 }, density = 800 }
collision = true
[[joint]]
name = "free"
type = "free"
parent = "world"
child = "ball"
start = { xyz = [0, 0, 0.05] }
[[ground]]
plane = { normal = [0, 0, 1] }
[simulation]
duration = 0.3
step = STEP
integrator = "semi_implicit"
"""


def test_steps_too_long_for_the_damping_of_a_contact_are_reported(tmp_path: Path) -> None:
    """The damping K x d/m of the impact exceeds 2/h of an explicit scheme: the ball is thrown above its start."""
    file = tmp_path / "drop.toml"
    file.write_text(STEEP.replace("STEP", "1e-3"), "utf-8")
    with pytest.warns(pysim.PysimWarning) as caught:
        run = pysim.simulate(pysim.load_scene(file))
    assert run.q[:, 2].max() > 0.1
    assert len(caught) == 1
    off = float((run.energy_balance - run.energy_balance[0]).max())
    assert re.fullmatch(
        r"contact world, ball: steps of 0\.001 \[s\] are too long for it with 'semi_implicit': the energy balance is "
        rf"off by {re.escape(f'{off:.3g}')} \[J\], first at t = [0-9.]+ s; take a step of 0\.00025 \[s\] or less, "
        r'or integrator = "convex"',
        str(caught[0].message),
    )
    file.write_text(STEEP.replace("STEP", "2.5e-4"), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = pysim.simulate(pysim.load_scene(file))
    assert run.q[:, 2].max() <= 0.05


PAD = """
[[sensor]]
name = "pad"
type = "contact"
frame = "ball"
"""


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk2", "rk4"])
@pytest.mark.parametrize("joint", ["free", "planar"])
def test_worlds_have_the_same_bits_alone_and_among_others(
    joint: str, scheme: str, tmp_path: Path
) -> None:
    """Signals, and motion in a plane, are stepped in packs of two registers where nothing touches."""
    file = tmp_path / "drop.toml"
    text = STEEP.replace("STEP", "1e-4").replace('"semi_implicit"', f'"{scheme}"') + PAD
    text = text.replace("0.05]", "0.032]")
    if joint == "planar":
        text = text.replace("free", "planar").replace("{ xyz = [0, 0, 0.032] }", "[0, -0.032, 0.1]")
        text = text.replace("normal = [0, 0, 1]", "normal = [0, -1, 0]")
    file.write_text(text, "utf-8")
    scene = pysim.load_scene(file)
    many = pysim.Worlds(scene, 24)
    many.v[:] = np.random.default_rng(3).normal(0, 0.5, many.v.shape)
    v = many.v.copy()
    many.step(steps=300)
    assert many.signals["pad.normal"].max() > 0
    for k in (0, 7, 23):
        alone = pysim.Worlds(scene, 1)
        alone.v[0] = v[k]
        alone.step(steps=300)
        assert np.array_equal(alone.q[0], many.q[k])
