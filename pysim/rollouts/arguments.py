"""Checks of a rollout's arguments, of models and of scenes; they return what the engine takes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.spatial.arrays import checked_number, refuse_mask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def required(x: Any, name: str) -> Any:  # noqa: ANN401, whatever is given
    """Return an argument that models require; raise ValueError for None."""
    if x is None:
        raise ValueError(f"{name} must be given for a model; only a scene has a default")
    return x


def real_array(x: ArrayLike, name: str) -> NDArray[Any]:
    """Return the argument as a real array; reject masked arrays and what the engine would convert."""
    refuse_mask(x, name)
    try:
        numbers = np.asarray(x)
    except ValueError:
        raise ValueError(
            f"{name} must be an array of numbers, got rows of unequal length"
        ) from None
    if numbers.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, got dtype {numbers.dtype}")
    return numbers


def step_size(given: float) -> float:
    """Return a step size [s]."""
    step = checked_number(given, "step", "s")
    if not step > 0:
        raise ValueError(f"step must be positive [s], got {step:g}")
    return step


def checked_radius(given: float) -> float:
    """Return the spectral radius of `generalized_alpha`."""
    radius = checked_number(given, "spectral_radius")
    if not 0 <= radius <= 1:
        raise ValueError(f"spectral_radius must be from 0 to 1, got {radius:g}")
    return radius


def scheme_name(name: object) -> str:
    """Return the name of an integrator; SimulationError if it is no text."""
    if not isinstance(name, str):
        problem = f"must be the name of a scheme, got {type(name).__name__}"
        raise SimulationError("integrator", f"{problem}; give a str, as 'rk4'")
    return name


def checked_state(state: object) -> bytes | None:
    """Return the state that a rollout continues; SimulationError if it is of another kind."""
    if state is not None and not isinstance(state, bytes):
        problem = f"must be the state of a rollout, got {type(state).__name__}"
        raise SimulationError("state", f"{problem}; give `state` of what pysim.rollout returned")
    return state


def check_out(out: object) -> None:
    """Reject what is no pair of arrays."""
    if out is not None and not (isinstance(out, (tuple, list)) and len(out) == 2):
        problem = f"must be two arrays, of q and of v, got {type(out).__name__}"
        raise SimulationError("out", f"{problem}; give (q, v), or leave it out")


def world_numbers(worlds: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of worlds, whole and not negative."""
    given: object = worlds
    is_list = isinstance(given, Sequence) and not isinstance(given, (str, bytes))
    if not is_list and not (isinstance(given, np.ndarray) and given.ndim):
        problem = f"worlds must be a list of whole numbers, got {worlds!r}"
        raise ValueError(f"{problem}; give one for each world")
    numbers = tuple(whole_number(number, "worlds", 2**53 - 1) for number in worlds)
    if min(numbers, default=0) < 0:
        raise ValueError(f"worlds must not be negative, got {min(numbers)}")
    return numbers


def whole_number(x: object, name: str, most: int = sys.maxsize) -> int:
    """Return a whole number within the range of the engine; True and False are no numbers."""
    problem = f"{name} must be a whole number, got {x!r}"
    if isinstance(x, (bool, np.bool_)):
        raise ValueError(problem)  # noqa: TRY004, as for other values
    try:
        number = operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(problem) from None
    if abs(number) > most:
        raise ValueError(f"{name} must be {most} at most, got {number}")
    return number


def number_of_steps(controls: NDArray[np.float64] | None, steps: int | None) -> int:
    """Return the number of steps, which is that of the controls if there are any."""
    if controls is None:
        if steps is None:
            raise ValueError("steps must be given if there are no controls")
        return steps
    if controls.ndim < 2:
        problem = f"must have shape (batch, steps, nv) or (steps, nv), got {controls.shape}"
        raise ValueError(f"controls {problem}")
    held: int = controls.shape[-2]
    if steps not in (None, held):
        raise ValueError(f"steps is {steps}, but controls hold {held} steps; leave steps out")
    return held


def of_every_world(x: ArrayLike, worlds: int, ndim: int) -> NDArray[np.float64]:
    """Repeat the array of one world, of `ndim` axes, for each world; return a batch unchanged."""
    rows = np.asarray(x)
    return np.tile(rows, (worlds,) + (1,) * ndim) if rows.ndim == ndim else rows
