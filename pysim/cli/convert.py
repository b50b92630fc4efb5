"""`pysim convert`: writes a scene or robot in another format, and prints the files written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.errors import PysimError, did_you_mean
from pysim.scene.convert import ConvertOptions, convert
from pysim.scene.inertia_policy import INERTIA_POLICIES

if TYPE_CHECKING:
    from pathlib import Path


def convert_file(
    source: Path,
    target: Path,
    *,
    copy_meshes: bool,
    partial: bool,
    keyframe: str | None,
    inertia: str,
    free_base: bool,
    package_dirs: tuple[Path, ...],
    overwrite: bool,
    allow_code: bool,
) -> None:
    """Convert a file and print what was written."""
    policy = next((policy for policy in INERTIA_POLICIES if policy == inertia), None)
    if policy is None:
        hint = did_you_mean(inertia, INERTIA_POLICIES)
        raise PysimError(f"--inertia {inertia}", f"unknown policy{hint}")
    options = ConvertOptions(
        copy_meshes, partial, overwrite, package_dirs, policy, free_base, keyframe, allow_code
    )
    files = convert(source, target, options)
    copies = f", {len(files) - 1} meshes copied" if len(files) > 1 else ""
    print_line(f"  written     {target}{copies}")
