"""Twist of a product of displacements, computed factor by factor with far fewer operations than Rᵀ Ṙ of the product.

    X = X_1 … X_n      V_k = Ad(X_k⁻¹) V_{k−1} + (X_k⁻¹ Ẋ_k)∨,  V_0 = 0      [Lynch, Park 2017, ch. 5.1.2]

With X_k = (R, p):  v' = Rᵀ (v + ω × p + ṗ),  ω' = Rᵀ ω + (Rᵀ Ṙ)∨,  where (Rᵀ Ṙ)∨ = a φ̇ for a rotation by φ about a
fixed axis a.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.tracing.expression import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.joints.displacement import Factor
    from pysim.tracing.derivative import Derivative


def chain_twist(factors: Sequence[Factor], derivative: Derivative) -> list[Any]:
    """Return the body twist [v; ω] (6) of a product of factors, given the derivatives of their numbers."""

    def rate(x: Any) -> Any:
        return Scalar(x.tape, derivative.of(x.index)) if isinstance(x, Scalar) else 0.0

    v: list[Any] = [0.0] * 3
    w: list[Any] = [0.0] * 3
    for factor in factors:
        R, p = factor.rotation, factor.p
        moved = [a + b + rate(c) for a, b, c in zip(v, _cross(w, p), p, strict=True)]
        v = _transposed_times(R, moved)
        spin = _spin(factor, rate)
        w = [a + b for a, b in zip(_transposed_times(R, w), spin, strict=True)]
    return [*v, *w]


def _spin(factor: Factor, rate: Callable[[Any], Any]) -> list[Any]:
    """Return (Rᵀ Ṙ)∨."""
    if factor.axis_angle is not None:
        axis, angle = factor.axis_angle
        return [a * rate(angle) for a in axis]
    R = factor.rotation
    columns = [[row[j] for row in R] for j in range(3)]
    rates = [[rate(x) for x in column] for column in columns]
    return [_dot(columns[2], rates[1]), _dot(columns[0], rates[2]), _dot(columns[1], rates[0])]


def _transposed_times(R: Sequence[Sequence[Any]], a: Sequence[Any]) -> list[Any]:
    return [_dot([row[j] for row in R], a) for j in range(3)]


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
