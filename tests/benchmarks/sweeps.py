"""Many runs: rollouts of thousands of worlds, loading them, writing their dataset, and the import.

Run by itself: python -m tests.benchmarks.sweeps
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

import pysim
from pysim import _engine
from pysim.scene import read_sweep
from pysim.simulation import load_scenes
from pysim.sweeps import run_sweep
from pysim.sweeps.dataset import SweepFile
from pysim.sweeps.parameters import plan_of
from tests.benchmarks.report import cpu_name, print_line

if TYPE_CHECKING:
    from collections.abc import Callable

SCENES = Path(__file__).parents[2] / "scenes"
STEP, DURATION = 1e-3, 10.0  # [s]
ROUNDS = 5
LINE = "{:58} {:>9} {:>9}"


def least(
    *works: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Return the least time of some calls of each [s], which take turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for k, work in enumerate(works):
            begin = clock()
            work()
            times[k].append(clock() - begin)
    return [min(own) for own in times]


def pendulums(worlds: int) -> Callable[[int], object]:
    """Return double pendulums that swing for 10 s in steps of 1 ms of rk4, on some threads."""
    scene = pysim.load_scene(SCENES / "double_pendulum.toml")
    q0 = np.random.default_rng(0).uniform(-1.0, 1.0, (worlds, scene.model.nq))
    steps = round(DURATION / STEP)

    def run(threads: int) -> object:
        return pysim.rollout(
            scene.model, q0, np.zeros_like(q0), None, STEP, "rk4", steps=steps, every=steps // 100, threads=threads
        )  # fmt: skip

    return run


def worlds_of_cars(worlds: int) -> dict[str, Any]:
    """Return values of the ten parameters that the quarter car's `[sweep]` samples, one per world."""
    table = read_sweep(SCENES / "quarter_car.toml")
    plan = plan_of(table.sample, worlds, "random", 0)
    return {key: values.tolist() for key, values in plan.values().items()}


def share_of_writing(worlds: int) -> float:
    """Return the share of a sweep's processor time that its dataset takes."""
    spent = 0.0
    write = SweepFile.write

    def timed(*arguments: Any) -> None:
        nonlocal spent
        begin = time.process_time()
        write(*arguments)
        spent += time.process_time() - begin

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(SweepFile, "write", timed):
        begin = time.process_time()
        run_sweep(
            SCENES / "quarter_car.toml", None, worlds, output=Path(folder) / "cars.nc", method=None, seed=None,
            signals=None, overrides=None, threads=1, piece=256, progress=None, overwrite=False, allow_code=False,
        )  # fmt: skip
        return spent / (time.process_time() - begin)


def time_of_import() -> float:
    """Return the least time of `import pysim` in a new process [s]."""
    text = "import time; a = time.process_time(); import pysim; print(time.process_time() - a)"
    command = [sys.executable, "-c", text]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(ROUNDS)
    )


def main() -> None:
    """Print the table."""
    cores = os.cpu_count() or 1
    print_line(
        f"CPU        {cpu_name()}, {cores} cores, {_engine.isa()}, pysim {pysim.__version__}"
    )
    print_line(LINE.format("what", "measured", "mark"))
    worlds = 1000
    run = pendulums(worlds)
    (one,) = least(lambda: run(1))
    print_line(
        LINE.format(
            "10 000 double pendulums, 10 s, two cores [s]", f"{one * 10_000 / worlds / 2:.1f}", "25"
        )
    )
    few = pendulums(worlds // 5)
    alone, two = least(lambda: few(1), lambda: few(2), clock=time.perf_counter)
    print_line(LINE.format("two threads beside one, wall time", f"{alone / two:.2f}", "1.8"))
    damping = {"joint[0].damping": np.linspace(0.0, 1.0, worlds).tolist()}
    for name, values in (("spring", damping), ("quarter_car", worlds_of_cars(worlds))):
        path = SCENES / f"{name}.toml"
        (load,) = least(lambda path=path, values=values: load_scenes(path, values))  # type: ignore[misc]
        what = f"loading 10 000 worlds of {name} [s]"
        print_line(LINE.format(what, f"{load * 10_000 / worlds:.1f}", "5"))
    share = share_of_writing(worlds)
    print_line(LINE.format("dataset's share of a sweep", f"{share:.1%}", "10 %"))
    print_line(LINE.format("import pysim [s]", f"{time_of_import():.3f}", "0.15"))


if __name__ == "__main__":
    main()
