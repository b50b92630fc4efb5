"""Share of the processor's peak rate that the kernels reach.

Operations are counted once per algorithm, by the engine's own kernels over a number that counts; the peak is that of
fused multiply-adds in registers, measured in the same run. Both are in operations.cpp, which is compiled here.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pybind11

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np

    import pysim

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = (
    "-std=c++17",
    "-O2",
    "-DNDEBUG",
    "-march=native",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
)


def counts(
    model: pysim.Model, q: np.ndarray[Any, Any], v: np.ndarray[Any, Any], x: np.ndarray[Any, Any]
) -> dict[str, int]:
    """Operations of one state, by algorithm."""
    found: dict[str, int] = _native().counts(model, q, v, x)
    return found


def peak() -> float:
    """Operations a second of one core, the best of some tries."""
    return max(float(_native().peak()) for _ in range(9))


@functools.cache
def _native() -> ModuleType:
    """The compiled module, kept between runs as long as no header changed."""
    sources = [SOURCE, *sorted((ROOT / "cpp" / "tree").glob("*.cpp"))]
    texts = [*sources, *sorted((ROOT / "cpp").glob("**/*.hpp"))]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in texts)).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"pysim_operations_{os.getuid()}_{digest}.so"
    if not library.exists():
        includes = [ROOT / "cpp", pybind11.get_include(), sysconfig.get_path("include")]
        part = library.with_suffix(f".{os.getpid()}")
        command = [os.environ.get("CXX", "g++"), *FLAGS, *(f"-I{path}" for path in includes)]
        subprocess.run([*command, *map(str, sources), "-o", str(part)], check=True)
        part.rename(library)
    spec = importlib.util.spec_from_file_location("operations_native", library)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{library} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
