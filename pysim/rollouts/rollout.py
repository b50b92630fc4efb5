"""Rollouts: many trajectories in one call, computed entirely in C++, of one model or of a model for each world.

    q, v = pysim.rollout(model, q0, v0, controls, step=1e-3, integrator="rk4", threads=0)
    q, v = pysim.rollout([heavy, light], q0, v0, controls, step=1e-3)
    run = pysim.rollout(scene)                              # the scene's settings, see scene_rollouts.py

The worlds of a batch run side by side in SIMD packs, packs on threads; a world's result is the same to the last bit as
if it ran alone with its own model, whatever the batch and the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from pysim.errors import SimulationError
from pysim.rollouts.arguments import (
    checked_radius,
    checked_state,
    real_array,
    scheme_name,
    step_size,
    whole_number,
    world_numbers,
)
from pysim.rollouts.model_rollouts import model_rollout
from pysim.rollouts.request import Request
from pysim.rollouts.result import Rollout
from pysim.rollouts.scene_rollouts import scene_rollout
from pysim.typing import Array
from pysim.worlds.argument_checks import checked_flag, checked_names
from pysim.worlds.failed_worlds import checked_on_failure
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model


@overload
def rollout(
    model: Model | Sequence[Model],
    q0: ArrayLike,
    v0: ArrayLike,
    controls: ArrayLike | None,
    step: float,
    integrator: str = "rk4",
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int = 1,
    spectral_radius: float = 0.9,
    loop_q: Array | None = None,
    out: tuple[Array, Array] | None = None,
    on_failure: str | None = None,
) -> tuple[Array, Array]: ...
@overload
def rollout(
    model: Scene | Sequence[Scene],
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    step: float | None = None,
    integrator: str | None = None,
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int | None = None,
    spectral_radius: float | None = None,
    signals: Sequence[str] = (),
    state: bytes | None = None,
    contacts: bool = False,
    worlds: Sequence[int] | None = None,
    on_failure: str | None = None,
) -> Rollout: ...
def rollout(
    model: Any,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    controls: ArrayLike | None = None,
    step: float | None = None,
    integrator: str | None = None,
    threads: int = 1,
    *,
    steps: int | None = None,
    every: int | None = None,
    spectral_radius: float | None = None,
    loop_q: Array | None = None,
    out: tuple[Array, Array] | None = None,
    signals: Sequence[str] = (),
    state: bytes | None = None,
    contacts: bool = False,
    worlds: Sequence[int] | None = None,
    on_failure: str | None = None,
) -> tuple[Array, Array] | Rollout:
    """Return the trajectories of many worlds: (q, v) of models under given forces, or a `Rollout` of scenes.

    All worlds of models make equal steps. During step n the generalised forces `controls[n]` are added to the passive
    forces of the joints (damping, springs, friction, limits, plugins' forces). Row 0 is the start and row k the state
    after k · every steps.

    A world of a scene runs the scene's settings from t = 0: actuators, integrator, duration and output interval. `q0`
    and `v0` are the starts of the worlds, by default those of the scenes. `step` (for adaptive schemes the longest
    one), `integrator` and `spectral_radius` replace those of the scene; `steps` and `every` replace its duration and
    output interval by numbers of equal steps.

    A world that fails, because its state becomes NaN or infinite or a step has no solution, has NaN in its rows from
    then on; the others continue, and one warning names the first with its reason. With `on_failure="stop"` the first
    that fails is an error instead.

    Args:
        model: model or scene of every world, or a sequence with one for each world. The models of one call have the
            same structure (joints, shapes, loops, couplings, plugins' programs) and differ in numbers: masses,
            inertias, placements, lengths, springs, limits, gravity, plugins' fields. A hinge has an armature in all of
            them or in none.
        q0: start configurations (batch, nq) or (nq,); float32 arrays select single precision.
        v0: start velocities (batch, nv) or (nv,).
        controls: generalised forces (batch, steps, nv) [N or N·m], or (steps, nv) if q0 is one state; None for zero.
            Of scenes: values of their inputs, the signals of type `input` in their order, (batch, rows − 1, inputs) or
            (rows − 1, inputs), held from each row to the next; None for the values of the scene.
            With a batch of controls or of models, one start (nq,), (nv,) applies to every world; with a batch of
            models, so do controls (steps, nv).
        step: step size [s].
        integrator: name of a scheme of the engine with fixed steps, see `pysim.integrators.BUILTIN`.
        threads: number of threads that share the batch; 0 uses every processor.
        steps: number of steps; required without controls.
        every: number of steps from one row to the next; must divide `steps`. Ctrl-C takes effect at the next row.
        spectral_radius: factor from 0 to 1 on the fastest motion in a step of `generalized_alpha`.
        loop_q: initial guess (batch, loop_nq) or (loop_nq,) of the coordinates of joints that close loops, for example
            `scene.state.loop_q.copy()`; overwritten with the values at the end. A run whose loops are closed by a
            plugin, or by a screw of several turns, needs it to continue from its last row.
        out: C-contiguous arrays for q and v, filled and returned.
        signals: names of the signals of scenes to record.
        contacts: whether to record the contact forces and impulses of scenes, `Rollout.contacts`.
        state: `Rollout.state` of a rollout of scenes that this one continues to the bit, or bytes of `Worlds.save`;
            with q0 and v0 it goes on from these, whose rows of NaN belong to worlds that have ended.
        worlds: numbers (batch,) of the worlds, which select their noise besides the scene's `simulation.seed`;
            0, 1, … by default.
        on_failure: "drop_world" or "stop", what follows if a world fails; by default the scene's
            `simulation.on_failure`, for models "drop_world".

    Returns:
        q (batch, 1 + steps / every, nq) and v (batch, 1 + steps / every, nv), without the first axis for one world.

    Raises:
        ValueError: an argument has a wrong shape or dtype, a NaN or infinity, or a quaternion that is not unit.
        ModelError: models differ in more than numbers; the text names the first that does, and the difference.
        SimulationError: a rollout cannot run the integrator, a start violates its loops, or with `on_failure="stop"` a
            world failed, whose number and reason are given: that of the earliest in time.

    >>> states, velocities = pysim.rollout(model, q, v, None, 1e-3, steps=10)
    >>> states.shape  # the start, and a row for each step
    (11, 2)
    """
    names, contacts = checked_names(signals, "signals"), checked_flag(contacts, "contacts")
    if _are_scenes(model):
        _check_of_scenes(loop_q, out)
        request = Request(
            None if q0 is None else real_array(q0, "q0"),
            None if v0 is None else real_array(v0, "v0"),
            None if step is None else step_size(step),
            None if integrator is None else scheme_name(integrator),
            whole_number(threads, "threads", 2**31 - 1),
            None if steps is None else whole_number(steps, "steps"),
            None if every is None else whole_number(every, "every"),
            None if spectral_radius is None else checked_radius(spectral_radius),
            checked_state(state),
            names,
            contacts,
            None if worlds is None else world_numbers(worlds),
            None if controls is None else real_array(controls, "controls"),
            checked_on_failure(on_failure),
        )
        return scene_rollout(model, request)
    _check_of_models(names or None, state, contacts or None, worlds)
    return model_rollout(
        model,
        q0,
        v0,
        controls,
        step,
        integrator,
        threads,
        steps=steps,
        every=every,
        spectral_radius=spectral_radius,
        loop_q=loop_q,
        out=out,
        on_failure=on_failure,
    )


def _are_scenes(model: object) -> bool:
    """Return whether scenes are given; SimulationError for a list of scenes and others."""
    if isinstance(model, Scene):
        return True
    if not isinstance(model, Sequence) or not model or not isinstance(model[0], Scene):
        return False
    for k, scene in enumerate(model):
        if not isinstance(scene, Scene):
            problem = f"must be a pysim.Scene as scene[0], got {type(scene).__name__}"
            raise SimulationError(f"scene[{k}]", f"{problem}; give what pysim.load_scene returns")
    return True


def _check_of_models(signals: object, state: object, contacts: object, worlds: object) -> None:
    """Reject arguments that belong to rollouts of scenes."""
    given = {"signals": signals, "state": state, "contacts": contacts, "worlds": worlds}
    for name, value in given.items():
        if value is not None:
            problem = "applies to scenes only; pass the scene instead of its model"
            raise SimulationError(name, problem)


def _check_of_scenes(loop_q: object, out: object) -> None:
    """Reject arguments that belong to rollouts of models."""
    for name, value in (("loop_q", loop_q), ("out", out)):
        if value is not None:
            raise SimulationError(
                name, "applies to rollouts of models only; leave it out, or pass scene.model"
            )
