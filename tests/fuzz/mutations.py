"""Strategies that change valid files: bytes, words of a text, values of tables."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

from hypothesis import strategies as st

NUMBERS = [
    "0", "-1", "1", "nan", "inf", "-inf", "1e30", "-1e30", "1e308", "1e-308", "1e999", "0x10", "1_000", "-0.0",
    "2147483648", "9223372036854775808", "1e-12", "0.5", "3",
]  # fmt: skip
TOKEN = re.compile(r"[\w.+\-]+|\s+|.", re.DOTALL)


@st.composite
def changed_bytes(draw: Any, corpus: list[bytes]) -> bytes:
    """Return a file with some bytes changed, removed, repeated or appended."""
    mutated = bytearray(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(mutated) - 1, 0)))
        length = draw(st.sampled_from([1, 1, 1, 2, 4, 8, 64, 300]))
        kind = draw(st.sampled_from(["xor", "set", "cut", "remove", "repeat", "zeros", "ones"]))
        end = min(at + length, len(mutated))
        if kind == "xor":
            mutated[at:end] = bytes(
                byte ^ draw(st.integers(1, 255)) for byte in mutated[at:end][:8]
            )
        elif kind == "set":
            mutated[at:end] = draw(st.binary(min_size=0, max_size=8))
        elif kind == "cut":
            del mutated[at:]
        elif kind == "remove":
            del mutated[at:end]
        elif kind == "repeat":
            mutated[at:at] = mutated[at:end]
        else:
            mutated[at:end] = (b"\0" if kind == "zeros" else b"\xff") * (end - at)
    return bytes(mutated)


@st.composite
def changed_text(draw: Any, corpus: list[str], words: list[str]) -> str:
    """Return a text with some words replaced by numbers, other words of the corpus or odd ones; or parts repeated."""
    tokens = TOKEN.findall(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 4))):
        if not tokens:
            break
        at = draw(st.integers(0, len(tokens) - 1))
        kind = draw(st.sampled_from(["number", "word", "word", "text", "remove", "repeat", "swap"]))
        if kind == "number":
            at = _nearest(tokens, at, r"[-+.\d]")
            tokens[at] = draw(st.sampled_from(NUMBERS))
        elif kind == "word":
            at = _nearest(tokens, at, r"\w")
            tokens[at] = draw(st.sampled_from(words))
        elif kind == "text":
            tokens[at] = draw(st.text(max_size=6))
        elif kind == "remove":
            del tokens[at : at + draw(st.integers(1, 12))]
        elif kind == "repeat":
            tokens[at:at] = tokens[at : at + draw(st.integers(1, 40))]
        else:
            other = draw(st.integers(0, len(tokens) - 1))
            tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def _nearest(tokens: list[str], at: int, pattern: str) -> int:
    """Return the index of the first token from `at` on that begins with a pattern, cyclically."""
    for k in range(len(tokens)):
        if re.match(pattern, tokens[(at + k) % len(tokens)]):
            return (at + k) % len(tokens)
    return at


VALUES: list[Any] = [
    0, 1, -1, 2, 7, 10**30, -(10**19), 0.0, -0.0, 1e-300, 1e-12, 0.5, 1e12, 1e30, 1e300, math.inf, -math.inf, math.nan,
    True, False, "", "x", "world", "= 1 / 0", "= 10 ^ 400", "= sqrt(-1)", "30 deg", "5 mm",
    "1e3 N", "../x.stl", "\u202e",
    [], [0, 0, 0], [0, 0, 1], [1e30, 0, 0], [math.nan] * 3, [[1, 2], [3]], [[]], {}, {"x": 1}, {"signal": "x"},
    {"xyz": [0, 0, 1]},
    {"rpy": [0, 0, 100]}, [{}], ["x", "y"],
]  # fmt: skip


@st.composite
def changed_tables(draw: Any, corpus: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a document with some values replaced, removed, repeated or taken from elsewhere."""
    mutated = copy.deepcopy(draw(st.sampled_from(corpus)))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(mutated))
        if not places:
            break
        owner, key = draw(st.sampled_from(places))
        kind = draw(
            st.sampled_from(
                ["value", "value", "value", "number", "other", "remove", "rename", "repeat"]
            )
        )
        value = owner[key]
        if kind == "value":
            owner[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif kind == "number" and isinstance(value, (int, float)):
            factor = draw(st.sampled_from([-1, 0, 1e-9, 1e-3, 1e3, 1e9, 1e20]))
            owner[key] = value * factor
        elif kind == "other":
            where, name = draw(st.sampled_from([*_places(draw(st.sampled_from(corpus)))]))
            owner[key] = copy.deepcopy(where[name])
        elif kind == "rename" and isinstance(owner, dict):
            owner[draw(st.sampled_from(["x", "type", "name", "q", "axis", "a b", ""]))] = owner.pop(
                key
            )
        elif kind == "repeat" and isinstance(value, list):
            owner[key] = copy.deepcopy(value * 2)
        else:
            del owner[key]
    return mutated


def _places(value: Any) -> Any:
    """Yield every key of a document with its table or list."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


def as_toml(value: Any) -> str:
    """Return a value as TOML, with tables in one line."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{_quoted(key)} = {as_toml(inner)}" for key, inner in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    return repr(value)


def document(tables: dict[str, Any]) -> str:
    """Return a document as TOML."""
    return "".join(f"{_quoted(key)} = {as_toml(value)}\n" for key, value in tables.items())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"'
        + "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c for c in escaped)
        + '"'
    )
