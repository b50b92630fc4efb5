"""Names of the numbers of a signal: coordinates, velocities or axes, by which one number is read, `arm.q.elbow`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.elements.graph_types import RecordedSignal

AXES_OF = {3: ("x", "y", "z"), 4: ("x", "y", "z", "w")}  # vectors and quaternions of sensors


def place_of_name(name: str, labels: Sequence[str], owner: str) -> int | None:
    """Return the index of the number with a name, None if there is none.

    In an attached scene the names of coordinates have the prefix of their block, the `owner`; a signal there is written
    without it.
    """
    prefix = owner.rpartition("/")[0]
    for wanted in (name, f"{prefix}/{name}" if prefix else name):
        if name and wanted in labels:
            return list(labels).index(wanted)
    return None


def without_index(name: str) -> tuple[str, int | None]:
    """Return a name and the index that follows it in brackets, None without one."""
    found = re.fullmatch(r"(.*)\[(\d+)\]", name)
    return (name, None) if found is None else (found[1], int(found[2]))


def number_of_signals(name: str, signals: Mapping[str, RecordedSignal]) -> RecordedSignal | None:
    """Return the one number of recorded signals that a name selects, `up[2]` or `up.z`; None if there is none."""
    base, index = without_index(name)
    while index is None and "." in base:
        base = base.rpartition(".")[0]
        if base in signals:
            index = place_of_name(name[len(base) + 1 :], signals[base].labels, base)
    own = signals.get(base)
    if own is None or index is None or index >= own.size:
        return None
    return replace(own, name=name, first=own.first + index, size=1, is_single=True, labels=())
