"""Readings within rods. Oracles: moments and tensions of statics, and the curvature M/EI of a beam."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.elements.library.forces import _rotation as rotation_of
from pysim.errors import SceneError
from pysim.forces import Force, Pose, Wrench, force

L, F = 0.8, 3e-4  # [m], [N]
STEEL = {"young": 2.1e11, "poisson": 0.3, "density": 7850.0}
EI = STEEL["young"] * 0.02 * 0.004**3 / 12
STRIP = {"length": L, "section": {"rectangle": [0.02, 0.004]}, "material": STEEL, "bars": 10}


@force("dead_load_of_readings")
class DeadLoad(Force):
    """Constant force and torque on b, in the axes of a."""

    along: tuple[float, float, float]  # [N]
    torque: tuple[float, float, float] = (0.0, 0.0, 0.0)  # [N·m]

    def wrench(self, pose: Pose) -> Wrench:
        R = rotation_of(pose)
        return Wrench(
            force=R.T @ np.array(self.along, object), torque=R.T @ np.array(self.torque, object)
        )


def at_rest(names, s, load=None, gravity=(0, 0, 0), **keys):
    """Return signals of a rod in equilibrium under a load at its end, at a length."""
    builder = pysim.SceneBuilder("rod", gravity=list(gravity))
    builder.rod("rod", **(STRIP | keys))
    if load is not None:
        builder.force("load", "dead_load_of_readings", b={"rod": "rod", "s": L}, **load)
    for name in names:
        builder.sensor(name, name, frame={"rod": "rod", "s": s})
    builder.simulation(duration=0.001, step=1e-3, integrator="generalized_alpha")
    builder.output(every=0.001)
    builder.assembly(equilibrium=True)
    run = pysim.simulate(builder.build())
    return [np.asarray(run.signals[name])[0] for name in names]


@pytest.mark.parametrize("s", [0.0, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("planar", [None, "y"])
def test_a_force_at_the_end_bends_by_its_lever_from_a_section(s, planar):
    keys = {} if planar is None else {"planar": planar}
    moment, curvature, strain = at_rest(
        ["moment", "curvature", "strain"], s, {"along": [0, 0, F]}, **keys
    )
    np.testing.assert_allclose(moment, [0, -F * (L - s), 0], rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(curvature[1], -F * (L - s) / EI, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(strain, 0.002 * F * (L - s) / EI, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("s", [0.0, 0.25, 0.8])
def test_a_torque_at_the_end_twists_every_section_alike(s):
    moment, curvature = at_rest(
        ["moment", "curvature"], s, {"along": [0, 0, 0], "torque": [1e-3, 0, 0]}
    )
    np.testing.assert_allclose(moment, [1e-3, 0, 0], rtol=1e-9, atol=1e-12)
    assert curvature[0] > 0


@pytest.mark.parametrize("s", [0.0, 0.2, 0.5, 0.8])
def test_a_hanging_rod_is_pulled_by_what_hangs_below(s):
    """At hinges exactly, between them linearly, as the weight is."""
    m = STEEL["density"] * 0.02 * 0.004
    (tension,) = at_rest(
        ["tension"], s, {"along": [0, 0, -5.0]}, (0, 0, -9.81), at_a={"rpy": [0, np.pi / 2, 0]}
    )
    np.testing.assert_allclose(tension, 5.0 + m * 9.81 * (L - s), rtol=0.01)


@pytest.mark.parametrize("s", [0.1, 1.3])
def test_a_cable_between_two_points_has_the_tension_of_the_catenary(s):
    """Horizontal w a with 2 a sinh(1/a) = 2.5, and the weight below: H and V at both ends."""
    w, a, whole = 0.3 * 9.81, 0.845504, 2.5
    (tension,) = at_rest(
        ["tension"], s, None, (0, 0, -9.81), length=whole, material=None, ends=["ball", "ball"],
        section={"EI": 1e-6, "GJ": 1e-6, "mass_per_length": 0.3}, b="world", at_b={"xyz": [2, 0, 0]},
        bars=25,
    )  # fmt: skip
    np.testing.assert_allclose(tension, np.hypot(w * a, w * (s - whole / 2)), rtol=0.01)


def test_a_round_section_is_strained_by_both_bends():
    strain, curvature = at_rest(
        ["strain", "curvature"], 0.2, {"along": [0, F, F]}, section={"tube": [0.02, 0.018]}
    )
    np.testing.assert_allclose(strain, 0.01 * np.hypot(*curvature[1:]), rtol=1e-12)


def test_a_strain_needs_the_shape_of_the_section():
    with pytest.raises(SceneError, match="has no shape, on which the strain depends; give circle"):
        at_rest(
            ["strain"], 0.1, section={"EI": 1.0, "GJ": 1.0, "mass_per_length": 1.0}, material=None
        )


def test_a_reading_needs_a_place_on_a_rod():
    builder = pysim.SceneBuilder("rod")
    builder.rod("rod", **STRIP)
    builder.sensor("moment", "moment", frame="rod/3")
    with pytest.raises(SceneError, match=r'give frame = \{ rod = "NAME", s = 0.4 \}'):
        builder.build()
