"""Speed beside OpenSim in one process, one thread, by processor time.

    PYSIM_OPENSIM=SITE_PACKAGES PYSIM_OSIM=FOLDER python -m tests.benchmarks.opensim_speed [MODEL ...]

SITE_PACKAGES holds the wheel `opensim`, FOLDER the models of opensim-models. Forward dynamics of OpenSim are calls of
realizeAcceleration after the positions have changed; those of pysim are the evaluations within rk4 steps, of one world
and of a pack's worlds: the difference of a long and a short rollout, without what every rollout checks. Runs of a
second start in equilibrium, with all excitations 0.05; accuracies are those at which both are off by 1e-5 rad or less.
A model loads a first time in the process, and again.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from tests.benchmarks.report import print_line

if TYPE_CHECKING:
    from collections.abc import Callable

MODELS = ("double_pendulum", "arm26", "gait2392_thelen2003muscle")
LOADED = "Rajagopal2016"
WORLDS, STEP = 256, 1e-5  # [s]
ACCURACY, TOLERANCE = 1e-5, 5e-6  # of OpenSim's run and ours
REPEATS = 5


def least(task: Callable[[], Any], count: int) -> float:
    """Return the least processor time of a call [s]."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(count):
            task()
        times.append((time.process_time() - start) / count)
    return min(times)


class Peer:
    """A model in OpenSim, with or without muscles."""

    def __init__(self, path: Path, *, muscles: bool) -> None:
        import opensim as osim

        osim.Logger.removeFileSink()
        osim.Logger.setLevelString("off")
        self.osim, self.muscles = osim, muscles
        self.model = osim.Model(str(path))
        forces = self.model.updForceSet()
        for k in reversed(range(forces.getSize())):
            force = forces.get(k)
            is_muscle = osim.Muscle.safeDownCast(force) is not None
            if osim.Actuator.safeDownCast(force) is not None and not (muscles and is_muscle):
                forces.remove(k)
        for items in (self.model.updControllerSet(), self.model.updProbeSet()):
            for k in reversed(range(items.getSize())):
                items.remove(k)
        if muscles:
            controller = osim.PrescribedController()
            controller.setName("constant")
            for k in range(self.model.getMuscles().getSize()):
                muscle = self.model.getMuscles().get(k)
                controller.addActuator(muscle)
                value = osim.Constant(0.05)
                value.thisown = False
                controller.prescribeControlForActuator(muscle.getName(), value)
            self.model.addController(controller)
            controller.thisown = False
        self.state = self.model.initSystem()
        if muscles:
            self.model.equilibrateMuscles(self.state)

    def evaluate(self) -> Callable[[], None]:
        """Return a call of forward dynamics."""
        q = self.state.getQ().to_numpy()
        vector = self.osim.Vector.createFromMat(q)

        def call() -> None:
            self.state.setQ(vector)
            self.model.realizeAcceleration(self.state)

        return call

    def run(self) -> None:
        """Simulate one second."""
        state = self.model.initializeState()
        self.model.equilibrateMuscles(state)
        manager = self.osim.Manager(self.model)
        manager.setWriteToStorage(False)
        manager.setPerformAnalyses(False)
        manager.setIntegratorAccuracy(ACCURACY)
        manager.initialize(state)
        manager.integrate(1.0)


def scene_of(path: Path, *, muscles: bool, settings: str) -> pysim.Scene:
    """Return the scene of a model, whose muscles are excited by 0.05."""
    names = [f.name for f in pysim.load_model(path).spec.forces if f.type.endswith("muscle")]
    commands = ", ".join(f"{name} = 0.05" for name in names)
    keys = f"command = {{ {commands} }}" if muscles else "actuators = false"
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "m.osim"
        copy.write_bytes(path.read_bytes())
        file = Path(folder) / "s.toml"
        file.write_text(
            f'gravity = [0, -9.80665, 0]\n[[model]]\nfile = "m.osim"\n{keys}\n[simulation]\n{settings}',
            "utf-8",
        )
        return pysim.load_scene(file)


def evaluation(scene: pysim.Scene, worlds: int, steps: int) -> float:
    """Return the processor time of an evaluation of forward dynamics of one of many worlds [s]."""
    q, v = (np.tile(x, (worlds, 1)) for x in (scene.state.q, scene.state.v))

    def rollout(count: int) -> float:
        return least(lambda: pysim.rollout(scene, q, v, steps=count, threads=1), 1)

    return (rollout(3 * steps) - rollout(steps)) / (4 * 2 * steps * worlds)


def loading(path: Path) -> tuple[float, float]:
    """Return the processor times of loading a model's scene, the first time in the process and again [s]."""
    times = []
    for _ in range(2):
        start = time.process_time()
        pysim.load_scene(path)
        times.append(time.process_time() - start)
    return times[0], times[1]


def main(names: list[str]) -> None:
    """Print a table of every model."""
    warnings.simplefilter("ignore")
    sys.path.append(os.environ["PYSIM_OPENSIM"])
    folder = Path(os.environ["PYSIM_OSIM"])
    first, again = loading(folder / f"{LOADED}.osim")
    print_line(f"{LOADED} loads in {first:.2f} s, again in {again:.2f} s")
    for name in names or MODELS:
        path = folder / f"{name}.osim"
        for muscles in (False, True):
            if muscles and name == "double_pendulum":
                continue
            peer = Peer(path, muscles=muscles)
            theirs = least(peer.evaluate(), 20 if muscles else 200)
            scene = scene_of(
                path, muscles=muscles, settings=f'integrator = "rk4"\nstep = {STEP}\nduration = 1\n'
            )
            one, pack = evaluation(scene, 1, 1500), evaluation(scene, WORLDS, 20)
            kind = "with muscles" if muscles else "without"
            print_line(
                f"{name:28s} {kind:12s} OpenSim {1e6 * theirs:8.1f} µs   one world {1e6 * one:7.2f} µs "
                f"{theirs / one:5.1f} x   packs {1e6 * pack:7.3f} µs {theirs / pack:6.1f} x",
            )
            if muscles:
                start = time.process_time()
                peer.run()
                run = time.process_time() - start
                settings = f'integrator = "dopri5"\nrtol = {TOLERANCE}\natol = {TOLERANCE / 10}\nduration = 1\n'
                scene = scene_of(path, muscles=True, settings=settings)
                start = time.process_time()
                pysim.simulate(scene)
                own = time.process_time() - start
                print_line(
                    f"{'':28s} 1 s          OpenSim {run:8.3f} s    pysim {own:8.3f} s  {run / own:5.1f} x"
                )


if __name__ == "__main__":
    main(sys.argv[1:])
