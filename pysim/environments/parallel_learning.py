"""Learning by several processes, each with a share of the worlds: data-parallel PPO.

    with ParallelLearner(partial(Environment, "go1.toml"), 1024, processes=2, seed=1) as learner:
        for progress in learner.iterations(100):
            print(progress.reward, progress.episode_length)
        learner.write_policy("policy.npz")

Each process has a `Learner` with one thread. They average gradients, divergences and the observations' moments over
`torch.distributed`, so that all have the same network. Networks of this size gain nothing from
threads inside their products, which are too short.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from operator import attrgetter, methodcaller
from pathlib import Path
from subprocess import Popen
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from pysim.child_process import python_command
from pysim.errors import PysimError
from pysim.sweeps.extras import check_installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    from pysim.environments.environment import Environment
    from pysim.environments.learn import Learner
    from pysim.environments.learning_settings import Progress, Settings

PROGRAM = "from pysim.environments.parallel_learning import _serve; _serve()"
T = TypeVar("T")
GRACE = 2.0  # [s] in which the others report why they have failed, once one has


class MakeEnvironment(Protocol):
    """Makes the worlds of a process; it is pickled."""

    def __call__(self, n: int, *, numbers: Sequence[int] | None = None) -> Environment:
        """Return n worlds with these numbers."""


class _Failure(NamedTuple):
    """Why a process has failed, and when [s], or 0 if it did not report it."""

    time: float
    error: Exception


class ParallelLearner:
    """PPO on the worlds of an environment, with a `Learner` in each of several processes.

    The same seed, worlds and processes give the same bits.

    Args:
        make: makes the environment of a process, as `functools.partial(Environment, path)`.
        worlds: number of worlds, of all processes.
        settings: of PPO.
        processes: that learn; at most `worlds`.
        seed: of the network's start and the actions.

    Attributes:
        environment: one world in this process, which reports errors and warnings of the scene.

    Raises:
        PysimError: a process fails, here or later; all are ended then.
    """

    def __init__(
        self,
        make: MakeEnvironment,
        worlds: int,
        settings: Settings | None = None,
        *,
        processes: int,
        seed: int = 0,
    ) -> None:
        folder = tempfile.mkdtemp(prefix="pysim_learn_")
        self._pipes: list[Connection] = []
        self._processes: list[Popen[bytes]] = []
        self._answers: dict[Connection, object] = {}
        self.close = weakref.finalize(self, _end, self._processes, self._pipes, folder)
        try:
            shares = np.array_split(np.arange(worlds), max(1, min(processes, worlds)))
            for rank, share in enumerate(shares):
                pipe = self._start()
                pipe.send((sys.path, f"{folder}/store", rank, len(shares)))
                pipe.send((make, share.tolist(), settings, seed))
            self.environment = make(1)
            self._receive()
        except BaseException:
            self.close()
            raise

    def _start(self) -> Connection:
        """Start a process and return the pipe to it."""
        ours, theirs = Pipe()
        self._pipes.append(ours)
        with theirs:
            command = python_command(PROGRAM, str(theirs.fileno()), str(os.getpid()))
            process = Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)
        self._processes.append(process)  # in a session of its own: Ctrl-C is the parent's
        return ours

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def steps(self) -> int:
        """Control steps of all worlds so far."""
        return int(self._call(attrgetter("steps")))

    def iterations(self, count: int) -> Iterator[Progress]:
        """Make iterations, as `Learner.iterations`."""
        for _ in range(count):
            yield self._call(_iterate)

    def write_policy(self, path: str | Path) -> None:
        """Write the policy, as `Learner.write_policy`."""
        self._call(methodcaller("write_policy", Path(path).absolute()))

    def save(self, path: str | Path) -> None:
        """Write what `load` continues from."""
        self._call(methodcaller("save", Path(path).absolute()))

    def load(self, path: str | Path) -> None:
        """Continue from what `save` has written, to the bit.

        Raises:
            PysimError: it is of another environment, network or number of processes.
        """
        self._call(methodcaller("load", Path(path).absolute()))

    def _call(self, function: Callable[[Learner], T]) -> T:
        """Call a function in every process and return what it returns in the first."""
        self._receive()  # of a call that Ctrl-C has interrupted
        self._answers.clear()
        for pipe in self._pipes:
            with suppress(BrokenPipeError):  # `_receive` reports that the process has ended
                pipe.send(function)
        self._receive()
        return cast("T", self._answers[self._pipes[0]])

    def _receive(self) -> None:
        """Wait until every process has answered, or one has failed and the others had the time to do so, too."""
        end = None
        while waiting := [pipe for pipe in self._pipes if pipe not in self._answers]:
            ready = wait(waiting, None if end is None else max(0.0, end - time.monotonic()))
            if not ready:
                break
            for pipe in (pipe for pipe in waiting if pipe in ready):
                self._answers[pipe] = answer = self._answer(pipe)
                if isinstance(answer, _Failure) and end is None:
                    end = time.monotonic() + GRACE
        failures = [answer for answer in self._answers.values() if isinstance(answer, _Failure)]
        if failures:
            self.close()
            raise min(failures, key=attrgetter("time")).error  # the others have lost this process

    def _answer(self, pipe: Connection) -> object:
        """Return what a process has sent, or that it has ended."""
        try:
            return pipe.recv()
        except (EOFError, ConnectionError):
            rank = self._pipes.index(pipe)
        status = self._processes[rank].wait()
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else "has ended"
        problem = f"process {rank + 1} of {len(self._pipes)} {how}"
        error = PysimError("learning", f"{problem}; go on from the last checkpoint")
        return _Failure(0.0, error)


def _end(processes: list[Popen[bytes]], pipes: list[Connection], folder: str) -> None:
    """End the processes, which have nothing to lose between two calls."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    for pipe in pipes:
        pipe.close()
    shutil.rmtree(folder, ignore_errors=True)


def _iterate(learner: Learner) -> Progress:
    return next(learner.iterations(1))


def _serve() -> None:
    """Learn in a process of a `ParallelLearner`, which calls functions of its learner until it ends."""
    Thread(target=_end_with, args=(int(sys.argv[2]),), daemon=True).start()
    pipe = Connection(int(sys.argv[1]))
    warnings.simplefilter("ignore")  # the parent prints them
    logging.disable(logging.WARNING)
    try:
        learner = _member(pipe)
        pipe.send(None)
        while True:
            pipe.send(pipe.recv()(learner))
    except (EOFError, ConnectionError):  # the parent has ended
        pass
    except Exception as error:  # noqa: BLE001, the parent raises it
        when = time.monotonic()
        if not isinstance(error, PysimError | OSError):
            error = RuntimeError("".join(traceback.format_exception(error)))
        pipe.send(_Failure(when, error))


def _end_with(parent: int) -> None:
    """End this process after its parent, also while it waits for the others, which may never come."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _member(pipe: Connection) -> Learner:
    """Join the other processes, and return a learner with the worlds of this process."""
    path, store, rank, count = pipe.recv()
    # nothing outside this computer can connect
    os.environ["GLOO_SOCKET_IFNAME"] = next(
        name for _, name in socket.if_nameindex() if name.startswith("lo")
    )
    check_installed("learn", "torch", "rsl_rl")
    from torch import distributed  # noqa: PLC0415, the parent needs no torch

    from pysim.environments.learn import Learner  # noqa: PLC0415

    distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=count
    )
    sys.path += [entry for entry in path if entry not in sys.path]  # of modules that `make` is from
    make, numbers, settings, seed = pipe.recv()
    return Learner(make(len(numbers), numbers=numbers), settings, seed=seed)
