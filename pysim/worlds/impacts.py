"""Impacts of a world with `contact_law = "impact"`: events of gaps, changes of velocity, and contacts that last.

A surface that another one approaches faster than `rest_speed` strikes it, with Newton's restitution (impact_law.py);
one that approaches more slowly comes to rest on it and is carried by the compliant law without restitution. An impact
is solved in rounds, each for all points of the bodies that approach each other, until none do: so an impact passes on
through bodies that touch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim._engine import Direction, EventDescription
from pysim.algorithms import forward_kinematics, jacobian, minverse
from pysim.contact.compiler import engine_contacts
from pysim.contact.distances import normal_axes
from pysim.contact.impact_law import solve_impact
from pysim.errors import PysimWarning, SimulationError
from pysim.loops import constraint_jacobian
from pysim.mechanism.event_compiler import event_descriptions
from pysim.spatial import skew
from pysim.typing import Array
from pysim.worlds.contact_report import (
    IMPULSE,
    NORMAL,
    PENETRATION,
    POINT,
    start_report,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene
    from pysim.worlds.segment import EventOccurrence

TOUCHING_GAP = 1e-9  # [m]: largest gap of points that touch
MISSED_PENETRATION = 1e-7  # [m]: penetration that shows an impact that was not found
ROUNDS = 1000  # of an impact
FLIGHT = 0.25  # of the flight after an impact: longest first step


@dataclass(frozen=True)
class TouchingPoints:
    """Points that touch at a state: their pairs of shapes, axes in the world, and motion."""

    index: NDArray[np.intp]  # (k,) among the points of all pairs
    shape: NDArray[np.integer[Any]]  # (k,) among the pairs of shapes
    axes: Array  # (k, 3, 3), rows: normal and two tangents
    J: Array  # (3k, nv), of the second body's point relative to the first body's
    surface: Array  # (3k,) velocity of the first body's surface on it [m/s]
    depth: Array  # (k,) penetration [m]

    def velocities(self, v: Array) -> Array:
        """Return the velocities (k, 3) relative to the first body's surface [m/s]."""
        return np.asarray((self.J @ v - self.surface).reshape(-1, 3))


def has_impacts(scene: Scene) -> bool:
    """Return whether surfaces of a scene that meet change velocities."""
    return scene.settings.contact_law == "impact" and scene.contacts is not None


def impact_events(scene: Scene) -> _engine.Events:
    """Return the events of a scene, and after them those of the gaps of its contacts."""
    contacts = scene.contacts
    assert contacts is not None
    gaps = [
        EventDescription.gap(pair, point, Direction.falling)
        for pair in range(len(contacts.shapes))
        for point in range(contacts.engine.gaps(pair))
    ]
    own = event_descriptions(scene.model, scene.spec.events)
    return _engine.Events(scene.model, [*own, *gaps], contacts.engine)


def kept_numbers(scene: Scene) -> int:
    """Return how many numbers of a record impacts keep."""
    return 2 * len(scene.contacts.shapes) if scene.contacts is not None else 0


class Impacts:
    """Impacts of a world, and which pairs of shapes rest on each other.

    Their events follow those of the scene; among the names of events, one for each pair of links follows.

    Args:
        scene: of the world.
        kept: numbers of its record (`kept_numbers`,), 1 for pairs of shapes that rest, then for those warned of.
    """

    def __init__(self, scene: Scene, kept: Array) -> None:
        contacts = scene.contacts
        assert contacts is not None
        self._scene, self._contacts = scene, contacts
        self._rests, self._is_warned = np.split(kept, 2)  # live
        self._forces: dict[bytes, _engine.Contacts | None] = {}
        self.impulses = np.zeros((contacts.engine.points, 3))  # since the last output [N·s]
        self.rest_speed = scene.settings.rest_speed
        self.velocity = scene.state.v  # after the last event
        self._first = len(scene.spec.events)  # event of a gap

    @property
    def forces(self) -> _engine.Contacts | None:
        """Compliant contacts of the pairs that rest, None if there are none."""
        key = self._rests.tobytes()
        if key not in self._forces:
            chosen = [self._contacts.shapes[k] for k in np.flatnonzero(self._rests).tolist()]
            speed = self._scene.settings.slip_speed
            found = engine_contacts(self._scene.model, chosen, speed) if chosen else None
            self._forces[key] = found
        return self._forces[key]

    def is_impact(self, event: int) -> bool:
        """Return whether an event of the engine is one of a gap."""
        return event >= self._first

    def begin(self, t: float, q: Array, v: Array) -> Array:
        """Return the velocity after the impacts of surfaces that touch at the start of a run, at t [s]."""
        return self._strike(t, q, v)[0]

    def at_event(self, at: EventOccurrence) -> tuple[list[EventOccurrence], bool]:
        """Solve the impacts at an event of a gap.

        Returns:
            The impacts of pairs of links in their order, with the velocities after them; and whether a run goes on from
            there, with `velocity` and other pairs that rest.
        """
        before = self._rests.copy()
        self.velocity, struck = self._strike(at.t, at.q, at.v)
        impacts = [replace(at, index=self._first + pair, v=v) for pair, v in struck]
        return impacts, bool(impacts) or not np.array_equal(self._rests, before)

    def passed(self, q: Array, v: Array) -> bool:
        """Return whether surfaces passed through each other, whose impact was too short; they rest from now on."""
        near = self._near(q, v)
        depth = near[:, PENETRATION] * (near[:, NORMAL] != 0).any(axis=1)
        shapes = self._contacts.shape_of_point[depth > MISSED_PENETRATION]
        found = bool((self._rests[shapes] == 0).any())
        self._rests[shapes] = 1
        return found

    def first_step(self, q: Array, v: Array) -> float:
        """Return a step [s] that is short for the flight that begins with a state; 0 if there is none."""
        points = self._touching(q, v)
        leaving = points.velocities(v)[:, 0]
        leaving = leaving[leaving > self.rest_speed]
        gravity = float(np.linalg.norm(self._scene.model.gravity))
        if not len(leaving) or gravity == 0:
            return 0.0
        return FLIGHT * 2 * float(leaving.min()) / gravity

    def report(self, q: Array, v: Array) -> Array:
        """Return the reports (n, points, 18) of outputs; impulses of impacts are in the first one after them."""
        found = start_report(self._scene, q, v)
        if len(found):
            found[0, :, IMPULSE] += self.impulses
            self.impulses = np.zeros_like(self.impulses)
        return found

    def _near(self, q: Array, v: Array) -> Array:
        """Return the reports (points, 18) of the points that touch or overlap."""
        engine = self._contacts.engine
        return np.asarray(_engine.contact_points(engine, q, v, reach=TOUCHING_GAP))

    def _strike(self, t: float, q: Array, v: Array) -> tuple[Array, list[tuple[int, Array]]]:
        """Return the velocity after the impacts of a state, and the pairs of links with the velocity after each."""
        points = self._touching(q, v)
        rounds, struck = 0, []
        if len(points.index):
            W = self._mobility(q)
            while (chosen := self._chosen(points, v)).any():
                rounds += 1
                if rounds > ROUNDS:
                    raise self._endless(t, points, chosen)
                v = self._solved(t, points, chosen, W, v)
                links = np.unique(self._contacts.pair_of_point[points.index[chosen]])
                struck += [(pair, v) for pair in links.tolist()]
        self._rest(points, v)
        return v, struck

    def _chosen(self, points: TouchingPoints, v: Array) -> NDArray[np.bool_]:
        """Return which points (k,) are of bodies that approach each other."""
        approaches = points.velocities(v)[:, 0] < -self.rest_speed
        links = self._contacts.pair_of_point[points.index]
        return np.isin(links, links[approaches])

    def _solved(
        self, t: float, points: TouchingPoints, chosen: NDArray[np.bool_], W: Array, v: Array
    ) -> Array:
        """Return the velocity after an impact at the chosen points, with the mobility W = M⁻¹ on constraints."""
        which = np.flatnonzero(chosen)
        rows = (3 * which[:, np.newaxis] + np.arange(3)).ravel()
        J = points.J[rows]
        laws = [self._contacts.shapes[k].law for k in points.shape[which]]
        restitution = np.array([law.restitution for law in laws])
        friction = np.array([law.dynamic_friction for law in laws])
        before = points.velocities(v)[which]
        impact = solve_impact(J @ W @ J.T, before, restitution, friction)
        if impact is None:
            raise self._unsolved(t, points, chosen)
        if impact.factor < 1:
            self._warn_of_gain(t, points, which, impact.factor)
        forces = np.einsum("kij,ki->kj", points.axes[which], impact.impulses)
        self.impulses[points.index[which]] += forces
        return np.asarray(v + W @ (J.T @ impact.impulses.ravel()))

    def _rest(self, points: TouchingPoints, v: Array) -> None:
        """Let the pairs rest whose points touch without leaving, and those that are still deep in contact."""
        slow = points.velocities(v)[:, 0] <= self.rest_speed
        stays, deep = np.zeros((2, len(self._rests)), bool)
        stays[points.shape[slow]] = True
        deep[points.shape[points.depth > MISSED_PENETRATION]] = True
        self._rests[:] = stays | (deep & (self._rests > 0))

    def _touching(self, q: Array, v: Array) -> TouchingPoints:
        """Return the points that touch at a state."""
        near, contacts, model = self._near(q, v), self._contacts, self._scene.model
        index = np.flatnonzero((near[:, NORMAL] != 0).any(axis=1))
        shape = contacts.shape_of_point[index]
        axes = np.array([normal_axes(n) for n in near[index, NORMAL]]).reshape(-1, 3, 3)
        motion: dict[int, tuple[Array, Array]] = {}

        def point_jacobian(body: int, point: Array) -> tuple[Array, Array]:
            """Return the Jacobian (3, nv) of a body's point, and the body's orientation."""
            if body < 0:
                return np.zeros((3, model.nv)), np.eye(3)
            if body not in motion:
                name = model.body_names[body]
                motion[body] = jacobian(model, q, name, "aligned"), poses[body]
            J, pose = motion[body]
            return J[:3] - skew(point - pose[:3, 3]) @ J[3:], pose[:3, :3]

        poses = forward_kinematics(model, q)
        J, surface = np.zeros((3 * len(index), model.nv)), np.zeros(3 * len(index))
        for k, (i, s) in enumerate(zip(index, shape, strict=True)):
            own = contacts.shapes[s]
            other = -1 if own.opposite is None else own.opposite.body
            point, rows = near[i, POINT], slice(3 * k, 3 * k + 3)
            (J_b, _), (J_a, R) = point_jacobian(own.body, point), point_jacobian(other, point)
            J[rows] = axes[k] @ (J_b - J_a)
            surface[rows] = axes[k] @ (R @ np.array(own.surface_velocity))
        return TouchingPoints(index, shape, axes, J, surface, near[index, PENETRATION])

    def _mobility(self, q: Array) -> Array:
        """Return M⁻¹ (nv, nv), on the velocities that loops and couplings permit."""
        model = self._scene.model
        W = np.asarray(minverse(model, q))
        if not model.rows:
            return W
        J = constraint_jacobian(model, q)
        return np.asarray(W - W @ J.T @ np.linalg.pinv(J @ W @ J.T, hermitian=True) @ J @ W)

    def _names(self, points: TouchingPoints, chosen: NDArray[np.bool_]) -> str:
        pairs = dict.fromkeys(self._contacts.pair_of_point[points.index[chosen]].tolist())
        return " and of ".join(self._contacts.pairs[k].name for k in pairs)

    def _warn_of_gain(
        self, t: float, points: TouchingPoints, which: NDArray[np.intp], factor: float
    ) -> None:
        shape = int(points.shape[which[0]])
        if self._is_warned[shape]:
            return
        self._is_warned[shape] = 1
        own = self._contacts.shapes[shape]
        problem = (
            f"the impact at t = {t:.9g} s would add energy with the restitution {own.law.restitution:g} and the"
            f" friction {own.law.dynamic_friction:g}, so its restitution is {factor * own.law.restitution:.3g}"
        )
        remedy = 'reduce one of them, or take simulation.contact_law = "compliant"'
        name = self._contacts.pairs[own.pair].name
        warnings.warn(f"contact {name}: {problem}; {remedy}", PysimWarning, stacklevel=2)

    def _unsolved(
        self, t: float, points: TouchingPoints, chosen: NDArray[np.bool_]
    ) -> SimulationError:
        problem = (
            f"at t = {t:.9g} s the impact of {self._names(points, chosen)} at {int(chosen.sum())} points has no"
            ' solution that Newton\'s method finds; take simulation.contact_law = "compliant", or less friction'
        )
        return SimulationError(str(self._scene.spec.path), problem)

    def _endless(
        self, t: float, points: TouchingPoints, chosen: NDArray[np.bool_]
    ) -> SimulationError:
        problem = (
            f"at t = {t:.9g} s the impacts of {self._names(points, chosen)} follow one another without end; take"
            ' simulation.contact_law = "compliant", or a larger rest_speed [m/s]'
        )
        return SimulationError(str(self._scene.spec.path), problem)
