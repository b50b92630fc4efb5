"""Targets of inverse kinematics: checked poses and positions of frames."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.algorithms.frames import body_and_point
from pysim.errors import ModelError, PysimWarning, did_you_mean
from pysim.spatial.arrays import checked_pose
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model

_WRITTEN = 1e-6  # rounding of a rotation that is written with seven digits


@dataclass(frozen=True)
class FrameTarget:
    """Poses (n, 4, 4) or positions (n, 3) that a frame is to take in n worlds, and the weights of its errors."""

    frame: str
    values: Array
    weights: Array  # (6,) or (3,) of the components of the error

    @property
    def is_pose(self) -> bool:
        """Whether the orientation is prescribed as well."""
        return self.values.ndim == 3

    @property
    def records(self) -> Array:
        """The poses as rotation, column-major, and position (n, 12); of positions alone without rotation."""
        n = len(self.values)
        if self.is_pose:
            return np.swapaxes(self.values[:, :3], 1, 2).reshape(n, 12)
        return np.hstack([np.tile(np.eye(3).ravel(), (n, 1)), self.values])


def read_targets(
    model: Model,
    targets: Mapping[str, ArrayLike],
    weights: Mapping[str, Any] | None,
    q0: ArrayLike | None,
) -> tuple[tuple[FrameTarget, ...], Array, tuple[int, ...]]:
    """Return the checked targets of n worlds, their starts (n, nq), and the leading axes that they share.

    Raises:
        ModelError: there is no target, or no such frame.
        ValueError: an array is no pose and no position, or the leading axes do not agree.
    """
    given: object = targets
    if not isinstance(given, Mapping):
        problem = f"must be a mapping {{frame: pose or position}}, got {type(given).__name__}"
        raise TypeError(f"targets {problem}")
    if not targets:
        raise ModelError(
            "targets", "there is none; give {frame: pose (…, 4, 4) or position (…, 3)}"
        )
    for name in weights or ():
        if name not in targets:
            hint = did_you_mean(str(name), targets)
            raise ModelError(f"weights[{name!r}]", f"belongs to a frame without a target{hint}")
    arrays = {}
    for frame, values in targets.items():
        body_and_point(model, frame)
        arrays[frame] = _target(values, f"targets[{frame!r}]")
    start = model.neutral() if q0 is None else _check_finite(q0, "q0")
    if start.shape[-1:] != (model.nq,):
        raise ValueError(f"q0 must have shape (…, {model.nq}), got {start.shape}")
    leading = {f"targets[{frame!r}]": x.shape[: -_rank(x)] for frame, x in arrays.items()}
    leading["q0"] = start.shape[:-1]
    try:
        shape = np.broadcast_shapes(*leading.values())
    except ValueError:
        listed = ", ".join(f"{name} {axes}" for name, axes in leading.items())
        raise ValueError(f"leading axes must agree, got {listed}") from None
    found = tuple(
        FrameTarget(
            frame, _spread(x, shape, _rank(x)), _weights((weights or {}).get(frame, 1.0), frame, x)
        )
        for frame, x in arrays.items()
    )
    return found, _spread(start, shape, 1), shape


def _target(values: ArrayLike, where: str) -> Array:
    """Return poses (…, 4, 4) or positions (…, 3)."""
    array = _check_finite(values, where)
    if array.shape[-2:] == (4, 4):
        return _orthonormal(checked_pose(array, where))
    if array.shape[-1:] != (3,):
        problem = (
            f"must be poses (…, 4, 4) or positions (…, 3), got an array of shape {array.shape}"
        )
        raise ValueError(f"{where} {problem}")
    if array.shape[-2:] == (3, 3) and _are_rotations(array):
        text = f"{where}: looks like a rotation, and is read as three positions"
        remedy = "give a pose (4, 4), with weights (0, 1) for its rotation alone"
        warnings.warn(f"{text}; {remedy}", PysimWarning, stacklevel=4)
    return array


def _are_rotations(R: Array) -> bool:
    """Return whether matrices (…, 3, 3) are rotations to the digits in which they are written."""
    left = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    return bool(left < _WRITTEN and (np.linalg.det(R) > 0).all())


def _rank(target: Array) -> int:
    return 2 if target.shape[-2:] == (4, 4) else 1


def _spread(x: Array, shape: tuple[int, ...], rank: int) -> Array:
    """Return x (…, rank axes) for every world (n, rank axes)."""
    own = x.shape[x.ndim - rank :]
    return np.ascontiguousarray(np.broadcast_to(x, (*shape, *own))).reshape(-1, *own)


def _orthonormal(X: Array) -> Array:
    """Return poses whose rotations are orthonormal to rounding: a Newton step of the polar decomposition."""
    R = X[..., :3, :3]
    X = X.copy()
    X[..., :3, :3] = R @ (1.5 * np.eye(3) - 0.5 * np.swapaxes(R, -1, -2) @ R)
    return X


def _check_finite(values: ArrayLike, where: str) -> Array:
    """Return an array of finite numbers."""
    try:
        array = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ValueError(f"{where} must be an array of numbers, got {values!r}") from None
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        raise ValueError(f"{where}{list(at) if at else ''} is {array[at]}; give finite numbers")
    return array


def _weights(given: Any, frame: str, target: Array) -> Array:  # noqa: ANN401, number or array
    """Return the weights (6,) or (3,): from a number, from one each of position and rotation, or of each component."""
    where, size = f"weights[{frame!r}]", 6 if _rank(target) == 2 else 3
    array = _check_finite(given, where)
    if size == 6 and array.shape == (2,):
        array = np.repeat(array, 3)
    if array.shape not in {(), (size,)}:
        pair = ", a pair (position, rotation)" if size == 6 else ""
        raise ValueError(
            f"{where} must be a number{pair} or {size} numbers, got an array of shape {array.shape}"
        )
    if (array < 0).any() or not array.any():
        raise ValueError(
            f"{where} must be positive, or 0 for free components, got {array.tolist()}"
        )
    return np.broadcast_to(array, (size,)).copy()
