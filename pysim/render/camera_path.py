"""Camera path: directions and distances at times, between which the camera moves smoothly.

    s = (t − t₀)/(t₁ − t₀)        x(t) = x₀ + (3 s² − 2 s³)(x₁ − x₀)

A key that an entry leaves out keeps its value of the entry before; before the first and after the last time the camera
rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.render.windows.orbit import Orbit

KEYS = ("azimuth", "elevation", "zoom")
WHERE = "render: camera_path"
STEEPEST = 89.0  # [deg] of elevation


class CameraPath:
    """Azimuth and elevation [deg] and zoom over time, from entries such as {t = 2, azimuth = 90}."""

    def __init__(self, entries: Sequence[Mapping[str, Any]], first: Mapping[str, float]) -> None:
        present, rows = dict(first), []
        for k, entry in enumerate(entries):
            for key, value in entry.items():
                if key not in {"t", *KEYS}:
                    problem = f"unknown key{did_you_mean(key, ('t', *KEYS))}"
                    raise TrajectoryError(f"{WHERE}[{k}]: {key}", problem)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise TrajectoryError(
                        f"{WHERE}[{k}]: {key}", f"must be a number, got {value!r}"
                    )
            if "t" not in entry:
                raise TrajectoryError(f"{WHERE}[{k}]", "has no time; give t [s]")
            present |= {key: float(entry[key]) for key in KEYS if key in entry}
            if present["zoom"] <= 0:
                raise TrajectoryError(
                    f"{WHERE}[{k}]: zoom", f"must be positive, got {present['zoom']}"
                )
            rows.append([float(entry["t"]), *(present[key] for key in KEYS)])
        table = np.array(rows)
        self._t, self._values = table[:, 0], table[:, 1:]
        if (np.diff(self._t) <= 0).any():
            raise TrajectoryError(
                WHERE, f"times must increase, got {self._t.tolist()}; sort the entries"
            )

    def place(self, orbit: Orbit, time: float, distance: float) -> None:
        """Move the orbit to its place at `time` [s]; `distance` [m] is that of zoom 1."""
        after = int(
            np.clip(np.searchsorted(self._t, time, side="right"), 1, max(1, len(self._t) - 1))
        )
        last = min(after, len(self._t) - 1)
        begin, end = self._t[after - 1], self._t[last]
        s = float(np.clip((time - begin) / (end - begin), 0, 1)) if end > begin else 0.0
        share = s * s * (3 - 2 * s)
        azimuth, elevation, zoom = (1 - share) * self._values[after - 1] + share * self._values[
            last
        ]
        orbit.azimuth = float(np.radians(azimuth))
        orbit.elevation = float(np.radians(np.clip(elevation, -STEEPEST, STEEPEST)))
        orbit.distance = distance / float(zoom)
