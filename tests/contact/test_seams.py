"""Bodies slide over the seams of floors of several shapes as over one floor, and stop at risers.

Oracle: closed forms. A body that slides at v with friction μ stops after v²/(2 μ g), whatever the floor is made of.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.contact.covered_faces import covered_faces
from pysim.contact.pairs import placed_shapes
from pysim.trajectory import Trajectory
from tests.nightly import every_other_at_night

G, FRICTION, SPEED = 9.81, 0.2, 1.5
STOPS_AFTER = SPEED**2 / (2 * FRICTION * G)  # [m]
UNIT = {"xx": 1, "yy": 1, "zz": 1}
THINGS: dict[str, tuple[dict[str, Any], float]] = {
    "box": ({"box": [0.1, 0.08, 0.06]}, 0.03),
    "cup": ({"cylinder": {"radius": 0.05, "length": 0.06}}, 0.03),
    "mesh": ({"mesh": "box.obj", "convex": True}, 0.03),
    "prism": ({"mesh": "prism.obj", "convex": True}, 0.03),
    "cone": ({"cone": {"radius": 0.05, "length": 0.08}}, 0.04),
    "capsule": (
        {"capsule": {"radius": 0.03, "length": 0.1}, "at": {"rpy": [0, np.pi / 2, 0]}},
        0.03,
    ),
}
TILE: dict[str, Any] = {"box": [0.25, 1, 0.2]}
FLOORS = ("bodies", "one body", "mesh tiles", "planks", "brick pattern", "lowered")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import trimesh

    folder = tmp_path_factory.mktemp("meshes")
    trimesh.creation.box((0.25, 1, 0.2)).export(folder / "tile.obj")
    trimesh.creation.box((0.1, 0.08, 0.06)).export(folder / "box.obj")
    angle = np.radians([0, 60, 120, 180, 240, 300])
    rim = 0.05 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = [np.column_stack([rim, np.full(6, z)]) for z in (-0.03, 0.03)]
    trimesh.convex.convex_hull(np.concatenate(ends)).export(folder / "prism.obj")
    return folder


def tiles(floor: str) -> list[dict[str, Any]]:
    """Shapes of a floor whose top is z = 0, over which bodies slide along x."""
    if floor == "planks":
        return [{"box": [4, 0.11, 0.2], "at": {"xyz": [1, 0.11 * k, -0.1]}} for k in range(-4, 5)]
    if floor == "brick pattern":
        return [
            {
                "box": [0.25, 0.3, 0.2],
                "at": {"xyz": [0.25 * k + 0.125 * (row % 2), 0.3 * row, -0.1]},
            }
            for row in (-1, 0, 1)
            for k in range(-5, 12)
        ]
    shape = {"mesh": "tile.obj", "convex": True} if floor == "mesh tiles" else TILE
    low = 5e-5 if floor == "lowered" else 0.0  # [m] each tile below the one before
    return [{**shape, "at": {"xyz": [0.25 * k, 0, -0.1 - low * k]}} for k in range(-4, 12)]


def fixed_floor(scene: pysim.SceneBuilder, shapes: list[dict[str, Any]], *, together: bool) -> None:
    shapes = [{**shape, "material": "m"} for shape in shapes]
    for k, part in enumerate([shapes] if together else [[shape] for shape in shapes]):
        scene.body(f"floor{k}", mass=1.0, inertia=UNIT, collision=part)
        scene.joint(f"fixed{k}", "fixed", child=f"floor{k}")


def sliding(
    folder: Path,
    shapes: list[dict[str, Any]],
    thing: str | list[dict[str, Any]],
    *,
    together: bool = True,
    yaw: float = 0.0,
    aside: float = 0.0,
) -> Trajectory:
    scene = pysim.SceneBuilder("seams", folder=folder)
    scene.material("m", friction=FRICTION)
    if isinstance(thing, str):
        shape, height = THINGS[thing]
        parts = [shape]
    else:
        parts, height = thing, 0.03
    scene.body(
        "thing",
        mass=1.0,
        inertia={"xx": 2e-3, "yy": 2e-3, "zz": 2e-3},
        collision=[{**part, "material": "m"} for part in parts],
    )
    v = [SPEED * np.cos(yaw), -SPEED * np.sin(yaw) + aside, 0, 0, 0, 0]  # in the body's frame
    start = {"xyz": [-0.6, 0.013, height], "rpy": [0, 0, yaw], "v": v}
    scene.joint("free", "free", child="thing", start=start)
    fixed_floor(scene, shapes, together=together)
    scene.simulation(duration=1.0, step=1e-3)
    scene.output(every=0.01)
    return pysim.simulate(scene.build())


@pytest.mark.parametrize(("thing", "floor"), every_other_at_night(THINGS, FLOORS))
def test_a_body_slides_over_seams_as_over_one_floor(folder: Path, floor: str, thing: str) -> None:
    run = sliding(folder, tiles(floor), thing, together=floor != "bodies")

    travelled = run.q[-1, 0] - run.q[0, 0]
    np.testing.assert_allclose(travelled, STOPS_AFTER, rtol=0.015)
    assert (run.q[:, 2] - run.q[0, 2]).max() < 1e-4
    assert np.abs(run.q[:, 1] - 0.013).max() < 1e-3


FEET: list[dict[str, Any]] = [
    {"sphere": {"radius": 0.01}, "at": {"xyz": [x, y, -0.02]}}
    for x in (-0.04, 0.04)
    for y in (-0.04, 0.04)
]
SKIDS: list[dict[str, Any]] = [
    {
        "capsule": {"radius": 0.01, "length": 0.08},
        "at": {"xyz": [0, y, -0.02], "rpy": [0, np.pi / 2, 0]},
    }
    for y in (-0.04, 0.04)
]


def slanted_planks() -> list[dict[str, Any]]:
    """Planks whose seams are at 30° to the way of bodies."""
    across = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    return [
        {"box": [0.1, 3, 0.2], "at": {"xyz": [*(0.1 * k * across), -0.1], "rpy": [0, 0, np.pi / 6]}}
        for k in range(-12, 8)
    ]


@pytest.mark.parametrize("floor", ["bodies", "brick pattern", "lowered", "slanted planks"])
@pytest.mark.parametrize("parts", [FEET, SKIDS], ids=["feet", "skids"])
def test_small_round_feet_slide_over_seams(
    folder: Path, parts: list[dict[str, Any]], floor: str
) -> None:
    """The edge of the next shape, reached in a step, lifted balls of 1 cm by 0.2 mm and took 3 to 6 % of the way."""
    shapes = slanted_planks() if floor == "slanted planks" else tiles(floor)
    run = sliding(folder, shapes, parts, together=floor != "bodies")

    np.testing.assert_allclose(run.q[-1, 0] - run.q[0, 0], STOPS_AFTER, rtol=0.015)
    assert (run.q[:, 2] - run.q[0, 2]).max() < 1e-4
    assert np.abs(run.q[:, 1] - 0.013).max() < 1e-3


def test_a_box_that_is_turned_slides_over_seams(folder: Path) -> None:
    run = sliding(folder, tiles("one body"), "box", yaw=0.4)

    np.testing.assert_allclose(run.q[-1, 0] - run.q[0, 0], STOPS_AFTER, rtol=0.015)
    assert (run.q[:, 2] - run.q[0, 2]).max() < 1e-4


STAIRS: list[dict[str, Any]] = [
    {"box": [1.0, 1, 0.2], "at": {"xyz": [-0.6, 0, -0.1]}},
    {"box": [1.0, 1, 0.3], "at": {"xyz": [0.4, 0, -0.05]}},
]


@pytest.mark.parametrize("thing", ["box", "cup", "mesh"])
def test_a_riser_stops_a_body(folder: Path, thing: str) -> None:
    """Its lower half is covered by the step before."""
    run = sliding(folder, STAIRS, thing)

    front = 0.05
    assert run.q[:, 0].max() < -0.1 - front + 2e-3
    assert abs(run.v[-1]).max() < 1e-3


@pytest.mark.parametrize("aside", [0.02, 0.05, 0.1, 0.2])  # [m/s]
def test_a_cup_comes_to_rest_at_a_riser(folder: Path, aside: float) -> None:
    """A point of its rim came and went with a corner of its cap at the edge of the step: it shook at 0.02 rad/s."""
    run = sliding(folder, STAIRS, "cup", aside=aside)

    assert abs(run.v[-5:]).max() < 1e-9


def test_a_body_that_falls_beyond_the_last_tile_stops_at_its_side(folder: Path) -> None:
    """Only inner sides are covered: a box that swings back hits the outer side of the last one."""
    shapes = [{**TILE, "at": {"xyz": [0.25 * k, 0, -0.1]}} for k in range(3)]
    scene = pysim.SceneBuilder("side", folder=folder)
    scene.material("m", friction=FRICTION)
    scene.body(
        "thing",
        mass=1.0,
        inertia={"xx": 2e-3, "yy": 2e-3, "zz": 2e-3},
        collision=[{"box": [0.06, 0.06, 0.06], "material": "m"}],
    )
    scene.joint(
        "x",
        "prismatic",
        child="thing",
        axis=[1, 0, 0],
        start={"q": 0.8, "v": -1.0},
        at={"xyz": [0, 0, -0.08]},
    )
    fixed_floor(scene, shapes, together=True)
    scene.simulation(duration=0.5, step=1e-3)

    run = pysim.simulate(scene.build())

    assert run.q[-1, 0] > 0.625 + 0.03 - 2e-3


def covered_numbers(scene: pysim.SceneBuilder) -> list[list[int]]:
    placed = placed_shapes(scene.build().model)
    everything = {k: frozenset({0}) for k in range(len(placed))}
    return [faces.tolist() for faces in covered_faces(placed, everything)]


def test_faces_between_flush_boxes_are_covered_and_those_of_stairs_are_not(folder: Path) -> None:
    scene = pysim.SceneBuilder("stairs", folder=folder)
    heights = (0.2, 0.2, 0.3, 0.29997)
    fixed_floor(
        scene,
        [{"box": [0.25, 1, h], "at": {"xyz": [0.25 * k, 0, h / 2]}} for k, h in enumerate(heights)],
        together=True,
    )
    scene.material("m", friction=FRICTION)
    scene.body(
        "thing", mass=1.0, inertia=UNIT, collision=[{"sphere": {"radius": 0.1}, "material": "m"}]
    )
    scene.joint("free", "free", child="thing", start={"xyz": [0, 0, 2]})

    first, second, third, fourth, _ = covered_numbers(scene)

    assert (first, second, third, fourth) == ([0], [0, 1], [0], [1])


WALLS: list[dict[str, Any]] = [  # of a cup whose bottom is flat
    *({"box": [0.1, 0.01, 0.06], "at": {"xyz": [0, 0.045 * side, 0]}} for side in (-1, 1)),
    *({"box": [0.01, 0.08, 0.06], "at": {"xyz": [0.045 * side, 0, 0]}} for side in (-1, 1)),
]
BOTTOM: dict[str, Any] = {"box": [0.1, 0.1, 0.01], "at": {"xyz": [0, 0, -0.025]}}


def test_a_flat_bottom_that_shapes_share_is_not_covered(folder: Path) -> None:
    """The bottoms of overlapping boxes are in each other, but nothing is below them."""
    scene = pysim.SceneBuilder("cup", folder=folder)
    scene.material("m", friction=FRICTION)
    fixed_floor(scene, [*WALLS, BOTTOM], together=True)
    scene.body(
        "thing", mass=1.0, inertia=UNIT, collision=[{"sphere": {"radius": 0.1}, "material": "m"}]
    )
    scene.joint("free", "free", child="thing", start={"xyz": [0, 0, 2]})

    along, other, across, opposite, bottom, _ = covered_numbers(scene)

    assert (along, other, bottom) == ([], [], [])
    assert (across, opposite) == ([2, 3], [2, 3])  # ends between the long walls


@pytest.mark.parametrize("floor", ["one", *FLOORS])
def test_a_cup_of_walls_and_a_bottom_slides_as_one_box(folder: Path, floor: str) -> None:
    """It sank by 13 mm, and stopped after 0.04 m, because walls and bottom covered each other's lower face."""
    shapes = [{"box": [4, 1, 0.2], "at": {"xyz": [1, 0, -0.1]}}] if floor == "one" else tiles(floor)
    run = sliding(folder, shapes, [*WALLS, BOTTOM], together=floor != "bodies")

    np.testing.assert_allclose(run.q[-1, 0] - run.q[0, 0], STOPS_AFTER, rtol=0.015)
    assert (run.q[:, 2] - run.q[0, 2]).max() < 1e-4
    assert (run.q[:, 2] - run.q[0, 2]).min() > -1e-3


def test_a_face_that_several_shapes_cover_together_is_covered(folder: Path) -> None:
    scene = pysim.SceneBuilder("bricks", folder=folder)
    scene.material("m", friction=FRICTION)
    fixed_floor(
        scene,
        [
            {"box": [0.5, 1, 0.2]},
            {"box": [0.5, 0.6, 0.2], "at": {"xyz": [0.5, -0.2, 0]}},
            {"box": [0.5, 0.4, 0.2], "at": {"xyz": [0.5, 0.3, 0]}},
        ],
        together=True,
    )
    scene.body(
        "thing", mass=1.0, inertia=UNIT, collision=[{"sphere": {"radius": 0.1}, "material": "m"}]
    )
    scene.joint("free", "free", child="thing", start={"xyz": [0, 0, 2]})

    assert covered_numbers(scene)[:3] == [[0], [1, 2], [1, 3]]
