"""The implicit schemes against their definitions, closed forms and what they must keep.

Oracles: the equations of each scheme on the dense tree (tests/oracles/tree.py), with its own retractions; Cayley's
map as a matrix; the eigenvalues of the scheme's matrix on a linear oscillator; conservation laws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.inertia import theta_from_com
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.integrators.test_closed_forms import NO_GRAVITY, rest_drive
from tests.integrators.test_random_trees import Machine
from tests.oracles.mechanisms import GRAVITY, make_joint, one_body, random_theta
from tests.oracles.spatial import skew

SCHEMES = ("implicit_midpoint", "generalized_alpha")
COUNTS = 7  # iterations, rejected, worst, lost, step, stiff, apart; then four accelerations


def weights(radius):
    """α_m, α_f, γ, β of Arnold and Brüls."""
    alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
    gamma = 0.5 + alpha_f - alpha_m
    return alpha_m, alpha_f, gamma, (gamma + 0.5) ** 2 / 4


def memory_of(model, scheme, worlds=None):
    engine = _engine.Worlds(model, rest_drive(model), None, 1, scheme, 1.0)
    count = engine.parts["scheme"].shape[1]
    return np.zeros(count if worlds is None else (worlds, count))


@pytest.mark.parametrize("mimic", [False, True], ids=["tree", "mimic"])
@pytest.mark.parametrize("radius", [0.0, 0.6, 1.0])
def test_steps_solve_the_equations_of_generalized_alpha(rng, isa, mimic, radius):
    machine = Machine(rng, mimic=mimic)
    model, tree, nv = machine.model, machine.tree, machine.model.nv
    alpha_m, alpha_f, gamma, beta = weights(radius)
    q, v, h = model.random_configuration(rng), rng.normal(size=nv), 4e-3
    w = a = tree.aba(q, v, machine.force(0.7, q, v))
    memory = memory_of(model, "generalized_alpha")
    for n in range(2):
        t = 0.7 + n * h
        q1, v1, done = make_steps(
            model, q, v, t, h, 1, "generalized_alpha", machine.actuation,
            memory=memory, spectral_radius=radius,
        )  # fmt: skip
        assert done == 1
        w1, _, _, a1 = memory[COUNTS:].reshape(4, nv)
        scale = np.abs(w1).max()
        np.testing.assert_allclose(
            tree.aba(q1, v1, machine.force(t + h, q1, v1)), w1, atol=1e-8 * scale
        )
        mean = ((1 - alpha_f) * w1 + alpha_f * w - alpha_m * a) / (1 - alpha_m)
        np.testing.assert_allclose(a1, mean, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(
            v1, v + h * ((1 - gamma) * a + gamma * a1), rtol=0, atol=1e-11 * scale
        )
        xi = h * v + h**2 * ((0.5 - beta) * a + beta * a1)
        np.testing.assert_allclose(
            model.difference(tree.integrate(q, xi), q1), 0, atol=1e-12 * scale
        )
        q, v, w, a = q1, v1, w1.copy(), a1.copy()


@pytest.mark.parametrize("mimic", [False, True], ids=["tree", "mimic"])
def test_steps_solve_the_equations_of_the_midpoint_rule(rng, isa, mimic):
    machine = Machine(rng, mimic=mimic)
    model, tree = machine.model, machine.tree
    q, v, t, h = model.random_configuration(rng), rng.normal(size=model.nv), 0.7, 4e-3

    q1, v1, done = make_steps(model, q, v, t, h, 1, "implicit_midpoint", machine.actuation)

    assert done == 1
    whole = model.difference(q, q1)
    middle, mean = model.integrate(q, whole / 2), (v + v1) / 2
    w = (v1 - v) / h
    scale = np.abs(w).max()
    force = machine.force(t + h / 2, middle, mean)
    np.testing.assert_allclose(tree.aba(middle, mean, force), w, rtol=0, atol=1e-9 * scale)
    for link in tree.links:
        if link.own_v is not None and link.joint.type not in ("ball", "free"):
            np.testing.assert_allclose(whole[link.own_v], h * mean[link.own_v], rtol=0, atol=1e-13)


@pytest.mark.parametrize("speed", [1e-3, 0.3, 40.0])
def test_a_body_turns_by_the_cayley_map_of_its_mean_velocity(rng, speed):
    """cay(X) = (1 − X/2)⁻¹ (1 + X/2), X the matrix of h v on twists; the exponential of the step is the same matrix."""
    model = compile_model(one_body("free", random_theta(rng), gravity=NO_GRAVITY))
    q, v, h = model.random_configuration(rng), speed * rng.normal(size=6), 0.05
    q1, v1, done = make_steps(model, q, v, 0.0, h, 1, "implicit_midpoint", rest_drive(model))
    assert done == 1

    def adjoint(twist):
        line, turn = skew(twist[:3]), skew(twist[3:])
        return np.block([[turn, line], [np.zeros((3, 3)), turn]])

    X = h * adjoint((v + v1) / 2)
    cayley = np.linalg.solve(np.eye(6) - X / 2, np.eye(6) + X / 2)
    turned = term = np.eye(6)
    for n in range(1, 60):
        term = term @ adjoint(model.difference(q, q1)) / n
        turned = turned + term
    np.testing.assert_allclose(turned, cayley, rtol=0, atol=1e-12 * (1 + speed))


def test_a_free_body_keeps_momentum_and_energy_to_rounding_by_the_midpoint_rule(rng):
    model = compile_model(one_body("free", random_theta(rng), gravity=NO_GRAVITY))
    q, v = model.random_configuration(rng), rng.normal(size=6)
    drive = rest_drive(model)

    def kept(q, v):
        return np.append(pysim.centroidal_momentum(model, q, v), pysim.kinetic_energy(model, q, v))

    start = kept(q, v)
    q1, v1, done = make_steps(model, q, v, 0.0, 0.05, 20_000, "implicit_midpoint", drive)
    assert done == 20_000
    np.testing.assert_allclose(kept(q1, v1), start, rtol=0, atol=1e-11 * np.abs(start).max())


def oscillator(stiffness):
    spec = one_body("prismatic", theta_from_com(1.0, np.zeros(3), np.eye(3)), gravity=NO_GRAVITY)
    joint = replace(spec.joints[0], stiffness=np.array([float(stiffness)]))
    return compile_model(replace(spec, joints=(joint,)))


def growth(positions):
    """Moduli of the roots of the recursion of order 3 that a linear scheme makes."""
    rows = np.array([positions[k : k + 4] for k in range(len(positions) - 3)])
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    c = np.linalg.lstsq(rows[:, :3], rows[:, 3], rcond=None)[0]
    return np.sort(np.abs(np.roots([1, *-c[::-1]])))


def amplification(radius, h, k):
    """The scheme on x'' = −k x, as the matrix of (x, h v, h² a) from step to step, w = −k x."""
    alpha_m, alpha_f, gamma, beta = weights(radius)
    end = np.array([[1, 0, -beta], [0, 1, -gamma], [h**2 * k * (1 - alpha_f), 0, 1 - alpha_m]])
    start = np.array([[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [-(h**2) * k * alpha_f, 0, -alpha_m]])
    return np.linalg.solve(end, start)


@pytest.mark.parametrize("radius", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("turn", [0.5, 3.0])
def test_an_oscillator_is_damped_as_the_theory_says(radius, turn):
    """The eigenvalues of the scheme's matrix, at h ω of order one."""
    k, h = 1e4, turn * 1e-2
    model = oscillator(k)
    memory, (q, v), x = (
        memory_of(model, "generalized_alpha"),
        (np.array([1.0]), np.array([0.0])),
        [1.0],
    )
    for n in range(12):
        q, v, done = make_steps(
            model, q, v, n * h, h, 1, "generalized_alpha", rest_drive(model),
            memory=memory, spectral_radius=radius,
        )  # fmt: skip
        assert done == 1
        x.append(q[0])
    expected = np.sort(np.abs(np.linalg.eigvals(amplification(radius, h, k))))
    np.testing.assert_allclose(growth(x), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.9])
def test_motion_faster_than_the_step_is_damped_by_the_spectral_radius(radius):
    """At h ω = 1e7 every eigenvalue of the matrix is ρ, and the engine makes its powers; ρ = 0 ends it at once."""
    model, h, n = oscillator(1e14), 1.0, 40
    start = np.array([1e-3]), np.array([0.0])
    q, v, done = make_steps(
        model, *start, 0.0, h, n, "generalized_alpha", rest_drive(model), spectral_radius=radius
    )
    assert done == n
    eigenvalues = np.abs(np.linalg.eigvals(amplification(max(radius, 1e-9), h, 1e14)))
    assert eigenvalues.max() == pytest.approx(radius, abs=2e-4)
    matrix = np.linalg.matrix_power(amplification(radius, h, 1e14), n)
    x = matrix @ [1e-3, 0.0, -1e-3 * h**2 * 1e14]
    np.testing.assert_allclose([q[0], h * v[0]], x[:2], rtol=0, atol=1e-6 * max(1e-3, np.abs(x[1])))


def test_the_midpoint_rule_damps_no_oscillation_however_fast():
    model = oscillator(1e8)  # ω = 1e4 rad/s
    q, v, done = make_steps(
        model,
        np.array([1.0]),
        np.array([0.0]),
        0.0,
        1e-2,
        5000,
        "implicit_midpoint",
        rest_drive(model),
    )
    assert done == 5000
    assert q[0] ** 2 + v[0] ** 2 / 1e8 == pytest.approx(1, abs=1e-9)


def stiff_pendulum():
    """A pendulum of 1 m on a ball joint whose rod is a spring of 1e8 N/m."""
    names = ("world", "hinge", "bob")
    rod = make_joint("rod", "prismatic", *names[1:], axis=(0, 0, -1), stiffness=np.array([1e8]))
    joints = (make_joint("hinge", "universal", *names[:2]), rod)
    bodies = (
        BodySpec("hinge", theta_from_com(0.1, np.array([0, 0, -0.1]), 1e-3 * np.eye(3))),
        BodySpec("bob", theta_from_com(1.0, np.array([0, 0, -1.0]), 1e-2 * np.eye(3))),
    )
    return compile_model(ModelSpec("pendulum", GRAVITY, bodies, joints))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_spring_too_stiff_for_rk4_is_stepped_over(scheme):
    model = stiff_pendulum()
    q, v, h, n = np.array([0.8, 0.3, 0.0]), np.array([0.1, 0.5, 0.0]), 2e-3, 500
    drive = rest_drive(model)
    assert make_steps(model, q, v, 0.0, h, n, "rk4", drive)[2] < 50

    q1, _, done = make_steps(model, q, v, 0.0, h, n, scheme, drive)
    exact, _, fine = make_steps(model, q, v, 0.0, h / 400, 400 * n, "rk4", drive)

    assert (done, fine) == (n, 400 * n)
    np.testing.assert_allclose(q1, exact, rtol=0, atol=2e-4)


@pytest.mark.parametrize("width", [3e-2, 1e-2])
def test_dry_friction_brings_a_block_to_rest_by_generalized_alpha(width):
    """1 m/s against 300 m/s², h f / width up to 30: at rest after v²/2f = 1.7 mm, and it stays there."""
    spec = one_body("prismatic", theta_from_com(1.0, np.zeros(3), np.eye(3)), gravity=NO_GRAVITY)
    joint = replace(spec.joints[0], friction=np.array([300.0]), friction_width=np.array([width]))
    model = compile_model(replace(spec, joints=(joint,)))
    q, v = pysim.rollout(
        model,
        np.zeros(1),
        np.ones(1),
        None,
        1e-3,
        "generalized_alpha",
        steps=200,
        spectral_radius=0.6,
    )
    assert np.isfinite(q).all()
    assert q[-1, 0] == pytest.approx(1 / 600, abs=6e-4)
    assert abs(v[-1, 0]) < 2 * width


@pytest.mark.parametrize("scheme", SCHEMES)
def test_energy_has_no_trend_over_1e5_steps(scheme):
    """A double pendulum that swings without looping, step 1/200 of its fastest period; ρ = 1 has no damping."""
    names, below = ("world", "one", "two"), np.eye(4)
    below[2, 3] = -0.5
    joints = (
        make_joint("upper", "revolute", *names[:2], axis=(0, 1, 0)),
        make_joint("lower", "revolute", *names[1:], below, axis=(0, 1, 0)),
    )
    theta = theta_from_com(1.0, np.array([0, 0, -0.25]), 0.02 * np.eye(3))
    bodies = tuple(BodySpec(name, theta) for name in names[1:])
    model = compile_model(ModelSpec("double", GRAVITY, bodies, joints))
    q, v = pysim.rollout(
        model, np.array([0.3, -0.2]), np.zeros(2), None, 3e-3, scheme,
        steps=100_000, every=10, spectral_radius=1.0,
    )  # fmt: skip
    kinetic = pysim.kinetic_energy(model, q, v)
    energy = kinetic + pysim.potential_energy(model, q)
    drift = np.abs(energy[1:].reshape(10, -1) - energy[0]).max(axis=1) / kinetic.max()
    assert drift.max() < 2e-4
    assert drift[-1] < 1.2 * drift[0]  # no trend


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_world_gets_the_same_bits_alone_and_in_any_batch(rng, isa, scheme, dtype):
    machine = Machine(rng, mimic=False)
    model = machine.model
    q0 = np.array([model.random_configuration(rng) for _ in range(19)]).astype(dtype)
    v0 = (10 ** rng.uniform(-2, 1.5, (19, 1)) * rng.normal(size=(19, model.nv))).astype(dtype)

    def run(lanes):
        return pysim.rollout(model, q0[lanes], v0[lanes], None, 5e-3, scheme, steps=8)

    q, v = run(slice(None))
    backwards = run(slice(None, None, -1))
    np.testing.assert_array_equal(backwards[0][::-1], q)
    np.testing.assert_array_equal(backwards[1][::-1], v)
    for k in (0, 7, 18):
        alone = run(k)
        np.testing.assert_array_equal(alone[0], q[k])
        np.testing.assert_array_equal(alone[1], v[k])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_any_split_of_a_run_gives_the_same_bits(rng, scheme):
    machine = Machine(rng, mimic=False)
    model, n, h = machine.model, 3, 5e-3
    q0 = np.array([model.random_configuration(rng) for _ in range(n)])
    v0 = rng.normal(size=(n, model.nv))

    def run(parts):
        q, v, memory, made = q0, v0, memory_of(model, scheme, n), 0
        for steps in parts:
            q, v, done = make_steps(
                model, q, v, made * h, h, steps, scheme, machine.actuation, memory=memory
            )
            made += steps
            assert (done == steps).all()
        return q, v, memory

    for whole, split in zip(run([12]), run([1, 4, 7]), strict=True):
        np.testing.assert_allclose(split, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_single_precision_follows_double_to_its_own_rounding(rng, scheme):
    model = compile_model(one_body("free", random_theta(rng)))
    q0, v0 = model.random_configuration(rng), rng.normal(size=6)
    double = pysim.rollout(model, q0, v0, None, 2e-3, scheme, steps=100)
    single = pysim.rollout(
        model, q0.astype(np.float32), v0.astype(np.float32), None, 2e-3, scheme, steps=100
    )
    for x, y in zip(double, single, strict=True):
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, x, rtol=0, atol=2e-4)


@pytest.mark.parametrize("radius", [-0.1, 1.1, np.nan])
def test_a_spectral_radius_outside_0_to_1_is_rejected(radius):
    model = oscillator(1.0)
    with pytest.raises(ValueError, match=r"spectral_radius:? must be (from 0 to 1|finite), got"):
        pysim.rollout(
            model, [0.0], [0.0], None, 1e-3, "generalized_alpha", steps=1, spectral_radius=radius
        )
