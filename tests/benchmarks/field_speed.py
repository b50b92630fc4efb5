"""Contact with signed distances and terrains: µs a step of a world, and what a contact point adds to it.

    python -m tests.benchmarks.field_speed

A body with sixteen balls flies, or lies on a plane that is built in, on a plane that is a signed distance in Python, on
one with waves that are too low to matter, or on a terrain of 10⁴ or 10⁶ cells. Loading, too, is timed for the terrains.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pysim
from tests.benchmarks.report import print_line
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

WORLDS, STEPS, BALLS, RADIUS = 64, 100, 16, 0.02
SHAPES = """import numpy as np
from pysim.shapes import SignedDistance, shape


@shape("level")
class Level(SignedDistance):
    def distance(self, p):
        return p[2]

    def bounds(self):
        return (-1, -1, -1), (1, 1, 1)


@shape("waves")
class Waves(SignedDistance):
    def distance(self, p):
        return p[2] - 1e-12 * np.sin(9 * p[0]) * np.cos(7 * p[1])

    def bounds(self):
        return (-1, -1, -1), (1, 1, 1)
"""
GROUNDS = {
    "in the air": ("plane = { offset = -1e6 }", 0),
    "plane": ("plane = {}", 0),
    "plane in Python": ('field = { type = "level" }', 0),
    "waves in Python": ('field = { type = "waves" }', 0),
    "terrain, 10⁴ cells": ('height_field = { file = "terrain.npy", size = [10, 10] }', 101),
    "terrain, 10⁶ cells": ('height_field = { file = "terrain.npy", size = [10, 10] }', 1001),
}


def load(folder: Path, ground: str, nodes: int) -> pysim.Scene:
    """A flat body on sixteen balls over a ground."""
    (folder / "shapes.py").write_text(SHAPES, "utf-8")
    if nodes:
        np.save(folder / "terrain.npy", np.zeros((nodes, nodes)))
    places = np.stack(np.meshgrid(*2 * [np.linspace(-0.3, 0.3, 4)]), axis=-1).reshape(-1, 2)
    balls = ", ".join(
        f"{{ sphere = {{ radius = {RADIUS} }}, at = {{ xyz = [{x}, {y}, 0] }}, density = 1000 }}"
        for x, y in places + 0.013
    )
    text = f"""
plugins = ["shapes.py"]
[[ground]]
{ground}
[[body]]
name = "table"
shape = [{balls}]
collision = true
[[joint]]
name = "moves"
type = "free"
child = "table"
start = {{ xyz = [0, 0, {RADIUS}] }}
[simulation]
duration = 1.0
step = 1e-3
"""
    path = folder / f"{nodes}.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path, allow_code=True)


def stepping(scene: pysim.Scene) -> Callable[[], object]:
    """Steps of worlds that have come to rest."""
    worlds = pysim.Worlds(scene, WORLDS)
    worlds.step(steps=1000)
    return lambda: worlds.step(steps=STEPS)


def main() -> None:
    """Print a row for every ground."""
    work = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (ground, nodes) in GROUNDS.items():
            start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            scene = load(Path(folder), ground, nodes)
            work[name] = stepping(scene)
            grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            print_line(
                f"{name}: loaded in {time.process_time() - start:.2f} s, {grown / 1024:.0f} MiB"
            )
    print_line("| | µs a step | ns a point | speed relative to the plane |")
    times = take_turns(work, rounds=15)
    air = times["in the air"]
    plane = times["plane"] - air
    for name, seconds in times.items():
        step = 1e6 * seconds / WORLDS / STEPS
        point = 1e9 * (seconds - air) / WORLDS / STEPS / BALLS
        speed = f"{plane / (seconds - air):.2f}" if seconds > air else "–"
        print_line(f"| {name} | {step:.2f} | {point:.0f} | {speed} |")


if __name__ == "__main__":
    main()
