"""Linear systems: matrices of a scene about a state, their poles, modes and damping.

ẋ = A x + B u             y = C x + D u               s = σ + i ω,  ω₀ = |s|,  ζ = −σ/|s|
x⁺ = A x + B u            with a period T:            s = ln z / T
δq = N δq_i, J N = 0      of independent coordinates of a closed mechanism
d(q ⊖ q₀)/dt = δv − ad(v) (q ⊖ q₀)                      about a motion with velocity v, of rotating frames
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.analysis.frequency_response import FrequencyResponse, frequency_response
from pysim.errors import (
    PysimWarning,
    SimulationError,
    UnknownSimulationNameError,
    did_you_mean,
)
from pysim.joints.registry import find_joint
from pysim.loops import allowed_motions, project
from pysim.loops.constraints import DEPENDENT as RANK, constraints
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model, State


SHOWN_TIME_CONSTANTS = 3.0  # time constants of a mode without oscillation that are shown
CLOSED = 1e-8  # [m, rad]
DEPENDENT = 1e-6  # least motion of an independent coordinate, of a unit motion of the mechanism
EQUILIBRIUM_ACCELERATION = 1e-3  # [m/s² or rad/s²] up to which a state is an equilibrium
LEAST_COUPLING = 1e-9  # entry of A, relative to the largest, of a state that acts on another
# imaginary part of a pole, relative to the largest, that is rounding
LARGEST_IMAGINARY_ROUNDING = 1e-9


@dataclass(frozen=True)
class LinearMode:
    """Motion shape · e^(s t) of a linear system."""

    s: complex  # [1/s]
    shape: NDArray[np.complex128]  # (states,), its largest entry 1
    state: str  # with the largest entry

    @property
    def natural_frequency(self) -> float:
        """|s| [rad/s]."""
        return abs(self.s)

    @property
    def damping_ratio(self) -> float:
        """ζ = −Re s/|s|: 1 and −1 without oscillation; 0 for a motion at constant speed."""
        return -self.s.real / abs(self.s) if self.s else 0.0


@dataclass(frozen=True)
class LinearSystem:
    """Linear system, which unpacks as A, B, C, D; continuous, or sampled with a period."""

    A: Array  # (states, states)
    B: Array  # (states, inputs)
    C: Array  # (outputs, states)
    D: Array  # (outputs, inputs)
    states: tuple[str, ...]  # q.NAME and v.NAME of independent coordinates, then states of elements
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    period: float | None = None  # [s] of a sampled system
    # ẋ at the state, or x⁺ − x: 0 in equilibrium
    rate: Array = field(default_factory=lambda: np.zeros(0))
    model: Model | None = field(default=None, repr=False)
    state: State | None = field(default=None, repr=False)  # about which it is linear
    # N (nv, n): δq = N times the first n states
    motions: Array = field(default_factory=lambda: np.zeros((0, 0)), repr=False)

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B, self.C, self.D))

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of A (states,): s [1/s], or z of a sampled system; the largest real part or magnitude first."""
        values = np.linalg.eigvals(self.A).astype(complex)
        size = values.real if self.period is None else np.abs(values)
        return values[np.lexsort((-values.imag, -size))]

    @property
    def is_stable(self) -> bool:
        """Whether every motion decays."""
        bound = self.poles.real < 0 if self.period is None else np.abs(self.poles) < 1
        return bool(bound.all())

    @property
    def largest_acceleration(self) -> tuple[str, float, str]:
        """Name, value and unit of the largest acceleration at the state; 0 in equilibrium, and in steady motion."""
        n, model = self.motions.shape[1], self.model
        if model is None or not n:
            return "", 0.0, ""
        a = self.rate[n : 2 * n] / (1.0 if self.period is None else self.period)
        at = int(np.abs(a).argmax())
        name = self.states[n + at].removeprefix("v.")
        units = dict(zip(model.velocity_names, model.velocity_units, strict=True))
        return name, float(a[at]), units[name] + "²"

    def warn_off_equilibrium(self, where: str, stacklevel: int = 2) -> None:
        """Warn of accelerations at the state, which a linear system of deviations from it leaves out."""
        name, a, unit = self.largest_acceleration
        if abs(a) > EQUILIBRIUM_ACCELERATION:
            remedy = "take one where forces balance, such as pysim.equilibrium(scene).state, or inputs that hold it"
            problem = f"the state is no equilibrium: {name!r} accelerates by {a:.3g} {unit}"
            text = f"{where}: {problem}, which the matrices leave out; {remedy}"
            warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)

    def modes(self) -> list[LinearMode]:
        """Return the modes, the slowest first; of a conjugate pair the one with positive imaginary part."""
        values, vectors = np.linalg.eig(self.A)
        if self.period is not None:
            with np.errstate(divide="ignore"):
                values = np.log(values.astype(complex)) / self.period
        modes = []
        largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
        for s, vector in zip(values, vectors.T, strict=True):
            if not np.isfinite(s) or s.imag < -LARGEST_IMAGINARY_ROUNDING * largest:
                continue
            at = int(np.abs(vector).argmax())
            exact = complex(
                s.real, 0.0 if abs(s.imag) <= LARGEST_IMAGINARY_ROUNDING * largest else s.imag
            )
            modes.append(
                LinearMode(exact, np.asarray(vector / vector[at], complex), self.states[at])
            )
        return sorted(modes, key=lambda mode: (mode.natural_frequency, mode.s.real))

    def reduced(self, states: Sequence[str]) -> LinearSystem:
        """Return the system of some of the states, on which the others do not act.

        A body that moves freely over a plane is an example: its position acts on nothing. Without it a regulator needs
        no cost of the position, and its gain has no column for it.

        Args:
            states: names among `states`, in the order that the new system has.

        Raises:
            UnknownNameError: the system has no such state.
            SimulationError: a state that is left out acts on one of the others.
        """
        chosen = list(states)
        for name in chosen:
            if name not in self.states:
                problem = f"there is no state {name!r}{did_you_mean(name, self.states)}"
                raise UnknownSimulationNameError("states", problem)
        keep = [self.states.index(name) for name in chosen]
        left = [k for k in range(len(self.states)) if k not in keep]
        acting = np.abs(self.A[np.ix_(keep, left)])
        if acting.max(initial=0.0) > LEAST_COUPLING * np.abs(self.A).max(initial=0.0):
            to, of = np.unravel_index(acting.argmax(), acting.shape)
            problem = f"{self.states[left[of]]!r} acts on {chosen[to]!r}"
            raise SimulationError("states", f"{problem} and cannot be left out; name it as well")
        n = self.motions.shape[1]
        moving = [k for k in keep if k < n]
        pairs = [*moving, *(k + n for k in moving)]  # coordinates, then their velocities
        motions = self.motions[:, moving if keep[: len(pairs)] == pairs else []]
        return replace(
            self,
            A=self.A[np.ix_(keep, keep)],
            B=self.B[keep],
            C=self.C[:, keep],
            states=tuple(chosen),
            rate=self.rate[keep] if len(self.rate) else self.rate,
            motions=motions,
        )

    def frequency_response(self, omega: ArrayLike | None = None) -> FrequencyResponse:
        """Return the response of every output to every input of a frequency; `.plot("bode.png")` draws it.

        Args:
            omega: frequencies (k,) [rad/s]; by default 400 around the natural frequencies.

        Raises:
            SimulationError: the system has no input or no output, or a frequency is negative.
        """
        return frequency_response(self, omega)

    def motion(
        self, mode: LinearMode, amplitude: float = 0.1, frames: int = 100
    ) -> tuple[Array, Array]:
        """Return times (frames,) [s] and configurations (frames, nq) of a mode alone, to draw it.

        An oscillation is drawn for a period, without its decay or growth; another mode for three time constants.
        Loops are closed in every configuration.

        Args:
            mode: one of `modes()`.
            amplitude: of the coordinate that moves most [rad or m].
            frames: number of times.

        Raises:
            SimulationError: no coordinate moves in the mode, or the loops do not close at this amplitude.
        """
        n, model, state = self.motions.shape[1], self.model, self.state
        assert model is not None
        assert state is not None
        moves = self.motions @ mode.shape[:n]
        largest = np.abs(moves).max(initial=0.0)
        if not largest:
            raise SimulationError("mode", f"no coordinate moves in it; it is one of {mode.state}")
        turns = mode.s.imag != 0
        rate = 1j * mode.s.imag if turns else complex(mode.s.real)
        duration = 2 * np.pi / abs(rate) if turns else SHOWN_TIME_CONSTANTS / max(abs(rate), 1e-9)
        t = np.linspace(0, duration, frames)
        phase = np.exp(rate * (t if rate.real <= 0 else t - duration))
        away = np.real(phase[:, None] * moves * (amplitude / largest))
        q = np.asarray(model.integrate(np.tile(state.q, (frames, 1)), away))
        if model.rows:
            start = np.tile(state.loop_q, (frames, 1))
            there = project(model, q, np.zeros_like(away), loop_q=start)
            if not (there.residual < CLOSED).all():
                problem = (
                    f"the loops do not close at an amplitude of {amplitude:g}; choose a smaller one"
                )
                raise SimulationError("mode", problem)
            q = there.q
        return t, q


def independent_motions(
    model: Model, state: State, first: Sequence[int] = ()
) -> tuple[Array, NDArray[np.intp]]:
    """Return motions N (nv, n) and the n independent coordinates; their rows of N are the identity.

    Args:
        model: the mechanism.
        state: at which loops are closed.
        first: numbers of velocities that are chosen; the others are those that move most.

    Raises:
        SimulationError: one of the first does not move independently of those before it.
    """
    N = allowed_motions(model, state.q, state.loop_q)
    n = N.shape[1]
    if n == model.nv:
        return np.eye(n), np.arange(n)
    left, chosen = N.copy(), list[int]()
    for k in range(max(n, len(first))):  # elimination with the largest row first
        at = first[k] if k < len(first) else int(np.linalg.norm(left, axis=1).argmax())
        size = np.linalg.norm(left[at])
        if k < len(first) and size < DEPENDENT:
            others = ", ".join(repr(model.velocity_names[i]) for i in chosen)
            why = f"follows from {others}" if others else "does not move"
            count = f"the mechanism has {n} degree{'' if n == 1 else 's'} of freedom"
            name = f"coordinates: {model.velocity_names[at]!r}"
            raise SimulationError(name, f"{why} at the state; {count}: leave it out")
        row = left[at] / size
        left = left - np.outer(left @ row, row)
        chosen.append(at)
    own = np.array(sorted(chosen), np.intp)
    return np.asarray(np.linalg.solve(N[own].T, N.T).T), own


def followed_velocities(
    model: Model, state: State, N: Array, independent: NDArray[np.intp]
) -> Array:
    """Return E (nv, n), δv = E δq_i where independent velocities are held and loops remain closed; at t = 0.

    J E = −∂(J v)/∂q N, E_i = 0. The bias γ = D(v, v) of the rows, D(v, δ) = ∂(J v)/∂q δ, is quadratic in v: its central
    difference is D(v, δ) + D(δ, v) without an error; and D(δ, v) − D(v, δ) = J ad(v) δ.

    Args:
        model: the mechanism.
        state: at which loops are closed.
        N: motions (nv, n).
        independent: their coordinates, see `independent_motions`.
    """
    v = np.concatenate([state.v + N.T, state.v - N.T])
    q, loop_q = (np.tile(x, (len(v), 1)) for x in (state.q, state.loop_q))
    at = constraints(model, q, v, loop_q=loop_q)
    ahead, behind = np.split(at.bias, 2)
    J = at.jacobian[0]
    turning = J @ bracket(model, state.v) @ N
    follow = -np.linalg.pinv(J, RANK) @ ((ahead - behind).T / 2 - turning) / 2
    return np.asarray(follow - N @ follow[independent])


def bracket(model: Model, v: Array) -> Array:
    """Return ad(v) (nv, nv): of rotations and displacements in their own frames, 0 of real coordinates."""
    matrix = np.zeros((model.nv, model.nv))
    for joint, first in zip(model.joints, model.v_offsets, strict=True):
        for at, count in find_joint(joint.type).turning if first >= 0 else ():
            k = first + at
            own = v[k : k + count]
            w = own[-3:]
            turn = np.cross(w, np.eye(3)).T
            matrix[k + count - 3 : k + count, k + count - 3 : k + count] = turn
            if count == 6:
                matrix[k : k + 3, k : k + 3] = turn
                matrix[k : k + 3, k + 3 : k + 6] = np.cross(own[:3], np.eye(3)).T
    return matrix
