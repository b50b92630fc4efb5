"""A chain of traced plugins, a joint that Python computes, and built-in shapes between."""

from __future__ import annotations

import numpy as np

from pysim.joints import CallbackJoint, joint, real
from pysim.scene.spec import BodySpec, FrameSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.joints.test_traced import plugin_joint
from tests.oracles.mechanisms import GRAVITY, make_joint, random_pose, random_theta

KINDS = ["free", "screw_slot", "test_ellipsoid", "universal", "test_called_cam", "test_swing"]


@joint("test_called_cam")
class CalledCam(CallbackJoint):
    """Turns about z while it slides along the turned x; a second coordinate slides along y."""

    coordinates = real("angle") * real("slide", unit="m")

    def poses(self, q):
        s, c = np.sin(q[:, 0]), np.cos(q[:, 0])
        lift = 0.2 * np.sin(q[:, 0]) + 0.1 * q[:, 1] ** 2
        X = np.zeros((len(q), 4, 4))
        X[:, 0, 0], X[:, 0, 1], X[:, 1, 0], X[:, 1, 1] = c, -s, s, c
        X[:, 2, 2] = X[:, 3, 3] = 1
        X[:, 0, 3], X[:, 1, 3] = c * lift - s * q[:, 1], s * lift + c * q[:, 1]
        return X


def plugin_chain(rng: np.random.Generator, kinds=KINDS):
    """One body a kind, each on the one before; the frame `tool` on the last."""
    names = ["world", *(f"b{k}" for k in range(len(kinds)))]
    joints = []
    for k, kind in enumerate(kinds):
        at = random_pose(rng)
        if "_" in kind:
            keys = {"lift": 0.1} if kind == "screw_slot" else {}
            joints.append(plugin_joint(f"j{k}", kind, names[k], names[k + 1], at, keys))
        else:
            joints.append(make_joint(f"j{k}", kind, names[k], names[k + 1], at))
    bodies = tuple(BodySpec(n, random_theta(rng)) for n in names[1:])
    frames = (FrameSpec("tool", names[-1], random_pose(rng), "test: tool"),)
    return compile_model(ModelSpec("plugins", GRAVITY, bodies, tuple(joints), frames, "test"))
