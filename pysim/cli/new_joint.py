"""Template of `pysim new joint NAME`: a joint plugin to start from, and its test."""

from __future__ import annotations

from pysim.cli.plugin_files import Template

JOINT = Template(
    '''"""The joint type `{name}`. A scene beside this file uses it so:

    plugins = ["{name}.py"]          # run with --allow-code

    [[joint]]
    name = "j"
    type = "{name}"
    child = "some_body"
    lift = 0.1

`pysim joints {name} --plugin {name}.py --set lift=0.1 --still {name}.png` explains and draws it.
"""

from __future__ import annotations

import numpy as np

from pysim.joints import Joint, Pose, joint, real


@joint("{name}")
class {cls}(Joint):
    """Turns about z while a cam lifts it along z."""  # the first line is shown by `pysim joints`

    # Every annotated field is a key of the scene; its type is checked, its comment is shown.
    lift: float  # [m] how far the cam lifts
    waves: int = 2  # lifts a turn

    # A product (*) of real(...), rotation(...) and pose(...); real coordinates are in rad, or in m with unit="m".
    coordinates = real("angle")

    def placement(self, q):
        """Return the pose of the child's joint frame in the parent's.

        It is called once, with symbolic numbers: use NumPy's functions, spline(x, knots, values), and
        np.where(condition, a, b) in place of `if`. Velocities and accelerations are derived from it.
        """
        height = self.lift * np.sin(self.waves * q.angle)
        return Pose.translate(0, 0, height) @ Pose.rotate_z(q.angle)

    # Optional. Limits of real coordinates; scenes may set others. The joint must be defined within them.
    # def limits(self):
    #     return {{"angle": (-np.pi / 2, np.pi / 2)}}

    # Optional. Where the joint starts, if not at zero.
    # def start(self):
    #     return {{"angle": 0.1}}

    # Optional. A passive force of the joint itself [N·m or N], one number a velocity.
    # def force(self, q, v):
    #     return -3.0 * q.angle - 0.1 * v.angle
''',
    '''"""The joint type `{name}`: the laws of every joint, and its own formula. Run it with pytest."""

from __future__ import annotations

import numpy as np
from {name} import {cls}

from pysim.joints import check
from pysim.joints.trace import trace


def test_{name}_keeps_the_laws_of_joints():
    check({cls}(lift=0.1))
    check({cls}(lift=0.02, waves=5))


def test_{name}_is_lifted_by_its_cam():
    traced = trace({cls}(lift=0.1))
    X, S, c = traced.evaluate([0.3], [2.0])  # angle [rad] and its rate [rad/s]
    np.testing.assert_allclose(X[2, 3], 0.1 * np.sin(0.6))
    np.testing.assert_allclose(S[:, 0], [0, 0, 0.2 * np.cos(0.6), 0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(c, [0, 0, -0.4 * np.sin(0.6) * 2.0**2, 0, 0, 0], atol=1e-15)
''',
    "pysim joints {name} --plugin {name}.py --set lift=0.1 --still {name}.png",
    example="screw_slot",
)
