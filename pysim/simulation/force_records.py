"""Forces of a model at recorded states: tensions, wrenches, generalised forces.

    path           T(L, L̇)          NAME.tension [N], positive if it pulls the ends together
    frames         F(X_AB, V_AB)    NAME.fx … NAME.tz [N, N·m] on frame B, in B, about its origin
    coordinates    f(q, v)          NAME.COORDINATE [N or N·m]

They are computed from the plugins' tapes (pysim.tracing), apart from the engine, which gives the lengths of paths over
obstacles. A force that an event has released is 0. Forces that depend on time or on signals, and actuators along paths,
are read from the signals' program.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.algorithms import frame_placement, frame_velocity
from pysim.elements.force import depends_on_signals, find_force
from pysim.elements.tracing import force_function
from pysim.mechanism.signal_compiler import compile_lengths, with_signals
from pysim.plugins.fields import build
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pysim.elements.graph_types import CompiledSignals, ExertedForce
    from pysim.mechanism.model import Model
    from pysim.scene.spec import ForceSpec

    Law = Callable[[Array], Array]

WORLD = "world"
MOST_FORCES = 200  # forces that are recorded; each takes about 0.2 ms for 256 rows
WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")


@dataclass(frozen=True)
class Column:
    """Name and unit of one recorded number."""

    name: str
    unit: str


def _is_straight(force: ForceSpec) -> bool:
    return all(part.kind == "point" and not part.moves for part in force.path)


class ForceRecords:
    """Forces of a model; `values` computes their numbers."""

    def __init__(self, model: Model, signals: CompiledSignals | None = None) -> None:
        self._model = model
        self._gates = {} if signals is None else signals.gates
        self.columns: list[Column] = []
        self._owners: list[str] = []  # names of the columns' forces
        self._parts: list[Callable[[_Motion], Array]] = []
        spec = model.spec
        forces = [f for f in spec.forces if self._is_recorded(f)]
        self._driven: list[slice] = []  # columns among the readings, after the others
        driven = () if signals is None else self._exerted(signals, forces)
        if len(forces) + len(driven) > MOST_FORCES:
            return
        for force in forces:
            plugin: Any = find_force(force.type)
            made = build(plugin, force.parameters, force.where)
            law = force_function(made, len(force.coordinates))
            if force.path and _is_straight(force):
                self._along(force.name, [(part.body, part.point) for part in force.path], law)
            elif force.path:
                self._over(force, law)
            elif force.coordinates:
                if set(force.coordinates) <= set(model.velocity_names):
                    self._on_coordinates(force, law)
            else:
                self._between(force, law)
            self._owners += [force.name] * (len(self.columns) - len(self._owners))
        for effort in driven:
            self.columns += _columns_of(effort)
            self._driven.append(slice(effort.first, effort.first + effort.count))

    @staticmethod
    def _exerted(signals: CompiledSignals, forces: Iterable[ForceSpec]) -> list[ExertedForce]:
        """Return the forces that the signals' program computes, without those that are computed here."""
        computed = {force.name for force in forces}
        return [effort for effort in signals.exerted if effort.name not in computed]

    def _is_recorded(self, force: ForceSpec) -> bool:
        """Return whether a force depends on the state, and on its release if an event releases it."""
        return not depends_on_signals(force.type, force.parameters) and (
            not force.is_released or force.name in self._gates
        )

    def values(
        self, q: Array, v: Array, signals: Array | None = None, readings: Array | None = None
    ) -> Array:
        """Return the numbers (n, columns) at states q (n, nq), v (n, nv).

        `signals` (n, numbers) are the states of the signals, and `readings` (n, numbers) what the engine read of them.
        """
        motion = _Motion(self._model, q, v)
        rows = [part(motion) for part in self._parts]
        found = np.concatenate(rows).T if rows else np.zeros((len(q), 0))
        for k, force in enumerate(self._owners):
            places = self._gates.get(force)
            if places and signals is not None:
                found[:, k] *= signals[:, list(places)].prod(axis=1)
        if readings is None:
            return found
        return np.concatenate([found, *(readings[:, own] for own in self._driven)], axis=1)

    def _along(self, name: str, path: Iterable[tuple[str, Array]], law: Law) -> None:
        points = list(path)

        def tension(motion: _Motion) -> Array:
            places = [motion.point(link, at) for link, at in points]
            length, rate = np.zeros(motion.rows), np.zeros(motion.rows)
            for (p, u), (r, w) in pairwise(places):
                span = np.linalg.norm(r - p, axis=1)
                length = length + span
                apart = np.einsum("ni,ni->n", r - p, w - u)
                rate = rate + np.divide(apart, span, out=np.zeros(motion.rows), where=span > 0)
            return law(np.stack([length, rate]))

        self.columns.append(Column(f"{name}.tension", "N"))
        self._parts.append(tension)

    def _over(self, force: ForceSpec, law: Law) -> None:
        """Record the tension of a path over obstacles, or through conditional or moving points."""
        compiled = compile_lengths(self._model, [force])
        model = with_signals(self._model, compiled)

        def tension(motion: _Motion) -> Array:
            numbers = np.tile(np.array(compiled.start, float), (motion.rows, 1))
            times, rest = np.zeros(motion.rows), np.zeros_like(motion.v)
            found = _engine.read_signals(model, times, motion.q, motion.v, rest, numbers)
            return law(np.asarray(found).T)

        self.columns.append(Column(f"{force.name}.tension", "N"))
        self._parts.append(tension)

    def _between(self, force: ForceSpec, law: Law) -> None:
        def wrench(motion: _Motion) -> Array:
            A, V_A = motion.frame(force.a, force.at_a)
            B, V_B = motion.frame(force.b, force.at_b)
            R_A, R_B = A[:, :3, :3], B[:, :3, :3]
            apart = B[:, :3, 3] - A[:, :3, 3]
            R = np.einsum("nji,njk->nik", R_A, R_B)
            p = np.einsum("nji,nj->ni", R_A, apart)
            linear = V_B[:, :3] - V_A[:, :3] - np.cross(V_A[:, 3:], apart)
            twist = [np.einsum("nji,nj->ni", R_B, x) for x in (linear, V_B[:, 3:] - V_A[:, 3:])]
            columns = R.transpose(0, 2, 1).reshape(-1, 9)
            return law(np.concatenate([columns, p, *twist], axis=1).T)

        self.columns += _wrench_columns(force.name)
        self._parts.append(wrench)

    def _on_coordinates(self, force: ForceSpec, law: Law) -> None:
        model = self._model
        names = {name: k for k, name in enumerate(model.velocity_names)}
        at = [names[name] for name in force.coordinates]
        numbers = {name: k for k, name in enumerate(model.coordinate_names)}
        places = [numbers.get(name, -1) for name in force.coordinates]

        def generalised(motion: _Motion) -> Array:
            none = np.zeros(motion.rows)
            q = [none if k < 0 else motion.q[:, k] for k in places]
            return law(np.stack([*q, *motion.v[:, at].T]))

        self.columns += [
            Column(
                f"{force.name}.{name}", "N" if model.velocity_units[names[name]] == "m/s" else "N·m"
            )
            for name in force.coordinates
        ]
        self._parts.append(generalised)


def _wrench_columns(name: str) -> list[Column]:
    return [Column(f"{name}.{k}", "N" if k[0] == "f" else "N·m") for k in WRENCH]


def _columns_of(effort: ExertedForce) -> list[Column]:
    """Return the columns of a force that the signals' program computes."""
    if effort.acts == "frames":
        return _wrench_columns(effort.name)
    if effort.acts == "path":
        return [Column(f"{effort.name}.tension", "N")]
    return [
        Column(f"{effort.name}.{place.name}", "N" if place.v_unit == "m/s" else "N·m")
        for place in effort.coordinates
    ]


class _Motion:
    """Poses and velocities of links at n states, each computed once."""

    def __init__(self, model: Model, q: Array, v: Array) -> None:
        self._model, self.q, self.v, self.rows = model, q, v, len(q)
        self._links: dict[str, tuple[Array, Array]] = {}

    def frame(self, link: str, at: Array) -> tuple[Array, Array]:
        """Return the pose (n, 4, 4) of a frame on a link, and its twist (n, 6) about its origin in world axes."""
        pose, twist = self._link(link)
        placed = pose @ at
        arm = placed[:, :3, 3] - pose[:, :3, 3]
        linear = twist[:, :3] + np.cross(twist[:, 3:], arm)
        return placed, np.concatenate([linear, twist[:, 3:]], axis=1)

    def point(self, link: str, at: Array) -> tuple[Array, Array]:
        """Return the position and velocity (n, 3) of a point of a link."""
        pose, twist = self._link(link)
        arm = pose[:, :3, :3] @ at
        return pose[:, :3, 3] + arm, twist[:, :3] + np.cross(twist[:, 3:], arm)

    def _link(self, link: str) -> tuple[Array, Array]:
        if link not in self._links:
            if link == WORLD:
                found = np.tile(np.eye(4), (self.rows, 1, 1)), np.zeros((self.rows, 6))
            else:
                model, q, v = self._model, self.q, self.v
                pose = np.asarray(frame_placement(model, q, link))
                found = pose, np.asarray(frame_velocity(model, q, v, link, "aligned"))
            self._links[link] = found
        return self._links[link]
