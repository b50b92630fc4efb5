"""Values of a TOML file, and the line and column of each key and value.

tomllib reads the values; toml-rs reports positions in bytes, which are converted to characters here.
"""

from __future__ import annotations

import io
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toml_rs

from pysim.errors import SceneError
from pysim.files.regular import read_regular
from pysim.scene.toml.syntax import syntax_error, toml_rs_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Step = str | int
    Steps = tuple[Step, ...]

_MOST_LEVELS = 50  # levels of nested tables and lists
INCLUDED = "\n# included: "  # before the name and text of each file that a scene includes
_TOO_DEEP = f"tables are nested more than {_MOST_LEVELS} deep; flatten them"
_INTEGER_BOUND = 2**63  # beyond the integers that TOML allows
MOST_BYTES = 1 << 27  # bytes of a file
MOST_TABLES = 10_000  # of a list, such as [[body]]
LONGEST_TEXT = 4096  # characters of a key or value
_BARE = re.compile(r"[A-Za-z0-9_/-]+")
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*([A-Za-z][\w.-]*)[ \t]*\]\][ \t]*(?:#.*)?$", re.MULTILINE)
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""  # of a dotted key
_DEEP_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_LEVELS}}}")
_DEEP_OR_TEXT = re.compile(  # texts and comments may hold what looks like a key
    rf"""\"{{3}}(?:[^\\]|\\.)*?\"{{3}}|'{{3}}.*?'{{3}}|\#[^\n]*|(?P<key>{_DEEP_KEY.pattern})|{_PART}""",
    re.DOTALL,
)


@dataclass(frozen=True)
class Source:
    """Values of a TOML file, with those of the files that it includes, and their positions.

    `overridden` maps the paths changed on the command line to options; `included` maps the paths of values from other
    files to the file and the path there.
    """

    name: str
    text: str
    values: dict[str, Any]
    nodes: Mapping[str, Any]
    overridden: dict[Steps, str] = field(default_factory=dict)
    included: Mapping[Steps, tuple[Source, Steps]] = field(default_factory=dict)
    label: str = ""  # place of all values, for tables that are in no file
    _positions: dict[tuple[Steps, bool], tuple[int, int]] = field(default_factory=dict, repr=False)

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines of the text."""
        return self.text.split("\n")

    def where(self, path: Iterable[Step], *, of_key: bool = False) -> str:
        """Return `file:line:column: key`, or `--set key` for a value from the command line."""
        steps = self.steps(path)
        for length in range(len(steps), 0, -1):
            if steps[:length] in self.overridden:
                rest = key_text(steps[length:])
                separator = "." if rest and not rest.startswith("[") else ""
                return f"{self.overridden[steps[:length]]}{separator}{rest}"
        for path_set, key_set in self.overridden.items():
            if path_set[: len(steps)] == steps != () and not self.is_in_file(steps):
                return key_set
        source, inside = self.origin(steps)
        key = key_text(inside)
        if source.label:
            return source.label + (f": {key}" if key else "")
        line, column = source.position_there(inside, of_key=of_key)
        return f"{source.name}:{line}:{column}" + (f": {key}" if key else "")

    def where_within(self, path: Iterable[Step], offset: int) -> str:
        """Return `file:line:column: key` of a character in a text, or of the start of a text with several lines."""
        steps = self.steps(path)
        where, (source, inside) = self.where(steps), self.origin(steps)
        line, column = source.position_there(inside)
        begin = f"{source.name}:{line}:{column}"
        opened = source.lines[line - 1][column - 1 : column + 2]
        if not where.startswith(begin) or opened[:1] not in {'"', "'"} or opened[1:2] == opened[:1]:
            return where
        return f"{source.name}:{line}:{column + 1 + offset}{where.removeprefix(begin)}"

    def is_in_file(self, steps: Steps) -> bool:
        """Return whether the file, or one that it includes, has a key or item."""
        source, inside = self.origin(steps)
        node: Any = source.nodes
        for step in inside:
            node = _below(node, step)
        return node is not None

    def origin(self, steps: Steps) -> tuple[Source, Steps]:
        """Return the file that gives a key or item, and the path in that file."""
        for length in range(len(steps), 0, -1) if self.included else ():
            found = self.included.get(steps[:length])
            if found is not None:
                return found[0], (*found[1], *steps[length:])
        return self, steps

    def folder(self, path: Iterable[Step]) -> Path:
        """Return the folder of the file that gives a key or item, to which the names of files there are relative."""
        return Path(self.origin(self.steps(path))[0].name).parent

    @cached_property
    def files(self) -> list[str]:
        """Return the names of the file and of those that it includes."""
        return list(
            dict.fromkeys([self.name, *(found.name for found, _ in self.included.values())])
        )

    @cached_property
    def full_text(self) -> str:
        """Return the text of the file, followed by those of the files that it includes."""
        others = {found.name: found.text for found, _ in self.included.values()}
        return self.text + "".join(f"{INCLUDED}{name}\n{text}" for name, text in others.items())

    def raw(self, path: Iterable[Step]) -> str:
        """Return a value of this file as it is written, "" if it is not written in one piece."""
        node: Any = self.nodes
        for step in self.steps(path):
            node = _below(node, step)
        raw = node.get("value_raw") if _is_located(node) else ""
        return raw if isinstance(raw, str) else ""

    def position(self, path: Iterable[Step], *, of_key: bool = False) -> tuple[int, int, int]:
        """Return file number, line and column of a value (or its key), or of the table it is missing from."""
        source, inside = self.origin(self.steps(path))
        return self.files.index(source.name), *source.position_there(inside, of_key=of_key)

    def position_there(self, steps: Steps, *, of_key: bool = False) -> tuple[int, int]:
        """Return line and column of a value of this file (or its key), or of the table it is missing from."""
        if (steps, of_key) not in self._positions:  # which sources of one file share
            self._positions[steps, of_key] = self._position(steps, of_key=of_key)
        return self._positions[steps, of_key]

    def _position(self, steps: Steps, *, of_key: bool) -> tuple[int, int]:
        kinds = ("key", "value") if of_key else ("value", "key")
        node: Any = self.nodes
        position = (1, 1)
        header: list[str] = []
        for step in steps:
            node = _below(node, step)
            if node is None:
                break
            header += [step] if isinstance(step, str) else []
            position = (
                self._of_node(node, kinds)
                or self._of_header(header, position[0])
                or self._of_node(_first_inside(node), ("key",))
                or position
            )
        return position

    def steps(self, path: Iterable[Step]) -> Steps:
        """Return the path as in the file, where one value may mean a list of one."""
        in_file: list[Step] = []
        value: Any = self.values
        for step in path:
            if isinstance(step, int) and not isinstance(value, list):
                continue
            in_file.append(step)
            if isinstance(value, dict):
                value = value.get(str(step))
            elif isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                value = None
        return tuple(in_file)

    def _of_node(self, node: Any, kinds: Iterable[str]) -> tuple[int, int] | None:  # noqa: ANN401
        if not _is_located(node):
            return None
        for kind in kinds:
            if f"{kind}_line" in node:
                line, column = _first(node[f"{kind}_line"]), _first(node[f"{kind}_col"])
                text = self.lines[line - 1]
                if text.isascii():
                    return line, min(column, len(text) + 1)
                before = text.encode()[: column - 1]
                return line, len(before.decode(errors="ignore")) + 1
        return None

    def _of_header(self, header: list[str], first: int) -> tuple[int, int] | None:
        """Find `[table]` at or below a line; toml-rs does not report its place."""
        dotted = r"\s*\.\s*".join(rf"[\"']?{re.escape(word)}[\"']?" for word in header)
        pattern = re.compile(rf"[ \t]*(\[\s*{dotted}\s*\])")
        for number, line in enumerate(self.lines[first - 1 :], first):
            match = pattern.match(line)
            if match is not None:
                return number, match.start(1) + 1
        return None


def read_source(path: Path) -> Source:
    """Read a TOML file.

    Raises:
        SceneError: it cannot be read, is not UTF-8 or not TOML.
    """
    name = str(path)
    data = read_regular(path, MOST_BYTES)
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SceneError(f"{name}:{line}", "is not UTF-8 text; save it as UTF-8") from None
    return source_of(name, text)


def source_of(name: str, text: str, label: str = "") -> Source:
    """Return the values of a text with their positions; with a label, messages have that instead.

    Raises:
        SceneError: it is not TOML.
    """
    deep = _deep_key(text)
    if deep is not None:
        raise SceneError(f"{name}:{text.count(chr(10), 0, deep) + 1}", _TOO_DEEP)
    _check_tables(name, text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise syntax_error(name, text, error) from None
    except RecursionError:
        raise SceneError(name, _TOO_DEEP) from None
    except ValueError:  # Python converts no text of thousands of digits
        raise SceneError(*_long_integer(name, text)) from None
    if _is_deep(values):
        raise SceneError(name, _TOO_DEEP)
    try:
        located = toml_rs.load_with_metadata(io.BytesIO(text.encode()), toml_version="1.0.0")
    except toml_rs.TOMLDecodeError as error:
        raise toml_rs_message(name, str(error)) from None
    source = Source(name, text, values, located.meta["nodes"], label=label)
    for steps, of_key, problem in _excessive(values):
        raise SceneError(source.where(steps, of_key=of_key)[: 2 * LONGEST_TEXT], problem)
    return source


def check_size(value: object, where: str) -> None:
    """Reject a value from the command line or Python that no scene file could hold.

    Raises:
        SceneError: an integer exceeds 64 bits, or a text is too long.
    """
    for _, _, problem in _excessive(value):
        raise SceneError(where, problem)


def key_text(steps: Iterable[Step]) -> str:
    """Return a path as users write it: body[0].shape.density."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            word = step if _BARE.fullmatch(step) else f'"{step}"'
            text += f".{word}" if text else word
    return text


def _below(node: Any, step: Step) -> Any:  # noqa: ANN401, whatever TOML can hold
    """Return the position that toml-rs reports for a key or item, None if there is none."""
    inner = node["value"] if _is_located(node) else node
    if isinstance(inner, dict):
        return inner.get(str(step))
    if isinstance(inner, list) and isinstance(step, int) and step < len(inner):
        return inner[step]
    return None


def _first_inside(node: Any) -> Any:  # noqa: ANN401, any TOML value
    """Return the first value in a table that exists by dotted keys only."""
    while isinstance(node, dict) and node and not _is_located(node):
        node = next(iter(node.values()))
    return node


def _is_located(node: Any) -> bool:  # noqa: ANN401, whatever TOML can hold
    """Return whether a node is a value with a position, unlike tables."""
    if not isinstance(node, dict):
        return False
    return isinstance(node.get("value_raw"), str) or isinstance(node.get("key_line"), int)


def _first(number: int | tuple[int, int]) -> int:
    return number if isinstance(number, int) else number[0]


def _excessive(values: object) -> Iterator[tuple[Steps, bool, str]]:
    """Yield the path of every integer beyond 64 bits and every long text, whether it is the key, and the problem."""
    layer: list[tuple[Steps, object]] = [((), values)]
    for steps, value in layer:  # grows during the iteration
        if isinstance(value, dict):
            for name in value:
                if len(str(name)) > LONGEST_TEXT:
                    yield steps, True, _too_long(str(name), "key")
            layer += [((*steps, name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            layer += [((*steps, k), inner) for k, inner in enumerate(value)]
        elif isinstance(value, str) and len(value) > LONGEST_TEXT:
            yield steps, False, _too_long(value, "text")
        elif isinstance(value, int) and not -_INTEGER_BOUND <= value < _INTEGER_BOUND:
            yield (
                steps,
                False,
                f"integer {_scientific(value)} exceeds 64 bits; write it as a decimal fraction",
            )


def _scientific(value: int) -> str:
    """Return an integer with three digits, also beyond the range of float."""
    digits = str(abs(value))
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:3]}e{len(digits) - 1}"


def _too_long(text: str, kind: str) -> str:
    return f"a {kind} has {len(text)} characters, at most {LONGEST_TEXT} are allowed; shorten {text[:20]}…"


def _long_integer(name: str, text: str) -> tuple[str, str]:
    """Return the place and problem of the first integer that Python refuses to convert."""
    digits = sys.get_int_max_str_digits()
    found = re.search(rf"[0-9_]{{{digits},}}", text)
    at = found.start() if found else 0
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return (
        f"{name}:{line}:{column}",
        f"integer of more than {digits} digits exceeds 64 bits; shorten it",
    )


def _check_tables(name: str, text: str) -> None:
    """Reject a list of too many tables before they are read.

    Raises:
        SceneError: it has more than `MOST_TABLES`, at the first beyond.
    """
    if text.count("[[") <= MOST_TABLES:
        return
    counts: Counter[str] = Counter()
    beyond: dict[str, int] = {}
    for match in _HEADER.finditer(text):
        counts[match[1]] += 1
        if counts[match[1]] > MOST_TABLES:
            beyond.setdefault(match[1], match.start(1))
    for table, at in beyond.items():
        line = text.count("\n", 0, at) + 1
        problem = f"must have at most {MOST_TABLES} tables, got {counts[table]}; leave some out"
        raise SceneError(f"{name}:{line}: {table}", problem)


def _deep_key(text: str) -> int | None:
    """Return the place of the first key of many parts, which takes tomllib quadratic time; None without one."""
    if _DEEP_KEY.search(text) is None:
        return None
    found = next((match for match in _DEEP_OR_TEXT.finditer(text) if match["key"]), None)
    return None if found is None else found.start()


def _is_deep(values: object) -> bool:
    """Return whether tables are nested so deep that toml-rs would crash."""
    layer: list[Any] = [values]
    for _ in range(_MOST_LEVELS):
        inner = [i.values() if isinstance(i, dict) else i for i in layer]
        layer = [i for items in inner for i in items if isinstance(i, (dict, list))]
        if not layer:
            return False
    return True
