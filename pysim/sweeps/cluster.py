"""Sweeps on a Dask cluster: pieces are computed by its workers, and their results are written here as they arrive.

A task is a group of pieces that takes about TASK_TIME. If a worker is lost, Dask computes its tasks on another one; if
a task takes much longer than the others while workers are idle, it is given to a second worker, and the first result
counts: both are equal bit for bit.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from distributed import Client, Future

    from pysim.sweeps.pieces import PieceResult, PieceRunner

    Values = Mapping[str, Array]
    Results = list[tuple[slice, PieceResult]]

TASK_TIME = 30.0  # [s]
TASKS_OF_THREAD = 2  # tasks in flight for each thread of the workers
SLOW_FACTOR = 3.0  # times the median time of a task, after which it is given to a second worker
TIMEOUT = 10.0  # [s] for a connection
LOOK_INTERVAL = 0.5  # [s] between looks at tasks that do not end
WITHOUT_WORKERS = 300.0  # [s], after which a sweep ends
MOST_LOSSES = 5  # of workers that run a task, after which it fails


@dataclass
class _Task:
    """A group of pieces that is being computed."""

    pieces: list[slice]
    begin: float  # [s]
    futures: list[Future[Any]] = field(default_factory=list)


@contextmanager
def connected(scheduler: str | Client) -> Iterator[Client]:
    """Return a context with a client of a scheduler, whose workers have been checked to have this version of pysim.

    Raises:
        SimulationError: there is no scheduler at the address, no worker, or a worker has another version.
    """
    from distributed import Client  # noqa: PLC0415, an optional dependency

    if not isinstance(scheduler, str):
        _check_workers(scheduler)
        yield scheduler
        return
    _check_address(scheduler)
    try:
        client = Client(scheduler, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        problem = f"no Dask scheduler answers, {error}; start one by `dask scheduler`"
        raise SimulationError(f"scheduler {scheduler!r}", problem) from error
    with client:
        _check_workers(client)
        yield client


def _check_address(address: str) -> None:
    """Reject an address without a port, for which a client of distributed waits and then prints a traceback."""
    from distributed.comm.addressing import (  # noqa: PLC0415, an optional package
        get_address_host_port,
        parse_address,
    )

    if parse_address(address)[0] not in ("tcp", "tls"):
        return
    try:
        get_address_host_port(address)
    except ValueError as error:
        problem = f"is not an address, {error}; write it as tcp://host:8786"
        raise SimulationError(f"scheduler {address!r}", problem) from None


def _check_workers(client: Client) -> None:
    here, others = version(), client.run(version)
    if not others:
        raise SimulationError("scheduler", "has no worker; start some by `dask worker`")
    for worker, other in others.items():
        if other != here:
            problem = f"runs pysim {other}, but this process runs {here}; install the same version"
            raise SimulationError(f"worker {worker}", problem)


def version() -> str:
    """Return the version of pysim."""
    from pysim import __version__  # noqa: PLC0415, of the process that calls it

    return __version__


def compute_pieces(
    runner: PieceRunner, pieces: Sequence[tuple[slice, Values]]
) -> tuple[float, Results]:
    """Run some pieces one after the other, and return the time that they took [s] with the results."""
    begin = time.perf_counter()
    results = [(worlds, runner.run(values, worlds.start)) for worlds, values in pieces]
    return time.perf_counter() - begin, results


def run_on_cluster(
    client: Client, runner: PieceRunner, values: Values, pieces: Sequence[slice]
) -> Iterator[tuple[slice, PieceResult]]:
    """Yield the worlds and results of pieces as workers finish them, in any order.

    Raises:
        SimulationError: a task's workers were lost several times, or there has been no worker for a while.
    """
    computation = _Computation(client, runner, values, list(pieces))
    try:
        yield from computation.results()
    finally:
        computation.cancel()


class _Computation:
    """Tasks of a sweep on a cluster."""

    def __init__(
        self, client: Client, runner: PieceRunner, values: Values, pieces: list[slice]
    ) -> None:
        self._client, self._runner, self._values = client, runner, values
        self._waiting = pieces[::-1]
        self._running: list[_Task] = []
        self._piece_times: list[float] = []
        self._task_times: list[float] = []
        self._last_worker = time.perf_counter()  # time at which there was one [s]

    def results(self) -> Iterator[tuple[slice, PieceResult]]:
        """Yield results until none is missing."""
        while self._waiting or self._running:
            self._submit()
            self._repeat_slow()
            self._wait()
            for task in [task for task in self._running if any(f.done() for f in task.futures)]:
                done = self._result(task)
                if done is None:
                    continue
                self._running.remove(task)
                yield from done

    def cancel(self) -> None:
        """Cancel what is still running."""
        for task in self._running:
            self._client.cancel(task.futures)

    def _threads(self) -> int:
        counts: dict[str, int] = self._client.nthreads()
        now = time.perf_counter()
        if counts:
            self._last_worker = now
        elif now - self._last_worker > WITHOUT_WORKERS:
            problem = (
                f"has had no worker for {WITHOUT_WORKERS:g} s; start some by `dask worker`, "
                "and run the sweep again to continue it"
            )
            raise SimulationError("scheduler", problem)
        return max(1, sum(counts.values()))

    def _submit(self) -> None:
        """Submit tasks of about TASK_TIME, of one piece until its time is known."""
        count = 1
        if self._piece_times:
            count = max(1, int(TASK_TIME / max(float(np.median(self._piece_times)), 1e-9)))
        threads = self._threads()
        count = max(1, min(count, len(self._waiting) // threads))  # the last ones are shared, too
        while self._waiting and len(self._running) < TASKS_OF_THREAD * threads:
            pieces = [self._waiting.pop() for _ in range(min(count, len(self._waiting)))]
            task = _Task(pieces, time.perf_counter())
            self._start(task)
            self._running.append(task)

    def _start(self, task: _Task) -> None:
        given = [
            (worlds, {key: column[worlds] for key, column in self._values.items()})
            for worlds in task.pieces
        ]
        future = self._client.submit(compute_pieces, self._runner, given, pure=False, retries=0)
        task.futures.append(future)

    def _repeat_slow(self) -> None:
        """Give a task that takes long to a second worker, if one is idle."""
        if self._waiting or not self._task_times or len(self._running) >= self._threads():
            return
        limit = SLOW_FACTOR * float(np.median(self._task_times))
        for task in self._running:
            if len(task.futures) == 1 and time.perf_counter() - task.begin > limit:
                self._start(task)

    def _wait(self) -> None:
        from distributed import TimeoutError as OutOfTime, wait  # noqa: PLC0415

        futures = [future for task in self._running for future in task.futures]
        try:
            wait(futures, timeout=LOOK_INTERVAL, return_when="FIRST_COMPLETED")
        except OutOfTime:
            return

    def _result(self, task: _Task) -> Results | None:
        """Return the result of a task, None if its last copy has failed because workers were lost."""
        from distributed import KilledWorker  # noqa: PLC0415

        done = [future for future in task.futures if future.done()]
        for future in done:
            if future.status == "finished":
                wall, results = future.result()
                self._task_times.append(wall)
                self._piece_times.append(wall / len(task.pieces))
                self._client.cancel([other for other in task.futures if other is not future])
                return cast("Results", results)
        if len(done) < len(task.futures):
            return None
        error = done[-1].exception()
        if isinstance(error, KilledWorker) and len(task.futures) < MOST_LOSSES:
            self._start(task)
            return None
        if isinstance(error, KilledWorker):
            first = task.pieces[0]
            problem = (
                f"all workers that ran them were lost, {len(task.futures)} times; see their logs"
            )
            raise SimulationError(f"worlds {first.start} to {task.pieces[-1].stop - 1}", problem)
        raise error
