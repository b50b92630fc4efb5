"""Importer of OpenSim's models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pysim.errors import SceneError
from pysim.scene.importer import Importer, ImportOptions, importer

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec

SCENE = """gravity = {gravity}

[[model]]
file = {file}

[simulation]
duration = 1.0
integrator = "dopri5"
"""


@importer("osim")
class Osim(Importer):
    """Musculoskeletal models of OpenSim."""

    suffixes = (".osim",)
    roots = ("OpenSimDocument",)

    def read(self, path: Path, options: ImportOptions) -> ModelSpec:
        from pysim.scene.osim.reader import read_osim  # noqa: PLC0415, loads when first used

        if options.free_base:
            problem = "free_base is for URDF; add a FreeJoint to the ground"
            raise SceneError(str(path), problem)
        return read_osim(path, options)

    def scene_text(self, path: Path) -> str:
        from pysim.scene.osim.reader import gravity_of  # noqa: PLC0415, loads when first used

        return SCENE.format(gravity=list(gravity_of(path)), file=json.dumps(path.name))
