"""Traced joints in every algorithm.

Oracles: the built-in twin, finite differences of the pose, Pinocchio's ellipsoid joint where it is installed, and the
conservation of energy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.joints import Joint, Pose, real, rotation
from pysim.joints.coordinates import NamedNumbers
from pysim.joints.lowering import lower
from pysim.joints.trace import trace
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.joints import plugins
from tests.oracles.mechanisms import GRAVITY, make_joint, random_pose, random_theta, random_tree

TWINS = {
    "revolute": (plugins.TwinRevolute(), "twin_revolute"),
    "prismatic": (plugins.TwinPrismatic(), "twin_prismatic"),
    "helical": (plugins.TwinHelical(0.3), "twin_helical"),
    "cylindrical": (plugins.TwinCylindrical(), "twin_cylindrical"),
    "universal": (plugins.TwinUniversal(), "twin_universal"),
    "planar": (plugins.TwinPlanar(), "twin_planar"),
    "ball": (plugins.TwinBall(), "twin_ball"),
    "free": (plugins.TwinFree(), "twin_free"),
    "translation": (plugins.TwinTranslation(), "twin_translation"),
}
ONLY_PLUGINS = [plugins.ScrewSlot(0.1), plugins.Ellipsoid(), plugins.Knee(), plugins.Swing()]
KINDS = ["screw_slot", "test_ellipsoid", "test_knee", "test_swing"]


def states(model, rng, n):
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return q, *rng.normal(size=(2, n, model.nv))


def plugin_joint(name, kind, parent, child, at, parameters=None):
    """A spec of a plugin joint without passive forces."""
    coordinates = pysim.joints.find_joint(kind).plugin.coordinates
    nv, start = coordinates.nv, np.array(coordinates.neutral())
    plain = make_joint(name, "revolute", parent, child, at)
    zero, none = np.zeros(nv), np.full(nv, np.inf)
    return replace(
        plain,
        type=kind,
        parameters=parameters or {},
        armature=zero,
        damping=zero,
        stiffness=zero,
        rest=start,
        friction=zero,
        friction_width=zero + 1,
        lower=-none,
        upper=none,
        stop_stiffness=zero,
        stop_damping=zero,
        start_q=start,
        start_v=zero,
    )


@pytest.fixture
def plugin_tree(rng):
    """A tree with a plugin of each kind, hinges between."""
    kinds = ["revolute", KINDS[0], KINDS[1], "ball", KINDS[2], KINDS[3]]
    names = ["world", *(f"body{k}" for k in range(len(kinds)))]
    joints = []
    for k, kind in enumerate(kinds):
        at = random_pose(rng)
        parameters = {"lift": 0.1} if kind == "screw_slot" else {}
        if kind in KINDS:
            joints.append(plugin_joint(f"j{k}", kind, names[k], names[k + 1], at, parameters))
        else:
            joints.append(make_joint(f"j{k}", kind, names[k], names[k + 1], at))
    bodies = tuple(BodySpec(n, random_theta(rng)) for n in names[1:])
    return compile_model(ModelSpec("plugins", GRAVITY, bodies, tuple(joints)))


@pytest.mark.parametrize("kind", TWINS)
def test_a_plugin_equals_its_built_in_twin_in_every_algorithm(kind, rng, isa):
    axis = (1.0, 0, 0) if kind == "revolute" else (0.0, 0, 1)
    spec = random_tree(rng, ["revolute", kind, "prismatic", kind], chain=True)
    built_in = replace(
        spec, joints=tuple(replace(j, axis=axis) if j.type == kind else j for j in spec.joints)
    )
    twin = replace(
        built_in,
        joints=tuple(
            replace(j, type=TWINS[kind][1]) if j.type == kind else j for j in built_in.joints
        ),
    )
    model, traced = compile_model(built_in), compile_model(twin)
    q, v, x = states(model, rng, 19)
    for run in (
        lambda m: pysim.rnea(m, q, v, x),
        lambda m: pysim.aba(m, q, v, x),
        lambda m: pysim.crba(m, q),
        lambda m: pysim.forward_kinematics(m, q),
        lambda m: pysim.kinetic_energy(m, q, v),
        lambda m: pysim.potential_energy(m, q),
        lambda m: pysim.center_of_mass(m, q),
        lambda m: m.integrate(q, x),
        lambda m: m.difference(q, q[::-1]),
        lambda m: make_steps(m, q, v, 0.0, 1e-3, 5, "rk4", _engine.Actuation(*np.zeros((4, m.nv))))[
            0
        ],
    ):
        expected = np.asarray(run(model))
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(run(traced), expected, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("kind", TWINS)
def test_a_constant_subspace_is_lowered_to_the_built_in_shape(kind):
    lowered = lower(trace(TWINS[kind][0]))
    if kind in ("universal", "planar"):  # their subspace depends on q
        assert lowered is None
    else:
        assert lowered is not None
        assert lowered.shape == kind


def along(place, limits=None):
    """A joint of one coordinate x with this placement."""
    members = {"coordinates": real("x"), "placement": lambda _, q: place(q.x)}
    if limits:
        members["limits"] = lambda _: {"x": limits}
    return type("Along", (Joint,), members)()


def step(x, at):
    return np.where(x > at, 1.0, 0.0)


PIECES = {
    "where": along(lambda x: Pose.translate(step(x, 0.4321), 0, x)),
    "far": along(lambda x: Pose.rotate_x(x) @ Pose.translate(step(x, 1e3), 0, 0)),
    "sign": along(lambda x: Pose.rotate_x(x + np.sign(x - 0.3))),
    "slope": along(lambda x: Pose.rotate_x((1 + step(x, 0.3)) * x)),
    "sawtooth": along(lambda x: Pose.translate(0, 0, np.arctan2(np.sin(x), np.cos(x)))),
    "tangent": along(lambda x: Pose.rotate_x(np.arctan(np.tan(x)))),
    "pole": along(lambda x: Pose.translate(0, 0, x + np.arctan(x) + np.arctan(1 / x)), (0.5, 1.5)),
    "root": along(lambda x: Pose.rotate_x(np.sqrt(x**2)), (0.5, 1.5)),
    "bump": along(lambda x: Pose.translate(0.1 * np.exp(-((9 * (x - 4)) ** 2)), 0, x)),
    "wall": along(lambda x: Pose.rotate_x(x + 1 + np.tanh(40 * (x - 3)))),
}


def half_turn(x):
    n = np.hypot(np.sin(x / 2), np.cos(x / 2))
    return Pose.rotate_quaternion([0, 0, np.sin(x / 2) / n, np.cos(x / 2) / n])


WHOLE = {
    "unit": along(lambda x: Pose.rotate_z(x * np.hypot(np.sin(x), np.cos(x)))),
    "root": along(lambda x: Pose.rotate_z(x * np.sqrt(np.sin(x) ** 2 + np.cos(x) ** 2))),
    "half": along(half_turn),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_root_that_is_one_number_leaves_the_shape_as_it_is(name):
    assert lower(trace(WHOLE[name])).shape == "revolute"


def test_a_quaternion_divided_by_its_length_is_a_ball():
    def placement(_, q):
        turn = np.array(q.turn)
        return Pose.rotate_quaternion(turn / np.linalg.norm(turn))

    members = {"coordinates": rotation("turn"), "placement": placement}
    assert lower(trace(type("Turning", (Joint,), members)())).shape == "ball"


@pytest.mark.parametrize("name", PIECES)
def test_a_motion_that_is_a_shape_only_in_parts_is_not_lowered(name, rng):
    """Oracle: the author's formula with plain numbers, also far from where it is traced."""
    traced = trace(PIECES[name])
    assert lower(traced) is None
    for x in (*rng.uniform(-6, 6, 20), 2e3):
        pose = PIECES[name].placement(NamedNumbers({"x": x}))
        X = np.column_stack([np.array(pose.rotation), pose.p])
        np.testing.assert_allclose(traced.evaluate([x], [0.0])[0][:3], X, rtol=0, atol=1e-12)


@pytest.mark.parametrize("plugin", ONLY_PLUGINS, ids=lambda p: type(p).__name__)
def test_subspace_and_bias_are_the_derivatives_of_the_pose(plugin, rng):
    traced = trace(plugin)
    coordinates = plugin.coordinates
    rest = replace(
        make_joint("j", "revolute", "world", "b"),
    )
    assert rest.name == "j"
    model = compile_model(single(plugin))
    h = 1e-5
    for _ in range(5):
        q, v = plugin.sample(rng), rng.normal(size=coordinates.nv)
        X, S, c = traced.evaluate(q, v)
        np.testing.assert_allclose(X[:3, :3] @ X[:3, :3].T, np.eye(3), atol=1e-14)
        for k, unit in enumerate(np.eye(coordinates.nv)):
            forth, back = (traced.evaluate(model.integrate(q, s * h * unit), v)[0] for s in (1, -1))
            rate = np.linalg.inv(X) @ (forth - back) / (2 * h)
            twist = [*rate[:3, 3], rate[2, 1], rate[0, 2], rate[1, 0]]
            np.testing.assert_allclose(S[:, k], twist, atol=2e-9)
        forth, back = (traced.evaluate(model.integrate(q, s * h * v), v)[1] for s in (1, -1))
        np.testing.assert_allclose(c, (forth - back) / (2 * h) @ v, atol=2e-9)


def single(plugin):
    kind = next(k for k in pysim.joints.joint_types() if is_kind(k, plugin))
    parameters = {"lift": 0.1} if kind == "screw_slot" else {}
    joint = plugin_joint("j", kind, "world", "b", np.eye(4), parameters)
    theta = random_theta(np.random.default_rng(3))
    return ModelSpec("single", GRAVITY, (BodySpec("b", theta),), (joint,))


def is_kind(kind, plugin):
    return pysim.joints.find_joint(kind).plugin is type(plugin)


def test_aba_then_rnea_returns_the_torque_through_plugins(plugin_tree, rng, isa):
    q, v, tau = states(plugin_tree, rng, 19)
    a = pysim.aba(plugin_tree, q, v, tau)
    back = pysim.rnea(plugin_tree, q, v, a)
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-9 * np.abs(tau).max())
    h = pysim.nonlinear_effects(plugin_tree, q, v)
    M = pysim.crba(plugin_tree, q)
    np.testing.assert_allclose(
        np.einsum("nij,nj->ni", M, a) + h, tau, rtol=0, atol=1e-9 * np.abs(h).max()
    )


def test_a_batch_of_plugins_gives_the_bits_of_its_states_alone(plugin_tree, rng, isa):
    q, v, x = states(plugin_tree, rng, 21)
    for dtype in (np.float64, np.float32):
        arguments = [a.astype(dtype) for a in (q, v, x)]
        batch = pysim.aba(plugin_tree, *arguments)
        alone = [pysim.aba(plugin_tree, *(a[k] for a in arguments)) for k in range(21)]
        np.testing.assert_array_equal(batch, np.array(alone))


def test_single_precision_follows_double_through_plugins(plugin_tree, rng, isa):
    q, v, x = states(plugin_tree, rng, 19)
    exact = pysim.rnea(plugin_tree, q, v, x)
    single_ = pysim.rnea(plugin_tree, *(a.astype(np.float32) for a in (q, v, x)))
    assert np.abs(single_ - exact).max() <= 1e-3 * np.abs(exact).max()


@pytest.mark.parametrize("plugin", ONLY_PLUGINS, ids=lambda p: type(p).__name__)
def test_energy_is_conserved_to_the_order_of_the_scheme(plugin):
    model = compile_model(single(plugin))
    drive = _engine.Actuation(*np.zeros((4, model.nv)))
    q, v = model.neutral(), np.full(model.nv, 0.3)

    def drift(steps):
        q1, v1, _ = make_steps(model, q, v, 0.0, 0.5 / steps, steps, "rk4", drive)
        e1 = pysim.kinetic_energy(model, q1, v1) + pysim.potential_energy(model, q1)
        return abs(e1 - pysim.kinetic_energy(model, q, v) - pysim.potential_energy(model, q))

    assert drift(4000) < 1e-8
    if type(plugin) is not plugins.Knee:  # a spline is C², which caps the order at its knots
        assert drift(100) / drift(200) > 12


def test_the_ellipsoid_joint_is_pinocchios(rng):
    pin = pytest.importorskip("pinocchio")
    theta = random_theta(rng)
    joint = plugin_joint("j", "test_ellipsoid", "world", "b", np.eye(4))
    model = compile_model(ModelSpec("e", GRAVITY, (BodySpec("b", theta),), (joint,)))
    peer = pin.Model()
    peer.addJoint(0, pin.JointModelEllipsoid(0.5, 0.7, 0.3), pin.SE3.Identity(), "j")
    peer.inertias[1] = pin.Inertia.FromDynamicParameters(theta)
    data = peer.createData()
    for _ in range(10):
        q, v, a = rng.uniform(-1, 1, (3, 3))
        expected = pin.rnea(peer, data, q, v, a)
        pin.forwardKinematics(peer, data, q, v)
        X = pysim.forward_kinematics(model, q)[0]
        np.testing.assert_allclose(X, data.oMi[1].homogeneous, atol=1e-12)
        np.testing.assert_allclose(pysim.rnea(model, q, v, a), expected, atol=1e-10)
