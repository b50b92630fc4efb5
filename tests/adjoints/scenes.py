"""Scenes of adjoints as text: trees of joints of all kinds, loops, couplings, prescribed motions and mimic joints."""

from __future__ import annotations

from math import sin
from typing import Any

from tests.built_engine import ROOT
from tests.elements.blocks import table

GRAVITY = "gravity = [0.3, 0.2, -9.81]\n"
JOINTS = ("free", "revolute", "prismatic", "ball", "universal", "cylindrical", "planar", "helical")
TURNED = {"revolute": [0.3, 1, 0.2], "prismatic": [1, 0.5, 0], "helical": [0, 0.3, 1]}
LOOPS: dict[str, dict[str, Any]] = {
    "point_on_plane": {"axis": [0.2, 0.3, 1]},
    "point_on_line": {"axis": [0, 1, 0.2]},
    "distance": {"length": 0.3},
    "wheel_on_plane": {"radius": 0.25},
    "revolute": {"axis": [1, 0.2, 0.3]},
    "universal": {},
    "cylindrical": {"axis": [0.1, 0.2, 1]},
    "ball": {},
    "helical": {"axis": [0, 0.5, 1], "pitch": 0.1},
    "planar": {},
    "prismatic": {"axis": [1, 1, 0]},
    "weld": {},
}


def body(name: str, mass: float, com: tuple[float, ...] = (0.02, 0.01, -0.1)) -> str:
    """Return a body whose inertia has no axis of symmetry."""
    inertia = {"xx": 0.02, "yy": 0.03, "zz": 0.025, "xy": 0.002, "yz": -0.001, "xz": 0.003}
    return table("body", name=name, mass=mass, com=list(com), inertia=inertia)


def simulation(integrator: str) -> str:
    """Return the table of a run."""
    return f'[simulation]\nintegrator = "{integrator}"\nstep = 1e-3\nduration = 1.0\n'


def branched_tree() -> str:
    """Return a tree of joints of all kinds, whose axes move with q in some."""
    text = GRAVITY
    for k, kind in enumerate(JOINTS):
        text += body(f"b{k}", 1.0 + 0.3 * k)
        keys: dict[str, Any] = {"axis": TURNED[kind]} if kind in TURNED else {}
        keys |= {"pitch": 0.1} if kind == "helical" else {}
        if k:
            at = {"xyz": [0.1, 0.05 * k, -0.2], "rpy": [0.2, -0.3, 0.4]}
            keys |= {"parent": f"b{(k - 1) // 2}", "at": at}
        text += table("joint", name=f"j{k}", type=kind, child=f"b{k}", **keys)
    return text + simulation("convex")


def loops() -> str:
    """Return bodies that move freely, each with an arm, in a chain of loops of all kinds."""
    text = GRAVITY
    for k, (kind, keys) in enumerate(LOOPS.items()):
        hinge = [0.1, 0.02 * k, -0.1]
        text += body(f"b{k}", 1 + 0.1 * k) + body(f"c{k}", 0.5 + 0.1 * k, (0.02, -0.03, 0.1))
        text += table("joint", name=f"j{k}", type="free", child=f"b{k}")
        at = {"at": {"xyz": hinge}, "axis": [0.2, 1, 0.1 * k], "armature": 0.02}
        text += table("joint", name=f"h{k}", type="revolute", parent=f"b{k}", child=f"c{k}", **at)
        turned = {"rpy": [0.3, 0.2, -0.4]}
        before = [0.1, 0.02 * (k - 1), -0.1] if k else [0, 0, 0]
        above = 0.3 if kind == "distance" else 0
        ends = {
            "a": f"c{k - 1}" if k else "world",
            "at_a": {"xyz": [0.2 - before[0], 0.1 - before[1], above - 0.3 - before[2]]} | turned,
            "at_b": {"xyz": [0.2, 0.1, -0.3]} | turned,
        }
        if kind == "wheel_on_plane":
            at_b = {"xyz": [0, 0, 0.25 * sin(1.3)], "rpy": [1.3, 0, 0.4]}
            ends = {"a": "world", "at_b": at_b}
        text += table("loop", name=f"l{k}", type=kind, b=f"b{k}", **ends, **keys)
    return text + simulation("rk4")


def coupled() -> str:
    """Return trees with couplings, a prescribed joint and frame, and a mimic joint."""
    text = f'plugins = ["{ROOT}/scenes/joints/cam_law.py"]\n{GRAVITY}'
    kinds: list[tuple[str, int | None, dict[str, Any]]] = [
        ("revolute", None, {}),
        ("revolute", 0, {}),
        ("revolute", 1, {"mimic": {"joint": "j1", "ratio": -0.5, "offset": 0.1}}),
        ("prismatic", 0, {}),
        ("prismatic", 2, {}),
        ("revolute", 3, {"motion": {"signal": "drive"}}),
        ("free", None, {}),
        ("ball", 6, {}),
        ("revolute", None, {}),
    ]
    for k, (kind, parent, special) in enumerate(kinds):
        text += body(f"b{k}", 1 + 0.1 * k)
        keys = dict(special)
        if kind in {"revolute", "prismatic"}:
            keys |= {"axis": [0.2 + 0.1 * k, 1, 0.3 * (-1) ** k], "armature": 0.03}
        if parent is not None:
            at = {"xyz": [0.1, 0.05 * k, -0.2], "rpy": [0.2, -0.3, 0.4]}
            keys |= {"parent": f"b{parent}", "at": at}
        text += table("joint", name=f"j{k}", type=kind, child=f"b{k}", **keys)
    ratios = {"j0": 0.3, "j8": -0.2}
    text += table("coupling", name="rack", joint="j3", ratios=ratios, offset=0.01)
    text += table("coupling", name="cam", joint="j4", function="cam_law", inputs=["j8"])
    text += table("frame", name="handle", body="b6", at={"xyz": [0.1, 0, 0.2]})
    text += table("motion", frame="handle", signal="shaking")
    text += _sine("shaking", "m", [0.01, 0.02, 0.03]) + _sine("drive", "rad", 0.3)
    return text + "[assembly]\nhold = ['j8']\n" + simulation("rk4")


def _sine(name: str, unit: str, amplitude: Any) -> str:
    return table("signal", name=name, type="sine", unit=unit, amplitude=amplitude, frequency=3.0)


def four_bar() -> str:
    """Return the four-bar linkage of the scenes, whose bodies move in one plane."""
    return (ROOT / "scenes/four_bar.toml").read_text("utf-8")


def shapes_on_a_plane() -> str:
    """Return spheres, boxes, capsules and cylinders that slide and roll on a plane and touch each other."""
    text = GRAVITY + table("ground", plane={"normal": [0, 0, 1]})
    text += "[materials.default]\nstiffness = 1e5\nfriction = 0.4\nrolling = 0.01\n"
    shapes: list[tuple[dict[str, Any], float, list[float]]] = [
        ({"sphere": {"radius": 0.1}}, 0.1, [0, 0]),
        ({"box": [0.2, 0.3, 0.1]}, 0.05, [1, 0]),
        ({"capsule": {"radius": 0.05, "length": 0.2}}, 0.05, [2, 0]),
        ({"cylinder": {"radius": 0.1, "length": 0.2}}, 0.1, [3, 0]),
    ]
    for k, (shape, height, xy) in enumerate(shapes):
        text += table("body", name=f"b{k}", shape=shape | {"density": 1000}, collision=True)
        start = {"xyz": [*xy, height], "v": [0.3, 0.1, -0.05, 0.2, 0.5, 0.3]}
        text += table("joint", name=f"j{k}", type="free", child=f"b{k}", start=start)
    return text + simulation("convex")


def pairs() -> str:
    """Return bodies that lie on each other, in pairs of shapes with points of all kinds."""
    text = GRAVITY + table("ground", plane={"normal": [0, 0, 1]})
    text += (
        "[materials.default]\nstiffness = 1e5\nfriction = 0.4\nrolling = 0.01\nspinning = 0.02\n"
    )
    upper: list[tuple[dict[str, Any], float]] = [
        ({"sphere": {"radius": 0.1}}, 0.1),
        ({"capsule": {"radius": 0.05, "length": 0.2}}, 0.15),
        ({"box": [0.1, 0.15, 0.2]}, 0.1),
        ({"cylinder": {"radius": 0.1, "length": 0.2}}, 0.1),
    ]
    for k, (shape, height) in enumerate(upper):
        below: dict[str, Any] = {"box": [0.4, 0.5, 0.2]} if k < 3 else {"sphere": {"radius": 0.2}}
        text += table("body", name=f"a{k}", shape=below | {"density": 1000}, collision=True)
        text += table("body", name=f"b{k}", shape=shape | {"density": 1000}, collision=True)
        z = 0.1 if k < 3 else 0.2
        for name, at, v in (
            ("a", [k, 0, z], [0.1, 0.05, 0, 0, 0, 0.1]),
            ("b", [k + 0.02, 0.03, 2 * z + height - 1e-4], [0.3, 0.1, -0.05, 0.2, 0.5, 0.3]),
        ):
            start = {"xyz": at, "v": v}
            text += table("joint", name=f"{name}j{k}", type="free", child=f"{name}{k}", start=start)
    return text + simulation("convex")


def walker(
    *,
    integrator: str = "convex",
    height: float = 0.479,
    mimics: bool = False,
    closes: bool = False,
) -> str:
    """Return a trunk on two legs with servos, springs, dry friction and stops, and sensors of what a step ends with.

    One knee mimics the other one, or a loop couples the shanks.
    """
    text = GRAVITY + table("ground", plane={"normal": [0, 0, 1]})
    text += "[materials.default]\nstiffness = 1e4\nfriction = 0.5\n"
    text += body("trunk", 4.0) + table(
        "joint",
        name="base",
        type="free",
        child="trunk",
        start={"xyz": [0, 0, height], "v": [0.3, 0.1, -0.2, 0.5, 2.0, 0.8]},
    )
    limits = {"lower": -0.29, "upper": 0.8, "stiffness": 500.0, "damping": 5.0}
    for side, y in (("left", 0.1), ("right", -0.1)):
        text += body(f"{side}_thigh", 0.7, (0, 0.01, -0.1))
        foot = {"sphere": {"radius": 0.05}, "at": {"xyz": [0, 0, -0.2]}}
        text += table(
            "body",
            name=f"{side}_shank",
            mass=0.4,
            com=[0.01, 0, -0.1],
            inertia={"xx": 0.004, "yy": 0.004, "zz": 0.001},
            collision=[foot],
        )
        text += table(
            "joint",
            name=f"{side}_hip",
            type="revolute",
            parent="trunk",
            child=f"{side}_thigh",
            at={"xyz": [0, y, -0.05]},
            axis=[0.1, 1, 0],
            armature=0.01,
            damping=0.1,
            friction=0.05,
            effort_limit=2.0,
            start={"q": -0.3, "v": -1.0},
            limits=limits,
        )
        follows = mimics and side == "right"
        knee = (
            {"mimic": {"joint": "left_knee"}}
            if follows
            else {"stiffness": 20.0, "damping": 0.2, "start": {"q": 0.6, "v": 1.0}}
        )
        text += table(
            "joint",
            name=f"{side}_knee",
            type="revolute",
            parent=f"{side}_thigh",
            child=f"{side}_shank",
            at={"xyz": [0, 0, -0.2]},
            axis=[0, 1, 0.1],
            armature=0.01,
            **knee,
        )
    text += table("signal", name="target", type="sine", unit="rad", amplitude=0.4, frequency=3.0)
    for side in ("left", "right"):
        text += table(
            "actuator",
            name=f"{side}_servo",
            type="position_servo",
            joint=f"{side}_hip",
            command="target",
            kp=60.0,
            kd=1.0,
        )
    text += table("sensor", name="imu", type="imu", frame="trunk")
    text += table("sensor", name="load", type="force_torque", joint="left_knee")
    text += table("sensor", name="foot", type="contact", frame="left_shank", axes="base")
    if closes:
        text += table(
            "loop", name="rod", type="distance", a="left_shank", b="right_shank", length=0.2
        )
    return text + simulation(integrator)


def walker_that_mimics() -> str:
    """Return the walker with a mimic joint."""
    return walker(mimics=True)


def walker_with_loop() -> str:
    """Return the walker with a loop."""
    return walker(closes=True)


def walker_by_rk4() -> str:
    """Return the walker on smooth contacts."""
    return walker(integrator="rk4")


def walker_by_alpha() -> str:
    """Return the walker in the air, by generalised α."""
    return walker(integrator="generalized_alpha", height=0.6)


def walker_by_midpoint() -> str:
    """Return the walker in the air, by the implicit midpoint rule."""
    return walker(integrator="implicit_midpoint", height=0.6)


def walker_with_loop_by_midpoint() -> str:
    """Return the walker with a loop in the air, by the implicit midpoint rule."""
    return walker(integrator="implicit_midpoint", height=0.6, closes=True)
