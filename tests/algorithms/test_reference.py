"""Panda, UR5, double pendulum and ANYmal against numbers of Pinocchio 4.1, cross-checked with MuJoCo 4.0.

Conventions of the numbers: tests/data/reference/robots_manifest.json. Joints are permuted by name.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.robots import MANIFEST, REFERENCE, load_robot, reference_order

ROBOTS = ["panda", "ur5", "double_pendulum", "anymal"]
BATCHES = [1, 3, 8, 19]  # below, across and above every pack width


class Numbers:
    """The reference states of one robot in the model's order, repeated to a batch of n."""

    def __init__(self, name: str, n: int, dtype: type = np.float64) -> None:
        self.model = load_robot(name)
        self.order = reference_order(self.model, name)
        self._data = np.load(REFERENCE / f"{name}.npz")
        self._states = [k % MANIFEST[name]["n_states"] for k in range(n)]
        self._dtype = dtype

    def __getitem__(self, key: str) -> np.ndarray:
        """An array over the batch, its axes permuted as its key demands."""
        q, v, bodies = self.order
        stack = np.array([self._data[f"s{k}/{key}"] for k in self._states])
        if key == "q":
            stack = stack[:, q]
        elif key == "M" or key.startswith(("dtau_d", "ddq_d")):
            stack = stack[:, v][:, :, v]
        elif key in ("fext", "joint_pos", "joint_quat"):
            stack = stack[:, bodies]
        elif stack.shape[1:] == (len(v),):
            stack = stack[:, v]
        return np.ascontiguousarray(stack.astype(self._dtype))


def within(actual, expected, tolerance):
    assert np.abs(np.asarray(actual) - expected).max() <= tolerance * np.abs(expected).max()


def quaternion_matrices(quaternions):
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("n", BATCHES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_every_algorithm_gives_the_reference_numbers(name, n, dtype, tolerance, isa):
    of = Numbers(name, n, dtype)
    m, q, v, a, tau, f_ext = of.model, of["q"], of["v"], of["a"], of["tau_in"], of["fext"]
    within(pysim.crba(m, q), of["M"], tolerance)
    within(pysim.nonlinear_effects(m, q, v), of["nle"], tolerance)
    within(pysim.generalized_gravity(m, q), of["g"], tolerance)
    within(pysim.rnea(m, q, v, a), of["tau"], tolerance)
    within(pysim.rnea(m, q, v, a, f_ext), of["tau_ext"], tolerance)
    within(pysim.aba(m, q, v, tau), of["qdd"], tolerance)
    within(pysim.aba(m, q, v, tau, f_ext), of["qdd_ext"], tolerance)
    armature = np.full(m.nv, 0.1)
    if m.joints[0].type == "free":
        armature[:6] = 0
    within(pysim.aba(m.with_armature(armature), q, v, tau), of["qdd_arm"], tolerance)
    within(pysim.kinetic_energy(m, q, v), of["ke"], tolerance)
    within(pysim.potential_energy(m, q), of["pe"], tolerance)
    within(pysim.center_of_mass(m, q), of["com"], tolerance)
    poses = pysim.forward_kinematics(m, q)
    within(poses[..., :3, 3], of["joint_pos"], tolerance)
    within(poses[..., :3, :3], quaternion_matrices(of["joint_quat"]), tolerance)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_derivatives_are_the_reference_numbers(name, dtype, tolerance, isa):
    of = Numbers(name, 19, dtype)
    m, q, v = of.model, of["q"], of["v"]
    torques = pysim.rnea_derivatives(m, q, v, of["a"])
    accelerations = pysim.aba_derivatives(m, q, v, of["tau_in"])
    for actual, key in zip(torques, ("dtau_dq", "dtau_dv", "M"), strict=True):
        within(actual, of[key], tolerance)
    for actual, key in zip(accelerations, ("ddq_dq", "ddq_dv", "ddq_dtau"), strict=True):
        within(actual, of[key], tolerance)


@pytest.mark.parametrize("name", ROBOTS)
def test_named_frames_are_where_the_reference_has_them(name):
    of = Numbers(name, MANIFEST[name]["n_states"])
    for k, frame in enumerate(MANIFEST[name]["frames"]):
        X = pysim.frame_placement(of.model, of["q"], frame)
        np.testing.assert_allclose(X[:, :3, 3], of[f"f{k}_pos"], atol=1e-14)
        np.testing.assert_allclose(X[:, :3, :3], of[f"f{k}_R"], atol=1e-14)


@pytest.mark.parametrize("name", ROBOTS)
def test_parameters_and_mass_are_those_of_the_reference(name):
    model = load_robot(name)
    _, _, bodies = reference_order(model, name)
    phi = np.load(REFERENCE / f"{name}.npz")["phi"].reshape(-1, 10)[bodies]
    np.testing.assert_allclose(model.parameters, phi, rtol=1e-12, atol=1e-14)
    assert model.total_mass == pytest.approx(phi[:, 0].sum(), rel=1e-14)  # of what moves
    assert model.nbodies == len(MANIFEST[name]["joint_names"])
