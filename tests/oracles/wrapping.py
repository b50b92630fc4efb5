"""Shortest paths over a sphere, a cylinder, an ellipsoid or a torus, or through the inside, in plain NumPy and SciPy.

Both directions round a sphere or cylinder are computed [Garner and Pandy 2000]; the shorter one is taken, or the one
that does not cross the ray opposite to a named side. A path through the inside is the shortest one of those that bend
at a point of the surface.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize, minimize_scalar, root

from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Length = Callable[[Array, Array], float]


def around_circle(
    a: Array, b: Array, r: float, side: Array | None
) -> tuple[float, float, float] | None:
    """Return the straight parts and the arc of the path from a to b (2,) around a circle; None where it is straight."""
    candidates = []
    at_a, at_b = np.arctan2(a[1], a[0]), np.arctan2(b[1], b[0])
    tangents = np.arccos(r / np.linalg.norm(a)) + np.arccos(r / np.linalg.norm(b))
    straight = float(np.sqrt(a @ a - r * r)), float(np.sqrt(b @ b - r * r))
    for sense in (1.0, -1.0):
        between = sense * (at_b - at_a) % (2 * np.pi)
        if side is not None and np.linalg.norm(side) > 0:
            opposite = np.arctan2(-side[1], -side[0])
            if sense * (opposite - at_a) % (2 * np.pi) < between:
                continue
        arc = max(
            float(r * (between - tangents)), 0.0
        )  # 0 where the straight line misses the circle
        candidates.append((sum(straight) + arc if arc else -1.0, (*straight, arc)))
    best = min(candidates)[1]
    return best if best[2] > 0 else None


def over_cylinder(a: Array, b: Array, r: float, side: Array | None = None) -> float:
    """Return the length of the path from a to b (3,) over a cylinder about z."""
    parts = around_circle(a[:2], b[:2], r, None if side is None else side[:2])
    return float(np.linalg.norm(b - a) if parts is None else np.hypot(sum(parts), b[2] - a[2]))


def over_sphere(a: Array, b: Array, r: float, side: Array | None = None) -> float:
    """Return the length of the path from a to b (3,) over a sphere about the origin."""
    x = a / np.linalg.norm(a)
    y = b - (b @ x) * x
    y /= np.linalg.norm(y)
    flat = [np.array([p @ x, p @ y]) for p in (a, b)]
    parts = around_circle(
        flat[0], flat[1], r, None if side is None else np.array([side @ x, side @ y])
    )
    return float(np.linalg.norm(b - a) if parts is None else sum(parts))


def through_circle(a: Array, b: Array, r: float) -> float | None:
    """Return the length of the path from a to b (2,) that bends at a circle; None where it passes through it."""
    d = b - a
    nearest = a + np.clip(-(a @ d) / (d @ d), 0, 1) * d
    if np.linalg.norm(nearest) <= r or min(np.linalg.norm(a), np.linalg.norm(b)) <= r:
        return None
    toward = np.arctan2(nearest[1], nearest[0])

    def length(angle: float) -> float:
        P = r * np.array([np.cos(angle), np.sin(angle)])
        return float(np.linalg.norm(a - P) + np.linalg.norm(b - P))

    limits = (toward - np.pi / 2, toward + np.pi / 2)
    found = minimize_scalar(length, bounds=limits, method="bounded", options={"xatol": 1e-12})
    return float(found.fun)


def through_cylinder(a: Array, b: Array, r: float) -> float:
    """Return the length of the path from a to b (3,) through a cylinder about z."""
    planar = through_circle(a[:2], b[:2], r)
    return float(np.linalg.norm(b - a) if planar is None else np.hypot(planar, b[2] - a[2]))


def through_sphere(a: Array, b: Array, r: float) -> float:
    """Return the length of the path from a to b (3,) through a sphere about the origin."""
    x = a / np.linalg.norm(a)
    y = b - (b @ x) * x
    y /= np.linalg.norm(y)
    flat = [np.array([p @ x, p @ y]) for p in (a, b)]
    length = through_circle(flat[0], flat[1], r)
    return float(np.linalg.norm(b - a)) if length is None else length


def over_ellipsoid(a: Array, b: Array, radii: Array, side: Array | None = None) -> float:
    """Return the length of the path from a to b (3,) over an ellipsoid about the axes; the shortest without a side."""
    if side is not None:
        return stationary_over_ellipsoid(a, b, radii, side)
    x = a / radii
    across = b / radii - (b / radii @ x) / (x @ x) * x
    sides = [sign * radii * across for sign in (1.0, -1.0)]
    return min(stationary_over_ellipsoid(a, b, radii, s, tight=True) for s in sides)


def stationary_over_ellipsoid(
    a: Array, b: Array, radii: Array, side: Array, *, tight: bool = False
) -> float:
    """Return the length of a path from a to b (3,) over an ellipsoid that is stationary, on a side.

    A chain of points outside the ellipsoid is pulled tight; then the equations of a geodesic that begins and ends on
    tangents through a and b are integrated and solved from there. On the longer side, which a tight chain leaves, they
    are solved from the section through the centre.
    """
    chain, is_longer = section_chain(a, b, radii, side)
    if tight or not is_longer:
        chain = tight_chain(a, b, radii, chain)
        chain = chain[np.linalg.norm(chain / radii, axis=1) < 1 + 1e-9]
    if not len(chain):
        return float(np.linalg.norm(b - a))
    second = 1 / radii**2

    def shoot(unknowns: Array) -> tuple[Array, float]:
        P, s = unknowns[:3], unknowns[3]
        t = (P - a) / np.linalg.norm(P - a)

        def rate(_: float, y: Array) -> Array:
            x, v = y[:3], y[3:]
            slope = second * x
            return np.concatenate([v, -(v @ (second * v)) / (slope @ slope) * slope])

        end = solve_ivp(
            rate, (0, 1), np.concatenate([P, s * t]), method="DOP853", rtol=1e-13, atol=1e-13
        ).y[:, -1]
        Q, T = end[:3], end[3:] / np.linalg.norm(end[3:])
        miss = np.cross(b - Q, T)
        N = second * Q / np.linalg.norm(second * Q)
        across = np.array(
            [P @ (second * P) - 1, P @ (second * a) - 1, miss @ N, miss @ np.cross(N, T)]
        )
        return across, float(np.linalg.norm(P - a) + s + np.linalg.norm(b - Q))

    arc = float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())
    start = np.append(chain[0], max(arc, 0.02 * radii.min()))
    found = root(lambda x: shoot(x)[0], start, tol=1e-13)
    return shoot(found.x)[1]


def section_chain(
    a: Array, b: Array, radii: Array, side: Array | None, count: int = 60
) -> tuple[Array, bool]:
    """Return points (count, 3) on an ellipsoid along its section through the centre, and whether on the longer side."""
    A, B = a / radii, b / radii
    x = A / np.linalg.norm(A)
    y = B - (B @ x) * x
    y /= np.linalg.norm(y)
    angle, is_longer = np.arctan2(B @ y, B @ x), False
    if side is not None and np.linalg.norm(side) > 0:
        opposite = np.arctan2(-(side / radii) @ y, -(side / radii) @ x) % (2 * np.pi)
        if opposite < angle:
            angle, y, is_longer = 2 * np.pi - angle, -y, True
    first, last = np.arccos(1 / np.linalg.norm(A)), angle - np.arccos(1 / np.linalg.norm(B))
    if is_longer and last <= first:
        return np.empty((0, 3)), is_longer
    angles = np.linspace(first, last, count) if last > first else np.full(count, 0.5 * angle)
    return (np.outer(np.cos(angles), x) + np.outer(np.sin(angles), y)) * radii, is_longer


def tight_chain(a: Array, b: Array, radii: Array, chain: Array) -> Array:
    """Return a chain of points (n, 3) from a to b, pulled tight outside an ellipsoid."""

    def outside(points: Array) -> Array:
        return points / np.minimum(np.linalg.norm(points / radii, axis=1), 1.0)[:, None]

    return pulled_tight(a, b, chain, outside)


def pulled_tight(a: Array, b: Array, chain: Array, outside: Callable[[Array], Array]) -> Array:
    """Return a chain of points (n, 3) from a to b, pulled tight; `outside` moves points out of obstacles."""
    for _ in range(4000):
        whole = np.concatenate([a[None], chain, b[None]])
        chain = outside(0.5 * (whole[:-2] + whole[2:]))
    return chain


def out_of_torus(points: Array, R: float, r: float) -> Array:
    """Return points (n, 3), those inside of a torus moved to its surface."""
    rho = np.maximum(np.linalg.norm(points[:, :2], axis=1), 1e-300)
    middle = points * np.array([1, 1, 0]) * (R / rho)[:, None]
    away = points - middle
    return np.asarray(middle + away / np.minimum(np.linalg.norm(away, axis=1) / r, 1.0)[:, None])


def through_torus(a: Array, b: Array, R: float, r: float) -> float:
    """Return the length of the path from a to b (3,) through the hole of a torus about z.

    a and b are on different sides of its plane. A chain through the centre is pulled tight; then the equations of a
    geodesic of the surface (√(x² + y²) − R)² + z² = r² that begins and ends on tangents through a and b are solved
    from there.
    """
    line = a + np.linspace(0, 1, 20001)[:, None] * (b - a)
    place = a - a[2] / (b[2] - a[2]) * (b - a)
    clear = np.hypot(np.linalg.norm(line[:, :2], axis=1) - R, line[:, 2]).min() > r
    if clear and np.hypot(place[0], place[1]) < R:
        return float(np.linalg.norm(b - a))
    half = np.linspace(0, 1, 80)[:, None]
    chain = pulled_tight(
        a, b, np.concatenate([a + half * -a, half * b]), lambda x: out_of_torus(x, R, r)
    )
    off = np.hypot(np.linalg.norm(chain[:, :2], axis=1) - R, chain[:, 2])
    chain = chain[off < max(r * (1 + 1e-9), off.min())] if off.min() < r else chain[[off.argmin()]]

    def normal(x: Array) -> Array:
        rho = np.linalg.norm(x[:2])
        slope = np.array([(rho - R) * x[0] / rho, (rho - R) * x[1] / rho, x[2]])
        return np.asarray(slope / np.linalg.norm(slope))

    def rate(_: float, y: Array) -> Array:
        x, v = y[:3], y[3:]
        rho = np.linalg.norm(x[:2])
        out, across = (x[:2] @ v[:2]) / rho, (x[0] * v[1] - x[1] * v[0]) / rho
        bow = out**2 + (rho - R) / rho * across**2 + v[2] ** 2
        return np.concatenate([v, -bow / np.hypot(rho - R, x[2]) * normal(x)])

    def shoot(unknowns: Array) -> tuple[Array, float]:
        P, s = unknowns[:3], unknowns[3]
        t = (P - a) / np.linalg.norm(P - a)
        start = np.concatenate([P, s * t])
        end = solve_ivp(rate, (0, 1), start, method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
        Q, T = end[:3], end[3:] / np.linalg.norm(end[3:])
        miss, N = np.cross(b - Q, T), normal(Q)
        touch = np.hypot(np.linalg.norm(P[:2]) - R, P[2]) / r - 1
        across = np.array([touch, normal(P) @ (a - P), miss @ N, miss @ np.cross(N, T)])
        return across, float(np.linalg.norm(P - a) + s + np.linalg.norm(b - Q))

    arc = float(np.linalg.norm(np.diff(chain, axis=0), axis=1).sum())
    found = root(lambda x: shoot(x)[0], np.append(chain[0], max(arc, 0.02 * r)), tol=1e-13)
    return shoot(found.x)[1]


def over_several(a: Array, b: Array, lengths: Sequence[Length], junctions: Array) -> float:
    """Return the length of the path from a to b (3,) over obstacles, one after the other.

    Args:
        a: start.
        b: end.
        lengths: of the paths over each obstacle between two points.
        junctions: (n − 1, 3) points beside the straight parts between the obstacles; the path is a minimum near
            them, in the planes across the line from one to the next.
    """
    whole = np.concatenate([a[None], junctions, b[None]])
    planes = []
    for before, after in zip(whole[:-2], whole[2:], strict=True):
        u = (after - before) / np.linalg.norm(after - before)
        first = np.cross(u, np.eye(3)[np.argmin(np.abs(u))])
        first /= np.linalg.norm(first)
        planes.append(np.stack([first, np.cross(u, first)]))

    def length(y: Array) -> float:
        moved = [c + p @ E for c, p, E in zip(junctions, y.reshape(-1, 2), planes, strict=True)]
        ends = [a, *moved, b]
        return sum(own(p, q) for own, (p, q) in zip(lengths, pairwise(ends), strict=True))

    # Differences give slopes to 1e-8; one of g leaves g² / 2 of the curvature in the length, far below 1e-9.
    found = minimize(length, np.zeros(2 * len(junctions)), method="BFGS", options={"gtol": 1e-6})
    return float(found.fun)
