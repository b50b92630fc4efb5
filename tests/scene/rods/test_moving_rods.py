"""Large motions of rods under implicit schemes.

Oracle: tests/data/reference/rods (exact planar rods with polynomial curvature; Simo and Vu-Quoc 1986).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pysim

CASES = Path(__file__).parents[2] / "data" / "reference" / "rods"


def case(name):
    read = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return read["setup"], read["expect"]


def at_times(trajectory, name, times):
    values = np.asarray(trajectory.signals[name])
    return values[[int(np.abs(trajectory.t - t).argmin()) for t in times]]


@pytest.mark.parametrize("planar", ["y", None])
def test_a_flexible_pendulum_falls(planar):
    setup, expect = case("falling_pendulum")
    builder = pysim.SceneBuilder("pendulum", gravity=[0, 0, -setup["gravity"]])
    j = setup["section_inertia_per_length_kg_m"]
    section = {"EI": setup["EI_N_m2"], "GJ": setup["EI_N_m2"], "inertia_per_length": [j, j]}
    section["mass_per_length"] = setup["mass_per_length_kg_m"]
    L = setup["length_m"]
    keys = {} if planar is None else {"planar": planar}
    builder.rod("rod", length=L, section=section, ends=["ball", "free"], bars=10, **keys)
    builder.sensor("tip", "pose", frame={"rod": "rod", "s": L})
    builder.simulation(duration=1.0, step=1e-3, integrator="generalized_alpha")
    builder.output(every=0.05)
    run = pysim.simulate(builder.build())
    times, values = expect[0]["at"]["t [s]"], np.array(expect[0]["value"])
    tip = at_times(run, "tip.position", times)[:, [0, 2]]
    np.testing.assert_allclose(tip, values[:, :2], rtol=0, atol=5e-3 * L)


def test_an_arm_that_is_spun_up_bends_back_and_straightens():
    setup, expect = case("spin_up")
    T, W, L = setup["T_s"], setup["W_rad_s"], setup["length_m"]
    builder = pysim.SceneBuilder("arm", gravity=[0, 0, 0])
    builder.body("hub", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1})
    builder.joint("hub", "revolute", child="hub", motion={"signal": "psi"})
    t = np.linspace(0, 19.0, 761)
    psi = np.where(
        t < T,
        W / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (np.cos(2 * np.pi * t / T) - 1)),
        W * t - W * T / 2,
    )
    builder.signal(
        "psi", "table", t=t.tolist(), values=psi.tolist(), interpolation="natural", unit="rad"
    )
    section = {"EI": setup["EI_N_m2"], "mass_per_length": setup["mass_per_length_kg_m"]}
    j = setup["section_inertia_per_length_kg_m"]
    section["inertia_per_length"] = [j, j]
    builder.rod("arm", a="hub", length=L, section=section, planar="z", bars=10)
    builder.sensor("tip", "pose", frame={"rod": "arm", "s": L}, relative_to="hub")
    builder.simulation(duration=18.0, step=5e-3, integrator="generalized_alpha")
    builder.output(every=0.5)
    run = pysim.simulate(builder.build())
    times, values = expect[0]["at"]["t [s]"], np.array(expect[0]["value"])
    tip = at_times(run, "tip.position", times)[:, :2] - [L, 0]
    error = np.abs(tip - values[:, :2]).max(axis=0) / np.abs(values[:, :2]).max(axis=0)
    assert (error < 5e-3).all()
