"""Off-screen window and its pictures, which are drawn larger than required and downsampled.

Averaging smooths every edge alike, text and shadows too, and with software rendering it costs
less than the graphics library's own anti-aliasing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from PIL.Image import Image

    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter

    Pixels = NDArray[np.uint8]


@contextmanager
def quiet_vtk() -> Iterator[None]:
    """Suppress VTK's messages about a missing X server."""
    from vtkmodules.vtkCommonCore import vtkLogger  # noqa: PLC0415, heavy

    before = vtkLogger.GetCurrentVerbosityCutoff()
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)
    try:
        yield
    finally:
        vtkLogger.SetStderrVerbosity(before)


def has_display() -> bool:
    """Return whether a display is available."""
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY"))


@contextmanager
def offscreen(options: RenderOptions) -> Iterator[Plotter]:
    """Open an off-screen plotter of the drawn size, and close it in the end."""
    if not (has_display() or _loads("libEGL.so.1") or _loads("libOSMesa.so.8")):
        problem = "no display, and neither libEGL nor libOSMesa to draw without one"
        raise PysimError("render", f"{problem}; install libegl1 and libgl1")
    import pyvista as pv

    width, height = (length * options.supersample for length in options.size)
    with quiet_vtk():
        plotter: Plotter = pv.Plotter(off_screen=True, window_size=[width, height], lighting="none")
        plotter.render_window.SetMultiSamples(0)
    try:
        yield plotter
    finally:
        plotter.close()


def capture(
    plotter: Plotter, options: RenderOptions, draw: Callable[[], None] | None = None
) -> Pixels:
    """Draw, by `draw` or as a whole, and return the picture (height, width, 3), or 4 if it is transparent."""
    from PIL.Image import frombuffer  # noqa: PLC0415, heavy
    from vtkmodules.vtkCommonCore import vtkUnsignedCharArray  # noqa: PLC0415

    window = plotter.render_window
    with quiet_vtk():
        (draw or window.Render)()
        width, height = window.GetSize()
        pixels = vtkUnsignedCharArray()
        window.GetRGBACharPixelData(0, 0, width - 1, height - 1, 1, pixels)
    mode = "RGBa" if options.transparent else "RGBX"  # colours are multiplied by their opacity
    drawn = frombuffer(mode, (width, height), np.asarray(pixels), "raw", mode, 0, 1)
    kept = downsampled(drawn, options.supersample)
    if options.transparent:
        return np.ascontiguousarray(np.asarray(kept.convert("RGBA"))[::-1])
    return np.ascontiguousarray(np.asarray(kept)[::-1, :, :3])


def downsampled(image: Image, factor: int) -> Image:
    """Return the mean of every `factor` × `factor` block of pixels."""
    return image if factor == 1 else image.reduce(factor)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
