"""Refusals: parts of a mechanism that a file format cannot hold, each with its name and a remedy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

from pysim.errors import PysimWarning, SceneError

MOST_LISTED = 20


@dataclass
class Refusals:
    """Collection of what a writer cannot write; with `partial`, it is left out with a warning."""

    format: str  # "a URDF file"
    partial: bool = False
    limits: list[tuple[str, str, str]] = field(default_factory=list)  # place, what, remedy
    faults: list[tuple[str, str]] = field(default_factory=list)  # place, sentence

    def add(self, where: str, what: str, remedy: str = "") -> None:
        """Record what the format cannot hold."""
        self.limits.append((where, what, remedy))

    def reject(self, where: str, problem: str) -> None:
        """Record a fault that the user has to fix, also with `partial`."""
        self.faults.append((where, problem))

    def note(self, where: str, text: str) -> None:
        """Warn of what is left out without effect on the motion."""
        warnings.warn(f"{where}: {text}", PysimWarning, stacklevel=3)

    def check(self) -> None:
        """Reject, or warn of, everything that was recorded.

        Raises:
            SceneError: there is something, and `partial` is false.
        """
        lines = [(where, self._sentence(what, remedy)) for where, what, remedy in self.limits]
        if self.partial:
            for where, text in lines:
                warnings.warn(f"{where}: {text}, and is left out", PysimWarning, stacklevel=3)
            lines = []
        lines = [*self.faults, *lines]
        if not lines:
            return
        (where, text), *others = lines
        shown = [text, *(f"{w}: {t}" for w, t in others[: MOST_LISTED - 1])]
        if len(lines) > MOST_LISTED:
            shown.append(f"{where}: {len(lines) - MOST_LISTED} more")
        raise SceneError(where, "\n".join(shown))

    def _sentence(self, what: str, remedy: str) -> str:
        problem = f"{what} has no place in {self.format}"
        if self.partial:
            return problem
        return f"{problem}; {remedy or 'leave it out by --partial'}"
