"""`pysim.joints.check`: checks of a joint's invariants at random states, for its author's tests.

In addition to the invariants that are checked when a model is loaded (invariants.py):

    jumps    the pose has none                       cover    a quaternion and its negative give one pose
    plain    the trace is `placement` in NumPy       repeats  tracing twice records the same
    folded   the shortened program computes what was recorded, within rounding
    engine   the engine runs what was traced         lowered  the built-in shape moves as the program does
    derivatives   ∂S/∂q, ∂c/∂q and those of the force are finite, and the rates of S, c and f
    group    q ⊕ 0 = q,  (q ⊕ d) ⊖ q = d,  q ⊕ (q' ⊖ q) = q'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import JointError
from pysim.joints import engine_probe
from pysim.joints.callback import CallbackJoint
from pysim.joints.coordinate_ranges import limits_of, start_of
from pysim.joints.derivative_check import derivative_faults
from pysim.joints.invariants import LAWS, Fault, Probe, faults, jumps, numbers_of, probe
from pysim.joints.lowering import Lowered, lower
from pysim.joints.motion_evaluation import TracedNumbers, method_location
from pysim.joints.plugin import Joint
from pysim.joints.trace import trace
from pysim.tracing.author_code import call, defined_at
from pysim.tracing.rounding import values_and_errors
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.joints.displacement import Pose
    from pysim.joints.trace import Traced

ROUNDINGS = 64.0  # bounds of the rounding error
EXACT_TOLERANCE = 1e-10  # for numbers of magnitude 1 that are computed in two ways
MORE_LAWS = ("jumps", "cover", "group")
TRACED_LAWS = ("plain", "folded", "repeats", "derivatives", "engine", "lowered")


@dataclass(frozen=True)
class Report:
    """Summary of a joint that satisfies the invariants."""

    joint: str
    states: int  # probed
    laws: tuple[str, ...]  # kept
    lowered: str | None  # built-in shape that runs in its place
    instructions: int  # of its program; none where it is lowered or a callback

    def __str__(self) -> str:
        if self.lowered:
            runs = f"runs as the built-in {self.lowered}"
        elif self.instructions:
            runs = f"runs as a program of {self.instructions} instructions"
        else:
            runs = "runs in Python"
        return (
            f"{self.joint} satisfies {len(self.laws)} invariants at {self.states} states and {runs}"
        )


def check(joint: Joint, *, seed: int = 0, states: int = 64) -> Report:
    """Check a joint's invariants at its start, along its limits, and at random states within them.

    Args:
        joint: joint with its fields set, as in `MyJoint(lift=0.1)`.
        seed: seed of the random states.
        states: number of random states.

    Raises:
        JointError: the joint cannot be traced, or violates invariants; the error lists them with states and sizes.
    """
    given: object = joint
    if not isinstance(given, Joint):
        raise JointError(
            "pysim.joints.check", f"needs a joint, such as MyJoint(lift=0.1), got {given!r}"
        )
    traced = None if isinstance(joint, CallbackJoint) else trace(joint)
    numbers = numbers_of(joint, traced)
    probed = probe(numbers, limits_of(joint), start_of(joint), states, seed)
    laws = (*LAWS, *MORE_LAWS, *(TRACED_LAWS if traced else ()))
    broken = [*faults(probed), *jumps(numbers, limits_of(joint), probed.q[0]), *_cover(probed)]
    lowered = None if traced is None else lower(traced)
    if traced is not None:
        broken += _traced_faults(probed, traced)
    if not broken:  # the engine's results for an invalid pose have no meaning
        broken += _group(probed, np.random.default_rng(seed))
        broken += [] if traced is None else _engine_faults(probed, traced, lowered)
    if broken:
        lines = "".join(f"\n  {fault.law}: {fault.problem}; {fault.remedy}" for fault in broken)
        cls = type(joint)
        count = f"{len(broken)} of {len(laws)} invariants"
        where = defined_at(getattr(joint, numbers.method))
        raise JointError(where, f"{cls.__qualname__} violates {count}{lines}")
    instructions = 0 if traced is None or lowered else len(traced.program().code)
    shape = lowered.shape if lowered else None
    return Report(type(joint).__qualname__, len(probed.q), laws, shape, instructions)


def _cover(probed: Probe) -> Iterator[Fault]:
    """Check that a quaternion and its negative, which are one rotation, give the same pose."""
    for part, at, _ in probed.numbers.joint.coordinates.offsets():
        if part.group == "real":
            continue
        q = probed.q.copy()
        q[:, at + part.nq - 4 : at + part.nq] *= -1
        error = np.abs(probed.numbers.poses(q) - probed.X).max(axis=(1, 2))
        worst = int(np.argmax(error))
        if error[worst] > EXACT_TOLERANCE:
            problem = (
                f"its pose differs by {error[worst]:.3g} between {part.name!r} and its negative, "
                f"which are one rotation, at {probed.describe_state(worst)} ({method_location(probed.numbers)})"
            )
            yield Fault("cover", problem, "use Pose.rotate_quaternion, or products of two elements")


def _group(probed: Probe, rng: np.random.Generator) -> Iterator[Fault]:
    coordinates = probed.numbers.joint.coordinates
    model = engine_probe.of_coordinates(coordinates)
    q, other = probed.q, rng.permutation(probed.q)
    d = rng.uniform(-1, 1, (len(q), coordinates.nv))
    there = _engine.integrate(model, q, d)
    onwards = _engine.integrate(model, q, _engine.difference(model, q, other))
    laws = (
        ("q ⊕ 0 = q", _engine.integrate(model, q, 0 * d), q),
        ("(q ⊕ d) ⊖ q = d", _engine.difference(model, q, there), d),
        ("q ⊕ (q' ⊖ q) = q'", probed.numbers.poses(onwards), probed.numbers.poses(other)),
    )
    for law, left, right in laws:
        error = float(np.nanmax(np.abs(left - right), initial=0))
        if error > 1e-8:
            problem = f"{law} fails by {error:.3g}"
            yield Fault("group", problem, "this is a bug in pysim; please report it")


def _traced_faults(found: Probe, traced: Traced) -> Iterator[Fault]:
    yield from _plain(found)
    yield from _folded(found, traced)
    again = trace(found.numbers.joint).program()
    if again != traced.program():
        problem = f"two traces of it record different programs ({method_location(found.numbers)})"
        remedy = "let placement depend on q and the fields only, not on time, random numbers or stored values"
        yield Fault("repeats", problem, remedy)
    yield from derivative_faults(found, traced)


def _folded(probed: Probe, traced: Traced) -> Iterator[Fault]:
    """Check that folding changes pose and S by no more than the rounding errors of their own terms."""
    inputs = np.concatenate([probed.q, probed.v], axis=1).T
    recorded, error = values_and_errors(traced.tape, inputs, traced.recorded)
    folded, more = values_and_errors(traced.tape, inputs, [*traced.pose, *traced.subspace])
    excess = np.abs(folded - recorded) - ROUNDINGS * (error + more)
    entry, k = np.unravel_index(int(np.argmax(np.nan_to_num(excess, nan=-np.inf))), excess.shape)
    if excess[entry, k] > 0:
        apart = abs(folded[entry, k] - recorded[entry, k])
        problem = (
            f"the shortened program differs from the recorded one by {apart:.3g} at "
            f"{probed.describe_state(int(k))}"
        )
        yield Fault("folded", problem, "this is a bug in pysim; please report it")


def _engine_faults(found: Probe, traced: Traced, lowered: Lowered | None) -> Iterator[Fault]:
    """Check that the engine's results for the program, and for an equivalent shape, agree with the probed numbers."""
    at = found.at_finite
    q, v = found.q[at], found.v[at]
    if not len(q):
        return
    tau = found.numbers.force(q, v)
    wanted = engine_probe.expected(found.X[at], found.S[at], found.c[at], v, tau)
    yield from _differences("engine", engine_probe.as_program(traced), wanted, q, v)
    if lowered is not None:
        yield from _differences("lowered", engine_probe.as_shape(traced, lowered), wanted, q, v)


def _differences(
    law: str, model: _engine.Model, wanted: dict[str, Array], q: Array, v: Array
) -> Iterator[Fault]:
    for name, given in engine_probe.numbers(model, q, v).items():
        scale = max(1.0, float(np.abs(wanted[name]).max()))
        error = np.abs(given - wanted[name]).max() / scale
        if not error <= EXACT_TOLERANCE:
            problem = f"the engine's {name} differs by {error:.3g}"
            yield Fault(law, problem, "this is a bug in pysim; please report it")


def _plain(probed: Probe) -> Iterator[Fault]:
    """Check that the trace agrees with `placement` of plain numbers."""
    numbers = probed.numbers
    assert isinstance(numbers, TracedNumbers)
    for k in probed.at_finite:
        q = numbers.joint.coordinates.named(list(probed.q[k]))
        with np.errstate(all="ignore"):
            pose: Pose = call(numbers.joint, "placement", q)
        X = np.column_stack([np.array(pose.rotation, float), np.array(pose.p, float)])
        error = np.abs(X - probed.X[k, :3]).max() / max(1.0, np.abs(X).max())
        if not error <= EXACT_TOLERANCE:
            problem = (
                f"its recorded program differs from placement called with plain numbers by {error:.3g} "
                f"at {probed.describe_state(int(k))} ({method_location(numbers)})"
            )
            yield Fault("plain", problem, "compute the same for symbolic and plain numbers")
            return
