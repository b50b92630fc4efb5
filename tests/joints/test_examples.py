"""The example joints of scenes/joints.

Oracles: the author's own formula in plain numbers, central differences of it, and SciPy's splines and rotations.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import pysim
from pysim._engine import Op
from pysim.joints import Pose, find_joint
from pysim.joints.trace import trace
from pysim.mechanism.joint_description import describe_motion
from pysim.plugins.fields import build
from tests.scene_runs import load_own_scene

EXAMPLES = {
    "cam_follower": ("cam", {"eccentricity": 0.05, "reach": 0.16}),
    "constant_velocity": ("constant_velocity", {}),
    "ellipsoid": ("ellipsoid_joint", {"a": 0.25, "b": 0.4, "c": 0.3}),
    "knee": ("knee", {}),
    "my_hinge": ("by_hand", {}),
    "planar_knee": ("knee", {}),
    "rolling": ("rolling", {"fixed": 0.1, "moving": 0.05}),
    "screw_spline": ("screw_spline", {"pitch": 0.01}),
}


def example(kind):
    """The plugin of a scene, with its keys."""
    scene, keys = EXAMPLES[kind]
    load_own_scene(scene)
    return build(find_joint(kind).plugin, keys, kind)


def plain_pose(plugin, q):
    """The author's formula, in plain numbers."""
    pose = plugin.placement(plugin.coordinates.named(list(q)))
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = pose.rotation, pose.p
    return X


def twist(X, rate):
    """(X⁻¹ Ẋ)∨."""
    W = np.linalg.solve(X, rate)
    return np.array([*W[:3, 3], W[2, 1], W[0, 2], W[1, 0]])


@pytest.mark.parametrize("kind", EXAMPLES)
def test_pose_subspace_and_bias_are_those_of_the_plain_formula(kind, rng):
    plugin = example(kind)
    joint, nv, h = trace(plugin), plugin.coordinates.nv, 1e-4
    weights = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}  # fourth order

    def rate(of, along):
        return sum(w * of(k * h * along) for k, w in weights.items()) / h

    for _ in range(5):
        q, v = rng.uniform(0.2, 1.5, nv), rng.normal(size=nv)
        X, S, c = joint.evaluate(q, v)
        np.testing.assert_allclose(X, plain_pose(plugin, q), atol=1e-14)
        for k, unit in enumerate(np.eye(nv)):
            turned = rate(lambda d, q=q: plain_pose(plugin, q + d), unit)
            np.testing.assert_allclose(S[:, k], twist(X, turned), atol=1e-10)
        changed = rate(lambda d, q=q, v=v: joint.evaluate(q + d, v)[1], v)
        np.testing.assert_allclose(c, changed @ v, atol=1e-7)  # S of a spline is only once smooth


@pytest.mark.parametrize("flexion", [0.0, 0.1, 1.3, 2.0])
def test_the_knee_is_its_data_drawn_by_natural_splines(flexion):
    data = vars(sys.modules[type(example("knee")).__module__])

    def curve(knots, values, at):
        return CubicSpline(data[knots], data[values], bc_type="natural")(at)

    turns = [curve("FLEXION", name, flexion) for name in ("TURN_Z", "TURN_Y")]
    X = plain_pose(example("knee"), [flexion])
    expected = Rotation.from_euler("XZY", [flexion, *turns]).as_matrix()
    np.testing.assert_allclose(X[:3, :3], expected, atol=1e-14)
    moves = [curve("FLEXION", name, flexion) for name in ("MOVE_Y", "MOVE_Z")]
    np.testing.assert_allclose(X[:3, 3], [0, *moves], atol=1e-14)
    X = plain_pose(example("planar_knee"), [flexion])
    moves = [curve("ANGLE_Y", "HIP_Y", -flexion), curve("ANGLE_Z", "HIP_Z", -flexion)]
    np.testing.assert_allclose(X[:3, 3], [0, *moves], atol=1e-14)


def test_splines_over_the_same_knots_share_their_search():
    """Four curves of the flexion, one search among its knots."""
    spec = next(j for j in load_own_scene("knee").model.joints if j.type == "knee")
    code = describe_motion(spec).description.program.code
    assert [op for op, *_ in code].count(Op.segment) == 1


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_twist_of_a_chain_is_that_of_its_product(kind, rng, monkeypatch):
    """Entries alone say nothing of the turns that they came from."""
    plugin = example(kind)
    chained = trace(plugin)
    place = type(plugin).placement

    def entries(self, q):
        pose = place(self, q)
        return Pose(pose.rotation, pose.p)

    monkeypatch.setattr(type(plugin), "placement", entries)
    nv = plugin.coordinates.nv
    q, v = rng.uniform(0.2, 1.5, nv), rng.normal(size=nv)
    for found, expected in zip(chained.evaluate(q, v), trace(plugin).evaluate(q, v), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_pose_is_not_changed_once_it_is_made():
    pose = Pose.rotate_x(0.3) @ Pose.translate(1, 2, 3)
    with pytest.raises(ValueError, match="read-only"):
        pose.p[0] = 1.0
    with pytest.raises(AttributeError, match="p"):
        pose.p = (1.0, 2.0, 3.0)


def test_the_constant_velocity_joint_never_twists(rng):
    for q in rng.uniform(-1, 1, (10, 2)):
        quaternion = Rotation.from_matrix(plain_pose(example("constant_velocity"), q)[:3, :3])
        assert abs(quaternion.as_quat()[2]) < 1e-15


def test_a_test_may_import_the_file_that_a_scene_names(tmp_path, monkeypatch):
    """One class under two module names is one owner of its joint type."""
    (tmp_path / "own_track.py").write_text(PLUGIN, "utf-8")
    (tmp_path / "s.toml").write_text(SCENE, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    imported = importlib.import_module("own_track").OwnTrack
    assert find_joint("own_track").plugin is imported
    pysim.load_scene(tmp_path / "s.toml", allow_code=True)
    (tmp_path / "other.py").write_text(PLUGIN, "utf-8")
    (tmp_path / "s.toml").write_text(SCENE.replace("own_track.py", "other.py"), "utf-8")
    with pytest.raises(
        pysim.JointError, match=r"other.*'own_track' is already taken by .*own_track"
    ):
        pysim.load_scene(tmp_path / "s.toml", allow_code=True)


def test_a_joints_own_check_of_its_keys_is_reported_with_its_place(tmp_path):
    (tmp_path / "own_track.py").write_text(CHECKED_PLUGIN, "utf-8")
    path = tmp_path / "s.toml"
    path.write_text(SCENE.replace('"own_track"', '"short_track"') + "slope = 2.0\n", "utf-8")
    with pytest.raises(pysim.SceneError) as caught:
        pysim.load_scene(path, allow_code=True)
    problem = "must be 1 or less; turn the joint frame with at"
    assert str(caught.value) == f"{path}:11:9: joint[0].slope: {problem}"


CHECKED_PLUGIN = """
from pysim.errors import PysimError
from pysim.joints import Joint, Pose, joint, real

@joint("short_track")
class ShortTrack(Joint):
    slope: float
    coordinates = real("x", unit="m")

    def __post_init__(self):
        if self.slope > 1:
            raise PysimError("slope", "must be 1 or less; turn the joint frame with at")

    def placement(self, q):
        return Pose.translate(q.x, 0, self.slope * q.x)
"""
PLUGIN = """
from pysim.joints import Joint, Pose, joint, real

@joint("own_track")
class OwnTrack(Joint):
    coordinates = real("x", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, 0, q.x**2)
"""
SCENE = """
name = "s"
plugins = ["own_track.py"]
[[body]]
name = "b"
shape = { sphere = { radius = 0.1 }, density = 1000 }
[[joint]]
name = "j"
type = "own_track"
child = "b"
"""
