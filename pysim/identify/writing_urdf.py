"""Writing of changed numbers into a URDF file; text outside the changed elements is kept byte by byte."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from pysim.scene.inertia_text import format_number, urdf_inertial

if TYPE_CHECKING:
    from pysim.identify.file_changes import Changes

_TAG = re.compile(rb"""<[^>"']*(?:"[^"]*"[^>"']*|'[^']*'[^>"']*)*>""")
_PART = {"link": "inertial", "joint": "dynamics"}  # what may change of each


@dataclass
class _Place:
    """Bytes of a part, or where it would stand; and what its attributes are."""

    start: int
    end: int
    attributes: dict[str, str] = field(default_factory=dict)
    wrapped: str = ""  # "link" if the part belongs into an empty <link/>, which must be opened


def changed_urdf(data: bytes, changes: Changes) -> bytes:
    """Return the file's bytes with the changes in them; what has no place in a URDF is noted."""
    places = _Places(data).by_owner
    edits: list[tuple[_Place, str]] = []
    for name, theta in changes.links.items():
        text = "" if theta is None else urdf_inertial(theta)
        edits.append((places["link", name], text))
    for name, keys in changes.joints.items():
        if "armature" in keys:
            values = ", ".join(map(format_number, keys["armature"]))
            changes.notes.append(
                f"URDF cannot hold the armature of {name}, {values}; write it in a scene"
            )
        place = places["joint", name]
        changed = {key: keys[key] for key in ("damping", "friction") if key in keys}
        if changed:
            shown = {key: format_number(float(values[0])) for key, values in changed.items()}
            attributes = (f"{k}={quoteattr(v)}" for k, v in (place.attributes | shown).items())
            edits.append((place, f"<dynamics {' '.join(attributes)}/>"))
    # edited from the end, so that earlier offsets remain valid
    for place, text in sorted(edits, key=lambda edit: -edit[0].start):
        inner = f">{text}</{place.wrapped}>" if place.wrapped else text
        data = data[: place.start] + inner.encode() + data[place.end :]
    return data


class _Places:
    """Finds every link's <inertial> and every joint's <dynamics>, or where it would stand: behind the start tag."""

    def __init__(self, data: bytes) -> None:
        self.by_owner: dict[tuple[str, str], _Place] = {}
        self.path: list[str] = []
        self.owner = ("", "")
        self.data = data
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.Parse(data, True)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        start = self.parser.CurrentByteIndex
        self.path.append(tag)
        if len(self.path) == 2 and tag in _PART:
            self.owner = (tag, attributes.get("name", ""))
            end, alone = self._tag(start)
            self.by_owner[self.owner] = _Place(end - 2, end, {}, tag) if alone else _Place(end, end)
        elif len(self.path) == 3 and tag == _PART.get(self.path[1]):
            end, _ = self._tag(start)
            self.by_owner[self.owner] = _Place(start, end, attributes)

    def _end(self, tag: str) -> None:
        if len(self.path) == 3 and tag == _PART.get(self.path[1]):
            place = self.by_owner[self.owner]
            if not self._tag(place.start)[1]:
                place.end = self.data.index(b">", self.parser.CurrentByteIndex) + 1
        self.path.pop()

    def _tag(self, start: int) -> tuple[int, bool]:
        """Return the end of a start tag, and whether it is the whole element, <tag/>."""
        match = _TAG.match(self.data, start)
        end = match.end() if match else start
        return end, self.data[end - 2 : end] == b"/>"
