"""Processes that draw the frames of a movie: each draws every n-th frame and writes its pixels to a pipe.

Drawing without a GPU is bound by one thread, which places the vertices; several processes use several cores. A worker
is a program of its own, so that a caller's script needs no guard against being
imported again. It reads a pickled job, answers with its warnings or the error, and then writes raw frames.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Self

import numpy as np

from pysim.child_process import python_command
from pysim.errors import PysimError, PysimWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pysim.render.options import RenderOptions
    from pysim.trajectory import Trajectory

PROGRAM = "from pysim.render.frame_worker import main; main()"
MOST_FRAMES_AHEAD = 3  # frames that a worker may be ahead of the encoder
FEWEST_FRAMES = 20  # frames of a movie for each worker
MOST_WORKERS = 8  # workers


@dataclass(frozen=True)
class Job:
    """Frames that a worker draws: trajectories, options and times."""

    trajectory: Trajectory
    options: RenderOptions
    times: NDArray[np.float64]  # (frames,) [s]
    others: Sequence[Trajectory] = ()


def workers_for(frames: int) -> int:
    """Return how many processes draw a movie: one for each core, if each has enough frames."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return int(np.clip(min(cores, frames // FEWEST_FRAMES), 1, MOST_WORKERS))


class FrameWorkers:
    """Worker processes, whose frames are taken in the order of time."""

    def __init__(
        self,
        trajectory: Trajectory,
        options: RenderOptions,
        times: NDArray[np.float64],
        count: int,
        others: Sequence[Trajectory] = (),
    ) -> None:
        self._jobs = [Job(trajectory, options, times[k::count], others) for k in range(count)]
        self._workers: list[_Worker] = []

    def frame(self, k: int) -> NDArray[np.uint8]:
        """Return frame k; frames must be taken in their order."""
        return self._workers[k % len(self._workers)].frame()

    def __enter__(self) -> Self:
        try:
            for k, job in enumerate(self._jobs):
                self._workers.append(_Worker(job, speaks=k == 0))
            for worker in self._workers:
                worker.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.stop()


class _Worker:
    """One process, and a thread that reads its frames ahead."""

    def __init__(self, job: Job, *, speaks: bool) -> None:
        self._speaks = speaks
        width, height = job.options.size
        self._shape = (height, width, 4 if job.options.transparent else 3)
        self._count = len(job.times)
        self._frames: queue.Queue[bytes | None] = queue.Queue(MOST_FRAMES_AHEAD)
        self._stopped = threading.Event()
        environment = {**os.environ, "LP_NUM_THREADS": "1"}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115, closed in `stop`
        self._process = subprocess.Popen(
            python_command(PROGRAM),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
            start_new_session=True,  # Ctrl-C is the parent's
        )
        self._reader = threading.Thread(target=self._read, args=(job,), daemon=True)
        self._reader.start()

    def start(self) -> None:
        """Wait until the worker is ready; repeat its warnings here, and raise its error."""
        answer = self._frames.get()
        if answer is None:
            raise self._failure()
        reported, error = pickle.loads(answer)
        if self._speaks:
            for text in reported:
                warnings.warn(text, PysimWarning, stacklevel=2)
        if error is not None:
            raise error

    def frame(self) -> NDArray[np.uint8]:
        """Return the next frame (height, width, 3)."""
        data = self._frames.get()
        if data is None:
            raise self._failure()
        return np.frombuffer(data, np.uint8).reshape(self._shape)

    def _failure(self) -> PysimError:
        """Return why the process ended, by the last line that it printed."""
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it may lack memory"
        return PysimError("movie", f"a drawing process ended early, {reason}; make it smaller")

    def stop(self) -> None:
        """End the process, wherever it is."""
        self._stopped.set()
        self._process.kill()
        with suppress(queue.Empty):
            while True:
                self._frames.get_nowait()
        self._reader.join()
        self._process.wait()
        self._said.close()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _read(self, job: Job) -> None:
        """Send the job and queue the answers, then None."""
        source, target = self._process.stdout, self._process.stdin
        assert source is not None
        assert target is not None
        with suppress(OSError):
            pickle.dump(job, target, protocol=pickle.HIGHEST_PROTOCOL)
            target.close()
        frames = [int(np.prod(self._shape))] * self._count
        lengths = [int.from_bytes(source.read(8), "little"), *frames]
        for length in lengths:
            data = source.read(length) if length else b""
            if not data or len(data) < length:
                break
            if not self._put(data):
                return
        self._put(None)

    def _put(self, data: bytes | None) -> bool:
        while not self._stopped.is_set():
            try:
                self._frames.put(data, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False


def draw_frames(source: IO[bytes], target: IO[bytes]) -> None:
    """Read a job and write the answer and the frames."""
    from pysim.render.meshes import OF_MOVIES  # noqa: PLC0415
    from pysim.render.player import Player  # noqa: PLC0415, errors are reported
    from pysim.render.window import capture, offscreen  # noqa: PLC0415

    job: Job = pickle.load(source)
    answered = False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with offscreen(job.options) as plotter:
                player = Player(
                    plotter, job.trajectory, job.options, others=job.others, left_out=OF_MOVIES
                )
                _answer(
                    target,
                    [str(w.message) for w in caught if issubclass(w.category, PysimWarning)],
                    None,
                )
                answered = True
                for time in job.times:
                    player.show(time)
                    target.write(capture(plotter, job.options, player.draw).tobytes())
                    target.flush()
        except BrokenPipeError:
            return  # the parent needs no more
        except Exception as error:  # noqa: BLE001, the parent raises it
            if not answered:
                _answer(target, [], error)


def _answer(target: IO[bytes], texts: list[str], error: Exception | None) -> None:
    try:
        data = pickle.dumps((texts, error))
        pickle.loads(data)
    except Exception:  # noqa: BLE001
        data = pickle.dumps((texts, PysimError("movie", str(error))))
    target.write(len(data).to_bytes(8, "little") + data)
    target.flush()


def main() -> None:
    """Draw the frames of the job on stdin; run by `FrameWorkers`."""
    frames = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is not a frame
    with suppress(BrokenPipeError):
        draw_frames(sys.stdin.buffer, frames)
