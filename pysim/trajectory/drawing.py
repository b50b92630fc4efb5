"""Paths of frames as a drawing: curves in a DXF file, for programs of designers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError
from pysim.trajectory.file_errors import check_replaced, failure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pysim.trajectory.record import Trajectory
    from pysim.typing import Array

PLANE_TOLERANCE = 1e-9  # of the size of all curves, for them to lie in a plane
GAP_TOLERANCE = 1e-6  # likewise, of the gap between the ends of a closed curve
SCALE = 1000.0  # [mm/m]


def to_dxf(
    trajectory: Trajectory,
    path: str | PathLike[str],
    frames: Sequence[str] = (),
    *,
    overwrite: bool = False,
) -> None:
    """Write the paths of frames to a DXF file [mm]: a polyline each, on a layer of its name, and a point at its start.

    Curves that lie in a plane parallel to two axes of the world are drawn in it, the first of these axes to the right
    (y and z, x and z, or x and y); others in space. A curve that ends where it begins is closed.

    Args:
        trajectory: of a run.
        path: the file.
        frames: names of frames or bodies; all frames of the scene by default.
        overwrite: replace a file of this name.

    Raises:
        TrajectoryError: ezdxf is not installed, a frame is unknown, the scene has none, or the file exists or cannot be
            written.
    """
    try:
        from ezdxf import units  # noqa: PLC0415, an optional package
        from ezdxf.filemanagement import new  # noqa: PLC0415
    except ImportError as error:
        problem = 'to_dxf needs ezdxf; install it with pip install "pysim-multibody[dxf]"'
        raise TrajectoryError("trajectory", problem) from error
    target = Path(path)
    check_replaced(target, overwrite=overwrite)
    names = tuple(frames) or drawn_frames(trajectory)
    if not names:
        problem = "the scene has no frames; add a [[frame]] at the point, or name a body"
        raise TrajectoryError(trajectory.source, problem)
    curves = {name: SCALE * trajectory.path_of(name) for name in names}
    axes = _plane_of(curves)
    document: Any = new(units=units.MM)
    space = document.modelspace()
    for name, curve in curves.items():
        layer = {"layer": _layer(document, name)}
        points, is_closed = _opened(curve[:, axes])
        if len(axes) == 2:
            space.add_lwpolyline(points, close=is_closed, dxfattribs=layer)
        else:
            space.add_polyline3d(points, close=is_closed, dxfattribs=layer)
        space.add_point(points[0], dxfattribs=layer)
    try:
        document.saveas(target)
    except OSError as error:
        raise failure(target, "cannot write", error) from error


def drawn_frames(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the frames of a scene that are not those of bodies, which `to_dxf` draws by default."""
    header = trajectory.header
    return tuple(name for name in header.frame_names if name not in header.body_names)


def _plane_of(curves: dict[str, Array]) -> list[int]:
    """Return the axes of the plane that holds all curves, all three if none does."""
    extent = np.ptp(np.concatenate(list(curves.values())), axis=0)
    flat = [k for k in (1, 2, 0) if extent[k] <= PLANE_TOLERANCE * extent.max()]
    return [k for k in range(3) if not flat or k != flat[0]]


def _opened(points: Array) -> tuple[list[list[float]], bool]:
    """Return a curve's points, without the last one if it is the first again, and whether it is."""
    gap = np.linalg.norm(points[-1] - points[0])
    is_closed = bool(len(points) > 2 and gap <= GAP_TOLERANCE * np.ptp(points, axis=0).max())
    return (points[:-1] if is_closed else points).tolist(), is_closed


def _layer(document: Any, name: str) -> str:  # noqa: ANN401, of ezdxf
    """Add a layer for a frame; DXF forbids some characters in names."""
    layer = "".join("_" if c in '<>/\\":;?*=`|' else c for c in name)
    if layer not in document.layers:
        document.layers.add(layer)
    return layer
