"""Equations of momentum: the impulse of gravity and of external wrenches is the change of a floating base's momentum.

    (Y_h|₁² − ∫ W dt) θ = ∫ X_WB* F dt        Y_h θ = h, momentum about the world's origin, in world axes
                                              W θ = Σ [m g; c × m g], of all bodies, linear in θ too

There are six equations for each interval, without joint torques and accelerations; internal forces do not appear. The
base alone determines the parameters of every body [Ayusawa, Venture and Nakamura 2014]. Without external wrenches, F =
0, only ratios are determined; a seventh equation then sets the total mass to that of the model.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import forward_kinematics, momentum_regressor
from pysim.errors import IdentificationError
from pysim.identify.intervals import check_intervals, integrals
from pysim.identify.regression import Triangles, reduce_rows
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.identify.samples import Samples
    from pysim.identify.unknowns import Unknowns
    from pysim.mechanism.model import Model

MOMENTA = ("p.x", "p.y", "p.z", "L.x", "L.y", "L.z")  # [N·s], [N·m·s]


def check_floats(unknowns: Unknowns, source: str) -> None:
    """Reject what has no equations of momentum.

    Raises:
        IdentificationError: the base is not free, or joints' resistances are to be found.
    """
    roots = [k for k, parent in enumerate(unknowns.model.parents) if parent < 0]
    if len(roots) != 1 or unknowns.model.joints[roots[0]].type != "free":
        problem = (
            "momentum is transferred to the ground, because the base is not free; use equations of torque or energy, "
            "or free_base=True"
        )
        raise IdentificationError(source, problem)
    outside = _tied_to_world(unknowns.model, roots[0])
    if outside is not None:
        problem = f"momentum is transferred to the ground through {outside}; use equations of torque or energy"
        raise IdentificationError(source, problem)
    if unknowns.resistances:
        problem = "does not affect the total momentum; use equations of torque or energy"
        raise IdentificationError(f"unknown {unknowns.resistances[0]!r}", problem)


def _tied_to_world(model: Model, root: int) -> str | None:
    """Return the loop or force that connects a floating mechanism to the world; None without one."""
    for loop in model.spec.loops:
        if -1 in (_moving(model, loop.a), _moving(model, loop.b)):
            return f"loop {loop.name!r}"
    base = model.joint_names[root]
    for force in model.spec.forces:
        of_base = any(name.split(".")[0] == base for name in force.coordinates)
        if of_base or -1 in (_moving(model, body) for body in force.bodies):
            return f"force {force.name!r}"
    return None


def _moving(model: Model, link: str) -> int:
    """Return the index of the body that a link belongs to; −1 for the world."""
    return -1 if link == "world" else model.frames[link][0]


def compress_momenta(
    unknowns: Unknowns, samples: Samples, folds: int, interval: float
) -> Triangles:
    """Return the triangles of the momentum equations over intervals of a length [s].

    Raises:
        IdentificationError: as `check_floats`; the recording is shorter than an interval a fold.
    """
    check_floats(unknowns, samples.source)
    stride, count = check_intervals(samples, folds, interval)
    pushed = bool(samples.tau[:, :6].any())
    edges = np.linspace(0, count, folds + 1).astype(int)
    compressed = []
    for first, last in pairwise(edges):
        part = samples.part(slice(first * stride, last * stride + 1))
        rows = _interval_rows(unknowns, part, stride)
        triangles = [reduce_rows(None, rows[:, k]) for k in range(6)]
        if not pushed:
            triangles.append(np.sqrt(len(rows)) * _total_mass(unknowns))
        compressed.append(tuple(triangles))
    active = (np.arange(unknowns.size),) * len(compressed[0])
    rows_of = tuple(int(n) for n in np.diff(edges))
    alike = (0, 0, 0, 1, 1, 1, 2)[: len(compressed[0])]
    return Triangles(unknowns.size, active, tuple(compressed), rows_of, alike)


def _interval_rows(unknowns: Unknowns, samples: Samples, stride: int) -> Array:
    """Return [W y] (k, 6, size + 1) of consecutive intervals of `stride` samples.

    Moments are about where the base is in the middle of each: far from the world's origin they would drown in p.
    """
    model, q, ends = unknowns.model, samples.q, slice(None, None, stride)
    whole = np.diff(momentum_regressor(model, q[ends], samples.v[ends]), axis=0)
    X = forward_kinematics(model, q)
    whole -= integrals(_weights(model, X), samples.t, stride)
    base = next(k for k, parent in enumerate(model.parents) if parent < 0)
    pushed = integrals(_in_world(X[:, base], samples.tau[:, :6]), samples.t, stride)
    inertial = unknowns.inertial(whole)
    known = whole @ model.parameters.ravel() - inertial @ unknowns.start
    rows = np.concatenate([inertial, (pushed - known)[..., None]], axis=-1)
    middle = 0.5 * (X[ends][1:, base, :3, 3] + X[ends][:-1, base, :3, 3])
    rows[:, 3:] -= np.cross(middle[:, None], np.swapaxes(rows[:, :3], 1, 2)).swapaxes(1, 2)
    return rows


def _weights(model: Model, X: Array) -> Array:
    """Return W (n, 6, 10 nbodies): m gives [g; p × g], mc gives [0; (R e) × g]."""
    n, bodies = X.shape[:2]
    W = np.zeros((n, 6, bodies, 10))
    W[:, :3, :, 0] = model.gravity[:, None]
    W[:, 3:, :, 0] = np.swapaxes(np.cross(X[..., :3, 3], model.gravity), 1, 2)
    turned = np.swapaxes(X[..., :3, :3], -1, -2)  # rows are R e
    W[:, 3:, :, 1:4] = np.moveaxis(np.cross(turned, model.gravity), -1, 1)
    return W.reshape(n, 6, 10 * bodies)


def _in_world(X: Array, wrench: Array) -> Array:
    """Return X_WB* F (n, 6): a wrench given in the base's frame, about the world's origin."""
    f, t = (np.einsum("nij,nj->ni", X[:, :3, :3], part) for part in (wrench[:, :3], wrench[:, 3:]))
    return np.concatenate([f, t + np.cross(X[:, :3, 3], f)], axis=1)


def _total_mass(unknowns: Unknowns) -> Array:
    """Return [W y] (1, size + 1): the sum of the unknown masses equals the model's."""
    row = np.zeros((1, unknowns.size + 1))
    row[0, :-1:10] = 1.0
    row[0, -1] = unknowns.start[::10].sum()
    return row
