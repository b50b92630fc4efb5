"""`Joint`, the base class of joint plugins: its fields are scene keys, its `placement` is the motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

import numpy as np

from pysim.errors import JointError
from pysim.joints.coordinate_ranges import limits_of, start_of
from pysim.joints.definition import define
from pysim.tracing.author_code import definition_place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.joints.coordinates import Coordinates, NamedNumbers
    from pysim.joints.displacement import Pose


@dataclass_transform()
class Joint:
    """Base class of joint plugins.

    Annotated fields become scene keys, checked by type; a field with a default is optional. `placement` is called once
    with symbolic numbers, and velocities and accelerations are derived from the recorded operations.
    """

    coordinates: ClassVar[Coordinates]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        define(cls)

    def placement(self, q: NamedNumbers) -> Pose:  # noqa: ARG002, the author's argument
        """Return X_PC(q), which maps the child joint frame to the parent joint frame; q by name."""
        raise JointError(
            definition_place(type(self)),
            "has no method placement; write `def placement(self, q)` that returns a Pose",
        )

    def force(self, q: NamedNumbers, v: NamedNumbers) -> Sequence[Any] | Any:  # noqa: ARG002
        """Return the passive generalised force [N or N·m], one number for each velocity, as of a ligament.

        It is traced like `placement`; q and v by name. A class without this method has no force.
        """
        return None

    def limits(self) -> Mapping[str, tuple[float, float]]:
        """Return (lower, upper) limits of real coordinates by name [rad or m]; none by default."""
        return {}

    def start(self) -> Mapping[str, Any]:
        """Return start values of coordinates by name; neutral by default."""
        return {}

    def neutral(self) -> NDArray[np.float64]:
        """Return the start (nq,): that of `start`, else zeros (clipped to the limits) and identity rotations."""
        return start_of(self)

    def sample(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw a configuration (nq,) within the limits, or within ±1 without limits."""
        q = np.array(self.coordinates.neutral())
        limits = limits_of(self)
        for part, at, _ in self.coordinates.offsets():
            if part.group == "real":
                lower, upper = limits.get(part.name, (-1.0, 1.0))
                low = lower if np.isfinite(lower) else -1.0
                q[at] = rng.uniform(low, upper if np.isfinite(upper) else low + 2.0)
            else:
                quaternion = rng.standard_normal(4)
                q[at : at + part.nq - 4] = rng.uniform(-1, 1, part.nq - 4)
                q[at + part.nq - 4 : at + part.nq] = quaternion / np.linalg.norm(quaternion)
        return q
