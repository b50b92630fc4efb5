"""Starts of worlds: those of their scenes, given states with loops closed near them, and keyframes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import SimulationError, UnknownSimulationNameError, did_you_mean
from pysim.loops import project
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_real, quaternion_fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.scene.spec import KeyframeSpec
    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords

LOOP_TOLERANCE = 1e-6  # [m, rad] by which loops of a start or of a written state may be open


class WorldStarts:
    """Starts of worlds, at which it lets their records begin.

    Args:
        records: of the worlds.
        scenes: of every world where they have scenes of their own, else none.
        threads: that share the worlds.
    """

    def __init__(self, records: WorldRecords, scenes: Sequence[Scene], threads: int) -> None:
        self._records, self._scene, self._threads = records, records.scene, threads
        states = [scene.state for scene in scenes] or [self._scene.state] * records.count
        self.state = State(
            *(np.array([getattr(s, x) for s in states]) for x in ("q", "v", "loop_q"))
        )
        self.is_uniform = not scenes  # all worlds begin at one start
        self._begin(None, self.state.q, self.state.v, self.state.loop_q)
        self._template = records.engine.save(np.zeros(1, np.int32))

    def set(self, state: State) -> None:
        """Let every world have a start of its own, a row of the states."""
        self.state, self.is_uniform = state, False

    def begin_again(
        self,
        worlds: NDArray[np.int32],
        q: ArrayLike | None,
        v: ArrayLike | None,
        displacement: Array | None,
        numbers: Mapping[int, float],
    ) -> None:
        """Let worlds begin again, with the next episode of their random numbers.

        Args:
            worlds: their numbers (k,).
            q: start configurations (nq,) or (k, nq); those of their starts by default.
            v: start velocities (nv,) or (k, nv); those of their starts, or 0 with `q`.
            displacement: (k, nv) of the start, q ⊕ displacement.
            numbers: of inputs and states of elements with other starts, by place among those of the signals.
        """
        records = self._records
        episodes = records.episode[worlds] + 1
        if q is None and v is None and displacement is None and self._begins_alike:
            records.engine.load(self._template * len(worlds), worlds)
            records.engine.see(worlds)
            records.episode[worlds] = episodes
            return
        starts = self._closed(q, v, worlds)
        if displacement is not None:
            moved = self._scene.model.integrate(starts[0], displacement)
            starts = self._closed(moved, starts[1], worlds)
        records.episode[worlds] = episodes
        self._begin(worlds, *starts, numbers)

    @property
    def _begins_alike(self) -> bool:
        """Whether all worlds that begin at the scene's start have the same record, so that it can be copied."""
        signals, parameters = self._scene.signals, self._records.parameters
        if not self.is_uniform or self._records.python is not None:
            return False
        if signals is None:
            return True
        varied = parameters is not None and parameters.are_varied
        return signals.noise is None and not signals.callbacks and not varied

    def _begin(
        self,
        worlds: NDArray[np.int32] | None,
        q: Array,
        v: Array,
        loop_q: Array,
        numbers: Mapping[int, float] | None = None,
    ) -> None:
        self._records.begin(worlds, 0.0, q, v, loop_q, self._threads, keyframe=numbers)

    def _closed(
        self, q: ArrayLike | None, v: ArrayLike | None, worlds: NDArray[np.int32]
    ) -> tuple[Array, Array, Array]:
        """Return the starts (k, …) of worlds, with loops closed near them."""
        model, start, count = self._scene.model, self.state, len(worlds)
        default_v = start.v[worlds] if q is None else np.zeros(model.nv)
        start_q = _checked_start(q, start.q[worlds], count, "q", model.nq)
        start_v = _checked_start(v, default_v, count, "v", model.nv)
        loop_q = start.loop_q[worlds]
        if not model.rows:
            for k, row in enumerate(() if q is None else start_q):
                if (fault := quaternion_fault(model, row)) is not None:
                    raise SimulationError(f"q: world {k}", f"is {fault}; divide it by its length")
            return start_q, start_v, loop_q
        projected = project(model, start_q, start_v, loop_q=loop_q)
        is_open = ~(projected.residual <= LOOP_TOLERANCE)
        if is_open.any():
            world = int(np.flatnonzero(is_open)[0])
            raise SimulationError(
                f"q: world {world}", "its loops do not close near this start; give one nearer"
            )
        return projected.q, projected.v, projected.loop_q

    def keyframe(self, name: str) -> tuple[Array, Array, KeyframeSpec]:
        """Return q and v of a keyframe, and its specification.

        Raises:
            SimulationError: the scene has none of this name.
        """
        model = self._scene.model
        keyframes = {keyframe.name: keyframe for keyframe in model.spec.keyframes}
        if not isinstance(name, str):
            raise SimulationError("keyframe", f"must be the name of a keyframe, got {name!r}")
        if name not in keyframes:
            remedy = did_you_mean(name, keyframes) or "; the scene has none" * (not keyframes)
            raise UnknownSimulationNameError("keyframe", f"there is none named {name!r}{remedy}")
        frame, q, v = keyframes[name], self._scene.state.q.copy(), np.zeros(model.nv)
        for joint, at_q, at_v in zip(model.joints, model.q_offsets, model.v_offsets, strict=True):
            if joint.name in frame.q and at_q >= 0:
                q[at_q : at_q + len(frame.q[joint.name])] = frame.q[joint.name]
                v[at_v : at_v + len(frame.v[joint.name])] = frame.v[joint.name]
        return q, v, frame


def _checked_start(
    values: ArrayLike | None, default: Array, count: int, name: str, size: int
) -> Array:
    """Return the starts of worlds (count, size)."""
    rows = default if values is None else checked_real(values, name)
    if rows.shape not in ((size,), (count, size)):
        raise SimulationError(
            name, f"must have shape ({size},) or ({count}, {size}), got {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise SimulationError(name, "must be finite, got nan or inf")
    return np.array(np.broadcast_to(rows, (count, size)), float)
