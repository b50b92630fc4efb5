"""Independent coordinates of a closed mechanism, and how coordinates of rotating frames turn.

δq = N δq_i, J N = 0            d(q ⊖ q₀)/dt = δv − ad(v) (q ⊖ q₀) about a motion with velocity v
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.joints.registry import find_joint
from pysim.loops import allowed_motions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pysim.mechanism.model import Model, State

    Array = NDArray[np.float64]


def independent_motions(model: Model, state: State) -> tuple[Array, NDArray[np.intp]]:
    """Return motions N (nv, n) and the n independent coordinates; their rows of N are the identity."""
    N = allowed_motions(model, state.q, state.loop_q)
    n = N.shape[1]
    if n == model.nv:
        return np.eye(n), np.arange(n)
    left, chosen = N.copy(), []
    for _ in range(n):  # elimination with the largest row first
        at = int(np.linalg.norm(left, axis=1).argmax())
        row = left[at] / np.linalg.norm(left[at])
        left = left - np.outer(left @ row, row)
        chosen.append(at)
    own = np.array(sorted(chosen), np.intp)
    return np.asarray(np.linalg.solve(N[own].T, N.T).T), own


def bracket(model: Model, v: Array) -> Array:
    """Return ad(v) (nv, nv): of rotations and displacements in their own frames, 0 of real coordinates."""
    found = np.zeros((model.nv, model.nv))
    for joint, first in zip(model.joints, model.v_offsets, strict=True):
        for at, count in find_joint(joint.type).turning if first >= 0 else ():
            k = first + at
            own = v[k : k + count]
            w = own[-3:]
            turn = np.cross(w, np.eye(3)).T
            found[k + count - 3 : k + count, k + count - 3 : k + count] = turn
            if count == 6:
                found[k : k + 3, k : k + 3] = turn
                found[k : k + 3, k + 3 : k + 6] = np.cross(own[:3], np.eye(3)).T
    return found
