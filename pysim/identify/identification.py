"""Identification of a mechanism's parameters from a recorded motion, from equations to a new model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import passive_forces, rnea
from pysim.errors import IdentificationError, did_you_mean
from pysim.identify.base_parameters import (
    BaseParameters,
    base_parameters,
    column_scale,
    identifiable_part,
)
from pysim.identify.closed_mechanisms import (
    AllowedMotions,
    closed_samples,
    compress_closed,
    force_scale,
    has_constraints,
    projected_torque,
)
from pysim.identify.energies import compress_energies
from pysim.identify.estimate import Estimate, Prior, estimate
from pysim.identify.homogeneous import KINETIC_ENERGY, NOTE, is_homogeneous, with_kinetic_energy
from pysim.identify.identified_model import found_model
from pysim.identify.momenta import MOMENTA, check_floats, compress_momenta
from pysim.identify.regression import Triangles, compress_torques, one_thread
from pysim.identify.unknowns import Unknowns
from pysim.inertia import nearest_physical, theta_from_com
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pysim.identify.samples import Samples
    from pysim.mechanism.model import Model

EQUATIONS = ("torque", "energy", "momentum")
_PRIOR_MARGIN = 1e-4  # smallest second moment of a prior, relative to its largest
_REWEIGHTED = 3  # times the noise is estimated anew
_LEAST_NOISE = 1e-5  # of its signal: no sensor has less noise
_PAYLOAD = theta_from_com(1.0, [0, 0, 0], np.diag([1e-3] * 3))  # 1 kg, a ball of 5 cm
_PAYLOAD_DEVIATION = 3.0


@dataclass(frozen=True)
class Identification:
    """The parameters of a mechanism that a recording determines.

    Arrays over equations have one number a coordinate (nv,) [N or N·m]; one [J] where energies were used; six
    [N·s, N·m·s] where momenta were, and a seventh [kg] if nothing pushed. If nothing drove the motion, the last is its
    kinetic energy [J]. Where loops or couplings tie coordinates together, an equation is what they leave of it: what
    their forces cannot carry (`closed_mechanisms.py`).
    """

    model: Model  # with everything that was found
    unknowns: Unknowns
    estimate: Estimate  # p of `unknowns.names`, always of bodies, and its covariance
    base: BaseParameters
    base_values: Array  # weighted least squares alone, without prior
    base_deviations: Array  # their standard deviations
    identifiable: int  # number of base parameters that the motion determines
    condition: float  # of the weighted equations for the base parameters, columns of unit length
    equations: tuple[str, ...]  # a name for each kind of them
    noise: Array  # standard deviation of one equation
    residual: Array  # root mean square on the recording
    residual_before: Array  # the same of the model as it was given
    cross_validation: Array  # (folds, equations) root mean square on what was left out
    notes: tuple[str, ...]

    @property
    def theta(self) -> Array:
        """θ (k, 10) of the bodies that were identified, or of the payload."""
        return self.estimate.p[: 10 * self.unknowns.blocks].reshape(-1, 10)

    @property
    def deviations(self) -> Array:
        """Standard deviations of all unknowns (size,), the prior taken for a measurement."""
        return np.sqrt(np.maximum(np.diag(self.estimate.covariance), 0.0))

    def resistance(self, name: str) -> Array:
        """Return an identified resistance (nv,)."""
        at = 10 * self.unknowns.blocks + self.unknowns.resistances.index(name) * self.model.nv
        return self.estimate.p[at : at + self.model.nv]


def identify(
    model: Model,
    samples: Samples,
    *,
    bodies: Sequence[str] | None = None,
    payload: str | None = None,
    resistances: Sequence[str] = (),
    prior: float = 1.0,
    using: str = "torque",
    interval: float = 0.1,
    folds: int = 5,
) -> Identification:
    """Return the parameters of bodies and joints that explain a motion best.

    First the base parameters by weighted least squares, each coordinate's noise estimated from its residuals; then all
    parameters, each body possible, with the model's own as the prior. Of a closed mechanism the equations are projected
    on the motions that its loops and couplings allow.

    Args:
        model: the mechanism; its parameters are the prior.
        samples: the motion, `make_samples` or `read_samples`.
        bodies: names of the bodies to identify; every one that has a mass by default, none with a payload.
        payload: frame that carries an unknown body; the rest of the mechanism is known then.
        resistances: which of "damping", "friction" (Coulomb), "armature" and "offset" (of the torque) to identify too.
        prior: standard deviation of the logarithms by which a body is believed to differ from the model's: 0.1 trusts
            the model to 10 %, 1 hardly.
        using: equations of motion, "torque"; or of "energy", which need no accelerations; or, of a floating base, of
            "momentum", which need no torques of joints either.
        interval: length of an interval of the energy or momentum equations [s].
        folds: parts of the recording, each left out once for cross-validation; 1 for none.

    Raises:
        IdentificationError: too few samples, an unknown body, frame or resistance, momentum of what is fixed, or a
            recording whose loops do not close.
    """
    if using not in EQUATIONS:
        hint = did_you_mean(using, EQUATIONS)
        raise IdentificationError(f"using {using!r}", f"unknown equations{hint}")
    for name, value in (("prior", prior), ("interval", interval), ("folds", folds)):
        if not value > 0:
            raise IdentificationError(name, f"must be positive, got {value:g}")
    chosen, notes = _bodies(model, bodies, payload)
    unknowns = Unknowns(model, chosen, tuple(resistances), payload)
    with one_thread():
        return _identified(unknowns, samples, prior, using, interval, folds, notes)


def _identified(
    unknowns: Unknowns,
    samples: Samples,
    prior: float,
    using: str,
    interval: float,
    folds: int,
    notes: list[str],
) -> Identification:
    if using == "momentum":
        check_floats(unknowns, samples.source)
    motions = None
    if has_constraints(unknowns.model):
        samples, motions, more = closed_samples(unknowns.model, samples)
        notes = [*notes, *more]
    base = base_parameters(unknowns, near=motions)
    _check_count(samples, unknowns.model, base, motions)
    if motions is not None and using == "torque":
        triangles = _compressed_closed(unknowns, samples, base, motions, folds)
    else:
        triangles = _compressed(unknowns, samples, base, using, interval, folds)
    triangles, names = _with_scale(unknowns, samples, triangles, using, notes)
    if not identifiable_part(base, triangles.weighted(np.ones(triangles.equations))[0])[1]:
        problem = f"the motion identifies none of the {len(base)} base parameters"
        raise IdentificationError(samples.source, f"{problem}; record one that moves every joint")
    noise = _noise(triangles, base, unknowns.start)
    R, z = triangles.weighted(noise)
    W, identifiable = identifiable_part(base, R)
    if identifiable < len(base):
        notes.append(
            f"the motion identifies {identifiable} of {len(base)} base parameters; the others are those of the prior; "
            "record a richer motion"
        )
    values, covariance, condition = _least_squares(W, z)
    believed = _prior(unknowns, prior)
    solution = estimate(R, z, believed, unknowns.start[10 * unknowns.blocks :])
    if not solution.converged:
        notes.append("the search did not converge; the parameters are those of its last step")
    count = triangles.count()
    return Identification(
        model=found_model(unknowns, solution.p),
        unknowns=unknowns,
        estimate=solution,
        base=base,
        base_values=values,
        base_deviations=np.sqrt(np.diag(covariance)),
        identifiable=identifiable,
        condition=condition,
        equations=names,
        noise=noise,
        residual=np.sqrt(triangles.squares(solution.p) / count),
        residual_before=np.sqrt(triangles.squares(unknowns.start) / count),
        cross_validation=_cross_validation(triangles, noise, believed, solution),
        notes=tuple(notes),
    )


def _with_scale(
    unknowns: Unknowns, samples: Samples, triangles: Triangles, using: str, notes: list[str]
) -> tuple[Triangles, tuple[str, ...]]:
    """Return the equations with one that sets the scale of all masses if none does, and the names of all."""
    names = equation_names(unknowns.model, using)
    if using != "momentum" and is_homogeneous(unknowns, triangles):
        triangles = with_kinetic_energy(unknowns, samples, triangles)
        names = (*names, KINETIC_ENERGY)
        notes.append(NOTE)
    if using == "momentum" and triangles.equations > len(names):
        names = (*names, "mass of all [kg]")
        notes.append(
            "no external force acts on the base: momentum determines mass ratios only, scaled by the model's total mass"
        )
    return triangles, names


def _compressed(
    unknowns: Unknowns,
    samples: Samples,
    base: BaseParameters,
    using: str,
    interval: float,
    folds: int,
) -> Triangles:
    """Return the equations of the whole motion, fold by fold, as triangular factors."""
    folds = max(1, min(folds, len(samples) // 2))
    if using == "torque":
        return compress_torques(unknowns, samples, folds)
    compress = compress_energies if using == "energy" else compress_momenta
    triangles = compress(unknowns, samples, folds, interval)
    _check_intervals(triangles, base, samples, interval)
    return triangles


def _compressed_closed(
    unknowns: Unknowns,
    samples: Samples,
    base: BaseParameters,
    motions: AllowedMotions,
    folds: int,
) -> Triangles:
    """Return the projected equations of the whole motion, with the noise that weights them."""
    folds = max(1, min(folds, int(motions.valid.sum()) // 2))
    scale = force_scale(unknowns.model, samples)
    for _ in range(_REWEIGHTED):
        triangles = compress_closed(unknowns, samples, folds, motions, scale)
        scale = _noise(triangles, base, unknowns.start)
    return compress_closed(unknowns, samples, folds, motions, scale)


def predicted_torque(model: Model, samples: Samples) -> Array:
    """Return the generalised forces (n, nv) [N or N·m] that a model needs for a motion, resistances included.

    Of a closed mechanism many drive the same motion: those nearest to the recorded ones.
    """
    if has_constraints(model):
        return projected_torque(model, samples, _tree_torque)
    return _tree_torque(model, samples)


def _tree_torque(model: Model, samples: Samples) -> Array:
    return rnea(model, samples.q, samples.v, samples.a) - passive_forces(
        model, samples.q, samples.v
    )


def equation_names(model: Model, using: str) -> tuple[str, ...]:
    """Return a name for every kind of equation."""
    if using == "torque":
        return model.velocity_names
    return ("energy [J]",) if using == "energy" else MOMENTA


def _bodies(
    model: Model, names: Sequence[str] | None, payload: str | None
) -> tuple[tuple[int, ...], list[str]]:
    if payload is not None:
        if names:
            raise IdentificationError(
                "bodies", "cannot be identified together with a payload; leave one out"
            )
        return (), []
    notes: list[str] = []
    if names is None:
        massive = [k for k, body in enumerate(model.bodies) if body.theta[0] > 0]
        massless = [body.name for body in model.bodies if body.theta[0] <= 0]
        if massless:
            notes.append(f"not identified, because they have no mass: {', '.join(massless)}")
        return tuple(massive), notes
    for name in names:
        if name not in model.body_names:
            hint = did_you_mean(name, model.body_names)
            raise IdentificationError(f"body {name!r}", f"no such moving body{hint}")
        if model.bodies[model.body_names.index(name)].theta[0] <= 0:
            problem = "has no mass in the model, and therefore no prior; give it a mass"
            raise IdentificationError(f"body {name!r}", problem)
    return tuple(sorted({model.body_names.index(name) for name in names})), notes


def _check_count(
    samples: Samples, model: Model, base: BaseParameters, motions: AllowedMotions | None
) -> None:
    if not (samples.v.any() or samples.a.any() or samples.tau.any()):
        problem = "all velocities, accelerations and forces are 0"
        raise IdentificationError(samples.source, f"{problem}; check the columns of the recording")
    each = model.nv if motions is None else motions.degrees
    rows = len(samples) if motions is None else int(motions.valid.sum())
    equations = rows * each
    if equations < len(base):
        least = -(-len(base) // each)
        problem = (
            f"{rows} rows give {equations} equations for {len(base)} base parameters; record at least {least} "
            "rows, preferably a hundred times as many"
        )
        raise IdentificationError(samples.source, problem)


def _check_intervals(
    triangles: Triangles, base: BaseParameters, samples: Samples, interval: float
) -> None:
    equations = triangles.count() * triangles.equations
    if equations < len(base):
        problem = (
            f"{triangles.count()} intervals of {interval:g} [s] give {equations} equations for {len(base)} base "
            "parameters; take a shorter interval or record longer"
        )
        raise IdentificationError(samples.source, problem)


def _prior(unknowns: Unknowns, deviation: float) -> Prior:
    free = {"offset": -np.inf}
    lower = np.repeat([free.get(name, 0.0) for name in unknowns.resistances], unknowns.model.nv)
    if unknowns.payload is not None:
        return Prior(_PAYLOAD[None], _PAYLOAD_DEVIATION, lower)
    theta = unknowns.model.parameters[list(unknowns.bodies)]
    return Prior(nearest_physical(theta, margin=_PRIOR_MARGIN), deviation, lower)


def _noise(triangles: Triangles, base: BaseParameters, start: Array) -> Array:
    """Return the standard deviation of each equation, from the residuals of weighted least squares.

    The first weights come from the model's own residuals, not from the signal: of a base in flight that is zero, and
    no bodies at all would explain it.
    """
    count = triangles.count()
    signal = np.sqrt(triangles.squares(np.zeros(triangles.size)) / count)
    floor = (
        np.maximum(_LEAST_NOISE * signal, _LEAST_NOISE**1.5 * signal.max()) + np.finfo(float).tiny
    )
    noise: Array = np.maximum(triangles.shared(np.sqrt(triangles.squares(start) / count)), floor)
    share = triangles.share
    spare = np.maximum(count * share - len(base) * share / share.sum(), 1.0)
    for _ in range(_REWEIGHTED):
        R, z = triangles.weighted(noise)
        p = np.zeros(triangles.size)
        p[base.independent] = _least_squares(R[:, base.independent], z)[0]
        noise = np.maximum(triangles.shared(np.sqrt(triangles.squares(p) / spare)), floor)
    return noise


def _least_squares(W: Array, z: Array) -> tuple[Array, Array, float]:
    """Solve min |W β − z|; return β, its covariance for unit noise, and the condition number of the scaled columns."""
    scale = column_scale(W)
    U, values, Vt = np.linalg.svd(W / scale, full_matrices=False)
    kept = values > len(W) * np.finfo(float).eps * values[0]
    inverse = (Vt[kept].T / values[kept]) / scale[:, None]
    return inverse @ (U[:, kept].T @ z), inverse @ inverse.T, float(values[0] / values[kept][-1])


def _cross_validation(triangles: Triangles, noise: Array, prior: Prior, whole: Estimate) -> Array:
    """Return root mean squares (folds, equations) on each fold of the estimate from the others."""
    folds = range(len(triangles.folds))
    if len(folds) == 1:
        return np.zeros((0, triangles.equations))
    rows = []
    for left_out in folds:
        R, z = triangles.weighted(noise, [k for k in folds if k != left_out])
        found = estimate(R, z, prior, whole.x[prior.theta.size :], whole.x)
        squares = triangles.squares(found.p, [left_out])
        rows.append(np.sqrt(squares / triangles.count([left_out])))
    return np.array(rows)
