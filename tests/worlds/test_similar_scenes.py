"""Worlds that differ in numbers are compiled from parts of the first one. Oracle: `load_scene` of every world, bit for
bit.
"""

from __future__ import annotations

import pickle
import tempfile
import tomllib
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from pysim.scene.toml import reader, world_specs
from pysim.worlds.loading import SceneCompiler
from pysim.worlds.parameters.varied_numbers import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENES = sorted((Path(__file__).parents[2] / "scenes").glob("*.toml"))
TABLES = (
    "body", "joint", "actuator", "loop", "coupling", "force", "gravity", "parameters", "model", "controller",
    "signal", "sensor", "materials", "ground", "contact",
)  # fmt: skip
SPRING = next(path for path in SCENES if path.name == "spring.toml")
CAR = next(path for path in SCENES if path.name == "quarter_car.toml")
PENDULUM = next(path for path in SCENES if path.name == "double_pendulum.toml")


def numbers_in(values: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the key and value of every number of a scene that a world may change."""
    if isinstance(values, dict):
        for name, inner in values.items():
            if path or name in TABLES:
                yield from numbers_in(inner, f"{path}.{name}" if path else name)
    elif isinstance(values, list):
        for k, inner in enumerate(values):
            yield from numbers_in(inner, f"{path}[{k}]")
    elif isinstance(values, (int, float)) and not isinstance(values, bool):
        yield path, float(values)


def assert_same_bits(actual: Any, expected: Any, where: str = "scene") -> None:
    """Compare two values part by part."""
    assert type(actual) is type(expected), where
    if isinstance(actual, pysim.Model):
        parts, others = (list[Any](model.__reduce__())[1] for model in (actual, expected))
        assert_same_bits(parts, others, f"{where}.parts")
        assert actual.structure_difference(expected) == ""
    elif isinstance(actual, np.ndarray):
        assert actual.dtype == expected.dtype, where
        assert actual.shape == expected.shape, where
        assert actual.tobytes() == expected.tobytes(), where
    elif is_dataclass(actual):
        for item in fields(actual):
            name = item.name
            assert_same_bits(getattr(actual, name), getattr(expected, name), f"{where}.{name}")
    elif isinstance(actual, dict):
        assert list(actual) == list(expected), where
        for key, value in actual.items():
            assert_same_bits(value, expected[key], f"{where}[{key!r}]")
    elif isinstance(actual, (list, tuple)):
        assert len(actual) == len(expected), where
        for k, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert_same_bits(a, b, f"{where}[{k}]")
    elif type(actual).__module__ == "pysim._engine":
        assert_same_engine_objects(actual, expected, where)
    else:
        assert repr(actual) == repr(expected), where


def assert_same_engine_objects(one: Any, other: Any, where: str) -> None:
    if isinstance(one, pysim._engine.Actuation):
        for name in ("offset", "amplitude", "frequency", "phase"):
            assert_same_bits(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif not isinstance(one, (pysim._engine.Contacts, pysim._engine.Events)):  # made of the specs
        assert pickle.dumps(one) == pickle.dumps(other), where


def loaded(path: Path, overrides: dict[str, Any]) -> Any:
    """Return a scene, or the type and text of the error."""
    try:
        return pysim.load_scene(path, overrides, allow_code=True)
    except PysimError as error:
        return type(error), str(error)


def loaded_together(path: Path, overrides: dict[str, list[float]]) -> Any:
    """Return the scenes of all worlds, or the type and text of the error."""
    try:
        return pysim.load_scenes(path, overrides, allow_code=True)
    except PysimError as error:
        return type(error), str(error)


WORLDS = 2


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_worlds_that_differ_in_numbers_have_the_bits_of_load_scene(path: Path) -> None:
    rng = np.random.default_rng(len(path.name))
    found = dict(numbers_in(tomllib.loads(path.read_text("utf-8"))))
    keys = rng.choice(sorted(found), size=min(5, len(found)), replace=False).tolist()
    overrides = {key: (found[key] * (1 + 1e-7 * np.arange(WORLDS))).tolist() for key in keys}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [loaded(path, {key: x[k] for key, x in overrides.items()}) for k in range(WORLDS)]
        together = loaded_together(path, overrides)
    failed = next((k for k, scene in enumerate(alone) if isinstance(scene, tuple)), None)
    if failed is not None:
        kind, text = alone[failed]
        assert together == (kind, f"world {failed}: {text}")
        return
    for k, (scene, own) in enumerate(zip(together, alone, strict=True)):
        assert_same_bits(scene, own, f"world {k}")


def test_a_world_that_differs_in_numbers_is_not_read_or_compiled_in_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So are those whose expressions differ; a number of another table makes a world be read in full."""
    counts = {"read": 0, "compiled": 0}
    read, first = reader.read_tables, SceneCompiler._with_numbers

    def counted(*arguments: Any, **keys: Any) -> Any:
        counts["read"] += 1
        return read(*arguments, **keys)

    def counted_scene(self: SceneCompiler, *arguments: Any) -> Any:
        scene = first(self, *arguments)
        counts["compiled"] += scene is None
        return scene

    monkeypatch.setattr(world_specs, "read_tables", counted)
    monkeypatch.setattr(SceneCompiler, "_with_numbers", counted_scene)
    x = np.linspace(1, 1.1, 8)
    path = tmp_path / "pendulum.toml"
    path.write_text(f"parameters.unused = 1.0\n{PENDULUM.read_text('utf-8')}", "utf-8")
    pysim.load_scenes(
        path,
        {
            "body.upper.shape.density": 2700 * x,
            "joint.elbow.start.q": x,
            "joint.elbow.damping": x,
            "joint.shoulder.at.xyz": np.outer(x, [0, 0, 1.3]),
            "gravity": np.outer(x, [0, 0, -9.81]),
            "parameters.unused": x,
        },
    )
    assert counts == {"read": 1, "compiled": 1}  # the first
    pysim.load_scenes(PENDULUM, {"simulation.step": 1e-3 * x})
    assert counts["read"] == 1 + 8
    counts.update(read=0, compiled=0)
    car = {"sprung": 300.0, "unsprung": 40.0, "suspension": 2e4, "damper": 1500.0, "kerb": 0.05}
    pysim.load_scenes(CAR, {f"parameters.{name}": value * x for name, value in car.items()})
    assert counts == {"read": 1, "compiled": 1}  # the first
    for name, key in (
        ("whip", "body.handle.shape.density"),  # a rod
        ("rough_road", "body.car.mass"),
        ("shaken_rod", "body.rod.shape.density"),  # a driven frame
    ):
        counts.update(read=0, compiled=0)
        pysim.load_scenes(PENDULUM.with_stem(name), {key: 700 * x})
        assert counts == {"read": 1, "compiled": 1}, name


KEYFRAMES = """keyframe = "up"
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
limits = { lower = -4, upper = 4 }
[[signal]]
name = "torque"
type = "constant"
value = 1.0
[[actuator]]
type = "force"
name = "motor"
joint = "hinge"
command = "torque"
[keyframes.up]
start = { hinge = 3.0 }
commands = { torque = 2.0 }
[keyframes.thrown]
start_v = { hinge = 5.0 }
[simulation]
duration = 1
"""


def test_keyframes_of_worlds_have_the_bits_of_load_scene(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A keyframe without a position of a joint has that of the joint's table, which worlds change."""
    counted = Mock(side_effect=reader.read_tables)
    monkeypatch.setattr(world_specs, "read_tables", counted)
    path = tmp_path / "s.toml"
    path.write_text(KEYFRAMES, "utf-8")
    worlds = {
        "joint.hinge.start.q": [0.1, 0.2, 0.3],
        "body.rod.mass": [1.0, 2.0, 3.0],
        "signal.torque.value": [1.0, 4.0, 5.0],
    }
    scenes = pysim.load_scenes(path, worlds)
    assert counted.call_count == 1
    for k, scene in enumerate(scenes):
        alone = pysim.load_scene(path, {key: values[k] for key, values in worlds.items()})
        assert_same_bits(scene, alone)
        assert scene.model.spec.keyframes[1].q["hinge"][0] == worlds["joint.hinge.start.q"][k]


def test_expressions_follow_the_parameters_of_a_world(tmp_path: Path) -> None:
    text = PENDULUM.read_text("utf-8").replace("density = 2700", 'density = "= 2000 * scale"')
    path = tmp_path / "scaled.toml"
    path.write_text(f"parameters = {{ scale = 1.0, twice = '= 2 * scale' }}\n{text}", "utf-8")
    overrides = {"parameters.scale": [1.0, 1.25, 2.0]}
    scenes = pysim.load_scenes(path, overrides)
    for k, scene in enumerate(scenes):
        own = {"parameters.scale": overrides["parameters.scale"][k]}
        assert_same_bits(scene, pysim.load_scene(path, own))
    masses = [scene.model.total_mass for scene in scenes]
    np.testing.assert_allclose(masses, masses[0] * np.array([1, 1.25, 2]), rtol=1e-14)


@pytest.mark.parametrize(
    ("key", "values", "world"),
    [
        ("body[0].shape.density", [250.0, 260.0, -1.0], 2),  # found while reading
        ("joint[0].stiffness", [40.0, float("nan"), 41.0], 1),
        ("joint[0].stiffness", [40.0, 41.0, "stiff"], 2),
    ],
)
def test_an_invalid_world_has_the_error_of_load_scene(
    key: str, values: list[Any], world: int
) -> None:
    with pytest.raises(PysimError) as alone:
        pysim.load_scene(SPRING, {key: values[world]})
    with pytest.raises(type(alone.value)) as together:
        pysim.load_scenes(SPRING, {key: values})
    assert str(together.value) == f"world {world}: {alone.value}"


@pytest.mark.parametrize("name", ["scale", "twice"])
def test_a_parameter_beyond_all_units_is_an_error_in_any_world(name: str, tmp_path: Path) -> None:
    """So is one that depends on it, though the density in which it occurs is as before."""
    text = PENDULUM.read_text("utf-8").replace(
        "density = 2700", f'density = "= 2700 * {name} / {name}"'
    )
    path = tmp_path / "scaled.toml"
    path.write_text(f"parameters = {{ scale = 1.0, twice = '= 2 * scale' }}\n{text}", "utf-8")
    with pytest.raises(PysimError) as alone:
        pysim.load_scene(path, {"parameters.scale": 0.9e30})
    assert "parameters.twice: is beyond 1e+30, got 1.8e+30" in str(alone.value)
    with pytest.raises(type(alone.value)) as together:
        pysim.load_scenes(path, {"parameters.scale": [1.0, 2.0, 0.9e30]})
    assert str(together.value) == f"world 2: {alone.value}"


MASSLESS = """
[[body]]
name = "b"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "turn"
type = "revolute"
child = "b"
"""


def test_an_error_of_the_deferred_checks_comes_before_those_of_later_worlds(
    tmp_path: Path,
) -> None:
    """World 1 turns a point mass about an axis through it, which is only seen in the compiled model."""
    path = tmp_path / "point.toml"
    path.write_text(MASSLESS, "utf-8")
    key = "body.b.inertia.zz"
    with pytest.raises(PysimError) as alone:
        pysim.load_scene(path, {"body.b.inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.0}})
    assert "moves no inertia" in str(alone.value)
    with pytest.raises(type(alone.value)) as together:
        pysim.load_scenes(path, {key: [0.1, 0.0, -1.0]})
    assert str(together.value) == f"world 1: {alone.value}"


STOPPED = """
[[body]]
name = "b"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "turn"
type = "revolute"
child = "b"
limits = { lower = -1.0, upper = 1.0 }
[[event]]
name = "at the stop"
joint = "turn"
at = "upper"
[[event]]
name = "below"
joint = "turn"
at = -0.5
[simulation]
integrator = "dopri5"
"""


def test_an_event_at_a_limit_follows_the_limit_of_its_world(tmp_path: Path) -> None:
    path = tmp_path / "stopped.toml"
    path.write_text(STOPPED, "utf-8")
    upper = [1.0, 1.5, 2.0]
    scenes = pysim.load_scenes(path, {"joint.turn.limits.upper": upper})
    assert [[event.offset for event in scene.spec.events] for scene in scenes] == [
        [limit, -0.5] for limit in upper
    ]
    for limit, scene in zip(upper, scenes, strict=True):
        assert_same_bits(scene, pysim.load_scene(path, {"joint.turn.limits.upper": limit}))


@pytest.mark.parametrize(
    ("key", "values", "warned"),
    [
        ("joint.turn.limits.upper", [1.0, 90.0], "90 [rad] exceeds four full turns"),
        ("joint.turn.start", [0.5, 30.0], "30 [rad] exceeds four full turns"),
        ("joint.turn.limits.stiffness", [1e3, 2e3], ""),  # no angle, though it is one of limits
    ],
)
def test_angles_that_look_like_degrees_are_warned_of_in_later_worlds(
    key: str, values: list[float], warned: str, tmp_path: Path
) -> None:
    path = tmp_path / "stopped.toml"
    text = STOPPED.replace("upper = 1.0 }", "upper = 1.0, stiffness = 1e3 }\nstart = 0.1")
    path.write_text(text, "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pysim.load_scenes(path, {key: values})
    texts = [str(warning.message) for warning in caught]
    assert any(warned in text for text in texts) if warned else not texts


def test_a_prescribed_force_acts_once_in_a_world_whose_joint_bounds_it(tmp_path: Path) -> None:
    """An effort limit of 0 is none; with another one, the force is a signal, which the limit bounds."""
    path = tmp_path / "driven.toml"
    text = STOPPED.replace("[[event]]", '[[actuator]]\njoint = "turn"\noffset = 1.0\n[[event]]', 1)
    path.write_text(text, "utf-8")
    key, limits = "joint.turn.effort_limit", [0.0, 2.0, 0.0]
    scenes = pysim.load_scenes(path, {key: limits})
    for limit, scene in zip(limits, scenes, strict=True):
        assert_same_bits(scene, pysim.load_scene(path, {key: limit}))
    assert [float(scene.actuation.offset[0]) for scene in scenes] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("gravity", [[0, 0, -9.81], [0, -2000.0, 0]]),
        ("joint.turn.effort_limit", [100.0, 300.0]),
        ("actuator[0].offset", [100.0, 300.0]),
    ],
)
def test_default_stops_carry_the_loads_of_a_world(
    key: str, values: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "stopped.toml"
    text = STOPPED.replace("mass = 1.0", "mass = 5.0\ncom = [0.3, 0, 0]")
    text += 'step = 1e-4\n[[actuator]]\njoint = "turn"\noffset = 1000.0\n'
    path.write_text(text.replace('child = "b"', 'child = "b"\neffort_limit = 1000.0'), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenes = pysim.load_scenes(path, {key: values})
        for value, scene in zip(values, scenes, strict=True):
            assert_same_bits(scene, pysim.load_scene(path, {key: value}))
    stops = [scene.model.joints[0].stop_stiffness[0] for scene in scenes]
    assert stops[1] > stops[0]


FOLLOWER = """
[[body]]
name = "c"
mass = 0.5
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "follows"
type = "revolute"
parent = "b"
child = "c"
at = { xyz = [0.1, 0, 0] }
mimic = { joint = "turn", ratio = -2.0, offset = 0.1 }
"""


@pytest.mark.parametrize("key", ["damping", "at.xyz[0]", "mimic.ratio"])
def test_a_joint_with_other_numbers_follows_its_leader(key: str, tmp_path: Path) -> None:
    path = tmp_path / "follower.toml"
    path.write_text(MASSLESS + FOLLOWER + "damping = 0.1\n", "utf-8")
    overrides = {f"joint.follows.{key}": [0.1, 0.2, 0.3], "body.c.mass": [0.5, 0.6, 0.7]}
    scenes = pysim.load_scenes(path, overrides)
    for k, scene in enumerate(scenes):
        own = {name: values[k] for name, values in overrides.items()}
        assert_same_bits(scene, pysim.load_scene(path, own))
        assert scene.model.nv == 1


MEASURED = """
[[sensor]]
name = "power"
type = "power"
element = "brake"
[[sensor]]
name = "mount"
type = "force_torque"
joint = "glued"
[[force]]
name = "brake"
type = "coordinate_spring"
coordinates = ["turn"]
stiffness = 3.0
[[body]]
name = "tool"
mass = 0.3
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "glued"
type = "fixed"
parent = "b"
child = "tool"
at = { xyz = [0.1, 0, 0.2] }
"""


def test_programs_of_signals_that_read_masses_are_those_of_each_world(tmp_path: Path) -> None:
    path = tmp_path / "measured.toml"
    path.write_text(MASSLESS + "damping = 0.1\n" + MEASURED, "utf-8")
    masses = [0.3, 0.4, 0.5]
    scenes = pysim.load_scenes(path, {"body.tool.mass": masses})
    for mass, scene in zip(masses, scenes, strict=True):
        assert_same_bits(scene, pysim.load_scene(path, {"body.tool.mass": mass}))


def test_attached_robots_of_other_masses_have_the_programs_of_load_scene() -> None:
    path = SPRING.parent / "environments" / "go1.toml"
    keys = {"model[0].body.trunk.mass": [4.0, 5.0], "materials.default.friction": [0.6, 0.9]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scenes = pysim.load_scenes(path, keys)
        for k, scene in enumerate(scenes):
            own = {name: values[k] for name, values in keys.items()}
            assert_same_bits(scene, pysim.load_scene(path, own))
    assert scenes[1].signals is scenes[0].signals


def test_copies_of_a_model_have_the_numbers_of_its_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are changed in place; a start of the model is read in full."""
    path = tmp_path / "copies.toml"
    body = "{ mass = 2.0, com = [0, 0, -0.1], inertia = { xx = 0.1, yy = 0.1, zz = 0.1 } }"
    text = f"""
[[model]]
file = "pendulum.toml"
name = "p"
count = 2
offset = {{ xyz = [0.5, 0, 0] }}
body.upper = {body}
joint.elbow = {{ damping = 0.1, limits = {{ lower = -1.0, upper = 1.0 }} }}
start.elbow = 0.2
"""
    path.write_text(text, "utf-8")
    (tmp_path / "pendulum.toml").write_text(PENDULUM.read_text("utf-8"), "utf-8")
    count, read = [0], reader.read_tables

    def counted(*arguments: Any, **keys: Any) -> Any:
        count[0] += 1
        return read(*arguments, **keys)

    monkeypatch.setattr(world_specs, "read_tables", counted)
    keys = {
        "model[0].body.upper.mass": [2.0, 2.5],
        "model[0].body.upper.com[0]": [0.0, 0.01],
        "model[0].joint.elbow.damping": [0.1, 0.3],
        "model[0].joint.elbow.limits.upper": [1.0, 0.9],
    }
    for more, full in (({}, 1), ({"model[0].start.elbow": [0.2, 0.3]}, 2)):
        count[0], overrides = 0, keys | more
        scenes = pysim.load_scenes(path, overrides)
        assert count[0] == full
        for k, scene in enumerate(scenes):
            own = {name: values[k] for name, values in overrides.items()}
            assert_same_bits(scene, pysim.load_scene(path, own))
    assert scenes[1].model.total_mass - scenes[0].model.total_mass == pytest.approx(1.0)


def test_faces_that_are_covered_are_those_of_each_world() -> None:
    """Two boxes of a body cover each other's faces, which friction does not change."""
    builder = pysim.SceneBuilder("planks")
    plank = {"box": [0.5, 0.5, 0.1], "density": 500.0}
    builder.body("planks", shape=[plank, plank | {"at": {"xyz": [0.5, 0, 0]}}], collision=True)
    builder.joint("free", "free", child="planks", start={"xyz": [0, 0, 0.1]})
    builder.ground()
    builder.material("default", friction=0.5)
    builder.simulation(integrator="convex", duration=0.05)
    with tempfile.TemporaryDirectory() as folder:
        path = builder.save(Path(folder) / "planks.toml")
        keys = {"materials.default.friction": [0.5, 0.7]}
        scenes = pysim.load_scenes(path, keys)
        alone = [pysim.load_scene(path, {name: x[k] for name, x in keys.items()}) for k in (0, 1)]
    for scene, own in zip(scenes, alone, strict=True):
        assert scene.contacts is not None
        assert own.contacts is not None
        assert sum(map(len, own.contacts.covered)) == 2
        assert_same_bits(scene.contacts.covered, own.contacts.covered)
        one, other = (numbers_of(each) for each in (scene, own))
        assert_same_bits(one.numbers, other.numbers)
        assert one.shared == other.shared
        runs = [pysim.simulate(each) for each in (scene, own)]
        assert_same_bits(runs[0].q, runs[1].q)


GEARS = """
[[body]]
name = "a"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body]]
name = "b"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "pinion"
type = "revolute"
child = "a"
[[joint]]
name = "wheel"
type = "revolute"
axis = [0, 0, 1]
child = "b"
at = { xyz = [0.3, 0, 0] }
[[coupling]]
name = "mesh"
joint = "wheel"
teeth = { pinion = 20, wheel = 40 }
module = 0.01
"""


def test_ratios_of_gears_follow_the_axes_of_each_world(tmp_path: Path) -> None:
    path = tmp_path / "gears.toml"
    path.write_text(GEARS, "utf-8")
    axes = [[0, 0, 1], [0, 0, -1]]
    for axis, scene in zip(axes, pysim.load_scenes(path, {"joint.wheel.axis": axes}), strict=True):
        assert_same_bits(scene, pysim.load_scene(path, {"joint.wheel.axis": axis}))
    with pytest.raises(PysimError, match=r"world 1.* need axes 0\.3 m apart, and they are 0\.4 m"):
        pysim.load_scenes(path, {"joint.wheel.at.xyz": [[0.3, 0, 0], [0.4, 0, 0]]})
