"""Numbers of rods in which worlds differ. Oracle: scenes that are loaded with these numbers, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError

VALUES = {"EI": [3.0, 4.0], "GJ": 2.5, "damping": 5e-3}


def scene(planar=None, integrator="generalized_alpha", EI=(1.0, 2.0), GJ=1.5, damping=1e-3):
    builder = pysim.SceneBuilder("hose", gravity=[0, 0, -9.81])
    section = {"EI": EI if np.ndim(EI) > 1 else list(EI), "GJ": GJ, "mass_per_length": 0.2}
    keys = {} if planar is None else {"planar": planar}
    builder.rod("hose", length=1.0, section=section, bars=4, damping=damping, **keys)
    builder.simulation(duration=0.1, step=1e-3, integrator=integrator)
    return builder.build()


@pytest.mark.parametrize("integrator", ["generalized_alpha", "convex", "implicit_midpoint"])
@pytest.mark.parametrize("planar", ["y", "z", None])
@pytest.mark.parametrize("written", [["EI"], ["GJ"], ["damping"], ["EI", "GJ", "damping"]])
def test_worlds_differ_in_stiffness_and_damping(integrator, planar, written):
    worlds = pysim.Worlds(scene(planar, integrator), 2)
    for key in written:
        worlds.parameters[f"rod.hose.{key}"][1] = VALUES[key]
    alone = pysim.Worlds(scene(planar, integrator, **{key: VALUES[key] for key in written}), 1)
    first = pysim.Worlds(scene(planar, integrator), 1)
    for each in (worlds, alone, first):
        each.step(steps=20)
    np.testing.assert_array_equal(worlds.q[1], alone.q[0])
    np.testing.assert_array_equal(worlds.q[0], first.q[0])
    spec = worlds.scene(1).spec.model
    np.testing.assert_array_equal(
        spec.joints[2].stiffness, alone.scene(0).spec.model.joints[2].stiffness
    )
    assert spec.rods[0].damping == alone.scene(0).spec.model.rods[0].damping


def test_numbers_of_rods_are_listed_and_checked():
    worlds = pysim.Worlds(scene(), 2)
    assert {"rod.hose.EI", "rod.hose.GJ", "rod.hose.damping"} <= set(worlds.parameters)
    with pytest.raises(SimulationError, match="those of a rod are EI, GJ, damping"):
        worlds.parameters["rod.hose.length"]
    worlds.parameters["rod.hose.EI"][1] = -1.0
    with pytest.raises(SimulationError, match="give 0 or more"):
        worlds.step(steps=1)


def test_a_number_that_varies_along_a_rod_is_none_of_a_world():
    worlds = pysim.Worlds(scene(EI=[[0, 1.0, 1.0], [1, 2.0, 2.0]]), 2)
    with pytest.raises(SimulationError, match="varies along the rod, and is not one number"):
        worlds.parameters["rod.hose.EI"]
    worlds.parameters["rod.hose.damping"][1] = 0.01
    alone = pysim.Worlds(scene(EI=[[0, 1.0, 1.0], [1, 2.0, 2.0]], damping=0.01), 1)
    worlds.step(steps=10)
    alone.step(steps=10)
    np.testing.assert_array_equal(worlds.q[1], alone.q[0])
