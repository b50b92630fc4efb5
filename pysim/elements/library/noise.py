"""Noise of sampled elements: random numbers that are functions of seed, world, element, call and instant."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.errors import SceneError
from pysim.tracing.expression import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.elements.graph_types import GraphBlock
    from pysim.elements.signal_inputs import SignalInputs
    from pysim.tracing.expression import Scalar

METHODS = 2  # of a block with streams of their own: output or measure, and update
MOST_CALLS = 2**16  # of a method


class Noise:
    """Random numbers of a sampled block; each call is a stream of its own, with one number an instant.

    They depend on the seed of the scene, the number of the world, the block's name, the call and the instant's number
    alone, so that they have the same bits in every integrator, batch, order and number of threads.
    """

    def __init__(
        self, block: GraphBlock, method: str, symbols: SignalInputs, key: Callable[[], Scalar]
    ) -> None:
        self._block, self._method, self._symbols, self._key = block, method, symbols, key
        own = zlib.crc32(block.name.encode()) * METHODS + (method == "update")
        self._stream = own * MOST_CALLS
        self._calls = 0

    def afresh(self) -> Noise:
        """Return the noise of another call of the method, with the same numbers."""
        return Noise(self._block, self._method, self._symbols, self._key)

    def uniform(self) -> Any:
        """Return a number within (0, 1), evenly distributed."""
        block = self._block
        if block.period is None:
            problem = f"{block.label}: has noise, which is defined at instants"
            raise SceneError(block.where, f"{problem}; give it a period [s]")
        if self._calls >= MOST_CALLS:
            problem = f"{block.label}: draws more than {MOST_CALLS} random numbers at an instant"
            raise SceneError(block.where, f"{problem}; use fewer")
        stream = self._stream + self._calls
        self._calls += 1
        instant = record("floor", self._symbols.number(SignalSource.time, 0) / block.period + 0.5)
        return record("random", instant, self._key(), float(stream))

    def normal(self) -> Any:
        """Return a number with mean 0 and variance 1, normally distributed [Box and Muller 1958]."""
        first, second = self.uniform(), self.uniform()
        return np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
