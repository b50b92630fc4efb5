"""Sweeps whose process dies, or whose writes fail, at every write to the dataset.

Oracle: a library preloaded into a process, which kills it before or in the middle of one system call, or lets that call
fail with EIO, or all from one on; and the bytes of an undisturbed sweep.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODES = {"one": 1, "all later": 2, "kill": 3, "kill halfway": 4}

SWEEP_WITH_FAULTS = """
import ctypes, os, sys
from pathlib import Path
import h5py
from pysim.errors import SimulationError
from pysim.sweeps import run_sweep
from pysim.sweeps.dataset import SweepFile

faults, folder, how, scene = ctypes.CDLL(None), Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def sweep(path):
    computed = []
    run_sweep(
        scene, {"joint[0].damping": "0:0.4:12"}, None, output=path, method=None, seed=None, signals=["energy"],
        overrides={"simulation.duration": 0.02, "output.every": 0.01}, threads=1, piece=4,
        progress=lambda update: computed.append(update.computed), overwrite=False, allow_code=False,
    )
    return len(computed)


def data_of(path):
    with h5py.File(path) as file:
        return {name: file[name][()].tobytes() for name in file}


def disturbed(path, n):
    \"\"\"Whether a write was disturbed, and the error.\"\"\"
    if how >= 3:
        child = os.fork()
        if child == 0:
            faults.arm(ctypes.c_long(n), how)
            sweep(path)
            faults.arm(ctypes.c_long(0), 0)
            os._exit(0)
        return os.waitpid(child, 0)[1] != 0, ""
    faults.arm(ctypes.c_long(n), how)
    try:
        sweep(path)
        error = ""
    except SimulationError as raised:
        error = str(raised)
    faults.arm(ctypes.c_long(0), 0)
    return bool(error), error


whole = folder / "whole.nc"
sweep(whole)
began = 0
for n in range(1, 1000):
    path = folder / f"{n}.nc"
    hit, error = disturbed(path, n)
    if not hit:
        break
    if error:
        places = [f"{path}: cannot be written, input/output error; {remedy}" for remedy in
                  ("choose another file", "run the sweep again to continue it")]
        assert error == places[path.exists()], (n, error)
    missing = 3
    if path.exists():
        began += 1
        with SweepFile(path) as file:
            missing = len(file.unfinished())
    assert sweep(path) == missing, n
    assert data_of(path) == data_of(whole), n
print("writes:", n - 1, "of pieces:", began)
print("drafts:", len([*folder.glob(".pysim-*")]))
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "failing_writes.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler is needed, as for pysim itself"
    source = ROOT / "tests" / "trajectory" / "failing_writes.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.slow
@pytest.mark.parametrize("how", MODES)
def test_a_sweep_whose_writes_fail_continues_to_the_bits_of_an_undisturbed_one(
    tmp_path: Path, faults: Path, how: str
) -> None:
    """Pieces that were finished are not computed again."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    scene = str(ROOT / "scenes" / "spring.toml")
    run = subprocess.run(
        [sys.executable, "-c", SWEEP_WITH_FAULTS, str(tmp_path), str(MODES[how]), scene],
        env={**os.environ, "LD_PRELOAD": str(faults), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.splitlines() == ["writes: 19 of pieces: 12", "drafts: 0"], run.stderr
