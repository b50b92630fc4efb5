"""Importer of the Simulation Description Format (SDFormat)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.importer import Importer, ImportOptions, importer

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec


@importer("sdf")
class Sdf(Importer):
    """Models and worlds of Gazebo and Drake."""

    suffixes = (".sdf", ".world")
    roots = ("sdf",)
    reads_srdf = True

    def read(self, path: Path, options: ImportOptions) -> ModelSpec:
        from pysim.scene.sdf.reader import read_sdf  # noqa: PLC0415, loads when first used

        if options.free_base:
            problem = "free_base is for URDF; a model of SDF is free unless a joint holds it"
            raise SceneError(str(path), problem)
        return read_sdf(path, options)
