"""The groups SO(3) and SE(3): exponentials, Jacobians, and their actions on twists, wrenches and points.

The shape of the last axes selects the group: rotations are (…, 3, 3) with vectors (…, 3) [rad]; displacements X_AB,
mapping B coordinates to A, are (…, 4, 4) with twists (…, 6) = [v; ω] [m, rad]. Leading axes are batches and broadcast.

    d exp(x) = exp(x) [J_r(x) dx] = [J_l(x) dx] exp(x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import PysimError
from pysim.spatial.arrays import (
    check_last_row,
    checked,
    checked_element,
    checked_pose,
    checked_record,
    checked_rotation,
    leading,
    map_pairs,
    map_rows,
    tolerance,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.spatial.arrays import Array


def pose(R: ArrayLike, p: ArrayLike) -> Array:
    """Return the displacement (…, 4, 4) of a rotation (…, 3, 3) and a position (…, 3) [m]."""
    rotation, position = checked_rotation(R), checked(p, "p", (3,), unit="m")
    leading(rotation, 2, "R", position, 1, "p")
    batch = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    X = np.zeros((*batch, 4, 4), np.result_type(rotation, position))
    X[..., :3, :3], X[..., :3, 3], X[..., 3, 3] = rotation, position, 1
    return X


def compose(A: ArrayLike, B: ArrayLike) -> Array:
    """Return A B, for X_AC = X_AB X_BC: two rotations or two displacements."""
    a = checked_element(A, "A")
    b = checked_rotation(B, "B") if a.shape[-1] == 3 else checked_pose(B, "B")
    leading(a, 2, "A", b, 2, "B")
    product: Array = a @ b
    return product


def inverse(X: ArrayLike) -> Array:
    """Return X⁻¹ of a rotation, Rᵀ, or a displacement, [Rᵀ, −Rᵀp]."""
    x = checked_element(X)
    if x.shape[-1] == 3:
        return np.swapaxes(x, -1, -2).copy()
    y = x.copy()
    y[..., :3, :3] = np.swapaxes(x[..., :3, :3], -1, -2)
    y[..., :3, 3] = -(y[..., :3, :3] @ x[..., :3, 3:])[..., 0]
    return y


def exp(x: ArrayLike) -> Array:
    """Return the rotation of a rotation vector (…, 3) [rad] or the displacement of a twist (…, 6)."""
    a = _algebra(x)
    return (
        map_rows("so3_exp", a, 1, (3, 3)) if a.shape[-1] == 3 else map_rows("se3_exp", a, 1, (4, 4))
    )


def log(X: ArrayLike) -> Array:
    """Return the shortest x with exp(x) = X; its angle is at most π."""
    a = checked_element(X)
    return map_rows("so3_log", a, 2, (3,)) if a.shape[-1] == 3 else map_rows("se3_log", a, 2, (6,))


def left_jacobian(x: ArrayLike) -> Array:
    """Return J_l(x) (…, 3, 3) or (…, 6, 6): exp(x + dx) = exp(J_l dx) exp(x) to first order."""
    return _jacobian("left_jacobian", _algebra(x))


def right_jacobian(x: ArrayLike) -> Array:
    """Return J_r(x) = J_l(−x): exp(x + dx) = exp(x) exp(J_r dx) to first order."""
    return _jacobian("left_jacobian", -_algebra(x))


def left_jacobian_inverse(x: ArrayLike) -> Array:
    """Return J_l⁻¹(x), which does not exist at angles that are nonzero multiples of 2π."""
    return _jacobian("left_jacobian_inverse", _algebra(x))


def right_jacobian_inverse(x: ArrayLike) -> Array:
    """Return J_r⁻¹(x): x moves at rate J_r⁻¹ V while exp(x) moves with the body twist V."""
    return _jacobian("left_jacobian_inverse", -_algebra(x))


def Ad(X: ArrayLike) -> Array:  # noqa: N802, the field's name
    """Return the matrix that maps twists of B to A: [[R, p× R], [0, R]], or R of a rotation."""
    x = checked_element(X)
    if x.shape[-1] == 3:
        return x.copy()
    return _blocks(x[..., :3, :3], upper=skew(x[..., :3, 3]) @ x[..., :3, :3])


def Ad_star(X: ArrayLike) -> Array:  # noqa: N802
    """Return the matrix that maps wrenches of B to A: Ad⁻ᵀ = [[R, 0], [p× R, R]], or R of a rotation."""
    x = checked_element(X)
    if x.shape[-1] == 3:
        return x.copy()
    return _blocks(x[..., :3, :3], lower=skew(x[..., :3, 3]) @ x[..., :3, :3])


def ad(x: ArrayLike) -> Array:
    """Return the matrix of twist × twist: [[ω×, v×], [0, ω×]], or φ× of a rotation vector."""
    a = _algebra(x)
    return skew(a) if a.shape[-1] == 3 else _blocks(skew(a[..., 3:]), upper=skew(a[..., :3]))


def ad_star(x: ArrayLike) -> Array:
    """Return the matrix of twist × wrench: −adᵀ = [[ω×, 0], [v×, ω×]], or φ× of a rotation vector."""
    a = _algebra(x)
    return skew(a) if a.shape[-1] == 3 else _blocks(skew(a[..., 3:]), lower=skew(a[..., :3]))


def act_on_twist(X: ArrayLike, V: ArrayLike) -> Array:
    """Return V_A = Ad(X_AB) V_B = [R v + p × R ω; R ω]  [m/s, rad/s].

    X is (…, 4, 4), or the engine's record (…, 12): rotation column-major, then position. One twist takes 24
    multiplications and 18 additions.
    """
    return _acted("act_on_twist", checked_record(X), checked(V, "V", (6,)), "X", "V")


def act_on_wrench(X: ArrayLike, F: ArrayLike) -> Array:
    """Return F_A = Ad*(X_AB) F_B = [R f; R τ + p × R f]  [N, N·m]; X as in `act_on_twist`."""
    return _acted("act_on_wrench", checked_record(X), checked(F, "F", (6,)), "X", "F")


def cross_twist(V: ArrayLike, A: ArrayLike) -> Array:
    """Return ad(V) A = [ω × a + v × α; ω × α] of two twists (…, 6): Ȧ if A is fixed in a frame moving with V."""
    return _acted("twist_cross_twist", checked(V, "V", (6,)), checked(A, "A", (6,)), "V", "A")


def cross_wrench(V: ArrayLike, F: ArrayLike) -> Array:
    """Return ad*(V) F = [ω × f; ω × τ + v × f] of a twist and a wrench (…, 6): Ḟ, F fixed in a frame moving with V."""
    return _acted("twist_cross_wrench", checked(V, "V", (6,)), checked(F, "F", (6,)), "V", "F")


def power(V: ArrayLike, F: ArrayLike) -> Array:
    """Return the power v·f + ω·τ (…) [W] of a wrench F (…, 6) on a body that moves with the twist V (…, 6)."""
    return _acted("twist_dot_wrench", checked(V, "V", (6,)), checked(F, "F", (6,)), "V", "F")[
        ..., 0
    ]


def act_on_point(X: ArrayLike, p: ArrayLike) -> Array:
    """Return p_A = R p_B + p of a displacement, R p_B of a rotation  [m]."""
    x, point = checked_element(X), checked(p, "p", (3,), unit="m")
    leading(x, 2, "X", point, 1, "p")
    turned: Array = (x[..., :3, :3] @ point[..., None])[..., 0]
    return turned + x[..., :3, 3] if x.shape[-1] == 4 else turned


def skew(a: ArrayLike) -> Array:
    """Return the matrix a× (…, 3, 3) of a vector (…, 3), for (a×) b = a × b."""
    v = checked(a, "a", (3,))
    A = np.zeros((*v.shape, 3), v.dtype)
    A[..., 2, 1], A[..., 0, 2], A[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    return A - np.swapaxes(A, -1, -2)


def hat(x: ArrayLike) -> Array:
    """Return the element of the algebra: φ× (…, 3, 3), or [[ω×, v], [0, 0]] (…, 4, 4) of a twist."""
    a = _algebra(x)
    if a.shape[-1] == 3:
        return skew(a)
    A = np.zeros((*a.shape[:-1], 4, 4), a.dtype)
    A[..., :3, :3], A[..., :3, 3] = skew(a[..., 3:]), a[..., :3]
    return A


def vee(A: ArrayLike) -> Array:
    """Return x (…, 3) or (…, 6) with hat(x) = A; PysimError if A is not an element of the algebra."""
    a = checked(A, "A", (3, 3), (4, 4))
    W = a[..., :3, :3]
    off = abs(W + np.swapaxes(W, -1, -2)).max((-1, -2), initial=0)
    if (off > tolerance(a) * abs(W).max((-1, -2), initial=0)).any():
        raise PysimError("A", f"must be antisymmetric, A + Aᵀ reaches {off.max():.3g}")
    if a.shape[-1] == 4:
        check_last_row(a, "A", (0, 0, 0, 0))
    w = 0.5 * np.stack([W[..., j, i] - W[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)
    return w if a.shape[-1] == 3 else np.concatenate([a[..., :3, 3], w], axis=-1)


def _algebra(x: ArrayLike) -> Array:
    return checked(x, "x", (3,), (6,))


def _jacobian(function: str, x: Array) -> Array:
    n = x.shape[-1]
    return map_rows(f"so3_{function}" if n == 3 else f"se3_{function}", x, 1, (n, n))


def _blocks(diagonal: Array, upper: Array | None = None, lower: Array | None = None) -> Array:
    """Return a 6×6 matrix with one block twice on its diagonal and another above or below it."""
    M = np.zeros((*diagonal.shape[:-2], 6, 6), diagonal.dtype)
    M[..., :3, :3] = M[..., 3:, 3:] = diagonal
    if upper is not None:
        M[..., :3, 3:] = upper
    if lower is not None:
        M[..., 3:, :3] = lower
    return M


def _acted(function: str, a: Array, b: Array, a_name: str, b_name: str) -> Array:
    leading(a, 1, a_name, b, 1, b_name)
    return map_pairs(function, a, b)
