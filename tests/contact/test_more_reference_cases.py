"""Further reference cases of convex steps: bouncing, tipping, belts and clutches.

Oracle: tests/data/reference/contact (closed forms). Cases of law "rigid" allow for a stiff compliant contact, and those
that hold for impacts as events are compared where their notes let a compliant contact differ.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from tests.contact.scenes import G, at, case, free_body, ran, within, world
from tests.robots import robot_path


def test_ball_bounces_at_the_times_of_newtons_restitution(tmp_path: Path) -> None:
    setup, expect = case("bouncing_ball")
    assert expect["heights between impacts"]["value"][0] == pytest.approx(0.64)
    r, drop = setup["radius_m"], setup["lowest_point_height_m"]
    speed = math.sqrt(2 * G * drop)
    times, tops = [], []
    for step in (1e-5, 5e-6):
        scene = free_body(
            tmp_path,
            shape=f"{{ sphere = {{ radius = {r} }} }}",
            mass=setup["mass_kg"],
            start=f"{{ xyz = [0, 0, {r + drop}] }}",
            surface="friction = 0\nstiffness = 2e7\n"
            f"restitution = {{ value = {setup['restitution']}, at = {speed} }}",
            duration=1.3,
            step=step,
            every=1e-4,
        )
        trajectory = ran(scene)
        height = trajectory.q[:, 2] - r
        begins = np.flatnonzero((height[1:] < 0) & (height[:-1] >= 0))
        times.append(trajectory.t[begins][:2])
        tops.append(height[begins[0] + 1 : begins[1]].max())
    first, second = 2 * times[1] - times[0]  # to order 2
    wanted = expect["times of impacts"]["value"]
    assert first == pytest.approx(wanted[0], abs=1e-3)
    assert second == pytest.approx(wanted[1], abs=2e-3)
    assert 2 * tops[1] - tops[0] == pytest.approx(0.64, rel=4e-3)


def test_steel_sphere_rebounds_as_hertzs_in_first_order(tmp_path: Path) -> None:
    setup, expect = case("hertz_sphere_plane")
    r = setup["R1_m"]
    duration = expect["time of contact"]["value"]
    depth = expect["greatest penetration"]["value"]
    errors = []
    for parts in (2000, 4000):
        step = duration / parts
        scene = free_body(
            tmp_path,
            shape=f"{{ sphere = {{ radius = {r} }} }}",
            mass=setup["m1_kg"],
            start=f"{{ xyz = [0, 0, {r}], v = [0, 0, {-setup['speed_m_s']}, 0, 0, 0] }}",
            surface=f"stiffness = {{ young = {setup['E1_Pa']}, poisson = {setup['nu1']} }}\nfriction = 0\n"
            "dissipation = 0",
            gravity=(0, 0, 0),
            duration=1.1 * duration,
            step=step,
        )
        trajectory = ran(scene)
        force = trajectory.contact_forces[:, 0, 2]
        ends = trajectory.t[np.flatnonzero(force > 0)[-1]]
        errors.append(
            [
                1 - trajectory.v[-1, 2] / setup["speed_m_s"],
                1 - (r - trajectory.q[:, 2].min()) / depth,
                1 - force.max() / expect["greatest force"]["value"],
            ]
        )
        assert ends == pytest.approx(duration, rel=2e-3)
    coarse, fine = np.abs(errors)
    assert (fine < 2e-3).all()
    np.testing.assert_allclose(coarse / fine, 2, atol=0.1)


def pushed(tmp_path: Path, name: str) -> tuple[pysim.Trajectory, dict[str, dict[str, Any]]]:
    """A block that a force pushes at the middle of its upper edge."""
    setup, expect = case(name)
    b, h, d = (setup[f"half_{side}_m"] for side in ("width", "height", "depth"))
    push = setup["force_N"]
    scene = free_body(
        tmp_path,
        shape=f"{{ box = [{2 * b}, {2 * d}, {2 * h}] }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {h}] }}",
        surface=f"friction = {setup['mu']}\nstiffness = 2e8",
        extra=f'[[actuator]]\njoint = "free"\ncoordinate = 0\noffset = {push}\n'
        f'[[actuator]]\njoint = "free"\ncoordinate = 4\noffset = {push * h}',
        duration=setup["time_s"],
        step=1e-4,
    )
    return ran(scene), expect


def test_slender_block_tips_before_it_slides(tmp_path: Path) -> None:
    trajectory, expect = pushed(tmp_path, "tipping")
    first, last = at(trajectory, 0.005), at(trajectory, 0.03)
    rate = trajectory.v[:, 4]
    found = (rate[last] - rate[first]) / (trajectory.t[last] - trajectory.t[first])
    assert within(expect["angular acceleration at the start"], found)
    assert rate[-1] > 0.5  # it tips
    touching = trajectory.contacts.of_row(-1)
    assert touching.stuck.all()
    np.testing.assert_allclose(touching.point[:, 0], 0.1, atol=1e-4)  # its edge stays


def test_low_block_neither_tips_nor_slides(tmp_path: Path) -> None:
    trajectory, expect = pushed(tmp_path, "not_tipping")
    touching = trajectory.contacts.of_row(-1)
    assert len(touching) == 4
    assert touching.stuck.all()
    assert np.abs(trajectory.v[-1]).max() < 1e-6
    trailing = touching.force[touching.point[:, 0] < 0, 2].sum()
    assert within(expect["force of the trailing pair of corners"], trailing)


def test_block_on_a_belt_sticks_and_slips(tmp_path: Path) -> None:
    setup, expect = case("belt_stick_slip")
    text = f"""
[[body]]
name = "slide"
mass = 1e-6
inertia = {{ xx = 1e-6, yy = 1e-6, zz = 1e-6 }}
[[joint]]
name = "x"
type = "prismatic"
axis = [1, 0, 0]
child = "slide"
stiffness = {setup["stiffness_N_m"]}
start = {{ q = 0.0, v = {setup["belt_m_s"]} }}
[[body]]
name = "block"
shape = {{ box = [0.1, 0.1, 0.1] }}
mass = {setup["mass_kg"]}
collision = true
[[joint]]
name = "z"
type = "prismatic"
axis = [0, 0, 1]
parent = "slide"
child = "block"
start = {{ q = 0.05 }}
[[ground]]
plane = {{ normal = [0, 0, 1], offset = 0.0 }}
[[contact]]
between = ["world", "block"]
friction = {{ static = {setup["mu_static"]}, dynamic = {setup["mu_dynamic"]} }}
surface_velocity = [{setup["belt_m_s"]}, 0, 0]
"""
    scene = world(tmp_path, text, surface="stiffness = 1e7", duration=2.5, step=setup["step_s"])
    trajectory = ran(scene)
    x, t = trajectory.q[:, 0], trajectory.t
    rows = np.repeat(np.arange(len(t)), np.diff(trajectory.contacts.offsets))
    sticks = np.zeros(len(t), bool)
    sticks[rows[trajectory.contacts.stuck]] = True
    slips = np.flatnonzero(sticks[:-1] & ~sticks[1:])
    holds = np.flatnonzero(~sticks[:-1] & sticks[1:])
    first = slips[t[slips] > 0.1][0]
    again = holds[holds > first][0]
    second = slips[slips > again][0]
    assert within(expect["spring stretch where it begins to slip"], x[first])
    assert within(expect["time of slipping"], t[again] - t[first])
    assert within(expect["time of sticking"], t[second] - t[again])
    assert within(expect["period"], t[second] - t[first])
    assert within(expect["least stretch"], x[first:second].min())


def test_clutched_arm_breaks_away_and_just_touches_rest(tmp_path: Path) -> None:
    setup, expect = case("clutched_arm")
    text = f"""
[[body]]
name = "drive"
mass = 1.0
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "motor"
type = "revolute"
child = "drive"
motion = {{ signal = "spring end" }}
[[signal]]
name = "spring end"
type = "spline"
unit = "rad"
t = [0.0, 2.0]
values = [0.0, {2.0 * setup["spring_end_rad_s"]}]
[[body]]
name = "arm"
mass = 1.0
inertia = {{ xx = {setup["inertia_kg_m2"]}, yy = {setup["inertia_kg_m2"]}, zz = {setup["inertia_kg_m2"]} }}
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
friction = {setup["dry_friction_N_m"]}
[[force]]
name = "spring"
type = "coordinate_spring"
coordinates = ["motor", "hinge"]
stiffness = {setup["stiffness_N_m_rad"]}
"""
    scene = world(
        tmp_path,
        text,
        gravity=(0, 0, 0),
        duration=1.3,
        step=5e-5,
        run='integrator = "convex"',
    )
    trajectory = ran(scene)
    q, v, t = trajectory.q[:, 1], trajectory.v[:, 1], trajectory.t
    moves = int(np.argmax(v > 2e-8))
    assert within(expect["time when the arm begins to move"], t[moves])
    assert np.abs(q[: moves - 1]).max() < 1e-9
    assert within(expect["greatest speed of the first swing"], v.max())
    rest = "time when its speed is least after that (it just touches rest)"
    late = t > 0.5
    assert within(expect[rest], t[late][np.argmin(np.abs(v[late]))])


def test_anymal_pushed_up_keeps_its_energy_while_it_falls(tmp_path: Path) -> None:
    setup, expect = case("anymal_energy")
    path = tmp_path / "anymal.toml"
    path.write_text(
        f'gravity = [0, 0, {-setup["gravity"]}]\n[[model]]\nfile = "{robot_path("anymal")}"\nfree_base = true\n'
        "limits = false\nfriction = false\ndamping = false\ncollision = 'none'\n"
        f"start.root_joint = {{ xyz = [0, 0, {setup['H_m']}] }}\n[simulation]\nduration = 1\nstep = 1e-3\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # a weightless link
        scene = pysim.load_scene(path)
    model, step = scene.model, 1e-3
    rises, falls = round(setup["T1_s"] / step), round(setup["T2_s"] / step)
    controls = np.zeros((rises + falls, model.nv))
    controls[:rises, 2] = 1.5 * model.total_mass * setup["gravity"]
    q, v = pysim.rollout(
        model, scene.state.q, scene.state.v, controls, step, "rk4", every=rises // 10
    )
    energy = np.asarray(pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q))
    drift = np.ptp(energy[10:]) / (model.total_mass * setup["gravity"])
    assert energy[10] > energy[0] + 10
    assert within(expect["energy drift during the fall over m g 1 m"], drift)
