"""Rows that are redundant but for the digits of their dimensions. The oracle is the mechanism in exact dimensions.

Two legs closed by ball joints (leg_mechanisms.py) have 24 coordinates and 12 rows; 10 rows are independent while the
crank's axis is parallel to the others; an axis turned aside by 1e-8 is the same mechanism in a file of eight digits.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SimulationError
from pysim.loops import assemble, constrained_aba, constraint_residual, mobility
from tests.loops.leg_mechanisms import two_legs

TILTS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7)
KICKED = {"joint.left_toe.start.v": 3.0, "joint.right_toe.start.v": -3.0}


def load(tmp_path, tilt, overrides=None, integrator="rk4"):
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(tilt, integrator=integrator), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(path, overrides=overrides or {})


@pytest.mark.parametrize("tilt", TILTS)
def test_rows_that_agree_to_the_files_digits_are_redundant(tmp_path, tilt):
    scene = load(tmp_path, tilt)
    found = mobility(scene.model, scene.state.q)
    assert (found.degrees, found.rank, found.rows, found.stuck) == (14, 10, 12, 0)
    assert found.redundant == {"left_sole": 1, "right_sole": 1}


@pytest.mark.parametrize("tilt", TILTS)
def test_start_velocities_are_those_of_exact_dimensions(tmp_path, tilt):
    exact, scene = load(tmp_path, 0.0, KICKED), load(tmp_path, tilt, KICKED)
    assert np.abs(exact.state.v).max() > 1
    np.testing.assert_allclose(scene.state.v, exact.state.v, atol=1e-5)


@pytest.mark.parametrize("tilt", [*TILTS, *np.geomspace(1.1e-7, 1e-6, 9).tolist(), 1e-5, 1e-4])
def test_count_and_dynamics_agree(tmp_path, tilt):
    """As many freedoms are counted as accelerations answer to forces: the rank of dv̇/dτ, relative to 1e-4."""
    scene = load(tmp_path, tilt)
    model, state = scene.model, scene.state
    rest = np.zeros(model.nv)
    free = constrained_aba(model, state.q, rest, rest)
    answers = [constrained_aba(model, state.q, rest, unit) - free for unit in np.eye(model.nv)]
    values = np.linalg.svd(np.array(answers), compute_uv=False)
    degrees = mobility(model, state.q).degrees
    assert (values > 1e-4 * values[degrees - 1]).sum() == degrees


def test_a_load_warns_of_rows_that_agree_to_few_digits(tmp_path):
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(1e-7), "utf-8")
    with pytest.warns(PysimWarning) as caught:
        pysim.load_scene(path)
    (text,) = [str(w.message) for w in caught if "redundant rows" in str(w.message)]
    assert "loop '" in text
    assert text.endswith(
        "m or rad]: its dimensions agree to few digits, so that it may lock, and a run ends when it is open by more"
        " than 1e-07; write them with more digits, or close a loop by a type with fewer rows, such as ball instead of"
        " revolute or point_on_line instead of ball"
    )


def test_point_on_line_instead_of_ball_removes_the_repeated_rows(tmp_path):
    """The line is the axis of the foot: the crank's chain moves in the plane across it."""
    path = tmp_path / "legs.toml"
    line = r'\1"point_on_line"\naxis = [0, 1, 0]'
    path.write_text(re.sub(r'(name = "\w+_sole"\ntype = )"ball"', line, two_legs(1e-8)), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        scene = pysim.load_scene(path, overrides=KICKED)
        run = pysim.simulate(scene)
    found = mobility(scene.model, scene.state.q)
    assert (found.degrees, found.rank, found.rows) == (14, 10, 10)
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-10)


@pytest.mark.parametrize("scene", ["bricard", "four_bars", "stewart_platform"])
def test_exact_dimensions_are_not_warned_of(scene):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        pysim.load_scene(f"scenes/{scene}.toml")


@pytest.mark.parametrize("tilt", [1e-10, 1e-9, 1e-8])
@pytest.mark.parametrize(
    ("integrator", "exact"), [("convex", 1e-8), ("rk4", 1e-3), ("generalized_alpha", 1e-3)]
)
def test_legs_of_a_file_of_eight_digits_move_as_in_exact_dimensions(
    tmp_path, tilt, integrator, exact
):
    """No warning; thin rods turn about their axes by rounding, which other schemes than convex do not damp."""
    expected = pysim.simulate(load(tmp_path, 0.0, KICKED, integrator))
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(tilt, integrator=integrator), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        run = pysim.simulate(pysim.load_scene(path, overrides=KICKED))
    assert np.ptp(expected.q, axis=0).max() > 1
    np.testing.assert_allclose(run.q, expected.q, rtol=0, atol=exact)


@pytest.mark.filterwarnings("ignore:the start is a singular position:pysim.errors.PysimWarning")
@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "variational", "implicit_midpoint"])
@pytest.mark.parametrize("excess", [1e-10, 1e-8])
def test_bricards_linkage_with_a_rod_of_eight_digits_moves_as_in_exact_dimensions(
    integrator, excess
):
    settings = {"simulation.integrator": integrator}
    if integrator == "dopri5":
        settings["simulation.rtol"] = 1e-8
    exact = pysim.simulate(pysim.load_scene("scenes/bricard.toml", overrides=settings))
    long = settings | {"joint.hinge2.at.xyz": [1 + excess, 0, 0]}
    run = pysim.simulate(pysim.load_scene("scenes/bricard.toml", overrides=long))
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*hinge6:pysim.errors.PysimWarning")
@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "variational", "implicit_midpoint"])
def test_a_run_that_opens_names_the_digits_and_not_the_step(integrator):
    """A rod of Bricard's linkage is too long by 1e-7: to first order it moves, and no motion is counted."""
    overrides = {"joint.hinge2.at.xyz": [1 + 1e-7, 0, 0], "simulation.integrator": integrator}
    if integrator == "dopri5":
        overrides["simulation.rtol"] = 1e-8
    scene = pysim.load_scene("scenes/bricard.toml", overrides=overrides)
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(scene)
    assert "its dimensions agree to few digits" in str(caught.value)
    assert "reduce simulation.step" not in str(caught.value)


@pytest.mark.parametrize("integrator", ["convex", "semi_implicit"])
def test_cassies_own_file_moves(tmp_path, integrator):
    """Its right foot opens by 4e-9 m as it moves: its axes agree to eight digits."""
    robot = "package://example-robot-data/robots/cassie_description/robots/cassie_v2.sdf"
    text = f'[[model]]\nfile = "{robot}"\n[simulation]\nstep = 2e-4\nintegrator = "{integrator}"\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # its pose of zeros is beyond its stops
        scene = pysim.load_scene(tmp_path / "s.toml")
        worlds = pysim.Worlds(scene, 1)
        names = scene.model.coordinate_names
        for side in ("left", "right"):
            for name in ("tarsus-crank-joint", "foot-op"):
                worlds.q[0, names.index(f"{side}-{name}")] = -1.75
        worlds.q[:] = assemble(scene.model, worlds.q[0]).q
        start = worlds.q.copy()
        worlds.step(seconds=0.2)
    moved = scene.model.difference(start[0], worlds.q[0])
    assert np.abs(moved[6:]).max() > 0.03
    residual = np.abs(constraint_residual(scene.model, worlds.q[0]))
    assert 1e-10 < residual.max() < 1e-8


PLANAR = """
gravity = [0, -9.81, 0]
[[body]]
name = "crank"
mass = 1.0
shape = {{ box = [0.5, 0.05, 0.04], at = {{ xyz = [0.25, 0, 0] }} }}
[[body]]
name = "coupler"
mass = 1.0
shape = {{ box = [1.0, 0.05, 0.04], at = {{ xyz = [0.5, 0, 0] }} }}
[[body]]
name = "rocker"
mass = 1.0
shape = {{ box = [0.8, 0.05, 0.04], at = {{ xyz = [0.4, 0, 0] }} }}
[[joint]]
name = "drive"
type = "revolute"
child = "crank"
start = {{ q = 1.2, v = 1.0 }}
[[joint]]
name = "pin"
type = "revolute"
parent = "crank"
child = "coupler"
at = {{ xyz = [0.5, 0, 0] }}
axis = [{tilt}, 0, 1]
start = -1.0
[[joint]]
name = "knee"
type = "revolute"
parent = "coupler"
child = "rocker"
at = {{ xyz = [1.0, 0, 0] }}
start = -1.5
[[loop]]
name = "close"
type = "revolute"
a = "rocker"
b = "world"
at_a = {{ xyz = [0.8, 0, 0] }}
at_b = {{ xyz = [1.0, 0, 0] }}
[simulation]
duration = 0.5
[assembly]
hold = ["drive"]
"""


def planar(folder, tilt):
    path = folder / "planar.toml"
    path.write_text(PLANAR.format(tilt=tilt), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(path)


@pytest.mark.parametrize("tilt", [1e-12, 1e-11, 1e-9, 1e-8, 3e-8])
def test_a_planar_linkage_with_an_axis_of_few_digits_moves(tmp_path, tilt):
    """Its hinge has two rows of rotations that only the tilt violates: they hold nothing."""
    exact = pysim.simulate(planar(tmp_path, 0.0))
    scene = planar(tmp_path, tilt)
    found = mobility(scene.model, scene.state.q)
    assert (found.degrees, found.rank, found.rows) == (1, 2, 5)
    run = pysim.simulate(scene)
    assert np.ptp(exact.q, axis=0).max() > 0.3
    np.testing.assert_allclose(run.q, exact.q, rtol=0, atol=100 * tilt + 1e-9)
