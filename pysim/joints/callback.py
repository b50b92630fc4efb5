"""Callback joints: joints that cannot be traced, written in vectorised NumPy and called for every batch. They are slow.

An author must write the placement only. The motion subspace and the bias are then computed by central differences of
sixth order (errors of about 1e-12 and 1e-10), unless `subspace`, `subspace_rate` and `bias` give them exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import JointError
from pysim.joints.coordinate_ranges import describe_state
from pysim.joints.plugin import Joint
from pysim.spatial import exp, rotation_from_quaternion
from pysim.tracing.author_code import author_line, call, definition_place, method_place
from pysim.tracing.recursion import once
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable


STEP = 4e-3
STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


class CallbackJoint(Joint):
    """Base class of joints whose placement is ordinary NumPy code; derive from it as from `Joint`.

    The code runs in Python for every evaluation of every algorithm, which takes some 10 µs and more for each call. The
    summary of a run reports the share of its time.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for method in ("placement", "force"):
            if method in vars(cls):
                problem = f"{method} is traced, and a CallbackJoint is not; "
                remedy = "write `poses`" if method == "placement" else "derive it from Joint"
                raise JointError(f"{author_line()}: {cls.__qualname__}", problem + remedy)

    def poses(self, q: Array) -> Array:  # noqa: ARG002, the author's argument
        """Return X_PC (n, 4, 4) of n configurations q (n, nq), the only required method."""
        raise JointError(
            definition_place(type(self)),
            "has no method poses; write `def poses(self, q)` from (n, nq) to (n, 4, 4)",
        )

    def subspace(self, q: Array) -> Array:
        """Return S (n, 6, nv), the body twist of each unit velocity; by default from differences of the pose."""
        n, nv = len(q), self.coordinates.nv
        X = self._asked_poses(q)
        units = np.repeat(np.eye(nv), n, axis=0)  # all directions in one call
        rates = self._along(np.tile(q, (nv, 1)), units, self._asked_poses)
        twists = _body_twist(np.tile(X, (nv, 1, 1)), rates)
        return np.moveaxis(twists.reshape(nv, n, 6), 0, -1)

    def subspace_rate(self, q: Array, v: Array) -> Array:
        """Return Ṡ (n, 6, nv) along the velocities v (n, nv); by default from differences of the subspace."""
        return self._along(q, v, self.subspace)

    def bias(self, q: Array, v: Array) -> Array:
        """Return c = Ṡ v (n, 6); by default from the rate of the subspace."""
        return _product(self.subspace_rate(q, v), v)

    def numbers(self, q: Array, v: Array | None) -> Array:
        """Return the engine's input for n states (n, 18 + 12 nv): pose, columns of S, bias c = Ṡ v, columns of Ṡ.

        A state at which the author's code gives NaN becomes NaN and does not affect other states.

        Raises:
            JointError: the author's code raises, or returns a wrong shape or type.
        """
        problem = (
            "is called again while it runs; compute nothing there with a model that has this joint"
        )
        with once(("callback", id(self)), lambda: JointError(method_place(self, "poses"), problem)):
            return self._engine_numbers(q, v)

    def _engine_numbers(self, q: Array, v: Array | None) -> Array:
        n, nv = len(q), self.coordinates.nv
        X = self._asked_poses(q)
        S = self.asked("subspace", (n, 6, nv), q)
        S_dot, c = np.zeros_like(S), np.zeros((n, 6))
        if v is not None:
            S_dot = self.asked("subspace_rate", (n, 6, nv), q, v)
            c = _product(S_dot, v)
            if type(self).bias is not CallbackJoint.bias:  # the author's own
                c = self.asked("bias", (n, 6), q, v)
        rotation = np.swapaxes(X[:, :3, :3], 1, 2).reshape(n, 9)
        columns, rates = (np.swapaxes(x, 1, 2).reshape(n, -1) for x in (S, S_dot))
        return np.concatenate([rotation, X[:, :3, 3], columns, c, rates], axis=1)

    def asked(self, method: str, shape: tuple[int, ...], *states: Array) -> Array:
        """Return the result of an author's method for states (n, …), after checks of its shape and type."""
        try:
            numbers = np.asarray(call(self, method, *(x.copy() for x in states)))
        except JointError as error:
            if len(states[0]) > 1 and error.__cause__ is not None:
                problem = f"{error.problem}; it fails at {self._failing(method, states)}"
                raise JointError(error.where, problem) from error.__cause__
            raise
        if numbers.dtype.kind not in "fiu":
            problem = f"must return real numbers, got {numbers.dtype}"
            raise JointError(method_place(self, method), problem)
        if numbers.shape != shape:
            problem = f"must return shape {shape}, got {numbers.shape}"
            raise JointError(method_place(self, method), problem)
        return numbers.astype(float, copy=False)

    def _failing(self, method: str, states: tuple[Array, ...]) -> str:
        """Describe the first state that fails on its own."""
        for k in range(len(states[0])):
            try:
                call(self, method, *(x[k : k + 1].copy() for x in states))
            except JointError:
                return describe_state(self.coordinates, states[0][k])
        return "none of the states alone, only at all together"

    def _asked_poses(self, q: Array) -> Array:
        return self.asked("poses", (len(q), 4, 4), q)

    def _along(self, q: Array, v: Array, of: Callable[[Array], Array]) -> Array:
        """Return d/dt of a function of q while q moves with velocity v (n, nv)."""
        shifts = [sign * k for k, _ in STENCIL for sign in (1, -1)]
        values = of(np.concatenate([self.moved(q, k * STEP * v) for k in shifts]))
        split = values.reshape(len(shifts), len(q), *values.shape[1:])
        weights = [sign * weight / STEP for _, weight in STENCIL for sign in (1, -1)]
        rate: Array = sum(weight * value for weight, value in zip(weights, split, strict=True))
        return rate

    def moved(self, q: Array, d: Array) -> Array:
        """Return q ⊕ d (n, nq) for tangent vectors d (n, nv)."""
        q1 = np.array(q, float)
        for part, at, at_v in self.coordinates.offsets():
            own = d[:, at_v : at_v + part.nv]
            if part.group == "real":
                q1[:, at] += own[:, 0]
                continue
            turn = slice(at + part.nq - 4, at + part.nq)
            if part.group == "pose":
                step = exp(own)[:, :3, 3]
                R = rotation_from_quaternion(q[:, turn])
                q1[:, at : at + 3] += _product(R, step)
            q1[:, turn] = _turned(q[:, turn], own[:, -3:])
        return q1


def _product(M: Array, x: Array) -> Array:
    """Return M x (n, m) of n matrices (n, m, k) and vectors (n, k).

    It is summed column by column, because sums of BLAS and einsum depend on n in their last bits.
    """
    columns = (M[:, :, j] * x[:, j, None] for j in range(1, x.shape[1]))
    return sum(columns, start=M[:, :, 0] * x[:, 0, None])


def _turned(quaternion: Array, w: Array) -> Array:
    """Return quaternions (x, y, z, w) rotated by rotation vectors in the body frame."""
    half = np.sqrt(_product(w[:, None, :], w)) / 2
    vector = 0.5 * np.sinc(half / np.pi) * w
    b = np.concatenate([vector, np.cos(half)], axis=1)
    ax, ay, az, aw = quaternion.T
    bx, by, bz, bw = b.T
    return np.column_stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def _body_twist(X: Array, rate: Array) -> Array:
    R = X[:, :3, :3]
    back = np.swapaxes(R, 1, 2)
    linear = _product(back, rate[:, :3, 3])
    W = np.stack([_product(back, rate[:, :3, k]) for k in range(3)], axis=-1)
    angular = np.stack([W[:, 2, 1] - W[:, 1, 2], W[:, 0, 2] - W[:, 2, 0], W[:, 1, 0] - W[:, 0, 1]])
    return np.concatenate([linear, 0.5 * angular.T], axis=1)
