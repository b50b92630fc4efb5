"""Kills runs of scenes at random instants, resumes them, and compares every dataset with that of a whole run.

    python tests/benchmarks/killed_runs.py 300

prints every scene with the number of its kills, how many of them came before the first checkpoint or after the end,
and the datasets that differ. None may.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pysim
from pysim.simulation.checkpoints import why_not
from pysim.trajectory.reader import load_stopped_run

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.resumed_runs import differing, run_killed

SCENES = Path(__file__).parents[2] / "scenes"
CHANGES = {"simulation.checkpoint": 0.02}
LONGEST = 30.0  # [s] of processor time that a scene may take
DELAY = 0.05  # [s] of wall time, at most, from a segment to the kill


class Whole(NamedTuple):
    """Run that was never stopped."""

    duration: float  # simulated [s]
    wall: float  # spent [s]


def killed(scene: Path, output: Path, whole: Whole, draw: random.Random) -> str:
    """Kill a run at a random instant and resume it; return when the kill came.

    It comes within the time that the rest of the run takes: a longer delay would let short runs end.
    """
    output.unlink(missing_ok=True)
    part = draw.uniform(0.0, 1.0)
    delay = draw.uniform(0.0, min(DELAY, (1.0 - part) * whole.wall))
    run_killed(scene, output, CHANGES, part * whole.duration, max(delay, 1e-5))
    trajectory, _, point = load_stopped_run(output)
    if trajectory.complete:
        return "after the end"
    pysim.resume(output)
    return "before a checkpoint" if point is None else "resumed"


def main(kills: int) -> int:
    """Kill runs of all scenes that have checkpoints, in turn; return the number of those that differ."""
    warnings.simplefilter("ignore")
    draw, wrong = random.Random(0), 0
    whole: dict[Path, Whole] = {}
    folder = Path(tempfile.mkdtemp())
    counts: dict[str, Counter[str]] = {}
    for path in sorted(SCENES.glob("*.toml")):
        try:
            scene = pysim.load_scene(path, CHANGES)
        except pysim.PysimError:
            continue  # it names code
        if why_not(scene):
            continue
        began, began_wall = time.process_time(), time.perf_counter()
        pysim.simulate(scene, folder / f"{path.stem}.h5")
        if time.process_time() - began < LONGEST:
            wall = time.perf_counter() - began_wall
            whole[path], counts[path.stem] = Whole(scene.settings.duration, wall), Counter()
    for k in range(kills):
        path = list(whole)[k % len(whole)]
        output = folder / "killed.h5"
        counts[path.stem][killed(path, output, whole[path], draw)] += 1
        found = differing(folder / f"{path.stem}.h5", output)
        if found:
            wrong += 1
            sys.stdout.write(f"{path.stem}: {found} differ\n")
    for name, count in counts.items():
        sys.stdout.write(f"{name:24} {dict(count)}\n")
    total = sum(counts.values(), Counter())
    sys.stdout.write(f"{kills} kills over {len(whole)} scenes: {dict(total)}; {wrong} differ\n")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)))
