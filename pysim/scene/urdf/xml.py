"""Reader of XML from unknown sources: elements with their place in the file, and strict parsing of attributes.

Expat is used because it reports the column as well as the line. A document type is rejected before its content is read,
so there are no entities to expand and nothing is fetched. The size of a file and the depth of its elements are bounded.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from xml.parsers import expat

import numpy as np

from pysim.errors import PysimWarning, SceneError
from pysim.files.regular import read_regular
from pysim.spatial.rotations import rotation_from_rpy
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pysim.scene.import_omissions import Omissions

MOST_BYTES = 1 << 27  # bytes of a file
TURN = 2 * math.pi + 1e-3  # rad
LONGEST_ATTRIBUTE = 4096  # characters
MOST_LEVELS = 200  # elements within each other
MOST_ELEMENTS = 2_000_000
LARGEST_NUMBER = 1e30  # products of several remain finite
BOUNDS = ("lower", "upper", "effort", "velocity", "range")  # of joints: a huge one means none
_OWNERS = ("link", "joint")  # in messages, wherever they are
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass
class Element:
    """An element, its place in the file, and the link or joint it belongs to, for messages."""

    tag: str
    attributes: dict[str, str]
    where: str
    owner: str
    children: list[Element] = field(default_factory=list)
    content: str = ""  # text, as in <mass>2</mass>

    def all(self, tag: str) -> list[Element]:
        """Return the children of this tag."""
        return [child for child in self.children if child.tag == tag]

    def child(self, tag: str) -> Element | None:
        """Return the only child of this tag, None where there is none."""
        found = self.all(tag)
        if len(found) > 1:
            found[1].fail(f"second <{tag}> in <{self.tag}>; keep one")
        return found[0] if found else None

    def first(self, tag: str, omissions: Omissions) -> Element | None:
        """Return the first child of this tag, None if there is none; further ones are left out."""
        found = self.all(tag)
        for other in found[1:]:
            item = f"{self.owner}: second <{tag}>" if self.owner else f"second <{tag}>"
            first = ":".join(found[0].where.rsplit(":", 2)[-2:])
            reason = f"is ignored in favour of the one at {first}; keep one"
            omissions.add("repeated elements", item, other.where, reason)
        return found[0] if found else None

    def required(self, tag: str) -> Element:
        """Return the only child of this tag."""
        found = self.child(tag)
        if found is None:
            self.fail(f"<{self.tag}> needs a <{tag}>; add it")
        return found

    def text(self, name: str) -> str:
        """Return an attribute that must not be missing or empty."""
        value = self.attributes.get(name, "")
        if not value.strip():
            self.fail(f"<{self.tag}> needs the attribute {name!r}; add it")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return one finite number."""
        if default is not None and name not in self.attributes:
            return default
        return self.numbers(name, 1)[0]

    def numbers(
        self, name: str, count: int, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """Return `count` finite numbers, decimal, separated by blanks."""
        if default is not None and name not in self.attributes:
            return default
        value = self.text(name)
        words = value.split()
        kind = "a number" if count == 1 else f"{count} numbers"
        if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
            remedy = "write it as 0.5 or 5e-1" if count == 1 else "write them as '0.5 0 1e-3'"
            self.fail(f"{name!r} of <{self.tag}> must be {kind}, got {_shown(value)}; {remedy}")
        numbers = tuple(map(float, words))
        if not all(map(math.isfinite, numbers)):
            self.fail(f"{name!r} of <{self.tag}> must be finite, got {_shown(value)}; reduce it")
        self.refuse_huge(name, f"{name!r} of <{self.tag}>", numbers)
        return numbers

    def refuse_huge(self, name: str, shown: str, numbers: Iterable[float]) -> None:
        """Raise an error for numbers whose products overflow, unless `name` is that of a joint's bound."""
        largest = max(map(abs, numbers), default=0.0)
        if largest > LARGEST_NUMBER and name not in BOUNDS:
            problem = f"{shown} is beyond {LARGEST_NUMBER:g}, got {largest:g}"
            self.fail(f"{problem}; take another unit")

    def lengths(self, name: str, count: int = 1) -> tuple[float, ...]:
        """Return `count` lengths [m], which must be positive."""
        values = self.numbers(name, count)
        if min(values) <= 0:
            got = _shown(self.text(name))
            self.fail(f"{name!r} of <{self.tag}> must be positive [m], got {got}; increase it")
        return values

    def non_negative(self, name: str, unit: str, default: float | None = None) -> float:
        """Return a number that must not be negative."""
        value = self.number(name, default)
        if value < 0:
            self.fail(
                f"{name!r} of <{self.tag}> must not be negative [{unit}], got {value}; remove the sign"
            )
        return value

    def origin(self) -> Array:
        """Return the pose (4, 4) of the child <origin>: xyz [m], rpy [rad] about fixed axes."""
        element = self.child("origin")
        pose = np.eye(4)
        if element is not None:
            pose[:3, 3] = element.numbers("xyz", 3, (0.0, 0.0, 0.0))
            rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0))
            if max(map(abs, rpy)) > TURN:
                element.warn_of_degrees("rpy", rpy)
            pose[:3, :3] = rotation_from_rpy(rpy)
        return pose

    def warn_of_degrees(self, name: str, angles: Iterable[float]) -> None:
        """Warn of angles that are probably not in radians."""
        radians = " ".join(f"{math.radians(angle):.10g}" for angle in angles)
        place = f"{self.where}: {self.owner}" if self.owner else self.where
        problem = f"{name!r} of <{self.tag}> is {self.text(name)!r} [rad], beyond one full turn, {TURN:.3g} [rad]"
        text = f"{place}: {problem}; if degrees were meant, write {radians}"
        warnings.warn(text, PysimWarning, stacklevel=2)

    def fail(self, problem: str) -> NoReturn:
        """Raise an error of this element."""
        raise SceneError(
            self.where, f"{self.owner}: {problem}" if self.owner else problem
        ) from None


def _shown(value: str) -> str:
    """Return a text in quotes, shortened."""
    return repr(value if len(value) <= 60 else value[:59] + "…")


def parse_numbers(text: str) -> tuple[float, ...] | None:
    """Return the finite decimal numbers of a text, separated by blanks; None if there is anything else."""
    words = text.split()
    if not all(map(_NUMBER.fullmatch, words)):
        return None
    found = tuple(map(float, words))
    return found if all(map(math.isfinite, found)) else None


def read_xml(path: Path, deepest: int = MOST_LEVELS) -> Element:
    """Return the root element of a file.

    Blank lines before the XML declaration and zero bytes after the last element are accepted.

    Raises:
        SceneError: the file cannot be read, is not well-formed, too large or deep, or has a document type.
    """
    data = read_regular(path, MOST_BYTES)
    return parse_xml(data, str(path), deepest)


def parse_xml(data: bytes, name: str, deepest: int = MOST_LEVELS) -> Element:
    """Return the root element of a text, with places in the file `name`.

    Raises:
        SceneError: the text is not well-formed, too deep, or has a document type.
    """
    blank = len(data) - len(data.lstrip(b"\r\n\t "))
    # the declaration becomes blanks, which keeps the lines
    if blank and data.startswith(b"<?xml", blank):
        end = data.find(b"?>", blank) + 2
        data = data[:blank] + b" " * (end - blank) + data[end:]
    return _Reader(name, deepest).read(data.rstrip(b"\0"))


class _Reader:
    """Builds elements from what expat reports."""

    def __init__(self, name: str, deepest: int) -> None:
        self.name, self.deepest = name, deepest
        self.open: list[Element] = []
        self.texts: list[list[str]] = []  # of the open elements, in pieces
        self.count = 0
        self.root: Element | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.CharacterDataHandler = self._text
        self.parser.buffer_text = True

    def read(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            where = f"{self.name}:{error.lineno}:{error.offset + 1}"
            raise SceneError(
                where, f"not well-formed XML: {reason}; correct the file here"
            ) from None
        except SceneError:
            raise
        except (LookupError, ValueError) as error:
            raise SceneError(self.name, f"cannot be decoded: {error}; save it as UTF-8") from None
        assert self.root is not None  # expat reports an empty text
        return self.root

    def _where(self) -> str:
        parser = self.parser
        return f"{self.name}:{parser.CurrentLineNumber}:{parser.CurrentColumnNumber + 1}"

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) == self.deepest:
            problem = f"<{tag}> lies within {self.deepest} other elements; remove some levels"
            raise SceneError(self._where(), problem)
        self.count += 1
        if self.count > MOST_ELEMENTS:
            problem = f"the file has more than {MOST_ELEMENTS} elements; split it"
            raise SceneError(self._where(), problem)
        for name, value in attributes.items():
            if len(value) > LONGEST_ATTRIBUTE:
                problem = f"{name[:40]!r} of <{tag[:40]}> has {len(value)} characters; "
                raise SceneError(
                    self._where(), f"{problem}shorten it to {LONGEST_ATTRIBUTE} or less"
                )
        owner = self.open[-1].owner if self.open else ""
        if len(self.open) == 1 or (tag in _OWNERS and "name" in attributes):
            owner = f"{tag} {attributes['name']!r}" if "name" in attributes else ""
        element = Element(tag, attributes, self._where(), owner)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _end(self, tag: str) -> None:  # noqa: ARG002, expat's signature
        self.open.pop().content = "".join(self.texts.pop())

    def _text(self, text: str) -> None:
        if self.open and not text.isspace():
            self.texts[-1].append(text)

    def _doctype(self, *names: object) -> None:
        problem = f"<!DOCTYPE {names[0]}> is rejected: it can define entities; remove it"
        raise SceneError(self._where(), problem)
