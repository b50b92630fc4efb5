"""The library's forces. Oracles: the closed forms and independent programs of tests/data/reference/elements."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.reference_cases import Case, free, poses, rotation, run, scene_of, slide


def force(name, kind, **keys):
    lines = [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join(["[[force]]", f'name = "{name}"', f'type = "{kind}"', *lines, ""])


def test_a_torsional_spring_between_two_discs(tmp_path):
    case = Case("torsion_two_discs")
    s = case.setup
    discs = "".join(
        f"""
[[body]]
name = "disc{k}"
mass = 1
inertia = {{ xx = 0.1, yy = 0.1, zz = {I} }}
[[joint]]
name = "q{k}"
type = "revolute"
child = "disc{k}"
start = {{ q = {q}, v = {w} }}
"""
        for k, (I, q, w) in enumerate(
            zip(s["inertia_about_axis_kg_m2"], s["start_q_rad"], s["start_w_rad_s"], strict=True)
        )
    )
    shaft = force(
        "shaft",
        "coordinate_spring",
        coordinates='["q0", "q1"]',
        stiffness=s["stiffness_N_m_rad"],
        damping=s["damping_N_m_s_rad"],
        rest=s["rest_angle_rad"],
    )
    r = run(tmp_path, discs + shaft, case.at("q1, q2"))
    case.agrees("q1, q2", np.hstack([r.q, r.v]))


def test_a_spring_from_a_table(tmp_path):
    case = Case("table_spring")
    s = case.setup
    spring = force(
        "spring",
        "table_spring",
        coordinates='["mass slide"]',
        stretch=s["extension_m"],
        pull=s["force_N"],
    )
    text = slide("mass", s["mass_kg"], "[1, 0, 0]", s["start_x_m"], s["start_v_m_s"]) + spring
    model = scene_of(tmp_path, text).model
    x = case.at("F at 11").reshape(-1, 1)
    case.agrees("F at 11", -pysim.passive_forces(model, x, 0 * x)[:, 0])
    r = run(tmp_path, text, case.at("x, v"))
    case.agrees("x, v", np.hstack([r.q, r.v]))
    energy = pysim.kinetic_energy(model, r.q, r.v) + pysim.elastic_energy(model, r.q)
    for value in energy:
        case.agrees("energy", value)


def test_a_rope_is_taut_and_slack_in_turn(tmp_path):
    case = Case("rope_bounce")
    s = case.setup
    rope = force(
        "rope",
        "rope",
        path='[{ body = "world" }, { body = "mass" }]',
        stiffness=s["stiffness_N_m"],
        damping=s["damping_N_s_m"],
        rest_length=s["rest_length_m"],
    )
    text = slide("mass", s["mass_kg"], "[0, 0, 1]", s["start_z_m"], s["start_v_m_s"]) + rope
    r = run(tmp_path, "gravity = [0, 0, -9.81]" + text, case.at("z, v"))
    case.agrees("z, v", np.hstack([r.q, r.v]))


def arm(s, extra):
    """Two links in the x–z plane that turn about −y."""
    text = "gravity = [0, 0, -9.81]\n"
    parent, at = "world", 0.0
    for k in range(2):
        y = s["inertia_com_about_axis_kg_m2"][k]
        text += f"""
[[body]]
name = "link{k}"
mass = {s["mass_kg"][k]}
com = [{s["com_distance_m"][k]}, 0, 0]
inertia = {{ xx = {y}, yy = {y}, zz = {y} }}
[[joint]]
name = "joint{k}"
type = "revolute"
parent = "{parent}"
child = "link{k}"
axis = [0, -1, 0]
at = {{ xyz = [{at}, 0, 0] }}
start = {{ q = {s["start_q_rad"][k]}, v = {s["start_v_rad_s"][k]} }}
"""
        parent, at = f"link{k}", s["length_m"][k]
    return text + extra


def test_a_path_spring_through_points_of_an_arm(tmp_path):
    case = Case("path_spring_via")
    s = case.setup
    points = [
        (body, xz)
        for body, key in (
            ("world", "points_on_the_ground_xz_m"),
            ("link0", "points_on_link1_xz_m"),
            ("link1", "points_on_link2_xz_m"),
        )
        for xz in s[key]
    ]
    path = ", ".join(f'{{ body = "{b}", point = [{x}, 0.0, {z}] }}' for b, (x, z) in points)
    spring = force(
        "muscle",
        "path_spring",
        path=f"[{path}]",
        stiffness=s["stiffness_N_m"],
        damping=s["damping_N_s_m"],
        rest_length=s["rest_length_m"],
    )
    text = arm(s, spring)
    model = scene_of(tmp_path, text).model
    q = case.at("L, ∂L")
    stretch = np.sqrt(2 * pysim.elastic_energy(model, q) / s["stiffness_N_m"])
    tau = pysim.passive_forces(model, q, 0 * q)
    L = s["rest_length_m"] + stretch
    slopes = -tau / (s["stiffness_N_m"] * stretch[:, None])
    case.agrees("L, ∂L", np.column_stack([L, slopes]))
    r = run(tmp_path, text, case.at("q1, q2"))
    case.agrees("q1, q2", np.hstack([r.q, r.v]))


def test_a_block_and_tackle(tmp_path):
    case = Case("block_and_tackle")
    s = case.setup
    m1, m2 = s["counterweight_kg"], s["block_kg"]
    bodies = slide("counterweight", m1, "[0, 0, -1]") + slide("block", m2, "[0, 0, -1]")
    points = [("counterweight", 0), ("world", 0), ("world", 1), ("block", 1), ("world", 1)]
    path = ", ".join(f'{{ body = "{b}", point = [{x}, 0, 2] }}' for b, x in points)
    path = path.replace('"counterweight", point = [0, 0, 2]', '"counterweight", point = [0, 0, -1]')
    path = path.replace('"block", point = [1, 0, 2]', '"block", point = [1, 0, -1]')
    rope = force(
        "rope",
        "path_spring",
        path=f"[{path}]",
        stiffness=s["stiffness_of_the_rope_N_m"],
        damping=s["damping_N_s_m"],
        rest_length=3 + 1 + 3 + 3,
    )
    text = "gravity = [0, 0, -9.81]" + bodies + rope
    r = run(tmp_path, text, case.at("x1, x2"))
    case.agrees("x1, x2", np.hstack([r.q, r.v]))
    tau = pysim.passive_forces(scene_of(tmp_path, text).model, r.q, r.v)
    case.agrees("tension", -tau[:, 0])
    np.testing.assert_allclose(tau[:, 1], 2 * tau[:, 0], rtol=1e-12)


def test_a_bushing_at_large_rotation(tmp_path):
    case = Case("bushing_large_rotation")
    s = case.setup
    bushing = force(
        "bushing", "bushing", b='"b"', stiffness=s["K_N_m_rad"], damping=s["D_N_s_m_rad"]
    )
    text = free("b", s["b"]) + bushing
    model = scene_of(tmp_path, text).model
    given = case.at("wrench on b")
    half = [
        np.array([*np.sin(a / 2) * np.array(n), np.cos(a / 2)]) for *n, a in map(axis_angles, given)
    ]
    q = np.hstack([given[:, :3], np.array(half)])
    case.agrees("wrench on b", pysim.passive_forces(model, q, given[:, 6:]))
    r = run(tmp_path, text, case.at("position (3)"))
    case.agrees("position (3)", np.hstack(poses(r.q)))


def axis_angles(row):
    from tests.elements.reference_cases import axis_angle

    return axis_angle(row[3:6])


def frame(at):
    from tests.elements.reference_cases import axis_angle

    return f"{{ xyz = {at['position_m']}, axis_angle = {axis_angle(at['rotation_vector_rad'])} }}"


def test_a_bushing_between_two_bodies_keeps_their_angular_momentum(tmp_path):
    case = Case("bushing_two_bodies")
    s = case.setup
    bushing = force(
        "bushing",
        "bushing",
        a='"one"',
        b='"two"',
        at_a=frame(s["frame_a_in_body1"]),
        at_b=frame(s["frame_b_in_body2"]),
        stiffness=s["K"],
        damping=s["D"],
        home=s["home"],
    )
    text = free("one", s["bodies"][0]) + free("two", s["bodies"][1]) + bushing
    scene = scene_of(tmp_path, text)
    r = run(tmp_path, text, case.at("positions (2"))
    (p1, R1), (p2, R2) = poses(r.q[:, :7]), poses(r.q[:, 7:])
    case.agrees("positions (2", np.hstack([p1, p2, R1, R2]))
    tau = pysim.passive_forces(scene.model, scene.state.q, scene.state.v).reshape(4, 3)
    turn = [rotation(body["rotation_vector_rad"]) for body in s["bodies"]]
    wrenches = [turn[k // 2] @ tau[k] for k in range(4)]
    case.agrees("force and torque", np.concatenate(wrenches))
    momentum = 0
    for body, p, R, v in zip(
        s["bodies"], (p1, p2), (R1, R2), (r.v[:, :6], r.v[:, 6:]), strict=True
    ):
        turn = R.reshape(-1, 3, 3)
        spin = np.einsum("nij,jk,nk->ni", turn, body["inertia_com_kg_m2"], v[:, 3:])
        rate = np.einsum("nij,nj->ni", turn, v[:, :3])
        momentum = momentum + spin + body["mass_kg"] * np.cross(p, rate)
    for row in momentum:
        case.agrees("total angular momentum", row)


def test_gravity_between_two_bodies_keeps_them_on_kepler_s_ellipse(tmp_path):
    case = Case("kepler")
    s = case.setup
    bodies = [
        {
            "mass_kg": m,
            "inertia_com_kg_m2": np.eye(3).tolist(),
            "position_m": s["start"][f"p{k}_m"],
            "rotation_vector_rad": [0, 0, 0],
            "velocity_world_m_s": s["start"][f"v{k}_m_s"],
            "angular_velocity_body_rad_s": [0.0, 0.0, 0.0],
        }
        for k, m in enumerate(s["mass_kg"], 1)
    ]
    attraction = force(
        "attraction",
        "mutual_gravity",
        a='"one"',
        b='"two"',
        strength=s["G"] * s["mass_kg"][0] * s["mass_kg"][1],
    )
    text = free("one", bodies[0]) + free("two", bodies[1]) + attraction
    model = scene_of(tmp_path, text).model
    r = run(tmp_path, text, case.at("p1, p2"))
    case.agrees("p1, p2", np.hstack([r.q[:, :3], r.q[:, 7:10]]))
    case.agrees("v1, v2", np.hstack([r.v[:, :3], r.v[:, 6:9]]))
    for value in pysim.kinetic_energy(model, r.q, r.v) + pysim.elastic_energy(model, r.q):
        case.agrees("energy", value)


@pytest.mark.parametrize("name", ["drag_linear", "drag_quadratic"])
def test_drag_of_a_falling_body(tmp_path, name):
    case = Case(name)
    s = case.setup
    if name == "drag_linear":
        drag = force("drag", "linear_drag", b='"mass"', coefficient=s["drag_N_s_m"])
    else:
        drag = force(
            "drag",
            "quadratic_drag",
            b='"mass"',
            density=s["density_kg_m3"],
            drag_coefficient=s["drag_coefficient"],
            area=s["area_m2"],
        )
    text = slide("mass", s["mass_kg"], "[0, 0, 1]", s["start_z_m"], s["start_v_m_s"]) + drag
    r = run(tmp_path, "gravity = [0, 0, -9.81]" + text, case.at("z, v"))
    case.agrees("z, v", np.hstack([r.q, r.v]))


def test_a_projectile_in_the_wind(tmp_path):
    case = Case("wind_projectile")
    s = case.setup
    body = {
        "mass_kg": s["mass_kg"],
        "inertia_com_kg_m2": np.eye(3).tolist(),
        "position_m": s["start_p_m"],
        "rotation_vector_rad": [0.3, -0.5, 0.2],
        "velocity_world_m_s": s["start_v_m_s"],
        "angular_velocity_body_rad_s": [0.5, 1.0, -2.0],
    }
    drag = force(
        "wind",
        "quadratic_drag",
        b='"ball"',
        density=1.0,
        drag_coefficient=2.0,
        area=s["k_N_s2_m2"],
        wind=s["wind_m_s"],
    )
    text = "gravity = [0, 0, -9.81]" + free("ball", body) + drag
    r = run(tmp_path, text, case.at("p, v"))
    p, R = poses(r.q)
    v = np.einsum("nij,nj->ni", R.reshape(-1, 3, 3), r.v[:, :3])
    case.agrees("p, v", np.hstack([p, v]))


def test_a_sphere_floats(tmp_path):
    case = Case("buoyant_sphere")
    s = case.setup
    lift = force(
        "water",
        "buoyant_sphere",
        b='"ball"',
        radius=s["radius_m"],
        density=s["fluid_density_kg_m3"],
        gravity=s["gravity_m_s2"],
    )
    drag = force("drag", "linear_drag", b='"ball"', coefficient=s["drag_N_s_m"])
    text = "gravity = [0, 0, -9.81]" + slide("ball", s["mass_kg"], "[0, 0, 1]", s["start_z_m"])
    model = scene_of(tmp_path, text + lift).model
    z = case.at("submerged volume").reshape(-1, 1)
    weight = s["fluid_density_kg_m3"] * s["gravity_m_s2"]
    case.agrees("submerged volume", pysim.passive_forces(model, z, 0 * z)[:, 0] / weight)
    r = run(tmp_path, text + lift + drag, case.at("z, v"))
    case.agrees("z, v", np.hstack([r.q, r.v]))


def test_two_magnets_attract(tmp_path):
    case = Case("magnet_dipoles")
    s = case.setup
    one, two = s["moments_in_body_A_m2"]
    magnets = force("field", "magnet_dipoles", a='"one"', b='"two"', moment_a=one, moment_b=two)
    text = free("one", s["bodies"][0]) + free("two", s["bodies"][1]) + magnets
    model = scene_of(tmp_path, text).model
    r = run(tmp_path, text, case.at("positions (2"))
    (p1, R1), (p2, R2) = poses(r.q[:, :7]), poses(r.q[:, 7:])
    case.agrees("positions (2", np.hstack([p1, p2, R1, R2]))
    for value in pysim.kinetic_energy(model, r.q, r.v) + pysim.elastic_energy(model, r.q):
        case.agrees("total energy", value)


def test_stribeck_friction_stops_a_block(tmp_path):
    case = Case("stribeck_block")
    s = case.setup
    friction = force(
        "friction",
        "stribeck_friction",
        coordinates='["block slide"]',
        kinetic=s["Fc_N"],
        static=s["Fs_N"],
        stribeck_speed=s["vs_m_s"],
        exponent=s["delta"],
        rounding_speed=s["vr_m_s"],
        viscous=s["b_N_s_m"],
    )
    text = slide("block", s["mass_kg"], "[1, 0, 0]", 0.0, s["start_v_m_s"]) + friction
    model = scene_of(tmp_path, text).model
    v = case.at("friction force").reshape(-1, 1)
    case.agrees("friction force", -pysim.passive_forces(model, 0 * v, v)[:, 0])
    r = run(tmp_path, text, case.at("x, v"))
    case.agrees("x, v", np.hstack([r.q, r.v]))


def test_a_gas_spring_swings(tmp_path):
    case = Case("pneumatic_spring")
    s = case.setup
    gas = force(
        "gas",
        "gas_spring",
        coordinates='["piston slide"]',
        area=s["area_m2"],
        pressure=s["pressure_at_x0_Pa"],
        volume=s["volume_at_x0_m3"],
        ambient=s["ambient_Pa"],
        exponent=s["polytropic_exponent"],
    )
    load = f"""
[[actuator]]
joint = "piston slide"
offset = {-s["constant_load_N"]}
"""
    text = slide("piston", s["mass_kg"], "[1, 0, 0]", s["start_x_m"]) + gas + load
    r = run(tmp_path, text, case.at("x, v"))
    case.agrees("x, v", np.hstack([r.q, r.v]))
    stiffness = pysim.passive_force_derivatives(scene_of(tmp_path, text).model, [0.0], [0.0])[0]
    case.agrees("angular frequency", np.sqrt(-stiffness[0, 0] / s["mass_kg"]))


@pytest.mark.parametrize("exponent", [1.0, 1.4])
def test_the_energy_of_a_gas_spring_is_the_work_of_its_force(tmp_path, exponent):
    """Quadrature of the force; an isothermal gas, n = 1, stores −p₀ V₀ ln(V / V₀)."""
    keys = {"area": 0.01, "pressure": 3e5, "volume": 2e-3, "exponent": exponent}
    gas = force("gas", "gas_spring", coordinates='["mass slide"]', **keys)
    model = scene_of(tmp_path, slide("mass", 1.0, "[1, 0, 0]") + gas).model
    x, w = np.polynomial.legendre.leggauss(20)
    ends = np.array([-0.05, 0.03, 0.2])
    nodes = 0.5 * ends[:, None] * (x + 1)
    push = pysim.passive_forces(model, nodes.reshape(-1, 1), np.zeros((nodes.size, 1)))
    work = 0.5 * ends * (push.reshape(nodes.shape) @ w)
    energy = pysim.elastic_energy(model, ends[:, None])
    np.testing.assert_allclose(energy - pysim.elastic_energy(model, [0.0]), -work, rtol=1e-12)
    if exponent == 1:
        volume = 1 + ends * 0.01 / 2e-3
        isothermal = -3e5 * 2e-3 * np.log(volume) + 101325.0 * 0.01 * ends
        np.testing.assert_allclose(energy, isothermal, rtol=1e-12)
