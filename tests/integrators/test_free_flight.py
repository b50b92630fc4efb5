"""Free bodies that spin and fly under `semi_implicit`, wherever their centres of mass are.

Oracles: the parabola of the centre of mass, off by half a step, g h t/2; the steps of the engine for those in Python.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.worlds.python_stepping import IN_PYTHON, ModelSystem
from tests.engine_steps import make_steps

SPIN = [1.0, 2.0, 3.0]
INERTIA = {"xx": 0.02, "yy": 0.03, "zz": 0.04}


def thrown(
    com: list[float],
    velocity: list[float],
    gravity: float,
    *,
    rod: bool = False,
    step: float = 2e-3,
) -> pysim.Scene:
    """A body of 1 kg whose centre of mass begins with a velocity, with a rod that swings on it if wanted."""
    b = pysim.SceneBuilder("thrown", gravity=[0, 0, gravity])
    b.body("body", mass=1.0, com=com, inertia=INERTIA)
    start = [*(np.array(velocity) - np.cross(SPIN, com)).tolist(), *SPIN]
    b.joint("flies", "free", child="body", start={"v": start})
    if rod:
        b.body("rod", mass=1e-9, com=[0, 0, 0.1], inertia=dict.fromkeys(INERTIA, 1e-9))
        b.joint("hinge", "revolute", parent="body", child="rod", axis=[0, 1, 0])
    b.simulation(duration=5.0, step=step, integrator="semi_implicit")
    b.output(every=0.05)
    return b.build()


@pytest.mark.parametrize("rod", [False, True])
@pytest.mark.parametrize("velocity", [[0.0, 0.0, 0.0], [3.0, -1.0, 0.5]])
@pytest.mark.parametrize("com", [[0.0, 0.0, 0.0], [0.24, 0.0, 0.0], [0.1, -0.2, 0.3]])
def test_the_centre_of_mass_of_a_spinning_body_flies_along_its_parabola(
    com: list[float], velocity: list[float], rod: bool
) -> None:
    for gravity in (0.0, -9.81):
        scene = thrown(com, velocity, gravity, rod=rod)
        run = pysim.simulate(scene)
        t, centre = run.t, pysim.center_of_mass(scene.model, run.q)
        path = centre[0] + np.outer(t, velocity)
        path[:, 2] += gravity * t * (t + 2e-3) / 2
        np.testing.assert_allclose(centre, path, rtol=0, atol=1e-6 if rod else 1e-10)


def test_worlds_in_single_precision_keep_the_momentum_to_rounding() -> None:
    scene = thrown([0.24, 0, 0], [3.0, -1.0, 0.5], 0.0)
    worlds = pysim.Worlds(scene, 3, dtype=np.float32)
    worlds.step(seconds=5.0)
    centre = pysim.center_of_mass(scene.model, worlds.q.astype(float))
    np.testing.assert_allclose(centre - [0.24, 0, 0], [[15, -5, 2.5]] * 3, rtol=0, atol=2e-2)


def test_steps_in_python_are_those_of_the_engine() -> None:
    scene = thrown([0.1, -0.2, 0.3], [3.0, -1.0, 0.5], -9.81, rod=True)
    system = ModelSystem(scene.model, scene.actuation)
    q, v = np.array(scene.state.q), np.array(scene.state.v)
    expected = make_steps(scene.model, q, v, 0.0, 2e-3, 50, "semi_implicit", scene.actuation)
    for k in range(50):
        q, v = IN_PYTHON["semi_implicit"].step(system, 2e-3 * k, 2e-3, q, v)
    np.testing.assert_allclose(q, expected[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(v, expected[1], rtol=0, atol=1e-11)


def test_the_work_of_a_drag_on_a_spinning_body_is_the_change_of_its_kinetic_energy() -> None:
    """At a coarse step; the angular velocity of a ball is constant."""
    b = pysim.SceneBuilder("dragged", gravity=[0, 0, 0])
    b.body("ball", mass=2.0, inertia=dict.fromkeys(INERTIA, 0.02))
    b.joint("flies", "free", child="ball", start={"v": [5.0, 0, 1.0, *SPIN]})
    b.force("drag", "linear_drag", b="ball", coefficient=1.5)
    b.simulation(duration=1.0, step=2e-2, integrator="semi_implicit")
    run = pysim.simulate(b.build())
    change = run.kinetic - run.kinetic[0]
    assert change[-1] < -10
    np.testing.assert_allclose(run.work["drag"], change, rtol=0, atol=1e-12 * abs(change[-1]))
