"""Links of SDF models: mass properties and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SceneError
from pysim.inertia import move_theta, theta_from_com
from pysim.scene.inertia_policy import apply_inertia_policy
from pysim.scene.packages import ForbiddenFileError, resolve_uri, short
from pysim.scene.sdf.heightmaps import heightmap_of
from pysim.scene.sdf.includes import folder_of
from pysim.scene.sdf.surfaces import has_plane, surface_of
from pysim.scene.sdf.values import lengths, non_negative, number, numbers, raw_pose, text
from pysim.shapes import MESH_SUFFIXES, PRIMITIVES, Geometry, Shape, primitive_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.importer import ImportOptions
    from pysim.scene.spec import SurfaceSpec
    from pysim.scene.urdf.xml import Element

WATER_DENSITY = 1000.0  # [kg/m³], the default density of SDF


class LinkReader:
    """Reader of the mass properties and shapes of links, which reports what it leaves out."""

    def __init__(self, options: ImportOptions, omissions: Omissions) -> None:
        self.options, self.omissions = options, omissions
        self.surfaces: dict[int, SurfaceSpec] = {}  # by the id of a geometry

    def geometries(self, link: Element, *, grounds: bool) -> tuple[Geometry, ...]:
        """Return the shapes of a link; without planes and heightmaps if they are read as grounds."""
        geometries = []
        for role in ("visual", "collision"):
            for element in link.all(role):
                if grounds and (has_plane(element) or heightmap_of(element) is not None):
                    continue
                geometry = self._geometry(element, role)
                if geometry is None:
                    continue
                geometries.append(geometry)
                surface = surface_of(element, self.omissions) if role == "collision" else None
                if surface is not None:
                    self.surfaces[id(geometry)] = surface
        return tuple(geometries)

    def _geometry(self, element: Element, role: str) -> Geometry | None:
        name = element.attributes.get("name", "")
        try:
            shape = self._shape(element.required("geometry"))
            color = _color(element) if role == "visual" else None
            return Geometry(shape, raw_pose(element), color, role)
        except ForbiddenFileError:
            raise
        except SceneError as error:
            self.omissions.add_shape(f"{role} {name!r}", element.owner, error)
        return None

    def _shape(self, geometry: Element) -> Shape:
        if len(geometry.children) != 1:
            geometry.fail("<geometry> needs one shape")
        element = geometry.children[0]
        if element.tag == "mesh":
            return self._mesh(element)
        if element.tag == "heightmap":
            element.fail("a <heightmap> is a ground; make its model <static>")
        if element.tag not in PRIMITIVES:
            element.fail(f"<{element.tag}> is not a shape that pysim supports")
        sizes = (lengths(element, key, count) for key, count in PRIMITIVES[element.tag].xml_keys)
        return Shape(element.tag, sum(sizes, ()))

    def _mesh(self, element: Element) -> Shape:
        uri = text(element, "uri")
        path = uri.replace("model://", "package://", 1)
        try:
            folder = folder_of(element)  # of the included file
            file = resolve_uri(path, folder, self.options.package_dirs, MESH_SUFFIXES)
        except SceneError as error:
            problem = f"{element.owner}: mesh {short(uri)}: {error.problem}"
            raise type(error)(element.where, problem) from None
        scale = element.child("scale")
        x, y, z = (1.0, 1.0, 1.0) if scale is None else numbers(scale, 3)
        if 0 in {x, y, z}:
            element.fail("<scale> of <mesh> must not be zero; remove it for the file's own size")
        return Shape("mesh", (), file, (x, y, z))

    def theta(self, link: Element) -> Array:
        """Return θ (10,) about the link's origin. SDF gives 1 kg and 1 kg·m² to a link that says nothing."""
        inertial = link.child("inertial")
        if inertial is None:
            reason = "has no <inertial>: it has 1 kg and 1 kg·m², the defaults of SDF"
            self.omissions.add("inertias", link.owner, link.where, reason)
            return theta_from_com(1.0, np.zeros(3), np.eye(3))
        if inertial.attributes.get("auto", "false") in {"true", "1"}:
            return self._of_shapes(link, number(inertial, "density", WATER_DENSITY))
        mass = non_negative(inertial, "mass", "kg", 1.0)
        tensor = inertial.child("inertia")
        entries = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
        if tensor is not None:
            keys = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), entries, strict=True)
            entries = tuple(number(tensor, key, default) for key, default in keys)  # type: ignore[assignment]
        xx, xy, xz, yy, yz, zz = entries
        about_com = theta_from_com(mass, np.zeros(3), [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about_com = apply_inertia_policy(about_com, inertial, link.owner, self.options.inertia)
        return move_theta(about_com, raw_pose(inertial))

    def _of_shapes(self, link: Element, density: float) -> Array:
        """Return θ (10,) of the collision shapes at their densities [kg/m³]."""
        theta = np.zeros(10)
        for element in link.all("collision"):
            shape = self._shape(element.required("geometry"))
            if shape.kind == "mesh":
                element.fail("inertia of a mesh is not computed; give <mass> and <inertia>")
            own = primitive_theta(shape, number(element, "density", density))
            theta = theta + move_theta(own, raw_pose(element))
        return theta


def _color(visual: Element) -> tuple[float, float, float, float] | None:
    material = visual.child("material")
    for tag in ("diffuse", "ambient"):
        element = material.child(tag) if material is not None else None
        if element is not None:
            count = len(element.content.split())
            values = numbers(element, 3 if count == 3 else 4)
            r, g, b, a = (min(max(value, 0.0), 1.0) for value in (*values, 1.0)[:4])
            return r, g, b, a
    return None
