"""Values in the text of OpenSim's elements: numbers, truth values, names, and poses of offset frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.urdf.xml import Element, parse_numbers
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def shown(element: Element) -> str:
    """Return an element's text in quotes, shortened."""
    text = element.content.strip()
    return repr(text if len(text) <= 60 else text[:59] + "…")


def rows(element: Element) -> tuple[float, ...]:
    """Return any count of finite numbers in an element's text."""
    found = parse_numbers(element.content)
    if found is None:
        problem = f"<{element.tag}> must be finite numbers, got {shown(element)}"
        element.fail(f"{problem}; write them as '0.5 0 1e-3'")
    element.refuse_huge(element.tag, f"<{element.tag}>", found)
    return found


def numbers(parent: Element, tag: str, count: int, default: tuple[float, ...]) -> tuple[float, ...]:
    """Return the numbers in a child, or a default if there is no such child or it is empty."""
    element = parent.child(tag)
    if element is None or not element.content.strip():
        return default
    found = rows(element)
    if len(found) != count:
        kind = "one number" if count == 1 else f"{count} numbers"
        element.fail(f"<{tag}> must be {kind}, got {shown(element)}; correct it")
    return found


def number(parent: Element, tag: str, default: float | None = None) -> float:
    """Return the number in a child, or a default if there is no such child or it is empty."""
    if default is None:
        element = parent.required(tag)
        if not element.content.strip():
            element.fail(f"<{tag}> is empty; write a number")
        default = 0.0
    return numbers(parent, tag, 1, (default,))[0]


def positive(parent: Element, tag: str, unit: str, default: float | None = None) -> float:
    """Return the number in a child, which must be positive."""
    value = number(parent, tag, default)
    if value <= 0:
        parent.required(tag).fail(f"<{tag}> must be positive [{unit}], got {value:g}; correct it")
    return value


def not_negative(parent: Element, tag: str, unit: str, default: float) -> float:
    """Return the number in a child, which must not be negative."""
    value = number(parent, tag, default)
    if value < 0:
        parent.required(tag).fail(
            f"<{tag}> must not be negative [{unit}], got {value:g}; correct it"
        )
    return value


def truth(parent: Element, tag: str, *, default: bool) -> bool:
    """Return the truth value in a child, or a default if there is no such child."""
    element = parent.child(tag)
    if element is None or not element.content.strip():
        return default
    value = _TRUTH.get(element.content.strip().lower())
    if value is None:
        element.fail(f"<{tag}> must be true or false, got {shown(element)}; correct it")
    return value


def choice(parent: Element, tag: str, known: Sequence[str]) -> str:
    """Return the word in a child, one of those known; the first if there is no such child or it is empty."""
    word = text(parent, tag)
    if word and word not in known:
        parent.required(tag).fail(f"<{tag}> must be {' or '.join(known)}, got {word!r}; correct it")
    return word or known[0]


def words(parent: Element, tag: str) -> list[str]:
    """Return the names in a child, none if there is no such child."""
    element = parent.child(tag)
    return [] if element is None else element.content.split()


def text(parent: Element, tag: str) -> str:
    """Return the text of a child without blanks around it, "" if there is no such child."""
    element = parent.child(tag)
    return "" if element is None else element.content.strip()


def name_of(element: Element) -> str:
    """Return the name of an element, which must not be missing."""
    return element.text("name").strip()


def members(parent: Element, tag: str) -> Iterator[Element]:
    """Yield the elements of a set, `<ForceSet><objects>…`; none if there is no such set."""
    holder = parent.child(tag)
    objects = None if holder is None else holder.child("objects")
    if objects is not None:
        yield from objects.children
    elif holder is not None:  # some sets hold their elements themselves
        yield from (child for child in holder.children if "name" in child.attributes)


def offset_pose(element: Element, translation: str, orientation: str) -> Array:
    """Return the pose (4, 4) of two children: a position [m], and angles [rad] about body-fixed x, then y, then z."""
    X = np.eye(4)
    zero = (0.0, 0.0, 0.0)
    X[:3, 3] = numbers(element, translation, 3, zero)
    X[:3, :3] = rotation_xyz(*numbers(element, orientation, 3, zero))
    return X


def rotation_xyz(a: float, b: float, c: float) -> Array:
    """Return Rx(a) Ry(b) Rz(c) (3, 3), angles [rad]."""
    (ca, cb, cc), (sa, sb, sc) = np.cos([a, b, c]), np.sin([a, b, c])
    return np.array(
        [
            [cb * cc, -cb * sc, sb],
            [ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb],
            [sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb],
        ]
    )


def rotation_about(axis: Array, angle: float | Array) -> Array:
    """Return the rotations (…, 3, 3) about a unit axis by angles (…) [rad]; exact for angle 0."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    sine, cosine = (f(np.asarray(angle))[..., None, None] for f in (np.sin, np.cos))
    return np.asarray(np.eye(3) + sine * K + (1 - cosine) * (K @ K))
