"""Importer of MuJoCo's modeling format (MJCF), by MuJoCo's own parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.scene.importer import Importer, ImportOptions, importer

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec


@importer("mjcf")
class Mjcf(Importer):
    """Models of MuJoCo."""

    suffixes = (".mjcf", ".xml")
    roots = ("mujoco",)

    def read(self, path: Path, options: ImportOptions) -> ModelSpec:
        from pysim.scene.mjcf.reader import read_mjcf  # noqa: PLC0415, loads when first used

        if options.free_base:
            problem = "free_base is for URDF; write <freejoint/> in the root body"
            raise SceneError(str(path), problem)
        with np.errstate(all="ignore"):  # infinite numbers are rejected when the model is compiled
            return read_mjcf(path, package_dirs=options.package_dirs, strict=options.strict)
