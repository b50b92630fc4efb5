"""Joint plugins beside built-in joints, the same joint as a callback, and Exudyn's user functions, in one run."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline

import pysim
from pysim import _engine
from pysim.joints import CallbackJoint, Joint, Pose, find_joint, joint, real
from pysim.spatial import exp
from pysim.typing import Array
from tests.benchmarks import exudyn_peer
from tests.benchmarks.timing import take_turns
from tests.engine_steps import make_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    Say = Callable[[str], None]

BATCH = 4096
STEPS, STEP = 20_000, 1e-4  # of the sprung block, [s]
SCENES = Path(__file__).parents[2] / "scenes"

LINK = """
[[body]]
name = "link{k}"
shape = {{ box = [0.1, 0.1, 0.4], at = {{ xyz = [0.05, 0.02, 0.2] }}, density = 1000 }}
[[joint]]
name = "joint{k}"
type = "{kind}"
parent = "{parent}"
child = "link{k}"
at = {{ xyz = [0, 0.05, 0.4], rpy = [0.3, {k}, 0.5] }}
{axis}
"""
BLOCK = """
name = "block"
[[body]]
name = "block"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
[[joint]]
name = "slide"
type = "benchmark_block"
child = "block"
"""
CAM = """
name = "cam"
[[body]]
name = "disc"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body]]
name = "weight"
mass = 10.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "axle"
type = "revolute"
child = "disc"
axis = [0, 1, 0]
[[joint]]
name = "lift"
type = "cam_follower"
child = "weight"
eccentricity = 0.05
reach = 0.16
mimic = { joint = "axle" }
"""


@joint("callback_knee")
class CallbackKnee(CallbackJoint):
    """The knee of scenes/joints/knee.py in vectorised NumPy, for flexions that its data cover."""

    coordinates = real("flexion")

    def poses(self, q: Array) -> Array:
        data, n = vars(_knee_module()), len(q)
        flexion = q[:, 0]
        curve = {
            name: CubicSpline(data["FLEXION"], data[name], bc_type="natural")(flexion)
            for name in ("MOVE_Y", "MOVE_Z", "TURN_Z", "TURN_Y")
        }
        X = np.tile(np.eye(4), (n, 1, 1))
        X[:, 1, 3], X[:, 2, 3] = curve["MOVE_Y"], curve["MOVE_Z"]
        for axis, angle in ((0, flexion), (2, curve["TURN_Z"]), (1, curve["TURN_Y"])):
            twist = np.zeros((n, 6))
            twist[:, 3 + axis] = angle
            X = X @ exp(twist)
        return X


@joint("benchmark_block")
class SprungBlock(Joint):
    """A slide along x with a spring that is part of the joint."""

    coordinates = real("x", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, 0, 0)

    def force(self, q, v):
        return -40 * np.tanh(q.x) - 0.1 * v.x


def main(print_line: Say) -> None:
    """Print the rows."""
    pysim.load_scene(SCENES / "knee.toml", allow_code=True)  # these register their joints
    pysim.load_scene(SCENES / "by_hand.toml", allow_code=True)
    pysim.load_scene(SCENES / "cam.toml", allow_code=True)
    arms(print_line)
    sprung_block(print_line)
    cam(print_line)
    print_line(exudyn_peer.NOTE)


def arms(print_line: Say) -> None:
    """Seven joints, one or all of them plugins, beside seven built-in hinges."""
    hinges = ["revolute"] * 7
    one_in_seven = {kind: [*hinges[:3], kind, *hinges[4:]] for kind in ("knee", "callback_knee")}
    models = {
        "built-in": arm(hinges),
        "7 traced hinges": arm(["my_hinge"] * 7),
        "1 knee in 7": arm(one_in_seven["knee"]),
        "1 callback in 7": arm(one_in_seven["callback_knee"]),
    }
    rng = np.random.default_rng(1)
    q, v, x = rng.uniform(0.1, 2.0, (3, BATCH, 7))
    check_same(models, q)
    print_line(f"\narm of seven, batch of {BATCH}, ns a state; in brackets of the built-in hinges")
    for what, run in (("ABA", pysim.aba), ("RNEA", pysim.rnea)):
        times = take_turns({name: partial(run, m, q, v, x) for name, m in models.items()})
        built_in = times["built-in"]
        for name, t in times.items():
            print_line(f"{what:6} {name:18} {1e9 * t / BATCH:9.1f}  ({t / built_in:.2f} ×)")
    print_line(operations())


def arm(kinds: list[str]) -> pysim.Model:
    """A chain of boxes; the plugins rotate about x, as the built-in hinges do here."""
    text = 'name = "arm"\n'
    for k, kind in enumerate(kinds):
        axis = "axis = [1, 0, 0]" if kind == "revolute" else ""
        parent = f"link{k - 1}" if k else "world"
        text += LINK.format(k=k, kind=kind, parent=parent, axis=axis)
    return load(text)


def check_same(models: dict[str, pysim.Model], q: Array) -> None:
    """Assert that both programs compute the same; otherwise a comparison of speed is meaningless."""
    for one, other in (("built-in", "7 traced hinges"), ("1 knee in 7", "1 callback in 7")):
        expected = pysim.forward_kinematics(models[one], q)
        np.testing.assert_allclose(pysim.forward_kinematics(models[other], q), expected, atol=1e-9)


def operations() -> str:
    """Cost of the knee: the operations of its program."""
    from pysim._engine import Op
    from pysim.mechanism.joint_description import describe_motion

    joint_spec = next(j for j in arm(["knee"]).joints if j.type == "knee")
    program = describe_motion(joint_spec).description.program
    assert program is not None
    code = program.code
    count = {op.name: sum(line[0] is op for line in code) for op in Op}
    each = ", ".join(f"{n} {name}" for name, n in sorted(count.items(), key=lambda i: -i[1]) if n)
    return f"the knee's program for pose, S and c: {len(code)} operations: {each}"


def sprung_block(print_line: Say) -> None:
    """A block on a spring written by the user, one simulation with RK4."""
    model = load(BLOCK)
    forces, rest = _engine.Actuation(*np.zeros((4, 1))), np.zeros(1)

    def mine() -> Array:
        return make_steps(model, rest + 0.5, rest, 0.0, STEP, STEPS, "rk4", forces)[0]

    candidates: dict[str, Callable[[], object]] = {"pysim, force(q, v) traced": mine}
    for name, run in exudyn_peer.sprung_blocks(STEPS, STEP).items():
        if "Hooke" not in name:
            np.testing.assert_allclose(run(), mine(), rtol=1e-9)
        candidates[name] = run
    print_line("\na block on a spring that a user wrote, RK4, µs a step of four evaluations")
    for name, t in take_turns(candidates, rounds=9).items():
        print_line(f"{name:40} {1e6 * t / STEPS:7.2f}")


def cam(print_line: Say) -> None:
    """A roller on an eccentric disc: a joint in pysim, a constraint in Exudyn."""
    model, steps, step = load(CAM), 1000, 1e-3
    forces, (q, v) = _engine.Actuation(*np.zeros((4, 1))), (np.zeros(1), np.full(1, 10.0))

    def mine() -> Array:
        return make_steps(model, q, v, 0.0, step, steps, "rk4", forces)[0]

    candidates: dict[str, Callable[[], object]] = {"pysim, joint traced, RK4": mine}
    for name, run in exudyn_peer.cam(steps, step, eccentricity=0.05, reach=0.16).items():
        np.testing.assert_allclose(run(), mine(), rtol=1e-3)  # of second order
        candidates[name] = run
    print_line("\na cam and its follower, µs a step")
    for name, t in take_turns(candidates, rounds=9).items():
        print_line(f"{name:40} {1e6 * t / steps:7.2f}")


def load(text: str) -> pysim.Model:
    """The model of a scene's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.toml"
        path.write_text(text, "utf-8")
        return pysim.load_model(path)


def _knee_module() -> object:
    import sys

    plugin = find_joint("knee").plugin
    assert plugin is not None
    return sys.modules[plugin.__module__]
