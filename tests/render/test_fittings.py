"""Springs, rods, ropes, pins and supports; the oracle is the place of their ends in the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.render import still
from pysim.render.fittings.fitting_plan import Plan, Planner
from pysim.render.fittings.fitting_shapes import PULLED, PUSHED, STEEL, between, of_load
from pysim.render.options import render_options
from pysim.render.player import Player
from pysim.render.window import offscreen
from pysim.trajectory import Trajectory
from tests.render.scenes import SMALL, cart, place

pytestmark = pytest.mark.render
SCENES = Path(__file__).parents[2] / "scenes"
SPRING: dict[str, Any] = {
    "role": "spring",
    "name": "spring",
    "type": "spring",
    "points": [[-1, [-1.0, 0.0, 0.2]], [0, [-0.2, 0.0, 0.05]]],
    "stiffness": 10.0,
    "damping": 0.0,
    "length": 1.3,
}


def actors(trajectory: Trajectory, time: float, **options: Any) -> tuple[Player, list[Any]]:
    chosen = render_options(trajectory, **SMALL, **options)
    with offscreen(chosen) as plotter:
        player = Player(plotter, trajectory, chosen)
        player.show(time)
        return player, player.fittings.actors


def ends(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where a unit shape begins and ends."""
    return matrix[:3, 3], matrix[:3, 3] + matrix[:3, 2]


def of_scene(name: str, **changes: float) -> Trajectory:
    overrides = {"simulation.duration": 0.2, "output.every": 0.02, **changes}
    return pysim.simulate(pysim.load_scene(SCENES / f"{name}.toml", overrides))


@pytest.mark.parametrize("time", [0.0, 0.25, 0.5])
def test_a_spring_is_drawn_from_its_point_to_the_moving_one(time: float) -> None:
    _, (coil,) = actors(cart(connections=[SPRING]), time)
    first, last = ends(np.asarray(coil.user_matrix))
    np.testing.assert_allclose(first, [-1.0, 0.0, 0.2], atol=1e-12)
    np.testing.assert_allclose(last, [2 * time - 0.2, 0.0, 0.2], atol=1e-12)


def test_a_spring_is_red_where_it_pulls_and_blue_where_it_pushes() -> None:
    _, (coil,) = actors(cart(connections=[SPRING]), 0.5)
    red, _, blue = coil.prop.color.float_rgb
    assert red > blue
    _, (coil,) = actors(cart(connections=[SPRING]), 0.0)
    red, _, blue = coil.prop.color.float_rgb
    assert blue > red
    ends_of = [of_load(load) for load in (-1.0, 0.0, 1.0)]
    assert ends_of == [pytest.approx(rgb(color), abs=1e-12) for color in (PUSHED, STEEL, PULLED)]


def rgb(color: str) -> list[float]:
    return [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def test_a_rope_is_drawn_along_its_path_and_never_pushes() -> None:
    rope = {"role": "force", "name": "rope", "type": "rope", "stiffness": 10.0, "length": 9.0}
    way = [[-1, [-1.0, 0.0, 0.5]], [-1, [0.0, 0.0, 1.0]], [0, [0.0, 0.0, 0.15]]]
    _, parts = actors(cart(connections=[rope | {"points": way}]), 0.5)
    assert len(parts) == 5  # two pieces and three ends
    np.testing.assert_allclose(ends(np.asarray(parts[0].user_matrix))[1], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(ends(np.asarray(parts[1].user_matrix))[1], [1, 0, 0.3], atol=1e-12)
    assert parts[0].prop.color.float_rgb == pytest.approx(rgb(STEEL), abs=0.01)


def test_dampers_and_distances_are_drawn() -> None:
    both = SPRING | {"damping": 3.0}
    rod = {"role": "loop", "name": "rod", "type": "distance", "axis": [0, 0, 1], "length": 1.0}
    frames = [[-1, place(0, 0, 1).tolist()], [0, np.eye(4).tolist()]]
    _, parts = actors(cart(connections=[both, rod | {"frames": frames}]), 0.0)
    assert len(parts) == 1 + 2 + 3  # coil, barrel and piston, rod with two ends
    np.testing.assert_allclose(ends(np.asarray(parts[3].user_matrix))[1], [0, 0, 0.15], atol=1e-12)


@pytest.mark.parametrize(
    ("scene", "kinds"),
    [
        ("spring", {"coil", "plate"}),
        ("lissajous", {"coil", "plate"}),
        ("governor", {"coil", "damper", "pin", "plate"}),
        ("four_bar", {"pin", "pedestal"}),
        ("stewart_platform", {"coil", "ball", "pedestal"}),
    ],
)
def test_everything_that_acts_in_a_scene_is_drawn(scene: str, kinds: set[str]) -> None:
    player, _ = actors(of_scene(scene), 0.1)
    plan = player._plan
    assert {line.kind for line in plan.lines} | {part.kind for part in plan.fixed} >= kinds


def test_the_springs_of_a_translation_end_at_the_body() -> None:
    trajectory = of_scene("lissajous")
    player, _ = actors(trajectory, 0.2)
    ball = trajectory.poses_at(0.2)[0, 0, :3]
    coils = [line for line in player._plan.lines if line.kind == "coil"]
    assert len(coils) == 3
    for line in player.fittings.actors[-3:]:
        np.testing.assert_allclose(ends(np.asarray(line.user_matrix))[1], ball, atol=1e-12)


def test_the_spring_of_a_joint_is_drawn_above_the_ground() -> None:
    player, _ = actors(of_scene("gripper"), 0.0)
    (spring,) = (line for line in player._plan.lines if line.kind == "coil")
    top, bottom = (point.pose[2, 3] for point in spring.points)
    assert top > 0.3
    assert bottom == pytest.approx(0.16)  # the upper face of the wrist, whose frame is below it


CAR = """
name = "car"

[[ground]]
plane = {{ normal = [0, 0, 1], offset = 0 }}

[[body]]
name = "chassis"
shape = {{ box = {{ x = 2.4, y = 1.2, z = 0.4 }}, density = 300 }}

[[joint]]
name = "float"
type = "free"
parent = "world"
child = "chassis"
start = {{ {start} }}

[[body]]
name = "wheel"
shape = {{ sphere = {{ radius = 0.3 }}, density = 300 }}
collision = true

[[joint]]
name = "strut"
type = "prismatic"
parent = "chassis"
child = "wheel"
at = {{ xyz = [0.9, 0.7, {z}], rpy = [0, {pitch}, 0] }}
axis = [0, 0, 1]
stiffness = 25000
damping = 2500

[simulation]
duration = 0.1
step = 1e-3
"""
UPRIGHT, ON_ITS_BACK = "xyz = [0, 0, 2]", "xyz = [0, 0, 2], rpy = [3.14159, 0, 0]"


@pytest.mark.parametrize("start", [UPRIGHT, ON_ITS_BACK])
@pytest.mark.parametrize("pitch", [0.0, np.pi])
@pytest.mark.parametrize("z", [-0.45, 0.45])
def test_the_strut_of_a_wheel_is_anchored_at_the_car(
    tmp_path: Path, start: str, pitch: float, z: float
) -> None:
    """Oracle: the spring lies between the wheel's centre and the box, in the car's frame."""
    path = tmp_path / "car.toml"
    path.write_text(CAR.format(start=start, z=z, pitch=pitch), "utf-8")
    run = pysim.simulate(pysim.load_scene(path))
    player, _ = actors(run, 0.05)
    (line,) = player.fittings._lines
    (coil,) = line.actors
    first, last = ends(np.asarray(coil.user_matrix))
    matrices = player.posed
    into_car = np.linalg.inv(matrices[0])
    anchor, wheel = (into_car[:3, :3] @ p + into_car[:3, 3] for p in (first, last))
    np.testing.assert_allclose(wheel, into_car[:3, :3] @ matrices[1][:3, 3] + into_car[:3, 3])
    assert np.sign(anchor[2] - wheel[2]) == -np.sign(z)
    assert abs(anchor[2]) <= 0.2 + 1e-9


def test_springs_and_pins_belong_to_the_picture_and_can_be_left_out() -> None:
    trajectory = cart(connections=[SPRING])
    wide, _ = actors(trajectory, 0.0)
    narrow, none = actors(trajectory, 0.0, fittings=False)
    assert none == []
    assert wide.extent.points[:, 0].min() <= -1.0 < narrow.extent.points[:, 0].min()
    assert (still(trajectory, **SMALL) != still(trajectory, fittings=False, **SMALL)).any()
    assert actors(of_scene("four_bar"), 0.0, joints=False)[1] == []


def test_an_imported_robot_has_no_pins_unless_requested() -> None:
    model = pysim.load_model("package://ur_description/urdf/ur5_robot.urdf")
    trajectory = pysim.Trajectory.of(model, [0.0], model.neutral()[None])
    hulls = {body: np.random.default_rng(body).normal(size=(8, 3)) for body in range(6)}
    up = np.array([0.0, 0.0, 1.0])
    for joints, count in ((None, 0), (True, 6)):
        options = render_options(trajectory, joints=joints)
        plan = Planner(trajectory, hulls, up, options).make()
        assert sum(part.kind == "pin" for part in plan.fixed) == count


def test_a_tilted_ground_is_drawn_and_the_floor_is_not_drawn_twice() -> None:
    ground = {"role": "ground", "name": "ground", "type": "plane", "offset": -0.5}
    tilted = ground | {"normal": [0.6, 0.0, 0.8]}
    flat = ground | {"normal": [0.0, 0.0, 1.0]}
    player, (plate,) = actors(cart(connections=[tilted, flat]), 0.0)
    matrix = np.asarray(plate.user_matrix)
    np.testing.assert_allclose(matrix[:3, 2], [0.6, 0.0, 0.8], atol=1e-12)
    assert matrix[:3, 2] @ matrix[:3, 3] == pytest.approx(-0.5)
    assert player.extent.ground == -0.5


def test_a_line_of_no_length_has_a_place() -> None:
    matrix = between(np.ones(3), np.ones(3))
    assert np.isfinite(matrix).all()
    np.testing.assert_array_equal(matrix[:3, 3], np.ones(3))


UP = np.array([0.0, 0.0, 1.0])
BOX = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-0.15, 0.15)])


def planned(
    *connections: dict[str, Any],
    hulls: dict[int, np.ndarray] | None = None,
    options: dict[str, Any] | None = None,
    **header: Any,
) -> Plan:
    """The plan of a cart with connections; its box is the hull of body 0."""
    trajectory = cart(connections=list(connections), **header)
    chosen = render_options(trajectory, **(options or {}))
    return Planner(trajectory, {0: BOX} if hulls is None else hulls, UP, chosen).make()


def kinds(plan: Plan) -> list[str]:
    return [line.kind for line in plan.lines] + [part.kind for part in plan.fixed]


ROD: dict[str, Any] = {
    "role": "loop",
    "name": "rod",
    "type": "distance",
    "axis": [0, 0, 1],
    "length": 1.0,
    "frames": [[-1, place(0, 0, 1).tolist()], [0, np.eye(4).tolist()]],
}
FORCE: dict[str, Any] = {"role": "force", "name": "force", "points": SPRING["points"]}
DRAWN = {
    "a damper alone": (SPRING | {"stiffness": 0.0, "damping": 2.0}, ["damper"]),
    "a spring along a path of two points": (
        FORCE | {"type": "path_spring", "stiffness": 5.0},
        ["coil"],
    ),
    "a rope along a path of two points": (FORCE | {"type": "rope", "stiffness": 5.0}, ["rope"]),
    "a bushing": (FORCE | {"type": "bushing"}, ["ball"]),
    "a force without a shape of its own": (FORCE | {"type": "linear_drag"}, []),
    "a force on a coordinate": ({"role": "force", "name": "f", "type": "coordinate_spring"}, []),
    "a rod": (ROD, ["rod"]),
}


@pytest.mark.parametrize("what", DRAWN)
def test_a_connection_is_drawn_as_its_kind_or_left_out(what: str) -> None:
    entry, expected = DRAWN[what]
    assert kinds(planned(entry)) == expected
    assert kinds(planned(entry, options={"fittings": False})) == []


def test_a_bushing_is_drawn_on_its_second_frame() -> None:
    (ball,) = planned(FORCE | {"type": "bushing"}).fixed
    assert ball.body == 0
    np.testing.assert_array_equal(ball.pose[:3, 3], [-0.2, 0.0, 0.05])


def hinge(kind: str = "revolute", height: float = 1.0, **more: Any) -> dict[str, Any]:
    """A joint of the cart on the world, at a height [m]."""
    frames = [[-1, place(0, 0, height).tolist()], [0, place(0, 0, 0.15).tolist()]]
    return {"role": "joint", "name": "j", "type": kind, "axis": [0, 1, 0], "frames": frames} | more


def test_a_joint_on_a_shape_of_the_world_needs_no_pedestal() -> None:
    wall = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (0.0, 2.0)])
    assert kinds(planned(hinge())) == ["pin", "pedestal"]
    assert kinds(planned(hinge(), hulls={0: BOX, -1: wall})) == ["pin"]
    low = wall - [0.0, 0.0, 5.0]
    assert kinds(planned(hinge(), hulls={0: BOX, -1: low})) == ["pin", "pedestal"]


def test_a_body_without_shapes_is_held_from_below() -> None:
    """A pedestal stands under the joint, and the spring of a slide ends at the origin of its frame."""
    plan = planned(hinge(), hulls={})
    (pedestal,) = (part for part in plan.fixed if part.kind == "pedestal")
    assert any(np.allclose(point[:2], 0) and point[2] < 1.0 for point in plan.reach)
    assert pedestal.pose[2, 2] == pytest.approx(1.0)
    sliding = hinge("prismatic", axis=[1, 0, 0], stiffness=[10.0], rest=[0.0])
    (coil,) = planned(sliding, hulls={}).lines
    np.testing.assert_allclose(coil.points[1].pose[:3, 3], [0, 0, 0.15], atol=1e-15)


def test_joints_of_meshes_are_drawn_on_request_only() -> None:
    trajectory = cart(connections=[hinge()])
    header = replace(trajectory.header, visuals=({"body": 0, "kind": "mesh"},))
    trajectory = replace(trajectory, header=header)
    for joints, expected in ((None, []), (True, ["pin", "pedestal"])):
        options = render_options(trajectory, joints=joints)
        assert kinds(Planner(trajectory, {0: BOX}, UP, options).make()) == expected
