"""Schemes written in Python judge redundant rows as the engine's schemes do.

Oracle: the engine's rk4, whose formula `ClassicalRungeKutta` is; counts of redundant rows by hand.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.integrators import Integrator, integrator
from pysim.loops.constraints import classify_rows
from pysim.worlds.python_stepping import IN_PYTHON
from tests.loops.leg_mechanisms import two_legs
from tests.loops.test_overconstrained import BENNETT, TURN

KICKED = {"joint.left_toe.start.v": 3.0, "joint.right_toe.start.v": -3.0}


@integrator("rk4_of_redundant_rows")
class ClassicalRungeKutta(Integrator):
    def step(self, system, t, h, q, v):
        return IN_PYTHON["rk4"].step(system, t, h, q, v)


def both_runs(path, overrides=None):
    """Return the runs of one scene by the engine's rk4 and by the one in Python."""
    schemes = ({"simulation.integrator": name} for name in ("rk4", "rk4_of_redundant_rows"))
    return [
        pysim.simulate(pysim.load_scene(path, (overrides or {}) | scheme)) for scheme in schemes
    ]


@pytest.mark.parametrize("digits", [8, 17])
@pytest.mark.parametrize(("step", "difference"), [(1e-3, 1e-9), (1e-2, 1e-4)])
def test_bennetts_linkage_moves_as_under_the_engines_scheme(tmp_path, digits, step, difference):
    """Within a step all five rows seem independent: found redundant at its start, three of them hold nothing.

    The engine's scheme divides long steps where pivots change, the one in Python does not.
    """
    path = tmp_path / "bennett.toml"
    path.write_text(BENNETT.replace(repr(TURN), f"{TURN:.{digits}f}"), "utf-8")
    compiled, in_python = both_runs(path, {"simulation.step": step})
    assert np.ptp(compiled.q, axis=0).max() > 1
    np.testing.assert_allclose(in_python.q, compiled.q, rtol=0, atol=difference)


@pytest.mark.parametrize("tilt", [0.0, 1e-8])
def test_legs_of_a_file_of_eight_digits_move_as_under_the_engines_scheme(tmp_path, tilt):
    """Thin rods turn about their axes by rounding, as in test_redundant_rows.py."""
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(tilt, duration=0.5), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        compiled, in_python = both_runs(path, KICKED)
    np.testing.assert_allclose(in_python.q, compiled.q, rtol=0, atol=1e-4)


def test_only_rows_that_the_engine_leaves_out_may_be_open_by_the_digits_of_a_file(tmp_path):
    """One row of each sole repeats others: ten rows must close to 1e-10, two to 1e-7."""
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(1e-8), "utf-8")
    scene = pysim.load_scene(path)
    rows = classify_rows(scene.model, scene.state.q)
    names = np.array(scene.model.row_names)
    for name in ("left", "right"):
        assert rows.redundant[names == f"{name}_sole"].sum() == 1
        assert not rows.redundant[names == f"{name}_heel"].any()
    np.testing.assert_array_equal(rows.tolerance, np.where(rows.redundant, 1e-7, 1e-10))
