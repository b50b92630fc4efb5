"""Active coordinates of closed mechanisms.

Oracles: the closed configuration found again beside it, the constrained dynamics as an inverse, finite differences,
virtual work of a slider-crank.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError, PysimError
from pysim.loops import actuation_map, assemble, constrained_aba
from pysim.mechanism.compile import start_state
from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.loops.mechanisms import four_bar
from tests.oracles.mechanisms import GRAVITY, make_joint, random_theta
from tests.oracles.spatial import pose, rotation

ACTIVE = ("joint0", "joint3")


def spherical_five_bar(rng: np.random.Generator) -> ModelSpec:
    """Kwon's: four moving links on hinges through one point, joints 1-3 and 4 in the tree, 5 closes the loop."""
    turns = [
        pose(rotation(a / np.linalg.norm(a), 1.0), np.zeros(3)) for a in rng.normal(size=(4, 3))
    ]
    bodies = tuple(BodySpec(f"link{k}", random_theta(rng)) for k in range(4))
    chain = ("world", "link0", "link1", "link2")
    joints = [
        make_joint(f"joint{k}", "revolute", a, b, turns[k])
        for k, (a, b) in enumerate(pairwise(chain))
    ]
    joints.append(make_joint("joint3", "revolute", "world", "link3", turns[3]))
    far = pose(rotation(np.array([1.0, 0, 0]), 0.9), np.zeros(3))
    loop = LoopSpec("joint4", "revolute", "link2", "link3", far, far.T)
    return ModelSpec("five-bar", GRAVITY, bodies, tuple(joints), loops=(loop,))


@pytest.fixture
def five_bar(rng):
    """A model and a configuration at which it is closed."""
    model = compile_model(spherical_five_bar(rng))
    return model, assemble(model, rng.uniform(-0.5, 0.5, model.nq)).q


def test_the_passive_joints_follow_as_the_closure_has_them(five_bar):
    model, q = five_bar
    found, h = actuation_map(model, q, ACTIVE), 1e-5
    for k, at in enumerate(found.active):
        ends = []
        for sign in (1, -1):
            start = q.copy()
            start[at] += sign * h
            ends.append(assemble(model, start, hold=ACTIVE).q)
        slope = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose(found.E[:, k], slope, atol=1e-8)
    np.testing.assert_array_equal(found.E[found.passive], found.J_p)


def test_motors_with_the_equivalent_torque_alone_move_the_mechanism_as_asked(five_bar, rng):
    model, q = five_bar
    found = actuation_map(model, q, ACTIVE)
    v_a, a_a = rng.normal(size=(2, 2))
    v, a = found.velocity(v_a), found.acceleration(v_a, a_a)
    tau = np.zeros(model.nv)
    tau[found.active] = found.equivalent_torque(v, a)
    reached = constrained_aba(model, q, v, tau)
    np.testing.assert_allclose(reached, a, atol=1e-9 * np.abs(a).max())


def test_derivatives_by_velocity_and_acceleration_are_the_slopes(five_bar, rng):
    model, q = five_bar
    found, h = actuation_map(model, q, ACTIVE), 1e-4
    v, a, d = rng.normal(size=(3, model.nv))
    by_v = found.equivalent_torque(v + h * d, a) - found.equivalent_torque(v - h * d, a)
    by_a = found.equivalent_torque(v, a + h * d) - found.equivalent_torque(v, a - h * d)
    np.testing.assert_allclose(found.torque_by_velocity(v) @ d, by_v / (2 * h), atol=1e-8)
    np.testing.assert_allclose(found.torque_by_acceleration() @ d, by_a / (2 * h), atol=1e-8)


def test_the_power_of_the_motors_is_that_of_the_whole_mechanism(five_bar, rng):
    model, q = five_bar
    found = actuation_map(model, q, ACTIVE)
    v_a, a_a = rng.normal(size=(2, 2))
    v, a = found.velocity(v_a), found.acceleration(v_a, a_a)
    power = found.equivalent_torque(v, a) @ v_a
    assert power == pytest.approx(pysim.rnea(model, q, v, a) @ v, rel=1e-9)


def test_an_open_loop_is_rejected_with_what_is_left(five_bar):
    model, q = five_bar
    with pytest.raises(ModelError, match=r"q: loop 'joint4' is open by 0\.\d+ \[m, rad\] here"):
        actuation_map(model, q + np.array([0.1, 0, 0, 0]), ACTIVE)


def test_rows_of_a_wrong_length_are_rejected(five_bar):
    model, q = five_bar
    found = actuation_map(model, q, ACTIVE)
    reported = r"v_a: must have shape \(2,\), got \(3,\); give one for each active coordinate"
    with pytest.raises(PysimError, match=reported):
        found.velocity([1.0, 2.0, 3.0])
    with pytest.raises(PysimError, match=r"a_a: must have shape \(2,\), got \(1,\)"):
        found.acceleration([1.0, 2.0], [1.0])
    with pytest.raises(PysimError, match=r"v: must have shape \(4,\), got \(2,\)"):
        found.torque_by_velocity([1.0, 2.0])


def test_one_freedom_is_reported_in_the_singular():
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    problem = "which has 1 degree of freedom here; name 1 independent coordinate from which the others follow"
    with pytest.raises(ModelError, match=problem):
        actuation_map(model, start_state(model).q, ["crank", "rocker"])


def test_coordinates_that_cannot_lead_are_rejected(five_bar):
    model, q = five_bar
    with pytest.raises(
        ModelError,
        match="active: joint0 cannot determine the motion of the mechanism, which has 2 degrees",
    ):
        actuation_map(model, q, ("joint0",))
    with pytest.raises(ModelError, match="active 'joint9': no such coordinate; did you mean"):
        actuation_map(model, q, ("joint9",))


def test_a_loop_said_twice_maps_as_one(rng):
    spec = spherical_five_bar(rng)
    both = replace(spec, loops=(*spec.loops, replace(spec.loops[0], name="again")))
    model = compile_model(both)
    q = assemble(model, rng.uniform(-0.5, 0.5, model.nq)).q
    one, two = actuation_map(compile_model(spec), q, ACTIVE), actuation_map(model, q, ACTIVE)
    np.testing.assert_allclose(two.E, one.E, atol=1e-9)


CRANK, ROD = 0.1, 0.3  # [m]

SLIDER_CRANK = f"""
gravity = [0, 0, 0]

[[body]]
name = "crank"
mass = 0.5
com = [{CRANK / 2}, 0, 0]
inertia = {{ xx = 1e-4, yy = 1e-3, zz = 1e-3 }}

[[body]]                       # as two masses of 0.4 kg at its ends
name = "rod"
mass = 0.8
com = [{ROD / 2}, 0, 0]
inertia = {{ xx = 0, yy = {0.8 * ROD**2 / 4}, zz = {0.8 * ROD**2 / 4} }}

[[body]]
name = "slider"
mass = 2.0
inertia = {{ xx = 1e-3, yy = 1e-3, zz = 1e-3 }}

[[joint]]
name = "crank"
type = "revolute"
child = "crank"
axis = [0, 0, 1]

[[joint]]
name = "pin"
type = "revolute"
parent = "crank"
child = "rod"
at = {{ xyz = [{CRANK}, 0, 0] }}
axis = [0, 0, 1]

[[joint]]
name = "track"
type = "prismatic"
child = "slider"
axis = [1, 0, 0]
start = {{ q = {CRANK + ROD} }}

[[loop]]
name = "wrist pin"
type = "revolute"
a = "rod"
b = "slider"
at_a = {{ xyz = [{ROD}, 0, 0] }}
axis = [0, 0, 1]
"""


@pytest.mark.parametrize("alpha", [0.0, 70.0])
def test_the_torque_of_a_driven_slider_crank_is_that_of_virtual_work(tmp_path, alpha):
    """τ = (I + ½ m_r r²) α + M x′ (x″ ω² + x′ α) with x(θ) = r cos θ + (l² − r² sin² θ)^½ and M = m_s + ½ m_r."""
    path = tmp_path / "slider_crank.toml"
    path.write_text(SLIDER_CRANK, "utf-8")
    scene = pysim.load_scene(path)
    model, q, omega = scene.model, scene.state.q.copy(), 20.0
    turning = 1e-3 + 0.5 * (CRANK / 2) ** 2 + 0.4 * CRANK**2
    torques, expected = [], []
    for theta in np.linspace(0, 2 * np.pi, 37):
        q[0] = theta
        q = assemble(model, q, hold=["crank"]).q
        motion = actuation_map(model, q, "crank")
        v, a = motion.velocity([omega]), motion.acceleration([omega], [alpha])
        torques.append(motion.equivalent_torque(v, a)[0])
        s, c = CRANK * np.sin(theta), CRANK * np.cos(theta)
        root = np.sqrt(ROD**2 - s**2)
        first = -s - s * c / root
        second = -c - (c**2 - s**2) / root - (s * c) ** 2 / root**3
        assert q[2] == pytest.approx(c + root, abs=1e-9)
        force = 2.4 * (second * omega**2 + first * alpha)
        expected.append(turning * alpha + first * force)
    assert np.ptp(expected) > 5
    np.testing.assert_allclose(torques, expected, atol=1e-7)
