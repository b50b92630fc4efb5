"""Numbers that schemes keep of their steps, such as counts of iterations."""

from __future__ import annotations

import numpy as np

import pysim
from pysim.typing import Array


def scheme_numbers(worlds: pysim.Worlds) -> Array:
    """Numbers (worlds, size) of the scheme in the records of worlds."""
    return np.array(worlds._records.engine.parts["scheme"])


def numbers_of_state(scene: pysim.Scene, state: bytes, count: int = 1) -> Array:
    """Numbers (count, size) of the scheme in the state of a rollout."""
    with pysim.Worlds(scene, count) as worlds:
        worlds.load(state)
        return scheme_numbers(worlds)
