"""Inverse kinematics: configurations in which frames take given poses, with limits respected and loops closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.loops.constraints import project
from pysim.loops.pose_solver import PoseSolver
from pysim.loops.pose_targets import read_targets
from pysim.spatial.arrays import checked_double, checked_number
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.mechanism.model import Model

__all__ = ["InverseKinematics", "inverse_kinematics"]


LARGEST_COUNT = 2**31 - 1  # iterations, restarts and threads


@dataclass(frozen=True)
class InverseKinematics:
    """Configurations found for given poses of frames."""

    q: Array  # (…, nq), within the limits
    converged: NDArray[np.bool_]  # (…): whether the error is within the tolerance
    error: Array  # (…) largest distance [m] or angle [rad] of a frame from its target, or residual of a loop
    loop_q: Array  # (…, loop_nq) coordinates of the joints that close loops


def inverse_kinematics(
    model: Model,
    targets: Mapping[str, ArrayLike],
    q0: ArrayLike | None = None,
    *,
    weights: Mapping[str, Any] | None = None,
    tolerance: float = 1e-8,
    iterations: int = 40,
    restarts: int = 60,
    seed: int = 0,
    loop_q: ArrayLike | None = None,
    threads: int = 1,
    path: bool = False,
) -> InverseKinematics:
    """Return configurations in which frames take given poses or positions, within the limits and with loops closed.

    A target that is out of reach gives the configuration with the least weighted error that was found, `converged`
    False and the `error`. Leading axes of targets and q0 are batches and broadcast.

    Args:
        model: the mechanism.
        targets: for each frame, or body, its poses (…, 4, 4) or its positions (…, 3) in the world [m].
        q0: configuration (…, nq) from which the search starts, moved into the limits; `model.neutral()` by default.
        weights: for each frame, a number, a pair (position, rotation), or one number for each component of the error:
            three of position and, for a pose, three of rotation, in the target's axes. A component with weight 0 is
            free. Positions alone have components in the world's axes. Weights matter only if not all targets are met.
        tolerance: error [m, rad] of a configuration that counts as converged.
        iterations: steps from one start.
        restarts: random configurations tried after q0; 0 for the solution that q0 leads to alone.
        seed: of the random configurations.
        loop_q: initial guess of the coordinates of the loops' joints (loop_nq,).
        threads: threads that share a batch; 0 uses every processor.
        path: whether the first axis of the targets is a path: its first row is searched as above, and each other one
            from the configuration of the row before, without random ones, so that the result is continuous.

    Raises:
        ModelError: no such frame, no target, or limits that exclude each other.
        TypeError: targets or weights are no mapping.
        ValueError: an argument has a wrong shape, NaN or infinite entries, or is not a pose.

    >>> goal = pysim.frame_placement(model, [0.4, -0.7], "tip")
    >>> found = pysim.inverse_kinematics(model, {"tip": goal[:3, 3]})
    >>> bool(found.converged)
    True
    """
    _engine.check_model(model)
    _check_whole_number("iterations", iterations)
    _check_whole_number("restarts", restarts)
    _check_whole_number("threads", threads)
    if seed is not None:
        _check_whole_number("seed", seed)
    given: object = weights
    if given is not None and not isinstance(given, Mapping):
        problem = f"must be a mapping {{frame: weight}}, got {type(given).__name__}"
        raise TypeError(f"weights {problem}; leave it out for equal weights")
    tolerance = checked_number(tolerance, "tolerance", "m, rad")
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive [m, rad], got {tolerance}")
    frames, start, shape = read_targets(model, targets, weights, q0)
    solver = PoseSolver(model, frames, tolerance, iterations, threads)
    guess = None
    if loop_q is not None:
        guess = checked_double(loop_q, "loop_q", (model.loop_nq,), unit="m, rad", alone=True)
    rng = np.random.default_rng(seed)
    if path:
        if not shape:
            raise ValueError(
                "path needs targets of several rows (n, …, 4, 4) or (n, …, 3); got one"
            )
        q, loops = solver.follow(start, guess, restarts, rng, shape[0])
    else:
        q, loops = solver.solve(start, guess, restarts, rng)
    if model.rows:
        there = project(model, q, np.zeros((len(q), model.nv)), loop_q=loops, threads=threads)
        closed = np.isfinite(there.residual)
        q, loops = (
            np.where(closed[:, None], there.q, q),
            np.where(closed[:, None], there.loop_q, loops),
        )
    error = solver.search(q, loops, np.arange(len(q)), 0)[3]
    return InverseKinematics(
        q.reshape(*shape, model.nq),
        (error <= tolerance).reshape(shape),
        error.reshape(shape),
        loops.reshape(*shape, loops.shape[-1]),
    )


def _check_whole_number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"{name} must be a whole number, 0 or more, got {value!r}")
    if name != "seed" and value > LARGEST_COUNT:
        raise ValueError(f"{name} must be {LARGEST_COUNT} at most, got {value}")
