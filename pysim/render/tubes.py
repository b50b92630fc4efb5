"""Rods as smooth tubes: meshes whose points follow the bars, by linear blend skinning.

    x = Σ w_j X_j x₀      x₀ the point without stress, X_j from there to its place on bar j, for bars k − 1, k and k + 1

    w = ½ (1 − u)², ½ + u (1 − u), ½ u²      u from 0 to 1 along bar k

are quadratic B-splines. With them, the centre line is the cubic through the hinges whose slope at a hinge is the mean
of both bars: Hermite's form, with P the hinges and d the bars,

    P_k + u² (3 − 2u) d_k + ½ u (1 − u)² (d_{k−1} + d_k) − ½ u² (1 − u) (d_k + d_{k+1})

as each bar j is at P_j + (u + k − j) d_j there. At a clamped end the body beyond it takes the weight (1 − u)² or u²:
the slope is that of the clamp. The viewers of web pages and glTF blend by themselves, pictures and USD take the points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.colors import SHADOW, display_rgba, rgb
from pysim.render.fittings.fitting_shapes import PULLED, STEEL
from pysim.spatial import log
from pysim.trajectory.interpolation import pose_matrices
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Actor, Mesh, Plotter
    from pysim.trajectory import Trajectory

SIDES = 16  # points around a round section
SHARP_ANGLE = 35.0  # [deg] a sharper edge is drawn sharp
SAMPLES = 100  # instants at which the strongest moment is looked for
LOOK: dict[str, Any] = {"ambient": 0.36, "diffuse": 0.82, "specular": 0.2, "specular_power": 28}


@dataclass(frozen=True)
class Tube:
    """A rod as a mesh.

    Attributes:
        name: of the rod.
        bodies: those that carry it (bones,), −1 for the world.
        rest: from frame A of the rod, without stress, to each of them (bones, 4, 4).
        mesh: without stress, in frame A, with normals and colours of its points.
        bones: by which each point is carried (points, 3), and their `weights`.
        along: place of each point (points,), in bones: hinge k is at k + 1.
        stiffness: about x, y and z of the hinges between bones (bones − 1, 3) [N·m/rad].
        axes: of the section at these hinges, in frame A (bones − 1, 3, 3).
    """

    name: str
    bodies: NDArray[np.intp]
    rest: Array
    mesh: Mesh
    bones: NDArray[np.intp]
    weights: Array
    along: Array
    stiffness: Array
    axes: Array

    def transforms(self, matrices: Array) -> Array:
        """Return the motions (…, bones, 4, 4) from the shape without stress.

        `matrices` (…, bodies + 1, 4, 4) are the bodies' poses; the last, index −1, is the world's.
        """
        return np.asarray(matrices[..., self.bodies, :, :] @ self.rest)

    def placed(self, matrices: Array) -> tuple[Array, Array]:
        """Return the points (points, 3) [m] and their normals for bodies at `matrices` (bodies + 1, 4, 4)."""
        blend = np.einsum("pk,pkij->pij", self.weights, self.transforms(matrices)[self.bones])
        points, normals = np.asarray(self.mesh.points), np.asarray(self.mesh.point_data["Normals"])
        turned = np.einsum("pij,pj->pi", blend[:, :3, :3], normals)
        turned /= np.linalg.norm(turned, axis=1)[:, None]
        return np.einsum("pij,pj->pi", blend[:, :3, :3], points) + blend[:, :3, 3], turned

    def moments(self, matrices: Array) -> Array:
        """Return the bending moments (…, bones − 1) [N·m] of the hinges, as numbers without a sign."""
        R = self.transforms(matrices)[..., :3, :3]
        between = np.swapaxes(R[..., :-1, :, :], -1, -2) @ R[..., 1:, :, :]
        turn = np.einsum("kji,...kj->...ki", self.axes, log(between))
        return np.asarray(np.linalg.norm((self.stiffness * turn)[..., 1:], axis=-1))

    def hulls(self) -> dict[int, Array]:
        """Return the points (n, 3) [m] that each moving body carries without stress, in its frame."""
        points = np.asarray(self.mesh.points, float)
        nearest = np.clip(self.along.astype(int), 0, len(self.bodies) - 1)
        found: dict[int, Array] = {}
        for j in np.unique(nearest).tolist():
            body = int(self.bodies[j])
            if body >= 0:
                at = self.rest[j]
                found[body] = points[nearest == j] @ at[:3, :3].T + at[:3, 3]
        return found

    def body_at(self, point: Array, matrices: Array) -> int:
        """Return the body (−1: the world) of the bar nearest to a point (3,) [m]."""
        places, _ = self.placed(matrices)
        at = self.along[int(np.argmin(((places - point) ** 2).sum(axis=1)))]
        return int(self.bodies[min(int(at), len(self.bodies) - 1)])


def with_world(poses: Array) -> Array:
    """Return the matrices (…, bodies + 1, 4, 4) of poses (…, bodies, 7), with the world at index −1."""
    matrices = pose_matrices(poses)
    world = np.broadcast_to(np.eye(4), (*matrices.shape[:-3], 1, 4, 4))
    return np.concatenate([matrices, world], axis=-3)


def tubes_of(trajectory: Trajectory, options: RenderOptions) -> list[Tube]:
    """Return the rods of a run as tubes, none where collision shapes are drawn."""
    if options.collision:
        return []
    return [_tube(entry) for entry in trajectory.header.connections if entry["role"] == "rod"]


def _tube(entry: Mapping[str, Any]) -> Tube:
    import pyvista as pv

    line, sides = np.array(entry["line"], float), np.array(entry["sides"], float)
    bones = len(entry["bones"])
    begins, ends = int(entry["begins"]), int(entry["ends"])
    bars = bones - begins - ends
    axes = _axes(line)
    around, is_round = _outline(round=entry["round"]), entry["round"]
    count, n = len(line), len(around)
    offsets = around[None] * sides[:, None] / 2
    rings = line[:, None, :3] + np.einsum("rij,rnj->rni", axes[:, :, 1:], offsets)
    k = np.arange(count - 1)[:, None] * n + np.arange(n)
    after = np.roll(np.arange(n), -1)
    next_k = np.arange(count - 1)[:, None] * n + after
    quads = np.stack([k, next_k, next_k + n, k + n], axis=-1).reshape(-1, 4)
    faces = [quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
    fan = np.stack([np.zeros(n - 2, int), np.arange(1, n - 1), np.arange(2, n)], axis=1)
    faces += [fan[:, ::-1], fan + (count - 1) * n]
    mesh: Mesh = pv.PolyData.from_regular_faces(rings.reshape(-1, 3), np.concatenate(faces))
    mesh.point_data["along"] = np.repeat(np.linspace(0, bars, count), n)
    mesh = mesh.compute_normals(
        cell_normals=False,
        split_vertices=True,
        feature_angle=SHARP_ANGLE if is_round else 0.5 * SHARP_ANGLE,
        consistent_normals=False,
        auto_orient_normals=False,
    )
    along = np.asarray(mesh.point_data["along"])
    mesh.point_data.remove("along")
    mesh.point_data["rgba"] = np.tile(display_rgba(entry["color"]), (mesh.n_points, 1))
    index, weights = _weights(along, bars, begins, ends)
    at_hinges = np.round(np.linspace(0, count - 1, bars + 1)).astype(int)[
        (0 if begins else 1) : (bars + 1 if ends else bars)
    ]
    return Tube(
        entry["name"],
        np.array([body for body, _ in entry["bones"]]),
        np.array([pose for _, pose in entry["bones"]]),
        mesh,
        index,
        weights,
        along + begins,
        np.array(entry["stiffness"], float).reshape(-1, 3),
        axes[at_hinges],
    )


def _outline(*, round: bool) -> Array:  # noqa: A002, the section's word
    """Return the outline (n, 2) of a section with sides of 2, counterclockwise about x."""
    if not round:
        return np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    angle = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _axes(line: Array) -> Array:
    """Return the axes (n, 3, 3) of the sections along a line (n, 6) of points and y axes."""
    x = np.gradient(line[:, :3], axis=0, edge_order=2 if len(line) > 2 else 1)
    y = line[:, 3:]
    x -= (x * y).sum(axis=1)[:, None] * y
    x /= np.linalg.norm(x, axis=1)[:, None]
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _weights(along: Array, bars: int, begins: int, ends: int) -> tuple[NDArray[np.intp], Array]:
    """Return the bones (points, 3) before, at and behind points at `along` [bars], and their weights."""
    k = np.clip(along.astype(int), 0, bars - 1)
    u = along - k
    before, after = (1 - u) ** 2 / 2, u**2 / 2
    before[k == 0] *= 2 * begins
    after[k == bars - 1] *= 2 * ends
    bone = k + begins
    last = bars + begins + ends - 1
    index = np.stack([np.maximum(bone - 1, 0), bone, np.minimum(bone + 1, last)], axis=1)
    return index, np.stack([before, 1 - before - after, after], axis=1)


def strongest_moment(tube: Tube, trajectory: Trajectory) -> float:
    """Return the largest bending moment [N·m] of a run, at some of its instants."""
    picked = np.unique(np.linspace(0, len(trajectory) - 1, SAMPLES).astype(int))
    return float(tube.moments(with_world(trajectory.poses[picked])).max(initial=0.0))


class TubeActor:
    """Actor of a tube, and its shadow."""

    def __init__(
        self,
        plotter: Plotter,
        tube: Tube,
        strongest: float = 0.0,
        **look: Any,  # noqa: ANN401, of VTK
    ) -> None:
        """Add the tube, in one colour if `look` has a `color`, by its moment if there is a `strongest` one [N·m]."""
        self.tube, self._strongest = tube, strongest
        mesh: Mesh = tube.mesh.copy()
        colored = {} if "color" in look else {"scalars": "rgba", "rgb": True}
        if not colored:
            mesh.point_data.remove("rgba")
        self.actor: Actor = plotter.add_mesh(
            mesh, smooth_shading=True, copy_mesh=False, **(colored | look)
        )
        self._mesh: Mesh = self.actor.mapper.dataset
        self._shadow: Mesh | None = None

    def cast_shadow(self, plotter: Plotter) -> Actor:
        """Add a dark copy, which the caller flattens."""
        self._shadow = self._mesh.copy()
        self._shadow.clear_data()
        return plotter.add_mesh(self._shadow, color=SHADOW, lighting=False, copy_mesh=False)

    def show(self, matrices: Array) -> None:
        """Move to the bodies at `matrices` (bodies + 1, 4, 4)."""
        points, normals = self.tube.placed(matrices)
        self._mesh.points = points.astype(np.float32)
        self._mesh.point_data["Normals"] = normals.astype(np.float32)
        if self._shadow is not None:
            self._shadow.points = self._mesh.points
        if self._strongest > 0:
            self._mesh.point_data["rgba"] = self._colors(self.tube.moments(matrices))

    def _colors(self, moments: Array) -> NDArray[np.uint8]:
        """Return the colours (points, 4) of moments at the hinges; an end without a hinge has none."""
        place = self.tube.along
        values = np.concatenate([[0.0], moments, [0.0]])
        share = np.interp(place, np.arange(len(values)), values) / self._strongest
        share = np.clip(share, 0, 1)[:, None]
        mixed = (1 - share) * np.asarray(rgb(STEEL)) + share * np.asarray(rgb(PULLED))
        rgba = np.full((len(place), 4), 255, np.uint8)
        rgba[:, :3] = np.round(255 * mixed)
        return rgba
