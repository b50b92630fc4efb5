"""Gravity of an OpenSim file, read from its head without the rest."""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from pysim.scene.urdf.xml import parse_numbers

_PLACE = ["OpenSimDocument", "Model", "gravity"]
PART_BYTES = 1 << 16  # bytes read at once


class _FoundError(Exception):
    """Ends the parsing after the element."""


class _GravityParser:
    """Collects the text of the first element at the place of gravity."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.text = ""
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = lambda tag, _: self.open.append(tag)
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _characters(self, text: str) -> None:
        if self.open == _PLACE:
            self.text += text

    def _end(self, _tag: str) -> None:
        if self.open == _PLACE:
            raise _FoundError
        self.open.pop()


def stated_gravity(path: Path) -> tuple[float, ...] | None:
    """Return the three numbers [m/s²] that a file states; None if its reader has to report what is wrong."""
    reader = _GravityParser()
    try:
        with path.open("rb") as file:
            while data := file.read(PART_BYTES):
                reader.parser.Parse(data, False)
    except _FoundError:
        numbers = parse_numbers(reader.text)
        return numbers if numbers is not None and len(numbers) == 3 else None
    except (OSError, LookupError, ValueError, expat.ExpatError):
        return None
    return None
