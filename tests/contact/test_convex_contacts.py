"""Contact of shapes that meet by their support points: cylinders, cones, ellipsoids and convex meshes.

Oracles: the same scene with boxes, whose contacts have closed forms; planes; statics; conservation of momentum.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.collisions import collided_in_both_orders, momentum_of_collision
from tests.contact.scenes import GROUND, G, free, ran, world

CORNERS = np.array([*product((-0.5, 0.5), repeat=3)])
SHAPES = {
    "sphere": "{ sphere = { radius = 0.1 } }",
    "capsule": "{ capsule = { radius = 0.06, length = 0.2 } }",
    "box": "{ box = [0.2, 0.25, 0.15] }",
    "cylinder": "{ cylinder = { radius = 0.1, length = 0.2 } }",
    "cone": "{ cone = { radius = 0.12, length = 0.25 } }",
    "ellipsoid": "{ ellipsoid = [0.1, 0.14, 0.08] }",
    "mesh": '{ mesh = "stone.ply" }',
}
NEW = [
    pair
    for pair in product(SHAPES, repeat=2)
    if set(pair) & {"cone", "ellipsoid", "mesh"} or pair == ("cylinder", "cylinder")
    or set(pair) in ({"cylinder", "box"}, {"cylinder", "capsule"})
]  # fmt: skip
TABLE = """
[[body]]
name = "table"
mass = 1.0
inertia = {{ xx = 1.0, yy = 1.0, zz = 1.0 }}
collision = [{{ {shape}, at = {{ xyz = [0, 0, -0.1] }} }}]
[[joint]]
name = "screws"
type = "fixed"
child = "table"
"""


def hull_file(path: Path, points: np.ndarray) -> None:
    """Write the convex hull of points."""
    import trimesh

    trimesh.convex.convex_hull(points).export(path)


@pytest.fixture(autouse=True)
def _meshes(tmp_path: Path) -> None:
    hull_file(tmp_path / "brick.ply", CORNERS)  # of 1 m
    hull_file(tmp_path / "stone.ply", np.random.default_rng(4).normal(size=(24, 3)) * 0.05)


def settled(scene: pysim.Scene) -> pysim.Trajectory:
    trajectory = ran(scene)
    assert np.abs(trajectory.v[-1]).max() < 1e-6
    return trajectory


@pytest.mark.parametrize(("first", "second"), NEW, ids="-".join)
def test_free_bodies_that_collide_keep_their_momentum(
    tmp_path: Path, first: str, second: str
) -> None:
    impulse, change = momentum_of_collision(tmp_path, SHAPES[first], SHAPES[second])
    assert impulse > 0.2
    assert change < 1e-12


@pytest.mark.parametrize(("first", "second"), NEW[::3], ids="-".join)
def test_the_order_of_bodies_does_not_change_a_collision(
    tmp_path: Path, first: str, second: str
) -> None:
    one, other = collided_in_both_orders(tmp_path, SHAPES[first], SHAPES[second])
    np.testing.assert_allclose(one, other, atol=2e-3)  # of m/s and rad/s up to 10


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        ("{ cylinder = { radius = 0.1, length = 0.2 } }", 0.1),
        ("{ cone = { radius = 0.12, length = 0.25 } }", 0.125),
        ("{ box = [0.2, 0.25, 0.15] }", 0.075),
        ('{ mesh = "brick.ply", scale = 0.2 }', 0.1),
    ],
    ids=["cylinder", "cone", "box", "mesh"],
)
@pytest.mark.parametrize(
    "table",
    [
        "cylinder = { radius = 0.5, length = 0.2 }",
        "box = [1.0, 1.0, 0.2]",
        'mesh = "brick.ply", scale = [1.0, 1.0, 0.2]',
    ],
    ids=["on cylinder", "on box", "on mesh"],
)
def test_a_shape_stands_on_another_as_on_a_plane(
    tmp_path: Path, shape: str, height: float, table: str
) -> None:
    """The weight is carried, nothing tips or creeps."""
    body = free("body", shape, 2.0, f"{{ xyz = [0.03, 0.02, {height}] }}")
    scene = world(tmp_path, TABLE.format(shape=table) + body, duration=1.0, every=0.1)
    trajectory = settled(scene)
    assert trajectory.contact_forces[-1, 0] == pytest.approx([0, 0, 2 * G], abs=1e-6)
    assert trajectory.q[-1, :2] == pytest.approx([0.03, 0.02], abs=1e-5)
    assert trajectory.q[-1, 2] == pytest.approx(height, abs=3e-4)
    drift = np.abs(trajectory.q[-1] - trajectory.q[-3]).max()
    assert drift < 1e-9


def test_a_mesh_box_slides_as_the_box_does(tmp_path: Path) -> None:
    """On a slope of 30° with friction 0.3, for 0.3 s; the box has a closed form."""
    ends = []
    for shape in ("{ box = [0.2, 0.2, 0.2] }", '{ mesh = "brick.ply", scale = 0.2 }'):
        body = free("body", shape, 1.0, "{ xyz = [0, 0, 0.1] }")
        scene = world(
            tmp_path,
            TABLE.format(shape="box = [3.0, 3.0, 0.2]") + body,
            surface="friction = 0.3",
            gravity=(G * np.sin(np.pi / 6), 0, -G * np.cos(np.pi / 6)),
            duration=0.3,
        )
        ends.append(ran(scene).q[-1, 0])
    assert ends[0] == pytest.approx(0.5 * G * (0.5 - 0.3 * np.cos(np.pi / 6)) * 0.09, rel=0.02)
    assert ends[1] == pytest.approx(ends[0], abs=1e-4)


@pytest.mark.parametrize("rail", ["cylinder", "capsule"])
def test_a_cylinder_lies_on_two_rails(tmp_path: Path, rail: str) -> None:
    """Statics: each rail carries N = m g / (2 cos α), sin α = half the distance over the sum of radii."""
    rails = "".join(
        f"""
[[body]]
name = "rail {k}"
mass = 1.0
inertia = {{ xx = 1.0, yy = 1.0, zz = 1.0 }}
collision = [{{ {rail} = {{ radius = 0.05, length = 1.0 }} }}]
[[joint]]
name = "screws {k}"
type = "fixed"
at = {{ xyz = [{0.08 * k}, 0, 0], rpy = [1.5707963267948966, 0, 0] }}
child = "rail {k}"
"""
        for k in (-1, 1)
    )
    reach = 0.05 + 0.06
    height = np.sqrt(reach**2 - 0.08**2)
    rod = free(
        "rod",
        "{ cylinder = { radius = 0.06, length = 0.4 } }",
        3.0,
        f"{{ xyz = [0, 0, {height}], rpy = [1.5707963267948966, 0, 0] }}",
    )
    scene = world(tmp_path, rails + rod, surface="friction = 0.0\nstiffness = 1e6", duration=1.0)
    trajectory = settled(scene)
    normal = 3 * G / 2 / (height / reach)
    sizes = np.linalg.norm(trajectory.contact_forces[-1], axis=-1)
    np.testing.assert_allclose(sizes, normal, rtol=1e-3)


def test_an_ellipsoid_rolls_on_a_mesh_as_on_a_plane(tmp_path: Path) -> None:
    start = "{ xyz = [0, 0, 0.08], v = [0.4, 0, 0, 0, 2, 0] }"
    body = free("body", SHAPES["ellipsoid"], 1.0, start)
    table = TABLE.format(shape='mesh = "brick.ply", scale = [2.0, 2.0, 0.2]')
    ends = []
    for floor in (GROUND, table):
        scene = world(tmp_path, floor + body, surface="stiffness = 1e6", duration=0.5, every=0.1)
        ends.append(ran(scene).q[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=5e-4)


def heap(count: int) -> str:
    kinds, rng = list(SHAPES), np.random.default_rng(8)
    return GROUND + "".join(
        free(
            f"body {k}",
            SHAPES[kinds[k % len(kinds)]],
            float(rng.uniform(0.5, 2)),
            f"{{ xyz = [{rng.uniform(-0.1, 0.1)}, {rng.uniform(-0.1, 0.1)}, {0.3 + 0.35 * k}], "
            f"rpy = {rng.uniform(-2, 2, 3).tolist()} }}",
        )
        for k in range(count)
    )


@pytest.mark.slow
def test_a_heap_of_all_shapes_comes_to_rest(tmp_path: Path) -> None:
    """Dropped from up to 5 m: what cannot roll away lies still, and the ground carries the weight of all.

    Where round shapes lie on each other, contact points may hop: at steps of 1 ms 2 to 7 of 16 heaps shake on.
    """
    surface = "friction = 0.8\nrolling = 0.02"
    scene = world(tmp_path, heap(14), surface=surface, duration=8.0, step=5e-4, every=0.02)
    trajectory = ran(scene)
    weight = G * sum(float(body.theta[0]) for body in scene.model.bodies)
    assert scene.contacts is not None
    grounded = [k for k, pair in enumerate(scene.contacts.pairs) if pair.first == "world"]
    carried = trajectory.contact_impulses[-100:, grounded, 2].sum() / 2.0  # of the last 2 s
    assert carried == pytest.approx(weight, rel=0.01)
    kinds = list(SHAPES)
    speeds = np.abs(trajectory.v[-1].reshape(14, 6)).max(axis=1)
    lying = [k for k in range(14) if kinds[k % len(kinds)] in {"capsule", "box", "cone", "mesh"}]
    assert speeds[lying].max() < 1e-9


@pytest.mark.slow
def test_worlds_of_a_pack_have_the_bits_of_one_alone(tmp_path: Path) -> None:
    scene = world(tmp_path, heap(5), surface="friction = 0.6", duration=1.0)
    rng = np.random.default_rng(1)
    worlds = pysim.Worlds(scene, 9)
    worlds.v[:] += rng.uniform(-1, 1, worlds.v.shape)
    start = worlds.v.copy()
    worlds.step(steps=900)
    for k in (0, 4, 8):
        alone = pysim.Worlds(scene)
        alone.v[:] = start[k]
        alone.step(steps=900)
        np.testing.assert_array_equal(alone.q, worlds.q[k])
