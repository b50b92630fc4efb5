"""Background and lights of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.render import colors
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.render.pyvista_types import Plotter

SUN = np.array([0.30, -0.35, 1.0]) / np.linalg.norm([0.30, -0.35, 1.0])  # towards it, on stage


def style_stage(plotter: Plotter, stage: Array, center: Array, size: float) -> None:
    """Add background and lights around `center` (3,) for a scene of `size` [m]."""
    import pyvista as pv
    from vtkmodules.vtkRenderingCore import vtkMapper  # noqa: PLC0415, heavy

    # Marks are drawn in front by an offset of their depth. Its kind is one for all mappers of the process: it is set
    # for every picture, so that a picture does not depend on those before it. Others have no offset.
    vtkMapper.SetResolveCoincidentTopologyToPolygonOffset()
    vtkMapper.SetResolveCoincidentTopologyPolygonOffsetParameters(0, 0)
    vtkMapper.SetResolveCoincidentTopologyLineOffsetParameters(0, 0)
    plotter.set_background(colors.SKY_BOTTOM, top=colors.SKY_TOP)
    plotter.renderer.SetUseOIT(False)  # translucent surfaces are drawn from far to near
    lights = (  # direction on the stage, strength, colour
        (SUN, 0.5, "#fffaf2"),
        (np.array([-0.8, 0.4, 0.3]), 0.2, "#eef4ff"),
        (np.array([0.6, 0.2, -1.0]), 0.12, "#ffffff"),
    )
    lamp = pv.Light(light_type="headlight", color="#f4f8ff")
    lamp.intensity = 0.46  # so that surfaces facing the camera are never dark
    plotter.add_light(lamp)
    for direction, strength, color in lights:
        position = center + 100 * size * (stage @ direction)
        light = pv.Light(position=tuple(position), focal_point=tuple(center), color=color)
        light.positional = False
        light.intensity = strength
        plotter.add_light(light)
