"""Forces of fluids. Oracles: `fluid_ellipsoid` of tests/data/reference/elements, which MuJoCo confirms; Archimedes."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.elements.library.fluid import added_mass
from tests.elements.blocks import run_at, scene_of, simulation, table
from tests.elements.reference_cases import Case, free, poses


def ellipsoid(s, **more):
    """Return a free ellipsoid in a fluid."""
    keys = {"semi_axes": s["semi_axes_m"], "density": s["density_kg_m3"]}
    keys |= {"viscosity": s["viscosity_Pa_s"], **s["coefficients"], **more}
    text = f"gravity = {s['gravity_m_s2']}\n" + free("body", s["body"])
    return text + table("force", name="fluid", type="fluid_ellipsoid", b="body", **keys)


def test_added_mass_of_an_ellipsoid():
    case = Case("fluid_ellipsoid")
    mass, inertia = added_mass(np.array(case.setup["semi_axes_m"]))
    case.agrees("added-mass", np.concatenate([mass, inertia]))


def test_added_mass_of_a_sphere_is_half_of_its_volume_and_it_turns_freely():
    mass, inertia = added_mass(np.full(3, 0.3))
    np.testing.assert_allclose(mass, 0.5 * 4 / 3 * np.pi * 0.3**3, rtol=1e-12)
    np.testing.assert_array_equal(inertia, 0)


def test_the_wrench_of_a_fluid_on_a_moving_ellipsoid(tmp_path):
    case = Case("fluid_ellipsoid")
    model = scene_of(tmp_path, ellipsoid(case.setup)).model
    v = case.at("wrench")
    q = np.broadcast_to([0, 0, 0, 0, 0, 0, 1.0], (len(v), 7))
    case.agrees("wrench", pysim.passive_forces(model, q, v))


def test_an_ellipsoid_tumbles_in_the_wind(tmp_path):
    case = Case("fluid_ellipsoid")
    text = ellipsoid(case.setup, wind=case.setup["wind_m_s"])
    run, rows = run_at(tmp_path, text, case.at("position"))
    case.agrees("position", np.hstack(poses(run.q[rows])))


def test_the_slopes_of_the_wrench_of_a_fluid_are_those_of_differences(tmp_path):
    model = scene_of(tmp_path, ellipsoid(Case("fluid_ellipsoid").setup, wind=[0.4, 0, 0.1])).model
    rng = np.random.default_rng(2)
    q, v, zero = model.random_configuration(rng), rng.normal(size=6), np.zeros(6)
    by_q, by_v, _ = pysim.aba_derivatives(model, q, v, zero, passive=True)
    for k in range(6):
        step = 1e-6 * np.eye(6)[k]
        ends = [
            pysim.aba(model, model.integrate(q, s * step), v, zero, passive=True) for s in (-1, 1)
        ]
        np.testing.assert_allclose(by_q[:, k], (ends[1] - ends[0]) / 2e-6, rtol=1e-5, atol=1e-5)
        ends = [pysim.aba(model, q, v + s * step, zero, passive=True) for s in (-1, 1)]
        np.testing.assert_allclose(by_v[:, k], (ends[1] - ends[0]) / 2e-6, rtol=1e-5, atol=1e-5)


def test_a_balloon_rests_where_its_volume_of_air_has_its_mass(tmp_path):
    m, volume, density, scale = 3.0, 3.0, 1.2, 8400.0
    height = scale * np.log(volume * density / m)
    text = "gravity = [0, 0, -9.81]\n"
    text += table("body", name="balloon", mass=m, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table(
        "joint", name="z", type="prismatic", child="balloon", start={"q": float(height + 50)}
    )
    keys = {"volume": volume, "density": density, "scale_height": scale}
    text += table("force", name="lift", type="buoyancy", b="balloon", **keys)
    scene = scene_of(tmp_path, text + simulation(duration=200.0, interval=1.0))
    assert pysim.passive_forces(scene.model, [height], [0.0])[0] == pytest.approx(m * 9.81)
    # small swings about it have ω² = g/H
    period = 2 * np.pi * np.sqrt(scale / 9.81)
    run = pysim.simulate(scene)
    first = run.t[np.argmin(run.q[:, 0])]
    assert first == pytest.approx(period / 2, rel=0.02)
    assert np.ptp(run.energy) < 1e-8 * np.abs(run.energy).max()
