"""The code of README and documentation: every block runs.

Blocks of a page run in order, in a folder of their own in which `scenes` are those of the project. A block whose first
line is a comment with a file name is written to that file. Other Python blocks share one namespace, other TOML blocks
are held against the scene schema, and lines of shell blocks run. What installs packages is left to `.ci/run`; output
and commands that are only shown are `text` blocks.
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import pysim
from pysim.cli.app import answer
from pysim.plugins import files, registry
from pysim.scene import scene_schema

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/**/*.md")))]
BLOCK = re.compile(r"^```(\w+|\{[\w-]+\}[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w-]+\.(?:py|toml))\n")
INSTALLS = re.compile(r"pip install|pre-commit|sphinx-build|\.ci/run")
KNOWN = {"python", "toml", "sh", "text"}


def blocks(page: str) -> list[tuple[str, str]]:
    """Return language and text of every block of a page; directives are Sphinx's."""
    found = BLOCK.findall((ROOT / page).read_text("utf-8"))
    return [(language, text) for language, text in found if not language.startswith("{")]


def runnable(page: str) -> bool:
    return any(language != "text" for language, _ in blocks(page))


def run_line(line: str, folder: Path) -> None:
    """Run a line of a shell block: by the interpreter of the tests, but commands of pysim in this process.

    A page may define a plugin in Python that it then loads from a file: such commands get a process.
    """
    words = shlex.split(line, comments=True)
    if not words or INSTALLS.search(line):
        return
    assert words[0] in {"pysim", "pytest", "python"}, line
    if words[0] == "pysim" and "--plugin" not in words:
        assert answer(words[1:]) == 0, line
        return
    command = [sys.executable, *(["-m", words[0]] if words[0] != "python" else []), *words[1:]]
    environment = os.environ | {"PYTHONPATH": str(Path(pysim.__file__).parents[1])}
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"{line}\n{run.stdout}{run.stderr}"


def test_blocks_say_what_they_are() -> None:
    languages = {language for page in PAGES for language, _ in blocks(page)}
    assert languages <= KNOWN


def test_fences_without_a_language_are_not_used() -> None:
    bare = [
        page
        for page in PAGES
        if re.sub(BLOCK, "", (ROOT / page).read_text("utf-8")).count("\n```\n")
    ]
    assert bare == []


@pytest.fixture
def plugins_of_the_page_forgotten() -> Iterator[None]:
    """Registered names are those of the whole process: other tests and pages may use the ones of a page."""
    ran, kinds = dict(files._in_force), tuple(registry._kinds.values())
    before = [dict(kind.registered) for kind in kinds]
    yield
    files._in_force.clear()
    files._in_force.update(ran)
    for kind, known in zip(kinds, before, strict=True):
        for name, plugin in tuple(kind.registered.items()):
            if name not in known and not plugin.__module__.startswith("pysim."):
                del kind.registered[name]
        kind.registered.update(known)


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.usefixtures("plugins_of_the_page_forgotten")
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)])
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scenes").symlink_to(ROOT / "scenes")
    monkeypatch.chdir(tmp_path)
    schema = jsonschema.Draft202012Validator(scene_schema())
    names: dict[str, Any] = {"__name__": "page", "np": np}
    for language, text in blocks(page):
        named = FILE.match(text)
        if named is not None:
            (tmp_path / named[1]).write_text(text, "utf-8")
        elif language == "python":
            exec(compile(text, page, "exec", dont_inherit=True), names)
        if language == "toml":
            schema.validate(tomllib.loads(text))
        if language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                run_line(line, tmp_path)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", (ROOT / page).read_text("utf-8"))
        if not ((ROOT / page).parent / target).exists()
    ]
    assert broken == []


def test_the_scene_reference_has_every_table() -> None:
    page = (ROOT / "docs" / "scene-reference.md").read_text("utf-8")
    shown = set(re.findall(r"\{scene-table\} (\w+)", page))
    in_words = {"Box", "Configuration", "Ellipsoid", "Round", "Sphere", "Visual"}
    assert shown | in_words == {"Scene", *scene_schema()["$defs"]}


def test_the_scene_reference_states_a_type_for_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    reference = importlib.import_module("scene_reference")
    kinds = {
        f"{table}.{key}": kind
        for table in reference.tables()
        if "properties" in reference.tables()[table]
        for key, kind, *_ in reference.rows(table)
    }
    assert kinds["Joint.axis"] == "list of 3 numbers"
    assert [key for key, kind in kinds.items() if kind == "any value"] == []


def test_every_public_name_is_in_the_python_reference() -> None:
    reference = "".join(path.read_text("utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    modules = ("spatial", "inertia", "joints", "loops", "identify", "render")
    public = [f"pysim.{name}" for name in pysim.__all__]  # type: ignore[attr-defined]
    for module in modules:
        public += [f"pysim.{module}.{name}" for name in getattr(pysim, module).__all__]
    documented = set(re.findall(r"auto\w+:: (\S+)", reference))
    assert sorted(set(public) - documented - {"pysim.joints.BUILTIN"}) == []


FILES_OF_PYSIM = {"pysim.h", "pysim.schema.json"}
NAME = re.compile(r"\bpysim((?:\.[A-Za-z_]\w*)+)")


def exists(name: str) -> bool:
    """Whether a public name can be imported; the source decides where a package that it needs is not installed."""
    value: object = pysim
    parts = name.split(".")[1:]
    for k, part in enumerate(parts):
        module = ".".join(["pysim", *parts[: k + 1]])
        try:
            known_part = hasattr(value, part)
            value = getattr(value, part) if known_part else importlib.import_module(module)
        except (ModuleNotFoundError, pysim.SimulationError):
            file = (ROOT / module.replace(".", "/")).with_suffix(".py")
            text = file.read_text("utf-8") if file.is_file() else ""
            known = [
                re.search(rf"^(class|def) {own}\b", text, re.MULTILINE) for own in parts[k + 1 :]
            ]
            return file.is_file() and all(known)
    return True


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_pysim_on_a_page_can_be_imported(page: str) -> None:
    """Blocks run; these are the names in sentences and tables."""
    text = BLOCK.sub("", (ROOT / page).read_text("utf-8"))
    codes = re.findall(r"`([^`\n]+)`", text)
    names = {match[0] for code in codes for match in NAME.finditer(code)}
    groups = {f"pysim.{kind.decorator}s" for kind in registry._kinds.values()}
    assert sorted(name for name in names - groups - FILES_OF_PYSIM if not exists(name)) == []


def test_every_citation_of_the_code_has_its_reference() -> None:
    references = (ROOT / "docs" / "references.md").read_text("utf-8")
    entries = {
        (name, entry[2])
        for entry in re.finditer(r"^(.+) (\d{4})\n: ", references, re.MULTILINE)
        for name in re.findall(r"[A-ZÄÖØ][\wüø-]+", entry[1])
    }
    missing = set()
    for path in sorted([*ROOT.glob("cpp/**/*.?pp"), *ROOT.glob("pysim/**/*.py")]):
        text = re.sub(r"\s*\n\s*(///?|#)?\s*", " ", path.read_text("utf-8"))
        for bracket in re.findall(r"\[([A-Z][^]\[]*\b(?:18|19|20)\d\d\b[^]\[]*)\]", text):
            for part in bracket.split(";"):
                year = re.search(r"\b(?:18|19|20)\d\d\b", part)
                name = re.match(r" *(?:Van |van |as table [\d.]+ of )?([A-ZÄÖØ][\wüø-]+)", part)
                if year and name and not any(n == name[1] and y == year[0] for n, y in entries):
                    missing.add(f"{path.name}: {part.strip()}")
    assert sorted(missing) == []
