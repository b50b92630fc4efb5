"""Robots of example-robot-data in Pinocchio and here: dynamics, derivatives, regressors, momenta, one by one.

Oracle: Pinocchio, asked directly for random states; its joints are found by name, its angles as (cos, sin) where a URDF
joint is continuous.
"""

from __future__ import annotations

import warnings
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

import pysim

pin = pytest.importorskip("pinocchio")

ROBOTS = {  # and whether its base floats
    "panda_description/urdf/panda.urdf": False,
    "ur_description/urdf/ur10_robot.urdf": False,
    "kinova_description/robots/kinova.urdf": False,
    "allegro_hand_description/urdf/allegro_left_hand.urdf": False,
    "baxter_description/urdf/baxter.urdf": False,
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf": False,
    "solo_description/robots/solo12.urdf": True,
    "hyq_description/robots/hyq_no_sensors.urdf": True,
    "go2_description/urdf/go2.urdf": True,
    "talos_data/robots/talos_reduced.urdf": True,
    "simple_humanoid_description/urdf/simple_humanoid.urdf": True,
    "icub_description/robots/icub.urdf": True,
}
STATES = 3


class Twins:
    """A robot in both, a batch of states in pysim's order and a way to each of Pinocchio's."""

    def __init__(self, path: str, floating: bool, rng: np.random.Generator) -> None:
        files = distribution("example-robot-data").files or ()
        ending = f"example-robot-data/robots/{path}"
        file = Path(next(str(f.locate()) for f in files if str(f).endswith(ending)))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", pysim.PysimWarning
            )  # of physically inconsistent inertias
            self.model = pysim.load_model(file, free_base=floating, mimic=False)
        root = (pin.JointModelFreeFlyer(),) if floating else ()
        self.peer = pin.buildModelFromUrdf(str(file), *root)
        self.data = self.peer.createData()
        m = self.model
        self.q = np.array([m.random_configuration(rng) for _ in range(STATES)])
        self.v, self.a = rng.normal(size=(2, STATES, m.nv))
        self.f_ext = rng.normal(size=(STATES, m.nbodies, 6))
        self.joints = [self.peer.getJointId(name) for name in m.joint_names]
        self.order = np.concatenate(
            [
                self.peer.joints[j].idx_v + np.arange(nv)
                for j, nv in zip(self.joints, m.joint_nv, strict=True)
            ]
        )
        bodies = np.array(self.joints) - 1
        self.parameters = (10 * bodies[:, None] + np.arange(10)).ravel()

    def peers_q(self, q):
        numbers = np.zeros(self.peer.nq)
        for at, nq, j in zip(self.model.q_offsets, self.model.joint_nq, self.joints, strict=True):
            joint, own = self.peer.joints[j], q[at : at + nq]
            own = [np.cos(own[0]), np.sin(own[0])] if joint.nq == 2 else own
            numbers[joint.idx_q : joint.idx_q + joint.nq] = own
        return numbers

    def peers_v(self, v):
        numbers = np.zeros(self.peer.nv)
        numbers[self.order] = v
        return numbers

    def states(self):
        """(q, v, a, f_ext) of every state as Pinocchio takes them."""
        for q, v, a, f_ext in zip(self.q, self.v, self.a, self.f_ext, strict=True):
            wrenches = pin.StdVec_Force()
            wrenches.extend([pin.Force.Zero()] * self.peer.njoints)
            for j, wrench in zip(self.joints, f_ext, strict=True):
                wrenches[j] = pin.Force(wrench)
            yield self.peers_q(q), self.peers_v(v), self.peers_v(a), wrenches

    def mine(self, matrix):
        """A matrix of Pinocchio's (nv, nv) in pysim's order."""
        return matrix[self.order][:, self.order]


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda path: Path(path).stem)
def twins(request):
    return Twins(request.param, ROBOTS[request.param], np.random.default_rng(5))


def close(actual, expected, tolerance):
    expected = np.array(expected)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_both_have_the_same_parameters_and_torques(twins):
    t, order = twins, twins.order
    phi = np.concatenate([t.peer.inertias[j].toDynamicParameters() for j in t.joints])
    np.testing.assert_allclose(t.model.parameters.ravel(), phi, rtol=1e-10, atol=1e-12)
    tau = [pin.rnea(t.peer, t.data, *state)[order] for state in t.states()]
    close(pysim.rnea(t.model, t.q, t.v, t.a, t.f_ext), tau, 1e-10)


def test_derivatives_of_the_torques_are_pinocchios(twins):
    t = twins
    mine = pysim.rnea_derivatives(t.model, t.q, t.v, t.a, t.f_ext)
    theirs = [
        [x.copy() for x in pin.computeRNEADerivatives(t.peer, t.data, *state)]  # views of its data
        for state in t.states()
    ]
    for k in range(3):
        matrices = [x[k] for x in theirs]
        if k == 2:  # Pinocchio fills the upper half
            matrices = [np.triu(M) + np.triu(M, 1).T for M in matrices]
        close(mine[k], [t.mine(x) for x in matrices], 1e-9)


def test_derivatives_of_the_accelerations_are_pinocchios(twins):
    t = twins
    mine = pysim.aba_derivatives(t.model, t.q, t.v, t.a, t.f_ext)
    theirs = []
    for state in t.states():
        pin.computeABADerivatives(t.peer, t.data, *state)
        inverse = np.triu(t.data.Minv) + np.triu(t.data.Minv, 1).T
        theirs.append([t.mine(x.copy()) for x in (t.data.ddq_dq, t.data.ddq_dv, inverse)])
    condition = np.linalg.cond(pysim.crba(t.model, t.q)).max()  # 7e8 of iCub
    for k in range(3):
        close(mine[k], [x[k] for x in theirs], max(1e-9, np.finfo(float).eps * condition))


def test_the_regressor_is_pinocchios_and_times_the_parameters_the_torque(twins):
    t = twins
    Y = pysim.joint_torque_regressor(t.model, t.q, t.v, t.a)
    theirs = [
        pin.computeJointTorqueRegressor(t.peer, t.data, *state[:3])[t.order][:, t.parameters]
        for state in t.states()
    ]
    close(Y, theirs, 1e-10)
    close(Y @ t.model.parameters.ravel(), pysim.rnea(t.model, t.q, t.v, t.a), 1e-10)


def test_matrices_and_momenta_are_pinocchios(twins):
    t = twins
    inverse, coriolis, maps, momenta, rates = [], [], [], [], []
    for q, v, a, _ in t.states():
        M_inv = pin.computeMinverse(t.peer, t.data, q)
        inverse.append(t.mine(np.triu(M_inv) + np.triu(M_inv, 1).T))
        coriolis.append(t.mine(pin.computeCoriolisMatrix(t.peer, t.data, q, v).copy()))
        maps.append(pin.computeCentroidalMap(t.peer, t.data, q)[:, t.order].copy())
        pin.computeCentroidalMomentumTimeVariation(t.peer, t.data, q, v, a)
        momenta.append(t.data.hg.vector.copy())
        rates.append(t.data.dhg.vector.copy())
    close(pysim.minverse(t.model, t.q), inverse, 1e-9)
    close(pysim.coriolis_matrix(t.model, t.q, t.v), coriolis, 1e-10)
    close(pysim.centroidal_map(t.model, t.q), maps, 1e-10)
    close(pysim.centroidal_momentum(t.model, t.q, t.v), momenta, 1e-10)
    close(pysim.centroidal_momentum_rate(t.model, t.q, t.v, t.a), rates, 1e-10)
