"""Channels: named inputs, outputs and states of controllers, actuators, sensors and signals, with unit and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pysim.elements.units import spelled_unit
from pysim.errors import JointError, PysimError
from pysim.plugins.fields import SIGNAL
from pysim.tracing.author_code import author_line

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Channel:
    """One or several numbers under a name.

    Attributes:
        name: an identifier.
        unit: its unit; "" fits every unit.
        size: how many numbers; a letter stands for the same number wherever a class uses it. States and memory may
            have a multiple of it, "3n".
        many: whether an input takes all signals that remain, one after the other; the last one may.
    """

    name: str
    unit: str = "1"
    size: int | str = 1
    many: bool = False

    def numbers(self, letter: int) -> int:
        """Return how many numbers it has if its letter stands for this many."""
        if isinstance(self.size, int):
            return self.size
        return int(self.size[:-1] or 1) * letter


@dataclass(frozen=True)
class Channels:
    """Channels in their order; `*` forms products."""

    parts: tuple[Channel, ...] = ()

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        for part in self.parts:
            if not str(part.name).isidentifier():
                problem = f"signal {part.name!r} is not a valid name; use letters, digits and _"
                raise PysimError(author_line(), problem)
            if not (isinstance(part.size, str) or part.size >= 1):
                problem = f"signal {part.name!r} has the size {part.size}; give 1 or more"
                raise PysimError(author_line(), problem)
        for part in self.parts[:-1]:
            if part.many:
                problem = f"signal {part.name!r} takes many signals; write it last"
                raise PysimError(author_line(), problem)
        if len(set(names)) < len(names):
            problem = f"two signals have the same name: {', '.join(names)}; rename one"
            raise PysimError(author_line(), problem)

    def __mul__(self, other: Channels) -> Channels:
        return Channels(self.parts + other.parts)

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names, in order."""
        return tuple(part.name for part in self.parts)


MOST_NUMBERS = 100_000  # of a signal, or of what a block keeps under one name
MOST_OF_ALL = 300_000  # of all signals of a scene, and of what all blocks keep
NONE = Channels()


def signal(name: str, unit: str = "1", size: int | str = 1, *, many: bool = False) -> Channels:
    """Return a channel of inputs or outputs: `signal("torque", unit="N·m")`.

    Args:
        name: name by which methods and scenes refer to it.
        unit: unit; "" fits every unit. `N*m` and `m/s^2` are read as `N·m` and `m/s²`.
        size: how many numbers. A letter, such as "n", stands for any number, the same wherever the class uses it.
        many: whether it takes all signals that remain of a scene's `inputs`, as one array; for the last input.
    """
    return Channels((Channel(name, spelled_unit(unit), size, many),))


def real(name: str, size: int | str = 1) -> Channels:
    """Return states, or memory, of `size` numbers under one name; "3n" stands for three times "n"."""
    return Channels((Channel(name, "", size),))


@dataclass(frozen=True)
class SignalField:
    """Type of a field that names a signal in a unit; "" for any."""

    unit: str = ""

    def __repr__(self) -> str:
        return f"Signal[{self.unit!r}]" if self.unit else "Signal"

    def __getitem__(self, unit: str) -> SignalField:
        return SignalField(spelled_unit(unit))

    def named_by(self, value: object, where: str) -> str:
        """Return the name of a signal that a scene gives as text or as `{ signal = "NAME" }`.

        Raises:
            JointError: the value names none.
        """
        name = value.get(SIGNAL) if isinstance(value, dict) and len(value) == 1 else value
        if isinstance(name, str):
            return name
        unit = f" in [{self.unit}]" if self.unit else ""
        problem = f"must be the name of a signal{unit} in quotes, got {value!r}"
        raise JointError(where, f"{problem}; define a [[signal]] of type constant for a number")


Signal = SignalField()
"""Type of a plugin's field that names a signal: `speed: Signal["rad/s"]`; bare, it takes any unit."""


def is_signal(wanted: object) -> bool:
    """Return whether the type of a plugin's field is that of a signal's name."""
    return isinstance(wanted, SignalField)
