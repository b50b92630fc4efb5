"""Rejection of misspelt names of elements and attributes in URDF files.

Robot files contain elements for other programs, so unknown names are not errors. But an unknown name that is similar to
one which pysim reads and which is missing there is taken for a misspelling, since ignoring it would change the robot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pysim.errors import closest
from pysim.shapes import PRIMITIVES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.urdf.xml import Element

_CLOSE, _CLOSE_OF_THREE = 0.75, 0.66  # share of equal letters: all but one of four or three
_MOST_LENGTH_DIFFERENCE = 2  # greatest difference in length


class _Names(NamedTuple):
    """Names that are read in an element: attributes, single children and repeated children."""

    attributes: tuple[str, ...] = ()
    once: tuple[str, ...] = ()
    often: tuple[str, ...] = ()


_SOLIDS = {
    kind: tuple(key for key, _ in own.xml_keys)
    for kind, own in PRIMITIVES.items()
    if own.is_in_urdf
}
_READ = {
    "robot": _Names(("name",), (), ("link", "joint", "material")),
    "link": _Names(("name",), ("inertial",), ("visual", "collision")),
    "inertial": _Names((), ("origin", "mass", "inertia")),
    "mass": _Names(("value",)),
    "inertia": _Names(("ixx", "ixy", "ixz", "iyy", "iyz", "izz")),
    "visual": _Names((), ("origin", "geometry", "material")),
    "collision": _Names((), ("origin", "geometry")),
    "geometry": _Names((), (*_SOLIDS, "mesh")),
    **{kind: _Names(keys) for kind, keys in _SOLIDS.items()},
    "mesh": _Names(("filename", "scale")),
    "material": _Names(("name",), ("color",)),
    "color": _Names(("rgba",)),
    "origin": _Names(("xyz", "rpy")),
    "joint": _Names(
        ("name", "type"), ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")
    ),
    "parent": _Names(("link",)),
    "child": _Names(("link",)),
    "axis": _Names(("xyz",)),
    "limit": _Names(("lower", "upper", "effort", "velocity")),
    "dynamics": _Names(("damping", "friction")),
    "mimic": _Names(("joint", "multiplier", "offset")),
}


def check_spelling(element: Element) -> None:
    """Reject misspelt attributes and children of an element and of its descendants.

    Raises:
        SceneError: there is one; the error names the first.
    """
    read = _READ[element.tag]
    children = [child.tag for child in element.children]
    for name in element.attributes:
        meant = _meant(name, read.attributes, element.attributes)
        if meant is not None:
            element.fail(f"unknown attribute {name!r} of <{element.tag}>; did you mean {meant!r}?")
    for child in element.children:
        if child.tag in (*read.once, *read.often):
            check_spelling(child)
            continue
        meant = _meant(child.tag, read.once, children) or _meant(child.tag, read.often)
        if meant is not None and element.tag != "geometry":  # whose reader reports it
            child.fail(f"unknown element <{child.tag}> in <{element.tag}>; did you mean {meant!r}?")


def _meant(name: str, read: Iterable[str], present: Iterable[str] = ()) -> str | None:
    """Return the name that was probably meant, None if the name is for other programs."""
    if name in read or ":" in name:
        return None
    word = name.lower()
    near = [
        n for n in read if n not in present and abs(len(n) - len(word)) <= _MOST_LENGTH_DIFFERENCE
    ]
    swapped = (n for n in near if sorted(n) == sorted(word))  # two letters swapped
    near = [n for n in near if n[0] == word[:1]]
    return next(swapped, None) or closest(word, near, _CLOSE if len(word) > 3 else _CLOSE_OF_THREE)
