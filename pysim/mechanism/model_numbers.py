"""Places of a model's numbers in the engine, and their values in worlds whose bodies, joints and gravity differ.

The engine lists all numbers of a model in one order (cpp/tree/model_copy.hpp), in tables of records. `ModelNumbers`
knows where those of a body or a joint are, and computes them for many worlds at once; (k,) is the axis of worlds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim import _engine
from pysim._engine import Passive
from pysim.inertia.parameter_orders import TO_PACKED
from pysim.inertia.parameters import moved
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pysim.mechanism.model import Model

PASSIVE = tuple(Passive.fields)  # of a coordinate, in the engine's order
_INERTIA, _REST = 12, 32  # places in the record of a body
_TENSOR = [4, 7, 9, 7, 5, 8, 9, 8, 6]  # of a packed record xx, yy, zz, xy, yz, zx behind m and mc
_UPPER = [0, 4, 8, 1, 5, 2]  # of a tensor, in that order
_LAW = (
    "friction",
    "lower",
    "upper",
    "stop_stiffness",
    "stop_damping",
)  # of a coordinate of convex steps


class Table(NamedTuple):
    """Records of numbers: place of the first, number of records, numbers a record."""

    place: int
    records: int
    size: int

    def of(self, record: int) -> NDArray[np.intp]:
        """Return the places of a record's numbers."""
        first = self.place + record * self.size
        return np.arange(first, first + self.size)


class Changed(NamedTuple):
    """Numbers of worlds: their places (n,) in the engine's order, and values (k, n)."""

    places: NDArray[np.intp]
    values: Array


def coordinate_laws(model: Model) -> dict[int, int]:
    """Return the record of every coordinate of the tree's v that has a limit or dry friction in convex steps."""
    empty = np.zeros(0)
    lower, upper, friction = (
        np.concatenate([empty, *(getattr(joint, name) for joint in model.joints)])
        for name in ("lower", "upper", "friction")
    )
    sizes = [len(joint.start_v) for joint in model.joints]
    plain = [len(joint.start_q) == len(joint.start_v) for joint in model.joints]
    limited = (np.isfinite(lower) | np.isfinite(upper)) & np.repeat(plain, sizes)
    return {v: n for n, v in enumerate(np.flatnonzero((friction > 0) | limited).tolist())}


def product(x: Array, y: Array) -> Array:
    """Return x y of matrices (…, k, 3) and (…, 3, n), whose sums have one order for any k; they may be symbolic."""
    terms = [x[..., :, i : i + 1] * y[..., i : i + 1, :] for i in range(3)]
    return np.asanyarray(terms[0] + terms[1] + terms[2])


class ModelNumbers:
    """Numbers of a model, and of the contacts of convex steps.

    Args:
        model: of the scene.
        contacts: the engine's record of contacts of convex steps; None for other schemes.
    """

    def __init__(self, model: Model, contacts: _engine.Contacts | None) -> None:
        self.model = model
        self.values, tables, _ = _engine.model_numbers(model, contacts)
        ends = [*(place for _, place, _ in tables[1:]), len(self.values)]
        self.tables: dict[str, list[Table]] = {}
        for (name, place, records), end in zip(tables, ends, strict=True):
            size = (end - place) // records if records else 0
            self.tables.setdefault(name, []).append(Table(place, records, size))
        self._v = np.cumsum([0, *(len(joint.start_v) for joint in model.joints)])
        self._welded: list[list[int]] = [[] for _ in model.bodies]
        for k, body in enumerate(model.spec.bodies):
            carrier = model.frames[body.name][0]
            if carrier >= 0:
                self._welded[carrier].append(k)
        order = {name: n for n, name in enumerate(model.frames)}
        for bodies in self._welded:
            bodies.sort(key=lambda k: order[model.spec.bodies[k].name])
        self._starts: dict[int, Array] = {}  # of bodies, see _start_of
        #: record of every coordinate of v that has a limit or dry friction in convex steps
        self.coordinate_laws = coordinate_laws(model) if contacts is not None else {}
        self._plane_gravity: Array | None = None

    def table(self, name: str) -> Table:
        """Return a table of the mechanism itself."""
        return self.tables[name][0]

    def places_in(self, other: ModelNumbers, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return where numbers are in a model whose programs have other constants; −1 for those of programs."""
        found = np.full(len(places), -1)
        for name, tables in self.tables.items():
            if name == "tables" or name.startswith("constants of "):
                continue
            for own, moved_table in zip(tables, other.tables[name], strict=True):
                inside = (places >= own.place) & (places < own.place + own.records * own.size)
                found[inside] = places[inside] + moved_table.place - own.place
        return found

    # ---------------------------------------------------------------------------------------------------- bodies

    def carrier(self, body: int) -> int:
        """Return the moving body that a body of the specification is part of; −1 for the world."""
        return int(self.model.frames[self.model.spec.bodies[body].name][0])

    def inertias(
        self,
        carriers: Sequence[int],
        theta: Mapping[int, Array],
        ratios: Mapping[int, Array],
        count: int,
    ) -> list[Changed]:
        """Return the numbers of moving bodies, with what is welded to them.

        Args:
            carriers: the moving bodies.
            theta: θ (k, 10) of bodies of the specification that differ, by their numbers.
            ratios: by which those of them are scaled that differ in nothing else (k,).
            count: k.
        """
        scaled = self._scaled_carriers(carriers, theta, ratios)
        if len(scaled) == len(carriers):
            aligned = self._scaled(scaled, ratios, count)
        else:
            aligned = self._moved(carriers, theta, count)
            if scaled:
                rows = [carriers.index(carrier) for carrier in scaled]
                aligned[rows] = self._scaled(scaled, ratios, count)
        places = self._first_places(carriers) + np.arange(_INERTIA, _INERTIA + 10)
        found = [Changed(places.ravel(), aligned.swapaxes(0, 1).reshape(count, -1))]
        if self.model.planar_tree:
            pairs = zip(carriers, aligned, strict=True)
            found += [self._plane_inertia(carrier, own) for carrier, own in pairs]
        return found

    def _scaled_carriers(
        self, carriers: Sequence[int], theta: Mapping[int, Array], ratios: Mapping[int, Array]
    ) -> Sequence[int]:
        """Return the moving bodies whose parts are as they are or scaled."""
        if theta.keys() == ratios.keys():
            return carriers
        others = theta.keys() - ratios.keys()
        return [carrier for carrier in carriers if others.isdisjoint(self._welded[carrier])]

    def _scaled(self, carriers: Sequence[int], ratios: Mapping[int, Array], count: int) -> Array:
        """Return the numbers (carriers, k, 10) of moving bodies whose parts are scaled."""
        parts = [k for carrier in carriers for k in self._welded[carrier]]
        same = np.ones(count)
        ratio = np.stack([ratios.get(k, same) for k in parts])
        found: Array = ratio[:, :, None] * np.array([self._start_of(k) for k in parts])[:, None]
        if len(parts) == len(carriers):
            return found
        sizes = [len(self._welded[carrier]) for carrier in carriers]
        return np.asanyarray(np.add.reduceat(found, np.cumsum([0, *sizes[:-1]]), axis=0))

    def _start_of(self, body: int) -> Array:
        """Return the numbers (10,) of a body of the specification in the frame of its moving body."""
        if body not in self._starts:
            theta = self.model.spec.bodies[body].theta
            moved_theta = moved(theta[None, None], self._poses([body])[:, None])
            self._starts[body] = self._aligned([self.carrier(body)], moved_theta)[0, 0]
        return self._starts[body]

    def _poses(self, bodies: Sequence[int]) -> Array:
        """Return the records (bodies, 12) of the poses of bodies of the specification in the moving bodies."""
        model = self.model
        poses = [model.frames[model.spec.bodies[k].name][1][:3].T.reshape(12) for k in bodies]
        return np.array(poses)

    def _moved(self, carriers: Sequence[int], theta: Mapping[int, Array], count: int) -> Array:
        """Return the numbers (carriers, k, 10) of moving bodies."""
        model = self.model
        parts = [(n, k) for n, carrier in enumerate(carriers) for k in self._welded[carrier]]
        same = np.ones((count, 1))
        own = np.stack([theta.get(k, same * model.spec.bodies[k].theta) for _, k in parts])
        moved_parts = moved(own, self._poses([k for _, k in parts])[:, None])
        total = np.zeros_like(moved_parts, shape=(len(carriers), count, 10))
        for m, (n, _) in enumerate(parts):
            total[n] += moved_parts[m]
        return self._aligned(carriers, total)

    def _first_places(self, carriers: Sequence[int]) -> NDArray[np.intp]:
        """Return the first places (carriers, 1) of moving bodies."""
        table = self.table("bodies")
        return table.place + table.size * np.array(carriers, int)[:, None]

    def _aligned(self, carriers: Sequence[int], theta: Array) -> Array:
        """Return the numbers (carriers, k, 10) of moving bodies with θ (carriers, k, 10)."""
        first = self._first_places(carriers)
        turn = self.values[first + np.arange(22, 31)].reshape(-1, 3, 3).swapaxes(1, 2)
        packed = theta[..., TO_PACKED]
        aligned = np.empty_like(packed)
        aligned[..., 0] = packed[..., 0]
        aligned[..., 1:4] = product(packed[..., None, 1:4], turn[:, None])[..., 0, :]
        tensor = packed[..., _TENSOR].reshape(*packed.shape[:2], 3, 3)
        turns = turn[:, None]
        rotated = product(turns.swapaxes(2, 3), product(tensor, turns))
        aligned[..., 4:] = rotated.reshape(*packed.shape[:2], 9)[..., _UPPER]
        return aligned

    def _plane_inertia(self, carrier: int, inertia: Array) -> Changed:
        """Return the numbers of a body that moves in a plane."""
        places = self.table("plane_bodies").of(carrier)
        axes = self.values[places[11:20]].reshape(3, 3)  # by row
        n = axes[2]
        about_n = (
            inertia[:, 4] * n[0] * n[0]
            + inertia[:, 5] * n[1] * n[1]
            + inertia[:, 6] * n[2] * n[2]
            + 2
            * (
                inertia[:, 7] * n[0] * n[1]
                + inertia[:, 8] * n[1] * n[2]
                + inertia[:, 9] * n[2] * n[0]
            )
        )
        moment = product(inertia[:, 1:4], axes[:2].T)
        values = np.column_stack([inertia[:, 0], moment, about_n])
        return Changed(places[7:11], values)

    # ---------------------------------------------------------------------------------------------------- gravity

    def gravity(self, gravity: Array) -> list[Changed]:
        """Return the numbers of gravity (k, 3) [m/s²]."""
        found = [Changed(self.table("gravity").of(0), gravity)]
        if self.model.planar_tree:
            table = self.table("plane_bodies")
            places = np.concatenate([table.of(b)[20:22] for b in range(table.records)])
            if self._plane_gravity is None:
                self._plane_gravity = self._gravity_in_planes(places)
            found.append(Changed(places, product(gravity, self._plane_gravity)))
        return found

    def _gravity_in_planes(self, places: NDArray[np.intp]) -> Array:
        """Return the axes (3, 2 bodies) of the planes in which the bodies move; those of trees may differ."""
        each = [self.model.with_gravity(axis) for axis in np.eye(3)]
        return np.array([_engine.model_numbers(own, None)[0][places] for own in each])

    # ----------------------------------------------------------------------------------------------------- joints

    def armature(self, joint: int, change: Array) -> list[Changed]:
        """Return the armatures of a joint that differ from the model's by `change` (k, nv)."""
        places = self.table("armature").place + np.arange(self._v[joint], self._v[joint + 1])
        return [Changed(places, self.values[places] + change)]

    def passive(self, joint: int, name: str, values: Array) -> list[Changed]:
        """Return a number (k, nv) of the passive forces of a joint, one of PASSIVE."""
        changes = []
        for i, v in enumerate(range(self._v[joint], self._v[joint + 1])):
            column = values[:, i : i + 1]
            at = PASSIVE.index(name)
            changes.append(Changed(self.table("passive").of(v)[at : at + 1], column))
            if "smooth" in self.tables and name not in ("friction", "lower", "upper"):
                changes.append(Changed(self.table("smooth").of(v)[at : at + 1], column))
            if "diagonal" in self.tables and name == "stiffness" and self._is_plain(joint):
                place = self.table("diagonal").place + v
                changes.append(Changed(np.array([place]), column))
            if v in self.coordinate_laws and name in _LAW:
                place = self.table("coordinates").of(self.coordinate_laws[v])[_LAW.index(name)]
                changes.append(Changed(np.array([place]), column))
        return changes

    def rest(self, joint: int, values: Array) -> list[Changed]:
        """Return the rest position (k, nq) of a joint's spring."""
        places = self.table("bodies").of(joint)[_REST : _REST + values.shape[1]]
        return [Changed(places, values)]

    def _is_plain(self, joint: int) -> bool:
        """Return whether the coordinates of a joint are plain numbers."""
        own = self.model.joints[joint]
        return len(own.start_q) == len(own.start_v)
