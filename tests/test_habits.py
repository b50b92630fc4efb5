"""Names of habit: what other programs call a thing is answered with the expression that does it here.

Oracles: the expressions, which run; and names of functions and attributes of Pinocchio, MuJoCo, Drake, PyBullet, SymPy
and Gymnasium, in snake case.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.habits import _TABLES, habits

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")

ROOT = Path(__file__).parents[1]
URDF = """<robot name="two"><link name="base"/>
<link name="arm"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="3" velocity="2"/></joint></robot>"""
DRAWN = ("render.view", "render.pose", "render.movie")  # need a display, or take long
PACKAGES = (
    "to_xarray",
    "to_usd",
    "to_pandas",
    "gym.make",
    "resume",
    "environments.",
    "sweep(",
    "identify.",
)
PLACES = ('worlds.signals["scan"]', "pysim.optimise(")  # of what the scene would need


@pytest.fixture
def names(tmp_path: Path) -> dict[str, Any]:
    """What the expressions name."""
    (tmp_path / "robot.urdf").write_text(URDF, "utf-8")
    file = ROOT / "scenes" / "cart_pole.toml"
    text = file.read_text("utf-8").replace("[simulation]", '[simulation]\nintegrator = "convex"')
    (tmp_path / "scene.toml").write_text(text, "utf-8")
    scene = pysim.load_scene(tmp_path / "scene.toml", {"simulation.duration": 0.2})
    model = scene.model
    q, v = scene.state.q, np.array(scene.state.v)
    body = model.body_names[-1]
    system = pysim.linearize(pysim.load_scene(file, {"controller[0].gain": [[0.0] * 4]}), ["push"])
    trajectory = pysim.simulate(scene)
    trajectory.save(tmp_path / "run.h5")
    sphere = pysim.scene.read_scene(ROOT / "scenes" / "newtons_cradle.toml").model.bodies[0]
    return {
        "pysim": pysim,
        "scene": scene,
        "model": model,
        "worlds": pysim.Worlds(scene, 2),
        "trajectory": trajectory,
        "q": q,
        "v": v,
        "a": v,
        "tau": v,
        "f_ext": np.zeros((model.nbodies, 6)),
        "t": np.zeros(1),
        "frame": body,
        "body": body,
        "joint": model.joint_names[0],
        "impulse": [0.0, 0.0, 0.1],
        "pose": np.eye(4),
        "shape": sphere.geometries[0].shape,
        "system": system,
        "Q": 1.0,
        "R": 1.0,
        "a3": np.ones(3),
        "rpy": np.ones(3),
        "quaternion": [0.0, 0.0, 0.0, 1.0],
        "twist": np.zeros(6),
        "vertices": np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.1]]),
        "faces": np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        "density": 1000.0,
        "folder": tmp_path,
        "target": tmp_path / "target.toml",
    }


def path_of(expression: str, names: dict[str, Any]) -> Path:
    """A file that the expression reads or writes."""
    folder: Path = names["folder"]
    readers = {"load_model": "robot.urdf", "load_trajectory": "run.h5", "resume": "run.h5"}
    readers |= {"load_scene": "scene.toml", "check": "scene.toml", "convert": "robot.urdf"}
    for word, file in readers.items():
        if f"pysim.{word}(" in expression:
            return folder / file
    suffix = {"csv": ".csv", "save(path": ".h5", "web": ".html", "scene.save": ".toml"}
    kind = next((x for word, x in suffix.items() if word in expression), ".png")
    return folder / f"new{kind}"


@pytest.mark.slow
@pytest.mark.render
@pytest.mark.parametrize("owner", _TABLES)
def test_every_expression_of_habit_runs(owner: str, names: dict[str, Any]) -> None:
    for expression in dict.fromkeys(habits(owner).values()):
        if any(word in expression for word in (*DRAWN, *PACKAGES, *PLACES)):
            continue
        names["path"] = path_of(expression, names)
        for file in (names["path"], names["target"]):
            if file.name.startswith(("new", "target")):
                file.unlink(missing_ok=True)
        of_example = dict(names)
        if "worlds.close()" in expression or "system" in expression:
            of_example["worlds"] = pysim.Worlds(names["scene"], 2)
        if "pysim.equilibrium" in expression:
            of_example["scene"] = pysim.load_scene(ROOT / "scenes" / "pendulum.toml")
        if "operational_space_inertia" in expression:  # of a body that moves in all directions
            box = pysim.load_scene(ROOT / "scenes" / "falling_box.toml")
            of_example |= {"model": box.model, "q": box.state.q, "frame": box.model.body_names[0]}
        if "frequency_response" in expression or ".modes()" in expression:
            of_example["scene"] = pysim.load_scene(ROOT / "scenes" / "car_over_bump.toml")
            if "frequency_response" in expression:
                continue  # of a scene with an input
        try:
            eval(expression.replace("plot(trajectory)", "plot(trajectory, path)"), of_example)
        except pysim.PysimError as error:
            pytest.fail(f"{expression}: {error}")


GUESSES = {
    "pysim": (
        "linearise linearisation mass_matrix bias_forces raycast inverse_dynamics "
        "forward_dynamics fk ik nle non_linear_effects compute_joint_torque_regressor "
        "compute_aba_derivatives centroidal_momentum_matrix ccrba compute_generalized_gravity "
        "gravity_compensation frame_jacobian geometric_jacobian jacobian_dot com jacobian_com "
        "centre_of_mass total_energy load_urdf load_mjcf from_xml_path build_model_from_urdf "
        "MultibodyPlant MjModel MjData World Simulator step mj_step make Env load_scene "
        "simulate run batch_simulate Builder ModelBuilder view viewer video screenshot plot "
        "validate fit collide signed_distance Error quaternion SE3 exp6 log6 slerp skew neutral "
        "integrate difference random_configuration bode transfer_function modal_analysis "
        "natural_frequencies lqr dlqr riccati monte_carlo load_h5 convert check aba rnea crba "
    ),
    "Model": (
        "njoints nbody ndof dof nv nq num_links mass_matrix inverse_dynamics com mass "
        "total_mass inertias gravity set_gravity links joints_names parent lower_position_limit "
        "upper_position_limit joint_limits effort_limit torque_limits velocity_limits "
        "rotor_inertia armature lock_joints build_reduced_model neutral neutral_configuration "
        "q0 random_configuration integrate difference jacobian frame_names get_frame_names "
        "create_data body_names joint_names copy opt timestep simulate visualize "
    ),
    "Worlds": (
        "qpos qvel ctrl time timestep dt sensordata num_envs xpos xquat ncon step reset save "
        "load get_state set_state nq nv model close record rollout apply_force xfrc_applied "
        "body_poses contacts contact_forces clone inputs actions observations lost set_control "
        "step_simulation simulate mass_matrix parameters params q_dot size n "
    ),
    "Trajectory": (
        "time positions velocities accelerations qpos qvel states interpolate to_dataframe csv "
        "to_csv df energy kinetic_energy potential_energy plot show movie video animate save "
        "export sensors final_state duration n_steps at poses pose_at body_names "
    ),
    "Scene": (
        "simulate run duration dt integrator bodies joints gravity q0 linearise worlds save "
        "validate inputs name timestep set view mass "
    ),
}


def test_names_by_habit_exist_or_are_answered(names: dict[str, Any]) -> None:
    objects = {"pysim": pysim, "Model": names["model"], "Scene": names["scene"]}
    objects |= {"Worlds": names["worlds"], "Trajectory": names["trajectory"]}
    unanswered = []
    for owner, guesses in GUESSES.items():
        for name in guesses.split():
            try:
                getattr(objects[owner], name)
            except pysim.UnknownNameError as error:
                if not any(word in error.problem for word in ("; write ", "did you mean", "it is")):
                    unanswered.append(f"{owner}.{name}: {error}")
    assert unanswered == []
    assert sum(len(guesses.split()) for guesses in GUESSES.values()) >= 197


@pytest.mark.parametrize(
    ("owner", "name", "text"),
    [
        ("pysim", "linearise", "pysim: has no attribute 'linearise'; write pysim.linearize(scene)"),
        ("pysim", "mass_matrix", "write pysim.crba(model, q)"),
        ("pysim", "simulat", "did you mean 'simulate'?"),
        ("pysim", "xyzzyxy", "module 'pysim' has no attribute 'xyzzyxy'"),
        ("model", "nbody", "Model: has no attribute 'nbody'; write model.nbodies"),
        ("model", "rnea_derivativs", "it is pysim.rnea_derivatives"),
        ("worlds", "qpos", "Worlds: has no attribute 'qpos'; write worlds.q"),
        ("worlds", "njoints", "write len(worlds.model.joint_names)"),
        ("trajectory", "to_dataframe", "write trajectory.to_pandas()"),
        ("scene", "duration", "write scene.settings.duration"),
    ],
)
def test_a_wrong_attribute_is_answered(
    owner: str, name: str, text: str, names: dict[str, Any]
) -> None:
    with pytest.raises(pysim.UnknownNameError) as raised:
        getattr(names[owner], name)
    assert text in str(raised.value)
    assert isinstance(raised.value, AttributeError)
    assert not hasattr(names[owner], name)
    assert getattr(names[owner], name, None) is None


def test_wrong_names_are_errors_of_one_class(names: dict[str, Any]) -> None:
    model, q, worlds = names["model"], names["q"], names["worlds"]
    for call in (
        lambda: pysim.jacobian(model, q, "nothing"),
        lambda: pysim.frame_placement(model, q, "nothing"),
        lambda: worlds.signals["nothing"],
        lambda: worlds.inputs["nothing"],
        lambda: worlds.parameters["body.nothing.mass"],
        lambda: worlds.reset(keyframe="nothing"),
        lambda: worlds.push("nothing", [0, 0, 1]),
        lambda: model.locked({"nothing": 0.0}),
        lambda: pysim.linearize(names["scene"], ["nothing"]),
        lambda: pysim.linearize(names["scene"], outputs=["nothing"]),
        lambda: names["system"].reduced(["nothing"]),
        lambda: names["trajectory"].path_of("nothing"),
        lambda: names["trajectory"].signals["nothing"],
        lambda: worlds.nothing,
    ):
        with pytest.raises(pysim.UnknownNameError, match="nothing"):
            call()


def test_private_names_and_protocols_are_left_to_python(names: dict[str, Any]) -> None:
    for own in (names["model"], names["worlds"], names["trajectory"], names["scene"]):
        with pytest.raises(AttributeError) as raised:
            own._nothing  # noqa: B018
        assert not isinstance(raised.value, pysim.PysimError)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pickle.loads(pickle.dumps(own))
    copy.copy(names["trajectory"])
    copy.deepcopy(names["scene"])
