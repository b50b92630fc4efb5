"""Learning to walk here and around `mujoco.batch`: the same robot, task, network and learner.

    python -m tests.benchmarks.learning_speed FOLDER [--steps 5e6] [--worlds 512] [--seed 0] [--double]

FOLDER keeps the downloaded wheel `playground`, see `moving_models`. The task is that of `environment_speed`, around
`mujoco.batch` in NumPy from qpos and qvel alone; numbers of the scene do not differ. Both learn by `Learner` with its
defaults, mirror images too, on one thread, and take turns by iterations, so that other programs slow both equally.
Processor times are measured, of the physics' steps, of everything else that is an environment, and of the network.
A row is printed at every tenth of the control steps; its times are those since the start.

    python -m tests.benchmarks.learning_speed FOLDER --processes 2 --steps 3e6

measures the wall time of the whole training instead, with two processes of `ParallelLearner` on each side. The sides
take turns by iterations; the processes of the one that waits sleep. It takes about six minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pysim import _engine
from pysim.environments import Environment
from pysim.environments.learn import Learner
from pysim.environments.learning_settings import Progress
from pysim.environments.parallel_learning import ParallelLearner
from pysim.environments.transition import Transition
from tests.benchmarks.environment_speed import LENGTH, Mine, Peer, go1_mjcf, scene_of
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]
PEER = "mujoco.batch, converged"
PARTS = ("physics", "tables", "network")


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
        self.discount = like.discount
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


def peer_share(
    mjcf: str, path: Path, n: int, *, numbers: Sequence[int] | None = None
) -> PeerEnvironment:
    """Return the worlds around `mujoco.batch` of a process, with random numbers of their own."""
    own = PeerEnvironment(mjcf, n, "converged", Environment(path, 1))
    own.rng = np.random.default_rng([1, 0 if numbers is None else numbers[0]])
    Peer.reset(own, np.arange(n))
    own.observations = own.observed()
    return own


def measure_wall_time(mjcf: str, path: Path, options: argparse.Namespace) -> None:
    """Print the wall times of learning in several processes."""
    mine = f"pysim, {'double' if options.double else 'single'} precision"
    make: dict[str, Any] = {
        mine: partial(Environment, path, seed=1, single=not options.double),
        PEER: partial(peer_share, mjcf, path),
    }
    learners = {
        name: ParallelLearner(own, options.worlds, processes=options.processes, seed=options.seed)
        for name, own in make.items()
    }
    print_line(
        f"{_engine.isa()}, {options.worlds} worlds, {options.processes} processes; s of wall time"
    )
    print_line("| | million control steps | wall time | share | reward |\n|---|---|---|---|---|")
    seconds = dict.fromkeys(learners, 0.0)
    steps = 0
    while steps < options.steps:
        found = {}
        for name, own in learners.items():
            begin = time.perf_counter()
            found[name] = next(own.iterations(1))
            seconds[name] += time.perf_counter() - begin
        before, steps = steps, found[PEER].steps
        if int(10 * before / options.steps) < int(10 * steps / options.steps):
            for name, progress in found.items():
                share = seconds[name] / seconds[PEER]
                numbers = f"{steps / 1e6:.2f} | {seconds[name]:.1f} | {share:.2f}"
                print_line(f"| {name} | {numbers} | {progress.reward:.3f} |")


class Timed:
    """Processor time of learning, by what takes it.

    Args:
        timed_worlds: the worlds, whose `physics` counts the processor time of the physics [s].
        environment: the same, as a learner reads them.
        seed: of the network and the actions.
    """

    def __init__(self, timed_worlds: Mine | Peer, environment: Any, seed: int) -> None:
        self.timed_worlds, self.environment, self.total = timed_worlds, 0.0, 0.0
        self.learner = Learner(environment, seed=seed)
        self._random = torch.get_rng_state()
        worlds: Any = self.learner._worlds
        step = worlds.step

        def timed(actions: Any) -> Any:
            begin = time.process_time()
            found = step(actions)
            self.environment += time.process_time() - begin
            return found

        worlds.step = timed
        timed_worlds.physics = 0.0

    def iterate(self) -> Progress:
        """Make an iteration, with random numbers as if this learner were the only one."""
        torch.set_rng_state(self._random)
        begin = time.process_time()
        progress = next(self.learner.iterations(1))
        self.total += time.process_time() - begin
        self._random = torch.get_rng_state()
        return progress

    def seconds(self) -> Array:
        """Return the times of physics, tables and network so far [s]."""
        physics = self.timed_worlds.physics
        return np.array([physics, self.environment - physics, self.total - self.environment])


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="time of learning to walk")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=float, default=5e6)
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--double", action="store_true", help="step worlds in double precision")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    mjcf = go1_mjcf(options.folder)
    path = scene_of(options.folder, mjcf, randomised=False)
    if options.processes > 1:
        measure_wall_time(mjcf, path, options)
        return
    mine = Mine(path, options.worlds, 1, single=not options.double, clock=time.process_time)
    peer = PeerEnvironment(mjcf, options.worlds, "converged", Environment(path, 1))
    learners = {
        f"pysim, {'double' if options.double else 'single'} precision": Timed(
            mine, mine.environment, options.seed
        ),
        PEER: Timed(peer, peer, options.seed),
    }
    print_line(f"{_engine.isa()}, {options.worlds} worlds, one thread; s of processor time")
    names = " | ".join(PARTS)
    print_line(
        f"| | million control steps | {names} | together | share | reward |\n|---|---|---|---|---|---|---|---|"
    )
    steps = 0
    while steps < options.steps:
        found = {name: own.iterate() for name, own in learners.items()}
        before, steps = steps, next(iter(found.values())).steps
        if int(10 * before / options.steps) < int(10 * steps / options.steps):
            whole = learners[PEER].seconds().sum()
            for name, own in learners.items():
                seconds = own.seconds()
                numbers = " | ".join(f"{x:.0f}" for x in (*seconds, seconds.sum()))
                ratio, reward = seconds.sum() / whole, found[name].reward
                print_line(
                    f"| {name} | {steps / 1e6:.2f} | {numbers} | {ratio:.2f} | {reward:.3f} |"
                )


if __name__ == "__main__":
    from tests.benchmarks.learning_speed import main as imported

    imported()  # processes of a learner cannot import functions of `__main__`
