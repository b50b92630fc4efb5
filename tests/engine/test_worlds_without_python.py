"""Worlds in a C++ program that knows no Python, from the objects of the build tree.

Oracle: the same pendulum in Python, bit for bit.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from pysim import _engine
from tests.built_engine import linked

ROOT = Path(__file__).parents[2]


def python_pendulum() -> list[float]:
    """The states and the time after the 500 steps of pendulum.cpp, and how many points touch in each world."""
    hinge = _engine.JointDescription(
        "hinge", _engine.MotionDescription(_engine.Shape.revolute, [0, 1, 0])
    )
    inertia = np.array([[1, 0, 0, -0.5, 0.26, 0.26, 0.01, 0, 0, 0]])
    model = _engine.Model([hinge], inertia, [0, 0, -9.81])
    placement = np.eye(4)
    placement[2, 3] = -0.5
    groups = np.zeros((0, 6))
    none = np.zeros((0, 3)), np.zeros((0, 10)), np.zeros(0), groups, groups
    contacts = _engine.Contacts(
        model, [0], ["sphere"], [[0.05, 0, 0]], placement[None], [none],
        np.array([[-1, 0, 0, 0]], np.int32), [[0, 0, 1, -0.5]], [[0, 0, 0]], [[1e5, 1, 0.5, 0.8, 0.8, 1e5, 0, 0, 0]],
    )  # fmt: skip
    drive = _engine.Actuation([0.0], [0.0], [0.0], [0.0])
    worlds = _engine.Worlds(model, drive, contacts, 2, "convex", 1e-3)
    worlds.parts["q"][:, 0] = 1.2, 0.6
    worlds.accept()
    worlds.step(500)
    names = ("q", "v", "touching")
    q, v, touching = (worlds.parts[name][:, 0].tolist() for name in names)
    return [*q, *v, float(worlds.parts["t"][0, 0]), *touching]


def test_a_cpp_program_holds_worlds_without_python(tmp_path: Path) -> None:
    program = linked("engine/pendulum.cpp", tmp_path / "pendulum", "engine", "tree")
    ran = subprocess.run([str(program)], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    found = [float(word) for word in ran.stdout.split()]
    assert found == python_pendulum()
    assert found[-2:] == [0, 1]  # the second rests on the ground
    symbols = subprocess.run(["nm", "-u", str(program)], check=True, capture_output=True, text=True)
    assert "Py" not in symbols.stdout


def test_no_header_below_the_bindings_knows_python() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "cpp").glob("**/*.?pp"))
        if "bindings" not in path.parts
        and any(word in path.read_text("utf-8") for word in ("pybind11", "Python.h", "<numpy"))
    ]
    assert found == []
