"""Configurations from markers and inverse dynamics of a motion.

The oracle is a motion that was made up: its markers follow from forward kinematics, its forces from the dynamics of its
exact derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.motions import (
    GroundLoad,
    Markers,
    configurations,
    coordinate_table,
    fit_markers,
    inverse_dynamics,
    read_table,
    write_markers,
    write_table,
)
from pysim.motions.generalized_forces import smooth_motion
from tests.scene.osim.opensim_models import DATA

MARKERS = {
    "top": ("pelvis", [0.0, 0.1, 0.05]),
    "front": ("thigh", [0.05, -0.2, 0.0]),
    "knee": ("thigh", [0.0, -0.4, 0.05]),
    "shank": ("shin", [0.03, -0.2, 0.02]),
    "ankle": ("shin", [0.0, -0.4, -0.03]),
}


@pytest.fixture
def leg(tmp_path):
    """A leg of three coordinates with five markers, in a file."""
    elements = "".join(
        f'<Marker name="{name}"><socket_parent_frame>/bodyset/{body}</socket_parent_frame>'
        f"<location>{' '.join(map(str, at))}</location></Marker>"
        for name, (body, at) in MARKERS.items()
    )
    markers = f'<MarkerSet name="m"><objects>{elements}</objects></MarkerSet>'
    text = (DATA / "muscles.osim").read_text("utf-8")
    head, _, rest = text.partition('    <ForceSet name="forceset">')
    file = tmp_path / "leg.osim"
    file.write_text(head + markers + rest.partition("    </ForceSet>\n")[2], "utf-8")
    return file


def motion(times):
    """Return q, v and v̇ of a made-up motion (n, 3)."""
    t = np.asarray(times)[:, None]
    a, w, c = np.array([0.02, 0.4, 0.5]), np.array([5.0, 4.0, 6.0]), np.array([0.0, 0.1, -0.8])
    return c + a * np.sin(w * t), a * w * np.cos(w * t), -a * w * w * np.sin(w * t)


def measured(model, q):
    """Return the positions of the markers (n, 5, 3)."""
    return np.stack([pysim.frame_placement(model, q, name)[:, :3, 3] for name in MARKERS], axis=1)


def test_markers_of_a_motion_give_it_back(leg):
    model, times = pysim.load_model(leg), np.linspace(0, 1, 30)
    q, *_ = motion(times)
    positions = measured(model, q)
    positions[7, 1] = np.nan
    fit = fit_markers(model, Markers(times, tuple(MARKERS), positions))
    assert np.allclose(fit.q, q, atol=1e-8)
    assert fit.rms < 1e-8
    assert np.isnan(fit.errors[7, 1])


def test_a_fit_has_the_least_weighted_squares(leg):
    model, rng = pysim.load_model(leg), np.random.default_rng(4)
    q, *_ = motion([0.3])
    positions = measured(model, q) + 0.01 * rng.normal(size=(1, 5, 3))
    weights = {"knee": 4.0, "top": 0.5, "front": 0.0}
    fit = fit_markers(model, Markers(np.zeros(1), tuple(MARKERS), positions), weights)

    def squares(q):
        errors = np.linalg.norm(measured(model, q[None]) - positions, axis=2)[0]
        return sum(weights.get(n, 1.0) * e**2 for n, e in zip(MARKERS, errors, strict=True))

    best = squares(fit.q[0])
    for step in 1e-4 * rng.normal(size=(40, 3)):
        assert squares(fit.q[0] + step) > best
    assert "front" not in fit.names


def test_inverse_dynamics_of_a_motion_are_those_of_its_exact_derivatives(leg):
    model, times = pysim.load_model(leg), np.linspace(0, 1, 201)
    q, v, a = motion(times)
    tau = inverse_dynamics(model, times, q)
    expected = pysim.rnea(model, q, v, a)
    inner = slice(10, -10)
    assert np.allclose(tau[inner], expected[inner], atol=1e-5 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_joints_with_quaternions_are_differentiated_along_the_group():
    model = pysim.load_model(DATA / "joints.osim", mimic=False)
    times, rng = np.linspace(0, 0.5, 41), np.random.default_rng(6)
    first, v = np.asarray(model.neutral()), 0.5 * rng.normal(size=model.nv)
    q = np.stack([model.integrate(first, t * v) for t in times])
    tau = inverse_dynamics(model, times, q)
    expected = pysim.rnea(model, q, np.tile(v, (41, 1)), np.zeros((41, model.nv)))
    assert np.allclose(tau, expected, atol=1e-4 * np.abs(expected).max())
    table = coordinate_table(model, times, q)
    assert not any("quat" in column for column in table.columns)


def test_a_load_from_the_ground_counts_with_its_point_and_torque(leg):
    model, times = pysim.load_model(leg), np.linspace(0, 1, 50)
    q, *_ = motion(times)
    rng = np.random.default_rng(3)
    force, point, torque = rng.normal(size=(3, 50, 3))
    without = inverse_dynamics(model, times, q)
    with_load = inverse_dynamics(model, times, q, [GroundLoad("shin", force, point, torque)])
    v = rng.normal(size=model.nv)
    twist = np.stack([pysim.frame_velocity(model, row, v, "shin", "aligned") for row in q])
    origin = pysim.frame_placement(model, q, "shin")[:, :3, 3]
    speed = twist[:, :3] + np.cross(twist[:, 3:], point - origin)
    power = (force * speed).sum(1) + (torque * twist[:, 3:]).sum(1)
    assert np.allclose((without - with_load) @ v, power, atol=1e-10)


def test_a_filter_removes_noise_above_its_cutoff(leg):
    model, times = pysim.load_model(leg), np.linspace(0, 2, 401)
    q, *_ = motion(times)
    noisy = q + 1e-4 * np.sin(2 * np.pi * 60 * times)[:, None]
    clean = inverse_dynamics(model, times, q, cutoff=8.0)[50:-50]
    assert np.allclose(
        inverse_dynamics(model, times, noisy, cutoff=8.0)[50:-50],
        clean,
        atol=0.05 * np.abs(clean).max(),
    )


def test_a_filtered_motion_is_that_of_opensim():
    """Storage.pad of half of the rows and Storage.lowpassIIR of OpenSim 4.6, whose transient is still visible."""
    k = np.arange(121)
    x = np.sin(0.11 * k) + 0.2 * np.cos(1.7 * k)
    expected = {0: 0.20001982, 1: 0.259028096, 2: 0.320188406, 30: -0.158093544, 60: 0.311361412}
    expected |= {90: -0.456737883, 118: 0.287636222, 119: 0.343884122, 120: 0.396196276}
    model = pysim.load_model(DATA / "muscles.osim", mimic=False)
    q = np.tile(x[:, None], (1, model.nq))
    found, *_ = smooth_motion(model, k / 100, q, 6.0)
    assert np.allclose(found[list(expected)], np.array(list(expected.values()))[:, None], atol=3e-5)


def test_tables_hold_angles_in_degrees_and_lengths_in_metres(leg, tmp_path):
    model, times = pysim.load_model(leg), np.linspace(0, 1, 9)
    q, *_ = motion(times)
    table = coordinate_table(model, times, q)
    assert np.allclose(table.column("hip_angle"), np.degrees(q[:, 1]))
    assert np.allclose(table.column("slide"), q[:, 0])
    write_table(tmp_path / "q.mot", table)
    assert np.allclose(configurations(model, read_table(tmp_path / "q.mot")), q, atol=1e-15)


def test_commands_fit_markers_and_compute_forces(leg, tmp_path, capsys):
    model, times = pysim.load_model(leg), np.linspace(0, 1, 60)
    q, *_ = motion(times)
    write_markers(tmp_path / "w.trc", Markers(times, tuple(MARKERS), measured(model, q)))
    assert main(["ik", str(leg), str(tmp_path / "w.trc")]) == 0
    assert "5 markers" in capsys.readouterr().out
    assert np.allclose(configurations(model, read_table(tmp_path / "w.mot")), q, atol=1e-7)
    assert main(["id", str(leg), str(tmp_path / "w.mot")]) == 0
    forces = read_table(tmp_path / "w.sto")
    assert forces.columns == ("slide_force", "hip_angle_moment", "knee_angle_moment")
    assert main(["id", str(leg), str(tmp_path / "w.mot")]) == 2
    assert "exists" in capsys.readouterr().err
