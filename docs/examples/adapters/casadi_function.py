"""A step of a scene as a function of CasADi, with its Jacobian.

    step = StepFunction("step", "scene.toml", nodes=64)
    x_next = step(x, u)          # (nq + nv, nodes), (inputs, nodes), all nodes in one call

A column of x is a node: q and v, in pysim's order. Contacts begin every step without a deflection.
"""

import casadi
import numpy as np

import pysim
from pysim.analysis.motion_cotangents import along_motions, by_numbers


class StepFunction(casadi.Callback):
    """x⁺ (size, nodes) of x and u, by steps of a scene or scene file with `integrator = "convex"`.

    A call makes a number of steps for all nodes, the columns of its arguments; u is held during them.
    """

    def __init__(self, name, scene, nodes=1, steps=1):
        super().__init__()
        self.worlds, self.nodes, self.steps = pysim.Worlds(scene, nodes), nodes, steps
        self.nq, self.nv = self.worlds.q.shape[1], self.worlds.v.shape[1]
        self.nu = self.worlds.inputs.all.shape[1]
        self.construct(name, {})

    def get_n_in(self):
        return 2

    def get_n_out(self):
        return 1

    def get_sparsity_in(self, i):
        return casadi.Sparsity.dense(self.nu if i else self.nq + self.nv, self.nodes)

    def get_sparsity_out(self, i):
        return casadi.Sparsity.dense(self.nq + self.nv, self.nodes)

    def start_at(self, x, u):
        """Set the worlds to the states of the nodes, and return the inputs (nodes, nu)."""
        columns = np.array(x).T
        self.worlds.reset()
        self.worlds.q[:], self.worlds.v[:] = columns[:, : self.nq], columns[:, self.nq :]
        return np.array(u).T.reshape(self.nodes, self.nu)

    def eval(self, arguments):
        self.worlds.inputs.all[:] = self.start_at(*arguments)
        self.worlds.step(steps=self.steps)
        return [casadi.DM(np.hstack([self.worlds.q, self.worlds.v]).T)]

    def derivatives(self, x, u):
        """Return derivatives (nodes, size, …) by the numbers of x and by u."""
        controls = self.start_at(x, u)
        q = self.worlds.q.copy()
        step = pysim.step_derivatives(self.worlds, controls, steps=self.steps)
        rows, nv = 2 * self.nv, self.nv
        units = np.eye(self.nq)[:, None] * np.ones((self.nodes, 1))
        motions = np.eye(nv)[:, None] * np.ones((self.nodes, 1))
        # how numbers of q change along motions, at the end, and motions with numbers, at the start
        to_numbers = np.moveaxis([along_motions(self.worlds.model, step.q, e) for e in units], 0, 1)
        to_motions = np.moveaxis([by_numbers(self.worlds.model, q, e) for e in motions], 0, 1)
        A, B = step.A[:, :rows, :rows], step.B[:, :rows]
        by_x = np.concatenate([A[..., :nv] @ to_motions, A[..., nv:]], axis=2)
        return tuple(np.concatenate([to_numbers @ D[:, :nv], D[:, nv:]], axis=1) for D in (by_x, B))

    def has_jacobian(self):
        return True

    def get_jacobian(self, name, *names_and_options):
        self.jacobian_function = _Jacobian(name, self)  # CasADi keeps no reference to it
        return self.jacobian_function


class _Jacobian(casadi.Callback):
    """Derivatives of all nodes: blocks on the diagonal."""

    def __init__(self, name, step):
        super().__init__()
        self.step = step
        self.construct(name, {})

    def get_n_in(self):
        return 3  # x, u and x⁺

    def get_n_out(self):
        return 2

    def get_sparsity_in(self, i):
        return self.step.sparsity_out(0) if i == 2 else self.step.sparsity_in(i)

    def get_sparsity_out(self, i):
        size = self.step.nq + self.step.nv
        block = casadi.Sparsity.dense(size, self.step.nu if i else size)
        return casadi.diagcat(*[block] * self.step.nodes)

    def eval(self, arguments):
        found = self.step.derivatives(*arguments[:2])
        return [casadi.diagcat(*map(casadi.DM, blocks)) for blocks in found]
