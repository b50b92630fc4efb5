"""Algorithms with large results, in batches whose results stay in the second-level cache, beside Pinocchio.

A large batch of them measures the memory: the time of merely copying the results, measured in the same run, is the last
column, as a share of the time. Pinocchio has no batches of them: the peer is a loop of calls, each with an overhead of
about 0.2 µs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

import pysim
from tests.benchmarks import operations
from tests.benchmarks.peers import Pair
from tests.benchmarks.report import heading, row
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    Result = np.ndarray[Any, Any]
    Mine = Callable[[Pair, Result | None], object]
    Peer = Callable[..., object]

CACHE = 1 << 20  # bytes of results of one call


def _derivatives(function: Callable[..., object]) -> Mine:
    """Three matrices for each state; `out` is their stack."""
    return lambda p, out: function(p.model, p.q, p.v, p.x, out=None if out is None else tuple(out))


def _frame(p: Pair) -> str:
    return p.model.frame_names[-1]


ROWS: dict[str, tuple[Mine, Peer]] = {
    "FK": (lambda p, out: pysim.forward_kinematics(p.model, p.q, out=out), pin.forwardKinematics),
    "CRBA": (lambda p, out: pysim.crba(p.model, p.q, out=out), pin.crba),
    "M⁻¹": (lambda p, out: pysim.minverse(p.model, p.q, out=out), pin.computeMinverse),
    "RNEA derivatives": (_derivatives(pysim.rnea_derivatives), pin.computeRNEADerivatives),
    "ABA derivatives": (_derivatives(pysim.aba_derivatives), pin.computeABADerivatives),
    "regressor": (
        lambda p, out: pysim.joint_torque_regressor(p.model, p.q, p.v, p.x, out=out),
        pin.computeJointTorqueRegressor,
    ),
    "Coriolis": (
        lambda p, out: pysim.coriolis_matrix(p.model, p.q, p.v, out=out),
        pin.computeCoriolisMatrix,
    ),
    "Jacobian": (
        lambda p, out: pysim.jacobian(p.model, p.q, _frame(p), out=out),
        pin.computeFrameJacobian,
    ),
    "centroidal map": (
        lambda p, out: pysim.centroidal_map(p.model, p.q, out=out),
        pin.computeCentroidalMap,
    ),
}
ARGUMENTS = {"RNEA derivatives": 3, "ABA derivatives": 3, "regressor": 3, "Coriolis": 2}
LARGE = (
    "FK",
    "CRBA",
    "M⁻¹",
)  # of the longest chain: a pack of its derivatives alone overflows the cache


def main(robots: tuple[str, ...], long_chain: str, peak: float) -> None:
    """Print this part of the table."""
    heading("matrices, results within the second-level cache", "ns a state")
    for name in robots:
        for what in ROWS:
            rows(name, what, peak)
    for what in LARGE:
        rows(long_chain, what, peak)


def rows(name: str, what: str, peak: float) -> None:
    """One algorithm on one robot."""
    mine, theirs = ROWS[what]
    single_state = Pair(name, 1)
    n = max(16, CACHE // result_of(single_state, mine).nbytes // 16 * 16)
    pair, single = Pair(name, n), Pair(name, n)
    single.q, single.v, single.x = (a.astype(np.float32) for a in (pair.q, pair.v, pair.x))
    out, out32 = result_of(pair, mine), result_of(single, mine)
    copy = np.ones_like(out)
    times = take_turns(
        {
            "double": lambda: mine(pair, out),
            "float": lambda: mine(single, out32),
            "peer": _loop(pair, what, theirs),
            "stores": lambda: np.copyto(out, copy),
        }
    )
    ns = {key: 1e9 * value / n for key, value in times.items()}
    count = operations.counts(
        single_state.model, single_state.q[0], single_state.v[0], single_state.x[0]
    ).get(what)
    share = None if count is None else count / (1e-9 * ns["double"]) / peak
    stores = f"a loop of calls, {n} states; a copy takes {ns['stores'] / ns['double']:.0%}"
    row(name, what, ns["double"], ns["peer"], stores, share)
    row(name, f"{what} float32", ns["float"], ns["double"], "pysim in float64")


def _loop(pair: Pair, what: str, function: Peer) -> Callable[[], object]:
    columns = [x.T.copy() for x in (pair.pin_q, pair.pin_v, pair.pin_x)][: ARGUMENTS.get(what, 1)]
    last = (pair.pin.getFrameId(_frame(pair)),) if what == "Jacobian" else ()
    calls = [(*state, *last) for state in zip(*columns, strict=True)]

    def work() -> None:
        for arguments in calls:
            function(pair.pin, pair.data, *arguments)

    return work


def result_of(pair: Pair, mine: Mine) -> Result:
    """A result in separate memory."""
    return np.array(mine(pair, None))
