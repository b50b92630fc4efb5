"""Omissions: parts of a foreign file that the model leaves out or replaces, each reported with its place.

What may change the motion or the picture is a warning, or an error if the user asked for `strict`. What belongs to
other programs is only listed, for `pysim check`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

from pysim.errors import PysimWarning, SceneError

MOST_LISTED = 24  # items of one kind in a warning


class Omission(NamedTuple):
    """An item that is left out: its kind in the plural, its name, its place, and what happens to it and why."""

    kind: str
    item: str
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.item} {self.reason}"


@dataclass
class Omissions:
    """Collection of what a reader leaves out of a file."""

    strict: bool = False
    omissions: list[Omission] = field(default_factory=list)
    listed: list[Omission] = field(default_factory=list)

    def add(self, kind: str, item: str, where: str, reason: str) -> None:
        """Record an item to warn of; one that is recorded already is ignored.

        Raises:
            SceneError: the user asked for strict reading.
        """
        omission = Omission(kind, item, where, reason)
        if self.strict:
            raise SceneError(where, f"{item} {reason}") from None
        if all((kind, item) != (other.kind, other.item) for other in self.omissions):
            self.omissions.append(omission)

    def add_shape(self, item: str, owner: str, error: SceneError) -> None:
        """Record a shape that cannot be read, of an owner whose name its error may begin with.

        Raises:
            SceneError: the user asked for strict reading.
        """
        problem = error.problem.removeprefix(f"{owner}: ")
        self.add("shapes", f"{owner}: {item}", error.where, f"is left out: {problem}")

    def note(self, kind: str, item: str, where: str, reason: str) -> None:
        """Record an item that has no effect on the mechanism."""
        self.listed.append(Omission(kind, item, where, reason))

    def warn(self) -> tuple[str, ...]:
        """Warn once of each kind of item, and return every item as a line of text."""
        for kind in dict.fromkeys(omission.kind for omission in self.omissions):
            first, *rest = (omission for omission in self.omissions if omission.kind == kind)
            more = ""
            if rest:
                names = [f"{o.item}{_line(o.where)}" for o in rest[:MOST_LISTED]]
                tail = f", and {len(rest) - MOST_LISTED} that `pysim check` lists" * (
                    len(rest) > MOST_LISTED
                )
                more = f"; {len(rest)} more {kind}: {', '.join(names)}{tail}"
            warnings.warn(f"{first}{more}", PysimWarning, stacklevel=4)
        return tuple(map(str, (*self.omissions, *self.listed)))


def _line(where: str) -> str:
    """Return the line at the end of a place in a file, in parentheses; nothing if the place is the file."""
    numbers = [word for word in where.rsplit(":", 2) if word.isdigit()]
    return f" (line {numbers[0]})" if numbers else ""
