"""Every array of the reference files, on every instruction set, state by state and as a batch.

Oracle: Pinocchio 4.1's numbers, cross-checked with MuJoCo 4.0 (tests/data/reference/robots_manifest.json has their
conventions). 1e-10 of an array's largest entry, derivatives 1e-9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

import pysim
from tests.robots import MANIFEST, REFERENCE, load_robot, reference_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

ROBOTS = ["panda", "ur5", "double_pendulum", "anymal"]
GIVEN = {"q", "v", "a", "tau_in", "fext", "phi"}
SLOPES = {"dtau_dq", "dtau_dv", "ddq_dq", "ddq_dv", "ddq_dtau"}
MATRICES = {"M", "Ccor", *SLOPES}
VECTORS = {"nle", "g", "tau", "tau_ext", "qdd", "qdd_ext", "qdd_arm"}
PROJECTION = np.random.default_rng(7).normal(size=(130, 4))  # of Y, in ANYmal's later states


class Robot:
    """A robot and its reference states, in the order of the model's joints."""

    def __init__(self, name: str) -> None:
        self.model = load_robot(name)
        self.frames = MANIFEST[name]["frames"]
        self.q, self.v, self.bodies = reference_order(self.model, name)
        self.file = np.load(REFERENCE / f"{name}.npz")
        self.states = range(MANIFEST[name]["n_states"])
        self.keys = {key.split("/")[-1] for key in self.file}

    def given(self, key: str, states: Any) -> Array:
        order = {"q": self.q, "fext": self.bodies}.get(key, self.v)
        return np.array([self.file[f"s{k}/{key}"][order] for k in states])

    def expected(self, key: str, states: Any) -> Array:
        """An array as the file has it, its axes in the model's order."""
        stack = np.array([self.file[f"s{k}/{key}"] for k in states])
        if key == "Y":
            return stack[:, self.v][:, :, (10 * self.bodies[:, None] + np.arange(10)).ravel()]
        if key in MATRICES:
            return stack[:, self.v][:, :, self.v]
        if key == "Ag" or "_J_" in key:
            return stack[:, :, self.v]
        if key in VECTORS or key == "Y_P":
            return stack[:, self.v]
        return stack[:, self.bodies] if key.startswith("joint_") else stack


def rotations(quaternions: Array) -> Array:
    return pysim.spatial.rotation_from_quaternion(quaternions)


def armed(m: pysim.Model) -> pysim.Model:
    """With a rotor of 0.1 on every coordinate but the base's."""
    armature = np.full(m.nv, 0.1)
    if m.joints[0].type == "free":
        armature[:6] = 0
    return m.with_armature(armature)


def projected(m: pysim.Model, Y: Array) -> Array:
    """Y times a matrix whose rows belong to the parameters of the reference's bodies."""
    _, _, bodies = reference_order(m, "anymal")
    return Y @ PROJECTION[(10 * bodies[:, None] + np.arange(10)).ravel()]


class At(NamedTuple):
    """States, or one."""

    q: Array
    v: Array
    a: Array
    tau: Array
    f: Array


# Of a model and states.
NUMBERS: dict[str, Callable[..., Any]] = {
    "M": lambda m, s: pysim.crba(m, s.q),
    "nle": lambda m, s: pysim.nonlinear_effects(m, s.q, s.v),
    "g": lambda m, s: pysim.generalized_gravity(m, s.q),
    "Ccor": lambda m, s: pysim.coriolis_matrix(m, s.q, s.v),
    "tau": lambda m, s: pysim.rnea(m, s.q, s.v, s.a),
    "tau_ext": lambda m, s: pysim.rnea(m, s.q, s.v, s.a, s.f),
    "qdd": lambda m, s: pysim.aba(m, s.q, s.v, s.tau),
    "qdd_ext": lambda m, s: pysim.aba(m, s.q, s.v, s.tau, s.f),
    "qdd_arm": lambda m, s: pysim.aba(armed(m), s.q, s.v, s.tau),
    "ke": lambda m, s: pysim.kinetic_energy(m, s.q, s.v),
    "pe": lambda m, s: pysim.potential_energy(m, s.q),
    "com": lambda m, s: pysim.center_of_mass(m, s.q),
    "vcom": lambda m, s: pysim.centroidal_momentum(m, s.q, s.v)[..., :3] / m.total_mass,
    "acom": lambda m, s: pysim.centroidal_momentum_rate(m, s.q, s.v, s.a)[..., :3] / m.total_mass,
    "hg": lambda m, s: pysim.centroidal_momentum(m, s.q, s.v),
    "dhg": lambda m, s: pysim.centroidal_momentum_rate(m, s.q, s.v, s.a),
    "Ag": lambda m, s: pysim.centroidal_map(m, s.q),
    "dtau_dq": lambda m, s: pysim.rnea_derivatives(m, s.q, s.v, s.a)[0],
    "dtau_dv": lambda m, s: pysim.rnea_derivatives(m, s.q, s.v, s.a)[1],
    "ddq_dq": lambda m, s: pysim.aba_derivatives(m, s.q, s.v, s.tau)[0],
    "ddq_dv": lambda m, s: pysim.aba_derivatives(m, s.q, s.v, s.tau)[1],
    "ddq_dtau": lambda m, s: pysim.aba_derivatives(m, s.q, s.v, s.tau)[2],
    "Y": lambda m, s: pysim.joint_torque_regressor(m, s.q, s.v, s.a),
    "Y_P": lambda m, s: projected(m, pysim.joint_torque_regressor(m, s.q, s.v, s.a)),
    "joint_pos": lambda m, s: pysim.forward_kinematics(m, s.q)[..., :3, 3],
    "joint_quat": lambda m, s: pysim.forward_kinematics(m, s.q)[..., :3, :3],
}
# Of a frame as well.
FRAME_NUMBERS: dict[str, Callable[..., Array]] = {
    "pos": lambda m, s, frame: pysim.frame_placement(m, s.q, frame)[..., :3, 3],
    "R": lambda m, s, frame: pysim.frame_placement(m, s.q, frame)[..., :3, :3],
    "J_LOCAL": lambda m, s, frame: pysim.jacobian(m, s.q, frame, "local"),
    "J_WORLD": lambda m, s, frame: pysim.jacobian(m, s.q, frame, "world"),
    "J_LWA": lambda m, s, frame: pysim.jacobian(m, s.q, frame, "aligned"),
    "vel_LWA": lambda m, s, frame: pysim.frame_velocity(m, s.q, s.v, frame, "aligned"),
    "acc_LWA": lambda m, s, frame: pysim.frame_acceleration(
        m, s.q, s.v, s.a, frame, "aligned", classical=True
    ),
}


def error(robot: Robot, key: str, form: str) -> float:
    """Largest error of an array in `form` over its states, relative to its largest entry."""
    states = [k for k in robot.states if f"s{k}/{key}" in robot.file]
    batch = At(*(robot.given(x, states) for x in ("q", "v", "a", "tau_in", "fext")))
    more: tuple[str, ...] = () if key in NUMBERS else (robot.frames[int(key[1])],)
    function = NUMBERS.get(key) or FRAME_NUMBERS[key[3:]]
    if form == "batch":
        mine = function(robot.model, batch, *more)
    else:
        alone = [At(*state) for state in zip(*batch, strict=True)]
        mine = np.array([function(robot.model, state, *more) for state in alone])
    right = robot.expected(key, states)
    right = rotations(right) if key == "joint_quat" else right
    assert mine.shape == right.shape
    return float(np.abs(mine - right).max() / np.abs(right).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_the_table_has_every_array_of_the_files(name):
    robot = Robot(name)
    frames = {f"f{k}_{key}" for k in range(len(robot.frames)) for key in FRAME_NUMBERS}
    assert robot.keys | {"Y_P"} == GIVEN | set(NUMBERS) | frames


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("form", ["single", "batch"])
def test_every_array_is_the_reference(name, form, isa):
    robot = Robot(name)
    errors = {key: error(robot, key, form) for key in robot.keys - GIVEN}
    wrong = {k: e for k, e in errors.items() if not e <= (1e-9 if k in SLOPES else 1e-10)}
    assert wrong == {}
