"""Algorithms as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of them, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 runs the double kernels; float32 arrays run the single-precision ones. `threads=0` uses every
processor. Derivatives and accelerations are components in the bodies' own frames, linear part first.

Every function raises ValueError, naming the argument, for a wrong shape or dtype, a NaN or infinity, and a quaternion
that is not of unit length. A state at which a joint plugin is not finite is NaN in its own rows of the result and
leaves every other row as it is; a callback joint whose code raises ends the call, with a JointError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.model import Model

    Array = NDArray[np.float64]

available_isas = _engine.available_isas
use_isa = _engine.use_isa


def forward_kinematics(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the pose of every body in the world (…, nbodies, 4, 4) [m].

    Featherstone 2008, example 4.3.
    """
    return _engine.forward_kinematics(model, q, threads=threads)


def frame_placement(model: Model, q: ArrayLike, frame: str, *, threads: int = 1) -> Array:
    """Return the pose of a named frame in the world (…, 4, 4) [m].

    Raises:
        ModelError: the model has no such frame.
    """
    if frame not in model.frames:
        problem = f"no such frame{did_you_mean(frame, model.frame_names)}"
        raise ModelError(f"frame {frame!r}", problem)
    body, pose = model.frames[frame]
    placement = pose[:3, :].T.ravel().tolist()
    return _engine.frame_placement(model, q, body, placement, threads=threads)


rnea = _engine.rnea
aba = _engine.aba


def nonlinear_effects(model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
    """Return h(q, v) = C(q, v) v + g(q) (…, nv) [N or N·m], the torque of zero acceleration."""
    return _engine.rnea(model, q, v, None, threads=threads)


def generalized_gravity(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return g(q) (…, nv) [N or N·m], the torque that holds the mechanism still."""
    return _engine.rnea(model, q, None, None, threads=threads)


def crba(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the joint-space inertia M(q) (…, nv, nv) [kg, kg·m, kg·m²], armature included.

    Composite-rigid-body algorithm, Featherstone 2008, table 6.2.
    """
    return _engine.crba(model, q, threads=threads)


def passive_forces(model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
    """Return the joints' own forces (…, nv) [N or N·m]: damping, springs, friction and stops."""
    return _engine.passive_forces(model, q, v, threads=threads)


def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array | float:
    """Return ½ vᵀ M v (…) [J], armature included."""
    return _engine.kinetic_energy(model, q, v, threads=threads)


def potential_energy(model: Model, q: ArrayLike, *, threads: int = 1) -> Array | float:
    """Return −Σ m g·c over the moving bodies (…) [J], zero at the world's origin."""
    return _engine.potential_energy(model, q, threads=threads)


def elastic_energy(model: Model, q: ArrayLike, *, threads: int = 1) -> Array | float:
    """Return the energy stored in springs and stops (…) [J]."""
    return _engine.elastic_energy(model, q, threads=threads)


def center_of_mass(model: Model, q: ArrayLike, *, threads: int = 1) -> Array:
    """Return the centre of mass of the moving bodies in the world (…, 3) [m]."""
    return _engine.center_of_mass(model, q, threads=threads)
