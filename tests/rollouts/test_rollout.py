"""Many trajectories in one call.

Oracles: the schemes on the dense tree (tests/oracles/stepping.py), a run of pysim.simulate, and the rollout itself
cut into other batches.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.errors import SimulationError
from pysim.inertia import theta_from_com
from pysim.joints import Joint, Pose, joint, real
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.oracles import stepping, tree as oracle
from tests.oracles.mechanisms import make_joint, random_tree

SCHEMES = {"semi_implicit": stepping.semi_implicit, "rk4": stepping.rk4}
STEP = 2e-3  # [s]


def starts(model, rng, n, dtype=np.float64):
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return q.astype(dtype), rng.normal(size=(n, model.nv)).astype(dtype)


def slide_of(mass):
    """A body on a rail, without gravity."""
    theta = theta_from_com(mass, np.zeros(3), np.eye(3))
    rail = make_joint("rail", "prismatic", "world", "body", axis=(1, 0, 0))
    return ModelSpec("slide", np.zeros(3), (BodySpec("body", theta),), (rail,))


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng, passive=True))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mimic", [False, True])
def test_every_row_is_what_the_dense_tree_steps_to(rng, scheme, mimic):
    spec = random_tree(rng, passive=True, mimic=mimic)
    model, tree = compile_model(spec), oracle.Tree(spec)
    q0, v0 = starts(model, rng, 3)
    controls = rng.normal(size=(3, 6, model.nv))

    q, v = pysim.rollout(model, q0, v0, controls, STEP, scheme)

    for world in range(3):
        now = q0[world], v0[world]
        for n, control in enumerate(controls[world]):

            def force(_t, x, u, control=control):
                return control + tree.passive(x, u)

            now = SCHEMES[scheme](tree, *now, force, 0.0, STEP)
            np.testing.assert_allclose(q[world, n + 1], now[0], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(v[world, n + 1], now[1], rtol=1e-9, atol=1e-8)
    np.testing.assert_array_equal(q[:, 0], q0)
    np.testing.assert_array_equal(v[:, 0], v0)


@pytest.mark.parametrize("scheme", _engine.integrators())
def test_without_controls_it_is_a_run_of_simulate(scheme):
    scene = pysim.load_scene(
        Path(__file__).parents[2] / "scenes" / "pendulum.toml",
        overrides={"simulation.integrator": scheme, "actuator": []},
    )
    step, every = scene.settings.step, scene.settings.every
    a_row = round(every / step)
    run = pysim.simulate(scene)

    q, v = pysim.rollout(
        scene.model, scene.state.q, scene.state.v, None, step, scheme, steps=40 * a_row, every=a_row
    )

    np.testing.assert_allclose(q, run.q[:41], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, run.v[:41], rtol=0, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_world_gets_the_same_bits_alone_in_any_order_and_on_any_threads(model, rng, isa, dtype):
    q0, v0 = starts(model, rng, 19, dtype)
    controls = rng.normal(size=(19, 8, model.nv)).astype(dtype)
    q, v = pysim.rollout(model, q0, v0, controls, STEP)
    assert q.dtype == v.dtype == dtype
    assert q.shape == (19, 9, model.nq)
    for k in (0, 7, 18):
        alone = pysim.rollout(model, q0[k], v0[k], controls[k], STEP)
        np.testing.assert_array_equal(alone[0], q[k])
        np.testing.assert_array_equal(alone[1], v[k])
    order = rng.permutation(19)
    for threads in (0, 2, 3):
        shuffled = pysim.rollout(
            model, q0[order], v0[order], controls[order], STEP, threads=threads
        )
        np.testing.assert_array_equal(shuffled[0], q[order])
        np.testing.assert_array_equal(shuffled[1], v[order])


def test_single_precision_stays_near_double(model, rng):
    q0, v0 = starts(model, rng, 16)
    controls = rng.normal(size=(16, 20, model.nv))
    q, v = pysim.rollout(model, q0, v0, controls, 1e-3)
    single = pysim.rollout(model, *(x.astype(np.float32) for x in (q0, v0, controls)), 1e-3)
    np.testing.assert_allclose(single[0], q, rtol=0, atol=1e-4 * np.abs(q).max())
    np.testing.assert_allclose(single[1], v, rtol=0, atol=1e-3 * np.abs(v).max())


def test_fewer_rows_are_rows_of_the_full_trajectory(model, rng):
    q0, v0 = starts(model, rng, 5)
    controls = rng.normal(size=(5, 12, model.nv))
    q, v = pysim.rollout(model, q0, v0, controls, STEP)
    for every in (2, 3, 12):
        some = pysim.rollout(model, q0, v0, controls, STEP, every=every)
        np.testing.assert_array_equal(some[0], q[:, ::every])
        np.testing.assert_array_equal(some[1], v[:, ::every])


def test_one_start_serves_a_batch_of_controls(model, rng):
    q0, v0 = starts(model, rng, 1)
    controls = rng.normal(size=(5, 3, model.nv))
    q, v = pysim.rollout(model, q0[0], v0[0], controls, STEP)
    full = pysim.rollout(model, np.repeat(q0, 5, 0), np.repeat(v0, 5, 0), controls, STEP)
    np.testing.assert_array_equal(q, full[0])
    np.testing.assert_array_equal(v, full[1])


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_a_world_that_diverges_is_nan_from_there_on_and_affects_no_other(rng, isa, scheme):
    model = compile_model(random_tree(rng, ["revolute", "prismatic", "revolute"], chain=True))
    q0, v0 = starts(model, rng, 11)
    controls = np.zeros((11, 30, 3))
    calm = pysim.rollout(model, q0, v0, controls, STEP, scheme)
    controls[4, 9:] = 1e300
    reported = (
        r"rollout: 1 of 11 worlds reached NaN or infinite values .*, world 4 first, before t = "
    )
    with pytest.warns(pysim.PysimWarning, match=reported):
        q, v = pysim.rollout(model, q0, v0, controls, STEP, scheme)

    others = np.arange(11) != 4
    np.testing.assert_array_equal(q[others], calm[0][others])
    np.testing.assert_array_equal(v[others], calm[1][others])
    np.testing.assert_array_equal(q[4, :10], calm[0][4, :10])
    lost = np.isnan(q[4]).any(1)
    assert lost[-1]
    assert not lost[:10].any()
    assert (np.diff(lost.astype(int)) >= 0).all()
    assert np.isnan(v[4, lost]).all()
    assert np.isfinite(v[4, ~lost]).all()


def test_results_are_written_to_the_given_arrays(model, rng):
    q0, v0 = starts(model, rng, 4)
    expected = pysim.rollout(model, q0, v0, None, STEP, steps=6, every=2)
    out = np.full((4, 4, model.nq), np.nan), np.full((4, 4, model.nv), np.nan)
    result = pysim.rollout(model, q0, v0, None, STEP, steps=6, every=2, out=out)
    assert result[0] is out[0]
    assert result[1] is out[1]
    np.testing.assert_array_equal(out[0], expected[0])
    np.testing.assert_array_equal(out[1], expected[1])


def test_no_steps_is_the_start(model, rng):
    q0, v0 = starts(model, rng, 2)
    q, v = pysim.rollout(model, q0, v0, None, STEP, steps=0)
    np.testing.assert_array_equal(q, q0[:, None])
    np.testing.assert_array_equal(v, v0[:, None])


def refused(call, message, kind=ValueError):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_invalid_arguments_are_named(rng):
    model = compile_model(random_tree(rng, ["revolute", "revolute"], chain=True))
    q0, v0, u = np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((3, 4, 2))
    run = pysim.rollout
    refused(
        lambda: run(model, q0, v0, u[:, :, :1], STEP),
        "controls must have shape (4, 2) or (batch, 4, 2), got (3, 4, 1)",
    )
    refused(
        lambda: run(model, q0, v0, u[0, 0], STEP),
        "controls must have shape (batch, steps, nv) or (steps, nv), got (2,)",
    )
    refused(
        lambda: run(model, q0, v0, u[:2], STEP), "controls is a batch of 2, but q0 is a batch of 3"
    )
    refused(lambda: run(model, q0, v0[:2], u, STEP), "v0 is a batch of 2, but q0 is a batch of 3")
    refused(lambda: run(model, q0, v0, None, STEP), "steps must be given if there are no controls")
    refused(
        lambda: run(model, q0, v0, u, STEP, steps=5),
        "steps is 5, but controls hold 4 steps; leave steps out",
    )
    refused(
        lambda: run(model, q0, v0, u, STEP, every=3),
        "every must divide the number of steps, 4, got 3",
    )
    refused(lambda: run(model, q0, v0, u, 0.0), "step must be positive [s], got 0")
    q = np.zeros((3, 5, 2))
    refused(
        lambda: run(model, q0, v0, u, STEP, out=(q, q)),
        "out[1] shares memory with out[0]; pass a separate array",
    )
    u[1, 2, 0] = np.nan
    refused(lambda: run(model, q0, v0, u, STEP), "controls must be finite, got nan at [1, 2, 0]")
    refused(
        lambda: run(model, q0, v0, None, STEP, "dopri5", steps=1),
        "integrator: 'dopri5' adapts its steps; choose one of "
        "semi_implicit, rk2, rk4, variational, variational4, implicit_midpoint, generalized_alpha",
        SimulationError,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 10.0}, "steps must be a whole number, got 10.0"),
        ({"steps": "ten"}, "steps must be a whole number, got 'ten'"),
        ({"steps": 2**63}, f"steps must be {2**53} at most, got {2**63}"),
        ({"every": 1.0}, "every must be a whole number, got 1.0"),
        ({"threads": 2.0}, "threads must be a whole number, got 2.0"),
        ({"threads": 2**31}, f"threads must be {2**31 - 1} at most, got {2**31}"),
        ({"step": "x"}, "step: must hold real numbers, got dtype <U1"),
        ({"step": np.nan}, "step: must be finite, got nan"),
        ({"spectral_radius": [1.0]}, "spectral_radius: must have shape (), got (1,)"),
        ({"q0": ["0.5", "1"]}, "q0 must hold real numbers, got dtype <U3"),
        (
            {"v0": np.ma.array([1.0, 2.0], mask=[True, False])},
            "v0: has masked numbers, 1 of 2; replace them, as in x.filled(0)",
        ),
    ],
)
def test_arguments_of_a_wrong_type_are_rejected(rng, given, message):
    model = compile_model(random_tree(rng, ["revolute", "revolute"], chain=True))
    start = {"q0": np.zeros(2), "v0": np.zeros(2), "controls": None, "step": STEP, "steps": 4}
    refused(lambda: pysim.rollout(model, **(start | given)), message, ValueError)
    q, _ = pysim.rollout(model, **(start | {"steps": np.int32(4), "v0": np.ma.zeros(2)}))
    assert q.shape == (5, 2)


def test_a_long_rollout_is_interrupted_by_ctrl_c():
    code = """
import signal, time
import numpy as np
import pysim
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree

model = compile_model(random_tree(np.random.default_rng(0)))
q0, v0 = np.tile(model.neutral(), (64, 1)), np.zeros((64, model.nv))
signal.signal(signal.SIGALRM, signal.default_int_handler)
pysim.rollout(model, q0, v0, None, 1e-6, steps=1)  # imports what it needs
start = time.perf_counter()
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    pysim.rollout(model, q0, v0, None, 1e-6, steps=2_000_000, every=100, threads=2)
except KeyboardInterrupt:
    print("received", time.perf_counter() - start < 5)
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
    )
    assert done.stdout.split() == ["received", "True"]


def forces_that_jump(rng, worlds, steps, nv):
    """Forces held for some steps, then others; those of world 0 never change."""
    held = rng.normal(size=(worlds, -(-steps // 7), nv))
    held[0] = held[0, :1]
    return np.repeat(held, 7, axis=1)[:, :steps]


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("scheme", _engine.integrators())
def test_a_free_mass_gets_the_impulse_of_forces_that_jump(scheme, radius):
    """h Σ u / m by hand, for pulses in any step and steps on and off."""
    model = compile_model(slide_of(2.0))
    controls = np.zeros((4, 30, 1))
    controls[0, 0], controls[1, 11], controls[2, 9:], controls[3, :25] = 3, 3, 3, 3
    _, v = pysim.rollout(
        model, np.zeros((4, 1)), np.zeros((4, 1)), controls, STEP, scheme, spectral_radius=radius
    )
    impulse = STEP * np.cumsum(controls[..., 0], axis=1)
    np.testing.assert_allclose(v[:, 1:, 0], impulse / 2.0, rtol=0, atol=1e-13)


@pytest.mark.filterwarnings("ignore:rollout. step is:pysim.PysimWarning")
@pytest.mark.parametrize("name", ["robot_arm", "four_bar"])
def test_generalized_alpha_is_of_order_two_under_forces_that_jump(name, rng):
    """Oracle: rk4 at a tenth of the step."""
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / f"{name}.toml")
    model, state = scene.model, scene.state
    forces = forces_that_jump(rng, 2, 28, model.nv)[1]
    errors = []
    for halving in range(3):
        cut, step = 2**halving, 4e-3 / 2**halving
        ends = [
            pysim.rollout(
                model, state.q, state.v, np.repeat(forces, n * cut, axis=0), step / n, scheme
            )[0][-1]
            for scheme, n in (("generalized_alpha", 1), ("rk4", 10))
        ]
        errors.append(np.abs(ends[0] - ends[1]).max())
    assert np.log2(errors[0] / errors[2]) / 2 > 1.8


@pytest.mark.parametrize("name", ["robot_arm", "slider_crank"])
def test_worlds_whose_forces_jump_and_those_whose_do_not_get_their_own_bits(name, rng, isa):
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / f"{name}.toml")
    model, state = scene.model, scene.state
    controls = 0.1 * forces_that_jump(rng, 9, 40, model.nv)
    start = (np.tile(state.q, (9, 1)), np.tile(state.v, (9, 1)))
    q, v = pysim.rollout(model, *start, controls, 1e-3, "generalized_alpha", threads=2)
    for k in range(9):
        alone = pysim.rollout(model, state.q, state.v, controls[k], 1e-3, "generalized_alpha")
        np.testing.assert_array_equal(alone[0], q[k])
        np.testing.assert_array_equal(alone[1], v[k])


@joint("rollouts_rolling")
class Rolling(Joint):
    """A cylinder rolls round a fixed one, both along y."""

    fixed: float  # [m]
    moving: float  # [m]
    coordinates = real("centres")

    def placement(self, q):
        roll = Pose.rotate_y(self.fixed / self.moving * q.centres)
        return Pose.rotate_y(q.centres) @ Pose.translate(0, 0, self.fixed + self.moving) @ roll


ROLLING = """
gravity = [0, 0, -3.0]
[[body]]
name = "a"
mass = 1
com = [0.1, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "c"
type = "planar"
at = { rpy = [-1.5707963267948966, 0, 0] }
child = "a"
start = { q = [0.0, -0.5, 0.0], v = [2.5, 0.0, 12.5] }
[[loop]]
name = "roll"
type = "rollouts_rolling"
fixed = 0.3
moving = 0.2
b = "a"
at_b = { rpy = [1.5707963267948966, 0, 0] }
"""


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_a_run_goes_on_with_the_coordinates_of_its_loops(tmp_path, scheme):
    """A wheel that has rolled round another: the initial guess of its loop distinguishes one turn from the next."""
    (tmp_path / "s.toml").write_text(ROLLING, "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    model, state = scene.model, scene.state

    def run(q, v, steps, loop_q):
        return pysim.rollout(model, q, v, None, 1e-3, scheme, steps=steps, loop_q=loop_q)

    start = np.tile(state.q, (5, 1)), np.tile(state.v, (5, 1))
    whole = run(*start, 3000, np.tile(state.loop_q, (5, 1)))
    loop_q = np.tile(state.loop_q, (5, 1))
    first = run(*start, 2000, loop_q)
    assert np.abs(loop_q - state.loop_q).max() > 2 * np.pi
    rest = run(first[0][:, -1], first[1][:, -1], 1000, loop_q)
    for x, y, z in zip(whole, first, rest, strict=True):
        np.testing.assert_array_equal(x[:, :2001], y)
        np.testing.assert_allclose(x[:, 2000:], z, rtol=0, atol=1e-12)


def test_invalid_coordinates_of_loops_are_rejected():
    scene = pysim.load_scene(Path(__file__).parents[2] / "scenes" / "four_bar.toml")
    q, v = scene.state.q, scene.state.v
    wrong = {
        "C-contiguous array of the precision of q": scene.state.loop_q.astype(np.float32),
        r"shape \(1,\), got \(2,\)": np.zeros(2),
        "finite": np.array([np.nan]),
    }
    for text, loop_q in wrong.items():
        with pytest.raises(ValueError, match=rf"^loop_q must .*{text}"):
            pysim.rollout(scene.model, q, v, None, 1e-3, steps=1, loop_q=loop_q)
