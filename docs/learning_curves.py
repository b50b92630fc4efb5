"""Learning curves of the page "Environments and learning": trains, and draws the returns of episodes.

    python docs/learning_curves.py [NAME ...]

Each takes a minute or two on two processors. Needs the extras `learn` and `robots`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pysim  # noqa: F401, before torch
from pysim.environments import Environment
from pysim.environments.learn import Learner

DOCS = Path(__file__).parent
SCENES = DOCS.parent / "scenes" / "environments"
STEPS = {  # control steps of all worlds
    "cart_pole": 8e5,
    "cart_pole_swing_up": 1e6,
    "reacher": 8e5,
    "gripper": 3.5e5,
}
WORLDS, SEED = 256, 0


def learn(name: str) -> tuple[list[float], list[float], float]:
    """Return control steps so far [million] and mean returns of episodes, by iteration, and the wall time [s]."""
    environment = Environment(SCENES / f"{name}.toml", WORLDS, threads=2, seed=SEED)
    learner = Learner(environment, seed=SEED)
    steps, returns, seconds = [], [], 0.0
    while learner.steps < STEPS[name]:
        progress = next(learner.iterations(1))
        steps.append(progress.steps / 1e6)
        seconds = progress.seconds
        returns.append(progress.episode_return)
    print(f"{name}: return {returns[-1]:.1f} after {seconds:.0f} s")  # noqa: T201
    return steps, returns, seconds


def draw(name: str, steps: list[float], returns: list[float], seconds: float) -> None:
    """Write `_static/learning_NAME.png`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4, 2.4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.plot(steps, returns, color="#4c78a8")
    axes.set_xlabel("control steps [million]")
    axes.set_ylabel("return of an episode")
    axes.set_xlim(0, steps[-1])
    axes.grid(alpha=0.3)
    axes.set_title(f"{seconds:.0f} s of wall time", fontsize=10)
    figure.savefig(DOCS / "_static" / f"learning_{name}.png")


for chosen in sys.argv[1:] or STEPS:
    draw(chosen, *learn(chosen))
