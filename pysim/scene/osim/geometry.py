"""Shapes of an OpenSim model that are drawn: meshes that exist beside the file, and primitives.

A mesh `pelvis.vtp` is looked for in the folder of the model and in its folder `Geometry`. Most models come without
their meshes: a missing one is listed, without a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.scene.osim.frames import GROUND, OFFSET_FRAMES
from pysim.scene.osim.values import (
    members,
    name_of,
    number,
    numbers,
    positive,
    rotation_xyz,
    text,
    truth,
)
from pysim.scene.packages import resolve_uri, short
from pysim.shapes import READ_SUFFIXES, Geometry, Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.importer import ImportOptions
    from pysim.scene.osim.frames import Frames
    from pysim.scene.urdf.xml import Element

FOLDERS = ("", "Geometry/")  # of meshes, beside the model
ONES = (1.0, 1.0, 1.0)
_ALONG_Y = np.eye(4)  # OpenSim's cylinders are along y, pysim's along z
_ALONG_Y[:3, :3] = [[1, 0, 0], [0, 0, 1], [0, -1, 0]]


@dataclass
class GeometryReader:
    """Reader of drawn shapes, which lists those that it leaves out."""

    folder: Path
    options: ImportOptions
    frames: Frames
    omissions: Omissions

    def read(self, model: Element) -> dict[str, tuple[Geometry, ...]]:
        """Return the shapes on each body; what is fixed to the ground is on "world"."""
        by_body: dict[str, list[Geometry]] = {}
        for path, owner in _frames_with_shapes(model):
            body, X = self.frames.place(path, "", owner)
            by_body.setdefault(body, []).extend(self._shapes(owner, X))
        return {body: tuple(shapes) for body, shapes in by_body.items()}

    def _shapes(self, owner: Element, X: Array) -> Iterator[Geometry]:
        holder = owner.child("attached_geometry")
        for element in [] if holder is None else holder.children:
            look = element.child("Appearance")
            if look is not None and not truth(look, "visible", default=True):
                continue
            if element.tag == "Mesh":
                scale = numbers(element, "scale_factors", 3, ONES)
                shape = self._mesh(element, text(element, "mesh_file"), scale)
                pose = X
            elif element.tag in _PRIMITIVES:
                shape, turn = _PRIMITIVES[element.tag](element)
                pose = X @ turn
            else:
                continue
            if shape is not None:
                yield Geometry(shape, pose, _color(look))
        yield from self._old_shapes(owner, X)

    def _old_shapes(self, owner: Element, X: Array) -> Iterator[Geometry]:
        """Yield the shapes of files before version 4.0."""
        visible = owner.child("VisibleObject")
        if visible is None:
            return
        whole = numbers(visible, "scale_factors", 3, ONES)
        for element in members(visible, "GeometrySet"):
            if element.tag != "DisplayGeometry" or number(element, "display_preference", 4.0) == 0:
                continue
            scale = numbers(element, "scale_factors", 3, ONES)
            a, b, c, *place = numbers(element, "transform", 6, (0.0,) * 6)
            local = np.eye(4)
            local[:3, :3], local[:3, 3] = rotation_xyz(a, b, c), place
            x, y, z = (s * w for s, w in zip(scale, whole, strict=True))
            shape = self._mesh(element, text(element, "geometry_file"), (x, y, z))
            if shape is not None:
                yield Geometry(shape, X @ local, _color(element))

    def _mesh(self, element: Element, name: str, scale: tuple[float, ...]) -> Shape | None:
        x, y, z = scale
        if not name or 0 in scale:
            return None
        base = Path(self.folder)
        for folder in FOLDERS:
            # most models come without their meshes, and looking up what may be read takes time
            if "://" not in name and not isfile(base / f"{folder}{name}"):  # noqa: PTH113, no error
                continue
            try:
                file = resolve_uri(
                    f"{folder}{name}", base, self.options.package_dirs, READ_SUFFIXES
                )
            except SceneError:
                continue
            return Shape("mesh", (), file, (x, y, z))
        reason = "is not drawn: there is no such file in the folder of the model or in Geometry"
        self.omissions.note("meshes", f"mesh {short(name)}", element.where, reason)
        return None


def _frames_with_shapes(model: Element) -> Iterator[tuple[str, Element]]:
    """Yield the paths of frames that may have shapes, with their elements."""
    ground = model.child("Ground")
    if ground is not None:
        yield f"/{GROUND}", ground
        yield from _offsets(f"/{GROUND}", ground, "components")
    for body in members(model, "BodySet"):
        path = f"/{GROUND}" if name_of(body) == GROUND else f"/bodyset/{name_of(body)}"
        yield path, body
        yield from _offsets(path, body, "components")
    for joint in members(model, "JointSet"):
        yield from _offsets(f"/jointset/{name_of(joint)}", joint, "frames")


def _offsets(path: str, owner: Element, tag: str) -> Iterator[tuple[str, Element]]:
    holder = owner.child(tag)
    for frame in [] if holder is None else holder.children:
        if frame.tag in OFFSET_FRAMES:
            yield f"{path}/{name_of(frame)}", frame


def _color(look: Element | None) -> tuple[float, float, float, float] | None:
    if look is None or look.child("color") is None:
        return None
    r, g, b = (min(max(x, 0.0), 1.0) for x in numbers(look, "color", 3, ONES))
    return r, g, b, min(max(number(look, "opacity", 1.0), 0.0), 1.0)


def _sphere(element: Element) -> tuple[Shape, Array]:
    return Shape("sphere", (positive(element, "radius", "m", 1.0),)), np.eye(4)


def _brick(element: Element) -> tuple[Shape, Array]:
    x, y, z = numbers(element, "half_lengths", 3, (0.1, 0.2, 0.3))
    return Shape("box", (2 * x, 2 * y, 2 * z)), np.eye(4)


def _cylinder(element: Element) -> tuple[Shape, Array]:
    radius, half = (positive(element, tag, "m", 1.0) for tag in ("radius", "half_height"))
    return Shape("cylinder", (radius, 2 * half)), _ALONG_Y


def _ellipsoid(element: Element) -> tuple[Shape, Array]:
    radii = numbers(element, "radii", 3, ONES)
    return Shape("ellipsoid", radii), np.eye(4)


_PRIMITIVES: dict[str, Callable[[Element], tuple[Shape, Array]]] = {
    "Sphere": _sphere,
    "Brick": _brick,
    "Cylinder": _cylinder,
    "Ellipsoid": _ellipsoid,
}
