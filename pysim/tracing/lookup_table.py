"""Tables of two variables of symbolic numbers: one row of numbers for each cell that the program looks up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.tracing.author_code import author_line
from pysim.tracing.expression import Scalar, clip, symbolic
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

KINDS = ("linear", "cubic")


def table(
    x: Any, y: Any, xs: ArrayLike, ys: ArrayLike, values: ArrayLike, *, kind: str = "linear"
) -> Any:
    """Return the value at (x, y) of a table over a grid; outside of it, that at the nearest point of its edge.

    Args:
        x: symbolic or plain number.
        y: symbolic or plain number.
        xs: (m,) two or more, increasing.
        ys: (n,) two or more, increasing.
        values: (m, n), at (xs[i], ys[j]).
        kind: "linear", bilinear in each cell; "cubic", bicubic with the slopes of natural splines along both axes,
            twice continuously differentiable.

    Raises:
        JointError: the grid does not increase, numbers are not finite, shapes do not fit, or the kind is unknown.
    """
    grid = np.asarray(xs, float), np.asarray(ys, float)
    f = np.asarray(values, float)
    _check(*grid, f, kind)
    pieces = _linear_cells(*grid, f) if kind == "linear" else _cubic_cells(*grid, f)
    one = symbolic(x, y)
    if one is None:
        return _plain(float(x), float(y), grid, pieces)
    tape, (_, across, order, _) = one.tape, pieces.shape
    place: list[Scalar] = []  # the cell, along both axes
    inside: list[Any] = []  # x and y less the first corner of the cell
    for number, knots in zip((x, y), grid, strict=True):
        own = number if isinstance(number, Scalar) else Scalar(tape, tape.const(float(number)))
        held = clip(own, knots[0], knots[-1])
        first = tape.table(knots.tolist())
        cell = Scalar(tape, tape.node("segment", held.index, data=(first, len(knots))))
        corner = Scalar(tape, tape.node("lookup", cell.index, data=(first, 1)))
        place.append(cell)
        inside.append(held - corner)
    cell = place[0] * across + place[1]
    start, width = tape.table(pieces.ravel().tolist()), order * order
    entries = iter(
        Scalar(tape, tape.node("lookup", cell.index, data=(start + k, width))) for k in range(width)
    )
    value: Any = 0.0
    for _ in range(order):  # Horner in x, of Horner in y
        row: Any = 0.0
        for _ in range(order):
            row = row * inside[1] + next(entries)
        value = value * inside[0] + row
    return value


def _check(xs: Array, ys: Array, f: Array, kind: str) -> None:
    for name, knots in (("xs", xs), ("ys", ys)):
        if knots.ndim != 1 or len(knots) < 2 or not (np.diff(knots) > 0).all():
            problem = f"{name} of a table must be two or more numbers that increase"
            raise JointError(author_line(), f"{problem}, got {knots.tolist()}; sort the points")
    if f.shape != (len(xs), len(ys)):
        problem = f"values of a table must be ({len(xs)}, {len(ys)}), got {f.shape}"
        raise JointError(author_line(), f"{problem}; give a row for each of xs")
    if not (np.isfinite(f).all() and np.isfinite(xs).all() and np.isfinite(ys).all()):
        raise JointError(
            author_line(), "a table needs finite numbers; remove NaN and infinite ones"
        )
    if kind not in KINDS:
        raise JointError(author_line(), f"unknown kind {kind!r}; choose {' or '.join(KINDS)}")


def _plain(x: float, y: float, grid: tuple[Array, Array], pieces: Array) -> float:
    place, inside = [], []
    for number, knots in zip((x, y), grid, strict=True):
        held = float(np.clip(number, knots[0], knots[-1]))
        cell = int(np.searchsorted(knots[1:-1], held, side="right"))
        place.append(cell)
        inside.append(held - knots[cell])
    own = pieces[place[0], place[1]]
    return float(np.polyval([np.polyval(row, inside[1]) for row in own], inside[0]))


def _linear_cells(xs: Array, ys: Array, f: Array) -> Array:
    """Return coefficients (m − 1, n − 1, 2, 2) in x and y less the first corner, highest powers first."""
    h, k = np.diff(xs)[:, None], np.diff(ys)[None, :]
    along_x = (f[1:, :-1] - f[:-1, :-1]) / h
    along_y = (f[:-1, 1:] - f[:-1, :-1]) / k
    mixed = (f[1:, 1:] - f[1:, :-1] - f[:-1, 1:] + f[:-1, :-1]) / (h * k)
    return np.stack(
        [np.stack([mixed, along_x], axis=-1), np.stack([along_y, f[:-1, :-1]], axis=-1)], axis=-2
    )


def _cubic_cells(xs: Array, ys: Array, f: Array) -> Array:
    """Return coefficients (m − 1, n − 1, 4, 4) of the tensor product of natural splines."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415, loads where a table is cubic

    along_y = CubicSpline(ys, f, axis=1, bc_type="natural").c  # (4, n − 1, m)
    both = CubicSpline(xs, along_y, axis=2, bc_type="natural").c  # (4, m − 1, 4, n − 1)
    return np.ascontiguousarray(np.moveaxis(both, (0, 1, 2, 3), (2, 0, 3, 1)))
