"""Mistakes in first scenes: each is reported with the corrected line, the word that pysim uses, or a warning.

The oracle is the sentence that a reader should get, word for word.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SceneError
from pysim.simulation import load_scene

ROD = """[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 1.0, yy = 1.0, zz = 1.0 }
"""
HINGE = """[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
"""  # line 5 to 8


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def error_of(text: str) -> str:
    Path("s.toml").write_text(text, "utf-8")
    with pytest.raises(SceneError) as caught:
        load_scene("s.toml")
    return str(caught.value)


def joint_of(kind: str) -> str:
    return ROD + HINGE.replace("revolute", kind)


WORDS = {
    "revolute": ("hinge", "continuous", "pin", "Rotary"),
    "prismatic": ("slide", "slider"),
    "ball": ("spherical",),
    "free": ("floating", "freejoint", "6dof", "free-flyer"),
    "fixed": ("weld",),
    "universal": ("cardan", "hooke"),
    "helical": ("lead screw",),
}


@pytest.mark.parametrize(("word", "type_"), [(w, t) for t, words in WORDS.items() for w in words])
def test_joint_types_of_other_programs_lead_to_those_of_pysim(word: str, type_: str) -> None:
    expected = f"s.toml:7:8: joint[0].type: unknown joint type {word!r}; did you mean {type_!r}?"
    assert error_of(joint_of(word)) == expected


@pytest.mark.parametrize("word", ["ground", "worldbody", "universe"])
def test_words_for_the_ground_lead_to_the_world(word: str) -> None:
    expected = (
        f"s.toml:9:10: joint[0].parent: unknown body or frame {word!r}; did you mean 'world'?"
    )
    assert error_of(ROD + HINGE + f'parent = "{word}"\n') == expected


@pytest.mark.parametrize(
    ("word", "integrator"),
    [("implicit", "implicit_midpoint"), ("euler", "semi_implicit"), ("ode45", "dopri5")],
)
def test_integrators_of_other_programs_lead_to_those_of_pysim(word: str, integrator: str) -> None:
    problem = f"unknown integrator {word!r}; did you mean {integrator!r}?"
    text = ROD + HINGE + f'[simulation]\nintegrator = "{word}"\n'
    assert error_of(text) == f"s.toml:10:14: simulation.integrator: {problem}"


CORRECTED = {
    "at = [0, 0, 1]": (
        "9:6: joint[0].at: must be a table, { rpy = …, quat_wxyz = …, quat_xyzw = …, axis_angle = …, xyz = … }, "
        "got [0, 0, 1]; write at = { xyz = [0, 0, 1] }"
    ),
    "limits = [-1, 1]": (
        "9:10: joint[0].limits: must be a table, { lower = …, upper = …, stiffness = …, damping = …, "
        "dissipation = …, restitution = … }, got [-1, 1]; write limits = { lower = -1, upper = 1 }"
    ),
    'motion = "swing"': (
        "9:10: joint[0].motion: must be a table, { signal = …, … }, got 'swing'; "
        'write motion = { signal = "swing" }'
    ),
    "[[simulation]]\nduration = 1.0": (
        "9:3: simulation: must be one table, not a list of tables; write [simulation]"
    ),
    '[[actuator]]\njoint = "hinge"\ntorque = 1.0': (
        "11:1: actuator[0].torque: unknown key; did you mean 'offset'?"
    ),
    '[[force]]\nname = "f"\ntype = "spring"\nb = "rod"': (
        "9:1: force[0]: has neither stiffness nor damping; give stiffness [N/m] or damping [N·s/m]"
    ),
    '[[force]]\nname = "f"\nstiffnes = 1.0': (
        "9:1: force[0].type: is missing; add it: spring, or a force plugin: path_spring, rope, bushing, "
        "linear_drag, …\n"
        "s.toml:11:1: force[0].stiffnes: unknown key; did you mean 'stiffness'?"
    ),
    "[render]\nsize = [-1, 100]": "10:9: render.size[0]: must be at least 16 [pixel], got -1",
}


@pytest.mark.parametrize("text", CORRECTED)
def test_a_mistake_is_answered_with_the_corrected_line(text: str) -> None:
    expected = CORRECTED[text]
    assert error_of(ROD + HINGE + text + "\n") == (f"s.toml:{expected}")


def test_three_moments_of_inertia_in_a_list_are_answered_with_the_table() -> None:
    expected = (
        "s.toml:4:11: body[0].inertia: must be a table, { xx = …, yy = …, zz = …, … }, got [1, 2, 2]; "
        "write inertia = { xx = 1, yy = 2, zz = 2 }"
    )
    text = ROD.replace("{ xx = 1.0, yy = 1.0, zz = 1.0 }", "[1, 2, 2]")
    assert error_of(text + HINGE) == expected


DEGREES = {
    "start = 30": (
        "joint[0].start: 30 [rad] exceeds four full turns, 25.1 [rad]; if degrees were meant, write 0.5235987756"
    ),
    "start = 20": (
        "joint[0].start: 20 [rad] exceeds one full turn, 6.28 [rad]; if degrees were meant, write 0.3490658504"
    ),
    "start = { q = -90 }": (
        "joint[0].start.q: -90 [rad] exceeds four full turns, 25.1 [rad]; if degrees were meant, write -1.570796327"
    ),
    "limits = { lower = -1, upper = 90 }": (
        "joint[0].limits.upper: 90 [rad] exceeds four full turns, 25.1 [rad]; if degrees were meant, write 1.570796327"
    ),
    '[[actuator]]\njoint = "hinge"\namplitude = 1.0\nphase = 90': (
        "actuator[0].phase: 90 [rad] exceeds one full turn, 6.28 [rad]; if degrees were meant, write 1.570796327"
    ),
}


@pytest.mark.parametrize("text", DEGREES)
def test_angles_that_look_like_degrees_are_warned_of(text: str) -> None:
    Path("s.toml").write_text(ROD + HINGE + text, "utf-8")
    with pytest.warns(PysimWarning, match=re.escape(DEGREES[text]) + "$") as caught:
        load_scene("s.toml")
    assert sum("degrees" in str(w.message) for w in caught) == 1


def test_large_angles_of_a_winch_and_lengths_are_not_taken_for_degrees() -> None:
    for type_, keys in (("revolute", "start = 12.5\nlimits = { lower = -20, upper = 20 }"),
                        ("prismatic", "start = 30\nlimits = { lower = 0, upper = 90 }")):  # fmt: skip
        Path("s.toml").write_text(joint_of(type_) + keys, "utf-8")
        load_scene("s.toml")


def test_degrees_in_a_urdf_are_warned_of() -> None:
    Path("r.urdf").write_text(
        """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<origin rpy="0 90 0"/></joint></robot>""",
        "utf-8",
    )
    expected = (
        "r.urdf:4:1: joint 'j': 'rpy' of <origin> is '0 90 0' [rad], beyond one full turn, 6.28 [rad]; "
        "if degrees were meant, write 0 1.570796327 0"
    )
    with pytest.warns(PysimWarning, match=f"^{re.escape(expected)}$"):
        pysim.load_model("r.urdf")


@pytest.mark.parametrize("text", ["", 'name = "nothing"\n'])
def test_a_scene_without_bodies_is_rejected(text: str) -> None:
    assert error_of(text) == "s.toml: has no [[body]] and no [[model]]; add one"


def test_a_table_of_overrides_keeps_the_other_keys_of_the_file() -> None:
    settings = '[simulation]\nduration = 3.0\nstep = 1e-2\nintegrator = "semi_implicit"\n'
    Path("s.toml").write_text(ROD + HINGE + settings, "utf-8")
    for overrides in ({"simulation": {"step": 1e-4}}, {"simulation": "{ step = 1e-4 }"}):
        found = load_scene("s.toml", overrides=overrides).settings
        assert (found.duration, found.step, found.integrator) == (3.0, 1e-4, "semi_implicit")
    with pytest.raises(
        SceneError, match=r"^--set simulation\.stp: unknown key; did you mean 'step'"
    ):
        load_scene("s.toml", overrides={"simulation": {"stp": 1e-4}})


def test_a_trajectory_is_not_written_under_the_suffix_of_another_format() -> None:
    Path("s.toml").write_text(ROD + HINGE + "[simulation]\nduration = 0.01\n", "utf-8")
    expected = "d.csv: trajectories are HDF5 files, not .csv; call it d.h5"
    with pytest.raises(pysim.TrajectoryError, match=f"^{re.escape(expected)}$"):
        pysim.simulate(load_scene("s.toml"), "d.csv")
    assert not Path("d.csv").exists()
    with pytest.raises(pysim.TrajectoryError, match=f"^{re.escape(expected)}$"):
        pysim.simulate(load_scene("s.toml")).save("d.csv")


def test_dir_lists_public_names_alone() -> None:
    assert {"TYPE_CHECKING", "annotations", "import_module", "find_spec"} & {*dir(pysim)} == set()
    assert {"load_scene", "aba", "spatial"} <= {*dir(pysim)}
    assert np.all([hasattr(pysim, name) for name in dir(pysim)])
