"""Benchmark table: pysim beside Pinocchio and MuJoCo, in one run, on one thread.

Ratios above 1 are in pysim's favour; "peak" is the share of the processor's rate of fused multiply-adds, measured in
the same run.
"""

from __future__ import annotations

import os
from pathlib import Path

import mujoco
import pinocchio

import pysim
from pysim import _engine
from tests.benchmarks import matrices, operations, plugins
from tests.benchmarks.algorithms import batch_rows, growth_rows, one_by_one_rows, single_rows
from tests.benchmarks.loops import loop_rows
from tests.benchmarks.meshes import mesh_rows
from tests.benchmarks.monitor import monitor_rows
from tests.benchmarks.report import cpu_name, heading, print_line
from tests.benchmarks.standing_robot import standing_rows
from tests.benchmarks.stepping import rollout_rows, scene_row, step_rows

LARGE, IN_CACHE = 4096, 64
ROBOTS = ("panda", "ur5", "anymal", "simple_humanoid")
IN_MUJOCO = ("panda", "ur5", "simple_humanoid")  # MuJoCo rejects a line element of ANYmal's base
CHAINS = ("chain10", "chain50", "chain200")


def main() -> None:
    """Print the table."""
    peak = operations.peak()
    print_line(
        f"CPU        {cpu_name()}, {os.cpu_count()} cores; on one thread unless a row states more"
    )
    print_line(f"peak       {1e-9 * peak:.0f} G operations a second a core, double")
    print_line(f"pysim      {pysim.__version__}, {_engine.isa()}")
    print_line(f"Pinocchio  {pinocchio.__version__} (wheel), MuJoCo {mujoco.__version__} (wheel)")
    heading("batches", "ns a state")
    for name in (*ROBOTS, *CHAINS, "plane10"):
        batch_rows(name, LARGE, peak)
    heading(f"growth with the number of joints, batch of {IN_CACHE}", "ns a joint and state")
    growth_rows(CHAINS, IN_CACHE)
    heading("one state in C++", "ns")
    for name in (*ROBOTS, *CHAINS, "plane10"):
        one_by_one_rows(name)
    heading("one state from Python", "µs a call")
    for name in (*ROBOTS, *CHAINS):
        single_rows(name)
    heading("one simulation", "µs a step")
    for name in IN_MUJOCO:
        step_rows(name)
    scene_row(Path(__file__).parents[2] / "scenes" / "robot_arm.toml")
    matrices.main((*ROBOTS, *CHAINS[:2]), CHAINS[2], peak)
    heading("rollouts of 256 worlds, 100 steps", "µs a step of a world")
    for name in (*IN_MUJOCO, *CHAINS[:2]):
        rollout_rows(name, 256, 100)
    plugins.main(print_line)
    heading("closed loops and implicit steps", "µs a step")
    loop_rows()
    heading("a robot that stands", "µs a state")
    standing_rows()
    heading("the energy monitor beside the run that it watches", "ms a call")
    monitor_rows()
    heading("a mesh of a million triangles", "ms")
    mesh_rows()


if __name__ == "__main__":
    main()
