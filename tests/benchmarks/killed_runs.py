"""Kills and stops runs at random instants, resumes them, and compares every dataset with that of a whole run.

    python tests/benchmarks/killed_runs.py 100 60

kills 100 runs and stops 60 (SIGINT, as Ctrl-C does), in turn over all scenes, and prints for every kind of run how many
there were, how many of them came before the first checkpoint or after the end, and how many differ from the whole run
in any dataset. None may. Instants are drawn evenly from the processor time that the whole run took, and counted from
the simulated time that it had reached, so that the load of the machine moves few past the end. Short runs are made
longer first.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pysim
from pysim.simulation.run import Clock
from pysim.trajectory.reader import load_stopped_run

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.resumed_runs import differing, run_killed
from tests.resumed_scenes import BALLS, EVENT, PLUGINS, disc_text

SCENES = Path(__file__).parents[2] / "scenes"
ADAPTIVE = {"simulation.integrator": "dopri5"}
LEAST = 0.5  # [s] of processor time that a whole run takes
LONGER = 10  # times its own duration, at most
LINE = "| {:34} | {:>6} | {:>6} | {:>10} | {:>13} | {:>6} |\n"


class Case(NamedTuple):
    """Scene whose runs are killed."""

    kind: str
    path: Path
    changes: dict[str, Any] = {}  # noqa: RUF012, never changed


FIXED = (
    "anymal_pushed", "billiards", "conveyor", "double_pendulum", "four_bar", "gripper", "instrumented_top",
    "motor_run_up", "quarter_car", "servo_pid", "stewart_platform", "stick_slip", "tracking_arm",
)  # fmt: skip


SCHEMES = ("semi_implicit", "rk4", "variational", "implicit_midpoint", "generalized_alpha")


def cases(folder: Path) -> list[Case]:
    """Return the scenes; those of tests are written into a folder."""
    (folder / "own.py").write_text(PLUGINS)
    texts = {
        "slot": disc_text("resumed_slot"),
        "hinge": disc_text("revolute", EVENT),
        "released": disc_text("revolute", EVENT.replace("at = 0.0", "at = 0.31")),
        "bouncing": BALLS.replace("LAW", "0.6"),
        "elastic": BALLS.replace("LAW", "1.0"),
    }
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text)
    return [
        *(Case("fixed steps", SCENES / f"{name}.toml") for name in FIXED),
        Case("`dopri5`, with events", SCENES / "timed_pendulum.toml"),
        Case("`dopri5`, with events", SCENES / "catapult.toml"),
        Case("`dopri5`, loops and controllers", SCENES / "four_bar.toml", ADAPTIVE),
        Case("`dopri5`, loops and controllers", SCENES / "servo_pid.toml", ADAPTIVE),
        *(
            Case(
                "fixed steps, with events", folder / "released.toml", {"simulation.integrator": own}
            )
            for own in SCHEMES
        ),
        Case("impacts", SCENES / "newtons_cradle.toml"),
        Case("impacts", folder / "bouncing.toml"),
        Case("impacts", folder / "elastic.toml"),
        Case("schemes and joints in Python", folder / "slot.toml"),
        Case(
            "schemes and joints in Python",
            folder / "hinge.toml",
            {"simulation.integrator": "resumed_heun"},
        ),
        Case(
            "schemes and joints in Python",
            folder / "slot.toml",
            {"simulation.integrator": "resumed_adams"},
        ),
    ]


class Tick(NamedTuple):
    """End of a segment of a whole run."""

    spent: float  # processor time since the first one [s]
    time: float  # simulated [s]


class Whole(NamedTuple):
    """Run that was never stopped."""

    case: Case  # with its duration
    output: Path
    ticks: list[Tick]

    def instant(self, draw: random.Random) -> tuple[float, float]:
        """Return an instant of the run: simulated time that is reached [s], and processor time after that [s]."""
        spent = draw.uniform(0.0, self.ticks[-1].spent)
        before = [tick for tick in self.ticks if tick.spent <= spent][-1]
        return before.time, max(spent - before.spent, 1e-4)


def whole_run(case: Case, output: Path) -> Whole:
    """Run a scene to its end, for longer than its own duration if that is short."""
    given = {**case.changes, "simulation.checkpoint": 0.02}
    scene = pysim.load_scene(case.path, given, allow_code=True)
    ticks = timed(scene, output)
    factor = min(LONGER, 1.2 * LEAST / max(ticks[-1].spent, 1e-3))
    if factor > 1.0:
        longer = {**given, "simulation.duration": factor * scene.settings.duration}
        with suppress(pysim.PysimError):  # a table may end
            ticks = timed(pysim.load_scene(case.path, longer, allow_code=True), output)
            given = longer
    return Whole(case._replace(changes=given), output, ticks)


def timed(scene: pysim.Scene, output: Path) -> list[Tick]:
    """Run a scene into a file; return when its segments ended."""
    tick, ticks = Clock.tick, []

    def noted(own: Clock, now: float, steps: int) -> None:
        tick(own, now, steps)
        ticks.append((time.process_time(), now))

    Clock.tick = noted  # type: ignore[method-assign, assignment]
    try:
        pysim.simulate(scene, output, overwrite=True)
    finally:
        Clock.tick = tick  # type: ignore[method-assign]
    return [Tick(spent - ticks[0][0], now) for spent, now in ticks]


def killed(whole: Whole, output: Path, draw: random.Random, *, stops: bool) -> str:
    """Kill or stop a run at a random instant and resume it; return when that came."""
    output.unlink(missing_ok=True)
    reached, delay = whole.instant(draw)
    given = whole.case.path, output, whole.case.changes, reached, delay
    run_killed(*given, allow_code=True, stops=stops)
    trajectory, _, point = load_stopped_run(output)
    if trajectory.complete:
        return "after the end"
    pysim.resume(output, allow_code=True)
    return "before" if point is None else "resumed"


def main(kills: int, stops: int) -> int:
    """Kill and stop runs of all scenes in turn; return the number of those that differ."""
    warnings.simplefilter("ignore")
    draw, folder = random.Random(0), Path(tempfile.mkdtemp())
    undisturbed = [
        whole_run(case, folder / f"whole_{k}.h5") for k, case in enumerate(cases(folder))
    ]
    counts: dict[str, Counter[str]] = {whole.case.kind: Counter() for whole in undisturbed}
    for k in range(kills + stops):
        whole, output = undisturbed[k % len(undisturbed)], folder / "killed.h5"
        count = counts[whole.case.kind]
        count["stops" if k >= kills else "kills"] += 1
        count[killed(whole, output, draw, stops=k >= kills)] += 1
        found = differing(whole.output, output)
        if found:
            count["differ"] += 1
            sys.stdout.write(f"{whole.case.path.stem}: {found} differ\n")
    heads = "kind of run", "kills", "stops", "no checkpoint", "after the end", "differ"
    sys.stdout.write(LINE.format(*heads))
    counts[f"all {len(undisturbed)} scenes"] = sum(counts.values(), Counter())
    columns = "kills", "stops", "before", "after the end", "differ"
    for kind, count in counts.items():
        sys.stdout.write(LINE.format(kind, *(count[name] for name in columns)))
    return sum(count["differ"] for count in counts.values())


if __name__ == "__main__":
    given = [int(part) for part in sys.argv[1:]]
    sys.exit(bool(main(*(given if len(given) == 2 else (100, 60)))))
