"""Kwon's algorithm 1 with its misprints corrected (FORMULAS.md, E3.1 to E3.5), and what was printed beside it.

Oracles: tests/oracles/kwon.py, itself held to sixth-order differences of equations 1 to 6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.algorithms.test_design_derivatives import moved_parameters
from tests.oracles import kwon
from tests.oracles.differences import along
from tests.oracles.mechanisms import GRAVITY, make_joint, random_pose, random_theta
from tests.oracles.spatial import inverse, spatial_inertia

TREE = (0, 1, 1, 2, 2, 0)  # parents of links 1 to 6, as in shared oracles
CHAIN = (0, 1, 2, 3, 4)
KINDS = ("revolute", "prismatic", "revolute", "helical", "revolute", "prismatic")
PITCH = 0.3  # [m/rad]
UNIT = {  # A in the frame whose z is the axis, [ω; v]
    "revolute": np.array([0, 0, 1, 0, 0, 0.0]),
    "prismatic": np.array([0, 0, 0, 0, 0, 1.0]),
    "helical": np.array([0, 0, 1, 0, 0, PITCH]),
}


class Mechanism:
    """Links on screws that lie anywhere: as Kwon writes them, and as pysim's joints on their axes.

    Y_i is the frame on the axis of joint i, seen from link i: A_i = Ad_Y A₀, and pysim's body frame is T_i Y_i.
    """

    def __init__(self, rng, parents, *, at_one=False):
        n = len(parents)
        self.kinds = KINDS[:n]
        self.parents = parents
        self.Y = [np.eye(4), *(random_pose(rng) for _ in range(n))]
        self.M = [np.eye(4) if at_one else random_pose(rng) for _ in range(n + 1)]
        self.thetas = [np.zeros(10), *(random_theta(rng) for _ in range(n))]  # in links' frames
        self.W = [np.zeros(6), *rng.normal(size=(n, 6))]
        self.state = rng.normal(size=(3, n + 1))

    def kwon(self, *misprints, eta=None, state=None):
        """The oracle, its axes moved by `eta` (n, 6)."""
        eta = np.zeros((len(self.parents), 6)) if eta is None else eta
        A = [
            kwon.adjoint(kwon.exp(e)) @ kwon.adjoint(Y) @ UNIT[kind]
            for e, Y, kind in zip(eta, self.Y[1:], self.kinds, strict=True)
        ]
        G = [kwon.SWAP @ spatial_inertia(t) @ kwon.SWAP for t in self.thetas]
        base = np.array([0, 0, 0, *-GRAVITY])
        parents = [0, *self.parents]
        state = self.state if state is None else state
        return kwon.Tree(parents, [A[0], *A], self.M, G, self.W, base, state, frozenset(misprints))

    def spec(self):
        joints, bodies = [], []
        for i, (p, kind) in enumerate(zip(self.parents, self.kinds, strict=True), start=1):
            at = inverse(self.Y[p]) @ self.M[i] @ self.Y[i]
            parameters = {"pitch": PITCH} if kind == "helical" else {}
            parent = "world" if p == 0 else f"link{p}"
            joint = make_joint(f"j{i}", kind, parent, f"link{i}", at)
            joints.append(replace(joint, parameters=parameters))
            bodies.append(
                BodySpec(f"link{i}", moved_parameters(self.thetas[i], inverse(self.Y[i])))
            )
        return ModelSpec("kwon", GRAVITY, tuple(bodies), tuple(joints))

    def pysim(self):
        """P, Q, R and S of pysim in Kwon's frames and orders."""
        model = compile_model(self.spec())
        link = [int(name[1:]) for name in model.joint_names]
        order = np.argsort(link)
        q, v, a = (x[link] for x in self.state)
        f_ext = np.array([kwon.SWAP @ kwon.adjoint(self.Y[i]).T @ self.W[i] for i in link])
        P, Q, R, S = (
            np.array(x)[order] for x in pysim.differential_dynamics(model, q, v, a, f_ext)
        )
        n = model.nbodies
        columns = np.zeros((9 * n, 9 * n))  # from λ of pysim to λ of Kwon
        for b, i in enumerate(link):
            to_axis = kwon.SWAP @ np.linalg.inv(kwon.adjoint(self.Y[i]))
            columns[6 * b : 6 * b + 6, 6 * i - 6 : 6 * i] = to_axis
            for block in range(3):
                columns[6 * n + block * n + b, 6 * n + block * n + i - 1] = 1
        for k in range(n):
            up = kwon.adjoint(self.Y[k + 1])
            P[k], Q[k] = up @ kwon.SWAP @ P[k], up @ kwon.SWAP @ Q[k]
            R[k] = np.linalg.inv(up).T @ kwon.SWAP @ R[k]
        return tuple(x @ columns for x in (P, Q, R, S))


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def differences(mechanism):
    """P, Q, R and S of equations 1 to 6 by sixth-order differences along λ."""
    n = len(mechanism.parents)

    def numbers(step):
        state = np.array(mechanism.state)
        state[:, 1:] += step[6 * n :].reshape(3, n)
        tree = mechanism.kwon(eta=step[: 6 * n].reshape(n, 6), state=state)
        _, V, Vd, F = tree.dynamics()
        tau = [tree.A[i] @ F[i] for i in tree.links]
        return np.concatenate([*V[1:], *Vd[1:], *F[1:], tau])

    J = along(numbers, 9 * n)
    blocks = np.split(J[: 18 * n].reshape(3 * n, 6, 9 * n), 3)
    return (*blocks, J[18 * n :])


@pytest.mark.parametrize("parents", [TREE, CHAIN], ids=["tree", "chain"])
def test_the_corrected_algorithm_gives_the_differences_and_pysim_gives_the_same(parents, rng, isa):
    mechanism = Mechanism(rng, parents)
    oracle = mechanism.kwon().differential()
    if isa == pysim.available_isas()[0]:
        for mine, slope in zip(oracle, differences(mechanism), strict=True):
            close(mine, slope, 1e-9)
    for mine, right in zip(mechanism.pysim(), oracle, strict=True):
        close(mine, right, 1e-11)


def test_the_acceleration_block_is_the_symmetric_positive_inertia(rng):
    n = len(TREE)
    M = Mechanism(rng, TREE).pysim()[3][:, 8 * n :]
    close(M, M.T, 1e-14)
    assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize(
    ("misprint", "wrong"),
    [("cumulative Ad", "PQRS"), ("line 30", "RS"), ("no ad in S", "S")],
)
def test_the_algorithm_as_printed_fails(misprint, wrong, rng):
    """E3.1: Ad of the whole chain.  E3.2: the sign of ad* in line 30.  E3.4: S = Aᵀ R alone. M = 1, as printed."""
    mechanism = Mechanism(rng, CHAIN, at_one=True)
    right = dict(zip("PQRS", mechanism.pysim(), strict=True))
    printed = dict(zip("PQRS", mechanism.kwon(misprint).differential(), strict=True))
    for name, matrix in printed.items():
        error = np.abs(matrix - right[name]).max() / np.abs(right[name]).max()
        assert (error > 0.05) == (name in wrong), (name, error)


def test_lines_3_and_4_are_the_first_pass_of_the_loop_with_nothing_before_it(rng):
    """E3.3: P₀ = Q₀ = 0 and V̇₀ = (0, −g); the printed lines lack the columns of the state."""
    mechanism = Mechanism(rng, CHAIN, at_one=True)
    P, Q, _, _ = mechanism.pysim()
    tree = mechanism.kwon()
    A, (th, thd, thdd) = tree.A[1], tree.state[:, 1]
    E = kwon.adjoint(kwon.exp(A * th))
    close(P[0][:, :6], -kwon.ad(A * thd))
    back = np.linalg.inv(E) @ kwon.ad(tree.base)
    close(Q[0][:, :6], -kwon.ad(A * thdd) + back @ (np.eye(6) - E))
    assert np.abs(P[0][:, 6:]).max() > 0
