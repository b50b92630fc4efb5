"""Policies of `scenes/environments/go1.toml` in its environment and in MuJoCo: velocity errors, falls, and speeds.

    python -m tests.benchmarks.walking POLICY.npz ... [--episodes 100]

In the environment: episodes of 20 s with its noise and numbers drawn, until the first end of each, with the commands
and pushes of `JUDGED`, however hard those are with which the scene is learned; episodes of two seeds, and of the first
with commands that change every 5 s. Falls are all ends of episodes before 20 s.
In MuJoCo: the URDF of the same robot on a free base, with the same servos, friction and feet, its balls; Newton's
solver converged, steps of 2 ms, no noise; the mean velocity from 2 s to 6 s along the command, as a share of it.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from pysim.elements.library.networks.policy import read_network
from pysim.environments import Environment
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]
SCENE = Path(__file__).parents[2] / "scenes/environments/go1.toml"
SPEEDS = ["uniform(-1, 1)", "uniform(-0.5, 0.5)", "uniform(-1, 1)"]
PUSH = {"root_joint.v[xy]": "uniform(-0.5, 0.5)"}
JUDGED: dict[str, object] = {
    "environment.command": [{"input": "command", "values": SPEEDS, "every": "uniform(2, 6)"}],
    "environment.push": [{"velocity": PUSH, "every": "uniform(5, 10)"}],
}
COMMANDS = ([1, 0, 0], [0.5, 0, 0], [-1, 0, 0], [0, 0.5, 0], [0, -0.5, 0], [0, 0, 1])
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}
STEP, EVERY, BEGIN, ROWS = 2e-3, 10, 100, 300  # ten steps a control step; rows are control steps


def network(arrays: dict[str, Array]) -> Callable[[Array], Array]:
    """Return the actions of observations (n, size)."""

    def act(seen: Array) -> Array:
        x = (seen - arrays["mean"]) / arrays["deviation"]
        count = sum(name.startswith("weight") for name in arrays)
        for k in range(count):
            x = x @ arrays[f"weight{k}"].T + arrays[f"bias{k}"]
            if k + 1 < count:
                x = ACTIVATIONS[str(arrays["activation"])](x)
        return np.asarray(x)

    return act


def in_environment(
    arrays: dict[str, Array], episodes: int, every: float | str, seed: int
) -> tuple[float, int]:
    """Return the mean error of the velocity [m/s] and how many episodes fall."""
    overrides = JUDGED | {"environment.command[0].every": every}
    own = Environment(SCENE, episodes, overrides, seed=seed, single=True)
    act = network(arrays)
    seen, runs, errors = own.reset(), np.ones(episodes, bool), []
    for _ in range(own.length):
        step = own.step(act(seen))
        runs &= ~step.terminated
        error = np.linalg.norm(own.worlds.signals["velocity_error"], axis=1)
        errors.append(error[runs])
        seen = own.reset(where=step.terminated) if step.terminated.any() else step.observations
    return float(np.concatenate(errors).mean()), int(np.sum(~runs))


def mujoco_model(urdf: Path, joints: list[str]) -> Any:
    """Return the robot on a floor, with servos of the scene; its feet alone touch the floor."""
    text = re.sub(r"<visual\b.*?</visual>", "", urdf.read_text("utf-8"), flags=re.DOTALL)
    at = text.index(">", text.index("<robot")) + 1
    base = (
        '<mujoco><compiler discardvisual="false" balanceinertia="true" boundinertia="1e-6"/></mujoco>'
        '<link name="ground"/>'
        '<joint name="free" type="floating"><parent link="ground"/><child link="base"/></joint>'
    )
    spec = mujoco.MjSpec.from_string(text[:at] + base + text[at:])
    for geom in list(spec.geoms):
        touches = geom.type == mujoco.mjtGeom.mjGEOM_SPHERE
        geom.contype, geom.conaffinity = 0, int(touches)
        geom.friction = [0.8, 0.005, 0.0001]
    floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE)
    floor.size, floor.contype, floor.conaffinity = [0, 0, 0.01], 1, 0
    floor.friction = [0.8, 0.005, 0.0001]
    for joint in joints:
        servo = spec.add_actuator(name=joint, target=joint)
        servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
        servo.set_to_position(kp=35.0, kv=0.8)
    model = spec.compile()
    for name, value in {"timestep": STEP, "iterations": 100, "tolerance": 1e-10}.items():
        setattr(model.opt, name, value)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return model


def in_mujoco(arrays: dict[str, Array], command: Sequence[float]) -> tuple[Array, float]:
    """Return the mean speed forwards and sideways [m/s] and of turning [rad/s], and the least height [m]."""
    tables = tomllib.loads(SCENE.read_text("utf-8"))
    joints, home = tables["actuator"][0]["coordinates"], np.array(tables["signal"][0]["value"])
    model = mujoco_model(_urdf(), joints)
    data = mujoco.MjData(model)
    places = [model.joint(name).qposadr[0] for name in joints]
    rates = [model.joint(name).dofadr[0] for name in joints]
    data.qpos[2], data.qpos[3] = 0.278, 1.0
    data.qpos[places] = home
    act, action, speeds, least = network(arrays), np.zeros(12), [], 1.0
    for row in range(ROWS):
        w, x, y, z = data.qpos[3:7]
        up = np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
        parts = (_velocity(data), data.qvel[3:6], up, command)
        seen = np.concatenate([*parts, data.qpos[places] - home, data.qvel[rates], action])
        action = np.clip(act((seen * arrays["scales"])[None])[0], *arrays["range"])
        data.ctrl[:] = arrays["offset"] + arrays["scale"] * action
        mujoco.mj_step(model, data, nstep=EVERY)
        local = _velocity(data)
        least = min(least, float(data.qpos[2]))
        if row >= BEGIN:
            speeds.append([local[0], local[1], data.qvel[5]])
    return np.mean(speeds, axis=0), least


def _velocity(data: Any) -> Array:
    """Return the trunk's velocity in its axes."""
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, data.qpos[3:7])
    return rotation.reshape(3, 3).T @ data.qvel[:3]


def _urdf() -> Path:
    """Return the robot's file in the installed package."""
    files = distribution("example-robot-data").files or ()
    return Path(
        next(str(f.locate()) for f in files if str(f).endswith("go1_description/urdf/go1.urdf"))
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="policies of Go1 in its environment and in MuJoCo")
    parser.add_argument("policies", nargs="+")
    parser.add_argument("--episodes", type=int, default=100)
    options = parser.parse_args()
    kinds: tuple[tuple[float | str, int], ...] = (
        ("uniform(2, 6)", 1234),
        ("uniform(2, 6)", 4321),
        (5.0, 1234),
    )
    for path in options.policies:
        arrays = read_network(path)
        print_line(f"{path}\n\n| command | mean speeds in MuJoCo | share | least height |")
        print_line("|---|---|---|---|")
        for command in COMMANDS:
            speeds, least = in_mujoco(arrays, command)
            share = float(speeds @ command) / float(np.dot(command, command))
            numbers = ", ".join(f"{x:.2f}" for x in speeds)
            print_line(f"| {command} | {numbers} | {share:.0%} | {least:.2f} m |")
        for every, seed in kinds:
            error, falls = in_environment(arrays, options.episodes, every, seed)
            text = f"mean velocity error {error:.3f} m/s, {falls} falls"
            print_line(
                f"{options.episodes} episodes of seed {seed}, commands every {every} s: {text}"
            )


if __name__ == "__main__":
    main()
