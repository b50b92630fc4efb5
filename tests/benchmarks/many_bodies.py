"""Bodies that fall into a bin: time of loading and of a step, and memory, beside MuJoCo, as a Markdown table.

    python -m tests.benchmarks.many_bodies [numbers of bodies, as 30,100 [kinds of shapes, as spheres,boxes]]

The bin is a square of planes whose side grows with the root of the number, so that the pile is as deep. Both programs
make steps of 1 ms on one thread, each from the states to which its own steps have led; MuJoCo by Newton's method with
at most 100 iterations of 50 trials and a tolerance of 1e-10. Times are those of the processor. Memory is what loading
and stepping add to the largest memory of a process that has imported pysim.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import pysim
from tests.benchmarks.report import print_line
from tests.contact.convex_worlds import ITERATIONS, ConvexWorlds
from tests.contact.scenes import GROUND, free, world

Array = np.ndarray[Any, Any]

STEP = 1e-3  # [s]
SPACING = 0.115  # [m] of the bodies at the start
LAYERS, MASS, FRICTION = 4, 0.5, 0.6
FALLING, SETTLED, MEASURED = 50, 550, 100  # steps
SHAPES = {
    "spheres": ("{ sphere = { radius = 0.05 } }", 'type="sphere" size="0.05"'),
    "boxes": ("{ box = [0.09, 0.08, 0.07] }", 'type="box" size="0.045 0.04 0.035"'),
    "capsules": (
        "{ capsule = { radius = 0.035, length = 0.05 } }",
        'type="capsule" size="0.035 0.025"',
    ),
}
WALLS = ([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0])


@dataclass(frozen=True)
class Bin:
    """Bodies above a bin of five planes, in layers, turned and shifted at random."""

    kind: str
    place: Array  # (n, 3) [m]
    angles: Array  # (n, 3) roll, pitch and yaw [rad]
    half: float  # [m] from the middle to the walls

    @staticmethod
    def of(bodies: int, kind: str) -> Bin:
        """Return the bin for a number of bodies."""
        rng = np.random.default_rng(bodies)
        side = int(np.ceil(np.sqrt(bodies / LAYERS)))
        half = SPACING * side / 2 + 0.01
        layer, n = np.divmod(np.arange(bodies), side * side)
        place = np.column_stack([n % side, n // side, layer]) * SPACING
        place += [SPACING / 2 - half + 0.01, SPACING / 2 - half + 0.01, 0.07]
        place += rng.uniform(-0.005, 0.005, (bodies, 3))
        return Bin(kind, place.round(6), rng.uniform(-3, 3, (bodies, 3)).round(6), half)

    def scene(self, folder: Path) -> pysim.Scene:
        """Return it as a scene."""
        text = "".join(
            free(f"body {n}", SHAPES[self.kind][0], MASS, f"{{ xyz = {xyz}, rpy = {rpy} }}")
            for n, (xyz, rpy) in enumerate(
                zip(self.place.tolist(), self.angles.tolist(), strict=True)
            )
        )
        for normal in WALLS:
            text += f"[[ground]]\nplane = {{ normal = {normal}, offset = {-self.half:.6g} }}\n"
        return world(folder, text + GROUND, surface=f"friction = {FRICTION}")

    def mujoco_model(self) -> Any:
        """Return it as MuJoCo's model."""
        friction = f'friction="{FRICTION} 0 0"'
        text = "".join(
            f'<body pos="{x} {y} {z}" euler="{roll} {pitch} {yaw}"><freejoint/>'
            f'<geom {SHAPES[self.kind][1]} mass="{MASS}" {friction}/></body>'
            for (x, y, z), (roll, pitch, yaw) in zip(self.place, self.angles, strict=True)
        )
        for normal in WALLS:
            at, axis = -self.half * np.array(normal), " ".join(map(str, normal))
            text += f'<geom type="plane" size="9 9 1" pos="{at[0]} {at[1]} 0" zaxis="{axis}" {friction}/>'
        text += f'<geom type="plane" size="9 9 1" {friction}/>'
        return mujoco.MjModel.from_xml_string(
            f'<mujoco><compiler angle="radian" eulerseq="XYZ"/><size memory="4G"/>'
            f'<option timestep="{STEP}" iterations="100" ls_iterations="50" tolerance="1e-10"/>'
            f"<worldbody>{text}</worldbody></mujoco>"
        )


@dataclass(frozen=True)
class Figures:
    """Figures of pysim: of loading, and of a step while the bodies fall and after they have settled."""

    loading: float  # [s]
    memory: float  # [MB]
    falling: float  # [ms]
    settled: float  # [ms]
    iterations: float


def figures(own: Bin) -> Figures:
    """Return the figures of a bin, in a process of its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_figures, (own,))


def _figures(own: Bin) -> Figures:
    warnings.simplefilter("ignore")
    Bin.of(1, own.kind).scene(Path(tempfile.mkdtemp()))  # imports what loading needs
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    scene = own.scene(Path(tempfile.mkdtemp()))
    loading = time.process_time() - start
    assert scene.contacts is not None
    worlds = ConvexWorlds(scene, scene.state.q[None], scene.state.v[None], STEP)
    times, counts = [], []
    for steps in (FALLING, SETTLED, MEASURED):
        count, start = worlds.memory[0, ITERATIONS], time.process_time()
        worlds.step(steps)
        times.append(1e3 * (time.process_time() - start) / steps)
        counts.append(float(worlds.memory[0, ITERATIONS] - count) / steps)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Figures(loading, taken / 1024, times[0], times[-1], counts[-1])


def steps_of_mujoco(model: Any, most: float = 60.0) -> float:
    """Return milliseconds of a step, after the bodies have settled; NaN if that takes longer than `most` [s]."""
    data = mujoco.MjData(model)
    start = time.process_time()
    for _ in range((FALLING + SETTLED) // 20):
        mujoco.mj_step(model, data, nstep=20)
        if time.process_time() - start > most:
            return float("nan")
    start = time.process_time()
    mujoco.mj_step(model, data, nstep=20)
    return 1e3 * (time.process_time() - start) / 20


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    counts = [
        int(n) for n in (sys.argv[1] if len(sys.argv) > 1 else "100,300,1000,3000").split(",")
    ]
    kinds = (sys.argv[2] if len(sys.argv) > 2 else "spheres,boxes").split(",")
    columns = "loading [s]", "memory [MB]", "falling [ms]", "settled [ms]", "iterations"
    print_line("| | bodies | " + " | ".join((*columns, "MuJoCo [ms]", "ratio")) + " |")
    print_line("|---" * (len(columns) + 4) + "|")
    for kind in kinds:
        for bodies in counts:
            own = Bin.of(bodies, kind)
            mine, peer = figures(own), steps_of_mujoco(own.mujoco_model())
            numbers = (
                f"{mine.loading:.2f} | {mine.memory:.0f} | {mine.falling:.2f} | {mine.settled:.2f} | "
                f"{mine.iterations:.1f} | {peer:.2f} | {peer / mine.settled:.1f}"
            )
            print_line(f"| {kind} | {bodies} | {numbers} |")


if __name__ == "__main__":
    main()
