"""Law of a pair of surfaces, from their materials.

    f_n = K x^m (1 − d v_n)₊        m = 1, or 3/2 with K = 4/3 E* √R        [Hunt, Crossley 1975]

Two surfaces combine as μ = √(μ₁ μ₂), 1/K = 1/K₁ + 1/K₂, d = (d₁/K₁ + d₂/K₂)/(1/K₁ + 1/K₂), the longer relaxation
time, and the larger lengths of rolling and spinning friction. Hertz's law holds if both have elastic constants and the
shape is curved; otherwise the linear spring of the other one holds.

Numbers of surfaces and loads may be arrays, one number for each of many worlds: `pair_law` computes all at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.restitution import dissipation_of, restitution_of
from pysim.errors import ModelError
from pysim.tracing.symbolic_array import SymbolicArray

if TYPE_CHECKING:
    from pysim.scene.spec import SurfaceSpec

STANDARD_GRAVITY = 9.81  # [m/s²] for sinks where there is no gravity
DEFAULT_SINK = 1e-4  # [m] of a surface without stiffness, and no more than the
DEFAULT_SHARE = 5e-3  # of the smallest dimension of the shapes


@dataclass(frozen=True)
class Load:
    """Load of a contact: mass of the mechanism [kg], gravity [m/s²], and the number of points that share it."""

    mass: float
    gravity: float
    points: int
    radius: float | None  # of a curved shape [m]
    size: float = math.inf  # smallest dimension of the shapes [m]

    @property
    def default_sink(self) -> float:
        """Depth at rest of a surface that gives no stiffness [m]."""
        return min(DEFAULT_SINK, DEFAULT_SHARE * self.size)

    @property
    def weight(self) -> float:
        """Weight on one contact point [N]."""
        return self.mass * self.gravity / self.points


@dataclass(frozen=True)
class PairLaw:
    """Law of a contact point."""

    stiffness: float  # K [N/m] or [N/m^1.5]
    exponent: float  # m
    dissipation: float  # d [s/m]
    static_friction: float
    dynamic_friction: float
    tangential_stiffness: float  # [N/m]
    relaxation_time: float  # [s]
    rolling: float  # length of rolling friction [m]
    spinning: float  # the same about the normal [m]
    sink: float  # depth under the weight [m]
    half_period: float  # of the weight on the contact, undamped [s]
    restitution: float  # of impacts as events

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers of the engine, in the order of `ContactLaw` (cpp/constraints/contact_law.hpp)."""
        numbers: tuple[float, ...] = _numbers(self)
        return numbers

    def without_restitution(self) -> PairLaw:
        """Return the law that damps rest at the depth `sink` critically."""
        rate = math.pi / self.half_period
        return replace(self, dissipation=2 * math.sqrt(self.exponent) / (rate * self.sink))


NUMBERS = tuple(
    field.name
    for field in fields(PairLaw)
    if field.name not in ("sink", "half_period", "restitution")
)
"""Numbers that the engine has; the others are of checks and reports."""
_numbers = attrgetter(*NUMBERS)


def creep_speed(share: float, slip_speed: float) -> float:
    """Speed [m/s] at which friction that a slip speed [m/s] regularises carries a share, below 1, of its bound."""
    return slip_speed * share / math.sqrt((1 - share) * (1 + share))


def pair_law(
    first: SurfaceSpec, second: SurfaceSpec, changes: SurfaceSpec | None, load: Load
) -> PairLaw:
    """Return the law of two surfaces under a load; `changes` of a [[contact]] table replace what they give.

    Raises:
        ModelError: both surfaces have elastic constants, and the shape is flat.
    """
    stiffnesses, exponent = _stiffnesses(first, second, load)
    if changes is not None and (changes.stiffness is not None or changes.sink is not None):
        stiffness, exponent = _linear(changes, load), 1.0
        assert stiffness is not None
        stiffnesses = (2 * stiffness, 2 * stiffness)
    a, b = (1 / k for k in stiffnesses)
    stiffness = 1 / (a + b)
    if exponent > 1:
        stiffness = stiffness * (4 / 3 * math.sqrt(load.radius or 0.0))
    sink = (load.weight / stiffness) ** (1 / exponent)
    slope = exponent * load.weight / sink  # [N/m] at rest
    surfaces = (first, second)
    compliant = [(s, c) for s, c in zip(surfaces, (a, b), strict=True) if _is_positive(c)]
    damped = [(c, _dissipation(s, sink * c / (a + b), load)) for s, c in compliant]
    dissipation = sum(c * d for c, d in damped) / (a + b)
    restitution = sum(c * _restitution(s) for s, c in compliant) / (a + b)
    if changes is not None and (changes.dissipation is not None or changes.restitution is not None):
        dissipation = _dissipation(changes, sink, load)
        restitution = _restitution(changes)
    tangential = 1 / sum(
        c / (a + b) / slope if s.tangential_stiffness is None else 1 / s.tangential_stiffness
        for s, c in zip(surfaces, (a, b), strict=True)
    )
    tangential = _changed_number(changes, "tangential_stiffness", tangential)
    period = _sqrt(load.weight / load.gravity / tangential)
    times = [s.relaxation_time for s in surfaces if s.relaxation_time is not None]
    return PairLaw(
        stiffness,
        exponent,
        dissipation,
        _changed_number(changes, "static_friction", _friction(surfaces, "static_friction")),
        _changed_number(changes, "dynamic_friction", _friction(surfaces, "dynamic_friction")),
        tangential,
        _changed_number(changes, "relaxation_time", _largest(times) if times else period),
        _longer("rolling", surfaces, changes),
        _longer("spinning", surfaces, changes),
        sink,
        math.pi * _sqrt(load.weight / load.gravity / slope),
        restitution,
    )


def _is_positive(c: Any) -> bool:  # noqa: ANN401, a number or an array of them
    """Return whether a compliance is that of a surface that gives way; symbolic ones are."""
    return isinstance(c, SymbolicArray) or bool(np.any(c > 0))


def _changed_number(changes: SurfaceSpec | None, name: str, otherwise: Any) -> Any:  # noqa: ANN401
    found = None if changes is None else getattr(changes, name)
    return otherwise if found is None else found


def _longer(
    name: str, surfaces: tuple[SurfaceSpec, SurfaceSpec], changes: SurfaceSpec | None
) -> Any:  # noqa: ANN401, a number or an array of them
    lengths = [getattr(surface, name) for surface in surfaces]
    return _changed_number(changes, name, _largest([0.0 if x is None else x for x in lengths]))


def _sqrt(x: Any) -> Any:  # noqa: ANN401, a number or an array of them
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


def _largest(numbers: list[Any]) -> Any:  # noqa: ANN401, likewise
    if any(isinstance(x, np.ndarray) for x in numbers):
        return reduce(np.maximum, numbers)
    return max(numbers)


def _friction(surfaces: tuple[SurfaceSpec, SurfaceSpec], name: str) -> Any:  # noqa: ANN401
    """Return √(μ₁ μ₂); a material without friction has that of the default."""
    first, second = (0.8 if (mu := getattr(s, name)) is None else mu for s in surfaces)
    return _sqrt(first * second)


def _linear(surface: SurfaceSpec, load: Load) -> float | None:
    """Return a surface's spring [N/m]; None if it has elastic constants."""
    if surface.stiffness is not None:
        return surface.stiffness
    if surface.young is not None:
        return None
    return load.weight / (load.default_sink if surface.sink is None else surface.sink)


def _stiffnesses(
    first: SurfaceSpec, second: SurfaceSpec, load: Load
) -> tuple[tuple[float, float], float]:
    """Return the stiffness of each surface, infinite where the other one's holds, and the exponent."""
    own = _linear(first, load), _linear(second, load)
    if own[0] is not None and own[1] is not None:
        return (own[0], own[1]), 1.0
    if own[0] is not None or own[1] is not None:
        first_stiffness, second_stiffness = (math.inf if k is None else k for k in own)
        return (first_stiffness, second_stiffness), 1.0
    if load.radius is None:
        problem = "both surfaces have young, and Hertz's law needs a sphere or a capsule"
        raise ModelError(second.where or first.where, f"{problem}; give one a stiffness [N/m]")
    moduli = [
        s.young / (1 - s.poisson**2)
        for s in (first, second)
        if s.young is not None and s.poisson is not None
    ]
    return (moduli[0], moduli[1]), 1.5


def _dissipation(surface: SurfaceSpec, sink: Any, load: Load) -> Any:  # noqa: ANN401
    """Return d [s/m] of a surface; without restitution, what damps rest at a depth [m] critically."""
    if surface.dissipation is not None:
        return surface.dissipation
    given: Any = surface.restitution or (0.0, 1.0)
    value, speed = given
    critical = 2 / _sqrt(load.gravity * sink)
    if isinstance(value, np.ndarray):
        return np.where(value > 0, np.minimum(critical, _dissipations(value, speed)), critical)
    if isinstance(critical, np.ndarray):
        return np.minimum(critical, dissipation_of(value, speed)) if value > 0 else critical
    return min(critical, dissipation_of(value, speed)) if value > 0 else critical


def _dissipations(values: Any, speed: float) -> Any:  # noqa: ANN401, arrays (k,)
    """Return d [s/m] of coefficients of restitution (k,); 0 for those that are 0."""
    distinct, where = np.unique(values, return_inverse=True)
    found = [dissipation_of(e, speed) if e > 0 else 0.0 for e in distinct.tolist()]
    return np.array(found)[where]


def _restitution(surface: SurfaceSpec) -> Any:  # noqa: ANN401
    """Return the coefficient of restitution of a surface, that of an impact at 1 m/s if it has a dissipation."""
    given: Any = surface.dissipation
    if given is not None:
        if isinstance(given, np.ndarray):
            return 0.0  # of impacts as events, which worlds with numbers of their own do not have
        return restitution_of(given, 1.0)
    return 0.0 if surface.restitution is None else surface.restitution[0]
