"""A number of a scene, or a list of them, in which worlds may differ, with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pysim.typing import Array


@dataclass(frozen=True)
class Parameter:
    """A number of a scene, or a list of them, that worlds may have of their own.

    `kind` and `part` are its table and the number or name of the item, `field` the field there.
    """

    name: str  # its path
    kind: str
    part: Any
    field: str
    start: Array  # (size,) in the scene
    is_list: bool
    least: float = -np.inf
    fields: tuple[str, ...] = ()  # of a surface
    fixed_zero: str = ""  # why a number that is 0, or infinite, in the scene stays so

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and other.name == self.name

    @property
    def of_whole_scene(self) -> bool:
        """Whether the scene is read again for each value: places, inertias and springs follow from it."""
        return self.kind == "rod" and self.field == "length"

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Bounds (size,) between which all values are valid, by `invalid`; others may be."""
        large = np.finfo(float).max
        endless = self.field in ("lower", "upper")
        low = np.full(len(self.start), max(self.least, -np.inf if endless else -large))
        high = np.full(len(self.start), np.inf if endless else large)
        if self.fixed_zero:
            none = (self.start == 0) | ~np.isfinite(self.start)
            if endless:
                low, high = np.maximum(low, -large), np.minimum(high, large)
            elif self.fixed_zero.startswith("both"):
                low = np.maximum(low, np.nextafter(0, 1))
            low, high = np.where(none, self.start, low), np.where(none, self.start, high)
        return low, high

    def invalid(self, values: Array) -> tuple[int, str] | None:
        """Return the first row of values (k, size) that is invalid, with the reason and remedy."""
        endless = self.field in ("lower", "upper")
        bad = np.isnan(values) if endless else ~np.isfinite(values)
        if bad.any():
            return int(np.flatnonzero(bad.any(axis=1))[0]), "give a finite number"
        bad = values < self.least
        if bad.any():
            least = "a positive number" if self.least > 0 else f"{self.least:g} or more"
            return int(np.flatnonzero(bad.any(axis=1))[0]), f"give {least}"
        if self.fixed_zero:
            none = (self.start == 0) | ~np.isfinite(self.start)
            bad = none & (values != self.start)
            if endless:
                bad |= np.isfinite(self.start) & ~np.isfinite(values)
            elif self.fixed_zero.startswith("both"):
                bad |= ~none & (values == 0)
            if bad.any():
                return int(np.flatnonzero(bad.any(axis=1))[0]), self.fixed_zero.removeprefix(
                    "both "
                )
        return None
