"""Loops whose rows depend on each other wherever they are closed, and places where branches of a loop cross.

Oracles: the orders of the schemes; what a world does alone; closed forms of the motion.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real

# Bennett's linkage: four hinges in space, a / sin α = b / sin β. Three of five rows depend on the others.
TWIST, SHORT, LONG = 0.6, 0.4, 0.7
TURN = float(np.arcsin(LONG * np.sin(TWIST) / SHORT))
BAR = "mass = 1\ninertia = {{ xx = 0.01, yy = 0.02, zz = 0.02 }}\ncom = [{}, 0, 0]\n"
BENNETT = f"""
[[body]]
name = "L0"
{BAR.format(SHORT / 2)}
[[body]]
name = "L1"
{BAR.format(LONG / 2)}
[[body]]
name = "L2"
{BAR.format(SHORT / 2)}
[[joint]]
name = "j0"
type = "revolute"
child = "L0"
start = {{ q = 1.0, v = 2.0 }}
[[joint]]
name = "j1"
type = "revolute"
parent = "L0"
child = "L1"
at = {{ xyz = [{SHORT}, 0, 0], rpy = [{TWIST}, 0, 0] }}
start = 2.7
[[joint]]
name = "j2"
type = "revolute"
parent = "L1"
child = "L2"
at = {{ xyz = [{LONG}, 0, 0], rpy = [{TURN!r}, 0, 0] }}
start = -1.1
[[loop]]
name = "last"
type = "revolute"
a = "L2"
b = "world"
at_a = {{ xyz = [{SHORT}, 0, 0], rpy = [{TWIST}, 0, 0] }}
at_b = {{ xyz = [-{LONG}, 0, 0], rpy = [-{TURN!r}, 0, 0] }}
[assembly]
hold = ["j0"]
"""
IMPLICIT = ("implicit_midpoint", "generalized_alpha")


@pytest.fixture
def bennett(tmp_path: Path) -> pysim.Scene:
    (tmp_path / "bennett.toml").write_text(BENNETT, "utf-8")
    return pysim.load_scene(tmp_path / "bennett.toml")


@pytest.mark.parametrize("scheme", IMPLICIT)
def test_implicit_schemes_keep_their_order_where_rows_depend(bennett, scheme):
    """An equation in the middle of a step stands off the constraints, where dependent rows seem to hold."""
    model, state = bennett.model, bennett.state
    drift = []
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        steps = round(1.0 / step)
        q, v = pysim.rollout(model, state.q, state.v, None, step, scheme, steps=steps)
        drift.append(np.ptp(pysim.kinetic_energy(model, q, v) + pysim.potential_energy(model, q)))
    order = np.log2(np.divide(drift[:-1], drift[1:]))
    np.testing.assert_allclose(order, 2, atol=0.15)


@pytest.mark.parametrize("scheme", IMPLICIT)
@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_worlds_have_the_bits_they_have_alone_where_rows_depend(bennett, scheme, step):
    """Also where some of them make a step again in shorter ones."""
    model, state = bennett.model, bennett.state
    v0 = np.outer(np.linspace(0.5, 6, 7), state.v)
    q0 = np.tile(state.q, (7, 1))
    together = pysim.rollout(model, q0, v0, None, step, scheme, steps=300)
    for k in range(7):
        alone = pysim.rollout(model, q0[k], v0[k], None, step, scheme, steps=300)
        for given, own in zip(together, alone, strict=True):
            np.testing.assert_array_equal(given[k], own)


@joint("overconstrained_ellipse")
class Ellipse(Joint):
    """Slides along an ellipse and turns freely: in the plane it leaves one row, the ellipse's normal."""

    major: float
    minor: float
    coordinates = real("s") * real("turn")

    def placement(self, q):
        along = Pose.translate(self.major * np.cos(q.s), self.minor * np.sin(q.s), 0)
        return along @ Pose.rotate_z(q.turn)


# A cart on x carries a rod, whose point at 0.7 m stays on an ellipse with half axes 1.5 and 0.7 m. Two
# branches, x = 0.8 cos(pin) and x = −2.2 cos(pin), cross at pin = π/2.
TRAMMEL = """
gravity = [0, 0, 0]
[[body]]
name = "cart"
mass = 2
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[body]]
name = "rod"
mass = 1
com = [0.5, 0, 0]
inertia = { xx = 0.001, yy = 0.0843, zz = 0.0843 }
[[joint]]
name = "cart"
type = "prismatic"
child = "cart"
axis = [1, 0, 0]
start = 0.43
[[joint]]
name = "pin"
type = "revolute"
parent = "cart"
child = "rod"
start = { q = 1.0, v = 3.0 }
[[loop]]
name = "slot"
type = "overconstrained_ellipse"
major = 1.5
minor = 0.7
b = "rod"
at_b.xyz = [0.7, 0, 0]
[assembly]
hold = ["pin"]
[simulation]
duration = 2.0
integrator = "dopri5"
"""


@pytest.mark.parametrize("speed", [1.5, 3.0, 6.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_steps_that_adapt_stay_on_their_branch_where_a_lone_row_vanishes(
    tmp_path, speed, tolerance
):
    """The pin turns on and on, the cart swings: their branch is passed several times."""
    (tmp_path / "s.toml").write_text(TRAMMEL, "utf-8")
    overrides = {"joint.pin.start.v": speed, "simulation.rtol": tolerance}
    run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml", overrides))
    cart, pin = run.q.T
    assert np.ptp(pin) > np.pi / 2
    np.testing.assert_allclose(cart, 0.8 * np.cos(pin), rtol=0, atol=1e-9)


@pytest.mark.parametrize("digits", [7, 8, 9, 10])
def test_bennetts_linkage_moves_as_exactly_as_its_twist_is_written(tmp_path, digits):
    (tmp_path / "s.toml").write_text(BENNETT, "utf-8")
    exact = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    (tmp_path / "s.toml").write_text(BENNETT.replace(repr(TURN), f"{TURN:.{digits}f}"), "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    assert np.ptp(exact.q, axis=0).max() > 1
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=5 * 10.0**-digits)


def test_dimensions_that_hardly_agree_are_warned_of_where_the_start_still_closes(tmp_path):
    """Six digits of Bennett's twist: the start closes to 1e-8, and the first steps would open it beyond 1e-7."""
    text = BENNETT.replace(repr(TURN), f"{TURN:.6f}")
    (tmp_path / "s.toml").write_text(text, "utf-8")
    reported = r"loop 'last' closes to \S+ \[m, rad\] only: 3 of 5 rows are redundant here, .*with more digits"
    with pytest.warns(pysim.PysimWarning, match=reported):
        pysim.load_scene(tmp_path / "s.toml")
