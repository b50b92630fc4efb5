"""Processor time of loading robots, a humanoid in MJCF and a rod, and of identifying an arm.

python -m tests.benchmarks.loading
"""

from __future__ import annotations

import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pysim
from pysim import _engine
from pysim.identify import identify
from tests.benchmarks.report import cpu_name, print_line
from tests.identify.recordings import arm_recording, mistaken
from tests.robots import URDF, load_robot, robot_path

if TYPE_CHECKING:
    from collections.abc import Callable

HUMANOID = """<mujoco model="chain"><option timestep="0.002"/>
<default><geom contype="0" conaffinity="0"/><joint armature="0.01" damping="1"/></default>
<worldbody>{}</worldbody></mujoco>"""
LOADS = 3  # after one that imports what it needs


def main() -> None:
    """Print the table."""
    print_line(f"CPU        {cpu_name()}, one thread; {_engine.isa()}")
    print_line("shortest of three                                     ms")
    for name in sorted(URDF):
        print_row(f"{name}, URDF", partial(pysim.load_model, robot_path(name)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "humanoid.xml"
        path.write_text(humanoid(), "utf-8")
        print_row("a humanoid of 12 links and 24 hinges, MJCF", partial(pysim.load_model, path))
    for bars in (100, 400):
        print_row(f"a rod of {bars} bars", rod(bars).build)
    arm = load_robot("panda")
    drawing, recording = mistaken(arm, seed=3), arm_recording(arm, 10000, seed=2)
    print_row(
        "identification of the Panda by 10 000 samples",
        lambda: identify(drawing, recording.samples(drawing)),
    )


def print_row(what: str, work: Callable[[], object]) -> None:
    """Print the shortest processor time of some calls."""
    durations = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1 + LOADS):
            begin = time.process_time()
            work()
            durations.append(time.process_time() - begin)
    print_line(f"{what:50} {1e3 * min(durations[1:]):6.0f}")


def humanoid() -> str:
    """As many bodies, joints and geoms as MuJoCo's humanoid has."""
    joint = '<joint type="hinge" axis="{} 1 0.2" range="-60 60" limited="true"/>'
    body = '<body pos="0 0.1 0.2">{}<geom type="capsule" size="0.05 0.1"/>{}</body>'
    limbs = ""
    for _ in range(4):
        limb = ""
        for k in range(3):
            limb = body.format(joint.format(k) + joint.format(-1 - k), limb)
        limbs += limb
    torso = f'<body name="torso"><freejoint/><geom size="0.1"/>{limbs}</body>'
    return HUMANOID.format(torso)


def rod(bars: int) -> pysim.SceneBuilder:
    """Return a cable of rubber, 1 m long."""
    builder = pysim.SceneBuilder("cable", gravity=[0, 0, -9.81])
    material = {"young": 1e6, "density": 1000}
    builder.rod("cable", length=1.0, section={"circle": 0.02}, material=material, bars=bars)
    return builder


if __name__ == "__main__":
    main()
