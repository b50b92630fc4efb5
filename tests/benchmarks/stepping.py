"""Simulations and rollouts beside MuJoCo's: damping on, limits and contacts off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import mujoco.rollout
import numpy as np

import pysim
from tests.benchmarks.peers import Pair, check_same_acceleration, mujoco_robot, no_forces
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns
from tests.engine_steps import make_steps

if TYPE_CHECKING:
    from pathlib import Path

STEP = 1e-3  # [s]
STEPS = 2000
SCHEMES = {
    "semi_implicit": mujoco.mjtIntegrator.mjINT_EULER,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}


def step_rows(name: str) -> None:
    """Steps of one simulation, µs a step."""
    pair = Pair(name, 1)
    model, forces = pair.model, no_forces(pair.model)
    mj, data = mujoco_robot(name, STEP)
    check_same_acceleration(pair, mj, data)
    for scheme, peer in SCHEMES.items():
        mj.opt.integrator = int(peer)

        def mine(scheme: str = scheme) -> object:
            zero = np.zeros(model.nv)
            return make_steps(model, model.neutral(), zero, 0.0, STEP, STEPS, scheme, forces)

        def theirs() -> None:
            mujoco.mj_resetData(mj, data)
            mujoco.mj_step(mj, data, STEPS)

        times = take_turns({"mine": mine, "peer": theirs}, rounds=9)
        how = f"mj_step, {peer.name.removeprefix('mjINT_')}"
        row(name, scheme, 1e6 * times["mine"] / STEPS, 1e6 * times["peer"] / STEPS, how)


def rollout_rows(name: str, worlds: int, steps: int) -> None:
    """Rollouts of many worlds on one thread, every state kept, µs a step of a world."""
    pair = Pair(name, 1)
    mj, data = mujoco_robot(name, STEP)
    check_same_acceleration(pair, mj, data)
    q0 = np.tile(pair.model.neutral(), (worlds, 1))
    v0 = 0.1 * np.random.default_rng(0).normal(size=(worlds, pair.model.nv))
    mujoco.mj_resetData(mj, data)
    size = mujoco.mj_stateSize(mj, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros(size)
    mujoco.mj_getState(mj, data, start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    starts = np.tile(start, (worlds, 1))
    starts[:, 1 + mj.nq : 1 + mj.nq + mj.nv] = v0
    for scheme, peer in SCHEMES.items():
        mj.opt.integrator = int(peer)

        def mine(scheme: str = scheme) -> object:
            return pysim.rollout(pair.model, q0, v0, None, STEP, scheme, steps=steps)

        def theirs() -> object:
            return mujoco.rollout.rollout(mj, data, starts, nstep=steps)

        times = take_turns({"mine": mine, "peer": theirs}, rounds=7)
        total = 1e-6 * worlds * steps
        how = f"mujoco.rollout, {peer.name.removeprefix('mjINT_')}, 1 thread"
        row(name, f"{scheme} rollout", times["mine"] / total, times["peer"] / total, how)


def scene_row(path: Path) -> None:
    """The scene robot_arm.toml with its integrator, beside mj_step with the same scheme."""
    scene = pysim.load_scene(path)
    scheme, step = scene.settings.integrator, scene.settings.step
    mj, data = mujoco_robot("panda", step)
    mj.opt.integrator = int(SCHEMES[scheme])

    def mine() -> object:
        return make_steps(
            scene.model, scene.state.q, scene.state.v, 0.0, step, STEPS, scheme, scene.actuation
        )

    def theirs() -> None:
        mujoco.mj_resetData(mj, data)
        mujoco.mj_step(mj, data, STEPS)

    times = take_turns({"mine": mine, "peer": theirs}, rounds=9)
    row(path.name, scheme, 1e6 * times["mine"] / STEPS, 1e6 * times["peer"] / STEPS, "mj_step")
