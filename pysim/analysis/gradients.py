"""Gradients of losses of worlds by their start, inputs and parameters, taken back step by step.

    x_k+1 = F(x_k, u_k; p)      x̄_k += (∂F/∂x)ᵀ x̄_k+1      ū_k = (∂F/∂u)ᵀ x̄_k+1      p̄ += (∂F/∂p)ᵀ x̄_k+1

The steps, and their products with cotangents, are those of differentiable_steps.py.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.analysis.differentiable_steps import MEMORY, DifferentiableSteps
from pysim.analysis.gradient_parameters import Parameters
from pysim.analysis.losses import Loss, last_values, losses
from pysim.errors import PysimWarning, SimulationError
from pysim.integrators import find_integrator
from pysim.mechanism.model_numbers import coordinate_laws
from pysim.simulation.worlds import Worlds
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from pysim.worlds.loading import Scene

__all__ = ["Gradient", "gradient"]


@dataclass(frozen=True)
class Gradient:
    """Losses of worlds, and their derivatives; arrays of one world have no axis of worlds.

    Derivatives by a configuration are along δ of q ⊕ δ, as `Model.integrate` has it.
    """

    loss: Any  #: (n,)
    q: Array  #: (n, nv) by the configuration at the start
    v: Array  #: (n, nv) by the velocity at the start
    controls: Array | None  #: (n, steps, inputs) by the controls; None without any
    inputs: Array  #: (n, inputs) by inputs that are held during all steps; zero under controls
    parameters: dict[str, Any]  #: (n,) or (n, size) by the numbers of `by`
    #: (n,) how many steps are within rounding of a switch, by its kind and by the links or the coordinate
    switches: dict[tuple[str, str], Any]


def gradient(
    worlds: Worlds,
    controls: ArrayLike | None = None,
    *,
    loss: Loss | str,
    signals: Sequence[str] = (),
    steps: int | None = None,
    by: Sequence[str] = (),
    memory: float = MEMORY,
) -> Gradient:
    """Return losses of the next steps of worlds and their derivatives; the worlds stay where they are.

    A step has two sides where a point begins to touch or to slide, or where a motor reaches its bound; the derivative
    is that of the side that the step took. `Gradient.switches` counts the steps that are within 1e-9 of such a switch.

    Args:
        worlds: with steps of fixed size by `convex`, `semi_implicit`, `rk2`, `rk4`, `implicit_midpoint` or
            `generalized_alpha`; see docs/gradients.md for what they may contain.
        controls: values (n, steps, inputs) of the inputs in every step, in file order; those held by default.
        loss: function of the states after every step, q (n, steps, nq) and v (n, steps, nv), that returns the losses
            (n,), and their derivatives by q and by v, of these shapes. Those by quaternions are by their numbers. Or
            the name of a signal of the scene, whose value after the last step is the loss.
        signals: names of signals of the scene, whose rows (n, steps) or (n, steps, size) `loss` receives as well, in a
            dictionary, and by which it returns derivatives in another.
        steps: number of steps, instead of controls.
        by: paths of numbers of the scene, as `Worlds.parameters` has them; worlds may differ in them from now on.
        memory: bytes of records that are kept at most; if more are needed, steps are made again.

    Raises:
        SimulationError: the scene has a part without derivatives, a world is lost, a step is solved in shorter ones, or
            a shape is wrong.

    >>> worlds = pysim.Worlds("scenes/contacts/sliding_box.toml")  # doctest: +SKIP
    >>> def last_height(q, v):
    ...     return q[-1, 2], np.eye(len(q))[-1][:, None] * np.eye(7)[2], 0 * v
    >>> pysim.gradient(worlds, steps=100, loss=last_height).v  # doctest: +SKIP
    """
    if isinstance(loss, str):
        if signals:
            raise SimulationError("signals", f"are not read by the loss {loss!r}; leave them out")
        signals = [loss]
    run = DifferentiableSteps(worlds, controls, steps, signals)
    parameters = Parameters(worlds, by, reads_signals=bool(run.signals))
    found = _differentiate(run, loss, parameters, memory)
    if not run.has_touched and (surfaces := parameters.of_surfaces()):
        problem = f"{', '.join(surfaces)}: no influence, because nothing touches in these steps"
        warnings.warn(
            f"gradient: {problem}; take more steps, or another start", PysimWarning, stacklevel=2
        )
    return found


def _differentiate(
    run: DifferentiableSteps, loss: Loss | str, parameters: Parameters, memory: float
) -> Gradient:
    """Make the steps, and take the derivatives of the loss back through them."""
    rows = run.steps
    if isinstance(loss, str):
        run.signals.check_single(loss)
        rows = 1
    with run.from_here() as start:
        stride = run.stride(len(start), memory)
        recorded = run.forward(stride, rows)
        value, bars = last_values(run) if isinstance(loss, str) else losses(run, loss)
        sums = ("switches", *parameters.sums)
        cotangents = run.backward(recorded, stride, bars, sums)
    return gradient_of(run, value, cotangents, parameters)


def gradient_of(
    run: DifferentiableSteps,
    value: Array,
    cotangents: tuple[dict[str, Array], Array],
    parameters: Parameters,
) -> Gradient:
    """Return the derivatives of losses `value` (n,) whose cotangents at the start, and by controls, these are."""
    bar = {name: x[: run.count] for name, x in cotangents[0].items()}
    controls = cotangents[1]

    def unbatched(x: Array) -> Array:
        return np.asarray(x[0]) if run.is_single else x

    by = {name: unbatched(x) for name, x in parameters.derivatives(bar).items()}
    inputs = bar["signals"][:, run.places] if run.places else np.zeros((run.count, 0))
    return Gradient(
        float(value[0]) if run.is_single else value,
        unbatched(bar["q"]),
        unbatched(bar["v"]),
        None if run.controls is None else unbatched(controls),
        unbatched(inputs),
        by,
        {key: unbatched(count) for key, count in _switches(run.scene, bar["switches"]).items()},
    )


def _switches(scene: Scene, counts: Array) -> dict[tuple[str, str], Array]:
    """Return how many switches of each kind the worlds meet (n,), given the counts of the engine (n, …)."""
    switches: dict[tuple[str, str], Array] = {}
    if not counts.any():
        return switches
    for key, count in zip(_switch_names(scene), counts.T.astype(int), strict=True):
        if count.any():
            switches[key] = switches.get(key, 0) + count
    return switches


def _switch_names(scene: Scene) -> list[tuple[str, str]]:
    """Return the kinds and names of the engine's counts of switches, see cpp/stepping/switch_counts.hpp."""
    contacts, model = scene.contacts, scene.model
    pairs, bounds = [], []
    if contacts is not None:
        pairs = [contacts.pairs[k].name for k in contacts.shapes.pair.tolist()]
    solves_contacts = find_integrator(scene.settings.integrator).contacts
    places = coordinate_laws(model) if solves_contacts else range(len(model.tree_velocity_names))
    coordinates = [model.tree_velocity_names[v] for v in places]
    if scene.signals is not None:
        signals = scene.signals.description
        bounds = [model.velocity_names[signals.coordinates[row]] for row in signals.bounded]
    names = {
        "touching": pairs,
        "sticking": pairs,
        "feature": pairs,
        "friction": coordinates,
        "stop": coordinates,
        "bound": bounds,
    }
    return [(kind, name) for kind, of_kind in names.items() for name in of_kind]
