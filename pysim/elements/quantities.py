"""Quantities that plugins receive and return: twists, accelerations and wrenches of symbolic or plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.tracing.symbolic_array import symbolic_array

if TYPE_CHECKING:
    from collections.abc import Sequence


class Twist:
    """Twist of frame b relative to frame a, in the axes of b.

    Attributes:
        v: velocity of b's origin relative to the point of a that coincides with it (3,) [m/s].
        w: angular velocity (3,) [rad/s].
    """

    __slots__ = ("v", "w")

    def __init__(self, v: Sequence[Any], w: Sequence[Any]) -> None:
        self.v = symbolic_array(v)
        self.w = symbolic_array(w)


class Acceleration:
    """Acceleration of frame b relative to frame a, in the axes of b.

        linear = dv/dt + ω × v        angular = dω/dt

    Attributes:
        linear: classical acceleration of b's origin (3,) [m/s²], the second derivative of its position; also `v`.
        angular: angular acceleration (3,) [rad/s²]; also `w`.
        spatial: derivatives of the numbers of the twist, `spatial.v` (3,) [m/s²] and `spatial.w` (3,) [rad/s²].
    """

    __slots__ = ("_twist", "spatial")

    def __init__(self, spatial: Twist, twist: Twist) -> None:
        self.spatial, self._twist = spatial, twist

    @property
    def linear(self) -> Any:
        return symbolic_array(self.spatial.v + np.cross(self._twist.w, self._twist.v))

    @property
    def angular(self) -> Any:
        return self.spatial.w

    @property
    def v(self) -> Any:
        """The classical acceleration of b's origin (3,) [m/s²]."""
        return self.linear

    @property
    def w(self) -> Any:
        """The angular acceleration (3,) [rad/s²]."""
        return self.spatial.w


class Wrench:
    """Wrench on frame b, in the axes of b; the opposite wrench acts on frame a at the same place.

    Args:
        force: force (3,) [N].
        torque: moment about the origin of b (3,) [N·m].
    """

    __slots__ = ("force", "torque")

    def __init__(
        self, force: Sequence[Any] = (0.0, 0.0, 0.0), torque: Sequence[Any] = (0.0, 0.0, 0.0)
    ) -> None:
        self.force, self.torque = tuple(force), tuple(torque)
        if len(self.force) != 3 or len(self.torque) != 3:
            got = f"{len(self.force)} and {len(self.torque)}"
            raise ValueError(f"a wrench needs 3 numbers of force and 3 of torque, got {got}")


class Contact:
    """Contacts of a body, about the origin of a frame and in the axes that its sensor names.

    Attributes:
        touching: 1 where the body touches, else 0.
        normal: sum of the normal forces [N].
        force: sum of the forces on the body (3,) [N].
        torque: their moment, with that of rolling and spinning friction (3,) [N·m].
    """

    __slots__ = ("force", "normal", "torque", "touching")

    def __init__(
        self, touching: Any, normal: Any, force: Sequence[Any], torque: Sequence[Any]
    ) -> None:
        self.touching, self.normal = touching, normal
        self.force, self.torque = symbolic_array(force), symbolic_array(torque)


class SectionForces:
    """What acts within a rod at a section, in its axes: x along the rod, y and z those of the section.

    Attributes:
        force: of the part beyond it on the part before it (3,) [N].
        moment: likewise (3,) [N·m].
        curvature: change of the twist and of the curvature about y and z by stress (3,) [1/m].
        sides: of the section along y and z [m], the diameters of a round one; None if it has no shape.
        is_round: whether it is a circle or tube.
    """

    __slots__ = ("curvature", "force", "is_round", "moment", "sides")

    def __init__(
        self,
        force: Sequence[Any],
        moment: Sequence[Any],
        curvature: Sequence[Any],
        sides: tuple[float, float] | None,
        *,
        is_round: bool,
    ) -> None:
        self.force, self.moment = symbolic_array(force), symbolic_array(moment)
        self.curvature = symbolic_array(curvature)
        self.sides, self.is_round = sides, is_round
