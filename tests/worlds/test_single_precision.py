"""Worlds that are stepped in single precision.

Oracles: the same worlds in double precision; one undisturbed run, bit for bit; closed forms of rest and free motion.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SimulationError
from tests.contact.scenes import free_body, on_slope
from tests.contact.test_free_motion import stick
from tests.elements.blocks import FIXED
from tests.scene_runs import SCENES
from tests.simulation.test_worlds import BALL, load

LEG = """
[[body]]
name = "{side}_shank"
mass = 2.0
inertia = {{ xx = 0.05, yy = 0.05, zz = 0.005 }}
com = [0, 0, -0.2]
[[body]]
name = "{side}_foot"
mass = 0.6
inertia = {{ xx = 2e-4, yy = 1.7e-3, zz = 1.7e-3 }}
com = [0.03, 0, -0.02]
collision = [
  {{ sphere = {{ radius = 0.005 }}, at = {{ xyz = [-0.05, 0.03, -0.03] }} }},
  {{ sphere = {{ radius = 0.005 }}, at = {{ xyz = [-0.05, -0.03, -0.03] }} }},
  {{ sphere = {{ radius = 0.005 }}, at = {{ xyz = [0.12, 0.03, -0.03] }} }},
  {{ sphere = {{ radius = 0.005 }}, at = {{ xyz = [0.12, -0.03, -0.03] }} }},
]
[[joint]]
name = "{side}_hip"
type = "revolute"
parent = "trunk"
child = "{side}_shank"
axis = [1, 0, 0]
at = {{ xyz = [0, {y}, -0.1] }}
[[joint]]
name = "{side}_ankle"
type = "revolute"
parent = "{side}_shank"
child = "{side}_foot"
axis = [1, 0, 0]
armature = 0.01
at = {{ xyz = [0, 0, -0.6] }}
"""
LEGS = """
gravity = [0, 0, 0]
[[body]]
name = "trunk"
mass = 15.0
inertia = { xx = 0.3, yy = 0.3, zz = 0.2 }
[[joint]]
name = "base"
type = "free"
child = "trunk"
[[contact]]
between = ["left_foot", "right_foot"]
stiffness = 3e6
dissipation = 90
[simulation]
duration = 1.0
step = 4e-3
integrator = "convex"
""" + "".join(LEG.format(side=side, y=y) for side, y in (("left", 0.06), ("right", -0.06)))

STEPPED = ("anymal_pushed", "billiards", "conveyor", "euler_disk", "gripper", "humanoid_fall")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Starts of the scenes are judged by their own tests."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PysimWarning, message="(?!worlds:)")
        yield


def disturbed(scene: pysim.Scene, n: int, **keys) -> pysim.Worlds:
    """Worlds in single precision that differ in their velocities."""
    worlds = pysim.Worlds(scene, n, dtype=np.float32, **keys)
    worlds.v[:] += 0.05 * np.random.default_rng(1).standard_normal(worlds.v.shape)
    return worlds


@pytest.mark.parametrize("name", STEPPED)
def test_states_follow_double_precision_for_some_steps(name: str) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml")
    single, double = pysim.Worlds(scene, 17, dtype=np.float32), pysim.Worlds(scene, 17)
    assert single.q.dtype == single.v.dtype == np.float32
    for worlds in (single, double):
        worlds.step(steps=20)
    np.testing.assert_array_equal(single.t, double.t)  # times are exact
    np.testing.assert_allclose(single.q, double.q, rtol=0, atol=2e-5)
    np.testing.assert_allclose(single.v, double.v, rtol=1e-3, atol=2e-3)


def test_light_links_that_hit_each_other_follow_double_precision(tmp_path: Path) -> None:
    """Contacts of two links of one robot, many times as stiff as the links are heavy within the step."""
    scene = load(tmp_path, LEGS)
    n, names = 32, list(scene.model.velocity_names)
    ends, hit = [], np.zeros(n, bool)
    for dtype in (np.float32, np.float64):
        worlds = pysim.Worlds(scene, n, dtype=dtype)
        worlds.v[:, names.index("left_hip")] = -np.linspace(3, 15, n)  # [rad/s]
        worlds.v[:, names.index("right_hip")] = 0.9 * np.linspace(3, 15, n)
        for _ in range(20):
            worlds.step(steps=1)
            hit |= (worlds.contacts != 0).any(axis=(1, 2))
        assert not worlds.lost.any()
        ends.append(np.array(worlds.v, float))
    assert hit.all()
    assert np.abs(ends[1]).max() < 15
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=0.5)


@pytest.mark.parametrize("name", STEPPED)
def test_division_saving_pickling_threads_and_places_change_no_bit(
    name: str, rng: np.random.Generator
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml")
    n, steps = 19, 24  # a pack and a remainder of every width
    single_thread = disturbed(scene, n)
    single_thread.step(steps=steps)

    other, left = disturbed(scene, n, threads=2), steps
    while left:
        span = min(left, int(rng.integers(1, 8)))
        other.step(steps=span)
        left -= span
        if rng.random() < 0.5:
            other = pickle.loads(pickle.dumps(other))
    assert other.save() == single_thread.save()

    places = rng.permutation(n)
    moved = disturbed(scene, n)
    moved.step(steps=steps // 2)
    moved.copy(places, np.arange(n))
    for half in (np.arange(n) % 2 == 0, np.arange(n) % 2 == 1):
        moved.step(steps=steps - steps // 2, where=half)
    np.testing.assert_array_equal(moved.q, single_thread.q[places])
    np.testing.assert_array_equal(moved.v, single_thread.v[places])


@pytest.mark.parametrize("step", [1e-3, 4e-3])
def test_a_box_that_sticks_on_a_slope_does_not_creep(tmp_path: Path, step: float) -> None:
    scene = free_body(
        tmp_path,
        shape="{ box = [0.2, 0.25, 0.15] }",
        mass=1.0,
        start="{ xyz = [0, 0, 0.0749] }",
        surface="friction = 0.5",
        gravity=on_slope(0.45),
        duration=1.0,
        step=step,
    )
    worlds = pysim.Worlds(scene, 16, dtype=np.float32)
    worlds.step(seconds=1.0)
    before = worlds.q.copy()
    worlds.step(seconds=20.0)
    assert np.abs(worlds.q - before).max() <= 2e-7
    assert np.abs(worlds.v).max() < 1e-5


@pytest.mark.parametrize("radius", [0.03, 0.002])  # inertia ratios 38 and 10⁴
def test_a_thrown_stick_keeps_its_energy(tmp_path: Path, radius: float) -> None:
    scene = stick(tmp_path, radius, 20.0, 1e-3)
    worlds = pysim.Worlds(scene, 16, dtype=np.float32)

    def energy() -> np.ndarray:
        q, v = (np.asarray(x, float) for x in (worlds.q, worlds.v))
        return np.asarray(pysim.kinetic_energy(scene.model, q, v))

    before = energy()
    worlds.step(seconds=1.0)
    assert np.abs(energy() / before - 1).max() < 1e-3


@pytest.mark.parametrize("integrator", FIXED)
def test_smooth_dynamics_step_by_every_scheme_of_fixed_step(integrator: str) -> None:
    scene = pysim.load_scene(
        SCENES / "robot_arm.toml",
        {"simulation.integrator": integrator, "simulation.step": 1e-3},
    )
    single, double = pysim.Worlds(scene, 17, dtype=np.float32), pysim.Worlds(scene, 17)
    for worlds in (single, double):
        worlds.step(steps=100)
    np.testing.assert_allclose(single.q, double.q, rtol=1e-4, atol=1e-4)


def test_written_states_count_and_nan_loses_a_world(tmp_path: Path) -> None:
    worlds = pysim.Worlds(SCENES / "gripper.toml", 3, dtype=np.float32)
    worlds.q[1, 0] = 0.01
    worlds.q[2, 0] = np.nan
    with pytest.warns(PysimWarning, match="worlds: 1 of 3 worlds are lost, world 2"):
        worlds.step(steps=1)
    np.testing.assert_array_equal(worlds.lost, [False, False, True])
    assert worlds.q[1, 0] != worlds.q[0, 0]
    worlds.reset(where=[2])
    assert not worlds.lost.any()


@pytest.mark.parametrize(
    ("scene", "changes", "message"),
    [
        ("gripper", {"simulation.accuracy": 1e-4}, "dtype: accuracy controls errors below"),
    ],
)
def test_scenes_that_need_double_precision_are_refused_with_the_reason(
    scene: str, changes: dict[str, object], message: str
) -> None:
    loaded = pysim.load_scene(SCENES / f"{scene}.toml", changes)
    with pytest.raises(SimulationError, match=message):
        pysim.Worlds(loaded, 2, dtype=np.float32)


def test_contacts_that_floats_do_not_resolve_are_refused_with_the_depth(tmp_path: Path) -> None:
    scene = free_body(
        tmp_path,
        shape="{ box = [0.2, 0.2, 0.2] }",
        mass=1.0,
        start="{ xyz = [0, 0, 2] }",
        surface="friction = 0.5\nsink = 1e-6",
    )
    with pytest.raises(
        SimulationError, match=r"rests 2e-06 m deep, and 2 m from the origin floats"
    ):
        pysim.Worlds(scene, 2, dtype=np.float32)


def test_scenes_that_draw_random_numbers_are_refused(tmp_path: Path) -> None:
    imu = (
        '[[sensor]]\nname = "imu"\ntype = "imu"\nframe = "ball"\nperiod = 1e-2\nrate_noise = 0.1\n'
    )
    scene = load(tmp_path, BALL + imu)
    with pytest.raises(SimulationError, match="the scene draws random numbers"):
        pysim.Worlds(scene, 2, dtype=np.float32)


def test_a_type_that_is_no_precision_is_refused() -> None:
    with pytest.raises(SimulationError, match=r"must be np\.float64 or np\.float32, got int64"):
        pysim.Worlds(SCENES / "gripper.toml", 2, dtype=np.int64)


def varied(worlds: pysim.Worlds, rng: np.random.Generator) -> pysim.Worlds:
    """Worlds whose masses, and friction or gains, differ by a tenth."""
    for name, values in worlds.parameters.items():
        if name.endswith((".mass", ".friction", ".kp")):
            values[:] = values * rng.uniform(0.9, 1.1, values.shape)
    return worlds


@pytest.mark.parametrize(
    ("name", "speed", "changes"),
    [
        ("gripper", 0.0, {}),
        ("anymal_pushed", 0.3, {}),
        ("robot_arm", 0.0, {"simulation.integrator": "semi_implicit", "simulation.step": 1e-3}),
    ],
)
def test_worlds_that_differ_in_numbers_follow_double_precision(
    name: str, speed: float, changes: dict[str, object]
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", changes)
    single, double, alike = (
        pysim.Worlds(scene, 17, dtype=dtype) for dtype in (np.float32, np.float64, np.float64)
    )
    for worlds in (single, double):
        varied(worlds, np.random.default_rng(2))
    for worlds in (single, double, alike):
        worlds.v[:] += speed * np.random.default_rng(1).standard_normal(worlds.v.shape)
        worlds.step(steps=20)
    np.testing.assert_allclose(single.q, double.q, rtol=0, atol=5e-5)
    np.testing.assert_allclose(single.v, double.v, rtol=1e-3, atol=2e-3)
    assert np.abs(double.v - alike.v).max() > 4e-3  # the numbers matter


def test_worlds_that_differ_in_numbers_have_the_same_bits_in_parts_of_a_batch() -> None:
    scene = pysim.load_scene(SCENES / "anymal_pushed.toml")
    undivided = varied(pysim.Worlds(scene, 19, dtype=np.float32), np.random.default_rng(3))
    parts = [pysim.Worlds(scene, n, dtype=np.float32) for n in (16, 3)]
    for name, values in undivided.parameters.items():
        for part, rows in zip(parts, (slice(16), slice(16, None)), strict=True):
            part.parameters[name][:] = values[rows]
    for worlds in (undivided, *parts):
        worlds.step(steps=30)
    np.testing.assert_array_equal(undivided.q, np.concatenate([part.q for part in parts]))
    np.testing.assert_array_equal(undivided.v, np.concatenate([part.v for part in parts]))
    restored = pickle.loads(pickle.dumps(undivided))
    for worlds in (undivided, restored):
        worlds.step(steps=5)
    np.testing.assert_array_equal(restored.q, undivided.q)
