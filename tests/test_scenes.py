"""Every scene runs and keeps what its first comment claims.

Oracles: closed forms, and momenta from M v: the rows of a free or ball joint are the momentum of all
that it carries, in its child frame and about its origin.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.simulation import conserves_energy
from pysim.trajectory.interpolation import rotation_matrices
from pysim.typing import Array
from tests.scene_claims import closed, contacts, control, elements, joints, rods, shapes
from tests.scene_runs import SCENES, G, Run, constant, run_scene

GALLERY = (SCENES.parent / "docs" / "scenes.md").read_text("utf-8")
README = (SCENES.parent / "README.md").read_text("utf-8")


def momentum_about_centre(run: Run) -> Array:
    """Angular momentum (n, 3) in the world about the centre of mass; joint 0 is free."""
    q, momentum = run.trajectory.q, run.momenta[:, :6]
    R = rotation_matrices(q[:, 3:7])
    linear = np.einsum("nij,nj->ni", R, momentum[:, :3])
    angular = np.einsum("nij,nj->ni", R, momentum[:, 3:])
    about_centre: Array = angular + np.cross(q[:, :3] - pysim.center_of_mass(run.model, q), linear)
    return about_centre


def spins_about_the_vertical(run: Run) -> None:
    """Hold what a symmetric body on a ball joint conserves."""
    R = rotation_matrices(run.trajectory.q)
    constant(np.einsum("nij,nj->ni", R, run.momenta)[:, 2], 1e-7)
    constant(run.trajectory.v[:, 2], 1e-7)


def flies(run: Run) -> None:
    """Hold that the centre of mass falls freely and the momentum about it stays."""
    t = run.trajectory.t
    centre = pysim.center_of_mass(run.model, run.trajectory.q)
    slope = (centre[-1] - centre[0]) / t[-1] + [0, 0, G / 2 * t[-1]]
    path = centre[0] + slope * t[:, None] - np.outer(t**2, [0, 0, G / 2])
    np.testing.assert_allclose(centre, path, atol=1e-6)
    constant(momentum_about_centre(run), 1e-6)


def double_pendulum(run: Run) -> None:
    assert np.ptp(run.trajectory.q[:, 1]) > 2 * np.pi  # it loops over


def drive_shaft(run: Run) -> None:
    constant(run.momenta[:, 0], 1e-9)


def driven_pendulum(run: Run) -> None:
    """The energy changes by the work of the motor less that of the bearing."""
    t, v = run.trajectory.t, run.trajectory.v[:, 0]
    power = (2.0 * np.sin(3.6 * t) - 0.4 * v) * v
    work = np.sum((power[1:] + power[:-1]) / 2 * np.diff(t))
    energy = run.trajectory.energy
    assert energy[-1] - energy[0] == pytest.approx(work, abs=1e-3)
    assert np.abs(run.trajectory.q).max() > 0.5


def falling_box(run: Run) -> None:
    flies(run)
    stem = rotation_matrices(run.trajectory.q[:, 3:7])[:, :, 1]
    assert (stem @ stem[0]).min() < -0.9  # it turns over


def flywheel(run: Run) -> None:
    t, v = run.trajectory.t, run.trajectory.v[:, 0]
    brake = 10.0 / run.model.parameters[0, 9]
    moving = v > 0.1  # friction is at its level long before
    np.testing.assert_allclose(v[moving], 20 - brake * t[moving], atol=1e-6)
    assert abs(v[-1]) < 1e-6
    assert 3 < 20 / brake < 5


def inclined_rod(run: Run) -> None:
    t, q = run.trajectory.t, run.trajectory.q
    constant(run.trajectory.v[:, 1], 1e-9)
    flight = t < np.sqrt(2 * 1.95 / (G / 2)) - 0.01
    np.testing.assert_allclose(q[flight, 0], -0.95 + G / 4 * t[flight] ** 2, atol=1e-9)
    constant(run.trajectory.energy[flight], 1e-9)
    assert q[:, 0].max() < 1.05


def lissajous(run: Run) -> None:
    q, v = run.trajectory.q, run.trajectory.v
    constant(v**2 / 2 + np.array([4, 9, 25]) * q**2 / 2, 1e-9)
    np.testing.assert_allclose(q[-1], q[0], atol=1e-9)


def pendulum(run: Run) -> None:
    assert np.abs(run.trajectory.q).max() < 2.0 + 1e-9


def puck(run: Run) -> None:
    x, y = run.trajectory.q[:, 0], run.trajectory.q[:, 1]
    constant(x * run.trajectory.v[:, 1] - y * run.trajectory.v[:, 0], 1e-9)
    constant(run.trajectory.v[:, 2], 1e-12)


def robot_arm(run: Run) -> None:
    """After a start-up of two seconds the motion repeats every three."""
    t, q = run.trajectory.t, run.trajectory.q
    np.testing.assert_allclose(q[t >= 5.0][:100], q[t >= 2.0][:100], atol=1e-2)
    for joint, at in zip(run.model.joints, run.model.q_offsets, strict=True):
        if at >= 0:
            assert joint.lower[0] < q[:, at].min() < q[:, at].max() < joint.upper[0]


def screw(run: Run) -> None:
    pitch, (m, *_, I) = 0.04, run.model.parameters[0]
    turn = -m * G * pitch / (I + m * pitch**2) * run.trajectory.t**2 / 2
    np.testing.assert_allclose(run.trajectory.q[:, 0], turn, rtol=1e-9, atol=1e-9)


def quarter_car(run: Run) -> None:
    """Hold that the wheel is higher by the kerb's height in the end, and the suspension as at the start."""
    q = run.trajectory.q
    np.testing.assert_allclose(q[-1] - q[0], [0.05, 0.0], atol=1e-4)


def spring(run: Run) -> None:
    sag = -10.0 * G / 400.0
    expected = sag + (0.15 - sag) * np.cos(np.sqrt(40.0) * run.trajectory.t)
    np.testing.assert_allclose(run.trajectory.q[:, 0], expected, atol=1e-7)


def t_handle(run: Run) -> None:
    constant(momentum_about_centre(run), 1e-8)
    stem = rotation_matrices(run.trajectory.q[:, 3:7])[:, :, 0]
    side = stem @ stem[0]
    assert np.count_nonzero(np.diff(np.sign(side))) >= 3  # over, back and over again


def timed_pendulum(run: Run) -> None:
    """It passes the bottom once every half period, and the height of its hinge as often."""
    constant(run.trajectory.energy, 1e-6)
    events = run.trajectory.events
    half = np.diff(events.times_of("bottom"))
    np.testing.assert_allclose(half, half[0], rtol=1e-6)
    rising = np.diff(events.times_of("tip over the hinge"))
    np.testing.assert_allclose(rising, half[0], rtol=1e-6)
    assert len(half) >= 5


CLAIMS: dict[str, Callable[[Run], None]] = {
    "double_pendulum": double_pendulum,
    "drive_shaft": drive_shaft,
    "driven_pendulum": driven_pendulum,
    "falling_box": falling_box,
    "flywheel": flywheel,
    "gyroscope": spins_about_the_vertical,
    "inclined_rod": inclined_rod,
    "lissajous": lissajous,
    "pendulum": pendulum,
    "puck": puck,
    "robot_arm": robot_arm,
    "screw": screw,
    "spherical_pendulum": spins_about_the_vertical,
    "quarter_car": quarter_car,
    "spring": spring,
    "t_handle": t_handle,
    "timed_pendulum": timed_pendulum,
    **closed.CLAIMS,
    **rods.CLAIMS,
    **contacts.CLAIMS,
    **control.CLAIMS,
    **elements.CLAIMS,
    **shapes.CLAIMS,
    **joints.CLAIMS,
}


def test_every_scene_has_its_claims_tested() -> None:
    assert {path.stem for path in SCENES.glob("*.toml")} == set(CLAIMS)


def test_the_documentation_lists_every_scene() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", GALLERY, re.MULTILINE)) == set(CLAIMS)


def test_the_readme_explains_a_scene_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "driven.toml"
    path.write_text(README.partition("```toml\n")[2].partition("```")[0], "utf-8")
    trajectory = pysim.simulate(pysim.load_scene(path))
    early, late = np.abs(trajectory.q[trajectory.t < 2]), np.abs(trajectory.q[trajectory.t > 2])
    assert late.max() > 1.1 * early.max()  # the swing grows


@pytest.mark.parametrize("name", CLAIMS)
def test_a_scene_runs_and_keeps_what_it_claims(name: str) -> None:
    """Nothing is warned of, no energy that vanishes either: warnings are errors."""
    run = run_scene(name)
    assert run.trajectory.complete
    assert run.trajectory.t[-1] == run.scene.settings.duration
    if conserves_energy(run.scene):
        energy = run.trajectory.energy
        assert np.abs(energy - energy[0]).max() < 1e-6 * run.trajectory.kinetic.max()
    CLAIMS[name](run)


@pytest.mark.parametrize("name", CLAIMS)
def test_the_first_comment_says_what_to_see_and_what_is_conserved(name: str) -> None:
    text = (SCENES / f"{name}.toml").read_text("utf-8")
    comment = text.partition("\nname")[0]
    assert all(line.startswith("#") for line in comment.splitlines())
    assert "See:" in comment
    assert "Conserved:" in comment
