"""Static equilibrium of a scene by Newton's method, downhill.

    r(q) = τ(q) − g(q) + Jᵀ λ = 0,   c(q) = 0          passive and element forces at rest, gravity, loops
    H δ = r,   J δ = −c,   H = −∂r/∂q,   q ← q ⊕ δ

Redundant rows leave λ undetermined and do no harm: δ is split into −J⁺ c and the null space N of J. Where Nᵀ H N is not
positive definite, its eigenvalues are replaced by their magnitudes, so that every step goes downhill in a potential and
ends at an equilibrium that is stable [Nocedal and Wright 2006, section 3.4]. A step is halved while the slope along it
is reversed; a coordinate moves by at most 0.3 rad or m in one. Forces without a potential may
keep it from converging; then the forces at the start are taken away and brought back in load steps,
r(q) − (1 − s) r(q₀) = 0.

The eigenvalues of Nᵀ H N in the norm of Nᵀ M N are the squares of angular frequencies; a negative one is a motion along
which the equilibrium is unstable.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import crba, generalized_gravity, passive_forces, rnea_derivatives
from pysim.errors import PysimWarning, SimulationError, did_you_mean
from pysim.loops.assembly import assemble
from pysim.loops.constraints import constraints
from pysim.mechanism.model import State
from pysim.typing import Array
from pysim.worlds.element_forces import element_forces

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene

ALL_JOINTS = "*"
_MOST_ITERATIONS = 80  # iterations
_LARGEST_STEP = 0.3  # [rad or m] of a coordinate in an iteration
_REST_STEP = 1e-10  # [rad or m] of the last iteration
_ROUGH_REST_STEP = 1e-7  # of the last one, where rounding keeps the iteration from resting
_DIFFERENCE = 1e-6  # of coordinates, for the slopes of elements
_DEPENDENT = 1e-9  # singular value of a redundant row, relative to the largest
_ROUNDING_STIFFNESS = 1e-8  # of the largest stiffness: rounding of a neutral motion
_FLUTTER_RATIO = 1e-6  # imaginary part of an eigenvalue over its magnitude
_NEUTRAL_STIFFNESS = 1e-9  # of the largest stiffness: rounding of that of a neutral motion
_NEUTRAL_FORCE = 1e-8  # of the largest stiffness: a force along a neutral motion that is rounding
_HALVINGS = 12
_CLOSING_STEPS = 5  # steps that close the loops after an iteration
_LOAD_STEP = 0.1  # of the loads at first
_SHORTEST_LOAD_STEP = 1e-3
_FEW_ITERATIONS = 15  # iterations of a load step that is short enough


@dataclass(frozen=True)
class Equilibrium:
    """A state at rest in which all forces balance.

    Attributes:
        state: of the scene, with the loops closed; its velocities are 0.
        eigenvalues: squares of the angular frequencies about it [rad²/s²], ascending; complex without a potential.
        motions: the motion (nv,) of each eigenvalue, by columns.
        rounding: of each eigenvalue.
        row_forces: λ of the constraints' rows.
        iterations: that were taken.
    """

    state: State
    eigenvalues: Array
    motions: Array
    rounding: Array
    row_forces: Array
    iterations: int

    @property
    def q(self) -> Array:
        """The coordinates (nq,)."""
        return np.asarray(self.state.q)

    @property
    def is_stable(self) -> bool:
        """Whether a small displacement comes back, or stays, in the absence of damping."""
        grows = self.eigenvalues.real < -self.rounding
        oscillates = np.abs(self.eigenvalues.imag) > np.maximum(
            self.rounding, _FLUTTER_RATIO * np.abs(self.eigenvalues)
        )
        return not bool((grows | oscillates).any())


def find_equilibrium(
    scene: Scene, *, free: Collection[str] | None = None, stable: bool = True
) -> Equilibrium:
    """Return the equilibrium of a scene near its start. Arguments and errors as in `pysim.equilibrium`."""
    if scene.model.spec.wheels:
        problem = f"loop {scene.model.spec.wheels[0]!r} rolls, so that rest is no condition on coordinates"
        raise SimulationError("equilibrium", f"{problem}; leave the wheel out")
    search = _Search(scene, free_velocities(scene, free), stable)
    with np.errstate(all="ignore"):  # what overflows is reported as no equilibrium
        found = search.run()
    if stable and not found.is_stable:
        warnings.warn(
            f"{scene.spec.path}: {unstable_text(scene, found)}", PysimWarning, stacklevel=3
        )
    return found


def unstable_text(scene: Scene, found: Equilibrium) -> str:
    """Return the sentence about an unstable equilibrium."""
    worst = int(np.argmin(found.eigenvalues.real + found.rounding))
    name = scene.model.velocity_names[int(np.abs(found.motions[:, worst]).argmax())]
    least = found.eigenvalues[worst]
    what = f"a displacement of {name!r} grows by e^(t √{-least.real:.3g})"
    if not least.real < 0:
        what = "a displacement grows as an oscillation"
    return f"the equilibrium is unstable: {what}; start beside it, or stiffen what buckles"


def free_velocities(scene: Scene, free: Collection[str] | None) -> NDArray[np.intp]:
    """Return the numbers of the velocities of joints that move.

    Raises:
        SimulationError: a joint is unknown.
    """
    model = scene.model
    driven = {motion for joint in model.spec.joints if joint.motions for motion in (joint.name,)}
    if free is None:
        moves = np.ones(model.nv, bool)
    else:
        if isinstance(free, str):
            raise TypeError(f"free must be a list of names, got {free!r}; write [{free!r}]")
        known = {*model.joint_names, *model.velocity_names}
        for name in free:
            if name not in known:
                raise SimulationError(
                    "free", f"there is no joint {name!r}{did_you_mean(name, known)}"
                )
        moves = np.isin(model.velocity_names, list(free))
        for joint, at, nv in _joints(scene):
            moves[at : at + nv] |= joint in free
    for joint, at, nv in _joints(scene):
        moves[at : at + nv] &= joint not in driven
    return np.flatnonzero(moves)


def _joints(scene: Scene) -> list[tuple[str, int, int]]:
    model = scene.model
    places = zip(model.joint_names, model.v_offsets, model.joint_nv, strict=True)
    return [(name, at, nv) for name, at, nv in places if at >= 0]


@dataclass(frozen=True)
class _Place:
    """Coordinates of a mechanism and of its loops' joints, and the size of the step that led there [rad or m]."""

    q: Array
    loop_q: Array
    left: float = np.inf


class _Search:
    """Iteration from the start of a scene."""

    def __init__(self, scene: Scene, free: NDArray[np.intp], stable: bool) -> None:
        self.scene, self.model, self.free, self.stable = scene, scene.model, free, stable
        self.has_elements = scene.signals is not None or bool(scene.spec.actuators)
        self.rest = np.zeros(self.model.nv)

    def run(self) -> Equilibrium:
        """Return the equilibrium.

        Raises:
            SimulationError: there is none.
        """
        begin = _Place(np.array(self.scene.state.q), np.array(self.scene.state.loop_q))
        if not len(self.free):
            return self._completed(begin, 0)
        place, count = self._iterated(begin, np.zeros(len(self.free)), self.stable)
        if self._rests(place):
            return self._completed(place, count)
        loaded, more = self._by_load_steps(begin)
        if loaded is None:
            raise SimulationError(str(self.scene.spec.path), self._none(place))
        return self._completed(loaded, count + more)

    def _by_load_steps(self, begin: _Place) -> tuple[_Place | None, int]:
        """Follow the equilibria under r − (1 − s) r₀ from the start, s = 0, to s = 1; None if they end before."""
        start, _, _ = self._residual(begin)
        s, step, place, count = 0.0, _LOAD_STEP, begin, 0
        while s < 1 and step > _SHORTEST_LOAD_STEP:
            there = min(1.0, s + step)
            found, more = self._iterated(place, (1 - there) * start, False)
            count += more
            if more < _FEW_ITERATIONS and self._rests(found):
                s, step, place = there, 1.5 * step, found
            else:
                step /= 2
        return (place if s >= 1 else None), count

    def _rests(self, place: _Place) -> bool:
        return bool(np.isfinite(place.q).all() and place.left < _ROUGH_REST_STEP)

    def _iterated(self, place: _Place, held: Array, downhill: bool) -> tuple[_Place, int]:
        """Return where Newton's method ends from a place, under forces (free,) that are taken away, and its steps.

        `left` of the place is the size of the last step.
        """
        q, loop_q = place.q, place.loop_q
        r, rows, c = self._residual(place)
        r = r - held
        forces = _multipliers(rows, r)
        far, least, count = np.inf, np.inf, 0
        for count in range(1, _MOST_ITERATIONS + 1):
            H = self._slope(q, loop_q, forces)
            delta, within = self._step(H, r, rows, c, downhill)
            if not np.isfinite(delta).all():
                return _Place(q, loop_q), count
            begin, before = q, float(within @ (r + rows.T @ forces))
            for _ in range(_HALVINGS):
                q, loop_q = self._closed(self._moved(begin, delta), loop_q)
                r, rows, c = self._residual(_Place(q, loop_q))
                r = r - held
                forces = _multipliers(rows, r)
                far = float(np.abs(delta).max())
                if not downhill or far < _ROUGH_REST_STEP:
                    break
                if float(within @ (r + rows.T @ forces)) > -before:
                    break
                delta, within, before = delta / 2, within / 2, before / 2
            if far < _REST_STEP or (least < _ROUGH_REST_STEP and far > least / 2):
                break
            least = min(least, far)
        return _Place(q, loop_q, far), count

    def _closed(self, q: Array, loop_q: Array) -> tuple[Array, Array]:
        """Return coordinates near q at which the loops are closed, as far as a few of Newton's steps go."""
        for _ in range(_CLOSING_STEPS if self.model.rows else 0):
            there = constraints(self.model, q, loop_q=loop_q)
            loop_q = np.asarray(there.loop_q)
            if np.abs(there.residual).max() < _REST_STEP:
                break
            rows = there.jacobian[:, self.free]
            change = np.linalg.lstsq(rows, -there.residual, rcond=_DEPENDENT)[0]
            q = self._moved(q, change * min(1.0, _LARGEST_STEP / max(np.abs(change).max(), 1e-300)))
        return q, loop_q

    def _step(
        self, H: Array, r: Array, rows: Array, c: Array, downhill: bool
    ) -> tuple[Array, Array]:
        """Return the displacement (free,) of an iteration, and its part within the constraints."""
        Y, N = _split(rows)
        along = -(Y @ c)
        if not N.size:
            return along, np.zeros(len(along))
        Hn, force = N.T @ H @ N, N.T @ (r - H @ along)
        within = N @ (_downhill(Hn, force) if downhill else _solved(Hn, force))
        within *= min(1.0, _LARGEST_STEP / max(float(np.abs(within).max()), 1e-300))
        return np.asarray(along + within), np.asarray(within)

    def _residual(self, place: _Place) -> tuple[Array, Array, Array]:
        """Return the forces (free,) without those of constraints, and the rows (rows, free) with their opening."""
        q = place.q
        tau = element_forces(self.scene, 0.0, q, self.rest) - generalized_gravity(self.model, q)
        if not self.model.rows:
            return tau[self.free], np.zeros((0, len(self.free))), np.zeros(0)
        there = constraints(self.model, q, loop_q=place.loop_q)
        return tau[self.free], there.jacobian[:, self.free], there.residual

    def _slope(self, q: Array, loop_q: Array, forces: Array) -> Array:
        """Return H = −∂r/∂q (free, free), with λ as it is."""
        model, free = self.model, self.free
        H = rnea_derivatives(model, q, self.rest, self.rest, passive=True)[0][np.ix_(free, free)]
        loaded = model.rows > 0 and forces.any()
        if not (self.has_elements or loaded):
            return np.asarray(H)
        steps = np.vstack([np.eye(len(free)), -np.eye(len(free))]) * _DIFFERENCE
        moved = np.array([self._moved(q, step) for step in steps])
        varying = np.zeros((len(moved), model.nv))
        if self.has_elements:
            varying += element_forces(self.scene, 0.0, moved, self.rest)
            varying -= passive_forces(model, moved, np.zeros((len(moved), model.nv)))
        if loaded:
            there = constraints(model, moved, loop_q=np.tile(loop_q, (len(moved), 1)))
            varying += np.einsum("nri,r->ni", there.jacobian, forces)
        plus, minus = np.split(varying[:, free], 2)
        return np.asarray(H - (plus - minus).T / (2 * _DIFFERENCE))

    def _moved(self, q: Array, delta: Array) -> Array:
        """Return the configuration q displaced by δ (free,)."""
        change = np.zeros(self.model.nv)
        change[self.free] = delta
        return np.asarray(self.model.integrate(q, change))

    def _completed(self, place: _Place, iterations: int) -> Equilibrium:
        """Return the equilibrium at a place, with its loops closed to rounding."""
        model, q, loop_q = self.model, place.q, place.loop_q
        if model.loop_names or model.coupling_names:
            held = [name for k, name in enumerate(model.velocity_names) if k not in set(self.free)]
            closed = assemble(model, q, hold=held, loop_q=loop_q)
            q, loop_q = closed.q, closed.loop_q
        r, rows, _ = self._residual(_Place(q, loop_q))
        forces = _multipliers(rows, r)
        H = self._slope(q, loop_q, forces)
        M = crba(model, q)[np.ix_(self.free, self.free)]
        _, N = _split(rows)
        values, vectors = _modes(N.T @ H @ N, N.T @ M @ N)
        motions = np.zeros((model.nv, len(values)))
        motions[self.free] = (N @ vectors).real
        rounding = (
            _ROUNDING_STIFFNESS * np.abs(H).max(initial=0.0) * (np.abs(vectors) ** 2).sum(axis=0)
        )
        state = State(q, self.rest, loop_q)
        return Equilibrium(state, values, motions, rounding, forces, iterations)

    def _none(self, place: _Place) -> str:
        """Return the sentence about a search that found no equilibrium."""
        r, rows, _ = self._residual(place)
        _, N = _split(rows)
        left = N @ (N.T @ r)
        worst = self.free[int(np.abs(left).argmax())] if np.isfinite(left).all() else self.free[0]
        name, unit = self.model.velocity_names[worst], self.model.velocity_units[worst]
        force = "N" if unit == "m/s" else "N·m"
        amount = float(np.abs(left).max()) if np.isfinite(left).all() else np.inf
        problem = f"no equilibrium is found near the start: {name!r} is still driven by {amount:.3g} {force}"
        return f"{problem}; hold it by a loop, a spring or a brake, or start nearer to the place where it rests"


def _split(rows: Array) -> tuple[Array, Array]:
    """Return the pseudo-inverse of the rows (free, rows), and an orthonormal basis of their null space."""
    if not len(rows):
        return np.zeros((rows.shape[1], 0)), np.eye(rows.shape[1])
    U, sizes, Vt = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > _DEPENDENT * max(sizes.max(initial=0.0), 1e-300)).sum())
    inverse = Vt[:rank].T @ (U[:, :rank] / sizes[:rank]).T
    return np.asarray(inverse), np.asarray(Vt[rank:].T)


def _multipliers(rows: Array, r: Array) -> Array:
    """Return the forces λ of the constraints that balance r best."""
    if not len(rows):
        return np.zeros(0)
    return np.asarray(np.linalg.lstsq(rows.T, -r, rcond=_DEPENDENT)[0])


def _downhill(H: Array, force: Array) -> Array:
    """Return H⁻¹ f if the symmetric part of H is positive definite, and else |H|⁻¹ f; neutral motions stay."""
    S = (H + H.T) / 2
    least = _NEUTRAL_STIFFNESS * float(np.abs(S).max())
    try:
        np.linalg.cholesky(S - least * np.eye(len(S)))
    except np.linalg.LinAlgError:
        values, vectors = (
            np.linalg.eigh(S) if np.isfinite(S).all() else (np.full(len(S), np.nan), S)
        )
        part = vectors.T @ force
        neutral = (np.abs(values) <= least) & (
            np.abs(part) <= _NEUTRAL_FORCE * float(np.abs(S).max())
        )
        part[neutral] = 0.0
        return np.asarray(vectors @ (part / np.maximum(np.abs(values), least)))
    return _solved(H, force)


def _solved(A: Array, b: Array) -> Array:
    """Return A⁻¹ b, NaN where A is singular."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        return np.full(len(b), np.nan)


def _modes(H: Array, M: Array) -> tuple[Array, Array]:
    """Return the eigenvalues of H in the norm of M, ascending, and their motions."""
    if not len(H):
        return np.zeros(0), np.zeros((0, 0))
    L = np.linalg.cholesky(M)
    A = np.linalg.solve(L, np.linalg.solve(L, H).T).T
    if np.abs(A - A.T).max() <= 1e-6 * np.abs(A).max():
        values, vectors = np.linalg.eigh((A + A.T) / 2)
    else:
        values, vectors = np.linalg.eig(A)
        order = np.argsort(values.real)
        values, vectors = values[order], vectors[:, order]
    return values, np.linalg.solve(L.T, vectors)


def with_equilibrium(scene: Scene) -> Scene:
    """Return a scene that starts in equilibrium, if its file demands that."""
    chosen = scene.spec.equilibrium
    if not chosen:
        return scene
    found = find_equilibrium(scene, free=None if ALL_JOINTS in chosen else chosen)
    return replace(scene, state=found.state)
