"""Pictures of a trajectory: still, movie, interactive view, plots; and a window in which a model is posed.

Drawing needs no engine and no scene: what is drawn comes from the trajectory and its meshes. A model or a
scene is drawn at its start, by `still`, and posed, by `view`.
PyVista, trimesh, imageio and matplotlib load when the first picture is drawn.
"""

from __future__ import annotations

from pysim.render.exporters.gltf import gltf
from pysim.render.exporters.usd import usd
from pysim.render.exports.web_page import show, web
from pysim.render.movie import movie
from pysim.render.options import RenderOptions
from pysim.render.plots.bode import bode
from pysim.render.plots.plot import plot
from pysim.render.still import still
from pysim.render.windows.posing import pose
from pysim.render.windows.view import view

__all__ = [
    "RenderOptions",
    "bode",
    "gltf",
    "movie",
    "plot",
    "pose",
    "show",
    "still",
    "usd",
    "view",
    "web",
]
