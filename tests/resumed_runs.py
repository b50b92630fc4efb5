"""Kills of runs at random instants, and comparison of a resumed run's file with that of one that was never stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The kernel ends the process by a signal that nothing handles, wherever it is then: as SIGKILL does. The instant is
# counted from the simulated time that is reached, so that no load of the machine moves it past the end of the run.
CHILD = """
import json, signal, sys, warnings
import pysim
from pysim.simulation.run import Clock

scene, output, changes, reached, delay = sys.argv[1:]
tick, armed = Clock.tick, []

def tick_and_arm(own, now, steps):
    tick(own, now, steps)
    if now >= float(reached) and not armed:
        armed.append(signal.setitimer(signal.ITIMER_REAL, float(delay)))

Clock.tick = tick_and_arm
warnings.simplefilter("ignore")
pysim.simulate(pysim.load_scene(scene, json.loads(changes)), output)
"""


def run_killed(
    scene: Path, output: Path, changes: Mapping[str, Any], reached: float, delay: float
) -> bool:
    """Run a scene into a file in a process that is killed; return whether it was.

    The kill comes `delay` [s] of wall time, more than 0, after the first segment that ends at or after `reached` [s].
    """
    given = str(scene), str(output), json.dumps(changes), str(reached), str(delay)
    return subprocess.run([sys.executable, "-c", CHILD, *given], check=False).returncode < 0


def differing(whole: Path, resumed: Path) -> list[str]:
    """Return the datasets that are not equal to the bit in two trajectory files."""
    one, other = _datasets(whole), _datasets(resumed)
    return [
        name
        for name in sorted({*one, *other})
        if name not in one
        or name not in other
        or one[name].shape != other[name].shape
        or one[name].tobytes() != other[name].tobytes()
    ]


def _datasets(path: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}

    def add(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = np.asarray(item[()])

    with h5py.File(path) as file:
        file.visititems(add)
    return found
