"""Shapes of an MJCF model: geoms that are drawn or collide, in the body frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.mjcf.model import wxyz_pose
from pysim.shapes import MESH_SUFFIXES, PRIMITIVES, SIZES, Geometry, Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel

HIDDEN_GROUP = 3  # MuJoCo's viewer hides this group and those above it by default


class ShapeReader:
    """Reader of geoms, which reports the shapes that it leaves out."""

    def __init__(self, model: MujocoModel, omissions: Omissions) -> None:
        self.model, self.m, self.omissions = model, model.m, omissions
        kinds = model.mj.mjtGeom
        solids = {kind: getattr(kinds, f"mjGEOM_{kind.upper()}", None) for kind in SIZES}
        self.kinds = {int(own): kind for kind, own in solids.items() if own is not None}
        self.unread_kinds = {
            int(kinds.mjGEOM_PLANE): "plane",
            int(kinds.mjGEOM_HFIELD): "height field",
            int(kinds.mjGEOM_SDF): "signed distance field",
        }
        self.grounds: frozenset[int] = frozenset()  # planes that are read as grounds

    def read(self, body: int) -> tuple[Geometry, ...]:
        """Return the shapes of a body, those that are drawn first."""
        first, count = self.m.body_geomadr[body], self.m.body_geomnum[body]
        found = [geometry for k in range(first, first + count) for geometry in self._geom(k)]
        return tuple(sorted(found, key=lambda geometry: geometry.role == "collision"))

    def geom_pose(self, k: int) -> Array:
        """Return the pose (4, 4) of a geom in its body."""
        return wxyz_pose(self.m.geom_pos[k], self.m.geom_quat[k])

    def solid(self, k: int) -> tuple[Shape, Array] | None:
        """Return the shape of a geom and its pose (4, 4) in the body, None if it is left out."""
        m, pose = self.m, self.geom_pose(k)
        kind = self.kinds.get(int(m.geom_type[k]))
        if kind is None:
            word = self.unread_kinds.get(int(m.geom_type[k]), "shape of an unknown kind")
            self._leave(k, f"is left out: a {word}")
            return None
        if kind != "mesh":
            half = m.geom_size[k].tolist()
            return Shape(kind, PRIMITIVES[kind].of_half_sizes(half)), pose
        data = int(m.geom_dataid[k])
        file = self._mesh_file(data)
        if file is None:
            self._leave(k, f"is left out: its mesh is not a {', '.join(MESH_SUFFIXES)} file")
            return None
        x, y, z = map(float, m.mesh_scale[data])
        pose = pose @ np.linalg.inv(wxyz_pose(m.mesh_pos[data], m.mesh_quat[data]))
        return Shape("mesh", (), file, (x, y, z)), pose

    def _geom(self, k: int) -> list[Geometry]:
        """Return a geom with its roles: drawn, colliding or both."""
        m = self.m
        solid = None if k in self.grounds else self.solid(k)
        if solid is None:
            return []
        shape, pose = solid
        r, g, b, a = self.color(k)
        collides = bool(m.geom_contype[k] or m.geom_conaffinity[k])
        drawn = not collides or m.geom_group[k] < HIDDEN_GROUP
        found = [Geometry(shape, pose, (r, g, b, a))] if drawn else []
        return [*found, *([Geometry(shape, pose, None, "collision")] if collides else [])]

    def _mesh_file(self, k: int) -> Path | None:
        """Return the file of a mesh that pysim can read, None if there is none."""
        mesh, at = self.model.element("meshes", k), int(self.m.mesh_pathadr[k])
        identity = not np.any(mesh.refpos) and np.allclose(np.abs(mesh.refquat[0]), 1.0)
        if at < 0 or not identity:
            return None
        raw = self.m.paths[at:]
        name = bytes(raw[: raw.index(b"\0")]).decode("utf-8", "replace")
        path = Path(name)
        return path if path.suffix.lower() in MESH_SUFFIXES and path.is_file() else None

    def color(self, k: int) -> tuple[float, float, float, float]:
        """Return the colour of a geom."""
        r, g, b, a = map(float, self._color(k))
        return r, g, b, a

    def _color(self, k: int) -> Array:
        """Return the colour of a geom, which its material overrides unless the geom has its own."""
        m, material = self.m, int(self.m.geom_matid[k])
        own: Array = m.geom_rgba[k]
        default = np.array([0.5, 0.5, 0.5, 1.0])
        if material >= 0 and np.allclose(own, default, rtol=0, atol=1e-6):
            own = m.mat_rgba[material]
        return np.clip(own, 0.0, 1.0)

    def _leave(self, k: int, reason: str) -> None:
        body = self.model.bodies[self.m.geom_bodyid[k]]
        item = f"geom {self.model.label('GEOM', k)} of {body!r}"
        where = self.model.location("geoms", k)
        self.omissions.add("shapes", item, where, reason)
