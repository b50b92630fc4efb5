"""Every array of the reference files, on every instruction set, state by state and as a batch.

Oracle: Pinocchio 4.1's numbers, cross-checked with MuJoCo 4.0 (tests/data/reference/robots_manifest.json has their
conventions). 1e-10 of an array's largest entry, derivatives 1e-9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
PROJECTED = {"Y_P"}  # by a matrix that the files do not have; Y itself is in other states


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
        n, columns = len(self.v), (10 * self.bodies[:, None] + np.arange(10)).ravel()
        if key == "Y":
            return stack[:, self.v][:, :, columns]
        if key.startswith("joint_"):
            return stack[:, self.bodies]
        for axis, size in enumerate(stack.shape[1:], start=1):
            if size == n and not (key == "Ag" and axis == 1) and not ("_J_" in key and axis == 1):
                stack = np.take(stack, self.v, axis=axis)
        return stack


def rotations(quaternions: Array) -> Array:
    return pysim.spatial.rotation_from_quaternion(quaternions)


def armed(m: pysim.Model) -> pysim.Model:
    """With a rotor of 0.1 on every coordinate but the base's."""
    armature = np.full(m.nv, 0.1)
    if m.joints[0].type == "free":
        armature[:6] = 0
    return m.with_armature(armature)


# Of a model, q, v, a, tau and f_ext.
NUMBERS: dict[str, Callable[..., Array]] = {
    "M": lambda m, q, v, a, tau, f: pysim.crba(m, q),
    "nle": lambda m, q, v, a, tau, f: pysim.nonlinear_effects(m, q, v),
    "g": lambda m, q, v, a, tau, f: pysim.generalized_gravity(m, q),
    "Ccor": lambda m, q, v, a, tau, f: pysim.coriolis_matrix(m, q, v),
    "tau": lambda m, q, v, a, tau, f: pysim.rnea(m, q, v, a),
    "tau_ext": lambda m, q, v, a, tau, f: pysim.rnea(m, q, v, a, f),
    "qdd": lambda m, q, v, a, tau, f: pysim.aba(m, q, v, tau),
    "qdd_ext": lambda m, q, v, a, tau, f: pysim.aba(m, q, v, tau, f),
    "qdd_arm": lambda m, q, v, a, tau, f: pysim.aba(armed(m), q, v, tau),
    "ke": lambda m, q, v, a, tau, f: pysim.kinetic_energy(m, q, v),
    "pe": lambda m, q, v, a, tau, f: pysim.potential_energy(m, q),
    "com": lambda m, q, v, a, tau, f: pysim.center_of_mass(m, q),
    "vcom": lambda m, q, v, a, tau, f: (
        pysim.centroidal_momentum(m, q, v)[..., :3] / m.total_mass
    ),
    "acom": lambda m, q, v, a, tau, f: (
        pysim.centroidal_momentum_rate(m, q, v, a)[..., :3] / m.total_mass
    ),
    "hg": lambda m, q, v, a, tau, f: pysim.centroidal_momentum(m, q, v),
    "dhg": lambda m, q, v, a, tau, f: pysim.centroidal_momentum_rate(m, q, v, a),
    "Ag": lambda m, q, v, a, tau, f: pysim.centroidal_map(m, q),
    "dtau_dq": lambda m, q, v, a, tau, f: pysim.rnea_derivatives(m, q, v, a)[0],
    "dtau_dv": lambda m, q, v, a, tau, f: pysim.rnea_derivatives(m, q, v, a)[1],
    "ddq_dq": lambda m, q, v, a, tau, f: pysim.aba_derivatives(m, q, v, tau)[0],
    "ddq_dv": lambda m, q, v, a, tau, f: pysim.aba_derivatives(m, q, v, tau)[1],
    "ddq_dtau": lambda m, q, v, a, tau, f: pysim.aba_derivatives(m, q, v, tau)[2],
    "Y": lambda m, q, v, a, tau, f: pysim.joint_torque_regressor(m, q, v, a),
    "joint_pos": lambda m, q, v, a, tau, f: pysim.forward_kinematics(m, q)[..., :3, 3],
    "joint_quat": lambda m, q, v, a, tau, f: pysim.forward_kinematics(m, q)[..., :3, :3],
}
# Of a frame.
FRAME_NUMBERS: dict[str, Callable[..., Array]] = {
    "pos": lambda m, q, v, a, frame: pysim.frame_placement(m, q, frame)[..., :3, 3],
    "R": lambda m, q, v, a, frame: pysim.frame_placement(m, q, frame)[..., :3, :3],
    "J_LOCAL": lambda m, q, v, a, frame: pysim.jacobian(m, q, frame, "local"),
    "J_WORLD": lambda m, q, v, a, frame: pysim.jacobian(m, q, frame, "world"),
    "J_LWA": lambda m, q, v, a, frame: pysim.jacobian(m, q, frame, "aligned"),
    "vel_LWA": lambda m, q, v, a, frame: pysim.frame_velocity(m, q, v, frame, "aligned"),
    "acc_LWA": lambda m, q, v, a, frame: pysim.frame_acceleration(
        m, q, v, a, frame, "aligned", classical=True
    ),
}


def error(robot: Robot, key: str, form: str) -> float:
    """Largest error of an array in `form` over its states, relative to its largest entry."""
    states = [k for k in robot.states if f"s{k}/{key}" in robot.file]
    arguments = [robot.given(x, states) for x in ("q", "v", "a")]
    if key in NUMBERS:
        function: Callable[..., Array] = NUMBERS[key]
        arguments += [robot.given(x, states) for x in ("tau_in", "fext")]
        more: tuple[str, ...] = ()
    else:
        function, more = FRAME_NUMBERS[key[3:]], (robot.frames[int(key[1])],)
    if form == "batch":
        mine = function(robot.model, *arguments, *more)
    else:
        alone = zip(*arguments, strict=True)
        mine = np.array([function(robot.model, *state, *more) for state in alone])
    right = robot.expected(key, states)
    right = rotations(right) if key == "joint_quat" else right
    assert mine.shape == right.shape
    return float(np.abs(mine - right).max() / np.abs(right).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_the_table_has_every_array_of_the_files(name):
    robot = Robot(name)
    frames = {f"f{k}_{key}" for k in range(len(robot.frames)) for key in FRAME_NUMBERS}
    assert robot.keys - PROJECTED == GIVEN | set(NUMBERS) | frames


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("form", ["single", "batch"])
def test_every_array_is_the_reference(name, form, isa):
    robot = Robot(name)
    errors = {key: error(robot, key, form) for key in robot.keys - GIVEN - PROJECTED}
    wrong = {k: e for k, e in errors.items() if not e <= (1e-9 if k in SLOPES else 1e-10)}
    assert wrong == {}
