"""Reader of the links of a URDF file: mass properties, shapes and colours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError, closest, did_you_mean
from pysim.inertia import move_theta, theta_from_com
from pysim.scene.inertia_policy import apply_inertia_policy
from pysim.scene.packages import ForbiddenFileError, resolve_uri, short
from pysim.scene.spec import BodySpec
from pysim.shapes import MESH_SUFFIXES, PRIMITIVES, Geometry, Shape
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from pysim.scene.import_omissions import Omissions
    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.urdf.xml import Element

    Color = tuple[float, float, float, float]

_SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")  # in the order of the format


class Links:
    """Reader of links with the robot's named colours, which looks up each mesh file once."""

    def __init__(
        self,
        robot: Element,
        folder: Path,
        package_dirs: Iterable[str | PathLike[str]],
        inertia: InertiaPolicy,
        omissions: Omissions,
    ) -> None:
        self.folder = folder
        self.package_dirs = tuple(package_dirs)
        self.inertia = inertia
        self.omissions = omissions
        self.colors = self._named_colors(robot)
        self.meshes: dict[str, Path] = {}

    def read(self, link: Element) -> BodySpec:
        """Return the specification of a <link>."""
        name = link.text("name")
        geometries = [
            geometry
            for role in ("visual", "collision")
            for element in link.all(role)
            if (geometry := self._valid_geometry(element, role)) is not None
        ]
        theta = _theta(link, self.inertia, self.omissions)
        return BodySpec(name, theta, tuple(geometries), link.where)

    def _valid_geometry(self, element: Element, role: str) -> Geometry | None:
        """Return a shape, None if it is broken or its mesh is missing."""
        try:
            return self._geometry(element, role)
        except (ForbiddenFileError, _MisspeltShapeError):
            raise
        except SceneError as error:
            problem = error.problem.removeprefix(f"{element.owner}: ")
            meshes = [mesh for geometry in element.all("geometry") for mesh in geometry.all("mesh")]
            name = "".join(f" {short(mesh.attributes.get('filename', ''))}" for mesh in meshes)
            problem = problem.removeprefix(f"mesh{name}: ")
            item = f"{element.owner}: {role} {'mesh' if name else 'shape'}{name}"
            self.omissions.add("shapes", item, error.where, f"is left out: {problem}")
        return None

    def _geometry(self, element: Element, role: str) -> Geometry:
        shape = self._shape(element.required("geometry"))
        material = element.child("material") if role == "visual" else None
        color = None
        if material is not None:
            color = _color(material) or self.colors.get(material.attributes.get("name", ""))
        return Geometry(shape, element.origin(), color, role)

    def _shape(self, geometry: Element) -> Shape:
        if len(geometry.children) != 1:
            geometry.fail(f"<geometry> needs one shape of {', '.join(_SHAPES)}; add or remove some")
        element = geometry.children[0]
        if element.tag not in _SHAPES:
            problem = f"unknown shape <{element.tag}>{did_you_mean(element.tag, _SHAPES)}"
            if closest(element.tag, _SHAPES) is not None:
                raise _MisspeltShapeError(element.where, f"{element.owner}: {problem}")
            element.fail(problem)
        if element.tag == "mesh":
            return self._mesh(element)
        keys = PRIMITIVES[element.tag].xml_keys
        return Shape(element.tag, sum((element.lengths(key, count) for key, count in keys), ()))

    def _mesh(self, element: Element) -> Shape:
        uri = element.text("filename").strip()
        if uri not in self.meshes:
            try:
                self.meshes[uri] = resolve_uri(uri, self.folder, self.package_dirs, MESH_SUFFIXES)
            except SceneError as error:
                problem = f"{element.owner}: mesh {short(uri)}: {error.problem}"
                raise type(error)(element.where, problem) from None
        x, y, z = element.numbers("scale", 3, (1.0, 1.0, 1.0))
        if 0 in {x, y, z}:
            element.fail(
                f"'scale' of <mesh> must not be zero, got {element.text('scale')!r}; give 1 for the file's own size"
            )
        return Shape("mesh", (), self.meshes[uri], (x, y, z))

    def _named_colors(self, robot: Element) -> dict[str, Color]:
        """Return the colours materials have anywhere: some files define them inside a link and use them elsewhere."""
        inside = (
            material
            for link in robot.all("link")
            for visual in link.all("visual")
            for material in visual.all("material")
        )
        colors: dict[str, Color] = {}
        for material in (*robot.all("material"), *inside):
            name = material.attributes.get("name", "")
            try:
                color = _color(material)
            except SceneError as error:
                item = f"material {name!r}"
                self.omissions.add("colours", item, error.where, f"is left out: {error.problem}")
                continue
            if name and color is not None:
                colors.setdefault(name, color)
        return colors


class _MisspeltShapeError(SceneError):
    """The name of a shape is similar to a known one."""


def _theta(link: Element, rule: InertiaPolicy, omissions: Omissions) -> Array:
    """Return θ (10,) about the link's origin; a link without <inertial>, <mass> or <inertia> has no mass."""
    inertial = link.first("inertial", omissions)
    if inertial is None:
        return np.zeros(10)
    for tag, unit in (("mass", "kg"), ("inertia", "kg·m²")):
        if not inertial.all(tag):
            item, reason = (
                f"{link.owner}: <inertial>",
                f"is ignored: it has no <{tag}>; give one [{unit}]",
            )
            omissions.add("inertias", item, inertial.where, reason)
            return np.zeros(10)
    mass = inertial.required("mass").non_negative("value", "kg")
    tensor = inertial.required("inertia")
    xx, xy, xz, yy, yz, zz = (
        tensor.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    about_com = theta_from_com(mass, np.zeros(3), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about_com = apply_inertia_policy(about_com, inertial, link.owner, rule)
    return move_theta(about_com, inertial.origin())


def _color(material: Element) -> Color | None:
    """Return the colour (r, g, b, a) of a <material>."""
    element = material.child("color")
    if element is None:
        return None
    r, g, b, a = element.numbers("rgba", 4)
    if not all(0 <= value <= 1 for value in (r, g, b, a)):
        element.fail(
            f"'rgba' of <color> must lie between 0 and 1, got {element.text('rgba')!r}; divide bytes by 255"
        )
    return r, g, b, a
