"""Errors that say where, what and what to do.

Text form: `where: what is wrong, with the value and unit; what to do`, one line, lower case, no full stop.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class PysimError(ValueError):
    """Something the user can mend. `where` names the place, `problem` says what is wrong with it."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle and copy by place and problem; a worker process may hand the error, with its notes, to another."""
        return type(self), (self.where, self.problem), self.__dict__


class SceneError(PysimError):
    """A scene, robot or mesh file says something that cannot be read or built."""


class ModelError(PysimError):
    """A mechanism, or a question about one, makes no sense."""


class JointError(PysimError):
    """A joint type is unknown or wrong."""


class SimulationError(PysimError):
    """A run stopped before its end."""


class TrajectoryError(PysimError):
    """A trajectory file cannot be read or written."""


class IdentificationError(PysimError):
    """A recording cannot tell what is asked of it."""


class PysimWarning(UserWarning):
    """Something suspicious that pysim accepts; the text has the form of the errors."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the closest known word, else the list of them."""
    names = sorted(known) if isinstance(known, (set, frozenset)) else list(dict.fromkeys(known))
    close = closest(word, names)
    if close is not None:
        return f"; did you mean {close!r}?"
    if not names:
        return ""
    return "; known: " + ", ".join(names[:20]) + (", …" if len(names) > 20 else "")


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known word that is most alike, None where none has this share of its letters."""
    return next(iter(difflib.get_close_matches(word, list(known), 1, likeness)), None)
