"""Tunable parameters of FMUs.

Oracle: `Worlds.parameters`, whose numbers are computed in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.fmu import write_fmu
from tests.fmu.master import Master, paths_of, scene_of

if TYPE_CHECKING:
    from pathlib import Path

PATTERNS = {
    "double_pendulum": ("*",),  # in a plane, with rk4
    "quadruped": ("body.*", "joint.*.damping", "joint.*.stiffness", "materials.*", "gravity"),
    "environments/reacher": ("body.*.mass", "actuator.servos.kd", "controller.weight.share"),
    "whip": ("*.mass", "*.damping", "*.stiffness"),
    "motor_run_up": ("body.*.mass", "actuator.motor.resistance", "actuator.motor.constant"),
}


def changed(start: float, rng: np.random.Generator) -> float:
    return start * float(rng.uniform(0.95, 1.05))


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", PATTERNS)
def test_parameters_act_as_those_of_worlds(tmp_path: Path, name: str, fmi: int) -> None:
    scene = scene_of(name)
    found = write_fmu(scene, tmp_path / "a.fmu", fmi=fmi, parameters=PATTERNS[name])
    parameters = [own for own in found if own.causality == "parameter"]
    assert parameters
    worlds, rng = pysim.Worlds(scene), np.random.default_rng(3)
    values = {own.name: [changed(x, rng) for x in own.start] for own in parameters}

    def give(numbers: dict[str, list[float]]) -> None:
        for path in paths_of(parameters):
            own = [x for key, row in numbers.items() if key.startswith(path) for x in row]
            worlds.parameters[path][...] = own if worlds.parameters[path].ndim else own[0]

    give(values)
    master = Master(tmp_path / "a.fmu", tmp_path / "a", starts=values)
    length = scene.settings.step
    for k in range(30):
        if k == 15:  # between steps, too
            values = {key: [changed(x, rng) for x in row] for key, row in values.items()}
            give(values)
            master.set(**values)
        worlds.step()
        master.step(k * length, length)
    states = np.array(master.get("q.", "v."))
    expected = np.array([*worlds.q.tolist(), *worlds.v.tolist()])
    np.testing.assert_allclose(states, expected, rtol=1e-9, atol=1e-11)
    unchanged = pysim.Worlds(scene)
    unchanged.step(steps=30)
    assert np.abs(unchanged.q - worlds.q).max() > 1e-7


@pytest.mark.parametrize("fmi", [2, 3])
def test_saved_states_have_their_parameters(tmp_path: Path, fmi: int) -> None:
    scene = scene_of("double_pendulum")
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi, parameters=["body.upper.mass"])
    master, length = Master(tmp_path / "a.fmu", tmp_path / "a"), scene.settings.step

    def run(begin: int, end: int) -> list[float]:
        for k in range(begin, end):
            master.step(k * length, length)
        return master.get("q.", "v.")

    word = "FMUstate" if fmi == 2 else "FMUState"
    master.set(**{"body.upper.mass": 3.0})
    run(0, 10)
    state = getattr(master.fmu, f"get{word}")()
    first = run(10, 20)
    master.set(**{"body.upper.mass": 0.5})
    assert run(20, 30) != first
    getattr(master.fmu, f"set{word}")(state)
    assert master.get("body.upper.mass") == [3.0]
    assert run(10, 20) == first
    master.fmu.reset()
    assert master.get("body.upper.mass") == scene_mass(scene)


def scene_mass(scene: pysim.Scene) -> list[float]:
    return [float(pysim.Worlds(scene).parameters["body.upper.mass"])]


def test_values_beyond_bounds_are_errors_with_their_names(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scene = scene_of("double_pendulum")
    variables = write_fmu(scene, tmp_path / "a.fmu", parameters=["body.*.mass"])
    bounds = {own.name: own.bounds for own in variables if own.causality == "parameter"}
    assert all(low > 0 for ((low, _),) in bounds.values())
    master = Master(tmp_path / "a.fmu", tmp_path / "a")
    master.set(**{"body.upper.mass": -1.0})
    with pytest.raises(Exception, match="fmi2DoStep"):
        master.step(0.0, scene.settings.step)
    assert "parameter 'body.upper.mass' must be finite, and from" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("name", "path", "problem"),
    [
        (
            "quadrotor",
            "controller.pilot.spins",
            "(what worlds share|while the scene is compiled).*; leave it out",
        ),
        ("cantilever", "gravity", "may move the start, which is an equilibrium"),
        ("double_pendulum", "body.*.mas", "matches none of"),
        ("double_pendulum", "body.upper.mas", "'mas' is not a number in which worlds can differ"),
        ("spring", "joint.slide.limits.lower", "is infinite in the scene; give a finite number"),
        ("billiards", "materials.ball.restitution.value", "is solved for it in Python"),
    ],
)
def test_parameters_that_need_python_or_move_the_start_are_refused(
    tmp_path: Path, name: str, path: str, problem: str
) -> None:
    scheme = {"simulation.integrator": "convex"} if name == "billiards" else {}
    with pytest.raises(pysim.SimulationError, match=problem):
        write_fmu(scene_of(name, scheme), tmp_path / "a.fmu", parameters=[path])


def test_descriptions_have_units_and_bounds(tmp_path: Path) -> None:
    paths = ["body.*", "joint.*", "gravity"]
    variables = write_fmu(scene_of("quadruped"), tmp_path / "a.fmu", fmi=3, parameters=paths)
    units = {
        own.name.rpartition(".")[2]: own.unit for own in variables if own.causality == "parameter"
    }
    assert units["mass"] == "kg"
    assert units["gravity"] == "m/s²"
    assert units["inertia"] == "kg·m²"
    assert units["damping"] in ("N·m·s/rad", "N·s/m")
    master = Master(tmp_path / "a.fmu", tmp_path / "a")
    mass = next(own for name, own in master.variables.items() if name.endswith(".mass"))
    assert (mass.variability, mass.causality) == ("tunable", "parameter")
    assert float(mass.min) > 0
