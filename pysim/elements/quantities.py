"""Quantities that force plugins receive and return: twists and wrenches of symbolic or plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
