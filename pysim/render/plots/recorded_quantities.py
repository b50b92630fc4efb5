"""Recorded quantities of a trajectory by name, for plots: states, energies, work, signals, positions, forces.

    q.JOINT  v.JOINT  a.JOINT               coordinates, velocities and accelerations
    energy.kinetic .potential .elastic .total .balance
    work.ELEMENT  work.dissipated  work.injected    of the energy ledger
    position.FRAME.x .y .z                  of bodies and frames, in the world
    loops.NAME.force .moment                strength of a loop's force and moment
    couplings.NAME.force
    forces.NAME.tension .fx …               of forces
    signals.NAME                            of sensors, controllers and actuators
    contacts.PAIR.force .impulse .x .y .z   strength and components of a contact's force, pairs as "world, foot"

A pattern is a name, a part of names before a dot (`q`, `energy`), or has wildcards (`v.*`, `contacts.*.force`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pysim.errors import TrajectoryError, did_you_mean
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pysim.trajectory import Trajectory

WILD = "*?["
SUMS = ("dissipated", "injected")  # of the work of elements


def _column(columns: Array, k: int) -> Array:
    return columns[:, k]


def _strength(forces: Array, k: int) -> Array:
    return np.asarray(np.linalg.norm(forces[:, k], axis=-1))


@dataclass(frozen=True)
class Quantity:
    """Values (n,) of one recorded quantity, computed when they are needed."""

    name: str
    unit: str
    kind: str  # title of the panel
    values: Callable[[], Array]


def quantities_of(trajectory: Trajectory) -> dict[str, Quantity]:
    """Return every quantity of a trajectory, with its name as the key."""
    quantities: dict[str, Quantity] = {}

    def add(name: str, unit: str, kind: str, values: Callable[[], Array]) -> None:
        quantities[name] = Quantity(name, unit, kind, values)

    names, units = trajectory.names, trajectory.units
    states = {
        "q": ("position", trajectory.q, names["coordinates"]),
        "v": ("velocity", trajectory.v, names["velocities"]),
        "a": ("acceleration", trajectory.a, names["velocities"]),
    }
    for key, (kind, columns, labels) in states.items():
        for k, label in enumerate(labels):
            add(f"{key}.{label}", units[key][k], kind, partial(_column, columns, k))
    for part in ("kinetic", "potential", "elastic"):
        add(f"energy.{part}", "J", "energy", partial(np.asarray, getattr(trajectory, part)))
    add("energy.total", "J", "energy", lambda: trajectory.energy)
    if trajectory.work:
        add("energy.balance", "J", "energy", lambda: trajectory.energy_balance)
    for label, values in trajectory.work.items():
        add(f"work.{label}", "J", "work", partial(np.asarray, values))
    _add_signals(trajectory, add)
    for k, label in enumerate(names["loops"]):
        for i, (part, unit) in enumerate((("force", "N"), ("moment", "N·m"))):
            kind = f"loop's {part}"
            load = lambda k=k, i=i: trajectory.loop_loads[:, k, i]  # noqa: E731
            add(f"loops.{label}.{part}", unit, kind, load)
    for k, label in enumerate(names["couplings"]):
        force = lambda k=k: trajectory.coupling_forces[:, k]  # noqa: E731
        add(f"couplings.{label}.force", "N, N·m", "coupling", force)
    for k, label in enumerate(names["forces"]):
        column = partial(_column, trajectory.element_forces, k)
        add(f"forces.{label}", units["forces"][k], "force of elements", column)
    _add_contacts(trajectory, add)
    for label in dict.fromkeys((*names["bodies"], *names["frames"])):
        for i, axis in enumerate("xyz"):
            place = lambda label=label, i=i: trajectory.path_of(label)[:, i]  # noqa: E731
            add(f"position.{label}.{axis}", "m", "position in the world", place)
    return quantities


def _add_signals(
    trajectory: Trajectory, add: Callable[[str, str, str, Callable[[], Array]], None]
) -> None:
    for label, unit in zip(trajectory.names["signals"], trajectory.units["signals"], strict=True):
        values = trajectory.signals[label]
        if values.ndim == 1:
            add(f"signals.{label}", unit, "signal", partial(np.asarray, values))
            continue
        for k in range(values.shape[1]):
            add(f"signals.{label}[{k}]", unit, "signal", partial(_column, values, k))


def _add_contacts(
    trajectory: Trajectory, add: Callable[[str, str, str, Callable[[], Array]], None]
) -> None:
    recorded = range(trajectory.contact_forces.shape[1])  # none of too many pairs
    for k, label in zip(recorded, trajectory.names["contacts"], strict=False):
        strength = lambda k=k: _strength(trajectory.contact_forces, k)  # noqa: E731
        add(f"contacts.{label}.force", "N", "contact force", strength)
        if not np.isnan(trajectory.contact_impulses[:1, k]).any():  # of smooth contacts
            impulse = lambda k=k: _strength(trajectory.contact_impulses, k)  # noqa: E731
            add(f"contacts.{label}.impulse", "N·s", "contact impulse", impulse)
        for i, axis in enumerate("xyz"):
            part = lambda k=k, i=i: trajectory.contact_forces[:, k, i]  # noqa: E731
            add(f"contacts.{label}.{axis}", "N", "contact force", part)


def select(trajectory: Trajectory, patterns: Sequence[str]) -> list[Quantity]:
    """Return the quantities that match the patterns, in their order, each once.

    Raises:
        TrajectoryError: a pattern matches nothing; the error suggests a name.
    """
    known = quantities_of(trajectory)
    chosen: dict[str, Quantity] = {}
    for pattern in patterns:
        matched = _matches(pattern, known)
        if not matched:
            raise TrajectoryError(trajectory.source, _unknown(pattern, known))
        chosen |= {name: known[name] for name in matched}
    return list(chosen.values())


def default_patterns(trajectory: Trajectory) -> list[str]:
    """Return what is plotted if nothing is named: q, v, the constraints' and contacts' forces, energy."""
    names = trajectory.names
    patterns = ["q", "v"]
    if trajectory.loop_loads[..., 0].any():
        patterns.append("loops.*.force")
    if trajectory.loop_loads[..., 1].any():
        patterns.append("loops.*.moment")
    patterns += ["couplings"] if names["couplings"] else []
    patterns += ["forces.*.tension"]
    patterns += ["contacts.*.force"] if names["contacts"] else []
    elastic = ["energy.elastic"] if np.any(trajectory.elastic) else []
    own = {pattern for pattern in patterns if _matches(pattern, quantities_of(trajectory))}
    kept = [pattern for pattern in patterns if pattern in own]
    return [*kept, "energy.kinetic", "energy.potential", *elastic, "energy.total"]


def energy_patterns(trajectory: Trajectory) -> list[str]:
    """Return what is plotted of energies: their parts, their balance, and the work of elements that did some."""
    elastic = ["energy.elastic"] if np.any(trajectory.elastic) else []
    own = ["energy.balance"] if trajectory.work else []
    acting = [name for name, work in trajectory.work.items() if name in SUMS or np.any(work)]
    all_act = len(acting) == len(trajectory.work)
    own += (["work"] if own else []) if all_act else [f"work.{name}" for name in acting]
    return ["energy.kinetic", "energy.potential", *elastic, "energy.total", *own]


def _matches(pattern: str, known: dict[str, Quantity]) -> list[str]:
    if pattern in known:
        return [pattern]
    matched = [name for name in known if name.startswith(f"{pattern}.")]
    if not matched and any(sign in pattern for sign in WILD):
        matched = [name for name in known if fnmatchcase(name, pattern)]
        tails = (name for name in known if fnmatchcase(name.partition(".")[2], pattern))
        matched = matched or list(tails)  # "strut.*" for forces.strut.tension
    return matched


def _unknown(pattern: str, known: dict[str, Quantity]) -> str:
    if any(sign in pattern for sign in WILD):
        heads = ", ".join(dict.fromkeys(name.split(".")[0] for name in known))
        return f"no quantity matches {pattern!r}; names begin with {heads}"
    tails = {name.split(".", 1)[1]: name for name in reversed(known)}  # q before v before a
    if pattern in tails:
        return f"unknown quantity {pattern!r}; did you mean {tails[pattern]!r}?"
    return f"unknown quantity {pattern!r}{did_you_mean(pattern, known)}"
