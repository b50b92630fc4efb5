"""Excitation: Fourier series within the joints' limits whose equations have a small condition number.

    q(t) = q₀ + A (f(t) − f̄)      f(t) = Σ_k s_k sin(kωt) + c_k cos(kωt)

Swevers et al. 1997. A is as large as the limits of position, velocity and acceleration allow, joint by joint, and f̄ is
the middle of f's range, so every trial is feasible; Σ k s_k = Σ k² c_k = 0 make the motion start and end at rest. What
is minimised is the logarithm of the condition number that `identify` reports, κ = σ₁/σ_r, with

    d log κ = u₁ᵀ dW v₁ / σ₁ − u_rᵀ dW v_r / σ_r

by L-BFGS from several random series.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import joint_torque_regressor
from pysim.errors import IdentificationError
from pysim.identify.base_parameters import base_parameters
from pysim.identify.closed_mechanisms import has_constraints
from pysim.identify.regression import one_thread
from pysim.identify.unknowns import Unknowns
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

_INSTANTS_PER_PERIOD = 20  # instants a period of the fastest harmonic, on which limits are held
_STEP = 1e-6
_AT_ONCE = 16  # motions in a batch, which then stays in the cache
_MARGIN = 0.95  # of every limit
_REACH = {"rad": np.pi, "m": 0.5}  # either side, where a joint has no limits
_DEFAULT = {"velocity": 2.0, "acceleration": 10.0}


@dataclass(frozen=True)
class Excitation:
    """A periodic motion of period 2π/ω: amplitudes (harmonics, nv) [m or rad] about `center` (nv,)."""

    model: Model
    frequency: float  # ω [rad/s]
    center: Array
    sine: Array
    cosine: Array
    condition: float  # of the base parameters' equations, columns of unit length

    @property
    def period(self) -> float:
        """Period [s]."""
        return 2 * np.pi / self.frequency

    def at(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q, v and a (n, nv) at instants t (n,) [s]."""
        phases, w = _phases(np.asarray(t, float), self.frequency, len(self.sine))
        q = self.center + np.sin(phases) @ self.sine + np.cos(phases) @ self.cosine
        v = (np.cos(phases) * w) @ self.sine - (np.sin(phases) * w) @ self.cosine
        a = -(np.sin(phases) * w**2) @ self.sine - (np.cos(phases) * w**2) @ self.cosine
        return q, v, a

    def save(self, path: str | PathLike[str], step: float = 1e-3) -> None:
        """Write one period as a comma-separated file that `read_samples` reads once torques are added."""
        t = np.arange(round(self.period / step) + 1) * step
        names = [f"{key}.{name}" for key in "qva" for name in self.model.velocity_names]
        table = np.column_stack([t, *self.at(t)])
        header = ",".join(["t", *names])
        np.savetxt(Path(path), table, fmt="%.10g", delimiter=",", header=header, comments="")


def exciting_trajectory(
    model: Model,
    *,
    resistances: Sequence[str] = (),
    period: float = 10.0,
    harmonics: int = 5,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    samples: int = 60,
    starts: int = 3,
    iterations: int = 60,
    seed: int = 0,
) -> Excitation:
    """Return a motion whose equations for the base parameters are well conditioned.

    Args:
        model: a mechanism of real coordinates (no balls, no free base).
        resistances: what else is to be identified, as for `identify`.
        period: duration of the motion [s].
        harmonics: number of sines and cosines a coordinate.
        velocity: limit of each coordinate (nv,) [m/s or rad/s]; the model's own by default, 2 where it has none.
        acceleration: limit of each coordinate (nv,) [m/s² or rad/s²]; 10 by default.
        samples: instants whose equations are judged.
        starts: random series the search starts from.
        iterations: of each search.
        seed: of the random series.

    Raises:
        IdentificationError: the model has coordinates that are no real numbers, loops or couplings.
    """
    from scipy.optimize import minimize  # noqa: PLC0415, loads when first used

    if model.nq != model.nv:
        problem = "has a ball or free joint, which a series of angles cannot move; load it with a fixed base"
        raise IdentificationError(model.name, problem)
    if has_constraints(model):
        problem = (
            f"{model.row_names[0]!r} couples its coordinates, which independent series of angles would violate; "
            "excite its motors with trajectories of your own and record them"
        )
        raise IdentificationError(model.name, problem)
    design = _Design(model, tuple(resistances), period, harmonics, samples, velocity, acceleration)
    rng = np.random.default_rng(seed)
    best: Excitation | None = None
    for _ in range(starts):
        x = rng.standard_normal(2 * harmonics * model.nv)
        with one_thread():
            found = minimize(
                design.log_condition,
                x,
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": iterations},
            )
        motion = design.motion(found.x, float(np.exp(found.fun)))
        if best is None or motion.condition < best.condition:
            best = motion
    if best is None:
        raise IdentificationError("starts", f"must be positive, got {starts}")
    return best


class _Design:
    """From free numbers x to feasible motions and their condition numbers."""

    def __init__(
        self,
        model: Model,
        resistances: tuple[str, ...],
        period: float,
        harmonics: int,
        samples: int,
        velocity: ArrayLike | None,
        acceleration: ArrayLike | None,
    ) -> None:
        massive = tuple(k for k, body in enumerate(model.bodies) if body.theta[0] > 0)
        self.model, self.unknowns = model, Unknowns(model, massive, resistances)
        self.independent = base_parameters(self.unknowns).independent
        self.frequency, self.harmonics = 2 * np.pi / period, harmonics
        self.lower, self.upper = _ranges(model)
        self.speed = _limit(model, velocity, "velocity")
        self.acceleration = _limit(model, acceleration, "acceleration")
        self.coarse = (np.arange(samples) + 0.5) * period / samples
        self.fine = np.linspace(0, period, _INSTANTS_PER_PERIOD * harmonics)

    def motion(self, x: Array, condition: float = np.nan) -> Excitation:
        """Return the feasible motion for free numbers."""
        sine, cosine = x.reshape(2, self.harmonics, self.model.nv)
        k = np.arange(1.0, self.harmonics + 1)
        if self.harmonics > 1:
            sine = sine - np.outer(k, k @ sine) / (k @ k)
            cosine = cosine - np.outer(k**2, k**2 @ cosine) / (k**2 @ k**2)
        raw = Excitation(self.model, self.frequency, np.zeros(self.model.nv), sine, cosine, 0.0)
        f, v, a = raw.at(self.fine)
        low, high = f.min(axis=0), f.max(axis=0)
        room = [
            (self.upper - self.lower) / (high - low),
            self.speed / np.abs(v).max(axis=0),
            self.acceleration / np.abs(a).max(axis=0),
        ]
        scale = _MARGIN * np.min(room, axis=0)
        center = 0.5 * (self.lower + self.upper) - scale * 0.5 * (low + high)
        return Excitation(
            self.model, self.frequency, center, scale * sine, scale * cosine, condition
        )

    def log_condition(self, x: Array) -> tuple[float, Array]:
        """Return the logarithm of κ of columns of unit length, and its gradient by differences of a batch of motions.

        With W = Ŵ diag(l) both are linear in dW: d log σ = uᵀ dW diag(1/l) v / σ − Σ_k v_k² dl_k / l_k.
        """
        motion = self.motion(x)
        W = self._equations([motion])[0][:, self.independent]
        length = np.linalg.norm(W, axis=0)
        unit = W / length
        U, values, Vt = np.linalg.svd(unit, full_matrices=False)
        slope = np.zeros((len(W), self.unknowns.size))
        for i, sign in ((0, 1), (-1, -1)):
            along = np.outer(U[:, i], Vt[i]) / values[i] - unit * Vt[i] ** 2
            slope[:, self.independent] += sign * along / length
        gradient = np.zeros(len(x))
        for at in range(0, len(x), _AT_ONCE):
            units = np.eye(len(x))[at : at + _AT_ONCE]
            moved = self._equations([self.motion(x + _STEP * unit) for unit in units])
            gradient[at : at + len(units)] = moved.reshape(len(units), -1) @ slope.ravel()
        base = float((W * slope[:, self.independent]).sum())
        return float(np.log(values[0] / values[-1])), (gradient - base) / _STEP

    def _equations(self, motions: Sequence[Excitation]) -> Array:
        """Return the columns of all unknowns (motions, samples · nv, size)."""
        states = [m.at(self.coarse) for m in motions]
        q, v, a = (np.concatenate(parts) for parts in zip(*states, strict=True))
        inertial = self.unknowns.inertial(joint_torque_regressor(self.model, q, v, a))
        resistances = (self.unknowns.column(name, v, a) for name in self.unknowns.resistances)
        own = [column[:, :, None] * np.eye(self.model.nv) for column in resistances]
        whole = np.concatenate([inertial, *own], axis=-1) if own else inertial
        return whole.reshape(len(motions), -1, self.unknowns.size)


def _phases(t: Array, frequency: float, harmonics: int) -> tuple[Array, Array]:
    w = frequency * np.arange(1, harmonics + 1)
    return np.asarray(np.outer(t, w)), np.asarray(w, float)


def _ranges(model: Model) -> tuple[Array, Array]:
    """Return the limits of position (nv,), about the neutral configuration for coordinates without limits."""
    lower, upper = (np.full(model.nv, x) for x in (-np.inf, np.inf))
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        if at >= 0:
            lower[at : at + nv], upper[at : at + nv] = joint.lower, joint.upper
    reach = np.array([_REACH.get(unit, np.pi) for unit in model.coordinate_units])
    free = ~(np.isfinite(lower) & np.isfinite(upper))
    neutral = model.neutral()
    return np.where(free, neutral - reach, lower), np.where(free, neutral + reach, upper)


def _limit(model: Model, given: ArrayLike | None, name: str) -> Array:
    if given is not None:
        return np.broadcast_to(np.asarray(given, float), (model.nv,))
    values = np.full(model.nv, _DEFAULT[name])
    if name == "velocity":
        for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
            if at >= 0 and joint.velocity_limit:
                values[at : at + nv] = joint.velocity_limit
    return values
