"""Conversion of files. The oracle is the mechanism of the source: mass matrix, inverse dynamics, passive forces, poses.

Ten robots go from URDF to a scene and back, eleven models of MuJoCo become scenes, with the same dynamics to 1e-13.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.algorithms import crba, frame_placement, passive_forces, rnea
from pysim.cli import main
from pysim.errors import PysimWarning, SceneError
from pysim.scene import read_model, read_scene
from pysim.scene.convert import convert
from pysim.scene.packages import robots_folder
from pysim.scene.poses import from_rpy, rotation, rpy_of
from pysim.scene.spec import ModelSpec, SceneSpec
from pysim.scene.toml.reader import read_built
from pysim.worlds.accelerations import forces_of_actuators
from pysim.worlds.loading import compile_scene
from tests.nightly import at_night

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene

SCENES = Path(__file__).parents[2] / "scenes"
ROBOTS = (
    "panda_description/urdf/panda",
    "ur_description/urdf/ur5_robot",
    "talos_data/robots/talos_full_v2",
    *at_night(
        "icub_description/robots/icub",
        "romeo_description/urdf/romeo",
        "baxter_description/urdf/baxter",
    ),
    "tiago_description/robots/tiago",
    "kinova_description/robots/kinova",
    "solo_description/robots/solo12",
    "allegro_hand_description/urdf/allegro_left_hand",
)
OWN = (
    "andrews",
    "cam",
    "constant_velocity",
    "differential",
    "five_bar",
    "governor",
    "inclined_rod",
    "knee",
    "quadruped",
    "rolling_disk",
    "screw_spline",
    "stewart_platform",
    "timed_pendulum",
)
GYMNASIUM = (
    "ant",
    "half_cheetah",
    "hopper",
    "humanoid",
    "humanoidstandup",
    "inverted_double_pendulum",
    "inverted_pendulum",
    "pusher_v5",
    "reacher",
    "swimmer",
    "walker2d_v5",
)
HINGE = """[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
"""


def model_of(path: Path) -> pysim.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        if path.suffix == ".toml":
            return pysim.load_scene(path, {"inertia": "nearest"}, allow_code=True).model
        return pysim.load_model(path, inertia="nearest")


def same_dynamics(model: pysim.Model, converted: pysim.Model, tolerance: float = 1e-13) -> None:
    """Relative differences of M and τ, and differences of forces and poses, at a random state."""
    assert model.joint_names == converted.joint_names
    assert set(model.frame_names) == set(converted.frame_names)
    rng = np.random.default_rng(26)
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    for found, expected in (
        (crba(converted, q), crba(model, q)),
        (rnea(converted, q, v, a), rnea(model, q, v, a)),
        (passive_forces(converted, q, v), passive_forces(model, q, v)),
        *(
            (frame_placement(converted, q, f), frame_placement(model, q, f))
            for f in model.frame_names
        ),
    ):
        scale = max(1e-9, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_becomes_a_scene_and_a_robot_again(tmp_path: Path, name: str) -> None:
    folder = robots_folder()
    assert folder is not None
    robot, scene, again = folder / f"robots/{name}.urdf", tmp_path / "r.toml", tmp_path / "r.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        convert(robot, scene, inertia="nearest")
        convert(scene, again, inertia="nearest")
    model = model_of(robot)
    same_dynamics(model, model_of(scene))
    same_dynamics(model, model_of(again))


@pytest.mark.parametrize("name", OWN)
def test_a_scene_is_written_with_all_its_parts(tmp_path: Path, name: str) -> None:
    source, target = SCENES / f"{name}.toml", tmp_path / "written.toml"
    options: dict[str, Any] = {"inertia": "nearest", "allow_code": True, "copy_meshes": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        convert(source, target, **options)
        one, other = (
            pysim.load_scene(path, {"inertia": "nearest"}, allow_code=True)
            for path in (source, target)
        )
    same_dynamics(one.model, other.model)
    assert_same_run(one, other)


def assert_same_run(scene: Scene, converted: Scene) -> None:
    """The start, the settings, drives, events and counts of constraints are equal."""
    np.testing.assert_allclose(converted.state.q, scene.state.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(converted.state.v, scene.state.v, rtol=0, atol=1e-12)
    assert replace(scene.settings, step_file="") == replace(converted.settings, step_file="")
    assert scene.spec.render == converted.spec.render
    assert scene.spec.hold == converted.spec.hold
    for part in ("loops", "couplings", "forces", "frames"):
        names = [[x.name for x in getattr(s.spec.model, part)] for s in (scene, converted)]
        assert names[0] == names[1]
    for key in ("name", "joint", "coordinate", "offset", "amplitude", "frequency", "phase"):
        values = [[getattr(x, key) for x in s.spec.actuators] for s in (scene, converted)]
        assert values[0] == values[1]
    for key in ("name", "joint", "body", "offset", "direction", "stop", "type"):
        values = [[getattr(x, key) for x in s.spec.events] for s in (scene, converted)]
        assert values[0] == values[1]


MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body name="upper" pos="0.1 0.2 1" euler="0.3 -0.2 0.5">
  <joint name="slide" type="slide" axis="1 2 0" stiffness="4" springref="0.7" armature="0.2"/>
  <joint name="turn" axis="0 1 1" pos="0.1 0 0.2" damping="0.3" limited="true" range="-1 2"/>
  <geom type="capsule" fromto="0 0 0 0.3 0.1 0.2" size="0.05" contype="0" conaffinity="0"/>
  <body name="lower" pos="0.3 0.1 0.2" quat="0.9 0.1 0.2 0.3">
    <joint name="ball" type="ball" damping="0.1"/>
    <geom type="box" size="0.1 0.05 0.2" contype="0" conaffinity="0"/>
    <site name="tip" pos="0.2 0 0"/>
  </body>
</body>
<body name="stone" pos="2 0 1"><freejoint name="free"/><geom size="0.1" contype="0" conaffinity="0"/></body>
</worldbody>
<equality><joint joint1="turn" joint2="slide" polycoef="0.1 0.5 0.2 0 0"/></equality>
<keyframe><key name="home" qpos="0.1 0.2 1 0 0 0 0.5 1 2 1 0 0 0"/></keyframe></mujoco>
"""


def test_a_model_of_mujoco_becomes_a_scene_that_starts_at_a_keyframe(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(MJCF, "utf-8")
    convert(tmp_path / "m.xml", tmp_path / "m.toml", keyframe="home")
    model = pysim.load_model(tmp_path / "m.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        scene = pysim.load_scene(tmp_path / "m.toml")
    same_dynamics(model, scene.model)
    assert [c.name for c in scene.spec.model.couplings] == ["equality1"]
    stone = next(joint for joint in scene.spec.model.joints if joint.child == "stone")
    assert stone.start_q.tolist() == [0.5, 1, 2, 0, 0, 0, 1]
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "m.xml", tmp_path / "n.toml", keyframe="hom")
    expected = "--keyframe hom: the file has no such keyframe; did you mean 'home'?"
    assert str(caught.value) == expected


@pytest.mark.parametrize("name", GYMNASIUM)
def test_a_model_of_gymnasium_becomes_a_scene(tmp_path: Path, name: str) -> None:
    """The scene has the same dynamics, and its actuators the same forces at random commands."""
    package = find_spec("gymnasium")
    assert package is not None
    path = Path(str(package.origin)).parent / f"envs/mujoco/assets/{name}.xml"
    target = tmp_path / "written.toml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        convert(path, target)
        model = pysim.load_model(path)
        rng = np.random.default_rng(26)
        sources = [block.name for block in model.spec.blocks if block.kind == "signal"]
        values = {source: float(rng.uniform(-2, 2)) for source in sources}
        commands = [f'"{key.removesuffix("/command")}" = {x!r}' for key, x in values.items()]
        text = f'[[model]]\nfile = "{path.name}"\n[model.command]\n' + "\n".join(commands)
        one = compile_scene(read_built(text, path.parent))
        other = pysim.load_scene(target, {f"signal.{key}.value": x for key, x in values.items()})
    same_dynamics(model, other.model)
    assert_same_run(one, other)
    q, v = model.random_configuration(rng)[None], rng.normal(size=(1, model.nv))
    forces = []
    for scene in (one, other):
        assert scene.signals is not None
        start = np.array(scene.signals.start)[None]
        forces.append(forces_of_actuators(scene, np.zeros(1), q, v, start))
    scale = np.abs(forces[0]).max()
    assert scale > 0.01
    np.testing.assert_allclose(forces[1], forces[0], rtol=0, atol=1e-13 * scale)


def test_contacts_and_materials_are_written(tmp_path: Path) -> None:
    text = """
[materials.ice]
friction = { static = 0.1, dynamic = 0.05 }
stiffness = { young = 1e7, poisson = 0.3 }
restitution = { value = 0.2, at = 1.0 }
[[body]]
name = "puck"
shape = [{ sphere = { radius = 0.1 }, density = 900 }]
collision = true
material = "ice"
[[body]]
name = "bar"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
collision = [{ box = [0.1, 0.2, 0.3], color = "red", at = { rpy = [0.1, 0, 0] } }]
[[joint]]
name = "a"
type = "free"
child = "puck"
[[joint]]
name = "b"
type = "free"
child = "bar"
start = { xyz = [3, 0, 1] }
[[ground]]
plane = { normal = [0, 1, 2], offset = -2 }
material = "ice"
[[contact]]
between = ["world", "bar"]
friction = 0.7
surface_velocity = [1, 0, 0]
[[exclude]]
between = ["world", "puck"]
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        original, converted = (pysim.load_scene(tmp_path / f"{name}.toml") for name in "st")
    same_dynamics(original.model, converted.model)
    a, b = original.spec.model.contacts, converted.spec.model.contacts
    assert a is not None
    assert b is not None
    plain = [{name: vars(m) | {"where": ""} for name, m in x.materials.items()} for x in (a, b)]
    assert plain[0] == plain[1]
    assert a.excluded == b.excluded
    assert [p.surface_velocity for p in a.pairs] == [p.surface_velocity for p in b.pairs]
    assert b.grounds[0].normal == pytest.approx(a.grounds[0].normal, abs=1e-15)
    for loaded in (original, converted):
        shapes = [own for body in loaded.spec.model.bodies for own in body.collisions]
        assert [own.material for own in shapes] == ["ice", "default"]
    assert "collision = true" in (tmp_path / "t.toml").read_text("utf-8")


MASKED = """<mujoco><worldbody><geom type="plane" size="1 1 1" conaffinity="1"/>
<body name="a" pos="0 0 1"><freejoint/><geom size="0.1" contype="1" conaffinity="0"/></body>
<body name="b" pos="1 0 1"><freejoint/><geom size="0.1" contype="1" conaffinity="0"/></body>
<body name="c" pos="2 0 1"><freejoint/><geom size="0.1" contype="2" conaffinity="0"/>{more}</body>
</worldbody></mujoco>
"""


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_masks_of_contact_become_pairs_that_do_not_touch(tmp_path: Path) -> None:
    """a and b touch the ground alone, c touches nothing."""
    (tmp_path / "m.xml").write_text(MASKED.format(more=""), "utf-8")
    convert(tmp_path / "m.xml", tmp_path / "m.toml")
    contacts = pysim.load_scene(tmp_path / "m.toml").spec.model.contacts
    assert contacts is not None
    pairs = {frozenset(pair) for pair in contacts.excluded}
    assert pairs == {
        frozenset(pair) for pair in (("a", "b"), ("a", "c"), ("b", "c"), ("world", "c"))
    }
    mixed = MASKED.format(more='<geom size="0.1" pos="0 0 0.2"/>')
    (tmp_path / "n.xml").write_text(mixed, "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "n.xml", tmp_path / "n.toml")
    expected = (
        "the mask of contact between some shapes of 'world' and 'c' has no place in a scene; "
    )
    assert expected in str(caught.value)


SERVO = """[[frame]]
name = "tip"
body = "rod"
at = { xyz = [1, 0, 0] }
[[signal]]
name = "target"
type = "waypoints"
t = [0.0, 1.0, 2.0]
values = [0.0, 1.2, 0.4]
unit = "rad"
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
[[sensor]]
name = "pose"
type = "pose"
frame = "tip"
at = { xyz = [0, 0, 0.1] }
[[controller]]
name = "pd"
type = "pd"
inputs = ["target", "angle.q", "angle.v"]
period = 0.01
kp = 40.0
kd = 3.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "pd"
[simulation]
duration = 0.2
"""


def test_signals_sensors_controllers_and_actuators_are_written(tmp_path: Path) -> None:
    """The run of the new scene is that of the old one, to the last bit."""
    (tmp_path / "s.toml").write_text(HINGE + SERVO, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    builder = pysim.SceneBuilder.load(tmp_path / "s.toml")
    one = pysim.load_scene(tmp_path / "s.toml")
    for other in (pysim.load_scene(tmp_path / "t.toml"), builder.build()):
        names = [[(b.kind, b.name, b.type) for b in scene.spec.blocks] for scene in (one, other)]
        assert names[0] == names[1]
        np.testing.assert_array_equal(pysim.simulate(one).q, pysim.simulate(other).q)
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "r.urdf")
    for what in ("signal 'target'", "sensor 'pose'", "controller 'pd'", "actuator 'motor'"):
        assert f"{what} has no place in a URDF file" in str(caught.value)


PLUGINS = """import pysim.events
import pysim.forces


@pysim.forces.force("push")
class Push(pysim.forces.Force):
    \"\"\"Constant force on a coordinate.\"\"\"

    size: float  # [N·m]

    def force(self, q):
        return [self.size]


@pysim.events.event("half_turn")
class HalfTurn(pysim.events.Event):
    \"\"\"A half turn of the hinge.\"\"\"

    def value(self, q, v):
        return q["hinge"] - 3.14
"""


def test_files_of_plugins_are_named_by_the_new_scene(tmp_path: Path) -> None:
    """Forces and events are those of the file that the scene names."""
    (tmp_path / "own.py").write_text(PLUGINS, "utf-8")
    text = 'plugins = ["own.py"]\n' + HINGE
    text += '[[force]]\nname = "f"\ntype = "push"\ncoordinates = ["hinge"]\nsize = 2.0\n'
    text += '[[event]]\nname = "e"\ntype = "half_turn"\n[simulation]\nintegrator = "dopri5"\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml", allow_code=True)
    one, other = (pysim.load_scene(tmp_path / f"{n}.toml", allow_code=True) for n in "st")
    same_dynamics(one.model, other.model)
    assert 'plugins = ["own.py"]' in (tmp_path / "t.toml").read_text("utf-8")


def test_a_sweep_is_written_unless_it_varies_what_is_gone(tmp_path: Path) -> None:
    sweep = '[sweep]\ngrid = { "joint.hinge.damping" = "0:1:3" }\n'
    (tmp_path / "s.toml").write_text(HINGE + sweep, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    assert sweep in (tmp_path / "t.toml").read_text("utf-8")
    gone = sweep.replace("joint.hinge.damping", "parameters.m")
    (tmp_path / "s.toml").write_text(HINGE + gone, "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "u.toml")
    expected = (
        "the sweep of 'parameters.m', which the new file does not have, has no place in a scene"
    )
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "rpy", [(0.1, 0.2, 0.3), (1, np.pi / 2, -2), (3, -np.pi / 2, 1), (np.pi, 0, 0), (0, 1.57, 3)]
)
def test_roll_pitch_and_yaw_give_the_rotation_back(rpy: tuple[float, float, float]) -> None:
    R = rotation(from_rpy(*rpy))
    np.testing.assert_allclose(rotation(from_rpy(*rpy_of(R))), R, rtol=0, atol=1e-15)


def test_meshes_are_copied_once_each_and_under_names_of_their_own(tmp_path: Path) -> None:
    box = (SCENES / "meshes/box.obj").read_text("utf-8")
    for folder in "ab":
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "box.obj").write_text(box, "utf-8")
    visual = 'visual = [{ mesh = "a/box.obj" }, { mesh = "b/box.obj" }, { mesh = "a/box.obj" }]\n'
    (tmp_path / "in/s.toml").write_text(HINGE.replace("[[joint]]", visual + "[[joint]]"), "utf-8")
    target = tmp_path / "out/deep/down/s.toml"
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "in/s.toml", target)
    first = str(caught.value).split("\n")[0]
    mesh = str((tmp_path / "in/a/box.obj").resolve())
    assert first == (
        f"{tmp_path / 'in/s.toml'}:1:1: body[0]: mesh {mesh!r} is outside the folders that the new file may read; "
        "copy it by --copy-meshes"
    )
    files = convert(tmp_path / "in/s.toml", target, copy_meshes=True)
    assert files == [target, *(target.parent / "meshes" / n for n in ("box.obj", "box_2.obj"))]
    same_dynamics(model_of(tmp_path / "in/s.toml"), model_of(target))
    near = tmp_path / "in/t.toml"
    convert(tmp_path / "in/s.toml", near)
    assert 'mesh = "b/box.obj"' in near.read_text("utf-8")


FALLING = """[[body]]
name = "ball"
{body}
[[joint]]
name = "free"
type = "free"
child = "ball"
start = {{ xyz = [0, 0, 1] }}
"""
GROUND = "[[ground]]\nplane = {}\n"
ROLLING = FALLING.format(
    body="shape = { sphere = { radius = 0.1 }, density = 900 }\ncollision = true"
)
PARTS = {
    "no work": HINGE + "[output]\nwork = false\n",
    "seed": HINGE + "[simulation]\nseed = 7\n",
    "tolerances by joint": HINGE
    + '[simulation]\nintegrator = "dopri5"\nrtol = { hinge = 1e-5 }\natol = 1e-9\n',
    "keyframe with velocity": HINGE
    + "[keyframes.up.start]\nhinge = { q = 3.0, v = -0.5 }\n[keyframes.still.start]\nhinge = 1.0\n",
    "initial guess of a loop": HINGE
    + '[[loop]]\nname = "l"\ntype = "cylindrical"\nb = "rod"\nstart = [0.1, 0.2]\n',
    "path with obstacles": HINGE
    + """[[force]]
name = "muscle"
type = "path_spring"
stiffness = 30.0
rest_length = 0.5
[[force.path]]
body = "world"
point = [0, 1, 0]
[[force.path]]
body = "world"
sphere = 0.1
at = { xyz = [0.5, 0.5, 0], rpy = [0.1, 0, 0] }
side = [0, 1, 0]
[[force.path]]
body = "rod"
point = [1, 0, 0]
[[force.path]]
body = "rod"
point = [1, 0.2, 0]
when = { coordinate = "hinge", above = -0.5 }
[[force.path]]
body = "rod"
point = [1, 0.3, 0]
[[force.path]]
body = "rod"
cylinder = 0.05
[[force.path]]
body = "rod"
point = [1, 0, 0]
""",
    "force between frames": HINGE
    + """[[force]]
name = "bush"
type = "bushing"
b = "rod"
at_a = [0.1, 0, 0]
at_b = { rpy = [0.1, 0.2, 0.5] }
home = [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]
stiffness = [[1, 0, 0, 0, 0, 0], [0, 2, 0, 0, 0, 0], [0, 0, 3, 0, 0, 0], [0, 0, 0, 4, 0, 0], [0, 0, 0, 0, 5, 0],
  [0, 0, 0, 0, 0, 6]]
""",
    "offset of a coupling": HINGE
    + HINGE.replace('"rod"', '"other"').replace('"hinge"', '"turn"')
    + '[[coupling]]\nname = "gear"\njoint = "turn"\nratios = { hinge = -2.0 }\noffset = 0.25\n',
    "point mass with a shape": FALLING.format(
        body="mass = 2.0\ninertia = { xx = 0.0, yy = 0.0, zz = 0.0 }\n"
        "shape = { sphere = { radius = 0.1 } }\ncollision = true"
    )
    + GROUND,
    "stiffness and rolling of a surface": ROLLING.replace(
        "collision", 'material = "soft"\ncollision'
    )
    + GROUND
    + "[materials.soft]\nstiffness = 2e4\nrolling = 1e-3\n",
    "law of impacts": ROLLING
    + GROUND
    + '[simulation]\nintegrator = "dopri5"\ncontact_law = "impact"\nrest_speed = 1e-4\n',
    "bodies that collide without a ground": ROLLING
    + ROLLING.replace('"ball"', '"bar"').replace('name = "free"', 'name = "loose"'),
    "mesh with a density": FALLING.format(
        body='shape = { mesh = "box.obj", density = 500 }\ncollision = [{ mesh = "box.obj", convex = true }]'
    )
    + GROUND,
    "smooth friction": ROLLING + GROUND + '[simulation]\nintegrator = "rk4"\nslip_speed = 0.02\n',
}


def content(spec: Any) -> Any:
    """A part of a specification as plain values, without the places in the file."""
    if is_dataclass(spec):
        skipped = {"where", "path", "text", "overrides"}
        return {
            f.name: content(getattr(spec, f.name)) for f in fields(spec) if f.name not in skipped
        }
    if isinstance(spec, np.ndarray):
        return spec.round(14).tolist()  # a rotation is written as angles
    if isinstance(spec, Mapping):
        return {key: content(value) for key, value in spec.items()}
    return [content(item) for item in spec] if isinstance(spec, (tuple, list)) else spec


@pytest.mark.parametrize("part", PARTS)
def test_a_written_scene_has_the_specification_of_its_source(tmp_path: Path, part: str) -> None:
    """Numbers are equal to the last bit, matrices to 1e-14."""
    (tmp_path / "s.toml").write_text(PARTS[part], "utf-8")
    copyfile(SCENES / "meshes/box.obj", tmp_path / "box.obj")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    one, other = (read_scene(tmp_path / f"{name}.toml") for name in "st")
    assert content(other) == content(one)


HINGES = """<mujoco><worldbody>
<body name="a"><joint name="p"/><geom size="0.1"/></body>
<body name="b" pos="0 0 1"><joint name="q"/><geom size="0.1"/></body>
</worldbody>{more}</mujoco>
"""
WITHOUT_COUNTERPART = {
    '<tendon><fixed name="s"><joint joint="p" coef="2"/></fixed><fixed name="t"><joint joint="q" coef="1"/></fixed>'
    '</tendon><equality><tendon name="e" tendon1="s" tendon2="t" polycoef="0 1 0.5 0 0"/></equality>': (
        "the function of coupling 'e', divided by 2, has no place in a scene; leave it out by --partial"
    ),
}


def test_a_coordinate_that_is_held_at_a_value_is_held_in_the_scene(tmp_path: Path) -> None:
    held = '<equality><joint name="e" joint1="p" polycoef="0.3 0 0 0 0"/></equality>'
    without_contact = HINGES.replace('size="0.1"', 'size="0.1" contype="0" conaffinity="0"')
    (tmp_path / "s.xml").write_text(without_contact.format(more=held), "utf-8")
    convert(tmp_path / "s.xml", tmp_path / "t.toml")
    (coupling,) = read_model(tmp_path / "t.toml").couplings
    assert (coupling.terms, coupling.offset, coupling.function) == ({"p": 1.0}, 0.3, None)


@pytest.mark.parametrize("more", WITHOUT_COUNTERPART)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_constraints_without_a_counterpart_in_scenes_are_refused(tmp_path: Path, more: str) -> None:
    source = tmp_path / "m.xml"
    source.write_text(HINGES.format(more=more), "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(source, tmp_path / "m.toml")
    assert str(caught.value).endswith(f": {WITHOUT_COUNTERPART[more]}")


def test_a_pose_against_which_a_sensor_measures_is_refused(tmp_path: Path) -> None:
    """An attached sensor measures against the origin of its file, which is a point of another body."""
    sensor = '[[sensor]]\nname = "seen"\ntype = "pose"\nframe = "rod"\n'
    (tmp_path / "part.toml").write_text(HINGE + sensor, "utf-8")
    attached = '[[model]]\nfile = "part.toml"\nat = { xyz = [0, 0, 2] }\n'
    (tmp_path / "s.toml").write_text(attached, "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "t.toml")
    assert str(caught.value).endswith(
        ": the pose in 'world' against which 'seen' measures has no place in a scene; give that body a frame"
    )


def test_shapes_for_contact_that_touch_nothing_are_reported(tmp_path: Path) -> None:
    """Without a ground, nothing touches the links of a robot: the first three are named, the rest counted."""
    box = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    names = "abcde"
    links = "".join(
        f'<link name="{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f"</inertial>{box}</link>"
        for n in names
    )
    joints = "".join(
        f'<joint name="{b}" type="continuous"><parent link="{a}"/><child link="{b}"/></joint>'
        for a, b in pairwise(names)
    )
    robot = tmp_path / "r.urdf"
    robot.write_text(f'<robot name="r">{links}{joints}</robot>', "utf-8")
    with pytest.warns(PysimWarning) as warned:
        convert(robot, tmp_path / "r.toml")
    (text,) = (str(warning.message) for warning in warned)
    assert text.endswith(
        "the shapes for contact of 'a', 'b', 'c' and 2 more are left out, as nothing touches them here; add a ground "
        "to the scene first to keep them"
    )


def test_an_inertia_without_mass_is_refused(tmp_path: Path) -> None:
    robot = tmp_path / "r.urdf"
    robot.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
        'izz="1"/></inertial></link></robot>',
        "utf-8",
    )
    with (
        pytest.warns(PysimWarning, match="not physically consistent"),
        pytest.raises(SceneError) as caught,
    ):
        convert(robot, tmp_path / "r.toml")
    assert str(caught.value).endswith("body 'a' has an inertia and no mass; give it a mass [kg]")


TABLE = """[[signal]]
name = "s"
type = "table"
file = "{file}"
column = "x"
"""


def test_a_file_of_data_is_named_relative_to_the_new_scene(tmp_path: Path) -> None:
    (tmp_path / "in/data").mkdir(parents=True)
    (tmp_path / "in/data/x.csv").write_text("t,x\n0,1\n1,3\n", "utf-8")
    (tmp_path / "in/s.toml").write_text(HINGE + TABLE.format(file="data/x.csv"), "utf-8")
    convert(tmp_path / "in/s.toml", tmp_path / "in/data/t.toml")
    assert 'file = "x.csv"' in (tmp_path / "in/data/t.toml").read_text("utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "in/s.toml", tmp_path / "far/away/down/t.toml")
    file = str(tmp_path / "in/data/x.csv")
    problem = f"file {file!r} is outside the folders that the new file may read"
    remedy = "move it, or write the new file nearer to it"
    assert str(caught.value).endswith(f": {problem}; {remedy}")


def test_a_copy_of_a_mesh_replaces_no_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out/meshes").mkdir(parents=True)
    box = (SCENES / "meshes/box.obj").read_text("utf-8")
    (tmp_path / "in/box.obj").write_text(box, "utf-8")
    taken = tmp_path / "out/meshes/box.obj"
    taken.write_text("something else", "utf-8")
    visual = 'visual = { mesh = "box.obj" }\n[[joint]]'
    (tmp_path / "in/s.toml").write_text(HINGE.replace("[[joint]]", visual), "utf-8")
    source, target = tmp_path / "in/s.toml", tmp_path / "out/s.toml"
    with pytest.raises(SceneError) as caught:
        convert(source, target, copy_meshes=True)
    assert str(caught.value) == f"{taken}: exists; name another folder, or overwrite it"
    assert taken.read_text("utf-8") == "something else"
    convert(source, target, copy_meshes=True, overwrite=True)
    assert taken.read_text("utf-8") == box


def test_a_scene_writes_every_part_of_a_specification() -> None:
    """A new part has to be added to the writer, and then to these lists."""
    scene = (
        "name model actuators settings render text path overrides events hold equilibrium blocks"
    )
    model = "name gravity bodies rods joints frames where loops couplings keyframes omitted forces contacts blocks"
    model += " roads motions steps self_collision"  # the last two of another program; scenes have their own
    assert {f.name for f in fields(SceneSpec)} == set(scene.split())
    assert {f.name for f in fields(ModelSpec)} == set(model.split())


@pytest.mark.parametrize("mass", [0.0, 3.0])
def test_a_mass_in_place_of_that_of_the_shapes_is_written_as_numbers(
    tmp_path: Path, mass: float
) -> None:
    """An attached file gives its mass to a shape; the table that attaches it makes it a point mass."""
    part = FALLING.format(body="mass = 2.0\nshape = { sphere = { radius = 0.1 } }")
    (tmp_path / "part.toml").write_text(part, "utf-8")
    attached = f'[[model]]\nfile = "part.toml"\nbody = {{ ball = {{ mass = {mass} }} }}\n'
    (tmp_path / "s.toml").write_text(attached, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    (body,) = read_scene(tmp_path / "t.toml").model.bodies
    assert body.theta.tolist() == [mass, *([0.0] * 9)]


REFUSED = {
    "armature = 0.1": "9:1: joint[0]: the armature of joint 'hinge'",
    "stiffness = 3.0": "the stiffness of joint 'hinge'",
    "start = 0.1": "the start of joint 'hinge'",
    "start = { v = 0.1 }": "the start velocity of joint 'hinge'",
    "friction = 1.0\nfriction_width = 0.5": "the friction_width of joint 'hinge'",
    "limits = { lower = -1, upper = 1, stiffness = 5 }": "the limits.stiffness of joint 'hinge'",
    "limits = { upper = 1 }": "the limits of joint 'hinge'",
    '[[actuator]]\njoint = "hinge"\noffset = 1.0': "actuator 'hinge'",
    '[[force]]\nname = "f"\ntype = "spring"\nb = "rod"\nat_b = [1, 0, 0]\nstiffness = 1': "force 'f'",
    '[[loop]]\nname = "l"\ntype = "point_on_plane"\nb = "rod"': "loop 'l'",
    '[[event]]\nname = "e"\njoint = "hinge"\nat = 1.0\n[simulation]\nintegrator = "dopri5"': "event 'e'",
}


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_parts_that_urdf_cannot_represent_are_rejected_and_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.toml").write_text(HINGE + text + "\n", "utf-8")
    what = REFUSED[text].split("]: ")[-1]
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "r.urdf")
    assert f"{what} has no place in a URDF file; " in str(caught.value)
    assert not (tmp_path / "r.urdf").exists()
    with pytest.warns(PysimWarning) as warned:
        convert(tmp_path / "s.toml", tmp_path / "r.urdf", partial=True)
    assert f"{what} has no place in a URDF file, and is left out" in str(warned[0].message)
    assert pysim.load_model(tmp_path / "r.urdf").joint_names == ("hinge",)


def test_gravity_ground_and_materials_have_no_place_in_urdf(tmp_path: Path) -> None:
    """The shapes that a scene draws and lets collide are both in the robot."""
    text = ROLLING.replace("collision", 'material = "soft"\ncollision') + GROUND
    text = f"gravity = [0, 0, -1.62]\n{text}[materials.soft]\nfriction = 0.4\n"
    (tmp_path / "s.toml").write_text(text, "utf-8")
    robot = tmp_path / "r.urdf"
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", robot)
    for what in ("gravity 0 0 -1.62 m/s²", "the ground", "material 'soft'"):
        assert f"{what} has no place in a URDF file; leave it out by --partial" in str(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        convert(tmp_path / "s.toml", robot, partial=True)
        (body,) = (b for b in read_model(robot).bodies if b.name == "ball")
    assert [(g.role, g.shape.kind) for g in body.geometries] == [
        ("visual", "sphere"),
        ("collision", "sphere"),
    ]


def test_damping_that_differs_by_axis_has_no_place_in_urdf(tmp_path: Path) -> None:
    text = FALLING.format(body="mass = 1.0").replace(
        'type = "free"', 'type = "planar"\ndamping = [1, 1, 2]'
    )
    (tmp_path / "s.toml").write_text(text.replace("start = { xyz = [0, 0, 1] }\n", ""), "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "r.urdf")
    expected = (
        "the damping of joint 'free' by axis has no place in a URDF file; leave it out by --partial"
    )
    assert str(caught.value).endswith(expected)


def test_a_long_list_of_refusals_is_cut(tmp_path: Path) -> None:
    drive = '[[actuator]]\njoint = "hinge"\noffset = 1.0\n'
    springs = "".join(
        f'[[force]]\nname = "f{k}"\ntype = "spring"\nb = "rod"\nat_b = [1, 0, 0]\nstiffness = 1\n'
        for k in range(25)
    )
    (tmp_path / "s.toml").write_text(HINGE + drive + springs, "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "s.toml", tmp_path / "r.urdf")
    lines = str(caught.value).split("\n")
    assert len(lines) == 21
    assert lines[-1].endswith("6 more")


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_mechanism_of_a_robot_is_refused_a_robot_file_with_its_sensors(tmp_path: Path) -> None:
    text = HINGES.format(more='<sensor><jointpos name="s" joint="p"/></sensor>')
    (tmp_path / "m.xml").write_text(text, "utf-8")
    with pytest.raises(SceneError) as caught:
        convert(tmp_path / "m.xml", tmp_path / "r.urdf")
    assert "sensor 's' has no place in a URDF file; leave it out by --partial" in str(caught.value)


FAULTS = {
    'type = "universal"': (
        "s.toml:5:1: joint[0]: joint 'hinge' of type 'universal' has no place in a URDF file; "
        "its types are fixed, revolute, prismatic, planar, free, ball"
    ),
    'type = "revolute"\n[[ground]]\nplane = {}\n[[body]]\nname = "a"\nmass = 1\n[[joint]]\nname = "f"\ntype = "fixed"\n'
    'child = "a"\n[[body]]\nname = "c"\nmass = 1\nvisual = { cone = { radius = 1, length = 1 } }\n[[joint]]\nname = "g"'
    '\ntype = "fixed"\nchild = "c"': (
        "s.toml:19:1: body[2]: the cone of body 'c' has no place in a URDF file; leave it out by --partial"
    ),
}


@pytest.mark.filterwarnings("ignore:.*no body collides with it")
@pytest.mark.parametrize("text", FAULTS)
def test_a_type_or_shape_without_a_counterpart_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = HINGE.replace('type = "revolute"', "").replace(
        'child = "rod"', f'child = "rod"\n{text}'
    )
    Path("s.toml").write_text(whole.replace("\n\n", "\n"), "utf-8")
    with pytest.raises(SceneError) as caught:
        convert("s.toml", "r.urdf")
    assert FAULTS[text].split(": ", 1)[1] in str(caught.value)


def test_limits_that_bound_no_actuator_are_written(tmp_path: Path) -> None:
    limits = "effort_limit = 2.0\nvelocity_limit = 3.0\nenforce_limits = false\n"
    (tmp_path / "s.toml").write_text(HINGE + limits, "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    (joint,) = pysim.load_scene(tmp_path / "t.toml").spec.model.joints
    assert (joint.effort_limit, joint.velocity_limit, joint.enforce_limits) == (2.0, 3.0, False)


SLIPPERY = {
    "m.xml": """<mujoco><worldbody>
<geom type="plane" size="1 1 1" friction="0.9" solref="0.01 0.5"/>
<body name="b" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" friction="0.3"/></body>
</worldbody></mujoco>
""",
    "m.sdf": """<sdf version="1.8"><world name="w">
<model name="floor"><static>true</static><link name="l"><collision name="p"><geometry><plane><normal>0 0 1</normal>
<size>1 1</size></plane></geometry></collision></link></model>
<model name="m"><pose>0 0 1 0 0 0</pose><link name="b"><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><box><size>0.2 0.2 0.2</size></box></geometry>
<surface><friction><ode><mu>0.3</mu></ode></friction>
<bounce><restitution_coefficient>0.4</restitution_coefficient></bounce></surface></collision></link></model>
</world></sdf>
""",
}


@pytest.mark.parametrize("name", SLIPPERY)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_friction_of_other_programs_survives_conversion(tmp_path: Path, name: str) -> None:
    """The contacts of the new scenes are those of one that attaches the file."""
    (tmp_path / name).write_text(SLIPPERY[name], "utf-8")
    run = '[simulation]\nintegrator = "convex"\n'
    (tmp_path / "s.toml").write_text(f'[[model]]\nfile = "{name}"\n{run}', "utf-8")
    convert(tmp_path / "s.toml", tmp_path / "t.toml")
    convert(tmp_path / name, tmp_path / "u.toml")
    one, *others = (
        pysim.load_scene(tmp_path / f"{file}.toml", {"simulation.integrator": "convex"})
        for file in "stu"
    )
    assert one.contacts is not None
    laws = [vars(shape.law) for shape in one.contacts.shapes]
    assert laws
    assert all(law["static_friction"] != 0.8 for law in laws)  # that of surfaces that state none
    for other in others:
        assert other.contacts is not None
        assert [vars(shape.law) for shape in other.contacts.shapes] == laws


def test_an_inconsistent_inertia_of_a_robot_is_refused_unless_replaced(tmp_path: Path) -> None:
    robot = tmp_path / "r.urdf"
    robot.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
        'izz="9"/></inertial></link></robot>',
        "utf-8",
    )
    with (
        pytest.warns(PysimWarning, match="not physically consistent"),
        pytest.raises(SceneError) as caught,
    ):
        convert(robot, tmp_path / "r.toml")
    assert "the inertia of body 'a' is not physically consistent: " in str(caught.value)
    assert str(caught.value).endswith("; fix it, or convert with --inertia nearest")
    convert(robot, tmp_path / "r.toml", inertia="nearest")
    same_dynamics(model_of(robot), model_of(tmp_path / "r.toml"), 1e-12)


def test_the_command_converts_and_refuses_to_replace_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(HINGE, "utf-8")
    assert main(["convert", "s.toml", "r.urdf"]) == 0
    assert capsys.readouterr().out == "  written     r.urdf\n"
    assert main(["convert", "s.toml", "r.urdf"]) == 2
    assert capsys.readouterr().err == "error: r.urdf: exists; name another file, or overwrite it\n"
    assert main(["convert", "r.urdf", "again.toml", "--free-base"]) == 0
    assert 'type = "free"' in Path("again.toml").read_text("utf-8")
    capsys.readouterr()
    for words, error in (
        (["s.toml", "r.xml"], "r.xml: unknown kind of file '.xml'; files are written as .toml, .urdf"),
        (["s.toml", "n.toml", "--inertia", "nearst"], "--inertia nearst: unknown policy; did you mean 'nearest'?"),
        (
            ["s.toml", "n.toml", "--keyframe", "home"],
            "--set keyframe: unknown keyframe 'home'; write [keyframes.NAME], or remove the key",
        ),
    ):  # fmt: skip
        assert main(["convert", *words]) == 2
        assert capsys.readouterr().err == f"error: {error}\n"
