"""Arguments of a wrong kind of simulate, rollout, resume and replay: errors that name the argument.

Oracle: the list of arguments; each was silent or an untyped error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError

SCENE = Path(__file__).parents[2] / "scenes" / "pendulum.toml"


@pytest.fixture(scope="module")
def scene():
    return pysim.load_scene(SCENE, {"simulation.duration": 0.02})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("integrator", 3, "integrator: must be the name of a scheme, got int"),
        ("integrator", ["rk4"], "integrator: must be the name of a scheme, got list"),
        ("signals", None, "signals: must be a list of names, got NoneType"),
        ("signals", "angle", r"signals: must be a list of names, got a text; give \['angle'\]"),
        ("signals", [3], r"signals\[0\]: must be a name, got int"),
        ("state", "x", "state: must be the state of a rollout, got str"),
        ("contacts", "no", "contacts: must be True or False, got 'no'"),
        ("worlds", True, "worlds must be a list of whole numbers, got True"),
        ("worlds", "x", "worlds must be a list of whole numbers, got 'x'"),
        ("worlds", np.array(3), "worlds must be a list of whole numbers"),
        ("q0", [1j], "q0 must hold real numbers, got dtype complex128"),
        ("q0", np.array([True]), "q0 must hold real numbers, got dtype bool"),
        ("q0", [[1.0], [1.0, 2.0]], "q0 must be an array of numbers, got rows of unequal length"),
        ("v0", [None], "v0 must hold real numbers, got dtype object"),
        ("controls", [[1j]], "controls must hold real numbers, got dtype complex128"),
    ],
)
def test_rollouts_name_an_argument_of_a_wrong_kind(scene, name, value, text):
    with pytest.raises((SimulationError, ValueError), match=text):
        pysim.rollout(scene, **{name: value})


@pytest.mark.parametrize("out", [3, np.zeros(3), "xy", (np.zeros(2),)])
def test_rollouts_of_models_name_an_output_that_is_no_pair(scene, out):
    start = scene.state
    with pytest.raises(SimulationError, match="out: must be two arrays, of q and of v"):
        pysim.rollout(scene.model, start.q, start.v, None, 1e-3, steps=2, out=out)


def test_simulate_does_not_replace_a_file_for_the_text_no(scene, tmp_path):
    path = tmp_path / "run.h5"
    pysim.simulate(scene, path)
    before = path.read_bytes()
    with pytest.raises(SimulationError, match="overwrite: must be True or False, got 'no'"):
        pysim.simulate(scene, path, overwrite="no")
    assert path.read_bytes() == before


def test_simulate_names_a_path_or_callback_of_a_wrong_kind(scene):
    with pytest.raises(SimulationError, match="output: must be the path of a file, got int"):
        pysim.simulate(scene, 3)
    with pytest.raises(SimulationError, match="progress: must be a function of one argument"):
        pysim.simulate(scene, progress="bar")


@pytest.mark.parametrize("function", [pysim.resume, pysim.replay])
def test_resume_and_replay_name_a_path_or_flag_of_a_wrong_kind(function, tmp_path):
    with pytest.raises(SimulationError, match="path: must be the path of a file, got NoneType"):
        function(None)
    with pytest.raises(SimulationError, match="allow_code: must be True or False, got 'no'"):
        function(tmp_path / "run.h5", allow_code="no")


@pytest.mark.parametrize("steps", [0, 1.5, True, "x", None])
def test_replay_rejects_steps_that_are_no_whole_number_above_zero(steps):
    with pytest.raises(SimulationError, match="steps: must be a whole number, 1 or more"):
        pysim.replay("run.h5", steps)


def test_linearize_names_an_argument_of_a_wrong_kind(scene):
    with pytest.raises(TypeError, match=r"scene must be a pysim\.Scene, got NoneType"):
        pysim.linearize(None)
    for name, value in (("inputs", 3), ("outputs", True), ("state", 1.5), ("state", "x")):
        with pytest.raises(SimulationError, match=f"{name}: must be"):
            pysim.linearize(scene, **{name: value})
    with pytest.raises(SimulationError, match=r"outputs\[0\]: must be a name, got list"):
        pysim.linearize(scene, outputs=[["q"]])
    for period in ("x", 1j, [[1.0]]):
        with pytest.raises(pysim.PysimError, match="period: must"):
            pysim.linearize(scene, period=period)


def test_inverse_kinematics_names_an_argument_of_a_wrong_kind(scene):
    targets = {scene.model.spec.bodies[0].name: np.eye(4)}
    for name, value in (("threads", None), ("threads", 1.5), ("threads", -1), ("seed", "x")):
        with pytest.raises(ValueError, match=f"{name} must be a whole number, 0 or more"):
            pysim.inverse_kinematics(scene.model, targets, **{name: value})
    with pytest.raises(TypeError, match=r"weights must be a mapping .* got float"):
        pysim.inverse_kinematics(scene.model, targets, weights=0.5)
