"""Control steps a second of cart-poles beside Gymnasium's vector modes, as a Markdown table.

    python -m tests.benchmarks.vector_modes [--worlds 64 1024 16384] [--rounds 5]

pysim runs scenes/environments/cart_pole.toml, two steps of 10 ms of a rail, a hinge and a motor; Gymnasium's
`CartPole-v1` is one Euler step of 20 ms of a formula. Actions are drawn before; rewards, ends and resets are included,
all in the mode "next step". Sync and Async have one formula a world, `vector_entry_point` is NumPy over all worlds.
They take turns; times are wall times, and medians of the rounds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

import pysim.gym
from pysim import _engine
from tests.benchmarks.report import print_line
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

SCENE = Path(__file__).parents[2] / "scenes/environments/cart_pole.toml"
MOST_SYNC, MOST_ASYNC = 1024, 64  # worlds; Async has a process for each
DRAWN = 32  # actions of all worlds
SECONDS = 0.2  # of a round of a way, about


def ways_of(worlds: int) -> dict[str, Callable[[], Any]]:
    """Return what makes the vector environment of each way."""
    gym = partial(gymnasium.make_vec, "CartPole-v1", worlds)
    ways: dict[str, Callable[[], Any]] = {
        "pysim": partial(pysim.gym.make_vec, SCENE, worlds),
        "pysim, single precision": partial(pysim.gym.make_vec, SCENE, worlds, single=True),
        "pysim, two threads": partial(pysim.gym.make_vec, SCENE, worlds, threads=2),
        "vector_entry_point": partial(gym, vectorization_mode="vector_entry_point"),
    }
    if worlds <= MOST_SYNC:
        ways["Sync"] = partial(gym, vectorization_mode="sync")
    if worlds <= MOST_ASYNC:
        ways["Async"] = partial(gym, vectorization_mode="async")
    return ways


def steps_of(own: Any, actions: list[Any]) -> Callable[[], object]:
    """Return what makes a control step of a vector environment, with one action after the other."""
    own.reset(seed=1)
    following = cycle(actions)
    return lambda: own.step(next(following))


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="cart-poles beside Gymnasium's vector modes")
    parser.add_argument("--worlds", nargs="+", type=int, default=[64, 1024, 16384])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print_line(f"{_engine.isa()}, gymnasium {gymnasium.__version__}; control steps/s\n")
    print_line("| worlds | way | control steps/s | a call |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    for worlds in options.worlds:
        discrete = [rng.integers(0, 2, worlds) for _ in range(DRAWN)]
        forces = [rng.uniform(-1, 1, (worlds, 1)).astype(np.float32) for _ in range(DRAWN)]
        environments = {name: make() for name, make in ways_of(worlds).items()}
        turns = {
            name: steps_of(own, forces if "pysim" in name else discrete)
            for name, own in environments.items()
        }
        clock = time.perf_counter
        for name, took in take_turns(
            turns, rounds=options.rounds, budget=SECONDS, clock=clock
        ).items():
            environments[name].close()
            print_line(f"| {worlds} | {name} | {worlds / took:,.0f} | {1e6 * took:,.0f} µs |")


if __name__ == "__main__":
    main()
