"""Limits and start of a joint plugin, checked, and the states at which its invariants are probed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError, did_you_mean
from pysim.tracing.author_code import call, method_place
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.joints.coordinates import Coordinate, Coordinates
    from pysim.joints.plugin import Joint

REACH = {"rad": np.pi, "m": 1.0}  # [rad or m] either side of zero, without limits
STATES_ALONG = 17  # states along each coordinate
ANYWHERE = 24  # random states
UNIT = 1e-6  # tolerance on the norm of a quaternion


def limits_of(joint: Joint) -> dict[str, tuple[float, float]]:
    """Return the limits [rad or m] from a joint's `limits`, by coordinate.

    Raises:
        JointError: a coordinate is unknown, a limit is not a pair of numbers, or lower is not below upper.
    """
    given = _table(joint, "limits")
    limits: dict[str, tuple[float, float]] = {}
    for part in joint.coordinates.parts:
        if part.name not in given:
            continue
        if part.group != "real":
            problem = f"limits {part.name!r}, a {part.group}; only real coordinates have limits"
            raise JointError(method_place(joint, "limits"), problem)
        limits[part.name] = _pair(joint, part, given[part.name])
    return limits


def _pair(joint: Joint, part: Coordinate, given: Any) -> tuple[float, float]:
    where = method_place(joint, "limits")
    try:
        lower, upper = (float(x) for x in given)
    except (TypeError, ValueError):
        problem = f"must give {part.name!r} a pair of numbers [{part.unit}], got {given!r}"
        raise JointError(where, problem) from None
    if not lower < upper:
        problem = f"lower limit of {part.name!r} must be below the upper, got {lower:g} and {upper:g} [{part.unit}]"
        raise JointError(where, problem)
    return lower, upper


def start_of(joint: Joint) -> Array:
    """Return the start of a joint (nq,): its `start`, else zeros clipped to the limits and identity rotations.

    Raises:
        JointError: a coordinate is unknown, its numbers are of a wrong count, NaN or infinite, or not a unit
            quaternion.
    """
    q = np.array(joint.coordinates.neutral())
    start, limits = _table(joint, "start"), limits_of(joint)
    for part, at, _ in joint.coordinates.offsets():
        if part.name in start:
            q[at : at + part.nq] = _start_numbers(joint, part, start[part.name])
        elif part.name in limits:
            q[at] = np.clip(q[at], *limits[part.name])
    return q


def _start_numbers(joint: Joint, part: Coordinate, given: Any) -> Array:
    where = method_place(joint, "start")
    try:
        numbers = np.atleast_1d(np.asarray(given, float))
    except (TypeError, ValueError):
        numbers = np.full(0, np.nan)
    if numbers.shape != (part.nq,) or not np.isfinite(numbers).all():
        what = "a finite number" if part.nq == 1 else f"{part.nq} finite numbers"
        raise JointError(where, f"must give {part.name!r} {what}, got {given!r}")
    if part.group != "real":
        length = float(np.linalg.norm(numbers[-4:]))
        if abs(length - 1) > UNIT:
            problem = f"gives {part.name!r} a quaternion (x, y, z, w) of length {length:.7g}; it must be 1"
            raise JointError(where, problem)
        numbers[-4:] /= length
    return numbers


def _table(joint: Joint, method: str) -> Mapping[str, Any]:
    """Return the result of `limits` or `start`, whose names must be coordinates."""
    given = call(joint, method)
    where = method_place(joint, method)
    if not isinstance(given, dict):
        kind = type(given).__name__
        raise JointError(where, f"must return a dict by coordinate, got a {kind}")
    names = [part.name for part in joint.coordinates.parts]
    for name in given:
        if name not in names:
            raise JointError(where, f"there is no coordinate {name!r}{did_you_mean(name, names)}")
    return given


def bounds(coordinates: Coordinates, limits: Mapping[str, tuple[float, float]]) -> Array:
    """Return the lower and upper bounds (2, nv) [rad or m] of the probed range of every coordinate."""
    ends = np.tile([[-1.0], [1.0]], coordinates.nv)
    for part, _, at in coordinates.offsets():
        if part.group == "real":
            ends[:, at] = _interval(part, *limits.get(part.name, (-np.inf, np.inf)))
    return ends


def _interval(part: Coordinate, lower: float, upper: float) -> tuple[float, float]:
    reach = REACH[part.unit]
    if not np.isfinite(lower):
        lower = -reach if upper > -reach else upper - 2 * reach
    if not np.isfinite(upper):
        upper = reach if lower < reach else lower + 2 * reach
    return lower, upper


def probes(
    coordinates: Coordinates, ends: Array, start: Array, rng: np.random.Generator, anywhere: int
) -> Array:
    """Return states (n, nq): the start, points along each coordinate, every corner of the limits, random states."""
    real = [(at, at_v) for part, at, at_v in coordinates.offsets() if part.group == "real"]
    states = [start]
    for at, at_v in real:
        walk = np.tile(start, (STATES_ALONG, 1))
        walk[:, at] = np.linspace(ends[0, at_v], ends[1, at_v], STATES_ALONG)
        states += list(walk)
    if 1 < len(real) <= 4:
        for corner in itertools.product((0, 1), repeat=len(real)):
            q = start.copy()
            for side, (at, at_v) in zip(corner, real, strict=True):
                q[at] = ends[side, at_v]
            states.append(q)
    states += [random_state(coordinates, ends, rng) for _ in range(anywhere)]
    return np.array(states)


def random_state(coordinates: Coordinates, ends: Array, rng: np.random.Generator) -> Array:
    """Return a random state (nq,): real coordinates uniform between the bounds, rotations uniform."""
    q = np.empty(coordinates.nq)
    for part, at, at_v in coordinates.offsets():
        if part.group == "real":
            q[at] = rng.uniform(*ends[:, at_v])
            continue
        turn = rng.standard_normal(4)
        q[at : at + part.nq - 4] = rng.uniform(-1, 1, part.nq - 4)
        q[at + part.nq - 4 : at + part.nq] = turn / np.linalg.norm(turn)
    return q


def describe_state(coordinates: Coordinates, q: Array) -> str:
    """Return a state as text: `flexion = 0.3 rad, slide = 0.1 m`."""
    words = []
    for part, at, _ in coordinates.offsets():
        own = q[at : at + part.nq]
        if part.group == "real":
            words.append(f"{part.name} = {own[0]:.6g} {part.unit}")
        else:
            words.append(f"{part.name} = ({', '.join(f'{x:.4g}' for x in own)})")
    return ", ".join(words)
