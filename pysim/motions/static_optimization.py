"""Static optimisation: the activations of least effort that give the forces of a motion.

    minimise Σ a_i² + Σ (ρ_j/r_j)²    subject to    Σ_i a_i F_i(L_i, L̇_i) (−∂L_i/∂q_j) + ρ_j = τ_j,  a_min ≤ a ≤ 1

at each instant by itself [Crowninshield and Brand 1981]. F is the muscle's force at full activation over an
inextensible tendon, without passive force, and ρ are reserves: ideal actuators with the strength r, which supply what
muscles cannot. The forces τ are those of inverse dynamics less the passive forces, which depend on q and v alone.
Locks, couplings and loops carry their share: j counts the velocities that they leave free, and τ_j and ∂L/∂q_j are
those of motions that satisfy them.

This bounded least squares problem has the dual a = clip(Aᵀ y, a_min, 1), ρ = R² y with A a + ρ = τ, as many piecewise
linear equations as the model has velocities, which Newton's method solves for all instants at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import passive_forces
from pysim.analysis.moment_arms import path_slopes
from pysim.elements.force import SPRING, find_force
from pysim.elements.library.muscles.muscle import Muscle
from pysim.errors import TrajectoryError, did_you_mean
from pysim.loops import constraint_jacobian
from pysim.mechanism.joint_description import TraceCache
from pysim.motions.generalized_forces import forces_of_motion, smooth_motion
from pysim.typing import Array
from pysim.worlds.loading import compile_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model
    from pysim.motions.generalized_forces import GroundLoad
    from pysim.scene.spec import ForceSpec

RESERVE = 1.0  # [N or N·m] strength of reserves
ITERATIONS = 100  # of Newton's method
TOLERANCE = 1e-10  # of the forces, relative to the largest
RANK = 1e-9  # of constraint rows, relative to the largest
RESIDUAL = 1e-6  # of constraint rows along free motions, relative to the largest entries of both
SHRINK = 0.5  # factor on a step along which the objective increases too little


@dataclass(frozen=True)
class Activations:
    """Activations and forces of muscles that give a motion."""

    times: Array  # (n,) [s]
    names: tuple[str, ...]  # of muscles
    activations: Array  # (n, muscles) [1]
    forces: Array  # (n, muscles) [N], tensions of the paths
    reserves: Array  # (n, nv) [N or N·m], 0 of velocities that constraints determine
    moment_arms: Array  # (n, nv, muscles) [m, or 1 of coordinates in metres], −∂L/∂q


def static_optimization(
    model: Model,
    times: ArrayLike,
    q: ArrayLike,
    loads: Sequence[GroundLoad] = (),
    *,
    cutoff: float | None = None,
    reserves: float | Mapping[str, float] = RESERVE,
) -> Activations:
    """Return the activations of least effort, the sum of squares, that give a motion.

    Args:
        model: the mechanism with muscles, as of a file of OpenSim.
        times: (n,) [s], at least six.
        q: configurations (n, nq).
        loads: on bodies, at the same times.
        cutoff: of the low-pass filter of the motion [Hz], none by default.
        reserves: strengths of ideal actuators on velocities [N or N·m], one for all or by name, 1 by default; strong
            ones take over at no cost, as for the residual forces on a pelvis.

    Raises:
        TrajectoryError: the model has no muscles, no such velocity, or a motion that inverse dynamics rejects.
    """
    muscles = [force for force in model.spec.forces if _is_muscle(force)]
    if not muscles:
        problem = f"{model.name!r} has no muscles"
        raise TrajectoryError("model", f"{problem}; give a model with forces of type thelen_muscle")
    strengths = _strengths(model, reserves)
    t = np.asarray(times, float)
    others = tuple(force for force in model.spec.forces if not _is_muscle(force))
    cache = TraceCache()
    bare = compile_model(replace(model.spec, forces=others, blocks=()), cache)
    placed, v, acceleration = smooth_motion(bare, t, q, cutoff)
    tau = forces_of_motion(bare, placed, v, acceleration, loads)
    tau = tau - np.asarray(passive_forces(bare, placed, v))
    paths = {force.name: force.path for force in muscles}
    lengths, slopes = path_slopes(bare, paths, placed, cache)
    rates = np.einsum("nmj,nj->nm", slopes, v)
    strongest = np.empty_like(lengths)
    least = np.empty(len(muscles))
    for k, force in enumerate(muscles):
        muscle = find_force(force.type)(**{**force.parameters, "excitation": 0.0})
        assert isinstance(muscle, Muscle)
        strongest[:, k] = muscle.full_force(lengths[:, k], rates[:, k])
        least[k] = muscle.minimum_activation
    arms = -slopes.transpose(0, 2, 1)
    free, N = _free_motions(bare, t, placed)
    A = np.einsum("njk,njm->nkm", N, arms * strongest[:, None])
    a, found = bounded_activations(A, np.einsum("njk,nj->nk", N, tau), strengths[free], least)
    reserve = np.zeros_like(tau)
    reserve[:, free] = found
    names = tuple(force.name for force in muscles)
    return Activations(t, names, a, a * strongest, reserve, arms)


def _free_motions(model: Model, t: Array, q: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the numbers (k,) of velocities that constraints leave free, and v (n, nv, k) for a unit of each.

    They are the same at all times t (n,), those that are free at the middle one.
    """
    n, nv = len(q), model.nv
    J = np.asarray(constraint_jacobian(model, q)).reshape(n, -1, nv)
    if not J.shape[1]:
        return np.arange(nv), np.broadcast_to(np.eye(nv), (n, nv, nv))
    from scipy.linalg import qr  # noqa: PLC0415, loads when first used

    _, R, order = qr(J[n // 2], mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > RANK * diagonal[0]).sum())
    dependent, free = np.sort(order[:rank]), np.sort(order[rank:])
    N = np.zeros((n, nv, len(free)))
    N[:, free, np.arange(len(free))] = 1.0
    N[:, dependent] = -np.linalg.pinv(J[:, :, dependent]) @ J[:, :, free]
    steepest = np.abs(N).max(axis=(1, 2), initial=0.0)
    missed = np.abs(J @ N).max(axis=(1, 2), initial=0.0)
    off = (missed > RESIDUAL * np.abs(J).max(axis=(1, 2)) * steepest) | (RANK * steepest > 1)
    if off.any():
        names = ", ".join(model.velocity_names[k] for k in free)
        problem = f"constraints do not leave {names} free, as they do at {t[n // 2]:g} s"
        remedy = "cut the motion there, and analyse its parts one by one"
        raise TrajectoryError(f"t = {t[int(off.argmax())]:g} s", f"{problem}; {remedy}")
    return free, N


def bounded_activations(
    A: Array, tau: Array, strengths: Array, least: Array
) -> tuple[Array, Array]:
    """Return a (n, muscles) and ρ (n, nv) of least effort with A a + ρ = τ and least ≤ a ≤ 1.

    Args:
        A: generalised forces at full activation (n, nv, muscles).
        tau: wanted ones (n, nv).
        strengths: of reserves (nv,).
        least: activations (muscles,).
    """
    R = strengths**2
    y = np.zeros_like(tau)
    size = np.abs(tau).max(axis=1, initial=0.0) + np.abs(A).max(axis=(1, 2), initial=0.0)
    going = np.arange(len(tau))
    for _ in range(ITERATIONS):
        B, target, dual = A[going], tau[going], y[going]
        z = np.einsum("njm,nj->nm", B, dual)
        a = np.clip(z, least, 1.0)
        miss = target - np.einsum("njm,nm->nj", B, a) - R * dual
        off = np.abs(miss).max(axis=1) > TOLERANCE * size[going]
        if not off.any():
            break
        going, B, target, dual, z, miss = (x[off] for x in (going, B, target, dual, z, miss))
        free = ((z > least) & (z < 1.0)).astype(float)
        H = np.einsum("njm,nm,nkm->njk", B, free, B, optimize=True)
        H[:, np.arange(len(R)), np.arange(len(R))] += R
        step = np.linalg.solve(H, miss[..., None])[..., 0]
        y[going] = dual + _shortened(B, target, dual, step, R, least)[:, None] * step
    z = np.einsum("njm,nj->nm", A, y)
    return np.clip(z, least, 1.0), R * y


def _shortened(B: Array, target: Array, y: Array, step: Array, R: Array, least: Array) -> Array:
    """Return the shares (n,) of steps along which the concave dual objective increases enough."""

    def objective(dual: Array) -> Array:
        z = np.einsum("njm,nj->nm", B, dual)
        a = np.clip(z, least, 1.0)
        return np.asarray(
            (target * dual).sum(axis=1)
            - (a * z - 0.5 * a * a).sum(axis=1)
            - 0.5 * (R * dual * dual).sum(axis=1)
        )

    z = np.einsum("njm,nj->nm", B, y)
    a = np.clip(z, least, 1.0)
    slope = ((target - np.einsum("njm,nm->nj", B, a) - R * y) * step).sum(axis=1)
    start, share = objective(y), np.ones(len(y))
    for _ in range(30):
        rounding = 1e-14 * (np.abs(start) + 1)
        short = objective(y + share[:, None] * step) < start + 1e-4 * share * slope - rounding
        if not short.any():
            break
        share = np.where(short, SHRINK * share, share)
    return share


def _is_muscle(force: ForceSpec) -> bool:
    return force.type != SPRING and issubclass(find_force(force.type), Muscle)


def _strengths(model: Model, reserves: float | Mapping[str, float]) -> Array:
    names = list(model.velocity_names)
    by_name = reserves if not isinstance(reserves, (int, float)) else dict.fromkeys(names, reserves)
    strengths = np.full(model.nv, RESERVE)
    for name, value in by_name.items():
        if name not in names:
            raise TrajectoryError(
                "reserves", f"there is no velocity {name!r}{did_you_mean(name, names)}"
            )
        if not value > 0:
            problem = f"the reserve of {name!r} must be positive, got {value:g}"
            raise TrajectoryError("reserves", f"{problem}; give a small one")
        strengths[names.index(name)] = value
    return strengths
