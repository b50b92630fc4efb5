"""Robots along published trajectories: order 4 shows, energy and centre of mass come along.

Oracle: tests/data/reference/trajectories.json (Pinocchio and DOP853, each with its uncertainty).
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.typing import Array
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.robots import REFERENCE, load_robot, reference_order

TRAJECTORIES = json.loads((REFERENCE / "trajectories.json").read_text("utf-8"))
CASES = [  # name, time to compare at [s], steps of the coarsest run
    ("double_pendulum_free", 0.1, 20),
    ("panda_passive", 0.5, 200),
    ("panda_driven_damped", 0.5, 400),
    ("ur5_passive", 0.5, 100),
    ("anymal_freefall_spinning", 1.0, 100),
]
DRIVE = np.array([1, -1, 0.5, 0.8, -0.3, 0.2, 0.1, 0.05, -0.05])


class Sample:
    """One robot without limits, damping and friction of its file, and its published rows in the model's order."""

    def __init__(self, name: str) -> None:
        robot = TRAJECTORIES[name]["robot"]
        driven = name == "panda_driven_damped"
        spec = load_robot(robot).spec
        joints = tuple(
            replace(
                joint,
                damping=np.full(len(joint.damping), 2.0 if driven else 0.0),
                friction=np.zeros(len(joint.friction)),
                lower=np.full(len(joint.lower), -np.inf),
                upper=np.full(len(joint.upper), np.inf),
            )
            for joint in spec.joints
        )
        self.model = compile_model(replace(spec, joints=joints))
        self.q_order, self.v_order, _ = reference_order(self.model, robot)
        self.rows = {row["t"]: row for row in TRAJECTORIES[name]["rows"]}
        motors = np.zeros((4, self.model.nv))
        if driven:
            motors[1], motors[2], motors[3] = 20 * DRIVE, 3.0, np.arange(9)
        self.drive = _engine.Actuation(*motors[:, self.v_order])

    def at(self, t: float) -> tuple[Array, Array]:
        row = self.rows[t]
        return np.array(row["q"])[self.q_order], np.array(row["v"])[self.v_order]

    def run(self, t: float, steps: int, scheme: str = "rk4") -> tuple[Array, Array]:
        q, v = self.at(0.0)
        q, v, done = make_steps(self.model, q, v, 0.0, t / steps, steps, scheme, self.drive)
        assert done == steps
        return q, v

    def error(self, t: float, steps: int, scheme: str = "rk4") -> float:
        """Largest error of v, and of q along the tangent."""
        q, v = self.run(t, steps, scheme)
        expected_q, expected_v = self.at(t)
        return float(np.abs([self.model.difference(expected_q, q), v - expected_v]).max())


@pytest.mark.parametrize(("name", "t", "steps"), CASES)
def test_halving_the_step_of_rk4_divides_the_error_by_sixteen(
    name: str, t: float, steps: int
) -> None:
    flight = Sample(name)
    errors = [flight.error(t, steps * k) for k in (1, 2, 4)]
    for coarse, fine in pairwise(errors):
        assert coarse / fine == pytest.approx(16, rel=0.15)
    assert errors[-1] < 1e-5


@pytest.mark.parametrize(("name", "t", "steps"), CASES)
def test_halving_the_step_of_semi_implicit_halves_the_error(
    name: str, t: float, steps: int
) -> None:
    flight = Sample(name)
    errors = [flight.error(t, 32 * steps * k, "semi_implicit") for k in (1, 2)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("name", [case[0] for case in CASES])
def test_fine_steps_reach_the_published_states_energies_and_centres_of_mass(name: str) -> None:
    flight = Sample(name)
    tolerance = 1e-9 + 10 * TRAJECTORIES[name]["uncertainty"]
    for t, row in flight.rows.items():
        if t == 0 or (name == "double_pendulum_free" and t > 0.5):  # chaotic
            continue
        q, v = flight.run(t, 20_000)
        expected_q, expected_v = flight.at(t)
        np.testing.assert_allclose(flight.model.difference(expected_q, q), 0, atol=tolerance)
        np.testing.assert_allclose(v, expected_v, rtol=tolerance, atol=tolerance)
        energy = pysim.kinetic_energy(flight.model, q, v) + pysim.potential_energy(flight.model, q)
        assert energy == pytest.approx(row["E"], rel=tolerance, abs=tolerance)
        com = pysim.center_of_mass(flight.model, q)
        np.testing.assert_allclose(com, row["com"], rtol=0, atol=tolerance)
