"""Reader of robots and scenes from other files: they are read, modified, renamed and attached to the scene."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pysim.errors import PysimError, PysimWarning, SceneError, did_you_mean
from pysim.joints import find_joint
from pysim.scene.actuator_commands import (
    at_keyframe,
    followed,
    with_signal,
    with_value,
    without_actuators,
)
from pysim.scene.attachment import Attachment, Parts, joined, parts_of
from pysim.scene.importer import ImportOptions, find_importer
from pysim.scene.packages import resolve_uri
from pysim.scene.stop_defaults import without_default_stops
from pysim.scene.toml.bodies import theta_of_numbers
from pysim.scene.toml.contacts import DEFAULT_MATERIAL
from pysim.scene.toml.includes import SUFFIXES, as_named
from pysim.scene.toml.joints import given_start
from pysim.scene.toml.model_changes import (
    in_convex_parts,
    of_robot,
    painted,
    shapes_for_contact,
    without_excluded,
)
from pysim.scene.toml.plausibility import check_start
from pysim.scene.toml.source import MOST_TABLES
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import BlockSpec, BodySpec, ContactsSpec, JointSpec, ModelSpec, SceneSpec
    from pysim.scene.toml.joints import JointReader
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import BodyOverrides, Model
    from pysim.scene.toml.source import Steps

    SceneReader = Callable[[Model, Path, Steps], SceneSpec]

MOST_BODIES = MOST_TABLES  # of all models of a scene
_OF_IMPORTS = {"decompose", "free_base", "self_collision", "srdf"}


@dataclass
class ModelReader:
    """Reader of model tables, which reports to `problems`."""

    problems: Problems
    joints: JointReader
    package_dirs: tuple[Path, ...]
    inertia: InertiaPolicy  # of the scene, for models without their own
    read_scene: SceneReader
    has_ground: bool = False
    allow_code: bool = False
    imported: dict[tuple[Path, ImportOptions], ModelSpec] = field(default_factory=dict)
    _bodies: int = 0  # of the models so far

    def read(self, table: Model, path: Steps) -> Parts:
        """Return the parts of the file, or of its copies, changed by the table at `path`."""
        found = self._file(table, path)
        if found is None:
            return Parts()
        spec, parts = found
        parts = parts if table.actuators else without_actuators(parts)
        if not table.sensors:
            kept = tuple(block for block in parts.blocks if block.kind != "sensor")
            parts = parts._replace(blocks=kept)
        joints = {j.name: without_excluded(without_default_stops(j), table) for j in spec.joints}
        self._replace_passive(joints, table, path)
        parts = parts._replace(blocks=self._keyframe(spec, joints, parts.blocks, table, path))
        self._start(joints, table, path)
        bodies = self._looks(spec.bodies, table, path)
        bodies = self._colliding(bodies, parts.contacts, table, path)
        bodies = self._decomposed(bodies, table, path)
        if not _is_scene(table):
            bodies = self._touching_themselves(bodies, spec, table, path)
        contacts = self._contacts(parts.contacts, table, path)
        parts = parts._replace(
            bodies=tuple(bodies), joints=tuple(joints.values()), contacts=contacts
        )
        copies = table.count or 1
        self._bodies += copies * len(parts.bodies)
        if self._bodies > MOST_BODIES and table.count is None:
            problem = f"the models of the scene have more than {MOST_BODIES} bodies; remove some"
            self.problems.add(path, problem)
            return Parts()
        return self._copies(parts, table, path)

    def _copies(self, parts: Parts, table: Model, path: Steps) -> Parts:
        """Return the parts in their place, or several copies, each moved from the one before by the offset."""
        if table.count is None:
            for name in {"offset"} & table.model_fields_set:
                problem = "is for several copies; give count, or leave it out"
                self.problems.add((*path, name), problem, of_key=True)
            (prefix,) = prefixes(table)
            placed = Attachment(prefix, table.parent, table.at.matrix).of(parts)
            return self._commanded(placed, prefix, table, path)
        if table.name is None:
            problem = f"{table.count} copies need a name, which is numbered; give the model a name"
            self.problems.add((*path, "count"), problem)
            return Parts()
        if max(table.count * max(len(parts.bodies), 1), self._bodies) > MOST_BODIES:
            problem = f"{table.count} copies have more than {MOST_BODIES} bodies; take fewer"
            self.problems.add((*path, "count"), problem)
            return Parts()
        at, together = table.at.matrix, Parts()
        for prefix in prefixes(table):
            placed = Attachment(prefix, table.parent, at).of(parts)
            together = joined(together, self._commanded(placed, prefix, table, path))
            at = at @ table.offset.matrix
        return together

    def _commanded(self, parts: Parts, prefix: str, table: Model, path: Steps) -> Parts:
        """Return the parts with the commands of the table, which are numbers or signals of the scene."""
        for name, command in table.command.items():
            known, at = followed(parts), (*path, "command", name)
            if prefix + name not in known:
                names = [key.removeprefix(prefix) for key in known]
                hint = did_you_mean(name, names) or "; it has none, remove the key"
                self.problems.add(at, f"the file has no actuator {name!r}{hint}", of_key=True)
            elif isinstance(command, str):
                parts = with_signal(parts, prefix + name, command)
            else:
                changed = with_value(parts, known[prefix + name], command)
                if changed is None:
                    problem = f"actuator {name!r} follows the signal {known[prefix + name]!r}"
                    self.problems.add(at, f"{problem}, which is no constant; name a signal")
                parts = changed or parts
        return parts

    def _keyframe(
        self,
        spec: ModelSpec,
        joints: dict[str, JointSpec],
        blocks: tuple[BlockSpec, ...],
        table: Model,
        path: Steps,
    ) -> tuple[BlockSpec, ...]:
        """Start at a keyframe of the file; return the blocks with its commands."""
        if table.keyframe is None:
            return blocks
        keyframes = {keyframe.name: keyframe for keyframe in spec.keyframes}
        if table.keyframe not in keyframes:
            known = did_you_mean(table.keyframe, keyframes) or "; it has none, remove the key"
            problem = f"the file has no keyframe {table.keyframe!r}{known}"
            self.problems.add((*path, "keyframe"), problem)
            return blocks
        keyframe = keyframes[table.keyframe]
        for name in keyframe.q.keys() & joints.keys():
            joints[name] = replace(joints[name], start_q=keyframe.q[name], start_v=keyframe.v[name])
        return at_keyframe(blocks, keyframe)

    def _file(self, table: Model, path: Steps) -> tuple[ModelSpec, Parts] | None:
        """Return the mechanism in the file, and the parts of it that the table does not change."""
        folder = self.problems.source.folder(path)
        try:
            file = resolve_uri(table.file, folder, self.package_dirs)
        except SceneError as error:
            self.problems.add((*path, "file"), error.problem)
            return None
        if _is_scene(table):
            return self._scene(table, file, path)
        if table.overrides:
            problem = "is for scene files; change a robot by the keys joint and body"
            self.problems.add((*path, "overrides"), problem, of_key=True)
        options = ImportOptions(
            table.free_base,
            table.mimic,
            self.package_dirs,
            table.inertia or self.inertia,
            table.strict,
            srdf=self._srdf(table, path),
            fix_massless=False,
            allow_code=self.allow_code,
            self_collision=table.self_collision,
        )
        if (file, options) not in self.imported:
            try:
                found = find_importer(file)
            except SceneError as error:
                self.problems.add((*path, "file"), error.problem)
                return None
            if options.srdf is not None and not found.reads_srdf:
                self.problems.add((*path, "srdf"), "is for URDF and SDF; remove the key")
                return None
            spec = found().read(file, options)
            bodies = tuple(of_robot(body, table.file, spec.self_collision) for body in spec.bodies)
            self.imported[file, options] = replace(spec, bodies=bodies)
        spec = self.imported[file, options]
        return spec, parts_of(spec)._replace(contacts=spec.contacts, blocks=spec.blocks)

    def _scene(self, table: Model, file: Path, path: Steps) -> tuple[ModelSpec, Parts] | None:
        """Return the mechanism of a scene file with its actuators and materials."""
        for name in sorted(_OF_IMPORTS & table.model_fields_set):
            problem = "is for files of other programs; write it in the scene file"
            self.problems.add((*path, name), problem, of_key=True)
        shown = as_named(table.file, Path(self.problems.source.folder(path), "_"), file)
        try:
            scene = self.read_scene(table, shown, path)
        except PysimError as error:
            self.problems.add_from(path, error)
            return None
        model = scene.model
        if not table.mimic:
            free = tuple(replace(joint, mimic=None) for joint in model.joints)
            model = replace(model, joints=free)
        contacts = model.contacts
        if contacts is not None:
            own = {name: m for name, m in contacts.materials.items() if m is not DEFAULT_MATERIAL}
            contacts = replace(contacts, materials=own, grounds=())
        in_equilibrium = scene.equilibrium
        if "*" in in_equilibrium:
            in_equilibrium = tuple(joint.name for joint in model.joints if joint.type != "fixed")
        parts = parts_of(model)._replace(
            actuators=scene.actuators,
            hold=scene.hold,
            equilibrium=in_equilibrium,
            contacts=contacts,
            blocks=scene.blocks,
        )
        return model, parts

    def _srdf(self, table: Model, path: Steps) -> Path | None:
        if table.srdf is None:
            return None
        try:
            return resolve_uri(
                table.srdf, self.problems.source.folder(path), self.package_dirs, (".srdf", ".xml")
            )
        except SceneError as error:
            self.problems.add((*path, "srdf"), error.problem)
            return None

    def _replace_passive(self, joints: dict[str, JointSpec], table: Model, path: Steps) -> None:
        """Apply `joint.NAME` tables."""
        for name, passive in table.joint.items():
            at = (*path, "joint", name)
            if self._knows(name, joints, "joint", at):
                joints[name] = self.joints.with_passive(joints[name], passive, at)

    def _start(self, joints: dict[str, JointSpec], table: Model, path: Steps) -> None:
        for name, start in table.start.items():
            at = (*path, "start", name)
            if self._starts(name, joints, at):
                check_start(start.q, joints[name].type, at, self.problems)
                q = self.joints.q(start, find_joint(joints[name].type), at)
                given = joints[name].given_start | given_start(start)
                joints[name] = replace(joints[name], start_q=q, given_start=given)
                joints[name] = self.joints.with_v(joints[name], start.v, (*at, "v"))
        for name, v in table.start_v.items():
            at = (*path, "start_v", name)
            if self._starts(name, joints, at):
                given = joints[name].given_start | {"v"}
                joints[name] = self.joints.with_v(replace(joints[name], given_start=given), v, at)

    def _starts(self, name: str, joints: dict[str, JointSpec], at: Steps) -> bool:
        """Return whether the table gives a joint a start."""
        if not self._knows(name, joints, "joint", at):
            return False
        joint = joints[name]
        if joint.mimic is not None:
            problem = f"follows joint {joint.mimic.joint!r}; give the start to that joint"
            self.problems.add(at, problem, of_key=True)
        elif joint.type == "fixed":
            self.problems.add(at, "a fixed joint has no start; remove it", of_key=True)
        return joint.mimic is None and joint.type != "fixed"

    def _looks(self, bodies: tuple[BodySpec, ...], table: Model, path: Steps) -> list[BodySpec]:
        names = [body.name for body in bodies]
        for name in table.body:
            self._knows(name, names, "body", (*path, "body", name))
        looks = [(body, table.body.get(body.name)) for body in bodies]
        return [
            self._weighed(painted(body, look), look, (*path, "body", body.name))
            for body, look in looks
        ]

    def _colliding(
        self, bodies: list[BodySpec], contacts: ContactsSpec | None, table: Model, path: Steps
    ) -> list[BodySpec]:
        """Let the links collide that the table names, with their shapes for contact."""
        has_ground = self.has_ground or (contacts is not None and bool(contacts.grounds))
        chosen = table.collision or ("file" if has_ground else "none")
        if chosen == "none":
            return [replace(body, collisions=()) for body in bodies]
        if contacts is None:
            bodies = [replace(body, collisions=shapes_for_contact(body)) for body in bodies]
        if isinstance(chosen, str):
            return bodies
        colliding = {body.name: bool(body.collisions) for body in bodies}
        self._check_links(
            chosen, colliding, "no shape for contact in the file", (*path, "collision")
        )
        return [body if body.name in chosen else replace(body, collisions=()) for body in bodies]

    def _check_links(
        self, chosen: Sequence[str], known: Mapping[str, bool], lacks: str, path: Steps
    ) -> None:
        """Report chosen links that the file does not have, and those that lack what `known` says of each."""
        for k, name in enumerate(chosen):
            if name not in known:
                problem = f"the file has no body {name!r}{did_you_mean(name, known)}"
                self.problems.add((*path, k), problem)
            elif not known[name]:
                self.problems.add((*path, k), f"body {name!r} has {lacks}; remove it")

    def _decomposed(self, bodies: list[BodySpec], table: Model, path: Steps) -> list[BodySpec]:
        """Let meshes of the links that the table names collide as convex parts."""
        if not table.decompose or _is_scene(table):
            return bodies
        meshes = {b.name: any(c.shape.kind == "mesh" for c in b.collisions) for b in bodies}
        chosen = table.decompose if isinstance(table.decompose, list) else []
        self._check_links(chosen, meshes, "no mesh that collides", (*path, "decompose"))
        if table.decompose is True and not any(meshes.values()):
            problem = "no mesh of the file collides; remove it"
            self.problems.add((*path, "decompose"), problem, of_key=True)
        names = [name for name in meshes if table.decompose is True or name in chosen]
        return [in_convex_parts(body) if body.name in names else body for body in bodies]

    def _touching_themselves(
        self, bodies: list[BodySpec], spec: ModelSpec, table: Model, path: Steps
    ) -> list[BodySpec]:
        """Let the links touch each other, or not, as the table or else the file says."""
        stated = table.self_collision
        if stated is not None and not any(body.collisions for body in bodies):
            problem = "no link of the file collides; remove it"
            self.problems.add((*path, "self_collision"), problem, of_key=True)
        stated = spec.self_collision if stated is None else stated
        return [of_robot(body, table.file, stated) for body in bodies]

    def _contacts(
        self, contacts: ContactsSpec | None, table: Model, path: Steps
    ) -> ContactsSpec | None:
        """Return the contacts of the file, with a warning if its ground would be on a body."""
        if contacts is None or table.collision == "none":
            return None
        if contacts.grounds and table.parent != WORLD:
            place = self.problems.source.where(path)
            text = f"the ground of {Path(table.file).name!r} is left out, because {table.parent!r} may move"
            remedy = 'write a [[ground]], or parent = "world"'
            warnings.warn(f"{place}: {text}; {remedy}", PysimWarning, stacklevel=2)
        return contacts

    def _weighed(self, body: BodySpec, look: BodyOverrides | None, path: Steps) -> BodySpec:
        """Replace the file's mass, centre and inertia if the table has a mass."""
        given = look.model_fields_set & {"com", "inertia"} if look is not None else set()
        if look is None or look.mass is None:
            if given:
                problem = f"body {body.name!r} has {' and '.join(sorted(given))} but no mass; give mass [kg]"
                self.problems.add(path, problem)
            return body
        theta = theta_of_numbers(look, body.name, path, self.problems, self.inertia)
        return replace(body, theta=theta)

    def _knows(
        self, name: str, known: list[str] | dict[str, JointSpec], what: str, at: Steps
    ) -> bool:
        if name not in known:
            problem = f"the file has no {what} {name!r}{did_you_mean(name, known)}"
            self.problems.add(at, problem, of_key=True)
        return name in known


def prefixes(table: Model) -> list[str]:
    """Return what the names of a model's parts begin with in the scene, for each of its copies."""
    if table.count is not None:
        return [f"{table.name}_{k}/" for k in range(table.count)]
    return [f"{table.name}/" if table.name else ""]


def _is_scene(table: Model) -> bool:
    return table.file.lower().endswith(SUFFIXES)
