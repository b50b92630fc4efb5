"""Static optimisation of muscles.

Oracles: OpenSim 4.6, whose activations of a made-up motion are in tests/data/reference/opensim; SciPy's bounded least
squares; the balance of forces.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import pysim
from pysim.cli import main
from pysim.errors import TrajectoryError
from pysim.motions import (
    coordinate_table,
    inverse_dynamics,
    read_table,
    static_optimization,
    write_table,
)
from pysim.motions.static_optimization import bounded_activations
from tests.robots import REFERENCE
from tests.scene.osim.opensim_models import DATA


@pytest.fixture(scope="module")
def case():
    return json.loads((REFERENCE / "opensim" / "static_optimization.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def model():
    return pysim.load_model(DATA / "muscles.osim")


def motion(case, model):
    columns = case["motion"]["columns"]
    q = np.array(case["motion"]["q"], float)
    order = [columns.index(name) for name in model.joint_names if name in columns]
    return np.array(case["motion"]["t"], float), q[:, order]


def test_activations_of_a_motion_are_those_of_opensim(case, model):
    """To half a percent of full activation, through a cylinder, a sphere, rigid, damped and undamped muscles."""
    t, q = motion(case, model)
    found = static_optimization(model, t, q, reserves=case["reserve_strength"])
    rows = [int(np.argmin(np.abs(t - time))) for time in case["times"]]
    columns = [found.names.index(name) for name in case["muscles"]]
    expected = np.array(case["activations"], float)
    assert np.ptp(expected, axis=0).max() > 0.1
    assert np.allclose(found.activations[rows][:, columns], expected, atol=5e-3)


def test_muscles_and_reserves_give_the_forces_of_the_motion(case, model):
    t, q = motion(case, model)
    found = static_optimization(model, t, q)
    tau = inverse_dynamics(model, t, q)
    v = np.gradient(q, t, axis=0)
    passive = pysim.passive_forces(model, q, v)
    supplied = np.einsum("njm,nm->nj", found.moment_arms, found.forces) + found.reserves
    inner = slice(5, -5)
    assert np.allclose((supplied + passive)[inner], tau[inner], atol=2e-3 * np.abs(tau).max())


def test_locks_carry_their_share(case, model, tmp_path):
    """A locked knee needs no muscle: its velocity is not among those that muscles and reserves supply."""
    text = (DATA / "muscles.osim").read_text("utf-8")
    head, knee_part = text.split('<Coordinate name="knee_angle">')
    knee_part = knee_part.replace("<locked>false", "<locked>true", 1)
    (tmp_path / "locked.osim").write_text(
        f'{head}<Coordinate name="knee_angle">{knee_part}', "utf-8"
    )
    locked = pysim.load_model(tmp_path / "locked.osim")
    t, q = motion(case, locked)
    knee = locked.joint_names.index("knee_angle")
    q[:, locked.q_offsets[knee]] = q[0, locked.q_offsets[knee]]
    found = static_optimization(locked, t, q)
    free = np.delete(np.arange(locked.nv), locked.v_offsets[knee])
    tau = inverse_dynamics(locked, t, q)
    passive = pysim.passive_forces(locked, q, np.gradient(q, t, axis=0))
    supplied = np.einsum("njm,nm->nj", found.moment_arms, found.forces) + found.reserves
    left = (supplied + passive - tau)[5:-5]
    assert np.allclose(left[:, free], 0, atol=2e-3 * np.abs(tau).max())
    assert np.abs(left[:, locked.v_offsets[knee]]).max() > 0.1
    assert not found.reserves[:, locked.v_offsets[knee]].any()


def test_activations_are_the_bounded_least_squares_of_scipy():
    rng = np.random.default_rng(2)
    A, tau = rng.normal(size=(40, 6, 15)), 4 * rng.normal(size=(40, 6))
    strengths, least = rng.uniform(0.1, 2.0, 6), rng.uniform(0.01, 0.1, 15)
    a, reserve = bounded_activations(A, tau, strengths, least)
    assert (a >= least).all()
    assert (a <= 1).all()
    assert 0.05 < ((a == least) | (a == 1)).mean() < 0.95
    assert np.allclose(np.einsum("njm,nm->nj", A, a) + reserve, tau, atol=1e-8)
    for k in range(40):
        rows = np.vstack([np.eye(15), A[k] / strengths[:, None]])
        wanted = np.concatenate([np.zeros(15), tau[k] / strengths])
        best = lsq_linear(rows, wanted, (least, 1.0), tol=1e-14)
        assert np.allclose(a[k], best.x, atol=1e-6)


def test_a_name_that_is_no_velocity_is_reported(case, model):
    t, q = motion(case, model)
    with pytest.raises(TrajectoryError, match="no velocity 'hip_angel'; did you mean 'hip_angle'"):
        static_optimization(model, t, q, reserves={"hip_angel": 1.0})
    with pytest.raises(TrajectoryError, match="must be positive, got 0; give a small one"):
        static_optimization(model, t, q, reserves={"hip_angle": 0.0})


ARM = """
[[body]]
name = "arm"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, -1, 0]
child = "arm"
[[force]]
name = "spring"
type = "spring"
b = "arm"
at_a = [0, 0, 0.3]
at_b = [0.1, 0, 0]
stiffness = 20.0
length = 0.2
[[signal]]
name = "nerve"
type = "constant"
value = 0.1
[[force]]
name = "lift"
type = "thelen_muscle"
excitation = "nerve"
max_isometric_force = 500.0
optimal_fibre_length = 0.1
tendon_slack_length = 0.2
path = [{ body = "world", point = [0, 0, 0.3] }, { body = "arm", point = [0.05, 0, 0.01] }]
"""


def test_springs_of_a_scene_carry_their_share(tmp_path):
    (tmp_path / "arm.toml").write_text(ARM, "utf-8")
    arm, times = pysim.load_model(tmp_path / "arm.toml"), np.linspace(0, 1, 9)
    q = np.full((9, 1), 0.1)
    result = static_optimization(arm, times, q)
    assert result.names == ("lift",)
    supplied = result.moment_arms[:, 0, 0] * result.forces[:, 0] + result.reserves[:, 0]
    passive = pysim.passive_forces(arm, q, 0 * q)[:, 0]
    weight = pysim.rnea(arm, q, 0 * q, 0 * q)[:, 0]
    assert np.abs(passive).min() > 0.1
    assert np.allclose(supplied, weight - passive, atol=1e-8)


SLIDE = """
[[body]]
name = "rod"
mass = 0.1
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "slide"
type = "prismatic"
child = "rod"
[[coupling]]
name = "cam"
joint = "slide"
function = "steep_sine"
inputs = ["hinge"]
"""


def test_a_time_at_which_other_velocities_are_free_is_reported(tmp_path):
    """q_slide = 4 sin q_hinge: the slide determines the hinge except where the cosine is 0."""

    @pysim.joints.relation("steep_sine")
    def steep_sine(q):
        return 4.0 * np.sin(q)

    (tmp_path / "arm.toml").write_text(ARM + SLIDE, "utf-8")
    arm, times = pysim.load_model(tmp_path / "arm.toml"), np.linspace(0, 2, 9)
    hinge = np.linspace(-1.0, np.pi / 2, 9)
    q = np.empty((9, 2))
    q[:, arm.joint_names.index("hinge")] = hinge
    q[:, arm.joint_names.index("slide")] = 4 * np.sin(hinge)
    with pytest.raises(TrajectoryError, match=r"t = 2 s: constraints do not leave slide free"):
        static_optimization(arm, times, q)


def test_a_model_without_muscles_is_reported():
    double = pysim.load_model(DATA / "joints.osim", mimic=False, inertia="nearest")
    with pytest.raises(TrajectoryError, match="has no muscles"):
        static_optimization(double, [0.0], np.zeros((1, double.nq)))


def test_the_command_writes_activations_and_tensions(case, model, tmp_path, capsys):
    t, q = motion(case, model)
    write_table(tmp_path / "m.mot", coordinate_table(model, t, q))
    arguments = ["so", str(DATA / "muscles.osim"), str(tmp_path / "m.mot")]
    arguments += ["--reserve", "slide=100", "--forces", str(tmp_path / "f.sto")]
    assert main(arguments) == 0
    assert "slide" in capsys.readouterr().out
    written = read_table(tmp_path / "m.sto")
    found = static_optimization(model, t, q, reserves={"slide": 100.0})
    assert written.columns == found.names
    assert np.allclose(written.values, found.activations, atol=1e-12)
    assert np.allclose(read_table(tmp_path / "f.sto").values, found.forces, rtol=1e-12)
