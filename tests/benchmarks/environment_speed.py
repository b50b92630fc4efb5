"""Control steps a second of Go1's environment, beside its physics alone and the same around `mujoco.batch`.

    python -m tests.benchmarks.environment_speed FOLDER [--worlds 1024] [--threads 2] [--rounds 5] [--steps 20]

FOLDER keeps the downloaded wheel `playground`, see `moving_models`; both programs read its Go1, whose feet collide.
The environment is that of scenes/environments/go1.toml: 48 observations with noise, 9 rewards, two ends, commands,
pushes, starts at random and resets, and with and without numbers that differ. Around `mujoco.batch` the same is
written in NumPy from qpos and qvel alone, as cheaply as it can be: no sensor and no forward pass is computed for it.
The sensors of its MJCF, which the environment does not read, are left out in both.
Actions are uniform within ±1 of 0.3 rad; five steps of 4 ms are a control step. The programs take turns; times are
wall times, and medians of the rounds.
"""

from __future__ import annotations

import argparse
import re
import time
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import mujoco.batch
import numpy as np

from pysim import _engine
from pysim.environments import Environment
from pysim.scene.toml.text import toml_value
from tests.benchmarks.moving_models import robots
from tests.benchmarks.moving_speed import SOLVERS
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
SCENE = Path(__file__).parents[2] / "scenes/environments/go1.toml"
STEP, EVERY, LENGTH, PERIOD = 4e-3, 5, 1000, 0.02
SCALE, LIMIT = 0.3, 100.0
NOISE = np.repeat([0.1, 0.2, 0.05, 0.0, 0.03, 1.5, 0.0], [3, 3, 3, 3, 12, 12, 12])
FACTORS = np.repeat([2.0, 0.25, 1.0, 1.0, 1.0, 0.05, 1.0], [3, 3, 3, 3, 12, 12, 12])
RANGES = np.array([1.0, 0.5, 1.0])  # of commands
COMMANDS, PUSHES = (2.0, 6.0), (5.0, 10.0)  # [s] between them


def go1_mjcf(folder: Path) -> str:
    """Return the MJCF of Go1 with the benchmark's step, and make the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mjcf = next(robot.mjcf for robot in robots(folder) if robot.name == "Go1")
    return re.sub(r'timestep="[^"]*"', f'timestep="{STEP}"', mjcf)


def scene_of(folder: Path, mjcf: str, *, randomised: bool) -> Path:
    """Return the environment's file with the robot of an MJCF instead of its own."""
    unread = re.compile(r"<sensor>.*?</sensor>", re.DOTALL)
    (folder / "go1.xml").write_text(unread.sub("", mjcf), "utf-8")
    tables = tomllib.loads(SCENE.read_text("utf-8").replace("root_joint", "trunk_joint"))
    home = mujoco.MjModel.from_xml_string(mjcf).key("home").ctrl.tolist()
    for other in ("ground", "materials", "actuator", "inertia"):  # the MJCF has its own
        del tables[other]
    tables["model"] = [{"file": "go1.xml", "keyframe": "home", "collision": "file"}]
    tables["signal"] = [own for own in tables["signal"] if own["name"] != "target"]
    next(own for own in tables["signal"] if own["name"] == "home")["value"] = home
    environment = tables["environment"]
    environment["action"] |= {"input": "ctrl", "offset": home}
    displaced = environment["start"]["displacement"]
    displaced["??_*_joint"] = displaced.pop("*_joint")
    numbers = {own["path"]: own for own in environment.pop("randomise")}
    numbers["actuator.servos.kp"]["path"] = "joint.*_joint.damping"
    friction = numbers["materials.default.friction"]
    friction |= {"path": "materials.*.friction", "scale": friction.pop("value")}
    if randomised:
        environment["randomise"] = list(numbers.values())
    path = folder / f"go1_{'randomised' if randomised else 'equal'}.toml"
    path.write_text("".join(f"{key} = {toml_value(x)}\n" for key, x in tables.items()), "utf-8")
    return path


class Mine:
    """The environment of pysim."""

    def __init__(
        self,
        path: Path,
        worlds: int,
        threads: int,
        *,
        single: bool,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.environment = Environment(path, worlds, threads=threads, single=single)
        self.environment.reset(seed=1)
        self.clock = clock
        self.physics = 0.0  # [s] so far, of the steps alone
        self.environment.worlds.step = self._timed(self.environment.worlds.step)  # type: ignore[method-assign]

    def _timed(self, steps: Callable[..., None]) -> Callable[..., None]:
        def step(**given: int) -> None:
            begin = self.clock()
            steps(**given)
            self.physics += self.clock() - begin

        return step

    def step(self, actions: Array) -> None:
        """Make a control step, with resets."""
        found = self.environment.step(actions)
        done = found.terminated | found.truncated
        if done.any():
            self.environment.reset(where=done)


class Peer:
    """The same around `mujoco.batch`."""

    def __init__(
        self,
        mjcf: str,
        worlds: int,
        threads: int,
        solver: str,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        model = mujoco.MjModel.from_xml_string(mjcf)
        for name, value in {"timestep": STEP, **SOLVERS[solver]}.items():
            setattr(model.opt, name, value)
        self.batch = mujoco.batch.Batch(model, nsim=worlds, nthread=threads)
        self.q, self.v, self.ctrl = (self.batch.bind(name) for name in ("qpos", "qvel", "ctrl"))
        self.start, self.home = model.key("home").qpos, model.key("home").ctrl
        self.rng = np.random.default_rng(1)
        self.action, self.command = np.zeros((worlds, 12)), np.zeros((worlds, 3))
        self.steps, self.physics = np.zeros(worlds, int), 0.0
        self.turn, self.push = np.zeros(worlds, int), np.zeros(worlds, int)  # next control steps
        self.clock = clock
        self.reset(np.arange(worlds))

    def reset(self, chosen: Array) -> Any:  # what a learner reads, in `learning_speed`
        """Begin episodes."""
        n, rng = len(chosen), self.rng
        self.batch.reset(chosen.astype(np.int32), stage=mujoco.mjtStage.mjSTAGE_NONE)
        q = np.tile(self.start, (n, 1))
        half = rng.uniform(-np.pi, np.pi, n) / 2
        q[:, 3], q[:, 6] = np.cos(half), np.sin(half)
        q[:, 7:] += rng.uniform(-0.1, 0.1, (n, 12))
        self.q[chosen], self.v[chosen] = q, 0.0
        self.v[chosen, :3] = rng.uniform(-0.3, 0.3, (n, 3))
        self.action[chosen], self.steps[chosen] = 0.0, 0
        self.command[chosen] = RANGES * rng.uniform(-1, 1, (n, 3))
        self.turn[chosen], self.push[chosen] = self._wait(COMMANDS, n), self._wait(PUSHES, n)

    def _wait(self, span: tuple[float, float], n: int) -> Array:
        """Return control steps to the next event of n worlds."""
        return np.rint(self.rng.uniform(*span, n) / PERIOD).astype(int)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Make a control step, with resets; return observations, rewards, ends and truncations."""
        action = np.clip(actions, -4, 4)
        rate = action - self.action
        self.action[:] = action
        self.ctrl[:] = self.home + SCALE * action
        begin = self.clock()
        self.batch.step(nstep=EVERY)
        self.physics += self.clock() - begin
        self.steps += 1
        frame = self._frame()
        velocity, turning, up, pose_error = (
            frame[:, own] for own in (slice(3), slice(3, 6), slice(6, 9), slice(12, 24))
        )
        tipped, low = up[:, 2] < 0.4, self.q[:, 2] < 0.14
        fell = tipped | low
        reward = np.exp(-((self.command[:, :2] - velocity[:, :2]) ** 2).sum(axis=1) / 0.25)
        reward += 0.5 * np.exp(-((self.command[:, 2] - turning[:, 2]) ** 2) / 0.25)
        reward -= 0.5 * (velocity[:, 2] ** 2 + 0.04 * (turning[:, :2] ** 2).sum(axis=1))
        reward -= 5.0 * (up[:, :2] ** 2).sum(axis=1) + 0.01 * (rate**2).sum(axis=1)
        reward -= 20.0 * (self.q[:, 2] - 0.27) ** 2
        reward -= 0.05 * (pose_error**2).sum(axis=1) + 5.0 * tipped + 5.0 * low
        truncated = (self.steps >= LENGTH) & ~fell
        due = np.flatnonzero(self.steps >= self.turn)
        self.command[due] = RANGES * self.rng.uniform(-1, 1, (len(due), 3))
        self.turn[due] = self.steps[due] + self._wait(COMMANDS, len(due))
        pushed = np.flatnonzero(self.steps >= self.push)
        self.v[pushed, :2] += self.rng.uniform(-0.5, 0.5, (len(pushed), 2))
        self.push[pushed] = self.steps[pushed] + self._wait(PUSHES, len(pushed))
        done = np.flatnonzero(fell | truncated)
        if len(done):
            self.reset(done)
        frame = self._frame() if len(done) + len(due) + len(pushed) else frame
        return self.observed(frame), reward, fell, truncated

    def observed(self, frame: Array | None = None) -> Array:
        """Return observations with noise, from a frame of now if it is given."""
        frame = self._frame() if frame is None else frame
        frame += NOISE * self.rng.uniform(-1, 1, frame.shape)
        frame *= FACTORS
        return np.clip(frame, -LIMIT, LIMIT).astype(np.float32)

    def _frame(self) -> Array:
        w, x, y, z = self.q[:, 3:7].T
        up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
        parts = (
            self.velocity(),
            self.v[:, 3:6],
            up,
            self.command,
            self.q[:, 7:] - self.start[7:],
            self.v[:, 6:],
            self.action,
        )
        return np.concatenate(parts, axis=1)

    def velocity(self) -> Array:
        """Return the trunk's velocity in its axes."""
        w, axis, v = self.q[:, 3:4], self.q[:, 4:7], self.v[:, :3]
        turned = np.cross(v, axis)  # v rotated backwards by the quaternion
        return v + 2 * (w * turned + np.cross(turned, axis))


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="control steps a second of Go1's environment")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    mjcf = go1_mjcf(options.folder)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (options.steps, options.worlds, 12))
    ways: dict[str, Mine | Peer] = {}
    for name, randomised in (("pysim", False), ("pysim, numbers drawn", True)):
        path = scene_of(options.folder, mjcf, randomised=randomised)
        for precision, single in (("double", False), ("single", True)):
            mine = Mine(path, options.worlds, options.threads, single=single)
            ways[f"{name}, {precision} precision"] = mine
    for solver in ("converged", "file"):
        ways[f"mujoco.batch, {solver}"] = Peer(mjcf, options.worlds, options.threads, solver)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(options.rounds + 1):  # the first one settles
        for name, environment in ways.items():
            begin, physics = time.perf_counter(), environment.physics
            for action in actions:
                environment.step(action)
            total = time.perf_counter() - begin
            times[name].append((total, environment.physics - physics))
    print_line(f"{_engine.isa()}, {options.worlds} worlds, {options.threads} threads")
    print_line(
        "| | control steps/s | physics alone | tables | × mujoco.batch, converged |\n|---|---|---|---|---|"
    )
    made = options.steps * options.worlds
    seconds = {name: np.median(environment[1:], axis=0) for name, environment in times.items()}
    base = seconds["mujoco.batch, converged"][0]
    for name, (total, physics) in seconds.items():
        cells = f"{made / total:,.0f} | {made / physics:,.0f} | {total / physics - 1:.0%} | {base / total:.2f}"
        print_line(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
