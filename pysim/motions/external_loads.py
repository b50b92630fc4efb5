"""Loads of OpenSim's files of external loads: forces, points and torques in the columns of a table.

A load acts on one body. Its force and torque are in the axes of the frame `force_expressed_in_body`, its point is in
`point_expressed_in_body`; without a point the force acts at the body's origin. The file gives the beginning of the
names of three columns, which end with x, y and z.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pysim.algorithms import frame_placement
from pysim.motions.generalized_forces import GroundLoad
from pysim.motions.motion_tables import MotionTable, read_table
from pysim.scene.osim.constraints import is_enforced
from pysim.scene.osim.frames import GROUND
from pysim.scene.osim.values import members, name_of, text
from pysim.scene.packages import resolve_uri
from pysim.scene.tree import WORLD
from pysim.scene.urdf.xml import read_xml
from pysim.typing import Array

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike

    from pysim.mechanism.model import Model
    from pysim.scene.urdf.xml import Element

SUFFIXES = (".mot", ".sto")  # of the table
LOADS = {"ExternalForce"}


def read_external_loads(
    path: str | PathLike[str], model: Model, times: ArrayLike, q: ArrayLike
) -> list[GroundLoad]:
    """Return the loads of a file of external loads at the instants of a motion.

    Args:
        path: the .xml file, which names its table in `datafile`, relative to its folder.
        model: the mechanism with the bodies of the loads.
        times: (n,) [s], between which the table is linear.
        q: configurations (n, nq) of the motion, for loads in the axes of bodies.

    Raises:
        SceneError: the file cannot be read; the text has `file:line:column`, the problem and the remedy.
        TrajectoryError: its table cannot be read.
        UnknownNameError: the table has no such column, or the model no such body.
    """
    path = Path(path)
    document = read_xml(path)
    holder = document.required("ExternalLoads")
    source = holder.required("datafile")
    file = resolve_uri(source.content.strip(), path.parent, suffixes=SUFFIXES)
    reader = _LoadReader(read_table(file), model, np.asarray(times, float), np.asarray(q, float))
    return [
        reader.load(element)
        for element in members(document, "ExternalLoads")
        if element.tag in LOADS and is_enforced(element)
    ]


@dataclass(frozen=True)
class _LoadReader:
    """Reader of loads at the instants of a motion."""

    table: MotionTable
    model: Model
    times: Array  # (n,)
    q: Array  # (n, nq)

    def load(self, element: Element) -> GroundLoad:
        """Return the load of an element."""
        body = _body(element, "applied_to_body")
        if body == WORLD:
            element.fail(f"load {name_of(element)!r} acts on the ground; name a body")
        force = self._in_world(element, "force_identifier", "force_expressed_in_body")
        torque = self._in_world(element, "torque_identifier", "force_expressed_in_body")
        if force is None and torque is None:
            problem = (
                f"load {name_of(element)!r} has neither force_identifier nor torque_identifier"
            )
            element.fail(f"{problem}; name columns of the table")
        force = np.zeros((len(self.times), 3)) if force is None else force
        X = np.asarray(frame_placement(self.model, self.q, body))
        point = X[:, :3, 3]
        if text(element, "point_identifier"):
            point = self._columns(text(element, "point_identifier"))
            frame = _body(element, "point_expressed_in_body")
            if frame != WORLD:
                X = np.asarray(frame_placement(self.model, self.q, frame))
                point = np.einsum("nij,nj->ni", X[:, :3, :3], point) + X[:, :3, 3]
        return GroundLoad(body, force, point, torque)

    def _in_world(self, element: Element, identifier: str, frame: str) -> Array | None:
        """Return a vector (n, 3) in the world's axes, None without columns."""
        name, body = text(element, identifier), _body(element, frame)
        if not name:
            return None
        vector = self._columns(name)
        if body == WORLD:
            return vector
        R = np.asarray(frame_placement(self.model, self.q, body))[:, :3, :3]
        return np.asarray(np.einsum("nij,nj->ni", R, vector))

    def _columns(self, name: str) -> Array:
        return columns_at(self.table, name, self.times)


def columns_at(table: MotionTable, name: str, times: Array) -> Array:
    """Return the columns NAMEx, NAMEy and NAMEz (n, 3) at other times, linearly between the rows."""
    columns = [table.column(f"{name}{axis}") for axis in "xyz"]
    return np.stack([np.interp(times, table.times, column) for column in columns], axis=1)


def _body(element: Element, tag: str) -> str:
    name = text(element, tag).rpartition("/")[2]
    return WORLD if name in {"", GROUND} else name
