"""Pickled models whose plugins another process has not run. The oracle is the model that was pickled."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import pysim
from tests.joints.one_joint import scene_of

TRACED = """from pysim.joints import Joint, Pose, joint, real

@joint("NAME")
class Slide(Joint):
    height: float = 2.0  # [m]
    coordinates = real("x", unit="m")

    def placement(self, q):
        return Pose.translate(0, 0, self.height * q.x)
"""
CALLED = """import numpy as np
from pysim.joints import CallbackJoint, joint, real

@joint("NAME")
class Slide(CallbackJoint):
    height: float = 2.0  # [m]
    coordinates = real("x", unit="m")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 2, 3] = self.height * q[:, 0]
        return X
"""
RELATION = """from pysim.joints import relation

@relation("NAME")
def square(x):
    return x**2
"""
LOOP = """
[[loop]]
name = "l"
type = "NAME"
a = "world"
b = "b"
"""
COUPLING = """
[[body]]
name = "c"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "k"
type = "prismatic"
child = "c"
[[coupling]]
name = "square"
joint = "j"
function = "NAME"
inputs = ["k"]
"""
CASES = {
    "traced": (TRACED, "NAME", "", "joint type"),
    "called": (CALLED, "NAME", "height = 3.0\n", "joint type"),
    "loop": (TRACED, "prismatic", LOOP, "joint type"),
    "relation": (RELATION, "prismatic", COUPLING, "relation"),
}
READ = """import pickle, sys, numpy as np, pysim
if len(sys.argv) > 2:
    pysim.load_scene(sys.argv[2], allow_code=True)
model = pickle.load(open(sys.argv[1], "rb"))
print(pysim.rnea(model, model.neutral(), np.ones(model.nv), np.ones(model.nv)).tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_another_process_is_reported_which_file_to_run_before_it_reads_a_model(tmp_path, case):
    code, kind, rest, noun = CASES[case]
    name = f"pickled_{case}"
    (tmp_path / f"{name}.py").write_text(code.replace("NAME", name), "utf-8")
    text = (scene_of(kind, f"{name}.py") + rest).replace("NAME", name)
    scene, pickled = tmp_path / "s.toml", tmp_path / "model.pkl"
    scene.write_text('name = "arm"\n' + text, "utf-8")
    model = pysim.load_scene(scene, allow_code=True).model
    pickled.write_bytes(pickle.dumps(model))
    asked = [sys.executable, "-c", READ, str(pickled)]

    unprepared = subprocess.run(asked, check=False, capture_output=True, text=True)
    assert unprepared.stderr.splitlines()[-1] == (
        f"pysim.errors.JointError: pickled model 'arm': {noun} {name!r} is defined in '{tmp_path}/{name}.py', which "
        "this process has not run; load the scene that names that file here first, with allow_code=True, for example "
        "in the initializer of a pool of processes"
    )
    prepared = subprocess.run([*asked, str(scene)], check=True, capture_output=True, text=True)
    ones = np.ones(model.nv)
    assert prepared.stdout == f"{pysim.rnea(model, model.neutral(), ones, ones).tolist()}\n"
