"""Contact points of a run, a varying number in every row, and their storage in the file's group `contacts`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.trajectory.parts import create_rows, has, numbers
from pysim.trajectory.stored_rows import StoredRows
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    import h5py
    from numpy.typing import NDArray

    from pysim.trajectory.stored_rows import StoredFile

GROUP = "contacts"
CHUNK = 1024  # points
SHAPES: dict[str, tuple[int, ...]] = {
    "pair": (),
    "point": (3,),
    "normal": (3,),
    "force": (3,),
    "penetration": (),
    "slip_speed": (),
    "stuck": (),
}
KINDS: dict[str, type] = {"pair": int, "stuck": bool}
UNITS = {
    "point": "m",
    "force": "N",
    "penetration": "m",
    "slip_speed": "m/s",
    "offsets": "points in the rows before",
    "pair": "row of names/contacts",
    "normal": "1",
    "stuck": "0 or 1",
}


@dataclass(frozen=True)
class ContactPoints:
    """k contact points in all rows; those of row i are offsets[i] … offsets[i + 1] − 1."""

    offsets: NDArray[np.intp]  # (rows + 1,)
    pair: NDArray[np.intp]  # (k,) among names["contacts"]
    point: Array  # (k, 3) in the world [m]
    normal: Array  # (k, 3) from the first to the second link of the pair
    force: Array  # (k, 3) on the second link, in world axes [N]
    penetration: Array  # (k,) [m]
    slip_speed: Array  # (k,) [m/s]
    stuck: NDArray[np.bool_]  # (k,) whether friction holds the point

    def __len__(self) -> int:
        return len(self.pair)

    def of_row(self, row: int) -> ContactPoints:
        """Return the points of one row; negative rows count from the end."""
        row = range(len(self.offsets) - 1)[row]
        part = slice(self.offsets[row], self.offsets[row + 1])
        own = {name: getattr(self, name)[part] for name in SHAPES}
        return ContactPoints(np.array([0, part.stop - part.start]), **own)


def no_points(rows: int = 0) -> ContactPoints:
    """Return none, in a number of rows."""
    return contact_points(np.zeros(rows, int), {})


def contact_points(counts: NDArray[np.intp], columns: dict[str, Array]) -> ContactPoints:
    """Return contact points from their number in every row and their columns; absent columns are empty."""
    own = {name: columns.get(name, np.zeros((0, *shape))) for name, shape in SHAPES.items()}
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    return ContactPoints(
        offsets,
        **{name: values.astype(KINDS.get(name, float), copy=False) for name, values in own.items()},
    )


def joined_points(parts: Sequence[ContactPoints]) -> ContactPoints:
    """Return the contact points of consecutive rows."""
    if not parts:
        return no_points()
    counts = np.concatenate([np.diff(part.offsets) for part in parts])
    names = [item.name for item in fields(ContactPoints) if item.name != "offsets"]
    return contact_points(
        counts, {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def _are_finite(values: Array) -> bool:
    return bool(np.isfinite(values).all())


def create_points(file: h5py.File) -> None:
    """Make the group, empty."""
    for name, shape in SHAPES.items():
        create_rows(file, f"{GROUP}/{name}", shape, CHUNK, UNITS[name])
    create_rows(file, f"{GROUP}/offsets", (), CHUNK, UNITS["offsets"])
    file[f"{GROUP}/offsets"].resize(1, axis=0)
    file[f"{GROUP}/offsets"][0] = 0.0


def append_points(file: h5py.File, points: ContactPoints) -> None:
    """Add the points of further rows to the group."""
    group = file[GROUP]
    first, rows = len(group["pair"]), len(group["offsets"])
    for name in SHAPES:
        group[name].resize(first + len(points), axis=0)
        group[name][first:] = np.asarray(getattr(points, name), float)
    group["offsets"].resize(rows + len(points.offsets) - 1, axis=0)
    group["offsets"][rows:] = first + points.offsets[1:]


def read_points(file: h5py.File, rows: int, stored: StoredFile | None = None) -> ContactPoints:
    """Return the contact points of the first rows; none of a file without them. They stay in a `stored` file.

    Raises:
        ValueError: a part is missing or invalid, or has fewer points than the rows.
    """
    if not has(file, f"{GROUP}/offsets"):
        return no_points(rows)
    offsets = np.asarray(numbers(file, f"{GROUP}/offsets", (None,))[()], float)
    if len(offsets) < rows + 1 or not (np.diff(offsets[: rows + 1], prepend=0.0) >= 0).all():
        raise ValueError(f"'{GROUP}/offsets' must have {rows + 1} numbers that do not decrease")
    counts = np.diff(offsets[: rows + 1]).astype(int)
    total = int(counts.sum())
    if stored is not None:
        points: dict[str, Any] = {
            name: StoredRows(stored, f"{GROUP}/{name}", total, _are_finite, KINDS.get(name, float))
            for name, shape in SHAPES.items()
            if numbers(file, f"{GROUP}/{name}", (None, *shape)) is not None
        }
        return ContactPoints(np.concatenate([[0], np.cumsum(counts)]).astype(int), **points)
    columns = {
        name: np.asarray(numbers(file, f"{GROUP}/{name}", (None, *shape))[:total], float)
        for name, shape in SHAPES.items()
    }
    for name, values in columns.items():
        if len(values) != total or not np.isfinite(values).all():
            raise ValueError(f"'{GROUP}/{name}' must have {total} finite rows")
    pairs = columns["pair"]
    if pairs.size and (pairs.min() < 0 or (pairs != pairs.round()).any()):
        raise ValueError(f"'{GROUP}/pair' must hold indices of rows of names/contacts")
    return contact_points(counts, columns)
