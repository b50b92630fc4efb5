"""Scenes read into specifications; the expected numbers are worked out by hand or from closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pysim.errors import PysimWarning, SceneError
from pysim.inertia import center_of_mass, central_inertia, theta_from_com
from pysim.scene import read_model, read_scene
from pysim.scene.poses import from_axis_angle, from_rpy, rotation
from pysim.scene.spec import RenderSpec, SceneSpec, Settings
from pysim.shapes import Shape, primitive_theta
from pysim.worlds.loading import compile_scene

PENDULUM = """\
name = "driven pendulum"
gravity = [0, 0, -1.62]

[[body]]
name = "rod"
shape = { capsule = { radius = 0.02, length = 1.0 }, density = 2700 }

[[joint]]
name = "hinge"
type = "revolute"
parent = "world"
child = "rod"
at = { xyz = [0, 0, 1], rpy = [0, 0, 0] }
axis = [0, 2, 0]
damping = 0.01
start = { q = 0.3, v = -1 }

[simulation]
duration = 20.0
step = 1e-3
integrator = "semi_implicit"

[output]
every = 0.05
"""

ARM = """\
<robot name="arm">
<link name="base"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="one"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<link name="two"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="one"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.5" friction="0.25"/></joint>
<joint name="j2" type="continuous"><parent link="one"/><child link="two"/><mimic joint="j1" multiplier="2"/></joint>
</robot>
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, **overrides: object) -> SceneSpec:
    Path("s.toml").write_text(text, "utf-8")
    return read_scene("s.toml", {key.replace("__", "."): v for key, v in overrides.items()})


def first(*arrays: np.ndarray) -> tuple[float, ...]:
    """The numbers of a joint of one coordinate."""
    return tuple(float(array[0]) for array in arrays)


def body(text: str) -> SceneSpec:
    """A scene of one free body."""
    return read(f'[[body]]\nname = "b"\n{text}\n[[joint]]\nname="j"\ntype="free"\nchild="b"')


def joint(text: str) -> SceneSpec:
    return read(f'[[body]]\nname = "b"\nmass = 1\n[[joint]]\nname = "j"\nchild = "b"\n{text}')


def test_driven_pendulum_reads_as_written() -> None:
    scene = read(PENDULUM)
    rod, hinge = scene.model.bodies[0], scene.model.joints[0]

    assert (scene.name, scene.model.name, scene.path) == (*["driven pendulum"] * 2, Path("s.toml"))
    assert scene.text == PENDULUM
    assert scene.settings == Settings(20.0, 1e-3, "semi_implicit", 0.05)
    assert scene.render == RenderSpec()
    np.testing.assert_array_equal(scene.model.gravity, [0, 0, -1.62])
    np.testing.assert_allclose(rod.theta, primitive_theta(Shape("capsule", (0.02, 1.0)), 2700))
    assert rod.geometries[0].shape == Shape("capsule", (0.02, 1.0))
    assert rod.where == "s.toml:4:1: body[0]"
    assert (hinge.name, hinge.type, hinge.parent, hinge.child) == (
        "hinge",
        "revolute",
        "world",
        "rod",
    )
    assert hinge.axis == (0.0, 1.0, 0.0)
    np.testing.assert_array_equal(hinge.at[:3, 3], [0, 0, 1])
    assert first(hinge.damping, hinge.start_q, hinge.start_v) == (0.01, 0.3, -1)
    assert first(hinge.lower, hinge.upper, hinge.friction_width) == (-np.inf, np.inf, 1e-3)
    assert hinge.where == "s.toml:8:1: joint[0]"


def test_a_scene_compiles_and_starts_where_it_says() -> None:
    scene = compile_scene(read(PENDULUM))
    np.testing.assert_array_equal(scene.state.q, [0.3])
    np.testing.assert_array_equal(scene.state.v, [-1])


def test_an_empty_scene_has_the_defaults() -> None:
    scene = read("")
    assert scene.name == "s"
    assert scene.settings == Settings(10.0, 1e-3, "rk4", 0.01)
    np.testing.assert_array_equal(scene.model.gravity, [0, 0, -9.81])


def test_outputs_are_a_thousand_but_never_closer_than_the_step() -> None:
    assert read("[simulation]\nduration = 0.1").settings.every == 1e-3
    assert read("[simulation]\nduration = 50").settings.every == 0.05


# Bodies


def test_numbers_give_theta_about_the_origin() -> None:
    theta = body(
        "mass = 2\ncom = [0, 0, -0.5]\ninertia = { xx = 3, yy = 4, zz = 5, xy = 0.1, xz = 0.2, yz = 0.3 }"
    )
    I = [[3, 0.1, 0.2], [0.1, 4, 0.3], [0.2, 0.3, 5]]
    expected = theta_from_com(2, [0, 0, -0.5], I)
    np.testing.assert_array_equal(theta.model.bodies[0].theta, expected)


def test_mass_and_com_alone_make_a_point_mass() -> None:
    theta = body("mass = 2\ncom = [0, 0, -0.5]").model.bodies[0].theta
    np.testing.assert_array_equal(theta, [2, 0, 0, -1, 0.5, 0, 0.5, 0, 0, 0])


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("box = { x = 1, y = 2, z = 3 }", Shape("box", (1, 2, 3))),
        ("box = [1, 2, 3]", Shape("box", (1, 2, 3))),
        ("sphere = { radius = 0.5 }", Shape("sphere", (0.5,))),
        ("cylinder = { radius = 0.5, length = 2 }", Shape("cylinder", (0.5, 2))),
        ("cone = { radius = 0.5, length = 2 }", Shape("cone", (0.5, 2))),
        ("ellipsoid = [1, 2, 3]", Shape("ellipsoid", (1, 2, 3))),
    ],
)
def test_every_primitive_weighs_by_density_or_by_total_mass(text: str, shape: Shape) -> None:
    dense = body(f"shape = {{ {text}, density = 10 }}").model.bodies[0]
    massive = body(f"mass = 7\nshape = {{ {text} }}").model.bodies[0]

    expected = primitive_theta(shape, 10)
    assert dense.geometries[0].shape == shape
    np.testing.assert_allclose(dense.theta, expected, rtol=1e-15)
    np.testing.assert_allclose(massive.theta, expected * 7 / expected[0], rtol=1e-14)


def test_shapes_add_up_where_they_are_placed() -> None:
    """Two unit cubes side by side are one block."""
    spec = body(
        "shape = [{ box = [1, 1, 1], density = 3, at = { xyz = [0.5, 0, 0] } },\n"
        "         { box = [1, 1, 1], density = 3, at = { xyz = [1.5, 0, 0] } }]"
    )
    theta = spec.model.bodies[0].theta
    block = primitive_theta(Shape("box", (2, 1, 1)), 3)
    np.testing.assert_allclose(center_of_mass(theta), [1, 0, 0])
    np.testing.assert_allclose(central_inertia(theta), central_inertia(block), atol=1e-14)


def test_numbers_win_over_a_shape_without_density_and_visuals_weigh_nothing() -> None:
    spec = body(
        "mass = 2\ninertia = { xx = 1, yy = 1, zz = 1 }\nshape = { sphere = { radius = 1 } }\n"
        'visual = { box = [1, 1, 1], color = "#ff8000" }'
    ).model.bodies[0]
    np.testing.assert_array_equal(spec.theta, theta_from_com(2, [0, 0, 0], np.eye(3)))
    assert [g.shape.kind for g in spec.geometries] == ["sphere", "box"]
    assert spec.geometries[1].color == (1, 128 / 255, 0, 1)


def test_a_mesh_is_found_beside_the_scene_and_weighed() -> None:
    """The tetrahedron with legs of 1, 2 and 3 m has the volume 1 m³ and its centroid at a quarter."""
    corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    faces = ["1 3 2", "1 2 4", "1 4 3", "2 3 4"]
    lines = [*(f"v {corner}" for corner in corners), *(f"f {face}" for face in faces)]
    Path("rod.obj").write_text("\n".join(lines) + "\n", "utf-8")
    spec = body('shape = { mesh = "rod.obj", scale = [1, 2, 3], density = 10 }').model.bodies[0]
    shape = spec.geometries[0].shape
    assert (shape.mesh, shape.scale) == (Path("rod.obj").resolve(), (1, 2, 3))
    np.testing.assert_allclose(spec.theta[0], 10)
    np.testing.assert_allclose(center_of_mass(spec.theta), [0.25, 0.5, 0.75])
    twice = body('mass = 20\nshape = { mesh = "rod.obj", scale = [1, 2, 3] }').model.bodies[0]
    np.testing.assert_allclose(twice.theta, 2 * spec.theta)
    sheet = body('shape = { mesh = "rod.obj", shell = 0.01, density = 10 }').model.bodies[0]
    np.testing.assert_allclose(sheet.theta[0], 10 * 0.01 * (1.5 + np.sqrt(3) / 2))
    Path("rod.obj").write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    hull = body('shape = { mesh = "rod.obj", convex = true, density = 10 }').model.bodies[0]
    np.testing.assert_allclose(hull.theta[0], 10 / 6)
    with pytest.warns(
        PysimWarning, match="1 triangle is added to close holes, the first is face 3$"
    ):
        closed = body('shape = { mesh = "rod.obj", repair = true, density = 10 }').model.bodies[0]
    np.testing.assert_allclose(closed.theta, hull.theta)


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ("{ sphere = { radius = 1 }, shell = 0.1, density = 1 }", "shell is for a mesh"),
        (
            '{ mesh = "rod.obj", convex = true, shell = 0.1, density = 1 }',
            "convex and shell are alternatives; give one of them",
        ),
    ],
)
def test_ways_to_weigh_are_for_meshes_and_exclude_each_other(shape: str, problem: str) -> None:
    with pytest.raises(SceneError, match=problem):
        body(f"shape = {shape}")


@pytest.mark.parametrize(
    ("text", "color"),
    [
        ('"#000000"', (0, 0, 0, 1)),
        ('"#ffffff00"', (1, 1, 1, 0)),
        ("[1, 0.5, 0]", (1, 0.5, 0, 1)),
        ("[1, 0.5, 0, 0.25]", (1, 0.5, 0, 0.25)),
        ('"teal"', (79 / 255, 167 / 255, 166 / 255, 1)),
    ],
)
def test_colors(text: str, color: tuple[float, ...]) -> None:
    spec = body(f"mass = 1\nvisual = {{ sphere = {{ radius = 1 }}, color = {text} }}")
    assert spec.model.bodies[0].geometries[0].color == color


# Poses and joints


@pytest.mark.parametrize(
    "text",
    [
        "rpy = [0, 0, 1.5707963267948966]",
        "quat_wxyz = [0.7071067811865476, 0, 0, 0.7071067811865476]",
        "quat_xyzw = [0, 0, 0.7071067811865476, 0.7071067811865476]",
        "axis_angle = [0, 0, 5, 1.5707963267948966]",
    ],
)
def test_a_quarter_turn_is_the_same_in_every_writing(text: str) -> None:
    at = joint(f'type = "fixed"\nat = {{ xyz = [1, 2, 3], {text} }}').model.joints[0].at
    np.testing.assert_array_equal(at, [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])


def test_rpy_is_yaw_after_pitch_after_roll() -> None:
    roll, pitch, yaw = 0.3, -0.7, 2.1
    turns = [
        rotation(from_axis_angle(*axis, angle))
        for axis, angle in (((0, 0, 1), yaw), ((0, 1, 0), pitch), ((1, 0, 0), roll))
    ]
    expected = turns[0] @ turns[1] @ turns[2]
    np.testing.assert_allclose(rotation(from_rpy(roll, pitch, yaw)), expected, atol=1e-15)


def test_a_number_holds_for_every_coordinate_and_a_list_for_each() -> None:
    spec = joint(
        'type = "cylindrical"\ndamping = 2\narmature = [1, 3]\nlimits = { lower = [-1, -inf], upper = 4 }'
    ).model.joints[0]
    np.testing.assert_array_equal(spec.damping, [2, 2])
    np.testing.assert_array_equal(spec.armature, [1, 3])
    np.testing.assert_array_equal(spec.lower, [-1, -np.inf])
    np.testing.assert_array_equal(spec.upper, [4, 4])
    np.testing.assert_allclose(
        spec.stop_stiffness, [2e4, 3e4]
    )  # 1e4/s² times 1 kg + 1, 0 kg·m² + 3
    np.testing.assert_allclose(spec.stop_damping, [200, 300])


def test_stops_are_scaled_to_what_the_joint_carries() -> None:
    """100 rad/s with 1 kg: k = 1e4 N/m, half critical damping 2 · 0.5 · √(k m) = 100 N·s/m."""
    spec = joint('type = "prismatic"\nlimits = { upper = 1 }').model.joints[0]
    assert first(spec.lower, spec.upper) == (-np.inf, 1)
    assert first(spec.stop_stiffness, spec.stop_damping) == (1e4, 100)


def test_limits_that_a_scene_leaves_out_are_those_of_the_urdf() -> None:
    Path("arm.urdf").write_text(ARM, "utf-8")
    arm = '[[model]]\nfile = "arm.urdf"\njoint.j1.limits = '
    above, stiff = (read(arm + x).model.joints[1] for x in ("{ upper = 2 }", "{ stiffness = 30 }"))
    assert first(above.lower, above.upper) == (-1, 2)
    assert first(stiff.lower, stiff.upper, stiff.stop_stiffness) == (-1, 1, 30)


def test_a_stop_of_given_stiffness_is_damped_as_much() -> None:
    spec = joint('type = "prismatic"\nlimits = { upper = 1, stiffness = 4e4 }').model.joints[0]
    assert first(spec.stop_stiffness, spec.stop_damping) == (4e4, 200)
    spec = joint(
        'type = "prismatic"\nlimits = { upper = 1, stiffness = 4e4, damping = 0 }'
    ).model.joints[0]
    assert first(spec.stop_stiffness, spec.stop_damping) == (4e4, 0)


@pytest.mark.parametrize(("friction", "width"), [(4, 4e-3), (0.1, 1e-3)])
def test_friction_builds_up_over_the_speed_it_takes_away_in_a_millisecond(
    friction: float, width: float
) -> None:
    """F t / m = 4 N · 1 ms / 1 kg, and never sharper than 1 mm/s."""
    spec = joint(f'type = "prismatic"\nfriction = {friction}').model.joints[0]
    assert first(spec.friction, spec.friction_width) == pytest.approx((friction, width))


def test_free_ball_and_translation_start_at_a_pose() -> None:
    turn = "axis_angle = [1, 0, 0, 0.5]"
    q = [*(np.sin(0.25) * np.array([1, 0, 0])), np.cos(0.25)]

    free = joint(
        f'type = "free"\nstart = {{ xyz = [1, 2, 3], {turn}, v = [1, 2, 3, 4, 5, 6] }}'
    ).model.joints[0]
    ball = joint(
        f'type = "ball"\nstart = {{ {turn} }}\nstiffness = 1\nrest = [0, 0, 0, 1]'
    ).model.joints[0]
    translation = joint('type = "translation"\nstart = { xyz = [1, 2, 3] }').model.joints[0]

    np.testing.assert_allclose(free.start_q, [1, 2, 3, *q], rtol=1e-15)
    np.testing.assert_array_equal(free.start_v, [1, 2, 3, 4, 5, 6])
    np.testing.assert_allclose(ball.start_q, q, rtol=1e-15)
    np.testing.assert_array_equal(ball.rest, [0, 0, 0, 1])
    np.testing.assert_array_equal(translation.start_q, [1, 2, 3])


def test_helical_pitch_spring_and_information() -> None:
    spec = joint(
        'type = "helical"\npitch = 0.01\nstiffness = 5\nrest = 0.2\nfriction = 3\nfriction_width = 0.1\n'
        "effort_limit = 10\nvelocity_limit = 2"
    ).model.joints[0]
    assert spec.parameters == {"pitch": 0.01}
    assert first(spec.stiffness, spec.rest, spec.friction, spec.friction_width) == (5, 0.2, 3, 0.1)
    assert (spec.effort_limit, spec.velocity_limit) == (10, 2)


def test_a_follower_of_a_follower_follows_the_leader() -> None:
    text = "".join(
        f'[[body]]\nname = "b{k}"\nmass = 1\ncom = [1, 0, 0]\n[[joint]]\nname = "j{k}"\ntype = "revolute"\n'
        f'child = "b{k}"\n'
        + (f'mimic = {{ joint = "j{k - 1}", ratio = 2, offset = 1 }}\n' if k else "")
        for k in range(3)
    )
    joints = read(text).model.joints
    assert joints[0].mimic is None
    mimic = joints[2].mimic
    assert mimic is not None
    assert (mimic.joint, mimic.ratio, mimic.offset) == ("j0", 4, 3)
    assert all(j.mimic is None for j in read_model("s.toml", mimic=False).joints)


# The rest of the tables


def test_frames_actuators_and_render() -> None:
    scene = read(
        PENDULUM
        + '[[frame]]\nname = "tip"\nbody = "rod"\nat = { xyz = [0, 0, -1] }\n'
        + '[[actuator]]\njoint = "hinge"\namplitude = 2\nfrequency = 3\n'
        + '[render]\ntool = "tip"\nsize = [640, 480]\ntrails = ["tip", "rod"]\nfocus = [0, 0, 1]\nground = false'
    )
    frame, actuator = scene.model.frames[0], scene.actuators[0]
    assert (frame.name, frame.body, frame.pose[2, 3]) == ("tip", "rod", -1)
    assert (actuator.name, actuator.joint, actuator.coordinate) == ("hinge", "hinge", 0)
    assert (actuator.offset, actuator.amplitude, actuator.frequency, actuator.phase) == (0, 2, 3, 0)
    assert scene.render == RenderSpec(
        tool="tip", size=(640, 480), trails=("tip", "rod"), focus=(0, 0, 1), ground=False
    )


def test_options_of_pictures_are_keys_of_render() -> None:
    scene = read(
        PENDULUM
        + '[render]\ntitle = "A <b>rod</b>"\nviews = ["front", "top"]\nplots = ["q.*"]\ntransparent = true\n'
        + 'supersample = 1\nframes = ["*"]\n[[render.camera_path]]\nt = 0\n[[render.camera_path]]\nt = 2\nzoom = 2'
    )
    assert scene.render == RenderSpec(
        title="A <b>rod</b>",
        views=("front", "top"),
        plots=("q.*",),
        transparent=True,
        supersample=1,
        frames=("*",),
        camera_path=({"t": 0.0}, {"t": 2.0, "zoom": 2.0}),
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'views = ["under"]',
            "views[0]: unknown value 'under'; known: front, back, left, right, top, corner",
        ),
        ("size = [0, 480]", "size[0]: must be at least 16 [pixel], got 0"),
        ("size = [40000, 25000]", "size[0]: must be at most 8192 [pixel], got 40000"),
        ("elevation = 95", "elevation: must be at most 89 [deg], got 95"),
        (
            "camera_path = [{ t = 1 }, { t = 1 }]",
            "camera_path[1].t: must be later than 1 s, got 1 s",
        ),
        (
            "camera_path = { t = 1 }",
            "camera_path: must be a list of tables; write [[render.camera_path]]",
        ),
    ],
)
def test_options_of_pictures_are_checked_where_they_are_written(line: str, message: str) -> None:
    with pytest.raises(SceneError) as caught:
        read(PENDULUM + "[render]\n" + line)
    assert f"render.{message}" in str(caught.value)


def test_models_are_named_attached_and_changed() -> None:
    Path("arm.urdf").write_text(ARM, "utf-8")
    scene = read(
        '[[body]]\nname = "cart"\nmass = 2\n'
        '[[joint]]\nname = "rail"\ntype = "prismatic"\nchild = "cart"\n'
        '[[model]]\nfile = "arm.urdf"\nname = "left"\nparent = "cart"\nat = { xyz = [0, 0, 0.5] }\n'
        "friction = false\nstart = { j1 = 0.3 }\nstart_v = { j1 = 2 }\n"
        'joint.j1 = { damping = 2, limits = { lower = -2, upper = 2 } }\nbody.one.color = "#ffffff"\n'
        '[[model]]\nfile = "arm.urdf"\nfree_base = true\nmimic = false\nlimits = false\ndamping = false\n'
        "start = { root_joint = { xyz = [0, 2, 0], v = [0, 0, 0, 0, 0, 1] }, j2 = 0.5 }"
    )
    joints = {j.name: j for j in scene.model.joints}
    bodies = {b.name: b for b in scene.model.bodies}
    left, j1, j2 = joints["left/root_fixed"], joints["left/j1"], joints["left/j2"]

    assert list(bodies) == ["cart", "left/base", "left/one", "left/two", "base", "one", "two"]
    assert (left.parent, left.child, left.at[2, 3]) == ("cart", "left/base", 0.5)
    assert (j1.parent, j1.child) == ("left/base", "left/one")
    assert first(j1.start_q, j1.start_v) == (0.3, 2)
    assert first(j1.damping, j1.friction, j1.lower, j1.upper) == (2, 0, -2, 2)
    assert j1.stop_stiffness > 0
    assert j2.mimic is not None
    assert (j2.mimic.joint, j2.mimic.ratio) == ("left/j1", 2)
    assert bodies["left/one"].geometries[0].color == (1.0, 1.0, 1.0, 1.0)
    np.testing.assert_array_equal(joints["root_joint"].start_q, [0, 2, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(joints["root_joint"].start_v, [0, 0, 0, 0, 0, 1])
    assert first(j2.lower, j2.upper) == (-np.inf, np.inf)
    free = joints["j1"]
    assert first(free.damping, free.friction, free.lower) == (0, 0.25, -np.inf)
    assert joints["j2"].mimic is None
    assert first(joints["j2"].start_q) == (0.5,)
    assert compile_scene(scene).model.nq == 1 + 1 + 7 + 2


def test_package_dirs_are_relative_to_the_scene() -> None:
    Path("robots/arms").mkdir(parents=True)
    Path("robots/arms/arm.urdf").write_text(ARM, "utf-8")
    scene = read('package_dirs = ["robots"]\n[[model]]\nfile = "package://arms/arm.urdf"')
    assert len(scene.model.bodies) == 3


def test_models_are_read_by_suffix() -> None:
    Path("arm.urdf").write_text(ARM, "utf-8")
    read(PENDULUM)
    assert read_model("arm.urdf", free_base=True).joints[0].type == "free"
    assert read_model("s.toml").name == "driven pendulum"
    Path("arms").mkdir()
    Path("arms/arm.urdf").write_text(ARM, "utf-8")
    assert len(read_model("package://arms/arm.urdf", package_dirs=["."]).joints) > 0
    with pytest.raises(SceneError, match="there is no package 'legs'"):
        read_model("package://legs/arm.urdf")
    with pytest.raises(SceneError, match=r"a\.xml: cannot be read: no such file"):
        read_model("a.xml")
    with pytest.raises(
        SceneError, match=r"^a\.dae: unknown kind of file '\.dae'; models are read from "
    ):
        read_model("a.dae")


# Overrides


@pytest.mark.parametrize(
    "key", ["joint.hinge.damping", "joint[0].damping", "joint.0.damping", 'joint."hinge".damping']
)
def test_a_value_is_overridden_by_name_or_by_number(key: str) -> None:
    Path("s.toml").write_text(PENDULUM, "utf-8")
    scene = read_scene("s.toml", {key: "0.5"})
    assert scene.model.joints[0].damping == 0.5
    assert scene.overrides == {key: "0.5"}
    assert scene.text == PENDULUM


@pytest.mark.parametrize("key", ["joint.left knee.damping", 'joint."left knee".damping'])
def test_a_name_of_two_words_is_overridden_with_or_without_quotes(key: str) -> None:
    Path("s.toml").write_text(PENDULUM.replace('"hinge"', '"left knee"'), "utf-8")
    assert read_scene("s.toml", {key: 0.5}).model.joints[0].damping == 0.5


def test_overrides_add_keys_and_tables_and_read_text_as_toml() -> None:
    Path("s.toml").write_text(PENDULUM, "utf-8")
    scene = read_scene(
        "s.toml",
        {
            "render.ground": "false",
            "name": "two words",
            "gravity": np.array([0, 0, -1.0]),
            "gravity[0]": 3,
            "body.rod.shape.density": np.float64(1e3),
            "joint.hinge.limits": "{ lower = -1 }",
        },
    )
    assert scene.render.ground is False
    assert scene.name == "two words"
    np.testing.assert_array_equal(scene.model.gravity, [3, 0, -1])
    np.testing.assert_allclose(
        scene.model.bodies[0].theta, primitive_theta(Shape("capsule", (0.02, 1.0)), 1e3)
    )
    assert scene.model.joints[0].lower == -1


def test_a_model_is_overridden_under_its_own_or_its_files_name() -> None:
    Path("arm.urdf").write_text(ARM, "utf-8")
    text = '[[model]]\nfile = "arm.urdf"'
    assert read(text, model__arm__joint__j1__damping=7).model.joints[1].damping == 7
    text += '\nname = "left"'
    assert read(text, model__left__joint__j1__damping=7).model.joints[1].damping == 7


def test_a_coordinate_is_named_or_counted() -> None:
    for coordinate in ("4", '"wy"'):
        text = f'type = "free"\n[[actuator]]\njoint = "j"\noffset = 1\ncoordinate = {coordinate}'
        (actuator,) = joint(text).actuators
        assert (actuator.name, actuator.coordinate) == ("j.wy", 4)
