"""The pool of threads beside Python's own: forks, other threads, idleness. Oracle: the call on one thread."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import random_tree


@pytest.fixture
def model(rng):
    return compile_model(random_tree(rng))


def states(model, n=200):
    rng = np.random.default_rng(3)
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    return q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def ended(child: int, seconds: float) -> int:
    """Exit status of a child process; −1 if it had to be killed after `seconds` [s]."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def test_a_forked_child_computes_on_threads_after_its_parent_did(model):
    arguments = states(model)
    expected = pysim.aba(model, *arguments)
    pysim.aba(model, *arguments, threads=3)  # starts the pool
    child = os.fork()
    if child == 0:
        same = np.array_equal(pysim.aba(model, *arguments, threads=3), expected)
        os._exit(0 if same else 1)
    assert ended(child, 30) == 0
    np.testing.assert_array_equal(pysim.aba(model, *arguments, threads=3), expected)


def test_a_child_forked_while_another_thread_computes_does_not_hang(model):
    arguments = states(model, 3000)
    expected = pysim.aba(model, *arguments)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(lambda: [pysim.aba(model, *arguments, threads=2) for _ in range(20)])
        for _ in range(3):
            child = os.fork()
            if child == 0:
                same = np.array_equal(pysim.aba(model, *arguments, threads=2), expected)
                os._exit(0 if same else 1)
            assert ended(child, 30) == 0
        for result in work.result():
            np.testing.assert_array_equal(result, expected)


def rows_of(part):
    model, q = part
    return pysim.crba(model, q, threads=2)


def test_forked_workers_share_a_batch(model):
    q = states(model)[0]
    expected = pysim.crba(model, q, threads=2)
    with multiprocessing.get_context("fork").Pool(2) as workers:
        parts = workers.map_async(rows_of, [(model, part) for part in np.array_split(q, 4)])
        np.testing.assert_array_equal(np.concatenate(parts.get(timeout=60)), expected)


def test_python_threads_call_at_once_and_each_gets_its_own(model):
    batches = [tuple(x + 0.001 * k for x in states(model)[1:]) for k in range(8)]
    q = states(model)[0]
    expected = [pysim.aba(model, q, *batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            results = pool.map(lambda b: pysim.aba(model, q, *b, threads=2), batches)
            for result, right in zip(results, expected, strict=True):
                np.testing.assert_array_equal(result, right)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_the_pool_grows_no_further_than_it_is_asked_to(model):
    arguments = states(model)
    pysim.aba(model, *arguments, threads=6)
    before = len(list(Path("/proc/self/task").iterdir()))
    for threads in (2, 3, 6) * 20:
        pysim.aba(model, *arguments, threads=threads)
    assert len(list(Path("/proc/self/task").iterdir())) == before


def test_an_idle_pool_leaves_the_processor_to_others(model):
    pysim.aba(model, *states(model), threads=4)
    start = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - start < 0.05


DAEMON = """
import threading, time
import numpy as np, pysim
model = pysim.load_model({scene!r})
q = np.tile(model.neutral(), (20000, 1))
started = threading.Event()
def work():
    while True:
        pysim.aba(model, q, 0 * q, 0 * q, threads={threads})
        started.set()
threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep({wait})
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("wait", [0.0, 0.02, 0.05])
def test_a_program_ends_well_while_a_daemon_thread_computes(threads, wait):
    """The interpreter goes down while C++ works without the GIL. Oracle: the exit status."""
    scene = str(Path(__file__).parents[2] / "scenes" / "double_pendulum.toml")
    code = DAEMON.format(scene=scene, threads=threads, wait=wait)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
