"""The sensor `height_scan`.

Oracles: closed forms of planes and bowls, SciPy's linear interpolation on grids, and for solids the highest point
inside, which bisection finds along the vertical.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator
from scipy.spatial.transform import Rotation

import pysim
from pysim.mechanism.ground_surfaces import scanned
from pysim.meshes.field_surface import write_stl
from pysim.plugins.files import run_plugin
from pysim.shapes import find_shape
from pysim.shapes.signed_distance import Field
from tests.contact.scenes import SHAPES, world

REACH = 2.0
NOWHERE = "{ xyz = [0.13, -0.21, 1.4], rpy = [0.2, -0.3, 0.7] }"


def scene_with_scan(
    tmp_path: Path, ground: str, start: str = NOWHERE, keys: str = "", **options: object
) -> pysim.Scene:
    """A body above a ground with a scan of 7 by 5 points."""
    text = f"""{ground}
[[body]]
name = "hull"
shape = {{ sphere = {{ radius = 0.02 }} }}
mass = 1.0
collision = true
[[joint]]
name = "flies"
type = "free"
child = "hull"
start = {start}
[[sensor]]
name = "scan"
type = "height_scan"
frame = "hull"
size = [0.6, 0.4]
spacing = 0.1
{keys}
"""
    return world(tmp_path, text, duration=0.01, **options)  # type: ignore[arg-type]


def points_of(p: np.ndarray, R: np.ndarray, size: tuple[float, float] = (0.6, 0.4)) -> np.ndarray:
    """Points (n, 2) of the grid about p whose x axis is the horizontal direction of R's."""
    x, y = (np.linspace(-s / 2, s / 2, round(s / 0.1) + 1) for s in size)
    yaw = np.arctan2(R[1, 0], R[0, 0])
    along, across = (part.ravel() for part in np.meshgrid(x, y))
    turned = [
        np.cos(yaw) * along - np.sin(yaw) * across,
        np.sin(yaw) * along + np.cos(yaw) * across,
    ]
    return p[:2] + np.column_stack(turned)


def scan_of(scene: pysim.Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Heights at the start, points of the grid in the world, and the height of the frame."""
    trajectory = pysim.simulate(scene)
    q = trajectory.q[0]
    R = Rotation.from_quat(q[3:]).as_matrix()
    return trajectory.signals["scan"][0], points_of(q[:3], R), q[2]


def solid(shape: str, at: str) -> str:
    """A shape that is fixed to the world."""
    return f"""
[[body]]
name = "solid"
shape = {{ {shape}, density = 1000, at = {at} }}
collision = true
[[joint]]
name = "base"
type = "fixed"
child = "solid"
"""


def test_plane_is_scanned_at_its_height_over_the_grid(tmp_path: Path) -> None:
    n = np.array([0.2, -0.3, 1.0]) / np.linalg.norm([0.2, -0.3, 1.0])
    scene = scene_with_scan(
        tmp_path, f"[[ground]]\nplane = {{ normal = {n.tolist()}, offset = 0.1 }}"
    )
    heights, at, z = scan_of(scene)
    expected = (0.1 - at @ n[:2]) / n[2] - z
    np.testing.assert_allclose(heights, expected, atol=1e-13)


def test_heights_of_a_grid_are_bilinear_and_none_beyond_it(tmp_path: Path) -> None:
    grid = np.random.default_rng(2).uniform(-0.2, 0.2, (9, 7))  # rows along y
    np.save(tmp_path / "terrain.npy", grid)
    ground = """[[ground]]
height_field = { file = "terrain.npy", size = [0.9, 0.5] }
at = { xyz = [0.1, -0.2, 0.3], rpy = [0, 0, 0.6] }
"""
    heights, at, z = scan_of(scene_with_scan(tmp_path, ground))
    turn = np.array([[np.cos(0.6), np.sin(0.6)], [-np.sin(0.6), np.cos(0.6)]])
    own = (at - [0.1, -0.2]) @ turn.T
    f = RegularGridInterpolator(
        (np.linspace(-0.25, 0.25, 9), np.linspace(-0.45, 0.45, 7)),
        grid,
        bounds_error=False,
        fill_value=-np.inf,
    )
    expected = np.maximum(f(own[:, ::-1]) + 0.3 - z, -REACH)
    assert 0 < (expected == -REACH).sum() < len(expected)
    np.testing.assert_allclose(heights, expected, atol=1e-12)


def inside_box(p: np.ndarray) -> np.ndarray:
    return np.asarray((abs(p) <= [0.2, 0.15, 0.1]).all(axis=-1))


def inside_sphere(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(p, axis=-1) <= 0.3


def inside_ellipsoid(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(p / [0.4, 0.2, 0.3], axis=-1) <= 1


def inside_cylinder(p: np.ndarray) -> np.ndarray:
    return (np.hypot(p[..., 0], p[..., 1]) <= 0.2) & (abs(p[..., 2]) <= 0.25)


def inside_capsule(p: np.ndarray) -> np.ndarray:
    along = np.clip(p[..., 2], -0.25, 0.25)
    return np.hypot(np.hypot(p[..., 0], p[..., 1]), p[..., 2] - along) <= 0.2


def inside_tetrahedron(p: np.ndarray) -> np.ndarray:
    return (p >= 0).all(axis=-1) & (p.sum(axis=-1) <= 0.6)


SOLIDS = {
    "box = [0.4, 0.3, 0.2]": inside_box,
    "sphere = { radius = 0.3 }": inside_sphere,
    "ellipsoid = [0.4, 0.2, 0.3]": inside_ellipsoid,
    "cylinder = { radius = 0.2, length = 0.5 }": inside_cylinder,
    "capsule = { radius = 0.2, length = 0.5 }": inside_capsule,
    'mesh = "tetrahedron.stl"': inside_tetrahedron,
}


def write_tetrahedron(path: Path) -> None:
    corners = 0.6 * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    write_stl(path, corners[np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])])


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.4, -0.7, 1.1), (np.pi / 2, 0.0, 0.3)])
@pytest.mark.parametrize("shape", SOLIDS)
def test_fixed_solid_is_scanned_at_its_highest_point_over_each_point(
    tmp_path: Path, shape: str, rpy: tuple[float, float, float]
) -> None:
    write_tetrahedron(tmp_path / "tetrahedron.stl")
    p, R = np.array([0.1, -0.2, 0.4]), Rotation.from_euler("xyz", rpy).as_matrix()
    heights, at, z = scan_of(
        scene_with_scan(tmp_path, solid(shape, f"{{ xyz = {p.tolist()}, rpy = {list(rpy)} }}"))
    )
    inside, expected = SOLIDS[shape], np.full(len(at), -REACH)
    levels = np.linspace(1.2, -0.4, 16001)
    for k, xy in enumerate(at):
        column = np.column_stack([np.tile(xy, (len(levels), 1)), levels])
        hits = np.flatnonzero(inside((column - p) @ R))
        if not len(hits):
            continue
        low, high = levels[hits[0]], levels[hits[0]] + 1e-4
        for _ in range(40):
            middle = (low + high) / 2
            is_in = inside((np.array([*xy, middle]) - p) @ R)
            low, high = (middle, high) if is_in else (low, middle)
        expected[k] = low - z
    assert (expected > -REACH).sum() > 3
    clear = abs(heights - expected) < 0.5  # rays that graze a corner may miss it on one side
    assert clear.sum() >= len(at) - 1
    single = 1e-7  # of a mesh file
    np.testing.assert_allclose(heights[clear], expected[clear], atol=single)


def test_field_is_scanned_from_the_top_of_its_bounds(tmp_path: Path) -> None:
    ground = '[[ground]]\nfield = { type = "bowl", radius = 0.3 }\nat = { xyz = [0.1, -0.2, 0.5] }'
    start = "{ xyz = [0.13, -0.21, 0.4], rpy = [0.2, -0.3, 0.7] }"  # in the bowl
    plugins = (SHAPES / "bowl.py",)
    heights, at, z = scan_of(scene_with_scan(tmp_path, ground, start, plugins=plugins))
    square = ((at - [0.1, -0.2]) ** 2).sum(axis=1)
    in_bowl = square < 0.28**2
    assert 9 < in_bowl.sum() < len(at)
    expected = 0.5 - np.sqrt(np.maximum(0.3**2 - square, 0)) - z
    within = in_bowl | ((square > 0.31**2) & (abs(at - [0.1, -0.2]) < 0.3).all(axis=1))
    np.testing.assert_allclose(heights[within], expected[within], atol=1e-4)
    np.testing.assert_allclose(heights[square < 0.15**2], expected[square < 0.15**2], atol=1e-5)


def test_nodes_over_a_field_are_at_its_highest_surface_and_those_beside_it_at_none() -> None:
    """A torus that is turned: the highest point of its surface over a node, from the roots of its quartic."""
    run_plugin(SHAPES / "torus.py", "test")
    field = Field(find_shape("torus")(radius=0.2, tube=0.05))  # type: ignore[call-arg]
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_euler("xyz", (0.5, -0.3, 0.2)).as_matrix()
    pose[:3, 3] = 0.1, 0.2, 0.3
    grid = scanned(field, pose)
    rows, columns = grid.heights.shape
    misses = 0
    for j, i in np.random.default_rng(6).integers(0, [rows, columns], (300, 2)):
        x = pose[0, 3] + (i - (columns - 1) / 2) * grid.spacing[0]
        y = pose[1, 3] + (j - (rows - 1) / 2) * grid.spacing[1]
        o, d = pose[:3, :3].T @ ([x, y, 0] - pose[:3, 3]), pose[:3, :3].T @ [0, 0, 1]
        # |o + z d|² + R² − r² = 2 R ρ, squared
        square = np.polynomial.Polynomial([o @ o + 0.2**2 - 0.05**2, 2 * o @ d, 1.0])
        rho = np.polynomial.Polynomial(
            [o[0] ** 2 + o[1] ** 2, 2 * (o[0] * d[0] + o[1] * d[1]), d[0] ** 2 + d[1] ** 2]
        )
        roots = (square**2 - 4 * 0.2**2 * rho).roots()
        real = roots.real[abs(roots.imag) < 1e-7]
        z = grid.heights[j, i] + grid.pose[2, 3]
        if not len(real):
            misses += 1
            assert z < -1e8
        elif z > -1e8 or np.ptp(real) > 1e-2:  # others graze it
            assert z == pytest.approx(real.max(), abs=1e-6)
    assert 50 < misses < 250


def test_highest_ground_counts_and_reach_limits_both_sides(tmp_path: Path) -> None:
    ground = "[[ground]]\nplane = {}\n" + solid("box = [0.2, 9, 5]", "{ xyz = [0.2, 0, 0] }")
    start = "{ xyz = [0, 0, 0.9], rpy = [0.2, -0.3, 0.7] }"  # beside the box
    heights, at, _ = scan_of(scene_with_scan(tmp_path, ground, start, keys="reach = 0.5"))
    on_box = abs(at[:, 0] - 0.2) < 0.1
    assert 0 < on_box.sum() < len(at)
    np.testing.assert_array_equal(heights, np.where(on_box, 0.5, -0.5))


def test_worlds_have_the_bits_of_one_and_none_calls_python(tmp_path: Path) -> None:
    np.save(tmp_path / "terrain.npy", np.random.default_rng(3).uniform(0, 0.2, (30, 30)))
    ground = '[[ground]]\nheight_field = { file = "terrain.npy", size = [3, 3] }\n'
    scene = scene_with_scan(tmp_path, ground)
    worlds = pysim.Worlds(scene, 9)
    worlds.q[:, :2] += np.random.default_rng(4).uniform(-1, 1, (9, 2))
    for k in range(9):
        alone = pysim.Worlds(scene, 1)
        alone.q[:] = worlds.q[k]
        assert (alone.signals["scan"] == worlds.signals["scan"][k]).all()


OVERFLOWS = """
[[ground]]
height_field = { file = "terrain.npy", size = [3, 3] }
[[body]]
name = "hull"
shape = { sphere = { radius = 0.02 } }
mass = 1.0
collision = true
[[joint]]
name = "slide"
type = "prismatic"
child = "hull"
axis = [1, 0, 0]
damping = 1e25
at = { xyz = [0, 0, 1] }
start = { q = 0.1, v = 1e30 }
[[sensor]]
name = "scan"
type = "height_scan"
frame = "hull"
size = [0.2, 0.2]
spacing = 0.2
[[controller]]
name = "sum"
type = "matrix"
inputs = ["scan"]
matrix = [[1, 1, 1, 1]]
unit = "N"
[[actuator]]
name = "motor"
type = "motor"
joint = "slide"
command = "sum"
"""


def test_run_that_overflows_within_a_step_is_an_error_and_no_signal(tmp_path: Path) -> None:
    np.save(tmp_path / "terrain.npy", np.random.default_rng(3).uniform(0, 0.2, (30, 30)))
    world(tmp_path, OVERFLOWS, duration=0.01, run='integrator = "rk4"')
    command = [sys.executable, "-m", "pysim", str(tmp_path / "world.toml")]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "joint 'slide' reaches NaN or infinite values" in ended.stderr


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38])
def test_scan_of_a_world_whose_pose_is_not_finite_reads_nothing_beyond_the_heights(
    tmp_path: Path, dtype: type, value: float, isa: str
) -> None:
    np.save(tmp_path / "terrain.npy", np.random.default_rng(3).uniform(0, 0.2, (30, 30)))
    ground = '[[ground]]\nheight_field = { file = "terrain.npy", size = [3, 3] }\n'
    scene = scene_with_scan(tmp_path, ground)
    worlds = pysim.Worlds(scene, 9, dtype=dtype)
    worlds.q[4, :2] = value
    heights, others = worlds.signals["scan"], pysim.Worlds(scene, 9, dtype=dtype).signals["scan"]
    np.testing.assert_array_equal(np.delete(heights, 4, axis=0), np.delete(others, 4, axis=0))
    assert np.isin(heights[4], (-REACH, REACH)).all() or np.isnan(heights[4]).all()


ENVIRONMENT = """
[environment]
period = 0.02
duration = 1.0
action = { input = "push" }
observations = ["scan", "speed.rate"]
[[environment.reward]]
name = "level"
signal = "speed.rate"
kernel = { norm = 2 }
"""


def test_scan_is_an_observation_of_an_environment(tmp_path: Path) -> None:
    from pysim.environments import Environment

    ground = "[[ground]]\nplane = {}\n"
    text = """
[[sensor]]
name = "speed"
type = "twist"
frame = "hull"
[[signal]]
name = "push"
type = "input"
"""
    scene_with_scan(tmp_path, ground, keys=text)
    path = tmp_path / "world.toml"
    path.write_text(path.read_text("utf-8") + ENVIRONMENT, "utf-8")
    environment = Environment(path, 3)
    observations = environment.reset(seed=1)
    assert observations.shape == (3, 38)
    np.testing.assert_allclose(observations[:, :35], -1.4, atol=1e-12)
    step = environment.step(np.zeros((3, 1)))
    np.testing.assert_allclose(step.observations[:, 0], -environment.worlds.q[:, 2], atol=1e-12)


@pytest.mark.parametrize(
    ("ground", "keys", "problem"),
    [
        ("[[ground]]\nplane = {}", "reach = 0.0", "must be positive [m], got 0"),
        ("[[ground]]\nplane = {}", 'relative_to = "hull"', "leave out relative_to"),
        (
            solid("cone = { radius = 0.1, length = 0.2 }", "{}"),
            "",
            "the heights of a cone that is fixed to the world cannot be scanned; take a convex mesh",
        ),
        (
            '[[ground]]\nheight_field = { file = "t.npy", size = [1, 1] }\nat = { rpy = [0.1, 0, 0] }',
            "",
            "the heights of a height field that is tilted cannot be scanned; turn it about z alone",
        ),
    ],
)
def test_scan_that_cannot_be_made_is_refused(
    tmp_path: Path, ground: str, keys: str, problem: str
) -> None:
    np.save(tmp_path / "t.npy", np.zeros((3, 3)))
    with pytest.raises(pysim.SceneError, match=re.escape(problem)):
        scene_with_scan(tmp_path, ground, keys=keys)


def test_scan_without_any_ground_is_refused(tmp_path: Path) -> None:
    scene_with_scan(tmp_path, "[[ground]]\nplane = {}")
    path = tmp_path / "world.toml"
    text = path.read_text("utf-8").replace("[[ground]]\nplane = {}", "")
    path.write_text(text.replace("collision = true", ""), "utf-8")
    with pytest.raises(pysim.SceneError, match="reads the ground, and the scene has none; add a "):
        pysim.load_scene(path)


def test_scan_of_too_many_points_is_refused(tmp_path: Path) -> None:
    scene_with_scan(tmp_path, "[[ground]]\nplane = {}")
    path = tmp_path / "world.toml"
    path.write_text(path.read_text("utf-8").replace("spacing = 0.1", "spacing = 0.01"), "utf-8")
    with pytest.raises(pysim.PysimError, match=re.escape("has 61 by 41 points, 2000 at most")):
        pysim.load_scene(path)
