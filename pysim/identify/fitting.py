"""Numbers of a scene by which its run follows a recording: friction, stiffness, restitution, gains, masses.

    found = fit(scene, t, q, {"materials.rubber.friction": (0.1, 1.5)})
    found.values                                          # {"materials.rubber.friction": 0.82}

Where `identify` solves equations that are linear in the parameters, this compares runs with the recording, so that
contacts, limits, loops and controllers take part. All runs of a step of the search, those of the derivatives
included, are worlds of one batch [Ljung 1999, output error].

Numbers also take up what the steps of the scheme do: a damping replaces the one of the scheme. They are found once more
with half the step, from the first result on.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import IdentificationError, PysimWarning
from pysim.simulation.worlds import Worlds
from pysim.typing import Array
from pysim.worlds.failed_worlds import DROP
from pysim.worlds.loading import with_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from pysim.worlds.loading import Scene

STEP = 1e-4  # of the range of a parameter, by which derivatives are taken
BEST_SAMPLES = 4  # samples of the ranges from which the search starts
REWEIGHTED = 2  # searches, each with the noise that the one before has left
LEAST_NOISE = 1e-4  # of the largest coordinate's motion
WIDE_RANGE_RATIO = 10.0  # ratio of two positive bounds from which on their logarithm is searched
# standard deviations and share by which a number may change with half the step unreported
REPORTED_CHANGE = (1.0, 5e-3)
LOST_DISTANCE = 10.0  # times the motion: distance of a world that is lost


@dataclass(frozen=True)
class Fit:
    """Estimates of numbers of a scene from a recording, with their standard deviations."""

    values: dict[str, float]
    # standard deviations, from what is left of the noise; inf where nothing depends on one
    deviations: dict[str, float]
    residual: Array  # (nv,) root mean square of what is left, in the coordinates' units
    q: Array  # (n, nq) of the run with these values, at the recorded instants
    runs: int  # simulated
    # of the values with half the step: the share of the scheme's errors in them
    step_changes: dict[str, float]


def fit(
    scene: Scene | str | Path,
    t: ArrayLike,
    q: ArrayLike,
    parameters: Mapping[str, tuple[float, float]],
    *,
    samples: int = 64,
    seed: int = 0,
    threads: int = 0,
) -> Fit:
    """Find numbers of a scene with which its run, from its start, is nearest to a recording.

    Nearest in the sum of squares of all coordinates over their noise, which is estimated from what a first search
    leaves. The ranges are sampled first, so that a bounce that is counted wrongly does not hide the best values.

    Args:
        scene: a scene with a scheme of fixed steps, or its path.
        t: instants (n,) [s], ascending, from 0 on; between two steps runs are continued by their velocities.
        q: configurations (n, nq) there; NaN where a coordinate was not measured.
        parameters: least and greatest value of each number by its path, as `Worlds.parameters` names them.
        samples: of the ranges, among them the scene's own numbers.
        seed: of the samples.
        threads: that share the runs; 0 for all processors.

    Raises:
        IdentificationError: arrays do not suit the scene, a range is empty, or no run lasts as long.
        SimulationError: the scene's worlds cannot differ in a number, or its scheme adapts its steps.

    Warns:
        PysimWarning: a number changes by more than its deviation with half the step.
    """
    from scipy.stats import qmc  # noqa: PLC0415, loads where a scene is fitted

    runs = _Runs(scene, t, q, parameters, threads)
    count = len(parameters)
    points = np.vstack(
        [runs.start, qmc.LatinHypercube(count, seed=seed).random(max(samples - 1, 1))]
    )
    weights = np.broadcast_to(1 / runs.scale, (runs.worlds.v.shape[1],))
    costs = (runs.residuals(points, weights) ** 2).sum(axis=1)
    if not np.isfinite(costs).any() or not (costs < runs.lost_cost).any():
        problem = "no sample of the ranges lasts as long as the recording"
        raise IdentificationError("fit", f"{problem}; give narrower ranges, or a shorter step")
    best = points[np.argsort(costs)[:BEST_SAMPLES]]
    for _ in range(REWEIGHTED):
        found = [runs.search(start, weights) for start in best]
        u = min(found, key=lambda pair: pair[1])[0]
        left = np.sqrt(np.mean(runs.differences(u[None])[0] ** 2, axis=0))
        weights = 1 / np.maximum(left, LEAST_NOISE * runs.scale)
        best = u[None]
    J = runs.derivatives(u, weights)
    values, deviations = runs.values(u[None])[0], runs.deviations(u, J)
    finer = runs.with_half_the_step()
    changes = finer.values(finer.search(u, weights)[0][None])[0] - values
    _warn_of_steps(finer, list(parameters), values, deviations, changes)
    return Fit(
        dict(zip(parameters, values.tolist(), strict=True)),
        dict(zip(parameters, deviations.tolist(), strict=True)),
        left,
        runs.simulated(u[None])[0],
        runs.simulated_worlds + finer.simulated_worlds,
        dict(zip(parameters, changes.tolist(), strict=True)),
    )


def _warn_of_steps(
    finer: _Runs, names: list[str], values: Array, deviations: Array, changes: Array
) -> None:
    """Warn of the number that changes most with half the step, beyond its deviation."""
    shares = np.divide(
        np.abs(changes), deviations, out=np.zeros(len(changes)), where=np.isfinite(deviations)
    )
    k = int(shares.argmax())
    if not (
        shares[k] > REPORTED_CHANGE[0] and abs(changes[k]) > REPORTED_CHANGE[1] * abs(values[k])
    ):
        return
    problem = (
        f"{names[k]!r} changes from {values[k]:.4g} to {values[k] + changes[k]:.4g} with half the step, by"
        f" {shares[k]:.2g} standard deviations: the error of the steps is part of it"
    )
    remedy = (
        f"reduce simulation.step, now {2 * finer.step:g} [s], or take an integrator of higher order"
    )
    warnings.warn(f"fit: {problem}; {remedy}", PysimWarning, stacklevel=3)


class _Runs:
    """Runs of a scene with numbers u (k, parameters) in 0 … 1 of their ranges, compared with a recording."""

    def __init__(
        self,
        scene: Scene | str | Path,
        t: ArrayLike,
        q: ArrayLike,
        parameters: Mapping[str, tuple[float, float]],
        threads: int,
    ) -> None:
        if not parameters:
            raise IdentificationError("parameters", "names no number; name one, with its range")
        self._ranges, self._names, self._threads = parameters, list(parameters), threads
        self._size = max(8, len(parameters) + 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PysimWarning)
            self.worlds = Worlds(scene, self._size, threads=threads, on_failure=DROP)
        self._scene = self.worlds.scene()  # before its numbers are varied
        self._model, self.step = self._scene.model, self._scene.settings.step
        self.t, self._q = _checked(t, q, self._model.nq)
        self._bounds = np.array([_range(name, parameters[name]) for name in self._names])
        own = np.array([float(np.ravel(self.worlds.parameters[name])[0]) for name in self._names])
        low, high = self._bounds.T
        self._is_log = (low > 0) & (high > WIDE_RANGE_RATIO * low)
        self.start = self._shares(np.clip(own, low, high))
        measured = self._q[:, np.isfinite(self._q).any(axis=0)]
        motion = measured - np.nanmean(measured, axis=0)
        self.scale = float(np.sqrt(np.nanmax(motion**2))) or 1.0
        self.lost_cost = LOST_DISTANCE**2 * self._q.shape[0]
        self.simulated_worlds = 0
        self._known: tuple[bytes, Array] | None = None  # derivatives with the last residual

    def with_half_the_step(self) -> _Runs:
        """Return runs of the scene with half its step, compared with the same recording."""
        scene = with_settings(self._scene, replace(self._scene.settings, step=0.5 * self.step))
        return _Runs(scene, self.t, self._q, self._ranges, self._threads)

    def values(self, u: Array) -> Array:
        """Return the numbers (k, parameters)."""
        low, high = self._bounds.T
        inside = np.clip(u, 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = low * (high / low) ** inside
        return np.asarray(np.where(self._is_log, wide, low + (high - low) * inside))

    def _shares(self, values: Array) -> Array:
        low, high = self._bounds.T
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = np.log(values / low) / np.log(high / low)
        return np.asarray(np.where(self._is_log, wide, (values - low) / (high - low)))

    def simulated(self, u: Array) -> Array:
        """Return the configurations (k, n, nq) at the recorded instants; NaN where a world is lost."""
        found = np.empty((len(u), len(self.t), self._model.nq))
        for first in range(0, len(u), self._size):
            part = self.values(u[first : first + self._size])
            padded = np.vstack([part, np.repeat(part[-1:], self._size - len(part), axis=0)])
            found[first : first + len(part)] = self._batch(padded)[: len(part)]
        self.simulated_worlds += len(u)
        return found

    def _batch(self, values: Array) -> Array:
        worlds = self.worlds
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PysimWarning)
            for name, column in zip(self._names, values.T, strict=True):
                worlds.parameters[name] = column
            worlds.reset()
            start = np.array(worlds.q)[:, None], np.array(worlds.v)[:, None]
            steps = np.floor(self.t / self.step + 1e-6).astype(int)
            every = max(int(np.gcd.reduce(steps)), 1)
            rows = worlds.rollout(rows=int(steps[-1]) // every, every=every)
        q, v = (
            np.concatenate([first, own], axis=1)[:, steps // every]
            for first, own in zip(start, (rows.q, rows.v), strict=True)
        )
        rest = np.maximum(self.t - steps * self.step, 0.0)[:, None]
        alive = np.isfinite(q).all(axis=2)
        q[alive] = self._model.integrate(q[alive], (rest * v)[alive])
        return np.where(alive[..., None], q, np.nan)

    def differences(self, u: Array) -> Array:
        """Return how far runs are from the recording (k, n, nv), 0 where it was not measured."""
        simulated = self.simulated(u)
        lost = np.asarray(np.isnan(simulated).any(axis=2))
        own = np.where(lost[..., None], self._model.neutral(), simulated)
        recorded = np.where(np.isnan(self._q), own, self._q)
        a, b = (x.reshape(-1, self._model.nq) for x in (recorded, own))
        found = np.array(self._model.difference(a, b)).reshape(*own.shape[:2], -1)
        found[lost] = LOST_DISTANCE * self.scale
        return found

    def residuals(self, u: Array, weights: Array) -> Array:
        """Return the weighted differences (k, n · nv)."""
        return np.asarray((weights * self.differences(u)).reshape(len(u), -1))

    def derivatives(self, u: Array, weights: Array) -> Array:
        """Return the derivatives (n · nv, parameters) of the residual at u."""
        return self._with_derivatives(u, weights)[1]

    def _with_derivatives(self, u: Array, weights: Array) -> tuple[Array, Array]:
        signs = np.where(u > 0.5, -STEP, STEP)
        rows = self.residuals(np.vstack([u, u + np.diag(signs)]), weights)
        return rows[0], ((rows[1:] - rows[0]) / signs[:, None]).T

    def search(self, start: Array, weights: Array) -> tuple[Array, float]:
        """Return the nearest u from a start, and its cost."""
        from scipy.optimize import least_squares  # noqa: PLC0415, loads where a scene is fitted

        def residual(u: Array) -> Array:
            value, J = self._with_derivatives(u, weights)
            self._known = u.tobytes(), J
            return value

        def derivative(u: Array) -> Array:
            if self._known is None or self._known[0] != u.tobytes():
                residual(u)
            assert self._known is not None
            return self._known[1]

        solution = least_squares(
            residual,
            np.clip(start, 0, 1),
            derivative,
            bounds=(0, 1),
            x_scale="jac",
            xtol=1e-10,
            ftol=1e-10,
            gtol=1e-12,
            max_nfev=60,
        )
        return solution.x, float(solution.cost)

    def deviations(self, u: Array, J: Array) -> Array:
        """Return the standard deviations (parameters,) of the numbers, where the residual has deviation 1."""
        normal = J.T @ J
        tiny = 1e-12 * max(float(np.diag(normal).max()), 1e-300)
        known = np.diag(normal) > tiny
        found = np.full(len(u), np.inf)
        if known.any():
            inverse = np.linalg.pinv(normal[np.ix_(known, known)])
            slope = (self.values((u + 1e-6)[None]) - self.values((u - 1e-6)[None]))[0]
            width = np.clip(u + 1e-6, 0, 1) - np.clip(u - 1e-6, 0, 1)
            found[known] = np.sqrt(np.diag(inverse)) * np.abs(slope / width)[known]
        return found


def _range(name: str, given: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in given)
    except (TypeError, ValueError):
        raise IdentificationError(
            f"parameters: {name!r}", f"must have a least and a greatest value, got {given!r}"
        ) from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise IdentificationError(
            f"parameters: {name!r}",
            f"has the range {low:g} to {high:g}; give one that has an inside",
        )
    return low, high


def _checked(t: ArrayLike, q: ArrayLike, nq: int) -> tuple[Array, Array]:
    """Return instants and configurations of a recording."""
    times, rows = np.asarray(t, float), np.asarray(q, float)
    if times.ndim != 1 or not len(times) or rows.shape != (len(times), nq):
        problem = f"t and q have shapes {times.shape} and {rows.shape}; give (n,) and (n, {nq})"
        raise IdentificationError("recording", problem)
    if not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) <= 0).any():
        raise IdentificationError(
            "recording", "t must ascend from 0 on; sort it, from the scene's start"
        )
    if np.isinf(rows).any() or not np.isfinite(rows).any():
        raise IdentificationError("recording", "q must have numbers, NaN where there is none")
    return times, rows
