"""ANYmal with its left front and right hind foot held in the world, here and in Pinocchio (6D contacts)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

import pysim
from pysim.loops import constrained_aba, constrained_aba_derivatives, project
from pysim.scene.spec import LoopSpec
from pysim.worlds.loading import compile_model
from tests.benchmarks.peers import Pair
from tests.benchmarks.report import row
from tests.benchmarks.timing import take_turns

Array = np.ndarray[Any, Any]
FEET = ("LF_FOOT", "RH_FOOT")
BENT = {"HAA": 0.1, "HFE": 0.7, "KFE": -1.4}  # [rad] a leg's joints, far from a straight leg
APART = 0.6  # of the random angles that are added: legs in parallel planes are a linkage


class Standing:
    """n states on the constraints of the feet, in both programs."""

    def __init__(self, n: int) -> None:
        pair, rng = Pair("anymal", 1), np.random.default_rng(3)
        tree, self.order = pair.model, pair.order[1]
        q = posture(tree, pair.q[0])
        X = pysim.forward_kinematics(tree, q)
        held = [(name, *tree.frames[name]) for name in FEET]
        loops = tuple(
            LoopSpec(name, "weld", "world", tree.body_names[body], X[body] @ pose, pose)
            for name, body, pose in held
        )
        self.model = compile_model(replace(tree.spec, loops=loops))
        v, self.tau = rng.normal(size=(2, n, tree.nv))
        on = project(self.model, np.tile(q, (n, 1)), v)
        self.q, self.v = on.q, on.v
        self.peer, self.data = pair.pin, pair.data
        self.contacts, self.memory = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        for name in FEET:
            foot = self.peer.frames[self.peer.getFrameId(name)]
            kind, at = pin.ContactType.CONTACT_6D, (foot.parentJoint, foot.placement)
            self.contacts.append(pin.RigidConstraintModel(kind, self.peer, *at, pin.LOCAL))
            self.memory.append(self.contacts[-1].createData())
        pin.initConstraintDynamics(self.peer, self.data, self.contacts, self.memory)
        states = self.q[:, pair.order[0]], self.v[:, self.order], self.tau[:, self.order]
        self.states = list(zip(*states, strict=True))

    def peers(self, k: int) -> tuple[Array, list[Array]]:
        """Accelerations at state k and their derivatives by q, v and τ, in Pinocchio's order."""
        ties = self.contacts, self.memory
        a = pin.constraintDynamics(self.peer, self.data, *self.states[k], *ties)
        slopes = pin.computeConstraintDynamicsDerivatives(self.peer, self.data, *ties)
        return a, list(slopes[:3])


def posture(model: pysim.Model, q: Array) -> Array:
    """Return q with every leg bent differently."""
    bent = q.copy()
    for name, at in zip(model.joint_names, model.q_offsets, strict=True):
        if name[-3:] in BENT:
            bent[at] = BENT[name[-3:]] + APART * q[at]
    return bent


def standing_rows(n: int = 256) -> None:
    """Accelerations and their derivatives, µs a state."""
    robot = Standing(n)
    state = robot.model, robot.q, robot.v, robot.tau
    ties = robot.contacts, robot.memory
    out = constrained_aba_derivatives(*state)
    times = take_turns(
        {
            "a": lambda: constrained_aba(*state),
            "slopes": lambda: constrained_aba_derivatives(*state, out=out),
            "peer's a": lambda: [
                pin.constraintDynamics(robot.peer, robot.data, *one, *ties) for one in robot.states
            ],
            "peer's slopes": lambda: [robot.peers(k) for k in range(n)],
        }
    )
    us = {key: 1e6 * value / n for key, value in times.items()}
    how = f"a loop of calls, {n} states on two held feet"
    row("anymal", "constrained ABA", us["a"], us["peer's a"], how)
    row("anymal", "its derivatives", us["slopes"], us["peer's slopes"], how)
