"""Convex steps: balances, order, batches, and runs of robots on the ground.

Oracle: balance of momentum; the law itself, evaluated with NumPy at the end of a step; ANYmal's and G1's cases of
tests/data/reference/contact.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from tests.contact.convex_worlds import ITERATIONS, ConvexWorlds
from tests.contact.scenes import (
    STIFF,
    G,
    anymal,
    at,
    case,
    free_body,
    lowest_foot,
    on_slope,
    ran,
    robots,
    within,
)

SHAPES = {
    "sphere": "{ sphere = { radius = 0.1 } }",
    "capsule": "{ capsule = { radius = 0.05, length = 0.2 } }",
    "box": "{ box = [0.2, 0.3, 0.1] }",
    "cylinder": "{ cylinder = { radius = 0.1, length = 0.15 } }",
    "ellipsoid": "{ ellipsoid = [0.1, 0.15, 0.08] }",
}
LANDED = 1.5  # [s], when a robot that is dropped lies on the ground
THROWN = "{ xyz = [0, 0, 0.4], rpy = [0.3, 0.5, 0.2], v = [1, 0.5, -1, 3, -2, 4] }"


def thrown(tmp_path: Path, shape: str, **changes) -> pysim.Scene:
    given: dict[str, Any] = {
        "shape": SHAPES[shape],
        "mass": 2.0,
        "start": THROWN,
        "surface": "friction = 0.5\nsink = 2e-4\nrestitution = { value = 0.4, at = 1.0 }",
        "duration": 2.0,
        "every": 0.01,
    }
    return free_body(tmp_path, **(given | changes))


def steps(scene: pysim.Scene, q, v, count: int, threads: int = 1):
    """q, v and reports after equal steps of a batch."""
    worlds = ConvexWorlds(scene, q, v)
    worlds.step(count, threads)
    return worlds.q, worlds.v, worlds.report


@pytest.mark.parametrize("shape", SHAPES)
def test_impulses_of_a_thrown_body_balance_its_momentum(tmp_path: Path, shape: str) -> None:
    trajectory = ran(scene := thrown(tmp_path, shape))
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)[:, :3]
    gained = np.cumsum(trajectory.contact_impulses[:, 0], axis=0)
    balance = h - h[0] - gained - 2.0 * np.array([0, 0, -G]) * trajectory.t[:, np.newaxis]
    assert np.abs(balance).max() < 1e-12 * 2.0 * G * 2.0 * 10
    assert np.abs(trajectory.v[-1]).max() < (1e-9 if shape == "box" else 20)


@pytest.mark.parametrize("shape", SHAPES)
def test_impulses_of_a_thrown_body_balance_its_angular_momentum(tmp_path: Path, shape: str) -> None:
    trajectory = ran(scene := thrown(tmp_path, shape, duration=0.6, every=1e-3))
    points, t = trajectory.contacts, trajectory.t
    h = pysim.centroidal_momentum(scene.model, trajectory.q, trajectory.v)[:, 3:]
    row = np.repeat(np.arange(len(t)), np.diff(points.offsets))
    arm = points.point - trajectory.q[row - 1, :3]  # impulses act where the step begins
    moment = np.zeros_like(h)
    np.add.at(moment, row, np.cross(arm, points.force) * 1e-3)
    balance = h - h[0] - np.cumsum(moment, axis=0)
    assert np.abs(balance).max() < 1e-12


def test_a_tumbling_body_keeps_its_energy_to_second_order_in_flight(tmp_path: Path) -> None:
    drifts = []
    for step in (2e-3, 1e-3):
        scene = thrown(
            tmp_path,
            "box",
            gravity=(0, 0, 0),
            start="{ xyz = [0, 0, 9], v = [0, 0, 0, 3, 9, 4] }",
            step=step,
            every=0.1,
        )
        energy = ran(scene).kinetic
        drifts.append(abs(energy[-1] / energy[0] - 1))
    assert drifts[0] < 1e-4
    assert drifts[1] < drifts[0] / 2


@pytest.mark.parametrize("shape", SHAPES)
def test_contact_impulses_do_no_work_but_for_springs_that_unload(
    tmp_path: Path, shape: str
) -> None:
    scene = thrown(tmp_path, shape, every=1e-3)
    trajectory = ran(scene)
    assert scene.contacts is not None
    K = scene.contacts.shapes[0].law.stiffness
    energy, points = trajectory.energy, trajectory.contacts
    row = np.repeat(np.arange(len(trajectory)), np.diff(points.offsets))
    stored = np.zeros(len(trajectory))
    np.add.at(stored, row, K * np.maximum(points.penetration, 0) ** 2)  # of both springs at most
    assert (np.diff(energy) <= stored[:-1] + 1e-4).all()  # the rest: a fall's energy to order 1
    assert energy.max() <= energy[0] + 1e-4


def test_a_worlds_bits_do_not_depend_on_its_neighbours(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = thrown(tmp_path, "box")
    count = 19
    q = np.tile(scene.state.q, (count, 1))
    q[:, 2] = rng.uniform(0.02, 0.6, count)
    v = rng.normal(size=(count, 6))
    together = steps(scene, q, v, 200)
    backwards = steps(scene, q[::-1].copy(), v[::-1].copy(), 200, threads=3)
    for k in range(count):
        alone = steps(scene, q[k : k + 1], v[k : k + 1], 200)
        for a, b, c in zip(together, alone, backwards, strict=True):
            np.testing.assert_array_equal(a[k], b[0])
            np.testing.assert_array_equal(a[k], c[count - 1 - k])


def test_steps_are_the_same_bits_on_avx2_and_avx512(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    isas = [name for name in pysim.available_isas() if name != "baseline"]  # which has no fma
    scene = thrown(tmp_path, "cylinder")
    q, v = np.tile(scene.state.q, (11, 1)), rng.normal(size=(11, 6))
    runs = []
    for name in isas:
        pysim.use_isa(name)
        runs.append(steps(scene, q, v, 300))
    pysim.use_isa("auto")
    for run in runs[1:]:
        for a, b in zip(runs[0], run, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_world_without_contact_moves_as_if_there_were_no_ground(tmp_path: Path) -> None:
    high = thrown(
        tmp_path, "box", start="{ xyz = [0, 0, 50], v = [1, 2, 3, 1, 2, 3] }", duration=0.5
    )
    low = thrown(
        tmp_path,
        "box",
        start="{ xyz = [0, 0, 50], v = [1, 2, 3, 1, 2, 3] }",
        duration=0.5,
        extra='[[exclude]]\nbetween = ["world", "body"]',
    )
    np.testing.assert_array_equal(ran(high).q, ran(low).q)


def test_a_body_at_rest_takes_one_iteration_a_step(tmp_path: Path) -> None:
    scene = thrown(tmp_path, "box", start="{ xyz = [0, 0, 0.05] }", gravity=on_slope(0.3))
    trajectory = ran(scene)
    worlds = ConvexWorlds(scene, trajectory.q[-1:], trajectory.v[-1:])
    worlds.step(700)
    before = worlds.memory[0, ITERATIONS]
    worlds.step(100)
    assert worlds.memory[0, ITERATIONS] - before == 100


def test_the_law_holds_at_the_end_of_every_step(tmp_path: Path) -> None:
    """f_n = K x (1 − d v_n) and |f_t| ≤ μ f_n, from the recorded points."""
    scene = thrown(tmp_path, "sphere", every=1e-3, duration=0.6)
    assert scene.contacts is not None
    law, points = scene.contacts.shapes[0].law, ran(scene).contacts
    pressed = points.penetration > 1e-9
    x, force = points.penetration[pressed], points.force[pressed]
    f_n, f_t = force[:, 2], np.linalg.norm(force[:, :2], axis=1)
    speed = (
        1 - f_n / (law.stiffness * x)
    ) / law.dissipation  # opening velocity that the law implies
    assert (f_t <= law.static_friction * f_n * (1 + 1e-6) + 1e-9).sum() > 0.9 * len(x)
    assert np.abs(speed).max() < 4  # no faster than it fell
    sliding = ~points.stuck[pressed] & (f_n > 1)
    np.testing.assert_allclose(f_t[sliding] / f_n[sliding], law.dynamic_friction, rtol=0.05)


def test_anymal_stands(tmp_path: Path) -> None:
    setup, expect = case("anymal_stand")
    scene = anymal(tmp_path, setup, lowest_foot(anymal(tmp_path, setup, 0.6)))
    trajectory = ran(scene)
    weight = scene.model.total_mass * G
    feet = [k for k, name in enumerate(trajectory.names["contacts"]) if name.endswith("FOOT")]
    late = slice(at(trajectory, 5.0), None)
    vertical = trajectory.contact_forces[late, :, 2]
    ratio = vertical.sum(axis=1) / weight
    quantity = "sum of vertical foot forces over the weight, 5 to 10 s"
    assert within(expect[quantity], ratio.min())
    assert within(expect[quantity], ratio.max())
    assert np.abs(np.delete(vertical, feet, axis=1)).max() == 0
    paths = np.array([trajectory.path_of(f"{leg}_FOOT") for leg in ("LF", "RF", "LH", "RH")])
    moved = np.ptp(paths[:, at(trajectory, 2.0) :], axis=1).max()
    assert within(expect["greatest foot displacement between 2 s and 10 s"], moved)
    assert within(expect["base speed at 10 s"], np.abs(trajectory.v[-1, :6]).max())
    depth = trajectory.contacts.penetration.max()
    assert within(expect["deepest penetration"], depth)


@pytest.mark.slow
def test_g1_falls_and_lies(tmp_path: Path) -> None:
    setup, expect = case("g1_drop")
    share, path = robots(), tmp_path / "g1.toml"
    urdf = f"{share}/example-robot-data/robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"
    model = pysim.load_model(urdf, package_dirs=[share])
    damped = [
        f"[model.joint.{name}]\ndamping = {setup['joint_damping']}" for name in model.joint_names
    ]
    balances = []
    for step, duration in ((setup["step_s"], setup["time_s"]), (setup["step_s"] / 4, LANDED)):
        text = [
            "[[ground]]",
            "plane = { offset = 0.0 }",
            "[[model]]",
            f'file = "{urdf}"',
            "free_base = true",
            "start.root_joint = { xyz = [0, 0, 1.0] }",
            *damped,
            "[simulation]",
            f"duration = {duration}",
            f"step = {step}",
            "[output]",
            "every = 0.01",
        ]
        path.write_text("\n".join(text), "utf-8")
        scene = pysim.load_scene(path, package_dirs=[share])
        trajectory = ran(scene)
        row = at(trajectory, LANDED)
        m, end = scene.model.total_mass, trajectory.t[row]
        h = pysim.centroidal_momentum(scene.model, trajectory.q[[0, row]], trajectory.v[[0, row]])
        impulse = trajectory.contact_impulses[: row + 1].sum(axis=(0, 1))
        off = h[1, :3] - h[0, :3] - impulse - m * np.array([0, 0, -G]) * end
        balances.append(np.linalg.norm(off) / (m * G * end))
        if len(balances) == 1:
            late = trajectory.contacts.offsets[at(trajectory, 3.0)]
            depth = trajectory.contacts.penetration[late:].max()
            assert within(expect["deepest penetration after 3 s"], depth)
            assert (
                np.abs(trajectory.v[-1, :3]).max()
                < expect["speed of every body at 5 s"]["tolerance"]
            )
    assert balances[0] < 0.02
    assert balances[1] < balances[0] / 3


def test_a_trajectory_with_contacts_is_read_back(tmp_path: Path) -> None:
    scene = thrown(tmp_path, "box", duration=0.5)
    trajectory = pysim.simulate(scene, tmp_path / "box.h5")
    read = pysim.load_trajectory(tmp_path / "box.h5")
    assert read.names["contacts"] == ("world, body",)
    np.testing.assert_array_equal(read.contact_forces, trajectory.contact_forces)
    np.testing.assert_array_equal(read.contact_impulses, trajectory.contact_impulses)
    assert len(read.contacts) > 10
    for name in (
        "offsets",
        "pair",
        "point",
        "normal",
        "force",
        "penetration",
        "slip_speed",
        "stuck",
    ):
        np.testing.assert_array_equal(
            getattr(read.contacts, name), getattr(trajectory.contacts, name)
        )
    read.save(tmp_path / "again.h5")
    again = pysim.load_trajectory(tmp_path / "again.h5")
    np.testing.assert_array_equal(again.contacts.force, trajectory.contacts.force)


def test_output_intervals_do_not_change_a_run(tmp_path: Path) -> None:
    fine = ran(thrown(tmp_path, "box", every=1e-3, duration=0.5))
    coarse = ran(thrown(tmp_path, "box", every=0.1, duration=0.5))
    np.testing.assert_allclose(coarse.q[-1], fine.q[-1], atol=1e-6)
    np.testing.assert_allclose(
        coarse.contact_impulses.sum(axis=0), fine.contact_impulses.sum(axis=0), atol=1e-6
    )


def test_joint_friction_sticks(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    text = """
[[body]]
name = "arm"
mass = 1.0
com = [0.1, 0, 0]
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.01 }}
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
friction = {friction}
[simulation]
integrator = "convex"
duration = 1.0
"""
    moment = 0.1 * G  # [N·m] of the weight
    path.write_text(text.format(friction=1.001 * moment), "utf-8")
    held = ran(pysim.load_scene(path))
    assert np.abs(held.q).max() < 1.1e-10
    path.write_text(text.format(friction=0.9 * moment), "utf-8")
    let_go = ran(pysim.load_scene(path))
    assert np.abs(let_go.q[-1]).max() > 0.1


def test_a_mass_that_dry_friction_has_stopped_stays_at_rest(tmp_path: Path) -> None:
    """Impulses of friction at rest decay to 0 within a hundred steps; nothing else acts."""
    path = tmp_path / "mass.toml"
    text = """
gravity = [0, 0, 0]
[[body]]
name = "mass"
mass = 1.0
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "slide"
type = "prismatic"
child = "mass"
friction = 1.0
start = { v = 1.0 }
[simulation]
integrator = "convex"
duration = 3.0
"""
    path.write_text(text, "utf-8")
    run = ran(pysim.load_scene(path))
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-3)
    assert abs(run.v[-1, 0]) < 1e-100


@pytest.mark.parametrize("step", [5e-4, 1e-3, 5e-3])
def test_no_step_lets_a_box_creep_on_a_slope(tmp_path: Path, step: float) -> None:
    scene = thrown(
        tmp_path,
        "box",
        start="{ xyz = [0, 0, 0.05] }",
        gravity=on_slope(0.4),
        duration=5.0,
        step=step,
        every=0.1,
    )
    assert np.abs(ran(scene).v[-1]).max() < 1e-9


def test_a_conveyor_carries_a_box(tmp_path: Path) -> None:
    scene = thrown(
        tmp_path,
        "box",
        start="{ xyz = [0, 0, 0.05] }",
        extra='[[contact]]\nbetween = ["world", "body"]\nsurface_velocity = [0.2, 0, 0]',
    )
    trajectory = ran(scene)
    assert trajectory.v[-1, 0] == pytest.approx(0.2, abs=1e-9)


def test_forces_act_on_the_second_link(tmp_path: Path) -> None:
    forces = []
    for between in ('["world", "body"]', '["body", "world"]'):
        scene = thrown(
            tmp_path,
            "box",
            start="{ xyz = [0, 0, 0.05] }",
            surface=f"friction = 0.5\n{STIFF}",
            extra=f"[[contact]]\nbetween = {between}\nfriction = 0.3",
        )
        trajectory = ran(scene)
        forces.append(trajectory.contact_forces[-1, 0, 2])
        assert trajectory.contacts.normal[-1, 2] == np.sign(forces[-1])
    assert forces == pytest.approx([2 * G, -2 * G], rel=1e-6)
