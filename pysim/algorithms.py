"""Algorithms as functions of a model and arrays.

An array holds one state, (nq,) or (nv,), or a batch of them, (batch, nq) or (batch, nv); the result has the same
leading shape. float64 runs the double kernels; float32 arrays run the single-precision ones. `threads=0` uses every
processor. `out=` takes an array for the result, C-contiguous, of its shape and dtype, that shares no memory with the
arguments; it is filled and returned. Derivatives and accelerations are components in the bodies' own frames, linear
part first.

Every function raises ValueError, naming the argument, for a wrong shape or dtype, a NaN or infinity, and a quaternion
that is not of unit length; so does an `out` that cannot take the result. A state at which a joint plugin is not finite
is NaN in its own rows of the result and leaves every other row as it is; a callback joint whose code raises ends the
call, with a JointError.
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


# Control loops feel every layer of a call: these are the engine's functions as they are.
aba = _engine.aba
aba_derivatives = _engine.aba_derivatives
center_of_mass = _engine.center_of_mass
crba = _engine.crba
elastic_energy = _engine.elastic_energy
forward_kinematics = _engine.forward_kinematics
generalized_gravity = _engine.generalized_gravity
kinetic_energy = _engine.kinetic_energy
nonlinear_effects = _engine.nonlinear_effects
passive_force_derivatives = _engine.passive_force_derivatives
passive_forces = _engine.passive_forces
placement_derivatives = _engine.placement_derivatives
potential_energy = _engine.potential_energy
rnea = _engine.rnea
rnea_derivatives = _engine.rnea_derivatives
twist_derivatives = _engine.twist_derivatives


def frame_placement(
    model: Model, q: ArrayLike, frame: str, *, threads: int = 1, out: Array | None = None
) -> Array:
    """Return the pose of a named frame in the world (…, 4, 4) [m].

    Raises:
        ModelError: the model has no such frame.
    """
    if frame not in model.frames:
        problem = f"no such frame{did_you_mean(frame, model.frame_names)}"
        raise ModelError(f"frame {frame!r}", problem)
    body, pose = model.frames[frame]
    placement = pose[:3, :].T.ravel().tolist()
    return _engine.frame_placement(model, q, body, placement, threads=threads, out=out)
