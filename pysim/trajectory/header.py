"""Header of a trajectory: names, units and shapes of its columns, and of the datasets of its file."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import TrajectoryError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

LOOP_WRENCHES, COUPLING_FORCES = "loops/wrenches", "couplings/forces"  # datasets of the file
PAIR_FORCES, PAIR_IMPULSES = "contacts/pairs/force", "contacts/pairs/impulse"
ELEMENTS = "forces"  # of [[force]] tables
FORCES = (LOOP_WRENCHES, COUPLING_FORCES, PAIR_FORCES, PAIR_IMPULSES, ELEMENTS)
MOST_PAIRS = 4096  # of links, whose forces, impulses and work are recorded pair by pair
SIGNALS = "signals/"  # prefix of the datasets of signals
WORK = "work/"  # prefix of the datasets of the energy ledger
FINITE = ("time", "q", "v", "poses")  # in every row; the others may overflow, and none may be NaN


def _no_frames() -> Array:
    return np.zeros((0, 4, 4))


@dataclass(frozen=True)
class TrajectoryHeader:
    """Everything a trajectory knows before its first row.

    Frames are given by name, by the index of the body that carries them (-1: the world) and by
    their pose in that body; `visuals` comes from `header_visuals`, `connections` from `connections_of`.
    """

    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]  # the nq columns of q
    velocity_names: tuple[str, ...]  # the nv columns of v and a
    coordinate_units: tuple[str, ...]
    velocity_units: tuple[str, ...]
    frame_names: tuple[str, ...] = ()
    frame_bodies: tuple[int, ...] = ()
    frame_poses: Array = field(default_factory=_no_frames)  # (m, 4, 4) [m]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)  # [m/s²]
    integrator: str = ""
    step: float = 0.0  # [s]
    name: str = ""
    scene_text: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""  # of pysim
    visuals: Sequence[Mapping[str, Any]] = ()
    render: Mapping[str, Any] = field(default_factory=dict)
    event_names: tuple[str, ...] = ()  # what the run looked for
    loop_names: tuple[str, ...] = ()
    coupling_names: tuple[str, ...] = ()
    contact_names: tuple[str, ...] = ()  # pairs of links, "world, foot"
    connections: Sequence[Mapping[str, Any]] = ()  # joints, loops, forces, for pictures
    imported: bool = False  # whether a body comes from a file of another program
    force_names: tuple[str, ...] = ()  # numbers of forces, "strut.tension"
    force_units: tuple[str, ...] = ()
    signal_names: tuple[str, ...] = ()
    signal_units: tuple[str, ...] = ()
    signal_sizes: tuple[int, ...] = ()  # numbers of each; 0 for a signal that is one number
    work_names: tuple[str, ...] = ()  # of the energy ledger: elements, "dissipated", "injected"

    def __post_init__(self) -> None:
        pairs = (
            ("coordinate_units", self.coordinate_units, self.coordinate_names),
            ("velocity_units", self.velocity_units, self.velocity_names),
            ("frame_bodies", self.frame_bodies, self.frame_names),
            ("frame_poses", self.frame_poses, self.frame_names),
            ("force_units", self.force_units, self.force_names),
            ("signal_units", self.signal_units, self.signal_names),
            ("signal_sizes", self.signal_sizes, self.signal_names),
        )
        for key, values, names in pairs:
            if len(values) != len(names):
                problem = f"must have {len(names)} entries, got {len(values)}"
                raise TrajectoryError(f"trajectory header: {key}", problem)

    def __repr__(self) -> str:
        step = f"at {self.step:g} s" if math.isfinite(self.step) else "in adaptive steps"
        what = f"{len(self.body_names)} bodies, {self.integrator} {step}"
        return f"<TrajectoryHeader {self.name!r}: {what}>"

    @property
    def scene_hash(self) -> str:
        """SHA-256 of the scene's text, as 64 hexadecimal digits."""
        return hashlib.sha256(self.scene_text.encode()).hexdigest()

    @property
    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of one row of every dataset, by dataset name."""
        nq, nv = len(self.coordinate_names), len(self.velocity_names)
        shapes: dict[str, tuple[int, ...]] = {
            "time": (),
            "q": (nq,),
            "v": (nv,),
            "a": (nv,),
            "energy/kinetic": (),
            "energy/potential": (),
            "energy/elastic": (),
            "poses": (len(self.body_names), 7),
        }
        if self.loop_names:
            shapes[LOOP_WRENCHES] = (len(self.loop_names), 6)
        if self.coupling_names:
            shapes[COUPLING_FORCES] = (len(self.coupling_names),)
        if 0 < len(self.contact_names) <= MOST_PAIRS:
            shapes[PAIR_FORCES] = shapes[PAIR_IMPULSES] = (len(self.contact_names), 3)
        if self.force_names:
            shapes[ELEMENTS] = (len(self.force_names),)
        for name, size in zip(self.signal_names, self.signal_sizes, strict=True):
            shapes[SIGNALS + name] = (size,) if size else ()
        shapes |= {WORK + name: () for name in self.work_names}
        return shapes


def valid_rows(key: str, values: Array) -> NDArray[np.bool_]:
    """Return which rows (n,) of a dataset hold numbers that it may hold."""
    if key == PAIR_IMPULSES:  # NaN where contacts are smooth forces
        return np.ones(len(values), bool)
    good = np.isfinite(values) if key in FINITE else ~np.isnan(values)
    return np.asarray(good.all(axis=tuple(range(1, values.ndim))))
