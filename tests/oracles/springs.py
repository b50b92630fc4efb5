"""Energy of springs and stops from its definition, and their forces as its derivative by a complex step.

E = Σ ½ k (q − q_rest)² + ½ k_stop (depth beyond a limit)²        real coordinates
E = ½ φᵀ k φ,  φ = log(R_restᵀ R)                                  rotations
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.spatial import quaternion_product
from tests.oracles.tree import SIZES, STEP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.scene.spec import JointSpec
    from tests.oracles.tree import Tree

    Array = NDArray[Any]  # complex where a complex step passes through


def rotation_vector(q: Array) -> Array:
    """Return the logarithm of a unit quaternion (x, y, z, w), of angle at most π."""
    x, w = q[:3], q[3]
    if w.real < 0:
        x, w = -x, -w
    sine = np.sqrt(x @ x)
    if abs(sine) < 1e-15:
        return np.asarray(2 * x)
    return np.asarray(2 * np.arctan(sine / w) / sine * x)


def away_from_rest(joint: JointSpec, q: Array) -> Array:
    """Return the elongation of a spring on each velocity coordinate [m or rad]."""
    if SIZES[joint.type][0] == SIZES[joint.type][1]:
        return np.asarray(q - joint.rest)
    rest = np.array([-1.0, -1, -1, 1]) * joint.rest[-4:]
    turn = rotation_vector(quaternion_product(rest, q[-4:]))
    return np.concatenate([q[:-4] - joint.rest[:-4], turn])


def elastic_energy(tree: Tree, q: Array) -> Any:
    """Return the energy of all springs and stops of the file [J]."""
    energy = 0.0 * q[0]
    for link in tree.links:
        joint, own = link.joint, tree.joint_q(link, q)
        stretch = away_from_rest(joint, own)
        energy = energy + 0.5 * joint.stiffness @ stretch**2
        if len(own) == len(stretch):
            over = np.where(own.real > joint.upper, own - joint.upper, 0)
            under = np.where(own.real < joint.lower, own - joint.lower, 0)
            energy = energy + 0.5 * joint.stop_stiffness @ (over + under) ** 2
    return energy


def spring_forces(tree: Tree, q: Array) -> Array:
    """−∂E/∂q along each tangent (nv,) [N or N·m]."""
    slope = [elastic_energy(tree, tree.integrate(q, 1j * STEP * e)) for e in np.eye(tree.own_nv)]
    return -np.array([energy.imag / STEP for energy in slope])
