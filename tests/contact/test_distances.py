"""Signed distances of shapes.

Oracle: 240 random pairs by Coal 3.0.3 (GJK and EPA at 1e-9).
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.contact import distances
from pysim.shapes import Shape
from tests.robots import REFERENCE

ROWS = json.loads((REFERENCE / "contact" / "distances.json").read_text("utf-8"))["rows"]
NAMES = {"halfspace": "half_space"}
KNOWN = {tuple(pair) for pair in _engine.distance_pairs()}
HELD = [row for row in ROWS if (NAMES.get(row["a"], row["a"]), row["b"]) in KNOWN]
EXACT, SHALLOW = 1e-9, 0.02  # [m]


def shape_of(kind: str, numbers: dict[str, Any]) -> Shape | None:
    if kind == "halfspace":
        return None
    if kind == "box":
        return Shape("box", tuple(numbers["sides"]))
    if kind == "ellipsoid":
        return Shape("ellipsoid", tuple(numbers["semi_axes"]))
    if kind == "sphere":
        return Shape("sphere", (numbers["radius"],))
    return Shape(kind, (numbers["radius"], numbers["length"]))


def pose_of(quaternion: list[float], position: list[float]) -> np.ndarray:
    X = np.eye(4)
    x, y, z, w = quaternion
    X[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    X[:3, 3] = position
    return X


def pair_of(row: dict[str, Any]) -> tuple[Shape | None, np.ndarray, Shape | None, np.ndarray]:
    a, b = shape_of(row["a"], row["pa"]), shape_of(row["b"], row["pb"])
    X_A, X_B = (
        pose_of(row["quat_a_xyzw"], [0, 0, 0]),
        pose_of(row["quat_b_xyzw"], row["position_b"]),
    )
    return a, X_A, b, X_B


def closed(row: dict[str, Any]) -> bool:
    """Whether a pair has a closed form; others are found from support points."""
    kinds = {row["a"], row["b"]}
    from_support = "ellipsoid" in kinds or ("cylinder" in kinds and "sphere" not in kinds)
    return "halfspace" in kinds or not from_support


def test_every_pair_of_the_reference_is_known() -> None:
    assert len(HELD) == len(ROWS) == 240


@pytest.mark.parametrize("row", HELD, ids=lambda row: f"{row['a']}-{row['b']}")
def test_distances_are_those_of_coal(row: dict[str, Any]) -> None:
    result = distances(*pair_of(row))
    if row["distance"] >= -SHALLOW:
        tolerance = 1e-7 if row["distance"] > 0 else 1e-6
        assert result.distance == pytest.approx(row["distance"], abs=tolerance)
        atol = 1e-4 if closed(row) else 1e-3  # of EPA on curved shapes
        np.testing.assert_allclose(result.normal, row["normal_a_to_b"], atol=atol)
    elif closed(row):  # EPA gives some way out, the closed form the shortest
        assert result.distance >= row["distance"] - 1e-6
    else:
        assert result.distance >= 1.2 * row["distance"]
    np.testing.assert_allclose(
        result.nearest_b - result.nearest_a, result.distance * result.normal, atol=1e-12
    )


@pytest.mark.parametrize("row", [r for r in HELD if r["distance"] > 0][::3])
def test_nearest_points_of_separate_shapes_are_those_of_coal(row: dict[str, Any]) -> None:
    found = distances(*pair_of(row))
    # parallel faces have many; GJK ends at a distance to 1e-9, so that its points are known to the root of that
    tolerance = 1e-6 if closed(row) and "box" not in {row["a"], row["b"]} else 1e-4
    np.testing.assert_allclose(found.nearest_b, row["nearest_b"], atol=tolerance)


def test_exchanged_shapes_have_the_opposite_normal() -> None:
    for row in HELD[::7]:
        a, X_A, b, X_B = pair_of(row)
        one, other = distances(a, X_A, b, X_B), distances(b, X_B, a, X_A)
        assert one.distance == pytest.approx(other.distance, abs=EXACT)
        np.testing.assert_allclose(one.normal, -other.normal, atol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 8, 19])
def test_rows_are_the_same_bits_alone_and_together(count: int, rng: np.random.Generator) -> None:
    box, other = Shape("box", (0.2, 0.3, 0.4)), Shape("box", (0.1, 0.3, 0.2))
    poses = np.array(
        [
            pose_of(list(u / np.linalg.norm(u)), list(rng.normal(size=3) * 0.3))
            for u in rng.normal(size=(count, 4))
        ]
    )
    together = distances(box, np.eye(4), other, poses)
    alone = [distances(box, np.eye(4), other, pose).distance for pose in poses]
    np.testing.assert_array_equal(together.distance, alone)


def test_rows_are_the_same_bits_on_every_instruction_set(
    isa: str, rng: np.random.Generator
) -> None:
    capsule, box = Shape("capsule", (0.1, 0.4)), Shape("box", (0.1, 0.3, 0.2))
    X = pose_of([0.5, 0.5, 0.5, 0.5], [0.3, 0.2, 0.1])
    here = distances(capsule, np.eye(4), box, X)
    pysim.use_isa("auto")
    widest = distances(capsule, np.eye(4), box, X)
    if isa != "baseline":  # which has no fma
        assert here.distance == widest.distance
    assert here.distance == pytest.approx(float(widest.distance), abs=1e-14)


def test_parallel_boxes_overlap_by_the_least_depth() -> None:
    box, X = Shape("box", (1.0, 1.0, 1.0)), np.eye(4)
    X[:3, 3] = [0.2, 0.1, 0.95]
    found = distances(box, np.eye(4), box, X)
    assert found.distance == pytest.approx(-0.05, abs=1e-15)
    np.testing.assert_array_equal(found.normal, [0, 0, 1])


def test_two_half_spaces_have_no_distance() -> None:
    with pytest.raises(pysim.PysimError) as error:
        distances(None, np.eye(4), None, np.eye(4))
    assert str(error.value) == (
        "distances: half_space and half_space have no distance; give shapes"
    )


def test_poses_are_broadcast(rng: np.random.Generator) -> None:
    angles = rng.uniform(size=(2, 5))
    poses = np.tile(np.eye(4), (2, 5, 1, 1))
    poses[..., :3, 3] = np.stack([2 + angles, 0 * angles, 0 * angles], axis=-1)
    found = distances(Shape("sphere", (0.5,)), np.eye(4), Shape("sphere", (0.25,)), poses)
    np.testing.assert_allclose(found.distance, 1.25 + angles, atol=1e-15)
    assert found.normal.shape == (2, 5, 3)
