"""Heightmaps of static SDF links, as grounds with a grid of heights.

As in Gazebo, the first and last pixels lie on the edges of `<size>`, the lightest pixel has the height size z, and
black has the height 0 of `<pos>`. The surface is bilinear between pixels, whatever `<sampling>` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.meshes.field_surface import height_shape
from pysim.scene.packages import ForbiddenFileError, resolve_uri, short
from pysim.scene.poses import translation
from pysim.scene.sdf.includes import folder_of
from pysim.scene.sdf.surfaces import DEFAULT, surface_of
from pysim.scene.sdf.values import numbers, raw_pose, text
from pysim.scene.spec import FieldSpec, GroundSpec
from pysim.shapes import HeightField
from pysim.shapes.height_field import IMAGE, read_heights
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike
    from pathlib import Path

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.materials import Materials
    from pysim.scene.urdf.xml import Element

PAINT = ("texture", "blend")


def heightmap_of(shape: Element) -> Element | None:
    """Return the <heightmap> of a <collision> or <visual>, None if it has another shape."""
    geometry = shape.child("geometry")
    return None if geometry is None else geometry.child("heightmap")


class HeightmapReader:
    """Reader of the heightmaps of static links, which reports what it leaves out.

    Args:
        package_dirs: folders in which files are searched.
        materials: of the file.
        omissions: receives what is left out.
    """

    def __init__(
        self,
        package_dirs: tuple[str | PathLike[str], ...],
        materials: Materials,
        omissions: Omissions,
    ) -> None:
        self.package_dirs, self.materials, self.omissions = package_dirs, materials, omissions

    def grounds(self, link: Element, X: Array) -> Iterator[GroundSpec]:
        """Yield the heightmaps of a link that collide; X (4, 4) is its pose in the world."""
        collisions = [(c, heightmap_of(c)) for c in link.all("collision")]
        heightmaps = [(c, element) for c, element in collisions if element is not None]
        for visual in link.all("visual"):
            element = heightmap_of(visual)
            if element is not None and not heightmaps:
                item = f"{link.owner}: visual {visual.attributes.get('name', '')!r}"
                reason = "is left out: a heightmap is drawn if it collides"
                self.omissions.add("shapes", item, visual.where, reason)
            painted = [] if element is None else [(p, c) for p in PAINT for c in element.all(p)]
            for paint, child in painted:
                self.omissions.note("extensions", f"<{paint}>", child.where, "is not read")
        for collision, element in heightmaps:
            try:
                field = self._field(element, X @ raw_pose(collision))
            except ForbiddenFileError:
                raise
            except SceneError as error:
                item = f"collision {collision.attributes.get('name', '')!r}"
                self.omissions.add_shape(item, link.owner, error)
                continue
            surface = surface_of(collision, self.omissions)
            material = DEFAULT if surface is None else self.materials.name(surface)
            yield GroundSpec((0.0, 0.0, 1.0), 0.0, material, collision.where, field=field)

    def _field(self, element: Element, X: Array) -> FieldSpec:
        """Return the grid of heights of a <heightmap> at the pose X (4, 4) of its shape in the world."""
        size, pos = element.child("size"), element.child("pos")
        x, y, z = (1.0, 1.0, 1.0) if size is None else numbers(size, 3)
        if min(x, y, z) <= 0 and size is not None:
            size.fail("<size> of <heightmap> must be three positive numbers [m]")
        heights = read_heights(file := self._file(element), 1.0)
        lightest = float(heights.max())
        white = z / lightest if lightest else z
        source = {"height_field": {"file": file, "size": [x, y], "height": white}}
        offset = np.zeros(3) if pos is None else np.array(numbers(pos, 3))
        shape = height_shape(HeightField(white * heights, (x, y), source))
        return FieldSpec(shape, X @ translation(offset))

    def _file(self, element: Element) -> Path:
        uri = text(element, "uri")
        path = uri.replace("model://", "package://", 1)
        try:
            return resolve_uri(path, folder_of(element), self.package_dirs, (IMAGE,))
        except SceneError as error:
            problem = f"{element.owner}: heightmap {short(uri)}: {error.problem}"
            raise type(error)(element.where, problem) from None
