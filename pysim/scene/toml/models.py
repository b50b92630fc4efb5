"""Reader of robots from other files: they are read, modified, renamed and attached to the scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.errors import SceneError, did_you_mean
from pysim.joints import find_joint
from pysim.scene.importer import ImportOptions, find_importer
from pysim.scene.packages import resolve_uri
from pysim.scene.spec import CollisionSpec
from pysim.scene.toml.bodies import theta_of_numbers
from pysim.scene.tree import WORLD

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import (
        BodySpec,
        CouplingSpec,
        ForceSpec,
        FrameSpec,
        JointSpec,
        LoopSpec,
        ModelSpec,
        SpringSpec,
    )
    from pysim.scene.toml.joints import JointReader
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Steps
    from pysim.scene.toml.tables import BodyOverrides, Model

    Array = NDArray[np.float64]


class AttachedModel(NamedTuple):
    """Parts of a model, with the names and places that they have in the scene."""

    bodies: list[BodySpec]
    joints: list[JointSpec]
    frames: tuple[FrameSpec, ...] = ()
    loops: tuple[LoopSpec, ...] = ()
    couplings: tuple[CouplingSpec, ...] = ()
    springs: tuple[SpringSpec, ...] = ()
    forces: tuple[ForceSpec, ...] = ()


@dataclass
class ModelReader:
    """Reader of model tables, which reports to `problems`."""

    problems: Problems
    joints: JointReader
    folder: Path
    package_dirs: tuple[Path, ...]
    inertia: InertiaPolicy  # of the scene, for models without their own
    has_ground: bool = False

    def read(self, table: Model, path: Steps) -> AttachedModel:
        """Return the parts of the file, changed by the table at `path`."""
        spec = self._file(table, path)
        if spec is None:
            return AttachedModel([], [])
        joints = {joint.name: _without(joint, table) for joint in spec.joints}
        self._replace_passive(joints, table, path)
        self._keyframe(spec, joints, table, path)
        self._start(joints, table, path)
        bodies = self._looks(spec.bodies, table, path)
        bodies = self._colliding(bodies, table, path)
        prefix = f"{table.name}/" if table.name else ""
        return AttachedModel(
            [replace(body, name=prefix + body.name) for body in bodies],
            [_placed(joint, table, prefix) for joint in joints.values()],
            *_renamed_connections(spec, table, prefix),
        )

    def _keyframe(
        self, spec: ModelSpec, joints: dict[str, JointSpec], table: Model, path: Steps
    ) -> None:
        """Start at a keyframe of the file."""
        if table.keyframe is None:
            return
        keyframes = {keyframe.name: keyframe for keyframe in spec.keyframes}
        if table.keyframe not in keyframes:
            known = did_you_mean(table.keyframe, keyframes) or "; it has none, remove the key"
            problem = f"the file has no keyframe {table.keyframe!r}{known}"
            self.problems.add((*path, "keyframe"), problem)
            return
        keyframe = keyframes[table.keyframe]
        for name in keyframe.q.keys() & joints.keys():
            joints[name] = replace(joints[name], start_q=keyframe.q[name], start_v=keyframe.v[name])

    def _file(self, table: Model, path: Steps) -> ModelSpec | None:
        try:
            file = resolve_uri(table.file, self.folder, self.package_dirs)
        except SceneError as error:
            self.problems.add((*path, "file"), error.problem)
            return None
        srdf = self._srdf(table, path)
        options = ImportOptions(
            table.free_base,
            table.mimic,
            self.package_dirs,
            table.inertia or self.inertia,
            srdf=srdf,
            fix_massless=False,
        )
        try:
            found = find_importer(file)
        except SceneError as error:
            self.problems.add((*path, "file"), error.problem)
            return None
        return found().read(file, options)

    def _srdf(self, table: Model, path: Steps) -> Path | None:
        if table.srdf is None:
            return None
        try:
            return resolve_uri(table.srdf, self.folder, self.package_dirs, (".srdf", ".xml"))
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
                q = self.joints.q(start, find_joint(joints[name].type), at)
                joints[name] = replace(joints[name], start_q=q)
                joints[name] = self.joints.with_v(joints[name], start.v, (*at, "v"))
        for name, v in table.start_v.items():
            at = (*path, "start_v", name)
            if self._starts(name, joints, at):
                joints[name] = self.joints.with_v(joints[name], v, at)

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
            self._weighed(_painted(body, look), look, (*path, "body", body.name))
            for body, look in looks
        ]

    def _colliding(self, bodies: list[BodySpec], table: Model, path: Steps) -> list[BodySpec]:
        """Let the links collide that the table names, with their shapes for contact."""
        chosen = table.collision or ("urdf" if self.has_ground else "none")
        if chosen == "none":
            return bodies
        names = [body.name for body in bodies]
        if isinstance(chosen, list):
            for k, name in enumerate(chosen):
                if name not in names:
                    problem = f"the file has no body {name!r}{did_you_mean(name, names)}"
                    self.problems.add((*path, "collision", k), problem)
        return [
            replace(body, collisions=_shapes_for_contact(body))
            if chosen == "urdf" or body.name in chosen
            else body
            for body in bodies
        ]

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


def _renamed_connections(
    spec: ModelSpec, table: Model, prefix: str
) -> tuple[
    tuple[FrameSpec, ...],
    tuple[LoopSpec, ...],
    tuple[CouplingSpec, ...],
    tuple[SpringSpec, ...],
    tuple[ForceSpec, ...],
]:
    """Return frames, loops, couplings and forces with the file's names prefixed; its world is the table's parent."""

    def body(name: str) -> str:
        return table.parent if name == WORLD else prefix + name

    def pose(name: str, own: Array) -> Array:
        return table.at.matrix @ own if name == WORLD else own

    def point(name: str, own: Array) -> Array:
        at = table.at.matrix
        return at[:3, :3] @ own + at[:3, 3] if name == WORLD else own

    frames = tuple(
        replace(f, name=prefix + f.name, body=body(f.body), pose=pose(f.body, f.pose))
        for f in spec.frames
    )
    loops = tuple(
        replace(
            x,
            name=prefix + x.name,
            a=body(x.a),
            b=body(x.b),
            at_a=pose(x.a, x.at_a),
            at_b=pose(x.b, x.at_b),
        )
        for x in spec.loops
    )
    couplings = tuple(
        replace(
            c,
            name=prefix + c.name,
            terms={prefix + name: ratio for name, ratio in c.terms.items()},
            inputs=tuple(prefix + name for name in c.inputs),
        )
        for c in spec.couplings
    )
    springs = tuple(
        replace(
            s,
            name=prefix + s.name,
            a=body(s.a),
            b=body(s.b),
            at_a=point(s.a, s.at_a),
            at_b=point(s.b, s.at_b),
        )
        for s in spec.springs
    )
    forces = tuple(
        replace(
            f,
            name=prefix + f.name,
            a=body(f.a),
            b=body(f.b),
            at_a=pose(f.a, f.at_a),
            at_b=pose(f.b, f.at_b),
            path=tuple((body(name), point(name, at)) for name, at in f.path),
            coordinates=tuple(prefix + name for name in f.coordinates),
        )
        for f in spec.forces
    )
    return frames, loops, couplings, springs, forces


def _shapes_for_contact(body: BodySpec) -> tuple[CollisionSpec, ...]:
    """Return the shapes of a file's link that are made for contact; meshes stand for their convex hulls."""
    return tuple(
        CollisionSpec(geometry.shape, geometry.pose, convex=True, where=body.where)
        for geometry in body.geometries
        if geometry.role == "collision"
    )


def _painted(body: BodySpec, look: BodyOverrides | None) -> BodySpec:
    if look is None or look.color is None:
        return body
    return replace(body, geometries=tuple(replace(g, color=look.color) for g in body.geometries))


def _without(joint: JointSpec, table: Model) -> JointSpec:
    """Remove the parts of the file that the table excludes."""
    zeros = np.zeros_like(joint.damping)
    if not table.limits:
        joint = replace(
            joint,
            lower=np.full_like(zeros, -np.inf),
            upper=np.full_like(zeros, np.inf),
            stop_stiffness=zeros,
            stop_damping=zeros,
        )
    if not table.damping:
        joint = replace(joint, damping=zeros)
    return joint if table.friction else replace(joint, friction=zeros)


def _placed(joint: JointSpec, table: Model, prefix: str) -> JointSpec:
    """Attach the file's root joints to the table's parent, and prefix the file's names."""
    mimic = joint.mimic
    if mimic is not None:
        mimic = replace(mimic, joint=prefix + mimic.joint)
    on_world = joint.parent == WORLD
    return replace(
        joint,
        name=prefix + joint.name,
        parent=table.parent if on_world else prefix + joint.parent,
        child=prefix + joint.child,
        at=table.at.matrix @ joint.at if on_world else joint.at,
        mimic=mimic,
    )
