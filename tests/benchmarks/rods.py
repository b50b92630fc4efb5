"""Rods beside Exudyn's cables (ANCF) at equal error, and a cable in contact beside the clock.

    python -m tests.benchmarks.rods

The motion is that of a flexible pendulum that falls for 1 s (tests/data/reference/rods/falling_pendulum.json): the
error is the largest distance of its tip from that of the exact rod, over its length. Both take steps of generalised α.
"""

from __future__ import annotations

import json
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim import _engine
from tests.benchmarks.report import cpu_name, print_line
from tests.benchmarks.timing import take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Run = Callable[[], Any]

ROOT = Path(__file__).parents[1]
CASE = json.loads(
    (ROOT / "data" / "reference" / "rods" / "falling_pendulum.json").read_text("utf-8")
)
SETUP = CASE["setup"]
TIMES = np.array(CASE["expect"][0]["at"]["t [s]"])
PLACES = np.array(CASE["expect"][0]["value"])[:, :2]
RADIUS = 0.9  # spectral radius
STIFF = 2e5  # EA L²/EI of a cable that hardly stretches
RODS = [(9, "y"), (10, "y"), (20, "y"), (26, "y"), (10, None), (20, None)]  # bars, planar
CABLES = [(4, False), (8, False), (4, True), (8, True)]  # elements, modified Newton
STEP = 1e-3  # [s]


def main() -> None:
    """Print the table."""
    print_line(f"CPU        {cpu_name()}, one thread; {_engine.isa()}")
    print_line(
        "a flexible pendulum falls for 1 s, steps of 1 ms     ms   error of the tip / length"
    )
    runs: dict[str, Run] = {}
    errors: dict[str, float] = {}
    for bars, planar in RODS:
        name = f"pysim, {bars} bars {'in the plane' if planar else 'in space'}"
        runs[name], errors[name] = _rod(bars, planar)
    if find_spec("exudyn"):
        for elements, modified in CABLES:
            name = f"Exudyn, {elements} ANCFCable2D{', modified Newton' if modified else ''}"
            runs[name], errors[name] = _cable(elements, modified=modified)
    else:
        print_line("Exudyn is not installed; no peer.")
    times = take_turns(runs, rounds=7, budget=0.2)
    for name, seconds in times.items():
        print_line(f"  {name:44} {1e3 * seconds:9.2f}   {errors[name]:.1e}")
    print_line("a cable of 20 bars over a post, convex at 1 ms")
    scene = pysim.load_scene(
        ROOT.parent / "scenes" / "draped_cable.toml", {"rod[0].damping": 0.0, "output.every": 0.1}
    )
    began = time.process_time()
    pysim.simulate(scene)
    spent = time.process_time() - began
    speed = scene.spec.settings.duration / spent
    print_line(f"  without damping: {speed:.1f} times as fast as the clock")


def _error(tip: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(tip - PLACES, axis=1).max()) / float(SETUP["length_m"])


def _rod(bars: int, planar: str | None) -> tuple[Run, float]:
    builder = pysim.SceneBuilder("pendulum", gravity=[0, 0, -SETUP["gravity"]])
    j, L = SETUP["section_inertia_per_length_kg_m"], SETUP["length_m"]
    section = {
        "EI": SETUP["EI_N_m2"],
        "GJ": SETUP["EI_N_m2"],
        "mass_per_length": SETUP["mass_per_length_kg_m"],
        "inertia_per_length": [j, j],
    }
    keys: dict[str, Any] = {} if planar is None else {"planar": planar}
    builder.rod("rod", length=L, section=section, ends=["ball", "free"], bars=bars, **keys)
    builder.simulation(
        duration=float(TIMES[-1]), step=STEP, integrator="generalized_alpha", spectral_radius=RADIUS
    )
    builder.output(every=0.1)
    builder.sensor("tip", "pose", frame={"rod": "rod", "s": L})
    scene = builder.build()
    run = pysim.simulate(scene)
    rows = [int(np.abs(run.t - t).argmin()) for t in TIMES]
    error = _error(np.asarray(run.signals["tip.position"])[rows][:, [0, 2]])
    return lambda: pysim.simulate(scene), error


def _cable(elements: int, *, modified: bool) -> tuple[Run, float]:
    import exudyn
    from exudyn import (
        beams,
        itemInterface as items,  # noqa: N813, as Exudyn names it
    )

    L, EI = SETUP["length_m"], SETUP["EI_N_m2"]
    system = exudyn.SystemContainer().AddSystem()
    cable = items.Cable2D(
        physicsMassPerLength=SETUP["mass_per_length_kg_m"],
        physicsBendingStiffness=EI,
        physicsAxialStiffness=STIFF * EI / L**2,
    )
    beam = beams.GenerateBeamElementsAlongLine(
        system,
        [0, 0, 0],
        [L, 0, 0],
        elements,
        beamTemplate=cable,
        gravity=[0, -SETUP["gravity"], 0],
        groundConstraintsStart=[True, True, False, False],
    )
    sensor = system.AddSensor(
        items.SensorNode(
            nodeNumber=beam["nodes"][-1],
            storeInternal=True,
            outputVariableType=exudyn.OutputVariableType.Position,
        )
    )
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(float(TIMES[-1]) / STEP)
    settings.timeIntegration.endTime = float(TIMES[-1])
    settings.timeIntegration.generalizedAlpha.spectralRadius = RADIUS
    settings.timeIntegration.newton.useModifiedNewton = modified
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = 0.1

    def run() -> None:
        system.SolveDynamic(settings)

    run()
    stored = np.asarray(system.GetSensorStoredData(sensor))
    rows = [int(np.abs(stored[:, 0] - t).argmin()) for t in TIMES]
    return run, _error(stored[rows][:, 1:3])


if __name__ == "__main__":
    main()
