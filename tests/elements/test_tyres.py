"""Tyres. Oracles: `tyre_brush` and `tyre_pacejka94` of tests/data/reference/elements; first-order relaxation."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.elements.library.tyres.tyre import BrushTyre, PacejkaTyre
from tests.elements.blocks import scene_of, simulation, table
from tests.elements.reference_cases import Case

WHEEL = {"radius": 0.3, "stiffness": 2e5}


def brush_keys(s):
    return {
        "bristle_stiffness": s["bristle_stiffness_N_m2"],
        "half_length": s["half_contact_length_m"],
        "friction": s["friction"],
    }


def coefficients(s):
    return {name: list(s[name].values()) for name in ("lateral", "longitudinal")}


def test_the_brush_model():
    case = Case("tyre_brush")
    tyre = BrushTyre(**WHEEL, **brush_keys(case.setup))
    load = case.setup["load_N"]
    found = [tyre.forces(load, k, np.tan(a), 0.0) for a, k in case.at("Fx, Fy, Mz").tolist()]
    case.agrees("Fx, Fy, Mz", np.array(found, float))
    _, across, moment = tyre.forces(load, 0.0, 1e-9, 0.0)
    assert across / 1e-9 == pytest.approx(case.expected("cornering stiffness")["value"], rel=1e-6)
    trail = case.expected("pneumatic trail")["value"]
    assert -moment / across == pytest.approx(trail, rel=1e-6)


def test_the_magic_formula():
    case = Case("tyre_pacejka94")
    keys = {name: tuple(values) for name, values in coefficients(case.setup).items()}
    tyre = PacejkaTyre(**WHEEL, **keys, combined=False)
    found = []
    for load, slip, camber, percent in case.at("Fy, Fx").tolist():
        tangent = np.tan(np.radians(slip))
        along, across, _ = tyre.forces(1000 * load, percent / 100, tangent, np.radians(camber))
        found.append([float(across), float(along)])
    case.agrees("Fy, Fx", found)


def test_both_slips_at_once_stay_within_the_ellipse_of_the_peaks():
    keys = {
        name: tuple(values) for name, values in coefficients(Case("tyre_pacejka94").setup).items()
    }
    tyre = PacejkaTyre(**WHEEL, **keys)
    rng = np.random.default_rng(5)
    a, b = keys["lateral"], keys["longitudinal"]
    peaks = 4.0 * np.array([b[1] * 4.0 + b[2], a[1] * 4.0 + a[2]])
    for kappa, tangent in rng.uniform(-0.5, 0.5, (50, 2)).tolist():
        along, across, _ = tyre.forces(4000.0, kappa, tangent, 0.0)
        assert np.hypot(along / peaks[0], across / peaks[1]) < 1 + 1e-12


def rig(kind, yaw, speed, **keys):
    """Return a wheel at a steering angle on a carriage that moves at a prescribed speed."""
    inertia = {"xx": 0.5, "yy": 1.0, "zz": 0.5}
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="carriage", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table(
        "joint",
        name="road",
        type="prismatic",
        axis=[1, 0, 0],
        child="carriage",
        at={"xyz": [0, 0, 0.28]},
        motion={"signal": "way"},
    )
    way = {"t": [0.0, 10.0], "values": [0.0, 10.0 * speed]}
    text += table("signal", name="way", type="spline", unit="m", **way)
    text += table("body", name="wheel", mass=10, inertia=inertia)
    text += table(
        "joint",
        name="axle",
        type="revolute",
        axis=[0, 1, 0],
        parent="carriage",
        child="wheel",
        at={"rpy": [0, 0, yaw]},
        start={"v": speed / 0.3},
    )
    text += table("force", name="tyre", type=kind, b="wheel", **WHEEL, **keys)
    return text + table("sensor", name="hub", type="force_torque", joint="axle")


def side_force(run):
    """Return the lateral force of the road on a wheel without acceleration."""
    return -run.signals["hub.force"][:, 1]


@pytest.mark.parametrize("degrees", [-3.0, 6.0])
def test_a_rolling_wheel_at_a_slip_angle_has_the_force_of_its_curve(tmp_path, degrees):
    case = Case("tyre_brush")
    keys = brush_keys(case.setup)
    yaw = float(np.radians(degrees))
    text = rig("brush_tyre", yaw, 10.0, **keys) + simulation(duration=2.0, interval=0.5)
    run = pysim.simulate(scene_of(tmp_path, text))
    tyre = BrushTyre(**WHEEL, **keys)
    load = 0.02 * WHEEL["stiffness"]
    along, across, _ = tyre.forces(load, 0.0, np.tan(yaw), 0.0)
    spin = run.v[-1, 1]
    assert spin * 0.3 == pytest.approx(10.0 * np.cos(yaw), rel=1e-6)  # rolls freely
    assert side_force(run)[-1] == pytest.approx(float(across), rel=1e-6)
    assert float(along) == 0.0


def test_the_force_of_a_tyre_rises_within_its_relaxation_length(tmp_path):
    """At small slip F = C tan α (1 − exp(−v t/σ)), whatever the speed."""
    keys = brush_keys(Case("tyre_brush").setup) | {"relaxation_lateral": 0.4}
    yaw, forces = 1e-5, []
    for speed in (5.0, 20.0):
        time = 0.4 / speed
        text = rig("brush_tyre", yaw, speed, **keys)
        text += simulation(duration=4 * time, interval=time)
        forces.append(side_force(pysim.simulate(scene_of(tmp_path, text))))
    rise = 1 - np.exp(-np.arange(5.0))
    for force in forces:
        np.testing.assert_allclose(force, 43200 * yaw * rise, rtol=1e-3, atol=1e-6)


def standing(push):
    """Return a locked wheel under a load that slides along y, pushed sideways."""
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="wheel", mass=20, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table(
        "joint",
        name="y",
        type="prismatic",
        axis=[0, 1, 0],
        child="wheel",
        at={"xyz": [0, 0, 0.28]},
    )
    text += table("actuator", name="push", joint="y", offset=push)
    keys = brush_keys(Case("tyre_brush").setup) | {"carcass_damping": 0.02}
    return text + table("force", name="tyre", type="brush_tyre", b="wheel", **WHEEL, **keys)


def test_a_wheel_that_stands_holds_a_push_and_yields_by_its_lateral_stiffness(tmp_path):
    text = standing(100.0) + simulation(duration=3.0, interval=1.0)
    run = pysim.simulate(scene_of(tmp_path, text))
    assert abs(run.v[-1, 0]) < 1e-6
    tyre = BrushTyre(**WHEEL, **brush_keys(Case("tyre_brush").setup))
    _, across, _ = tyre.forces(4000.0, 0.0, run.q[-1, 0] / 0.3, 0.0)
    assert float(across) == pytest.approx(100.0, rel=1e-5)


def test_a_push_beyond_friction_slides_a_wheel(tmp_path):
    text = standing(4000.0) + simulation(duration=1.0, interval=0.5)
    run = pysim.simulate(scene_of(tmp_path, text))
    assert run.v[-1, 0] == pytest.approx((4000 - 0.9 * 4000) / 20, rel=0.1)


def test_a_wheel_in_the_air_has_no_force_and_a_tyre_never_pulls(tmp_path):
    text = rig("brush_tyre", 0.1, 10.0, **brush_keys(Case("tyre_brush").setup))
    text = text.replace("0.28]", "0.31]") + simulation(duration=0.1, interval=0.1)
    run = pysim.simulate(scene_of(tmp_path, text))
    np.testing.assert_allclose(run.signals["hub.force"], 0, atol=1e-9)
    text = text.replace("0.31]", "0.2999]").replace("stiffness = 200000.0", "stiffness = 10.0")
    bounce = text.replace("radius", "damping = 1e6\nradius").replace("[1, 0, 0]", "[0.6, 0, 0.8]")
    run = pysim.simulate(scene_of(tmp_path, bounce))
    assert (run.signals["hub.force"][:, 2] <= 1e-9).all()


def test_a_wheel_falls_over_and_lies_still_enough_to_go_on(tmp_path):
    """Its tyre has no side wall: beyond 84 degrees its forces stay those of 84 degrees."""
    text = "gravity = [0, 0, -9.81]\n"
    text += table("body", name="wheel", mass=10, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.5))
    for roll in (0.3, np.pi / 2):
        start = {"xyz": [0, 0, 0.3], "rpy": [roll, 0, 0]}
        own = table("joint", name="free", type="free", child="wheel", start=start)
        keys = brush_keys(Case("tyre_brush").setup) | {"damping": 500.0}
        own += table("force", name="tyre", type="brush_tyre", b="wheel", **WHEEL, **keys)
        run = simulation("rk4", duration=0.5, interval=0.1)
        assert np.isfinite(pysim.simulate(scene_of(tmp_path, text + own + run)).q).all()


def test_coefficients_of_another_count_are_rejected(tmp_path):
    text = rig("pacejka_tyre", 0.0, 1.0, lateral=[1.4], longitudinal=[0.0] * 14) + simulation()
    with pytest.raises(pysim.SceneError, match="must have 18 coefficients, got 1"):
        scene_of(tmp_path, text)


def test_the_aligning_moment_is_the_magic_formula_of_1994():
    """The oracle is the formula of the docstring, written out for one load, with B and D instead of their products."""
    c = (2.2, -3.7, -2.8, -1.2, -3.5, 0.1, 0.02, -0.3, 0.2, -3.0, 0.05, 0.1, 0.2, 0.03, 0.4, -0.5)
    c = (*c, 0.06, -0.07, 0.001, 0.02, -0.1)
    keys = coefficients(Case("tyre_pacejka94").setup)
    tyre = PacejkaTyre(**WHEEL, **{k: tuple(v) for k, v in keys.items()}, aligning=c)
    z, lean = 3.2, 4.0
    D = z * (c[1] * z + c[2]) * (1 - c[18] * lean**2)
    B = (c[3] * z * z + c[4] * z) * (1 - c[6] * lean) * np.exp(-c[5] * z) / (c[0] * D)
    for alpha in (-6.0, 0.5, 11.0):
        x = alpha + c[11] * z + c[12] + c[13] * lean
        E = (c[7] * z * z + c[8] * z + c[9]) * (1 - (c[19] * lean + c[20]) * np.sign(x))
        E /= 1 - c[10] * lean
        bend = B * x - E * (B * x - np.arctan(B * x))
        expected = D * np.sin(c[0] * np.arctan(bend))
        expected += c[14] * z + c[15] + (c[16] * z * z + c[17] * z) * lean
        found = tyre.forces(3200.0, 0.0, np.tan(np.radians(alpha)), np.radians(lean))[2]
        assert float(found) == pytest.approx(expected, rel=1e-12)


def test_coefficients_of_the_aligning_moment_are_counted():
    keys = coefficients(Case("tyre_pacejka94").setup)
    with pytest.raises(pysim.PysimError, match="aligning: must have 21 coefficients, got 2"):
        PacejkaTyre(**WHEEL, **{k: tuple(v) for k, v in keys.items()}, aligning=(1.0, 2.0))
