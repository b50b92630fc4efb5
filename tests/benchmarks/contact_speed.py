"""Speed of steps with contacts beside MuJoCo, and iterations of the convex solver, as Markdown tables.

    python -m tests.benchmarks.contact_speed [avx2 | avx512 [part of the scenes' names]]

Both programs make steps of 1 ms on one thread, with their defaults. MuJoCo's models are written from the scenes:
the same bodies, joints, springs, shapes and friction. Worlds start with velocities
of their own and settle in the program that is measured.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import mujoco
import mujoco.rollout
import numpy as np

import pysim
from pysim import _engine
from tests.benchmarks.report import print_line
from tests.benchmarks.timing import take_turns
from tests.contact.convex_worlds import ITERATIONS, ConvexWorlds
from tests.contact.scenes import GROUND, anymal, finger, free, robots, world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.contact.compiler import CompiledContacts

    Array = np.ndarray[Any, Any]

STEP = 1e-3  # [s]
WORLDS, STEPS = 256, 100
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS
SERVOS = {"kp": 200.0, "kd": 5.0, "mu": 0.8}
HUMANOID = Path(gymnasium.__file__).parent / "envs/mujoco/assets/humanoid.xml"


def numbers(values: Any) -> str:
    """Numbers of an attribute."""
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def quaternion(R: Array) -> Array:
    """Return (w, x, y, z) of a rotation matrix."""
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(R).ravel())
    return found


def contacts_of(scene: pysim.Scene) -> CompiledContacts:
    """Contacts of a scene that has some."""
    assert scene.contacts is not None
    return scene.contacts


class Geoms:
    """Shapes that collide as elements, by body, −1 for the world."""

    def __init__(self, scene: pysim.Scene, friction: float) -> None:
        contacts = contacts_of(scene)
        self._names: dict[tuple[int, str], str] = {}
        self._friction = friction
        for pair in contacts.shapes:
            for placed in (pair.moving, pair.opposite):
                if placed is None:
                    continue
                shape, size = placed.collision.shape, np.array(placed.collision.shape.size)
                if shape.kind == "box":
                    size = size / 2
                elif shape.kind in ("capsule", "cylinder"):
                    size = np.array([size[0], size[1] / 2])
                turn = numbers(quaternion(placed.pose[:3, :3]))
                text = f'type="{shape.kind}" size="{numbers(size)}" pos="{numbers(placed.pose[:3, 3])}" quat="{turn}"'
                self._name(placed.body, text)
            if pair.ground is not None:
                normal = np.array(pair.ground.normal)
                at = numbers(pair.ground.offset * normal)
                text = f'type="plane" size="9 9 1" pos="{at}" zaxis="{numbers(normal)}"'
                self._name(-1, text)

    def _name(self, body: int, text: str) -> None:
        self._names.setdefault((body, text), f"g{len(self._names)}")

    def of_body(self, k: int) -> str:
        """Elements of a body."""
        return "".join(
            f'<geom name="{name}" {text} friction="{self._friction} 0 0"/>'
            for (body, text), name in self._names.items()
            if body == k
        )


def mjcf(scene: pysim.Scene, friction: float) -> str:
    """Return the scene as a model of MuJoCo: free joints, hinges and sliders with springs."""
    model, shapes = scene.model, Geoms(scene, friction)
    X = pysim.forward_kinematics(model, model.neutral())
    joints = {joint.name: joint for joint in model.spec.joints}

    def body(k: int) -> str:
        parent = model.parents[k]
        pose = X[k] if parent < 0 else np.linalg.inv(X[parent]) @ X[k]
        theta, joint = model.parameters[k], joints[model.joint_names[k]]
        m, c = theta[0], theta[1:4] / theta[0]
        I = np.array([[theta[4], theta[5], theta[7]], [theta[5], theta[6], theta[8]],
                      [theta[7], theta[8], theta[9]]]) - m * (c @ c * np.eye(3) - np.outer(c, c))  # fmt: skip
        inertia = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        moves = "<freejoint/>"
        if joint.type != "free":
            column = pysim.jacobian(model, model.neutral(), model.body_names[k])[
                :, model.v_offsets[k]
            ]
            slides = bool(np.abs(column[3:]).max() < 1e-9)
            axis = numbers(column[:3] if slides else column[3:])
            rest = joint.rest[0] if joint.rest.size else 0.0
            spring = joint.stiffness[0] if joint.stiffness.size else 0.0
            damping = joint.damping[0] if joint.damping.size else 0.0
            moves = (
                f'<joint type="{"slide" if slides else "hinge"}" axis="{axis}" stiffness="{spring}" '
                f'springref="{rest}" damping="{damping}"/>'
            )
        inside = "".join(body(j) for j in range(model.nbodies) if model.parents[j] == k)
        return (
            f'<body pos="{numbers(pose[:3, 3])}" quat="{numbers(quaternion(pose[:3, :3]))}">{moves}'
            f'<inertial pos="{numbers(c)}" mass="{m:.17g}" fullinertia="{inertia}"/>'
            f"{shapes.of_body(k)}{inside}</body>"
        )

    roots = "".join(body(k) for k in range(model.nbodies) if model.parents[k] < 0)
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="true"/><size memory="64M"/>'
        f'<option timestep="{STEP}" gravity="{numbers(model.gravity)}"/>'
        f"<worldbody>{shapes.of_body(-1)}{roots}</worldbody></mujoco>"
    )


def mujoco_q(scene: pysim.Scene, q: Array) -> Array:
    """Coordinates in MuJoCo's order; quaternions begin with w."""
    found = q.copy()
    for k, name in enumerate(scene.model.joint_names):
        joint = next(j for j in scene.model.spec.joints if j.name == name)
        if joint.type == "free":
            at = scene.model.q_offsets[k] + 3
            found[..., at], found[..., at + 1 : at + 4] = q[..., at + 3], q[..., at : at + 3]
    return found


@dataclass
class Subject:
    """A scene to be measured, in batches or in a single world, after it has settled for some steps."""

    name: str
    scene: pysim.Scene
    friction: float
    settle: int
    worlds: int = WORLDS
    steps: int = STEPS
    actuation: float = 0.0  # [N] on the first two coordinates, towards each other
    kick: float = 0.05  # [m/s or rad/s] of the velocities at the start
    file: Path | None = None  # of MuJoCo's model, of a scene that is read from it

    def starts(self) -> tuple[Array, Array]:
        """Return q and v of the worlds at the start."""
        rng = np.random.default_rng(0)
        state = self.scene.state
        q = np.tile(state.q, (self.worlds, 1))
        v = np.tile(state.v, (self.worlds, 1))
        return q, v + self.kick * rng.normal(size=v.shape) * (self.worlds > 1)

    def mujoco_model(self) -> Any:
        """MuJoCo's model of the scene, with the default scheme and solver."""
        if self.file is None:
            return mujoco.MjModel.from_xml_string(mjcf(self.scene, self.friction))
        mj = mujoco.MjModel.from_xml_path(str(self.file))
        for name in ("integrator", "solver", "iterations", "tolerance"):
            setattr(mj.opt, name, getattr(mujoco.MjOption(), name))
        mj.opt.timestep = STEP
        return mj

    def times(self) -> tuple[float, float, int]:
        """Microseconds a step of a world of pysim and of MuJoCo, and contact points of MuJoCo."""
        q, v = self.starts()
        worlds = ConvexWorlds(self.scene, q, v, STEP)
        mj = self.mujoco_model()
        data = mujoco.MjData(mj)
        data.qpos, data.qfrc_applied[:2] = (
            mujoco_q(self.scene, q[0]),
            (self.actuation, -self.actuation),
        )
        starts = np.zeros((self.worlds, mujoco.mj_stateSize(mj, FULL)))
        for k in range(self.worlds):
            data.qpos, data.qvel = mujoco_q(self.scene, q[k]), v[k]
            mujoco.mj_getState(mj, data, starts[k], FULL)
        force = np.zeros((1, self.steps, mj.nv))
        force[..., 0], force[..., 1] = self.actuation, -self.actuation
        control: dict[str, Any] = {}
        if self.actuation:
            control = {
                "control_spec": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
                "control": np.tile(force[0], (self.worlds, 1, 1)),
            }
        for _ in range(self.settle // self.steps):
            found, _ = mujoco.rollout.rollout(mj, data, starts, nstep=self.steps, **control)
            starts = found[:, -1]
        if self.settle:
            worlds.step(self.settle)
        everyone = np.arange(self.worlds, dtype=np.int32)
        saved = worlds.engine.save(everyone)

        def mine() -> None:
            worlds.engine.load(saved, everyone)
            worlds.step(self.steps)

        def theirs() -> object:
            return mujoco.rollout.rollout(mj, data, starts, nstep=self.steps, **control)

        times = take_turns({"mine": mine, "peer": theirs}, rounds=5)
        made = 1e-6 * self.worlds * self.steps
        return times["mine"] / made, times["peer"] / made, int(data.ncon)

    def iterations(self, steps: int) -> Array:
        """Iterations of every step and world from the start on."""
        own, found = ConvexWorlds(self.scene, *self.starts(), STEP), np.zeros((steps, self.worlds))
        for k in range(steps):
            before = own.memory[:, ITERATIONS].copy()
            own.step(1)
            found[k] = own.memory[:, ITERATIONS] - before
        return found


def gripper() -> str:
    """Two pads that press on a box with 10 N."""
    text = ""
    for name, sign in (("left", -1), ("right", 1)):
        text += finger(
            name, sign, f'[[actuator]]\njoint = "{name} slides"\noffset = {-10.0 * sign}'
        )
    return text + free("box", "{ box = [0.06, 0.06, 0.06] }", 0.5, "{ xyz = [0, 0, 0] }")


def boxes() -> str:
    """27 boxes above the ground, three layers of nine."""
    box = "{ box = [0.1, 0.1, 0.1] }"
    return "".join(
        free(f"box {i}{j}{k}", box, 1.0, f"{{ xyz = [{0.101 * i}, {0.101 * j}, {0.0505 + 0.101 * k}] }}")
        for i in range(3) for j in range(3) for k in range(3)
    ) + GROUND  # fmt: skip


def spheres() -> str:
    """100 spheres that fall into a bin of five planes."""
    text = ""
    for n in range(100):
        i, j, k = n % 5, n // 5 % 5, n // 25
        xyz = 0.11 * i + 0.013 * k - 0.24, 0.11 * j + 0.007 * k - 0.24, 0.06 + 0.11 * k
        text += free(f"ball {n}", "{ sphere = { radius = 0.05 } }", 0.5, f"{{ xyz = {list(xyz)} }}")
    for normal in ([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]):
        text += f"[[ground]]\nplane = {{ normal = {normal}, offset = -0.32 }}\n"
    return text + GROUND


def humanoid(folder: Path) -> pysim.Scene:
    """The humanoid of Gymnasium, on its back above the ground."""
    path = folder / "humanoid.toml"
    path.write_text(
        f"""[[model]]
file = "{HUMANOID}"
collision = "file"
start.root = {{ xyz = [0, 0, 0.3], rpy = [0, -1.57, 0] }}
[simulation]
integrator = "convex"
duration = 1
step = {STEP}
""",
        "utf-8",
    )
    return pysim.load_scene(path, package_dirs=[HUMANOID.parent])


def stack(folder: Path) -> pysim.Scene:
    """Ten boxes above each other."""
    box = "{ box = [0.2, 0.2, 0.2] }"
    text = "".join(
        free(f"box {k}", box, 1, f"{{ xyz = [0, 0, {0.1 + 0.2005 * k}] }}") for k in range(10)
    )
    return world(folder, text + GROUND, surface="friction = 0.6")


def subjects(folder: Path) -> Iterator[Subject]:
    """The scenes of the table."""
    standing = anymal(folder, SERVOS, 0.54)
    yield Subject("ANYmal on four feet, 256 worlds", standing, 0.8, 1000)
    text = (folder / "anymal.toml").read_text("utf-8")
    feet = 'collision = ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]\nfree_base = true'
    path = folder / "feet.toml"
    path.write_text(text.replace("free_base = true", feet), "utf-8")
    on_feet = pysim.load_scene(path, package_dirs=[robots()])
    yield Subject("the same, whose feet alone collide", on_feet, 0.8, 1000)
    yield Subject("humanoid lying, 256 worlds", humanoid(folder), 0.8, 2000, file=HUMANOID)
    box = world(
        folder, free("box", "{ box = [0.2, 0.25, 0.15] }", 1, "{ xyz = [0, 0, 0.0751] }") + GROUND
    )
    yield Subject("free box on a plane, 256 worlds", box, 0.8, 500)
    held = world(folder, gripper(), surface="friction = 0.5")
    yield Subject("gripper with a box, 256 worlds", held, 0.5, 500, actuation=10.0, kick=0.0)
    yield Subject(
        "ANYmal whose feet collide, one simulation", on_feet, 0.8, 1000, worlds=1, steps=500
    )
    yield Subject("stack of ten boxes, one world", stack(folder), 0.6, 500, worlds=1, steps=500)
    nine = world(folder, boxes(), surface="friction = 0.6")
    yield Subject("27 boxes, one world", nine, 0.6, 500, worlds=1, steps=200)
    bin_ = world(folder, spheres(), surface="friction = 0.6")
    yield Subject("100 spheres in a bin, one world", bin_, 0.6, 1000, worlds=1, steps=100)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        pysim.use_isa(sys.argv[1])
    folder = Path(tempfile.mkdtemp())
    print_line(
        f"{_engine.isa()}\n\n| μs a step of a world | pysim | MuJoCo | ratio |\n|---|---|---|---|"
    )
    chosen = [own for own in subjects(folder) if len(sys.argv) < 3 or sys.argv[2] in own.name]
    for own in chosen:
        mine, peer, points = own.times()
        print_line(f"| {own.name} | {mine:.2f} | {peer:.2f} | {peer / mine:.1f} | {points} |")
    print_line("\n| iterations a step | p50 | p90 | p99 | most | mean |\n|---|---|---|---|---|---|")
    for own in chosen:
        own.worlds = min(own.worlds, 16)
        found = own.iterations(1500 if own.worlds > 1 else 1000)
        at = [f"{np.percentile(found, p, method='inverted_cdf'):.0f}" for p in (50, 90, 99, 100)]
        print_line(f"| {own.name} | {' | '.join(at)} | {found.mean():.2f} |")


if __name__ == "__main__":
    main()
