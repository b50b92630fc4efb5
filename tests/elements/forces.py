"""Forces of every kind on mechanisms of every joint shape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.joints import find_joint
from pysim.scene.spec import ForceSpec, PathPart, PointMove
from tests.oracles.mechanisms import MOVING, random_pose, random_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.spec import ModelSpec


def symmetric(rng: np.random.Generator, size: float) -> tuple[tuple[float, ...], ...]:
    """A positive definite 6×6 matrix, as scene keys give it."""
    A = rng.normal(size=(6, 6))
    return tuple(map(tuple, (size * (A @ A.T + np.eye(6))).tolist()))


def elastic(spec: ModelSpec, rng: np.random.Generator) -> ModelSpec:
    """With forces that store energy: along paths, on coordinates and between frames."""
    names = [spec.bodies[k].name for k in (0, len(spec.bodies) // 2, -1)]
    real = [j.name for j in spec.joints if j.mimic is None and find_joint(j.type).nv == 1]
    through = ("world", names[0], names[0], names[2], "world", names[1])
    path = tuple(PathPart(name, rng.normal(size=3)) for name in through)
    over = (
        PathPart("world", 3.0 * rng.normal(size=3)),
        PathPart(names[1], random_pose(rng), "cylinder", 0.35),
        PathPart(names[0], 3.0 * rng.normal(size=3)),
        PathPart(names[2], random_pose(rng), "sphere", 0.5, side=(1.0, 0.2, -0.3)),
        PathPart(names[2], 3.0 * rng.normal(size=3)),
        PathPart(names[1], rng.normal(size=3), "conditional", coordinate=real[0], above=0.0),
        PathPart("world", 3.0 * rng.normal(size=3)),
    )
    table = {"stretch": (-2.0, -0.5, 0.1, 1.5), "pull": (-9.0, -1.0, 0.5, 6.0)}
    frames = {"at_a": random_pose(rng), "at_b": random_pose(rng)}
    forces = (
        ForceSpec(
            "path", "path_spring", path=path, parameters={"stiffness": 4.0, "rest_length": 3.0}
        ),
        ForceSpec(
            "over", "path_spring", path=over, parameters={"stiffness": 3.0, "rest_length": 5.0}
        ),
        ForceSpec(
            "pair", "coordinate_spring", coordinates=tuple(real[:2]), parameters={"stiffness": 5.0}
        ),
        ForceSpec("table", "table_spring", coordinates=(real[-1],), parameters=table),
        ForceSpec(
            "ground",
            "bushing",
            "world",
            names[1],
            **frames,
            parameters={"stiffness": symmetric(rng, 1.0)},
        ),
        ForceSpec(
            "between",
            "bushing",
            names[2],
            names[0],
            **frames,
            parameters={"stiffness": symmetric(rng, 1.0)},
        ),
        ForceSpec(
            "gravity", "mutual_gravity", names[0], names[1], **frames, parameters={"strength": 3.0}
        ),
        ForceSpec(
            "through",
            "path_spring",
            path=through_rings(names, rng),
            parameters={"stiffness": 2.0, "rest_length": 6.0},
        ),
        ForceSpec(
            "moved",
            "path_spring",
            path=moving_points(spec, names, np.random.default_rng(8)),  # leaves `rng` as it is
            parameters={"stiffness": 2.5, "rest_length": 7.0},
        ),
    )
    return replace(spec, forces=forces)


def moving_points(
    spec: ModelSpec, names: list[str], rng: np.random.Generator
) -> tuple[PathPart, ...]:
    """Return a path of points that coordinates move, also one of several and that of a joint that follows."""
    single = [j for j in spec.joints if find_joint(j.type).nv == 1]
    real = [j.name for j in single if j.mimic is None]
    follower = next((j.name for j in single if j.mimic is not None), real[1])
    knots = {"x": [-2.0, -0.6, 0.1, 0.9, 2.5], "y": rng.normal(size=5).tolist()}

    def move(coordinate: str, function: Mapping[str, object]) -> PointMove:
        x, y, z = rng.normal(size=3)
        return PointMove(coordinate, (x, y, z), function)

    beside = random_pose(rng)  # of a cylinder, which it must stay outside
    beside[:3, 3] *= 3.0
    bend, turn = {"natural_spline": knots}, {"polynomial": [0.2, 0.5, -0.1, 0.05]}
    return (
        PathPart("world", random_pose(rng), moves=(move(real[0], turn),)),
        PathPart(names[0], beside, moves=(move(real[0], bend), move(real[-1], turn))),
        PathPart(names[1], random_pose(rng), "cylinder", 0.3),
        PathPart(names[2], 3.0 * rng.normal(size=3), moves=(move(follower, turn),)),
        PathPart(names[2], rng.normal(size=3), moves=(move(real[-1], bend),), multiplicity=2.0),
        PathPart(
            names[1],
            rng.normal(size=3),
            "conditional",
            coordinate=real[0],
            above=0.0,
            moves=(move(real[0], bend), move(follower, turn)),
        ),
        PathPart("world", 3.0 * rng.normal(size=3)),
    )


def through_rings(names: list[str], rng: np.random.Generator) -> tuple[PathPart, ...]:
    """Return a path of two branches with strands of their own, through a sphere and a cylinder, over an ellipsoid."""
    return (
        PathPart("world", 4.0 * rng.normal(size=3)),
        PathPart(names[1], random_pose(rng), "cylinder", 0.8, inside=True),
        PathPart(names[0], 4.0 * rng.normal(size=3), multiplicity=1.7),
        PathPart(names[2], rng.normal(size=3), multiplicity=0.0),
        PathPart(names[1], random_pose(rng), "sphere", 0.7, inside=True),
        PathPart("world", 4.0 * rng.normal(size=3), multiplicity=0.5),
        PathPart(names[0], random_pose(rng), "ellipsoid", semi_axes=(1.4, 0.8, 1.1)),
        PathPart(names[2], 4.0 * rng.normal(size=3), multiplicity=2.0),
    )


def damped(spec: ModelSpec, rng: np.random.Generator) -> ModelSpec:
    """With the same, and with damping, drag and friction."""
    spec = elastic(spec, rng)
    turning = next(j.name for j in spec.joints if j.mimic is None and j.type == "free")
    friction = {"kinetic": 1.0, "static": 1.5, "stribeck_speed": 2.0, "rounding_speed": 1.0}
    dampers: dict[str, dict[str, object]] = {
        "path": {"damping": 0.7},
        "over": {"damping": 0.5},
        "through": {"damping": 0.3},
        "moved": {"damping": 0.6},
        "pair": {"damping": 0.4},
        "between": {"damping": symmetric(rng, 0.3)},
    }
    forces = tuple(
        replace(force, parameters={**force.parameters, **dampers.get(force.name, {})})
        for force in spec.forces
    )
    body = spec.bodies[-1].name
    air = {"density": 1.2, "drag_coefficient": 0.5, "area": 0.3, "wind": (1.0, -2.0, 0.5)}
    others = (
        ForceSpec("drag", "quadratic_drag", "world", body, at_b=random_pose(rng), parameters=air),
        ForceSpec(
            "friction", "stribeck_friction", coordinates=(f"{turning}.wx",), parameters=friction
        ),
    )
    return replace(spec, forces=(*forces, *others))


def mechanism(rng: np.random.Generator, shape: str) -> ModelSpec:
    """A tree or chain of every joint shape, with followers if the shape names them."""
    kinds = rng.permutation([*MOVING, "fixed", "revolute", "prismatic"])
    return random_tree(rng, list(map(str, kinds)), chain=shape == "chain", mimic="mimic" in shape)
