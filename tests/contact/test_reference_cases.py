"""Contacts with the ground by convex steps, against cases with closed forms or independent integration.

Oracle: tests/data/reference/contact (closed forms; Hunt and Crossley's impact by DOP853). Cases of law "rigid" allow
for a stiff compliant contact.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import (
    STIFF,
    G,
    at,
    ball,
    case,
    free_body,
    on_slope,
    ran,
    velocity,
    within,
)

BOX = "{{ box = [{}, {}, {}] }}"


def box_of(half_sides: list[float]) -> str:
    return BOX.format(*(2 * side for side in half_sides))


def test_slope_below_the_angle_of_friction_does_not_creep(tmp_path: Path) -> None:
    setup, expect = case("slope_threshold")
    height = setup["half_sides_m"][2]
    scene = free_body(
        tmp_path,
        shape=box_of(setup["half_sides_m"]),
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {height - 2e-4}] }}",
        surface=f"friction = {setup['mu']}",
        gravity=on_slope(setup["angle_below_rad"]),
        duration=11.0,
        every=0.01,
    )
    trajectory = ran(scene)
    assert within(
        expect["speed 5 s after the start, below"], np.abs(trajectory.v[at(trajectory, 5)]).max()
    )
    moved = trajectory.q[-1, 0] - trajectory.q[at(trajectory, 1), 0]
    assert within(expect["distance between 1 s and 11 s, below"], moved)
    force = trajectory.contact_forces[-1, 0]
    ratio = np.hypot(force[0], force[1]) / force[2]
    assert within(expect["friction over normal force, below"], ratio)
    assert trajectory.contacts.of_row(-2).stuck.all()


def test_slope_above_the_angle_of_friction_slides(tmp_path: Path) -> None:
    setup, expect = case("slope_threshold")
    scene = free_body(
        tmp_path,
        shape=box_of(setup["half_sides_m"]),
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {setup['half_sides_m'][2]}] }}",
        surface=f"friction = {setup['mu']}\n{STIFF}",
        gravity=on_slope(setup["angle_above_rad"]),
        duration=1.0,
    )
    trajectory = ran(scene)
    speed = velocity(trajectory)[:, 0]
    assert within(
        expect["acceleration, above"], (speed[-2] - speed[500]) / (trajectory.t[-2] - 0.5)
    )
    assert within(expect["distance after 1 s, above"], trajectory.q[-1, 0])


@pytest.mark.parametrize("name", ["slope_down", "slope_up"])
def test_box_pushed_along_a_slope_stops_and_stays(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    sign = 1.0 if setup["direction"] == "down" else -1.0
    scene = free_body(
        tmp_path,
        shape=box_of(setup["half_sides_m"]),
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {setup['half_sides_m'][2]}], v = [{sign * setup['speed_m_s']}, 0, 0, 0, 0, 0] }}",
        surface=f"friction = {setup['mu']}\n{STIFF}",
        gravity=on_slope(setup["angle_rad"]),
        duration=1.5,
        step=2.5e-4,
    )
    trajectory = ran(scene)
    stops = int(np.argmax(sign * velocity(trajectory)[:, 0] < 1e-3))
    assert within(expect["time until it stops"], trajectory.t[stops])
    assert within(expect["distance until it stops"], sign * trajectory.q[stops, 0])
    later = at(trajectory, trajectory.t[stops] + 1)
    moved = trajectory.q[later, 0] - trajectory.q[stops + 8, 0]
    assert within(expect["distance moved in the second after that"], moved)


def test_friction_opposes_a_push_in_an_oblique_direction(tmp_path: Path) -> None:
    setup, expect = case("oblique_push")
    push = setup["force_N"] / setup["mass_kg"]
    angle = setup["force_direction_rad_from_x"]
    scene = free_body(
        tmp_path,
        shape=box_of(setup["half_sides_m"]),
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {setup['half_sides_m'][2]}] }}",
        surface=f"friction = {setup['mu']}\n{STIFF}",
        gravity=(push * math.cos(angle), push * math.sin(angle), -G),
    )
    trajectory = ran(scene)
    x, y, _ = velocity(trajectory)[-2]
    assert within(expect["direction of the velocity"], math.atan2(y, x))
    assert within(expect["acceleration"], math.hypot(x, y) / trajectory.t[-2])
    assert within(expect["yaw after 1 s"], 2 * math.asin(trajectory.q[-1, 5]))


@pytest.mark.parametrize("name", ["sphere_slip_roll", "sphere_backspin"])
def test_slipping_sphere_ends_in_rolling(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    thrown = f", v = [{setup['speed_m_s']}, 0, 0, 0, {setup['spin_rad_s']}, 0]"
    trajectory = ran(ball(tmp_path, setup, thrown, duration=3.0))
    rolls = int(np.argmax(trajectory.contacts.slip_speed < 1e-3))
    speed = velocity(trajectory)[:, 0]
    assert within(expect["time when slipping ends"], trajectory.t[rolls])
    assert within(expect["place then"], trajectory.q[rolls, 0])
    assert within(expect["speed when rolling"], speed[rolls + 50])
    assert within(expect["speed 2 s later"], speed[min(rolls + 2000, len(speed) - 2)])


@pytest.mark.parametrize("name", ["sphere_on_slope", "sphere_slips_on_slope"])
def test_sphere_let_go_on_a_slope(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    trajectory = ran(ball(tmp_path, setup, gravity=on_slope(setup["angle_rad"])))
    speed = velocity(trajectory)[:, 0]
    assert within(expect["acceleration"], (speed[-2] - speed[200]) / (trajectory.t[-2] - 0.2))
    spin = np.linalg.norm(trajectory.v[:, 3:], axis=1)
    assert within(expect["angular acceleration"], (spin[-1] - spin[200]) / (trajectory.t[-1] - 0.2))
    assert within(expect["speed after 1 s"], speed[-2])


@pytest.mark.parametrize("name", ["wheel_grips", "wheel_spins"])
def test_driven_wheel(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    r, I = setup["radius_m"], setup["I_axis"]
    path = tmp_path / "wheel.toml"
    path.write_text(
        f"""
[materials.default]
friction = {setup["mu"]}
{STIFF}
[[body]]
name = "wheel"
shape = {{ cylinder = {{ radius = {r}, length = 0.1 }} }}
mass = {setup["mass_kg"]}
inertia = {{ xx = {I}, yy = {I}, zz = {I} }}
collision = true
[[joint]]
name = "upright"
type = "planar"
child = "wheel"
at = {{ xyz = [0, 0, {r}], rpy = [1.5707963267948966, 0, 0] }}
[[actuator]]
joint = "upright"
coordinate = 2
offset = {-setup["torque_N_m"]}
[[ground]]
plane = {{ offset = 0.0 }}
[simulation]
duration = 1.0
[output]
every = 1e-3
""",
        "utf-8",
    )
    trajectory = ran(pysim.load_scene(path))
    v, end = trajectory.v, trajectory.t[-1] - 0.2
    assert within(expect["acceleration"], (v[-1, 0] - v[200, 0]) / end)
    assert within(expect["angular acceleration"], -(v[-1, 2] - v[200, 2]) / end)
    slip = trajectory.contacts.of_row(len(trajectory) - 1).slip_speed.max()
    assert within(expect["slip speed at the contact after 1 s"], slip)


def test_ring_of_points_spins_down(tmp_path: Path) -> None:
    setup, expect = case("spin_down")
    d = setup["distance_m"]
    corners = ((d, 0), (-d, 0), (0, d), (0, -d))
    spheres = ", ".join(
        f"{{ sphere = {{ radius = 0.001 }}, at = {{ xyz = [{x}, {y}, 0] }} }}" for x, y in corners
    )
    scene = free_body(
        tmp_path,
        shape="{ sphere = { radius = 0.001 } }",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, 0.001], v = [0, 0, 0, 0, 0, {setup['spin_rad_s']}] }}",
        surface=f"friction = {setup['mu']}\nstiffness = 2e9",
        body=f"collision = [{spheres}]\ninertia = {{ xx = 0.01, yy = 0.01, zz = {setup['I_axis']} }}",
        duration=1.6,
    )
    trajectory = ran(scene)
    spin = trajectory.v[:, 5]
    stops = int(np.argmax(spin < 1e-6))
    assert within(expect["angular deceleration"], (spin[0] - spin[400]) / trajectory.t[400])
    assert within(expect["time until it stops"], trajectory.t[stops])
    assert within(expect["drift of the centre"], float(np.hypot(*trajectory.q[-1, :2])))
    yaw = 2 * np.unwrap(np.arctan2(trajectory.q[:, 5], trajectory.q[:, 6]))
    assert within(
        expect["angle turned in the second after"], yaw[at(trajectory, 1.6)] - yaw[stops + 1]
    )


def test_disk_precesses_as_eulers(tmp_path: Path) -> None:
    setup, expect = case("euler_disk")
    a, m, angle = setup["radius_m"], setup["mass_kg"], setup["angle_to_floor_rad"]
    precession = 2 * math.sqrt(G / (a * math.sin(angle)))
    thickness = 2e-5
    height = a * math.sin(angle) + thickness / 2 * math.cos(angle)
    scene = free_body(
        tmp_path,
        shape=f"{{ cylinder = {{ radius = {a}, length = {thickness} }} }}",
        mass=m,
        start=f"{{ xyz = [0, 0, {height}], rpy = [{angle}, 0, 0], "
        f"v = [0, 0, 0, 0, {precession * math.sin(angle)}, 0] }}",
        surface=f"friction = {setup['mu']}\nstiffness = 4e6\ndissipation = 0.0",
        body="collision = true\n"
        f"inertia = {{ xx = {m * a * a / 4}, yy = {m * a * a / 4}, zz = {m * a * a / 2} }}",
        step=2e-5,
        every=1e-3,
    )
    trajectory = ran(scene)
    x, y, z, w = trajectory.q[:, 3:].T
    axis = np.array([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)])
    tilt = np.arccos(axis[2])
    turned = np.unwrap(np.arctan2(axis[1], axis[0]))
    found = abs(turned[-1] - turned[0]) / trajectory.t[-1]
    assert within(expect["precession Omega"], found)
    assert within(expect["change of the angle to the floor in 1 s"], tilt[-1] - tilt[0])
    drift = np.linalg.norm(trajectory.q[:, :2] - trajectory.q[0, :2], axis=1).max()
    assert within(expect["drift of the centre in 1 s"], drift)
    energy = trajectory.energy[-1] / (m * G * a * math.sin(angle))
    assert within(expect["energy over m g a sin(alpha)"], energy)


def test_slender_block_rocks_as_housners(tmp_path: Path) -> None:
    setup, expect = case("rocking_block")
    b, h, lean = setup["half_width_m"], setup["half_height_m"], setup["lean_rad"]
    radius, tilt = math.hypot(b, h), math.atan2(b, h) - lean
    scene = free_body(
        tmp_path,
        shape=box_of([b, b, h]),
        mass=setup["mass_kg"],
        start=f"{{ xyz = [{-radius * math.sin(tilt)}, 0, {radius * math.cos(tilt)}], rpy = [0, {lean}, 0] }}",
        surface=f"friction = {setup['mu']}\nstiffness = 2e8",
        duration=0.4,
        step=2e-5,
        every=1e-4,
    )
    trajectory = ran(scene)
    rate = np.abs(trajectory.v[:, 4])
    impact = int(np.argmax(rate))
    assert within(expect["time of the first impact"], trajectory.t[impact])
    assert within(expect["angular speed just before"], rate[impact])
    assert within(expect["angular speed after over before"], rate[impact + 15] / rate[impact])


@pytest.mark.parametrize("name", ["hunt_crossley_impact", "hunt_crossley_impact_hertz"])
def test_impact_approaches_hunt_and_crossley_in_first_order(tmp_path: Path, name: str) -> None:
    setup, expect = case(name)
    linear = setup["exponent"] == 1
    if linear:
        surface = f"stiffness = {2 * setup['K']}"
    else:  # K = 4/3 E* √R of two equal surfaces
        young = 2 * 0.75 * setup["K"] / math.sqrt(setup["radius_m"])
        surface = f"stiffness = {{ young = {young}, poisson = 0.0 }}"
    errors = []
    for halving in range(3):
        step = 4e-5 / 2**halving
        scene = free_body(
            tmp_path,
            shape="{ sphere = { radius = 0.1 } }",
            mass=1.0,
            start="{ xyz = [0, 0, 0.1], v = [0, 0, -1, 0, 0, 0] }",
            surface=f"{surface}\ndissipation = {setup['d_s_per_m']}\nfriction = 0",
            gravity=(0, 0, 0),
            duration=0.04,
            step=step,
            every=4e-5,
        )
        trajectory = ran(scene)
        deepest = 0.1 - trajectory.q[:, 2].min()
        errors.append(
            [
                trajectory.v[-1, 2] - expect["restitution"]["value"],
                deepest - expect["greatest penetration"]["value"],
            ]
        )
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(orders[:, 0], 1, atol=0.1)
    assert abs(errors[-1][0]) < 3e-3
    assert abs(errors[-1][1]) < 3e-3 * expect["greatest penetration"]["value"]


def test_hertz_stiffness_of_a_steel_sphere(tmp_path: Path) -> None:
    setup, expect = case("hertz_sphere_plane")
    steel = f"stiffness = {{ young = {setup['E1_Pa']}, poisson = {setup['nu1']} }}"
    scene = free_body(
        tmp_path,
        shape=f"{{ sphere = {{ radius = {setup['R1_m']} }} }}",
        mass=setup["m1_kg"],
        start=f"{{ xyz = [0, 0, {setup['R1_m']}] }}",
        surface=f"{steel}\nfriction = 0\ndissipation = 0",
    )
    assert scene.contacts is not None
    assert within(expect["K of F = K x^1.5"], scene.contacts.shapes[0].law.stiffness)


def test_rod_falls_on_ice(tmp_path: Path) -> None:
    setup, expect = case("falling_rod")
    length, m, angle = setup["length_m"], setup["mass_kg"], setup["angle_from_floor_rad"]
    across = m * length**2 / 12
    scene = free_body(
        tmp_path,
        shape=f"{{ capsule = {{ radius = 0.001, length = {length} }} }}",
        mass=m,
        start=f"{{ xyz = [0, 0, {length / 2 * math.sin(angle) + 1e-3}], rpy = [0, {math.pi / 2 - angle}, 0] }}",
        surface=f"friction = 0\n{STIFF}",
        body=f"inertia = {{ xx = {across}, yy = {across}, zz = 1e-6 }}\n"
        f"collision = {{ sphere = {{ radius = 0.001 }}, at = {{ xyz = [0, 0, {-length / 2}] }} }}",
        duration=0.5,
        step=1e-4,
    )
    trajectory = ran(scene)
    lean = math.pi / 2 - 2 * np.arctan2(trajectory.q[:, 4], trajectory.q[:, 6])
    row = int(np.argmax(lean < 0.3))
    assert within(expect["angular speed at 0.3 rad"], np.abs(trajectory.v[row, 4]))
    assert within(expect["time then"], trajectory.t[row])
    assert within(expect["horizontal place of the centre"], trajectory.q[row, 0])


def test_ladder_leaves_the_wall(tmp_path: Path) -> None:
    setup, expect = case("ladder")
    length, m, angle = setup["length_m"], setup["mass_kg"], setup["angle_from_floor_rad"]
    across, r = m * length**2 / 12, 1e-3
    ends = ", ".join(
        f"{{ sphere = {{ radius = {r} }}, at = {{ xyz = [0, 0, {z}] }} }}"
        for z in (-length / 2, length / 2)
    )
    scene = free_body(
        tmp_path,
        shape=f"{{ capsule = {{ radius = {r}, length = {length} }} }}",
        mass=m,
        start=f"{{ xyz = [{length / 2 * math.cos(angle) + r}, 0, {length / 2 * math.sin(angle) + r}], "
        f"rpy = [0, {angle - math.pi / 2}, 0] }}",
        surface=f"friction = 0\n{STIFF}",
        body=f"inertia = {{ xx = {across}, yy = {across}, zz = 1e-6 }}\ncollision = [{ends}]",
        extra="[[ground]]\nplane = { normal = [1, 0, 0], offset = 0.0 }",
        duration=0.8,
        step=1e-4,
    )
    trajectory = ran(scene)
    wall = trajectory.contact_forces[:, 0, 0]
    row = int(np.argmax((wall <= 1e-9) & (trajectory.t > 0.3)))
    angles = math.pi / 2 + 2 * np.arctan2(trajectory.q[:, 4], trajectory.q[:, 6])
    assert within(expect["angle where the wall's force vanishes"], angles[row])
    assert within(expect["angular speed then"], np.abs(trajectory.v[row, 4]))
    assert within(expect["time then"], trajectory.t[row])
    speed = velocity(trajectory)[row + 50, 0]
    assert within(expect["horizontal speed of the centre from there on"], speed)
