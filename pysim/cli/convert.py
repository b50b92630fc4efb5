"""`pysim convert`: writes a scene or robot in another format, and prints the files written."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from pysim.cli.messages import print_line
from pysim.errors import PysimError, did_you_mean
from pysim.scene.convert import convert
from pysim.scene.inertia_policy import INERTIA_POLICIES

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.cli.options import FormatOptions


def convert_file(source: Path, target: Path, options: FormatOptions) -> None:
    """Convert a file and print what was written."""
    policy = next((policy for policy in INERTIA_POLICIES if policy == options.inertia), None)
    if policy is None:
        hint = did_you_mean(options.inertia, INERTIA_POLICIES)
        raise PysimError(f"--inertia {options.inertia}", f"unknown policy{hint}")
    given = {item.name: getattr(options, item.name) for item in fields(options)}
    files = convert(source, target, **{**given, "inertia": policy})
    copies = f", {len(files) - 1} meshes copied" if len(files) > 1 else ""
    print_line(f"  written     {target}{copies}")
