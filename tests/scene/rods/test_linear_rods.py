"""Small motions of rods of 20 bars.

Oracles: tests/data/reference/rods (closed forms of straight rods: Rao 2007, Banks and Inman 1991, Bernoulli 1732), and
the errors of Simpson's and of equal weights for 10 bars.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pysim

CASES = Path(__file__).parents[2] / "data" / "reference" / "rods"
CANTILEVER = np.array([3.5160152682362944, 22.034491559889158, 61.69721441347439])
UNIT = {"EI": 1.0, "GJ": 1.0, "mass_per_length": 1.0}


def case(name):
    read = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return read["setup"], read["expect"]


def stiffness_of(setup):
    """Return the section without its rotary inertia in bending, which the closed forms do not have."""
    names = ("EIy_N_m2", "EIz_N_m2")
    return {
        "EI": [setup[name] for name in names],
        "GJ": setup["GJ_N_m2"],
        "mass_per_length": setup["mass_per_length_kg_m"],
    }


def frequencies(**keys):
    """Return the angular frequencies [rad/s] of a rod without gravity, in ascending order."""
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    builder.rod("rod", **keys)
    return np.sort(np.abs(np.linalg.eigvals(pysim.linearize(builder.build()).A).imag))[::2]


@pytest.mark.parametrize(("quantity", "axis"), [(0, "z"), (1, "y")])
def test_a_cantilever_bends_at_the_frequencies_of_its_planes(quantity, axis):
    setup, expect = case("cantilever_frequencies")
    found = frequencies(length=setup["length_m"], section=stiffness_of(setup), planar=axis)
    np.testing.assert_allclose(found[:4], expect[quantity]["value"], rtol=2e-3)


def test_a_strip_in_space_has_the_frequencies_of_bending_and_torsion():
    setup, expect = case("cantilever_frequencies")
    y, z = setup["sides_y_z_m"]
    material = {
        "young": setup["E_Pa"],
        "shear": setup["G_Pa"],
        "density": setup["density_kg_m3"],
    }
    found = frequencies(length=setup["length_m"], section={"rectangle": [y, z]}, material=material)
    for k, rotary in ((0, y), (1, z)):
        beta = np.array([1.875104, 4.694091, 7.854757])
        lowered = 1 - (beta * rotary / (np.sqrt(12) * setup["length_m"])) ** 2 / 2
        for value in expect[k]["value"][:3] * lowered:
            assert np.abs(found / value - 1).min() < 2e-3
    for value in expect[2]["value"]:
        assert np.abs(found / value - 1).min() < 0.01


def test_ten_bars_have_the_digits_of_simpsons_rule():
    found = frequencies(length=1.0, section=UNIT, bars=10, planar="z")
    error = np.abs(found[:3] / CANTILEVER - 1)
    assert (error < [1e-5, 1e-5, 5e-4]).all()


@pytest.mark.parametrize(
    ("ends", "exact", "error"),
    [
        (["clamped", "clamped"], [22.3732854, 61.6728229, 120.903392], [1e-4, 3e-4, 2.5e-3]),
        (["clamped", "ball"], [15.4182057, 49.9648620, 104.247696], [1e-4, 5e-4, 2.5e-3]),
        (["ball", "ball"], [9.8696044, 39.4784176, 88.8264396], [1e-5, 2e-4, 1e-3]),
    ],
)
def test_both_ends_may_be_held_and_approach(ends, exact, error):
    found = frequencies(
        length=1.0, section=UNIT, bars=10, planar="y", ends=ends, b="world", at_b={"xyz": [1, 0, 0]},
        slide=True,
    )  # fmt: skip
    assert (np.abs(found[:3] / exact - 1) < error).all()


def test_a_free_rod_bends_at_its_frequencies():
    setup, expect = case("free_free_frequencies")
    section = stiffness_of(setup)
    found = frequencies(
        length=setup["length_m"], section=section, planar="z", ends=["free", "free"]
    )
    bending = found[found > 1]
    np.testing.assert_allclose(bending[:4], expect[0]["value"], rtol=2e-3)


def test_a_mass_at_the_tip_lowers_the_frequencies():
    setup, expect = case("tip_mass_frequencies")
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    L = setup["length_m"]
    builder.rod("rod", length=L, section=stiffness_of(setup), planar="z")
    builder.body("tip", mass=setup["tip_mass_kg"])
    builder.joint("fixing", "fixed", parent={"rod": "rod", "s": L}, child="tip")
    A = pysim.linearize(builder.build()).A
    found = np.sort(np.abs(np.linalg.eigvals(A).imag))[::2]
    np.testing.assert_allclose(found[:4], expect[0]["value"], rtol=2e-3)


def test_damping_grows_with_the_frequency():
    setup, expect = case("material_damping")
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    builder.rod(
        "rod", length=setup["length_m"], section=stiffness_of(setup), planar="z",
        damping=setup["relaxation_s"],
    )  # fmt: skip
    poles = np.linalg.eigvals(pysim.linearize(builder.build()).A)
    poles = poles[poles.imag > 0]
    poles = poles[np.argsort(poles.imag)]
    for real, imaginary in expect[0]["value"]:
        nearest = poles[np.abs(poles - complex(real, imaginary)).argmin()]
        assert abs(nearest - complex(real, imaginary)) < 5e-3 * abs(nearest)


def test_a_hanging_chain_swings():
    setup, expect = case("hanging_chain")
    builder = pysim.SceneBuilder("chain", gravity=[0, 0, -setup["gravity"]])
    builder.rod(
        "chain", at_a={"rpy": [0, np.pi / 2, 0]}, length=setup["length_m"], planar="y",
        section={"EI": 0.0, "mass_per_length": setup["mass_per_length_kg_m"]}, ends=["ball", "free"],
    )  # fmt: skip
    poles = np.linalg.eigvals(pysim.linearize(builder.build()).A)
    found = np.sort(np.abs(poles.imag))[::2]
    np.testing.assert_allclose(found[:4], expect[0]["value"], rtol=0.03)


def test_a_disc_at_the_end_lowers_the_frequencies_of_torsion():
    setup, expect = case("torsion_pendulum")
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    L = setup["length_m"]
    material = {"young": setup["E_Pa"], "shear": setup["G_Pa"], "density": setup["density_kg_m3"]}
    section = {"circle": setup["diameter_m"]}
    builder.rod("rod", length=L, section=section, material=material)
    J = setup["disc_inertia_kg_m2"]
    builder.body("disc", mass=1e-9, inertia={"xx": J, "yy": J / 2, "zz": J / 2})
    builder.joint("fixing", "fixed", parent={"rod": "rod", "s": L}, child="disc")
    poles = np.linalg.eigvals(pysim.linearize(builder.build()).A)
    for value in expect[0]["value"]:
        assert np.abs(np.abs(poles.imag) / value - 1).min() < 0.01


def test_a_rod_weighs_what_its_section_says():
    builder = pysim.SceneBuilder("rod")
    material = {"young": 70e9, "poisson": 0.33, "density": 2700}
    builder.rod(
        "rod",
        length=0.8,
        section={"tube": [0.012, 0.010]},
        material=material,
        bars=7,
        ends=["ball", "free"],
    )
    model = builder.build().model
    mass = 2700 * np.pi / 4 * (0.012**2 - 0.010**2) * 0.8
    np.testing.assert_allclose(model.total_mass, mass, rtol=1e-12)
    np.testing.assert_allclose(
        pysim.center_of_mass(model, model.neutral()), [0.4, 0, 0], atol=1e-12
    )


def test_the_body_of_the_end_takes_its_mass_from_the_last_bar():
    """The rigid rod has the mass, centre and moments of inertia of a slender rod."""
    builder = pysim.SceneBuilder("rod")
    builder.rod("rod", length=2.0, section=UNIT, bars=4)
    model = builder.build().model
    np.testing.assert_allclose(model.total_mass, 2.0, rtol=1e-12)
    whole = pysim.crba(model, model.neutral())[1, 1]
    np.testing.assert_allclose(whole, 2.0 * 2.0**2 / 3, rtol=1e-12)


def test_a_tapered_blade_is_softer_than_its_root():
    """A wedge of constant width: the first frequency is 5.3151 √(EI/mL⁴) of the root [Mabie and Rogers 1972]."""
    root, tip, L = 0.02, 1e-7, 1.0
    section = {"rectangle": [[0.0, 0.05, root], [L, 0.05, tip]]}
    material = {"young": 70e9, "density": 2700}
    found = frequencies(length=L, section=section, material=material, planar="y", bars=40)
    unit = np.sqrt(70e9 * root**2 / 12 / 2700) / L**2
    assert np.abs(found / unit / 5.3151 - 1).min() < 2e-3
