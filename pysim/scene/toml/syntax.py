"""Errors of text that is not TOML: place, reason and remedy, from the messages of toml-rs and tomllib."""

from __future__ import annotations

import re
import tomllib

import toml_rs

from pysim.errors import SceneError

_LOCATED = re.compile(r"TOML parse error at line (\d+), column (\d+)")
_PLACED = re.compile(r" \(at line (\d+), column (\d+)\)$")
_SAFE_ON_A_LINE = 300  # opening brackets and dots that toml-rs parses safely

# By parts of the messages of toml-rs and of tomllib; the first pair that matches both.
_REMEDIES = (
    ("string values must be quoted", "Unclosed array", "put a comma between the items of a list"),
    (
        "string values must be quoted",
        "Expected newline",
        "write one key = value on a line; a comment begins with #",
    ),
    (
        "string values must be quoted",
        "",
        'put text in quotes, "…"; truth values are true and false',
    ),
    ("duplicate key", "", "write a key once, and the keys of one table under one [heading]"),
    ("invalid mantissa", "", "write digits on both sides of the point, as in 0.5"),
    ("invalid fraction", "", "write digits on both sides of the point, as in 1.0"),
    ("invalid float", "", 'put a number with its unit in quotes, as in "30 deg"'),
    ("unclosed array table", "", "write [[name]]"),
    ("unclosed table", "", "write [name]"),
    (
        "unclosed inline table",
        "",
        "close { … } on the line on which it opens; a long one can be a [table] of its own",
    ),
    ("newlines are unsupported", "", "close { … } on the line on which it opens"),
    ("trailing commas are not", "", "leave out the last comma in { … }"),
    (
        "missing comma between array",
        "",
        "put a comma between the items of a list, and ] at its end",
    ),
    ("extra comma in array", "", "put a single comma between the items of a list"),
    ("extra assignment between", "", "put a comma between the keys in { … }"),
    ("key with no value", "", "write key = value; put a key of two words in quotes"),
    ("invalid unquoted key", "", "put a key of other letters in quotes"),
    (
        "missing escaped value",
        "",
        "write a backslash twice, or put the text in single quotes, for example a path",
    ),
    ("invalid basic string", "", 'close the text by " on its line'),
    ("invalid literal string", "", "close the text by ' on its line"),
    ("invalid boolean", "", "write true or false"),
    ("unexpected leading zero", "", "leave out the zeros in front"),
    (
        "unexpected key or value",
        "",
        "write one key = value on a line; numbers have a decimal point, text is in quotes, lists in [ ]",
    ),
)


def syntax_error(name: str, text: str, error: tomllib.TOMLDecodeError) -> SceneError:
    """Return the error of the first place that is not TOML: toml-rs has better messages, tomllib accepts any text."""
    message = str(error)
    match = _PLACED.search(message)
    lines = text.split("\n")
    line, column = (int(match[1]), int(match[2])) if match else (len(lines), len(lines[-1]) + 1)
    message = _PLACED.sub("", message)
    if max(sum(map(written.count, "[{.")) for written in lines[:line]) < _SAFE_ON_A_LINE:
        try:
            toml_rs.loads("\n".join(lines[:line]), toml_version="1.0.0")
        except toml_rs.TOMLDecodeError as better:
            return toml_rs_message(name, str(better), message)
    return SceneError(f"{name}:{line}:{column}", f"not TOML: {_lowered(message)}")


def toml_rs_message(name: str, text: str, other: str = "") -> SceneError:
    """Join toml-rs's lines into one with a remedy; `other` is tomllib's message."""
    match = _LOCATED.search(text)
    where = f"{name}:{match[1]}:{match[2]}" if match else name
    reasons = [
        line for line in text.splitlines()[1:] if line and not re.match(r"\s*\d*\s*\|", line)
    ]
    problem = _lowered("; ".join(reasons) or text).removesuffix(", expected nothing")
    remedy = next((r for own, its, r in _REMEDIES if own in problem and its in other), None)
    return SceneError(where, f"not TOML: {problem}" + (f"; {remedy}" if remedy else ""))


def _lowered(text: str) -> str:
    return (text[:1].lower() + text[1:]).rstrip(".")
