"""Blocks of signals in records of worlds: starts of their numbers, and runs of the blocks that the engine cannot run.

These are controllers in Python, and blocks that read smooth contacts. A world waits at the instant of such a block and
goes on when it has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.tracing.random_numbers import episode_key, world_key
from pysim.typing import Array
from pysim.worlds.signal_runs import SignalRun, start_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.worlds.world_records import WorldRecords


class RecordBlocks:
    """Blocks of the worlds of some records.

    Args:
        records: of the worlds, whose arrays this writes.
    """

    def __init__(self, records: WorldRecords) -> None:
        self._records = records
        self._pending: NDArray[np.int64] = records.engine.parts["pending"][:, 0]
        self._jumped: NDArray[np.int64] = records.engine.parts["jumped"][:, 0]

    @property
    def _input_places(self) -> NDArray[np.intp]:
        """Places of the scene's inputs among the numbers of the signals."""
        signals = self._records.scene.signals
        inputs = () if signals is None else signals.inputs
        return np.array([place for x in inputs for place in x.places], np.intp)

    def begin(
        self,
        worlds: NDArray[np.int32],
        t: float,
        threads: int,
        inputs: Array | None,
        numbers: Array | None,
    ) -> None:
        """Let the signals of worlds begin at t [s].

        Args:
            worlds: their numbers.
            t: time [s].
            threads: that share the worlds.
            inputs: values of the scene's inputs (n, inputs) in file order; their start by default.
            numbers: of the signals (n, numbers) to go on with; they start anew by default.
        """
        signals = self._records.signals
        signals[worlds] = self._start_numbers(worlds) if numbers is None else numbers
        if inputs is not None:
            signals[np.ix_(worlds, self._input_places)] = inputs
        if numbers is None:
            self._run_at_start(worlds, t, threads)
        goes_on = numbers is not None and (inputs is not None or self._is_instant(t))
        self._jumped[worlds] = goes_on

    def begin_again(self, worlds: NDArray[np.int32]) -> None:
        """Let the signals of worlds that have made no step begin again, under the same inputs."""
        signals = self._records.scene.signals
        if signals is None or signals.callbacks:
            return
        self.clear(worlds)
        self._run_at_start(worlds, float(self._records.t[worlds[0]]), 1)

    def clear(self, worlds: NDArray[np.int32], *, settled: bool = False) -> None:
        """Set the numbers of signals to those before their blocks run at the start, under the same inputs.

        With `settled` they have the initial values that depend on one another.
        """
        records, at_inputs = self._records, np.ix_(worlds, self._input_places)
        inputs = records.signals[at_inputs]
        records.signals[worlds] = self._start_numbers(worlds)
        records.signals[at_inputs] = inputs
        signals = records.scene.signals
        places = np.array(() if signals is None else signals.settled, int)
        if settled and len(places):
            with records.scene_with_numbers(worlds) as scene:
                run = SignalRun(scene, records.signals[worlds], worlds=worlds, count=records.count)
                run.settle(float(records.t[worlds[0]]), *records.states(worlds))
            records.signals[np.ix_(worlds, places)] = run.numbers[:, places]

    def _run_at_start(self, worlds: NDArray[np.int32], t: float, threads: int) -> None:
        """Set the states of signals that depend on the start at t [s], from their numbers before it."""
        records = self._records
        signals = records.scene.signals
        assert signals is not None
        parts = [worlds]
        if records.scenes is not None and (signals.touching or signals.measuring):
            # contacts at the start follow the law of each scene
            parts = np.split(worlds, len(worlds))
        for some in parts:
            with records.scene_with_numbers(some) as varied:
                scene = varied if len(parts) == 1 else records.scene_of(int(some[0]))
                run = SignalRun(scene, records.signals[some], worlds=some, count=records.count)
                run.begin(t, *records.states(some), threads)
            records.signals[some] = run.numbers

    def _is_instant(self, t: float) -> bool:
        return SignalRun(self._records.scene, self._records.signals).is_instant(t)

    def _start_numbers(self, worlds: NDArray[np.int32]) -> Array:
        records = self._records
        assert records.scene.signals is not None
        numbers = start_numbers(records.scene.signals, records.numbers[worlds])
        for row, k in enumerate(worlds.tolist() if records.scenes is not None else ()):
            signals = records.scene_of(k).signals
            assert signals is not None
            numbers[row] = signals.start
        noise = records.scene.signals.noise
        if noise is not None:
            key = world_key(noise.seed, records.numbers[worlds])
            numbers[:, noise.place] = episode_key(key, records.episode[worlds])
        return numbers

    # ---------------------------------------------------------------------------------------------- forward

    def set_inputs(self, values: Array) -> None:
        """Set the scene's inputs (worlds, inputs), in file order, from now on."""
        self._records.signals[:, self._input_places] = values
        self._jumped[:] = 1

    def inputs_of_rows(self, inputs: Array | None) -> dict[str, Any]:
        """Return values (worlds, rows, inputs) of the scene's inputs as a call of the engine takes them."""
        if inputs is None or self._records.scene.signals is None:
            return {}
        return {"inputs": inputs, "input_places": self._input_places.tolist()}

    def waits(self, k: int) -> bool:
        """Return whether Python has to run blocks of a world before its next step."""
        return bool(self._pending[k])

    def waiting(self, worlds: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return which of the worlds wait for Python to run blocks before their next step."""
        return np.asarray(worlds[self._pending[worlds] != 0])

    def run_due(self, worlds: NDArray[np.int32], report: Array | None, threads: int) -> None:
        """Run the blocks that are due in worlds, together in those that are at the same time."""
        records = self._records
        for due, t in sorted({(int(self._pending[k]), float(records.t[k])) for k in worlds}):
            some = worlds[(self._pending[worlds] == due) & (records.t[worlds] == t)]
            with records.scene_with_numbers(some) as scene:
                run = SignalRun(scene, records.signals[some], worlds=some, count=records.count)
                touching = None
                if records.is_convex and (run.measures(due) or run.touches(due)):
                    touching = records.report(some) if report is None else report[some]
                run.update(t, due, *records.states(some), threads, touching)
            records.signals[some] = run.numbers
            self._pending[some], self._jumped[some] = 0, 1

    def release(self, k: int, event: int) -> bool:
        """End the action of the forces that an event releases in a world; return whether one acted until now."""
        records = self._records
        releases = () if records.scene.signals is None else records.scene.signals.releases
        places = list(releases[event]) if event < len(releases) else []
        acted = bool(places) and bool(records.signals[k, places].any())
        if acted:
            records.signals[k, places] = 0.0
            self._jumped[k] = 1
        return acted
