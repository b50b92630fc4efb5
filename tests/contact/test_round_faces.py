"""Bodies that stand on a round face, or on one of many corners, rest wherever they stand.

Oracle: statics. A body whose centre of mass is above the face stays where it is, as on a square face of the same size.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.contact import distances
from pysim.scene.poses import from_rpy, rotation, translation
from pysim.shapes import Shape
from pysim.trajectory import Trajectory

SIZE = 0.06  # [m] edge or diameter, and height, of what stands
TABLES = {
    "cap": {"cylinder": {"radius": 0.4, "length": 0.1}},
    "base": {"cone": {"radius": 0.4, "length": 0.1}, "at": {"rpy": [np.pi, 0, 0]}},
    "hexagon": {"mesh": "hexagon.obj", "convex": True},
    "polygon": {"mesh": "polygon.obj", "convex": True},
}
BODIES = {
    "box": {"box": [SIZE] * 3},
    "cup": {"cylinder": {"radius": SIZE / 2, "length": SIZE}},
    "prism": {"mesh": "prism.obj", "convex": True},
    "cone": {"cone": {"radius": SIZE / 2, "length": SIZE}},
    "capsule": {"capsule": {"radius": SIZE / 2, "length": SIZE}, "at": {"rpy": [0, np.pi / 2, 0]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meshes")
    prism(6, 0.4, 0.1).export(folder / "hexagon.obj")
    prism(24, 0.4, 0.1).export(folder / "polygon.obj")
    prism(7, SIZE / 2, SIZE).export(folder / "prism.obj")
    return folder


def prism(corners: int, radius: float, height: float) -> Any:
    import trimesh

    angle = 2 * np.pi * np.arange(corners) / corners
    rim = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ends = [np.column_stack([rim, np.full(corners, z)]) for z in (-height / 2, height / 2)]
    return trimesh.convex.convex_hull(np.concatenate(ends))


def standing(
    folder: Path,
    table: str,
    body: str,
    place: tuple[float, float],
    yaw: float,
    duration: float = 1.5,
) -> Trajectory:
    scene = pysim.SceneBuilder("table", folder=folder)
    scene.body("table", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1}, collision=[TABLES[table]])
    scene.joint("fixed", "fixed", child="table", at={"xyz": [0, 0, -0.05]})
    scene.body(
        "thing",
        mass=0.6,
        inertia={"xx": 4e-4, "yy": 4e-4, "zz": 4e-4},
        collision=[BODIES[body]],
    )
    start = {"xyz": [*place, SIZE / 2], "rpy": [0, 0, yaw]}
    scene.joint("free", "free", child="thing", start=start)
    scene.simulation(duration=duration, step=2e-3)
    scene.output(every=0.05)
    return pysim.simulate(scene.build())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("body", BODIES)
def test_bodies_outside_the_inscribed_square_rest(folder: Path, table: str, body: str) -> None:
    radius = 0.31 if table == "hexagon" else 0.33
    for angle in np.radians([3, 25, 48, 70]):
        place = (radius * np.cos(angle), radius * np.sin(angle))

        run = standing(folder, table, body, place, 0.3)

        assert np.abs(run.v[-4:]).max() < 1e-6
        np.testing.assert_allclose(run.q[-1, :2], place, atol=1e-5)
        assert abs(run.q[-1, 2] - SIZE / 2) < 3e-4
        assert np.abs(run.q[-1, 3:5]).max() < 2e-4  # half the angle that it leans [rad]


@pytest.mark.parametrize("table", ["cap", "hexagon", "polygon"])
@pytest.mark.parametrize("body", ["box", "cup", "prism"])
@pytest.mark.parametrize("over", [-4e-3, 4e-3])
def test_a_body_that_overhangs_tips_where_its_centre_is_beyond_the_face(
    folder: Path, table: str, body: str, over: float
) -> None:
    angle = np.radians(90 if table == "hexagon" else 7.5)
    rim = 0.4 * np.cos(np.pi / 6 if table == "hexagon" else np.pi / 24 if table == "polygon" else 0)
    place = ((rim + over) * np.cos(angle), (rim + over) * np.sin(angle))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # a body falls past the table
        run = standing(folder, table, body, place, angle, 3.0)

    assert (run.q[-1, 2] < -SIZE) == (over > 0)


def test_a_plate_on_a_round_post_is_carried_by_the_rim_of_the_post(folder: Path) -> None:
    scene = pysim.SceneBuilder("plate", folder=folder)
    scene.body(
        "post",
        mass=1.0,
        inertia={"xx": 1, "yy": 1, "zz": 1},
        collision=[{"cylinder": {"radius": 0.1, "length": 0.2}}],
    )
    scene.joint("fixed", "fixed", child="post", at={"xyz": [0, 0, -0.1]})
    scene.body(
        "plate",
        mass=1.0,
        com=[0.08, 0.02, 0],
        inertia={"xx": 0.02, "yy": 0.02, "zz": 0.03},
        collision=[{"box": [0.8, 0.6, 0.02]}],
    )
    scene.joint("free", "free", child="plate", start={"xyz": [0.0, 0.0, 0.01]})
    scene.simulation(duration=1.5, step=2e-3)

    run = pysim.simulate(scene.build())

    assert np.abs(run.v[-1]).max() < 1e-6
    np.testing.assert_allclose(run.q[-1, :3], [0, 0, 0.01], atol=5e-4)


@pytest.mark.parametrize("kind", ["box", "cylinder", "prism"])
def test_a_body_that_tips_over_a_rim_overlaps_it_by_the_depth_of_its_face(
    kind: str, folder: Path
) -> None:
    """The overlap is no more than that along the normal of the face that lies on the rim, a known depth."""
    height, radius = SIZE, 0.4
    shape = {
        "box": Shape("box", (height, height, height)),
        "cylinder": Shape("cylinder", (0.03, height)),
        "prism": Shape("mesh", (), folder / "prism.obj"),
    }[kind]
    rng = np.random.default_rng(5)
    n = 400
    tilt, depth = 10 ** rng.uniform(-3, -0.3, n), 10 ** rng.uniform(-5, -3.3, n)
    yaw = rng.uniform(0, 2 * np.pi, (2, n))
    over = rng.uniform(-0.01, 0.02, n)
    poses = np.empty((n, 4, 4))
    for k in range(n):
        turned = [rotation(from_rpy(0, 0, angle)) for angle in yaw[:, k]]
        middle = np.array([over[k], 0, height / 2 - depth[k]])
        lean = turned[1] @ rotation(from_rpy(0, tilt[k], 0))
        poses[k] = np.eye(4)
        poses[k, :3, :3] = lean @ turned[0]
        poses[k, :3, 3] = turned[1] @ [radius, 0, 0] + lean @ middle

    found = distances(Shape("cylinder", (radius, 0.1)), translation((0, 0, -0.05)), shape, poses)

    assert (found.distance >= -depth - 2e-8).all()
