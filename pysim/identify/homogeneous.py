"""Equations of a motion without known forces: they determine ratios of parameters, the kinetic energy the scale.

    Y θ = 0  ⇒  Y (c θ) = 0 for every c        mean(T) θ = mean(T) θ⁰

Without a known force of actuators, springs, dampers or known bodies, every multiple of the parameters gives the same
motion, and least squares would choose c = 0. That the mean kinetic energy of the recording is the model's is one more
equation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import kinetic_energy_regressor
from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.identify.regression import Triangles
    from pysim.identify.samples import Samples
    from pysim.identify.unknowns import Unknowns

KINETIC_ENERGY = "kinetic energy of all [J]"
NOTE = "no force drives the recorded motion: it determines only ratios of the parameters, scaled by the model's energy"
_KNOWN_SIDE_TOLERANCE = 1e-9  # of the terms of an equation: known forces that are rounding


def is_homogeneous(unknowns: Unknowns, triangles: Triangles) -> bool:
    """Return whether the known side of every equation is negligible beside its terms."""
    if unknowns.payload is not None:
        return False
    known = np.sqrt(triangles.squares(np.zeros(triangles.size)))
    terms = np.zeros(triangles.equations)
    for fold in triangles.folds:
        for j, (triangle, active) in enumerate(zip(fold, triangles.active, strict=True)):
            lengths = np.linalg.norm(triangle[:, :-1], axis=0)
            terms[j] += (lengths * np.abs(unknowns.start[active])).sum()
    return bool((known <= _KNOWN_SIDE_TOLERANCE * terms).all() and terms.any())


def with_kinetic_energy(unknowns: Unknowns, samples: Samples, triangles: Triangles) -> Triangles:
    """Add the equation of the kinetic energy to every fold."""
    row = _mean_kinetic_energy(unknowns, samples)
    whole = np.append(row, row @ unknowns.start)[None]
    folds = tuple(
        (*fold, np.sqrt(count) * whole)
        for fold, count in zip(triangles.folds, triangles.rows, strict=True)
    )
    alike = (*triangles.alike, max(triangles.alike) + 1) if triangles.alike else ()
    return replace(
        triangles,
        active=(*triangles.active, np.arange(unknowns.size)),
        folds=folds,
        alike=alike,
        shares=(*triangles.share, 1.0),
    )


def _mean_kinetic_energy(unknowns: Unknowns, samples: Samples) -> Array:
    """Return the row (size,) whose product with the unknowns is their mean kinetic energy [J]."""
    row = np.zeros(unknowns.size)
    inertial = unknowns.inertial(kinetic_energy_regressor(unknowns.model, samples.q, samples.v))
    row[: 10 * unknowns.blocks] = inertial.mean(axis=0)
    if "armature" in unknowns.resistances:
        at = 10 * unknowns.blocks + unknowns.resistances.index("armature") * unknowns.model.nv
        row[at : at + unknowns.model.nv] = 0.5 * (samples.v**2).mean(axis=0)
    return row
