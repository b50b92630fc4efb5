"""Derivatives of any function of (q, v, a) by central differences of sixth order, q along a tangent.

With steps of 4e-3 the stencil's own error and the rounding of the function are both near 1e-11 of the largest entry.
"""

from __future__ import annotations

import numpy as np

STEP = 4e-3
STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


def along(function, n):
    """Return the columns d function(x e_k)/dx at 0."""
    columns = []
    for e in np.eye(n):
        column = 0
        for k, weight in STENCIL:
            forth, back = function(k * STEP * e), function(-k * STEP * e)
            column = column + weight / STEP * (np.asarray(forth) - np.asarray(back))
        columns.append(column)
    return np.stack(columns, axis=-1)


def time_derivative(model, q, v, function, h=1e-3):
    """Return d/dt of a function of q for motion with velocity v."""
    at = {s: function(model.integrate(q, s * h * v)) for k, _ in STENCIL for s in (-k, k)}
    return sum(weight * (at[k] - at[-k]) for k, weight in STENCIL) / h


def derivatives(function, integrate, q, v, x):
    """Return (∂/∂q, ∂/∂v, ∂/∂x) of function(q, v, x)."""
    n = len(v)
    return (
        along(lambda d: function(integrate(q, d), v, x), n),
        along(lambda d: function(q, v + d, x), n),
        along(lambda d: function(q, v, x + d), n),
    )
