"""Options of pictures, from a scene's `[render]` table and from the caller."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pysim.errors import TrajectoryError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.trajectory import Trajectory


MOST_DRAWN = 2**27  # pixels, which take about 2 GB


CONSENT = "mesh_dirs"  # the caller's option, which a trajectory of a stranger must not set


OF_PICTURES: dict[str, Any] = {  # options that windows do not have
    "supersample": 1,
    "views": (),
    "camera_path": (),
    "transparent": False,
}


@dataclass(frozen=True)
class RenderOptions:
    """Options with defaults that suit most scenes; None is chosen from the motion."""

    size: tuple[int, int] = (1280, 720)  # [pixel] width, height
    supersample: int = 2  # pixels drawn for one kept, along each axis
    fps: float = 30.0  # [1/s] frames of a movie a second
    speed: float = 1.0  # simulated seconds a second of movie
    azimuth: float | None = None  # [deg] of the camera about the vertical, from x
    elevation: float = 18.0  # [deg] of the camera above the horizon
    zoom: float = 1.0  # 2 halves the distance
    focus: tuple[float, float, float] | None = None  # [m] what the camera looks at
    follow: bool | None = None  # whether the camera follows the mechanism
    ground: bool = True
    shadows: bool = True
    label: bool = True  # name, time and scale
    trails: tuple[str, ...] = ()  # frames or bodies
    trail_length: float | None = None  # [s] None: from the start
    frames: tuple[str, ...] = ()  # frames or bodies whose axes are drawn; "*": every body
    forces: bool = False  # arrows of the forces of contacts, loops, thrusters and other forces
    fittings: bool = True  # springs, dampers, rods and ropes
    moments: bool = False  # colour rods by their bending moment
    joints: bool | None = None  # pins, guides and supports; None: unless a robot is imported
    collision: bool = False  # draw collision shapes instead of visual ones
    title: str | None = None  # in place of the name of the run
    camera_path: tuple[Mapping[str, Any], ...] = ()  # {t, azimuth, elevation, zoom}
    # further views in the picture: front, back, left, right, top, corner
    views: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()  # quantities whose curves are drawn beside the scene
    transparent: bool = False  # no background and no ground
    mesh_dirs: tuple[str, ...] = ()  # folders that may be read, and are searched for moved meshes

    def __post_init__(self) -> None:
        width, height = self.size
        checks = (
            ("size", self.size, min(width, height) >= 16 and max(width, height) <= 8192),
            ("supersample", self.supersample, 1 <= self.supersample <= 4),
            ("fps", self.fps, 0 < self.fps <= 240),
            ("speed", self.speed, 0 < self.speed < float("inf")),
            ("zoom", self.zoom, 0 < self.zoom < float("inf")),
            ("elevation", self.elevation, -89 <= self.elevation <= 89),
        )
        ranges = {
            "size": "width and height must lie between 16 and 8192 [pixel]",
            "supersample": "must lie between 1 and 4",
            "fps": "must be above 0 and at most 240 [1/s]",
            "speed": "must be positive and finite",
            "zoom": "must be positive and finite",
            "elevation": "must lie between -89 and 89 [deg]",
        }
        for name, value, good in checks:
            if not good:
                raise TrajectoryError(f"render: {name}", f"{ranges[name]}, got {value}")
        drawn = width * height * self.supersample**2
        if drawn > MOST_DRAWN:
            problem = f"{self.supersample} makes {drawn:.3g} pixels of {width} x {height} ones"
            remedy = f"at most {MOST_DRAWN:.3g} can be drawn; lower supersample or size"
            raise TrajectoryError("render: supersample", f"{problem}, {remedy}")


def render_options(trajectory: Trajectory, **wishes: Any) -> RenderOptions:  # noqa: ANN401
    """Return the defaults, updated by the scene's `[render]` table, then by `wishes` that are not None."""
    known = [field.name for field in fields(RenderOptions)]
    for name in wishes:
        if name not in known:
            problem = f"unknown option{did_you_mean(name, known)}"
            raise TrajectoryError(f"render: {name}", problem)
    stored = {key: x for key, x in trajectory.header.render.items() if key != CONSENT}
    asked = {**stored, **wishes}
    if "*" in (asked.get("frames") or ()):
        asked["frames"] = trajectory.header.body_names
    chosen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in asked.items()
        if name in known and value is not None
    }
    return RenderOptions(**chosen)
