"""Claims of the scenes with rods. Oracles: beam theory, the catenary, and the arc of a constant bending moment."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.scene_runs import G, Run

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "rods"


def signal(run: Run, name: str) -> np.ndarray:
    return np.asarray(run.trajectory.signals[name])


def cantilever(run: Run) -> None:
    """The strips have E = 2.1e11 Pa and ρ = 7850 kg/m³, sides of 30 and 5 mm, and 1 m."""
    m, EI = 7850 * 0.03 * 0.005, 2.1e11 * 0.03 * 0.005**3 / 12
    sag = m * G / (8 * EI)
    rest = signal(run, "rest.position")[:, 2] - 0.5
    np.testing.assert_allclose(rest, -sag, rtol=2e-3)
    t, tip = run.trajectory.t, signal(run, "tip.position")[:, 2] - 0.5
    assert tip.min() == pytest.approx(-2 * sag, rel=0.05)
    passes = np.flatnonzero(np.diff(np.sign(tip - rest)))
    frequency = np.pi * (len(passes) - 1) / (t[passes[-1]] - t[passes[0]])
    assert frequency == pytest.approx(1.875104**2 * np.sqrt(EI / m), rel=0.01)


def hanging_cable(run: Run) -> None:
    """At rest while the string pulls; the sag a of the catenary follows from 2 a sinh(1/a) = 2.5."""
    trajectory = run.trajectory
    before = trajectory.t < 0.5
    assert np.abs(trajectory.q[before] - trajectory.q[0]).max() < 1e-6
    a = 0.845504  # [m], by Newton's method
    assert 2 * a * np.sinh(1 / a) == pytest.approx(2.5, rel=1e-5)
    end = pysim.forward_kinematics(run.model, trajectory.q[-1])[:, 2, 3]
    assert 1 - end.min() == pytest.approx(a * (np.cosh(1 / a) - 1), rel=0.03)
    assert np.abs(trajectory.v[trajectory.t > 0.6]).max() > 0.5


def whip(run: Run) -> None:
    speeds = np.linalg.norm(signal(run, "tip.velocity"), axis=1)
    handle = 0.25 * np.abs(run.trajectory.v[:, 0])
    assert speeds.max() > 5 * handle.max()
    assert handle[: speeds.argmax()].max() < 0.2 * speeds.max()


def tendon_finger(run: Run) -> None:
    """60 N at 6 mm bend EI = 0.0676 N·m² by 1.07 rad; the eyes are apart, so that the lever varies a little."""
    hinges = 2 * np.arcsin(run.trajectory.q[-1].reshape(-1, 4)[:, 1])
    bend = 60 * 0.006 * 0.2 / (2.1e11 * np.pi * 0.0016**4 / 64)
    assert hinges.sum() == pytest.approx(bend, rel=0.2)
    inner = hinges[1::2]  # with equal weights
    assert np.ptp(inner) < 0.01 * inner.mean()
    assert np.abs(run.trajectory.v[-1]).max() < 0.05


def draped_cable(run: Run) -> None:
    poses = pysim.forward_kinematics(run.model, run.trajectory.q[-1])[:, :3, 3]
    distance = np.hypot(poses[:, 0] - 0.04, poses[:, 2] - 0.5)
    assert 0.088 < distance.min() < 0.095  # it lies on the post, of 8 cm, with 1 cm of its own
    assert max(poses[0, 2], poses[-1, 2]) < 0.45
    assert np.abs(run.trajectory.v[-1, :3]).max() < 1.0


def hose_on_arm(run: Run) -> None:
    """The hand follows its aims, and no hinge of the hose, of 65 mm, bends by more than a radius of 8 cm needs."""
    trajectory = run.trajectory
    np.testing.assert_allclose(trajectory.q[-1, :2], [0.3, 1.2], atol=0.1)
    hinges = trajectory.q[:, 2:].reshape(len(trajectory), -1, 4)
    bends = 2 * np.arccos(np.clip(np.abs(hinges[..., 3]), 0, 1))
    assert bends.max() < 4 / 3 * 0.065 / 0.08
    hand = pysim.frame_placement(run.model, trajectory.q, "forearm")
    end = pysim.frame_placement(run.model, trajectory.q, "hose/end")
    gap = hand[:, :3, 3] + 0.4 * hand[:, :3, 2] - end[:, :3, 3]
    assert np.abs(gap).max() < 1e-8


def princeton_strip(run: Run) -> None:
    """At rest, the strip at 30° is where shooting of the exact rod has it (case 9 of princeton.json)."""
    case = json.loads((REFERENCE / "princeton.json").read_text("utf-8"))
    k = case["setup"]["loads"].index({"force_N": 8.896, "angle_deg": 30})
    y, z, x, _ = case["expect"][1]["value"][k]
    turn = np.radians(210)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    tip = [0.508 + x, *(R @ [y, z] + [-0.1, 0.3])]
    np.testing.assert_allclose(signal(run, "tip 30.position")[-1], tip, atol=5e-4)
    bend = signal(run, "root 30")[-1]
    lever = np.cross([0.508 + x, y, z], 8.896 * np.array([0, np.sin(np.pi / 6), np.cos(np.pi / 6)]))
    np.testing.assert_allclose(bend, lever, atol=0.03)


def rotor_blade(run: Run) -> None:
    height, speed = signal(run, "tip.position")[:, 2], run.trajectory.v[-1, 0]
    assert height[0] < -0.08
    assert abs(height[-1]) < 0.1 * abs(height[0])
    station = np.linspace(0, 1, 2001)
    section = (0.06 - 0.03 * station) * (0.004 - 0.002 * station) * 1700
    pull = np.trapezoid(section * (0.05 + station) * speed**2, station)
    assert signal(run, "root")[-1] == pytest.approx(pull, rel=0.01)


def twisted_ring(run: Run) -> None:
    """Michell's twist is 14.5 rad, at 0.218 N·m; the jump takes 0.4 s, during which the motor goes on."""
    twist, bars = signal(run, "twist").ravel(), run.trajectory.poses[:, 1:31, :3]
    flat = []
    for places in bars:
        sizes = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
        flat.append(sizes[2] / sizes[0])
    assert max(np.array(flat)[twist < 14.5]) < 0.02
    assert max(flat) > 0.2
    torque = signal(run, "torque")[:, 0]
    assert torque.max() == pytest.approx(0.218, rel=0.15)
    assert torque[-1] < 0.3 * torque.max()


CLAIMS = {
    "cantilever": cantilever,
    "draped_cable": draped_cable,
    "hanging_cable": hanging_cable,
    "hose_on_arm": hose_on_arm,
    "princeton_strip": princeton_strip,
    "rotor_blade": rotor_blade,
    "tendon_finger": tendon_finger,
    "twisted_ring": twisted_ring,
    "whip": whip,
}
