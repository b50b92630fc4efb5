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
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords

# by which a number may differ from that of the start, whose programs may round otherwise since: relative, and at 0
START_TOLERANCE, START_ROUNDING = 1e-9, 1e-12


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
        keyframe: Mapping[int, float],
    ) -> None:
        """Let the signals of worlds begin at t [s].

        Args:
            worlds: their numbers.
            t: time [s].
            threads: that share the worlds.
            inputs: values of the scene's inputs (n, inputs) in file order; their start by default.
            numbers: of the signals (n, numbers) to go on with; they start anew by default.
            keyframe: inputs and states with other starts, by place.
        """
        records = self._records
        start = self._start_numbers(worlds) if numbers is None else numbers.copy()
        if inputs is not None:
            start[:, self._input_places] = inputs
        places = list(keyframe)
        start[:, places] = list(keyframe.values())
        if numbers is None:
            start = self._run_at_start(worlds, t, start, threads, records.scene_of)
            start[:, places] = list(keyframe.values())  # in place of initial values of muscles
        records.signals[worlds] = start
        goes_on = numbers is not None and (inputs is not None or self._is_instant(t))
        self._jumped[worlds] = goes_on

    def at_start(
        self, worlds: NDArray[np.int32], scene_of: Callable[[int], Scene] | None = None
    ) -> Array:
        """Return the numbers (k, numbers) with which signals of worlds would begin at their t, q, v and inputs.

        Outputs of controllers in Python, which are not called, are those that they have.

        Args:
            worlds: their numbers (k,), which have the same t.
            scene_of: returns the scene of a world of a list; with its parameters by default.
        """
        records = self._records
        if records.scene.signals is None or not len(worlds):
            return records.signals[worlds]
        start = self._before_start(worlds)
        t, scene_of = float(records.t[worlds[0]]), scene_of or records.scene_of
        return self._run_at_start(worlds, t, start, 1, scene_of, calls=False)

    def are_as_at_start(self, worlds: NDArray[np.int32], start: Array) -> NDArray[np.bool_]:
        """Return which numbers of signals (k, numbers) are still those of `start`, as `at_start` returns them."""
        held = self._records.signals[worlds]
        return np.isclose(held, start, START_TOLERANCE, START_ROUNDING, equal_nan=True)

    def follow(self, worlds: NDArray[np.int32], before: Array) -> None:
        """Let signals of worlds that have made no step follow written parameters.

        A number that is as it was at the start becomes that of the start now. Any other was written, or follows from
        a q, v or input that was overwritten; it stays.

        Args:
            worlds: their numbers (k,).
            before: what `at_start` returned before the parameters were written.
        """
        start = self.at_start(worlds)
        follows = self.are_as_at_start(worlds, before) & (start != before)
        self._records.signals[worlds] = np.where(follows, start, self._records.signals[worlds])

    def clear(self, worlds: NDArray[np.int32]) -> None:
        """Set signals to those before their blocks run at the start, with the initial values that depend on others."""
        records = self._records
        records.signals[worlds] = self._before_start(worlds)
        signals = records.scene.signals
        places = np.array(() if signals is None else signals.settled, int)
        if len(places):
            with records.scene_with_numbers(worlds) as scene:
                run = SignalRun(scene, records.signals[worlds], worlds=worlds, count=records.count)
                run.settle(float(records.t[worlds[0]]), *records.states(worlds))
            records.signals[np.ix_(worlds, places)] = run.numbers[:, places]

    def _before_start(self, worlds: NDArray[np.int32]) -> Array:
        """Return the numbers of signals before their blocks run at the start, under the same inputs."""
        signals = self._records.scene.signals
        assert signals is not None
        start = self._start_numbers(worlds)
        called = [places for own in signals.callbacks for _, places in own.outputs]
        kept = np.concatenate([self._input_places, *called]).astype(int)
        start[:, kept] = self._records.signals[np.ix_(worlds, kept)]
        return start

    def _run_at_start(
        self,
        worlds: NDArray[np.int32],
        t: float,
        start: Array,
        threads: int,
        scene_of: Callable[[int], Scene],
        *,
        calls: bool = True,
    ) -> Array:
        """Return the numbers of signals after their blocks have run at the start at t [s], from those before it."""
        records = self._records
        signals = records.scene.signals
        assert signals is not None
        parts = [slice(0, len(worlds))]
        if records.scenes is not None and (signals.touching or signals.measuring):
            # contacts at the start follow the law of each scene
            parts = [slice(k, k + 1) for k in range(len(worlds))]
        for part in parts:
            some = worlds[part]
            with records.varied.scene_of_states(some) as varied:
                scene = varied if len(parts) == 1 else scene_of(int(some[0]))
                run = SignalRun(scene, start[part], calls, some, records.count)
                run.begin(t, *records.states(some), threads)
            start[part] = run.numbers
        return start

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
