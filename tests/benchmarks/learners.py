"""Control steps and seconds that learners need: rsl_rl, stable-baselines3 and the PPO of docs/examples.

    python -m tests.benchmarks.learners [SCENE] [--steps 1.5e6] [--worlds 256] [--seed 0] [--double]

All have a network 128-128 with ELU and the settings of `pysim learn`, on one thread and one after the other. A row at
every sixth of the control steps: processor time since the start, and the mean reward since the row before.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pysim.environments import Environment
from pysim.environments.learn import Learner
from pysim.environments.learn_by_stable_baselines import StableBaselinesLearner
from pysim.environments.learning_settings import Settings
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from pysim.environments.transition import Transition

ROOT = Path(__file__).parents[2]
ROWS = 6


class Watched(Environment):
    """Worlds that print how a learner does.

    Args:
        name: of the learner.
        steps: control steps of all worlds that it makes.
        path: the scene.
        n: worlds.
        options: of `Environment`.
    """

    def __init__(self, name: str, steps: float, path: Path, n: int, **options: Any) -> None:
        super().__init__(path, n, **options)
        self._learner, self._of_row = name, steps / ROWS
        self._steps, self._seen_rewards = 0, list[float]()
        self._begin = time.process_time()

    def step(self, actions: ArrayLike) -> Transition:
        """Make a control step, and print a row if it is time."""
        found = super().step(actions)
        self._seen_rewards.append(float(found.reward.mean()))
        before, self._steps = self._steps, self._steps + len(self)
        if int(before / self._of_row) < int(self._steps / self._of_row):
            spent = time.process_time() - self._begin
            reward = np.mean(self._seen_rewards)
            numbers = f"{self._steps / 1e6:.2f} | {spent:.1f} | {1e6 * spent / self._steps:.1f}"
            print_line(f"| {self._learner} | {numbers} | {reward:.3f} |")
            self._seen_rewards.clear()
        return found


def learn_by_rsl_rl(environment: Environment, steps: float, seed: int, *, mirrored: bool) -> None:
    """Learn as `pysim learn` does."""
    learner = Learner(environment, Settings(mirrored=mirrored), seed=seed)
    while learner.steps < steps:
        next(learner.iterations(1))


def learn_by_stable_baselines(environment: Environment, steps: float, seed: int) -> None:
    """Learn as `pysim learn --learner sb3` does, whose learning rate is fixed."""
    learner = StableBaselinesLearner(environment, Settings(), seed=seed)
    while learner.steps < steps:
        next(learner.iterations(1))


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="learners on one environment")
    parser.add_argument(
        "scene", nargs="?", type=Path, default=ROOT / "scenes/environments/cart_pole_swing_up.toml"
    )
    parser.add_argument("--steps", type=float, default=1.5e6)
    parser.add_argument("--worlds", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="step worlds in double precision")
    options = parser.parse_args()
    steps, seed = options.steps, options.seed
    own_ppo = run_path(str(ROOT / "docs/examples/ppo.py"))["learn"]
    ways: dict[str, Callable[[Environment], object]] = {
        "rsl_rl, mirror images": lambda own: learn_by_rsl_rl(own, steps, seed, mirrored=True),
        "rsl_rl": lambda own: learn_by_rsl_rl(own, steps, seed, mirrored=False),
        "stable-baselines3": lambda own: learn_by_stable_baselines(own, steps, seed),
        "docs/examples/ppo.py": lambda own: own_ppo(own, steps, seed),
    }
    if Environment(options.scene, 1).mirror is None:
        del ways["rsl_rl, mirror images"]
    torch.set_num_threads(1)
    print_line(
        "| learner | million control steps | s | µs a step | reward |\n|---|---|---|---|---|"
    )
    for name, way in ways.items():
        way(
            Watched(
                name, steps, options.scene, options.worlds, seed=seed, single=not options.double
            )
        )


if __name__ == "__main__":
    main()
