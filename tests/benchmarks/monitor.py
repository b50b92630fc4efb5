"""Cost of the energy balance and of the checks of worlds beside the runs that they judge."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pysim
from pysim.diagnosis.world_monitor import warn_of_unstable_worlds, world_of
from pysim.simulation.ledger_monitor import imbalance
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns

SCENE = Path(__file__).parents[2] / "scenes" / "double_pendulum.toml"
WORLDS, STEPS, STEP = 256, 500, 1e-3


def monitor_rows() -> None:
    """One run of a scene and rollouts with dense and sparse rows, ms a call."""
    scene = pysim.load_scene(SCENE)
    run = pysim.simulate(scene)
    times = take_turns(
        {
            "mine": lambda: imbalance(scene, run, 10_000),
            "run": lambda: pysim.simulate(scene),
        }
    )
    row("double_pendulum", "simulate", 1e3 * times["mine"], 1e3 * times["run"], "the run")
    q0, v0 = (np.tile(x, (WORLDS, 1)) for x in (scene.state.q, scene.state.v))
    world = [world_of(scene.model, "rk4", STEP, {})]
    for every in (1, 10, 100):

        def rollout(every: int = every) -> tuple[np.ndarray, np.ndarray]:
            return pysim.rollout(scene.model, q0, v0, None, STEP, steps=STEPS, every=every)

        q, v = (x.astype(np.float64) for x in rollout())
        t = np.asarray(STEP * every * np.arange(q.shape[1]), np.float64)

        def monitor(t: np.ndarray = t, q: np.ndarray = q, v: np.ndarray = v) -> None:
            warn_of_unstable_worlds(world, t, q, v, STEPS)

        times = take_turns({"mine": monitor, "run": rollout})
        how = f"the rollout, every={every}"
        row("double_pendulum", "rollout", 1e3 * times["mine"], 1e3 * times["run"], how)
