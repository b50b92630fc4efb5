"""Exciting motions. Oracles: difference quotients, singular values of the recorded equations, the joints' limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import IdentificationError
from pysim.identify import Excitation, exciting_trajectory, identify, make_samples
from pysim.identify.excitation import _Design
from tests.identify.recordings import recorded
from tests.robots import load_robot


@pytest.fixture(scope="module")
def arm() -> pysim.Model:
    return load_robot("ur5")


@pytest.fixture(scope="module")
def motion(arm: pysim.Model) -> Excitation:
    return exciting_trajectory(arm, velocity=1.5, starts=1, iterations=25)


def test_position_velocity_and_acceleration_stay_within_their_limits(
    arm: pysim.Model, motion: Excitation
) -> None:
    q, v, a = motion.at(np.linspace(0, 2 * motion.period, 10_001))
    lower, upper = (np.array([getattr(j, k)[0] for j in arm.joints]) for k in ("lower", "upper"))
    assert ((q > lower) & (q < upper)).all()
    assert np.abs(v).max() <= 1.5
    assert np.abs(a).max() <= 10


def test_the_motion_starts_and_ends_at_rest(motion: Excitation) -> None:
    q, v, a = motion.at([0, motion.period])
    np.testing.assert_allclose(v, 0, atol=1e-12)
    np.testing.assert_allclose(a, 0, atol=1e-12)
    np.testing.assert_allclose(q[0], q[1], atol=1e-12)


def test_velocities_and_accelerations_are_the_derivatives(motion: Excitation) -> None:
    t, h = np.linspace(0, 10, 7), 1e-5
    _, v, a = motion.at(t)
    (q0, v0, _), (q1, v1, _) = motion.at(t - h), motion.at(t + h)
    np.testing.assert_allclose(v, (q1 - q0) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(a, (v1 - v0) / (2 * h), atol=1e-8)


def test_the_gradient_of_the_condition_is_the_difference_quotient(rng: np.random.Generator) -> None:
    design = _Design(load_robot("ur5"), ("damping",), 8.0, 3, 40, None, None)
    x, along = rng.normal(size=(2, 36))
    _, gradient = design.log_condition(x)
    ahead, behind = (design.log_condition(x + h * along)[0] for h in (1e-6, -1e-6))
    assert gradient @ along == pytest.approx((ahead - behind) / 2e-6, rel=1e-3)


def test_the_search_halves_the_condition_of_random_series(
    arm: pysim.Model, motion: Excitation, rng: np.random.Generator
) -> None:
    design = _Design(arm, (), 10.0, 5, 60, 1.5, None)
    random = [np.exp(design.log_condition(rng.normal(size=60))[0]) for _ in range(5)]
    assert motion.condition < 0.5 * np.median(random)


def test_the_condition_reported_is_that_of_an_identification(
    arm: pysim.Model, motion: Excitation, rng: np.random.Generator
) -> None:
    t = np.arange(0, motion.period, 0.02)
    flat = recorded(arm, t, *motion.at(t), rng)
    flat.tau[:] += (
        rng.normal(size=flat.tau.shape) * 10 * flat.noise.mean()
    )  # the same noise everywhere
    found = identify(arm, make_samples(arm, t, flat.q, flat.tau, flat.true_v, flat.true_a), folds=1)
    assert found.identifiable == len(found.base)
    assert found.condition == pytest.approx(motion.condition, rel=0.3)


def test_a_motion_is_saved_as_columns(motion: Excitation, tmp_path: Path) -> None:
    motion.save(tmp_path / "motion.csv", step=0.01)
    lines = (tmp_path / "motion.csv").read_text("utf-8").splitlines()
    assert lines[0].startswith("t,q.shoulder_pan_joint,")
    assert len(lines) == 1002
    q, _, _ = motion.at([0.5])
    np.testing.assert_allclose(np.array(lines[51].split(","), float)[1:7], q[0], atol=1e-8)


def test_a_free_base_is_rejected() -> None:
    with pytest.raises(
        IdentificationError,
        match=r"^anymal: has a ball or free joint, .*; load it with a fixed base$",
    ):
        exciting_trajectory(load_robot("anymal"))


LEADER = """
[[body]]
name = "upper"
mass = 2.0
com = [0.2, 0, 0]
inertia = { xx = 0.05, yy = 0.05, zz = 0.05 }
[[body]]
name = "lower"
mass = 1.0
com = [0.1, 0, 0.05]
inertia = { xx = 0.03, yy = 0.03, zz = 0.03 }
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
limits = { lower = -0.5, upper = 0.7 }
velocity_limit = 0.8
[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "lower"
axis = [1, 0, 0]
at = { xyz = [0.4, 0, 0] }
mimic = { joint = "shoulder", ratio = 2.0 }
"""


@pytest.mark.parametrize("harmonics", [1, 3])
def test_a_leader_keeps_its_own_limits(tmp_path: Path, harmonics: int) -> None:
    """A follower has no coordinate of its own; a single harmonic cannot begin at rest."""
    (tmp_path / "arm.toml").write_text(LEADER, "utf-8")
    model = pysim.load_scene(tmp_path / "arm.toml").model
    found = exciting_trajectory(model, period=8.0, harmonics=harmonics, starts=1, iterations=20)
    q, v, _ = found.at(np.linspace(0, 8, 400))
    assert q.shape == (400, 1)
    assert -0.5 <= q.min() < q.max() <= 0.7
    assert np.abs(v).max() <= 0.8 * (1 + 1e-9)
    assert np.abs(found.at(np.zeros(1))[1]).max() < 1e-9 or harmonics == 1


def test_a_search_without_starts_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(LEADER, "utf-8")
    model = pysim.load_scene(tmp_path / "arm.toml").model
    with pytest.raises(IdentificationError) as caught:
        exciting_trajectory(model, starts=0)
    assert str(caught.value) == "starts: must be positive, got 0"
