"""Learning to walk here and around `mujoco.batch`: the same robot, task, network and learner, in processor time.

    python -m tests.benchmarks.learning_speed FOLDER [--steps 1e6] [--worlds 512] [--whole 7e6] [--seed 0]

FOLDER keeps the downloaded wheel `playground`, see `moving_models`. The task is that of `environment_speed`, around
`mujoco.batch` in NumPy from qpos and qvel alone; numbers of the scene do not differ. Both learn by `Learner` with its
defaults, mirror images too, on one thread. Processor times are measured, of the physics' steps, of everything else that
is an environment, and of the network. What `--whole` control steps take is extrapolated from the last tenth, in which
the robots walk.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from pysim import _engine
from pysim.environments import Environment
from pysim.environments.environment import Transition
from pysim.environments.learn import Learner
from tests.benchmarks.environment_speed import LENGTH, Mine, Peer, go1_mjcf, scene_of
from tests.benchmarks.report import print_line

Array = np.ndarray[Any, Any]
LAST = 0.1  # share of the control steps from which times are extrapolated


class PeerEnvironment(Peer):
    """The task around `mujoco.batch`, with what a learner reads of an `Environment`.

    Args:
        mjcf: the robot.
        worlds: number of worlds.
        solver: of MuJoCo.
        like: an environment of the same task, for sizes, names and mirror images.
    """

    def __init__(self, mjcf: str, worlds: int, solver: str, like: Environment) -> None:
        super().__init__(mjcf, worlds, 1, solver, clock=time.process_time)
        self.path, self.period, self.length = like.path, like.period, LENGTH
        self.action_size, self.action_range = like.action_size, like.action_range
        self.observation_size, self.critic_size = like.observation_size, like.critic_size
        self.reward_names, self.mirror = ("reward",), like.mirror
        self.terms = np.zeros((worlds, 1))
        self.observations = self.observed()

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def critic(self) -> Array:
        """Observations, the trunk's velocity and its height."""
        own = np.concatenate([self.velocity(), self.q[:, 2:3]], axis=1)
        return np.concatenate([self.observations, own.astype(np.float32)], axis=1)

    def reset(self, chosen: Array | None = None, *, where: Array | None = None) -> Array:
        """Begin episodes of chosen worlds; `step` has begun those of `where`."""
        del where
        if chosen is None:
            return self.observations
        super().reset(chosen)
        return np.zeros(0)

    def step(self, actions: Array) -> Transition:
        """Make a control step, with resets."""
        self.observations, reward, fell, truncated = super().step(actions)
        self.terms[:, 0] = reward
        return Transition(self.observations, reward, fell, truncated)


class Timed:
    """Processor time of learning, by what takes it.

    Args:
        own: the worlds, whose `physics` counts the processor time of the physics [s].
        environment: the same, as a learner reads them.
        seed: of the network and the actions.
    """

    def __init__(self, own: Mine | Peer, environment: Any, seed: int) -> None:
        self.own, self.environment, self.reward = own, 0.0, 0.0
        self.learner = Learner(environment, seed=seed)
        worlds: Any = self.learner._worlds
        step = worlds.step

        def timed(actions: Any) -> Any:
            begin = time.process_time()
            found = step(actions)
            self.environment += time.process_time() - begin
            return found

        worlds.step = timed

    def learn(self, steps: float) -> Array:
        """Learn until so many control steps; return times of physics, tables and network [s a control step]."""
        first, before, begin = self.learner.steps, self._parts(), time.process_time()
        while self.learner.steps < steps:
            self.reward = next(self.learner.iterations(1)).reward
        total = time.process_time() - begin
        physics, environment = self._parts() - before
        parts = np.array([physics, environment - physics, total - environment])
        return parts / (self.learner.steps - first)

    def _parts(self) -> Array:
        return np.array([self.own.physics, self.environment])


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="processor time of learning to walk")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--whole", type=float, default=7e6)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    mjcf = go1_mjcf(given.folder)
    path = scene_of(given.folder, mjcf, randomised=False)
    print_line(f"{_engine.isa()}, {given.worlds} worlds, one thread; µs of processor time")
    print_line(
        f"| | physics | tables | network | a control step | {given.whole:.3g} control steps | "
        f"reward after {given.steps:.3g} |\n|---|---|---|---|---|---|---|"
    )
    for name in ("pysim, single precision", "pysim, double precision", "mujoco.batch, converged"):
        if name.startswith("pysim"):
            own = Mine(path, given.worlds, 1, single="single" in name, clock=time.process_time)
            timed = Timed(own, own.environment, given.seed)
        else:
            peer = PeerEnvironment(mjcf, given.worlds, "converged", Environment(path, 1))
            timed = Timed(peer, peer, given.seed)
        early = timed.learn((1 - LAST) * given.steps)
        late = timed.learn(given.steps)
        numbers = " | ".join(f"{1e6 * x:.1f}" for x in (*late, late.sum()))
        whole = (early * (1 - LAST) * given.steps).sum() + late.sum() * (
            given.whole - (1 - LAST) * given.steps
        )
        print_line(f"| {name} | {numbers} | {whole:,.0f} s | {timed.reward:.3f} |")


if __name__ == "__main__":
    main()
