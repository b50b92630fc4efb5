"""The kernels' scratch memory: builds with checks name the operation that overruns it.

The oracle is tests/tree/workspace.cpp, an operation that overruns its workspace on purpose.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(folder: Path, *flags: str) -> Path:
    built = folder / "workspace"
    tree = ROOT / "cpp" / "tree"
    sources = [ROOT / "tests" / "tree" / "workspace.cpp"]
    sources += [tree / "workspace.cpp", tree / "operating_system.cpp"]
    command = [
        os.environ.get("CXX", "c++"),
        "-std=c++17",
        "-pthread",
        "-w",
        f"-I{ROOT / 'cpp'}",
        *flags,
    ]
    subprocess.run([*command, *map(str, sources), "-o", str(built)], check=True)
    return built


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with checks."""
    return build(tmp_path_factory.mktemp("checked"))


@pytest.fixture(scope="module")
def release_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as the engine is."""
    return build(tmp_path_factory.mktemp("release"), "-O2", "-DNDEBUG")


def outcome(program: Path, mistake: str, address_limit: int | None = None) -> tuple[int, str, str]:
    """Run without the libraries that tests/sanitize loads into every process."""
    limit = f"ulimit -v {address_limit}; " if address_limit else ""
    command = ["bash", "-c", f'{limit}exec "$0" "$1"', str(program), mistake]
    own = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=own)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("use", ["many", "between"])
def test_arrays_that_are_used_as_long_as_they_were_taken_pass(program: Path, use: str) -> None:
    assert outcome(program, use) == (0, "done\n", "")


@pytest.mark.parametrize(("mistake", "size"), [("array", 48), ("inner", 32)])
def test_an_array_that_is_overrun_is_reported_with_its_operation(
    program: Path, mistake: str, size: int
) -> None:
    status, _, message = outcome(program, mistake)
    assert status != 0
    assert message == (
        f"workspace of Overrun: an array of {size} bytes is overrun; take as many numbers as are written\n"
    )


def test_memory_that_ends_is_reported_with_the_operation(program: Path) -> None:
    status, _, message = outcome(program, "memory")
    assert status != 0
    assert message == (
        "workspace of Overrun: an array of 17592186044416 bytes is taken where 68719476560 are left; "
        "reserve more in workspace.cpp\n"
    )


def test_a_release_build_cannot_write_behind_the_memory(release_program: Path) -> None:
    assert outcome(release_program, "many") == (0, "done\n", "")
    status, printed, _ = outcome(release_program, "behind")
    assert (status, printed) == (-signal.SIGSEGV, "")


def test_a_limit_on_addresses_leaves_room_for_a_workspace(program: Path) -> None:
    """The processes that job schedulers start may use only so many addresses."""
    assert outcome(program, "many", address_limit=1_000_000) == (0, "done\n", "")
