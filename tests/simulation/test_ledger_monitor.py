"""The energy balance of runs: what is reported, and what must not be. The oracle is the energy of closed mechanisms,
conserved.

Losses are those of mechanisms near change points and of bodies too light for their loops; runs that lose or gain energy
for a reason are those of coarse steps, of stops, friction, drives and sparse outputs, and of all scenes, in
tests/test_scenes.py, where warnings are errors.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.diagnosis.world_monitor import warn_of_unstable_worlds, world_of
from pysim.errors import PysimWarning
from pysim.simulation.ledger_monitor import describe, imbalance

SCENES = Path(__file__).parents[2] / "scenes"
HINGE = "loop.hinge1.at_b.xyz"
LONG = {"simulation.duration": 5.0}
DOPRI5 = {"simulation.integrator": "dopri5", "simulation.rtol": 1e-8}


def balance_texts(scene: pysim.Scene) -> list[str]:
    """Run a scene and return what is said of its energy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pysim.simulate(scene)
    return [str(w.message) for w in caught if "without work" in str(w.message)]


def scene_of(name: str, **keys: Any) -> pysim.Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(SCENES / f"{name}.toml", keys, allow_code=True)


LOSSES: list[tuple[str, dict[str, Any]]] = [
    ("four_bars", LONG | {HINGE: [1.0000000001, 0, 0]}),
    ("four_bars", LONG | {HINGE: [1.00001, 0, 0], "simulation.integrator": "generalized_alpha"}),
    ("four_bar", {"body.coupler.shape.density": 2.7e-9}),
]


@pytest.mark.parametrize(("name", "keys"), LOSSES)
def test_energy_that_vanishes_without_work_is_reported_unless_it_is_kept(
    name: str, keys: dict[str, Any]
) -> None:
    """A run that keeps its energy to 1e-3, because it passes right, is silent."""
    scene = scene_of(name, **keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        try:
            run = pysim.simulate(scene)
        except pysim.SimulationError:
            return  # it ends instead
    off = np.abs(run.energy - run.energy[0]).max() / run.kinetic.max()
    texts = balance_texts(scene)
    assert (len(texts) == 1) == (off > 0.05)
    if texts:
        pattern = (
            r"^\S+\.toml: the run (lost|gained) \S+ J \(\S+ of the energy involved\) without work, most of it between "
            r"t = \S+ and \S+ s, more than the errors of \w+ explain; .+: .+$"
        )
        assert re.match(pattern, texts[0])


def test_a_position_where_the_loops_nearly_lose_rank_is_the_reported_cause() -> None:
    """Between two outputs the bars pass through their line, where the motion branches."""
    for text in balance_texts(scene_of(LOSSES[0][0], **LOSSES[0][1])):
        assert text.endswith(
            "; the loops nearly lose rank there, at a position where the motion branches: change a length to keep away "
            "from this position or to pass exactly through it, or shorten the step"
        )


@pytest.mark.parametrize(
    ("keys", "cause"),
    [
        ({}, "the step does not resolve the motion there"),
        (DOPRI5, "the steps do not resolve the motion there: lower simulation.rtol and atol"),
    ],
)
def test_a_loss_that_is_put_in_is_found_with_its_time_and_size(
    keys: dict[str, Any], cause: str
) -> None:
    """A conservative run whose speed drops between two outputs."""
    scene = scene_of("double_pendulum", **{"simulation.duration": 2.0}, **keys)
    run = pysim.simulate(scene)
    slower = replace(run, kinetic=run.kinetic * np.where(np.arange(len(run.t)) < 120, 1.0, 0.81))
    found = imbalance(scene, slower, 2000)
    assert found is not None
    assert found.row == 119
    assert found.size < 0
    text = describe(scene, slower, found)
    assert f"between t = {run.t[119]:.6g} and {run.t[120]:.6g} s" in text
    assert f"; {cause}" in text
    assert imbalance(scene, run, 2000) is None


COARSE = [
    ("double_pendulum", "rk4", 2e-2),
    ("double_pendulum", "semi_implicit", 1e-2),
    ("by_hand", "rk2", 1e-2),
    ("four_bar", "semi_implicit", 5e-3),
    ("slider_crank", "rk2", 2e-3),
    ("t_handle", "generalized_alpha", 1e-2),
    ("spherical_pendulum", "variational", 2e-2),
    ("robot_arm", "rk4", 5e-3),
    ("stewart_platform", "implicit_midpoint", 2e-2),
    ("five_bar", "rk4", 1e-2),
]


@pytest.mark.parametrize(("name", "integrator", "step"), COARSE)
def test_errors_that_the_scheme_explains_are_not_reported(
    name: str, integrator: str, step: float
) -> None:
    keys = {
        "simulation.integrator": integrator,
        "simulation.step": step,
        "simulation.duration": 1.5,
        "output.every": max(step, 0.01),
    }
    assert balance_texts(scene_of(name, **keys)) == []


STOPPED = """
name = "stopped"
gravity = [0, 0, -9.81]
[[body]]
name = "bob"
mass = 1.0
com = [0, 0, -0.5]
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.01 }}
[[joint]]
name = "hinge"
type = "revolute"
child = "bob"
axis = [0, 1, 0]
start = {{ q = 1.0 }}
{keys}
[simulation]
duration = 4.0
step = 1e-3
{scheme}
[output]
every = {every}
"""
HARD = "limits = { lower = -0.2, upper = 2.0, stiffness = 1e5, damping = %s }"


@pytest.mark.parametrize("every", [1e-3, 0.01, 0.1])
@pytest.mark.parametrize("scheme", ["", 'integrator = "generalized_alpha"'])
@pytest.mark.parametrize(
    "keys",
    [
        HARD % "0",
        HARD % "1000",
        "damping = 0.3",
        "damping = 30.0",
        "friction = 0.5",
        "friction = 0.5\nfriction_width = 1e-2",
        "stiffness = 200\nrest = 0.0\ndamping = 0.1",
        "armature = 0.1\nfriction = 2.0\ndamping = 0.1",
    ],
)
def test_stops_friction_and_dampers_are_not_reported_however_sparse_the_outputs(
    tmp_path: Path, keys: str, scheme: str, every: float
) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(STOPPED.format(keys=keys, scheme=scheme, every=every), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        scene = pysim.load_scene(path)
    assert balance_texts(scene) == []


@pytest.mark.parametrize("every", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("frequency", [3.0, 30.0, 300.0])
def test_drives_are_not_reported_however_sparse_the_outputs(
    tmp_path: Path, every: float, frequency: float
) -> None:
    drive = f'\n[[actuator]]\njoint = "hinge"\namplitude = 10.0\nfrequency = {frequency}\n'
    path = tmp_path / "scene.toml"
    path.write_text(STOPPED.format(keys="", scheme="", every=every) + drive, "utf-8")
    assert balance_texts(pysim.load_scene(path)) == []


def test_an_imbalance_before_energies_overflow_has_a_finite_size() -> None:
    """A conservative run whose speeds grow from one output on until their squares overflow."""
    scene = scene_of("double_pendulum", **{"simulation.duration": 2.0})
    run = pysim.simulate(scene)
    growth = 10.0 ** np.maximum(0.0, np.minimum(20.0 * (np.arange(201.0) - 120), 300.0))
    with np.errstate(over="ignore"):
        faster = replace(run, kinetic=run.kinetic * growth**2)
    assert not np.isfinite(faster.energy).all()
    found = imbalance(scene, faster, 2000)
    assert found is not None
    assert found.size > 0
    assert np.isfinite([found.size, found.scale]).all()


# Rollouts ----------------------------------------------------------------------------------------


def rollout_texts(*arguments: Any, **keys: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pysim.rollout(*arguments, **keys)
    return [str(w.message) for w in caught if "without work" in str(w.message)]


def test_a_rollout_reports_the_world_that_loses_energy() -> None:
    scene = scene_of(LOSSES[1][0], **LOSSES[1][1])
    of_scene = rollout_texts(scene)
    q0, v0 = (np.tile(x, (3, 1)) for x in (scene.state.q, scene.state.v))
    v0[[0, 2]] = 0.0  # these swing, and turn before the change point
    run = pysim.simulate(scene_of("four_bars", **LONG))
    assert np.ptp(run.energy) < 1e-6
    of_model = rollout_texts(
        scene.model, q0, v0, None, 1e-3, "generalized_alpha", steps=5000, every=20
    )
    for texts in (of_scene, of_model):
        assert len(texts) <= 1
        for text in texts:
            assert re.match(r"^rollout: world \d: the run lost \S+ J ", text)
    assert len(of_scene) == len(balance_texts(scene))


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar", "spherical_pendulum", "five_bar"])
@pytest.mark.parametrize("every", [1, 25, 500])
def test_rollouts_that_keep_their_energy_or_are_driven_are_silent(
    name: str, every: int, rng: np.random.Generator
) -> None:
    scene = scene_of(name)
    worlds, steps = 60, 2000
    q0, v0 = (np.tile(x, (worlds, 1)) for x in (scene.state.q, scene.state.v))
    model = scene.model
    step = 5e-4
    assert rollout_texts(model, q0, v0, None, step, steps=steps, every=every) == []
    random = 0.1 * rng.normal(size=(worlds, steps, model.nv))
    assert rollout_texts(model, q0, v0, random, step, every=every) == []
    held = np.repeat(random[:, ::50], 50, axis=1)
    assert rollout_texts(model, q0, v0, held, step, every=every) == []


def test_a_world_that_loses_its_energy_is_reported() -> None:
    """A conservative world, of many, that has lost a third of its speed at its last rows."""
    model = scene_of("double_pendulum").model
    steps, step, worlds = 4000, 1e-3, 80
    q0, v0 = np.tile(model.neutral(), (worlds, 1)), np.full((worlds, 2), 3.0)
    t = np.asarray(step * np.arange(0, steps + 1, 10), np.float64)
    q, v = (
        x.astype(np.float64)
        for x in pysim.rollout(model, q0, v0, None, step, steps=steps, every=10)
    )
    v[40, 200:] *= 0.1
    world = world_of(model, "rk4", step, {})
    pattern = r"^rollout: world 40: the run lost \S+ J .* without work until t = .*: shorten step, now 0.001 "
    with pytest.warns(PysimWarning, match=pattern):
        warn_of_unstable_worlds([world], t, q, v, steps)


def test_a_world_whose_q_does_not_follow_its_velocity_is_reported() -> None:
    """A damper far beyond the stability of the step, held by a spring: v changes its sign at every step."""


def test_the_controls_of_a_world_that_ends_early_belong_to_their_rows(
    rng: np.random.Generator,
) -> None:
    """Until it ends, the work of its controls explains its energy."""
    scene, worlds = scene_of("double_pendulum"), 200
    q0, v0 = (np.tile(x, (worlds, 1)) for x in (scene.state.q, scene.state.v))
    u = np.repeat(0.5 * rng.normal(size=(worlds, 40, 2)), 50, axis=1)
    u[:, 1000:] = 1e200
    assert rollout_texts(scene.model, q0, v0, u, 1e-3, every=10) == []
