"""Learning by several processes.

Oracles: a run that is not interrupted, to the bit; the kernel's tables of processes and sockets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from pysim import PysimError
from pysim.environments import Environment
from pysim.environments.parallel_learning import ParallelLearner

CART_POLE = Path(__file__).parents[2] / "scenes/environments/cart_pole.toml"
pytestmark = pytest.mark.skipif(
    not (find_spec("torch") and find_spec("rsl_rl")),
    reason="needs torch and rsl-rl-lib, of the extra learn",
)


def learner(processes: int = 2, seed: int = 1) -> ParallelLearner:
    return ParallelLearner(partial(Environment, CART_POLE), 25, processes=processes, seed=seed)


def ids(own: ParallelLearner) -> list[int]:
    return [process.pid for process in own._processes]


def run(pid: int) -> bool:
    """Return whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def listening(pid: int) -> list[str]:
    """Return the addresses at which a process listens [Linux]."""
    sockets = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text("utf-8").splitlines()[1:]
    ]
    return [
        row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets
    ]


def test_a_run_is_repeated_and_continued_to_the_bit(tmp_path: Path) -> None:
    with learner() as first:
        rewards = [progress.reward for progress in first.iterations(3)]
        assert first.steps == 3 * 24 * 25
        first.save(tmp_path / "learner.pt")
        rewards += [progress.reward for progress in first.iterations(2)]
        first.write_policy(tmp_path / "first.npz")
        if sys.platform == "linux":
            addresses = {address for pid in ids(first) for address in listening(pid)}
            assert addresses == {"0100007F"}  # 127.0.0.1
        processes = ids(first)
    assert not any(run(pid) for pid in processes)
    with learner() as second:
        assert [progress.reward for progress in second.iterations(2)] == rewards[:2]
        second.load(tmp_path / "learner.pt")
        assert [progress.reward for progress in second.iterations(2)] == rewards[3:]
        second.write_policy(tmp_path / "second.npz")
    with np.load(tmp_path / "first.npz") as a, np.load(tmp_path / "second.npz") as b:
        for name in a:
            np.testing.assert_array_equal(a[name], b[name], name)
    with (
        learner(1) as alone,
        pytest.raises(PysimError, match=r"2 processes, not of 1; .*--threads 2"),
    ):
        alone.load(tmp_path / "learner.pt")


def test_a_process_that_is_killed_is_reported_and_ends_the_others() -> None:
    with learner() as own:
        processes = ids(own)
        next(own.iterations(1))
        os.kill(processes[1], signal.SIGKILL)
        with pytest.raises(PysimError, match="process 2 of 2 was killed by SIGKILL; go on from"):
            next(own.iterations(1))
        assert not any(run(pid) for pid in processes)


def fails(n: int, *, numbers: Sequence[int] | None = None) -> Environment:
    """Return worlds; the last one cannot be made."""
    if numbers is not None and numbers[-1] == 24:
        raise PysimError("world 24", "is missing; look for it")
    return Environment(CART_POLE, n, numbers=numbers)


def test_an_error_in_one_process_is_raised_here() -> None:
    with pytest.raises(PysimError, match="world 24: is missing; look for it"):
        ParallelLearner(fails, 25, processes=2)


def command(folder: Path, *words: str) -> list[str]:
    begin = [sys.executable, "-m", "pysim", "learn", str(CART_POLE), "-o", str(folder / "p.npz")]
    return [*begin, "--worlds", "24", "--threads", "2", *words]


def test_ctrl_c_ends_all_processes_with_a_checkpoint(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        assert "million steps" in process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        own = [int(pid) for pid in children.read_text("utf-8").split()] if children.exists() else []
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "--resume goes on" in process.stderr.read()
    assert not any(run(pid) for pid in own)
    resumed = subprocess.run(
        command(tmp_path, "--resume", "--steps", "1"), capture_output=True, text=True, check=False
    )
    assert resumed.returncode == 0, resumed.stderr


WAITING = """
import os
import sys
from subprocess import Popen

child = "import os; from pysim.environments.parallel_learning import _end_with; _end_with({})"
print(Popen([sys.executable, "-c", child.format(os.getpid())], stdout=2).pid)
"""


def test_a_process_that_waits_for_others_ends_with_the_one_that_has_started_it() -> None:
    words = [sys.executable, "-c", WAITING]
    started = subprocess.run(words, capture_output=True, timeout=60, check=True)  # till both end
    end = time.monotonic() + 10
    while run(int(started.stdout)):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_processes_end_with_the_one_that_has_started_them(tmp_path: Path) -> None:
    with subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            process.kill()
            pytest.skip("the children of a process are listed on Linux")
        own = [int(pid) for pid in children.read_text("utf-8").split()]
        process.kill()
    assert own
    end = time.monotonic() + 60
    while any(run(pid) for pid in own):
        assert time.monotonic() < end
        time.sleep(0.1)
