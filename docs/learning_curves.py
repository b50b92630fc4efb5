"""Learning curves of the page "Environments and learning": trains, and draws the returns of episodes.

    python docs/learning_curves.py [NAME ...]

Each takes two to eight minutes of processor time, the humanoid six. Needs the extras `learn` and `robots`.
"""

from __future__ import annotations

import sys
import time
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
    "go1": 3e6,
    "anymal": 3e6,
    "humanoid": 3.2e6,
}
LEGGED = ("go1", "anymal", "humanoid")  # with more worlds, in single precision
SEED = 0


def learn(name: str) -> tuple[list[float], list[float], float]:
    """Return control steps so far [million] and mean returns of episodes, by iteration, and the processor time [s]."""
    worlds = 512 if name in LEGGED else 256
    environment = Environment(SCENES / f"{name}.toml", worlds, seed=SEED, single=name in LEGGED)
    learner = Learner(environment, seed=SEED)
    steps, returns, begin = [], [], time.process_time()
    while learner.steps < STEPS[name]:
        progress = next(learner.iterations(1))
        steps.append(progress.steps / 1e6)
        returns.append(progress.episode_return)
    seconds = time.process_time() - begin
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
    axes.set_title(f"{seconds:.0f} s of processor time", fontsize=10)
    figure.savefig(DOCS / "_static" / f"learning_{name}.png")


for chosen in sys.argv[1:] or STEPS:
    draw(chosen, *learn(chosen))
