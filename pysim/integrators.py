"""Integrators: the engine's schemes, and the base class of integrator plugins.

    from pysim.integrators import Integrator, integrator

    @integrator("heun")
    class Heun(Integrator):
        \"\"\"Heun's scheme, of order 2.\"\"\"

        def step(self, system, t, h, q, v):
            a = system.acceleration(t, q, v)
            end = system.integrate(q, h * v + h**2 / 2 * a)
            return end, v + h / 2 * (a + system.acceleration(t + h, end, v + h * a))

A plugin's annotated fields are keys of a scene's [simulation] table. Its steps run in Python, one call for each, which
suits experiments with schemes rather than fast runs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, dataclass_transform

from pysim.errors import JointError, PysimError
from pysim.plugins.fields import build
from pysim.plugins.registry import PluginKind, require_method
from pysim.tracing.author_code import definition_place
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class System(Protocol):
    """Functions of a mechanism that a scheme calls."""

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """Return v̇ (nv,) at time t [s], under actuators, passive forces, gravity and constraints."""

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return q ⊕ dq (nq,), dq (nv,) in the tangent at q."""

    def lift(self, xi: Array, v: Array) -> Array:
        """Return ξ̇ = J_r⁻¹(ξ) v (nv,), the rate of ξ while q ⊕ ξ(t) moves with velocity v."""


@dataclass_transform()
class Integrator:
    """Base of integrator plugins."""

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        dataclasses.dataclass(cls)

    def step(
        self,
        system: System,  # noqa: ARG002, for those who write one
        t: float,  # noqa: ARG002
        h: float,  # noqa: ARG002
        q: Array,  # noqa: ARG002
        v: Array,  # noqa: ARG002
    ) -> tuple[Array, Array]:
        """Return (q, v) at t + h [s]."""
        raise PysimError(
            definition_place(type(self)),
            "has no method step; write `def step(self, system, t, h, q, v)` -> (q, v)",
        )


@dataclass(frozen=True)
class IntegratorType:
    """Properties of a scheme."""

    name: str
    doc: str
    order: int | None = None  # of convergence; None if unknown
    # h ω up to which a bounce off an undamped stop of frequency ω keeps its speed to BOUNCE_ERROR of
    # diagnosis/stability.py, whenever in a step it is met; beyond, an implicit scheme too may throw a body back faster
    # than it came
    bounce: float | None = None
    # the same of a stop whose damping ratio is DAMPED of diagnosis/stability.py or more, up to which a body leaves at
    # 0.8 of the speed with which it came, or less
    damped_bounce: float | None = None
    adaptive: bool = False  # chooses its steps by tolerances
    implicit: bool = False  # solves equations, with a state kept between steps
    keys: tuple[str, ...] = ()  # keys of the [simulation] table for this scheme
    by_position: bool = False  # enforces positions of constraints, so that wheels would slip
    contacts: bool = False  # steps with contacts, and dry friction that sticks
    smooth: bool = False  # integrates contacts as smooth forces
    plugin: type[Integrator] | None = None


BUILTIN = {
    kind.name: kind
    for kind in (
        IntegratorType(
            "semi_implicit",
            "symplectic Euler, order 1",
            order=1,
            bounce=0.28,
            damped_bounce=0.6,
            smooth=True,
        ),
        IntegratorType(
            "rk2",
            "explicit midpoint, Munthe-Kaas, order 2",
            order=2,
            bounce=0.22,
            damped_bounce=0.7,
            smooth=True,
        ),
        IntegratorType(
            "rk4",
            "classical Runge-Kutta, Munthe-Kaas, order 4",
            order=4,
            bounce=0.44,
            damped_bounce=1.5,
            smooth=True,
        ),
        IntegratorType(
            "variational",
            "symplectic, keeps momenta to rounding, order 2, implicit",
            order=2,
            bounce=0.28,
            damped_bounce=1.0,
            implicit=True,
            by_position=True,
        ),
        IntegratorType(
            "variational4",
            "five variational steps, order 4",
            order=4,
            bounce=0.44,
            damped_bounce=0.9,
            implicit=True,
            by_position=True,
        ),
        IntegratorType(
            "implicit_midpoint",
            "symmetric, for stiff motion without numerical damping, order 2",
            order=2,
            bounce=0.28,
            damped_bounce=1.2,
            implicit=True,
            smooth=True,
        ),
        IntegratorType(
            "generalized_alpha",
            "Brüls-Cardona, for stiff motion, high frequencies damped by spectral_radius, order 2",
            order=2,
            bounce=0.28,
            damped_bounce=1.2,
            implicit=True,
            keys=("spectral_radius",),
            smooth=True,
        ),
        IntegratorType(
            "dopri5",
            "Dormand-Prince, Munthe-Kaas, order 5, adapts its steps",
            order=5,
            adaptive=True,
            smooth=True,
        ),
        IntegratorType(
            "convex",
            "implicit Euler with contacts and dry friction that sticks, order 1",
            order=1,
            keys=("passes", "solver_tolerance", "accuracy", "least_step"),
            contacts=True,
        ),
    )
}


def _check_integrator(plugin: type[Integrator], where: str) -> None:
    usage = "`def step(self, system, t, h, q, v)`, which returns (q, v)"
    require_method(plugin, Integrator, "step", where, usage)


Plugin = TypeVar("Plugin", bound=type[Integrator])
INTEGRATORS: PluginKind[type[Integrator]] = PluginKind(
    "integrator", base=Integrator, builtin=BUILTIN, check=_check_integrator
)


def integrator(name: str) -> Callable[[Plugin], Plugin]:
    """Class decorator: make this scheme available as `integrator = "<name>"` in scenes.

    Raises:
        PysimError: the name is taken, or the class is no Integrator or has no `step`.
    """
    return INTEGRATORS.named(name)


def find_integrator(name: str) -> IntegratorType:
    """Return the scheme of a name, importing its package if need be.

    Raises:
        PysimError: there is none; the text suggests one.
    """
    if name in BUILTIN:
        return BUILTIN[name]
    plugin = INTEGRATORS.find(name)
    return IntegratorType(name, (plugin.__doc__ or "").strip(), smooth=True, plugin=plugin)


def check_wheels(kind: IntegratorType, wheels: Sequence[str]) -> None:
    """Reject a scheme that would let wheels slip, given the names of a model's wheels.

    Raises:
        PysimError: there are wheels, and the scheme enforces positions only.
    """
    if kind.by_position and wheels:
        able = ", ".join(k.name for k in BUILTIN.values() if not k.by_position)
        problem = f"{kind.name!r} lets the wheel {wheels[0]!r} slip; choose one of {able}"
        raise PysimError("integrator", problem)


def make(
    plugin: type[Integrator], keys: Mapping[str, Any], where: str = "integrator"
) -> Integrator:
    """Return an instance of a plugin, made from the scene keys that are its fields.

    Raises:
        PysimError: a key is missing, unknown or of the wrong type; the error begins with `where` and the key.
    """
    try:
        return build(plugin, keys, where)
    except JointError as error:
        raise PysimError(error.where, error.problem) from error
