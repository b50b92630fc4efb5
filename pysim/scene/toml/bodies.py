"""Reader of a scene's bodies: mass properties from numbers or shapes, and visual shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.inertia import (
    move_theta,
    nearest_physical,
    unphysical_reason,
)
from pysim.inertia.parameters import joined_at, moved_by
from pysim.scene.inertia_policy import log
from pysim.scene.inertia_text import nearest_printable, toml_inertia
from pysim.scene.packages import resolve_uri
from pysim.scene.spec import BodySpec, CollisionSpec, DecompositionSpec
from pysim.scene.toml.fields import read_field
from pysim.scene.toml.records.tables import Solid
from pysim.shapes import (
    READ_SUFFIXES,
    SIZES,
    Geometry,
    MassSource,
    Shape,
    drawn,
    primitive_theta,
)
from pysim.typing import Array

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import (
        Body,
        BodyOverrides,
        CollisionShape,
        Decomposition,
        Inertia,
        Visual,
    )
    from pysim.scene.toml.source import Steps

MASS_KEYS = frozenset({"mass", "com", "inertia"})  # which affect θ alone


@dataclass
class BodyReader:
    """Reader of body tables, which reports to `problems`."""

    problems: Problems
    package_dirs: tuple[Path, ...]
    inertia: InertiaPolicy

    def read(self, body: Body, path: Steps) -> BodySpec:
        """Return the specification of the table at `path`."""
        solids = self._solids(body, path)
        visuals = [
            (visual, self._shape(visual, (*path, "visual", k)))
            for k, visual in enumerate(body.visual)
        ]
        geometries = tuple(
            Geometry(
                drawn(shape), table.at.matrix, table.color, mass_source=_mass_source(body, table)
            )
            for table, shape in [*solids, *visuals]
            if shape is not None
        )
        collisions = self._collisions(body, path, solids)
        if isinstance(body.collision, list):
            geometries += tuple(
                Geometry(drawn(own.shape), own.pose, table.color, "collision")
                # fewer after an error
                for own, table in zip(collisions, body.collision, strict=False)
            )
        theta = self._theta(body, path, solids)
        where = self.problems.source.where(path)
        return BodySpec(body.name, theta, geometries, where, collisions)

    def theta(self, body: Body, path: Steps) -> Array:
        """Return θ (10,) of the table at `path`."""
        return self._theta(body, path, self._solids(body, path))

    def _solids(self, body: Body, path: Steps) -> list[tuple[Solid, Shape | None]]:
        return [
            (solid, self._shape(solid, (*path, "shape", k))) for k, solid in enumerate(body.shape)
        ]

    def _collisions(
        self, body: Body, path: Steps, solids: list[tuple[Solid, Shape | None]]
    ) -> tuple[CollisionSpec, ...]:
        """Return the shapes that collide: those of `shape`, or of `collision` itself."""
        if body.collision is not True:
            for k, (solid, _) in enumerate(solids):
                if solid.decompose:
                    problem = "is for a shape that collides; write collision = true, or remove it"
                    self.problems.add((*path, "shape", k, "decompose"), problem, of_key=True)
        if body.collision is False:
            return ()
        tables: list[tuple[Solid | CollisionShape, Shape | None, Steps]] = [
            (solid, shape, (*path, "shape", k)) for k, (solid, shape) in enumerate(solids)
        ]
        if isinstance(body.collision, list):
            places: list[Steps] = [(*path, "collision", k) for k in range(len(body.collision))]
            tables = [
                (table, self._shape(table, at), at)
                for table, at in zip(body.collision, places, strict=True)
            ]
        elif not tables:
            problem = f"body {body.name!r} has no shape; give shapes here, or in shape"
            self.problems.add((*path, "collision"), problem)
        collisions = []
        for table, shape, at in tables:
            if shape is None:
                continue
            material = getattr(table, "material", None) or body.material or "default"
            where = self.problems.source.where(at)
            parts = decomposition_of(table.decompose)
            X = table.at.matrix
            collisions.append(
                CollisionSpec(shape, X, material, table.convex, where, decomposition=parts)
            )
        return tuple(collisions)

    def _shape(self, table: Visual, path: Steps) -> Shape | None:
        if table.field is not None:
            return read_field(table.field, (*path, "field"), self.problems, moves=True)
        if table.mesh is None:
            size = getattr(table, table.kind)
            return Shape(table.kind, tuple(getattr(size, name) for name in SIZES[table.kind]))
        at = (*path, "mesh")
        try:
            folder = self.problems.source.folder(at)
            file = resolve_uri(table.mesh, folder, self.package_dirs, READ_SUFFIXES)
        except PysimError as error:
            self.problems.add(at, error.problem)
            return None
        from pysim.meshes import check_mesh  # noqa: PLC0415, only where a mesh is named

        try:
            check_mesh(file)
        except PysimError as error:
            self.problems.add(at, str(error))
            return None
        x, y, z = table.scale * 3 if len(table.scale) == 1 else table.scale
        return Shape("mesh", (), file, (x, y, z))

    def _theta(self, body: Body, path: Steps, solids: list[tuple[Solid, Shape | None]]) -> Array:
        keys: list[str] = [k for k in ("mass", "com", "inertia") if k in body.model_fields_set]
        dense = [k for k, (solid, _) in enumerate(solids) if solid.density is not None]
        if dense and keys:
            problem = f"has {' and '.join(keys)}, and shape has a density; give one of the two"
            hint = _density_of_mass(body, solids) if keys == ["mass"] else ""
            if any(steps[-1] == keys[0] for steps in self.problems.source.overridden):
                hint += self.problems.unset(
                    *path, "shape", *([dense[0]] if len(solids) > 1 else ()), "density"
                )
            self.problems.add((*path, keys[0]), problem + hint)
            return np.zeros(10)
        if dense:
            return self._from_densities(path, solids)
        if body.mass is None:
            self._refuse_massless(body, path, keys)
            return np.zeros(10)
        if not solids or not spreads_mass(body):
            return self._from_numbers(body, path)
        if "com" in keys:
            problem = "comes from the shape here; leave com out, or give an inertia too"
            self.problems.add((*path, "com"), problem)
            return np.zeros(10)
        return self._from_total(body.mass, path, solids)

    def _refuse_massless(self, body: Body, path: Steps, given: list[str]) -> None:
        if given:
            problem = f"body {body.name!r} has {' and '.join(given)} but no mass; give mass [kg]"
        elif body.shape:
            problem = (
                f"body {body.name!r} has no mass; give the shape a density [kg/m³], or the body a "
                "mass [kg], 0 if it is only drawn"
            )
        else:
            problem = (
                f"body {body.name!r} has no mass; give a shape with a density [kg/m³], or mass [kg], "
                "com [m] and inertia [kg·m²], or mass = 0"
            )
        self.problems.add(path, problem)

    def _from_densities(self, path: Steps, solids: list[tuple[Solid, Shape | None]]) -> Array:
        total = np.zeros(10)
        for k, (solid, shape) in enumerate(solids):
            if solid.density is None:
                problem = "has no density but its neighbours do; give one, or move it to visual"
                self.problems.add((*path, "shape", k), problem)
            elif shape is not None:
                total = total + self._weigh(solid, shape, solid.density, (*path, "shape", k))
        return total

    def _from_total(
        self, mass: float, path: Steps, solids: list[tuple[Solid, Shape | None]]
    ) -> Array:
        """Distribute a mass evenly over the volume of the shapes."""
        total = np.zeros(10)
        for k, (solid, shape) in enumerate(solids):
            if shape is None:
                return np.zeros(10)  # reported already
            total = total + self._weigh(solid, shape, 1.0, (*path, "shape", k))
        return total * (mass / total[0]) if total[0] > 0 else total

    def _weigh(self, solid: Solid, shape: Shape, density: float, path: Steps) -> Array:
        if shape.mesh is None:
            return moved_by(primitive_theta(shape, density), solid.at.matrix)
        from pysim.meshes import mesh_theta  # noqa: PLC0415, trimesh loads only if a mesh is named

        try:
            theta = mesh_theta(
                shape.mesh,
                shape.scale,
                density,
                repair=solid.repair,
                convex=solid.convex,
                shell=solid.shell,
            )
        except PysimError as error:
            self.problems.add((*path, "mesh"), str(error))
            return np.zeros(10)
        return move_theta(theta, solid.at.matrix)

    def _from_numbers(self, body: Body, path: Steps) -> Array:
        return theta_of_numbers(body, body.name, path, self.problems, self.inertia)


def _density_of_mass(body: Body, solids: list[tuple[Solid, Shape | None]]) -> str:
    """Return a hint with the density that gives a single shape the body's mass; empty for several shapes or a mesh."""
    _, shape = solids[0]
    if len(solids) > 1 or shape is None or shape.mesh is not None or not body.mass:
        return ""
    density = body.mass / float(primitive_theta(shape, 1.0)[0])
    return f" (shape.density = {density:.6g} makes {body.mass:g} [kg])"


def spreads_mass(body: Body) -> bool:
    """Return whether the body's mass is distributed over its shapes."""
    return bool(body.mass) and body.inertia is None


def _mass_source(body: Body, table: Visual) -> MassSource | None:
    if not isinstance(table, Solid) or (table.density is None and not spreads_mass(body)):
        return None
    return MassSource(**table.spec_fields(MassSource))


def theta_of_numbers(
    table: Body | BodyOverrides, name: str, path: Steps, problems: Problems, rule: InertiaPolicy
) -> Array:
    """Return θ (10,) of a table's mass, com and inertia; without an inertia, of a point mass.

    Physically inconsistent numbers are replaced with the nearest consistent ones if the policy is "nearest"; otherwise
    they are reported.
    """
    theta = theta_as_written(table)
    reason = unphysical_reason(theta)
    if reason is None:
        return theta
    at = (*path, "inertia" if table.inertia is not None else "mass")
    problem = f"the inertia of body {name!r} is not physically consistent: {reason}"
    if theta[0] <= 0:
        problems.add(at, f"{problem}; give it a mass [kg], or remove the inertia")
        return theta
    text = f"inertia = {toml_inertia(nearest_printable(theta))}"
    if rule != "nearest":
        remedy = f'the nearest valid one is {text}; paste it, or write inertia = "nearest" at the top of the scene'
        problems.add(at, f"{problem}; {remedy}")
        return theta
    log.info("%s: %s; taken instead: %s", problems.source.where(at), problem, text)
    return nearest_physical(theta)


def theta_as_written(table: Body | BodyOverrides) -> Array:
    """Return θ (10,) of a table's mass, com and inertia, which may be physically inconsistent."""
    inertia = np.zeros((3, 3)) if table.inertia is None else _tensor(table.inertia)
    return joined_at(table.mass or 0.0, np.array(table.com), inertia)


def _tensor(inertia: Inertia) -> Array:
    i = inertia
    return np.array([[i.xx, i.xy, i.xz], [i.xy, i.yy, i.yz], [i.xz, i.yz, i.zz]])


def decomposition_of(given: bool | Decomposition) -> DecompositionSpec | None:
    """Return the settings of a decomposition, None if there is none."""
    if isinstance(given, bool):
        return DecompositionSpec() if given else None
    return DecompositionSpec(**given.spec_fields(DecompositionSpec))
