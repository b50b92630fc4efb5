"""Sources of signals that come with pysim."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np

from pysim.elements.block import Source, source
from pysim.elements.channels import MOST_NUMBERS
from pysim.elements.interpolation import KINDS, minimum_jerk, pieces
from pysim.elements.rows import array_of_rows
from pysim.errors import PysimError, did_you_mean
from pysim.tracing.expression import record
from pysim.tracing.piecewise import piecewise
from pysim.typing import Array

OUTSIDE = ("error", "hold", "periodic")
Rows = tuple[float, ...] | tuple[tuple[float, ...], ...]


@source("constant")
class Constant(Source):
    """A number, or several, that stay the same."""

    value: float | tuple[float, ...]  # in the signal's unit

    def __post_init__(self) -> None:
        if not np.isfinite(self.value).all():
            raise PysimError("value", f"must be finite, got {self.value}; give another")

    def output(self) -> Any:
        return self.value


@source("input")
class Input(Source):
    """Numbers given from outside, in `rollout` by `controls`; elsewhere their value."""

    size: int = 1  # at most 100000
    value: float | tuple[float, ...] = 0.0  # in the signal's unit

    def __post_init__(self) -> None:
        if self.size < 1:
            problem = f"must be 1 or more, got {self.size}"
            raise PysimError("size", f"{problem}; give the number of values")
        if self.size > MOST_NUMBERS:
            problem = f"must be at most {MOST_NUMBERS}, got {self.size}"
            raise PysimError("size", f"{problem}; give fewer values")
        count = len(self.value) if isinstance(self.value, tuple) else self.size
        if count != self.size:
            problem = f"has {count} numbers, and size is {self.size}"
            raise PysimError("value", f"{problem}; give as many")

    @property
    def values(self) -> tuple[float, ...]:
        """The value of each number (size,)."""
        return self.value if isinstance(self.value, tuple) else (self.value,) * self.size

    def output(self) -> Any:
        return self.value


@source("step")
class Step(Source):
    """One value before an instant, and another from then on."""

    time: float  # [s] of the change
    before: float = 0.0  # in the signal's unit
    after: float = 1.0

    def output(self, t: Any) -> Any:
        return np.where(t < self.time, self.before, self.after)


@source("sine")
class Sine(Source):
    """Sine about an offset: offset + amplitude sin(frequency t + phase)."""

    amplitude: float | tuple[float, ...]  # in the signal's unit
    frequency: float  # [rad/s]
    phase: float = 0.0  # [rad]
    offset: float = 0.0  # in the signal's unit

    def output(self, t: Any) -> Any:
        wave: Any = np.sin(self.frequency * t + self.phase)
        if isinstance(self.amplitude, tuple):
            return [self.offset + amplitude * wave for amplitude in self.amplitude]
        return self.offset + self.amplitude * wave


@source("table")
class Table(Source):
    """Values at times, and an interpolation between them; from lists, or from a column of a CSV file."""

    t: tuple[float, ...] = ()  # [s], increasing
    values: Rows = ()  # in the signal's unit, a number or a row of numbers each
    file: str = ""  # CSV file whose first line names its columns
    column: str = ""  # of the values; `time` names that of the times
    time: str = "t"
    interpolation: str = "linear"  # linear, natural, clamped, not_a_knot, pchip, previous
    outside: str = "error"  # error, hold or periodic

    def __post_init__(self) -> None:
        check_choice(self, "interpolation", KINDS)
        check_choice(self, "outside", OUTSIDE)
        if not self.file:
            self.points()

    def output(self, t: Any) -> Any:
        times, rows = self.points()
        x = inside(t, times, self.outside)
        if self.interpolation == "previous":  # the last value holds from its time on
            times, rows = np.append(times, times[-1] + 1), np.vstack([rows, rows[-1:]])
        columns = [piecewise(x, times, pieces(times, y, self.interpolation)) for y in rows.T]
        return columns[0] if len(columns) == 1 else columns

    def domain(self) -> tuple[float, float]:
        """Return the times [s] between which the signal is defined."""
        times = self.points()[0]
        return domain_of(times, self.outside)

    def points(self) -> tuple[Array, Array]:
        """Return the times (n,) [s] and the values (n, size) at them."""
        if self.file:
            return _checked_points(self.file, *csv_columns(self.file, self.time, self.column))
        return _checked_points("t", np.array(self.t, float), array_of_rows("values", self.values))


@source("spline")
class Spline(Table):
    """Cubic spline through values at times; twice continuously differentiable unless it is `pchip`."""

    interpolation: str = "natural"  # natural, clamped, not_a_knot or pchip


@source("waypoints")
class Waypoints(Source):
    """Motion of minimum jerk through waypoints, at rest before the first and after the last."""

    t: tuple[float, ...]  # [s], increasing
    values: Rows  # in the signal's unit, a number or a row of numbers each
    stop: bool = False  # whether it comes to rest at every waypoint

    def __post_init__(self) -> None:
        self.points()

    def points(self) -> tuple[Array, Array]:
        """Return the times (n,) [s] and the values (n, size) at them."""
        return _checked_points("t", np.array(self.t, float), array_of_rows("values", self.values))

    def output(self, t: Any) -> Any:
        times, rows = self.points()
        x = inside(t, times, "hold")
        columns = [piecewise(x, times, minimum_jerk(times, y, stops=self.stop)) for y in rows.T]
        return columns[0] if len(columns) == 1 else columns


class Rise(Source):
    """Base class of motions from one value to another in a given time, at rest before and after."""

    duration: float  # [s] of the motion
    time: float = 0.0  # [s] at which it begins
    before: float | tuple[float, ...] = 0.0  # in the signal's unit
    after: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.duration) and self.duration > 0):
            problem = f"must be more than 0 and finite, got {self.duration:g} s"
            raise PysimError("duration", f"{problem}; give the length of the motion")
        if not math.isfinite(self.time):
            raise PysimError("time", f"must be finite, got {self.time:g} s; give its beginning")
        for key in ("before", "after"):
            if not np.isfinite(getattr(self, key)).all():
                raise PysimError(key, f"must be finite, got {getattr(self, key)}; give another")
        try:
            np.broadcast_shapes(np.shape(self.before), np.shape(self.after))
        except ValueError:
            problem = f"has {np.size(self.after)} numbers, and before has {np.size(self.before)}"
            raise PysimError("after", f"{problem}; give as many") from None

    def share(self, u: Any) -> Any:
        """Return the share of the motion that is done after the share u of its time."""
        raise NotImplementedError

    def output(self, t: Any) -> Any:
        done = self.share(np.clip((t - self.time) / self.duration, 0.0, 1.0))
        ends = np.broadcast_arrays(self.before, self.after)
        if ends[0].ndim == 0:
            return float(ends[0]) + float(ends[1] - ends[0]) * done
        return [a + (b - a) * done for a, b in np.stack(ends, axis=1).tolist()]


@source("ramp")
class Ramp(Rise):
    """Motion at constant speed from one value to another; its rate jumps at both ends."""

    def share(self, u: Any) -> Any:
        return u


@source("trapezoid")
class Trapezoid(Rise):
    """Motion of constant acceleration, constant speed and constant deceleration; its acceleration jumps."""

    blend: float = 1 / 3  # share of the time in which it accelerates, and decelerates, up to 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.blend <= 0.5:
            problem = f"must be more than 0 and at most 0.5, got {self.blend:g}"
            raise PysimError("blend", f"{problem}; 0.5 is without a part of constant speed")

    def share(self, u: Any) -> Any:
        b = self.blend
        speed = 1 / (1 - b)  # of a motion of length 1 in the time 1
        half = speed / (2 * b)
        return piecewise(
            u,
            [0.0, b, 1 - b, 1.0] if b < 0.5 else [0.0, b, 1.0],
            [[half, 0, 0], [0, speed, half * b**2], [-half, speed, 1 - half * b**2]]
            if b < 0.5
            else [[half, 0, 0], [-half, speed, 1 - half * b**2]],
        )


@source("polynomial_345")
class Polynomial345(Rise):
    """Motion 10 u³ − 15 u⁴ + 6 u⁵, whose acceleration is continuous [Norton 2009, section 2.5]."""

    def share(self, u: Any) -> Any:
        return u * u * u * (10.0 + u * (-15.0 + 6.0 * u))


@source("cycloidal")
class Cycloidal(Rise):
    """Motion u − sin(2π u)/2π, whose acceleration is one period of a sine [Norton 2009, section 2.4]."""

    def share(self, u: Any) -> Any:
        return u - np.sin(2 * math.pi * u) / (2 * math.pi)


def check_choice(plugin: Any, key: str, known: tuple[str, ...]) -> None:
    """Require one of the known values of a key."""
    given = getattr(plugin, key)
    if given not in known:
        raise PysimError(key, f"unknown {key} {given!r}{did_you_mean(given, known)}")


def inside(t: Any, times: Array, outside: str) -> Any:
    """Return the time [s] at which a table with these times is read, by what it does outside them."""
    first, last = float(times[0]), float(times[-1])
    if outside == "hold":
        return np.clip(t, first, last)
    if outside == "periodic":
        turns = _periods_after(t, first, last - first)
        return t - turns * (last - first)
    return t


def _periods_after(t: Any, first: float, period: float) -> Any:
    """Return how many whole periods t is after `first`."""
    return record("floor", (t - first) / period)


def domain_of(times: Array, outside: str) -> tuple[float, float]:
    """Return the times [s] between which a table is defined."""
    if outside == "error":
        return float(times[0]), float(times[-1])
    return -math.inf, math.inf


def _checked_points(where: str, times: Array, values: Array) -> tuple[Array, Array]:
    """Return times (n,) and rows of values (n, columns) of the file or the key `where`."""
    if values.ndim not in (1, 2) or len(times) != len(values) or len(times) < 2:
        problem = f"needs two or more times with a value each, got {len(times)} times and {len(values)} values"
        raise PysimError(where, f"{problem}; give one value for each time")
    if not (np.diff(times) > 0).all():
        k = int(np.argmin(np.diff(times) > 0)) + 1
        problem = f"times must increase, got {times[k]:g} after {times[k - 1]:g}"
        raise PysimError(where, f"{problem}; sort the times")
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise PysimError(where, "times and values must be finite; remove nan and inf")
    return times, values.reshape(len(times), -1)


def csv_columns(file: str, first: str, second: str) -> tuple[Array, Array]:
    """Return the two named columns of a CSV file; without a second name, the next column."""
    path, rows = csv_rows(file)
    names = [name.strip() for name in rows[0]] if rows else []
    if not names:
        raise PysimError(f"{path}:1", "is empty; write the names of the columns in the first line")
    columns = []
    for name in (first, second or next((n for n in names if n != first), "")):
        if len(names) == 1 and len(names[0].split(";")) > 1:
            problem = f"separates columns by semicolons, {names[0]!r}"
            raise PysimError(f"{path}:1", f"{problem}; write commas, and decimal points")
        if name not in names:
            problem = f"has no column {name!r}{did_you_mean(name, names)}"
            raise PysimError(f"{path}:1", problem)
        columns.append(names.index(name))
    found = [
        [csv_number(path, k, row, c, names[c]) for c in columns]
        for k, row in enumerate(rows[1:], 2)
    ]
    data = np.array(found, float).reshape(-1, 2)
    return data[:, 0], data[:, 1]


def csv_rows(file: str) -> tuple[Path, list[list[str]]]:
    """Return the path of a CSV file and its rows that are not empty."""
    path = Path(file)
    try:
        lines = path.read_text("utf-8-sig").splitlines()
        rows = [row for row in csv.reader(lines) if row]
    except OSError as error:
        problem = f"cannot be read, {(error.strerror or str(error)).lower()}"
        raise PysimError(str(path), f"{problem}; paths are relative to the scene") from error
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text at byte {error.start}"
        raise PysimError(str(path), f"{problem}; save it as UTF-8") from error
    except csv.Error as error:
        problem = f"is not a table of comma-separated values, {error}"
        raise PysimError(str(path), f"{problem}; export it again") from error
    return path, rows


def csv_number(path: Path, line: int, row: list[str], column: int, name: str) -> float:
    """Return the number in a column of a line."""
    text = row[column].strip() if column < len(row) else ""
    try:
        return float(text)
    except ValueError:
        got = f"got {text!r}" if text else "it is empty"
        problem = f"column {name!r} must hold a number, {got}"
        raise PysimError(f"{path}:{line}", f"{problem}; fill it or remove the line") from None
