"""`Inertia`: spatial inertias as objects, one or an array of them, in float64 or float32.

The engine's record is [m, mcx, mcy, mcz, Ixx, Iyy, Izz, Ixy, Iyz, Izx], with I about the *reference point*, the origin
of the frame, not about the centre of mass. Translations then compose, and a massless body is no special case:

    rotate      mc' = R mc          I' = R I Rᵀ
    translate   mc' = mc + m p      I' = I − (p× mc× + mc× p× + m p× p×)
    transform   by X_AB: rotate by R, then translate by p, that is  M_A = Ad*(X_AB) M_B Ad(X_BA)

The kernels are the engine's, on packs; no 6×6 product is formed. M V takes 24 multiplications and 18 additions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pysim.errors import PysimError
from pysim.inertia import factorisation
from pysim.inertia.construction import Construction
from pysim.inertia.parameter_orders import FROM_PACKED, PACKED_KWON, shifted
from pysim.inertia.parameters import centers, tensors
from pysim.spatial.arrays import (
    checked,
    checked_record,
    checked_rotation,
    leading,
    map_pairs,
)
from pysim.spatial.groups import power, skew

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pysim.inertia.factorisation import Factor
    from pysim.spatial.arrays import Array


class Inertia(Construction):
    """Spatial inertia of one body, or of an array of bodies.

    Attributes:
        record: (…, 10) in the engine's order, contiguous, changed by `rotate`, `translate`, `transform` and `merge`.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy's binary operators defer to this class

    def __len__(self) -> int:
        return len(self.record) if self.record.ndim > 1 else 1

    def __getitem__(self, index: Any) -> Self:  # noqa: ANN401, whatever NumPy takes
        """Return some of the bodies: an index of the leading axes."""
        keys = index if isinstance(index, tuple) else (index,)
        return type(self)(self.record[(*keys, ..., slice(None))])

    def __repr__(self) -> str:
        return f"Inertia({self.record.tolist()!r}, dtype={self.dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes; () for one body."""
        return self.record.shape[:-1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 or float32."""
        return self.record.dtype

    @property
    def mass(self) -> Array:
        """Mass m (…) [kg]."""
        return self.record[..., 0]

    @property
    def first_moment(self) -> Array:
        """First moment mc (…, 3) about the reference point [kg·m]."""
        return self.record[..., 1:4]

    @property
    def com(self) -> Array:
        """Centre of mass (…, 3) seen from the reference point [m]; zero without mass."""
        return centers(self.record)

    @property
    def theta(self) -> Array:
        """θ (…, 10), the parameters in pysim's public order."""
        return self.record[..., FROM_PACKED]

    @property
    def kwon(self) -> Array:
        """The ten numbers in Kwon's order (…, 10)."""
        return self.record[..., PACKED_KWON]

    @property
    def about_origin(self) -> Array:
        """Rotational inertia about the reference point (…, 3, 3) [kg·m²]."""
        return tensors(self.theta)

    @property
    def about_com(self) -> Array:
        """Rotational inertia about the centre of mass, on the frame's axes (…, 3, 3) [kg·m²]."""
        return tensors(shifted(self.record, -1)[..., FROM_PACKED])

    @property
    def matrix(self) -> Array:
        """M (…, 6, 6) = [[m 1, −mc×], [mc×, I]], from twists [v; ω] to momenta [f; τ]."""
        M = np.zeros((*self.shape, 6, 6), self.dtype)
        S = skew(self.first_moment)
        M[..., :3, 3:], M[..., 3:, :3], M[..., 3:, 3:] = -S, S, self.about_origin
        for k in range(3):
            M[..., k, k] = self.mass
        return M

    def rotated(self, R: ArrayLike) -> Self:
        """Return the same bodies expressed on other axes; R_AB (…, 3, 3) maps from the present axes B to A."""
        return self._transformed("inertia_rotate", _columns(R))

    def translated(self, p: ArrayLike) -> Self:
        """Return the same bodies about another reference point; p (…, 3) [m] leads from it to the present one."""
        return self._transformed("inertia_translate", checked(p, "p", (3,), unit="m"))

    def transformed(self, X: ArrayLike) -> Self:
        """Return the same bodies in A, given X_AB (…, 4, 4), or its record (…, 12), where B is the present frame."""
        return self._transformed("inertia_transform", checked_record(X))

    def rotate(self, R: ArrayLike) -> None:
        """Change the bodies in place, as `rotated` does for a copy."""
        self._change("inertia_rotate", _columns(R), "R")

    def translate(self, p: ArrayLike) -> None:
        """Change the bodies in place, as `translated` does for a copy."""
        self._change("inertia_translate", checked(p, "p", (3,), unit="m"), "p")

    def transform(self, X: ArrayLike) -> None:
        """Change the bodies in place, as `transformed` does for a copy."""
        self._change("inertia_transform", checked_record(X), "X")

    def __add__(self, other: object) -> Self:
        """Return the inertia of the bodies welded together; both must have the same reference point and axes."""
        if not isinstance(other, Inertia):
            return NotImplemented
        leading(self.record, 1, "the left inertia", other.record, 1, "the right inertia")
        return type(self)(self.record + other.record)

    def merge(self, child: Inertia, X: ArrayLike | None = None) -> Array:
        """Weld other bodies to these, in place, and return the new centre of mass (…, 3) [m].

            m = mi + mj    c = (mi ci + mj cj) / m    Ic = Ici + R Icj Rᵀ − (mi mj / m) [ci − cj]×²

        Args:
            child: inertia in its own frame j.
            X: X_ij (…, 4, 4) or (…, 12), from j to the frame i of these; by default the frames coincide.
        """
        placed = child if X is None else child.transformed(X)
        merged = self + placed
        if merged.shape != self.shape:
            problem = (
                f"leading axes {placed.shape} do not fit in {self.shape} of the bodies they join"
            )
            raise PysimError("child", problem)
        self.record[...] = merged.record
        return self.com

    def __matmul__(self, V: ArrayLike) -> Array:
        """Return the momentum M V = [m v − mc × ω; I ω + mc × v] (…, 6) [N·s, N·m·s] of twists V (…, 6)."""
        return self._applied("inertia_times_twist", V, "V")

    def kinetic_energy(self, V: ArrayLike) -> Array:
        """Return ½ V·M V (…) [J] of twists V (…, 6)."""
        return self._applied("inertia_kinetic_energy", V, "V")[..., 0]

    def power(self, V: ArrayLike, A: ArrayLike) -> Array:
        """Return V·M A (…) [W], the rate of the kinetic energy at twist V (…, 6) and acceleration A = V̇ (…, 6).

        The term V ×* (M V) of the wrench does no work.
        """
        return power(V, self._applied("inertia_times_twist", A, "A"))

    def factor(self, tolerance: float | None = None) -> Factor:
        """Return F with M = F Fᵀ, its rank and pivots (see `Factor`).

        Args:
            tolerance: moments below this fraction of the trace about the centre of mass count as zero; 64 rounding
                errors by default.

        Raises:
            PysimError: M is not positive semidefinite.
        """
        return factorisation.factor(self.record, tolerance)

    def _applied(self, function: str, V: ArrayLike, name: str) -> Array:
        twist = checked(V, name, (6,))
        leading(self.record, 1, "the inertia", twist, 1, name)
        return map_pairs(function, self.record, twist)

    def _transformed(self, function: str, argument: Array) -> Self:
        leading(self.record, 1, "the inertia", argument, 1, "the argument")
        return type(self)(map_pairs(function, self.record, argument.astype(self.dtype, copy=False)))

    def _change(self, function: str, argument: Array, name: str) -> None:
        batch = argument.shape[:-1]
        room = self.shape[max(len(self.shape) - len(batch), 0) :]
        if len(batch) > len(room) or any(n not in {1, m} for n, m in zip(batch, room, strict=True)):
            problem = f"leading axes {batch} do not fit in {self.shape} of the bodies it changes"
            raise PysimError(name, problem)
        map_pairs(function, self.record, argument.astype(self.dtype, copy=False), self.record)


def _columns(R: ArrayLike) -> Array:
    """Return a rotation as nine numbers (…, 9), column-major."""
    rotation = checked_rotation(R)
    return np.swapaxes(rotation, -1, -2).reshape(*rotation.shape[:-2], 9)
