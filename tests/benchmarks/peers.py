"""The same robots and states in Pinocchio and MuJoCo."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio

import pysim
from pysim import _engine
from tests.benchmarks.chains import chain_urdf
from tests.robots import load_robot, robot_path

Array = np.ndarray[Any, Any]
CHAINS = ("chain", "plane")  # prefixes of the names of chains


def urdf(name: str) -> str:
    """Text of a robot of example-robot-data, or of "chain10", "chain50", … or "plane10", … in a plane."""
    kind, links = name[:5], name[5:]
    if kind in CHAINS:
        return chain_urdf(int(links), planar=kind == "plane")
    return robot_path(name).read_text("utf-8")


def load(name: str) -> pysim.Model:
    """The robot in pysim; every joint with its own coordinate."""
    if name[:5] not in CHAINS:
        return load_robot(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.urdf"
        path.write_text(urdf(name), "utf-8")
        return pysim.load_model(path)


class Pair:
    """One robot in pysim and Pinocchio, with n random states in both orders of joints."""

    def __init__(self, name: str, n: int) -> None:
        self.name = name
        self.model = load(name)
        free = self.model.joints[0].type == "free"
        root = (pinocchio.JointModelFreeFlyer(),) if free else ()
        self.pin = pinocchio.buildModelFromXML(urdf(name), *root)
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
        """Index among pysim's numbers of each of Pinocchio's."""
        q, v = np.empty(self.pin.nq, int), np.empty(self.pin.nv, int)
        for k, joint in enumerate(self.model.joint_names):
            j = self.pin.joints[self.pin.getJointId(joint)]
            q[j.idx_q : j.idx_q + j.nq] = self.model.q_offsets[k] + np.arange(j.nq)
            v[j.idx_v : j.idx_v + j.nv] = self.model.v_offsets[k] + np.arange(j.nv)
        return q, v

    def _check_states(self, v: Array) -> None:
        """Assert that both programs compute the same; otherwise a comparison of speed is meaningless."""
        mine = pysim.aba(self.model, self.q[0], self.v[0], self.x[0])[v]
        theirs = pinocchio.aba(
            self.pin, self.data, self.pin_q[:, 0], self.pin_v[:, 0], self.pin_x[:, 0]
        )
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


def urdf_without_shapes(name: str) -> str:
    """Return a robot's URDF without what is drawn or collides."""
    return re.sub(r"<(visual|collision)\b.*?</\1>", "", urdf(name), flags=re.DOTALL)


def mujoco_robot(name: str, step: float) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The robot without meshes, contacts and limits, its joints' damping kept; on a free base as in pysim.

    Damping enters Euler's scheme explicitly, as in pysim: the cheaper of MuJoCo's two forms.
    """
    text = urdf_without_shapes(name)
    free = name in ("anymal", "simple_humanoid")
    at = text.index(">", text.index("<robot")) + 1
    fuse = "" if free else 'fusestatic="true"'
    options = f'<mujoco><compiler {fuse} discardvisual="true"/></mujoco>'
    root = _floating(text) if free else ""
    model = mujoco.MjModel.from_xml_string(text[:at] + options + root + text[at:])
    model.opt.timestep = step
    model.opt.disableflags |= int(
        mujoco.mjtDisableBit.mjDSBL_CONTACT
        | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        | mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    )
    return model, mujoco.MjData(model)


def _floating(text: str) -> str:
    """A world and a floating joint above the root of a URDF."""
    links = re.findall(r'<link\s+name="([^"]+)"', text)
    children = set(re.findall(r'<child\s+link="([^"]+)"', text))
    root = next(link for link in links if link not in children)
    return (
        '<link name="ground"/><joint name="root_joint" type="floating">'
        f'<parent link="ground"/><child link="{root}"/></joint>'
    )


def check_same_acceleration(pair: Pair, mj: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Assert that both programs simulate the same mechanism, by the accelerations of hinges and slides.

    A free base is at rest: with its velocity zero, no convention for it matters.
    """
    hinges = [k for k in range(mj.njnt) if mj.jnt_type[k] >= int(mujoco.mjtJoint.mjJNT_SLIDE)]
    names = [mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_JOINT, k) for k in hinges]
    order = [pair.model.joint_names.index(name) for name in names]
    q, v = pair.q[0].copy(), pair.v[0].copy()
    mine_q = np.array(pair.model.q_offsets)[order]
    mine_v = np.array(pair.model.v_offsets)[order]
    if len(hinges) < mj.njnt:  # position, quaternion (x, y, z, w) here, (w, x, y, z) there
        v[:6] = 0
        data.qpos[:7] = q[[0, 1, 2, 6, 3, 4, 5]]
        data.qvel[:6] = 0
    mine = pysim.aba(pair.model, q, v, np.zeros_like(v), passive=True)[mine_v]
    data.qpos[mj.jnt_qposadr[hinges]], data.qvel[mj.jnt_dofadr[hinges]] = q[mine_q], v[mine_v]
    mujoco.mj_forward(mj, data)
    theirs = data.qacc[mj.jnt_dofadr[hinges]]
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-7 * np.abs(mine).max())


def no_forces(model: pysim.Model) -> _engine.Actuation:
    """No prescribed forces."""
    return _engine.Actuation(*np.zeros((4, model.nv)))
