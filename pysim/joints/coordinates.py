"""Coordinates of joints: products of real numbers, rotations and displacements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pysim._engine import Block, Group
from pysim.errors import JointError, did_you_mean
from pysim.joints.displacement import Pose
from pysim.tracing.author_code import author_line

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = ("rad", "m")
SIZES = {"real": (1, 1), "rotation": (4, 3), "pose": (7, 6)}  # lengths in q and v


@dataclass(frozen=True)
class Coordinate:
    """One named coordinate and its group."""

    name: str
    group: str
    unit: str = "rad"

    @property
    def nq(self) -> int:
        """Numbers in q."""
        return SIZES[self.group][0]

    @property
    def nv(self) -> int:
        """Numbers in v."""
        return SIZES[self.group][1]


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of a joint, in order; `*` forms products."""

    parts: tuple[Coordinate, ...]

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        if not names:
            raise JointError(author_line(), 'a joint needs a coordinate; write real("angle")')
        for part in self.parts:
            if not str(part.name).isidentifier():
                problem = f"coordinate {part.name!r} is not a valid name; use letters, digits and _"
                raise JointError(author_line(), problem)
            if part.unit not in UNITS:
                problem = f"unknown unit {part.unit!r} of coordinate {part.name!r}{did_you_mean(part.unit, UNITS)}"
                raise JointError(author_line(), problem)
        if len(set(names)) < len(names):
            problem = f"two coordinates have the same name: {', '.join(names)}; rename one"
            raise JointError(author_line(), problem)

    def __mul__(self, other: Coordinates) -> Coordinates:
        return Coordinates(self.parts + other.parts)

    @property
    def nq(self) -> int:
        """Numbers in q."""
        return sum(part.nq for part in self.parts)

    @property
    def nv(self) -> int:
        """Numbers in v."""
        return sum(part.nv for part in self.parts)

    def offsets(self) -> list[tuple[Coordinate, int, int]]:
        """Return each coordinate with the offsets of its numbers in q and in v."""
        found, at_q, at_v = [], 0, 0
        for part in self.parts:
            found.append((part, at_q, at_v))
            at_q, at_v = at_q + part.nq, at_v + part.nv
        return found

    def blocks(self) -> list[Block]:
        """Return blocks of consecutive coordinates; neighbouring real coordinates form one block."""
        blocks: list[Block] = []
        for part, at_q, at_v in self.offsets():
            group = Group[part.group]
            if group is Group.real and blocks and blocks[-1].group is group:
                blocks[-1] = blocks[-1].replaced(nv=blocks[-1].nv + 1)
            else:
                blocks.append(Block(group, at_q, at_v, part.nv))
        return blocks

    def neutral(self) -> list[float]:
        """Return zeros and identity rotations."""
        q: list[float] = []
        for part in self.parts:
            q += [0.0] * part.nq
            if part.group != "real":
                q[-1] = 1.0
        return q

    def named(self, numbers: Sequence[Any]) -> NamedNumbers:
        """Return the numbers of q by name: a real number, a quaternion (x, y, z, w) or a Pose."""
        values: dict[str, Any] = {}
        for part, at, _ in self.offsets():
            own = list(numbers[at : at + part.nq])
            if part.group == "real":
                values[part.name] = own[0]
            elif part.group == "rotation":
                values[part.name] = tuple(own)
            else:
                values[part.name] = Pose.translate(*own[:3]) @ Pose.rotate_quaternion(own[3:])
        return NamedNumbers(values)

    def named_velocities(self, numbers: Sequence[Any]) -> NamedNumbers:
        """Return the numbers of v by name: a rate, an angular velocity (3) or a twist (6)."""
        values: dict[str, Any] = {}
        for part, _, at in self.offsets():
            own = tuple(numbers[at : at + part.nv])
            values[part.name] = own[0] if part.group == "real" else own
        return NamedNumbers(values)


class NamedNumbers:
    """Numbers as attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"no coordinate {name!r}; there are {', '.join(self.__dict__)}")


def real(*names: str, unit: str = "rad") -> Coordinates:
    """Declare real coordinates, whose velocities are their rates. `unit` is that of each, "rad" or "m"."""
    return Coordinates(tuple(Coordinate(name, "real", unit) for name in names))


def rotation(name: str) -> Coordinates:
    """Declare a rotation: quaternion (x, y, z, w) in q, angular velocity in the child frame [rad/s] in v."""
    return Coordinates((Coordinate(name, "rotation"),))


def pose(name: str) -> Coordinates:
    """Declare a displacement: position [m] and quaternion in q, twist in the child frame in v."""
    return Coordinates((Coordinate(name, "pose"),))
