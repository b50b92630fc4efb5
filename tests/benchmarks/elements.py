"""Elements beside their absence and beside MuJoCo: PD control of every joint, and a spring that a user writes.

Run by itself: python -m tests.benchmarks.elements
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np

import pysim
from pysim.forces import Force, force
from pysim.worlds.loading import Scene
from tests.benchmarks.peers import urdf_without_shapes
from tests.benchmarks.report import cpu_name, heading, print_line, row
from tests.benchmarks.timing import take_turns
from tests.robots import robot_path

STEP, STEPS, WORLDS = 1e-3, 100, 256
KP, KD = 50.0, 5.0  # [N·m/rad], [N·m·s/rad]; as large for the fingers, in [N/m] and [N·s/m]


@force("benchmark_spring")
class UserSpring(Force):
    """A spring and damper along a path, as a user writes it."""

    stiffness: float
    rest_length: float
    damping: float = 0.0

    def tension(self, length: Any, rate: Any) -> Any:
        return self.stiffness * (length - self.rest_length) + self.damping * rate


def panda_scene(folder: Path, *, controlled: bool) -> Scene:
    """Return the Panda, free or with PD control of every joint."""
    text = f'[[model]]\nfile = "{robot_path("panda")}"\nlimits = false\n'
    model = pysim.load_model(robot_path("panda"))
    names = [name for name, at in zip(model.joint_names, model.v_offsets, strict=True) if at >= 0]
    listed = ", ".join(f'"{name}"' for name in names)
    if controlled:
        text += f'[[sensor]]\nname = "arm"\ntype = "coordinates"\ncoordinates = [{listed}]\n'
        zeros = ", ".join("0.1" for _ in names)
        text += f'[[signal]]\nname = "target"\ntype = "constant"\nvalue = [{zeros}]\nunit = ""\n'
        text += '[[controller]]\nname = "pd"\ntype = "pd"\ninputs = ["target", "arm.q", "arm.v"]\n'
        text += f"kp = {KP}\nkd = {KD}\n"
        text += f'[[actuator]]\nname = "motors"\ntype = "force"\ncoordinates = [{listed}]\ncommand = "pd"\n'
    text += f'[simulation]\nduration = 1.0\nstep = {STEP}\nintegrator = "semi_implicit"\n'
    text += "[output]\nevery = 0.1\nwork = false\n"
    file = folder / f"{controlled}.toml"
    file.write_text(text, "utf-8")
    return pysim.load_scene(file)


def mujoco_panda(*, controlled: bool) -> Any:
    """Return MuJoCo's model of the Panda, with position actuators of the same gains."""
    spec = mujoco.MjSpec.from_string(urdf_without_shapes("panda"))
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    if controlled:
        for joint in spec.joints:
            actuator = spec.add_actuator(
                target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT, name=joint.name
            )
            actuator.set_to_position(kp=KP, kv=KD)
    return spec.compile()


def control_rows() -> None:
    """Rollouts of the Panda without and with PD control of every joint, µs a step of a world."""
    with tempfile.TemporaryDirectory() as folder:
        scenes = [panda_scene(Path(folder), controlled=c) for c in (False, True)]
    models = [mujoco_panda(controlled=c) for c in (False, True)]
    nv = scenes[0].model.nv
    q0, v0 = np.zeros((WORLDS, nv)), 0.1 * np.random.default_rng(0).normal(size=(WORLDS, nv))

    def mine(k: int) -> object:
        return pysim.rollout(scenes[k], q0, v0, steps=STEPS, every=STEPS)

    def theirs(k: int) -> object:
        data = mujoco.MjData(models[k])
        state = np.zeros(mujoco.mj_stateSize(models[k], mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(models[k], data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        return mujoco.rollout.rollout(models[k], data, np.tile(state, (16, 1)), nstep=STEPS)

    times = take_turns(
        {
            "free": lambda: mine(0),
            "pd": lambda: mine(1),
            "peer": lambda: theirs(0),
            "peer pd": lambda: theirs(1),
        },
        rounds=5,
    )
    own, peer = 1e-6 * WORLDS * STEPS, 1e-6 * 16 * STEPS
    row("panda", "no control", times["free"] / own, times["peer"] / peer, "mujoco.rollout, Euler")
    row("panda", "PD, all joints", times["pd"] / own, times["peer pd"] / peer, "position actuators")
    more = [times["pd"] / times["free"] - 1, times["peer pd"] / times["peer"] - 1]
    print_line(f"control adds {more[0]:.0%} to a step, MuJoCo's actuators {more[1]:.0%}")


def crowd_row() -> None:
    """Processor time of 10 000 Pandas under PD control for a second, on two threads."""
    with tempfile.TemporaryDirectory() as folder:
        scene = panda_scene(Path(folder), controlled=True)
    nv = scene.model.nv
    q0, v0 = np.zeros((10_000, nv)), 0.1 * np.random.default_rng(0).normal(size=(10_000, nv))
    before = process_time()
    pysim.rollout(scene, q0, v0, steps=1000, every=1000, threads=2)
    print_line(f"10 000 Pandas, 1000 steps: {process_time() - before:.2f} s of processor time")


SLIDER = """
gravity = [0, 0, 0]
[[body]]
name = "mass"
mass = 1.0
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "slide"
type = "prismatic"
child = "mass"
[[force]]
name = "spring"
type = "{kind}"
{keys}
stiffness = 100.0
damping = 0.1
"""


def spring_rows() -> None:
    """A spring on a slider: between points, along a path and a user's, ns an evaluation of its force."""
    ends = 'b = "mass"\nat_b = [0.3, 0, 1]\nlength = 1.0'
    path = 'path = [{ body = "world" }, { body = "mass", point = [0.3, 0, 1] }]\nrest_length = 1.0'
    models = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, keys in (("spring", ends), ("path_spring", path), ("benchmark_spring", path)):
            file = Path(folder) / f"{kind}.toml"
            file.write_text(SLIDER.format(kind=kind, keys=keys), "utf-8")
            models[kind] = pysim.load_model(file)
    for count in (64, 4096):
        q, v = np.random.default_rng(0).normal(size=(2, count, 1))
        times = take_turns(
            {kind: partial(pysim.passive_forces, model, q, v) for kind, model in models.items()}
        )
        for kind, time in times.items():
            ns, built = 1e9 * time / count, 1e9 * times["spring"] / count
            row(f"batch of {count}", kind, ns, built, 'type = "spring"')


def single_row() -> None:
    """A spring in one world: what it adds to a step of `semi_implicit`, in ns of processor time."""
    path = 'path = [{ body = "world" }, { body = "mass", point = [0.3, 0, 1] }]\nrest_length = 1.0'
    own = SLIDER.format(kind="benchmark_spring", keys=path)
    settings = '[simulation]\nduration = 10.0\nstep = 1e-4\nintegrator = "semi_implicit"\n'
    settings += "[output]\nwork = false\n"
    best = [np.inf, np.inf]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "single.toml"
        scenes = []
        for text in (own.partition("[[force]]")[0], own):
            file.write_text(text + settings, "utf-8")
            scenes.append(pysim.load_scene(file))
        for _ in range(5):
            for k, scene in enumerate(scenes):
                before = process_time()
                pysim.rollout(scene, [[0.3]], [[0.0]], steps=1_000_000, every=1_000_000)
                best[k] = min(best[k], process_time() - before)
    free, sprung = (1e9 * time / 1_000_000 for time in best)
    print_line(
        f"one world: a step of {free:.0f} ns, with a user's spring {sprung - free:.0f} ns more"
    )


def main() -> None:
    """Print the table."""
    print_line(f"CPU        {cpu_name()}, one thread; MuJoCo {mujoco.__version__}")
    heading(f"PD control in rollouts of {WORLDS} worlds, {STEPS} steps", "µs a step of a world")
    control_rows()
    heading("a spring", "ns an evaluation")
    spring_rows()
    single_row()
    crowd_row()


if __name__ == "__main__":
    main()
