"""Programs in C and C++ that are linked with the engine's objects of the newest build, without Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def objects(*folders: str) -> list[str]:
    """Objects of the newest build, of units in folders of cpp."""
    builds = [
        path
        for path in ROOT.glob("build/*/cpp/CMakeFiles/engine_core.dir")
        if "sanitize" not in path.parents[2].name and any(path.glob("engine/worlds.cpp.o"))
    ]
    if not builds:
        return []
    core = max(builds, key=lambda path: (path / "engine/worlds.cpp.o").stat().st_mtime)
    roots = (core, *core.parent.glob("kernels_*.dir"), core.parent / "pysim_fmu.dir")
    found = [
        path
        for root in roots
        for folder in folders
        for path in sorted((root / folder).glob("**/*.cpp.o"))
        if (ROOT / "cpp" / path.relative_to(root)).with_suffix("").is_file()  # others are left over
    ]
    return [str(path) for path in found]


def linked(source: str, program: Path, *folders: str) -> Path:
    """The program of a source under tests, linked with units in folders of cpp; none if it loads an engine itself.

    The test is skipped without a compiler or build.
    """
    compiler, built = os.environ.get("CXX") or shutil.which("g++"), objects(*folders)
    if compiler is None or (folders and not built):
        pytest.skip("needs a compiler and a build tree")
    language = ["-x", "c", "-std=c99"] if source.endswith(".c") else ["-std=c++17"]
    unit = program.with_suffix(".o")
    flags = ["-Wall", "-Wextra", "-Wno-psabi", f"-I{ROOT / 'cpp'}"]
    for command in (
        [compiler, *language, *flags, "-c", str(ROOT / "tests" / source), "-o", str(unit)],
        [compiler, str(unit), *built, "-pthread", "-ldl", "-o", str(program)],
    ):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
    return program
