"""Worlds held between calls: what a call costs beside its steps, resets, saving, and Go1 under new targets every 20 ms.

    python -m tests.benchmarks.worlds FOLDER    # the wheel `playground` is downloaded to FOLDER, see moving_models.py

Processor time of one thread; medians. Go1 beside `mujoco.batch` with its solver converged (moving_speed.py), both
with targets drawn anew every call.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim import _engine
from tests.benchmarks.moving_models import robots
from tests.benchmarks.moving_speed import SOLVERS, WORLDS, Peer
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Callable

SCENES = Path(__file__).parents[2] / "scenes"
MANY = 4096
GO1_WORLDS = WORLDS
STEP = 4e-3  # [s]
CALL = 20e-3  # [s] between two targets


def typical(call: Callable[[], object], calls: int) -> float:
    """Return the median processor time of a call [µs]."""
    times = []
    for _ in range(calls):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return 1e6 * median(times)


def overheads() -> None:
    """Print what calls cost that make no step, of pendulums and of standing ANYmals."""
    one = pysim.Worlds(SCENES / "pendulum.toml")

    def calls() -> None:
        for _ in range(1000):  # one is near the resolution of the clock
            one.step(steps=0)

    per_call = min(typical(calls, 1) / 1000 for _ in range(9))
    print_line(f"call without steps, one pendulum            {per_call:8.2f} µs")
    for name in ("pendulum", "anymal_pushed"):
        many = pysim.Worlds(SCENES / f"{name}.toml", MANY)
        many.step(steps=400)  # robots settle
        spent = typical(lambda: many.step(steps=0), 21)  # noqa: B023, used at once
        print_line(f"call without steps, {MANY} × {name:16} {1e3 * spent / MANY:8.0f} ns a world")
    few = np.arange(0, MANY, 100)
    reset = typical(lambda: many.reset(where=few), 21) / len(few)
    print_line(f"reset of a world                            {reset:8.2f} µs")
    saved = many.save()
    copied = np.frombuffer(saved, np.uint8)
    copying = typical(copied.copy, 21)
    saving, loading = typical(many.save, 9), typical(lambda: many.load(saved), 9)
    print_line(f"record of an ANYmal as saved                {len(saved) / MANY:8.0f} B")
    print_line(
        f"save, load of {MANY} ANYmals                   {saving / copying:8.1f} ×, {loading / copying:.1f} × a copy"
    )


class Held:
    """Go1 in worlds that are held, stepped by calls of 20 ms."""

    def __init__(self, path: Path) -> None:
        scene = pysim.load_scene(path) if path.suffix == ".toml" else path
        self.worlds = pysim.Worlds(scene, GO1_WORLDS)
        self.worlds.reset(keyframe="home")

    def advance(self, commands: Any) -> None:
        for k in range(commands.shape[1]):
            self.worlds.inputs["ctrl"][:] = commands[:, k]
            self.worlds.step(seconds=CALL)
            if self.worlds.lost.any():
                self.worlds.reset(where=self.worlds.lost, keyframe="home")


def go1(folder: Path, rounds: int) -> None:
    """Print the time of a step of Go1 under targets that change in every call."""
    robot = next(own for own in robots(folder) if own.name == "Go1")
    path = folder / "held_go1.xml"
    path.write_text(re.sub(r'timestep="[^"]*"', f'timestep="{STEP}"', robot.mjcf), "utf-8")
    mine = Held(path)
    peers = {name: Peer(robot, GO1_WORLDS, STEP, name, 2) for name in SOLVERS}
    programs: dict[str, Held | Peer] = {"pysim": mine, **peers}
    steps = round(CALL / STEP)
    for amplitude in (0.0, 0.05, 0.1, 0.3):
        rng = np.random.default_rng(0)
        times: dict[str, list[float]] = {name: [] for name in ("pysim", *SOLVERS)}
        for n in range(rounds + 1):
            commands = robot.commands(rng, amplitude, (GO1_WORLDS, 5))
            for name, own in programs.items():
                begin = time.process_time()
                own.advance(commands)
                if n:
                    times[name].append(time.process_time() - begin)
        us = {k: 1e6 * median(v) / (GO1_WORLDS * 5 * steps) for k, v in times.items()}
        peer = ", ".join(f"mujoco.batch {name} {us[name]:.2f}" for name in SOLVERS)
        print_line(f"Go1, targets ± {amplitude:4} rad: {us['pysim']:.2f} µs a step; {peer}")


def differing(folder: Path, rounds: int) -> None:
    """Print what it costs that masses, friction and gains of Go1 differ from world to world, and to draw them anew."""
    path = folder / "held_go1.xml"
    worlds = [pysim.Worlds(path, MANY) for _ in range(2)]
    parameters, rng = worlds[1].parameters, np.random.default_rng(0)
    drawn = {}
    for name in parameters:
        is_surface = name.endswith("friction") and "materials" in name
        if not (is_surface or name.endswith(("mass", "gain"))):
            continue
        factors = rng.uniform(0.9, 1.1, MANY)
        alike = [name, name.replace(".gain", ".bias")]  # of a servo
        for path_of_number in dict.fromkeys(alike):
            numbers = parameters[path_of_number]
            numbers *= factors.reshape(MANY, *[1] * (numbers.ndim - 1))
            drawn[path_of_number] = numbers.copy()
    times: list[list[float]] = [[], []]
    for held in worlds:
        held.reset(keyframe="home")
        held.step(seconds=10 * CALL)
    home = worlds[0].inputs["ctrl"].copy()
    for _ in range(rounds):
        targets = home + rng.uniform(
            -0.05, 0.05, home.shape
        )  # [rad]: also equal worlds move in ways of their own
        for held, spent in zip(worlds, times, strict=True):
            held.inputs["ctrl"][:] = targets
            begin = time.process_time()
            held.step(seconds=CALL)
            spent.append(time.process_time() - begin)
    equal, differ = (1e6 * median(spent) / (MANY * round(CALL / STEP)) for spent in times)
    print_line(
        f"Go1, equal and with {len(drawn)} numbers of their own: {equal:.2f}, {differ:.2f} µs a step"
    )
    few = np.arange(0, MANY, 100)

    def draw() -> None:
        others = rng.integers(0, MANY, len(few))
        for name, numbers in drawn.items():
            parameters[name][few] = numbers[others]
        parameters.accept()

    print_line(
        f"drawing them anew                           {typical(draw, 21) / len(few):8.2f} µs a world"
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="worlds held between calls")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print_line(f"{_engine.isa()}, one thread")
    overheads()
    go1(given.folder, given.rounds)
    differing(given.folder, given.rounds)


if __name__ == "__main__":
    main()
