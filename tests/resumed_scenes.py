"""Scenes whose steps Python makes, for runs that are stopped and resumed."""

from __future__ import annotations

PLUGINS = '''
import numpy as np
from collections import deque
from pysim.integrators import Integrator, integrator
from pysim.joints import CallbackJoint, joint, real


@integrator("resumed_heun")
class Heun(Integrator):
    """Heun's scheme, of order 2."""

    def step(self, system, t, h, q, v):
        a = system.acceleration(t, q, v)
        end = system.integrate(q, h * v + h**2 / 2 * a)
        return end, v + h / 2 * (a + system.acceleration(t + h, end, v + h * a))


@integrator("resumed_adams")
class Adams(Integrator):
    """Adams-Bashforth of order 3, which remembers its last accelerations and lengths of steps."""

    order: int = 3

    def __post_init__(self):
        self.rates = deque(maxlen=self.order)
        self.steps, self.lengths = 0, {}

    def step(self, system, t, h, q, v):
        self.rates.append((system.acceleration(t, q, v), v.copy()))
        self.steps += 1
        self.lengths["last"] = h
        weights = {1: [1.0], 2: [-0.5, 1.5], 3: [5 / 12, -16 / 12, 23 / 12]}[len(self.rates)]
        a, rate = (sum(w * x for w, x in zip(weights, p)) for p in zip(*self.rates))
        return system.integrate(q, h * rate), v + h * a


@integrator("resumed_odd")
class Odd(Heun):
    """Remembers a set, which no file holds."""

    def step(self, system, t, h, q, v):
        self.seen = {t}
        return super().step(system, t, h, q, v)


@integrator("resumed_faulty")
class Faulty(Heun):
    """Fails in its code after a while."""

    def step(self, system, t, h, q, v):
        if t > 0.01:
            raise ZeroDivisionError("nothing left")
        return super().step(system, t, h, q, v)


@joint("resumed_slot")
class Slot(CallbackJoint):
    """A hinge about z that rises and falls."""

    coordinates = real("angle")

    def poses(self, q):
        s, c = np.sin(q[:, 0]), np.cos(q[:, 0])
        X = np.zeros((len(q), 4, 4))
        X[:, 0, 0], X[:, 0, 1], X[:, 1, 0], X[:, 1, 1] = c, -s, s, c
        X[:, 2, 2] = X[:, 3, 3] = 1
        X[:, 2, 3] = 0.1 * np.sin(2 * q[:, 0])
        return X
'''
DISC = """
name = "disc"
plugins = ["own.py"]

[[body]]
name = "disc"
mass = 1.5
com = [0.1, 0, 0]
inertia = { xx = 0.02, yy = 0.02, zz = 0.03 }

[[joint]]
name = "hinge"
type = "TYPE"
child = "disc"
start = 0.3
damping = 0.05

[simulation]
duration = 0.4
step = 2e-3
checkpoint = 1e-6

[output]
every = 0.02
"""
CONTROL = """
[[signal]]
name = "target"
type = "sine"
amplitude = 0.8
frequency = 1.0
unit = "rad"

[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]

[[sensor]]
name = "measured"
type = "noisy"
inputs = ["angle.q"]
deviation = 0.01
period = 0.007

[[controller]]
name = "regulator"
type = "pd"
inputs = ["target", "measured", "angle.v"]
kp = 2.0
kd = 0.1
period = 0.007

[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "regulator"
"""
EVENT = """
[[signal]]
name = "constant"
type = "constant"
value = 0.4
unit = "N·m"

[[actuator]]
name = "push"
type = "force"
joint = "hinge"
command = "constant"

[[event]]
name = "passes"
joint = "hinge"
at = 0.0
release = ["push"]
"""


def disc_text(kind: str, event: str = "") -> str:
    """Return the scene of a disc on a joint of some type, with an event; hinges have sampled control with noise."""
    tables = CONTROL + event if kind == "revolute" else event
    return DISC.replace("TYPE", kind).replace("[simulation]", f"{tables}\n[simulation]")


BALLS = """
name = "balls"

[materials.default]
restitution = { value = LAW, at = 1.0 }
friction = 0.3

[[body]]
name = "low"
shape = { sphere = { radius = 0.1 }, density = 300 }
collision = true

[[body]]
name = "high"
shape = { box = [0.2, 0.1, 0.1], density = 300 }
collision = true

[[joint]]
name = "low falls"
type = "free"
child = "low"
start = { xyz = [0, 0, 0.3], v = [0, 0, 0, 0.2, 0.1, 0] }

[[joint]]
name = "high falls"
type = "free"
child = "high"
start = { xyz = [0.05, 0.02, 0.7], v = [0.3, 0.1, 0, 0, 0, 0] }

[[sensor]]
name = "place"
type = "pose"
frame = "low"

[[sensor]]
name = "measured"
type = "noisy"
inputs = ["place.position"]
deviation = 0.01
period = 0.013

[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }

[simulation]
integrator = "dopri5"
contact_law = "impact"
duration = 1.0
step = 1.0
checkpoint = 1e-6

[output]
every = 0.01
"""
