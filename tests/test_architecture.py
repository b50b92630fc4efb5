"""The architecture, held by tests: layers, what a kernel may include, what an import may cost.

The oracle is the text of the sources, the symbol tables of the build and a fresh interpreter.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON_LAYERS = [  # one layer a name: a module uses its own package and those above it in this list
    {name}
    for name in (
        "_source_tree",
        "child_process",
        "errors",
        "habits",
        "files",
        "markup",
        "typing",
        "spatial",
        "inertia",
        "tracing",
        "plugins",
        "joints",
        "elements",
        "forces",
        "controllers",
        "sensors",
        "actuators",
        "events",
        "integrators",
        "shapes",
        "meshes",
        "scene",
        "mechanism",
        "contact",
        "algorithms",
        "loops",
        "trajectory",
        "worlds",
        "diagnosis",
        "scene_files",
        "simulation",
        "rollouts",
        "analysis",
        "jax",
        "torch",
        "motions",
        "identify",
        "sweeps",
        "optimisation",
        "render",
        "environments",
        "gym",
        "fmu",
        "cli",
    )
]
CPP_LAYERS = [
    {"simd"},
    {"spatial"},
    {"tree"},
    {"elements"},
    {"dynamics"},
    {"collision"},
    {"constraints"},
    {"contact"},
    {"stepping"},
    {"engine"},
    {"library"},
    {"fmu"},
    {"bindings"},
]
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
HEAVY = (
    "vtk",
    "vtkmodules",
    "pyvista",
    "trimesh",
    "matplotlib",
    "pydantic",
    "h5py",
    "rich",
    "scipy",
    "tomlkit",
)
OBJECTS = [  # but for those of sanitizers, which name the types of functions
    path
    for path in sorted((ROOT / "build").glob("**/kernels_*.dir/**/*.cpp.o"))
    if "sanitize" not in path.relative_to(ROOT / "build").parts[0]
]


def python_imports(file: Path) -> set[str]:
    """Modules of pysim that a file names, by the first word after `pysim.`."""
    packages: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "pysim":
            names = [f"pysim.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        packages |= {name.split(".")[1] for name in names if name.startswith("pysim.")}
    return packages


def cpp_includes(file: Path) -> set[str]:
    """Folders whose headers a file includes."""
    return set(re.findall(r'^#include "(\w+)/', file.read_text("utf-8"), re.MULTILINE))


def upward(files: dict[Path, str], layers: list[set[str]], uses: dict[Path, set[str]]) -> list[str]:
    rank = {name: k for k, names in enumerate(layers) for name in names}
    return [
        f"{file.relative_to(ROOT)} uses {other}"
        for file, layer in files.items()
        for other in sorted(uses[file])
        if other in rank and rank[other] > rank[layer]
    ]


def test_python_layers_use_only_layers_below() -> None:
    package = ROOT / "pysim"
    files = {
        file: file.relative_to(package).parts[0].removesuffix(".py")
        for file in sorted(package.glob("**/*.py"))
        if file.name != "__main__.py" and file != package / "__init__.py"
    }
    known = set().union(*PYTHON_LAYERS)
    assert set(files.values()) - known == set()
    assert upward(files, PYTHON_LAYERS, {file: python_imports(file) for file in files}) == []


def imported_modules(file: Path, modules: set[str]) -> set[str]:
    """Modules of pysim that a file imports anywhere, also within functions, but for types alone."""
    imported: set[str] = set()
    pending: list[ast.AST] = [ast.parse(file.read_text("utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            pending += node.orelse
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            imported |= {name if name in modules else str(node.module) for name in names}
        else:
            pending += ast.iter_child_nodes(node)
    return imported & modules


@pytest.mark.parametrize(
    "folder",
    [
        "trajectory",
        "worlds",
        "diagnosis",
        "scene_files",
        "simulation",
        "rollouts",
        "analysis",
        "cli",
        "elements/graph",
    ],
)
def test_no_modules_import_each_other_in_a_circle(folder: str) -> None:
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in (ROOT / "pysim" / folder).glob("**/*.py")
    }
    uses = {name: imported_modules(file, set(files)) - {name} for name, file in files.items()}
    assert len(files) > 4
    TopologicalSorter(uses).prepare()  # CycleError names the modules


def test_cpp_layers_use_only_layers_below() -> None:
    sources = ROOT / "cpp"
    files = {
        file: file.relative_to(sources).parts[0]
        for file in sorted(sources.glob("**/*"))
        if file.suffix in {".hpp", ".cpp"}
    }
    known = set().union(*CPP_LAYERS)
    assert set(files.values()) - known == set()
    assert upward(files, CPP_LAYERS, {file: cpp_includes(file) for file in files}) == []


def test_kernel_headers_include_no_library() -> None:
    allowed = {layer: {"cstddef"} for layer in KERNELS}
    allowed["simd"] = {"cstddef", "immintrin.h", "arm_neon.h"}
    system = re.compile(r"^#include <([^>]+)>", re.MULTILINE)
    excess = [
        f"{file.relative_to(ROOT)} includes <{header}>"
        for layer in KERNELS
        for file in sorted((ROOT / "cpp" / layer).glob("**/*.hpp"))
        for header in system.findall(file.read_text("utf-8"))
        if header not in allowed[layer]
    ]
    assert excess == []


@pytest.mark.parametrize(
    ("folder", "pattern", "place"),
    [
        ("cpp", r"__builtin_|__attribute__|\[\[gnu::", "simd/compiler.hpp"),
        (
            "cpp",
            r"\b(_mm(256|512)?_|__m(128|256|512)|v\w+q_[fsu]\d+\()|<(immintrin|arm_neon)\.h>|__(asm|AVX|SSE|FMA)",
            "simd/instructions.hpp",
        ),
        (
            "cpp",
            r"<(unistd|pthread|fcntl|dlfcn|sched|signal|windows)\.h>|<sys/|\b_WIN32\b",
            "tree/operating_system.cpp",
        ),
        (
            "pysim",
            r"\b(import|from) (fcntl|msvcrt|posix|termios)\b|\bos\.(pread|pwrite|fork)\b",
            "files/descriptors.py",
        ),
    ],
)
def test_one_file_calls_a_compiler_a_processor_or_a_system(
    folder: str, pattern: str, place: str
) -> None:
    found = {
        str(file.relative_to(ROOT / folder))
        for suffix in ("py", "hpp", "cpp")
        for file in (ROOT / folder).glob(f"**/*.{suffix}")
        if re.search(pattern, file.read_text("utf-8"))
    }
    assert found == {place}


def test_kernel_headers_do_not_reach_the_owning_model() -> None:
    reach = [
        str(file.relative_to(ROOT))
        for layer in KERNELS
        for file in sorted((ROOT / "cpp" / layer).glob("**/*.hpp"))
        if '"tree/model.hpp"' in file.read_text("utf-8")
    ]
    assert reach == []


def test_python_is_known_to_the_bindings_alone() -> None:
    found = [
        f"{file.relative_to(ROOT)} includes {header}"
        for file in sorted((ROOT / "cpp").glob("**/*.?pp"))
        if "bindings" not in file.parts
        for header in re.findall(
            r"^#include <(pybind11\S*|Python\.h|numpy\S*)>", file.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert found == []


def test_bindings_are_thin() -> None:
    sizes = {
        file.name: len(file.read_text("utf-8").splitlines())
        for file in (ROOT / "cpp/bindings").glob("*.?pp")
    }
    assert max(sizes.values()) <= 400
    assert sum(sizes.values()) < 5065


def test_class_templates_of_the_bindings_hold_what_python_gives() -> None:
    """A class template without arrays, objects or arguments of Python is the engine's."""
    template = re.compile(
        r"^template <[^>]*>\n(?:class|struct) (\w+).*?^};", re.MULTILINE | re.DOTALL
    )
    found = [
        f"{file.name}: {own[1]}"
        for file in sorted((ROOT / "cpp/bindings").glob("*.?pp"))
        for own in template.finditer(file.read_text("utf-8"))
        if not re.search(r"\bpy::|\bPlainArray\b|\bNumbers\b", own[0])
    ]
    assert found == []


@pytest.mark.skipif(not OBJECTS or not shutil.which("nm"), reason="needs a build tree and nm")
def test_no_weak_symbol_is_shared_between_instruction_sets() -> None:
    builds: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in OBJECTS:
        build = path.relative_to(ROOT / "build").parts[0]
        isa = next(part for part in path.parts if part.startswith("kernels_"))
        for name in weak_symbols(path):
            builds[build][name].add(isa)
    for symbols in builds.values():
        assert {name for name, isas in symbols.items() if len(isas) > 1} == set()


@pytest.mark.skipif(not OBJECTS or not shutil.which("nm"), reason="needs a build tree and nm")
def test_no_kernel_unit_runs_code_when_the_engine_loads() -> None:
    """It would have instructions that the processor may lack, before anything can check that."""
    starts = [
        str(path.relative_to(ROOT))
        for path in OBJECTS
        if "_GLOBAL__sub_I"
        in subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    ]
    assert starts == []


def weak_symbols(path: Path) -> set[str]:
    lines = subprocess.run(["nm", path], check=True, capture_output=True, text=True).stdout
    words = [line.split() for line in lines.splitlines()]
    names = {word[-1] for word in words if word[-2] in "WVu"}  # u: one for the whole process
    return {
        name for name in names if not name.startswith("DW.ref.")
    }  # addresses of library functions


def fresh_python(code: str, folder: Path) -> str:
    """Run code in an interpreter of its own, away from the sources, and return what it prints."""
    environment = os.environ | {"PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    return done.stdout


def test_importing_pysim_loads_nothing_heavy(tmp_path: Path) -> None:
    loaded = fresh_python("import sys, pysim; print(*sys.modules)", tmp_path).split()
    assert [name for name in HEAVY if name in loaded] == []


def test_every_module_is_there_after_importing_pysim(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    names = sorted(set(re.findall(r"\bpysim\.([a-z_]+)", page)))
    assert len(names) > 10
    code = f"import pysim; print(*[name for name in {names} if not hasattr(pysim, name)])"
    assert fresh_python(code, tmp_path).split() == []


@pytest.mark.parametrize("folder", ["pysim", "cpp", "tests"])
def test_no_module_has_a_vague_name(folder: str) -> None:
    vague = {"utils", "util", "common", "helpers", "misc"}
    paths = [path for path in (ROOT / folder).glob("**/*") if path.suffix in {"", ".py", ".hpp"}]
    assert [path.name for path in paths if path.stem in vague] == []
