"""Speed of robots in motion in contact beside `mujoco.batch`, as a Markdown table.

    python -m tests.benchmarks.moving_speed FOLDER [--isa avx512] [--robots Go1 gripper] [--steps 2 4]
        [--rounds 4] [--worlds 64] [--commands 50] [--alone] [--motrix]

FOLDER keeps the downloaded wheel `playground`, see `moving_models`. Both programs read one MJCF and run the same
commands, drawn anew every 20 ms about the home pose, on one thread; they take turns within one run, and times are the
processor's. "Single" are worlds of pysim in single precision. MuJoCo runs with three settings of its solver:

* converged: Newton, at most 100 iterations of 50 trials, tolerance 1e-10, line search 1e-3; constraint forces agree
  with those of tolerance 0 to rounding;
* defaults: those of a file that sets none, at most 100 iterations of 50 trials, tolerance 1e-8, line search 1e-2;
* file: what the file sets. Go1's has one iteration of five trials, the humanoid's four of eight.

With `--motrix`, MotrixSim (`pip install motrixsim==0.10.1`), which computes in single precision, takes its turn, too,
with at most 100 iterations and its own tolerance of 1e-4.

Scheme, friction cone and all else are the file's, but for the step. Mean heights of the free body show that the
programs simulate the same motion. A world whose state becomes NaN, or that ends with an error, counts as lost and
begins again. The humanoid at full torque, a hundred steps of 5 ms:

    python -m tests.benchmarks.moving_speed FOLDER --robots humanoid "humanoid on floor" --steps 5
        --worlds 128 --commands 25
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

import pysim
from pysim import _engine
from tests.benchmarks.moving_models import MovingRobot, robots
from tests.benchmarks.report import print_line
from tests.scheme_numbers import scheme_numbers

Array = np.ndarray[Any, Any]
HOLD = 0.02  # [s] that a command acts
WORLDS, COMMANDS = 64, 50  # of a round, by default
SOLVERS: dict[str, dict[str, float]] = {
    "converged": {"iterations": 100, "ls_iterations": 50, "tolerance": 1e-10, "ls_tolerance": 1e-3},
    "defaults": {"iterations": 100, "ls_iterations": 50, "tolerance": 1e-8, "ls_tolerance": 1e-2},
    "file": {},
}
COLUMNS = (
    "", "commands", "step", "pysim", "single", "MuJoCo converged", "defaults", "file", "MotrixSim", "ratio", "single",
    "iterations", "repeated", "lost", "height", "single", "MuJoCo's", "MotrixSim's",
)  # fmt: skip
HEAD = f"\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def scene_of(robot: MovingRobot, step: float, folder: Path) -> pysim.Scene:
    """Return the robot's scene, whose actuators follow inputs."""
    names = [own.name for own in mujoco.MjSpec.from_string(robot.mjcf).actuators]
    (folder / f"{robot.name}.xml").write_text(robot.mjcf, "utf-8")
    commands = ", ".join(f'"{name}" = "command {k}"' for k, name in enumerate(names))
    inputs = "".join(
        f'[[signal]]\nname = "command {k}"\ntype = "input"\n' for k in range(len(names))
    )
    text = f"""
[[model]]
file = "{robot.name}.xml"
keyframe = "home"
collision = "file"
command = {{ {commands} }}
{inputs}
[simulation]
integrator = "convex"
step = {step}
duration = 1.0
[output]
every = {HOLD}
"""
    path = folder / f"{robot.name}.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path)


class Mine:
    """Worlds of pysim in double or single precision."""

    def __init__(
        self, scene: pysim.Scene, number: int, height: int, dtype: type = np.float64
    ) -> None:
        self.worlds = pysim.Worlds(scene, number, dtype=dtype)
        self.height, self.lost = height, 0

    def advance(self, commands: Array) -> float:
        """Run commands (worlds, rows, actuators) and return the mean height [m]."""
        heights = []
        for k in range(commands.shape[1]):
            self.worlds.inputs.all[:] = commands[:, k]
            self.worlds.step(seconds=HOLD)
            heights.append(self.worlds.q[:, self.height].mean())
            if self.worlds.lost.any():
                self.lost += int(self.worlds.lost.sum())
                self.worlds.reset(self.worlds.lost)
        return float(np.mean(heights))

    def counts(self) -> Array:
        """Iterations and repeated steps of all worlds so far."""
        return np.asarray(scheme_numbers(self.worlds)[:, :2].sum(axis=0))


class Peer:
    """Worlds of MuJoCo with one setting of its solver."""

    def __init__(
        self, robot: MovingRobot, number: int, step: float, solver: str, height: int
    ) -> None:
        model = mujoco.MjModel.from_xml_string(robot.mjcf)
        for name, value in {"timestep": step, **SOLVERS[solver]}.items():
            setattr(model.opt, name, value)
        self.batch = mujoco.batch.Batch(model, nsim=number, nthread=1)
        self.q, self.ctrl = self.batch.bind("qpos"), self.batch.bind("ctrl")
        self.q[:], self.every, self.height = model.key("home").qpos, round(HOLD / step), height

    def advance(self, commands: Array) -> float:
        """Run commands (worlds, rows, actuators) and return the mean height [m]."""
        heights = []
        for k in range(commands.shape[1]):
            self.ctrl[:] = commands[:, k]
            self.batch.step(nstep=self.every)
            heights.append(self.q[:, self.height].mean())
        return float(np.mean(heights))


class Motrix:
    """Worlds of MotrixSim."""

    def __init__(
        self, robot: MovingRobot, number: int, step: float, height: int, folder: Path
    ) -> None:
        import motrixsim

        path = folder / f"{robot.name}_motrix.xml"  # it knows no colour space "auto"
        path.write_text(robot.mjcf.replace(' colorspace="auto"', ""), "utf-8")
        self.model = motrixsim.load_model(str(path))
        self.model.options.timestep, self.model.options.max_iterations = step, 100
        self.data = motrixsim.SceneData(self.model, batch=[number])
        next(frame for frame in self.model.keyframes if frame.name == "home").apply(self.data)
        self.every, self.height = round(HOLD / step), height

    def advance(self, commands: Array) -> float:
        """Run commands (worlds, rows, actuators) and return the mean height [m]."""
        heights = []
        for k in range(commands.shape[1]):
            self.data.actuator_ctrls = commands[:, k].astype(np.float32)
            self.model.step_n(self.data, self.every)
            heights.append(self.data.dof_pos[:, self.height].mean())
        return float(np.mean(heights))


@dataclass
class Measured:
    """Times of rounds [s] and mean heights [m] of one program."""

    times: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)

    def add(self, worlds: Mine | Peer | Motrix, commands: Array) -> None:
        """Time a round."""
        begin = time.process_time()
        height = worlds.advance(commands)
        self.times.append(time.process_time() - begin)
        self.heights.append(height)


def measure(robot: MovingRobot, amplitude: float, step: float, options: argparse.Namespace) -> str:
    """Return a row of the table."""
    model = mujoco.MjModel.from_xml_string(robot.mjcf)
    free = [k for k in range(model.njnt) if model.jnt_type[k] == int(mujoco.mjtJoint.mjJNT_FREE)]
    height = int(model.jnt_qposadr[free[0]]) + 2
    scene = scene_of(robot, step, options.folder)
    number = options.worlds
    mine, single = Mine(scene, number, height), Mine(scene, number, height, np.float32)
    worlds: dict[str, Mine | Peer | Motrix] = {"pysim": mine, "single": single}
    if not options.alone:
        worlds |= {solver: Peer(robot, number, step, solver, height) for solver in SOLVERS}
    if options.motrix:
        worlds["motrix"] = Motrix(robot, number, step, height, options.folder)
    measured = {name: Measured() for name in worlds}
    rng = np.random.default_rng(0)
    for _ in range(options.rounds + 1):  # the first one settles
        commands = robot.commands(rng, amplitude, (number, options.commands))
        for name, own in worlds.items():
            measured[name].add(own, commands)
        if len(measured["pysim"].times) == 1:
            before, lost = mine.counts(), mine.lost + single.lost
    made = number * options.commands * round(HOLD / step)
    us = {name: 1e6 * median(own.times[1:]) / made for name, own in measured.items()}
    z = {name: np.mean(own.heights[1:]) for name, own in measured.items()}
    iterations, repeated = (mine.counts() - before) / (made * options.rounds)
    peers = [f"{us[solver]:.2f}" if solver in us else "" for solver in (*SOLVERS, "motrix")]
    both = ("pysim", "single")
    ratios = [f"{us['converged'] / us[x]:.1f}" if "converged" in us else "" for x in both]
    cells = [
        robot.name, f"±{amplitude:g} {robot.unit}", f"{1e3 * step:g} ms", *(f"{us[x]:.2f}" for x in both), *peers,
        *ratios, f"{iterations:.1f}", f"{100 * repeated:.2f} %", f"{mine.lost + single.lost - lost}",
        *(f"{z[x]:.4f}" for x in both), *(f"{z[x]:.4f}" if x in z else "" for x in ("converged", "motrix")),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="robots in motion beside mujoco.batch")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--isa")
    parser.add_argument("--robots", nargs="+")
    parser.add_argument("--steps", nargs="+", type=float, default=[2.0, 4.0])  # [ms]
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--worlds", type=int, default=WORLDS)
    parser.add_argument("--commands", type=int, default=COMMANDS, help="of a round")
    parser.add_argument("--alone", action="store_true", help="without MuJoCo")
    parser.add_argument("--motrix", action="store_true", help="beside MotrixSim, too")
    options = parser.parse_args()
    if options.motrix:
        import motrixsim

        motrixsim.init_thread_pool(1)
    if options.isa:
        pysim.use_isa(options.isa)
    print_line(
        f"{_engine.isa()}, mujoco {mujoco.__version__}; µs a step of a world, {options.worlds} worlds"
    )
    print_line(HEAD)
    options.folder.mkdir(parents=True, exist_ok=True)
    for robot in robots(options.folder):
        if options.robots and robot.name not in options.robots:
            continue
        for step in options.steps:
            for amplitude in robot.amplitudes:
                print_line(measure(robot, amplitude, 1e-3 * step, options))


if __name__ == "__main__":
    main()
