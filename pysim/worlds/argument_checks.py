"""Checks of arguments: paths, flags, callbacks, names, whole numbers, arrays, quaternions. Errors name the argument."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.spatial.arrays import refuse_mask
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model


MOST_WORLDS_OR_STEPS = 2**31 - 1  # worlds, and steps of a call
SAME_LENGTH = 1e-6  # of a quaternion that is not of unit length


def checked_path(given: object, name: str) -> Path:
    """Return a path of a file; SimulationError if it is neither a text nor a path."""
    try:
        return Path(given)  # type: ignore[arg-type]
    except TypeError:
        problem = f"must be the path of a file, got {type(given).__name__}"
        raise SimulationError(name, f"{problem}; give a str or a pathlib.Path") from None


def checked_flag(given: object, name: str) -> bool:
    """Return True or False; SimulationError for anything else, as "no" would count as True."""
    if not isinstance(given, (bool, np.bool_)):
        raise SimulationError(name, f"must be True or False, got {given!r}; give one of them")
    return bool(given)


def check_progress(given: object) -> None:
    """Raise SimulationError if a callback of a run cannot be called."""
    if given is not None and not callable(given):
        problem = f"must be a function of one argument, got {type(given).__name__}"
        raise SimulationError("progress", f"{problem}; leave it out for none")


def checked_names(given: object, name: str) -> tuple[str, ...]:
    """Return a list of names; SimulationError for one text, which would be read letter by letter."""
    if isinstance(given, str):
        raise SimulationError(name, f"must be a list of names, got a text; give [{given!r}]")
    if not isinstance(given, Iterable):
        problem = f"must be a list of names, got {type(given).__name__}"
        raise SimulationError(name, f"{problem}; leave it out for none")
    names = tuple(given)
    for k, entry in enumerate(names):
        if not isinstance(entry, str):
            problem = f"must be a name, got {type(entry).__name__}"
            raise SimulationError(f"{name}[{k}]", f"{problem}; give a str")
    return names


def checked_whole_number(
    number: object, name: str, least: int, most: int = MOST_WORLDS_OR_STEPS
) -> int:
    """Return a whole number of at least `least`; numbers of another kind are no numbers of worlds or steps."""
    if isinstance(number, (bool, np.bool_)) or not isinstance(number, (int, np.integer)):
        raise SimulationError(name, f"must be a whole number, got {number!r}")
    if not least <= number <= most:
        raise SimulationError(name, f"must be from {least} to {most}, got {number}")
    return int(number)


def checked_array(given: ArrayLike, name: str) -> NDArray[Any]:
    """Return an array; SimulationError for rows of different lengths, PysimError for masked numbers."""
    refuse_mask(given, name)
    try:
        return np.asarray(given)
    except ValueError:
        raise SimulationError(name, "has rows of different lengths; give all as many") from None


def checked_real(given: ArrayLike, name: str) -> Array:
    """Return an array of real numbers; SimulationError for complex ones, whose imaginary part would be lost."""
    values = checked_array(given, name)
    if values.dtype.kind not in "fiu":
        raise SimulationError(name, f"must be real numbers, got an array of {values.dtype}")
    return values.astype(float, copy=False)


def refuse_not_finite(
    values: Array, where: str, what: str, remedy: str, *, has_steps: bool = True
) -> None:
    """Raise SimulationError for values (n, …) that are NaN or infinite, with the first world.

    Args:
        values: of worlds, (n, steps, …) if they have steps.
        where: place of the error.
        what: beginning of the problem, such as "are".
        remedy: end of the error.
        has_steps: whether the first step is named, too.
    """
    bad = np.argwhere(~np.isfinite(values))
    if not len(bad):
        return
    world, *of_world = bad[0].tolist()
    step = f", step {of_world[0] + 1}" if has_steps and of_world else ""
    raise SimulationError(where, f"{what} NaN or infinite in world {world}{step}; {remedy}")


def assign(rows: NDArray[Any], given: ArrayLike, name: str) -> None:
    """Write real numbers to live rows; SimulationError if they do not fit."""
    values = checked_real(given, name)
    try:
        rows[...] = values
    except ValueError:
        problem = f"must have shape {rows.shape}, got {values.shape}"
        raise SimulationError(name, problem) from None


def quaternion_fault(model: Model, q: Array) -> str | None:
    """Describe a quaternion of q (nq,) that is not of unit length; None if all are."""
    for name, at in model.quaternions():
        length = float(np.linalg.norm(q[at : at + 4]))
        if abs(length - 1) > SAME_LENGTH:
            return f"a quaternion (x, y, z, w) of length {length:.6g} for joint {name!r}"
    return None
