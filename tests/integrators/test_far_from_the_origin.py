"""Variational schemes on mechanisms whose levers are long, against what motion without forces keeps.

M of an arm that carries a probe at the distance r has the condition r², and so has the rounding of every correction.
Energy E and the angular momentum about the pivot, p of the ball's three coordinates turned into the world, are kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim

PROBE = """
name = "probe"
gravity = [0, 0, 0]
[[body]]
name = "arm"
mass = 1.0
com = [0.1, 0, 0]
inertia = {{ xx = 0.1, yy = 0.2, zz = 0.25 }}
[[body]]
name = "probe"
mass = 2.0
com = [0, 0.1, 0]
inertia = {{ xx = 0.2, yy = 0.1, zz = 0.25 }}
[[joint]]
name = "pivot"
type = "ball"
child = "arm"
start = {{ v = [0.3, 0.2, 0.1] }}
[[joint]]
name = "way"
type = "translation"
parent = "arm"
child = "probe"
start = {{ q = [{far}, {aside}, 0], v = [1, 2, 3] }}
[simulation]
duration = 0.2
step = 1e-3
"""
TUG = """
[[body]]
name = "tug"
mass = 3.0
inertia = {{ xx = 0.3, yy = 0.2, zz = 0.4 }}
[[joint]]
name = "fly"
type = "free"
child = "tug"
start = {{ xyz = [{far}, {aside}, 0] }}
[[loop]]
name = "tow"
type = "ball"
a = "probe"
b = "tug"
"""


def scene(folder: Path, far: float, integrator: str, *, towed: bool) -> pysim.Scene:
    path = folder / "s.toml"
    text = PROBE + (TUG if towed else "")
    path.write_text(text.format(far=far, aside=0.4 * far), "utf-8")
    return pysim.load_scene(path, {"simulation.integrator": integrator})


@pytest.mark.parametrize("towed", [False, True], ids=["tree", "loop"])
@pytest.mark.parametrize("integrator", ["variational", "variational4"])
@pytest.mark.parametrize("far", [1.0, 300.0, 1000.0, 3000.0])
def test_a_probe_far_from_its_pivot_flies_on_and_keeps_its_energy_and_momentum(
    far: float, integrator: str, towed: bool, tmp_path: Path
) -> None:
    at = scene(tmp_path, far, integrator, towed=towed)
    run = pysim.simulate(at)
    rounding = 1e-12 + 1e-13 * far**2 if far > 1 else 1e-12
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=rounding)
    L = angular_momentum(at.model, run)
    np.testing.assert_allclose(L, L[0] + 0 * L, rtol=0, atol=rounding * np.abs(L[0]).max())


def angular_momentum(model: pysim.Model, run: pysim.Trajectory) -> np.ndarray:
    """About the world's origin, from the momentum about the centre of mass."""
    com, h = pysim.center_of_mass(model, run.q), pysim.centroidal_momentum(model, run.q, run.v)
    L: np.ndarray = h[:, 3:] + np.cross(com, h[:, :3])
    return L
