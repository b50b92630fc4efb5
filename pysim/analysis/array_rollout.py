"""Rollouts of worlds as functions of arrays, for libraries that differentiate programs (torch.py, jax.py).

    q, v, y of every step = f(q₀, v₀, controls, parameters)        q̄₀, v̄₀, … = (∂f)ᵀ (q̄, v̄, ȳ)

y are signals of the scene. Configurations are their numbers here, and so are the cotangents. Of a quaternion, the part
of a cotangent that would change its length is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.analysis.differentiable_steps import MEMORY, DifferentiableSteps
from pysim.analysis.gradient_parameters import Parameters
from pysim.analysis.gradients import gradient_of
from pysim.analysis.motion_cotangents import along_motions, by_numbers
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from pysim.simulation.worlds import Worlds

__all__ = ["ArrayRollout", "Cotangents"]


class Cotangents(NamedTuple):
    """Cotangents of the arguments of a rollout, in their shapes."""

    q: Array
    v: Array
    controls: Array
    parameters: dict[str, Array]


class ArrayRollout:
    """Steps of worlds, which keep their states.

    Args:
        worlds: at the start, with their contacts.
        q: at the start (n, nq); that of the worlds by default. One world's arrays have no axis of worlds.
        v: at the start (n, nv); that of the worlds by default.
        controls: values (n, steps, inputs) of the inputs in every step; by default the present ones.
        parameters: values by path, which are written to `Worlds.parameters` and stay there.
        steps: number of steps, instead of controls.
        memory: bytes of records that are kept at most.
        signals: names of signals of the scene, whose rows are results, too.
    """

    def __init__(
        self,
        worlds: Worlds,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        controls: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        steps: int | None = None,
        memory: float = MEMORY,
        signals: Sequence[str] = (),
    ) -> None:
        for path, value in (parameters or {}).items():
            worlds.parameters[path][...] = value
        run = self._run = DifferentiableSteps(worlds, controls, steps, signals)
        self._paths = list(parameters or {})
        self._parameters()  # which rejects those without a gradient
        self._numbers = worlds.parameters.save(run.every)
        with run.from_here():
            if q is not None:
                worlds.q = q
            if v is not None:
                worlds.v = v
            worlds._accept(None)  # noqa: SLF001, as `step` does
            self._start = worlds.q.copy()
            self._stride = run.stride(len(run.records.engine.save(run.every)), memory)
            self._recorded = run.forward(self._stride)
        #: configurations (n, steps, nq) and velocities (n, steps, nv) after every step
        self.q, self.v, rows = (
            x[0] if run.is_single else x for x in (run.q, run.v, run.signal_rows)
        )
        #: rows (n, steps) or (n, steps, size) of the signals, by name
        self.signals = run.signals.by_name(rows)

    def _parameters(self) -> Parameters:
        return Parameters(self._run.worlds, self._paths, reads_signals=bool(self._run.signals))

    def back(
        self, q_bar: Array, v_bar: Array, signal_bars: Mapping[str, Array] | None = None
    ) -> Cotangents:
        """Return cotangents of the arguments, from those of q, v and the signals, by name, after every step.

        The parameters of the worlds are those of the steps meanwhile.
        """
        run, model = self._run, self._run.scene.model
        q_bar, v_bar = q_bar.reshape(run.q.shape), v_bar.reshape(run.v.shape)
        rows = run.signals.side_by_side(signal_bars or {}, self.q.shape[:-1])
        bars = along_motions(model, run.q, q_bar), v_bar, rows.reshape(run.signal_rows.shape)
        written = run.worlds.parameters
        now = written.save(run.every)
        were_written = now != self._numbers  # written since
        if were_written:
            written.load(self._numbers, run.every)
        try:
            parameters = self._parameters()  # other numbers may differ since
            with run.from_here():
                bar_at_start = run.backward(self._recorded, self._stride, bars, parameters.sums)
            cotangents = gradient_of(run, np.zeros(run.count), bar_at_start, parameters)
        finally:
            if were_written:
                written.load(now, run.every)
        of_controls = np.zeros(0) if cotangents.controls is None else cotangents.controls
        q = by_numbers(model, self._start, cotangents.q)
        return Cotangents(q, cotangents.v, of_controls, cotangents.parameters)
