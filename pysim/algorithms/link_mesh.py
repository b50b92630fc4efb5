"""Mesh that gives a link its mass: placement on the moving body, and derivatives of the body's parameters.

    θ_B = X_BM θ_M(vertices)                    a mesh with a density
    θ_B = m T / T₀,  T = X_BM θ_M + rest        meshes and shapes of unit density that share a mass m

X_BM places the mesh on the moving body B, and acts on θ as the matrix `pysim.inertia.moving_matrix`. The derivatives
of θ_M are those of `pysim.inertia.mesh_inertia_derivatives` [Kwon, (15)-(28)], chained through the placement and, with
a shared mass, through T/T₀: a vertex that adds volume makes the rest of the link lighter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, UnknownModelNameError, did_you_mean
from pysim.inertia import move_theta, moving_matrix
from pysim.shapes import MassSource, primitive_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model
    from pysim.meshes import MeshSolid
    from pysim.shapes import Geometry

__all__ = [
    "MassMesh",
    "mass_mesh",
]


@dataclass(frozen=True)
class MassMesh:
    """A mesh on moving body number `body`, placed by `pose` (4, 4) in its frame.

    Either `density` [kg/m³] is given, or a `mass` [kg] that the mesh shares by volume with `rest` (10,), the θ of the
    link's other shapes at unit density in the body's frame.
    """

    body: int
    solid: MeshSolid
    pose: Array
    density: float | None = None
    mass: float | None = None
    rest: Array | None = None

    @property
    def vertices(self) -> Array:
        """Vertices (n, 3) [m] in the mesh's own frame, scaled as the link has them; those at one place are joined."""
        return self.solid.vertices

    @property
    def faces(self) -> NDArray[np.int64]:
        """Faces (m, 3), counter-clockwise from outside."""
        return self.solid.faces

    def moved(self, vertices: ArrayLike) -> MassMesh:
        """Return the same mesh with its vertices (n, 3) [m] elsewhere.

        Raises:
            PysimError: another number of vertices, or a NaN.
        """
        return replace(self, solid=self.solid.moved(vertices))

    def theta(self) -> Array:
        """Return θ (10,) of the mesh, or of all shapes with which it shares the mass, in the body's frame."""
        if self.mass is None:
            return move_theta(self.solid.theta(self.density or 0.0), self.pose)
        T = self._unit_theta()
        total: float = T[0]
        return T * (self.mass / total)

    def theta_derivatives(self) -> Array:
        """Return ∂θ/∂vertices (10, n, 3) [kg/m, kg, kg·m]."""
        J = self.solid.derivatives(1.0)
        chained: Array = np.tensordot(self.chain(), J, 1)
        return chained

    def theta_gradient(self, weights: ArrayLike) -> Array:
        """Return ∂(weights · θ)/∂vertices (n, 3) for weights (10,), without the derivatives of each number of θ."""
        return self.solid.gradient(self.chain().T @ np.asarray(weights, float))

    def _unit_theta(self) -> Array:
        """Return T (10,): θ of the mesh at unit density, plus that of the shapes with which it shares the mass."""
        T = move_theta(self.solid.theta(1.0), self.pose)
        return T if self.rest is None else T + self.rest

    def chain(self) -> Array:
        """Return ∂θ/∂θ_M (10, 10), θ_M of unit density: ρ X, or m/T₀ (1 − T e₀ᵀ/T₀) X."""
        X = moving_matrix(self.pose)
        if self.mass is None:
            return (self.density or 0.0) * X
        T = self._unit_theta()
        return np.asarray(self.mass / T[0] * (X - np.outer(T / T[0], X[0])))


def mass_mesh(
    model: Model, link: str, *, index: int | None = None, density: float | None = None
) -> MassMesh:
    """Return the mesh that gives a link its mass.

    Args:
        model: the mechanism.
        link: name of a body of the file, moving or welded to one that moves.
        index: which of the link's meshes that weigh, from 0 in the file's order; left out where there is one.
        density: weigh a mesh by this uniform density [kg/m³] that the file only draws, as a URDF's are.

    Raises:
        ModelError: no such link, it does not move, or which mesh is meant is not clear.
        SceneError: the mesh file cannot be read or encloses no volume.
    """
    _engine.check_model(model)
    # triangles and their readers load when a mesh is asked for
    from pysim.meshes import read_solid  # noqa: PLC0415

    geometries = _geometries(model, link)
    body, at = model.frames[link]
    if body < 0:
        raise ModelError(
            f"link {link!r}", "is welded to the world; its mass has no effect on any joint"
        )
    chosen = _chosen(geometries, link, index, density)
    way = chosen.mass_source if density is None and chosen.mass_source else MassSource(density)
    if chosen.shape.mesh is None:
        raise ModelError(f"link {link!r}", f"is a {chosen.shape.kind}, not a mesh")
    solid = read_solid(
        chosen.shape.mesh, chosen.shape.scale, repair=way.repair, convex=way.convex, shell=way.shell
    )
    if way.density is not None:
        return MassMesh(body, solid, at @ chosen.pose, way.density)
    rest = [g for g in geometries if g.mass_source is not None and g is not chosen]
    theta = sum((_unit_theta(g.moved(at)) for g in rest), np.zeros(10))
    mass = next(float(spec.theta[0]) for spec in model.spec.bodies if spec.name == link)
    return MassMesh(body, solid, at @ chosen.pose, mass=mass, rest=theta)


def _geometries(model: Model, link: str) -> tuple[Geometry, ...]:
    links = {spec.name: spec for spec in model.spec.bodies}
    if link not in links:
        raise UnknownModelNameError(f"link {link!r}", f"no such body{did_you_mean(link, links)}")
    return links[link].geometries


def _chosen(
    geometries: tuple[Geometry, ...], link: str, index: int | None, density: float | None
) -> Geometry:
    """Return the mesh of a link that gives it its mass; with a density, one of the meshes that are drawn."""
    meshes = [g for g in geometries if g.shape.mesh is not None]
    if density is None:
        mass_source = [g for g in meshes if g.mass_source is not None]
        if meshes and not mass_source:
            problem = (
                "has meshes that are only drawn, because its mass is given by numbers; "
                f"pass a density [kg/m³]: mass_mesh(model, {link!r}, density=…)"
            )
            raise ModelError(f"link {link!r}", problem)
        meshes = mass_source
    if not meshes:
        raise ModelError(f"link {link!r}", "has no mesh; name a link with a mesh")
    if index is None and len(meshes) > 1:
        files = ", ".join(f"{k} {g.shape.mesh.name}" for k, g in enumerate(meshes) if g.shape.mesh)
        raise ModelError(f"link {link!r}", f"has several meshes; choose one with index=: {files}")
    if not 0 <= (index or 0) < len(meshes):
        raise ModelError(f"link {link!r}", f"index must be below {len(meshes)}, got {index}")
    return meshes[index or 0]


def _unit_theta(geometry: Geometry) -> Array:
    """Return θ (10,) of a shape of unit density, placed."""
    from pysim.meshes import mesh_theta  # noqa: PLC0415, as above

    shape, way = geometry.shape, geometry.mass_source or MassSource()
    if shape.mesh is None:
        return move_theta(primitive_theta(shape, 1.0), geometry.pose)
    theta = mesh_theta(
        shape.mesh, shape.scale, 1.0, repair=way.repair, convex=way.convex, shell=way.shell
    )
    return move_theta(theta, geometry.pose)
