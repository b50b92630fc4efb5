"""Cost of gradients of 64 ANYmals on their feet beside their steps, and the memory they take.

    python -m tests.benchmarks.gradient_speed

Steps of 4 ms whose targets are held for five, after 2 s of such steps, in which robots whose targets do not move come
to rest. Times are the processor's on one thread, in turn, and of steps with derivatives by the start and all controls.
"Made again" keeps records of every √n-th step alone. Memory is by how much the peak of a process grows, of Linux with
the C library of GNU; the mark, without the rows that the caller reads, is (√n + 2) records and 2 kB more for each, of
every world.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import pysim
from tests.benchmarks.report import print_line
from tests.benchmarks.timing import take_turns

Array = np.ndarray[Any, Any]
SCENE = Path(__file__).parents[2] / "scenes" / "environments" / "anymal.toml"
WORLDS, STEPS, HOLD, BEFORE = 64, 25, 5, 500


def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
    return (q**2).sum((1, 2)), 2 * q, np.zeros_like(v)


def controls_of(worlds: pysim.Worlds, steps: int, size: float) -> Array:
    """Return targets (n, steps, inputs) about home, drawn anew every HOLD steps."""
    rng, home = np.random.default_rng(0), worlds.inputs.all[:, None].copy()
    moves = np.zeros((len(worlds), -(-steps // HOLD), home.shape[2]))
    moves[..., :12] = rng.uniform(-size, size, (*moves.shape[:2], 12))
    return home + np.repeat(moves, HOLD, axis=1)[:, :steps]


def parameters(scene: pysim.Scene) -> list[str]:
    """Return the paths of twenty masses of links."""
    paths = [path for path in pysim.Worlds(scene, 1).parameters if path.endswith(".mass")]
    return paths[:20]


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore", pysim.PysimWarning)
    scene = pysim.load_scene(SCENE)
    by = parameters(scene)
    print_line(f"{WORLDS} ANYmals, multiples of their steps; {len(by)} parameters")
    print_line(
        f"{'targets':>8} {'step [µs]':>10} {'gradient':>9} {'made again':>11} {'with parameters':>16}"
    )
    for size in (0.0, 0.1):
        worlds = pysim.Worlds(scene, WORLDS)
        worlds.step(steps=BEFORE, controls=controls_of(worlds, BEFORE, size))
        held, start = controls_of(worlds, STEPS, size), worlds.save()

        def steps(worlds: pysim.Worlds = worlds, held: Array = held, start: bytes = start) -> None:
            worlds.load(start)
            worlds.step(steps=STEPS, controls=held)

        def gradient(
            worlds: pysim.Worlds = worlds, held: Array = held, start: bytes = start, **keys: Any
        ) -> None:
            worlds.load(start)
            pysim.gradient(worlds, held, loss=loss, **keys)

        times = take_turns(
            {
                "step": steps,
                "kept": gradient,
                "again": partial(gradient, memory=0),
                "by": partial(gradient, by=by),
            },
            rounds=7,
        )
        us, of = (
            1e6 * times["step"] / WORLDS / STEPS,
            {k: t / times["step"] for k, t in times.items()},
        )
        print_line(f"{size:8} {us:10.2f} {of['kept']:9.2f} {of['again']:11.2f} {of['by']:16.2f}")
    memory()


def memory() -> None:
    """Print by how much the peak of processes of their own grows with gradients whose steps are made again."""
    print_line(f"{'steps':>6} {'loss':>8} {'peak + [MB]':>12} {'rows [MB]':>10} {'mark [MB]':>10}")
    sizes = {name: str(1 << 16) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")}
    for steps in (100, 1024):
        for loss_of in ("signal", "rows"):
            command = [sys.executable, "-m", "tests.benchmarks.gradient_speed", loss_of, str(steps)]
            subprocess.run(command, check=True, env={**os.environ, **sizes})


def print_peak(loss_of: str, steps: int) -> None:
    """Print by how much the peak of this process grows.

    Rows are those of the derivatives by the controls, and of a loss of rows: q and v, and its derivatives by them.
    """
    warnings.simplefilter("ignore", pysim.PysimWarning)
    scene = pysim.load_scene(SCENE)
    worlds = pysim.Worlds(scene, WORLDS)
    held, record = controls_of(worlds, steps, 0.1), len(worlds.save()) / WORLDS

    def run(count: int) -> None:
        own: Any = "joints.q[0]" if loss_of == "signal" else loss
        pysim.gradient(worlds, held[:, :count], loss=own, memory=0)

    run(9)  # memory that the first gradient of a process takes
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", "utf-8")  # the peak is that from now on
    before = _kilobytes("VmRSS")
    run(steps)
    grown = 1024 * (_kilobytes("VmHWM") - before)
    states = 2 * 8 * WORLDS * steps * (scene.model.nq + scene.model.nv) * (loss_of == "rows")
    mark = (math.sqrt(steps) + 2) * (record + 2048) * WORLDS
    print_line(
        f"{steps:6} {loss_of:>8} {grown / 1e6:12.1f} {(held.nbytes + states) / 1e6:10.1f} {mark / 1e6:10.1f}"
    )


def _kilobytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_peak(sys.argv[1], int(sys.argv[2]))
    else:
        main()
