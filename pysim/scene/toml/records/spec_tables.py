"""Tables of a scene from its specification: the inverse of the reader, with numbers instead of expressions and files.

Attached models and includes become bodies and joints of one file. What a scene cannot hold is refused with its name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.inertia import center_of_mass, move_theta, theta_from_com, unphysical_reason
from pysim.scene.inertia_text import ENTRIES, clean_inertia
from pysim.scene.spec import SceneSpec, may_touch
from pysim.scene.toml.contacts import DEFAULT, DEFAULT_MATERIAL
from pysim.scene.toml.plugin_keys import FILE
from pysim.scene.toml.records.block_tables import Controller, Sensor, Signal
from pysim.scene.toml.records.constraint_tables import Force, FrameMotion, Loop
from pysim.scene.toml.records.contact_tables import Contact, Material
from pysim.scene.toml.records.event_table import Event
from pysim.scene.toml.records.joint_tables import joint_table, keyframe_table
from pysim.scene.toml.records.keys import Pose
from pysim.scene.toml.records.tables import (
    Actuator,
    Decomposition,
    Frame,
    Output,
    Render,
    Simulation,
    Solid,
)
from pysim.scene.tree import WORLD
from pysim.shapes import SIZES, HeightField, primitive_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pysim.scene.conversion_limits import Refusals
    from pysim.scene.spec import (
        BlockSpec,
        BodySpec,
        ContactsSpec,
        CouplingSpec,
        ForceSpec,
        GroundSpec,
        ModelSpec,
    )
    from pysim.scene.toml.records.table import Table
    from pysim.shapes import Geometry, Shape

    Tables = dict[str, Any]

ROUNDING_TOLERANCE = 1e-13  # relative difference of mass properties that are rounding
BLOCKS: dict[str, type[Table]] = {
    "signal": Signal,
    "sensor": Sensor,
    "controller": Controller,
    "actuator": Actuator,
}


@dataclass
class SpecTables:
    """Writer of a specification as tables.

    Attributes:
        refusals: receives what a scene cannot hold.
        mesh_name: name of a mesh file in the scene.
        plugin_names: names of the plugin files for the scene's `plugins`.
        file_name: name of a file of data in the scene.
    """

    refusals: Refusals
    mesh_name: Callable[[Path, str], str]
    plugin_names: Callable[[ModelSpec | SceneSpec], list[str]]
    file_name: Callable[[Path, str], str]

    def tables(self, spec: ModelSpec | SceneSpec) -> Tables:
        """Return the tables of a scene, or of a mechanism alone."""
        model = spec.model if isinstance(spec, SceneSpec) else spec
        tables: Tables = {"name": model.name, "gravity": model.gravity.tolist()}
        tables["plugins"] = self.plugin_names(spec)
        tables["body"] = [self._body(body) for body in model.bodies]
        self._note_contact_shapes(model)
        tables["joint"] = [joint_table(joint) for joint in model.joints]
        tables["loop"] = [Loop.keys_of(loop) for loop in model.loops]
        tables["motion"] = [FrameMotion.keys_of(motion) for motion in model.motions]
        tables["coupling"] = [self._coupling(coupling) for coupling in model.couplings]
        tables["force"] = [self._with_file(Force.keys_of(force), force) for force in model.forces]
        tables["frame"] = [Frame.keys_of(frame) for frame in model.frames]
        tables["keyframes"] = {
            keyframe.name: keyframe_table(keyframe, model) for keyframe in model.keyframes
        }
        for kind in BLOCKS:
            blocks = [block for block in spec.blocks if block.kind == kind]
            tables[kind] = [self._block(block) for block in blocks]
        if isinstance(spec, SceneSpec):
            tables["assembly"] = {"hold": list(spec.hold)} if spec.hold else {}
            if spec.equilibrium:
                chosen = True if "*" in spec.equilibrium else list(spec.equilibrium)
                tables["assembly"]["equilibrium"] = chosen
            tables["actuator"] += [Actuator.keys_of(drive) for drive in spec.actuators]
            tables["event"] = [Event.keys_of(event) for event in spec.events]
        tables |= self._contacts(model)
        if isinstance(spec, SceneSpec):
            tables["simulation"] = _simulation(spec)
            every = {"every": spec.settings.every}
            tables["output"] = Output.keys_of(spec.settings) | every
            tables["render"] = Render.keys_of(spec.render)
        elif model.shortest_step is not None:
            tables["simulation"] = {"step": model.shortest_step.step}
        return {key: value for key, value in tables.items() if value not in ([], {})}

    def _block(self, block: BlockSpec) -> Tables:
        """Return the table of a signal, sensor, controller or actuator."""
        table = BLOCKS[block.kind].keys_of(block)
        if block.size != 1:
            table["size"] = block.size
        if not np.array_equal(block.relative_at, np.eye(4)):
            what = f"the pose in {block.relative_to!r} against which {block.name!r} measures"
            self.refusals.add(block.where, what, "give that body a frame")
        return self._with_file(table, block)

    def _with_file(self, table: Tables, element: BlockSpec | ForceSpec) -> Tables:
        """Return the table of an element, whose file of data has the name that it gets beside the scene."""
        file = element.parameters.get(FILE)
        if isinstance(file, str) and file:
            table[FILE] = self.file_name(Path(file), element.where)
        return table

    def _body(self, body: BodySpec) -> Tables:
        table: Tables = {"name": body.name}
        visual = [g for g in body.geometries if g.role == "visual"]
        sources = [g for g in visual if g.mass_source is not None]
        own_shapes = self._collides_as_drawn(body, visual)
        if sources and _same_theta(body, sources):
            dense = sources[0].mass_source is not None and sources[0].mass_source.density
            table |= {} if dense else {"mass": float(body.theta[0])}
            shapes, drawn = sources, [g for g in visual if g.mass_source is None]
            own_shapes = own_shapes and not drawn
        else:
            table |= self._mass(body)
            shapes, drawn = (visual, []) if own_shapes else ([], visual)
            if own_shapes and "inertia" not in table:
                table["inertia"] = dict.fromkeys(("xx", "yy", "zz"), 0.0)
        weighs = shapes is sources
        if shapes:
            table["shape"] = _one_or_list([self._shape(g, body, weighs=weighs) for g in shapes])
        if drawn:
            table["visual"] = _one_or_list([self._shape(g, body) for g in drawn])
        if own_shapes:
            table["collision"] = True
            if body.collisions[0].material != DEFAULT:
                table["material"] = body.collisions[0].material
        elif body.collisions:
            table["collision"] = [self._collision(body, k) for k in range(len(body.collisions))]
        return table

    def _note_contact_shapes(self, model: ModelSpec) -> None:
        """Note shapes for contact of bodies that touch nothing, which have no effect."""
        idle = [
            body.name
            for body in model.bodies
            if not body.collisions and any(g.role == "collision" for g in body.geometries)
        ]
        if idle:
            more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
            bodies = f"{', '.join(map(repr, idle[:3]))}{more}"
            text = f"the shapes for contact of {bodies} are left out, as nothing touches them here"
            self.refusals.note(model.where, f"{text}; add a ground to the scene first to keep them")

    def _collides_as_drawn(self, body: BodySpec, visual: Sequence[Geometry]) -> bool:
        """Return whether the shapes that collide are those that are drawn."""
        shapes = body.collisions
        return (
            bool(shapes)
            and len(shapes) == len(visual)
            and not any(g.role == "collision" for g in body.geometries)
            and len({shape.material for shape in shapes}) == 1
            and all(
                own.shape == g.shape
                and np.array_equal(own.pose, g.pose)
                and own.decomposition is None
                for own, g in zip(shapes, visual, strict=True)
            )
        )

    def _mass(self, body: BodySpec) -> Tables:
        theta = body.theta
        if theta[0] == 0:
            if theta.any():
                problem = f"body {body.name!r} has an inertia and no mass; give it a mass [kg]"
                self.refusals.reject(body.where, problem)
            return {"mass": 0.0}
        com, I_C = center_of_mass(theta), clean_inertia(theta)
        reason = unphysical_reason(theta_from_com(theta[0], com, I_C))
        if reason is not None:
            problem = f"the inertia of body {body.name!r} is not physically consistent: {reason}"
            remedy = "fix it, or convert with --inertia nearest"
            self.refusals.reject(body.where, f"{problem}; {remedy}")
        table: Tables = {"mass": float(theta[0])}
        if com.any():
            table["com"] = [_tidy(value) for value in com]
        if I_C.any():
            entries = {name: _tidy(I_C[at]) for name, at in ENTRIES.items()}
            table["inertia"] = {
                name: value for name, value in entries.items() if value or name[0] == name[1]
            }
        return table

    def _shape(self, geometry: Geometry, body: BodySpec, *, weighs: bool = False) -> Tables:
        table = self._form(geometry.shape, body.where) | _at(geometry.pose)
        source = geometry.mass_source
        if geometry.color is not None:
            table["color"] = list(geometry.color)
        return table | Solid.keys_of(source) if source is not None and weighs else table

    def _collision(self, body: BodySpec, k: int) -> Tables:
        collision = body.collisions[k]
        table = self._form(collision.shape, collision.where) | _at(collision.pose)
        drawn = [g for g in body.geometries if g.role == "collision"]
        if len(drawn) == len(body.collisions) and drawn[k].color is not None:
            table["color"] = list(drawn[k].color or ())
        if collision.material != DEFAULT:
            table["material"] = collision.material
        if collision.convex and collision.shape.kind == "mesh":
            table["convex"] = True
        if collision.decomposition is not None:
            table["decompose"] = Decomposition.keys_of(collision.decomposition) or True
        return table

    def _form(self, shape: Shape, where: str) -> Tables:
        if isinstance(shape.field, HeightField):
            if shape.field.source is None:
                self.refusals.add(where, "the height field, which no file has,")
                return {}
            ((kind, source),) = shape.field.source.items()
            named = {"file": self.file_name(source["file"], where)} if "file" in source else {}
            return {kind: source | named}
        if shape.field is not None:
            return {"field": shape.field.table()}
        if shape.mesh is None:
            return {shape.kind: dict(zip(SIZES[shape.kind], map(float, shape.size), strict=True))}
        table: Tables = {"mesh": self.mesh_name(shape.mesh, where)}
        if shape.scale != (1.0, 1.0, 1.0):
            table["scale"] = list(shape.scale)
        return table

    def _coupling(self, coupling: CouplingSpec) -> Tables:
        """Return a table whose first coordinate has the ratio 1."""
        (first, lead), *others = coupling.terms.items()
        table: Tables = {"name": coupling.name, "joint": first}
        if others:
            table["ratios"] = {name: -ratio / lead for name, ratio in others}
        if coupling.offset or (not others and coupling.function is None):
            table["offset"] = coupling.offset / lead
        if coupling.function is not None:
            if lead != 1:
                what = f"the function of coupling {coupling.name!r}, divided by {lead:g},"
                self.refusals.add(coupling.where, what)
            table |= {"function": coupling.function, "inputs": list(coupling.inputs)}
        return table

    def _contacts(self, model: ModelSpec) -> Tables:
        contacts = model.contacts
        if contacts is None:
            return {"ground": self._grounds(model.roads, has_materials=False)}
        materials = {
            name: Material.keys_of(surface) for name, surface in contacts.materials.items()
        }
        if materials.get(DEFAULT) == Material.keys_of(DEFAULT_MATERIAL):
            del materials[DEFAULT]
        return {
            "materials": materials,
            "ground": self._grounds(contacts.grounds, has_materials=True),
            "contact": [Contact.keys_of(x) | Material.keys_of(x.surface) for x in contacts.pairs],
            "exclude": [
                {"between": list(pair)}
                for pair in dict.fromkeys([*contacts.excluded, *self._filtered(model, contacts)])
            ],
        }

    def _grounds(self, grounds: Iterable[GroundSpec], *, has_materials: bool) -> list[Tables]:
        tables: list[Tables] = []
        for ground in grounds:
            is_named = has_materials and ground.material != DEFAULT
            named = {"material": ground.material} if is_named else {}
            if ground.field is None:
                plane = {"normal": list(ground.normal), "offset": ground.offset}
                tables.append({"plane": plane, **named})
                continue
            field = self._form(ground.field.shape, ground.where) | _at(ground.field.at)
            if ground.field.color is not None:
                field["color"] = list(ground.field.color)
            tables.append(field | named)
        return tables

    def _filtered(self, model: ModelSpec, contacts: ContactsSpec) -> Iterator[tuple[str, str]]:
        """Yield the pairs of links that their masks keep apart; masks of single shapes are refused."""
        masks = {body.name: [own.filter for own in body.collisions] for body in model.bodies}
        masks = {name: own for name, own in masks.items() if own}
        if contacts.grounds:
            masks = {WORLD: [ground.filter for ground in contacts.grounds]} | masks
        if not any(mask is not None for own in masks.values() for mask in own):
            return
        for (a, own), (b, other) in combinations(masks.items(), 2):
            touching = {may_touch(one, two) for one in own for two in other}
            if touching == {False}:
                yield a, b
            elif len(touching) > 1:
                what = f"the mask of contact between some shapes of {a!r} and {b!r}"
                self.refusals.add(model.where, what)


def _tidy(value: float) -> float:
    """Return a computed number with 15 digits, whose last one or two are rounding."""
    return float(f"{value:.15g}")


def _simulation(spec: SceneSpec) -> Tables:
    settings = spec.settings
    table: Tables = {"duration": settings.duration, "step": settings.step}
    table |= {"integrator": settings.integrator} | Simulation.keys_of(settings)
    if math.isinf(settings.step):
        del table["step"]
    return table


def _at(X: Array) -> Tables:
    """Return the key of a pose, empty for the identity."""
    pose = Pose.keys_of(X)
    return {"at": pose} if pose else {}


def _one_or_list(tables: list[Tables]) -> Tables | list[Tables]:
    return tables[0] if len(tables) == 1 else tables


def _same_theta(body: BodySpec, sources: Sequence[Geometry]) -> bool:
    """Return whether the mass properties of a body are those of the shapes that are its source."""
    first = sources[0].mass_source  # a scene gives a density to all of them, or to none
    dense = first is not None and first.density is not None
    total = sum((_weight(g, dense) for g in sources), np.zeros(10))
    if not dense:
        total = total * (body.theta[0] / total[0])
    scale = np.abs(total).max()
    return bool(np.abs(total - body.theta).max() <= ROUNDING_TOLERANCE * scale)


def _weight(geometry: Geometry, dense: bool) -> Array:
    """Return θ (10,) of a shape, of its density or of density 1."""
    source, shape = geometry.mass_source, geometry.shape
    assert source is not None
    density = (source.density or 1.0) if dense else 1.0
    if shape.mesh is None:
        return move_theta(primitive_theta(shape, density), geometry.pose)
    from pysim.meshes import mesh_theta  # noqa: PLC0415, trimesh loads only if a mesh is named

    theta = mesh_theta(
        shape.mesh,
        shape.scale,
        density,
        repair=source.repair,
        convex=source.convex,
        shell=source.shell,
    )
    return move_theta(theta, geometry.pose)
