"""Unknowns of an identification, and the columns of their linear equations.

    τ + f = [Y  diag(v)  diag(tanh(v / w))  diag(a)  1] p      p = (θ of bodies, damping, friction, armature, offset)

Y is the regressor of the bodies' parameters θ, f are the passive forces that are known (springs, stops, and the damping
and friction that are not to be found). Known parts of θ and the armature are moved to the left side. A payload is ten
more numbers on a frame; the body that carries it is known then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pysim._engine import Passive
from pysim.algorithms import joint_torque_regressor, passive_forces, rnea
from pysim.errors import IdentificationError, did_you_mean
from pysim.inertia import move_theta
from pysim.typing import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.identify.samples import Samples
    from pysim.mechanism.model import Model

THETA = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
RESISTANCES = ("damping", "friction", "armature", "offset")
_STATES = 4  # random states that show which body moves with which coordinate


@dataclass(frozen=True)
class Unknowns:
    """Columns: ten a body (or a payload), then one a coordinate for each resistance."""

    model: Model
    bodies: tuple[int, ...]
    resistances: tuple[str, ...] = ()
    payload: str | None = None
    _width: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        unknown = [name for name in self.resistances if name not in RESISTANCES]
        if unknown:
            problem = f"cannot be identified{did_you_mean(unknown[0], RESISTANCES)}"
            raise IdentificationError(f"unknown {unknown[0]!r}", problem)
        if self.payload is not None and self.payload not in self.model.frames:
            hint = did_you_mean(self.payload, self.model.frame_names)
            raise IdentificationError(f"payload {self.payload!r}", f"no such frame{hint}")
        object.__setattr__(self, "_width", _by_coordinate(self.model, "friction_width"))

    @property
    def blocks(self) -> int:
        """Number of blocks of ten inertial parameters."""
        return 1 if self.payload is not None else len(self.bodies)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return 10 * self.blocks + len(self.resistances) * self.model.nv

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for every unknown."""
        owners = [self.model.body_names[k] for k in self.bodies]
        owners = ["payload"] if self.payload is not None else owners
        inertial = [f"{owner}.{name}" for owner in owners for name in THETA]
        joints = self.model.velocity_names
        return (*inertial, *(f"{joint}.{r}" for r in self.resistances for joint in joints))

    @cached_property
    def start(self) -> Array:
        """Values of the unknowns in the model (size,); a payload starts at zero."""
        theta = (
            np.zeros(10) if self.payload is not None else self.model.parameters[list(self.bodies)]
        )
        return np.concatenate([theta.ravel(), *map(self.known_resistance, self.resistances)])

    def known_resistance(self, name: str) -> Array:
        """Return the model's value of a resistance (nv,)."""
        if name == "offset":
            return np.zeros(self.model.nv)
        return _by_coordinate(self.model, name)

    @cached_property
    def active(self) -> tuple[NDArray[np.intp], ...]:
        """For each coordinate, the unknowns that its equation can contain."""
        model, rng = self.model, np.random.default_rng(0)
        q = np.array([model.random_configuration(rng) for _ in range(_STATES)])
        v, a = rng.standard_normal((2, _STATES, model.nv))
        moved = (self.inertial(joint_torque_regressor(model, q, v, a)) != 0).any(axis=0)
        found = []
        for j in range(model.nv):
            own = 10 * self.blocks + np.arange(len(self.resistances)) * model.nv + j
            blocks = moved[j].reshape(-1, 10).any(axis=1).repeat(10)
            found.append(np.concatenate([np.flatnonzero(blocks), own]))
        return tuple(found)

    def equations(self, samples: Samples) -> tuple[Array, dict[str, Array], Array]:
        """Return the inertial columns (n, nv, 10 blocks), the resistances' (n, nv) and the left side (n, nv)."""
        model, q, v, a = self.model, samples.q, samples.v, samples.a
        Y = joint_torque_regressor(model, q, v, a)
        columns = {name: self.column(name, v, a) for name in self.resistances}
        left = samples.tau + passive_forces(model, q, v)
        for name in ("damping", "friction"):
            if name in columns:
                left += self.known_resistance(name) * columns[name]
        # all that the model's own numbers explain, less what they explain of the unknowns
        left -= rnea(model, q, v, a)
        inertial = self.inertial(Y)
        left += inertial @ self.start[: 10 * self.blocks]
        if "armature" in columns:
            left += self.known_resistance("armature") * columns["armature"]
        return inertial, columns, left

    def column(self, name: str, v: Array, a: Array) -> Array:
        """Return the force of a unit resistance on its own coordinate (n, nv)."""
        if name == "damping":
            return v
        if name == "friction":
            return np.asarray(-Passive(friction=1.0).law(0.0, v / self._width).force)
        return a if name == "armature" else np.ones_like(v)

    def inertial(self, Y: Array) -> Array:
        """Return the unknown bodies' columns (…, 10 blocks) of a regressor (…, 10 nbodies)."""
        blocks = Y.reshape(*Y.shape[:-1], self.model.nbodies, 10)
        if self.payload is not None:
            carried: Array = blocks[..., self.model.frames[self.payload][0], :] @ self.carry
            return carried
        if len(self.bodies) == self.model.nbodies:
            return Y
        return blocks[..., list(self.bodies), :].reshape(*Y.shape[:-1], -1)

    @cached_property
    def carry(self) -> Array:
        """Matrix C (10, 10); a payload of parameters θ in its frame adds C θ to the body that carries it."""
        body, pose = self.model.frames[self.payload or ""]
        if body < 0:
            problem = f"frame {self.payload!r} is on the world, which does not move"
            raise IdentificationError("payload", f"{problem}; name a frame of a moving body")
        return np.stack([move_theta(unit, pose) for unit in np.eye(10)], axis=-1)


def _by_coordinate(model: Model, name: str) -> Array:
    """Return one number per independent coordinate (nv,)."""
    values = np.zeros(model.nv)
    for joint, at, nv in zip(model.joints, model.v_offsets, model.joint_nv, strict=True):
        if at >= 0:
            values[at : at + nv] = getattr(joint, name)
    return values
