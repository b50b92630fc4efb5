"""Equal steps of states, as the engine's loop of worlds makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.loops import constraints
from pysim.worlds.contact_report import NUMBERS, report_by_point

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.typing import Array


class EngineSteps:
    """Worlds that begin at states (n, …) at a time [s]; their records hold what a scheme carries."""

    def __init__(
        self,
        model: Model,
        q: ArrayLike,
        v: ArrayLike,
        step: float,
        integrator: str,
        actuation: _engine.Actuation,
        *,
        time: float = 0.0,
        loop_q: ArrayLike | None = None,
        memory: ArrayLike | None = None,
        contacts: _engine.Contacts | None = None,
        **scheme: Any,
    ) -> None:
        states = np.atleast_2d(np.asarray(q, float))
        self.engine = _engine.Worlds(
            model, actuation, contacts, len(states), integrator, step, **scheme
        )
        self.parts = parts = self.engine.parts
        self.q, self.v, self.loop_q = parts["q"], parts["v"], parts["loop_q"]
        self.memory = parts["scheme"]
        parts["t"][:], self.q[:], self.v[:] = time, states, v
        if model.loop_nq:
            self.loop_q[:] = constraints(model, states).loop_q if loop_q is None else loop_q
        if memory is not None:
            self.memory[:] = np.reshape(memory, self.memory.shape)
        self.engine.begin_clock(np.arange(len(states), dtype=np.int32))
        self.engine.see()

    def make(self, steps: int, threads: int = 1) -> None:
        """Make steps on the grid; a world that is lost keeps its last good state."""
        self.engine.step(steps, threads=threads)

    @property
    def made(self) -> Array:
        """Steps of each world since it began."""
        return self.parts["steps"][:, 0]

    @property
    def report(self) -> Array:
        """Contacts of the last step (n, points, 18), each at its point; the record lists those that touch."""
        listed, contacts = (
            self.parts[name].reshape(len(self.q), -1, size)
            for name, size in (("report", NUMBERS), ("contacts", 6))
        )
        return report_by_point(listed, contacts, self.parts["touching"][:, 0], range(len(self.q)))


def make_steps(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    time: float,
    step: float,
    steps: int,
    integrator: str,
    actuation: _engine.Actuation,
    *,
    loop_q: Array | None = None,
    memory: Array | None = None,
    threads: int = 1,
    **scheme: Any,
) -> tuple[Array, Array, Any]:
    """Return q, v and the number of good steps; `loop_q` and what a scheme carries in `memory` are updated."""
    worlds = EngineSteps(
        model, q, v, step, integrator, actuation, time=time, loop_q=loop_q, memory=memory, **scheme
    )
    worlds.make(steps, threads)
    for given, own in ((loop_q, worlds.loop_q), (memory, worlds.memory)):
        if given is not None:
            given[:] = own.reshape(given.shape)
    found = worlds.q.copy(), worlds.v.copy(), worlds.made.copy()
    return found if np.ndim(q) > 1 else (found[0][0], found[1][0], int(found[2][0]))
