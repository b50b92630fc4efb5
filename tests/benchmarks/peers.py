"""The same robots and states in Pinocchio and MuJoCo."""

from __future__ import annotations

import re
from typing import Any

import mujoco
import numpy as np
import pinocchio

import pysim
from pysim import _engine
from tests.robots import load_robot, robot_path

Array = np.ndarray[Any, Any]


class Pair:
    """One robot in pysim and Pinocchio, with n random states in both orders of joints."""

    def __init__(self, name: str, n: int) -> None:
        self.name = name
        self.model = load_robot(name)
        path = str(robot_path(name))
        free = self.model.joints[0].type == "free"
        self.pin = (
            pinocchio.buildModelFromUrdf(path, pinocchio.JointModelFreeFlyer())
            if free
            else pinocchio.buildModelFromUrdf(path)
        )
        self.data = self.pin.createData()
        self._check_same()
        rng = np.random.default_rng(1)
        self.q = np.array([self.model.random_configuration(rng) for _ in range(n)])
        self.v, self.x = rng.normal(size=(2, n, self.model.nv))
        self.order = q, v = self._order()
        self.pin_q = np.asfortranarray(self.q[:, q].T)
        self.pin_v = np.asfortranarray(self.v[:, v].T)
        self.pin_x = np.asfortranarray(self.x[:, v].T)
        self._check_states(v)

    def _check_same(self) -> None:
        if (self.pin.nq, self.pin.nv) != (self.model.nq, self.model.nv):
            raise SystemExit(f"{self.name}: the two models differ in coordinates")

    def _order(self) -> tuple[Array, Array]:
        """Where each of Pinocchio's numbers stands among pysim's."""
        q, v = np.empty(self.pin.nq, int), np.empty(self.pin.nv, int)
        for k, joint in enumerate(self.model.joint_names):
            j = self.pin.joints[self.pin.getJointId(joint)]
            q[j.idx_q : j.idx_q + j.nq] = self.model.q_offsets[k] + np.arange(j.nq)
            v[j.idx_v : j.idx_v + j.nv] = self.model.v_offsets[k] + np.arange(j.nv)
        return q, v

    def _check_states(self, v: Array) -> None:
        """A race between programs that compute different things says nothing."""
        mine = pysim.aba(self.model, self.q[0], self.v[0], self.x[0])[v]
        theirs = pinocchio.aba(
            self.pin, self.data, self.pin_q[:, 0], self.pin_v[:, 0], self.pin_x[:, 0]
        )
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


def mujoco_robot(name: str, step: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A fixed-base robot without meshes, contacts and limits, its joints' damping kept.

    Damping enters Euler's scheme explicitly, as in pysim: the cheaper of MuJoCo's two forms.
    """
    text = robot_path(name).read_text("utf-8")
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    at = text.index(">", text.index("<robot")) + 1
    options = '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco>'
    model = mujoco.MjModel.from_xml_string(text[:at] + options + text[at:])
    model.opt.timestep = step
    model.opt.disableflags |= int(
        mujoco.mjtDisableBit.mjDSBL_CONTACT
        | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        | mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    )
    return model, mujoco.MjData(model)


def check_same_acceleration(pair: Pair, mj: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Hold that both programs simulate the same mechanism."""
    names = [mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_JOINT, i) for i in range(mj.njnt)]
    order = [pair.model.joint_names.index(name) for name in names]
    q, v = pair.q[0], pair.v[0]
    mine = pysim.aba(pair.model, q, v, np.zeros_like(v), passive=True)
    data.qpos[:], data.qvel[:] = q[order], v[order]
    mujoco.mj_forward(mj, data)
    np.testing.assert_allclose(mine[order], data.qacc, rtol=0, atol=1e-9 * np.abs(mine).max())


def drive(model: pysim.Model) -> _engine.Actuation:
    """No prescribed forces."""
    return _engine.Actuation(*np.zeros((4, model.nv)))
