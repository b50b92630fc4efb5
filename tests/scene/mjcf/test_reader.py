"""MJCF models. The oracle is MuJoCo: masses, mass matrix, bias and passive forces, accelerations, poses, one step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import pytest

import pysim
from pysim.scene import read_model
from pysim.scene.mjcf.model import MujocoModel
from tests.corpus.mujoco_agreement import Pair, agreement
from tests.scene.readings import refusal, warnings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pysim.scene.spec import JointSpec, ModelSpec

    Write = Callable[[str], Path]

ARM = """
<compiler angle="radian"/>
<default><geom contype="0" conaffinity="0"/><default class="soft"><joint damping="0.3"/></default></default>
<worldbody>
  <body name="upper" pos="0.1 0.2 1" euler="0.3 -0.2 0.5">
    <joint name="slide" type="slide" axis="1 2 0" ref="0.3" springref="0.7" stiffness="4" armature="0.2"/>
    <joint name="turn" axis="0 1 1" pos="0.1 0 0.2" ref="-0.4" springref="0.2" stiffness="3" class="soft"/>
    <joint name="twist" axis="1 0 0" pos="0 0.3 0.1" damping="0.2"/>
    <geom type="capsule" fromto="0 0 0 0.3 0.1 0.2" size="0.05"/>
    <body name="lower" pos="0.3 0.1 0.2" quat="0.9 0.1 0.2 0.3">
      <joint name="ball" type="ball" pos="0.02 0 0.01" stiffness="2" damping="0.1" armature="0.03"/>
      <geom type="box" size="0.1 0.05 0.2" pos="0.1 0 0" euler="0.4 0 0.1"/>
      <site name="tip" pos="0.2 0 0" euler="0 0.3 0"/>
      <body name="hand" pos="0 0 0.3"><geom type="ellipsoid" size="0.1 0.2 0.05"/></body>
      <body name="finger" pos="0.1 0 0.3" euler="0 0 0.4">
        <joint name="pinch" axis="0 0 1" limited="true" range="-9 9"/>
        <geom type="cylinder" size="0.03 0.1"/>
      </body>
    </body>
  </body>
  <body name="stone" pos="2 0 1" quat="0.5 0.1 0.7 0.2">
    <freejoint name="free"/>
    <geom type="sphere" size="0.1" pos="0.1 0.2 0"/>
    <body pos="0 0 0.2"><joint axis="0 1 0"/><geom size="0.05" pos="0.1 0 0"/></body>
  </body>
</worldbody>
<keyframe><key name="home" qpos="0.1 0.2 0.3 1 0 0 0 0.5 1 2 3 0 1 0 0 0.4"
               qvel="1 2 3 4 5 6 7 1 0 0 0 0 0 8"/></keyframe>
"""


def joint_of(spec: ModelSpec, name: str) -> JointSpec:
    return next(joint for joint in spec.joints if joint.name == name)


def test_a_mechanism_agrees_with_mujoco(write: Write) -> None:
    """Several joints a body with anchors, references and springs; ball and free joints; inertias of geoms."""
    path = write(ARM)
    errors = agreement(pysim.load_model(path), path)
    assert max(errors.values()) < 1e-12, errors


def test_one_smooth_step_agrees_with_mujoco(write: Write) -> None:
    path = write(ARM)
    pair = Pair(pysim.load_model(path), MujocoModel(path))
    step = pair.m.opt.timestep = 1e-5
    pair.m.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    rng = np.random.default_rng(1)
    for _ in range(10):
        q, v = pair.random_state(rng)
        found = pysim.rollout(pair.model, q[None], v[None], np.zeros((1, 1, pair.m.nv)), step)
        mujoco.mj_step(pair.m, pair.data)
        expected_q, expected_v = pair.state()
        assert np.abs(pair.model.difference(expected_q, found[0][0, -1])).max() < 1e-12
        assert np.abs(found[1][0, -1] - expected_v).max() < 1e-12


def test_sites_are_frames(write: Write) -> None:
    path = write(ARM)
    pair = Pair(pysim.load_model(path), MujocoModel(path))
    q, _ = pair.random_state(np.random.default_rng(0))
    X = pysim.frame_placement(pair.model, q, "tip")
    assert np.allclose(X[:3, 3], pair.data.site_xpos[0], rtol=0, atol=1e-14)
    assert np.allclose(X[:3, :3].ravel(), pair.data.site_xmat[0], rtol=0, atol=1e-14)


def test_keyframes_are_start_states(write: Write, tmp_path: Path) -> None:
    path = write(ARM)
    (tmp_path / "s.toml").write_text(
        '[[model]]\nfile = "m.xml"\nname = "a"\nkeyframe = "home"\n', "utf-8"
    )
    scene = pysim.load_scene(tmp_path / "s.toml")
    pair = Pair(pysim.load_model(path), MujocoModel(path))
    mujoco.mj_resetDataKeyframe(pair.m, pair.data, 0)
    mujoco.mj_forward(pair.m, pair.data)
    q, v = pair.state()
    assert np.array_equal(scene.state.q, q)
    assert np.array_equal(scene.state.v, v)
    (tmp_path / "s.toml").write_text('[[model]]\nfile = "m.xml"\nkeyframe = "hom"\n', "utf-8")
    assert refusal(tmp_path / "s.toml") == (
        "s.toml:3:12: model[0].keyframe: the file has no keyframe 'hom'; did you mean 'home'?"
    )


def test_limits_and_friction_are_read(write: Write) -> None:
    """A stop of unit inertia has the time constant and damping ratio of solref."""
    slide = '<joint name="s" type="slide" range="-0.1 0.2" limited="true" frictionloss="0.4" solreflimit="{}"/>'
    body = '<worldbody><body name="b">{}<geom size="0.1" mass="3" contype="0" conaffinity="0"/></body></worldbody>'
    joint = joint_of(read_model(write(body.format(slide.format("0.05 0.8")))), "s")
    assert (joint.lower[0], joint.upper[0], joint.friction[0]) == (-0.1, 0.2, 0.4)
    assert joint.stop_stiffness[0] == pytest.approx(3 / (0.05 * 0.8) ** 2, rel=1e-12)
    assert joint.stop_damping[0] == pytest.approx(3 * 2 / 0.05, rel=1e-12)
    direct = joint_of(read_model(write(body.format(slide.format("-900 -20")))), "s")
    assert direct.stop_stiffness[0] == pytest.approx(2700, rel=1e-12)
    assert direct.stop_damping[0] == pytest.approx(60, rel=1e-12)


FOUR_BAR = """
<default><geom contype="0" conaffinity="0" type="capsule" size="0.02"/></default>
<worldbody>
  <body name="a"><joint name="qa" axis="0 1 0"/><geom fromto="0 0 0 0 0 1"/>
    <body name="b" pos="0 0 1"><joint name="qb" axis="0 1 0"/><geom fromto="0 0 0 1 0 0"/>
      <site name="tip b" pos="1 0 0"/></body></body>
  <body name="c" pos="1 0 0"><joint name="qc" axis="0 1 0"/><geom fromto="0 0 0 0 0 1"/>
    <site name="tip c" pos="0 0 1"/></body>
</worldbody>
<equality>{}</equality>
"""
LINKED = {
    "connect": '<connect name="e" body1="b" body2="c" anchor="1 0 0"/>',
    "weld": '<weld name="e" body1="b" body2="c" relpose="1 0 0 1 0 0 0" anchor="0 0 1"/>',
    "connect sites": '<connect name="e" site1="tip b" site2="tip c"/>',
    "weld sites": '<weld name="e" site1="tip b" site2="tip c"/>',
    "joint": '<joint name="e" joint1="qa" joint2="qb" polycoef="0.1 2 0 0 0"/>',
    "polynomial": '<joint name="e" joint1="qa" joint2="qb" polycoef="0.1 2 -1 0.5 0.2"/>',
    "one joint": '<joint name="e" joint1="qa" polycoef="0.3 0 0 0 0"/>',
}


@pytest.mark.parametrize("kind", LINKED)
def test_equality_constraints_are_those_of_mujoco(write: Write, kind: str) -> None:
    """MuJoCo's residual is 0 in the states that pysim assembles, and is not where it started."""
    path = write(FOUR_BAR.format(LINKED[kind]))
    model, m = pysim.load_model(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    rng = np.random.default_rng(2)
    for _ in range(10):
        q = rng.uniform(-0.3, 0.3, 3) * ("weld" not in kind)
        q[0] += 0.02
        residuals = []
        for configuration in (q, pysim.loops.assemble(model, q, np.zeros(3)).q):
            data.qpos[:] = configuration
            mujoco.mj_forward(m, data)
            residuals.append(np.abs(data.efc_pos[: data.ne]).max())
        assert residuals[0] > 1e-3
        assert residuals[1] < 1e-9


def test_a_fixed_tendon_is_coupled(write: Write) -> None:
    tendons = """<tendon><fixed name="s"><joint joint="qa" coef="1"/><joint joint="qb" coef="2"/></fixed>
        <fixed name="t"><joint joint="qc" coef="-3"/></fixed></tendon>"""
    text = (
        FOUR_BAR.format('<tendon name="e" tendon1="s" tendon2="t" polycoef="0.1 0.5 0 0 0"/>')
        + tendons
    )
    (coupling,) = read_model(write(text)).couplings
    assert coupling.terms == {"qa": 1.0, "qb": 2.0, "qc": 1.5}
    assert coupling.offset == pytest.approx(0.1, abs=1e-15)


def test_an_imported_loop_moves_with_the_model_of_a_scene(write: Write, tmp_path: Path) -> None:
    anchored = '<connect name="e" body1="b" anchor="1 0 0"/>'  # to the world
    write(FOUR_BAR.format(anchored))
    text = '[[model]]\nfile = "m.xml"\nname = "m"\nat = { xyz = [1.0, 2.0, 3.0], rpy = [0.1, 0.2, 0.3] }\n'
    (tmp_path / "s.toml").write_text(text, "utf-8")
    model = pysim.load_scene(tmp_path / "s.toml").model
    assert model.loop_names == ("m/e",)
    assert np.abs(pysim.loops.constraint_residual(model, np.zeros(3))).max() < 1e-14


UNSUPPORTED = """
<option density="1.2"/>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1"/><light name="sun"/><camera name="eye"/>
  <body name="a" gravcomp="1"><joint name="j"/><geom name="skin" size="0.1"/><site name="s"/></body>
  <body name="b"><joint name="k"/><geom name="bone" size="0.1" contype="0" conaffinity="0"/></body>
  <body name="hand" mocap="true"/>
</worldbody>
<contact><exclude body1="a" body2="b"/></contact>
<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed>
<fixed name="u"><joint joint="j" coef="1"/></fixed></tendon>
<actuator><general name="m" joint="j" gaintype="user"/><general name="p" joint="k" gaintype="user"/></actuator>
<sensor><magnetometer name="north" site="s"/></sensor>
"""


def test_parts_that_are_left_out_are_named(write: Write) -> None:
    spec, texts = warnings_of(write(UNSUPPORTED))
    assert texts == [
        (
            "m.xml:12: actuator 'm' is left out: its law is code of a program; "
            "1 more actuators: actuator 'p' (line 12)"
        ),
        "m.xml:7: body 'hand' is fixed: motion capture moves no bodies in pysim",
        (
            "m.xml: the medium (density 1.2 kg/m³, viscosity 0 Pa·s) is left out: fluid forces are not read"
        ),
    ]
    listed = [text.rsplit("/", 1)[-1] for text in spec.omitted]
    assert "m.xml:11: tendon 'u' is not read: it exerts no force of its own" in listed
    text = "m.xml:13: sensor 'north' is not read: pysim has no sensor of the kind 'magnetometer'"
    assert text in listed
    assert "m.xml:4: camera 'eye' is not read" in listed
    assert "m.xml:4: light 'sun' is not read" in listed
    assert spec.contacts is not None
    assert spec.contacts.excluded == (("a", "b"),)


CHAIN = (
    '<worldbody><body name="a"><joint name="j"/><geom size="0.1"/><site name="s1"/>'
    '<body name="b"><joint name="k"/><geom size="0.1"/><site name="s2" pos="1 0 0"/></body></body></worldbody>'
)
SINGLE = '<worldbody><body name="a"><joint name="f" {}/><geom size="0.1"/></body></worldbody>'
RIGID = (
    '<worldbody><body name="a"><joint/><geom size="0.1"/><body name="b"><geom size="0.1"/></body></body></worldbody>'
    "<equality>{}</equality>"
)
PATH = '<spatial name="{}"><site site="s1"/><site site="s2"/></spatial>'
TENDON = '<tendon><fixed name="t" {}><joint joint="j" coef="1"/></fixed></tendon>'
MOTOR = '<actuator><motor name="m" {}/></actuator>'
ANY_RESISTANCE = "actuator 'm' has an armature or damping of something other than a hinge or slide, which is left out"
MESHES = ".stl, .obj, .ply, .dae, .glb"
ONE_BY_ONE = {
    "actuator 'm' acts on a tendon with a range of actuator forces, which is left out": (
        CHAIN + TENDON.format('actuatorfrcrange="-1 1"') + MOTOR.format('tendon="t"')
    ),
    "actuator 'm' has a delay of 0.02 s, which is left out": (
        CHAIN + MOTOR.format('joint="j" delay="0.02" nsample="20"')
    ),
    ANY_RESISTANCE: CHAIN + TENDON.format("") + MOTOR.format('tendon="t" armature="0.2"'),
    "actuator 'm' has damping of higher order, which is left out": (
        CHAIN + MOTOR.format('joint="j" damping="0.2 0.1"')
    ),
    "joint 'f' has polynomial stiffness of higher order, which is left out": SINGLE.format(
        'stiffness="1 0.5"'
    ),
    "joint 'f' has polynomial damping of higher order, which is left out": SINGLE.format(
        'damping="1 0.5"'
    ),
    "joint 'f' has a spring that yields, which is left out": SINGLE.format('springyield="1"'),
    "tendon 't' has polynomial stiffness of higher order, which is left out": (
        CHAIN + TENDON.format('stiffness="1 0.5"')
    ),
    f"geom 'g' of 'b' is left out: its mesh is not a {MESHES} file": (
        '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'
        '<worldbody><body name="b"><joint/><geom name="g" type="mesh" mesh="m"/></body></worldbody>'
    ),
    "equality 'e' is left out: it couples spatial tendons": (
        f"{CHAIN}<tendon>{PATH.format('t')}{PATH.format('u')}</tendon>"
        '<equality><tendon name="e" tendon1="t" tendon2="u"/></equality>'
    ),
    "joint 'f' has a spring of 3 N/m and N·m/rad, which is left out": SINGLE.format(
        'type="free" stiffness="3"'
    ),
    "joint 'f' has an armature, which acts in the axes of the body instead of the world": (
        SINGLE.format('type="free" armature="3"')
    ),
    "joint 'f' has a limit of 0.5 rad, which is left out": SINGLE.format(
        'type="ball" range="0 0.5" limited="true"'
    ),
    "tendon 't' has friction, which is left out": (
        f'{CHAIN}<tendon><fixed name="t" frictionloss="1"><joint joint="j" coef="1"/></fixed></tendon>'
    ),
    "equality 'e' is left out: its bodies are one rigid body already": RIGID.format(
        '<weld name="e" body1="a" body2="b"/>'
    ),
    "equality 'e' is left out: a polynomial of a tendon": (
        f'{CHAIN}<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed><fixed name="u"><joint joint="k" coef="2"/>'
        '</fixed></tendon><equality><tendon name="e" tendon1="t" tendon2="u" polycoef="0 1 2 0 0"/></equality>'
    ),
}
STRUT = f"{CHAIN}<tendon>{PATH.format('t')}</tendon>"
NOTES = {
    "sensor 's' is not read: it has a delay of 0.02 s": (
        f'{CHAIN}<sensor><jointpos name="s" joint="j" delay="0.02" nsample="20"/></sensor>'
    ),
    "sensor 's' is not read: its tendon lies on one rigid body": (
        f'{STRUT}<sensor><tendonpos name="s" tendon="t"/></sensor>'
    )
    .replace('<site name="s2"', '<site name="s3"')
    .replace('<site name="s1"/>', '<site name="s1"/><site name="s2" pos="1 0 0"/>'),
    "sensor 's' is not read: the transmission of its actuator has no length in pysim": (
        CHAIN + MOTOR.format('site="s1"') + '<sensor><actuatorpos name="s" actuator="m"/></sensor>'
    ),
    "equality 'e' is left out: it is not active": (
        f'{CHAIN}<equality><joint name="e" joint1="j" joint2="k" active="false"/></equality>'
    ),
    "sensor 's' is not read: it has a cutoff of 2": (
        f'{CHAIN}<sensor><jointpos name="s" joint="j" cutoff="2"/></sensor>'
    ),
    "sensor 's' is not read: its reference is no body and no site with a name": (
        f'{CHAIN}<sensor><framepos name="s" objtype="body" objname="b" reftype="geom" refname="g"/></sensor>'
    ).replace('<body name="b">', '<body name="b"><geom name="g" size="0.1" pos="1 0 0"/>'),
}


@pytest.mark.parametrize("text", ONE_BY_ONE)
def test_a_part_without_an_equivalent_is_left_out_with_a_warning(write: Write, text: str) -> None:
    _, texts = warnings_of(write(f'<compiler angle="radian"/>{ONE_BY_ONE[text]}'))
    assert [found.partition(": ")[2] for found in texts] == [text]


@pytest.mark.parametrize("text", NOTES)
def test_a_part_that_does_not_move_anything_is_listed(write: Write, text: str) -> None:
    spec, texts = warnings_of(write(NOTES[text]))
    assert texts == []
    assert text in [found.partition(": ")[2] for found in spec.omitted]


SENSED = {
    "the length of an actuated tendon": (
        STRUT + MOTOR.format('tendon="t"'),
        '<actuatorpos name="s" actuator="m"/>',
    ),
    "the place of a camera": (
        CHAIN.replace('<site name="s1"/>', '<camera name="c" pos="0 0 1"/>'),
        '<framepos name="s" objtype="camera" objname="c"/>',
    ),
    "the place of a site without a name": (
        CHAIN.replace('<site name="s1"/>', '<site pos="0.2 0 1"/>'),
        '<framepos name="s" objtype="site" objname="s2"/>',
    ),
}


@pytest.mark.parametrize("what", SENSED)
def test_sensors_of_tendons_and_cameras_are_those_of_mujoco(
    write: Write, tmp_path: Path, what: str
) -> None:
    mechanism, sensor = SENSED[what]
    path = write(f"{mechanism}<sensor>{sensor}</sensor>")
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = 0.3, -0.7
    mujoco.mj_forward(m, data)
    start = "start = { j = 0.3, k = -0.7 }\n[simulation]\nduration = 0.01\n"
    (tmp_path / "s.toml").write_text(f'[[model]]\nfile = "m.xml"\n{start}', "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    name = "s.length" if "length" in what else "s.position"
    found = np.ravel(run.signals[name][0])
    np.testing.assert_allclose(found, data.sensordata, rtol=0, atol=1e-14)


def test_a_geom_has_the_colour_of_its_material(write: Write) -> None:
    asset = '<asset><material name="red" rgba="1 0 0 1"/></asset>'
    text = SINGLE.format("").replace('size="0.1"', 'size="0.1" material="red"')
    (geometry,) = read_model(write(asset + text)).bodies[0].geometries[:1]
    assert geometry.color == (1.0, 0.0, 0.0, 1.0)
    own = text.replace('material="red"', 'material="red" rgba="0 1 0 1"')
    (geometry,) = read_model(write(asset + own)).bodies[0].geometries[:1]
    assert geometry.color == (0.0, 1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "option", ['<option><flag gravity="disable"/></option>', '<option gravity="0 0 0"/>', ""]
)
def test_gravity_compensation_acts_on_moving_bodies_under_gravity(
    write: Write, option: str
) -> None:
    still = '<body name="base" gravcomp="1"><geom size="0.1"/></body>'
    arm = CHAIN.replace('name="b"', 'name="b" gravcomp="0.5"')
    spec, _ = warnings_of(write(option + arm.replace("<worldbody>", f"<worldbody>{still}")))
    expected = [] if option else ["b gravcomp"]
    assert [force.name for force in spec.forces] == expected


def test_omissions_of_an_included_file_have_no_lines(write: Write, tmp_path: Path) -> None:
    """MuJoCo gives elements of included files the line 0."""
    actuators = "".join(f'<general name="{name}" joint="j" gaintype="user"/>' for name in "mno")
    body = '<worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>'
    text = f"<mujoco>{body}<actuator>{actuators}</actuator></mujoco>"
    (tmp_path / "part.xml").write_text(text, "utf-8")
    _, texts = warnings_of(write('<include file="part.xml"/>'))
    assert texts == [
        (
            "m.xml: actuator 'm' is left out: its law is code of a program; "
            "2 more actuators: actuator 'n', actuator 'o'"
        )
    ]


def test_strict_reading_rejects_what_would_be_left_out(write: Write) -> None:
    text = "m.xml:12: actuator 'm' is left out: its law is code of a program"
    assert refusal(write(UNSUPPORTED), strict=True) == text


MESH = """<asset><mesh name="m" file="m.obj" scale="0.5 1 2"/></asset><worldbody><body name="b"><joint/>
<geom type="mesh" mesh="m" pos="0.1 0.2 0.3" euler="20 30 40"/></body></worldbody>"""
WEDGE = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"


def test_a_mesh_is_found_in_the_folder_of_assets(write: Write, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/m.obj").write_text(WEDGE, "utf-8")
    spec = read_model(write('<compiler assetdir="parts"/>' + MESH))
    assert spec.bodies[0].geometries[0].shape.mesh == tmp_path / "parts/m.obj"


def test_a_mesh_about_another_origin_is_left_out(write: Write, tmp_path: Path) -> None:
    """Its vertices in the file are not those that MuJoCo draws."""
    (tmp_path / "m.obj").write_text(WEDGE, "utf-8")
    moved = MESH.replace('scale="', 'refpos="0.1 0 0" scale="')
    _, texts = warnings_of(write(moved))
    assert texts == [f"m.xml:2: geom #0 of 'b' is left out: its mesh is not a {MESHES} file"]


def test_a_mesh_is_drawn_where_mujoco_draws_it(write: Write, tmp_path: Path) -> None:
    """MuJoCo moves a mesh to its principal axes, the file's vertices stay."""
    (tmp_path / "m.obj").write_text(WEDGE, "utf-8")
    path = write(MESH)
    geometry = read_model(path).bodies[0].geometries[0]
    m = mujoco.MjModel.from_xml_path(str(path))
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, m.geom_quat[0])
    expected = m.mesh_vert @ R.reshape(3, 3).T + m.geom_pos[0]
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]) * geometry.shape.scale
    found = vertices @ geometry.pose[:3, :3].T + geometry.pose[:3, 3]
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2)
    assert distance.min(axis=1).max() < 1e-6  # MuJoCo's vertices are single precision


REFUSED = {
    "<worldbdy/>": (
        "m.xml:1: MuJoCo rejects the model: XML Error: Schema violation: unrecognized element Element "
        "'worldbdy', line 1; fix the file"
    ),
    '<worldbody><body name="b"><joint/></body></worldbody>': (
        "m.xml:1: MuJoCo rejects the model: Error: mass and inertia of moving bodies must be larger than "
        "mjMINVAL Element name 'b', id 1, line 1; fix the file"
    ),
    '<include file="../../../../x.xml"/>': (
        "m.xml:1:19: '{up}x.xml' is outside the folders from which this model may name files; move it "
        "below the model, or list its folder in --package-dir, in Python package_dirs"
    ),
    '<compiler meshdir="/"/><asset><mesh file="x.stl"/></asset>': (
        "m.xml:1:49: '/x.stl' is outside the folders from which this model may name files; move it "
        "below the model, or list its folder in --package-dir, in Python package_dirs"
    ),
    '<worldbody><flexcomp name="f" type="grid" count="2 2 2" spacing="1 1 1" radius="0.1" dim="3" mass="1"/>'
    "</worldbody>": "m.xml: flex 'f' is a deformable body; pysim simulates rigid bodies, remove it",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_model_that_cannot_be_read_is_rejected(write: Write, text: str) -> None:
    path = write(text)
    up = f"{path.parents[4]}/".replace("//", "/")
    assert refusal(path) == REFUSED[text].format(up=up)


BODY = '<worldbody><body name="b">{}<geom name="g" size="0.1"/></body></worldbody>'
MISTAKES = [  # and what the message contains
    (BODY.format('<joint type="hing"/>'), "hing"),
    (BODY.format('<joint axis="0 0"/>'), "axis"),
    (BODY.format('<joint axis="0 0 0"/>'), "axis"),
    (BODY.format('<joint name="j"/><joint name="j"/>'), "'j'"),
    (BODY.format('<joint class="soft"/>'), "soft"),
    (BODY.format('<joint limited="true" range="2 1"/>'), "range"),
    (BODY.format('<geom type="mesh" mesh="m"/>'), "'m'"),
    (BODY.format('<geom type="sphere"/>'), "size"),
    (BODY.format("<freejoint/><joint/>"), "6 dofs"),
    (BODY.format('<body name="b"><geom size="1"/></body>'), "'b'"),
    (BODY.format("") + '<equality><weld body1="b" body2="c"/></equality>', "'c'"),
    (BODY.format("") + '<actuator><motor joint="j"/></actuator>', "'j'"),
    (BODY.format("") + '<keyframe><key qpos="1 2"/></keyframe>', "qpos"),
    (BODY.format("") + '<asset><mesh file="none.stl"/></asset>', "none.stl"),
    (BODY.format("") + '<include file="none.xml"/>', "none.xml"),
    (BODY.format("") + "<option timestep='slow'/>", "timestep"),
    ("<worldbody><body>", "not well-formed XML"),
]


@pytest.mark.parametrize(("text", "named"), MISTAKES)
def test_a_mistake_is_named_with_its_file(write: Write, text: str, named: str) -> None:
    path = write(text)
    found = refusal(path)
    assert found.startswith("m.xml")
    assert named in found
    assert "\n" not in found
    assert found.endswith(("; fix the file", "; correct the file here"))


def test_entities_are_rejected_before_mujoco_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text('<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco/>', "utf-8")
    assert (
        refusal(path)
        == "m.xml:1:18: <!DOCTYPE mujoco> is rejected: it can define entities; remove it"
    )


def test_a_free_base_is_written_in_the_file(write: Write) -> None:
    text = "m.xml: free_base is for URDF; write <freejoint/> in the root body"
    assert refusal(write(ARM), free_base=True) == text


def test_without_mujoco_the_error_names_the_extra(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    text = (
        'm.xml: needs the parser of MuJoCo; install it with `pip install "pysim-multibody[mjcf]"`'
    )
    assert refusal(write(ARM)) == text


def chain(links: int) -> str:
    """A chain of hinges, each on the link before."""
    text = ""
    for k in range(links):
        text = f'<body name="b{k}" pos="0 0 0.1"><joint axis="{k % 2} 1 0"/><geom size="0.04"/>{text}</body>'
    return f'<default><geom contype="0" conaffinity="0"/></default><worldbody>{text}</worldbody>'


@pytest.mark.slow
def test_loading_is_linear_in_the_number_of_links(write: Write) -> None:
    durations = []
    for links in (100, 300):
        path = write(chain(links))
        pysim.load_model(path)
        durations.append(min(_load_time(path) for _ in range(5)))
    assert durations[1] < 5 * durations[0], durations


@pytest.mark.slow
def test_loading_a_scene_is_linear_in_the_number_of_servos(write: Write, tmp_path: Path) -> None:
    scene = tmp_path / "s.toml"
    scene.write_text('[[model]]\nfile = "m.xml"\n', "utf-8")
    durations = []
    for links in (75, 300):
        servos = "".join(f'<position joint="j{k}" kp="1" kv="1"/>' for k in range(links))
        named = chain(links)
        for k in range(links):
            named = named.replace("<joint axis", f'<joint name="j{k}" axis', 1)
        write(f"{named}<actuator>{servos}</actuator>")
        pysim.load_scene(scene)
        durations.append(min(_load_time(scene) for _ in range(3)))
    assert durations[1] < 8 * durations[0], durations


def _load_time(path: Path) -> float:
    begin = time.process_time()
    pysim.load_scene(path) if path.suffix == ".toml" else pysim.load_model(path)
    return time.process_time() - begin


def test_check_prints_what_was_read(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    from pysim.cli import main

    key = '<keyframe><key name="home" qpos="0 0 0"/></keyframe>'
    text = FOUR_BAR.format(LINKED["connect"] + LINKED["joint"].replace('"e"', '"f"')) + key
    assert main(["check", str(write(text))]) == 0
    shown = capsys.readouterr().out
    assert "  loop        e: ball between b and c\n" in shown
    assert "  coupling    f: qa, qb\n" in shown
    assert "  keyframes   home\n" in shown
