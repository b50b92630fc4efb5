"""Table of a trajectory for notebooks: its times and rows, its bodies, what was recorded, and the energy."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pysim.markup import counted, facts, listed, panel

if TYPE_CHECKING:
    from pysim.trajectory.record import Trajectory


def trajectory_html(trajectory: Trajectory) -> str:
    """Return times, bodies and what was recorded, for notebooks; of a streamed file two rows are read."""
    header, names = trajectory.header, trajectory.names
    signals = zip(names["signals"], trajectory.units["signals"], strict=True)
    events = Counter(trajectory.events.names)
    pairs = [
        ("times", _times(trajectory)),
        ("scheme", _scheme(trajectory)),
        ("bodies", _list_of(names["bodies"])),
        ("states", f"q {trajectory.q.shape}, v {trajectory.v.shape}"),
        ("signals", listed([f"{name} [{unit}]" if unit else name for name, unit in signals])),
        ("loops", listed(names["loops"])),
        ("forces", listed(names["forces"])),
        ("contacts", listed(names["contacts"])),
        ("events", listed([f"{name} {n}×" for name, n in events.items()])),
        ("energy", _energy(trajectory)),
        ("file", trajectory.source if trajectory.folder else ""),
    ]
    return panel(header.name or "trajectory", "pysim.Trajectory", facts(pairs))


def _times(trajectory: Trajectory) -> str:
    if len(trajectory) == 0:
        return "no rows"
    start, end = float(trajectory.t[0]), float(trajectory.t[-1])
    cut = "" if trajectory.complete else "; the run was cut short"
    rows = counted(len(trajectory), "row")
    return f"{end - start:.4g} s, {rows} from {start:.4g} to {end:.4g} s{cut}"


def _scheme(trajectory: Trajectory) -> str:
    header = trajectory.header
    if not header.integrator:
        return ""
    step = f"steps of {header.step:g} s" if math.isfinite(header.step) else "adaptive steps"
    return f"{header.integrator} in {step}"


def _list_of(names: tuple[str, ...]) -> str:
    return f"{len(names)}: {listed(names)}" if names else ""


def _energy(trajectory: Trajectory) -> str:
    """Return the total energy at the first and at the last row."""
    if len(trajectory) == 0:
        return ""
    parts = (trajectory.kinetic, trajectory.potential, trajectory.elastic)
    start, end = (sum(float(part[row]) for part in parts) for row in (0, -1))
    return f"{start:.4g} J at the start, {end:.4g} J at the end"
