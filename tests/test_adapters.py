"""Adapters of the documentation's examples to crocoddyl, CasADi and judo, where these are installed.

Oracles: differences of the other program, and MuJoCo's kinematics for the order of its coordinates.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim

pytestmark = pytest.mark.filterwarnings("ignore")  # of the other programs
ADAPTERS = Path(__file__).parents[1] / "docs" / "examples" / "adapters"
HOPPER = """<robot name="hopper">
<link name="trunk"><inertial><mass value="2"/>
<inertia ixx=".02" iyy=".03" izz=".025" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="leg"><inertial><origin xyz="0 .01 -.1"/><mass value=".5"/>
<inertia ixx=".004" iyy=".004" izz=".001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="foot"><inertial><mass value=".2"/>
<inertia ixx=".001" iyy=".001" izz=".001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius=".04"/></geometry></collision></link>
<joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/><axis xyz="0 1 0"/><origin xyz=".02 0 -.1"/>
<limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
<joint name="knee" type="revolute"><parent link="leg"/><child link="foot"/><axis xyz="0 1 0"/><origin xyz="0 0 -.3"/>
<limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
</robot>"""
SCENE = """
materials = { default = { friction = 0.6 } }
ground = [{ plane = { normal = [0, 0, 1] } }]
[[model]]
file = "hopper.urdf"
free_base = true
start = { root_joint = { xyz = [0, 0, 0.438] } }
[[signal]]
name = "torque"
type = "input"
size = 2
[[actuator]]
name = "motors"
type = "force"
coordinates = ["hip", "knee"]
command = "torque"
[simulation]
integrator = "convex"
step = 5e-3
duration = 1.0
solver_tolerance = 1e-12
"""
MJCF = """<mujoco><option timestep="0.002"/><worldbody>
<body name="trunk" pos="0 0 1"><freejoint name="float"/><geom type="box" size=".1 .2 .05" mass="2"/>
<body name="arm" pos=".2 0 0"><joint name="shoulder" type="ball"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".5"/>
<body name="hand" pos=".3 0 0"><joint name="wrist" axis="0 1 0"/><geom type="sphere" size=".05" mass=".2"/></body>
</body></body></worldbody>
<actuator><motor name="turn" joint="wrist"/></actuator></mujoco>"""


def adapter(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ADAPTERS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def hopper(tmp_path: Path) -> pysim.Scene:
    (tmp_path / "hopper.urdf").write_text(HOPPER, "utf-8")
    (tmp_path / "scene.toml").write_text(SCENE, "utf-8")
    return pysim.load_scene(tmp_path / "scene.toml")


def start_of(scene: pysim.Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    model = scene.model
    q = model.integrate(scene.state.q, 0.02 * rng.normal(size=model.nv))
    q[2] = 0.435
    return q, 0.1 * rng.normal(size=model.nv), 0.3 * rng.normal(size=2)


def test_action_models_of_crocoddyl_have_the_derivatives_of_its_differences(
    hopper: pysim.Scene,
) -> None:
    crocoddyl = pytest.importorskip("crocoddyl")
    pinocchio = pytest.importorskip("pinocchio")
    actions = adapter("crocoddyl_actions")
    model = pinocchio.buildModelFromXML(HOPPER, pinocchio.JointModelFreeFlyer())
    state = crocoddyl.StateMultibody(model)
    weights = np.ones(state.ndx)
    horizon = actions.Horizon(hopper, state, 3, state.zero(), weights, 0.1)
    q, v, u = start_of(hopper)
    x = np.concatenate([q, v])
    action = horizon.running[1]
    data, numerical = action.createData(), crocoddyl.ActionModelNumDiff(action)
    own = numerical.createData()
    for each, numbers in ((action, data), (numerical, own)):
        each.calc(numbers, x, u)
        each.calcDiff(numbers, x, u)
    for name in ("Fx", "Fu", "Lx", "Lu"):
        found, expected = getattr(data, name), getattr(own, name)
        assert np.abs(found - expected).max() < 1e-4 * max(1, np.abs(expected).max()), name


def test_crocoddyl_solves_a_problem_with_one_call_for_all_nodes(
    hopper: pysim.Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    crocoddyl = pytest.importorskip("crocoddyl")
    pinocchio = pytest.importorskip("pinocchio")
    actions = adapter("crocoddyl_actions")
    model = pinocchio.buildModelFromXML(HOPPER, pinocchio.JointModelFreeFlyer())
    state = crocoddyl.StateMultibody(model)
    x0 = np.concatenate([hopper.state.q, hopper.state.v])
    goal = x0.copy()
    goal[2] += 0.01
    calls: list[int] = []
    derivatives = pysim.step_derivatives

    def counted(worlds: pysim.Worlds, *arguments: Any, **keys: Any) -> pysim.StepDerivatives:
        calls.append(len(worlds))
        return derivatives(worlds, *arguments, **keys)

    monkeypatch.setattr(actions.pysim, "step_derivatives", counted)
    horizon = actions.Horizon(hopper, state, 20, goal, np.ones(state.ndx), 1e-2)
    last = actions.Action(horizon, None, np.full(state.ndx, 10.0), 0.0)
    problem = crocoddyl.ShootingProblem(x0, horizon.running, last)
    solver = crocoddyl.SolverFDDP(problem)
    controls = [np.zeros(2)] * 20
    states = problem.rollout(controls)
    before = problem.calc(states, controls)
    solver.solve(states, controls, 20)
    assert solver.cost < 0.5 * before
    assert calls
    assert set(calls) == {20}
    assert len(calls) <= solver.iter + 3


def test_a_function_of_casadi_has_the_derivatives_of_differences(hopper: pysim.Scene) -> None:
    casadi = pytest.importorskip("casadi")
    step = adapter("casadi_function").StepFunction("step", hopper, nodes=2, steps=2)
    q, v, u = start_of(hopper)
    X, U = casadi.MX.sym("x", *step.size_in(0)), casadi.MX.sym("u", *step.size_in(1))
    ends = step(X, U)
    jacobian = casadi.Function(
        "jacobian", [X, U], [casadi.jacobian(ends, X), casadi.jacobian(ends, U)]
    )
    x = np.stack([np.concatenate([q, v]), np.concatenate([q, -v])], axis=1)
    controls = np.stack([u, -u], axis=1)
    by_x, by_u = (np.array(own) for own in jacobian(x, controls))
    size, nq = 1e-6, hopper.model.nq
    rng = np.random.default_rng(1)
    move, turn, push = (
        rng.normal(size=hopper.model.nv),
        rng.normal(size=hopper.model.nv),
        rng.normal(size=2),
    )

    def moved(share: float) -> tuple[np.ndarray, np.ndarray]:
        own, inputs = x.copy(), controls.copy()
        own[:nq, 1] = hopper.model.integrate(x[:nq, 1].copy(), share * move)
        own[nq:, 1] += share * turn
        inputs[:, 1] += share * push
        return own, inputs

    (up, more), (down, less) = moved(size), moved(-size)
    change = np.array(step(up, more) - step(down, less)).T.ravel()
    expected = by_x @ (up - down).T.ravel() + by_u @ (more - less).T.ravel()
    assert np.abs(change - expected).max() < 1e-6 * np.abs(expected).max()


def test_rollouts_for_judo_are_in_mujoco_s_order(tmp_path: Path) -> None:
    pytest.importorskip("judo.utils.rollout_backend")
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text(MJCF, "utf-8")
    model = mujoco.MjModel.from_xml_string(MJCF)
    backend = adapter("judo_backend").PysimBackend(path, model, 3, threads=1)
    rng = np.random.default_rng(2)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.3)
    data.qvel[:] = rng.normal(size=model.nv)
    x0 = np.concatenate([data.qpos, data.qvel])
    q, v = backend.order.to_pysim(x0)
    np.testing.assert_allclose(backend.order.to_mujoco(q, v), x0, atol=1e-14)
    controls = 0.05 * rng.normal(size=(3, 20, 1))
    states, sensors, policies = backend.rollout(x0, controls)
    assert states.shape == (3, 20, model.nq + model.nv)
    assert sensors.shape == (3, 20, 0)
    assert policies is None
    for k in range(3):
        data.qpos[:], data.qvel[:] = x0[: model.nq], x0[model.nq :]
        for u in controls[k]:
            data.ctrl[:] = u
            mujoco.mj_step(model, data)
        # 40 ms by two schemes of first order
        assert np.abs(states[k, -1, : model.nq] - data.qpos).max() < 2e-3
        assert np.abs(states[k, -1, model.nq :] - data.qvel).max() < 2e-2
