"""No array ends the process: the engine's functions are called in a child process (`tests.fuzz.bound_functions`)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.fuzz.budget import SECONDS

ROOT = Path(__file__).parents[2]
CALLS = 1500
FOUND: list[int] = []  # seeds of calls that once ended the process


def run(seed: int, calls: int, seconds: float) -> None:
    words = map(str, (seed, calls, seconds))
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.bound_functions", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    last = ran.stdout.splitlines()[-1:]
    assert ran.returncode == 0, f"after {last}: status {ran.returncode}\n{ran.stderr[-2000:]}"
    assert last[0].startswith("counts")


def test_arrays_of_any_shape_type_and_value_are_taken_or_rejected() -> None:
    if SECONDS:
        run(int.from_bytes(os.urandom(4), "big"), 0, SECONDS)
    else:
        run(1, CALLS, 0)


def test_calls_that_once_ended_the_process_are_taken_or_rejected() -> None:
    for seed in FOUND:
        run(seed, 1, 0)
