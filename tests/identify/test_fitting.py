"""Numbers of scenes from recorded runs: friction, stiffness and restitution from a bounce and a slide, with loops.

Oracle: the numbers of the scene that made the recording; closed form of a sliding block.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import IdentificationError
from pysim.identify import fit

BOUNCE_AND_SLIDE = """
[materials.rubber]
friction = 0.45
stiffness = 2e3
restitution = { value = 0.7, at = 1.0 }
[[ground]]
plane = { normal = [0, 0, 1] }
material = "rubber"
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 } }
mass = 1.0
collision = true
material = "rubber"
[[joint]]
name = "ball moves"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.6], v = [0.5, 0, 0, 0, 0, 0] }
[[body]]
name = "block"
shape = { box = [0.2, 0.2, 0.2] }
mass = 1.0
collision = true
material = "rubber"
[[joint]]
name = "block moves"
type = "free"
child = "block"
start = { xyz = [0, 1, 0.0975], v = [2.0, 0, 0, 0, 0, 0] }
[[exclude]]
between = ["ball", "block"]
[simulation]
step = 1e-3
duration = 2.0
[output]
every = 0.004
"""
LOOP = """
[materials.cork]
friction = 0.3
stiffness = 2e3
restitution = { value = 0.4, at = 1.0 }
[[ground]]
plane = { normal = [0, 0, 1], offset = -0.2 }
material = "cork"
[[body]]
name = "crank"
shape = { sphere = { radius = 0.05 }, at = { xyz = [0, 0, 0.2] } }
mass = 1.0
[[joint]]
name = "crank hinge"
type = "revolute"
axis = [0, 1, 0]
child = "crank"
start = { q = 1.4 }
[[body]]
name = "coupler"
shape = { sphere = { radius = 0.05 }, at = { xyz = [0.15, 0, 0] } }
mass = 1.0
collision = true
material = "cork"
[[joint]]
name = "knee"
type = "revolute"
axis = [0, 1, 0]
parent = "crank"
child = "coupler"
at = { xyz = [0, 0, 0.2] }
start = { q = -1.4 }
[[body]]
name = "rocker"
shape = { sphere = { radius = 0.05 }, at = { xyz = [0, 0, 0.2] } }
mass = 1.0
[[joint]]
name = "rocker hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rocker"
at = { xyz = [0.3, 0, 0] }
start = { q = 1.4 }
[[loop]]
name = "pin"
type = "revolute"
axis = [0, 1, 0]
a = "coupler"
at_a = { xyz = [0.3, 0, 0] }
b = "rocker"
at_b = { xyz = [0, 0, 0.2] }
[simulation]
step = 1e-3
duration = 3.0
[output]
every = 0.002
"""


def scene_of(folder: Path, text: str) -> Path:
    path = folder / "scene.toml"
    path.write_text(text, "utf-8")
    return path


def recorded(path: Path, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A run with noise of that share of its range on every measured number."""
    run = pysim.simulate(pysim.load_scene(path))
    rng = np.random.default_rng(3)
    q = run.q + (noise * np.ptp(run.q, axis=0) + 1e-4) * rng.normal(size=run.q.shape)
    for k in range(0, q.shape[1], 7):
        q[:, k + 3 : k + 7] /= np.linalg.norm(q[:, k + 3 : k + 7], axis=1)[:, None]
    return run.t, q


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_friction_stiffness_and_restitution_follow_from_a_bounce_and_a_slide(
    tmp_path: Path,
) -> None:
    """Within 1 % with 1 % noise, from a scene whose numbers are wrong by up to three times."""
    t, q = recorded(scene_of(tmp_path, BOUNCE_AND_SLIDE), 0.01)
    guess = BOUNCE_AND_SLIDE.replace("0.45", "0.2").replace("2e3", "6e3").replace("0.7", "0.4")
    result = fit(
        pysim.load_scene(scene_of(tmp_path, guess)),
        t,
        q,
        {
            "materials.rubber.friction": (0.05, 1.5),
            "materials.rubber.stiffness": (5e2, 5e4),
            "materials.rubber.restitution.value": (0.1, 0.95),
        },
        samples=24,
    )
    mu, stiffness, e = result.values.values()
    assert mu == pytest.approx(0.45, rel=0.01)
    assert stiffness == pytest.approx(2e3, rel=0.01)
    assert e == pytest.approx(0.7, rel=0.01)
    for exact, deviation in zip((0.45, 2e3, 0.7), result.deviations.values(), strict=True):
        assert 0 < deviation < 0.01 * exact


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_numbers_of_a_contact_follow_from_a_mechanism_with_a_loop(tmp_path: Path) -> None:
    """A parallelogram that falls on its coupler; one of three angles was measured only in the second half."""
    t, q = recorded(scene_of(tmp_path, LOOP), 0.01)
    q[: len(q) // 2, 1] = np.nan
    guess = LOOP.replace("2e3", "8e3").replace("0.4, at", "0.7, at")
    result = fit(
        scene_of(tmp_path, guess),
        t,
        q,
        {
            "materials.cork.stiffness": (3e2, 3e4),
            "materials.cork.restitution.value": (0.05, 0.95),
        },
        samples=16,
    )
    stiffness, e = result.values.values()
    assert stiffness == pytest.approx(2e3, rel=0.01)
    assert e == pytest.approx(0.4, rel=0.01)


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_number_that_nothing_depends_on_has_an_infinite_deviation(tmp_path: Path) -> None:
    """A ball that never touches the ground says nothing about friction."""
    text = BOUNCE_AND_SLIDE.replace("0, 0, 0.6]", "0, 0, 9]").replace("0, 1, 0.0975]", "0, 1, 9]")
    t, q = recorded(scene_of(tmp_path, text.replace("duration = 2.0", "duration = 0.5")), 0.01)
    found = fit(
        tmp_path / "scene.toml",
        t,
        q,
        {"materials.rubber.friction": (0.1, 1.0)},
        samples=8,
    )
    assert found.deviations["materials.rubber.friction"] == np.inf


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"parameters": {}}, "parameters: names no number"),
        ({"parameters": {"materials.rubber.friction": (1.0, 0.1)}}, "has the range 1 to 0.1"),
        ({"parameters": {"materials.rubber.friction": 0.1}}, "must have a least and a greatest"),
        ({"q": np.zeros((3, 2))}, r"q have shapes \(3,\) and \(3, 2\); give \(n,\) and \(n, 14\)"),
        ({"t": [0.0, 0.2, 0.1]}, "t must ascend from 0 on"),
        ({"q": np.full((3, 14), np.nan)}, "q must have numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_recordings_and_ranges_are_checked(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    given = {
        "t": [0.0, 0.1, 0.2],
        "q": np.zeros((3, 14)),
        "parameters": {"materials.rubber.friction": (0.1, 1.0)},
    }
    with pytest.raises(IdentificationError, match=problem):
        fit(scene_of(tmp_path, BOUNCE_AND_SLIDE), **(given | change))  # type: ignore[arg-type]


SWINGING = """
[[body]]
name = "bob"
mass = 1.0
com = [0.5, 0, 0]
inertia = { xx = 0.02, yy = 0.02, zz = 0.02 }
[[joint]]
name = "hinge"
type = "revolute"
child = "bob"
axis = [0, 1, 0]
damping = 0.2
friction = 0.05
start = { q = -1.2 }
[simulation]
integrator = "INTEGRATOR"
step = STEP
duration = 2.0
[output]
every = 0.02
"""


def test_numbers_that_steps_decide_change_with_half_the_step_and_are_reported(
    tmp_path: Path,
) -> None:
    """A pendulum recorded by RK4 at 0.1 ms: twice the changes lead from the values at 4 ms to its own numbers."""
    fine = SWINGING.replace("INTEGRATOR", "rk4").replace("STEP", "1e-4")
    run = pysim.simulate(pysim.load_scene(scene_of(tmp_path, fine)))
    q = run.q + 1e-4 * np.random.default_rng(2).normal(size=run.q.shape)
    scene = scene_of(tmp_path, SWINGING.replace("INTEGRATOR", "convex").replace("STEP", "4e-3"))
    names = ("joint.hinge.damping", "joint.hinge.friction")
    with pytest.warns(pysim.PysimWarning, match="standard deviations: the error of the steps"):
        found = fit(scene, run.t, q, {names[0]: (0.02, 2.0), names[1]: (0.005, 0.5)}, samples=16)
    for name, exact in zip(names, (0.2, 0.05), strict=True):
        off = found.values[name] - exact
        assert abs(off + 2 * found.step_changes[name]) < max(
            0.2 * abs(off), 3 * found.deviations[name]
        )


def test_numbers_that_steps_do_not_decide_are_not_reported(tmp_path: Path) -> None:
    text = SWINGING.replace("INTEGRATOR", "rk4").replace("STEP", "2e-3")
    run = pysim.simulate(pysim.load_scene(scene_of(tmp_path, text)))
    q = run.q + 1e-3 * np.random.default_rng(2).normal(size=run.q.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(
            tmp_path / "scene.toml", run.t, q, {"joint.hinge.damping": (0.02, 2.0)}, samples=8
        )
    assert abs(found.step_changes["joint.hinge.damping"]) < 1e-5
