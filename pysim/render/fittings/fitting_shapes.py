"""Shapes of what joins bodies: coils, dampers, rods, pins, supports; unit meshes that a matrix puts into place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.pyvista_types import Actor, Mesh, Plotter

STEEL = "#66717d"
DARK = "#48525d"
PULLED, PUSHED = "#d1495b", "#3d6fb6"
LOOK: dict[str, Any] = {"ambient": 0.34, "diffuse": 0.75, "specular": 0.35, "specular_power": 30}


def add(plotter: Plotter, mesh: Mesh, color: str = STEEL) -> Actor:
    """Add a mesh in one colour."""
    return plotter.add_mesh(mesh, color=color, smooth_shading=False, copy_mesh=False, **LOOK)


def frame_along(z: Array) -> Array:
    """Return a rotation (3, 3) whose third column is along z (3,)."""
    z = z / max(float(np.linalg.norm(z)), 1e-300)
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def between(first: Array, last: Array, scaled: bool = True) -> Array:
    """Return the matrix (4, 4) that maps the unit z axis to the line between two points (3,) [m]."""
    line = last - first
    matrix = np.eye(4)
    matrix[:3, :3] = frame_along(line)
    if scaled:
        matrix[:3, 2] *= max(float(np.linalg.norm(line)), 1e-9)
    matrix[:3, 3] = first
    return matrix


def coil(length: float, radius: float, turns: int = 9) -> Mesh:
    """Return a helix about z from 0 to 1; its wire is round where it is `length` [m] long."""
    import pyvista as pv

    share = np.linspace(0, 1, 22 * turns)
    angle = 2 * np.pi * turns * share
    z = 0.08 + 0.84 * share
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z * length])
    points = np.concatenate([[[0, 0, 0], [0, 0, 0.06 * length]], points])
    points = np.concatenate([points, [[0, 0, 0.94 * length], [0, 0, length]]])
    line = pv.PolyData(points, lines=np.r_[len(points), np.arange(len(points))])
    wire = line.tube(radius=0.16 * radius, n_sides=8)
    return wire.scale([1, 1, 1 / length], inplace=False)


def rod(radius: float, sides: int = 20) -> Mesh:
    """Return a cylinder about z from 0 to 1."""
    import pyvista as pv

    cylinder = pv.Cylinder(
        center=(0, 0, 0.5), direction=(0, 0, 1), radius=radius, height=1.0, resolution=sides
    )
    return cylinder.compute_normals(split_vertices=True, feature_angle=40)


def cone(radius: float, height: float) -> Mesh:
    """Return a cone about z with its base at the origin."""
    import pyvista as pv

    tip = pv.Cone(
        center=(0, 0, height / 2), direction=(0, 0, 1), height=height, radius=radius, resolution=24
    )
    return tip.extract_surface(algorithm=None).compute_normals(
        split_vertices=True, feature_angle=40
    )


def ball(radius: float) -> Mesh:
    """Return a sphere about the origin."""
    import pyvista as pv

    return pv.Sphere(radius=radius, theta_resolution=24, phi_resolution=16)


def pin(radius: float, low: float, high: float) -> Mesh:
    """Return a cylinder about z between two heights [m], with a narrower and longer core."""
    import pyvista as pv

    edge = 0.12 * (high - low)
    parts = [
        pv.Cylinder(
            center=(0, 0, 0.5 * (low + high)),
            direction=(0, 0, 1),
            radius=r,
            height=h,
            resolution=28,
        )
        for r, h in ((radius, high - low), (0.55 * radius, high - low + 2 * edge))
    ]
    merged = parts[0].merge(parts[1])
    return merged.compute_normals(split_vertices=True, feature_angle=40)


def pulley(radius: float, half: float) -> Mesh:
    """Return a cylinder about z with a rim at each end, `half` [m] from the origin."""
    import pyvista as pv

    rim = 0.15 * radius
    parts = [
        pv.Cylinder(center=(0, 0, z), direction=(0, 0, 1), radius=r, height=h, resolution=48)
        for r, z, h in (
            (0.985 * radius, 0.0, 2 * half),
            (1.1 * radius, half + 0.5 * rim, rim),
            (1.1 * radius, -half - 0.5 * rim, rim),
        )
    ]
    merged = parts[0].merge(parts[1:])
    return merged.compute_normals(split_vertices=True, feature_angle=40)


def pedestal(width: float, height: float, depth: float) -> Mesh:
    """Return a prism with a rounded top about the y axis at the origin, and its base at z = −height."""
    import pyvista as pv

    angle = np.linspace(0, np.pi, 13)
    top = np.column_stack([0.32 * width * np.cos(angle), 0.32 * width * np.sin(angle)])
    outline = np.concatenate([top, [[-width / 2, -height], [width / 2, -height]]])
    count = len(outline)
    front = np.column_stack([outline[:, 0], np.full(count, -depth / 2), outline[:, 1]])
    face = pv.PolyData(front, faces=np.r_[count, np.arange(count)]).triangulate()
    solid = face.extrude((0, depth, 0), capping=True)
    return solid.compute_normals(split_vertices=True, feature_angle=40, auto_orient_normals=True)


def plate(width: float, thickness: float) -> Mesh:
    """Return a flat square normal to z, whose upper face contains the origin."""
    import pyvista as pv

    half = width / 2
    return pv.Box(bounds=(-half, half, -half, half, -thickness, 0))


def mixed(color: str, other: str, share: float) -> tuple[float, ...]:
    """Return a colour between two."""
    s = float(np.clip(share, 0, 1))
    return tuple(np.asarray(colors.rgb(color)) * (1 - s) + np.asarray(colors.rgb(other)) * s)


def of_load(load: float) -> tuple[float, ...]:
    """Return the colour of a load from −1, the strongest push, to 1, the strongest pull."""
    return mixed(STEEL, PULLED if load > 0 else PUSHED, abs(load))
