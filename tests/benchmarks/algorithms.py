"""Algorithms on batches and on one state, beside Pinocchio's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pinocchio

import pysim
from pysim import _engine
from tests.benchmarks import operations
from tests.benchmarks.peers import Pair
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[], object]
FEW = {"avx512": 7, "avx2": 3, "baseline": 1}  # states, fewer than a pack's lanes


def batch_rows(name: str, batch: int, peak: float) -> None:
    """ABA and RNEA of a batch, ns a state, with the share of the peak; results go into existing arrays."""
    pair = Pair(name, batch)
    counts = operations.counts(pair.model, pair.q[0], pair.v[0], pair.x[0])
    for what, mine, single, peer, how in _batch_work(pair, batch):
        times = take_turns({"mine": mine, "single": single, "peer": peer})
        ns = {key: 1e9 * t / batch for key, t in times.items()}
        row(name, what, ns["mine"], ns["peer"], how, counts[what] / (1e-9 * ns["mine"]) / peak)
        row(name, f"{what} float32", ns["single"], ns["mine"], "pysim in float64")


def _batch_work(pair: Pair, batch: int) -> list[tuple[str, Work, Work, Work, str]]:
    """Return name, work in double and single precision, the peer's work and its name."""
    m, arrays = pair.model, (pair.q, pair.v, pair.x)
    singles = tuple(a.astype(np.float32) for a in arrays)
    out, out32 = np.empty((batch, m.nv)), np.empty((batch, m.nv), np.float32)
    pool, result = pinocchio.ModelPool(pair.pin, 1), np.zeros((m.nv, batch), order="F")
    states = (pair.pin_q, pair.pin_v, pair.pin_x)

    def on(function: Callable[..., object], peer: Callable[..., object]) -> tuple[Work, Work, Work]:
        return (
            lambda: function(m, *arrays, out=out),
            lambda: function(m, *singles, out=out32),
            lambda: peer(1, pool, *states, result),
        )

    return [
        ("ABA", *on(pysim.aba, pinocchio.abaInParallel), "abaInParallel(1)"),
        ("RNEA", *on(pysim.rnea, pinocchio.rneaInParallel), "rneaInParallel(1)"),
    ]


def single_rows(name: str) -> None:
    """One state from Python, as a control loop computes it, µs a call into an existing array."""
    pair = Pair(name, 1)
    m, q, v, x = pair.model, pair.q[0], pair.v[0], pair.x[0]
    p, d = pair.pin, pair.data
    pq, pv, px = (a[:, 0].copy() for a in (pair.pin_q, pair.pin_v, pair.pin_x))
    force, M, X = np.empty(m.nv), np.empty((m.nv, m.nv)), np.empty((m.nbodies, 4, 4))
    aba, rnea, crba, poses = pysim.aba, pysim.rnea, pysim.crba, pysim.forward_kinematics
    for what, mine, peer, how in (
        ("ABA", lambda: aba(m, q, v, x), lambda: pinocchio.aba(p, d, pq, pv, px), "pin.aba"),
        ("RNEA", lambda: rnea(m, q, v, x), lambda: pinocchio.rnea(p, d, pq, pv, px), "pin.rnea"),
        ("CRBA", lambda: crba(m, q), lambda: pinocchio.crba(p, d, pq), "pin.crba"),
        (
            "FK",
            lambda: poses(m, q),
            lambda: pinocchio.forwardKinematics(p, d, pq),
            "pin.forwardKinematics, its poses left in C++",
        ),
    ):
        into = {
            "ABA": lambda: aba(m, q, v, x, out=force),
            "RNEA": lambda: rnea(m, q, v, x, out=force),
            "CRBA": lambda: crba(m, q, out=M),
            "FK": lambda: poses(m, q, out=X),
        }[what]
        times = take_turns({"mine": mine, "into": into, "peer": peer})
        row(name, what, 1e6 * times["mine"], 1e6 * times["peer"], how)
        row(name, f"{what} out=", 1e6 * times["into"], 1e6 * times["peer"], how)


def one_by_one_rows(name: str) -> None:
    """One state in C++, ns: fewer states than a pack has lanes are computed one by one, in one call."""
    few, many = Pair(name, FEW[_engine.isa()]), Pair(name, 256)
    for mine, theirs in zip(
        _batch_work(few, len(few.q)), _batch_work(many, len(many.q)), strict=True
    ):
        times = take_turns({"mine": mine[1], "peer": theirs[3]})
        ns = 1e9 * times["mine"] / len(few.q), 1e9 * times["peer"] / len(many.q)
        row(name, mine[0], *ns, f"{mine[4]} of {len(many.q)} states")


def growth_rows(names: tuple[str, ...], batch: int) -> None:
    """Cost of a joint as chains grow, ns a joint and state; the ratio is to the shortest chain."""
    pairs = {name: Pair(name, batch) for name in names}
    for what, function, used in (("ABA", pysim.aba, 3), ("RNEA", pysim.rnea, 3)):
        work: dict[str, Work] = {}
        for name, pair in pairs.items():
            arrays, out = (pair.q, pair.v, pair.x)[:used], np.empty_like(pair.v)
            work[name] = lambda f=function, m=pair.model, a=arrays, o=out: f(m, *a, out=o)  # type: ignore[misc]
        times = take_turns(work)
        per_joint = {n: 1e9 * times[n] / batch / pairs[n].model.nv for n in names}
        for name in names:
            row(name, f"{what} a joint", per_joint[name], per_joint[names[0]], names[0])
