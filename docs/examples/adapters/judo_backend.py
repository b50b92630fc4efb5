"""Rollouts of judo's sampling controllers in worlds of pysim.

    backend = PysimBackend("robot.xml", task.model, num_threads=64)
    states, sensors, _ = backend.rollout(x0, controls)

States are those of MuJoCo: joints in its order, quaternions (w, x, y, z), linear velocities of free joints in world
axes.
"""

import numpy as np
from judo.utils.rollout_backend import RolloutBackend

import pysim
from pysim.spatial import rotation_from_quaternion

FREE, BALL = 0, 1  # mujoco.mjtJoint


class MujocoOrder:
    """Coordinates of a pysim.Model in the order of a mujoco.MjModel with the same names of joints."""

    def __init__(self, model, mj_model):
        places = {name: k for k, name in enumerate(model.joint_names)}
        self.q, self.v = np.zeros(model.nq, int), np.zeros(model.nv, int)  # ours, by MuJoCo's
        self.free, self.shape = [], (model.nq, model.nv)
        for j in range(mj_model.njnt):
            k = places[mj_model.joint(j).name]
            q, v = model.q_offsets[k], model.v_offsets[k]
            kind, at_q, at_v = mj_model.jnt_type[j], mj_model.jnt_qposadr[j], mj_model.jnt_dofadr[j]
            positions = {FREE: [0, 1, 2, 6, 3, 4, 5], BALL: [3, 0, 1, 2]}.get(kind, [0])
            count = {FREE: 6, BALL: 3}.get(kind, 1)
            self.q[at_q : at_q + len(positions)] = q + np.array(positions)
            self.v[at_v : at_v + count] = v + np.arange(count)
            if kind == FREE:
                self.free.append((q, v))

    def to_pysim(self, x):
        """Return q and v of states (…, nq + nv) of MuJoCo."""
        q, v = np.empty((*x.shape[:-1], self.shape[0])), np.empty((*x.shape[:-1], self.shape[1]))
        q[..., self.q], v[..., self.v] = x[..., : self.shape[0]], x[..., self.shape[0] :]
        for at_q, at_v in self.free:
            R = rotation_from_quaternion(q[..., at_q + 3 : at_q + 7])
            linear = v[..., at_v : at_v + 3]
            linear[:] = np.einsum("...ji,...j->...i", R, linear)
        return q, v

    def to_mujoco(self, q, v):
        """Return states (…, nq + nv) of MuJoCo."""
        v = v.copy()
        for at_q, at_v in self.free:
            R = rotation_from_quaternion(q[..., at_q + 3 : at_q + 7])
            linear = v[..., at_v : at_v + 3]
            linear[:] = np.einsum("...ij,...j->...i", R, linear)
        return np.concatenate([q[..., self.q], v[..., self.v]], axis=-1)


class PysimBackend(RolloutBackend):
    """Worlds that start in one state and each carry out controls of their own.

    Args:
        scene: a pysim.Scene, or the path of one or of the MJCF.
        mj_model: whose order states have.
        num_threads: number of rollouts, as judo calls it; they share `threads` of the processor.
        sensors: names of signals that are returned.
    """

    def __init__(self, scene, mj_model, num_threads, sensors=(), threads=0):
        self.scene, self.sensors, self.threads = scene, tuple(sensors), threads
        self.update(num_threads)
        self.order = MujocoOrder(self.worlds.model, mj_model)

    def update(self, num_threads):
        """Take another number of rollouts."""
        self.num_threads = num_threads
        self.worlds = pysim.Worlds(self.scene, num_threads, threads=self.threads)

    def rollout(self, x0, controls, last_policy_output=None):
        """Return states (n, T, nq + nv) and sensors (n, T, numbers) after controls (n, T, nu)."""
        self.worlds.reset()
        self.worlds.q[:], self.worlds.v[:] = self.order.to_pysim(np.asarray(x0, float))
        rows = self.worlds.rollout(controls, signals=self.sensors)
        sensors = [rows.signals[name].reshape(*rows.q.shape[:2], -1) for name in self.sensors]
        sensors = np.concatenate([np.zeros((*rows.q.shape[:2], 0)), *sensors], axis=-1)
        return self.order.to_mujoco(rows.q, rows.v), sensors, None
