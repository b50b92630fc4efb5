"""`pysim.convert`: conversion of model files, as a function with keywords."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pysim.scene.convert import ConvertOptions, convert as converted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.inertia_policy import InertiaPolicy


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
    folders = tuple(Path(folder) for folder in package_dirs)
    options = ConvertOptions(
        copy_meshes=copy_meshes,
        partial=partial,
        overwrite=overwrite,
        package_dirs=folders,
        inertia=inertia,
        free_base=free_base,
        keyframe=keyframe,
        allow_code=allow_code,
    )
    return converted(source, target, options)
