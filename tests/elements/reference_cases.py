"""Reference cases of tests/data/reference/elements as scenes and as numbers to compare with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.worlds.loading import Scene

FOLDER = Path(__file__).parents[1] / "data" / "reference" / "elements"


class Case:
    """A case: its setup, and what is expected of it."""

    def __init__(self, name: str) -> None:
        self._case = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        self.setup: dict[str, Any] = self._case["setup"]

    def expected(self, quantity: str) -> dict[str, Any]:
        """Return the entry whose quantity is this, or begins with these words."""
        entry: dict[str, Any]
        for is_meant in (str.__eq__, str.startswith):
            for entry in self._case["expect"]:
                if is_meant(entry["quantity"], quantity):
                    return entry
        raise KeyError(quantity)

    def at(self, quantity: str) -> Array:
        """Return the times or arguments of an entry's rows."""
        (values,) = self.expected(quantity)["at"].values()
        return np.array(values, float)

    def agrees(self, quantity: str, actual: Any) -> None:
        """Require that values agree with an entry; relative tolerances refer to a column's largest magnitude."""
        entry = self.expected(quantity)
        expected = np.array(entry["value"], float)
        actual = np.asarray(actual, float)
        assert actual.shape == expected.shape
        tolerance = entry["tolerance"]
        if entry["tolerance_kind"] == "relative":
            tolerance = tolerance * np.abs(expected).max(axis=0, keepdims=expected.ndim > 0)
        excess = np.abs(actual - expected) - tolerance
        assert (excess <= 0).all(), f"{quantity}: off by {np.abs(actual - expected).max():.3g}"


def scene_of(folder: Path, text: str) -> Scene:
    """Return a scene of this text, without gravity unless the text has it."""
    file = folder / "scene.toml"
    file.write_text(text if text.startswith("gravity") else f"gravity = [0, 0, 0]\n{text}", "utf-8")
    return pysim.load_scene(file)


def run(folder: Path, text: str, times: Array) -> Rows:
    """Return a run of tolerance 1e-12 whose rows are at these times."""
    interval = every(times)
    table = f"""
[simulation]
duration = {round(float(times[-1]) / interval) * interval!r}
integrator = "dopri5"
rtol = 1e-12
atol = 1e-13
[output]
every = {interval!r}
"""
    whole = pysim.simulate(scene_of(folder, text + table))
    found = [int(np.argmin(np.abs(whole.t - t))) for t in times]
    np.testing.assert_allclose(whole.t[found], times, rtol=0, atol=1e-9)
    return Rows(whole.t[found], whole.q[found], whole.v[found])


@dataclass(frozen=True)
class Rows:
    """Rows of a run."""

    t: Array
    q: Array
    v: Array


def every(times: Array) -> float:
    """Return the longest interval that divides all times."""
    for parts in range(1, 2001):
        interval = float(times[0]) / parts
        if np.allclose(times / interval, np.round(times / interval), rtol=0, atol=1e-6):
            return interval
    raise ValueError(times)


def slide(name: str, mass: float, axis: str, q: float = 0.0, v: float = 0.0) -> str:
    """Return a body that slides along an axis of the world."""
    inertia = "{ xx = 1, yy = 1, zz = 1 }"
    start = f"{{ q = {q!r}, v = {v!r} }}"
    return f"""
[[body]]
name = "{name}"
mass = {mass!r}
inertia = {inertia}
[[joint]]
name = "{name} slide"
type = "prismatic"
child = "{name}"
axis = {axis}
start = {start}
"""


def free(name: str, body: dict[str, Any]) -> str:
    """Return a free body from the numbers of a case."""
    xx, yy, zz = np.diag(body["inertia_com_kg_m2"]).tolist()
    R = rotation(body["rotation_vector_rad"])
    v = [*(R.T @ body["velocity_world_m_s"]).tolist(), *body["angular_velocity_body_rad_s"]]
    return f"""
[[body]]
name = "{name}"
mass = {body["mass_kg"]!r}
inertia = {{ xx = {xx!r}, yy = {yy!r}, zz = {zz!r} }}
[[joint]]
name = "{name} in space"
type = "free"
child = "{name}"
start = {{ xyz = {body["position_m"]!r}, axis_angle = {axis_angle(body["rotation_vector_rad"])!r}, v = {v!r} }}
"""


def axis_angle(vector: Any) -> list[float]:
    """Return axis and angle [rad] of a rotation vector, as scenes write them."""
    angle = float(np.linalg.norm(vector))
    return [1.0, 0.0, 0.0, 0.0] if angle == 0 else [*(np.array(vector) / angle).tolist(), angle]


def rotation(vector: Any) -> Array:
    """Return the rotation matrix of a rotation vector (Rodrigues)."""
    x, y, z, angle = axis_angle(vector)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def poses(q: Array) -> tuple[Array, Array]:
    """Return positions (n, 3) and rotation matrices row by row (n, 9) of a free joint's coordinates (n, 7)."""
    x, y, z, w = q[:, 3:].T
    R = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return q[:, :3], np.array(R).reshape(9, -1).T
