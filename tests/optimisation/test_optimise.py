"""Optimised numbers of a scene.

Oracles: SciPy on closed forms of an oscillator and of the slider of a six-bar; the parabola of a throw.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import least_squares

import pysim
from pysim.cli import main
from pysim.errors import PysimError, SimulationError

OSCILLATOR = """gravity = [0, 0, 0]
[parameters]
stiffness = 20.0
damping = 1.0
[[body]]
name = "block"
mass = 1.0
[[joint]]
name = "slide"
type = "prismatic"
child = "block"
stiffness = "= stiffness"
damping = "= damping"
start = 0.1
[[sensor]]
name = "place"
type = "coordinates"
coordinates = ["slide"]
[[signal]]
name = "measured"
type = "table"
unit = "m"
interpolation = "natural"
t = [0, 0.25, 0.5, 0.75, 1.0]
values = [0.1, 0.04, -0.05, -0.03, 0.02]
[[controller]]
name = "deviation"
type = "sum"
weights = [1, -1]
inputs = ["place.q", "measured"]
[simulation]
integrator = "rk4"
step = 5e-4
duration = 1.0
[output]
every = 0.05
"""
BOTH = {"parameters.stiffness": [5.0, 80.0], "parameters.damping": [0.1, 6.0]}
THROW = """
[parameters]
speed = 6.0
slope = 0.4
[[body]]
name = "ball"
mass = 0.2
[[joint]]
name = "x"
type = "prismatic"
axis = [1, 0, 0]
child = "sled"
start = { v = "= speed * cos(slope)" }
[[body]]
name = "sled"
mass = 0
[[joint]]
name = "z"
type = "prismatic"
parent = "sled"
child = "ball"
start = { v = "= speed * sin(slope)" }
[simulation]
integrator = "rk4"
step = 1e-2
duration = 1.0
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scene.toml"
    path.write_text(text, "utf-8")
    return path


def damped(t: np.ndarray, stiffness: float, damping: float) -> np.ndarray:
    """Place of the oscillator of 1 kg from 0.1 m at rest [m]."""
    rate = np.sqrt(stiffness - damping**2 / 4)
    return (
        0.1 * np.exp(-damping * t / 2) * (np.cos(rate * t) + damping / 2 / rate * np.sin(rate * t))
    )


def test_residuals_end_at_the_numbers_of_least_squares_on_the_closed_form(tmp_path: Path) -> None:
    path = written(tmp_path, OSCILLATOR)
    best = pysim.optimise(path, BOTH, residuals="deviation")
    run = pysim.simulate(pysim.load_scene(path))
    measured = run.signals["measured"]

    def residuals(x: np.ndarray) -> np.ndarray:
        return damped(run.t, *x) - measured

    oracle = least_squares(residuals, [20, 1], xtol=1e-15, ftol=1e-15, gtol=1e-15, jac="3-point")
    assert best.success
    np.testing.assert_allclose(list(best.numbers.values()), oracle.x, rtol=1e-8)
    assert best.value == pytest.approx(oracle.cost, rel=1e-9)
    again = pysim.simulate(best.scene())
    np.testing.assert_allclose(again.q[:, 0], damped(again.t, *oracle.x), atol=1e-9)


def test_a_quantity_is_minimised_to_the_same_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, OSCILLATOR)
    first = pysim.optimise(path, BOTH, residuals="deviation")
    second = pysim.optimise(path, BOTH, minimise="deviation.rms")
    np.testing.assert_allclose(
        list(second.numbers.values()), list(first.numbers.values()), rtol=2e-5
    )


def test_a_throw_is_as_slow_as_its_target_allows(tmp_path: Path) -> None:
    """Least speed by which a ball is 2 m away and 1 m higher after 1 s: v = (2, 1 + g/2)."""
    path = written(tmp_path, THROW)
    best = pysim.optimise(
        path,
        {"parameters.speed": [1, 20], "parameters.slope": [0.0, 1.5]},
        minimise="kinetic.max",
        constraints={"q.x": [2, 2], "q.z.end": [1, np.inf]},
    )
    up = 1 + 9.81 / 2
    assert best.success
    assert best.numbers["parameters.speed"] == pytest.approx(np.hypot(2, up), rel=1e-7)
    assert best.numbers["parameters.slope"] == pytest.approx(np.arctan2(up, 2), rel=1e-7)
    assert best.constraints == pytest.approx({"q.x": 2.0, "q.z.end": 1.0}, abs=1e-6)


def test_constraints_that_exclude_each_other_are_no_success(tmp_path: Path) -> None:
    path = written(tmp_path, THROW)
    best = pysim.optimise(
        path, {"parameters.speed": [1, 4, 3]}, minimise="kinetic.max", constraints={"q.x": [9, 10]}
    )
    assert not best.success
    assert best.message == "no numbers within the bounds keep the constraints"


RIPPLE = OSCILLATOR.replace("[0.1, 0.04, -0.05, -0.03, 0.02]", "[0.1, -0.09, 0.08, -0.07, 0.06]")


@pytest.mark.parametrize(
    "options", [{"method": "global", "seed": 1, "most_steps": 8}, {"starts": 4}]
)
def test_a_far_minimum_is_found_from_elsewhere(tmp_path: Path, options: dict[str, object]) -> None:
    """A start at 1500 N/m ends in another valley; the data swing with half a period of 0.25 s."""
    path = written(tmp_path, RIPPLE)
    bounds = {"parameters.stiffness": [5, 2500, 1500]}
    coarse = {"simulation.step": 5e-3}
    near = pysim.optimise(path, bounds, residuals="deviation", overrides=coarse)
    options = {"overrides": coarse, **options}
    far = pysim.optimise(path, bounds, residuals="deviation", **options)  # type: ignore[arg-type]
    assert far.value < 0.5 * near.value
    assert far.numbers["parameters.stiffness"] == pytest.approx((np.pi / 0.25) ** 2, rel=0.1)


LINKAGE = """gravity = [0, 0, 0]
[parameters]
coupler = 0.30
rocker = 0.22
ground = 0.35
rod = 0.4
[[body]]
name = "crank"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "drive"
type = "revolute"
axis = [0, 1, 0]
child = "crank"
motion = { signal = "turn" }
[[signal]]
name = "turn"
type = "spline"
unit = "rad"
t = [0, 1]
values = [0.3, 2.3]
[[body]]
name = "coupler"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "crank pin"
type = "revolute"
axis = [0, 1, 0]
parent = "crank"
child = "coupler"
at = { xyz = [0.1, 0, 0] }
start = -0.9
[[body]]
name = "rocker"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "pivot"
type = "revolute"
axis = [0, 1, 0]
child = "rocker"
at = { xyz = ["= ground", 0, 0] }
start = -1.7
[[loop]]
name = "pin"
type = "revolute"
axis = [0, 1, 0]
a = "coupler"
b = "rocker"
at_a = { xyz = ["= coupler", 0, 0] }
at_b = { xyz = ["= rocker", 0, 0] }
[[body]]
name = "rod"
mass = 1
inertia = { xx = 1, yy = 1, zz = 1 }
[[joint]]
name = "rocker pin"
type = "revolute"
axis = [0, 1, 0]
parent = "rocker"
child = "rod"
at = { xyz = ["= rocker", 0, 0] }
start = 1.7
[[body]]
name = "slider"
mass = 1
[[joint]]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
child = "slider"
start = 0.7
[[loop]]
name = "slider pin"
type = "revolute"
axis = [0, 1, 0]
a = "rod"
b = "slider"
at_a = { xyz = ["= rod", 0, 0] }
[[sensor]]
name = "place"
type = "coordinates"
coordinates = ["slide"]
[[signal]]
name = "wanted"
type = "spline"
unit = "m"
t = [0, 0.5, 1]
values = [0.70, 0.74, 0.80]
[[controller]]
name = "deviation"
type = "sum"
weights = [1, -1]
inputs = ["place.q", "wanted"]
[assembly]
hold = ["drive"]
[simulation]
integrator = "rk4"
step = 1e-3
duration = 1.0
[output]
every = 0.05
[optimise]
residuals = ["deviation"]
[optimise.numbers]
"parameters.coupler" = [0.25, 0.5]
"parameters.rocker" = [0.15, 0.4]
"parameters.rod" = [0.3, 0.6]
"""


def slider(angle: np.ndarray, coupler: float, rocker: float, rod: float) -> np.ndarray:
    """Place of the slider of the six-bar [m]; z points down where angles about y are positive."""
    x, z = 0.1 * np.cos(angle) - 0.35, -0.1 * np.sin(angle)
    span = np.hypot(x, z)
    inner = np.arccos((span**2 + rocker**2 - coupler**2) / (2 * span * rocker))
    heading = np.arctan2(-z, x) + SIDE * inner
    return np.asarray(
        0.35 + rocker * np.cos(heading) + np.sqrt(rod**2 - (rocker * np.sin(heading)) ** 2)
    )


SIDE = 1.0


def test_an_optimised_six_bar_has_the_lengths_of_scipys(tmp_path: Path) -> None:
    path = written(tmp_path, LINKAGE)
    run = pysim.simulate(pysim.load_scene(path))
    angle, wanted = run.q[:, 0], run.signals["wanted"]
    np.testing.assert_allclose(slider(angle, 0.30, 0.22, 0.4), run.signals["place.q"], atol=1e-9)
    best = pysim.optimise(path)
    oracle = least_squares(
        lambda x: slider(angle, *x) - wanted, [0.30, 0.22, 0.4], xtol=1e-15, ftol=1e-15, gtol=1e-15,
        bounds=([0.25, 0.15, 0.3], [0.5, 0.4, 0.6]), jac="3-point",
    )  # fmt: skip
    assert best.success
    assert best.value < 0.2 * 0.5 * np.sum((slider(angle, 0.30, 0.22, 0.4) - wanted) ** 2)
    np.testing.assert_allclose(list(best.numbers.values()), oracle.x, atol=1e-9)


def test_the_command_writes_the_scene_with_its_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, output = written(tmp_path, THROW), tmp_path / "best.toml"
    words = ["optimise", str(path), "--number", "parameters.slope=0.1:1.5", "--minimise", "q.x.end"]
    assert main([*words, "--constraint", "q.z.min=-0.1:inf", "-o", str(output)]) == 0
    printed = capsys.readouterr().out
    found = float(printed.split("parameters.slope")[1].split()[0])
    assert found == pytest.approx(1.5, abs=1e-6)
    assert "q.z.min" in printed
    scene = pysim.load_scene(output)
    assert scene.state.v[1] == pytest.approx(6 * np.sin(found), rel=1e-6)
    assert main([*words, "-o", str(output)]) == 2
    assert "exists; name another file, or add --overwrite" in capsys.readouterr().err


FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "no objective": ({}, "optimise: needs one of minimise and residuals, got none"),
    "two": (
        {"minimise": "kinetic", "residuals": "q.x"},
        "needs one of minimise and residuals, got both",
    ),
    "statistic": (
        {"residuals": "q.x.max"},
        "residuals: 'q.x.max': is the statistic 'max' of a signal",
    ),
    "signal": ({"minimise": "q.y.max"}, "'q.y.max': the scene has no such signal"),
    "outside": (
        {"minimise": "q.x", "numbers": {"parameters.speed": [7, 9]}},
        "numbers: parameters.speed: starts at 6, which is not between 7 and 9",
    ),
    "order": (
        {"minimise": "q.x", "numbers": {"parameters.speed": [9, 7]}},
        "must have finite bounds [lower, upper] or [lower, upper, start], got [9, 7]",
    ),
    "missing": (
        {"minimise": "q.x", "numbers": {"body.ball.com": [0, 1]}},
        "numbers: body.ball.com: has no number in the scene; give its start in SI units",
    ),
    "shared": (
        {"minimise": "q.x", "numbers": {"simulation.step": [1e-3, 1e-2]}},
        "simulation.step: is the same in all worlds; set it in the scene",
    ),
    "bounds": (
        {"minimise": "q.x", "constraints": {"q.z": [2, 1]}},
        "constraints: q.z: must have bounds [lower, upper], one may be infinite, got [2, 1]",
    ),
    "method": (
        {"minimise": "q.x", "method": "locale"},
        "there is no 'locale'; did you mean 'local'",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_mistake_is_named(tmp_path: Path, case: str) -> None:
    options, text = FAULTS[case]
    path = written(tmp_path, THROW)
    numbers = {"numbers": {"parameters.speed": [1, 9]}} | options
    with pytest.raises(SimulationError) as caught:
        pysim.optimise(path, **numbers)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_a_start_that_fails_is_an_error_with_its_reason(tmp_path: Path) -> None:
    path = written(tmp_path, LINKAGE)
    with pytest.raises(PysimError, match=r"the start fails: |cannot be assembled|does not close"):
        pysim.optimise(path, {"parameters.coupler": [0.05, 0.5, 0.06]})
