"""Contact in pysim and in MuJoCo on the same scenes, as a Markdown table.

    python -m tests.benchmarks.contact_table

Both use a step of 1 ms (2 ms for the stack) and their defaults; MuJoCo's cones are elliptic, and the friction of its
geoms is μ. Its contacts aim at an acceleration, so friction creeps and restitution is no parameter.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import pysim
from tests.contact.scenes import GROUND, finger, free, world

G = 9.81


def run_mujoco(
    bodies: str, gravity: tuple[float, float, float], step: float, duration: float
) -> tuple[Any, Any, int]:
    """Model, data and the number of steps of a run."""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" cone="elliptic" gravity="{" ".join(map(str, gravity))}"/><worldbody>'
        f"{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    return model, data, round(duration / step)


def trace(model: Any, data: Any, steps: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return q (n, nq), v (n, nv), the greatest penetration [m] and the processor time [s] of a run."""
    q, v, depth = np.zeros((steps, model.nq)), np.zeros((steps, model.nv)), 0.0
    began = time.process_time()
    for k in range(steps):
        mujoco.mj_step(model, data)
        q[k], v[k] = data.qpos, data.qvel
        if data.ncon:
            depth = max(depth, -data.contact.dist.min())
    return q, v, depth, time.process_time() - began


def geom(kind: str, size: str, mass: float, pos: str, mu: float) -> str:
    """A free body of MuJoCo."""
    return f'<body pos="{pos}"><freejoint/><geom type="{kind}" size="{size}" mass="{mass}" friction="{mu} 0 0"/></body>'


def plane(mu: float) -> str:
    """The floor."""
    return f'<geom type="plane" size="9 9 1" friction="{mu} 0 0"/>'


def ours(folder: Path, text: str, **run: Any) -> tuple[pysim.Trajectory, float]:
    """Return a run of pysim and its processor time [s]."""
    scene = world(folder, text, **run)
    began = time.process_time()
    trajectory = pysim.simulate(scene)
    return trajectory, time.process_time() - began


def held_box(folder: Path) -> tuple[float, float]:
    """Return the speeds [m/s] at which a box of 0.5 kg sinks between two pads that press with 10 N, μ = 0.5."""
    pads, xml = "", ""
    for name, sign in (("left", -1), ("right", 1)):
        pads += finger(
            name, sign, f'[[actuator]]\njoint = "{name} slides"\noffset = {-10.0 * sign}'
        )
        xml += f"""<body pos="{0.04 * sign} 0 0"><joint name="{name}" type="slide" axis="1 0 0"/>
<geom type="box" size=".01 .02 .02" mass="0.5" friction="0.5 0 0"/></body>"""
    t, _ = ours(
        folder,
        free("box", "{ box = [0.06, 0.06, 0.06] }", 0.5, "{ xyz = [0, 0, 0] }") + pads,
        surface="friction = 0.5",
        duration=10.0,
        every=1.0,
    )
    xml += geom("box", ".03 .03 .03", 0.5, "0 0 0", 0.5)
    model, data, steps = run_mujoco(xml, (0.0, 0.0, -G), 1e-3, 10)
    data.qfrc_applied[:2] = 10.0, -10.0
    q, _, _, _ = trace(model, data, steps)
    return (t.q[1, 2] - t.q[-1, 2]) / 9, (q[999, 4] - q[-1, 4]) / 9


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp())
    rows = []
    angle = 0.9 * math.atan(0.5)
    slope = (G * math.sin(angle), 0.0, -G * math.cos(angle))
    box = "{ box = [0.2, 0.2, 0.1] }"
    t, _ = ours(folder, free("box", box, 1, "{ xyz = [0, 0, 0.05] }") + GROUND, surface="friction = 0.5",
                gravity=slope, duration=10.0, every=0.01)  # fmt: skip
    q, _, _, _ = trace(
        *run_mujoco(plane(0.5) + geom("box", ".1 .1 .05", 1, "0 0 .05", 0.5), slope, 1e-3, 10)
    )
    creep = abs(t.q[-1, 0] - t.q[500, 0]) / 5, abs(q[-1, 0] - q[4999, 0]) / 5
    rows.append(
        (
            "creep of a box on a slope at 0.9 of the angle of friction",
            *(f"{c:.1e} m/s" for c in creep),
        )
    )

    flat, v0 = (0.0, 0.0, -G), 1.0
    start = f"{{ xyz = [0, 0, 0.05], v = [{v0}, 0, 0, 0, 0, 0] }}"
    t, _ = ours(folder, free("box", box, 1, start) + GROUND, surface="friction = 0.5", duration=1.0)
    model, data, steps = run_mujoco(
        plane(0.5) + geom("box", ".1 .1 .05", 1, "0 0 .05", 0.5), flat, 1e-3, 1
    )
    data.qvel[0] = v0
    q, _, _, _ = trace(model, data, steps)
    exact = v0**2 / (2 * 0.5 * G)
    rows.append(("stopping distance of a box at 1 m/s, relative error",
                 *(f"{x / exact - 1:+.1e}" for x in (t.q[-1, 0], q[-1, 0]))))  # fmt: skip

    ball, start = "{ sphere = { radius = 0.1 } }", "{ xyz = [0, 0, 0.1], v = [3, 0, 0, 0, 0, 0] }"
    t, _ = ours(
        folder, free("ball", ball, 1, start) + GROUND, surface="friction = 0.3", duration=3.0
    )
    model, data, steps = run_mujoco(
        plane(0.3) + geom("sphere", ".1", 1, "0 0 .1", 0.3), flat, 1e-3, 3
    )
    data.qvel[0] = 3
    q, _, _, _ = trace(model, data, steps)
    speed = (t.q[-1, 0] - t.q[-1001, 0]), (q[-1, 0] - q[-1001, 0])
    rows.append(("rolling speed of a ball that slips at first, relative error",
                 *(f"{s / (15 / 7) - 1:+.1e}" for s in speed)))  # fmt: skip

    text = "".join(free(f"box {k}", "{ box = [0.2, 0.2, 0.2] }", 1, f"{{ xyz = [0, 0, {0.1 + 0.2005 * k}] }}")
                   for k in range(10))  # fmt: skip
    t, cost = ours(
        folder, text + GROUND, surface="friction = 0.6", duration=10.0, step=2e-3, every=0.1
    )
    xml = plane(0.6) + "".join(
        geom("box", ".1 .1 .1", 1, f"0 0 {0.1 + 0.2005 * k}", 0.6) for k in range(10)
    )
    _, v, depth, other = trace(*run_mujoco(xml, flat, 2e-3, 10))
    rows.append(("stack of ten boxes: greatest speed after 10 s",
                 f"{np.abs(t.v[-1]).max():.1e}", f"{np.abs(v[-1]).max():.1e}"))  # fmt: skip
    rows.append(("deepest penetration of the stack", f"{1e3 * t.contacts.penetration.max():.2f} mm",
                 f"{1e3 * depth:.2f} mm"))  # fmt: skip
    rows.append(
        (
            "time of a step of the stack",
            f"{1e6 * cost / 5000:.0f} μs",
            f"{1e6 * other / 5000:.0f} μs",
        )
    )

    rows.append(("creep of a box that a gripper holds for 10 s",
                 *(f"{abs(c):.1e} m/s" for c in held_box(folder))))  # fmt: skip

    start = "{ xyz = [0, 0, 0.6] }"
    surface = "friction = 0\nstiffness = 2e5\nrestitution = { value = 0.8, at = 3.13 }"
    t, _ = ours(
        folder,
        free("ball", ball, 1, start) + GROUND,
        surface=surface,
        duration=0.6,
        step=2e-5,
        every=1e-3,
    )
    rise = math.sqrt((t.q[330:, 2].max() - 0.1) / 0.5)
    rows.append(("rebound of a ball with restitution 0.8 (50 steps of 20 μs in contact and more)", f"{rise:.3f}",
                 "not a parameter"))  # fmt: skip
    print("| | pysim | MuJoCo |\n|---|---|---|")  # noqa: T201
    for row in rows:
        print(f"| {' | '.join(row)} |")  # noqa: T201


if __name__ == "__main__":
    main()
