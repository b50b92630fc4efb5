"""Scenes of contact tests: bodies over a ground, on each other and on fields, a robot, and what their runs show."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import pysim
from tests.robots import REFERENCE, robot_path

GROUND = "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0.0 }\n"


def free(name: str, shape: str, mass: float, start: str, extra: str = "") -> str:
    """A body that collides, on a free joint."""
    return f"""
[[body]]
name = "{name}"
shape = {shape}
mass = {mass}
collision = true
{extra}
[[joint]]
name = "{name} moves"
type = "free"
child = "{name}"
start = {start}
"""


def finger(name: str, sign: int, extra: str) -> str:
    """A pad that slides along x beside a box, on the side of this sign, with further tables."""
    return f"""
[[body]]
name = "{name}"
shape = {{ box = [0.02, 0.04, 0.04] }}
mass = 0.5
collision = true
[[joint]]
name = "{name} slides"
type = "prismatic"
axis = [1, 0, 0]
child = "{name}"
at = {{ xyz = [{0.04 * sign}, 0, 0] }}
{extra}
"""


def world(
    tmp_path: Path,
    bodies: str,
    *,
    plugins: tuple[Path, ...] = (),
    surface: str = "",
    gravity: Any = (0, 0, -9.81),
    duration: float = 1.0,
    step: float = 1e-3,
    every: float | None = None,
    run: str = "",
) -> pysim.Scene:
    """Bodies, grounds and joints as text, with the files of shape plugins; `surface` is the material of all."""
    text = f"""plugins = {[str(file) for file in plugins]}
gravity = {[float(g) for g in gravity]}
[materials.default]
{surface}
{bodies}
[simulation]
duration = {duration}
step = {step}
{run}
[output]
every = {every or step}
"""
    path = tmp_path / "world.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path, allow_code=True)


def speeds(trajectory: pysim.Trajectory, bodies: int) -> np.ndarray:
    """Linear velocities (n, bodies, 3) of free bodies, on their axes."""
    found: np.ndarray = trajectory.v.reshape(len(trajectory.t), bodies, 6)[..., :3]
    return found


ROOT = Path(__file__).parents[2]
SHAPES = ROOT / "scenes" / "shapes"


def in_bowl(
    tmp_path: Path,
    shape: str,
    start: str,
    mass: float = 1.0,
    radius: float = 1.0,
    **changes: Any,
) -> pysim.Scene:
    """A body in a bowl about the origin."""
    ground = f'[[ground]]\nfield = {{ type = "bowl", radius = {radius} }}\n'
    tables = ground + free("body", shape, mass, start)
    return world(tmp_path, tables, plugins=(SHAPES / "bowl.py",), **changes)


def cam_and_follower(
    tmp_path: Path, shape: str, height: float, radius: float, eccentricity: float
) -> pysim.Scene:
    """A disc that turns about a point beside its centre, with a flywheel, and a follower on it that slides along y."""
    tables = f"""
[[body]]
name = "cam"
collision = true
[[body.shape]]
field = {{ type = "eccentric_cam", radius = {radius}, eccentricity = {eccentricity}, thickness = 0.02 }}
density = 7800
[[joint]]
name = "shaft"
type = "revolute"
axis = [0, 0, 1]
child = "cam"
start = {{ v = [3.0] }}
armature = 10.0
[[body]]
name = "follower"
shape = {shape}
mass = 0.2
collision = true
[[joint]]
name = "guide"
type = "prismatic"
axis = [0, 1, 0]
child = "follower"
start = [{height!r}]
"""
    return world(
        tmp_path,
        tables,
        plugins=(SHAPES / "cam.py",),
        surface="friction = 0\nstiffness = 1e7\nrestitution = { value = 0, at = 1 }",
        gravity=(0, -9.81, 0),
        duration=2.0,
        step=5e-4,
        every=0.01,
    )


G = 9.81  # [m/s²]
STIFF = "stiffness = 2e7"  # near the rigid limit: a body of 1 kg sinks by less than 1 μm


def case(name: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Setup of a reference case, and its expectations by quantity."""
    found = json.loads((REFERENCE / "contact" / f"{name}.json").read_text("utf-8"))
    return found["setup"], {entry["quantity"]: entry for entry in found["expect"]}


def within(entry: dict[str, Any], value: float) -> bool:
    """Whether a value is what a case expects, within its tolerance."""
    scale = abs(entry["value"]) if entry["tolerance_kind"] == "relative" else 1.0
    return bool(abs(value - entry["value"]) <= entry["tolerance"] * scale)


def free_body(
    tmp_path: Path,
    *,
    shape: str,
    mass: float,
    start: str,
    surface: str,
    gravity: Any = (0, 0, -G),
    duration: float = 1.0,
    step: float = 1e-3,
    every: float | None = None,
    body: str = "collision = true",
    extra: str = "",
    run: str = "",
) -> pysim.Scene:
    """One body on a free joint above the plane z = 0; `surface` is the material of both."""
    text = f"""
[[body]]
name = "body"
shape = {shape}
mass = {mass}
{body}
[[joint]]
name = "free"
type = "free"
child = "body"
start = {start}
{GROUND}
{extra}
"""
    return world(
        tmp_path,
        text,
        surface=surface,
        gravity=gravity,
        duration=duration,
        step=step,
        every=every,
        run=run,
    )


def ball(tmp_path: Path, setup: dict[str, Any], velocity: str = "", **changes: Any) -> pysim.Scene:
    """The ball of a case on the plane, near the rigid limit."""
    r = setup["radius_m"]
    return free_body(
        tmp_path,
        shape=f"{{ sphere = {{ radius = {r} }} }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {r}]{velocity} }}",
        surface=f"friction = {setup['mu']}\n{STIFF}",
        **changes,
    )


def impact(tmp_path: Path, setup: dict[str, Any], run: str, **changes: Any) -> pysim.Scene:
    """A ball that strikes the floor with Hunt and Crossley's law, as a reference case describes it."""
    return free_body(
        tmp_path,
        shape=f"{{ sphere = {{ radius = {setup['radius_m']} }} }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {setup['radius_m']}], v = [0, 0, {-setup['speed_m_s']}, 0, 0, 0] }}",
        gravity=(0, 0, 0),
        surface=f"friction = 0\nstiffness = {2 * setup['K']}\ndissipation = {setup['d_s_per_m']}",
        **({"duration": 0.05, "every": 0.05} | changes),
        run=run,
    )


def ran(scene: pysim.Scene) -> pysim.Trajectory:
    """The trajectory of a scene, its warnings left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        return pysim.simulate(scene)


def on_slope(angle: float) -> tuple[float, float, float]:
    """Gravity of a slope along x, seen from it."""
    return G * np.sin(angle), 0.0, -G * np.cos(angle)


def at(trajectory: pysim.Trajectory, time: float) -> int:
    """Row of a time."""
    return int(np.abs(trajectory.t - time).argmin())


def velocity(trajectory: pysim.Trajectory) -> np.ndarray:
    """Velocity (n, 3) of the body's origin in the world, by central differences."""
    found: np.ndarray = np.gradient(trajectory.q[:, :3], trajectory.t, axis=0)
    return found


def lowest_foot(scene: pysim.Scene) -> float:
    """Height of the base [m] at which the lowest foot touches the ground."""
    assert scene.contacts is not None
    poses = pysim.forward_kinematics(scene.model, scene.state.q)
    feet = [
        s for s in scene.contacts.shapes if scene.contacts.pairs[s.pair].second.endswith("FOOT")
    ]
    heights = [(poses[s.body] @ s.pose)[2, 3] - s.shape.size[0] for s in feet]
    return float(scene.state.q[2] - min(heights))


def anymal(
    tmp_path: Path,
    setup: dict[str, Any],
    height: float,
    run: tuple[str, ...] = ("duration = 10", "step = 1e-3"),
) -> pysim.Scene:
    """ANYmal on springs in its joints, with the settings of a run."""
    share = robots()
    lines, start = [], []
    for leg in ("LF", "LH", "RF", "RH"):
        front, left = (1 if leg[1] == "F" else -1), (1 if leg[0] == "L" else -1)
        for joint, angle in (("HAA", -0.1 * left), ("HFE", 0.7 * front), ("KFE", -1.0 * front)):
            start.append(f"start.{leg}_{joint} = {angle}")
            lines += [
                f"[model.joint.{leg}_{joint}]",
                f"stiffness = {setup['kp']}",
                f"damping = {setup['kd']}",
                f"rest = {angle}",
            ]
    path = tmp_path / "anymal.toml"
    text = [
        "[materials.default]",
        f"friction = {setup['mu']}",
        "sink = 1e-4",
        "[[ground]]",
        "plane = { offset = 0.0 }",
        "[[model]]",
        f'file = "{share}/example-robot-data/robots/anymal_b_simple_description/robots/anymal.urdf"',
        "free_base = true",
        f"start.root_joint = {{ xyz = [0, 0, {height}] }}",
        *start,
        *lines,
        "[simulation]",
        *run,
        "[output]",
        "every = 0.02",
    ]
    path.write_text("\n".join(text), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # a weightless link
        return pysim.load_scene(path, package_dirs=[share])


def robots() -> Path:
    """Folder of the robots of example-robot-data."""
    return robot_path("anymal").parents[4]
