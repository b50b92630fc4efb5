"""Contacts with grids of heights.

Oracle: closed forms of statics on planes and in a furrow, and the same run on a plane that is as steep.
"""

from __future__ import annotations

import math
import re
import struct
import time
import tracemalloc
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError, PysimWarning
from pysim.shapes.height_field import read_heights
from tests.contact.scenes import STIFF, G, free, ran, world

SCENES = Path(__file__).parents[2] / "scenes"
BALL = "{ sphere = { radius = 0.1 } }"
BOX = "{ box = [0.3, 0.2, 0.1] }"


def on_heights(
    tmp_path: Path, heights: np.ndarray, body: str, size: float = 4.0, **changes: object
) -> pysim.Scene:
    """A body over a square of this size, whose heights are given at nodes."""
    np.save(tmp_path / "terrain.npy", heights)
    ground = f'[[ground]]\nheight_field = {{ file = "terrain.npy", size = [{size}, {size}] }}\n'
    return world(tmp_path, ground + body, **changes)  # type: ignore[arg-type]


def ramp(slope: float, nodes: int = 41, size: float = 4.0) -> np.ndarray:
    """A plane that rises along x."""
    return np.tile(slope * np.linspace(-size / 2, size / 2, nodes), (nodes, 1))


def rough(seed: int = 1, nodes: int = 41) -> np.ndarray:
    return 0.05 * np.random.default_rng(seed).random((nodes, nodes))


@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_ball_between_nodes_presses_on_one_cell_across_the_plane(
    tmp_path: Path, angle: float
) -> None:
    x, r = 0.053, 0.1
    start = f"{{ xyz = [{x}, 0.041, {x * math.tan(angle) + r / math.cos(angle)!r}] }}"
    scene = on_heights(
        tmp_path,
        ramp(math.tan(angle)),
        free("ball", BALL, 1.0, start),
        surface=f"friction = 1\n{STIFF}",
        duration=0.1,
    )
    points = ran(scene).contacts.of_row(-1)
    normal = np.array([-math.sin(angle), 0, math.cos(angle)])
    assert len(points.force) == 1
    assert points.normal[0] == pytest.approx(normal, abs=1e-12)
    assert points.force[0] @ normal == pytest.approx(G * math.cos(angle), rel=1e-3)


def test_ball_in_a_furrow_between_two_cells_is_carried_by_both_sides(tmp_path: Path) -> None:
    x = np.linspace(-2, 2, 41)
    heights = np.tile(0.5 * abs(x), (41, 1))
    height = 0.1 / math.cos(math.atan(0.5))
    scene = on_heights(
        tmp_path,
        heights,
        free("ball", BALL, 1.0, f"{{ xyz = [0, 0.05, {height!r}] }}"),
        surface=f"friction = 0\n{STIFF}",
        duration=1.0,
    )
    trajectory = ran(scene)
    points = trajectory.contacts.of_row(-1)
    assert len(points.force) == 2
    assert points.force[:, 2] == pytest.approx(G / 2, rel=1e-6)
    assert abs(points.force[:, 0]) == pytest.approx(G / 4, rel=1e-6)  # slope 1/2
    assert trajectory.q[-1, :3] == pytest.approx([0, 0.05, height], abs=1e-6)


@pytest.mark.parametrize("body", [BALL, BOX, "{ capsule = { radius = 0.1, length = 0.4 } }"])
def test_bodies_on_rough_ground_come_to_rest_and_stay(tmp_path: Path, body: str) -> None:
    scene = on_heights(
        tmp_path,
        rough(),
        free("body", body, 1.0, "{ xyz = [0.13, 0.07, 0.4], rpy = [0.3, 0.2, 0.1] }"),
        surface="friction = 0.8\nrolling = 0.02\nspinning = 0.02\nstiffness = 1e5",
        duration=8.0,
        every=0.01,
    )
    trajectory = ran(scene)
    moved = np.linalg.norm(trajectory.q[-1, :3] - trajectory.q[-201, :3])
    assert moved < 1e-9
    assert trajectory.contact_forces[-1, 0] == pytest.approx([0, 0, G], abs=1e-6)


def test_box_sticks_to_a_ramp_of_cells_below_the_angle_of_friction_and_slides_above(
    tmp_path: Path,
) -> None:
    angle, a = 0.4, 0.05
    height = 0.3 * math.tan(angle) + a / math.cos(angle)
    for friction, slides in ((math.tan(angle) + 0.02, False), (math.tan(angle) - 0.1, True)):
        scene = on_heights(
            tmp_path,
            ramp(math.tan(angle)),
            free("box", BOX, 1.0, f"{{ xyz = [0.3, 0, {height!r}], rpy = [0, {-angle}, 0] }}"),
            surface=f"friction = {friction}\n{STIFF}",
            duration=0.5,
            every=0.1,
        )
        trajectory = ran(scene)
        moved = np.linalg.norm(trajectory.q[-1, :3] - trajectory.q[1, :3])
        if slides:
            acceleration = G * (math.sin(angle) - friction * math.cos(angle))
            assert moved == pytest.approx(acceleration * (0.5**2 - 0.1**2) / 2, rel=0.02)
        else:
            assert moved < 1e-6


def test_ball_that_rolls_over_cells_is_that_on_a_plane(tmp_path: Path) -> None:
    """The friction of a cell keeps its memory, and that of the next one takes over at its edge."""
    start = "{ xyz = [-1.5, 0.03, 0.1], v = [1.0, 0, 0, 0, 10.0, 0] }"
    body = free("ball", BALL, 1.0, start)
    scene = on_heights(
        tmp_path,
        np.zeros((41, 41)),
        body,
        surface=f"friction = 0.5\n{STIFF}",
        duration=2.0,
        every=0.1,
    )
    trajectory = ran(scene)
    assert trajectory.q[-1, 0] == pytest.approx(0.5, abs=1e-3)
    assert trajectory.q[-1, 1] == pytest.approx(0.03, abs=1e-6)
    assert trajectory.v[-1, 4] == pytest.approx(10, rel=1e-3)


def test_body_falls_beyond_the_edge(tmp_path: Path) -> None:
    body = free("ball", BALL, 1.0, "{ xyz = [2.5, 0, 0.2] }")
    trajectory = ran(on_heights(tmp_path, np.zeros((3, 3)), body, duration=1.0))
    assert trajectory.q[-1, 2] < -4


@pytest.mark.slow
def test_a_million_cells_cost_what_a_few_do(tmp_path: Path) -> None:
    times = []
    for nodes in (11, 1001):
        body = free("ball", BALL, 1.0, "{ xyz = [0.013, 0.007, 0.1] }")
        scene = on_heights(
            tmp_path,
            np.zeros((nodes, nodes)),
            body,
            surface="friction = 0.5",
            duration=2.0,
            every=0.1,
        )
        worlds = pysim.Worlds(scene, 1)
        worlds.step(steps=100)
        start = time.perf_counter()
        worlds.step(steps=20000)
        times.append(time.perf_counter() - start)
    assert times[1] < 3 * times[0]


def test_image_is_read_with_black_at_zero_and_its_first_row_at_the_largest_y(
    tmp_path: Path,
) -> None:
    import imageio.v3 as imageio

    image = np.zeros((3, 5), np.uint8)
    image[0, 4] = 255  # the corner at +x and +y
    imageio.imwrite(tmp_path / "terrain.png", image)
    ground = '[[ground]]\nheight_field = { file = "terrain.png", size = [4, 2], height = 0.5 }\n'
    scene = world(tmp_path, ground + free("ball", BALL, 1.0, "{ xyz = [0, 0, 1] }"))
    contacts: Any = scene.spec.model.contacts
    field = contacts.grounds[0].field.shape.field
    assert field.heights[2, 4] == 0.5
    assert np.count_nonzero(field.heights) == 1
    assert field(np.array([[2.5, 0.0, 0.0]]))[0, 0] == math.inf  # beyond the grid


def test_table_of_numbers_is_read_in_metres(tmp_path: Path) -> None:
    (tmp_path / "terrain.csv").write_text("0,0\n0.2,0.4\n", "utf-8")
    ground = '[[ground]]\nheight_field = { file = "terrain.csv", size = [4, 2] }\n'
    scene = world(tmp_path, ground + free("ball", BALL, 1.0, "{ xyz = [0, 0, 1] }"))
    contacts: Any = scene.spec.model.contacts
    assert contacts.grounds[0].field.shape.field.heights.tolist() == [[0, 0], [0.2, 0.4]]


def test_errors_of_a_height_field_name_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "row.csv").write_text("0,0,0\n", "utf-8")
    (tmp_path / "hole.csv").write_text("0,0\n0,nan\n", "utf-8")
    for keys, problem in {
        'file = "a.tif"': "must be a .png, .npy, .csv file, got 'a.tif'",
        'file = "a.npy"': "there is no file",
        'file = "a.png"': "needs the height of white [m]",
        'file = "row.csv", height = 1.0': "is for an image; a .csv file is in metres",
        'file = "row.csv"': "two rows and two columns or more",
        'file = "hole.csv"': "is nan in row 1, column 1; fill in a height",
    }.items():
        ground = f"[[ground]]\nheight_field = {{ size = [4, 2], {keys} }}\n"
        with pytest.raises(pysim.SceneError, match=re.escape(problem)):
            world(tmp_path, ground + free("ball", BALL, 1.0, "{ xyz = [0, 0, 1] }"))


def test_height_field_of_an_mjcf_file_carries_what_falls_on_it(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    heights = " ".join(["0 0 1 1"] * 3)
    (tmp_path / "terrain.xml").write_text(
        f"""<mujoco><option timestep="0.001"/>
        <asset><hfield name="step" nrow="3" ncol="4" size="3 2 0.5 0.1" elevation="{heights}"/></asset>
        <worldbody><geom type="hfield" hfield="step" pos="0 0 0.1"/>
        <body name="box" pos="2 0 0.75"><freejoint/><geom type="box" size="0.2 0.2 0.1" mass="1"/></body>
        </worldbody></mujoco>""",
        "utf-8",
    )
    scene = tmp_path / "scene.toml"
    scene.write_text('[[model]]\nfile = "terrain.xml"\n[simulation]\nduration = 1.0\n', "utf-8")
    trajectory = ran(pysim.load_scene(scene))
    assert trajectory.q[-1, 2] == pytest.approx(0.1 + 0.5 + 0.1, abs=2e-3)


@pytest.mark.slow
def test_quadruped_stands_on_rough_ground_without_creep(tmp_path: Path) -> None:
    text = (SCENES / "anymal_pushed.toml").read_text("utf-8")
    text = text.replace(
        "plane = { normal = [0, 0, 1], offset = 0 }",
        'height_field = { file = "terrain.npy", size = [4.0, 4.0] }',
    ).replace("0.4945], v = [0, 0.4, 0, 0, 0, 0]", "0.53]")
    np.save(tmp_path / "terrain.npy", rough(seed=3, nodes=61))
    path = tmp_path / "anymal.toml"
    path.write_text(text, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # of inertias in the robot's file
        scene = pysim.load_scene(path, {"simulation.duration": 12.0})
    trajectory = ran(scene)
    late = np.searchsorted(trajectory.t, 10.0)
    moved = np.abs(trajectory.q[-1] - trajectory.q[late]).max()
    assert moved < 1e-8
    assert np.abs(trajectory.v[-1]).max() < 1e-8
    total = trajectory.contact_forces[-1].sum(axis=0)
    assert total == pytest.approx([0, 0, scene.model.total_mass * G], abs=1e-3)
    on_feet = trajectory.contact_forces[-1, :, 2]
    assert np.count_nonzero(on_feet > 10) == 4


def stands_on(
    tmp_path: Path, ground: str, x: float, angle: float, surface: str
) -> pysim.Trajectory:
    """A foot, a ball that does not turn, stands on a slope at x [m] along it for 5 s."""
    at = [
        x * math.cos(angle) - 0.1 * math.sin(angle),
        0.05,
        x * math.sin(angle) + 0.1 * math.cos(angle),
    ]
    foot = f"""
[[body]]
name = "foot"
shape = {BALL}
mass = 1.0
collision = true
[[joint]]
name = "moves"
type = "translation"
child = "foot"
start = {at}
"""
    return ran(world(tmp_path, ground + foot, surface=surface, duration=5.0, every=0.1))


@pytest.mark.parametrize("offset", [2e-4, 4e-5, 2e-6, 0.0, -2e-6])
def test_foot_on_a_slope_sticks_across_the_edge_of_a_cell_as_on_a_plane(
    tmp_path: Path, offset: float
) -> None:
    """The springs of the contact move it over the edge, and it stays where it stays on the plane."""
    angle = math.atan(0.4)
    surface = "friction = 0.8\nstiffness = 2e4\nrestitution = { value = 0, at = 1 }"
    np.save(tmp_path / "terrain.npy", ramp(0.4))
    grid = '[[ground]]\nheight_field = { file = "terrain.npy", size = [4, 4] }\n'
    normal = [-math.sin(angle), 0, math.cos(angle)]
    plane = f"[[ground]]\nplane = {{ normal = {normal} }}\n"
    found = stands_on(tmp_path, grid, offset, angle, surface)
    expected = stands_on(tmp_path, plane, offset, angle, surface)
    moved = (expected.q[-1] - expected.q[0]) @ [math.cos(angle), 0, math.sin(angle)]
    assert moved < -2.5e-4  # over the edge at x = 0 from all places above it
    late = found.t > 2.0
    assert np.abs(found.q[late] - found.q[-1]).max() < 1e-12
    np.testing.assert_allclose(found.q[-1], expected.q[-1], atol=1e-9)


def test_worlds_on_a_terrain_have_the_bits_of_one(tmp_path: Path) -> None:
    scene = on_heights(
        tmp_path,
        rough(),
        free("ball", BALL, 1.0, "{ xyz = [0.13, 0.07, 0.3], v = [1, 0.5, 0, 0, 0, 0] }"),
        surface="friction = 0.8",
        duration=1.0,
        every=0.1,
    )
    start = ran(scene)
    q, v = np.tile(start.q[0], (7, 1)), np.tile(start.v[0], (7, 1))
    q[:, 0] += np.linspace(0, 0.6, 7)
    together = pysim.rollout(scene, q, v)
    for k in range(7):
        assert (together.q[k] == pysim.rollout(scene, q[k], v[k]).q).all()


def test_worlds_in_single_precision_and_with_numbers_of_their_own_rest_on_a_terrain(
    tmp_path: Path,
) -> None:
    scene = on_heights(
        tmp_path,
        ramp(0.3),
        free("box", BOX, 1.0, "{ xyz = [0, 0, 0.08], rpy = [0, -0.29, 0] }"),
        surface="friction = 0.8\nsink = 5e-4",
        duration=1.0,
        every=0.1,
    )
    single = pysim.Worlds(scene, 5, dtype=np.float32)
    own = pysim.Worlds(scene, 5)
    own.parameters["materials.default.friction"][:] = [0.1, 0.2, 0.5, 0.6, 0.7]
    single.step(steps=1000)
    own.step(steps=1000)
    moved = np.linalg.norm(own.q[:, :3] - own.q[-1, :3], axis=1)
    assert (moved[:2] > 0.2).all()  # they slide, tan(slope) is 0.3
    assert (moved[2:] < 2e-3).all()
    np.testing.assert_allclose(single.q[0, :3], ran(scene).q[-1, :3], atol=2e-4)


def test_a_picture_with_too_many_pixels_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    """A picture of 13000 by 13000 grey pixels needs a few kilobytes, and 1.3 GB of heights."""
    rows = zlib.compressobj(9)
    pixels = b"".join(rows.compress(bytes(13001)) for _ in range(13000)) + rows.flush()
    chunks = (b"IHDR", struct.pack(">IIBBBBB", 13000, 13000, 8, 0, 0, 0, 0)), (b"IDAT", pixels)
    data = b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )
    (tmp_path / "h.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    tracemalloc.start()
    with pytest.raises(PysimError, match=r"h\.png: has 169000000 nodes, 16777216 at most"):
        read_heights(tmp_path / "h.png", 1.0)
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("h.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "the image is damaged"),
        ("h.png", b"II*\0" + bytes(100), "it is no PNG; save the image as one"),
        ("h.npy", b"\x93NUMPY\1\0", "it is no array of numbers"),
        ("h.csv", b"# x\n", "it is empty; write a row of numbers"),
    ],
)
def test_a_damaged_file_of_heights_is_named_with_the_cause(
    tmp_path: Path, name: str, data: bytes, problem: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(PysimError, match=rf"{name}: cannot be read as heights: .*{problem}"):
        read_heights(tmp_path / name, 1.0)
