"""Runs that are stopped or killed and resumed.

Oracle: the same run, never stopped: every dataset of the two files is equal, bit for bit.
"""

from __future__ import annotations

import random
from pathlib import Path

import h5py
import pytest

import pysim
from pysim.cli import main
from pysim.trajectory.checkpoint import SLOTS, read_checkpoint, write_checkpoint
from tests.resumed_runs import differing, run_killed, run_to_stop

SCENES = Path(__file__).parents[2] / "scenes"
OFTEN = {"simulation.checkpoint": 1e-6}
MASS = """
name = "mass"

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
stiffness = 50.0

[simulation]
duration = 20.0
step = 1e-3
checkpoint = 1e-6
"""
EVENT = """
[[signal]]
name = "push"
type = "constant"
value = 3.0
unit = "N"

[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "push"

[[event]]
name = "low"
joint = "slide"
at = -0.3
release = ["motor"]
"""

CALLED = """
from pysim.controllers import CallbackController, controller, signal

@controller("resumed_callback")
class Called(CallbackController):
    inputs = signal("q", unit="m")
    outputs = signal("force", unit="N")

    def output(self, inputs):
        return -2.0 * inputs.q
"""
CONTROL = """
[[sensor]]
name = "place"
type = "coordinates"
coordinates = ["slide"]

[[controller]]
name = "regulator"
type = "resumed_callback"
inputs = ["place.q"]
period = 0.01

[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "regulator"
"""

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


@pytest.mark.parametrize(
    ("scene", "duration"),
    [
        ("double_pendulum", 5.0),  # rk4
        ("four_bar", 2.0),  # loops
        ("falling_box", 2.0),  # convex contact
        ("conveyor", 1.0),
        ("servo_pid", 1.0),  # sampled controllers
        ("instrumented_top", 1.0),  # noise
        ("t_handle", 10.0),  # energies of either sign of 0
        ("quarter_car", 2.0),
    ],
)
def test_a_stopped_run_resumed_has_the_bits_of_one_that_was_never_stopped(
    scene: str, duration: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {**OFTEN, "simulation.duration": duration}
    own = pysim.load_scene(SCENES / f"{scene}.toml", changes)
    whole = pysim.simulate(own, tmp_path / "whole.h5")
    run_to_stop(own, tmp_path / "run.h5", 1, monkeypatch)
    resumed = pysim.resume(tmp_path / "run.h5")
    assert resumed.complete
    assert resumed.q.tobytes() == whole.q.tobytes()
    assert not differing(tmp_path / "whole.h5", tmp_path / "run.h5")


@pytest.mark.parametrize("text", [MASS, MASS + EVENT], ids=["plain", "events"])
@pytest.mark.parametrize(
    "integrator", ["rk4", "semi_implicit", "implicit_midpoint", "generalized_alpha", "variational"]
)
def test_every_fixed_scheme_is_resumed_to_the_bit(
    integrator: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mass.toml").write_text(text)
    changes = {
        "simulation.integrator": integrator,
        "simulation.duration": 2.0,
        "output.every": 0.002 if text is MASS else 0.05,
    }
    own = pysim.load_scene(tmp_path / "mass.toml", changes)
    pysim.simulate(own, tmp_path / "whole.h5")
    run_to_stop(own, tmp_path / "run.h5", 1 if text is MASS else 20, monkeypatch)
    pysim.resume(tmp_path / "run.h5")
    assert not differing(tmp_path / "whole.h5", tmp_path / "run.h5")


@pytest.mark.parametrize("text", [MASS, MASS + EVENT], ids=["plain", "events"])
def test_a_run_killed_at_random_instants_ends_with_the_same_bits(text: str, tmp_path: Path) -> None:
    scene = tmp_path / "mass.toml"
    scene.write_text(text)
    # of some hundred milliseconds each, with several segments
    duration = 400.0 if text is MASS else 5.0
    changes = {"simulation.duration": duration, "output.every": 0.05}
    pysim.simulate(pysim.load_scene(scene, changes), tmp_path / "whole.h5")
    draw = random.Random(text)
    for k in range(2):
        output = tmp_path / f"run_{k}.h5"
        reached, delay = draw.uniform(0.0, 0.6) * duration, draw.uniform(1e-4, 0.02)
        assert run_killed(scene, output, changes, reached, delay)
        assert not pysim.load_trajectory(output).complete
        pysim.resume(output)
        assert not differing(tmp_path / "whole.h5", output)


def test_a_finished_file_holds_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "mass.toml").write_text(MASS)
    pysim.simulate(pysim.load_scene(tmp_path / "mass.toml"), tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert "checkpoint" not in file
    with pytest.raises(pysim.SimulationError, match=r"is complete; run its scene to run it again"):
        pysim.resume(tmp_path / "run.h5")


def test_a_checkpoint_that_cannot_be_read_leaves_the_one_before(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "slots.h5", "w") as file:
        write_checkpoint(file, 3, b"older")
        write_checkpoint(file, 5, b"newer")
        assert read_checkpoint(file) == (1, 5, 0, b"newer")
        file[SLOTS[1]].resize(7, axis=0)
        assert read_checkpoint(file) == (0, 3, 0, b"older")
        write_checkpoint(file, 8, b"newest")
        assert read_checkpoint(file) == (1, 8, 0, b"newest")


def test_changes_since_the_run_are_named_and_force_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scene, output = tmp_path / "mass.toml", tmp_path / "run.h5"
    scene.write_text(MASS)
    run_to_stop(pysim.load_scene(scene), output, 1, monkeypatch)
    before = output.read_bytes()
    scene.write_text(MASS.replace("50.0", "60.0"))
    assert main(["resume", str(output), "--quiet"]) == 2
    remedy = "undo that, run the scene again, or go on with --force (force=True)"
    problem = f"the text of {scene} has changed"
    assert capsys.readouterr().err == f"error: {output}: {problem}; {remedy}\n"
    assert output.read_bytes() == before
    assert main(["resume", str(output), "--quiet", "--force"]) == 0
    assert pysim.load_trajectory(output).complete


def test_a_run_that_checkpoints_do_not_hold_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    (tmp_path / "called.py").write_text(CALLED)
    (tmp_path / "mass.toml").write_text('plugins = ["called.py"]\n' + MASS + CONTROL)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    own = pysim.load_scene(tmp_path / "mass.toml", allow_code=True)
    with pytest.raises(KeyboardInterrupt):
        pysim.simulate(own, tmp_path / "run.h5", interrupt)
    reason = "controller 'regulator' runs in Python without a method state"
    with pytest.raises(pysim.SimulationError, match=f"cannot be resumed: {reason}"):
        pysim.resume(tmp_path / "run.h5", allow_code=True)
