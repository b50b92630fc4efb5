"""`pysim new KIND NAME`: a plugin of a kind to start from, and its test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.cli.new_joint import JOINT
from pysim.cli.plugin_files import Template, check_type_name, write_files
from pysim.elements.block import CONTROLLERS, SENSORS, find_block
from pysim.elements.force import FORCES, find_force
from pysim.errors import PysimError, did_you_mean
from pysim.joints import joint_types

if TYPE_CHECKING:
    from pysim.plugins.registry import PluginKind


SHOW_COMMAND = "pysim elements {name} --plugin {name}.py"
USE = '''
A scene beside this file uses it so; run it with --allow-code:

    plugins = ["{name}.py"]

    [[KIND]]
    name = "mine"
    type = "{name}"
KEYS"""

'''

FORCE = Template(
    '''"""The force type `{name}`: drag that is proportional to velocity.
USE
from pysim.forces import Force, Wrench, force


@force("{name}")
class {cls}(Force):
    """Drag on frame b against its velocity relative to frame a."""  # `pysim elements` shows the first line

    coefficient: float  # [N·s/m], a key of the scene's table; its comment is shown

    def wrench(self, pose, twist):
        """Return the wrench on frame b, from the pose and twist of b relative to a, in the axes of b."""
        return Wrench(force=-self.coefficient * twist.v)
''',
    '''"""The force type `{name}`. Oracle: a mass slows down as exp(-c t / m)."""

import numpy as np
import pysim
from {name} import {cls}  # registers the type

SCENE = """
gravity = [0, 0, 0]
[[body]]
name = "mass"
mass = 2.0
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "slide"
type = "prismatic"
child = "mass"
start = {{ v = 3.0 }}
[[force]]
name = "drag"
type = "{name}"
b = "mass"
coefficient = 0.5
[simulation]
duration = 1.0
"""


def test_{name}_slows_a_mass_down(tmp_path):
    (tmp_path / "scene.toml").write_text(SCENE, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "scene.toml"))
    np.testing.assert_allclose(run.v[:, 0], 3.0 * np.exp(-0.5 * run.t / 2.0), rtol=1e-10)


def test_the_keys_of_{name}():
    assert {cls}(coefficient=0.5).coefficient == 0.5
''',
    SHOW_COMMAND,
    keys='    b = "hull"\n    coefficient = 0.5\n',
)

CONTROLLER = Template(
    '''"""The controller type `{name}`: proportional-integral control.
USE
from pysim.controllers import Controller, controller, real, signal


@controller("{name}")
class {cls}(Controller):
    """Proportional-integral control of an angle; sampled if its table has a `period`."""

    inputs = signal("reference", unit="rad") * signal("angle", unit="rad")
    outputs = signal("torque", unit="N·m")
    states = real("integral")  # [rad·s], which the integrator carries
    kp: float  # [N·m/rad], a key of the scene's table; its comment is shown
    ki: float = 0.0  # [N·m/(rad·s)]

    def output(self, inputs, integral):
        """Return the torque; name the arguments that you use: t, inputs, states."""
        return self.kp * (inputs.reference - inputs.angle) + self.ki * integral

    def state_rate(self, inputs):
        """Return the rate of the integral."""
        return inputs.reference - inputs.angle
''',
    '''"""The controller type `{name}`. Oracle: integral control holds a constant load without an error."""

import numpy as np
import pysim
from {name} import {cls}  # registers the type

SCENE = """
gravity = [0, 0, 0]
[[body]]
name = "disc"
mass = 1.0
inertia = {{ xx = 0.1, yy = 0.1, zz = 0.1 }}
[[joint]]
name = "hinge"
type = "revolute"
child = "disc"
damping = 0.5
[[actuator]]
name = "load"
joint = "hinge"
offset = 0.3
[[signal]]
name = "target"
type = "constant"
value = 1.0
unit = "rad"
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
[[controller]]
name = "control"
type = "{name}"
inputs = ["target", "angle.q"]
kp = 2.0
ki = 1.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "control"
[simulation]
duration = 40.0
step = 0.01
"""


def test_{name}_holds_a_load_at_the_reference(tmp_path):
    (tmp_path / "scene.toml").write_text(SCENE, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "scene.toml"))
    np.testing.assert_allclose(run.q[-1], 1.0, atol=1e-5)
    np.testing.assert_allclose(run.signals["control"][-1], -0.3, atol=1e-5)  # N·m, against the load


def test_the_keys_of_{name}():
    assert {cls}(kp=2.0).ki == 0.0
''',
    SHOW_COMMAND,
    keys='    inputs = ["target", "angle.q"]\n    kp = 2.0\n',
)

SENSOR = Template(
    '''"""The sensor type `{name}`: angle of a frame to the vertical.
USE
import numpy as np
from pysim.sensors import Sensor, sensor, signal


@sensor("{name}")
class {cls}(Sensor):
    """Angle between z of a frame and z of the world."""  # `pysim elements` shows the first line

    outputs = signal("angle", unit="rad")
    bias: float = 0.0  # [rad], a key of the scene's table; its comment is shown

    def measure(self, pose):
        """Return the reading; name the arguments that you use: pose, twist, acceleration, q, v, inputs, noise."""
        across = np.hypot(pose.rotation[0][2], pose.rotation[1][2])
        return np.arctan2(across, pose.rotation[2][2]) + self.bias
''',
    '''"""The sensor type `{name}`. Oracle: the angle of a hinge about x."""

import numpy as np
import pysim
from {name} import {cls}  # registers the type

SCENE = """
gravity = [0, 0, 0]
[[body]]
name = "hull"
mass = 1.0
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "hinge"
type = "revolute"
axis = [1, 0, 0]
child = "hull"
start = {{ q = 0.2, v = 1.0 }}
[[sensor]]
name = "lean"
type = "{name}"
frame = "hull"
bias = 0.01
[simulation]
duration = 1.0
"""


def test_{name}_measures_the_angle_of_a_hinge(tmp_path):
    (tmp_path / "scene.toml").write_text(SCENE, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "scene.toml"))
    np.testing.assert_allclose(run.signals["lean"], 0.2 + run.t + 0.01, rtol=1e-12)


def test_the_keys_of_{name}():
    assert {cls}().bias == 0.0
''',
    SHOW_COMMAND,
    keys='    frame = "hull"\n',
)

TEMPLATES = {"joint": JOINT, "force": FORCE, "controller": CONTROLLER, "sensor": SENSOR}
REGISTRIES: dict[str, PluginKind[Any]] = {
    "force": FORCES,
    "controller": CONTROLLERS,
    "sensor": SENSORS,
}


def write_plugin(kind: str, name: str) -> None:
    """Write NAME.py and test_NAME.py here.

    Raises:
        PysimError: the kind is unknown, the name cannot be a module's or is taken, or a file of that name exists.
    """
    if kind not in TEMPLATES:
        problem = f"unknown kind {kind!r}{did_you_mean(kind, TEMPLATES)}"
        raise PysimError("new", f"{problem}; choose one of {', '.join(TEMPLATES)}")
    own = TEMPLATES[kind]
    check_type_name("new", kind, name, own.example, lambda: _is_taken(kind, name))
    use = USE.replace("KIND", kind).replace("KEYS", own.keys)
    write_files(name, own._replace(plugin=own.plugin.replace("USE\n", use)))


def _is_taken(kind: str, name: str) -> bool:
    """Return whether a type of this kind has the name."""
    if kind == "joint":
        return name in joint_types()
    if name in REGISTRIES[kind].builtin:
        return True
    try:
        if kind == "force":
            find_force(name)
        else:
            find_block(kind, name)
    except PysimError:
        return False
    return True
