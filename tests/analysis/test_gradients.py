"""Gradients of losses of worlds through convex steps.

Oracle: the best of central differences of sixth order, of five sizes, of the engine's own steps.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.analysis.differentiable_steps import DifferentiableSteps
from pysim.analysis.motion_cotangents import along_motions
from pysim.typing import Array
from tests.contact.random_scenes import Family, one_body, servo_arms

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
SIZES = 10.0 ** np.array([-3.0, -4.0, -5.0, -6.0, -7.0])
SHARES = 10.0 ** np.array(
    [-1.0, -2.0, -3.0, -4.0, -5.0]
)  # of parameters, in which losses are smooth
WEIGHTS = {1: 45, -1: -45, 2: -9, -2: 9, 3: 1, -3: -1}  # over 60 h
SMOOTH = 1e-7
BOX = """
[materials.default]
friction = { static = 0.4, dynamic = 0.4 }
stiffness = 3e4
dissipation = 0.4
tangential_stiffness = 2e4
relaxation_time = 1.5e-3
[[body]]
name = "box"
mass = 1.3
com = [0.01, -0.015, 0.02]
inertia = { xx = 0.012, yy = 0.009, zz = 0.015, xy = 0.001, yz = 0.0008, xz = -0.0005 }
collision = [{ box = [0.2, 0.3, 0.16] }]
[[joint]]
name = "free"
type = "free"
child = "box"
at = { xyz = [0.1, 0.2, 0.3], rpy = [0.3, -0.2, 0.5] }
[[ground]]
plane = { normal = [0, 0, 1] }
"""
HOPPER = """
[materials.default]
friction = { static = 0.7, dynamic = 0.7 }
stiffness = 2e4
dissipation = 0.3
[[body]]
name = "trunk"
mass = 2.0
inertia = { xx = 0.02, yy = 0.03, zz = 0.025, xy = 0.002 }
[[joint]]
name = "float"
type = "free"
child = "trunk"
[[body]]
name = "thigh"
mass = 0.5
com = [0.02, 0.01, -0.1]
inertia = { xx = 0.004, yy = 0.004, zz = 0.001 }
[[joint]]
name = "hip"
type = "ball"
parent = "trunk"
child = "thigh"
at = { xyz = [0.05, 0.0, -0.1] }
stiffness = [3.0, 3.0, 2.0]
damping = [0.3, 0.3, 0.2]
[[body]]
name = "shank"
mass = 0.3
com = [0.0, 0.01, -0.12]
inertia = { xx = 0.003, yy = 0.003, zz = 0.0005 }
collision = [{ sphere = { radius = 0.04 }, at = { xyz = [0.0, 0.0, -0.25] } }]
[[joint]]
name = "knee"
type = "revolute"
axis = [0, 1, 0]
parent = "thigh"
child = "shank"
at = { xyz = [0.0, 0.0, -0.2] }
armature = 0.01
friction = 0.05
limits = { lower = -0.2 }
[[signal]]
name = "torque"
type = "input"
[[actuator]]
name = "motor"
type = "position_servo"
joint = "knee"
command = "torque"
kp = 40.0
kd = 0.5
force_range = [-15.0, 15.0]
[[ground]]
plane = { normal = [0.1, 0, 1] }
"""
CART = """
gravity = [0, 0, -9.81]
[materials.default]
friction = 1.0
[[body]]
name = "rail"
mass = 0.5
[[body]]
name = "ball"
mass = 1.0
collision = [{ sphere = { radius = 0.1 } }]
[[joint]]
name = "along"
type = "prismatic"
axis = [1, 0, 0]
child = "rail"
limits = { lower = -1.0, upper = 0.2 }
[[joint]]
name = "up"
type = "prismatic"
axis = [0, 0, 1]
parent = "rail"
child = "ball"
[[signal]]
name = "target"
type = "input"
[[actuator]]
name = "motor"
type = "position_servo"
joint = "along"
command = "target"
kp = 100.0
force_range = [-1e3, 1e3]
[[ground]]
plane = { normal = [0, 0, 1] }
"""
RUN = """
[simulation]
integrator = "convex"
step = 2e-3
duration = 1.0
passes = {passes}
solver_tolerance = 1e-13
"""


def scene_of(folder: Path, text: str, passes: int = 2) -> pysim.Scene:
    path = folder / "scene.toml"
    path.write_text(text + RUN.format(passes=passes), "utf-8")
    return pysim.load_scene(path)


class Rollout:
    """A weighted sum of the states after some steps, of any start, controls and scene."""

    def __init__(
        self, scene: pysim.Scene, q: Array, v: Array, steps: int, controls: Array | None = None
    ) -> None:
        self.scene, self.q, self.v, self.steps, self.controls = scene, q, v, steps, controls
        rng = np.random.default_rng(1)
        self.by_q = rng.normal(size=scene.model.nv)
        self.by_v = rng.normal(size=scene.model.nv)
        self.worlds = self.at(q[None], v[None])
        self.reference = self.run(self.worlds.q.copy(), self.worlds.v.copy(), controls)
        self.worlds = self.at(q[None], v[None])

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = pysim.Worlds(self.scene, len(q))
        worlds.q[:], worlds.v[:] = q, v
        return worlds

    def run(self, q: Array, v: Array, controls: Array | None) -> pysim.Worlds:
        worlds = self.at(q, v)
        worlds.step(steps=self.steps, controls=controls)
        assert not np.any(worlds.lost)
        return worlds

    def values(self, q: Array, v: Array, controls: Array | None) -> Array:
        return self.losses(self.run(q, v, controls))

    def losses(self, worlds: pysim.Worlds) -> Array:
        """Losses relative to the one at the start, along the motions there, so that nothing cancels."""
        start = np.broadcast_to(self.reference.q[0], worlds.q.shape)
        moved = np.asarray(self.scene.model.difference(start.copy(), worlds.q))
        return np.asarray(moved @ self.by_q + (worlds.v - self.reference.v) @ self.by_v)

    def gradient(self, **keys: Any) -> Any:
        model = self.scene.model

        def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
            by_q, by_v = np.zeros_like(q), np.zeros_like(v)
            by_v[:, -1] = self.by_v
            by_q[:, -1] = covector(model, q[:, -1], self.by_q)
            return np.zeros(len(q)), by_q, by_v

        steps = None if self.controls is not None else self.steps
        return pysim.gradient(self.worlds, self.controls, steps=steps, loss=loss, **keys)

    def by_start(self) -> list[Array]:
        """Differences by q, along δ, and v, of every size."""
        nv = self.scene.model.nv
        derivatives = []
        for size in SIZES:
            q, v = [], []
            for unit in np.eye(2 * nv):
                for k in WEIGHTS:
                    q.append(self.scene.model.integrate(self.q, k * size * unit[:nv]))
                    v.append(self.v + k * size * unit[nv:])
            held = None if self.controls is None else np.repeat(self.controls, len(q), axis=0)
            values = self.values(np.array(q), np.array(v), held).reshape(2 * nv, -1)
            derivatives.append(values @ np.array(list(WEIGHTS.values())) / (60 * size))
        return derivatives

    def by_controls(self) -> list[Array]:
        assert self.controls is not None
        derivatives = []
        for size in SIZES:
            held = [
                self.controls[0] + k * size * unit.reshape(self.controls[0].shape)
                for unit in np.eye(self.controls.size)
                for k in WEIGHTS
            ]
            q, v = (np.broadcast_to(x, (len(held), len(x))) for x in (self.q, self.v))
            values = self.values(q, v, np.array(held)).reshape(self.controls.size, -1)
            derivatives.append(values @ np.array(list(WEIGHTS.values())) / (60 * size))
        return derivatives


def covector(model: pysim.Model, q: Array, along: Array) -> Array:
    """Return derivatives by the numbers of q (n, nq) whose products with motions are those along δ."""
    units = np.array(
        [along_motions(model, q, np.broadcast_to(e, q.shape)) for e in np.eye(model.nq)]
    )
    return np.array([np.linalg.lstsq(units[:, k].T, along, rcond=None)[0] for k in range(len(q))])


def error(found: Array, oracles: list[Array]) -> float:
    return float(min(np.linalg.norm(found - own) / np.linalg.norm(own) for own in oracles))


def columns_by_differences(
    worlds: pysim.Worlds,
    steps: int,
    size: float,
    state: Callable[[], Array],
    move: Callable[[Array], None],
) -> Array:
    """Return the derivatives (n, n) of the state of one world after steps by that before them.

    `state` returns it (n,), and `move` adds changes (n,) to it.
    """
    start, count = worlds.save(), len(state())
    columns = np.zeros((count, count))
    for i, unit in enumerate(np.eye(count)):
        for k, weight in WEIGHTS.items():
            worlds.load(start)
            move(k * size * unit)
            worlds.step(steps=steps)
            columns[:, i] += weight * state() / 60 / size
    return columns


def columns_with_signals(worlds: pysim.Worlds, steps: int, places: list[int]) -> Array:
    """Return those by q, v and some numbers of signals of a mechanism of two coordinates."""
    records = worlds._records

    def state() -> Array:
        return np.concatenate([worlds.q[0], worlds.v[0], records.signals[0, places]])

    def move(x: Array) -> None:
        worlds.q[0] += x[:2]
        worlds.v[0] += x[2:4]
        records.signals[0, places] += x[4:]

    return columns_by_differences(worlds, steps, 1e-4, state, move)


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("family", [one_body, servo_arms])
def test_a_gradient_by_the_start_is_that_of_differences_in_random_scenes(
    family: Family, passes: int, tmp_path: Path
) -> None:
    errors = []
    for seed in range(10):
        own = family(tmp_path, np.random.default_rng([10, seed]), passes).scene
        rollout = Rollout(own, own.state.q, own.state.v, 3)
        found = rollout.gradient()
        errors.append(error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()))
    assert np.sort(errors)[7] < SMOOTH, errors  # others have a switch between the oracle's points


@pytest.mark.parametrize("steps", [1, 20, 150])
def test_a_box_that_lands_on_a_plane_has_the_gradient_of_differences(
    steps: int, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, BOX, passes=1)
    v = np.array([0.3, -0.2, -0.5, 1.0, -2.0, 0.7])
    rollout = Rollout(scene, scene.state.q, v, steps)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("height", [0.7, 0.42])  # in flight, and on the ground
def test_a_hopper_with_a_servo_has_the_gradient_of_differences(
    height: float, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, HOPPER, passes=1)
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    q[2], v = height, rng.normal(0, 0.4, scene.model.nv)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 25, 1))
    rollout = Rollout(scene, q, v, 25, controls)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


def by_parameter(rollout: Rollout, path: str) -> list[Array]:
    """Differences by every number of a parameter, of every size relative to it."""
    count, weights = len(WEIGHTS) * len(SHARES), np.array(list(WEIGHTS.values()))
    derivatives = []
    for i in range(rollout.worlds.parameters[path][0].size):
        worlds = rollout.at(*(np.tile(x, (count, 1)) for x in (rollout.q, rollout.v)))
        own = worlds.parameters[path].reshape(count, -1)[:, i]
        at = float(own[0]) or 1.0
        own += at * np.outer(SHARES, list(WEIGHTS)).ravel()
        controls = rollout.controls
        controls = None if controls is None else np.repeat(controls, count, axis=0)
        worlds.step(steps=rollout.steps, controls=controls)
        derivatives.append(
            rollout.losses(worlds).reshape(len(SHARES), -1) @ weights / 60 / SHARES / at
        )
    return list(np.array(derivatives).T)


def check_parameters(rollout: Rollout, paths: list[str]) -> pysim.Gradient:
    """Compare the gradient by every parameter with differences, and return it."""
    found = rollout.gradient(by=paths)
    for path in paths:
        derivative = np.ravel(found.parameters[path][0])
        assert error(derivative, by_parameter(rollout, path)) < SMOOTH, path
    return found


@pytest.mark.parametrize(
    "path",
    [
        "body.box.mass",
        "body.box.inertia",
        "materials.default.friction.dynamic",
        "materials.default.stiffness",
        "gravity",
    ],
)
def test_a_gradient_by_a_parameter_is_that_of_differences(path: str, tmp_path: Path) -> None:
    v = np.array([1.5, -0.2, -0.5, 0.1, -0.2, 0.7])
    scene = scene_of(tmp_path, BOX, passes=1)
    rollout = Rollout(scene, scene.state.q, v, 150)
    check_parameters(rollout, [path])


def test_a_gradient_by_numbers_of_joints_and_motors_is_that_of_differences(tmp_path: Path) -> None:
    spring = "friction = 0.05\ndamping = 0.02\nstiffness = 1.5\nrest = 0.1\n"
    text = HOPPER.replace("friction = 0.05\n", spring)
    scene = scene_of(tmp_path, text, passes=1)
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    q[2], v = 0.42, rng.normal(0, 0.4, scene.model.nv)  # on the ground
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 25, 1))
    rollout = Rollout(scene, q, v, 25, controls)
    knee = ["armature", "friction", "damping", "stiffness", "rest"]
    paths = [
        *(f"joint.hip.{key}" for key in ("stiffness", "damping")),
        *(f"joint.knee.{key}" for key in knee),
        *(f"actuator.motor.{key}" for key in ("kp", "kd", "force_range")),
        *("body.thigh.mass", "body.shank.com", "materials.default.dissipation", "gravity"),
    ]
    check_parameters(rollout, paths)


@pytest.mark.parametrize("bound", ["[-inf, 3.0]", "[-3.0, inf]"])
def test_a_gradient_by_the_gear_of_a_motor_with_one_bound_is_that_of_differences(
    bound: str, tmp_path: Path
) -> None:
    """The gear multiplies the bound that is infinite, too."""
    affine = f'type = "affine"\ngear = [1.3]\ngain = [40]\nbias = [0, -40, -0.5]\nforce_range = {bound}\n'
    begin, end = HOPPER.index('type = "position_servo"'), HOPPER.index("[[ground]]")
    drive = affine + 'joint = "knee"\ncommand = "torque"\n'
    scene = scene_of(tmp_path, HOPPER[:begin] + drive + HOPPER[end:], passes=1)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 10, 1))
    rollout = Rollout(scene, scene.state.q, scene.state.v, 10, controls)
    check_parameters(rollout, ["actuator.motor.gear", "actuator.motor.gain"])


def test_a_world_that_differs_has_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    scene, rng = scene_of(tmp_path, HOPPER), np.random.default_rng(6)
    by = [f"body.{body}.{key}" for body in ("trunk", "shank") for key in ("mass", "com")]
    many = pysim.Worlds(scene, 9)
    many.v[:] = rng.normal(0, 0.3, many.v.shape)
    for path in by:
        values = many.parameters[path]
        values[:] = values * rng.uniform(0.9, 1.1, values.shape) + 0.01 * path.endswith("com")
    found = pysim.gradient(many, steps=3, loss=last_speeds, by=by)
    for k in range(9):
        alone = pysim.Worlds(scene, 1)
        alone.v[:] = many.v[k]
        for path in by:
            alone.parameters[path][0] = many.parameters[path][k]
        own = pysim.gradient(alone, steps=3, loss=last_speeds, by=by)
        assert np.array_equal(own.q[0], found.q[k])
        for path in by:
            assert np.array_equal(own.parameters[path][0], found.parameters[path][k]), path


def test_a_world_that_differs_has_the_gradient_of_its_own_scene(tmp_path: Path) -> None:
    text = BOX.replace("friction = { static = 0.4, dynamic = 0.4 }", "friction = 0.4")
    v = np.array([1.5, -0.2, -0.5, 0.1, -0.2, 0.7])
    by = ["body.box.mass", "materials.default.friction"]
    both = pysim.Worlds(scene_of(tmp_path, text), 2)
    both.v[:] = v
    for path, value in zip(by, (1.9, 0.55), strict=True):
        both.parameters[path][1] = value
    alone = pysim.Worlds(both.scene(1), 1)

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    found = pysim.gradient(both, steps=150, loss=loss, by=by)
    own = pysim.gradient(alone, steps=150, loss=loss, by=by)
    assert found.loss[1] == own.loss[0]
    assert np.array_equal(found.v[1], own.v[0])
    for path in by:
        np.testing.assert_allclose(found.parameters[path][1], own.parameters[path][0], rtol=1e-9)
        assert abs(found.parameters[path][0] / own.parameters[path][0] - 1) > 1e-3


def test_records_that_are_made_again_change_no_bit(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, BOX)
    rollout = Rollout(scene, scene.state.q, np.array([0.3, -0.2, -0.5, 1.0, -2.0, 0.7]), 50)
    whole, parts = rollout.gradient(), rollout.gradient(memory=0)
    assert np.array_equal(whole.q, parts.q)
    assert np.array_equal(whole.v, parts.v)


def test_derivatives_that_a_loss_returns_need_not_be_writeable(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, BOX), 2)

    def read_only(q: Array, v: Array) -> tuple[Array, Array, Array]:
        returned = last_speeds(q, v)
        for array in returned:
            array.setflags(write=False)
        return returned

    found = pysim.gradient(worlds, steps=5, loss=read_only)
    np.testing.assert_array_equal(found.v, pysim.gradient(worlds, steps=5, loss=last_speeds).v)


def test_calls_that_take_few_steps_back_change_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call of the engine ends by time, here after every step."""
    worlds = pysim.Worlds(scene_of(tmp_path, HOPPER), 3)
    controls = np.random.default_rng(4).normal(0, 0.3, (3, 40, 1))
    whole = pysim.gradient(worlds, controls, loss=last_speeds)
    monkeypatch.setattr("pysim.analysis.differentiable_steps.CALL_TIME", 0.0)
    parts = pysim.gradient(worlds, controls, loss=last_speeds)
    for name in ("q", "v", "controls"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_steps_that_are_made_again_need_the_memory_of_few_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: twice √n of n records and solutions, and beside them, in Python, derivatives by controls."""
    text = HOPPER + '[[sensor]]\nname = "eye"\ntype = "pose"\nframe = "trunk"\n'
    worlds, steps = pysim.Worlds(scene_of(tmp_path, text, passes=1), 64), 100
    controls, record = np.zeros((64, steps, 1)), len(worlds.save())
    pysim.gradient(worlds, controls[:, :9], loss="eye.position.x", memory=0)
    held, pull = [], DifferentiableSteps.pull

    def noted_pull(self: Any, recorded: Any, *arguments: Any) -> None:
        held.append(recorded.bytes)
        pull(self, recorded, *arguments)

    monkeypatch.setattr(DifferentiableSteps, "pull", noted_pull)
    tracemalloc.start()
    try:
        pysim.gradient(worlds, controls, loss="eye.position.x", memory=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    solution = 16 * 64 * (worlds.model.nv + 1)
    assert len(held) == 10
    assert max(held) < 2.1 * 10 * (record + solution)
    assert peak < controls.nbytes + 3 * (record + solution) + 64 * 2048


def test_a_world_has_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, BOX)
    rng = np.random.default_rng(5)
    many = pysim.Worlds(scene, 11)
    many.v[:] = rng.normal(size=many.v.shape)

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    found = pysim.gradient(many, steps=40, loss=loss)
    for k in (0, 6, 10):
        alone = pysim.Worlds(scene, 1)
        alone.v[:] = many.v[k]
        own = pysim.gradient(alone, steps=40, loss=loss)
        assert np.array_equal(own.q[0], found.q[k])
        assert np.array_equal(own.v[0], found.v[k])
        assert own.loss[0] == found.loss[k]


def test_one_world_takes_controls_without_an_axis_of_worlds(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, HOPPER)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 8, 1))

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (v**2).sum((-2, -1)), 0 * q, 2 * v

    one = pysim.gradient(pysim.Worlds(scene), controls[0], loss=loss)
    many = pysim.gradient(pysim.Worlds(scene, 1), controls, loss=loss)
    assert one.controls is not None
    assert many.controls is not None
    assert np.array_equal(one.controls, many.controls[0])


def test_a_throw_that_never_lands_is_warned_of(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, BOX), 1)
    path = "materials.default.friction.dynamic"

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return q.sum((1, 2)), 1 + 0 * q, 0 * v

    with pytest.warns(pysim.PysimWarning, match=rf"{path}: no influence, because nothing touches"):
        found = pysim.gradient(worlds, steps=5, by=[path, "body.box.mass"], loss=loss)
    assert not np.any(found.parameters[path])


def test_materials_have_no_influence_where_nothing_can_touch(tmp_path: Path) -> None:
    """Links that a joint connects do not."""
    path = "materials.default.friction.dynamic"
    thigh = "com = [0.02, 0.01, -0.1]"
    text = HOPPER[: HOPPER.index("[[ground]]")]
    text = text.replace(thigh, f"{thigh}\ncollision = [{{ sphere = {{ radius = 0.02 }} }}]")
    worlds = pysim.Worlds(scene_of(tmp_path, text), 2)
    with pytest.warns(pysim.PysimWarning, match="no influence, because nothing touches"):
        found = pysim.gradient(worlds, steps=3, by=[path, "body.shank.mass"], loss=last_speeds)
    assert found.parameters[path].tolist() == [0.0, 0.0]
    assert np.all(found.parameters["body.shank.mass"] != 0)


def test_the_derivative_by_a_limit_that_a_joint_does_not_have_is_zero(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, HOPPER), 1)
    worlds.q[0, -1] = -0.3
    by = ["joint.knee.limits.lower", "joint.knee.limits.upper"]
    found = pysim.gradient(worlds, steps=3, by=by, loss=last_speeds).parameters
    assert found[by[0]] != 0
    assert found[by[1]] == 0


def last_speeds(q: Array, v: Array) -> tuple[Array, Array, Array]:
    by_v = np.zeros_like(v)
    by_v[:, -1] = 1.0
    return v[:, -1].sum(1), np.zeros_like(q), by_v


def test_corners_that_a_step_meets_are_counted_by_kind_and_name(tmp_path: Path) -> None:
    """World 0 starts on the surface and at the stop, at rest and without weight; world 1 a little beside."""
    worlds = pysim.Worlds(scene_of(tmp_path, CART.replace("-9.81", "0")), 2)
    worlds.q[:] = [[0.2, 0.1], [0.1999, 0.1001]]
    worlds.inputs.all[:] = worlds.q[:, :1]
    switches = pysim.gradient(worlds, steps=1, loss=last_speeds).switches
    assert {key: count.tolist() for key, count in switches.items()} == {
        ("touching", "world, ball"): [1, 0],
        ("stop", "along"): [1, 0],
    }


def test_friction_at_its_limit_and_a_force_at_its_bound_are_switches(tmp_path: Path) -> None:
    """The limit and the bound are those of a step far from them; world 1 keeps the old ones."""
    scene = scene_of(tmp_path, CART)

    def start() -> pysim.Worlds:
        worlds = pysim.Worlds(scene, 2)
        worlds.q[:], worlds.v[:], worlds.inputs.all[:] = [0.0, 0.099], [1e-3, 0.0], 1e-3
        return worlds

    far, near = start(), start()
    far.step(steps=1)
    force = np.array(far.contacts)[0].reshape(-1, 3).sum(0)
    assert np.hypot(*force[:2]) < force[2]  # it sticks
    near.parameters["materials.default.friction"][0] = np.hypot(*force[:2]) / force[2]
    assert pysim.gradient(near, steps=1, loss=last_speeds).switches.keys() == {
        ("sticking", "world, ball")
    }
    bound, near = 100.0 * (1e-3 - 2e-3 * far.v[0, 0]), start()
    near.parameters["actuator.motor.force_range"][0] = [-bound, bound]
    found = pysim.gradient(near, steps=1, loss=last_speeds).switches
    assert {key: count.tolist() for key, count in found.items()} == {("bound", "along"): [1, 0]}


def test_worlds_stay_where_they_are(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, BOX), 2)
    worlds.step(steps=5)
    before = worlds.save()
    pysim.gradient(worlds, steps=10, loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v))
    assert worlds.save() == before


def test_a_part_without_derivatives_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "controlled.toml"
    path.write_text(HOPPER + RUN.format(passes=1) + "accuracy = 1e-4\n", "utf-8")
    worlds = pysim.Worlds(path, 1)
    with pytest.raises(pysim.SimulationError, match=r"worlds with simulation\.accuracy have no"):
        pysim.gradient(worlds, steps=1, loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v))


def test_parameters_of_lists_of_scenes_are_refused(tmp_path: Path) -> None:
    worlds = pysim.Worlds([scene_of(tmp_path, BOX), scene_of(tmp_path, BOX)])
    with pytest.raises(pysim.SimulationError, match="list of scenes"):
        pysim.gradient(
            worlds,
            steps=1,
            by=["body.box.mass"],
            loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v),
        )


def test_another_scheme_and_events_are_refused_with_their_names(tmp_path: Path) -> None:
    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return q.sum((1, 2)), 1 + 0 * q, 0 * v

    path = tmp_path / "smooth.toml"
    smooth = BOX[BOX.index("[[body]]") : BOX.index("[[ground]]")].replace("collision", "visual")
    path.write_text(smooth + '[simulation]\nintegrator = "dopri5"\nstep = 1e-3\n', "utf-8")
    with pytest.raises(pysim.SimulationError, match='integrator = "dopri5"'):
        pysim.gradient(pysim.Worlds(path, 1), steps=1, loss=loss)
    event = '[[event]]\nname = "low"\nrelease = ["motor"]\njoint = "knee"\nat = 0.2\n'
    with pytest.raises(pysim.SimulationError, match="events"):
        pysim.gradient(pysim.Worlds(scene_of(tmp_path, HOPPER + event), 1), steps=1, loss=loss)


def test_worlds_without_coordinates_are_refused(tmp_path: Path) -> None:
    weld = '[[body]]\nname = "rock"\nmass = 1.0\n[[joint]]\nname = "weld"\ntype = "fixed"\nchild = "rock"\n'
    worlds = pysim.Worlds(scene_of(tmp_path, weld), 1)
    with pytest.raises(pysim.SimulationError, match="worlds with no coordinates"):
        pysim.gradient(worlds, steps=1, loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v))
    with pytest.raises(pysim.SimulationError, match="worlds with no coordinates"):
        pysim.step_derivatives(worlds)


@pytest.mark.parametrize(
    ("states", "more", "problem"),
    [(0, 0, "whole packs"), (-1, 0, "whole packs"), (1, 1, "as many cotangents")],
)
def test_the_engine_refuses_states_that_are_no_packs(
    states: int, more: int, problem: str, tmp_path: Path
) -> None:
    run = DifferentiableSteps(pysim.Worlds(scene_of(tmp_path, BOX), 8), steps=1)
    count = 0 if states == 0 else run.pack + min(states, 0)
    bar = [np.zeros((run.pack + more, size)) for size in run._sizes()[1].values()]
    index, recorded = np.arange(count, dtype=np.int32), run.forward(1)
    with pytest.raises(ValueError, match=problem):
        recorded.pull(index, bar, (0, 1), None, None, 1, 1.0)


def test_a_step_that_needs_too_much_memory_is_reported_as_such(tmp_path: Path) -> None:
    """A step of 2400 bodies on springs has more operations than the tape has room for."""
    springs = "stiffness = [1.0, 1.0, 1.0]\ndamping = [0.3, 0.3, 0.3]\n"
    text = "".join(
        f'[[body]]\nname = "b{k}"\nmass = 0.1\ninertia = {{ xx = 1e-3, yy = 1e-3, zz = 1e-3 }}\n'
        f'[[joint]]\nname = "j{k}"\ntype = "ball"\nchild = "b{k}"\n{springs}'
        for k in range(2400)
    )
    worlds = pysim.Worlds(scene_of(tmp_path, text), 1)
    with pytest.raises(pysim.SimulationError, match="needs more memory for its derivatives"):
        pysim.gradient(worlds, steps=1, loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v))


def test_contacts_stay_those_of_the_last_step(tmp_path: Path) -> None:
    worlds = pysim.Worlds(scene_of(tmp_path, BOX), 2)
    worlds.step(steps=400)
    before = np.array(worlds.contacts)
    assert np.abs(before).max() > 1
    pysim.gradient(worlds, steps=10, loss=lambda q, v: (q.sum((1, 2)), 1 + 0 * q, 0 * v))
    np.testing.assert_array_equal(worlds.contacts, before)
