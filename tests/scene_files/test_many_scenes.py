"""A scene read once for many worlds. Oracle: `load_scene` of every world."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError, SceneError
from pysim.scene.importer import ImportOptions
from pysim.scene.importers.urdf import Urdf
from pysim.scene.spec import ModelSpec
from pysim.scene_files.many_scenes import load_each

ROOT = Path(__file__).parents[2]
ANDREWS = ROOT / "scenes" / "andrews.toml"
ORDER = {
    "body.K1.mass": [0.04, 0.05, 0.06],
    "joint.theta.at.xyz": np.outer([6, 7, 8], [1e-3, 0, 0]),
}


def test_a_world_is_the_scene_that_load_scene_makes_of_its_values():
    scenes = pysim.load_scenes(ANDREWS, {**ORDER, "simulation.step": 2e-5})
    for k, scene in enumerate(scenes):
        own = {key: values[k] for key, values in ORDER.items()} | {"simulation.step": 2e-5}
        alone = pysim.load_scene(ANDREWS, own)
        np.testing.assert_array_equal(scene.model.parameters, alone.model.parameters)
        np.testing.assert_array_equal(scene.model.placements, alone.model.placements)
        np.testing.assert_array_equal(scene.state.q, alone.state.q)
        assert scene.settings == alone.settings
        assert scene.spec.overrides.keys() == alone.spec.overrides.keys()
    assert [scene.model.parameters[0, 0] for scene in scenes] == ORDER["body.K1.mass"]


CAM = """import numpy as np
from pysim.joints import Joint, Pose, joint, real

BIAS = 1.0
CALLS = []


@joint("load_scenes_cam")
class Cam(Joint):
    \"\"\"Turns about z and lifts.\"\"\"

    lift: float
    coordinates = real("angle")

    def placement(self, q):
        CALLS.append(self.lift)
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, self.lift * np.sin(BIAS * q.angle))
"""
TWO_CAMS = """plugins = ["cam.py"]
[[body]]
name = "a"
mass = 1
com = [0.1, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "j"
type = "load_scenes_cam"
child = "a"
lift = 0.1
limits = { lower = -2, upper = 2 }
[[body]]
name = "b"
mass = 1
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "k"
type = "load_scenes_cam"
parent = "a"
child = "b"
lift = 0.1
[[model]]
file = "arm.urdf"
"""
ARM = """<robot name="arm"><link name="root"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tip"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pan" type="revolute"><parent link="root"/><child link="tip"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
# A value of a plugin, of a joint, of a body, of a file's model and of the whole; each comes back after another.
BACK_AND_FORTH = {
    "joint.j.lift": [0.1, 0.2, 0.1, 0.3, 0.2],
    "joint.k.damping": [1.0, 1.0, 2.0, 1.0, 1.0],
    "body.b.mass": [1.0, 2.0, 1.0, 1.0, 3.0],
    "model.0.mimic": [True, False, True, True, False],
    "joint.j.limits.upper": [2.0, 2.0, 1.0, 2.0, 2.0],
}


@pytest.fixture(scope="module")
def two_cams(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cams")
    (folder / "cam.py").write_text(CAM, "utf-8")
    (folder / "arm.urdf").write_text(ARM, "utf-8")
    (folder / "s.toml").write_text(TWO_CAMS, "utf-8")
    return folder / "s.toml"


def module_of(scene):
    """The plugin's module as the scene's load imported it."""
    file = str(scene.with_name("cam.py"))
    return next(m for m in sys.modules.values() if getattr(m, "__file__", None) == file)


def test_worlds_loaded_together_equal_worlds_loaded_alone(two_cams):
    scenes = pysim.load_scenes(two_cams, BACK_AND_FORTH, allow_code=True)
    rng = np.random.default_rng(0)
    for k, scene in enumerate(scenes):
        own = {key: values[k] for key, values in BACK_AND_FORTH.items()}
        alone = pysim.load_scene(two_cams, own, allow_code=True)
        assert alone.model.structure_difference(scene.model) == ""
        q, v = scene.model.random_configuration(1), rng.normal(size=scene.model.nv)
        given, expected = (
            pysim.aba(m, q, v, 0 * v, passive=True) for m in (scene.model, alone.model)
        )
        np.testing.assert_array_equal(given, expected)
        for mine, its in zip(scene.model.spec.joints, alone.model.spec.joints, strict=True):
            np.testing.assert_equal(vars(mine), vars(its))


def test_plugins_with_equal_fields_are_traced_once_for_all_worlds(two_cams):
    pysim.load_scene(two_cams, allow_code=True)
    calls = module_of(two_cams).CALLS
    calls.clear()
    pysim.load_scenes(two_cams, {"joint.k.damping": np.linspace(0, 1, 20)}, allow_code=True)
    assert len(calls) == 1  # both joints, every world
    calls.clear()
    pysim.load_scenes(two_cams, {"joint.k.lift": [0.1, 0.2, 0.2, 0.1]}, allow_code=True)
    assert calls == [0.1, 0.2]


def test_a_robot_file_is_read_once_for_worlds_with_other_keys_of_its_table(
    two_cams: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read again with other options, and by the next load."""
    counted = []
    read = Urdf.read

    def counting(self: Urdf, file: Path, options: ImportOptions) -> ModelSpec:
        counted.append(file)
        return read(self, file, options)

    monkeypatch.setattr(Urdf, "read", counting)
    damping = {"model.0.joint.pan.damping": [0.0, 1.0, 2.0, 1.0]}
    scenes = pysim.load_scenes(two_cams, damping, allow_code=True)
    assert [float(s.model.spec.joints[-1].damping[0]) for s in scenes] == [0.0, 1.0, 2.0, 1.0]
    assert len(counted) == 1
    mimic = {"model.0.mimic": [True, False, True, False]}
    pysim.load_scenes(two_cams, damping | mimic, allow_code=True)
    assert len(counted) == 1 + 2


def test_files_that_a_plugin_reads_are_read_again_by_the_next_load(two_cams):
    q = np.array([0.3, 0.4, 0.0])
    first = pysim.load_scene(two_cams, allow_code=True)
    module_of(two_cams).BIAS = 2.0
    then = pysim.load_scene(two_cams, allow_code=True)
    heights = [pysim.forward_kinematics(s.model, q)[0, 2, 3] for s in (first, then)]
    np.testing.assert_allclose(heights, 0.1 * np.sin([0.3, 0.6]), rtol=0, atol=1e-15)


def test_lists_of_other_lengths_in_other_worlds_are_values_too():
    scenes = pysim.load_scenes(ANDREWS, {"assembly.hold": [["theta"], ["theta", "beta"]]})
    assert len(scenes) == 2


def test_errors_name_the_world_and_the_key():
    cases = {
        "world 2: --set body.K1.mass: must not be negative [kg], got -3.0": {
            "body.K1.mass": [1.0, 2.0, -3.0]
        },
        "overrides: simulation.step: has values for 1 worlds, but body.K1.mass for 2; give one for each world": {
            "body.K1.mass": [1.0, 2.0],
            "simulation.step": [1e-5],
        },
        "overrides: no value is a list or an array with one item for each world; give one, or use load_scene": {
            "body.K1.mass": 2.0
        },
        "overrides: body.K1.mass: has values for no world; give one for each world": {
            "body.K1.mass": []
        },
    }
    for message, overrides in cases.items():
        with pytest.raises(SceneError) as caught:
            pysim.load_scenes(ANDREWS, overrides)
        assert str(caught.value) == message


def test_a_list_of_tables_is_not_a_table_of_lists():
    with pytest.raises(SceneError, match="must map paths of keys to values, got list"):
        pysim.load_scenes(ANDREWS, [{"simulation.step": 1e-3}])


@pytest.mark.parametrize("collects", [True, False])
def test_loading_leaves_garbage_collection_as_it_was(collects):
    (gc.enable if collects else gc.disable)()
    try:
        pysim.load_scene("scenes/pendulum.toml")
        assert gc.isenabled() == collects
        with pytest.raises(SceneError):
            pysim.load_scene("scenes/missing.toml")
        assert gc.isenabled() == collects
    finally:
        gc.enable()


LEVER = """[[body]]
name = "a"
mass = 1.0
com = [0, 0, -1]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "j"
type = "revolute"
child = "a"
axis = [0, 1, 0]
limits = { lower = -1, upper = 1 }
[simulation]
duration = 0.01
"""


@pytest.mark.parametrize(
    "faults",
    [
        {"joint.j.axis": [0, 0, 0]},
        {"joint.j.limits": {"lower": 1, "upper": 1}},
        {"joint.j.start": [1, 2]},
        {"body.a.inertia.xx": -0.1},
        {"model": [{"file": "nope.toml"}]},
    ],
)
def test_a_table_with_an_error_is_read_again_in_the_next_world(
    tmp_path: Path, faults: dict[str, object]
) -> None:
    """Oracle: each world alone; its tables are those of the world before, but for a number elsewhere."""
    path = tmp_path / "arm.toml"
    path.write_text(LEVER, "utf-8")
    worlds = [{"gravity": [0, 0, -g], **(faults if g > 9 else {})} for g in (9.0, 9.1, 9.2, 8.0)]
    scenes = load_each(path, worlds)
    assert [isinstance(scene, PysimError) for scene in scenes] == [False, True, True, False]
    for scene, overrides in zip(scenes[1:3], worlds[1:3], strict=True):
        with pytest.raises(PysimError) as alone:
            pysim.load_scene(path, overrides)
        assert str(scene) == str(alone.value)


def test_a_singular_matrix_of_one_world_is_an_error_of_that_world() -> None:
    path, key = ROOT / "scenes" / "rolling_disk.toml", "body[0].inertia.zz"
    first, second, third = load_each(path, [{key: zz} for zz in (7.5, 0.0, 7.0)])
    with pytest.raises(PysimError) as alone:
        pysim.load_scene(path, {key: 0.0})
    assert str(second) == str(alone.value)
    assert isinstance(first, pysim.Scene)
    assert isinstance(third, pysim.Scene)
