"""Dense oracle of a mechanism: 6×6 matrices, one Jacobian for each body, no recursion over forces.

    V_b = J_b(q) v                         J from the joints' subspaces
    a_b = d/dt (J_b v)                     complex step of V_b along q̇, so no bias formula enters
    M   = Σ J_bᵀ M_b J_b + armature        τ = Σ J_bᵀ (M_b (a_b − [Rᵀg; 0]) + V ×* M_b V − f_ext) + armature v̇

Bodies joined by fixed joints stay separate here, so welding is judged too. Couplings (mimic) are the matrix E of
q_tree = E q_own + offset. Everything accepts complex q, for the complex step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.oracles.spatial import (
    adjoint,
    inverse,
    left_jacobian,
    pose,
    quaternion_exp,
    quaternion_product,
    quaternion_rotation,
    rotation,
    spatial_cross,
    spatial_inertia,
)

if TYPE_CHECKING:
    from pysim.scene.spec import JointSpec, ModelSpec

STEP = 1e-30

SIZES = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "cylindrical": (2, 2),
    "universal": (2, 2),
    "ball": (4, 3),
    "planar": (3, 3),
    "translation": (3, 3),
    "free": (7, 6),
}


def joint_pose(joint: JointSpec, q):
    """Return X of a joint, from the definitions of the scene format."""
    axis, o = np.asarray(joint.axis), np.zeros(3)
    match joint.type:
        case "fixed":
            return np.eye(4)
        case "revolute":
            return pose(rotation(axis, q[0]), o)
        case "prismatic":
            return pose(np.eye(3), axis * q[0])
        case "helical":
            return pose(rotation(axis, q[0]), axis * joint.parameters["pitch"] * q[0])
        case "cylindrical":
            return pose(rotation(axis, q[1]), axis * q[0])
        case "universal":
            return pose(rotation([1, 0, 0], q[0]) @ rotation([0, 1, 0], q[1]), o)
        case "ball":
            return pose(quaternion_rotation(q), o)
        case "planar":
            return pose(rotation([0, 0, 1], q[2]), np.array([q[0], q[1], 0 * q[0]]))
        case "translation":
            return pose(np.eye(3), np.asarray(q))
        case "free":
            return pose(quaternion_rotation(q[3:]), np.asarray(q[:3]))
    raise ValueError(joint.type)


def subspace(joint: JointSpec, q):
    """S(q) (6, nv) in the child frame: the body twist of each unit velocity."""
    axis, o = np.asarray(joint.axis), np.zeros(3)
    match joint.type:
        case "fixed":
            return np.zeros((6, 0))
        case "revolute":
            columns = [[*o, *axis]]
        case "prismatic":
            columns = [[*axis, *o]]
        case "helical":
            columns = [[*(joint.parameters["pitch"] * axis), *axis]]
        case "cylindrical":
            columns = [[*axis, *o], [*o, *axis]]
        case "universal":
            columns = [[*o, np.cos(q[1]), 0, np.sin(q[1])], [*o, 0, 1, 0]]
        case "ball":
            return np.vstack([np.zeros((3, 3)), np.eye(3)])
        case "planar":
            s, c = np.sin(q[2]), np.cos(q[2])
            columns = [[c, -s, 0, *o], [s, c, 0, *o], [*o, 0, 0, 1]]
        case "translation":
            return np.vstack([np.eye(3), np.zeros((3, 3))])
        case "free":
            return np.eye(6)
    return np.array(columns).T


def retract(joint: JointSpec, q, d):
    """Return q ⊕ d of one joint."""
    if joint.type == "ball":
        return quaternion_product(q, quaternion_exp(d))
    if joint.type == "free":
        moved = quaternion_rotation(q[3:]) @ left_jacobian(d[3:]) @ d[:3]
        return np.concatenate([q[:3] + moved, quaternion_product(q[3:], quaternion_exp(d[3:]))])
    return q + d


@dataclass
class Link:
    """One body of the file: its joint, parent and place among the tree's coordinates."""

    joint: JointSpec
    parent: int
    theta: np.ndarray
    q: slice
    v: slice
    own_q: slice | None
    own_v: slice | None
    moving: int  # index among moving bodies, −1 the world


class Tree:
    """Every algorithm on one mechanism."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self.gravity = np.asarray(spec.gravity)
        self.links: list[Link] = []
        self.nq = self.nv = self.own_nq = self.own_nv = self.nbodies = 0
        self._bodies = {b.name: b for b in spec.bodies}
        self._add("world", -1, -1)
        self.E = np.zeros((self.nv, self.own_nv))
        self.offset = np.zeros(self.nv)
        for link in self.links:
            leader, ratio, offset = self._head(link)
            self.E[link.v, leader.own_v] = ratio * np.eye(link.v.stop - link.v.start)
            self.offset[link.v] = offset

    def _add(self, body: str, parent: int, moving: int) -> None:
        for joint in self.spec.joints:
            if joint.parent == body:
                nq, nv = SIZES[joint.type]
                carried = moving
                if joint.type != "fixed":
                    carried = self.nbodies
                    self.nbodies += 1
                own_q, own_v = self._own(joint, nq, nv)
                self.links.append(
                    Link(
                        joint,
                        parent,
                        self._bodies[joint.child].theta,
                        slice(self.nq, self.nq + nq),
                        slice(self.nv, self.nv + nv),
                        own_q,
                        own_v,
                        carried,
                    )
                )
                self.nq, self.nv = self.nq + nq, self.nv + nv
                self._add(joint.child, len(self.links) - 1, carried)

    def _own(self, joint: JointSpec, nq: int, nv: int) -> tuple[slice | None, slice | None]:
        """Return the joint's slices of q and v, which are empty for a mimic joint."""
        if joint.mimic is not None:
            return None, None
        own_q = slice(self.own_nq, self.own_nq + nq)
        own_v = slice(self.own_nv, self.own_nv + nv)
        self.own_nq, self.own_nv = self.own_nq + nq, self.own_nv + nv
        return own_q, own_v

    def _head(self, link: Link):
        """Return (leader, ratio, offset) at the end of a chain of mimic joints."""
        ratio, offset = 1.0, 0.0
        while (mimic := link.joint.mimic) is not None:
            ratio, offset = ratio * mimic.ratio, ratio * mimic.offset + offset
            link = next(k for k in self.links if k.joint.name == mimic.joint)
        return link, ratio, offset

    def joint_q(self, link: Link, q):
        """Return a joint's coordinates from q; those of a mimic joint follow from its leader."""
        leader, ratio, offset = self._head(link)
        return q[leader.own_q] if leader is link else ratio * q[leader.own_q] + offset

    def centre(self, link: Link):
        """Return the centre of mass of a link and all that is welded to it, in its frame."""
        placed, mass, moment = {id(link): np.eye(4)}, 0.0, np.zeros(3)
        for other in self.links:
            if other is not link:
                parent = None if other.parent < 0 else placed.get(id(self.links[other.parent]))
                if parent is None or other.moving != link.moving:
                    continue
                placed[id(other)] = parent @ other.joint.at
            X = placed[id(other)]
            mass += other.theta[0]
            moment = moment + X[:3, :3] @ other.theta[1:4] + other.theta[0] * X[:3, 3]
        return moment / mass

    def poses(self, q):
        """Return X_WB of every link of the file, welded links included."""
        X: list = []
        for link in self.links:
            parent = np.eye(4) if link.parent < 0 else X[link.parent]
            X.append(parent @ link.joint.at @ joint_pose(link.joint, self.joint_q(link, q)))
        return X

    def jacobians(self, q):
        """Return J_b (6, own nv) of every link, in its frame."""
        J: list = []
        for link in self.links:
            own = self.joint_q(link, q)
            up = inverse(link.joint.at @ joint_pose(link.joint, own))
            S = subspace(link.joint, own) @ self.E[link.v]
            J.append(S if link.parent < 0 else adjoint(up) @ J[link.parent] + S)
        return J

    def integrate(self, q, dq):
        q1 = np.array(q, np.result_type(q, dq))
        for link in self.links:
            if link.own_q is not None:
                q1[link.own_q] = retract(link.joint, q[link.own_q], dq[link.own_v])
        return q1

    def accelerations(self, q, v, a):
        moved = self.jacobians(self.integrate(q, 1j * STEP * v))
        still = self.jacobians(q)
        return [(Jc @ v).imag / STEP + J @ a for Jc, J in zip(moved, still, strict=True)]

    def rnea(self, q, v, a, f_ext=None):
        tau = self.armature() @ a
        links = zip(
            self.links, self.poses(q), self.jacobians(q), self.accelerations(q, v, a), strict=True
        )
        pushed: set[int] = set()
        for link, X, J, acc in links:
            if link.moving < 0:
                continue
            M, V = spatial_inertia(link.theta), J @ v
            proper = acc - np.concatenate([X[:3, :3].T @ self.gravity, np.zeros(3)])
            F = M @ proper - spatial_cross(V).T @ M @ V
            if f_ext is not None and link.moving not in pushed:
                F = F - f_ext[link.moving]
                pushed.add(link.moving)
            tau = tau + J.T @ F
        return tau

    def body_motions(self, q, v, a):
        """(moving body, X_WB, J, V, proper acceleration) of every body that a joint moves, in its frame."""
        links = zip(
            self.links, self.poses(q), self.jacobians(q), self.accelerations(q, v, a), strict=True
        )
        for link, X, J, acc in links:
            if link.joint.type != "fixed":
                proper = acc - np.concatenate([X[:3, :3].T @ self.gravity, np.zeros(3)])
                yield link.moving, X, J, J @ v, proper

    def torque_regressor(self, q, v, a):
        """Y (own nv, 10 nbodies): τ of each unit parameter alone."""
        Y = np.zeros((self.own_nv, self.nbodies, 10))
        for body, _, J, V, proper in self.body_motions(q, v, a):
            for i, unit in enumerate(np.eye(10)):
                M = spatial_inertia(unit)
                Y[:, body, i] = J.T @ (M @ proper - spatial_cross(V).T @ M @ V)
        return Y.reshape(self.own_nv, -1)

    def momentum_regressor(self, q, v):
        """Y (6, 10 nbodies): momentum of each unit parameter alone, about the world's origin."""
        Y = np.zeros((6, self.nbodies, 10))
        for body, X, _, V, _ in self.body_motions(q, v, np.zeros(self.own_nv)):
            for i, unit in enumerate(np.eye(10)):
                Y[:, body, i] = adjoint(inverse(X)).T @ spatial_inertia(unit) @ V
        return Y.reshape(6, -1)

    def armature(self):
        diagonal = np.concatenate([np.asarray(k.joint.armature, float) for k in self.links])
        return self.E.T @ np.diag(diagonal) @ self.E

    def mass_matrix(self, q):
        M = self.armature()
        for link, J in zip(self.links, self.jacobians(q), strict=True):
            if link.moving >= 0:
                M = M + J.T @ spatial_inertia(link.theta) @ J
        return M

    def aba(self, q, v, tau, f_ext=None):
        bias = self.rnea(q, v, np.zeros(self.own_nv), f_ext)
        return np.linalg.solve(self.mass_matrix(q), tau - bias)

    def kinetic_energy(self, q, v):
        return 0.5 * v @ self.mass_matrix(q) @ v

    def first_moment(self, q):
        m, mc = 0.0, np.zeros(3)
        for link, X in zip(self.links, self.poses(q), strict=True):
            if link.moving >= 0:
                m += link.theta[0]
                mc = mc + link.theta[0] * X[:3, 3] + X[:3, :3] @ link.theta[1:4]
        return m, mc

    def potential_energy(self, q):
        return -self.gravity @ self.first_moment(q)[1]

    def center_of_mass(self, q):
        m, mc = self.first_moment(q)
        return mc / m

    def passive(self, q, v):
        """Damping, friction, springs and stops of real coordinates; springs of rotations by their energy."""
        tau = np.zeros(self.own_nv)
        for link in self.links:
            joint, own = link.joint, self.joint_q(link, q)
            rate = self.E[link.v] @ v
            force = -joint.damping * rate - joint.friction * np.tanh(rate / joint.friction_width)
            if len(own) == len(rate):
                force = force - joint.stiffness * (own - joint.rest)
                over = np.maximum(own - joint.upper, 0)
                under = np.minimum(own - joint.lower, 0)
                push = joint.stop_stiffness * (over + under) + joint.stop_damping * rate
                force = force - np.where(over > 0, np.maximum(push, 0), 0)
                force = force - np.where(under < 0, np.minimum(push, 0), 0)
            tau = tau + self.E[link.v].T @ force
        return tau

    def semi_implicit(self, q, v, tau, h):
        v1 = v + h * self.aba(q, v, tau)
        return self.integrate(q, h * v1), v1
