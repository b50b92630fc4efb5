"""Cost of gradients of 64 ANYmals on their feet beside their steps, and the memory they take.

    python -m tests.benchmarks.gradient_speed

Steps of 4 ms whose targets are held for five; times are the processor's on one thread, in turn, and of steps with
derivatives by the start and all controls. "Made again" keeps records of every √n-th step alone. Memory is by how much
the process's peak grows; the last column is (√n + 2) records and 2 kB more for each, of every world.
"""

from __future__ import annotations

import math
import resource
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
WORLDS, STEPS, HOLD = 64, 25, 5


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
        worlds.step(steps=100, controls=controls_of(worlds, 100, size))
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
    memory(scene)


def memory(scene: pysim.Scene, steps: int = 1024) -> None:
    """Print by how much the peak grows with a gradient whose steps are made again."""
    worlds = pysim.Worlds(scene, WORLDS)
    held, record = controls_of(worlds, steps, 0.1), len(worlds.save()) / WORLDS
    pysim.gradient(worlds, held[:, :4], loss=loss)
    rows = held.nbytes + 4 * 8 * WORLDS * steps * (
        scene.model.nq + scene.model.nv
    )  # of q, v, and by them
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pysim.gradient(worlds, held, loss=loss, memory=0)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    allowed = (math.sqrt(steps) + 2) * (record + 2048) * WORLDS
    print_line(
        f"{steps} steps: peak + {grown / 1e6:.1f} MB, some {rows / 1e6:.1f} MB of them rows of q, v and controls; "
        f"{allowed / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
