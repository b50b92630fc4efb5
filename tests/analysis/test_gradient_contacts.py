"""Gradients through contacts: pairs of moving bodies, grounds of every kind, and laws.

Oracle: the best of central differences of sixth order, of five sizes, of the engine's own steps.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_gradients import RUN, WEIGHTS, Rollout, error
from tests.contact.near_poses import overlapping_poses, quaternion, shape_of
from tests.contact.scenes import free

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
ROOT = Path(__file__).parents[2]
MATERIAL = """
[materials.default]
friction = { static = 0.4, dynamic = 0.4 }
stiffness = 3e4
dissipation = 0.4
tangential_stiffness = 2e4
relaxation_time = 1.5e-3
"""
ROLLING = MATERIAL + "rolling = 0.01\nspinning = 0.02\n"
SHAPES = {
    "sphere": "sphere = { radius = 0.1 }",
    "capsule": "capsule = { radius = 0.08, length = 0.2 }",
    "box": "box = [0.2, 0.3, 0.16]",
    "cylinder": "cylinder = { radius = 0.1, length = 0.2 }",
    "ellipsoid": "ellipsoid = [0.1, 0.12, 0.15]",
    "mesh": 'mesh = "box.obj"',
}
PLANE = "plane = { normal = [0.2, 0.1, 1], offset = -0.15 }"
HEIGHTS = (
    'height_field = { file = "heights.npy", size = [4, 4] }\nat = { xyz = [0.03, 0.02, -0.16] }'
)
FIELD = 'field = { type = "gyroid", cell = 1.2, thickness = 0.12, edge = 2.4 }\nat = { xyz = [0.3, 0.2, -0.4] }'
EXACT = 1e-7
PENDULUM = """
[[body]]
name = "arm"
mass = 0.1
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[body]]
name = "bob"
mass = 1.0
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "swing"
type = "revolute"
axis = [0, 1, 0]
child = "arm"
[[joint]]
name = "spring"
type = "prismatic"
axis = [0, 0, -1]
parent = "arm"
child = "bob"
at = { xyz = [0, 0, -0.5] }
stiffness = 100.0
[simulation]
integrator = "convex"
step = 1e-3
duration = 10.0
"""


def body(name: str, shape: str, height: float, rng: np.random.Generator) -> str:
    turn = [round(float(x), 3) for x in rng.normal(0, 0.5, 3)]
    return f"""
[[body]]
name = "{name}"
mass = 1.3
com = [0.01, -0.015, 0.02]
inertia = {{ xx = 0.012, yy = 0.009, zz = 0.015, xy = 0.001, yz = 0.0008, xz = -0.0005 }}
collision = [{{ {SHAPES[shape]} }}]
[[joint]]
name = "{name} moves"
type = "free"
child = "{name}"
at = {{ xyz = [0.02, -0.03, {height}], rpy = {turn} }}
"""


def touches(rollout: Rollout) -> bool:
    """Whether a point touches in some step."""
    worlds = rollout.at(rollout.q[None], rollout.v[None])
    for _ in range(rollout.steps):
        worlds.step(steps=1)
        if np.abs(np.array(worlds.contacts)).any():
            return True
    return False


def largest_error(
    folder: Path,
    shapes: list[str],
    surroundings: str,
    head: str = MATERIAL,
    passes: int = 1,
    plugins: str = "",
    seeds: Sequence[int] = range(5),
) -> float:
    """Return the largest error among random throws that touch within thirty steps, three or more."""
    shutil.copy(ROOT / "scenes" / "meshes" / "box.obj", folder)
    np.save(folder / "heights.npy", np.random.default_rng(2).normal(0, 0.02, (33, 33)))
    errors = []
    for seed in seeds:
        rng = np.random.default_rng([9, seed])
        bodies = "".join(body(f"b{k}", shape, 0.18 * k, rng) for k, shape in enumerate(shapes))
        path = folder / "scene.toml"
        path.write_text(plugins + head + bodies + surroundings + RUN.format(passes=passes), "utf-8")
        scene = pysim.load_scene(path, allow_code=True)
        v = rng.normal(0, 0.5, scene.model.nv)
        v[-4] -= 1.5
        rollout = Rollout(scene, scene.state.q, v, 30)
        gradient = rollout.gradient()
        by_start = np.concatenate([gradient.q[0], gradient.v[0]])
        assert np.isfinite(by_start).all()
        if touches(rollout):
            errors.append(error(by_start, rollout.by_start()))
    assert len(errors) >= 3
    return max(errors)


@pytest.mark.parametrize(
    "shapes",
    [
        ["sphere", "sphere"],
        ["capsule", "sphere"],
        ["box", "sphere"],
        ["cylinder", "sphere"],
        ["capsule", "capsule"],
        ["box", "capsule"],
        ["box", "box"],
        ["cylinder", "box"],
        ["ellipsoid", "box"],
        ["cylinder", "cylinder"],
        ["mesh", "box"],
    ],
    ids="-".join,
)
def test_two_bodies_that_hit_each_other_have_the_gradient_of_differences(
    shapes: list[str], tmp_path: Path
) -> None:
    assert largest_error(tmp_path, shapes, "") < EXACT


@pytest.mark.parametrize("kinds", [("box", "cylinder"), ("cylinder", "cone"), ("box", "cone")])
def test_rims_that_overlap_corners_and_rims_have_the_gradient_of_differences(
    kinds: tuple[str, str], tmp_path: Path
) -> None:
    """One step from overlaps of up to 3 mm in random poses, where no feature changes within the oracle's points."""
    rng = np.random.default_rng(17)
    (first, a), (second, b) = (shape_of(kind, tmp_path) for kind in kinds)
    bodies = free("a", first, 1.0, "{ xyz = [0, 0, 0] }") + free(
        "b", second, 0.6, "{ xyz = [0, 0, 1] }"
    )
    path = tmp_path / "scene.toml"
    path.write_text(MATERIAL + bodies + RUN.format(passes=1), "utf-8")
    scene = pysim.load_scene(path)
    X_A, X_B = overlapping_poses(rng, [a, b], 24)
    errors = []
    for k in range(len(X_A)):
        q = np.concatenate([
            x for X in (X_A[k], X_B[k]) for x in (X[:3, 3], quaternion(X[None, :3, :3])[0])
        ])  # fmt: skip
        rollout = Rollout(scene, q, rng.normal(0, 0.1, 12), 1)
        gradient = rollout.gradient()
        by_start = np.concatenate([gradient.q[0], gradient.v[0]])
        if touches(rollout):
            errors.append(error(by_start, rollout.by_start()))
    assert len(errors) > 16
    assert np.max(errors) < EXACT


@pytest.mark.parametrize("shape", list(SHAPES))
def test_shapes_on_a_slope_have_the_gradient_of_differences(shape: str, tmp_path: Path) -> None:
    assert largest_error(tmp_path, [shape], f"[[ground]]\n{PLANE}\n") < EXACT


@pytest.mark.parametrize("shape", ["sphere", "capsule", "box", "cylinder", "ellipsoid"])
def test_shapes_on_a_height_field_have_the_gradient_of_differences(
    shape: str, tmp_path: Path
) -> None:
    assert largest_error(tmp_path, [shape], f"[[ground]]\n{HEIGHTS}\n") < EXACT


@pytest.mark.parametrize("shape", ["sphere", "capsule"])
def test_shapes_on_a_signed_distance_have_the_gradient_of_differences(
    shape: str, tmp_path: Path
) -> None:
    plugins = f'plugins = ["{(ROOT / "scenes" / "shapes" / "gyroid.py").as_posix()}"]\n'
    assert largest_error(tmp_path, [shape], f"[[ground]]\n{FIELD}\n", plugins=plugins) < EXACT


def test_points_that_leave_under_load_forget_their_deflections(tmp_path: Path) -> None:
    """Deep in a field, points of a cylinder come and go with the normal; the third throw has a switch between the
    oracle's points.
    """
    plugins = f'plugins = ["{(ROOT / "scenes" / "shapes" / "gyroid.py").as_posix()}"]\n'
    field = f"[[ground]]\n{FIELD}\n"
    assert largest_error(tmp_path, ["cylinder"], field, plugins=plugins, seeds=(0, 1, 3, 4)) < EXACT


@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder"])
def test_rolling_and_spinning_friction_have_the_gradient_of_differences(
    shape: str, tmp_path: Path
) -> None:
    assert largest_error(tmp_path, [shape], f"[[ground]]\n{PLANE}\n", ROLLING) < EXACT
    assert largest_error(tmp_path, [shape, "sphere"], "", ROLLING) < EXACT


def test_a_belt_under_a_body_has_the_gradient_of_differences(tmp_path: Path) -> None:
    belt = f'[[ground]]\n{PLANE}\n[[contact]]\nbetween = ["world", "b0"]\nsurface_velocity = [0.5, 0.2, 0]\n'
    assert largest_error(tmp_path, ["box"], belt) < EXACT


@pytest.mark.parametrize("law", ["dissipation = 0.0", "stiffness = { young = 2e6, poisson = 0.3 }"])
def test_laws_without_dissipation_and_of_hertz_have_the_gradient_of_differences(
    law: str, tmp_path: Path
) -> None:
    key = law.partition(" ")[0]
    lines = [law if own.startswith(key) else own for own in MATERIAL.splitlines()]
    head = "\n".join(lines) + "\n"
    assert largest_error(tmp_path, ["sphere"], f"[[ground]]\n{PLANE}\n", head) < EXACT
    assert largest_error(tmp_path, ["capsule", "sphere"], "", head) < EXACT


def test_worlds_whose_bodies_touch_have_the_same_bits_alone_and_among_others(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng([9, 1])
    path = tmp_path / "scene.toml"
    bodies = body("low", "box", 0.0, rng) + body("high", "box", 0.18, rng)
    path.write_text(MATERIAL + bodies + f"[[ground]]\n{PLANE}\n" + RUN.format(passes=2), "utf-8")
    scene = pysim.load_scene(path)
    v = rng.normal(0, 0.5, (64, scene.model.nv))

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        return (q**2).sum((1, 2)), 2 * q, 0 * v

    found = []
    for count in (1, 7, 64):
        worlds = pysim.Worlds(scene, count)
        worlds.v[:] = v[:count]
        found.append(pysim.gradient(worlds, steps=40, loss=loss))
    assert np.abs(found[0].v).max() > 0
    for own in found[1:]:
        assert np.array_equal(own.q[0], found[0].q[0])
        assert np.array_equal(own.v[0], found[0].v[0])
    assert np.array_equal(found[2].v[:7], found[1].v)


def test_a_spring_pendulum_keeps_its_product_over_ten_thousand_steps(tmp_path: Path) -> None:
    """⟨λ, J x⟩ by differences and ⟨Jᵀλ, x⟩."""
    path = tmp_path / "pendulum.toml"
    path.write_text(PENDULUM, "utf-8")
    scene, steps = pysim.load_scene(path), 10000
    rng = np.random.default_rng(0)
    by, along = rng.normal(size=(2, 4))
    q, v = np.array([0.6, 0.05]), np.array([0.3, -0.2])
    worlds = pysim.Worlds(scene, 1)
    worlds.q[:], worlds.v[:] = q, v

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        by_q, by_v = np.zeros_like(q), np.zeros_like(v)
        by_q[:, -1], by_v[:, -1] = by[:2], by[2:]
        return q[:, -1] @ by[:2], by_q, by_v

    gradient = pysim.gradient(worlds, steps=steps, loss=loss)
    found = np.hstack([gradient.q[0], gradient.v[0]]) @ along
    weights = np.array(list(WEIGHTS.values())) / 60
    errors = []
    for size in (1e-5, 1e-6, 1e-7):
        moved = size * np.array(list(WEIGHTS))
        ends = pysim.Worlds(scene, len(moved))
        ends.q[:], ends.v[:] = q + np.outer(moved, along[:2]), v + np.outer(moved, along[2:])
        ends.step(steps=steps)
        errors.append(abs(np.hstack([ends.q, ends.v]) @ by @ weights / size / found - 1))
    assert min(errors) < 1e-7  # of the differences
