"""FMUs for model exchange.

Oracles: `dopri5` of pysim under fine tolerances, differences of states, and `accelerations_and_forces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.fmu import write_fmu
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from tests.fmu.master import Equation, Master, fmpy, scene_of
from tests.fmu.test_import import PLANT

if TYPE_CHECKING:
    from pathlib import Path

SCENES = (
    "double_pendulum",
    "spherical_pendulum",
    "gyroscope",
    "motor_run_up",
    "spring",
    "t_handle",
)


def exact(name: str, t: float) -> np.ndarray:
    changes = {
        "simulation.integrator": "dopri5",
        "simulation.step": 1e-4,
        "output.every": 1e-3,
        "simulation.rtol": 1e-11,
        "simulation.atol": 1e-12,
    }
    worlds = pysim.Worlds(scene_of(name, changes))
    worlds.step(seconds=t)
    return np.array([*worlds.q.tolist(), *worlds.v.tolist()])


def simulated(path: Path, names: list[str], t: float) -> np.ndarray:
    found = fmpy.simulate_fmu(
        str(path), fmi_type="ModelExchange", solver="CVode", relative_tolerance=1e-8,
        stop_time=t, output_interval=t / 10, output=names,
    )  # fmt: skip
    return np.array([found[name][-1] for name in names])


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", SCENES)
def test_cvode_agrees_with_dopri5(tmp_path: Path, name: str, fmi: int) -> None:
    scene, t = scene_of(name), 0.5
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi, model_exchange=True)
    model = scene.model
    names = [f"q.{x}" for x in model.coordinate_names] + [f"v.{x}" for x in model.velocity_names]
    found, expected = simulated(tmp_path / "a.fmu", names, t), exact(name, t)
    largest = max(1.0, float(np.abs(expected).max()))  # 120 rad/s of the gyroscope's rotor
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * largest)


@pytest.mark.parametrize("name", sorted({*SCENES} - {"motor_run_up"}))  # without states of elements
def test_rates_are_differences_of_the_states_on_the_way(tmp_path: Path, name: str) -> None:
    write_fmu(scene_of(name), tmp_path / "a.fmu", model_exchange=True)
    equation, h, t = Equation(tmp_path / "a.fmu", tmp_path / "a"), 1e-4, 0.2
    states = [exact(name, t + k * h) for k in (-2, -1, 0, 1, 2)]
    slope = (states[0] - 8 * states[1] + 8 * states[3] - states[4]) / (12 * h)
    x = equation.states()
    x[: len(slope)] = states[2]
    found = equation.rates(t, x)
    np.testing.assert_allclose(found, slope, atol=1e-7 * (1 + np.abs(slope).max()))


def test_quaternions_are_normalised_inside(tmp_path: Path) -> None:
    scene = scene_of("t_handle")
    write_fmu(scene, tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    x, longer = equation.states(), equation.states()
    assert scene.model.nq - scene.model.nv == 1
    quaternion = slice(scene.model.nq - 4, scene.model.nq)
    assert np.linalg.norm(x[quaternion]) == pytest.approx(1, rel=1e-14)
    longer[quaternion] *= 1.01
    np.testing.assert_allclose(equation.rates(0.1, longer), equation.rates(0.1, x), atol=1e-13)
    equation.set(0.1, longer)
    np.testing.assert_array_equal(equation.states(), longer)


def test_indicators_change_as_the_gaps_of_contacts(tmp_path: Path) -> None:
    scene = scene_of("billiards", {"simulation.integrator": "rk4"})
    write_fmu(scene, tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    assert scene.contacts is not None
    assert equation.gaps == len(scene.contacts.shapes)
    x, before = equation.states(), equation.indicators()
    x[2] += 0.125  # the height of the first ball
    equation.set(0.0, x)
    change = equation.indicators() - before
    grounded = [k for k, own in enumerate(scene.contacts.shapes) if own.opposite is None]
    moved = [k for k in grounded if change[k] != 0]
    assert moved
    np.testing.assert_allclose(change[moved], 0.125, rtol=1e-9)


def test_indicators_change_their_sign_at_limits(tmp_path: Path) -> None:
    text = PLANT.replace("damping = 0.4", "limits = { lower = -0.5, upper = 0.7, stiffness = 1e4 }")
    (tmp_path / "plant.toml").write_text(text, "utf-8")
    write_fmu(pysim.load_scene(tmp_path / "plant.toml"), tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    for angle in (-0.51, 0.0, 0.75):
        equation.set(0.0, np.array([angle, 0.0]))
        expected = [angle + 0.5, 0.7 - angle]
        np.testing.assert_allclose(equation.indicators(), expected, atol=1e-15)


@pytest.mark.parametrize("name", ["four_bar", "quadruped", "environments/go1", "double_pendulum"])
def test_accelerations_are_outputs(tmp_path: Path, name: str) -> None:
    scene = scene_of(name)
    write_fmu(scene, tmp_path / "a.fmu")
    master, worlds = Master(tmp_path / "a.fmu", tmp_path / "a"), pysim.Worlds(scene)
    length = scene.settings.step
    for k in range(60):
        worlds.step()
        master.step(k * length, length)
    records = worlds._records
    q, v, loop_q = (np.atleast_2d(x) for x in records.states(0))
    report = worlds._report() if scene.contacts is not None else np.zeros((1, 0, 18))
    t = np.array([worlds.t])
    tau = forces_of_actuators(scene, t, q, v, records.signals)
    a = accelerations_and_forces(scene, t, tau, q, v, loop_q, report)[0]
    np.testing.assert_allclose(master.get("a."), a[0], rtol=1e-9, atol=1e-8 * np.abs(a).max())


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("four_bar", "is a constraint"),
        ("quadruped", "'convex' solves contacts and limits in steps"),
        ("quadrotor", "is sampled"),
    ],
)
def test_scenes_that_are_no_equations_are_refused(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(pysim.SimulationError, match=problem):
        write_fmu(scene_of(name), tmp_path / "a.fmu", model_exchange=True)
