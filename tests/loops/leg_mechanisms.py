"""Two legs whose loops are closed by ball joints, as Cassie's: a rod in space and a planar crank with a foot.

The crank, its rod and the foot turn about parallel axes, so one of the three rows of their ball joint is redundant.
`tilt` turns the crank's axis aside, as dimensions written with few digits do.
"""

from __future__ import annotations

import math

_HEAD = """name = "legs"

[[body]]
name = "pelvis"
mass = 10
inertia = { xx = 0.08, yy = 0.07, zz = 0.06 }

[[joint]]
name = "float"
type = "free"
parent = "world"
child = "pelvis"
"""


def _body(name, mass, length, at=(0, 0, 0)):
    com = [x / 2 for x in at]
    return f"""
[[body]]
name = "{name}"
mass = {mass}
com = {com}
inertia = {{ xx = {mass * length**2 / 12}, yy = {mass * length**2 / 12}, zz = {mass * length**2 / 40} }}
"""


def _joint(name, parent, child, xyz, axis=(0, 1, 0), kind="revolute", start=""):
    axis_text = f"axis = {list(axis)}\n" if kind == "revolute" else ""
    return f"""
[[joint]]
name = "{name}"
type = "{kind}"
parent = "{parent}"
child = "{child}"
at = {{ xyz = {list(xyz)} }}
{axis_text}{start}"""


def _loop(name, a, b, at_a, at_b):
    return f"""
[[loop]]
name = "{name}"
type = "ball"
a = "{a}"
b = "{b}"
at_a = {{ xyz = {list(at_a)} }}
at_b = {{ xyz = {list(at_b)} }}
"""


def _leg(side, y, tilt):
    rod = math.dist((0.05, 0, -0.05), (-0.1, 0.02, -0.75))  # closed at q = 0
    direction = [(b - a) / rod for a, b in zip((0.05, 0, -0.05), (-0.1, 0.02, -0.75), strict=True)]
    n = {
        part: f"{side}_{part}"
        for part in ("thigh", "shin", "tarsus", "rod", "foot", "crank", "plantar")
    }
    return "".join(
        (
            _body(n["thigh"], 3.0, 0.4, (0, 0, -0.4)),
            _body(n["shin"], 0.8, 0.35, (0, 0, -0.35)),
            _body(n["tarsus"], 0.7, 0.4, (0.1, 0, -0.4)),
            _body(n["rod"], 0.15, rod, [rod * x for x in direction]),
            _body(n["foot"], 0.15, 0.16, (0.06, 0, 0)),
            _body(n["crank"], 0.12, 0.05, (0.055, 0, 0)),
            _body(n["plantar"], 0.12, 0.35, (0.1, 0, -0.35)),
            _joint(f"{side}_hip", "pelvis", n["thigh"], (0, y, 0)),
            _joint(f"{side}_knee", n["thigh"], n["shin"], (0, 0, -0.4)),
            _joint(f"{side}_ankle", n["shin"], n["tarsus"], (0, 0, -0.35)),
            _joint(f"{side}_achilles", n["thigh"], n["rod"], (0.05, 0, -0.05), kind="ball"),
            _joint(f"{side}_toe", n["tarsus"], n["foot"], (0.1, 0, -0.4)),
            _joint(f"{side}_crank", n["tarsus"], n["crank"], (0.02, 0, -0.05), (tilt, 1, 0)),
            _joint(f"{side}_plantar", n["crank"], n["plantar"], (0.055, 0, 0)),
            _loop(
                f"{side}_heel", n["rod"], n["tarsus"], [rod * x for x in direction], (-0.1, 0.02, 0)
            ),
            _loop(f"{side}_sole", n["plantar"], n["foot"], (0.08, 0, -0.35), (0.055, 0, 0)),
        )
    )


def two_legs(tilt=0.0, step=1e-3, duration=1.0, integrator="rk4"):
    """The scene's text: 24 coordinates and 12 rows; 10 rows are independent."""
    legs = _leg("left", 0.1, tilt) + _leg("right", -0.1, tilt)
    return f"""{_HEAD}{legs}
[simulation]
duration = {duration}
step = {step}
integrator = "{integrator}"
"""
