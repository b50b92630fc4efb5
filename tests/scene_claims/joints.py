"""Claims of the scenes with example joints, for tests/test_scenes.py. Oracles: closed forms and the geometry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pysim
from pysim.joints import find_joint
from pysim.joints.trace import Traced, trace
from pysim.plugins.fields import build
from pysim.typing import Array
from tests.scene_runs import G, Run, constant


def example(kind: str, **keys: float) -> Traced:
    """A joint of a scene's plugin, traced; the scene has registered it."""
    plugin = find_joint(kind).plugin
    assert plugin is not None
    return trace(build(plugin, keys, kind))


def ellipsoid_joint(run: Run) -> None:
    centre = pysim.frame_placement(run.model, run.trajectory.q, "blade")[:, :3, 3] - [0, 0, 0.8]
    on = np.sum((centre / [0.25, 0.4, 0.3]) ** 2, axis=1)
    np.testing.assert_allclose(on, 1, atol=1e-12)
    assert centre[:, 2].max() < 0  # below
    assert np.ptp(centre[:, 1]) > np.ptp(centre[:, 0])


def ligament_energy(flexion: Array) -> Array:
    """The integral of the ligaments' moment, of each knee [J]."""
    straight, bent = np.exp(33.94 * (-0.13 - flexion)), np.exp(11.33 * (flexion - 2.4))
    energy: Array = 6.09 / 33.94 * straight + 11.03 / 11.33 * bent
    return energy


def knee(run: Run) -> None:
    """Each leg keeps its energy and that of its ligaments."""
    q, v = run.trajectory.q, run.trajectory.v
    ligaments = ligament_energy(q)
    M = pysim.crba(run.model, q)
    for leg, shin in enumerate(("turning shin", "planar shin")):
        m, *mc = run.model.parameters[leg, :4]
        X = pysim.frame_placement(run.model, q, shin)
        height = X[:, 2, 3] + X[:, 2, :3] @ mc / m
        motion = M[:, leg, leg] * v[:, leg] ** 2 / 2
        constant(motion + m * G * height + ligaments[:, leg], 1e-6)  # at knots, splines are C² only
    assert q.min() > -0.4  # thrown back at the straight leg
    assert q[-1].max() < 1.65
    np.testing.assert_allclose(M[:, 0, 1], 0, atol=1e-12)  # one leg does not affect the other
    planar, turning = (
        pysim.frame_placement(run.model, q, toe)[:, 1, 3] for toe in ("planar toe", "turning toe")
    )
    np.testing.assert_allclose(planar, -0.2, atol=1e-12)
    assert np.ptp(turning) > 0.03


def cam(run: Run) -> None:
    q, v = run.trajectory.q[:, 0], run.trajectory.v[:, 0]
    roller = pysim.frame_placement(run.model, run.trajectory.q, "follower")[:, 2, 3] - 0.4
    across, up = 0.05 * np.sin(q), 0.05 * np.cos(q)
    np.testing.assert_allclose(np.hypot(across, roller - up), 0.16, atol=1e-12)  # they touch
    assert v[roller.argmax()] < v[roller.argmin()]
    assert v.min() > 0


def constant_velocity(run: Run) -> None:
    """The relative angular velocity stays in the plane that halves the bend: (ω_C − ω_P)·(z_P + z_C) = 0."""
    q, v = run.trajectory.q, run.trajectory.v
    constant(run.momenta[:, [0]], 1e-8)
    constant(run.momenta[:, [3]], 1e-8)
    joint = example("constant_velocity")
    for bend, rate in zip(q[:, 1:3], v[:, 1:3], strict=True):
        X, S, _ = joint.evaluate(bend, rate)
        assert abs(S[3:] @ rate @ (X[2, :3] + [0, 0, 1])) < 1e-12 * np.abs(rate).max()
    a, b, da, db = q[:, 4], q[:, 5], v[:, 4], v[:, 5]  # R = Rx(a) Ry(b), its angular velocity in C
    w = np.column_stack([np.cos(b) * da, db, np.sin(b) * da])
    z = np.column_stack([-np.cos(a) * np.sin(b), np.sin(a), np.cos(a) * np.cos(b)])  # z_P in C
    z[:, 2] += 1
    assert np.abs(np.sum(w * z, axis=1)).max() > 1  # the universal joint's does not


def rolling(run: Run) -> None:
    """The finger turns three times as far, and no point of it slips where the cylinders touch."""
    q, v = run.trajectory.q[:, 0], run.trajectory.v[:, 0]
    X = pysim.frame_placement(run.model, run.trajectory.q, "finger")
    np.testing.assert_allclose(X[:, 2, 2], -np.cos(3 * q), atol=1e-12)
    joint = example("rolling", fixed=0.1, moving=0.05)
    for angle, rate in zip(q, v, strict=True):
        X_PC, S, _ = joint.evaluate([angle], [rate])
        touch = X_PC[:3, :3].T @ (-0.05 * np.array([np.sin(angle), 0, np.cos(angle)]))
        slip = (S[:3, 0] + np.cross(S[3:, 0], touch)) * rate
        np.testing.assert_allclose(slip, 0, atol=1e-13)


def screw_spline(run: Run) -> None:
    t, q, v = run.trajectory.t, run.trajectory.q, run.trajectory.v
    pitch, (m, *_, I) = 0.01, run.model.parameters[0]
    turning = np.array([2e-2, 1e-2 + I])  # the rotors, the shaft with the groove's
    travel = np.array([pitch, -pitch])  # ∂z/∂q
    M = np.diag(turning) + m * np.outer(travel, travel)
    a = np.linalg.solve(M, -m * G * travel)
    np.testing.assert_allclose(q, np.array([20, 0]) + np.outer(t**2 / 2, a), atol=1e-9)
    np.testing.assert_allclose(v @ turning, 0, atol=1e-12)


def by_hand(run: Run) -> None:
    q, v = run.trajectory.q, run.trajectory.v
    np.testing.assert_array_equal(q[:, :5], q[:, 5:])
    np.testing.assert_array_equal(v[:, :4], v[:, 4:])
    assert np.ptp(q[:, 4]) > np.pi
    assert run.trajectory.energy[0] == pytest.approx(run.trajectory.energy[-1], rel=1e-6)


CLAIMS: dict[str, Callable[[Run], None]] = {
    "by_hand": by_hand,
    "cam": cam,
    "constant_velocity": constant_velocity,
    "ellipsoid_joint": ellipsoid_joint,
    "knee": knee,
    "rolling": rolling,
    "screw_spline": screw_spline,
}
