"""Importer of the Unified Robot Description Format (URDF)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.scene.importer import Importer, ImportOptions, importer

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec


@importer("urdf")
class Urdf(Importer):
    """Robots of ROS, also in its macro language xacro."""

    suffixes = (".urdf", ".xacro")
    roots = ("robot",)
    reads_srdf = True

    def read(self, path: Path, options: ImportOptions) -> ModelSpec:
        from pysim.scene.urdf.reader import read_urdf  # noqa: PLC0415, loads when first used

        return read_urdf(
            path,
            free_base=options.free_base,
            mimic=options.mimic,
            package_dirs=options.package_dirs,
            inertia=options.inertia,
            strict=options.strict,
            fix_massless=options.fix_massless,
            allow_code=options.allow_code,
            srdf=options.srdf,
        )
