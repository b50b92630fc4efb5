"""Springs, rods, ropes, pins and supports; the oracle is the place of their ends in the world."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.render import still
from pysim.render.fitting_plan import Planner
from pysim.render.fitting_shapes import PULLED, PUSHED, STEEL, between, of_load
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
