"""Signals that prescribed motions follow: functions of time alone, with values, rates and accelerations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim._engine import SignalSource
from pysim.elements.graph_types import GraphBlock
from pysim.errors import SceneError, did_you_mean
from pysim.tracing.evaluation import evaluate
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.elements.graph.builder import GraphBuilder
    from pysim.scene.spec import BlockSpec
    from pysim.tracing.tape import Tape

_INPUT = "input"


@dataclass(frozen=True)
class Follower:
    """Joint or frame that follows signals, for messages."""

    kind: str  # "joint" or "motion"
    name: str
    where: str

    @property
    def text(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True)
class Course:
    """Number of a signal over time: nodes of its value, rate and acceleration on a tape whose input is the time."""

    follower: Follower
    signal: str
    units: tuple[str, str]  # of value and rate
    tape: Tape
    nodes: tuple[int, int, int]

    @property
    def label(self) -> str:
        what = "motion" if self.follower.kind == "joint" else "signal"
        return f"{self.follower.text}: its {what} {self.signal!r}"

    @property
    def where(self) -> str:
        return self.follower.where

    def at(self, t: Array) -> Array:
        """Return s, ṡ and s̈ (3, n) at times (n,) [s]."""
        return np.asarray(evaluate(self.tape, t[np.newaxis], self.nodes))


def numbers_of_time(
    graph: GraphBuilder, follower: Follower, signals: Sequence[str], unit: str, what: str
) -> list[tuple[str, int]]:
    """Return the numbers of signals, each with the signal's name; they depend on time alone.

    Raises:
        SceneError: they do not, or a signal has another unit.
    """
    block = GraphBlock(follower.kind, follower.name, None, where=follower.where)
    found = [
        (name, node) for name in signals for node in graph.signals.read(block, name, unit, what)
    ]
    others = graph.symbols.read_by([node for _, node in found]) - {(SignalSource.time, 0)}
    if others:
        raise _depends(follower, signals[0], "the state of the mechanism")
    return found


def blocks_of_time(
    blocks: Sequence[BlockSpec], follower: Follower, signals: Sequence[str]
) -> list[BlockSpec]:
    """Return the blocks that signals depend on; those that depend on more than time are rejected."""
    known = {block.name: block for block in blocks if block.kind != "actuator"}
    readers: dict[str, BlockSpec] = {}
    for signal in signals:
        pending = [signal]
        while pending:
            name = pending.pop()
            block = _owner(known, name)
            if block is None:
                problem = f"{follower.text}: unknown signal {name!r}{did_you_mean(name, known)}"
                raise SceneError(follower.where, problem)
            if block.name in readers:
                continue
            _refuse_state(block, follower, signal)
            readers[block.name] = block
            pending += block.inputs
    return [block for block in blocks if block.name in readers]


def _owner(known: dict[str, BlockSpec], name: str) -> BlockSpec | None:
    base = re.sub(r"\[\d+\]$", "", name)
    while base and base not in known:
        base = base.rpartition(".")[0]
    return known.get(base)


def _refuse_state(block: BlockSpec, follower: Follower, signal: str) -> None:
    label = f"{block.kind} {block.name!r}"
    if block.kind == "sensor":
        raise _depends(follower, signal, f"{label}, which measures the state")
    if block.period is not None:
        raise _depends(follower, signal, f"{label}, which is sampled and has no acceleration")
    if block.kind == "signal" and block.type == _INPUT:
        raise _depends(
            follower, signal, f"{label}, which is given from outside without its acceleration"
        )
    if block.kind == "controller" and _has_states(block):
        raise _depends(follower, signal, f"{label}, which has states")


def _has_states(block: BlockSpec) -> bool:
    from pysim.elements.block import find_block  # noqa: PLC0415, plugins load when first used

    plugin: Any = find_block(block.kind, block.type)
    return bool(getattr(plugin, "states", ()) or getattr(plugin, "memory", ()))


def _depends(follower: Follower, signal: str, on: str) -> SceneError:
    what = "motion" if follower.kind == "joint" else "signal"
    problem = f"{follower.text}: its {what} {signal!r} depends on {on}; a prescribed motion is a function of time"
    remedy = "write a source such as spline, waypoints or sine, or follow it by an [[actuator]] such as position_servo"
    return SceneError(follower.where, f"{problem}: {remedy}")
