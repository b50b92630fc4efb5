"""The engine and the processor: what the build chooses, and an engine of another machine.

The oracles are the processor's flags in /proc/cpuinfo, and the message word for word; the functions of
cpp/engine/processor.hpp are run by a program of their own, and the engine on the processor of valgrind.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pysim
from pysim import _engine

ROOT = Path(__file__).parents[2]
PROGRAM = """
#include <cstdio>
#include "engine/processor.hpp"
int main() {
  std::puts(pysim::engine::native_isa());
  std::puts(pysim::engine::no_kernels({"avx2", "avx512"}, "baseline").c_str());
}
"""
FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw"}}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("processor")
    (folder / "main.cpp").write_text(PROGRAM, "utf-8")
    command = [os.environ.get("CXX", "c++"), "-std=c++17", f"-I{ROOT / 'cpp'}"]
    built = str(folder / "main")
    subprocess.run([*command, str(folder / "main.cpp"), "-o", built], check=True)
    return subprocess.run([built], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs flags of x86-64")
def test_the_build_chooses_the_widest_set_of_the_processor(printed: list[str]) -> None:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    expected = [name for name, needed in FLAGS.items() if needed <= flags]
    assert printed[0] == ["baseline", *expected][-1]
    assert set(pysim.available_isas()) <= {"baseline", *expected}


def test_an_engine_without_kernels_for_the_processor_names_the_remedy(printed: list[str]) -> None:
    assert printed[1] == (
        "pysim._engine: built for avx2, avx512, but this processor runs baseline at most; install it again on this "
        "machine, pip install --force-reinstall --no-deps ., or build it for every processor with "
        "-Ccmake.define.PYSIM_ISAS=all"
    )


LOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("pysim._engine", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


@pytest.mark.skipif(
    pysim.available_isas() != ["avx512"] or not shutil.which("valgrind"),
    reason="needs an engine with AVX-512 alone, and valgrind, whose processor has no AVX-512",
)
def test_an_engine_for_another_processor_is_an_error_of_its_import() -> None:
    python = Path(sys.executable).resolve()
    command = ["valgrind", "--tool=none", "-q", str(python), "-c", LOAD, _engine.__file__]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: pysim._engine: built for avx512, but this processor runs ")
