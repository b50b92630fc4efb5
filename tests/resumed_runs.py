"""Stops and kills of runs, and comparison of a resumed run's file with that of one that was never stopped."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import pysim
from pysim.simulation.checkpoints import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pysim.worlds.segment import Segment

STEPS = "pysim.simulation.fixed_steps.STEPS_A_CALL"
# The kernel ends the process by a signal that nothing handles, wherever it is then: as SIGKILL does. The instant is
# counted in processor time from the simulated time that is reached, so that no load of the machine moves it past the
# end of the run. A stop raises SIGINT then, as Ctrl-C does.
CHILD = """
import json, signal, sys, warnings
import pysim
from pysim.simulation.run import Clock

scene, output, changes, reached, delay, allow_code, stops = sys.argv[1:]
tick, armed = Clock.tick, []

def tick_and_arm(own, now, steps):
    tick(own, now, steps)
    if now >= float(reached) and not armed:
        armed.append(signal.setitimer(signal.ITIMER_PROF, float(delay)))

Clock.tick = tick_and_arm
if json.loads(stops):
    signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
warnings.simplefilter("ignore")
own = pysim.load_scene(scene, json.loads(changes), allow_code=json.loads(allow_code))
pysim.simulate(own, output)
"""


def run_killed(
    scene: Path,
    output: Path,
    changes: Mapping[str, Any],
    reached: float,
    delay: float,
    *,
    allow_code: bool = False,
    stops: bool = False,
) -> bool:
    """Run a scene into a file in a process that is killed, or stopped as by Ctrl-C; return whether it was.

    That comes `delay` [s] of processor time, more than 0, after the first segment that ends at or after `reached` [s].
    """
    given = (
        str(scene),
        str(output),
        json.dumps(changes),
        str(reached),
        str(delay),
        json.dumps(allow_code),
        json.dumps(stops),
    )
    command = [sys.executable, "-c", CHILD, *given]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode <= 0, done.stderr
    return done.returncode < 0


class Stopped(BaseException):
    """Stop of a run between two segments."""


def run_to_stop(scene: pysim.Scene, output: Path, segments: int, patch: pytest.MonkeyPatch) -> None:
    """Run a scene until some segments are recorded, which have one output each under steps of fixed size."""
    left = [segments]
    original = Checkpoints.after_segment

    def after(own: Checkpoints, segment: Segment, steps: int, last: float) -> None:
        original(own, segment, steps, last)
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    with patch.context() as own:
        own.setattr(STEPS, 1)
        own.setattr(Checkpoints, "after_segment", after)
        with pytest.raises(Stopped):
            pysim.simulate(scene, output, overwrite=True)


def segments_of(scene: pysim.Scene, output: Path, patch: pytest.MonkeyPatch) -> int:
    """Run a scene into a file to its end; return the number of segments."""
    made = [0]

    def count(own: Checkpoints, segment: Segment, steps: int, last: float) -> None:
        made[0] += 1

    with patch.context() as own:
        own.setattr(STEPS, 1)
        own.setattr(Checkpoints, "after_segment", count)
        pysim.simulate(scene, output)
    return made[0]


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
