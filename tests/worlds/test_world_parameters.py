"""Numbers that differ from world to world: `Worlds.parameters`.

Oracles: scenes that `load_scenes` reads with the same numbers, stepped alone; all numbers of the engine in a scene that
is compiled with the numbers; worlds of other batches, bit by bit.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.errors import SimulationError
from pysim.typing import Array
from pysim.worlds.parameters.parameter_paths import ParameterPaths
from tests.elements.blocks import table

SCENES = Path(__file__).parents[2] / "scenes"
pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")

CRATE = """
gravity = [0.0, 0.0, -9.81]
[simulation]
step = 2e-3
duration = 1.0
[[body]]
name = "crate"
mass = 2.0
com = [0.01, 0.0, 0.02]
inertia = { xx = 0.02, yy = 0.03, zz = 0.04 }
[[body.collision]]
box = [0.2, 0.2, 0.2]
material = "wood"
[[body]]
name = "arm"
mass = 0.5
com = [0.0, 0.0, 0.1]
inertia = { xx = 0.002, yy = 0.002, zz = 0.001 }
[[joint]]
name = "base"
type = "free"
child = "crate"
start = { xyz = [0.0, 0.0, 0.11], v = [0.5, 0.0, 0.0, 0.0, 0.0, 0.0] }
[[joint]]
name = "elbow"
type = "revolute"
axis = [0, 1, 0]
parent = "crate"
child = "arm"
at = { xyz = [0.0, 0.0, 0.1] }
start = 0.4
damping = 0.05
stiffness = 2.0
friction = 0.02
friction_width = 0.01
armature = 0.001
limits = { lower = -0.2, upper = 0.5, stiffness = 300.0, damping = 1.0 }
[materials.wood]
friction = 0.5
sink = 1e-4
restitution = { value = 0.3, at = 1.0 }
[materials.floor]
friction = 0.6
stiffness = 2e5
rolling = 1e-3
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
material = "floor"
"""
TILTED = CRATE.replace("axis = [0, 1, 0]", "axis = [0.3, 1, 0.2]")  # inertias are turned
NUMBERS = {
    "body.crate.mass": (1.0, 4.0),
    "body.arm.mass": (0.3, 0.8),
    "body.crate.com": (-0.01, 0.02),
    "body.arm.com": (-0.02, 0.03),
    "joint.elbow.damping": (0.0, 0.1),
    "joint.elbow.stiffness": (0.0, 4.0),
    "joint.elbow.friction": (0.01, 0.1),
    "joint.elbow.armature": (1e-4, 1e-2),
    "joint.elbow.limits.lower": (-0.3, -0.1),
    "joint.elbow.limits.upper": (0.4, 0.6),
    "joint.elbow.limits.stiffness": (100.0, 500.0),
    "joint.elbow.rest": (-0.1, 0.1),
    "materials.wood.friction": (0.2, 0.9),
    "materials.wood.sink": (5e-5, 3e-4),
    "materials.wood.restitution.value": (0.0, 0.6),
    "materials.floor.stiffness": (5e4, 5e5),
    "materials.floor.rolling": (1e-4, 5e-3),
    "gravity": (-0.5, 0.5),
}


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    path = tmp_path / "crate.toml"
    path.write_text(CRATE, "utf-8")
    return path


def drawn(worlds: pysim.Worlds, rng: np.random.Generator) -> dict[str, Array]:
    """Write random numbers to all worlds, and return them."""
    found = {}
    for path, (low, high) in NUMBERS.items():
        own = worlds.parameters[path]
        own[:] = rng.uniform(low, high, own.shape)
        if path == "gravity":
            own[:, 2] -= 9.81
        found[path] = own.copy()
    return found


def test_worlds_equal_scenes_that_are_loaded_with_their_numbers(
    crate: Path, rng: np.random.Generator
) -> None:
    worlds = pysim.Worlds(pysim.load_scene(crate), 11)  # a pack and three worlds
    values = drawn(worlds, rng)

    worlds.step(steps=150)

    scenes = pysim.load_scenes(crate, values)
    for k in (0, 5, 7, 8, 10):
        alone = pysim.Worlds(scenes[k])
        alone.step(steps=150)
        # θ and laws of all worlds are computed at once, in another order of products than that of one scene.
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(worlds.v[k], alone.v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint", "variational", "semi_implicit"])
def test_worlds_of_schemes_without_contacts_equal_loaded_scenes(
    integrator: str, rng: np.random.Generator
) -> None:
    path = SCENES / "double_pendulum.toml"
    scene = pysim.load_scene(path, {"simulation.integrator": integrator, "simulation.step": 1e-3})
    worlds = pysim.Worlds(scene, 11)
    name = scene.model.body_names[0]
    mass = worlds.parameters[f"body.{name}.mass"]
    mass[:] *= rng.uniform(0.5, 2.0, 11)
    damping = worlds.parameters[f"joint.{scene.model.joint_names[0]}.damping"]
    damping[:] = rng.uniform(0.0, 0.3, 11)
    worlds.parameters["gravity"][:] *= rng.uniform(0.5, 1.5, (11, 1))

    worlds.step(steps=100)

    for k in (0, 7, 8, 10):
        alone = pysim.Worlds(worlds.scene(k))
        alone.reset(q=scene.state.q, v=scene.state.v)
        alone.step(steps=100)
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(worlds.v[k], alone.v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["anymal_pushed", "gripper", "double_pendulum", "bricard"])
def test_all_numbers_of_the_engine_are_those_of_the_compiled_scene(
    name: str, rng: np.random.Generator
) -> None:
    worlds = pysim.Worlds(pysim.load_scene(SCENES / f"{name}.toml", allow_code=True), 2)
    parameters = worlds.parameters
    for path in parameters:
        own = parameters[path]
        if path == "gravity":
            own[1] *= 1.1
        elif path.endswith("com"):
            own[1] += rng.uniform(-1e-3, 1e-3, 3)
        else:
            own[1] *= rng.uniform(1.01, 1.1)

    parameters.accept()

    scene = worlds.scene(1)
    contacts = None if scene.contacts is None else scene.contacts.engine
    wanted, _, _ = _engine.model_numbers(scene.model, contacts)
    found = parameters.engine_numbers(1)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-16)


def test_a_world_is_the_same_whatever_its_neighbours_are(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "crate.toml"
    path.write_text(TILTED, "utf-8")
    scene = pysim.load_scene(path)
    many = pysim.Worlds(scene, 19)
    values = drawn(many, rng)
    many.step(steps=100)

    order = rng.permutation(19)[:9]
    some = pysim.Worlds(scene, 9)
    for name, own in values.items():
        some.parameters[name][:] = own[order]
    some.step(steps=37)
    some.step(steps=63)

    np.testing.assert_array_equal(some.q, many.q[order])
    np.testing.assert_array_equal(some.v, many.v[order])
    for k in range(19):
        alone = pysim.Worlds(scene)
        for name, own in values.items():
            alone.parameters[name] = own[k]
        numbers = many.parameters.engine_numbers(k)
        np.testing.assert_array_equal(alone.parameters.engine_numbers(0), numbers)


def engine_numbers(scene: pysim.Scene, read: list[str], write: str) -> Array:
    """Return the engine's numbers of one world after some were read, and one was written and written back."""
    worlds = pysim.Worlds(scene)
    numbers = {path: worlds.parameters[path] for path in read}
    value = worlds.parameters[write].copy()
    worlds.parameters[write] = 1.1 * value
    worlds.parameters.accept()
    worlds.parameters[write] = value
    assert numbers.keys() == set(read)
    return worlds.parameters.engine_numbers(0)


def test_a_number_that_is_read_is_not_written(tmp_path: Path) -> None:
    """`friction` is that of both, and reads as the static one where the dynamic one is another."""
    path = tmp_path / "crate.toml"
    path.write_text(CRATE.replace("friction = 0.5", "friction = { static = 0.5, dynamic = 0.3 }"))
    scene = pysim.load_scene(path)
    read = ["materials.wood.friction", "materials.wood.friction.static"]
    for write in ("body.crate.mass", "gravity", "materials.floor.stiffness"):
        np.testing.assert_array_equal(
            engine_numbers(scene, read, write), engine_numbers(scene, [], write)
        )
    worlds = pysim.Worlds(scene, 2)
    for name in read:
        assert (worlds.parameters[name] == 0.5).all()
    worlds.parameters[read[0]][0] = 0.4
    frictions = []
    for k in range(2):
        contacts = worlds.scene(k).spec.model.contacts
        assert contacts is not None
        wood = contacts.materials["wood"]
        frictions.append((wood.static_friction, wood.dynamic_friction))
    assert frictions == [(0.4, 0.4), (0.5, 0.3)]


def test_fields_that_are_opened_change_no_other_number(tmp_path: Path) -> None:
    """Once a program has a number for a field, all other numbers of the engine are the same to the bit."""
    path = tmp_path / "crate.toml"
    spring = '[[force]]\nname = "spring"\ntype = "spring"\nb = "crate"\nstiffness = 5.0\n'
    path.write_text(TILTED.replace("[materials.wood]", spring + "[materials.wood]"), "utf-8")
    scene = pysim.load_scene(path)
    worlds = pysim.Worlds(scene, 2)
    worlds.parameters["body.crate.com"][1] = [0.02, 0.01, 0.0]
    worlds.step(steps=20)
    same = pysim.Worlds(scene, 2)
    same.load(worlds.save())
    for name in ("body.crate.mass", "body.arm.inertia", "materials.wood.friction", "gravity"):
        assert worlds.parameters[name].size
    worlds.parameters.open(["force.spring.stiffness"])
    for own in (worlds, same):
        own.step(steps=50)
    np.testing.assert_array_equal(worlds.q, same.q)
    np.testing.assert_array_equal(worlds.v, same.v)


def test_the_rotor_of_a_motor_adds_to_the_armature_of_its_joint(tmp_path: Path) -> None:
    """Oracle: the armature that is written, plus N² times the rotor's inertia."""
    motor = {"resistance": 1.0, "inductance": 0.01, "constant": 0.04, "rotor_inertia": 5e-4}
    text = table("signal", name="voltage", type="input", unit="V")
    keys = {"joint": "elbow", "command": "voltage", "gear": 5.0}
    text += table("actuator", name="motor", type="dc_motor", **keys, **motor)
    path = tmp_path / "crate.toml"
    path.write_text(CRATE.replace("[materials.wood]", text + "[materials.wood]"), "utf-8")
    scene = pysim.load_scene(path)
    gear, armature = "actuator.motor.gear", "joint.elbow.armature"

    def check(worlds: pysim.Worlds) -> None:
        worlds.parameters.accept()
        place = worlds.parameters.numbers.table("armature").place + 6
        for k in range(4):
            wanted = worlds.parameters[armature][k] + worlds.parameters[gear][k] ** 2 * 5e-4
            assert worlds.parameters.engine_numbers(k)[place] == pytest.approx(wanted, rel=1e-14)
            own = worlds.scene(k).model.armature
            assert own[-1] == pytest.approx(wanted, rel=1e-14)

    worlds = pysim.Worlds(scene, 4)
    assert worlds.parameters[armature].tolist() == [0.001] * 4
    worlds.parameters[gear][[1, 3]] = [6.0, 7.0]
    worlds.parameters[armature][[2, 3]] = [0.02, 0.03]
    check(worlds)
    worlds.parameters[armature][:2] = 0.04
    check(worlds)
    worlds.parameters[gear][2] = 4.0
    check(worlds)
    worlds = pysim.Worlds(scene, 4)
    worlds.parameters[armature][1] = 0.04
    worlds.step()
    worlds.parameters.open([gear])
    check(worlds)


@pytest.mark.parametrize("scheme", ["rk4", "convex"])
def test_sensors_read_the_gravity_of_their_world(tmp_path: Path, scheme: str) -> None:
    """An accelerometer in free flight reads 0, whatever gravity is; oracles: scenes that are compiled with it."""
    text = table("body", name="tool", mass=0.4, com=[0.1, 0.0, 0.0])
    text += "inertia = { xx = 0.002, yy = 0.002, zz = 0.001 }\n"
    text += table("joint", name="flange", type="fixed", parent="arm", child="tool")
    text += table("sensor", name="imu", type="imu", frame="arm")
    text += table("sensor", name="up", type="up", frame="arm")
    text += table("sensor", name="wrench", type="force_torque", joint="flange")
    text = CRATE.replace("[materials.wood]", text + "[materials.wood]")
    text = text.replace("step = 2e-3", f'step = 2e-3\nintegrator = "{scheme}"')
    path = tmp_path / "crate.toml"
    path.write_text(text.replace("[0.0, 0.0, 0.11]", "[0.0, 0.0, 1.0]"), "utf-8")
    worlds = pysim.Worlds(pysim.load_scene(path), 3)
    worlds.parameters["gravity"][1:] = [[0.5, 1.0, -5.0], [0.0, 0.0, -3.0]]
    scenes = [worlds.scene(k) for k in range(3)]
    worlds.step(steps=3)
    for k, scene in enumerate(scenes):
        alone = pysim.Worlds(scene)
        alone.step(steps=3)
        for name in ("imu.acceleration", "up", "wrench.force", "wrench.torque"):
            np.testing.assert_allclose(worlds.signals[name][k], alone.signals[name], atol=1e-9)


def test_numbers_count_from_the_next_call_on(crate: Path) -> None:
    worlds = pysim.Worlds(pysim.load_scene(crate), 3)
    worlds.step(steps=20)
    worlds.parameters["body.crate.mass"][1] = 3.0
    worlds.step(steps=20)

    assert (worlds.q[0] == worlds.q[2]).all()
    assert (worlds.q[0] != worlds.q[1]).any()
    worlds.parameters["body.crate.mass"] = 2.0
    worlds.copy(0, [1])
    worlds.step(steps=20)
    np.testing.assert_array_equal(worlds.q[0], worlds.q[1])


def test_a_mass_scales_an_inertia_that_the_scene_does_not_give() -> None:
    worlds = pysim.Worlds(pysim.load_scene(SCENES / "anymal_pushed.toml"), 2)
    worlds.parameters["model.anymal.body.LF_SHANK.mass"][1] *= 2
    bodies = {body.name: body.theta for body in worlds.scene(1).spec.model.bodies}
    start = {body.name: body.theta for body in worlds.scene(0).spec.model.bodies}

    (name,) = (name for name in bodies if name.endswith("LF_SHANK"))
    np.testing.assert_allclose(bodies[name], 2 * start[name], rtol=1e-14)


def test_numbers_are_saved_and_pickled_and_not_copied(
    crate: Path, rng: np.random.Generator
) -> None:
    scene = pysim.load_scene(crate)
    worlds = pysim.Worlds(scene, 9)
    values = drawn(worlds, rng)
    worlds.step(steps=30)
    saved = worlds.save()
    again = pickle.loads(pickle.dumps(worlds))
    reloaded = pysim.Worlds(scene, 9)
    reloaded.parameters["joint.elbow.damping"][:] = 1.0
    reloaded.load(saved)
    worlds.step(steps=30)
    for own in (again, reloaded):
        own.step(steps=30)
        np.testing.assert_array_equal(own.q, worlds.q)
        for path, numbers in values.items():
            np.testing.assert_array_equal(own.parameters[path], numbers)

    worlds.copy([0], [1])
    assert worlds.parameters["body.crate.mass"][1] == values["body.crate.mass"][1]
    plain = pysim.Worlds(scene, 9)
    plain.step(steps=5)
    reloaded.load(plain.save())
    assert (reloaded.parameters["body.crate.mass"] == 2.0).all()


def test_a_sampled_controller_begins_with_the_numbers_of_its_world(tmp_path: Path) -> None:
    path = tmp_path / "held.toml"
    path.write_text(HELD, "utf-8")
    worlds = pysim.Worlds(pysim.load_scene(path), 3, observe=["probe.acceleration"])
    worlds.parameters["body.rod.mass"][:] = [1.0, 2.0, 3.0]
    worlds.parameters["controller.weight.share"][:] = [0.5, 0.25, 0.75]

    worlds.step(seconds=0.1)

    for k, (mass, share) in enumerate(((1.0, 0.5), (2.0, 0.25), (3.0, 0.75))):
        given = {"body.rod.mass": mass, "controller.weight.share": share}
        alone = pysim.Worlds(pysim.load_scene(path, given))
        alone.step(seconds=0.1)
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(
            worlds.signals["probe.acceleration"][k], alone.signals["probe.acceleration"], rtol=1e-10
        )


def test_a_written_world_begins_no_signals_of_other_worlds(tmp_path: Path) -> None:
    path = tmp_path / "held.toml"
    path.write_text(HELD, "utf-8")
    scene = pysim.load_scene(path)
    worlds, other = pysim.Worlds(scene, 2), pysim.Worlds(scene, 2)
    for own in (worlds, other):
        own.q[:] += 0.3  # the controller has run, and reads them at its next instant
    worlds.parameters["controller.weight.share"][0] = 0.25
    for own in (worlds, other):
        own.step(seconds=0.03)
    np.testing.assert_array_equal(worlds.q[1], other.q[1])
    assert worlds.q[0] != other.q[0]


HELD = """
gravity = [0.0, 0.0, -9.81]
[simulation]
step = 1e-3
integrator = "rk4"
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
start = 0.5
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
[[sensor]]
name = "probe"
type = "imu"
frame = "rod"
[[controller]]
name = "weight"
type = "gravity_compensation"
share = 0.5
period = 0.02
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "weight.hinge"
"""


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            "body.crate.mass",
            -1.0,
            "parameters: body.crate.mass: is -1.0 in world 1; give a positive number",
        ),
        ("joint.elbow.damping", np.nan, "is nan in world 1; give a finite number"),
        ("joint.elbow.friction", 0.0, "the scene decides whether a joint has friction"),
        ("materials.floor.stiffness", 0.0, "give a positive number"),
    ],
)
def test_numbers_that_a_key_does_not_allow_are_rejected_with_their_world(
    crate: Path, path: str, value: float, message: str
) -> None:
    worlds = pysim.Worlds(pysim.load_scene(crate), 3)
    worlds.parameters[path][1] = value
    with pytest.raises(SimulationError, match=re.escape(message)):
        worlds.step()
    worlds.step()  # the number before it holds again


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("body.create.mass", "nothing is named 'create'; did you mean 'crate'?"),
        ("body.crate.colour", "those of a body are mass, com and inertia"),
        ("joint.elbow.axis", "'axis' is not a number in which worlds can differ; known: armature"),
        ("simulation.step", "is the same in all worlds"),
        ("materials.wood.dissipation", "the scene gives no dissipation"),
        ("gravity[2]", 'write worlds.parameters["gravity"][:, 2]'),
        ("render.title", "is the same in all worlds"),
    ],
)
def test_paths_in_which_worlds_cannot_differ_are_rejected(
    crate: Path, path: str, message: str
) -> None:
    worlds = pysim.Worlds(pysim.load_scene(crate), 3)
    with pytest.raises(SimulationError, match=re.escape(message)):
        worlds.parameters[path]


def test_one_world_has_numbers_without_an_axis(crate: Path) -> None:
    world = pysim.Worlds(pysim.load_scene(crate))
    assert float(world.parameters["body.crate.mass"]) == 2.0
    world.parameters["body.crate.mass"] = 3.0
    world.parameters["gravity"][2] = -1.6
    world.step(steps=5)
    scene = world.scene()
    assert scene.model.gravity[2] == -1.6
    assert scene.model.total_mass == pytest.approx(3.5)


def test_a_lost_world_is_reported_by_its_own_numbers(crate: Path) -> None:
    worlds: Any = pysim.Worlds(pysim.load_scene(crate), 2)
    worlds.parameters["joint.elbow.damping"][1] = 0.2
    worlds.q[1, 0] = np.nan
    worlds.step()
    assert "q was set to nan" in worlds.reason(1)


@pytest.mark.parametrize("count", [3, 11])
def test_gains_are_numbers_of_worlds(tmp_path: Path, rng: np.random.Generator, count: int) -> None:
    path = tmp_path / "servo.toml"
    path.write_text(SERVO, "utf-8")
    worlds = pysim.Worlds(pysim.load_scene(path), count)
    values = {
        "controller.pd.kp": rng.uniform(10, 30, count),
        "controller.pd.kd": rng.uniform(0, 3, count),  # 0 in the scene
        "force.band.stiffness": rng.uniform(1, 9, count),
    }
    for name, own in values.items():
        worlds.parameters[name][:] = own

    worlds.step(seconds=0.3)

    for k in (0, count - 1):
        given = {name: own[k] for name, own in values.items()}
        alone = pysim.Worlds(pysim.load_scene(path, given))
        alone.step(seconds=0.3)
        # A gain that the scene has is a constant of its programs; there, constants are folded.
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(worlds.v[k], alone.v, rtol=1e-11, atol=1e-12)
    assert worlds.scene(1).spec.blocks[-2].parameters["kp"] == values["controller.pd.kp"][1]


@pytest.mark.parametrize("scheme", ["rk4", "convex"])
def test_signals_of_worlds_that_differ_are_those_of_each_world_alone(
    tmp_path: Path, rng: np.random.Generator, scheme: str
) -> None:
    path = tmp_path / "servo.toml"
    imu = '[[sensor]]\nname = "imu"\ntype = "imu"\nframe = "tip"\n'
    material = (
        "[materials.default]\nfriction = 0.5\n"  # contacts have numbers behind those of the model
    )
    ball = "[[body.collision]]\nsphere = { radius = 0.05 }\nat = { xyz = [0, 0, -0.5] }\n"
    floor = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -1.0 }\n"
    text = SERVO.replace('"rk4"', f'"{scheme}"') + imu
    if scheme == "convex":
        text = text.replace("[[joint]]", ball + "[[joint]]", 1) + material + floor
    path.write_text(text, "utf-8")
    worlds = pysim.Worlds(path, 19, threads=2)
    values = {"controller.pd.kp": (10.0, 30.0), "body.rod.mass": (1.0, 2.0), "gravity": (-9.0, 9.0)}
    if scheme == "convex":
        values["materials.default.friction"] = (0.3, 0.9)
    for name, (low, high) in values.items():
        worlds.parameters[name][:] = rng.uniform(low, high, worlds.parameters[name].shape)
    worlds.step(seconds=0.1)

    everything = worlds.signals.rows().copy()

    assert "imu.acceleration" in worlds.signals
    for k in (0, 7, 8, 18):
        row = worlds.signals.rows(np.array([k]))
        np.testing.assert_array_equal(row[0], everything[k])
    fresh = pysim.Worlds(path, 19)
    fresh.load(worlds.save())
    names = ["pd", "angle.q"]
    partly = fresh.signals.rows(names=names)
    for name in names:
        place = fresh.signals.columns(name)
        np.testing.assert_array_equal(partly[:, place], everything[:, place])
    np.testing.assert_array_equal(fresh.signals.rows(), everything)


SERVO = """
[simulation]
step = 1e-3
integrator = "rk4"
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
start = 0.2
[[frame]]
name = "hook"
body = "world"
at = { xyz = [0.3, 0, -0.5] }
[[frame]]
name = "tip"
body = "rod"
at = { xyz = [0, 0, -0.5] }
[[force]]
name = "band"
type = "spring"
a = "hook"
b = "tip"
stiffness = 5.0
damping = 0.1
length = 0.1
[[signal]]
name = "target"
type = "sine"
amplitude = 0.3
frequency = 3.0
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
[[controller]]
name = "pd"
type = "pd"
inputs = ["target", "angle.q", "angle.v"]
kp = 20.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "pd"
"""


def test_a_field_that_python_computes_with_is_that_of_a_scene_compiled_for_its_world(
    tmp_path: Path,
) -> None:
    """Coefficients of a spline are solved for in Python."""
    path = tmp_path / "servo.toml"
    text = SERVO.replace('type = "sine"', 'type = "spline"').replace(
        "amplitude = 0.3\nfrequency = 3.0", "t = [0.0, 0.5, 20.0]\nvalues = [0.0, 0.3, 0.1]"
    )
    path.write_text(text, "utf-8")
    worlds = pysim.Worlds(pysim.load_scene(path), 3)
    times, gains = [0.5, 0.6, 0.5], [20.0, 21.0, 22.0]
    worlds.parameters["signal.target.t"][:, 1] = times
    worlds.parameters["controller.pd.kp"][:] = gains
    worlds.step(seconds=0.3)
    for k in range(3):
        given = {"signal.target.t": [0.0, times[k], 20.0], "controller.pd.kp": gains[k]}
        alone = pysim.Worlds(pysim.load_scene(path, given))
        alone.step(seconds=0.3)
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-12, atol=1e-13)
    worlds.parameters["signal.target.t"][1, 1] = 0.5  # that of the scene again
    worlds.parameters["controller.pd.kp"][:] = 20.0
    worlds.reset()
    worlds.step(seconds=0.3)
    assert len({row.tobytes() for row in worlds.q}) == 1


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("actuator.motor.initial_activation", "is the start of a state or an input"),
        ("controller.pilot.spins", "changes? what worlds share"),
    ],
)
def test_fields_that_change_the_structure_or_a_start_are_rejected(
    tmp_path: Path, path: str, problem: str
) -> None:
    text = SERVO.replace(
        'type = "force"\njoint',
        'type = "affine_filter"\ntime_constant = 0.1\ninitial_activation = 0.1\njoint',
    )
    (tmp_path / "servo.toml").write_text(text, "utf-8")
    file = tmp_path / "servo.toml" if "motor" in path else SCENES / "quadrotor.toml"
    worlds = pysim.Worlds(pysim.load_scene(file), 2)
    worlds.parameters[path][1] *= 0.9
    with pytest.raises(SimulationError, match=f"{problem}.*load scenes"):
        worlds.step()
    worlds.step()


def test_scenes_alike_in_structure_are_worlds(crate: Path, rng: np.random.Generator) -> None:
    numbers = {
        "body.crate.mass": rng.uniform(1, 4, 11),
        "joint.elbow.friction": rng.uniform(0.01, 0.1, 11),
        "materials.wood.friction": rng.uniform(0.2, 0.9, 11),
        "joint.elbow.start": rng.uniform(0.1, 0.4, 11),
    }
    scenes = pysim.load_scenes(crate, numbers)

    worlds = pysim.Worlds(scenes)

    np.testing.assert_array_equal(worlds.parameters["body.crate.mass"], numbers["body.crate.mass"])
    worlds.step(steps=100)
    for k in (0, 7, 10):
        alone = pysim.Worlds(scenes[k])
        alone.step(steps=100)
        np.testing.assert_allclose(worlds.q[k], alone.q, rtol=1e-10, atol=1e-11)
    again = pickle.loads(pickle.dumps(worlds))
    again.reset(where=[3])
    np.testing.assert_array_equal(again.q[3], scenes[3].state.q)


def test_scenes_that_differ_in_other_numbers_are_rejected(crate: Path) -> None:
    scenes = [pysim.load_scene(crate), pysim.load_scene(crate, {"joint.elbow.axis": [1, 0, 0]})]
    with pytest.raises(SimulationError, match=r"scene\[1\]: differs from scene\[0\] in"):
        pysim.Worlds(scenes)


def test_surfaces_are_numbers_of_convex_steps_alone(crate: Path) -> None:
    worlds = pysim.Worlds(pysim.load_scene(crate, {"simulation.integrator": "rk4"}), 2)
    with pytest.raises(SimulationError, match='take integrator = "convex"'):
        worlds.parameters["materials.wood.friction"]
    assert not any(path.startswith("materials") for path in worlds.parameters)


@pytest.mark.parametrize("name", ["robot_arm", "gripper", "quarter_car", "anymal_pushed"])
def test_numbers_between_the_bounds_of_a_parameter_are_valid(
    name: str, rng: np.random.Generator
) -> None:
    worlds = pysim.Worlds(SCENES / f"{name}.toml", 1)
    compared = 0
    for path in worlds.parameters:
        parameter = ParameterPaths(worlds.scene()).find(path)
        if parameter.kind == "element":
            continue
        low, high = parameter.bounds
        lowest, highest = (np.clip(x, -1e3, 1e3) for x in (low, high))
        inside = rng.uniform(lowest, highest, (20, len(low)))
        ends = np.array([low, high, np.nextafter(low, np.inf), np.nextafter(high, -np.inf)])
        rows = np.vstack([inside, ends[(ends >= low).all(axis=1) & (ends <= high).all(axis=1)]])
        assert parameter.invalid(rows) is None, path
        assert parameter.invalid(parameter.start[None]) is None
        compared += 1
    assert compared


def test_a_mass_does_not_scale_an_inertia_that_an_override_gives(tmp_path: Path) -> None:
    """Oracle: the scene loaded with both."""
    path = tmp_path / "block.toml"
    path.write_text(
        """
[[body]]
name = "block"
mass = 1.0
shape = { box = [0.2, 0.2, 0.2] }
[[joint]]
name = "free"
type = "free"
child = "block"
""",
        "utf-8",
    )
    inertia = {"body.block.inertia": {"xx": 0.3, "yy": 0.4, "zz": 0.5}}
    worlds = pysim.Worlds(pysim.load_scene(path, inertia), 2)
    worlds.parameters["body.block.mass"][1] = 2.0
    worlds.step(steps=1)
    expected = pysim.load_scene(path, inertia | {"body.block.mass": 2.0}).model
    assert np.array_equal(worlds.scene(1).model.parameters, expected.parameters)


def test_default_stops_of_worlds_are_those_of_the_masses_and_gravity_of_the_scene(
    tmp_path: Path,
) -> None:
    """Oracle: a scene with the mass and gravity of the world, and the stop of the first scene written out."""
    path = tmp_path / "arm.toml"
    path.write_text(
        """
[[body]]
name = "arm"
mass = 1.0
com = [0.5, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
limits = { lower = -0.2, upper = 0.2 }
""",
        "utf-8",
    )
    scene = pysim.load_scene(path)
    worlds = pysim.Worlds(scene, 2)
    worlds.parameters["body.arm.mass"][1] = 3.0
    worlds.parameters["gravity"][1] = [0, 0, -5.0]
    worlds.step(steps=230)
    changes = {"body.arm.mass": 3.0, "gravity": [0, 0, -5.0]}
    joint = scene.spec.model.joints[0]
    stop = {"stiffness": joint.stop_stiffness[0], "damping": joint.stop_damping[0]}
    stops = {f"joint.hinge.limits.{key}": float(x) for key, x in stop.items()}
    alone = pysim.Worlds(pysim.load_scene(path, changes | stops), 1)
    alone.step(steps=230)
    assert worlds.q[1] > 0.2  # at the stop
    assert np.array_equal(worlds.q[1], alone.q[0])
    assert pysim.load_scene(path, changes).spec.model.joints[0].stop_stiffness > stop["stiffness"]


def test_gravity_acts_in_the_planes_of_all_trees(tmp_path: Path) -> None:
    """Two pendulums whose planes differ; each tree moves in a plane of its own."""
    text = '[simulation]\nstep = 1e-3\nintegrator = "rk4"\n'
    for name, axis in (("first", [0, 1, 0]), ("second", [1, 0, 0])):
        inertia = {"xx": 0.1, "yy": 0.1, "zz": 0.01}
        text += table("body", name=name, mass=1.0, com=[0.0, 0.0, -0.5], inertia=inertia)
        joint = f"{name} hinge"
        text += table("joint", name=joint, type="revolute", axis=axis, child=name, start=0.3)
    path = tmp_path / "pendulums.toml"
    path.write_text(text, "utf-8")
    gravity = [1.0, 2.0, -11.0]
    worlds = pysim.Worlds(path, 2)
    worlds.parameters["gravity"][1] = gravity

    worlds.step(seconds=0.1)

    alone = pysim.Worlds(pysim.load_scene(path, {"gravity": gravity}))
    alone.step(seconds=0.1)
    assert alone.model.planar_tree
    np.testing.assert_allclose(worlds.q[1], alone.q, rtol=1e-12)
