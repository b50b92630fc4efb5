"""Steps of a scene as action models of crocoddyl, whose derivatives are made for all nodes in one call.

    state = crocoddyl.StateMultibody(pinocchio_model)
    horizon = Horizon("scene.toml", state, nodes=64, goal=x_goal, weights=w, effort=1e-3)
    problem = crocoddyl.ShootingProblem(x0, horizon.running, Action(horizon, None, 1e3 * w, 0.0))

Configurations and velocities are in Pinocchio's order; both programs have the same tangents. Contacts begin every node
without a deflection.
"""

import crocoddyl
import numpy as np

import pysim


def order_of(model, pinocchio_model):
    """Return places of q and v of a pysim.Model in the order of a Pinocchio model with the same joints."""
    q, v = np.arange(model.nq), np.arange(model.nv)
    names = list(model.joint_names)
    for joint, name in zip(pinocchio_model.joints[1:], list(pinocchio_model.names)[1:]):
        k = names.index(name)
        q[joint.idx_q : joint.idx_q + joint.nq] = model.q_offsets[k] + np.arange(joint.nq)
        v[joint.idx_v : joint.idx_v + joint.nv] = model.v_offsets[k] + np.arange(joint.nv)
    return q, v


class Horizon:
    """Nodes of a shooting problem, with the cost ½ Σ weights (x ⊖ goal)² + ½ effort u² of each.

    Args:
        scene: a pysim.Scene, or a path, with `integrator = "convex"`.
        state: crocoddyl.StateMultibody, or StateVector if all coordinates are plain numbers in pysim's order.
        nodes: their number.
        goal: state that costs nothing.
        weights: of x ⊖ goal (2 nv).
        effort: weight of u.
        steps: of the scene from node to node.
    """

    def __init__(self, scene, state, nodes, goal, weights, effort, steps=1):
        self.state, self.goal, self.weights, self.effort = state, goal, weights, effort
        self.nodes, self.one = pysim.Worlds(scene, nodes), pysim.Worlds(scene, 1)
        self.steps, self.nu = steps, self.nodes.inputs.all.shape[1]
        model = self.nodes.model
        self.q, self.v = np.arange(model.nq), np.arange(model.nv)
        if hasattr(state, "pinocchio"):
            self.q, self.v = order_of(model, state.pinocchio)
        self.tangent = np.concatenate([self.v, model.nv + self.v])
        self.x, self.u = np.tile(state.zero(), (nodes, 1)), np.zeros((nodes, self.nu))
        self.made = None  # x and u of the derivatives
        self.running = [Action(self, k, weights, effort) for k in range(nodes)]

    def put(self, worlds, x):
        """Set worlds to states x, without deflections of contacts."""
        worlds.reset()
        worlds.q[:, self.q], worlds.v[:, self.v] = np.split(x, [len(self.q)], axis=1)

    def next(self, k, x, u):
        """Return the state after a node, and note where it is."""
        self.x[k], self.u[k] = x, u
        self.put(self.one, x[None])
        self.one.inputs.all[:] = u
        self.one.step(steps=self.steps)
        return np.concatenate([self.one.q[0, self.q], self.one.v[0, self.v]])

    def derivatives(self, k, x, u):
        """Return A and B at a node; those of all nodes are computed in one call if the node has moved."""
        self.x[k], self.u[k] = x, u
        if self.made is None or any((own[k] != now).any() for own, now in zip(self.made, (x, u))):
            self.put(self.nodes, self.x)
            found = pysim.step_derivatives(self.nodes, self.u, steps=self.steps)
            self.A, self.B = found.A[:, self.tangent][:, :, self.tangent], found.B[:, self.tangent]
            self.made = self.x.copy(), self.u.copy()
        return self.A[k], self.B[k]


class Action(crocoddyl.ActionModelAbstract):
    """A node, number `k` of a horizon; None for the last one, which makes no step."""

    def __init__(self, horizon, k, weights, effort):
        super().__init__(horizon.state, horizon.nu, 0)
        self.horizon, self.k, self.weights, self.cost = horizon, k, weights, effort

    def calc(self, data, x, u=None):
        r = self.state.diff(self.horizon.goal, x)
        data.cost, data.xnext = 0.5 * r @ (self.weights * r), x
        if u is not None and self.k is not None:
            data.xnext = self.horizon.next(self.k, x, u)
            data.cost += 0.5 * self.cost * u @ u

    def calcDiff(self, data, x, u=None):
        J = self.state.Jdiff(self.horizon.goal, x)[1]
        data.Lx = J.T @ (self.weights * self.state.diff(self.horizon.goal, x))
        data.Lxx = J.T @ (self.weights[:, None] * J)
        if u is not None and self.k is not None:
            data.Fx, data.Fu = self.horizon.derivatives(self.k, x, u)
            data.Lu, data.Luu = self.cost * u, self.cost * np.eye(len(u))
