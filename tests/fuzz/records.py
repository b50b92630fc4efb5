"""Records of worlds as bytes: their numbers by part and place, and changed ones under right checksums."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pysim.worlds import saved_worlds
from tests.resumed_scenes import PLUGINS

if TYPE_CHECKING:
    import pysim

STACK = """
name = "stack"
[materials.default]
friction = 0.5
[[body]]
name = "low"
shape = { box = [0.2, 0.2, 0.1], density = 300 }
collision = true
[[body]]
name = "high"
shape = { box = [0.1, 0.1, 0.1], density = 300 }
collision = true
[[joint]]
name = "low falls"
type = "free"
child = "low"
start = { xyz = [0, 0, 0.05] }
[[joint]]
name = "high falls"
type = "free"
child = "high"
start = { xyz = [0, 0, 0.15] }
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
[simulation]
integrator = "convex"
duration = 0.2
step = 2e-3
checkpoint = 1e-6
SETTINGS
[output]
every = 0.01
"""


class Change(NamedTuple):
    """Numbers of a record that become others."""

    part: str
    place: int
    value: Any  # or the place of a number of the same part, with which it is exchanged
    exchanged: bool = False


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
    (folder / "own.py").write_text(PLUGINS, "utf-8")
    return folder


FOLDER = _folder()


def scene_of(text: str, name: str) -> Path:
    path = FOLDER / f"{name}.toml"
    path.write_text(text, "utf-8")
    return path


def stack(settings: str = "") -> Path:
    return scene_of(STACK.replace("SETTINGS", settings), f"stack{abs(hash(settings))}")


def layout(worlds: pysim.Worlds) -> list[tuple[str, np.dtype[Any], int]]:
    """Return the parts of a record: name, type and numbers."""
    parts = worlds._records.engine.parts
    return [
        (name, array.dtype, array.shape[1]) for name, array in parts.items() if name != "report"
    ]


def places(worlds: pysim.Worlds, record: bytes) -> dict[str, tuple[np.dtype[Any], int, int]]:
    """Return type, offset and count of the numbers of the first world in its record, by part."""
    by_part, at = {}, 0
    if worlds._records.python is not None:
        at = 8 + int.from_bytes(record[:8], "little")
    touching = 0
    for name, kind, most in layout(worlds):
        count = 6 * touching if name == "contacts" else most
        by_part[name] = (kind, at, count)
        if name == "touching":
            touching = int(np.frombuffer(record, np.int64, 1, at)[0])
        at += count * kind.itemsize
    return by_part


def changed(
    record: bytes, where: dict[str, tuple[np.dtype[Any], int, int]], change: Change
) -> bytes:
    kind, at, count = where[change.part]
    made = bytearray(record)
    numbers = np.frombuffer(made, kind, count, at)
    if change.exchanged:
        numbers[[change.place, change.value]] = numbers[[change.value, change.place]]
    else:
        numbers[change.place] = change.value
    return bytes(made)


def split(saved: bytes) -> tuple[bytes, bytes]:
    """Return what is before the records in bytes of `Worlds.save`, behind the checksum, and the records."""
    own = saved_worlds
    begin = len(own.FORMAT) + own.CHECKSUM
    at = begin + own.SIZE
    sizes = [
        int.from_bytes(saved[at + k * own.SIZE : at + (k + 1) * own.SIZE], "little")
        for k in range(own.LENGTHS)
    ]
    end = at + own.LENGTHS * own.SIZE + sum(sizes[1:])
    return saved[begin:end], saved[end:]


def sealed(head: bytes, record: bytes) -> bytes:
    """Return bytes with the right checksum."""
    own = saved_worlds
    return own.FORMAT + own._checksum(head, record) + head + record
