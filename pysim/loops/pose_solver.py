"""Search for configurations in which frames have given poses, from given starts and from random ones.

The engine takes Levenberg-Marquardt steps in packs of worlds, see `cpp/constraints/pose_search.hpp`. Lengths are
measured by the reach of the frames and coordinates by the mean diagonal D of JᵀJ, so that the units of neither matter.
A world whose search ends elsewhere starts again from random configurations. Their lengths without limits, such as the
position of a free base, are drawn about those of its start and about its targets in turn; apart from that the k-th is
the same for every world, so a result does not depend on the rest of its batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.algorithms import jacobian
from pysim.algorithms.frames import body_and_point, frame_placement
from pysim.errors import ModelError
from pysim.joints.registry import find_joint
from pysim.loops.constraints import constraints
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.loops.pose_targets import FrameTarget
    from pysim.mechanism.model import Model

    Indices = NDArray[np.intp]

_LOOP_WEIGHT = 30.0  # c, a frame's reach: loops stay nearly closed where targets are out of reach
_SAMPLES = 16  # random configurations whose Jacobians give lengths and D
_REQUIRED_RATIO = 0.3  # share of E within a few steps that a search must reach to go on
_SLOWEST_RATIO = 1 - 1e-6  # the same where no search has met the target
_PATIENCE_FACTOR = 20  # times the iterations, for these
_RECORD = 12  # numbers of a pose, whose last three are the position
_LEAST_SCALE = 1e-6  # of D, relative to its largest entry


class PoseSolver:
    """Poses and positions that frames of a model are to take in n worlds, and the search for them."""

    def __init__(
        self,
        model: Model,
        targets: tuple[FrameTarget, ...],
        tolerance: float,
        iterations: int,
        threads: int,
    ) -> None:
        self._model, self._tolerance = model, tolerance
        self._iterations, self._threads = iterations, threads
        self._goals = np.hstack([target.records for target in targets])
        self._limits = coordinate_limits(model)
        self._lengths = unlimited_lengths(model)
        self._names = [target.frame for target in targets]
        shares = np.array([np.mean(target.weights[:3]) for target in targets])
        self._shares = shares / (shares.sum() or 1.0)  # of frames in the centre of the targets
        rows = position_rows(model)
        rng = np.random.default_rng(0)
        q = np.array([model.random_configuration(rng) for _ in range(_SAMPLES)])
        slopes = [jacobian(model, q, target.frame, "aligned") for target in targets]
        reach = np.concatenate([np.sqrt((J[:, :3] ** 2).sum(axis=1)).ravel() for J in slopes])
        length = float(np.sqrt(np.mean(reach[reach > 0] ** 2))) if reach.any() else 1.0
        self._row_weight = np.where(rows, _LOOP_WEIGHT / length, 0.0).tolist()
        scale = np.zeros(model.nv)
        self._frames = []
        for target, J in zip(targets, slopes, strict=True):
            weight = np.zeros(6)
            weight[: len(target.weights)] = target.weights
            weight[:3] /= length
            mean = np.repeat(np.sqrt([(weight[:3] ** 2).mean(), (weight[3:] ** 2).mean()]), 3)
            scale += ((mean[:, None] * J) ** 2).sum(axis=1).mean(axis=0)
            self._frames.append((*body_and_point(model, target.frame), weight.tolist()))
        if model.rows:
            J = constraints(model, q).jacobian * np.array(self._row_weight)[:, None]
            scale += (J**2).sum(axis=1).mean(axis=0)
        moves = scale > 0  # the others move no frame, and stay
        least = _LEAST_SCALE * scale.max(initial=0.0)
        self._scale = np.where(moves, np.maximum(scale, least), 1.0).tolist()

    def follow(
        self,
        start: Array,
        loop_q: Array | None,
        restarts: int,
        rng: np.random.Generator,
        rows: int,
    ) -> tuple[Array, Array]:
        """Return q (n, nq) and loop_q (n, loop_nq) of worlds that follow each other in equal rows of a path.

        The first row is solved; each other one is searched from the configurations of the row before.
        """
        count = len(start) // rows if rows else 0
        q, loops = self.solve(start[:count], loop_q, restarts, rng)
        found = [(q, loops)]
        for k in range(1, rows):
            worlds = np.arange(k * count, (k + 1) * count)
            q, loops, _, error = self.search(q, loops, worlds, self._iterations)
            self._refine(q, loops, error, worlds)
            found.append((q.copy(), loops.copy()))
        return np.concatenate([q for q, _ in found]), np.concatenate([own for _, own in found])

    def solve(
        self, start: Array, loop_q: Array | None, restarts: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Return the best q (n, nq) that is found from starts (n, nq) and random ones, and its loop_q (n, loop_nq).

        The targets are the first n.
        """
        guess = self._model_loop_q(start, loop_q)
        q, loops, cost, error = self.search(start, guess, np.arange(len(start)), self._iterations)
        tried, count = 0, 1
        while tried < restarts:
            left = np.flatnonzero(~(error <= self._tolerance))
            if not len(left):
                break
            count = min(count, restarts - tried)
            others = np.array([self._model.random_configuration(rng) for _ in range(count)])
            first = self._placed(others, tried, start[left], left)
            again = np.repeat(left, count)
            found = self.search(first, self._model_loop_q(first, loop_q), again, self._iterations)
            rank = np.where(found[3] <= self._tolerance, -1.0, found[2]).reshape(len(left), count)
            at = np.arange(len(left)) * count + rank.argmin(axis=1)
            better = (found[3][at] <= self._tolerance) | (found[2][at] < cost[left])
            here, at = left[better], at[better]
            for mine, new in zip((q, loops, cost, error), found, strict=True):
                mine[here] = new[at]
            tried, count = tried + count, 2 * count
        self._refine(q, loops, error, np.arange(len(start)))
        return q, loops

    def _refine(self, q: Array, loop_q: Array, error: Array, worlds: Indices) -> None:
        """Bring those of some worlds that have not converged to the very minimum, in place."""
        left = np.flatnonzero(~(error <= self._tolerance))
        if len(left):
            q[left], loop_q[left], _, _ = self.search(
                q[left],
                loop_q[left],
                worlds[left],
                _PATIENCE_FACTOR * self._iterations,
                _SLOWEST_RATIO,
            )

    def _placed(self, drawn: Array, tried: int, start: Array, worlds: Indices) -> Array:
        """Return drawn configurations (m, nq) for each of n worlds (n m, nq), with their lengths about where it is.

        Args:
            drawn: configurations whose lengths without limits are drawn about 0.
            tried: number of the first of them.
            start: the start of each world (n, nq).
            worlds: numbers of the worlds (n,).
        """
        starts = np.tile(drawn, (len(worlds), 1, 1))
        places, by_target = self._lengths, np.arange(tried, tried + len(drawn)) % 2 == 1
        if not places:
            return starts.reshape(-1, self._model.nq)
        offset = np.repeat(start[:, None, places], len(drawn), axis=1)
        if by_target.any() and self._shares.any():
            centre, slope = self._centre(drawn[by_target])
            goals = self._goals[worlds].reshape(len(worlds), -1, _RECORD)[..., -3:]
            goal = np.einsum("f,nfi->ni", self._shares, goals)
            way = goal[:, None] - centre
            offset[:, by_target] = np.einsum("kmi,nki->nkm", np.linalg.pinv(slope), way)
        starts[..., places] += offset
        return starts.reshape(-1, self._model.nq)

    def _centre(self, q: Array) -> tuple[Array, Array]:
        """Return the mean position (m, 3) of the frames at q (m, nq) with lengths 0, and its slope (m, 3, lengths)."""
        moved = np.repeat(q[None], 1 + len(self._lengths), axis=0)
        moved[..., self._lengths] = 0.0
        for k, place in enumerate(self._lengths):
            moved[1 + k, :, place] = 1.0
        flat = moved.reshape(-1, q.shape[1])
        at = [frame_placement(self._model, flat, frame)[:, :3, 3] for frame in self._names]
        mean = np.einsum("f,fki->ki", self._shares, np.array(at)).reshape(*moved.shape[:2], 3)
        return mean[0], np.moveaxis(mean[1:] - mean[0], 0, -1)

    def search(
        self,
        start: Array,
        loop_q: Array,
        worlds: Indices,
        iterations: int,
        gain: float = _REQUIRED_RATIO,
    ) -> tuple[Array, Array, Array, Array]:
        """Return q, loop_q, cost and largest error [m, rad] of searches for the targets of `worlds` (m,)."""
        q, loops, cost, error = _engine.search_poses(
            self._model,
            start,
            self._goals[worlds],
            self._frames,
            self._limits,
            self._scale,
            self._row_weight,
            self._tolerance,
            iterations,
            gain,
            gain == _SLOWEST_RATIO,
            loop_q,
            threads=self._threads,
        )
        return q, loops, cost, error

    def _model_loop_q(self, q: Array, loop_q: Array | None) -> Array:
        """Return the guess of the loops' coordinates for every world."""
        start = constraints(self._model, q[:1]).loop_q if len(q) else np.zeros((0, 0))
        return np.broadcast_to(start if loop_q is None else loop_q, (len(q), start.shape[1])).copy()


def coordinate_limits(model: Model) -> list[tuple[int, int, float, float]]:
    """Return the places in q and v of real coordinates that have limits, and these [m or rad], with those of followers.

    Raises:
        ModelError: the limits of a joint and of one that follows it exclude each other.
    """
    limits: dict[int, tuple[int, int, float, float]] = {}
    for k, joint in enumerate(model.joints):
        ratio, offset, leader, at = 1.0, 0.0, joint, k
        while model.v_offsets[at] < 0 and leader.mimic is not None:
            offset += ratio * leader.mimic.offset
            ratio *= leader.mimic.ratio
            at = model.joint_names.index(leader.mimic.joint)
            leader = model.joints[at]
        for own_q, own_v in zip(*find_joint(joint.type).real_coordinates, strict=True):
            ends = np.array([joint.lower[own_v], joint.upper[own_v]]) - offset
            if ratio == 0 or not np.isfinite(ends).any():
                continue
            low, high = np.sort(ends / ratio).tolist()
            q, v = model.q_offsets[at] + own_q, model.v_offsets[at] + own_v
            _, _, lower, upper = limits.get(v, (q, v, -np.inf, np.inf))
            limits[v] = q, v, max(lower, low), min(upper, high)
    for _, v, lower, upper in limits.values():
        if lower > upper:
            name = model.velocity_names[v]
            problem = (
                f"those of {name!r} and of the joints that follow it exclude each other; widen them"
            )
            raise ModelError("limits", problem)
    return list(limits.values())


def unlimited_lengths(model: Model) -> list[int]:
    """Return the places in q of lengths that have no limits, or a single one."""
    lengths = []
    for joint, first in zip(model.joints, model.q_offsets, strict=True):
        kind = find_joint(joint.type)
        if first < 0:
            continue
        for own_q, own_v in zip(*kind.real_coordinates, strict=True):
            is_limited = np.isfinite([joint.lower[own_v], joint.upper[own_v]]).all()
            if kind.q_units[own_q] == "m" and not is_limited:
                lengths.append(first + own_q)
        for at, (_, count) in zip(kind.quaternions, kind.turning, strict=True):
            lengths += range(first + at - 3, first + at) if count == 6 else ()
    return lengths


def position_rows(model: Model) -> NDArray[np.bool_]:
    """Return which rows constrain positions: all but the two of a wheel's rolling."""
    wheels = set(model.spec.wheels)
    names = model.row_names
    return np.array(
        [name not in wheels or names.index(name) == k for k, name in enumerate(names)], bool
    )
