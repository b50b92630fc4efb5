"""Names of the numbers of a signal: coordinates, velocities or axes, by which one number is read, `arm.q.elbow`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
