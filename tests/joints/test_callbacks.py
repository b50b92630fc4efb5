"""Callback joints: the same numbers as their traced twins, from ordinary NumPy code. Oracle: the traced twin."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pysim
from pysim.joints import CallbackJoint, joint, real, rotation
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.spatial import rotation_from_quaternion
from pysim.worlds.loading import compile_model
from pysim.worlds.python_stepping import ModelSystem, builtin_in_python
from tests.engine_steps import make_steps
from tests.joints.test_traced import plugin_joint
from tests.oracles.mechanisms import GRAVITY, make_joint, random_pose, random_theta
from tests.python_steps import advance


@joint("test_callback_slot")
class CallbackSlot(CallbackJoint):
    """As screw_slot, in plain NumPy."""

    lift: float
    coordinates = real("angle")

    def poses(self, q):
        s, c = np.sin(q[:, 0]), np.cos(q[:, 0])
        X = np.zeros((len(q), 4, 4))
        X[:, 0, 0], X[:, 0, 1], X[:, 1, 0], X[:, 1, 1] = c, -s, s, c
        X[:, 2, 2] = X[:, 3, 3] = 1
        X[:, 2, 3] = self.lift * np.sin(2 * q[:, 0])
        return X


@joint("test_callback_swing")
class CallbackSwing(CallbackJoint):
    """As test_swing, in plain NumPy."""

    coordinates = rotation("turn") * real("slide", unit="m")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, :3, :3] = rotation_from_quaternion(np.ascontiguousarray(q[:, :4]))
        slide = q[:, 4]
        X[:, 0, 3] = np.exp(-(X[:, 0, 2] ** 2)) * np.tanh(slide)
        X[:, 1, 3] = slide
        X[:, 2, 3] = 0.1 * np.sqrt(1 + slide**2)
        return X


@joint("test_callback_wrong")
class CallbackWrong(CallbackJoint):
    """Returns poses of the wrong shape."""

    coordinates = real("angle")

    def poses(self, q):
        return np.eye(4)


def arm(kinds, rng):
    names = ["world", *(f"b{k}" for k in range(len(kinds)))]
    joints = []
    for k, kind in enumerate(kinds):
        at = random_pose(rng)
        if "_" in kind:
            keys = {"lift": 0.1} if kind.endswith("slot") else {}
            joints.append(plugin_joint(f"j{k}", kind, names[k], names[k + 1], at, keys))
        else:
            joints.append(make_joint(f"j{k}", kind, names[k], names[k + 1], at))
    bodies = tuple(BodySpec(n, random_theta(rng)) for n in names[1:])
    return compile_model(ModelSpec("arm", GRAVITY, bodies, tuple(joints)))


@pytest.fixture
def twins():
    traced = arm(["revolute", "screw_slot", "ball", "test_swing"], np.random.default_rng(5))
    called = arm(
        ["revolute", "test_callback_slot", "ball", "test_callback_swing"], np.random.default_rng(5)
    )
    return traced, called


def test_a_state_has_the_same_bits_alone_and_in_a_batch_of_any_size(twins, rng):
    """Oracle: the state alone. Differences of poses are sums in one order."""
    _, called = twins
    q = np.array([called.random_configuration(rng) for _ in range(53)])
    v, tau = rng.normal(size=(2, 53, called.nv))
    together = pysim.aba(called, q, v, tau)
    for count in (1, 2, 7, 19):
        parts = [
            pysim.aba(called, q[k : k + count], v[k : k + count], tau[k : k + count])
            for k in range(0, 53, count)
        ]
        assert np.concatenate(parts).tobytes() == together.tobytes()


def test_callbacks_equal_traced_joints_in_every_algorithm(twins, rng, isa):
    traced, called = twins
    q = np.array([traced.random_configuration(rng) for _ in range(11)])
    v, x = rng.normal(size=(2, 11, traced.nv))
    for run, tolerance in (
        (lambda m: pysim.forward_kinematics(m, q), 1e-13),
        (lambda m: pysim.frame_placement(m, q, "b3"), 1e-13),
        (lambda m: pysim.crba(m, q), 1e-10),
        (lambda m: pysim.rnea(m, q, v, x), 1e-9),
        (lambda m: pysim.aba(m, q, v, x), 1e-9),
        (lambda m: pysim.kinetic_energy(m, q, v), 1e-10),
        (lambda m: pysim.potential_energy(m, q), 1e-12),
        (lambda m: pysim.aba(m, q[0], v[0], x[0]), 1e-9),
        (lambda m: m.integrate(q, v), 0),
    ):
        expected = np.asarray(run(traced))
        scale = np.abs(expected).max()
        np.testing.assert_allclose(run(called), expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("scheme", ["rk2", "rk4", "semi_implicit"])
def test_python_steps_are_the_engines_steps(twins, scheme):
    from pysim import _engine

    traced, called = twins
    drive = _engine.Actuation(*np.full((4, traced.nv), 0.3))
    q, v = traced.neutral(), np.full(traced.nv, 0.5)
    arguments = (q, v, 0.2, 1e-3, 20)
    expected = make_steps(traced, *arguments, scheme, drive)
    own = builtin_in_python(scheme, "here")
    twin = advance(own, ModelSystem(traced, drive), *arguments)  # the same model, stepped in Python
    np.testing.assert_allclose(twin[0], expected[0], atol=1e-13)
    np.testing.assert_allclose(twin[1], expected[1], atol=1e-12)
    slow = advance(own, ModelSystem(called, drive), *arguments)
    np.testing.assert_allclose(slow[1], expected[1], atol=1e-9)
    assert called.callback_time[0] > 0


def test_the_engine_rejects_to_step_what_python_computes(twins):
    from pysim import _engine

    called = twins[1]
    drive = _engine.Actuation(*np.zeros((4, called.nv)))
    with pytest.raises(ValueError, match="a model with callback joints needs python_step"):
        make_steps(called, called.neutral(), np.zeros(called.nv), 0.0, 1e-3, 1, "rk4", drive)


def test_poses_of_the_wrong_shape_are_rejected():
    with pytest.raises(
        pysim.JointError,
        match=r"CallbackWrong\.poses: must return shape \(\d+, 4, 4\), got \(4, 4\)",
    ):
        arm(["test_callback_wrong"], np.random.default_rng(0))


def test_models_are_pickled_copied_and_frozen(twins, rng):
    for model in twins:
        again = pickle.loads(pickle.dumps(model))
        q, v = model.random_configuration(rng), rng.normal(size=model.nv)
        np.testing.assert_array_equal(pysim.rnea(again, q, v, v), pysim.rnea(model, q, v, v))
        assert copy.deepcopy(model) is model
        with pytest.raises(AttributeError, match="a model is frozen, 'spec' cannot be set"):
            model.spec = None


SCENE = """
plugins = ["slot.py"]
[[body]]
name = "b"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "j"
type = "callback_slot_of_a_scene"
child = "b"
start = { q = 0.3, v = 1.0 }
[simulation]
duration = 0.05
"""
PLUGIN = """
import numpy as np
from pysim.joints import CallbackJoint, joint, real
from pysim.spatial import rotation_from_rpy

@joint("callback_slot_of_a_scene")
class Slot(CallbackJoint):
    coordinates = real("angle")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, :3, :3] = rotation_from_rpy(np.column_stack([0 * q, 0 * q, q]))
        X[:, 2, 3] = 0.1 * np.sin(2 * q[:, 0])
        return X
"""


def test_a_scene_with_a_callback_runs_and_says_what_it_costs(tmp_path, capfd):
    from pysim.cli import main

    (tmp_path / "slot.py").write_text(PLUGIN, "utf-8")
    (tmp_path / "s.toml").write_text(SCENE, "utf-8")
    arguments = [str(tmp_path / "s.toml"), "--allow-code", "-o", str(tmp_path / "s.h5")]
    assert main(arguments) == 0
    assert "of the time in joints that Python computes" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["rnea", "aba", "twist", "placement"])
def test_derivatives_refuse_callback_joints_by_name(name, rng):
    model = arm(["revolute", "test_callback_slot"], rng)
    x = np.zeros(model.nv)
    message = r"^joint 'j1' is a CallbackJoint, which has no analytical derivatives; trace it \(derive it from Joint\)"
    with pytest.raises(ValueError, match=message):
        getattr(pysim, f"{name}_derivatives")(model, model.neutral(), x, x)
