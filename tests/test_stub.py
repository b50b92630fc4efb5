"""The engine's type stub, against the stub that pybind11-stubgen generates from the compiled engine.

pysim/_engine.pyi is written by hand, because its types are narrower than those of the bindings. Both must have the same
functions, classes and members, and each function the same arguments in the same order with the same defaults left out.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pysim

WRITTEN = Path(pysim.__file__).with_name("_engine.pyi")
Signatures = dict[str, "tuple[str, ...] | None"]


def arguments(function: ast.FunctionDef) -> tuple[str, ...] | None:
    """Return the arguments as text, or None if they are passed through."""
    found = function.args
    if found.vararg is not None or found.kwarg is not None:
        return None
    places = [f"arg{k}" for k in range(len(found.posonlyargs))]  # bound without names
    names = [*places, *(argument.arg for argument in found.args)]
    required = len(names) - len(found.defaults)
    names = [name + "=" * (i >= required) for i, name in enumerate(names)]
    keywords = [
        argument.arg + "=" * (default is not None)
        for argument, default in zip(found.kwonlyargs, found.kw_defaults, strict=True)
    ]
    return (*names, *(["*", *keywords] if keywords else []))


def public(tree: ast.Module) -> Signatures:
    """Return the functions, classes, methods and properties of a stub by their dotted names, inherited ones too."""
    signatures: Signatures = {}
    members: dict[str, Signatures] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            signatures[node.name] = arguments(node)
        elif isinstance(node, ast.ClassDef):
            of_class = members[node.name] = {
                name: signature
                for base in node.bases
                if isinstance(base, ast.Name)
                for name, signature in members.get(base.id, {}).items()
            }
            is_record = "_Record" in map(ast.unparse, node.bases)
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    of_class[member.name] = arguments(member)
                elif isinstance(member, ast.AnnAssign) and (
                    is_record or "Final[" in ast.unparse(member)
                ):
                    of_class[ast.unparse(member.target)] = ("self",)  # a property
            if not node.name.startswith("_"):
                signatures[node.name] = None
                signatures |= {
                    f"{node.name}.{name}": signature for name, signature in of_class.items()
                }
    return signatures


def names(stub: Signatures) -> set[str]:
    """Return the public names of a stub."""
    return {name for name in stub if not name.rpartition(".")[2].startswith("_")}


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Signatures, Signatures]:
    """The generated stub and the written one."""
    folder = tmp_path_factory.mktemp("stubs")
    command = [sys.executable, "-m", "pybind11_stubgen", "pysim._engine", "-o", str(folder)]
    subprocess.run(
        command, check=True, capture_output=True, cwd=Path(pysim.__file__).parents[1], timeout=120
    )
    generated = (folder / "pysim" / "_engine.pyi").read_text("utf-8")
    return public(ast.parse(generated)), public(ast.parse(WRITTEN.read_text("utf-8")))


def test_the_stub_has_every_name_of_the_engine_and_no_other(
    stubs: tuple[Signatures, Signatures],
) -> None:
    generated, written = stubs
    by_rule = {name for name in generated if f"{name.partition('.')[0]}.__getattr__" in written}
    missing = names(generated) - names(written) - by_rule
    assert sorted(missing) == [], "add these to pysim/_engine.pyi"
    assert sorted(names(written) - names(generated)) == [], "remove these from pysim/_engine.pyi"


def test_the_stub_has_the_arguments_of_the_engine(stubs: tuple[Signatures, Signatures]) -> None:
    generated, written = stubs
    different = {
        name: (generated[name], written[name])
        for name in names(generated) & names(written)
        if generated[name] is not None and generated[name] != written[name]
    }
    assert different == {}
