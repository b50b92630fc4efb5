"""Conversion of model files: a file that pysim reads is written as a scene (.toml) or a robot (.urdf).

Meshes keep their places and are named relative to the new file, or are copied beside it on request.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.elements.block import KINDS
from pysim.errors import SceneError, did_you_mean
from pysim.plugins.registry import kind_called
from pysim.scene import read_model, read_scene
from pysim.scene.actuator_commands import at_keyframe
from pysim.scene.conversion_limits import Refusals
from pysim.scene.packages import ROBOTS, allowed_folders, resolve_uri, robots_folder
from pysim.scene.spec import SceneSpec
from pysim.shapes import READ_SUFFIXES
from pysim.shapes.signed_distance import Field
from pysim.tracing.author_code import RUN_TEXT, source_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import BlockSpec, ModelSpec

MESHES = "meshes"  # folder of the copies, beside the new file
WRITTEN = {".toml": "a scene", ".urdf": "a URDF file"}


def convert(
    source: str | PathLike[str],
    target: str | PathLike[str],
    *,
    copy_meshes: bool = False,
    partial: bool = False,
    overwrite: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
    inertia: InertiaPolicy = "check",
    free_base: bool = False,
    keyframe: str | None = None,
    allow_code: bool = False,
) -> list[Path]:
    """Write a scene or robot in another format, as `pysim convert` does, and return the files that were written.

    Args:
        source: the file to read: a scene (.toml), or a file of another program (.urdf, .xml, .sdf, …).
        target: the file to write, .toml or .urdf.
        copy_meshes: copy the meshes into a folder beside the new file.
        partial: leave out what the format cannot hold, with a warning each.
        overwrite: replace the file.
        package_dirs: folders in which packages of the file are looked for.
        inertia: how to treat a physically inconsistent inertia: "check", "strict" or "nearest".
        free_base: give the first link of a robot a free joint.
        keyframe: state of the file at which the new scene starts.
        allow_code: run the Python code that the file names.

    Raises:
        SceneError: the source is invalid, the target exists or has another suffix, or the format cannot hold a part of
            the mechanism, which is named.
    """
    start, end, folders = Path(source), Path(target), tuple(map(Path, package_dirs))
    suffix = end.suffix.lower()
    if suffix not in WRITTEN:
        problem = f"unknown kind of file {end.suffix!r}; files are written as {', '.join(WRITTEN)}"
        raise SceneError(str(end), problem)
    if end.exists() and not overwrite:
        raise SceneError(str(end), "exists; name another file, or overwrite it")
    spec: ModelSpec | SceneSpec
    if start.suffix.lower() == ".toml":
        overrides: dict[str, str] = {} if inertia == "check" else {"inertia": inertia}
        overrides |= {} if keyframe is None else {"keyframe": keyframe}
        spec = read_scene(start, overrides, allow_code, package_dirs=folders)
    else:
        spec = read_model(
            start,
            free_base=free_base,
            package_dirs=folders,
            inertia=inertia,
            allow_code=allow_code,
        )
        spec = spec if keyframe is None else _at_keyframe(spec, keyframe)
    refusals = Refusals(WRITTEN[suffix], partial)
    meshes = _Meshes(end.parent, folders, refusals, is_copied=copy_meshes)
    is_scene = suffix == ".toml"
    text = (
        _scene(spec, start, end, meshes, refusals) if is_scene else _robot(spec, meshes, refusals)
    )
    refusals.check()
    end.parent.mkdir(parents=True, exist_ok=True)
    copied = meshes.copy(overwrite=overwrite)
    end.write_text(text, "utf-8")
    return [end, *copied]


def _at_keyframe(spec: ModelSpec, name: str) -> ModelSpec:
    """Return the mechanism that starts at a keyframe."""
    found = {keyframe.name: keyframe for keyframe in spec.keyframes}
    if name not in found:
        hint = did_you_mean(name, found) or "; it has none"
        raise SceneError(f"--keyframe {name}", f"the file has no such keyframe{hint}")
    q, v = found[name].q, found[name].v
    joints = tuple(
        replace(joint, start_q=q[joint.name], start_v=v[joint.name]) if joint.name in q else joint
        for joint in spec.joints
    )
    return replace(spec, joints=joints, blocks=at_keyframe(spec.blocks, found[name]))


def _scene(
    spec: ModelSpec | SceneSpec, start: Path, end: Path, meshes: _Meshes, refusals: Refusals
) -> str:
    from pysim.scene.toml.records.spec_tables import SpecTables  # noqa: PLC0415
    from pysim.scene.toml.source import read_source  # noqa: PLC0415, each format loads its own
    from pysim.scene.toml.text import scene_text  # noqa: PLC0415

    def plugin_names(spec: ModelSpec | SceneSpec) -> list[str]:
        return [os.path.relpath(file, end.parent.resolve()) for file in plugin_files_of(spec)]

    sweep: dict[str, Any] = {}
    if isinstance(spec, SceneSpec):
        sweep = read_source(start).values.get("sweep", {})
        gone = [key for key in _swept(sweep) if key.partition(".")[0] in {"parameters", "model"}]
        for key in gone:
            refusals.add(str(start), f"the sweep of {key!r}, which the new file does not have,")
        sweep = {} if gone else sweep
    else:
        spec = _as_attached(spec)
    tables = SpecTables(refusals, meshes.name, plugin_names, meshes.data_name).tables(spec)
    tables |= {"sweep": sweep} if sweep else {}
    return scene_text(tables, f"Converted from {start.name} by pysim.")


def _swept(sweep: dict[str, Any]) -> list[str]:
    return [key for name in ("grid", "sample") for key in sweep.get(name, {})]


def _as_attached(spec: ModelSpec) -> ModelSpec:
    """Return a mechanism whose links collide only if its file has a ground, as in a [[model]] table."""
    if spec.contacts is None or spec.contacts.grounds:
        return spec
    bodies = tuple(replace(body, collisions=()) for body in spec.bodies)
    return replace(spec, bodies=bodies, contacts=None)


def _robot(spec: ModelSpec | SceneSpec, meshes: _Meshes, refusals: Refusals) -> str:
    from pysim.scene.urdf.writer import UrdfWriter  # noqa: PLC0415, each format loads its own

    if isinstance(spec, SceneSpec):
        for drive in spec.actuators:
            refusals.add(drive.where, f"actuator {drive.name!r}")
        for event in spec.events:
            refusals.add(event.where, f"event {event.name!r}")
        _refuse_blocks(spec.blocks, refusals)
        spec = spec.model
    _refuse_blocks(spec.blocks, refusals)
    return UrdfWriter(refusals, meshes.name).text(spec)


def _refuse_blocks(blocks: Iterable[BlockSpec], refusals: Refusals) -> None:
    for block in blocks:
        refusals.add(block.where, f"{block.kind} {block.name!r}")


def plugin_files_of(spec: ModelSpec | SceneSpec) -> list[Path]:
    """Return the plugin files that a scene named and its parts need, each once."""
    model = spec.model if isinstance(spec, SceneSpec) else spec
    used = [("joint type", joint.type) for joint in model.joints]
    used += [("joint type", loop.type) for loop in model.loops]
    used += [("relation", c.function) for c in model.couplings if c.function is not None]
    used += [("force type", force.type) for force in model.forces]
    if isinstance(spec, SceneSpec):
        used += [("event type", event.type) for event in spec.events if event.type]
        used.append(("integrator", spec.settings.integrator))
    plugins = [kind_called(noun).registered.get(name) for noun, name in used]
    shapes = [own.shape for body in model.bodies for own in body.collisions]
    if model.contacts is not None:
        shapes += [g.field.shape for g in model.contacts.grounds if g.field is not None]
    plugins += [type(shape.field.plugin) for shape in shapes if isinstance(shape.field, Field)]
    if isinstance(spec, SceneSpec):
        plugins += [KINDS[block.kind].registered.get(block.type) for block in spec.blocks]
    files = [source_file(p) for p in plugins if p is not None and _was_run(p)]
    return list(dict.fromkeys(files))


def _was_run(plugin: object) -> bool:
    """Return whether a plugin is in a file that a scene named, unlike those of installed packages."""
    module = sys.modules.get(getattr(plugin, "__module__", ""))
    return hasattr(module, RUN_TEXT)


@dataclass
class _Meshes:
    """Names of meshes in the new file, and the copies to make."""

    folder: Path  # of the new file
    package_dirs: tuple[Path, ...]
    refusals: Refusals
    is_copied: bool  # whether the new file has copies
    copies: dict[Path, Path] = field(default_factory=dict)

    def name(self, mesh: Path, where: str) -> str:
        """Return the name of a mesh file in the new file."""
        if self.is_copied:
            return self._copy_of(mesh).relative_to(self.folder).as_posix()
        folder = self.folder.resolve()
        share = robots_folder()
        if share is not None and mesh.is_relative_to(share):
            return f"package://{ROBOTS}/{mesh.relative_to(share).as_posix()}"
        name = Path(os.path.relpath(mesh, folder)).as_posix()
        with suppress(SceneError):
            resolve_uri(name, folder, self.package_dirs, READ_SUFFIXES)
            return name
        problem = f"mesh {str(mesh)!r} is outside the folders that the new file may read"
        self.refusals.reject(where, f"{problem}; copy it by --copy-meshes")
        return name

    def data_name(self, file: Path, where: str) -> str:
        """Return the name of a file of data in the new file."""
        folder = self.folder.resolve()
        if not allowed_folders(folder).holds(file.resolve()):
            problem = f"file {str(file)!r} is outside the folders that the new file may read"
            self.refusals.reject(where, f"{problem}; move it, or write the new file nearer to it")
        return Path(os.path.relpath(file.resolve(), folder)).as_posix()

    def _copy_of(self, mesh: Path) -> Path:
        """Return the place of a mesh's copy; two meshes of one name get different ones."""
        if mesh not in self.copies:
            taken = {copy.name.lower() for copy in self.copies.values()}
            name, k = mesh.name, 2
            while name.lower() in taken:
                name, k = f"{mesh.stem}_{k}{mesh.suffix}", k + 1
            self.copies[mesh] = self.folder / MESHES / name
        return self.copies[mesh]

    def copy(self, *, overwrite: bool) -> Iterable[Path]:
        """Copy the meshes, and return the copies."""
        for mesh, copy in self.copies.items():
            if copy.exists() and not overwrite and not copy.samefile(mesh):
                raise SceneError(str(copy), "exists; name another folder, or overwrite it")
        for mesh, copy in self.copies.items():
            copy.parent.mkdir(exist_ok=True)
            if not (copy.exists() and copy.samefile(mesh)):
                shutil.copyfile(mesh, copy)
        return list(self.copies.values())
