"""Samples of a recording: n instants of a mechanism's motion and the generalised forces that drove it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import IdentificationError, PysimWarning
from pysim.identify.differentiation import differentiated
from pysim.joints import find_joint
from pysim.scene.stop_defaults import with_stops
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model


@dataclass(frozen=True)
class Samples:
    """Rows of a recording, in SI units; row k of every array belongs to the instant t[k].

    `tau` are the generalised forces of motors and other outside causes; of a free joint, the wrench on the body in its
    frame, zero where nothing is touched. `first_row` is the number that messages give the first row.
    """

    t: Array  # (n,) [s]
    q: Array  # (n, nq) [m or rad]
    v: Array  # (n, nv) [m/s or rad/s]
    a: Array  # (n, nv) [m/s² or rad/s²]
    tau: Array  # (n, nv) [N or N·m]
    source: str = "samples"
    first_row: int = 0

    def __len__(self) -> int:
        return len(self.t)

    def part(self, rows: slice | NDArray[np.intp]) -> Samples:
        """Return some of the rows."""
        t, q, v, a, tau = (x[rows] for x in (self.t, self.q, self.v, self.a, self.tau))
        return replace(self, t=t, q=q, v=v, a=a, tau=tau)


def make_samples(
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    tau: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    window: float = 0.2,
    source: str = "samples",
    first_row: int = 0,
) -> Samples:
    """Return checked samples; velocities and accelerations that are not given come from `differentiated`.

    Args:
        model: the mechanism.
        t: instants (n,) [s], rising.
        q: configurations (n, nq).
        tau: generalised forces (n, nv) [N or N·m].
        v: velocities (n, nv).
        a: accelerations (n, nv).
        window: length of the differentiating filter [s].
        source: where the numbers come from, for messages.
        first_row: the number that messages give the first row.

    Raises:
        IdentificationError: a wrong shape, a NaN or infinity, or time that does not rise, by row and column.
    """
    names = {"q": model.coordinate_names, **dict.fromkeys(("v", "a", "tau"), model.velocity_names)}
    time = np.asarray(t, float)
    if time.ndim != 1:
        raise IdentificationError(source, f"t must have shape (n,), got {time.shape}")
    given = {"q": q, "v": v, "a": a, "tau": tau}
    arrays = {
        key: _checked(values, key, len(time), names[key], source, first_row)
        for key, values in given.items()
        if values is not None
    }
    _check_time(time, source, first_row)
    if "a" not in arrays:
        start, filtered = differentiated(
            model, time, arrays["q"], arrays.get("v"), window=window, source=source
        )
        rows = slice(start, len(time) - start)
        arrays = {key: values[rows] for key, values in arrays.items()} | filtered
        time, first_row = time[rows], first_row + start
    _warn_of_stops(model, arrays["q"], source)
    return Samples(time, **arrays, source=source, first_row=first_row)


def _warn_of_stops(model: Model, q: Array, source: str) -> None:
    """Warn of samples on a stop with default stiffness: the torques of such a stop are guessed, not measured."""
    pressing: dict[str, int] = {}
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        at_q, at_v = find_joint(joint.type).real_coordinates
        if at < 0:
            continue
        own, lower, upper = q[:, [at + i for i in at_q]], joint.lower[at_v], joint.upper[at_v]
        rounding = 1e-6 * np.maximum(1.0, np.abs(own))
        beyond = ((own < lower - rounding) | (own > upper + rounding)).any(axis=1)
        if beyond.any():
            pressing[joint.name] = int(beyond.sum())
    guessed = _guessed_stops(model) if pressing else frozenset()
    for name, count in pressing.items():
        if name not in guessed:
            continue
        what = f"{count} of {len(q)} samples lie on a stop of joint {name!r}"
        why = "its force comes from the scene, by default from the masses to be identified"
        remedy = "set its measured stiffness and damping, or leave these samples out"
        warnings.warn(f"{source}: {what}; {why}: {remedy}", PysimWarning, stacklevel=3)


def _guessed_stops(model: Model) -> frozenset[str]:
    """Return the joints whose stops have pysim's default stiffness."""
    unsaid = [np.full(len(joint.lower), np.nan) for joint in model.spec.joints]
    each = zip(model.spec.joints, unsaid, strict=True)
    chosen = with_stops(
        (replace(j, stop_stiffness=x, stop_damping=x) for j, x in each), model.spec.bodies
    )
    own = {joint.name: joint.stop_stiffness for joint in model.joints}
    return frozenset(
        joint.name
        for joint in chosen
        if joint.name in own and np.array_equal(own[joint.name], joint.stop_stiffness)
    )


def _checked(
    values: ArrayLike, key: str, count: int, names: tuple[str, ...], source: str, first_row: int
) -> Array:
    array = np.asarray(values, float)
    if array.shape != (count, len(names)):
        problem = (
            f"{key} must have shape {(count, len(names))}, an instant a row, got {array.shape}"
        )
        raise IdentificationError(source, problem)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        row, column = wrong[0]
        problem = (
            f"column '{key}.{names[column]}' is {array[row, column]:g}; leave out the rows that were not measured, "
            "or fill them by interpolation"
        )
        raise IdentificationError(f"{source}: row {first_row + row}", problem)
    return array


def _check_time(time: Array, source: str, first_row: int) -> None:
    if len(time) < 2:
        raise IdentificationError(source, f"has {len(time)} rows; record a motion")
    wrong = np.argwhere(~np.isfinite(time))
    if len(wrong):
        where = f"{source}: row {first_row + wrong[0, 0]}"
        raise IdentificationError(where, "column 't' must be finite; leave the row out")
    back = np.flatnonzero(np.diff(time) <= 0)
    if len(back):
        row = int(back[0]) + 1
        problem = (
            f"column 't' must increase, got {time[row]:g} [s] after {time[row - 1]:g} [s]; sort the rows and leave out "
            "repeated ones"
        )
        raise IdentificationError(f"{source}: row {first_row + row}", problem)
