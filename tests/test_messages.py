"""Messages about arguments of Python functions, word for word. Oracle: the texts, which were read by a person.

Those about files are asserted beside their readers.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.events import Event
from pysim.joints import Pose, spline
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from collections.abc import Callable

ARM = pysim.load_model(SCENES / "design" / "pick_and_place.toml")
SCENE = pysim.load_scene(SCENES / "double_pendulum.toml")
MODEL = SCENE.model
TIMED = pysim.load_scene(SCENES / "timed_pendulum.toml")
SWEPT = SCENES / "pendulum.toml"
MOTION = np.zeros((3, 2, ARM.nv))
VERTICES = len(pysim.mass_mesh(ARM, "upper_arm").vertices)
NOTHING: Any = (0, 0)
zeros = np.zeros


CALLS: dict[str, Callable[[], Any]] = {
    "link 'upper': has no mesh; name a link with a mesh": lambda: pysim.mass_mesh(MODEL, "upper"),
    "link 'upper_arm': index must be below 1, got 3": lambda: pysim.mass_mesh(
        ARM, "upper_arm", index=3
    ),
    "link 'uper_arm': no such body; did you mean 'upper_arm'?": lambda: pysim.mass_mesh(
        ARM, "uper_arm"
    ),
    "slopes: must have shape (2, 3), got (3, 3)": lambda: pysim.torque_vertex_gradient(
        ARM, MOTION[0], MOTION[1], MOTION[2], "upper_arm", zeros((3, ARM.nv))
    ),
    "steps must be given if there are no controls": lambda: pysim.rollout(
        MODEL, zeros(2), zeros(2), None, 1e-3
    ),
    "step must be given for a model; only a scene has a default": lambda: pysim.rollout(  # type: ignore[call-overload]
        MODEL, zeros(2), zeros(2), zeros((3, 2))
    ),
    "steps is 4, but controls hold 3 steps; leave steps out": lambda: pysim.rollout(
        MODEL, zeros(2), zeros(2), zeros((3, 2)), 1e-3, steps=4
    ),
    "controls must have shape (batch, steps, nv) or (steps, nv), got (3,)": lambda: pysim.rollout(
        MODEL, zeros(2), zeros(2), zeros(3), 1e-3
    ),
    "loop_q must have shape (0,), got (3,)": lambda: pysim.rollout(
        MODEL, zeros(2), zeros(2), zeros((3, 2)), 1e-3, loop_q=zeros(3)
    ),
    "every must divide the number of steps, 10, got 3": lambda: pysim.rollout(
        SCENE, every=3, steps=10
    ),
    "every is a number of steps; give steps as well, or leave it out": lambda: pysim.rollout(
        SCENE, every=3
    ),
    "q0 must have shape (2,) or (batch, 2), got (3, 3)": lambda: pysim.rollout(
        SCENE, zeros((3, 3))
    ),
    "q0 must be finite, got nan or inf": lambda: pysim.rollout(SCENE, np.full(2, np.nan)),
    "q0 has 3 worlds and v0 has 2; pass the same number": lambda: pysim.rollout(
        SCENE, zeros((3, 2)), zeros((2, 2))
    ),
    "there are 2 scenes for 3 worlds; pass one scene for all, without a list, or one for each": (
        lambda: pysim.rollout([SCENE, SCENE], zeros((3, 2)), zeros((3, 2)))
    ),
    "state is that of 1 world, but this rollout has 3; pass the state of a rollout with as many worlds": (
        lambda: pysim.rollout(SCENE, zeros((3, 2)), state=pysim.rollout(SCENE, steps=1).state)
    ),
    "steps: 'dopri5' chooses its steps; leave steps out": lambda: pysim.rollout(TIMED, steps=3),
    "integrator: 'dopri5' needs tolerances; set simulation.integrator and simulation.rtol in the scene": (
        lambda: pysim.rollout(SCENE, integrator="dopri5")
    ),
    "integrator: 'convex' cannot replace 'rk4', because only 'convex' handles contacts; leave integrator out": (
        lambda: pysim.rollout(SCENE, integrator="convex")
    ),
    "n: is 0; give 1 or more": lambda: pysim.sweep(
        SWEPT, {"joint[0].damping": "normal(1,0.1)"}, 0, output="a.nc"
    ),
    "parameters: make 1000000000 worlds, more than the 100000000 allowed": lambda: pysim.sweep(
        SWEPT, {"joint[0].damping": "normal(1,0.1)"}, 10**9, output="a.nc"
    ),
    "piece: is 0; give the number of worlds of a piece, 1 or more": lambda: pysim.sweep(
        SWEPT, {"joint[0].damping": "0:1:3"}, output="a.nc", piece=0
    ),
    "a pose needs a 3×3 rotation and 3 numbers of position": lambda: Pose(
        np.eye(2).tolist(), (0.0, 0.0, 0.0)
    ),
    "out must be C-contiguous, aligned and in this processor's byte order": lambda: pysim.crba(
        MODEL, zeros(2), out=zeros((2, 2))[:, ::-1]
    ),
    "worlds: applies to a batch; leave it out for one world": lambda: pysim.save_rollout(
        "w.h5", MODEL, 0.1, zeros((3, 2)), zeros((3, 2)), worlds=[0]
    ),
    "samples: t must have shape (n,), got (3, 1)": lambda: pysim.identify.make_samples(
        MODEL, zeros((3, 1)), zeros((3, 2)), zeros((3, 2))
    ),
    "matrix: must have the form [[m 1, -mc×], [mc×, I]], differs by 2": lambda: (
        pysim.inertia.Inertia.from_matrix(np.ones((6, 6)))
    ),
    "armature: must not be negative [kg or kg·m²], got -1.0": lambda: MODEL.with_armature([1, -1]),
    "mesh: is on body 9 of a model of 3; take it from this model": lambda: (
        pysim.torque_vertex_gradient(
            ARM,
            MOTION[0, 0],
            MOTION[1, 0],
            MOTION[2, 0],
            replace(pysim.mass_mesh(ARM, "upper_arm"), body=9),
            zeros(ARM.nv),
        )
    ),
    "shell: must be a positive thickness [m], got -0.1": lambda: pysim.inertia.mesh_inertia(
        np.eye(3), [[0, 1, 2]], 1.0, shell=-0.1
    ),
    "mesh: vertices must be real numbers [m], got dtype complex128": lambda: (
        pysim.inertia.mesh_inertia(1j * np.eye(3), [[0, 1, 2]], 1.0)
    ),
    "joint.a.damping: must be a list of numbers, FIRST:LAST:COUNT or a distribution": lambda: (
        pysim.sweep(SWEPT, {"joint.a.damping": [[1.0]]}, output="a.nc")
    ),
    "out: must be C-contiguous, aligned, native and writeable": lambda: (
        pysim.torque_vertex_derivatives(
            ARM,
            MOTION[0, 0],
            MOTION[1, 0],
            MOTION[2, 0],
            "upper_arm",
            out=zeros((ARM.nv, VERTICES, 6))[..., ::2],
        )
    ),
    f"{SCENES / 'double_pendulum.toml'}: step 1e-300 [s] makes more than 2**53 steps of 10 [s]; take a longer step": (
        lambda: pysim.simulate(replace(SCENE, settings=replace(SCENE.settings, step=1e-300)))
    ),
    "module 'pysim' has no attribute 'nothing'": lambda: pysim.nothing,  # type: ignore[attr-defined]
    "module 'pysim.algorithms' has no attribute 'nothing'": lambda: pysim.algorithms.nothing,  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("text", CALLS)
def test_a_wrong_argument_is_reported(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((pysim.PysimError, ValueError, AttributeError)) as caught:
        CALLS[text]()
    assert str(caught.value) == text


AUTHORS: dict[str, Callable[[], Any]] = {
    "a spline needs two or more knots and a value each, got (1,) and (1,)": lambda: spline(
        0.5, [0.0], [1.0]
    ),
    "unknown ends 'x'; choose linear, cubic, constant, fmm": lambda: spline(
        0.5, [0.0, 1.0], [1.0, 2.0], ends="x"
    ),
    "Event: has no method value; write `def value(self, q, v)`": lambda: Event().value(*NOTHING),
}


@pytest.mark.parametrize("text", AUTHORS)
def test_a_mistake_of_an_author_is_reported_with_its_line(text: str) -> None:
    with pytest.raises(pysim.PysimError) as caught:
        AUTHORS[text]()
    assert str(caught.value).split(": ", 1)[1] == text


def test_a_rollout_with_a_fixed_step_needs_one(tmp_path: Path) -> None:
    text = SWEPT.read_text("utf-8")
    (tmp_path / "s.toml").write_text(
        "\n".join(
            'integrator = "dopri5"' if line.startswith("integrator") else line
            for line in text.splitlines()
            if not line.startswith("step ")
        )
    )
    scene = pysim.load_scene(tmp_path / "s.toml")
    with pytest.raises(pysim.SimulationError) as caught:
        pysim.rollout(scene, integrator="rk4")
    assert str(caught.value) == "step: 'rk4' needs a step, which the scene does not set; pass step="


MESH = 'shape = { mesh = "box.obj", density = 1 }\n'
BODIES = f"""
[[body]]
name = "two"
shape = [{{ mesh = "box.obj", density = 1 }}, {{ mesh = "box.obj", density = 1 }}]

[[joint]]
name = "j"
type = "free"
child = "two"

[[body]]
name = "stand"
{MESH}
[[joint]]
name = "f"
type = "fixed"
child = "stand"
"""


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("two", "link 'two': has several meshes; choose one with index=: 0 box.obj, 1 box.obj"),
        (
            "stand",
            "link 'stand': is welded to the world; its mass has no effect on any joint",
        ),
    ],
)
def test_a_mesh_that_is_not_the_only_one_is_reported(tmp_path: Path, link: str, text: str) -> None:
    shutil.copy(SCENES / "meshes" / "box.obj", tmp_path)
    (tmp_path / "s.toml").write_text(BODIES)
    model = pysim.load_scene(tmp_path / "s.toml").model
    with pytest.raises(pysim.ModelError) as caught:
        pysim.mass_mesh(model, link)
    assert str(caught.value) == text


def test_two_actuators_of_one_coordinate_are_rejected(tmp_path: Path) -> None:
    motor = '[[actuator]]\njoint = "hinge"\noffset = 1\n'
    (tmp_path / "s.toml").write_text(SWEPT.read_text("utf-8") + motor + motor)
    with pytest.raises(pysim.ModelError) as caught:
        pysim.load_scene(tmp_path / "s.toml")
    where, text = str(caught.value).split(" actuator[1]: ")
    assert where.startswith(str(tmp_path / "s.toml:"))
    assert text == "joint 'hinge' has two actuators on one coordinate; keep one"


def test_a_scene_has_no_free_base() -> None:
    with pytest.raises(pysim.SceneError) as caught:
        pysim.load_model(SWEPT, free_base=True)
    text = 'free_base is for URDF; in a scene give the body a joint of type "free"'
    assert str(caught.value) == f"{SWEPT}: {text}"


def test_a_folder_is_not_a_trajectory(tmp_path: Path) -> None:
    with pytest.raises(pysim.TrajectoryError) as caught:
        pysim.load_trajectory(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a folder; give the trajectory file in it"
