"""Plugins that fail in a run or in some states of a batch: named, the rest unharmed, the file readable.

Oracles: the text of the error, the file read back, and the same batch without the states that fail.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.cli import main
from pysim.joints import CallbackJoint, Joint, Pose, joint, real
from pysim.scene import read_scene
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.joints.one_joint import scene_of
from tests.joints.test_traced import plugin_joint
from tests.oracles.mechanisms import GRAVITY, make_joint, random_theta
from tests.scene_runs import SCENES

SCENE = """
plugins = ["{kind}.py"]
[[body]]
name = "b"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "j"
type = "failing_{kind}"
child = "b"
limits = { lower = -1.0, upper = 0.4, stiffness = 1e-3, damping = 0.0 }
start = { q = 0.0, v = 2.0 }
[simulation]
duration = 1.0
step = 0.001
integrator = "{scheme}"
[output]
every = 0.01
"""
HEAD = """
import numpy as np
from pysim.joints import *
from pysim.spatial import rotation_from_rpy
"""
TRACED = """
@joint("failing_traced")
class Mine(Joint):
    coordinates = real("angle")

    def placement(self, q):
        height = np.sqrt(0.5 - q.angle)
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, 0.1 * height)
"""
FORCED = """
@joint("failing_forced")
class Mine(Joint):
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle)

    def force(self, q, v):
        return -0.1 * np.log(0.5 - q.angle)
"""
CALLBACK = """
@joint("failing_{name}")
class Mine(CallbackJoint):
    coordinates = real("angle")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, :3, :3] = rotation_from_rpy(np.column_stack([0 * q, 0 * q, q]))
        far = q[:, 0] > 0.5
{what}
        return X
"""
FILES = {
    "traced": TRACED,
    "forced": FORCED,
    "nan": CALLBACK.replace("{what}", "        X[far, 2, 3] = np.nan"),
    "raise": CALLBACK.replace("{what}", '        assert not far.any(), "too far"'),
    "shape": CALLBACK.replace("{what}", "        X = X[:, :3] if far.any() else X"),
}


count = itertools.count()


def scene(folder: Path, kind: str, scheme: str = "rk4") -> Path:
    """Write a scene and its plugin, whose type has a number of its own."""
    own = f"failing_{kind}_{next(count)}"
    code = re.sub(r"failing_[a-z{}]+", own, FILES[kind])
    (folder / f"{kind}.py").write_text(HEAD + code, "utf-8")
    text = SCENE.replace("failing_{kind}", own).replace("{kind}", kind).replace("{scheme}", scheme)
    (folder / "s.toml").write_text(text, "utf-8")
    return folder / "s.toml"


STATE = r"angle = 0\.(5|4[56])\d* rad"  # differences look ahead
NOT_FINITE = (
    r"at t = 0\.\d+ s joint 'j' of type 'failing_KIND_\d+': its WHAT is not finite at STATE \(WHERE\); "
    r"set limits within which it is finite, or fix the formula"
).replace("STATE", STATE)
ENDS = {
    "traced": NOT_FINITE.replace("WHAT", "pose").replace(
        "WHERE",
        r"\S+traced\.py:11, `height = np\.sqrt\(0\.5 - q\.angle\)`, invalid value encountered in sqrt",
    ),
    "forced": NOT_FINITE.replace("WHAT", "force").replace(
        "WHERE", r"\S+forced\.py:14, `return -0\.1 \* np\.log.*`, invalid value encountered in log"
    ),
    "nan": NOT_FINITE.replace("WHAT", "(pose|bias c)").replace("WHERE", r"\S+nan\.py:10"),
    "raise": r"AssertionError: too far, in `assert not far\.any.*`; fix Mine\.poses.* \(joint 'j'\)",
    "shape": r"Mine\.poses: must return shape \(\d+, 4, 4\), got \(\d+, 3, 4\) \(joint 'j'\)",
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("scheme", ["rk4", "semi_implicit"])
def test_a_run_that_a_plugin_stops_names_it_and_leaves_a_readable_file(tmp_path, kind, scheme):
    loaded = pysim.load_scene(scene(tmp_path, kind, scheme), allow_code=True)
    with pytest.raises(pysim.PysimError) as caught:
        pysim.simulate(loaded, tmp_path / "s.h5")
    expected = ENDS[kind].replace("KIND", kind)
    assert re.search(expected, str(caught.value)), str(caught.value)
    with pytest.warns(pysim.PysimWarning) as warned:
        cut = pysim.load_trajectory(tmp_path / "s.h5")
    text = str(warned[0].message)
    assert text.startswith(
        f"{tmp_path}/s.h5: incomplete, the run was cut short; its last time is 0."
    )
    assert text.endswith(f", {caught.value}")
    assert len(cut) > 5
    for column in ("t", "q", "v", "poses"):
        assert np.isfinite(getattr(cut, column)).all()
    assert cut.q.max() < 0.5


def test_the_command_says_it_in_one_line(tmp_path, monkeypatch, capsys):
    scene(tmp_path, "raise")
    monkeypatch.chdir(tmp_path)
    assert main(["s.toml", "--allow-code"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(
        r"error: \S+raise\.py:14: AssertionError: too far, in `assert .*`; fix Mine\.poses; "
        r"it fails at angle = 0\.5\d* rad \(joint 'j'\)\n",
        err,
    )


def test_an_interrupted_run_is_marked_in_its_file(tmp_path):
    loaded = pysim.load_scene(scene(tmp_path, "raise"), {"joint.j.start.v": 0.1}, allow_code=True)

    def stop(update):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(loaded, tmp_path / "s.h5", stop)
    with pytest.warns(pysim.PysimWarning, match="incomplete.*, interrupted$"):
        assert len(pysim.load_trajectory(tmp_path / "s.h5"))


# Batches -----------------------------------------------------------------------------------------


@joint("test_sometimes")
class Sometimes(Joint):
    """Real only up to one half."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, np.sqrt(0.5 - q.angle))

    def force(self, q, v):
        return -np.log(0.5 - q.angle) * v.angle

    def limits(self):
        return {"angle": (-1.0, 0.4)}


@joint("test_sometimes_called")
class SometimesCalled(CallbackJoint):
    """As test_sometimes; raises far beyond."""

    coordinates = real("angle")

    def poses(self, q):
        if (q > 5).any():
            raise ArithmeticError("far beyond")  # far beyond
        s, c = np.sin(q[:, 0]), np.cos(q[:, 0])
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 0, 0], X[:, 0, 1], X[:, 1, 0], X[:, 1, 1] = c, -s, s, c
        with np.errstate(invalid="ignore"):
            X[:, 2, 3] = np.sqrt(0.5 - q[:, 0])
        return X


LOWER, UPPER = np.array([-1.0]), np.array([0.4])


def arm(kind, rng):
    joints = (
        make_joint("base", "revolute", "world", "a"),
        replace(plugin_joint("j", kind, "a", "b", np.eye(4)), lower=LOWER, upper=UPPER),
        make_joint("tip", "revolute", "b", "c"),
    )
    bodies = tuple(BodySpec(name, random_theta(rng)) for name in "abc")
    return compile_model(ModelSpec("arm", GRAVITY, bodies, joints))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("", (-1.0, 0.4)),
        ("limits = { upper = 0.2 }", (-1.0, 0.2)),
        ("limits = { lower = -2 }", (-2.0, 0.4)),
        ("limits = { stiffness = 50 }", (-1.0, 0.4)),
        ("limits = { lower = -inf, stiffness = 50 }", (-np.inf, 0.4)),
    ],
)
def test_limits_that_a_scene_leaves_out_are_the_authors(tmp_path, limits, expected):
    path = tmp_path / "s.toml"
    path.write_text(scene_of("test_sometimes") + limits, "utf-8")
    spec = read_scene(path).model.joints[0]
    assert (spec.lower[0], spec.upper[0]) == expected
    assert ("stiffness" in limits) == (spec.stop_stiffness[0] == 50)


ALGORITHMS = {
    "forward_kinematics": lambda m, q, *_: pysim.forward_kinematics(m, q),
    "rnea": pysim.rnea,
    "aba": lambda m, q, v, x: pysim.aba(m, q, v, x, passive=True),
    "crba": lambda m, q, *_: pysim.crba(m, q),
    "kinetic_energy": lambda m, q, v, _: pysim.kinetic_energy(m, q, v),
    "potential_energy": lambda m, q, *_: pysim.potential_energy(m, q),
    "passive_forces": lambda m, q, v, _: pysim.passive_forces(m, q, v),
}


@pytest.mark.parametrize("kind", ["test_sometimes", "test_sometimes_called"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_states_outside_a_plugins_domain_are_nan_and_leave_the_others_bit_identical(
    kind, algorithm, rng, isa
):
    model, run = arm(kind, rng), ALGORITHMS[algorithm]
    q, v, x = rng.uniform(-0.9, 0.4, (3, 37, 3))
    bad = np.zeros(37, bool)
    bad[[0, 3, 9, 10, 36]] = True
    failing = q.copy()
    failing[bad, 1] = 0.7
    for dtype in (np.float32, np.float64):
        q, failing, v, x = (a.astype(dtype) for a in (q, failing, v, x))
        good, mixed = (np.asarray(run(model, p, v, x)) for p in (q, failing))
        np.testing.assert_array_equal(mixed[~bad], good[~bad])
        assert np.isfinite(good).all()
    seen = {"forward_kinematics", "rnea", "aba", "potential_energy"}  # in every state that fails
    if algorithm in seen or (algorithm, kind) == ("passive_forces", "test_sometimes"):
        assert np.isnan(mixed[bad].reshape(5, -1)).any(axis=1).all()


def test_steps_of_a_batch_stop_where_a_plugin_fails_and_go_on_elsewhere(rng):
    model = arm("test_sometimes", rng)
    drive = _engine.Actuation(*np.zeros((4, 3)))
    q, v = rng.uniform(-0.5, 0, (2, 21, 3))
    fast = v.copy()
    fast[[2, 8, 20], 1] = 90.0
    slow = make_steps(model, q, v, 0.0, 1e-3, 30, "rk4", drive)
    mixed = make_steps(model, q, fast, 0.0, 1e-3, 30, "rk4", drive)
    stopped = np.zeros(21, bool)
    stopped[[2, 8, 20]] = True
    assert (np.asarray(mixed[2])[stopped] < 30).all()
    for a, b in zip(slow, mixed, strict=True):
        np.testing.assert_array_equal(np.asarray(a)[~stopped], np.asarray(b)[~stopped])
    assert np.isfinite(mixed[0]).all()  # those that stopped keep their last good state


def test_a_callback_that_raises_for_one_state_of_a_batch_names_that_state(rng):
    model = arm("test_sometimes_called", rng)
    q, v, x = rng.uniform(-0.9, 0.4, (3, 11, 3))
    q[4, 1] = 6.0
    before = q.copy(), v.copy(), x.copy()
    with pytest.raises(pysim.JointError) as caught:
        pysim.aba(model, q, v, x)
    for array, old in zip((q, v, x), before, strict=True):
        np.testing.assert_array_equal(array, old)
    line = 1 + Path(__file__).read_text("utf-8").splitlines().index(
        '            raise ArithmeticError("far beyond")  # far beyond'
    )
    assert str(caught.value) == (
        f"{Path(__file__).resolve()}:{line}: ArithmeticError: far beyond, "
        'in `raise ArithmeticError("far beyond")  # far beyond`; fix SometimesCalled.poses; '
        "it fails at angle = 6 rad (joint 'j')"
    )


def test_a_plugin_is_not_blamed_for_a_run_that_diverged(tmp_path: Path) -> None:
    """Explicit steps gain energy in fast gyroscopic motion until the numbers end."""
    scene = pysim.load_scene(
        SCENES / "constant_velocity.toml",
        {
            "simulation.integrator": "semi_implicit",
            "simulation.step": 1e-3,
            "simulation.duration": 20.0,
        },
        allow_code=True,
    )
    with pytest.raises(
        pysim.SimulationError, match=r"reaches an infinite energy .*; reduce simulation\.step"
    ):
        pysim.simulate(scene)
