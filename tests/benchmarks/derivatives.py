"""Derivatives of inverse and forward dynamics beside Pinocchio's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio

import pysim
from tests.benchmarks.peers import Array, Pair
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], object]


def derivative_rows(name: str, batch: int) -> None:
    """Three matrices a state into arrays that exist. Pinocchio offers no batch: a loop of calls."""
    pair = Pair(name, batch)
    pairs: tuple[tuple[str, Callable[..., object], str], ...] = (
        ("RNEA derivatives", pysim.rnea_derivatives, "computeRNEADerivatives"),
        ("ABA derivatives", pysim.aba_derivatives, "computeABADerivatives"),
    )
    for what, mine, peer in pairs:
        times = take_turns(
            {
                "mine": _batch(pair, mine, np.float64),
                "single": _batch(pair, mine, np.float32),
                "peer": _loop(pair, getattr(pinocchio, peer)),
            }
        )
        ns = {key: 1e9 * t / batch for key, t in times.items()}
        row(name, what, ns["mine"], ns["peer"], f"a Python loop of pin.{peer}")
        row(name, f"{what} f32", ns["single"], ns["mine"], "pysim in float64")


def _batch(pair: Pair, function: Callable[..., object], dtype: type[np.floating[Any]]) -> Work:
    n = pair.model.nv
    arrays = [x.astype(dtype) for x in (pair.q, pair.v, pair.x)]
    out: tuple[Array, ...] = tuple(np.empty((3, len(pair.q), n, n), dtype))
    return lambda: function(pair.model, *arrays, out=out)


def _loop(pair: Pair, function: Callable[..., object]) -> Work:
    states = [x.T.copy() for x in (pair.pin_q, pair.pin_v, pair.pin_x)]

    def work() -> None:
        for state in zip(*states, strict=True):
            function(pair.pin, pair.data, *state)

    return work
