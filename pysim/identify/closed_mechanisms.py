"""Equations of motion of closed mechanisms, projected on the motions that loops and couplings allow.

    M v̇ + h = τ + Jᵀ λ,  J N = 0        r = S Ñ Ñᵀ S⁻¹ (Y θ − τ),  Ñᵀ Ñ = 1,  range Ñ = range S N

r (nv,) is the residual of the equations that no constraint forces λ can balance, every coordinate weighted by its noise
S = diag(σ): generalised least squares with λ among the unknowns. No choice of independent coordinates is needed,
redundant rows change nothing, and without constraints r is the equation itself.

A recording is moved onto the constraints first: q and v by the smallest change in the norm of M, v̇ so that
J v̇ + J̇ v = 0. Instants beside a singular position, where a recording does not determine N, are left out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba, rnea
from pysim.errors import IdentificationError, PysimWarning
from pysim.identify.regression import CHUNK, Triangles, reduce_rows
from pysim.identify.samples import Samples
from pysim.joints import find_joint
from pysim.joints.loop_joints import find_loop_type, joint_of_loop_type
from pysim.loops import assemble, constraints, project
from pysim.loops.constraints import kind_of_constraint
from pysim.loops.mobility import SMALLEST_ANGLE
from pysim.mechanism.compile import start_state
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pysim.identify.unknowns import Unknowns
    from pysim.mechanism.model import Model

_CLOSED_RESIDUAL = 1e-9  # [m, rad] left of a projected recording
_REPORTED_RESIDUAL = 1e-6  # [m, rad] of an open recording that is worth a note
# of the usual independence of the rows: an instant with less is near a singular position
_SINGULAR_INDEPENDENCE = 1e-3
# of the largest generalised force: coordinates with smaller ones weigh like this
_LEAST_FORCE = 1e-3
_UNDRIVEN_NOISE = 0.03  # of the noise that a motor would have, of a coordinate without one
_WALK_STEPS = 40  # steps of a random walk over closed configurations
_STEP = 0.2  # [m or rad] of one
_RANDOM_SHARE = 0.3  # of a step: its random part, the rest goes on as before


@dataclass(frozen=True)
class AllowedMotions:
    """N of every instant, and which instants determine it."""

    N: Array  # (n, nv, degrees)
    valid: NDArray[np.bool_]  # (n,)
    q: Array  # (n, nq), on the constraints
    loop_q: Array  # (n, loop_nq) of the joints that close loops

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return int(self.N.shape[-1])

    def projectors(self, scale: Array, rows: NDArray[np.intp]) -> Array:
        """Return S Ñ Ñᵀ S⁻¹ (k, nv, nv) at some instants, S = diag(scale)."""
        basis = np.linalg.qr(scale[:, None] * self.N[rows])[0]
        whitened = basis @ np.swapaxes(basis, 1, 2)
        return np.asarray(scale[:, None] * whitened / scale)


def has_constraints(model: Model) -> bool:
    """Return whether loops or couplings constrain the coordinates."""
    return model.rows > 0


def closed_samples(model: Model, samples: Samples) -> tuple[Samples, AllowedMotions, list[str]]:
    """Return a recording moved onto the constraints, the motions they allow, and what is to be noted.

    Raises:
        IdentificationError: the recording is not of this mechanism, by row and loop; or nothing can move.
    """
    q, v, loop_q = _projected(model, samples)
    notes = _noted_residual(model, samples, loop_q)
    at = constraints(model, q, v, loop_q=loop_q)
    rows = _WeightedRows(model, q, at.jacobian)
    a = samples.a + rows.smallest(-(at.bias + np.einsum("nij,nj->ni", at.jacobian, samples.a)))
    motions = rows.allowed(loop_q)
    if motions.degrees == 0:
        problem = "loops and couplings of the model allow no motion, so nothing can be identified"
        raise IdentificationError(samples.source, f"{problem}; check their axes")
    left_out = len(samples) - int(motions.valid.sum())
    if left_out:
        notes.append(
            f"{left_out} of {len(samples)} samples are near a singular configuration and left out"
        )
    return replace(samples, q=q, v=v, a=a), motions, notes


def random_closed_samples(
    model: Model, count: int, rng: np.random.Generator, near: AllowedMotions | None = None
) -> tuple[Samples, AllowedMotions]:
    """Return random closed states: walks over closed configurations from those of a recording, or from the start."""
    q, loop_q = _seeds(model, count, rng, near)
    step = np.zeros((count, model.nv))
    for _ in range(_WALK_STEPS):
        J = constraints(model, q, loop_q=loop_q).jacobian
        rows = _WeightedRows(model, q, J)
        motions = rows.allowed(loop_q)
        y = rng.standard_normal((count, motions.degrees))
        onward = step - rows.smallest(np.einsum("nij,nj->ni", J, step))
        step = _long(onward, 1.0) + _long(np.einsum("nij,nj->ni", motions.N, y), _RANDOM_SHARE)
        step = _long(step, _STEP * rng.uniform(size=(count, 1)))
        there = project(model, model.integrate(q, step), 0 * step, loop_q=loop_q)
        taken = (there.residual <= _CLOSED_RESIDUAL)[:, None]
        q, loop_q = np.where(taken, there.q, q), np.where(taken, there.loop_q, loop_q)
        step = np.where(taken, step, 0.0)
    rows = _WeightedRows(model, q, constraints(model, q, loop_q=loop_q).jacobian)
    motions = rows.allowed(loop_q)
    y = rng.standard_normal((2, count, motions.degrees))
    unit = motions.N / np.linalg.norm(motions.N, axis=1, keepdims=True)
    v, a = np.einsum("nij,knj->kni", unit, y)
    a = a - rows.smallest(constraints(model, q, v, loop_q=loop_q).bias)
    tau = np.zeros((count, model.nv))
    return Samples(np.arange(count, dtype=float), q, v, a, tau), motions


def _long(x: Array, length: Array | float) -> Array:
    """Return vectors (n, nv) scaled so that the largest entry has a given length; zero vectors are unchanged."""
    return np.asarray(length * x / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-300))


def force_scale(model: Model, samples: Samples) -> Array:
    """Return what each coordinate's noise is proportional to at first (nv,) [N or N·m].

    That is the size of its generalised forces, were the tree open; less where no motor drives it, since zero has no
    sensor.
    """
    needed = rnea(model, samples.q, samples.v, samples.a)
    size = np.sqrt((needed**2 + samples.tau**2).mean(axis=0))
    size = np.maximum(size, _LEAST_FORCE * size.max() + np.finfo(float).tiny)
    driven = samples.tau.any(axis=0)
    return np.asarray(np.where(driven, size, _UNDRIVEN_NOISE * size) if driven.any() else size)


def compress_closed(
    unknowns: Unknowns, samples: Samples, folds: int, motions: AllowedMotions, scale: Array
) -> Triangles:
    """Return the triangles of the projected equations of motion, one a coordinate, over consecutive folds."""
    used = np.flatnonzero(motions.valid)
    edges = np.linspace(0, len(used), folds + 1).astype(int)
    compressed, share = [], np.zeros(unknowns.model.nv)
    for start, end in pairwise(edges):
        triangles: list[Array | None] = [None] * unknowns.model.nv
        for at in range(start, end, CHUNK):
            rows = used[at : min(at + CHUNK, end)]
            P = motions.projectors(scale, rows)
            share += np.einsum("njj->j", P)
            W = _projected_rows(unknowns, samples.part(rows), P)
            triangles = [reduce_rows(t, W[:, j]) for j, t in enumerate(triangles)]
        compressed.append(tuple(t for t in triangles if t is not None))
    active = (np.arange(unknowns.size),) * unknowns.model.nv
    counts = tuple(int(n) for n in np.diff(edges))
    return Triangles(
        unknowns.size, active, tuple(compressed), counts, shares=tuple(share / max(len(used), 1))
    )


def projected_torque(
    model: Model, samples: Samples, tree_torque: Callable[[Model, Samples], Array]
) -> Array:
    """Return the forces nearest to the recorded ones that drive the motion (n, nv), given what an open tree needs.

    What loops and couplings can carry of the difference they do carry; at instants beside a singular position the
    recorded forces are returned.
    """
    closed, motions, _ = closed_samples(model, samples)
    needed = tree_torque(model, closed)
    used = np.flatnonzero(motions.valid)
    P = motions.projectors(force_scale(model, closed), used)
    torque = samples.tau.copy()
    torque[used] += np.einsum("nij,nj->ni", P, (needed - samples.tau)[used])
    return torque


def _projected_rows(unknowns: Unknowns, samples: Samples, P: Array) -> Array:
    """Return [W y] (n, nv, size + 1) of the projected equations."""
    inertial, columns, left = unknowns.equations(samples)
    parts = [P @ inertial, *(P * column[:, None, :] for column in columns.values())]
    return np.concatenate([*parts, P @ left[:, :, None]], axis=2)


class _WeightedRows:
    """J L⁻ᵀ of n configurations, M = L Lᵀ, every row divided by its greatest length; U s Vᵀ of that."""

    def __init__(self, model: Model, q: Array, J: Array) -> None:
        self.q, self.L = q, np.linalg.cholesky(crba(model, q))
        A = np.swapaxes(np.linalg.solve(self.L, np.swapaxes(J, 1, 2)), 1, 2)
        length = np.linalg.norm(A, axis=2).max(axis=0)
        self.length = np.where(length > 0, length, 1.0)
        self.U, self.s, self.Vt = np.linalg.svd(A / self.length[:, None])
        ranks = (self.s > SMALLEST_ANGLE).sum(axis=1)
        self.rank = int(np.bincount(ranks).argmax())
        self.usual = ranks == self.rank

    def allowed(self, loop_q: Array) -> AllowedMotions:
        """Return the admissible motions, orthonormal in the norm of M."""
        free = np.swapaxes(self.Vt[:, self.rank :], 1, 2)
        N = np.linalg.solve(np.swapaxes(self.L, 1, 2), free)
        if self.rank == 0:
            return AllowedMotions(N, self.usual, self.q, loop_q)
        least = self.s[:, self.rank - 1]
        valid = self.usual & (least > _SINGULAR_INDEPENDENCE * np.median(least[self.usual]))
        return AllowedMotions(N, valid, self.q, loop_q)

    def smallest(self, rate: Array) -> Array:
        """Return the smallest x (n, nv) in the norm of M with J x = rate (n, rows)."""
        k = self.rank
        along = np.einsum("nij,ni->nj", self.U[:, :, :k], rate / self.length)
        x = np.einsum(
            "nij,ni->nj", self.Vt[:, :k], along / np.maximum(self.s[:, :k], SMALLEST_ANGLE)
        )
        return np.linalg.solve(np.swapaxes(self.L, 1, 2), x[..., None])[..., 0]


def _projected(model: Model, samples: Samples) -> tuple[Array, Array, Array]:
    """Return q, v and loop_q (n, …) projected onto the constraints."""
    if not _follows_turns(model):
        found = project(model, samples.q, samples.v)
        q, v, loop_q, left = found.q, found.v, found.loop_q, found.residual
    else:  # a row starts from the loops' coordinates of the row before
        parts = []
        near = None
        for q_k, v_k in zip(samples.q, samples.v, strict=True):
            parts.append(project(model, q_k, v_k, loop_q=near))
            near = parts[-1].loop_q
        q, v, loop_q = (np.array([getattr(p, key) for p in parts]) for key in ("q", "v", "loop_q"))
        left = np.array([p.residual for p in parts])
    lost = np.flatnonzero(~(left <= _CLOSED_RESIDUAL))
    if len(lost):
        raise _not_of_this_mechanism(model, samples, int(lost[0]))
    return q, v, loop_q


def _follows_turns(model: Model) -> bool:
    """Return whether a loop's residual depends on the initial guess of its joint's coordinates: that of a plugin."""
    names = (joint_of_loop_type(find_loop_type(loop.type)) for loop in model.spec.loops)
    return any(find_joint(name).plugin is not None for name in names)


def _not_of_this_mechanism(model: Model, samples: Samples, row: int) -> IdentificationError:
    residual = np.abs(constraints(model, samples.q[row]).residual)
    k = int(np.nan_to_num(residual, nan=np.inf).argmax())
    name = model.row_names[k]
    problem = (
        f"{kind_of_constraint(model, name)} {name!r} is open by {residual[k]:.3g} [m, rad] and does not close nearby; "
        "give the model that was recorded, or leave the row out"
    )
    return IdentificationError(f"{samples.source}: row {samples.first_row + row}", problem)


def _noted_residual(model: Model, samples: Samples, loop_q: Array) -> list[str]:
    """Return the note on a recording whose loops are open by more than rounding."""
    residual = np.abs(constraints(model, samples.q, loop_q=loop_q).residual)
    row, k = np.unravel_index(residual.argmax(), residual.shape)
    if residual[row, k] <= _REPORTED_RESIDUAL:
        return []
    name = model.row_names[k]
    note = (
        f"{kind_of_constraint(model, name)} {name!r} is open by {residual[row, k]:.3g} [m, rad] in row "
        f"{samples.first_row + int(row)}: the samples were moved onto the constraints"
    )
    return [note]


def _seeds(
    model: Model, count: int, rng: np.random.Generator, near: AllowedMotions | None
) -> tuple[Array, Array]:
    """Return closed configurations and loop coordinates at which random walks start."""
    if near is None:
        state = start_state(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PysimWarning)
            closed = assemble(model, state.q, state.v)
        return np.tile(closed.q, (count, 1)), np.tile(closed.loop_q, (count, 1))
    rows = rng.integers(len(near.q), size=count)
    return near.q[rows], near.loop_q[rows]
