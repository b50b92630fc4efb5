"""Adjoints of recursions, laws and steps of configurations, each by itself.

Oracle: dual numbers over the engine's own templates (adjoints.cpp), which give the product of the same Jacobian with a
direction to rounding.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import pysim
from pysim.simulation.engine_file import engine_file
from tests.built_engine import linked
from tests.elements.blocks import table

ADJOINTS = {
    "contact_impulse",
    "next_deflection",
    "turning_impulse",
    "next_turning",
    "remembered_deflection",
    "coordinate_impulse",
    "next_deflection of a coordinate",
    "inverse dynamics",
    "twists of bodies",
    "poses of bodies",
    "joint-space inertia",
    "steps of configurations",
}
JOINTS = ("free", "revolute", "prismatic", "ball", "universal", "cylindrical", "planar", "helical")
TURNED = {"revolute": [0.3, 1, 0.2], "prismatic": [1, 0.5, 0], "helical": [0, 0.3, 1]}


def branched_tree() -> str:
    """Return a tree of joints of all kinds, whose axes move with q in some."""
    text = "gravity = [0.3, 0.2, -9.81]\n"
    for k, kind in enumerate(JOINTS):
        inertia = {"xx": 0.02, "yy": 0.03, "zz": 0.025, "xy": 0.002, "yz": -0.001, "xz": 0.003}
        text += table(
            "body", name=f"b{k}", mass=1.0 + 0.3 * k, com=[0.02, 0.01, -0.1], inertia=inertia
        )
        keys: dict[str, Any] = {"axis": TURNED[kind]} if kind in TURNED else {}
        keys |= {"pitch": 0.1} if kind == "helical" else {}
        if k:
            keys |= {
                "parent": f"b{(k - 1) // 2}",
                "at": {"xyz": [0.1, 0.05 * k, -0.2], "rpy": [0.2, -0.3, 0.4]},
            }
        text += table("joint", name=f"j{k}", type=kind, child=f"b{k}", **keys)
    return text + '[simulation]\nintegrator = "convex"\nstep = 1e-3\nduration = 1.0\n'


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of inertias
def test_adjoints_are_those_of_dual_numbers_over_the_same_text(tmp_path: Path) -> None:
    path = tmp_path / "tree.toml"
    path.write_text(branched_tree(), "utf-8")
    file = tmp_path / "tree.pysim"
    file.write_bytes(engine_file(pysim.load_scene(path)))
    program = linked("adjoints/adjoints.cpp", tmp_path / "adjoints", "engine", "tree", "library")
    ran = subprocess.run([str(program), str(file), "1"], check=True, capture_output=True, text=True)
    errors = {
        name: float(error) for name, error in (line.split(": ") for line in ran.stdout.splitlines())
    }
    assert errors.keys() == ADJOINTS
    assert max(errors.values()) < 1e-13, errors
