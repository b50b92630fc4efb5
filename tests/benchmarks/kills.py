"""Sweeps that are killed at random moments and continued, and a cluster that loses workers: what is lost.

Run by itself: python -m tests.benchmarks.kills; with other numbers, python -m tests.benchmarks.kills --worlds 1000
--kills 3 --small-kills 8 --cluster-kills 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

import pysim
from pysim.sweeps.dataset import SweepFile
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from pysim.sweeps import SweepUpdate

CARS = Path(__file__).parents[2] / "scenes" / "quarter_car.toml"
SMALL = 256  # cars of a sweep that is killed often
SMALL_PIECE = 2
SHORT = {"simulation.duration": 0.1}  # of the small sweep
WORKERS = 4
LINE = "{:66} {:>8} {:>8} {:>12} {:>6}"


@dataclass
class _Sweep:
    """A sweep of quarter cars over ten parameters, each time in a process group of its own."""

    worlds: int
    piece: int
    path: Path
    overrides: dict[str, float]

    def start(self) -> subprocess.Popen[bytes]:
        text = (
            "import pysim; print(1, flush=True); "
            f"pysim.sweep({str(CARS)!r}, None, {self.worlds}, output={str(self.path)!r}, "
            f"piece={self.piece}, overrides={self.overrides!r})"
        )
        command = [sys.executable, "-c", text]
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()  # pysim is imported
        return process

    def killed(self, seconds: float) -> bool:
        """Start the sweep and kill its processes after a time; False if it has ended before."""
        with self.start() as process:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return True
        return False

    def missing(self) -> int:
        """Return the number of worlds whose pieces have no valid checksum."""
        if not self.path.exists():
            return self.worlds
        with SweepFile(self.path) as file:
            return sum(piece.stop - piece.start for piece in file.unfinished())

    def begun(self) -> int:
        """Return the number of pieces that have results but no checksum: killed while they were written."""
        if not self.path.exists():
            return 0
        with h5py.File(self.path) as file:
            rows = np.isfinite(file["summary"][:, 0, 0])
            marks = file["checksum"][:]
        return sum(
            bool(rows[k * self.piece : (k + 1) * self.piece].any())
            for k in np.flatnonzero(marks < 0)
        )

    def finish(self) -> int:
        """Run the sweep to its end and return the number of worlds that were computed."""
        updates: list[SweepUpdate] = []
        pysim.sweep(
            CARS, None, self.worlds, output=self.path, piece=self.piece, overrides=self.overrides,
            progress=updates.append,
        ).close()  # fmt: skip
        return updates[-1].computed if updates else 0


def data_of(path: Path) -> dict[str, bytes]:
    """Return all datasets of a file as bytes."""
    with h5py.File(path) as file:
        return {name: file[name][()].tobytes() for name in file}


@dataclass
class _Outcome:
    """Counts of sweeps that were killed and continued."""

    kills: int = 0
    while_written: int = 0
    again: int = 0  # finished worlds that were lost or computed again
    different: int = 0  # datasets that differ from the undisturbed one

    def print(self, what: str) -> None:
        print_line(LINE.format(what, self.kills, self.while_written, self.again, self.different))


def kill_and_continue(
    sweep: _Sweep, expected: dict[str, bytes], wall: float, kills: int, rng: np.random.Generator
) -> _Outcome:
    """Kill a sweep at random moments, each time after it has been continued, and then let it end."""
    outcome, missing = _Outcome(), sweep.worlds
    for _ in range(kills):
        if not sweep.killed(rng.uniform(0.0, 1.5 * wall / kills)):
            break
        left = sweep.missing()
        outcome.kills += 1
        outcome.while_written += sweep.begun()
        outcome.again += max(0, left - missing)
        missing = left
    left = sweep.missing()
    outcome.again += max(0, left - missing) + abs(sweep.finish() - left)
    outcome.different += data_of(sweep.path) != expected
    return outcome


def lose_workers(
    worlds: int, expected: dict[str, bytes], path: Path, kills: int, rng: np.random.Generator
) -> _Outcome:
    """Run the sweep on a cluster of four processes and kill some, one after the other, at random moments."""
    from distributed import Client, LocalCluster

    outcome = _Outcome()
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as cluster,
        Client(cluster) as client,
    ):
        computed: list[SweepUpdate] = []

        def kill(update: SweepUpdate) -> None:
            computed.append(update)
            if len(computed) <= kills and update.done < update.worlds:
                victim = int(rng.choice([*client.run(os.getpid).values()]))
                outcome.kills += 1
                delay = rng.uniform(0.0, 1.0)
                threading.Timer(delay, os.kill, (victim, signal.SIGKILL)).start()

        pysim.sweep(CARS, None, worlds, output=path, scheduler=client, progress=kill).close()
    outcome.again = computed[-1].computed - worlds
    outcome.different = int(data_of(path) != expected)
    return outcome


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--small-kills", type=int, default=48)
    parser.add_argument("--cluster-kills", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print_line(LINE.format("", "kills", "writing", "again, lost", "differ"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many = _Sweep(options.worlds, 256, folder / "whole.nc", {})
        begin = time.perf_counter()
        many.finish()
        wall = time.perf_counter() - begin
        print_line(f"{options.worlds} quarter cars, undisturbed: {wall:.0f} s")
        expected = data_of(many.path)
        many.path = folder / "killed.nc"
        outcome = kill_and_continue(many, expected, wall, options.kills, rng)
        outcome.print(f"{options.worlds} quarter cars, whole process group killed")
        if options.cluster_kills:
            outcome = lose_workers(
                options.worlds, expected, folder / "cluster.nc", options.cluster_kills, rng
            )
            outcome.print(f"{options.worlds} quarter cars on {WORKERS} workers, some killed")
        few = _Sweep(SMALL, SMALL_PIECE, folder / "small.nc", SHORT)
        with few.start() as process:
            begin = time.perf_counter()
            process.wait()
        wall = time.perf_counter() - begin
        expected, total = data_of(few.path), _Outcome()
        while total.kills < options.small_kills:
            few.path = folder / f"small {total.kills}.nc"
            some = kill_and_continue(few, expected, wall, 4, rng)
            for key, count in vars(some).items():
                setattr(total, key, getattr(total, key) + count)
        total.print(f"{SMALL} quarter cars in pieces of {SMALL_PIECE}, killed up to 4 times each")


if __name__ == "__main__":
    main()
