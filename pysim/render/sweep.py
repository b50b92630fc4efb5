"""Picture of a joint's motion: translucent copies of a body over the range of each coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render import colors
from pysim.render.options import render_options
from pysim.render.still import draw
from pysim.shapes import Geometry, Shape
from pysim.spatial import quaternion_from_rotation
from pysim.trajectory import Trajectory, TrajectoryHeader, header_visuals
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from pysim.render.pyvista_types import Plotter

SMALLEST = 0.2  # [m] length of the body where the joint does not travel
GHOST = 0.22  # opacity


@dataclass(frozen=True)
class Sweep:
    """Poses (n, 4, 4) of the child while one coordinate goes through its range."""

    label: str  # as "flexion −120 … 10 °"
    poses: Array


def draw_sweep(
    name: str,
    start: Array,
    sweeps: Sequence[Sweep],
    path: str | PathLike[str],
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> NDArray[np.uint8]:
    """Draw the child at its start (4, 4) and as ghosts along each sweep, write `path`, return the pixels.

    A colour a coordinate; axes at the start, at both ends of each sweep, and of the parent. Options are those of
    `RenderOptions`.
    """
    length = _length(sweeps)
    geometries, poses, frames = [_body(length, colors.rgb(colors.WORLD), 1.0)], [start], ["start"]
    names = ["start"]
    for k, sweep in enumerate(sweeps):
        color = colors.rgb(colors.PALETTE[k % len(colors.PALETTE)])
        for i, pose in enumerate(sweep.poses):
            at_end = i in (0, len(sweep.poses) - 1)
            geometries.append(_body(length, color, 2 * GHOST if at_end else GHOST))
            poses.append(pose)
            names.append(f"{k}.{i}")
            if at_end:
                frames.append(names[-1])
    trajectory = _standing(names, np.array(poses), geometries)
    wishes = {"frames": (*frames, "parent"), "ground": False, "label": False, "zoom": 0.88}
    chosen = render_options(trajectory, **{**wishes, **options})
    lines = [(name, colors.TEXT)]
    lines += [(s.label, colors.PALETTE[k % len(colors.PALETTE)]) for k, s in enumerate(sweeps)]
    return draw(trajectory, path, chosen, caption=partial(_caption, lines))


def _caption(lines: Sequence[tuple[str, str]], plotter: Plotter) -> None:
    """Return the joint's name, and every coordinate with its range in the colour of its ghosts."""
    _, height = plotter.window_size
    edge, size = 0.028 * height, max(6, round(0.0155 * height))
    for k, (text, color) in enumerate(lines):
        place = (edge, height - edge - (1 + k) * 2.1 * size)
        plotter.add_text(text, position=place, color=color, font="arial", font_size=size)


def _length(sweeps: Sequence[Sweep]) -> float:
    """Return length of the body [m]: what the joint travels, at least SMALLEST."""
    points = np.concatenate([sweep.poses[:, :3, 3] for sweep in sweeps])
    return max(SMALLEST, 0.6 * float(np.ptp(points, axis=0).max()))


def _body(length: float, color: tuple[float, float, float], opacity: float) -> list[Geometry]:
    """Return a bar along x with a fin along y and a knob at the origin, which makes every rotation visible."""
    look: dict[str, Any] = {"color": (*color, opacity)}
    bar = Shape("box", (length, 0.16 * length, 0.06 * length))
    fin = Shape("box", (0.14 * length, 0.3 * length, 0.05 * length))
    knob = Shape("sphere", (0.07 * length,))
    return [
        Geometry(bar, _moved(0.5 * length, 0.0), **look),
        Geometry(fin, _moved(0.9 * length, 0.2 * length), **look),
        Geometry(knob, np.eye(4), **look),
    ]


def _moved(x: float, y: float) -> Array:
    pose = np.eye(4)
    pose[:2, 3] = x, y
    return pose


def _standing(
    names: Sequence[str], poses: Array, geometries: Sequence[list[Geometry]]
) -> Trajectory:
    """Return a trajectory of one instant, in which every ghost is a body."""
    count = len(names)
    header = TrajectoryHeader(
        joint_names=tuple(names),
        body_names=tuple(names),
        coordinate_names=(),
        velocity_names=(),
        coordinate_units=(),
        velocity_units=(),
        frame_names=("parent",),
        frame_bodies=(-1,),
        frame_poses=np.eye(4)[None],
        visuals=header_visuals(geometries),
    )
    rows = np.zeros((1, count, 7))
    rows[0, :, :3] = poses[:, :3, 3]
    rows[0, :, 3:] = quaternion_from_rotation(poses[:, :3, :3])
    none, zero = np.zeros((1, 0)), np.zeros(1)
    return Trajectory(header, zero, none, none, none, zero, zero, zero, rows)
