"""Replays of runs that failed.

Oracle: scenes that fail for one reason each, which is named; and the run's own rows.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main

STONE = """
name = "stone"
gravity = [0, 0, 0]

[[body]]
name = "stone"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
parent = "world"
child = "stone"
axis = [0, 0, 1]
start = { q = 0.1 }
"""
STIFF = (
    STONE
    + """
stiffness = 4e7

[simulation]
integrator = "rk4"
duration = 2.0
step = 1e-3
"""
)
WRONG = (
    STONE
    + """
[[signal]]
name = "target"
type = "constant"
value = 0.0
unit = "m"

[[sensor]]
name = "place"
type = "coordinates"
coordinates = ["slide"]

[[controller]]
name = "regulator"
type = "pid"
inputs = ["target", "place.q"]
kp = -800.0
kd = -2.0

[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "regulator"

[simulation]
integrator = "rk4"
duration = 100.0
step = 1e-3
"""
)
CONTACT = """
name = "ball"

[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 }, density = 1000 }
collision = true

[[joint]]
name = "flight"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.2] }

[[ground]]
plane = { normal = [0, 0, 1], offset = 0 }
material = "steel"

[[ground]]
plane = { normal = [0, 0, -1], offset = -0.5 }
material = "steel"

[materials.steel]
stiffness = 1e10
restitution = { value = 0.9, at = 1.0 }

[simulation]
integrator = "rk4"
duration = 20.0
step = 1e-2
"""
LOOP = """
name = "crank"
gravity = [0, 0, 0]

[[body]]
name = "crank"
shape = { box = [0.3, 0.02, 0.02], at = { xyz = [0.15, 0, 0] }, density = 2700 }

[[body]]
name = "rod"
shape = { box = [0.3, 0.02, 0.02], at = { xyz = [0.15, 0, 0] }, density = 2700 }

[[joint]]
name = "hinge"
type = "revolute"
child = "crank"
axis = [0, -1, 0]
start = { q = 0.8 }

[[joint]]
name = "pin"
type = "revolute"
parent = "crank"
child = "rod"
at = { xyz = [0.3, 0, 0] }
axis = [0, -1, 0]
start = { q = -1.6 }

[[body]]
name = "slider"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "rail"
type = "prismatic"
child = "slider"
axis = [1, 0, 0]
start = { q = 0.418 }

[[loop]]
name = "end"
type = "revolute"
a = "rod"
b = "slider"
at_a = { xyz = [0.3, 0, 0] }
axis = [0, -1, 0]

[assembly]
hold = ["hinge"]

[[actuator]]
name = "ram"
joint = "rail"
offset = -4e4

[simulation]
integrator = "rk4"
duration = 2.0
step = 1e-3
"""

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def failed(text: str, folder: Path) -> Path:
    """Run a scene to its failure, and return its file."""
    (folder / "scene.toml").write_text(text)
    with pytest.raises(pysim.SimulationError):
        pysim.simulate(pysim.load_scene(folder / "scene.toml"), folder / "run.h5")
    return folder / "run.h5"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (STIFF, r"rk4 is stable at the start, because of joint 'slide'; take 0\.00051 or less"),
        (WRONG, r"the control of joint 'slide' by 'motor' pushes the way the joint moves"),
        (CONTACT, r"the contact of world, ball is too stiff for the step"),
        (LOOP, r"the loops are driven by the actuators of 'rail' through a singular configuration"),
    ],
    ids=["stiff spring", "wrong sign", "stiff contact", "singular loop"],
)
def test_the_cause_of_a_failed_run_is_named(text: str, cause: str, tmp_path: Path) -> None:
    path = failed(text, tmp_path)
    before = path.read_bytes()
    found = pysim.replay(path, 8)
    assert re.search(cause, found.cause), found.cause
    assert 1 <= len(found.steps) <= 8
    assert (np.diff([step.t for step in found.steps]) > 0).all()
    assert pysim.load_trajectory(path).header.name in {"stone", "ball", "crank"}
    assert path.read_bytes() == before


def test_a_checkpoint_after_every_segment_does_not_hide_the_cause(tmp_path: Path) -> None:
    """A run that has diverged goes on for a while: the last good record is one before that."""
    text = WRONG.replace("[simulation]", "[simulation]\ncheckpoint = 1e-6")
    found = pysim.replay(failed(text, tmp_path), 8)
    assert "the control of joint 'slide' by 'motor' pushes the way the joint moves" in found.cause


@pytest.mark.parametrize("text", [STIFF, LOOP], ids=["stiff spring", "singular loop"])
def test_a_run_that_fails_before_its_first_output_is_replayed_to_the_failure(
    text: str, tmp_path: Path
) -> None:
    own, sparse = tmp_path / "own", tmp_path / "sparse"
    own.mkdir()
    sparse.mkdir()
    found = pysim.replay(failed(text, own), 4)
    late = pysim.replay(failed(text + "\n[output]\nevery = 1.0\n", sparse), 4)
    assert [step.t for step in late.steps] == pytest.approx([s.t for s in found.steps], rel=1e-14)
    assert late.cause == found.cause


def test_the_steps_of_a_replay_are_those_of_the_run(tmp_path: Path) -> None:
    path = failed(STIFF + "\n[output]\nevery = 1e-3\n", tmp_path)
    rows = pysim.load_trajectory(path)
    for step in pysim.replay(path, 4).steps:
        row = int(np.argmin(np.abs(rows.t - step.t)))
        assert rows.q[row].tobytes() == step.q.tobytes()
        assert rows.v[row].tobytes() == step.v.tobytes()


def test_a_failed_run_is_printed_step_by_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = failed(STIFF, tmp_path)
    assert main(["replay", str(path), "--steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("slide" in line and " m/s" in line for line in lines) >= 3
    assert any("likely cause" in line for line in lines)


def test_a_run_that_did_not_fail_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "scene.toml").write_text(STIFF.replace("4e7", "4.0"))

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(pysim.load_scene(tmp_path / "scene.toml"), tmp_path / "run.h5", interrupt)
    with pytest.raises(pysim.SimulationError, match=r"does not fail .* go on with pysim resume"):
        pysim.replay(tmp_path / "run.h5")
