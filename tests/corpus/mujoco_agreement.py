"""Comparison of an imported model with MuJoCo: masses, mass matrix, bias forces, accelerations and poses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

import pysim
from pysim.scene.mjcf.model import MujocoModel
from pysim.scene.mjcf.reader import state_by_joint
from pysim.scene.mjcf.tendons import course_of
from pysim.worlds.loading import compile_model

FREE_VELOCITIES = 6


@dataclass
class Pair:
    """One model in pysim and in MuJoCo, the latter without constraints and without what the importer leaves out."""

    model: pysim.Model
    reference: MujocoModel

    def __post_init__(self) -> None:
        self.m = self.reference.m
        bits = mujoco.mjtDisableBit
        off = bits.mjDSBL_CONTACT | bits.mjDSBL_CONSTRAINT | bits.mjDSBL_ACTUATION
        self.m.opt.disableflags |= int(off | bits.mjDSBL_EULERDAMP)
        self.m.opt.density = self.m.opt.viscosity = 0.0  # media are left out, by name
        self.m.jnt_actgravcomp[:] = False  # compensated weights act in any case
        for k in range(self.m.ntendon):
            if course_of(self.reference, k).obstacle:  # left out, by name
                self.m.tendon_stiffness[k] = self.m.tendon_damping[k] = 0.0
        self.data = mujoco.MjData(self.m)
        names = self.model.joint_names
        self.at_q = dict(zip(names, self.model.q_offsets, strict=True))
        self.at_v = dict(zip(names, self.model.v_offsets, strict=True))

    def random_state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Set MuJoCo to a random state and return it as (q, v) of pysim."""
        qpos, qvel = self.m.qpos0.copy(), rng.standard_normal(self.m.nv)
        mujoco.mj_integratePos(self.m, qpos, rng.standard_normal(self.m.nv), 1.0)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_forward(self.m, self.data)
        return self.state()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """Return MuJoCo's present state as (q, v) of pysim."""
        by_joint = state_by_joint(self.reference, self.data.qpos, self.data.qvel)
        q, v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        for numbers, offsets, parts in ((q, self.at_q, by_joint[0]), (v, self.at_v, by_joint[1])):
            for name, part in parts.items():
                numbers[offsets[name] : offsets[name] + len(part)] = part
        return q, v

    def velocity_map(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return T and ċ: v = T v_mujoco and v̇ = T v̇_mujoco + ċ, as a free joint's linear velocity is in the body."""
        T, rate = np.zeros((self.m.nv, self.m.nv)), np.zeros(self.m.nv)
        for k, name in enumerate(self.reference.joints):
            first, place = int(self.m.jnt_dofadr[k]), self.at_v[name]
            free = self.m.jnt_type[k] == mujoco.mjtJoint.mjJNT_FREE
            count = FREE_VELOCITIES if free else self.m.dof_jntid.tolist().count(k)
            block = np.eye(count)
            if free:
                R = np.zeros(9)
                at = int(self.m.jnt_qposadr[k])
                mujoco.mju_quat2Mat(R, self.data.qpos[at + 3 : at + 7])
                block[:3, :3] = R.reshape(3, 3).T
                rate[place : place + 3] = -np.cross(v[place + 3 : place + 6], v[place : place + 3])
            T[place : place + count, first : first + count] = block
        return T, rate


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference, relative to the largest expected value or 1."""
    if not np.size(expected):
        return 0.0
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


def moving_mass(m: mujoco.MjModel) -> float:
    """Return the mass of the bodies that joints move, below a body with joints."""
    moved = np.zeros(m.nbody, bool)
    for body in range(1, m.nbody):
        moved[body] = m.body_jntnum[body] > 0 or moved[m.body_parentid[body]]
    return float(m.body_mass[moved].sum())


def smooth(model: pysim.Model) -> pysim.Model:
    """Return a model without what MuJoCo has as constraints: limits, dry friction, loops and couplings."""
    joints = [
        replace(
            joint,
            lower=np.full_like(joint.lower, -np.inf),
            upper=np.full_like(joint.upper, np.inf),
            stop_stiffness=np.zeros_like(joint.lower),
            stop_damping=np.zeros_like(joint.lower),
            friction=np.zeros_like(joint.friction),
        )
        for joint in model.spec.joints
    ]
    forces = tuple(force for force in model.spec.forces if not force.type.endswith("_stop"))
    spec = replace(model.spec, joints=tuple(joints), loops=(), couplings=(), forces=forces)
    return compile_model(spec)


def agreement(model: pysim.Model, path: Path, states: int = 10) -> dict[str, float]:
    """Return the largest relative differences of a model from MuJoCo's over random states."""
    model = smooth(model)
    pair = Pair(model, MujocoModel(Path(path)))
    m, data = pair.m, pair.data
    assert (model.nq, model.nv) == (m.nq, m.nv)
    errors = {"mass": relative(np.array(model.total_mass), np.array(moving_mass(m)))}
    errors |= dict.fromkeys(("M", "bias", "passive", "acceleration", "poses"), 0.0)
    rng = np.random.default_rng(20260726)
    expected: dict[str, list[np.ndarray]] = {key: [] for key in errors}
    maps, starts = [], []
    for _ in range(states):
        q, v = pair.random_state(rng)
        starts.append((q, v))
        maps.append(pair.velocity_map(q, v))
        dense = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, data, dense)
        poses = np.tile(np.eye(4), (m.nbody - 1, 1, 1))
        poses[:, :3, :3] = data.xmat[1:].reshape(-1, 3, 3)
        poses[:, :3, 3] = data.xpos[1:]
        numbers = (dense, data.qfrc_bias, data.qfrc_passive, data.qacc, poses)
        for key, value in zip(list(errors)[1:], numbers, strict=True):
            expected[key].append(np.array(value))
    Q, V = (np.array(part) for part in zip(*starts, strict=True))
    T, rate = (np.array(part) for part in zip(*maps, strict=True))
    back = np.swapaxes(T, -1, -2)  # T is orthogonal
    M = pysim.crba(model, Q)
    passive = pysim.passive_forces(model, Q, V)
    bias = pysim.nonlinear_effects(model, Q, V) + (M @ rate[..., None])[..., 0]
    acceleration = pysim.aba(model, Q, V, passive) - rate
    names = pair.reference.bodies[1:]
    found = {
        "M": back @ M @ T,
        "bias": (back @ bias[..., None])[..., 0],
        "passive": (back @ passive[..., None])[..., 0],
        "acceleration": (back @ acceleration[..., None])[..., 0],
        "poses": np.array([pysim.frame_placement(model, Q, name) for name in names]),
    }
    found["poses"] = np.swapaxes(found["poses"].reshape(-1, states, 4, 4), 0, 1)
    for key, value in found.items():
        pairs = zip(value, expected[key], strict=True)
        errors[key] = max(relative(one, other) for one, other in pairs)
    return errors
