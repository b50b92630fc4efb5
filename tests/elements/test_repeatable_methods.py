"""Traced methods whose result changes from call to call. Oracle: the line of the author's code that changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.joints import Joint, Pose, joint, real
from tests.elements.blocks import constant, disc, motor, simulation, table

HEAD = """
import time
import numpy as np
from pysim.actuators import Actuator, actuator
from pysim.controllers import Controller, controller, real, signal
from pysim.events import Event, event
from pysim.forces import Force, force
from pysim.joints import Joint, Pose, joint, relation
from pysim.sensors import Sensor, sensor
from pysim.controllers import Source, source
"""
CONTROLLER = '''
@controller("own")
class Own(Controller):
    """A controller of one's own."""

    inputs = signal("q", unit="rad")
    outputs = signal("torque", unit="N·m")

    def output(self, inputs):
{}
'''
CHANGING = {
    "a counter": (
        "        self.count = getattr(self, 'count', 0) + 1\n        return self.count * inputs.q",
        "self.count * inputs.q",
    ),
    "a random number": (
        "        return np.random.rand() * inputs.q",
        "np.random.rand() * inputs.q",
    ),
    "a random number that is added": (
        "        x = 3.0 * inputs.q\n        return x + np.random.normal()",
        "x + np.random",
    ),
    "the time of the day": ("        return time.perf_counter() * inputs.q", "time.perf_counter()"),
    "the value of the call before": (
        "        old = getattr(self, 'q', 0.0)\n        self.q = inputs.q\n        return 2.0 * (inputs.q - old)",
        "inputs.q - old",
    ),
    "a switch": (
        "        self.on = not getattr(self, 'on', False)\n        return inputs.q if self.on else -inputs.q",
        "else -inputs.q",
    ),
    "a plain random number": ("        return np.random.rand()", None),
    "a growing list": (
        "        self.past = [*getattr(self, 'past', []), inputs.q]\n        return sum(self.past)",
        None,
    ),
}


def load(folder: Path, plugin: str, text: str) -> pysim.Scene:
    kind = f'"{folder.name}"'  # a type of its own in every test
    (folder / "own.py").write_text(HEAD + plugin.replace('"own"', kind), "utf-8")
    text = text.replace('"own"', kind) + simulation(duration=0.1)
    file = folder / "scene.toml"
    file.write_text('plugins = ["own.py"]\n' + text, "utf-8")
    return pysim.load_scene(file, allow_code=True)


@pytest.mark.parametrize("what", CHANGING)
def test_a_controller_that_changes_from_call_to_call_is_rejected_with_its_line(
    tmp_path: Path, what: str
) -> None:
    body, line = CHANGING[what]
    text = disc() + table("controller", name="c", type="own", inputs=["angle.q"]) + motor("c")
    with pytest.raises(pysim.JointError, match="gives another result in every call") as caught:
        load(tmp_path, CONTROLLER.format(body), text)
    assert "states or memory" in str(caught.value)
    assert "own.py:" in str(caught.value)
    if line is not None:
        assert line in str(caught.value)


OTHERS = {
    "sensor": (
        """
@sensor("own")
class Own(Sensor):
    outputs = signal("x", unit="rad")

    def measure(self, q):
        return q + np.random.normal()
""",
        table("sensor", name="s", type="own", coordinates=["hinge"]),
    ),
    "actuator": (
        """
@actuator("own")
class Own(Actuator):
    def force(self, command, q):
        return command * np.random.rand() - q
""",
        constant("x", 1.0) + table("actuator", name="a", type="own", joint="hinge", command="x"),
    ),
    "state rate": (
        """
@controller("own")
class Own(Controller):
    inputs = signal("q", unit="rad")
    outputs = signal("x", unit="1")
    states = real("x")

    def output(self, x):
        return x

    def state_rate(self, inputs, x):
        return inputs.q * np.random.rand() - x
""",
        table("controller", name="c", type="own", inputs=["angle.q"]),
    ),
    "update": (
        """
@controller("own")
class Own(Controller):
    inputs = signal("q", unit="rad")
    outputs = signal("x", unit="1")
    memory = real("m")

    def output(self, m):
        return m

    def update(self, inputs, m):
        return m + inputs.q * np.random.rand()
""",
        table("controller", name="c", type="own", inputs=["angle.q"], period=0.01),
    ),
    "force": (
        """
@force("own")
class Own(Force):
    def force(self, q, v):
        return [-q[0] * np.random.rand()]
""",
        table("force", name="f", type="own", coordinates=["hinge"]),
    ),
    "event": (
        """
@event("own")
class Own(Event):
    def value(self, q, v):
        return q.hinge - np.random.rand()
""",
        table("event", name="e", type="own"),
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_methods_that_change_are_rejected_with_their_line(tmp_path: Path, what: str) -> None:
    plugin, tables = OTHERS[what]
    with pytest.raises(
        pysim.JointError, match=r"own\.py:\d+.*gives another result in every call.*np\.random"
    ):
        load(tmp_path, plugin, disc() + tables)


def test_a_joint_whose_placement_changes_is_found_by_its_check(tmp_path: Path) -> None:
    @joint(f"j{tmp_path.name}")
    class Own(Joint):
        """A hinge whose angle is disturbed."""

        coordinates = real("x")

        def placement(self, q):
            return Pose.rotate_z(q.x * (1 + np.random.default_rng().random()))

    with pytest.raises(pysim.JointError, match="placement called with plain numbers"):
        pysim.joints.check(Own())


def test_noise_and_what_is_kept_for_speed_are_accepted(tmp_path: Path) -> None:
    plugin = '''
@sensor("own")
class Own(Sensor):
    """Noise, a matrix that is kept, and an argument that is changed."""

    outputs = signal("x", unit="1", size=2)

    def measure(self, q, v, noise):
        if not hasattr(self, "K"):
            self.K = np.array([[1.0, 2.0], [3.0, 4.0]])
        q[0] += 1.0
        return self.K @ q + np.array([noise.normal(), noise.uniform()])
'''
    second = (
        disc()
        .replace('"disc"', '"disc2"')
        .replace('"hinge"', '"hinge2"')
        .replace('"angle"', '"angle2"')
    )
    second = second.replace("gravity = [0, 0, 0]\n", "")
    text = (
        disc()
        + second
        + table("sensor", name="s", type="own", coordinates=["hinge", "hinge2"], period=0.01)
    )
    runs = [pysim.simulate(load(tmp_path, plugin, text)).signals["s"] for _ in range(2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.ptp(runs[0], axis=0).min() > 0
