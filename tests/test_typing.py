"""Type annotations of pysim in a user's script. The oracle is mypy --strict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pysim

PACKAGE = Path(pysim.__file__).parent
RIGHT = """from pathlib import Path
from typing import Any

import numpy as np
import pysim
from pysim.inertia import Inertia
from pysim.joints import Joint, Pose, joint, real


@joint("track")
class Track(Joint):
    height: float  # [m]
    length: float = 2.0  # [m]
    coordinates = real("x", unit="m")

    def placement(self, q: Any) -> Pose:
        return Pose.translate(q.x, 0, self.height * np.cos(q.x))


def main() -> None:
    scene = pysim.load_scene("pendulum.toml", overrides={"simulation.duration": 2.0})
    trajectory = pysim.simulate(scene, Path("x.h5"), overwrite=True)
    model, q, v = scene.model, scene.state.q, np.zeros(scene.model.nv)
    a = pysim.aba(model, q, v, v, threads=2) + pysim.crba(model, q)[0]
    worlds = pysim.rollout([model, model], q, v, None, 1e-3, steps=10)
    print(a, worlds[0], pysim.loops.constrained_aba(model, q, v, v), Inertia, trajectory.events.t)
    pysim.render.still(trajectory, "a.png")


try:
    main()
except pysim.PysimError as error:
    print(error.where, error.problem)
"""
OPTIONS = """[mypy]
strict = true
follow_imports = skip
[mypy-pysim.*]
follow_imports = silent
[mypy-numpy.*]
follow_imports = silent
"""  # what pysim draws and learns with is 2000 modules more, and none of them is in the script
WRONG = {
    "pysim.load_model(3)": "arg-type",
    "pysim.aba(pysim.load_model('a.urdf'), 1)": "call-arg",
    "pysim.load_model('a.urdf').nq = 3": "misc",
    "pysim.nope": "attr-defined",
    "pysim.render.nope": "attr-defined",
}


def complaints(tmp_path: Path, text: str) -> list[str]:
    """What mypy --strict says of a script, a line a complaint."""
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(text, "utf-8")
    (tmp_path / "mypy.ini").write_text(OPTIONS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "user.py"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
    )
    assert done.returncode in {0, 1}, done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


@pytest.mark.slow
def test_a_script_that_is_right_passes_strictly_and_each_fault_is_found(tmp_path: Path) -> None:
    modules = "".join(f"print(pysim.{name}.__name__)\n" for name in pysim._MODULES)
    names = "".join(f"print(pysim.{name})\n" for name in pysim.__all__)  # type: ignore[attr-defined]
    right = RIGHT + modules + names
    first = right.count("\n") + 1
    found = complaints(tmp_path, right + "\n".join(WRONG) + "\n")
    expected = [(f"user.py:{first + k}:", f"[{code}]") for k, code in enumerate(WRONG.values())]
    assert [(line.split(" ")[0], line.split(" ")[-1]) for line in found] == expected


def test_the_package_is_marked_as_typed() -> None:
    """PEP 561; both files travel with the package's folder."""
    assert (PACKAGE / "py.typed").is_file()
    assert (PACKAGE / "_engine.pyi").is_file()
