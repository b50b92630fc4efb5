"""Directional derivatives of FMUs for model exchange.

Oracle: central differences of the same FMU's rates and outputs, of sixth order, along random directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pysim.fmu import write_fmu
from tests.elements.blocks import scene_of as scene_of_text, simulation, table
from tests.fmu.master import Equation, scene_of

if TYPE_CHECKING:
    from pathlib import Path

SCENES = (
    "balloon",
    "cable_robot",
    "cantilever",
    "driven_pendulum",
    "elbow",
    "environments/cart_pole",
    "governor",
    "gyroscope",
    "instrumented_top",
    "leg_swinging",
    "magnetic_pendulum",
    "motor_run_up",
    "rope_and_pulley",
    "rough_road",
    "screw",
    "servo_pid",
    "skid_pad",
    "spherical_pendulum",
    "t_handle",
    "tendon_finger",
    "whip",
)
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # of differences of sixth order
STEP = 1e-5
LONG = {"motor_run_up": 1e-3}  # of the direction, where states are large


def differences(
    equation: Equation, x: np.ndarray, u: np.ndarray, seed: np.ndarray, step: float
) -> np.ndarray:
    """Slopes of all unknowns along a direction of the states and inputs."""
    count, found = len(x), 0.0
    for k, weight in WEIGHTS.items():
        ends = []
        for sign in (1, -1):
            moved = step * k * sign * seed
            equation.set(0.1, x + moved[:count], u + moved[count:])
            ends.append(equation.unknowns())
        found = found + weight * (ends[0] - ends[1])
    equation.set(0.1, x, u)
    return np.asarray(found / step)


def check(equation: Equation, spread: float, step: float = STEP) -> np.ndarray:
    """Compare slopes at a state that is moved by some of its size; return them."""
    rng = np.random.default_rng(3)
    x, u = equation.states(), equation.inputs()
    x = x + spread * rng.normal(size=len(x)) * (1 + np.abs(x))
    u = u + 0.1 * rng.normal(size=len(u))
    for _ in range(3):
        seed = rng.normal(size=len(x) + len(u)) * 0.01
        expected = differences(equation, x, u, seed, step)
        found = equation.slopes(seed)
        largest = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * (largest + 0.01))
    return found


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", SCENES)
def test_slopes_are_those_of_differences(tmp_path: Path, name: str, fmi: int) -> None:
    write_fmu(scene_of(name), tmp_path / "a.fmu", fmi=fmi, model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    assert equation.has_slopes
    check(equation, 0.05, LONG.get(name, STEP))


def test_slopes_follow_parameters(tmp_path: Path) -> None:
    scene = scene_of("double_pendulum")
    write_fmu(scene, tmp_path / "a.fmu", model_exchange=True, parameters=["body.*.mass"])
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    own = [x for x in equation.description.modelVariables if x.causality == "parameter"]
    before = check(equation, 0.05)
    equation.fmu.setReal([own[-1].valueReference], [7.0])
    assert np.abs(check(equation, 0.05) - before).max() > 1e-4


def test_slopes_by_the_time(tmp_path: Path) -> None:
    write_fmu(scene_of("driven_pendulum"), tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    x, t, found = equation.states(), 0.3, 0.0
    for k, weight in WEIGHTS.items():
        found += weight * (equation.rates(t + k * 1e-3, x) - equation.rates(t - k * 1e-3, x))
    equation.set(t, x)
    rates = [own.valueReference for own in equation.rates_of]
    slopes = equation.fmu.getDirectionalDerivative(rates, [0], [1.0])
    np.testing.assert_allclose(slopes, found / 1e-3, rtol=1e-7, atol=1e-9)
    assert np.abs(slopes).max() > 0.1


SHAPES = (
    "box = { x = 0.2, y = 0.3, z = 0.2 }",
    "sphere = { radius = 0.1 }",
    "capsule = { radius = 0.05, length = 0.1 }",
    "ellipsoid = { a = 0.1, b = 0.15, c = 0.1 }",
    "cylinder = { radius = 0.1, length = 0.2 }",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_slopes_of_contacts_take_points_and_normals_along(tmp_path: Path, shape: str) -> None:
    text = table("ground", plane={"normal": [0, 0, 1], "offset": 0})
    for name, keys, height in (
        ("low", shape, 0.0995),
        ("high", "sphere = { radius = 0.08 }", 0.279),
    ):
        inertia = {"xx": 0.02, "yy": 0.015, "zz": 0.01}
        text += table("body", name=name, mass=2.0, inertia=inertia)
        text += f"collision = {{ {keys} }}\n"
        start = {"xyz": [0.01, 0.02, height], "v": [0.1, -0.2, -0.1, 0.3, 0.2, 0.5]}
        text += table("joint", name=f"free {name}", type="free", child=name, start=start)
    text += table("contact", between=["low", "high"])
    scene = scene_of_text(tmp_path, text + simulation("rk4", step=1e-3))
    write_fmu(scene, tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    slopes = check(equation, 1e-5, 1e-5)
    forces = [k for k, keys in enumerate(equation.names) if keys.startswith("contact.")]
    assert np.abs(slopes[forces]).max() > 1


def test_slopes_by_other_variables_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_fmu(scene_of("double_pendulum"), tmp_path / "a.fmu", model_exchange=True)
    equation = Equation(tmp_path / "a.fmu", tmp_path / "a")
    rates = [own.valueReference for own in equation.rates_of]
    with pytest.raises(Exception, match="fmi2GetDirectionalDerivative"):
        equation.fmu.getDirectionalDerivative(rates, rates[:1], [1.0])
    assert "is no state, input or time" in capfd.readouterr().out
