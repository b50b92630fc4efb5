"""Reader of a scene's mechanism: bodies, joints, frames, constraints, forces and contacts of its tables and files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.attachment import Parts, joined, on_bodies
from pysim.scene.spec import FrameSpec, ModelSpec
from pysim.scene.toml.bodies import BodyReader
from pysim.scene.toml.constraints import ConstraintReader
from pysim.scene.toml.contacts import ContactReader
from pysim.scene.toml.forces import ForceReader
from pysim.scene.toml.joints import JointReader, resolve_mimics
from pysim.scene.toml.models import ModelReader
from pysim.scene.toml.names import check_names, names_by_kind
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.records.references import check_references
from pysim.scene.toml.records.tables import Scene
from pysim.scene.toml.rods import RodReader
from pysim.scene.toml.settings import without_unsupported_contacts
from pysim.scene.toml.table_cache import TableCache
from pysim.scene.tree import check_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pysim.scene.spec import BodySpec, JointSpec, SceneSpec
    from pysim.scene.toml.reader import Reading
    from pysim.scene.toml.source import Steps

_OF_RUN = ("simulation", "event", "render")  # tables that have no effect in an attached scene


@dataclass
class MechanismReader:
    """Reader of a scene's mechanism.

    Args:
        scene: its tables.
        problems: to which what is wrong is added.
        path: of the file.
        reading: what the scene may read and run, and the scenes that attach it.
        table_cache: of tables that were read before.
        read_attached: reads the scene of a [[model]] table.
    """

    scene: Scene
    problems: Problems
    path: Path
    reading: Reading
    table_cache: TableCache
    read_attached: Callable[..., SceneSpec]

    def read(self) -> tuple[ModelSpec, Parts, Mapping[str, FrameSpec]]:
        """Return the mechanism with names checked, without default stops, the parts of other files, and the frames.

        In the mechanism, what the file places in frames is in bodies.
        """
        is_attached = bool(self.reading.chain)
        joint_reader = JointReader(self.problems)
        bodies, joints, parts = self._bodies_and_joints(joint_reader)
        known_frames = {frame.name: frame for frame in (*self._frames(), *parts.frames)}
        in_file = Parts(joints=tuple(joints), frames=tuple(self._frames()))
        parts, in_file = on_bodies(parts, known_frames), on_bodies(in_file, known_frames)
        bodies, joints = [*bodies, *parts.bodies], [*in_file.joints, *parts.joints]
        frames = {frame.name: frame for frame in (*in_file.frames, *parts.frames)}
        joint_specs = {joint.name: joint for joint in joints}
        constraints = ConstraintReader(self.problems, joint_reader, joint_specs, frames)
        forces = ForceReader(constraints, self.reading.folders)
        paths: dict[str, Steps] = {j.name: ("joint", k) for k, j in enumerate(self.scene.joint)}
        joints = resolve_mimics(joints, paths, self.problems)
        self.problems.check()
        contact_reader = ContactReader(
            self.scene, self.problems, parts.contacts, is_attached=is_attached
        )
        contacts = contact_reader.read(bodies)
        spec = ModelSpec(
            name=self.scene.name or self.path.stem,
            gravity=np.array(self.scene.gravity),
            bodies=tuple(bodies),
            joints=tuple(joints),
            frames=(*in_file.frames, *parts.frames),
            where=str(self.path),
            loops=(*constraints.loops(self.scene.loop), *parts.loops),
            couplings=(*constraints.couplings(self.scene.coupling), *parts.couplings),
            forces=(*forces.forces(self.scene.force), *constraints.springs, *parts.forces),
            contacts=contacts,
            roads=contact_reader.roads,
            motions=(*constraints.motions(self.scene.motion), *parts.motions),
            steps=tuple(dict.fromkeys(parts.steps)),
            rods=parts.rods,
        )
        self.problems.check()
        check_connections(spec)
        if not is_attached:
            spec = without_unsupported_contacts(self.scene, spec, self.problems)
        return spec, parts, known_frames

    def _bodies_and_joints(
        self, joint_reader: JointReader
    ) -> tuple[list[BodySpec], list[JointSpec], Parts]:
        """Return the bodies and joints of the tables, and the parts of other files and rods; names are checked."""
        scene, folders, cache = self.scene, self.reading.folders, self.table_cache
        has_ground = bool(scene.ground) or self.reading.has_ground
        models = ModelReader(
            self.problems,
            joint_reader,
            folders,
            scene.inertia,
            partial(
                self.read_attached,
                source=self.problems.source,
                outer=self.path,
                reading=replace(self.reading, has_ground=has_ground),
            ),
            has_ground,
            self.reading.allow_code,
            cache.imported,
        )
        around = (scene.inertia, folders, has_ground)
        body_reader = BodyReader(self.problems, folders, scene.inertia)
        bodies = cache.read(body_reader.read, scene.body, "body", around)
        joints = cache.read(joint_reader.read, scene.joint, "joint")
        attached = cache.read(models.read, scene.model, "model", around)
        rods = RodReader(self.problems, np.array(scene.gravity)).read(scene)
        parts = reduce(joined, (*attached, *rods), Parts())
        valid = [joint for joint in joints if joint is not None]
        check_names(scene, self.problems, attached, rods, [*valid, *parts.joints])
        known = names_by_kind(scene, valid, parts)
        check_references(scene, known, self.problems, _OF_RUN if self.reading.chain else ())
        return [*bodies], valid, parts

    def _frames(self) -> list[FrameSpec]:
        where = self.problems.source.where
        return [
            FrameSpec(**frame.spec_fields(FrameSpec), where=where(("frame", k)))
            for k, frame in enumerate(self.scene.frame)
        ]
