"""Velocity v* of a convex step without contacts, in dense matrices, by docs/theory/contact.md.

    A (v* − v₀) = h (τ − c(q₀, v₀) − g(q₀)) − h² K v₀        A = M + h D + h² K

The velocity terms c of trees are then replaced by those at the middle of the step. Bodies that move freely and alone
keep their momenta. Joints are revolute, prismatic and free; free ones carry a root.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import root
from scipy.spatial.transform import Rotation

import pysim
from pysim.scene.spec import JointSpec
from pysim.typing import Array
from tests.oracles.contact import Term, bounded_spring


@dataclass(frozen=True)
class Servo:
    """Force clip(kp (target − q) − kd v, ±bound) on a coordinate of v."""

    coordinate: int
    target: float
    kp: float
    kd: float
    bound: float


@dataclass(frozen=True)
class Joint:
    """A joint and the places of its coordinates; `alone` if its body moves freely and carries no other."""

    spec: JointSpec
    q: int
    v: int
    nv: int
    alone: bool

    @property
    def is_free(self) -> bool:
        return self.spec.type == "free"


class FreeMotion:
    """A mechanism at (q, v), its A and v* in a step of length h; linear velocities on the axes of the start."""

    def __init__(
        self, model: pysim.Model, q: Array, v: Array, h: float, servos: tuple[Servo, ...] = ()
    ) -> None:
        self.model, self.q, self.v, self.h = model, q, v, h
        self.M = pysim.crba(model, q)
        self.X = pysim.forward_kinematics(model, q)
        self.J = [pysim.jacobian(model, q, name, "aligned") for name in model.body_names]
        parents = {spec.parent for spec in model.spec.joints}
        at_q = np.cumsum([0, *model.joint_nq])
        at_v = np.cumsum([0, *model.joint_nv])
        self.joints = [
            Joint(
                spec,
                int(at_q[k]),
                int(at_v[k]),
                model.joint_nv[k],
                alone=spec.type == "free" and spec.child not in parents,
            )
            for k, spec in enumerate(model.spec.joints)
        ]
        self.servo_terms: list[Term] = []
        tau = self._add_forces(servos)
        weight = pysim.generalized_gravity(model, q)
        bias = pysim.nonlinear_effects(model, q, v) - weight
        self.free = v + h * np.linalg.solve(self.A, tau - weight - bias)
        self.shift = np.zeros(len(v))  # of positions, from q₀ ⊕ h v₁
        self._add_velocity_terms(bias)
        for joint in self.joints:
            if joint.alone:
                self.free[joint.v : joint.v + 6] = self._free_body(joint)

    def point_jacobian(self, body: int, p: Array) -> Array:
        """Return J (6, nv) of a point of a body on the world's axes, then of the body's rotation."""
        J, r = self.J[body], p - self.X[body][:3, 3]
        return np.vstack([J[:3] + np.cross(J[3:].T, r).T, J[3:]])

    def inertia(self, joint: Joint) -> tuple[float, Array, Array]:
        """Return mass, centre of mass and inertia about it of a body alone, on its axes."""
        block = self.M[joint.v : joint.v + 6, joint.v : joint.v + 6]
        m, mc = block[0, 0], block[3:, :3]
        c = np.array([mc[2, 1], mc[0, 2], mc[1, 0]]) / m
        return m, c, block[3:, 3:] - m * (c @ c * np.eye(3) - np.outer(c, c))

    def _add_forces(self, servos: tuple[Servo, ...]) -> Array:
        """Return τ − h K v₀ of springs, dampers and servos; leaves A and the terms of servos at their bounds."""
        h, nv = self.h, len(self.v)
        tau, D, K = np.zeros((3, nv))
        at_q = {joint.v: joint.q for joint in self.joints}
        for joint in self.joints:
            if joint.is_free:
                continue
            i, spec = joint.v, joint.spec
            D[i], K[i] = spec.damping[0], spec.stiffness[0]
            tau[i] = -D[i] * self.v[i] - K[i] * (self.q[joint.q] - spec.rest[0])
        for servo in servos:
            i = servo.coordinate
            a, c = servo.kp * (servo.target - self.q[at_q[i]]), servo.kd + h * servo.kp
            force = a - servo.kd * self.v[i]
            share = np.clip((servo.bound - abs(force)) / (0.02 * servo.bound), 0.0, 1.0)
            at_start = np.clip(force, -servo.bound, servo.bound)
            tau[i] += at_start
            D[i] += share * servo.kd
            K[i] += share * servo.kp
            seen = (share * a + (1 - share) * at_start, share * c)
            potential = bounded_spring(a, c, servo.bound, seen, h)
            self.servo_terms.append(Term(np.eye(nv)[i : i + 1], np.zeros(1), potential))
        self.base = h * D + h**2 * K
        self.A = self.M + np.diag(self.base)
        remaining: Array = tau - h * K * self.v
        return remaining

    def _add_velocity_terms(self, bias: Array) -> None:
        """Put accelerations by velocities at the middle of the step into v* of trees, where they converge."""
        h, v, free = self.h, self.v, self.free
        inside = np.ones(len(v), bool)
        for joint in self.joints:
            inside[joint.v : joint.v + joint.nv] = not joint.alone
        rate = np.where(inside, -np.linalg.solve(self.A, bias), 0.0)
        share = self._share()
        accelerations = self._rounds(rate, inside) if share > 0 else None
        if accelerations is not None:
            free += h * share * (accelerations - rate) * inside
            self.shift = -(h**2) / 2 * share * accelerations * inside
        for joint in self.joints:
            if joint.alone or not joint.is_free:
                continue
            linear, angular = slice(joint.v, joint.v + 3), slice(joint.v + 3, joint.v + 6)
            if accelerations is None:
                free[linear] += h * np.cross(v[angular], v[linear])
                continue
            turn = Rotation.from_rotvec(h * free[angular] + self.shift[angular])
            at_start = free[linear] + h * np.cross(v[angular], v[linear])
            begins, turned = free[linear] - h * accelerations[linear], turn.apply(free[linear])
            self.shift[linear] = h / 2 * share * (begins - turned)
            free[linear] = at_start + share * (turned - at_start)

    def _rounds(self, rate: Array, inside: Array) -> Array | None:
        """Return a of A a = −(M(q_m) − M(q₀)) a − c(q_m, v_m), in rounds; None if they do not converge.

        A round that changes less than 1e-9 of the kinetic energy is the last one, and so is one after which the next
        would change less than 1e-12 of it; where these are less than halved, the next one counts in part.
        """
        h, model = self.h, self.model.with_gravity(np.zeros(3))
        start, before, counts = self.free - h * rate, 1.0, 1.0
        for n in range(8):
            v_m = np.where(inside, start + h / 2 * rate, 0.0)
            q_m = model.integrate(self.q, h / 2 * v_m)
            rest = -(pysim.rnea(model, q_m, v_m, rate) + self.base * rate) * inside
            step = np.linalg.solve(self.A, rest) * inside
            energy = 2 * float(pysim.kinetic_energy(model, q_m, v_m)) - float(
                v_m**2 @ model.armature
            )
            share = h**2 * float(step @ rest) / energy
            if share > before:
                return None
            rate = rate + counts * step
            excess = min(share / 1e-9, share**2 / (1e-12 * before) if n > 0 else np.inf) - 1
            if counts < 1 or (excess <= 0 and share <= 1e-6):
                break
            before, counts = share, 1.0 if share > 1e-6 else min(excess, 1.0)
        return rate if share <= 1e-6 else None

    def _share(self) -> float:
        """Return the share of the rounds that counts: 0 where no body of a tree turns by more than 1e-4, nor a joint's
        motion with it so much, and 1 from twice as much on.
        """
        h, most = self.h, 0.0
        for b, joint in enumerate(self.joints):
            V = self.J[b] @ self.v
            V_joint = V.copy()
            if joint.spec.parent != "world":
                a = self.model.body_names.index(joint.spec.parent)
                V_joint -= self.point_jacobian(a, self.X[b][:3, 3]) @ self.v
            change = np.cross(V[3:], V_joint[:3]) + np.cross(V[:3], V_joint[3:])
            if not joint.alone:
                square = max(float(V[:3] @ V[:3]), 1e-290)
                most = max(most, float(V[3:] @ V[3:]), float(change @ change) / square)
        return float(np.clip((h**2 * most / 1e-8 - 1) / 3, 0, 1))

    def _free_body(self, joint: Joint) -> Array:
        """Return the velocity of a body alone, from its momenta P and L about its centre of mass.

        I ω = exp(−h ω/2) L, ω the mean angular velocity on the axes of the start.
        """
        m, c, I = self.inertia(joint)
        linear, angular = self.v[joint.v : joint.v + 3], self.v[joint.v + 3 : joint.v + 6]
        R = Rotation.from_quat(self.q[joint.q + 3 : joint.q + 7])
        P = m * (
            linear + np.cross(angular, c) + self.h * R.inv().apply(np.array(self.model.gravity))
        )
        L, scale = I @ angular, np.abs(angular).max() + 1.0

        def residual(x: Array) -> Array:
            omega = scale * x
            turned: Array = Rotation.from_rotvec(-self.h / 2 * omega).apply(L)
            return (I @ omega - turned) / scale

        omega = root(residual, angular / scale, tol=1e-15).x * scale
        return np.concatenate([P / m - np.cross(omega, c), omega])
