"""Error of a convex step that finds no solution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import SimulationError
from pysim.simulation.fixed_steps import divergence

if TYPE_CHECKING:
    from pysim.contact import CompiledContacts
    from pysim.mechanism.model import State
    from pysim.simulation.implicit_state import SolverState
    from pysim.simulation.loading import Scene

LEAST_PARTS = 64  # smallest parts of a step that are tried (cpp/stepping/convex.hpp)


def stop_error(
    scene: Scene,
    contacts: CompiledContacts,
    state: State,
    memory: SolverState,
    last: float,
    step: float,
) -> SimulationError:
    """Return the error that ended a run after the last good state, at `last` [s]."""
    if not memory.lost:
        return divergence(scene, state, last, step)
    where = "a stop or dry friction"
    if contacts.engine.points:
        pair = contacts.pair_of_point[memory.worst]
        where = f"the contact of {contacts.pairs[pair].name}"
    problem = (
        f"at t = {last:.9g} s {where} has no solution that Newton's method finds, even in steps of"
        f" {step / LEAST_PARTS:.2g} s; reduce simulation.step, now {scene.settings.step:g} [s], or its stiffness"
    )
    return SimulationError(str(scene.spec.path), problem)
