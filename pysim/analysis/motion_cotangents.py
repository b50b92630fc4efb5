"""Derivatives by configurations: by the numbers of q, and along the motions δ of q ⊕ δ.

rotation    ½ Im(r* ⊗ r̄)        position of a pose    Rᵀ p̄
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.typing import Array

if TYPE_CHECKING:
    from pysim.mechanism.model import Model


def along_motions(model: Model, q: Array, by_q: Array) -> Array:
    """Return derivatives (…, nv) along δ of q ⊕ δ, from those by the numbers of q (…, nq)."""
    by_motion = np.zeros((*q.shape[:-1], model.nv))
    for kind, at_q, at_v in zip(
        model._types,  # noqa: SLF001, kinds of the joints
        model.q_offsets,
        model.v_offsets,
        strict=True,
    ):
        if at_q < 0:
            continue
        real_q, real_v = (np.array(places, int) for places in kind.real_coordinates)
        by_motion[..., at_v + real_v] = by_q[..., at_q + real_q]
        for quaternion, (turn, count) in zip(kind.quaternions, kind.turning, strict=True):
            places = slice(at_q + quaternion, at_q + quaternion + 4)
            own, bar, first = q[..., places], by_q[..., places], at_v + turn
            x, w = own[..., :3], own[..., 3:]
            along = w * bar[..., :3] - bar[..., 3:] * x - np.cross(x, bar[..., :3])
            by_motion[..., first + count - 3 : first + count] = along / 2
            if count == 6:
                p = by_q[..., at_q + quaternion - 3 : at_q + quaternion]
                by_motion[..., first : first + 3] = (
                    p - 2 * w * np.cross(x, p) + 2 * np.cross(x, np.cross(x, p))
                )
    return by_motion


def by_numbers(model: Model, q: Array, along: Array) -> Array:
    """Return derivatives (…, nq) by the numbers of q, from those along δ of q ⊕ δ: the inverse of `along_motions`."""
    cotangent = np.zeros_like(q)
    kinds: Any = model._types  # noqa: SLF001, kinds of the joints
    for kind, at_q, at_v in zip(kinds, model.q_offsets, model.v_offsets, strict=True):
        if at_q < 0:
            continue
        real_q, real_v = (np.array(places, int) for places in kind.real_coordinates)
        cotangent[..., at_q + real_q] = along[..., at_v + real_v]
        for quaternion, (turn, count) in zip(kind.quaternions, kind.turning, strict=True):
            first, end = at_q + quaternion, at_v + turn + count
            x, w = q[..., first : first + 3], q[..., first + 3 : first + 4]
            bar = along[..., end - 3 : end]  # 2 r ⊗ (bar, 0)
            cotangent[..., first : first + 3] = 2 * (w * bar + np.cross(x, bar))
            cotangent[..., first + 3] = -2 * (x * bar).sum(axis=-1)
            if count == 6:
                p = along[..., end - 6 : end - 3]
                turned = p + 2 * w * np.cross(x, p) + 2 * np.cross(x, np.cross(x, p))
                cotangent[..., first - 3 : first] = turned
    return cotangent
