"""Algorithms that write matrices, in batches whose results stay in the second-level cache, beside Pinocchio.

A large batch of them measures the memory: the share of the time that its stores alone would take stands in the last
column (a copy of as many bytes, timed in the same run).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio

import pysim
from tests.benchmarks.peers import Pair
from tests.benchmarks.report import heading, row
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

CACHE = 1 << 20  # bytes of results of one call

Peer = tuple["Callable[[Pair, np.ndarray[Any, Any]], object]", "Callable[[Pair, int], object]"]

ROWS: dict[str, Peer] = {
    "M⁻¹": (
        lambda p, out: pysim.minverse(p.model, p.q, out=out),
        lambda p, k: pinocchio.computeMinverse(p.pin, p.data, p.pin_q[:, k]),
    ),
    "Coriolis": (
        lambda p, out: pysim.coriolis_matrix(p.model, p.q, p.v, out=out),
        lambda p, k: pinocchio.computeCoriolisMatrix(p.pin, p.data, p.pin_q[:, k], p.pin_v[:, k]),
    ),
    "regressor": (
        lambda p, out: pysim.joint_torque_regressor(p.model, p.q, p.v, p.x, out=out),
        lambda p, k: pinocchio.computeJointTorqueRegressor(
            p.pin, p.data, p.pin_q[:, k], p.pin_v[:, k], p.pin_x[:, k]
        ),
    ),
    "Jacobian": (
        lambda p, out: pysim.jacobian(p.model, p.q, p.model.frame_names[-1], out=out),
        lambda p, k: pinocchio.computeFrameJacobian(
            p.pin, p.data, p.pin_q[:, k], p.pin.getFrameId(p.model.frame_names[-1])
        ),
    ),
    "centroidal map": (
        lambda p, out: pysim.centroidal_map(p.model, p.q, out=out),
        lambda p, k: pinocchio.computeCentroidalMap(p.pin, p.data, p.pin_q[:, k]),
    ),
}


def main(robots: tuple[str, ...]) -> None:
    """Print this part of the table."""
    heading("matrices, results within the second-level cache", "ns a state")
    for name in robots:
        for what, (mine, theirs) in ROWS.items():
            rows(name, what, mine, theirs)


def rows(
    name: str,
    what: str,
    mine: Callable[[Pair, np.ndarray[Any, Any]], object],
    theirs: Callable[[Pair, int], object],
) -> None:
    """One algorithm on one robot."""
    width = result_of(Pair(name, 1), mine).nbytes
    n = max(16, CACHE // width // 16 * 16)
    pair, single = Pair(name, n), Pair(name, n)
    single.q, single.v, single.x = (a.astype(np.float32) for a in (pair.q, pair.v, pair.x))
    out, out32 = result_of(pair, mine), result_of(single, mine)
    copy = np.ones_like(out)

    def loop() -> None:
        for k in range(n):
            theirs(pair, k)

    times = take_turns(
        {
            "double": lambda: mine(pair, out),
            "float": lambda: mine(single, out32),
            "peer": loop,
            "stores": lambda: np.copyto(out, copy),
        }
    )
    ns = {key: 1e9 * value / n for key, value in times.items()}
    stores = f"a loop of calls, {n} states; storing takes {ns['stores'] / ns['double']:.0%}"
    row(name, what, ns["double"], ns["peer"], stores)
    row(name, f"{what} float32", ns["float"], ns["double"], "pysim in float64")


def result_of(
    pair: Pair, mine: Callable[[Pair, np.ndarray[Any, Any]], object]
) -> np.ndarray[Any, Any]:
    """A result in memory of its own."""
    return np.array(mine(pair, None))  # type: ignore[arg-type]
