"""Sample, build and run mutants of the kernels; print the score.

    python -m tests.mutation --count 300 --tests tests/algorithms tests/loops

One engine holds every mutant. A process imports pysim and collects the tests once; a child that it forks records which
mutants each test runs, and another one per mutant then runs those tests until one fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.mutation.sources import ROOT, sample_sites, write_sources


def build(folder: Path, jobs: int) -> None:
    """Build the mutated engine for AVX2 into a copy of the package."""
    python = ["-m", "pybind11", "--cmakedir"]
    pybind11 = subprocess.run(
        [sys.executable, *python], check=True, capture_output=True, text=True
    ).stdout.strip()
    source, target = folder / "source", folder / "build"
    options = [
        "-DPYSIM_ISAS=avx2",
        "-DCMAKE_CXX_FLAGS=-DPYSIM_INLINE=inline -Wno-narrowing -w",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={pybind11}",
    ]
    subprocess.run(
        ["cmake", "-S", source, "-B", target, *options], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["cmake", "--build", target, "--parallel", str(jobs)], check=True)
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    ignored = shutil.ignore_patterns("_engine*.so", "__pycache__")
    shutil.copytree(ROOT / "pysim", package / "pysim", ignore=ignored)
    for engine in target.glob("_engine*.so"):
        shutil.copy(engine, package / "pysim")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--count", type=int, default=300, help="mutants to run")
    parser.add_argument("--seed", type=int, default=29, help="of the sample")
    parser.add_argument("--limit", type=int, default=20, help="seconds of tests per mutant")
    parser.add_argument("--jobs", type=int, default=2, help="compilers and mutants at once")
    parser.add_argument("--every", type=int, default=1, help="run every k-th of the tests only")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--skip-build", action="store_true", help="use the engine that is there")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="folders or files of tests")
    arguments = parser.parse_args()
    # Some mutants have no effect for the types that they are used with: a third more are built than run.
    sites = sample_sites(arguments.count * 4 // 3, arguments.seed)
    if not arguments.skip_build:
        write_sources(sites, arguments.folder / "source")
        build(arguments.folder, arguments.jobs)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(arguments.folder / "package"), str(ROOT)]),
        "PYSIM_MUTANTS": f"{arguments.count} {arguments.seed} {arguments.limit} {arguments.jobs} {arguments.every}",
        "PYSIM_MUTANTS_REPORT": str(arguments.folder / "report.txt"),
    }
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-p",
        "tests.mutation.session",
        "-q",
        "-m",
        "not slow and not render",
    ]
    os.chdir(ROOT)
    os.execve(sys.executable, [*command, "-p", "no:cacheprovider", *arguments.tests], environment)


if __name__ == "__main__":
    main()
