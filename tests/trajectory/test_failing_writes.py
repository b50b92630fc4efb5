"""Every write of a trajectory that fails is reported, and no commit before it is lost.

Oracle: a library preloaded into a process, which lets one system call fail with EIO, or all from one on, or kills the
process there; and the rows that were handed to the writer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WRITE_WITH_FAULTS = """
import ctypes, os, sys, warnings
from pathlib import Path
import numpy as np
from pysim.errors import TrajectoryError
from pysim.trajectory import Events, TrajectoryWriter, load_trajectory
from tests.trajectory.test_files import assert_same_rows, random_trajectory, rows_of

warnings.simplefilter("ignore")
faults, folder, how = ctypes.CDLL(None), Path(sys.argv[1]), int(sys.argv[2])
whole = random_trajectory(1040, event_names=("hit",))
cuts = [0, 10, 1030, 1040]  # within, across and at the end of chunks


def write(path, flushed):
    with TrajectoryWriter(path, whole.header) as writer:
        flushed(0)
        for first, last in zip(cuts, cuts[1:]):
            writer.append(*rows_of(whole, slice(first, last)))
            writer.append_events(Events(whole.t[first:last], ("hit",) * (last - first),
                                        whole.q[first:last], whole.v[first:last]))
            writer.flush()
            flushed(last)
        writer.finish()


def attempt(path, n):
    \"\"\"Rows that were flushed, -1 where there is no file yet; and the error.\"\"\"
    rows = [-1]
    if how == 3:
        end, start = os.pipe()
        child = os.fork()
        if child == 0:
            faults.arm(ctypes.c_long(n), how)
            write(path, lambda count: os.write(start, count.to_bytes(4, "little")))
            faults.arm(ctypes.c_long(0), 0)
            os._exit(0)
        os.close(start)
        counts = os.fdopen(end, "rb").read()
        rows += [int.from_bytes(counts[k:k + 4], "little") for k in range(0, len(counts), 4)]
        return rows[-1], "killed" if os.waitpid(child, 0)[1] else ""
    faults.arm(ctypes.c_long(n), how)
    try:
        write(path, rows.append)
        error = ""
    except TrajectoryError as raised:
        error = str(raised)
    faults.arm(ctypes.c_long(0), 0)
    return rows[-1], error


for n in range(1, 1000):
    path = folder / f"{n}.h5"
    flushed, error = attempt(path, n)
    if not path.exists():
        assert flushed == -1 and error, (n, flushed, error)
        continue
    run = load_trajectory(path)
    assert_same_rows(run, random_trajectory(1040) if len(run) == 1040 else
                     type(whole)(whole.header, *rows_of(whole, slice(0, len(run)))))
    assert len(run) >= flushed, (n, len(run), flushed)
    assert len(run.events) >= flushed, (n, len(run.events), flushed)
    assert run.complete <= (len(run) == 1040), n
    if how != 3:
        assert bool(error) or run.complete, (n, error)
        assert error in {"", f"{path}: cannot write, input/output error"}, error
    if not error:
        break
print("writes:", n - 1)
print("drafts:", len([*folder.glob(".pysim-*")]))
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "failing_writes.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler is needed, as for pysim itself"
    source = Path(__file__).parent / "failing_writes.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.slow
@pytest.mark.parametrize("how", ["one", "all later", "kill"])
def test_a_failed_write_is_reported_and_flushed_rows_stay_readable(
    tmp_path: Path, faults: Path, how: str
) -> None:
    number = str(["one", "all later", "kill"].index(how) + 1)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-c", WRITE_WITH_FAULTS, str(tmp_path), number],
        env={**os.environ, "LD_PRELOAD": str(faults), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    writes, left = run.stdout.splitlines() or ["", run.stderr]
    assert int(writes.removeprefix("writes: ")) > 40, run.stderr
    assert left == "drafts: 0"
