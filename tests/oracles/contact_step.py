"""One convex step of a scene with contacts, dense and slow: gaps, radii of friction, deflections, and the end.

The step is that of docs/theory/contact.md. Everything is on the axes of the world; contact points see bodies as they
are at the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

import pysim
from pysim.contact.laws import PairLaw
from pysim.contact.shape_pairs import ShapePair
from pysim.typing import Array
from tests.oracles.contact import Term, friction, minimise, normal_spring, stop
from tests.oracles.contact_geometry import ball_radius, lowest_points, nearest
from tests.oracles.free_velocity import FreeMotion, Joint, Servo

MOST_REMEMBERED = 10.0  # deflection, over what the impulse at the end lets friction hold
STICKING = 1e-10  # deflection [m or rad] at which the dry friction of a joint begins to slide

Key = tuple[int, int]  # of a contact point: pair of shapes, and point of the pair


@dataclass
class Memory:
    """Deflections that a step leaves to the next one, those of points on the world's axes."""

    points: dict[Key, Array] = field(default_factory=dict)  # [m]
    turning: dict[Key, Array] = field(default_factory=dict)  # [rad]
    slid: set[Key] = field(default_factory=set)
    joints: dict[int, float] = field(default_factory=dict)  # [m or rad], by coordinate of v


@dataclass
class Point:
    """A contact point. J v − surface is its velocity, J_w v that of rotation, relative to the first surface."""

    key: Key
    pair: int  # of links
    law: PairLaw
    p: Array  # [m]
    n: Array  # towards the second body
    x: float  # penetration at the start [m]
    J: Array  # (3, nv)
    J_w: Array  # (3, nv)
    surface: Array  # [m/s]
    lever: float  # L of rolling and spinning friction [m]
    turn: Array  # mean rotation of both bodies in the step
    s: Array  # deflection at the start [m]
    theta: Array  # angular deflection at the start [rad]
    mu: float
    radius: float = 0.0  # of the disc of friction [N·s]

    @property
    def across(self) -> Array:
        """Projection onto the tangential plane."""
        projection: Array = np.eye(3) - np.outer(self.n, self.n)
        return projection

    def terms(self, h: float) -> Iterator[tuple[str, Term]]:
        """Yield the potentials: normal, and where the radius is not zero, of friction, rolling and spinning."""
        n, across, law = self.n[None], self.across, self.law
        yield "normal", Term(n @ self.J, -n @ self.surface, normal_spring(law, h, self.x))
        if self.radius <= 0:
            return
        k, span = h * law.tangential_stiffness, h + law.relaxation_time
        potential = friction(k * self.s, k * span, self.radius)
        yield "friction", Term(across @ self.J, -across @ self.surface, potential)
        k *= self.lever**2
        for name, length, along in (("roll", law.rolling, across), ("spin", law.spinning, n)):
            if length > 0:
                potential = friction(k * along @ self.theta, k * span, length * self.radius)
                yield name, Term(along @ self.J_w, np.zeros(len(along)), potential)

    def impulses(self, v: Array, h: float) -> dict[str, Array]:
        """Return the impulse (3,) of every potential at a velocity [N·s, N·m·s]."""
        found = {name: np.zeros(3) for name in ("normal", "friction", "roll", "spin")}
        for name, term in self.terms(h):
            gamma = -term.potential(term.J @ v + term.b)[1]
            found[name] = gamma if len(gamma) == 3 else gamma[0] * self.n
        return found


@dataclass
class End:
    """End of a step: coordinates, velocity, and the force of each pair of links on the second one [N]."""

    q: Array
    v: Array
    forces: Array  # (pairs, 3)


def shortened(s: Array, most: float) -> Array:
    """Return a vector, of this length at most."""
    size = float(np.linalg.norm(s))
    return s if size <= most else most / size * s


class ContactStep:
    """One step of length h from (q, v) with what the step before left."""

    def __init__(
        self,
        scene: pysim.Scene,
        q: Array,
        v: Array,
        h: float,
        memory: Memory,
        servos: tuple[Servo, ...] = (),
    ) -> None:
        assert scene.contacts is not None
        self.contacts, self.memory, self.h = scene.contacts, memory, h
        self.motion = FreeMotion(scene.model, q, v, h, servos)
        self.points = list(self._points())
        for P in self.points:  # radii of the first pass: normal forces at the start
            u_n = P.n @ (P.J @ v - P.surface)
            force = P.law.stiffness * max(P.x, 0.0) ** P.law.exponent
            P.radius = P.mu * h * force * max(1 - P.law.dissipation * u_n, 0.0)
        for P in self.points:  # gaps and deflections see the shift of positions
            shift = P.J @ self.motion.shift
            P.x -= float(P.n @ shift)
            P.s = P.s + P.across @ shift
            P.theta = P.theta + P.J_w @ self.motion.shift

    def solve(self) -> Array:
        """Return the velocity with the radii of friction as they are."""
        return minimise(self.motion.A, self.motion.free, list(self._terms()))

    def cost(self, v: Array) -> float:
        """Return ½ |v − v*|²_A + Σ P [J]."""
        away = v - self.motion.free
        terms = (term.potential(term.J @ v + term.b)[0] for term in self._terms())
        return float(away @ self.motion.A @ away) / 2 + float(sum(terms))

    def renew_radii(self, v: Array) -> float:
        """Put μ times the normal impulses at v in place of the radii of friction; returns the largest change."""
        change = 0.0
        for P in self.points:
            radius = P.mu * float(P.n @ P.impulses(v, self.h)["normal"])
            change, P.radius = max(change, abs(radius - P.radius)), radius
        return change

    def leaves_memory_to_rounding(self, v: Array) -> bool:
        """Return whether a point rubs without a normal impulse: it remembers its deflection if rounding leaves one."""
        impulses = [P.impulses(v, self.h) for P in self.points]
        return any(i["friction"].any() and not i["normal"].any() for i in impulses)

    def end(self, v: Array) -> End:
        """Return the state and the forces at the end; leaves deflections in the memory."""
        h, forces = self.h, np.zeros((len(self.contacts.pairs), 3))
        points, turning, slid = {}, {}, set()
        for P in self.points:
            impulses = P.impulses(v, h)
            forces[P.pair] += (impulses["normal"] + impulses["friction"]) / h
            pushed = float(P.n @ impulses["normal"])
            if pushed <= 0:
                continue
            bound = MOST_REMEMBERED * P.mu * pushed / h  # [N]
            k, tau = P.law.tangential_stiffness, P.law.relaxation_time
            stuck = P.s + h * P.across @ (P.J @ v - P.surface)
            sticks = np.linalg.norm(impulses["friction"]) < P.radius * (1 - 1e-14)
            slides = (tau * P.s - impulses["friction"] / k) / (h + tau)
            points[P.key] = P.turn @ shortened(stuck if sticks else slides, bound / k)
            if not sticks:
                slid.add(P.key)
            k *= P.lever**2
            turning[P.key] = np.zeros(3)
            for name, length, along in (
                ("roll", P.law.rolling, P.across),
                ("spin", P.law.spinning, np.outer(P.n, P.n)),
            ):
                if length <= 0:
                    continue
                sticks = np.linalg.norm(impulses[name]) < length * P.radius * (1 - 1e-14)
                stuck = along @ (P.theta + h * P.J_w @ v)
                slides = along @ (tau * P.theta - impulses[name] / k) / (h + tau)
                turning[P.key] += P.turn @ (stuck if sticks else slides)
            longest = max(P.law.rolling, P.law.spinning)
            turning[P.key] = shortened(turning[P.key], longest * bound / k)
        self.memory.points, self.memory.turning, self.memory.slid = points, turning, slid
        for joint in self.motion.joints:
            s = self.memory.joints.get(joint.v, 0.0) + self.motion.shift[joint.v] + h * v[joint.v]
            self.memory.joints[joint.v] = float(np.clip(s, -STICKING, STICKING))
        return End(*self._moved(v), forces)

    def _points(self) -> Iterator[Point]:
        for k, pair in enumerate(self.contacts.shapes):
            X_B, lever = self.motion.X[pair.body] @ pair.pose, ball_radius(pair.shape)
            if pair.ground is not None:
                n = np.array(pair.ground.normal) / np.linalg.norm(pair.ground.normal)
                for i, p in enumerate(lowest_points(pair.shape, X_B, n)):
                    yield self._point((k, i), pair, p, n, pair.ground.offset - n @ p, lever)
            elif pair.opposite is not None:
                other = pair.opposite
                X_A = other.pose if other.body < 0 else self.motion.X[other.body] @ other.pose
                p, n, gap = nearest(other.shape, X_A, pair.shape, X_B)
                lever = min(lever, ball_radius(other.shape))
                yield self._point((k, 0), pair, p, n, -gap, lever)

    def _point(
        self, key: Key, pair: ShapePair, p: Array, n: Array, x: float, lever: float
    ) -> Point:
        """Return a point with what it remembers, that of two shapes only while they overlap.

        Deflections stay on the plane across the normal; those of two shapes keep their length.
        """
        J, turn = self.motion.point_jacobian(pair.body, p), np.eye(3)
        if pair.opposite is not None and pair.opposite.body >= 0:
            J_A = self.motion.point_jacobian(pair.opposite.body, p)
            turn = Rotation.from_rotvec(self.h / 2 * (J + J_A)[3:] @ self.motion.v).as_matrix()
            J = J - J_A
        s, theta = (m.get(key, np.zeros(3)) for m in (self.memory.points, self.memory.turning))
        slid = key in self.memory.slid
        if pair.opposite is not None and x <= 0:
            s, theta, slid = np.zeros(3), np.zeros(3), False
        flat = s - n @ s * n
        if pair.opposite is not None and flat.any():
            flat *= np.linalg.norm(s) / np.linalg.norm(flat)
        mu = pair.law.dynamic_friction if slid else pair.law.static_friction
        surface = np.array(pair.surface_velocity)
        found = key, pair.pair, pair.law, p, n, x, J[:3], J[3:], surface, lever, turn, flat, theta
        return Point(*found, mu)

    def _terms(self) -> Iterator[Term]:
        h, rows, none = self.h, np.eye(len(self.motion.v)), np.zeros(1)
        for P in self.points:
            yield from (term for _, term in P.terms(h))
        for joint in self.motion.joints:
            if joint.is_free:
                continue
            spec, row, shift = joint.spec, rows[joint.v : joint.v + 1], self.motion.shift[joint.v]
            q = self.motion.q[joint.q] + shift
            if spec.friction[0] > 0:
                k = h * spec.friction[0] / STICKING
                s = np.array([self.memory.joints.get(joint.v, 0.0) + shift])
                yield Term(row, none, friction(k * s, k * h, h * spec.friction[0]))
            for sign, x in ((1.0, q - spec.upper[0]), (-1.0, spec.lower[0] - q)):
                if np.isfinite(x):
                    law = stop(spec.stop_stiffness[0], spec.stop_damping[0], h, x)
                    yield Term(sign * row, none, law)
        yield from self.motion.servo_terms

    def _moved(self, v: Array) -> tuple[Array, Array]:
        """Return q₁ = q₀ ⊕ h v₁, and v₁ with linear velocities of free joints on the axes of the end."""
        h, motion = self.h, self.motion
        shift = motion.shift
        q_1, v_1 = motion.model.integrate(motion.q, h * v + shift), v.copy()
        for joint in motion.joints:
            if joint.is_free:
                self._move_free(joint, v, shift, q_1, v_1)
        return q_1, v_1

    def _move_free(self, joint: Joint, v: Array, shift: Array, q_1: Array, v_1: Array) -> None:
        """Move a free joint: linear motion on the axes of the start; a body alone turns about its centre of mass."""
        h, motion, i = self.h, self.motion, joint.v
        linear, angular = slice(i, i + 3), slice(i + 3, i + 6)
        R = Rotation.from_quat(motion.q[joint.q + 3 : joint.q + 7])
        turn = Rotation.from_rotvec(h * v[angular] + shift[angular])
        moved = R.apply(h * v[linear] + shift[linear])
        v_1[linear] = turn.inv().apply(v[linear])
        if joint.alone:
            _, c, I = motion.inertia(joint)
            L = I @ (motion.v[angular] + v[angular] - motion.free[angular])
            v_1[angular] = np.linalg.solve(I, turn.inv().apply(L))
            of_centre = v[linear] + np.cross(v[angular], c)
            v_1[linear] = turn.inv().apply(of_centre) - np.cross(v_1[angular], c)
            moved = R.apply(h * of_centre + c) - (R * turn).apply(c)
        q_1[joint.q : joint.q + 3] = motion.q[joint.q : joint.q + 3] + moved
        q_1[joint.q + 3 : joint.q + 7] = (R * turn).as_quat()


def fixed_point(step: ContactStep, most: int) -> Array | None:
    """Return the velocity with radii of friction by its own normal impulses; None if `most` renewals are too few."""
    v = step.solve()
    for _ in range(most):
        if step.renew_radii(v) <= 1e-14:
            return v
        v = step.solve()
    return None
