"""States of elements that grow without bound. Oracle: x′ = x² with x(0) = 1 has its pole at t = 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.elements.blocks import FIXED, disc, motor, simulation, table

POLE = '''
import numpy as np
from pysim.controllers import Controller, controller, real, signal


@controller("NAME")
class Own(Controller):
    """A state with a rate of its own."""

    inputs = signal("q", unit="rad")
    outputs = signal("torque", unit="N·m")
    states = real("x")

    def start(self):
        return {"x": 1.0}

    def output(self, x):
        return x

    def state_rate(self, inputs, x):
        return RATE
'''
SCHEMES = ["dopri5", "convex", *FIXED]


def scene_with(
    folder: Path, rate: str, integrator: str, drives: bool, **keys: float
) -> pysim.Scene:
    kind = f"c{folder.name}"
    (folder / "own.py").write_text(POLE.replace("NAME", kind).replace("RATE", rate), "utf-8")
    text = 'plugins = ["own.py"]\n' + disc()
    text += table("controller", name="c", type=kind, inputs=["angle.q"])
    text += (motor("c") if drives else "") + simulation(integrator, duration=2.0, **keys)
    (folder / "scene.toml").write_text(text, "utf-8")
    return pysim.load_scene(folder / "scene.toml", allow_code=True)


@pytest.mark.parametrize("drives", [True, False])
@pytest.mark.parametrize("integrator", SCHEMES)
def test_a_state_with_a_pole_ends_the_run_with_its_controller(
    tmp_path: Path, integrator: str, drives: bool
) -> None:
    scene = scene_with(tmp_path, "x * x", integrator, drives)
    with pytest.raises(
        pysim.SimulationError, match=r"the state 'c\.x' of controller 'c' grows without"
    ):
        pysim.simulate(scene)


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint", "convex", "dopri5"])
def test_a_rollout_loses_the_worlds_of_a_pole_with_its_controller(
    tmp_path: Path, integrator: str
) -> None:
    scene = scene_with(tmp_path, "x * x", integrator, drives=True)
    with pytest.warns(pysim.PysimWarning, match=r"controller 'c'"):
        run = pysim.rollout(scene, np.zeros((2, 1)), np.zeros((2, 1)))
    assert np.isnan(run.v[:, -1]).all()
    assert all("'c.x'" in text for text in run.failures)


@pytest.mark.parametrize("rate", ["0.5 * x", "2e3 * (x - x**3)", "-50.0 * x", "np.sin(20.0 * x)"])
@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint"])
def test_states_that_are_bounded_or_followed_go_on(
    tmp_path: Path, integrator: str, rate: str
) -> None:
    scene = scene_with(tmp_path, rate, integrator, drives=False, step=2e-4)
    assert pysim.simulate(scene).complete
