"""Steps of worlds that derivatives are taken back through.

Products of a step's derivatives with cotangents are the engine's (cpp/stepping/convex/product.hpp, scheme_product.hpp).
Records of worlds are kept at every step. If they need too much memory, they are kept at every √n-th of n steps, and the
steps between are made again, with the same bits, which is checked.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.analysis.gradient_parameters import SUMS
from pysim.analysis.refusals import refusal
from pysim.analysis.signal_rows import SignalRows
from pysim.diagnosis.element_faults import element_fault
from pysim.errors import SimulationError
from pysim.mechanism.model import State
from pysim.simulation.worlds import Worlds
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real, checked_whole_number, refuse_not_finite
from pysim.worlds.world_records import CALL_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    # cotangents by q, along δ, and v (n, rows, nv), and of signals (n, rows, numbers)
    Bars = tuple[Array, Array, Array]

MEMORY = 1 << 28  # bytes of records that are kept at most, before steps are made again
_MOST_LISTED_WORLDS = 10  # worlds that an error names


class _Outcome(IntEnum):
    """How a step was taken back (cpp/engine/recorded_steps.hpp)."""

    GOOD = 1
    DIVIDED = 0  # it was solved in shorter ones
    FULL = -1  # the tape had no room
    ELSEWHERE = -2  # it does not end where it did


class DifferentiableSteps:
    """Steps of worlds whose states have derivatives.

    Args:
        worlds: at the start.
        controls: of every step, or None.
        steps: their number, without controls.
        signals: names of signals whose rows have derivatives, too.
    """

    def __init__(
        self,
        worlds: Worlds,
        controls: ArrayLike | None = None,
        steps: int | None = None,
        signals: Sequence[str] = (),
    ) -> None:
        if not isinstance(worlds, Worlds):
            raise SimulationError(
                "worlds",
                f"must be pysim.Worlds, got {type(worlds).__name__}; give pysim.Worlds(scene)",
            )
        self.worlds, self.records = worlds, worlds._records  # noqa: SLF001, the engine's records
        self.scene, self.is_single, self.threads = worlds._scene, worlds._is_single, worlds._threads  # noqa: SLF001
        self.controls = None
        if controls is not None:
            shape = checked_real(controls, "controls").shape
            count = shape[-2] if len(shape) > 1 else 1
            if steps is not None and steps != count:
                problem = f"is {steps}, but there are controls of {count}"
                raise SimulationError("steps", f"{problem}; leave it out")
            self.controls = worlds.inputs.of_steps(controls, count)
            refuse_not_finite(self.controls, "controls", "are", "give finite numbers")
            steps = count
        if steps is None:
            raise SimulationError("steps", "is missing; give the number of steps, or controls")
        self.steps, self.count = checked_whole_number(steps, "steps", 1), len(worlds)
        #: worlds of a pack, and numbers of cotangents, but those of parameters that are taken later
        self.pack, self.sizes = self._sizes()
        self.signals = SignalRows(worlds, signals)
        self.every = np.arange(self.count, dtype=np.int32)
        self.places = worlds.inputs.places
        self.begun = b""  # records with which the steps begin
        self.take_rows(1)

    def take_rows(self, rows: int) -> None:
        """Take at least that many cotangents of every world back.

        Where worlds leave room in a pack, they are there more than once and share their cotangents: that of row r is at
        r mod `rows` of copy r // `rows`.
        """
        self.copies = min(max(1, self.pack // self.count), rows)
        self.rows = -(-rows // self.copies)
        used = np.tile(self.every, self.copies)
        left = -len(used) % self.pack
        self.packed = np.concatenate([used, np.repeat(self.every[-1:], left)])

    def rows_of(self, array: Array) -> Array:
        """Return cotangents (n, rows, …) of the worlds, copied from those of packs."""
        used, size = array[: self.copies * self.count * self.rows], array.shape[1]
        by_copy = used.reshape(self.copies, self.count, self.rows, size)
        return np.asarray(by_copy.swapaxes(0, 1).reshape(self.count, self.copies * self.rows, size))

    def set_row(self, array: Array, row: int, place: int, value: float) -> None:
        """Set a number of a row of cotangents of every world."""
        copy, own = divmod(row, self.rows)
        first = copy * self.count * self.rows + own
        array[first : first + self.count * self.rows : self.rows, place] = value

    @property
    def doubles(self) -> _engine.Worlds:
        """The engine's worlds, in double precision."""
        assert isinstance(self.records.engine, _engine.Worlds)
        return self.records.engine

    def _sizes(self) -> tuple[int, dict[str, int]]:
        """Return how many worlds are a pack, and how many numbers their cotangents are.

        Raises:
            SimulationError: the worlds have no derivatives, for a reason that it names.
        """
        if reason := refusal(self.worlds):
            problem = f"worlds with {reason} have no derivatives"
            raise SimulationError("gradient", f"{problem}; docs/gradients.md lists what has them")
        _, self.products, pack, sizes = _engine.cotangent_sizes(self.doubles)
        if (self.records.engine.parts["length"] >= 0).any():
            problem = "the worlds are between two steps of simulation.step; step them by a number of steps first"
            raise SimulationError("gradient", problem)
        return pack, dict(sizes)

    @contextmanager
    def from_here(self) -> Iterator[bytes]:
        """Return a context after which the worlds are where they were, with their records."""
        self.worlds._accept(None)  # noqa: SLF001, as `step` does
        self.worlds._stop_at_lost(None)  # noqa: SLF001
        self._check_start()
        start = self.records.engine.save(self.every)
        self.begun = self.begun or start
        reported = self.records.engine.parts["report"].copy()  # contacts are no part of the bytes
        try:
            yield start
        finally:
            self.load(start)
            self.records.engine.see(self.every)
            self.records.engine.parts["report"][:] = reported

    def _check_start(self) -> None:
        """Raise SimulationError for a world that is lost, or whose inputs are NaN or infinite."""
        if (first := self.records.first_lost(None)) is not None:
            problem = f"world {first} is lost: {self.worlds.reason(first)}"
            raise SimulationError("gradient", f"{problem}; reset it first")
        if self.controls is None:
            held, remedy = self.records.signals[:, self.places], "write finite numbers"
            refuse_not_finite(held, "inputs", "are", remedy, has_steps=False)

    def stride(self, size: int, memory: object) -> int:
        """Return at every how many steps a record of `size` bytes is kept, with the step's solution.

        Raises:
            SimulationError: `memory` is not a number of bytes.
        """
        if not (isinstance(memory, (int, float, np.number)) and memory >= 0):
            problem = f"must be a number of bytes, 0 or more, got {memory!r}"
            raise SimulationError("memory", f"{problem}; leave it out for {MEMORY}")
        size += 16 * self.count * (self.scene.model.nv + 1)
        return 1 if size * self.steps <= memory else max(1, math.isqrt(self.steps))

    def _set_controls(self, n: int) -> None:
        """Set the inputs of step n, as `Worlds.step` does."""
        if self.controls is None:
            return
        self.records.signals[:, self.places] = self.controls[:, n]
        self.worlds.inputs.note_jumps()

    def load(self, record: bytes) -> None:
        """Put the worlds where they were."""
        self.records.engine.load(record, self.every)
        self.worlds.inputs.note_inputs(self.every)

    def _step(self) -> None:
        self.records.step(1, None, self.threads, self.scene.settings.step)

    def advance(self, n: int, recorded: _engine.RecordedSteps | None = None) -> None:
        """Make step n, whose inputs are set, and keep what solved its contacts among `recorded` ones."""
        if recorded is None:
            self._step()
        else:
            recorded.make(n, self._step)
        self._stop_at_lost(n, self.records.status.astype(bool))

    def forward(self, stride: int, rows: int | None = None) -> _engine.RecordedSteps:
        """Make all steps, and keep the states and signals after the last `rows` of them, or all.

        Returns:
            The records before every `stride`-th step, and after the last one.
        """
        records = self.records
        recorded, self.has_touched = _engine.RecordedSteps(self.doubles, self.steps), False
        rows = self.steps if rows is None else rows
        self.q = np.empty((self.count, rows, records.q.shape[1]))
        self.v = np.empty((self.count, rows, records.v.shape[1]))
        self.signal_rows = np.empty((self.count, rows, len(self.signals.columns)))
        touching = records.engine.parts["touching"]
        for n in range(self.steps):
            self._set_controls(n)
            if n % stride == 0:
                recorded.save(n)
            # the last step before a record that is kept, or before the end, is not made again
            is_last = (n + 1) % stride == 0 or n + 1 == self.steps
            self.advance(n, recorded if is_last else None)
            self.has_touched = self.has_touched or bool(touching.any())
            if (row := n - self.steps + rows) < 0:
                continue
            self.q[:, row], self.v[:, row] = records.q, records.v
            if self.signals:
                readings = self.worlds.signals.at_states(measured=self.signals.are_late)
                self.signal_rows[:, row] = readings[:, self.signals.columns]
        recorded.save(self.steps)
        return recorded

    def backward(
        self, recorded: _engine.RecordedSteps, stride: int, bars: Bars, sums: Sequence[str]
    ) -> tuple[dict[str, Array], Array]:
        """Take cotangents of the states back to the start; return them, with `sums`, and those of the controls.

        Args:
            recorded: as `forward` returns it.
            stride: of the records.
            bars: of the last rows.
            sums: names of cotangents that steps add to.
        """
        bar = self.cotangents(sums)
        control_bar = np.zeros((self.count, self.steps, len(self.places)))
        segment = self.steps if stride == 1 else stride
        for first in reversed(range(0, self.steps, segment)):
            end = min(first + segment, self.steps)
            again = range(first, end - 1 if stride > 1 else first)
            self._make_again(recorded, again)
            self.pull(recorded, first, end, bar, bars, control_bar)
            for n in again:
                recorded.forget(n + 1)
        self._pull_start(bar)
        return bar, control_bar

    def _make_again(self, recorded: _engine.RecordedSteps, steps: range) -> None:
        """Make steps again, from the record before the first, and record the worlds after each."""
        if not steps:
            return
        recorded.put_back(steps[0])
        self.worlds.inputs.note_inputs(self.every)
        for n in steps:
            recorded.make(n, self._step)
            self._set_controls(n + 1)
            recorded.save(n + 1)

    def pull(
        self,
        recorded: _engine.RecordedSteps,
        first: int,
        end: int,
        bar: dict[str, Array],
        bars: Bars | None = None,
        control_bar: Array | None = None,
    ) -> None:
        """Take cotangents back through steps [first, end), and those of rows and controls with them.

        Raises:
            SimulationError: a step has no derivative, or ends elsewhere than when it was made.
        """
        rows = None
        if bars is not None:
            rows = (*bars, self.signals.columns.tolist(), self.signals.are_late)
        inputs = None
        if control_bar is not None and self.controls is not None:
            inputs = (control_bar, self.places)
        while end > first:
            made, good = recorded.pull(
                self.packed,
                list(bar.values()),
                (first, end),
                rows,
                inputs,
                self.threads,
                CALL_TIME,
            )
            end -= made
            self._stop_at_failed(f"step {end}", good)

    def _pull_start(self, bar: dict[str, Array]) -> None:
        """Take cotangents of signals back through the blocks at the start of worlds that have made no step.

        Numbers that these blocks have set follow parameters, see `RecordBlocks.follow`, and others follow from nothing.
        """
        records, signals = self.records, self.scene.signals
        records.engine.load(self.begun, self.every)
        new = self.every[(records.steps == 0) & (records.t == 0)]
        if signals is None or not bar["numbers"].size or not len(new):
            return
        start, follows = records.blocks.at_start(new), np.zeros(records.signals.shape, bool)
        follows[new] = records.blocks.are_as_at_start(new, start)
        records.blocks.clear(self.every)
        signal_bar = np.where(follows[self.packed], bar["signals"], 0.0)
        of_followers = list({**bar, "signals": signal_bar}.values())
        places = signals.settled, signals.settled_outputs
        good = _engine.pull_start(self.doubles, self.packed, of_followers, *places)
        self._stop_at_failed("start", good)

    def cotangents(self, sums: Sequence[str] = ()) -> dict[str, Array]:
        """Return zeros in place of all cotangents, by name, with a row for each of every world.

        Those of inertias and laws, and counts of switches, have no numbers and are not computed if not in `sums`.
        """
        rows, left_out = len(self.packed) * self.rows, {*SUMS, "switches"} - {*sums}
        return {
            name: np.zeros((rows, 0 if name in left_out else size))
            for name, size in self._sizes()[1].items()
        }

    def step_matrices(
        self, n: int, states: list[list[int]]
    ) -> tuple[Array, Array, Array, NDArray[np.intp]]:
        """Return q and v after step n, its derivatives (n, states, states and inputs), and the points that touch.

        Args:
            n: number of the step.
            states: numbers of points, coordinates and signals that are states, beside q, v and angular deflections.
        """
        sizes = self.sizes
        rows = (
            2 * self.scene.model.nv
            + sizes["turnings"]
            + 3 * len(states[0])
            + len(states[1])
            + len(states[2])
        )
        points = sizes["deflections"] // 3
        packed = len(self.packed)
        matrices = np.empty((packed, rows, rows + len(self.places)))
        touching, q, v = (
            np.empty((packed, size))
            for size in (points, self.records.q.shape[1], self.records.v.shape[1])
        )
        to = [matrices, touching, q, v]
        numbers = [*states, np.asarray(self.places, int).tolist()]
        good = _engine.step_matrices(self.doubles, self.packed, numbers, to, self.threads)
        self._stop_at_failed(f"step {n + 1}", good)
        used = slice(0, self.count)
        is_finite = np.isfinite(q[used]).all(axis=1) & np.isfinite(v[used]).all(axis=1)
        self._stop_at_lost(n, np.logical_not(is_finite))
        return q[used], v[used], matrices[used], np.flatnonzero(touching[used].any(axis=0))

    def _stop_at_lost(self, n: int, lost: NDArray[np.bool_]) -> None:
        if lost.any():
            world = int(lost.argmax())
            problem = f"world {world} is lost in step {n + 1}"
            reason = self.worlds.reason(world) or self.element_fault(world, self.worlds.dt)
            fewer = "take fewer steps, or " * (n > 0)
            remedy = f"{fewer}start it from another state, or with smaller inputs"
            why = f": {reason}, or " if reason else "; "
            raise SimulationError("gradient", f"{problem}{why}{remedy}")

    def element_fault(self, world: int, step: float) -> str | None:
        """Describe the element whose value in a world, within a step [s], is NaN or infinite; None if there is none."""
        records = self.records
        if self.scene.signals is None:
            return None
        state = State(*(part.copy() for part in records.states(world)))
        at = state, records.signals[world].copy(), float(records.t[world])
        return element_fault(records.scene_of(world), *at, step)

    def _stop_at_failed(self, what: str, good: Array) -> None:
        if (good == _Outcome.GOOD).all():
            return
        full, elsewhere = good == _Outcome.FULL, good == _Outcome.ELSEWHERE
        failed = np.unique(self.packed[full if full.any() else good != _Outcome.GOOD])
        listed = ", ".join(str(world) for world in failed[:_MOST_LISTED_WORLDS])
        more = (
            f" and {len(failed) - _MOST_LISTED_WORLDS} more"
            if len(failed) > _MOST_LISTED_WORLDS
            else ""
        )
        step = f"{what} of world{'s' if len(failed) > 1 else ''} {listed}{more}"
        if full.any():
            problem = f"{step} needs more memory for its derivatives than there is"
            remedy = "take fewer bodies, joints or contacts, or smaller networks"
        elif elsewhere.any():
            problem = f"{step} ends elsewhere when it is made again"
            remedy = "change no settings of the worlds and no states of the rollout before its derivatives"
        else:
            problem = f"{step} is solved in shorter ones and has no derivative"
            remedy = "take a shorter simulation.step, or leave these worlds out"
        raise SimulationError("gradient", f"{problem}; {remedy}")
