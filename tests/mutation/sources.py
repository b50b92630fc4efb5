"""Mutated sources of the kernels: sampled expressions that a switch replaces at run time.

Five kinds of change: an arithmetic operator swapped, a sign flipped, a comparison changed, a constant changed, an index
off by one. Every mutant is compiled into one engine (tests/mutation/mutants.hpp).
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KERNELS = (
    "simd",
    "spatial",
    "elements",
    "dynamics",
    "collision",
    "constraints",
    "contact",
    "stepping",
)
KINDS = ("arithmetic", "sign", "comparison", "constant", "index")
OPERATORS = {  # the original, then its mutants in order of preference
    "+": ("Sum", "Difference"),
    "-": ("Difference", "Sum"),
    "*": ("Product", "Quotient", "Sum", "NegativeProduct"),
    "/": ("Quotient", "Product"),
    "<": ("Less", "AtMost", "AtLeast"),
    "<=": ("AtMost", "Less"),
    ">": ("Greater", "AtLeast", "AtMost"),
    ">=": ("AtLeast", "Greater"),
    "==": ("Equal", "Unequal", "AtMost"),
    "!=": ("Unequal", "Equal"),
}
FUSED = {"fma": ("Fma", "Fnma"), "fnma": ("Fnma", "Fma"), "fms": ("Fms", "Fma")}
# Expressions that the compiler has to know, or that are no kernel's arithmetic.
CONSTANT_CONTEXTS = {
    "template_argument_list",
    "template_parameter_list",
    "array_declarator",
    "case_statement",
    "enumerator",
    "static_assert_declaration",
    "optional_parameter_declaration",
    "field_declaration",
    "decltype",
    "sizeof_expression",
    "ERROR",
}


@dataclass(frozen=True)
class Site:
    """An expression that has a mutant."""

    kind: str
    file: str  # relative to cpp/
    line: int
    start: int  # bytes of the file
    end: int
    text: str


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _constant(node: Node) -> bool:
    """Whether an expression has to be a constant, or is outside of a function."""
    child, parent = node, node.parent
    while parent is not None:
        if parent.type in CONSTANT_CONTEXTS:
            return True
        if parent.type in {"declaration", "function_definition"} and any(
            _text(part) == "constexpr" for part in parent.children
        ):
            return True
        if (
            parent.type == "if_statement"
            and child.type == "condition_clause"
            and "constexpr" in {part.type for part in parent.children}
        ):
            return True
        if parent.type == "function_definition":
            return False
        child, parent = parent, parent.parent
    return True


def _kind(node: Node) -> str | None:
    operator = node.child_by_field_name("operator")
    symbol = "" if operator is None else _text(operator)
    if node.type == "binary_expression" and symbol in OPERATORS and _spaced(node, operator):
        return "arithmetic" if symbol in "+-*/" else "comparison"
    if node.type == "assignment_expression" and symbol in {"+=", "-="}:
        statement = node.parent is not None and node.parent.type == "expression_statement"
        return "arithmetic" if statement else None
    if node.type == "unary_expression" and symbol == "-":
        return "sign"
    if node.type == "call_expression" and _text(node.children[0]) in FUSED:
        arguments = node.child_by_field_name("arguments")
        return "sign" if arguments is not None and arguments.named_child_count == 3 else None
    if node.type == "number_literal":
        inside = node.parent is not None and node.parent.type == "subscript_argument_list"
        return None if inside else "constant"
    if node.type == "subscript_argument_list" and node.named_child_count == 1:
        return "index"
    return None


def _spaced(node: Node, operator: Node | None) -> bool:
    """Whether blanks surround the operator, as they do unless a type's * or < was taken for one."""
    assert operator is not None
    text = node.text or b""
    at = operator.start_byte - node.start_byte
    return text[at - 1 : at].isspace() and text[operator.end_byte - node.start_byte :][:1].isspace()


def _parse(source: bytes) -> Node:
    # Macros before a declaration are no C++ to the parser: blanks of the same length are.
    for macro in (b"PYSIM_INLINE", b"[[maybe_unused]]"):
        source = source.replace(macro, b" " * len(macro))
    return Parser(Language(tree_sitter_cpp.language())).parse(source).root_node


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def find_sites(sources: Path = ROOT / "cpp") -> list[Site]:
    """Return every expression of the kernels that has a mutant."""
    sites = []
    for folder in KERNELS:
        for path in sorted((sources / folder).glob("**/*.hpp")):
            source = path.read_bytes()
            lines = source.decode().splitlines()
            for node in _nodes(_parse(source)):
                kind = _kind(node)
                line = node.start_point[0] + 1
                if kind is None or "#" in _text(node) or _constant(node):
                    continue
                if (
                    "constexpr" in lines[line - 1]
                ):  # `if constexpr` between branches of the preprocessor
                    continue
                if (
                    source[node.start_byte - 1 : node.start_byte] == b">"
                ):  # f<S>(x), taken for a comparison
                    continue
                file = path.relative_to(sources).as_posix()
                sites.append(Site(kind, file, line, node.start_byte, node.end_byte, _text(node)))
    return sites


def sample_sites(count: int, seed: int) -> list[Site]:
    """Return `count` sites, the kinds in turn."""
    rng = random.Random(seed)
    sites = find_sites()
    of_kinds = [
        rng.sample([site for site in sites if site.kind == kind], count // len(KINDS))
        for kind in KINDS
    ]
    return [site for turn in zip(*of_kinds, strict=True) for site in turn]


def _replacement(node: Node, k: int, parts: dict[int, str]) -> str:
    """Return the text of an expression with mutant `k`; `parts` are the rewritten texts of its children."""
    if node.type == "number_literal":
        value = _text(node)
        other = str(int(value) + 1) if value.isdigit() else f"({value} == 0 ? 1.0 : 2 * {value})"
        return f"(pysim::mutation::chosen({k}) ? {other} : {value})"
    if node.type == "subscript_argument_list":
        return f"[({parts[1]}) + int(pysim::mutation::chosen({k}))]"
    if node.type == "call_expression":
        original, other = FUSED[_text(node.children[0])]
        return f"pysim::mutation::mutate<{k}, pysim::mutation::{original}, pysim::mutation::{other}>{parts[1]}"
    if node.type == "unary_expression":
        return f"pysim::mutation::mutate<{k}, pysim::mutation::Negative, pysim::mutation::Identity>({parts[1]})"
    symbol = _text(node.children[1])
    if node.type == "assignment_expression":
        return f"pysim::mutation::accumulate<{k}, {symbol[0]}1>({parts[0]}, {parts[2]})"
    names = ", ".join(f"pysim::mutation::{name}" for name in OPERATORS[symbol])
    return f"pysim::mutation::mutate<{k}, {names}>({parts[0]}, {parts[2]})"


def _rewrite(node: Node, source: bytes, mutants: dict[tuple[int, int, str], int]) -> str:
    """Return the text of a node in which the mutants are switched."""
    parts, pieces, at = {}, [], node.start_byte
    for i, child in enumerate(node.children):
        pieces.append(source[at : child.start_byte].decode())
        parts[i] = _rewrite(child, source, mutants)
        pieces.append(parts[i])
        at = child.end_byte
    pieces.append(source[at : node.end_byte].decode())
    k = mutants.get((node.start_byte, node.end_byte, _kind(node) or ""))
    return "".join(pieces) if k is None else _replacement(node, k, parts)


def write_sources(sites: list[Site], target: Path) -> None:
    """Write a copy of the C++ sources into `target` in which site k is mutant k."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "cpp", target / "cpp")
    for name in ("CMakeLists.txt",):
        shutil.copy(ROOT / name, target)
    for file in {site.file for site in sites}:
        source = (ROOT / "cpp" / file).read_bytes()
        mutants = {
            (site.start, site.end, site.kind): k
            for k, site in enumerate(sites)
            if site.file == file
        }
        path = target / "cpp" / file
        path.write_text(_rewrite(_parse(source), source, mutants), "utf-8")
    shutil.copy(Path(__file__).with_name("mutants.hpp"), target / "cpp" / "simd")
    first = target / "cpp" / "simd" / "compiler.hpp"
    first.write_text(
        first.read_text("utf-8").replace(
            "#pragma once\n", '#pragma once\n\n#include "simd/mutants.hpp"\n', 1
        ),
        "utf-8",
    )
    switch = target / "cpp" / "engine" / "dispatch.cpp"
    switch.write_text(
        switch.read_text("utf-8")
        + f"""
extern "C" {{
__attribute__((visibility("default"))) volatile int pysim_mutant = -1;
__attribute__((visibility("default"))) unsigned char pysim_reached[{len(sites)}];
}}
""",
        "utf-8",
    )
