"""Contacts of an MJCF model: planes of static bodies as grounds, geoms that collide, materials and excluded pairs.

A material has the friction of a geom, half the depth that it has at rest on its like, and the restitution of its
damping ratio (`pysim.scene.mjcf.surfaces`). Where MuJoCo combines the numbers of a geom and a plane in another way
than pysim, the pair of the link and the world has numbers of its own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.meshes.field_surface import height_shape
from pysim.scene.materials import Materials
from pysim.scene.mjcf.surfaces import depth_at_rest, mixed, of_geom, of_pair, restitution
from pysim.scene.poses import translation
from pysim.scene.spec import (
    CollisionFilter,
    CollisionSpec,
    ContactSpec,
    ContactsSpec,
    FieldSpec,
    GroundSpec,
    SurfaceSpec,
)
from pysim.scene.tree import WORLD
from pysim.shapes import HeightField

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.mjcf.model import MujocoModel
    from pysim.scene.mjcf.shapes import ShapeReader
    from pysim.scene.mjcf.surfaces import SurfaceNumbers
    from pysim.scene.spec import BodySpec
    from pysim.shapes import Shape

SPEED = 1.0  # [m/s] of the impact whose restitution a material has
AGREEMENT = 1e-9  # relative, of numbers that count as the same
TURNING = ("rolling", "spinning")


class ContactReader:
    """Reader of the contacts of a model, which reports those that it leaves out or changes."""

    def __init__(self, model: MujocoModel, shapes: ShapeReader, omissions: Omissions) -> None:
        self.model, self.m, self.shapes, self.omissions = model, model.m, shapes, omissions
        m = model.m
        self.off = not model.enables("CONTACT", "CONSTRAINT")
        self.gravity = float(np.linalg.norm(m.opt.gravity))
        self.least_time = 2 * float(m.opt.timestep) if model.enables("REFSAFE") else 0.0
        self.pairs = {
            frozenset((int(m.pair_geom1[k]), int(m.pair_geom2[k]))): k for k in range(m.npair)
        }
        plane = int(model.mj.mjtGeom.mjGEOM_PLANE)
        self.fields = frozenset(
            k
            for k in map(int, np.flatnonzero(m.geom_type == int(model.mj.mjtGeom.mjGEOM_HFIELD)))
            if self._is_static(k)
        )
        planes = map(int, np.flatnonzero(m.geom_type == plane))  # of static bodies
        self.planes = frozenset(planes) | self.fields
        self.grounds = [k for k in sorted(self.planes) if self._acts(k) and not self.off]
        self.partners = {ground: self._partners(ground) for ground in self.grounds}
        self.excluded = self._excluded()
        self.materials = Materials(model.path.stem)

    def read(self, bodies: Iterable[BodySpec]) -> tuple[list[BodySpec], ContactsSpec | None]:
        """Return the bodies with their shapes that collide, and the contacts; None if nothing collides."""
        if self.off:
            return list(bodies), None
        grounds = [self._ground(k) for k in self.grounds]
        index = {name: i for i, name in enumerate(self.model.bodies)}
        found = [self._with_collisions(body, index.get(body.name)) for body in bodies]
        if not any(body.collisions for body in found):
            return found, None
        self._report_turning()
        pairs = tuple(self._link_pairs())
        return found, ContactsSpec(self.materials.surfaces, tuple(grounds), pairs, self.excluded)

    def _acts(self, k: int) -> bool:
        """Return whether a geom may collide with any other."""
        masks = bool(self.m.geom_contype[k] or self.m.geom_conaffinity[k])
        return masks or any(k in pair for pair in self.pairs)

    def _is_static(self, k: int) -> bool:
        return int(self.m.body_weldid[self.m.geom_bodyid[k]]) == 0

    def _touch(self, a: int, b: int) -> bool:
        """Return whether MuJoCo lets two geoms of different bodies collide."""
        if frozenset((a, b)) in self.pairs:
            return True
        m = self.m
        return bool(
            (m.geom_contype[a] & m.geom_conaffinity[b])
            or (m.geom_contype[b] & m.geom_conaffinity[a])
        )

    def _find_surface_numbers(self, a: int, b: int) -> SurfaceNumbers:
        """Return the numbers of the contact of two geoms."""
        pair = self.pairs.get(frozenset((a, b)))
        return mixed(self.m, a, b) if pair is None else of_pair(self.m, pair)

    def _excluded(self) -> tuple[tuple[str, str], ...]:
        """Return the excluded pairs of bodies; a static body with a plane stands for the world."""
        grounded = {int(self.m.geom_bodyid[k]) for k in self.grounds}
        found = []
        for k in range(self.m.nexclude):
            signature = int(self.m.exclude_signature[k])
            ends = (signature >> 16, signature & 0xFFFF)
            first, second = (WORLD if i in grounded else self.model.bodies[i] for i in ends)
            if first != second:
                found.append((first, second))
        return (*found, *self._parents_across_chains())

    def _parents_across_chains(self) -> list[tuple[str, str]]:
        """Return parents and children with several joints between them, which do not touch each other either.

        The massless bodies between them hide that from the rule for parents and children. A static parent is no
        exception in MuJoCo.
        """
        m, pairs = self.m, []
        rigid: dict[int, list[int]] = defaultdict(list)
        for body in range(m.nbody):
            rigid[int(m.body_weldid[body])].append(body)
        for child, members in rigid.items():
            parent = int(m.body_weldid[m.body_parentid[child]])
            if parent and m.body_jntnum[child] > 1:
                pairs += [
                    (self.model.bodies[a], self.model.bodies[b])
                    for a in rigid[parent]
                    for b in members
                    if m.body_geomnum[a] and m.body_geomnum[b]
                ]
        return pairs

    def _ground(self, k: int) -> GroundSpec:
        """Return a plane as a ground, raised by the margin at which MuJoCo lets surfaces touch it."""
        X = self.model.static_pose(int(self.m.geom_bodyid[k])) @ self.shapes.geom_pose(k)
        x, y, z = map(float, X[:3, 2])
        offset = float(X[:3, 2] @ X[:3, 3])
        margins = {self._find_surface_numbers(k, other).margin for other in self.partners[k]}
        where, item = self.model.location("geoms", k), f"ground {self.model.label('GEOM', k)}"
        if len(margins) == 1 and (margin := margins.pop()):
            reason = f"is raised by the margin of {margin:g} m at which MuJoCo lets surfaces touch"
            self.omissions.note("margins", item, where, reason)
            offset += margin
            X = X @ translation([0.0, 0.0, margin])
        elif len(margins) > 1:
            largest = max(margins)
            reason = f"has no margin: those of the geoms on it differ, up to {largest:g} m"
            self.omissions.add("margins", item, where, reason)
        material = self._material(of_geom(self.m, k))
        field = FieldSpec(self._heights(k), X, self.shapes.color(k)) if k in self.fields else None
        return GroundSpec((x, y, z), offset, material, where, self._filter(k), field)

    def _heights(self, k: int) -> Shape:
        """Return the grid of a height field; MuJoCo's surface has two triangles a cell."""
        m, data = self.m, int(self.m.geom_dataid[k])
        rows, columns = int(m.hfield_nrow[data]), int(m.hfield_ncol[data])
        first = int(m.hfield_adr[data])
        x, y, top, _ = map(float, m.hfield_size[data])
        share = np.array(m.hfield_data[first : first + rows * columns], float)
        return height_shape(HeightField(top * share.reshape(rows, columns), (2 * x, 2 * y)))

    def _partners(self, ground: int) -> list[int]:
        """Return the geoms of moving bodies that touch a ground."""
        others = set(range(self.m.ngeom)) - self.planes
        return [k for k in sorted(others) if not self._is_static(k) and self._touch(k, ground)]

    def _with_collisions(self, body: BodySpec, index: int | None) -> BodySpec:
        if index is None:
            return body
        first, count = int(self.m.body_geomadr[index]), int(self.m.body_geomnum[index])
        found = []
        for k in range(first, first + count):
            solid = self.shapes.solid(k) if self._collides(k) else None
            if solid is not None:
                where = self.model.location("geoms", k)
                material = self._material(of_geom(self.m, k))
                filter_ = self._filter(k)
                found.append(CollisionSpec(*solid, material, True, where, filter_))
        return replace(body, collisions=tuple(found))

    def _collides(self, k: int) -> bool:
        """Return whether a geom may touch a ground or a body."""
        return k not in self.planes and self._acts(k)

    def _material(self, numbers: SurfaceNumbers) -> str:
        """Return the name of the material with the numbers of a geom."""
        own = self._surface(numbers)
        return self.materials.name(replace(own, sink=(own.sink or 0.0) / 2))

    def _surface(self, numbers: SurfaceNumbers) -> SurfaceSpec:
        """Return the law of a contact as pysim has it."""
        return SurfaceSpec(
            static_friction=numbers.sliding,
            dynamic_friction=numbers.sliding,
            sink=depth_at_rest(numbers, self.gravity, self.least_time),
            restitution=(restitution(numbers), SPEED),
            rolling=numbers.rolling or None,
            spinning=numbers.spinning or None,
        )

    def _link_pairs(self) -> Iterable[ContactSpec]:
        """Yield the links whose contact with the world has other numbers than their materials combine to."""
        wanted: dict[int, set[SurfaceSpec]] = defaultdict(set)
        differs: dict[int, int] = {}
        for ground, partners in self.partners.items():
            for k in partners:
                surface, body = (
                    self._surface(self._find_surface_numbers(k, ground)),
                    int(self.m.geom_bodyid[k]),
                )
                wanted[body].add(surface)
                if not self._is_combined(surface, k, ground):
                    differs.setdefault(body, k)
        for body, k in sorted(differs.items()):
            name, where = self.model.bodies[body], self.model.location("geoms", k)
            if len(wanted[body]) == 1:
                surface = _explicit(wanted[body].pop(), self._surface(of_geom(self.m, k)))
                yield ContactSpec((WORLD, name), replace(surface, where=where), where=where)
            else:
                reason = "combine with the ground as materials of pysim do, not as MuJoCo's"
                self.omissions.add("surfaces", f"the surfaces of body {name!r}", where, reason)

    def _is_combined(self, surface: SurfaceSpec, a: int, b: int) -> bool:
        """Return whether two geoms' materials combine to a law."""
        first, second = (self._surface(of_geom(self.m, k)) for k in (a, b))
        friction = math.sqrt((first.static_friction or 0.0) * (second.static_friction or 0.0))
        sink = ((first.sink or 0.0) + (second.sink or 0.0)) / 2
        bounce = first.restitution == second.restitution == surface.restitution
        near = math.isclose(friction, surface.static_friction or 0.0, rel_tol=AGREEMENT)
        for name in TURNING:
            largest = max(getattr(first, name) or 0.0, getattr(second, name) or 0.0)
            near &= math.isclose(largest, getattr(surface, name) or 0.0, rel_tol=AGREEMENT)
        return bounce and near and math.isclose(sink, surface.sink or 0.0, rel_tol=AGREEMENT)

    def _filter(self, k: int) -> CollisionFilter:
        """Return the masks of a geom, and the geoms that a <pair> lets it touch."""
        partners = frozenset(
            self._filter_name(next(iter(pair - {k})))
            for pair in self.pairs
            if k in pair and len(pair) > 1
        )
        kind, affinity = int(self.m.geom_contype[k]), int(self.m.geom_conaffinity[k])
        return CollisionFilter(kind, affinity, self._filter_name(k), partners)

    def _filter_name(self, k: int) -> str:
        return f"{self.model.path}:{k}"

    def _report_turning(self) -> None:
        for ground, partners in self.partners.items():
            for k in partners:
                numbers = self._find_surface_numbers(k, ground)
                if numbers.turns_without_sliding:
                    _, spin, roll = numbers.friction
                    reason = f"slides freely and does not resist turning: torsional friction {spin:g} m and rolling "
                    self._leave(k, f"{reason}friction {roll:g} m are left out", "rolling frictions")

    def _leave(self, k: int, reason: str, kind: str = "shapes") -> None:
        item = f"geom {self.model.label('GEOM', k)} of {self.model.bodies[self.m.geom_bodyid[k]]!r}"
        self.omissions.add(kind, item, self.model.location("geoms", k), reason)


def _explicit(surface: SurfaceSpec, own: SurfaceSpec) -> SurfaceSpec:
    """Return the law of a pair in which lengths of turning friction that a material has, and the pair not, are 0."""
    if surface.rolling is None and own.rolling is not None:
        surface = replace(surface, rolling=0.0)
    if surface.spinning is None and own.spinning is not None:
        surface = replace(surface, spinning=0.0)
    return surface
