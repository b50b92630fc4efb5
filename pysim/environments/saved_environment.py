"""Bytes of an environment that its next steps depend on: what is written, and what is checked when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.levels import TRUNCATED
from pysim.environments.tables import MOST
from pysim.errors import SimulationError
from pysim.simulation.world_scenes import KEYS
from pysim.worlds.saved_parts import packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim.simulation.worlds import Worlds

BOUNDS: dict[str, tuple[int, int]] = {  # of whole numbers: the least, and what is above all
    "steps": (0, MOST),
    "episode": (-1, KEYS),
    "key": (0, KEYS),
    "seed": (0, KEYS),
    "due": (-1, MOST + KEYS),
    "level_steps": (0, MOST),
    "level_outcome": (0, TRUNCATED + 1),
}
REAL = ("action", "action_rate", "history", "level_sum")  # finite in worlds that are not lost


def saved_environment(worlds: Worlds, state: Mapping[str, NDArray[Any]]) -> bytes:
    """Return worlds and arrays by name as bytes."""
    return packed({"worlds": np.frombuffer(worlds.save(), np.uint8), **state})


def load_environment(
    saved: bytes, worlds: Worlds, state: Mapping[str, NDArray[Any]], levels: int
) -> None:
    """Overwrite worlds and arrays by what `saved_environment` returned; worlds have one of a number of levels.

    Raises:
        SimulationError: it is of another environment, or holds numbers that none has; then nothing has changed.
    """
    try:
        parts = unpacked(saved)
    except (TypeError, ValueError):
        raise SimulationError("saved", "is not what Environment.save returns; save again") from None
    for name, array in {**state, "worlds": np.zeros(0, np.uint8)}.items():
        part = parts.get(name)
        if (
            part is None
            or not np.can_cast(part.dtype, array.dtype, "same_kind")
            or (name != "worlds" and part.shape != array.shape)
        ):
            raise SimulationError("saved", "is of another environment; load it into one alike")
    _check_counts(parts, {**BOUNDS, "level": (0, levels)})
    before = worlds.save()
    worlds.load(parts["worlds"].tobytes())
    lost = np.asarray(worlds.lost)
    for name in (name for name in REAL if name in state):
        rows = parts[name].reshape(len(worlds), -1)
        if not np.isfinite(rows[~lost]).all():
            worlds.load(before)
            raise _wrong(name, "nan or inf")
    for name, array in state.items():
        array[...] = parts[name]


def _check_counts(
    parts: Mapping[str, NDArray[Any]], bounds_of: Mapping[str, tuple[int, int]]
) -> None:
    """Reject counts and keys that no environment has."""
    for name, x in parts.items():
        bounds = bounds_of.get(name.rstrip("0123456789"))
        if bounds is None:
            continue
        wrong = ~((x >= bounds[0]) & (x < bounds[1]) & (x == np.floor(x)))
        if wrong.any():
            raise _wrong(name, f"{np.asarray(x)[wrong].ravel()[0]}")


def _wrong(name: str, what: str) -> SimulationError:
    problem = f"holds {what} as {name}, which no environment has"
    return SimulationError("saved", f"{problem}; load what Environment.save returned")
