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
        ("threads", True, "threads must be a whole number, got True"),
        ("steps", np.True_, "steps must be a whole number, got np.True_"),
        ("worlds", [True], "worlds must be a whole number, got True"),
        ("worlds", [[1, 2], [1]], "worlds must be a whole number, got"),
        ("spectral_radius", -1, "spectral_radius must be from 0 to 1, got -1"),
        ("spectral_radius", 1.5, "spectral_radius must be from 0 to 1, got 1.5"),
        ("step", 0, r"step must be positive \[s\], got 0"),
    ],
)
def test_rollouts_name_an_argument_of_a_wrong_kind(scene, name, value, text):
    with pytest.raises((SimulationError, ValueError), match=text):
        pysim.rollout(scene, **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("threads", True, "threads must be a whole number, got True"),
        ("every", True, "every must be a whole number, got True"),
        ("spectral_radius", -1, "spectral_radius must be from 0 to 1, got -1"),
        ("step", -1e-3, r"step must be positive \[s\], got -0.001"),
        ("loop_q", [[1.0], [1.0, 2.0]], "loop_q must be an array of numbers, got rows of"),
        ("signals", np.zeros(3), r"signals\[0\]: must be a name, got float64"),
        ("contacts", 0, "contacts: must be True or False, got 0"),
    ],
)
def test_rollouts_of_models_name_an_argument_of_a_wrong_kind(scene, name, value, text):
    arguments = {"step": 1e-3, "steps": 2, name: value}
    with pytest.raises((SimulationError, ValueError), match=text):
        pysim.rollout(scene.model, scene.state.q, scene.state.v, None, **arguments)


@pytest.mark.parametrize("other", [None, "x", 3, []])
def test_rollouts_name_what_is_no_scene_in_a_list_of_scenes(scene, other):
    kind = type(other).__name__
    with pytest.raises(SimulationError, match=rf"scene\[1\]: must be a pysim.Scene .*, got {kind}"):
        pysim.rollout([scene, other])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.reason([]), r"world: must be the number of a world, got \[\]"),
        (lambda w: w.scene(True), "world: must be the number of a world, got True"),
        (lambda w: w.step(seconds=2**70), "seconds: .* is more than 2147483647 steps of"),
        (lambda w: w.signals.rows([1.5]), "where: must be numbers of worlds"),
        (lambda w: w.signals.rows([3]), "where: there is no world 3"),
        (lambda w: w.signals.rows(names=3), "names: must be a list of names, got int"),
        (lambda w: w.signals[[]], r"signals: \[\]: the scene has no such signal"),
        (lambda w: w.inputs[[]], r"inputs: \[\]: the scene has no such input"),
        (lambda w: w.parameters[None], "parameters: must be the path of a number, got NoneType"),
        (lambda w: setattr(w, "q", np.zeros(7)), r"q: must have shape \(3, 1\), got \(7,\)"),
        (lambda w: setattr(w, "t", [0, 1]), r"t: must have shape \(3,\), got \(2,\)"),
        (lambda w: setattr(w, "v", np.ma.masked_array([[1.0]], [[True]])), "v: has masked numbers"),
        (lambda w: w.parameters.__setitem__("gravity", True), "parameters: gravity: must be real"),
        (lambda w: w.parameters.__setitem__("gravity", "x"), "parameters: gravity: must be real"),
        (
            lambda w: w.parameters.__setitem__("gravity", np.zeros(7)),
            r"parameters: gravity: must have shape \(3, 3\), got \(7,\)",
        ),
    ],
)
def test_worlds_name_an_argument_of_a_wrong_kind(scene, call, text):
    worlds = pysim.Worlds(scene, 3)
    with pytest.raises(pysim.PysimError, match=f"^{text}"):
        call(worlds)


@pytest.mark.parametrize("value", [None, True, 3, np.zeros((2, 3, 4))])
def test_worlds_name_observed_signals_of_a_wrong_kind(scene, value):
    with pytest.raises(SimulationError, match=r"observe(\[0\])?: must be a (list of )?name"):
        pysim.Worlds(scene, 2, observe=value)


def test_worlds_name_a_precision_that_is_an_array(scene):
    with pytest.raises(SimulationError, match=r"dtype: must be np\.float64 or np\.float32"):
        pysim.Worlds(scene, 2, dtype=np.zeros(2))


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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros(7), r"must have shape \(1,\) \[m, rad\], got \(7,\)"),
        ([], r"must have shape \(1,\) \[m, rad\], got \(0,\)"),
        (True, "must hold real numbers, got dtype bool"),
        ("x", "must hold real numbers, got dtype <U1"),
        ([1j], "must hold real numbers, got dtype complex128"),
        ([[1.0], [1.0, 2.0]], "must be an array of numbers"),
        ([np.nan], "must be finite, got nan"),
    ],
)
def test_inverse_kinematics_names_a_guess_of_the_loops_of_a_wrong_kind(value, text):
    scene = pysim.load_scene(SCENE.parent / "four_bar.toml")
    targets = {scene.model.spec.bodies[0].name: np.eye(4)}
    with pytest.raises(ValueError, match=f"^loop_q: {text}"):
        pysim.inverse_kinematics(scene.model, targets, loop_q=value)


@pytest.mark.parametrize("name", ["iterations", "threads", "restarts"])
def test_inverse_kinematics_names_a_number_that_is_too_large(scene, name):
    targets = {scene.model.spec.bodies[0].name: np.eye(4)}
    with pytest.raises(ValueError, match=f"{name} must be 2147483647 at most"):
        pysim.inverse_kinematics(scene.model, targets, **{name: 2**70})
