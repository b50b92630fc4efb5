"""`pysim.check`: what looks wrong in a scene or a robot, without running it."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.errors import PysimError, PysimWarning
from pysim.scene.doctor import Finding, examine, examine_meshes
from pysim.scene_files.loaded_scene import load_scene
from pysim.worlds.loading import load_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from pysim.scene.spec import ModelSpec
    from pysim.worlds.loading import Scene

UPWARDS = 0.5  # cosine between gravity and z
INCONSISTENT = "not physically consistent"


def check(
    path: str | PathLike[str],
    overrides: Mapping[str, Any] | None = None,
    *,
    meshes: bool = False,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> list[Finding]:
    """Return what looks wrong in a scene or a robot: `.severity`, `.where` and `.text` of each, most of `pysim check`.

    Args:
        path: a scene (.toml), or a file of another program (.urdf, .xml, .sdf, …).
        overrides: values of a scene by dotted keys.
        meshes: compare stated inertias with those of the meshes.
        allow_code: run the Python code that the file names.
        package_dirs: folders in which packages of the file are looked for.

    Raises:
        SceneError, ModelError: the file cannot be read, or describes something that cannot be built.

    >>> pysim.check("scenes/double_pendulum.toml")
    []
    """
    file, folders = Path(path), tuple(Path(folder) for folder in package_dirs)
    scene = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PysimWarning)
        if file.suffix.lower() == ".toml":
            scene = load_scene(file, overrides, allow_code, folders)
            model = scene.model
            warn_of_scene(scene)
        elif overrides:
            raise PysimError(str(file), "overrides are for scenes; a robot file has no such keys")
        else:
            model = load_model(file, package_dirs=folders, allow_code=allow_code)
    own = [w for w in caught if issubclass(w.category, PysimWarning)]
    texts = list(dict.fromkeys(str(warning.message) for warning in own))
    for other in caught:
        if other not in own:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    found = find_faults(model.spec, texts, meshes=meshes)
    return found + (find_notes(file, scene, folders) if scene else [])


def find_faults(spec: ModelSpec, warned: Sequence[str], *, meshes: bool) -> list[Finding]:
    """Return what a reader warned of and what looks wrong; an inconsistent inertia is reported once."""
    found = [_of_warning(text) for text in warned]
    own = examine(spec) + (examine_meshes(spec) if meshes else [])
    known = any(INCONSISTENT in text for text in warned)
    return found + [f for f in own if not (known and INCONSISTENT in f.text)]


def find_notes(path: Path, scene: Scene, package_dirs: tuple[Path, ...]) -> list[Finding]:
    """Return what a scene has that may not be meant: unused parameters, short waypoints, gravity upwards."""
    return _unused(path, scene, package_dirs) + _doubts(scene)


def _doubts(scene: Scene) -> list[Finding]:
    """Return the waypoints that end before the run, and gravity along +z."""
    spec, duration = scene.spec, scene.settings.duration
    findings = []
    for block in spec.blocks:
        times: Sequence[float] = block.parameters.get("t", ()) if block.type == "waypoints" else ()
        if times and times[-1] < duration:
            text = f"signal {block.name!r} ends at {times[-1]:g} s and holds its last value until {duration:g} s"
            findings.append(Finding("note", block.where, text))
    g = spec.model.gravity
    grounds = spec.model.grounds
    if not grounds and g[2] > UPWARDS * math.hypot(*g):
        listed = ", ".join(f"{x:g}" for x in g)
        text = f"gravity [{listed}] [m/s²] acts along +z; write gravity = [0, 0, {-g[2]:g}] if z points upwards"
        findings.append(Finding("note", str(spec.path), text))
    return findings


def _unused(path: Path, scene: Scene, package_dirs: tuple[Path, ...]) -> list[Finding]:
    """Return the parameters of a scene file that no expression uses; without any, the file is not read again."""
    from pysim.scene.toml.includes import read_with_includes  # noqa: PLC0415, pydantic costs 0.1 s
    from pysim.scene.toml.number_texts import TABLE, unused_parameters  # noqa: PLC0415

    if TABLE not in scene.spec.text:
        return []
    source = read_with_includes(path, package_dirs)
    return [
        Finding(
            "note", source.where((TABLE, name), of_key=True), "is used by no expression; remove it"
        )
        for name in unused_parameters(source.values)
    ]


def _of_warning(text: str) -> Finding:
    """Return a warning as a finding, with the place before its first colon and space."""
    where, colon, rest = text.partition(": ")
    return Finding("warning", where if colon else "", rest if colon else text)
