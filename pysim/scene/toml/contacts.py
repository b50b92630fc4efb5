"""Reader of a scene's contacts: materials, grounds, changed and excluded pairs."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

from pysim.elements.block import find_block
from pysim.elements.force import find_force
from pysim.elements.graph.block_channels import argument_names
from pysim.errors import PysimError, PysimWarning
from pysim.scene.poses import translation
from pysim.scene.spec import ContactSpec, ContactsSpec, FieldSpec, GroundSpec, SurfaceSpec
from pysim.scene.toml.fields import read_field, read_height_field, read_road
from pysim.scene.toml.records.constraint_tables import Force
from pysim.scene.tree import WORLD
from pysim.shapes import HeightField

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pysim.scene.spec import BodySpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.block_tables import Sensor
    from pysim.scene.toml.records.contact_tables import Ground, Surface
    from pysim.scene.toml.records.tables import Scene
    from pysim.scene.toml.source import Steps

DEFAULT = "default"
SAME_PLANE = 1e-9  # [m] and of the normals
DEFAULT_MATERIAL = SurfaceSpec(static_friction=0.8, dynamic_friction=0.8, restitution=(0.0, 1.0))


@dataclass
class ContactReader:
    """Reader of contact tables, which reports to `problems`."""

    scene: Scene
    problems: Problems
    brought: ContactsSpec | None = None  # of the scenes that are attached
    is_attached: bool = False  # whether another scene may have the ground
    roads: tuple[GroundSpec, ...] = ()  # the grounds of a scene where no body collides, once read

    def read(self, bodies: Sequence[BodySpec]) -> ContactsSpec | None:
        """Return the contacts of a scene whose bodies are known; None if nothing collides."""
        scene = self.scene
        materials = self._materials()
        grounds = tuple(
            self._ground(ground, ("ground", k)) for k, ground in enumerate(scene.ground)
        )
        self._check_bodies(bodies)
        colliding = {body.name for body in bodies if body.collisions}
        pairs = tuple(
            ContactSpec(
                pair,
                _surface(contact, self.problems.source.where(("contact", k))),
                self._velocity(k),
                self.problems.source.where(("contact", k)),
            )
            for k, contact in enumerate(scene.contact)
            for pair in self._pairs(contact.between, ("contact", k, "between"), colliding)
        )
        excluded = tuple(
            pair
            for k, exclude in enumerate(scene.exclude)
            for pair in self._pairs(exclude.between, ("exclude", k, "between"), colliding)
        )
        self._check_single()
        if self.brought is not None:
            named = {frozenset(pair.between) for pair in pairs}  # by the scene itself
            excluded += tuple(x for x in self.brought.excluded if frozenset(x) not in named)
            pairs = self.brought.pairs + pairs  # later ones precede
            grounds = _without_repeated((*grounds, *self.brought.grounds))
        if self.is_attached:
            return ContactsSpec(materials, grounds, pairs, excluded)
        if not grounds and not self._has_pairs(colliding):
            self._check_touched()
            return None
        if not colliding:
            self._warn_of_ground()
            self.roads = grounds
            return None
        return ContactsSpec(materials, grounds, pairs, excluded)

    def _ground(self, table: Ground, path: Steps) -> GroundSpec:
        material = table.material
        where = self.problems.source.where(path)
        if table.plane is not None:
            return GroundSpec(_unit(table.plane.normal), table.plane.offset, material, where)
        at = table.at.matrix
        if table.road is not None:
            shape = read_road(table.road, (*path, "road"), self.problems)
            if shape is not None and isinstance(shape.field, HeightField):
                at = at @ translation((shape.field.middle, 0.0, 0.0))
        elif table.height_field is not None:
            shape = read_height_field(table.height_field, (*path, "height_field"), self.problems)
        else:
            assert table.field is not None
            shape = read_field(table.field, (*path, "field"), self.problems)
        field = None if shape is None else FieldSpec(shape, at, table.color)
        return GroundSpec((0.0, 0.0, 1.0), 0.0, material, where, field=field)

    def _materials(self) -> dict[str, SurfaceSpec]:
        where = self.problems.source.where
        materials = {
            name: _surface(table, where(("materials", name)))
            for name, table in self.scene.materials.items()
        }
        brought = self.brought.materials if self.brought is not None else {}
        for name in sorted(materials.keys() & brought.keys()):
            if "/" in name:
                continue  # the material of a model is meant
            problem = f"is taken by an attached scene, {brought[name].where}; give its model a name"
            self.problems.add(("materials", name), problem, of_key=True)
        return {DEFAULT: DEFAULT_MATERIAL} | dict(brought) | materials

    def _check_bodies(self, bodies: Sequence[BodySpec]) -> None:
        """Report a material of a body that does not collide."""
        known = {body.name: body for body in bodies}
        for k, table in enumerate(self.scene.body):
            if table.material is not None and not known[table.name].collisions:
                problem = "acts on shapes that collide; add collision = true, or remove it"
                self.problems.add(("body", k, "material"), problem)

    def _pairs(
        self, between: list[str], path: Steps, colliding: Collection[str]
    ) -> list[tuple[str, str]]:
        """Return the pairs of links that a table names: of a rod, each of its bars."""
        first, second = between
        if first == second and first not in self._rods:
            problem = f"{first!r} cannot touch itself; name two links"
            self.problems.add(path, problem)
        for k, link in enumerate(between):
            if link == WORLD or link in colliding or self._rods.get(link):
                continue
            what = "rod" if link in self._rods else "body"
            problem = f"{what} {link!r} has no shape that collides; give it collision = true"
            self.problems.add((*path, k), problem)
        links, others = (self._rods.get(link, [link]) for link in between)
        return list(combinations(links, 2) if first == second else product(links, others))

    @cached_property
    def _rods(self) -> dict[str, list[str]]:
        """The bars that collide, by the name of their rod."""
        return {
            table.name: [f"{table.name}/{k}" for k in range(table.bars)] if table.collision else []
            for table in self.scene.rod
        }

    def _check_single(self) -> None:
        """Report a pair with two tables, because only one takes effect."""
        exclude, contact = self.scene.exclude, self.scene.contact
        named: list[tuple[str, int, list[str]]] = [
            *(("exclude", k, table.between) for k, table in enumerate(exclude)),
            *(("contact", k, table.between) for k, table in enumerate(contact)),
        ]
        seen: dict[frozenset[str], str] = {}
        for name, k, between in named:
            pair = frozenset(between)
            if name == "contact" and pair in seen:
                both = " and ".join(map(repr, between))
                problem = f"{both} have a table already, {seen[pair]}; remove one of them"
                self.problems.add((name, k, "between"), problem)
            seen.setdefault(pair, self.problems.source.where((name, k)))

    def _velocity(self, k: int) -> tuple[float, float, float]:
        contact = self.scene.contact[k]
        x, y, z = contact.surface_velocity
        if (x, y, z) != (0, 0, 0) and contact.between[1] == WORLD:
            first = contact.between[0]
            problem = (
                f"is that of {first!r}, the first body of between, and only the world's surface can move against "
                f'a body that touches the world; write between = ["world", "{first}"]'
            )
            self.problems.add(("contact", k, "surface_velocity"), problem)
        return x, y, z

    def _has_pairs(self, colliding: Collection[str]) -> bool:
        """Return whether the scene lets two bodies collide, in a place without ground."""
        chosen = {
            model.collision for model in self.scene.model if not isinstance(model.collision, list)
        }
        lists = any(isinstance(model.collision, list) for model in self.scene.model)
        own = sum(bool(body.collision) for body in self.scene.body)
        own += sum(2 * table.collision for table in self.scene.rod)
        return len(colliding) > 1 and (own > 1 or lists or bool(chosen - {None, "none"}))

    def _warn_of_ground(self) -> None:
        """Warn of grounds in a scene where no body is to collide."""
        if any(body.collision or body.material for body in self.scene.body):
            return  # what such a body lacks is reported
        if any(map(_reads_ground, self.scene.force)) or any(map(_reads_ground, self.scene.sensor)):
            return
        for k, _ in enumerate(self.scene.ground):
            place = self.problems.source.where(("ground", k))
            text = "no body collides with it; write collision = true in a [[body]], or remove it"
            warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)

    def _check_touched(self) -> None:
        """Report shapes that collide, and pairs, where there is nothing to touch."""
        problem = "there is nothing to touch; add a [[ground]], or remove it"
        for k, body in enumerate(self.scene.body):
            if body.collision:
                self.problems.add(("body", k, "collision"), problem)
        for k, rod in enumerate(self.scene.rod):
            if rod.collision:
                self.problems.add(("rod", k, "collision"), problem)
        for k, model in enumerate(self.scene.model):
            if (
                model.collision not in {None, "none"}
                if not isinstance(model.collision, list)
                else True
            ):
                self.problems.add(("model", k, "collision"), problem)
        for name in ("contact", "exclude"):
            for k, _ in enumerate(getattr(self.scene, name)):
                self.problems.add((name, k), problem)


def _reads_ground(table: Force | Sensor) -> bool:
    """Return whether the plugin of a table may read heights of the ground."""
    try:
        if isinstance(table, Force):
            return "ground" in argument_names(find_force(table.type), "wrench")
        return "ground" in argument_names(find_block("sensor", table.type), "measure")
    except PysimError:
        return False  # an unknown type is reported where it is built


def _without_repeated(grounds: tuple[GroundSpec, ...]) -> tuple[GroundSpec, ...]:
    """Return the grounds without planes that coincide with one before, as those of two robots' files do."""
    distinct: list[GroundSpec] = []
    for ground in grounds:
        if ground.field is not None:
            distinct.append(ground)
            continue
        plane = (*ground.normal, ground.offset)
        if not any(
            g.field is None and math.dist(plane, (*g.normal, g.offset)) < SAME_PLANE
            for g in distinct
        ):
            distinct.append(ground)
    return tuple(distinct)


def _unit(normal: list[float]) -> tuple[float, float, float]:
    x, y, z = normal
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def _surface(table: Surface, where: str) -> SurfaceSpec:
    return SurfaceSpec(where=where, **table.spec_fields(SurfaceSpec))
