"""The stage: background, lights, ground with a grid, and flat shadows on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render import colors

if TYPE_CHECKING:
    import pyvista as pv
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SUN = np.array([0.30, -0.35, 1.0]) / np.linalg.norm([0.30, -0.35, 1.0])  # towards it, on stage
FADE = 0.35  # share of the ground's radius that is fully drawn


def dress(plotter: pv.Plotter, stage: Array, center: Array, size: float) -> None:
    """Background and lights around `center` (3,) for things of `size` [m]."""
    import pyvista as pv  # noqa: PLC0415, heavy

    plotter.set_background(colors.SKY_BOTTOM, top=colors.SKY_TOP)
    lights = (  # direction on the stage, strength, colour
        (SUN, 0.5, "#fffaf2"),
        (np.array([-0.8, 0.4, 0.3]), 0.2, "#eef4ff"),
        (np.array([0.6, 0.2, -1.0]), 0.12, "#ffffff"),
    )
    lamp = pv.Light(light_type="headlight", color="#f4f8ff")
    lamp.intensity = 0.46  # what faces the camera is never dark
    plotter.add_light(lamp)
    for direction, strength, color in lights:
        position = center + 100 * size * (stage @ direction)
        light = pv.Light(position=tuple(position), focal_point=tuple(center), color=color)
        light.positional = False
        light.intensity = strength
        plotter.add_light(light)


def grid_spacing(radius: float) -> float:
    """A round length [m], 1, 2 or 5 times a power of ten, about an eighth of `radius`."""
    ideal = radius / 8
    power = 10.0 ** np.floor(np.log10(ideal))
    return float(max(step * power for step in (1, 2, 5, 10) if step * power <= ideal * (1 + 1e-9)))


def lay_ground(plotter: pv.Plotter, radius: float, spacing: float) -> list[pv.Actor]:
    """A round ground that fades into the background, with lines every `spacing` [m].

    Its middle is a crossing of the strong lines; the caller places it, z up.
    """
    import pyvista as pv  # noqa: PLC0415, heavy

    disc = pv.Disc(inner=0, outer=radius, r_res=24, c_res=96)
    disc.point_data["rgba"] = _faded(disc.points, colors.GROUND, 255, radius)
    sheet = plotter.add_mesh(disc, scalars="rgba", rgb=True, lighting=False, pickable=False)
    actors = [sheet]
    scale = plotter.window_size[1] / 1440
    for every, strength in ((1, 90), (5, 150)):
        lines = _grid_lines(radius, spacing * every)
        lines.points[:, 2] = 2e-4 * radius
        lines.point_data["rgba"] = _faded(lines.points, colors.GRID, strength, radius)
        width = max(1.0, 1.6 * scale)
        look = {"scalars": "rgba", "rgb": True, "lighting": False, "line_width": width}
        actors.append(plotter.add_mesh(lines, **look))
    return actors


def shadow_matrix(to_world: Array, lift: float) -> Array:
    """Projects along the sun's rays onto the ground, `lift` [m] above it.

    x' = x − L (n·x − h)/(n·L); a trace of the height is kept, so that the matrix has an inverse.
    """
    n, L = to_world[:3, 2], to_world[:3, :3] @ SUN
    h = n @ to_world[:3, 3] + lift
    flat = np.eye(4)
    flat[:3, :3] -= (1 - 1e-5) * np.outer(L, n) / (n @ L)
    flat[:3, 3] = (1 - 1e-5) * L * h / (n @ L)
    return flat


def _faded(points: Array, color: tuple[int, int, int], alpha: int, radius: float) -> Array:
    """Colours (n, 4) that vanish smoothly towards the rim."""
    distance = np.linalg.norm(points[:, :2], axis=1) / radius
    s = np.clip((1 - distance) / (1 - FADE), 0, 1)
    rgba = np.empty((len(points), 4), np.uint8)
    rgba[:, :3] = color
    rgba[:, 3] = np.round(alpha * s * s * (3 - 2 * s))
    return rgba


def _grid_lines(radius: float, spacing: float) -> pv.PolyData:
    """Lines along x and y inside the circle, cut into pieces so that their colour can fade."""
    import pyvista as pv  # noqa: PLC0415, heavy

    count = int(radius / spacing)
    points, lines = [], []
    for k in range(-count, count + 1):
        half = np.sqrt(max(radius**2 - (k * spacing) ** 2, 0.0))
        along = np.linspace(-half, half, 33)
        for order in (0, 1):
            piece = np.zeros((len(along), 3))
            piece[:, order], piece[:, 1 - order] = along, k * spacing
            start = sum(len(other) for other in points)
            lines.append(np.r_[len(along), start : start + len(along)])
            points.append(piece)
    return pv.PolyData(np.concatenate(points), lines=np.concatenate(lines))
