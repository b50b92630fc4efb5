"""Invariants of joints, checked at probed states when a model is loaded and in authors' tests.

finite   pose, S, c and force are finite             rigid   RᵀR = 1, det R = 1
subspace S = (X⁻¹ ∂X/∂v)∨                            bias    c = Ṡ v
rank     S has full rank at the start                alone   a state's result does not depend on the batch
jumps    the pose has none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import JointError
from pysim.joints.callback import CallbackJoint
from pysim.joints.coordinate_ranges import ANYWHERE, bounds, describe_state, probes
from pysim.joints.motion_evaluation import CallbackNumbers, TracedNumbers, method_location
from pysim.joints.pose_continuity import largest_jump
from pysim.tracing.author_code import breaking_line
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pysim.joints.motion_evaluation import MotionNumbers
    from pysim.joints.plugin import Joint
    from pysim.joints.trace import Traced

ROTATION_TOLERANCE = 1e-8  # |RᵀR − 1| of a rotation written with nine digits or more
FULL_RANK = 1e-7  # smallest singular value of S with columns of unit length


@dataclass(frozen=True)
class Fault:
    """Violation of an invariant, and its remedy."""

    law: str
    problem: str
    remedy: str


@dataclass(frozen=True)
class Probe:
    """Numbers of a joint at states q (n, nq), v (n, nv); the first state is the joint's start."""

    numbers: MotionNumbers
    q: Array
    v: Array
    X: Array  # (n, 4, 4)
    S: Array  # (n, 6, nv)
    c: Array  # (n, 6)

    @property
    def at_finite(self) -> NDArray[np.intp]:
        """Indices of the states whose pose and S are finite."""
        good = np.isfinite(self.X).all(axis=(1, 2)) & np.isfinite(self.S).all(axis=(1, 2))
        return np.flatnonzero(good & np.isfinite(self.c).all(axis=1))

    def describe_state(self, k: int) -> str:
        """Return state k in words."""
        return describe_state(self.numbers.joint.coordinates, self.q[k])


def numbers_of(joint: Joint, traced: Traced | None) -> MotionNumbers:
    """Return the evaluation of a joint; a callback joint has no trace."""
    if isinstance(joint, CallbackJoint):
        return CallbackNumbers(joint)
    assert traced is not None
    return TracedNumbers(joint, traced)


def probe(
    numbers: MotionNumbers,
    limits: Mapping[str, tuple[float, float]],
    start: Array,
    anywhere: int = ANYWHERE,
    seed: int = 0,
) -> Probe:
    """Evaluate a joint over the range of its limits."""
    rng = np.random.default_rng(seed)
    coordinates = numbers.joint.coordinates
    q = probes(coordinates, bounds(coordinates, limits), start, rng, anywhere)
    return _asked(numbers, q, rng.normal(size=(len(q), coordinates.nv)))


def _asked(numbers: MotionNumbers, q: Array, v: Array) -> Probe:
    with np.errstate(all="ignore"):
        return Probe(numbers, q, v, numbers.poses(q), numbers.subspace(q), numbers.bias(q, v))


def not_finite(numbers: MotionNumbers, q: Array, v: Array) -> Fault | None:
    """Return the first of the states q (n, nq), v (n, nv) at which a joint has NaN or infinite values, None if none."""
    found = _asked(numbers, q, v)
    return _finite(found) or _force(found)


def faults(found: Probe) -> list[Fault]:
    """Return every invariant that a joint violates."""
    with np.errstate(all="ignore"):
        broken = [fault for law in LAWS.values() if (fault := law(found)) is not None]
    if any(fault.law == "rigid" for fault in broken):  # S and c have no meaning then
        return [fault for fault in broken if fault.remedy != FAULT_OF_PYSIM]
    return broken


def jumps(
    numbers: MotionNumbers, limits: Mapping[str, tuple[float, float]], start: Array
) -> list[Fault]:
    """Return the largest jump of the pose within the limits, if there is one."""
    jump = largest_jump(numbers, bounds(numbers.joint.coordinates, limits), start)
    if jump is None:
        return []
    state, size = jump
    problem = f"its pose is discontinuous at {state}, where it changes by {size:.3g} ({method_location(numbers)})"
    return [
        Fault(
            "jumps", problem, "make placement continuous, or set limits that exclude this position"
        )
    ]


def check_at_load(
    joint: Joint,
    traced: Traced | None,
    limits: Mapping[str, tuple[float, float]],
    start: Array,
    where: str,
    *,
    follows: bool = False,
) -> None:
    """Reject a joint of a model that violates an invariant.

    A joint that follows another may start at a configuration of zero velocity, as a roller on the top of its cam.

    Raises:
        JointError: an invariant is violated; the error gives the first one, the state and the size of the violation.
    """
    numbers = numbers_of(joint, traced)
    broken = faults(probe(numbers, limits, start))
    if traced is not None and traced.may_jump:
        broken += jumps(numbers, limits, start)
    broken = [fault for fault in broken if not (follows and fault.law == "rank")]
    if broken:
        raise JointError(where, f"{broken[0].problem}; {broken[0].remedy}")


def _finite(probed: Probe) -> Fault | None:
    """Check that pose, S and c are finite within the limits."""
    bad = np.setdiff1d(np.arange(len(probed.q)), probed.at_finite)
    if not len(bad):
        return None
    k, numbers = int(bad[0]), probed.numbers
    what = next(
        name
        for name, values in (("pose", probed.X), ("subspace S", probed.S), ("bias c", probed.c))
        if not np.isfinite(values[k]).all()
    )
    problem = (
        f"its {what} is not finite at {probed.describe_state(k)} ({_line(numbers, probed.q[k])})"
    )
    return Fault("finite", problem, "set limits within which it is finite, or fix the formula")


def _line(numbers: MotionNumbers, q: Array) -> str:
    """Return the author's line that computes NaN or infinite values, if it can be found."""
    argument = q[None] if numbers.method == "poses" else numbers.joint.coordinates.named(list(q))
    return breaking_line(numbers.joint, numbers.method, argument)


def _rigid(probed: Probe) -> Fault | None:
    """Check that RᵀR = 1, det R = 1, and the last row is (0, 0, 0, 1)."""
    X = probed.X[probed.at_finite]
    if not len(X):
        return None
    R = X[:, :3, :3]
    error = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
    worst = int(np.argmax(error))
    at = f"at {probed.describe_state(int(probed.at_finite[worst]))} ({method_location(probed.numbers)})"
    if error[worst] > ROTATION_TOLERANCE:
        problem = f"its rotation is not orthonormal, |RᵀR − 1| = {error[worst]:.3g} {at}"
        return Fault("rigid", problem, "make it of Pose.rotate_x, rotate_y, rotate_z and rotate")
    mirrored = np.flatnonzero(np.linalg.det(R) < 0)
    if len(mirrored):
        at = f"at {probed.describe_state(int(probed.at_finite[mirrored[0]]))} ({method_location(probed.numbers)})"
        problem = f"its rotation is a reflection, det R = −1 {at}"
        return Fault("rigid", problem, "reverse one axis")
    below = np.abs(X[:, 3] - [0, 0, 0, 1]).max(axis=1)
    if below.max() > 0:
        row = X[int(np.argmax(below)), 3].tolist()
        problem = f"the last row of its poses must be 0, 0, 0, 1, got {row} ({method_location(probed.numbers)})"
        return Fault("rigid", problem, "start from np.tile(np.eye(4), (len(q), 1, 1))")
    return None


def _subspace(found: Probe) -> Fault | None:
    """Check that S is the derivative of the pose."""
    at = found.at_finite
    other = found.numbers.other_subspace(found.q[at])
    remedy = "fix `subspace`, or leave it out" if _is_authors(found, "subspace") else FAULT_OF_PYSIM
    return _compared(
        found, "subspace", "S", "the derivative of the pose", (found.S[at], other), remedy
    )


def _bias(found: Probe) -> Fault | None:
    """Check that c is the derivative of S along v, times v."""
    at = found.at_finite
    other = found.numbers.other_bias(found.q[at], found.v[at])
    remedy = "fix `bias`, or leave it out" if _is_authors(found, "bias") else FAULT_OF_PYSIM
    return _compared(found, "bias", "c", "the rate of S, times v,", (found.c[at], other), remedy)


FAULT_OF_PYSIM = "the motion is not smooth there, or this is a bug in pysim; please report it"


def _is_authors(found: Probe, method: str) -> bool:
    joint = found.numbers.joint
    return isinstance(joint, CallbackJoint) and getattr(type(joint), method) is not getattr(
        CallbackJoint, method
    )


def _compared(
    probed: Probe, law: str, symbol: str, what: str, pair: tuple[Array, Array], remedy: str
) -> Fault | None:
    if not pair[0].size:
        return None  # no finite state, reported by `finite`
    given, other = (x.reshape(len(x), -1) for x in pair)
    error = np.abs(given - other).max(axis=1) / np.maximum(1.0, np.abs(other).max(axis=1))
    worst = int(np.argmax(np.nan_to_num(error, nan=np.inf)))
    if error[worst] <= probed.numbers.tolerance:
        return None
    state = probed.describe_state(int(probed.at_finite[worst]))
    problem = f"its {symbol} differs from {what} by {error[worst]:.3g} at {state} ({method_location(probed.numbers)})"
    return Fault(law, problem, remedy)


def _rank(probed: Probe) -> Fault | None:
    """Check that S has full rank at the start."""
    coordinates, S = probed.numbers.joint.coordinates, probed.S[0]
    if not np.isfinite(S).all():
        return None  # reported by `finite`
    size = np.linalg.norm(S, axis=0)
    idle = size < FULL_RANK
    directions = np.where(idle, 0, S / np.where(idle, 1, size))
    rank = int(np.sum(np.linalg.svd(directions, compute_uv=False) > FULL_RANK))
    if rank == coordinates.nv:
        return None
    at = f"at the start, {probed.describe_state(0)} ({method_location(probed.numbers)})"
    remedy = "let the joint start elsewhere, or leave the coordinate out"
    if idle.any():
        first = int(np.argmax(idle))
        name = next(p.name for p, _, at_v in coordinates.offsets() if at_v <= first < at_v + p.nv)
        what = f"{name!r} moves nothing"
    else:
        names = ", ".join(part.name for part in coordinates.parts)
        what = f"some of {names} move the child in the same way"
    problem = f"S has rank {rank}, not {coordinates.nv}: {what} {at}"
    return Fault("rank", problem, remedy)


def _force(probed: Probe) -> Fault | None:
    """Check that the passive force is finite."""
    tau = probed.numbers.force(probed.q, probed.v)
    if tau is None or np.isfinite(tau).all():
        return None
    k = int(np.argmin(np.isfinite(tau).all(axis=1)))
    joint = probed.numbers.joint
    coordinates = joint.coordinates
    q, v = coordinates.named(list(probed.q[k])), coordinates.named_velocities(list(probed.v[k]))
    line = breaking_line(joint, "force", q, v)
    problem = f"its force is not finite at {probed.describe_state(k)} ({line})"
    return Fault("force", problem, "set limits within which it is finite, or fix the formula")


def _alone(probed: Probe) -> Fault | None:
    """Check that a callback's result for a state does not depend on the other states of the batch."""
    if not isinstance(probed.numbers.joint, CallbackJoint):
        return None
    for k in (0, len(probed.q) - 1):
        alone = probed.numbers.poses(probed.q[k : k + 1])[0]
        error = np.abs(alone - probed.X[k]).max()
        if error > ROTATION_TOLERANCE:
            problem = (
                f"its pose at {probed.describe_state(k)} differs by {error:.3g} when that state is evaluated alone "
                f"({method_location(probed.numbers)})"
            )
            return Fault("alone", problem, "compute row k from q[k] only, as with q[:, 0]")
    return None


LAWS: dict[str, Callable[[Probe], Fault | None]] = {
    "finite": _finite,
    "rigid": _rigid,
    "alone": _alone,
    "subspace": _subspace,
    "bias": _bias,
    "rank": _rank,
    "force": _force,
}
