"""Numbers of a contact in MuJoCo, and the friction, depth and restitution that they mean.

At a contact point with penetration x, MuJoCo aims at the normal acceleration ẍ of a spring and a damper:

    ẍ = (1 − d) ẍ₀ − d (b ẋ + d k x)      ẍ₀ without contact, impedance d(x) of solimp
    k = 1 / (d_max τ ζ)²,  b = 2 / (d_max τ)       of a positive solref (τ, ζ)
    k = −s₁ / d_max²,      b = −s₂ / d_max         of a negative solref (s₁, s₂)

(MuJoCo's documentation, "Solver parameters"; its reference acceleration scales k with d once more.) At rest under
gravity, the depth x with d² k x = (1 − d) g does not depend on the mass. An impact is that of a damped spring with the
damping ratio ζ, whose force does not pull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pysim.typing import Array

STANDARD_GRAVITY = 9.81  # [m/s²] for depths where there is no gravity
SLIDING, SPINNING, ROLLING = 3, 4, 6  # smallest contact dimensions with friction of these kinds
LEAST_SHARE = 1e-4
MINIMUM = 1e-15  # below which MuJoCo takes a weight or a width as 0


@dataclass(frozen=True)
class SurfaceNumbers:
    """Numbers of a contact: friction (sliding, torsional, rolling), solref and solimp, contact dimension, margin."""

    condim: int
    friction: tuple[float, float, float]
    solref: tuple[float, float]
    solimp: tuple[float, float, float, float, float]
    margin: float  # [m]

    @property
    def sliding(self) -> float:
        """Coefficient of sliding friction."""
        return self.friction[0] if self.condim >= SLIDING else 0.0

    @property
    def spinning(self) -> float:
        """Length of spinning friction [m]: MuJoCo bounds the moment by a length times f_n, pysim by ρ μ f_n."""
        return self._length(SPINNING, 1)

    @property
    def rolling(self) -> float:
        """Length of rolling friction [m], likewise."""
        return self._length(ROLLING, 2)

    @property
    def turns_without_sliding(self) -> bool:
        """Whether turning is resisted and sliding is not, which pysim does not have."""
        return self.condim >= SPINNING and not self.friction[0] and any(self.friction[1:])

    def _length(self, condim: int, place: int) -> float:
        acts = self.condim >= condim and self.friction[0] > 0
        return self.friction[place] / self.friction[0] if acts else 0.0


def of_geom(m: Any, k: int) -> SurfaceNumbers:  # noqa: ANN401, a compiled model of MuJoCo
    """Return the numbers of a geom."""
    slide, spin, roll = map(float, m.geom_friction[k])
    return SurfaceNumbers(
        int(m.geom_condim[k]),
        (slide, spin, roll),
        _pair_of(m.geom_solref[k]),
        _five_of(m.geom_solimp[k]),
        float(m.geom_margin[k]),
    )


def of_pair(m: Any, k: int) -> SurfaceNumbers:  # noqa: ANN401
    """Return the numbers of a <pair>, whose sliding friction is that along its first axis."""
    friction = m.pair_friction[k]
    return SurfaceNumbers(
        int(m.pair_dim[k]),
        (float(friction[0]), float(friction[2]), float(friction[3])),
        _pair_of(m.pair_solref[k]),
        _five_of(m.pair_solimp[k]),
        float(m.pair_margin[k]),
    )


def mixed(m: Any, a: int, b: int) -> SurfaceNumbers:  # noqa: ANN401
    """Return the numbers of the contact of two geoms, as MuJoCo combines them.

    Margins are added. The other numbers are those of the geom with the higher priority, otherwise the larger friction
    and contact dimension, and the means of solref and solimp weighted by solmix; negative solref give the smaller ones.
    """
    first, second = of_geom(m, a), of_geom(m, b)
    margin = first.margin + second.margin
    if m.geom_priority[a] != m.geom_priority[b]:
        higher = first if m.geom_priority[a] > m.geom_priority[b] else second
        return SurfaceNumbers(higher.condim, higher.friction, higher.solref, higher.solimp, margin)
    weight = _weight(float(m.geom_solmix[a]), float(m.geom_solmix[b]))
    ref = np.array([first.solref, second.solref])
    mean = weight * ref[0] + (1 - weight) * ref[1]
    imp = weight * np.array(first.solimp) + (1 - weight) * np.array(second.solimp)
    slide, spin, roll = map(max, first.friction, second.friction)
    return SurfaceNumbers(
        max(first.condim, second.condim),
        (slide, spin, roll),
        _pair_of(mean if (ref[:, 0] > 0).all() else ref.min(axis=0)),
        _five_of(imp),
        margin,
    )


def _weight(a: float, b: float) -> float:
    if a >= MINIMUM and b >= MINIMUM:
        return a / (a + b)
    if a < MINIMUM and b < MINIMUM:
        return 0.5
    return 0.0 if a < MINIMUM else 1.0


def _pair_of(values: Array) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _five_of(values: Array) -> tuple[float, float, float, float, float]:
    low, high, width, middle, power = map(float, values)
    return _inside(low), _inside(high), max(width, 0.0), _inside(middle), max(power, 1.0)


def _inside(value: float) -> float:
    """Return a share in the range to which MuJoCo limits it."""
    return min(max(value, LEAST_SHARE), 1 - LEAST_SHARE)


LEAST_TIME = 1e-15  # [s] MuJoCo's mjMINVAL, by which it does not divide by a damping ratio of 0


@lru_cache(maxsize=1024)  # most geoms of a model have the same numbers
def depth_at_rest(numbers: SurfaceNumbers, gravity: float, least_time: float = 0.0) -> float:
    """Return the depth [m] of a body at rest in gravity [m/s²], which does not depend on its mass.

    `least_time` [s] is the shortest time constant that MuJoCo allows, two of its steps.
    """
    g = gravity or STANDARD_GRAVITY
    d_max = numbers.solimp[1]
    s = numbers.solref
    time = max(d_max * max(s[0], least_time) * s[1], LEAST_TIME)
    k = 1 / time**2 if s[0] > 0 else -s[0] / d_max**2
    low, high = 0.0, g / max(k, 1e-9) * (1 / min(numbers.solimp[:2]) ** 2)
    for _ in range(200):
        x = (low + high) / 2
        d = impedance(numbers.solimp, x)
        low, high = (low, x) if d * d * k * x > (1 - d) * g else (x, high)
    return high


def impedance(solimp: tuple[float, float, float, float, float], x: float) -> float:
    """Return d(x): from the first number at depth 0 to the second at the width, by a sigmoid of two powers."""
    d_0, d_width, width, middle, power = solimp
    if width <= MINIMUM:
        return (d_0 + d_width) / 2
    y = min(abs(x) / width, 1.0)
    if y <= middle:
        share = y**power / middle ** (power - 1) if power > 1 else y
    else:
        share = 1 - (1 - y) ** power / (1 - middle) ** (power - 1) if power > 1 else y
    return d_0 + share * (d_width - d_0)


def restitution(numbers: SurfaceNumbers) -> float:
    """Return the speed after an impact relative to that before [Schwager and Pöschel 2007, eq. 21]."""
    s = numbers.solref
    ratio = s[1] if s[0] > 0 else -s[1] / (2 * math.sqrt(-s[0])) if s[0] < 0 else 1.0
    if ratio <= 0:
        return 1.0
    if ratio >= 1 - 1e-9:
        if ratio < 1 + 1e-9:
            return math.exp(-2.0)
        root = math.sqrt(ratio**2 - 1)
        return math.exp(-ratio / root * math.log((ratio + root) / (ratio - root)))
    root = math.sqrt(1 - ratio**2)
    return math.exp(-ratio / root * (math.pi - math.atan2(2 * ratio * root, 1 - 2 * ratio**2)))
