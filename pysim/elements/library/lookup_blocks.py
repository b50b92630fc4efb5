"""Blocks that look a value up: in a table of one signal, or of two."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.block import Controller, controller
from pysim.elements.channels import signal
from pysim.elements.interpolation import KINDS, pieces
from pysim.elements.library.sources import csv_columns, csv_number, csv_rows
from pysim.elements.rows import array_of_rows
from pysim.errors import PysimError, did_you_mean
from pysim.tracing.lookup_table import KINDS as GRID_KINDS, table
from pysim.tracing.piecewise import piecewise
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Points = tuple[Array, Array, Array]


def _check_kind(kind: str, known: Sequence[str]) -> None:
    if kind not in known:
        problem = f"there is no {kind!r}{did_you_mean(kind, known)}"
        raise PysimError("interpolation", f"{problem}; choose {', '.join(known)}")


def _check_grid(name: str, knots: Array) -> None:
    if len(knots) < 2 or not (np.diff(knots) > 0).all():
        problem = f"must be two or more numbers that increase, got {knots.tolist()}"
        raise PysimError(name, f"{problem}; sort the points")


class _Lookup(Controller):
    """Base class of tables of signals, whose output has a unit of its own."""

    outputs = signal("value", unit="")

    def units(self, inputs: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002, as of the base class
        return {"value": self.unit}  # type: ignore[attr-defined]


@controller("lookup")
class Lookup(_Lookup):
    """Value of a table at a signal, such as a characteristic; outside of the table, that at its end."""

    inputs = signal("x", unit="")
    x: tuple[float, ...] = ()  # in the signal's unit, increasing
    values: tuple[float, ...] = ()  # at each x
    file: str = ""  # CSV file whose first line names its columns, in place of x and values
    argument: str = "x"  # column of x in the file
    column: str = ""  # column of the values; by default the next one
    interpolation: str = "linear"  # linear, natural, clamped, not_a_knot, pchip, previous
    unit: str = ""  # of the output; "" fits every unit

    def __post_init__(self) -> None:
        _check_kind(self.interpolation, KINDS)
        x, values = self._points
        _check_grid("x", x)
        if x.shape != values.shape:
            problem = f"must have one number for each x, got {len(values)} for {len(x)}"
            raise PysimError("values", f"{problem}; write as many")
        if not (np.isfinite(x).all() and np.isfinite(values).all()):
            raise PysimError("values", "and x must be finite; remove nan and inf")

    @cached_property
    def _points(self) -> tuple[Array, Array]:
        if self.file:
            return csv_columns(self.file, self.argument, self.column)
        return np.array(self.x, float), np.array(self.values, float)

    def output(self, inputs: Any) -> Any:
        knots, values = self._points
        held = np.clip(inputs.x, knots[0], knots[-1])
        if self.interpolation == "previous":  # the last value is that of the last knot
            knots, values = np.append(knots, knots[-1] + 1), np.append(values, values[-1])
        return piecewise(held, knots, pieces(knots, values, self.interpolation))


@controller("lookup_2d")
class Lookup2D(_Lookup):
    """Value of a table of two signals, such as an engine map; outside of the table, that at its nearest edge.

    In a CSV file the first line holds a name and the numbers of y, each further line a number of x and its values.
    """

    inputs = signal("x", unit="") * signal("y", unit="")
    x: tuple[float, ...] = ()  # in the first signal's unit, increasing
    y: tuple[float, ...] = ()  # in the second signal's unit, increasing
    values: tuple[tuple[float, ...], ...] = ()  # a row for each x, with a number for each y
    file: str = ""  # CSV file, in place of x, y and values
    interpolation: str = "linear"  # linear or cubic
    unit: str = ""  # of the output; "" fits every unit

    def __post_init__(self) -> None:
        _check_kind(self.interpolation, GRID_KINDS)
        x, y, values = self._points
        _check_grid("x", x)
        _check_grid("y", y)
        if values.shape != (len(x), len(y)):
            problem = f"must have {len(x)} rows of {len(y)} numbers"
            raise PysimError("values", f"{problem}; write a row for each x")

    @cached_property
    def _points(self) -> Points:
        if self.file:
            return _csv_grid(self.file)
        values = array_of_rows("values", self.values, len(self.y), "one for each y")
        return np.array(self.x, float), np.array(self.y, float), values

    def output(self, inputs: Any) -> Any:
        x, y, values = self._points
        return table(inputs.x, inputs.y, x, y, values, kind=self.interpolation)


def _csv_grid(file: str) -> Points:
    """Return x (m,), y (n,) and values (m, n) of a CSV file."""
    path, rows = csv_rows(file)
    if len(rows) < 2:
        problem = "must have a line with the numbers of y, and one for each x"
        raise PysimError(f"{path}:1", f"{problem}; export it again")
    width = len(rows[0])
    y = [csv_number(path, 1, rows[0], c, f"{c + 1}") for c in range(1, width)]
    data = np.array(
        [
            [csv_number(path, k, row, c, f"{c + 1}") for c in range(width)]
            for k, row in enumerate(rows[1:], 2)
        ]
    )
    return data[:, 0], np.array(y), data[:, 1:]
