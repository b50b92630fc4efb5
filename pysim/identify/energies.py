"""Equations of energy: the work of the forces over an interval is the change of the mechanism's energy.

    (T + V)|₁² θ + ∫ v·(diag(v) d + diag(tanh(v / w)) f + o) dt + ½ v²|₁² J = ∫ v·(τ + f_known) dt

No acceleration is needed. One equation for each interval instead of one for each coordinate and instant: they determine
less, and the integrals smooth the noise. Intervals follow each other without overlap; integrals are trapezoidal.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import (
    kinetic_energy,
    kinetic_energy_regressor,
    passive_forces,
    potential_energy,
    potential_energy_regressor,
)
from pysim.identify.intervals import check_intervals, integrals
from pysim.identify.regression import Triangles, reduce_rows
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.identify.samples import Samples
    from pysim.identify.unknowns import Unknowns


def compress_energies(
    unknowns: Unknowns, samples: Samples, folds: int, interval: float
) -> Triangles:
    """Return the triangles of the energy equations over intervals of a length [s].

    Raises:
        IdentificationError: the recording is shorter than an interval a fold.
    """
    stride, count = check_intervals(samples, folds, interval)
    edges = np.linspace(0, count, folds + 1).astype(int)
    found = []
    for first, last in pairwise(edges):
        part = samples.part(slice(first * stride, last * stride + 1))
        found.append((reduce_rows(None, _interval_rows(unknowns, part, stride)),))
    active = (np.arange(unknowns.size),)
    return Triangles(unknowns.size, active, tuple(found), tuple(int(n) for n in np.diff(edges)))


def _interval_rows(unknowns: Unknowns, samples: Samples, stride: int) -> Array:
    """Return [W y] of consecutive intervals of `stride` samples."""
    model, q, v = unknowns.model, samples.q, samples.v
    ends = slice(None, None, stride)
    energy = unknowns.inertial(
        kinetic_energy_regressor(model, q[ends], v[ends])
        + potential_energy_regressor(model, q[ends])
    )
    known = np.asarray(kinetic_energy(model, q[ends], v[ends]) + potential_energy(model, q[ends]))
    known = known - energy @ unknowns.start[: 10 * unknowns.blocks]
    force = samples.tau + passive_forces(model, q, v)
    columns = [np.diff(energy, axis=0)]
    for name in unknowns.resistances:
        if name == "armature":
            stored = 0.5 * v[ends] ** 2
            known = known - stored @ unknowns.known_resistance(name)
            columns.append(np.diff(stored, axis=0))
        else:
            column = unknowns.column(name, v, v)
            force = force + unknowns.known_resistance(name) * column
            columns.append(integrals(v * column, samples.t, stride))
    work = integrals((v * force).sum(axis=1, keepdims=True), samples.t, stride)
    return np.concatenate([*columns, work - np.diff(known)[:, None]], axis=1)
