"""One table.

Pysim beside Pinocchio and MuJoCo, and joint plugins beside built-in joints, in one run, on one thread. Ratios above
1 are in pysim's favour; what plugins cost stands in brackets.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import mujoco
import numpy as np
import pinocchio

import pysim
from pysim import _engine
from tests.benchmarks import plugins
from tests.benchmarks.peers import Pair, check_same_acceleration, drive, mujoco_robot
from tests.benchmarks.timing import take_turns

BATCH = 4096
STEPS = 2000
STEP = 1e-3  # [s]
ROBOTS = ("panda", "ur5", "anymal", "simple_humanoid")


def main() -> None:
    """Print the table."""
    say(f"CPU        {cpu_name()}, {os.cpu_count()} cores; every figure on one thread")
    say(f"pysim      {pysim.__version__}, {_engine.isa()}")
    say(f"Pinocchio  {pinocchio.__version__} (wheel), MuJoCo {mujoco.__version__} (wheel)\n")
    heading(f"batch of {BATCH}, ns a state", ("robot", "what", "pysim", "peer", "ratio", ""))
    for name in ROBOTS:
        batch_rows(Pair(name, BATCH))
    heading("one state from Python, µs a call", ("robot", "what", "pysim", "peer", "ratio", ""))
    for name in ROBOTS:
        single_rows(Pair(name, 1))
    heading("one simulation, µs a step", ("robot", "what", "pysim", "peer", "ratio", ""))
    for name in ("panda", "ur5"):
        step_rows(name)
    scene_row(Path(__file__).parents[2] / "scenes" / "robot_arm.toml")
    plugins.main(say)


def batch_rows(pair: Pair) -> None:
    """ABA and RNEA in double and float beside Pinocchio's pool with one thread.

    CRBA and forward kinematics beside a loop of calls: Pinocchio has no batch of them.
    """
    m, q, v, x = pair.model, pair.q, pair.v, pair.x
    q32, v32, x32 = (a.astype(np.float32) for a in (q, v, x))
    pool, out = pinocchio.ModelPool(pair.pin, 1), np.zeros((m.nv, BATCH), order="F")
    pq, pv, px = pair.pin_q, pair.pin_v, pair.pin_x

    def crba_loop() -> None:
        for k in range(BATCH):
            pinocchio.crba(pair.pin, pair.data, pq[:, k])

    def poses_loop() -> None:
        for k in range(BATCH):
            pinocchio.forwardKinematics(pair.pin, pair.data, pq[:, k])

    for what, double, single, peer, how in (
        (
            "ABA",
            lambda: pysim.aba(m, q, v, x),
            lambda: pysim.aba(m, q32, v32, x32),
            lambda: pinocchio.abaInParallel(1, pool, pq, pv, px, out),
            "abaInParallel, 1 thread",
        ),
        (
            "RNEA",
            lambda: pysim.rnea(m, q, v, x),
            lambda: pysim.rnea(m, q32, v32, x32),
            lambda: pinocchio.rneaInParallel(1, pool, pq, pv, px, out),
            "rneaInParallel, 1 thread",
        ),
        (
            "CRBA",
            lambda: pysim.crba(m, q),
            lambda: pysim.crba(m, q32),
            crba_loop,
            "a Python loop of crba",
        ),
        (
            "FK",
            lambda: pysim.forward_kinematics(m, q),
            lambda: pysim.forward_kinematics(m, q32),
            poses_loop,
            "a Python loop of forwardKinematics",
        ),
    ):
        times = take_turns({"double": double, "float": single, "peer": peer})
        per_state = {name: 1e9 * t / BATCH for name, t in times.items()}
        row(pair.name, what, per_state["double"], per_state["peer"], how)
        row(pair.name, f"{what} float32", per_state["float"], per_state["peer"], f"{how}, float64")


def single_rows(pair: Pair) -> None:
    """What a control loop pays."""
    m, q, v, x = pair.model, pair.q[0], pair.v[0], pair.x[0]
    p, d = pair.pin, pair.data
    pq, pv, px = (a[:, 0].copy() for a in (pair.pin_q, pair.pin_v, pair.pin_x))
    for what, mine, peer, how in (
        ("ABA", lambda: pysim.aba(m, q, v, x), lambda: pinocchio.aba(p, d, pq, pv, px), "pin.aba"),
        (
            "RNEA",
            lambda: pysim.rnea(m, q, v, x),
            lambda: pinocchio.rnea(p, d, pq, pv, px),
            "pin.rnea",
        ),
        ("CRBA", lambda: pysim.crba(m, q), lambda: pinocchio.crba(p, d, pq), "pin.crba"),
        (
            "FK",
            lambda: pysim.forward_kinematics(m, q),
            lambda: pinocchio.forwardKinematics(p, d, pq),
            "pin.forwardKinematics, its poses left in C++",
        ),
    ):
        times = take_turns({"mine": mine, "peer": peer})
        row(pair.name, what, 1e6 * times["mine"], 1e6 * times["peer"], how)


def step_rows(name: str) -> None:
    """Steps of one simulation beside mj_step, damping on, limits and contacts off."""
    pair = Pair(name, 1)
    model, forces = pair.model, drive(pair.model)
    mj, data = mujoco_robot(name, STEP)
    check_same_acceleration(pair, mj, data)
    integrator = mujoco.mjtIntegrator
    for scheme, peer in (
        ("semi_implicit", integrator.mjINT_EULER),
        ("rk4", integrator.mjINT_RK4),
    ):
        mj.opt.integrator = int(peer)

        def mine(scheme: str = scheme) -> object:
            zero = np.zeros(model.nv)
            return _engine.advance(model, model.neutral(), zero, 0.0, STEP, STEPS, scheme, forces)

        def theirs() -> None:
            mujoco.mj_resetData(mj, data)
            mujoco.mj_step(mj, data, STEPS)

        times = take_turns({"mine": mine, "peer": theirs}, rounds=9)
        how = f"mj_step, {peer.name.removeprefix('mjINT_')}"
        row(name, scheme, 1e6 * times["mine"] / STEPS, 1e6 * times["peer"] / STEPS, how)


def scene_row(path: Path) -> None:
    """The README's scene, with the integrator it asks for, beside mj_step with the same scheme."""
    scene = pysim.load_scene(path)
    scheme, step = scene.settings.integrator, scene.settings.step
    mj, data = mujoco_robot("panda", step)
    mj.opt.integrator = int(
        mujoco.mjtIntegrator.mjINT_RK4 if scheme == "rk4" else mujoco.mjtIntegrator.mjINT_EULER
    )

    def mine() -> object:
        return _engine.advance(
            scene.model, scene.state.q, scene.state.v, 0.0, step, STEPS, scheme, scene.actuation
        )

    def theirs() -> None:
        mujoco.mj_resetData(mj, data)
        mujoco.mj_step(mj, data, STEPS)

    times = take_turns({"mine": mine, "peer": theirs}, rounds=9)
    row(path.name, scheme, 1e6 * times["mine"] / STEPS, 1e6 * times["peer"] / STEPS, "mj_step")


def heading(title: str, columns: tuple[str, ...]) -> None:
    """Begin a part of the table."""
    say(f"\n{title}")
    say("{:16} {:14} {:>9} {:>9} {:>7}  {}".format(*columns))


def row(robot: str, what: str, mine: float, peer: float, how: str) -> None:
    """One comparison."""
    say(f"{robot:16} {what:14} {mine:9.2f} {peer:9.2f} {peer / mine:6.1f}x  {how}")


def say(text: str) -> None:
    """Print at once, so that a long run shows where it is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def cpu_name() -> str:
    """Name of the processor as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
