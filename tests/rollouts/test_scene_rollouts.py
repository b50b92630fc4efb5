"""Rollouts of scenes: every world runs what its scene says. The oracle is `simulate`, world by world."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError, PysimWarning, SimulationError

SCENES = Path(__file__).parents[2] / "scenes"
SHORT = {"simulation.duration": 0.1, "output.every": 0.01}
DRIVEN = ["andrews", "driven_pendulum", "five_bar", "robot_arm"]
ADAPTED = {"simulation.integrator": "dopri5", "simulation.rtol": 1e-8}
Array = np.ndarray


def scene_of(name: str, **more: Any) -> pysim.Scene:
    return pysim.load_scene(SCENES / f"{name}.toml", SHORT | more)


def with_start(scene: pysim.Scene, q: Array, v: Array) -> pysim.Scene:
    return dataclasses.replace(scene, state=pysim.State(q, v, scene.state.loop_q))


@pytest.mark.parametrize("name", DRIVEN)
def test_a_rollout_of_a_scene_runs_its_actuators_as_simulate_does(name: str) -> None:
    keys = {"simulation.duration": 0.01, "output.every": 0.001} if name == "andrews" else {}
    scene = scene_of(name, **keys)
    run, alone = pysim.rollout(scene), pysim.simulate(scene)
    np.testing.assert_array_equal(run.t, alone.t)
    np.testing.assert_array_equal(run.q, alone.q)
    np.testing.assert_array_equal(run.v, alone.v)
    assert np.abs(pysim.rollout(dataclasses.replace(scene)).q - run.q).max() == 0


@pytest.mark.parametrize(
    "integrator",
    ["semi_implicit", "rk2", "rk4", "variational", "implicit_midpoint", "generalized_alpha"],
)
def test_every_scheme_of_fixed_step_sees_the_time(integrator: str) -> None:
    scene = scene_of("driven_pendulum", **{"simulation.integrator": integrator})
    run, alone = pysim.rollout(scene), pysim.simulate(scene)
    np.testing.assert_array_equal(run.q, alone.q)
    assert scene.actuation.amplitude.any()


def test_worlds_with_actuators_of_their_own_get_the_bits_that_they_get_alone() -> None:
    torques = np.linspace(5.0, 15.0, 11)
    scenes = pysim.load_scenes(SCENES / "five_bar.toml", SHORT | {"actuator[0].amplitude": torques})
    together = pysim.rollout(scenes, threads=2)
    assert together.q.shape == (11, 11, 4)
    for k, scene in enumerate(scenes):
        np.testing.assert_array_equal(pysim.rollout(scene).q, together.q[k])
    assert len({q.tobytes() for q in together.q[:, -1]}) == 11


@pytest.mark.parametrize("integrator", ["rk4", "variational", "generalized_alpha"])
def test_scenes_without_actuators_that_differ_get_the_bits_of_simulate(integrator: str) -> None:
    keys = SHORT | {"simulation.integrator": integrator, "simulation.duration": 0.053}
    density = [2700.0, 1000.0, 500.0, 300.0, 200.0]
    scenes = pysim.load_scenes(
        SCENES / "four_bar.toml", {"body.coupler.shape.density": density, **keys}
    )
    run = pysim.rollout(scenes, threads=2)
    assert run.failures == ("",) * 5
    for k, scene in enumerate(scenes):
        alone = pysim.simulate(scene)
        np.testing.assert_array_equal(run.t, alone.t)
        np.testing.assert_array_equal(run.q[k], alone.q)
        np.testing.assert_array_equal(run.v[k], alone.v)


def test_worlds_in_a_plane_and_others_of_one_call_get_the_bits_of_simulate() -> None:
    """The elbow's frame is turned about the rod in every second world, which then moves in space."""
    turns = [[0.0, 0.0, 0.3 * (k % 2)] for k in range(7)]
    scenes = pysim.load_scenes(
        SCENES / "double_pendulum.toml", {"joint.elbow.at.rpy": turns, **SHORT}
    )
    run = pysim.rollout(scenes, threads=2)
    q0, v0 = (np.stack([getattr(scene.state, name) for scene in scenes]) for name in ("q", "v"))
    models, settings = [scene.model for scene in scenes], scenes[0].settings
    steps = round(settings.duration / settings.step)
    q, _ = pysim.rollout(models, q0, v0, None, settings.step, settings.integrator, steps=steps)
    for k, scene in enumerate(scenes):
        np.testing.assert_array_equal(run.q[k], pysim.simulate(scene).q)
        single, _ = pysim.rollout(
            scene.model, q0[k], v0[k], None, settings.step, settings.integrator, steps=steps
        )
        np.testing.assert_array_equal(q[k], single)


def test_a_world_that_ends_early_says_why_and_leaves_the_others_alone() -> None:
    """A spring beyond the stability limit of its step grows until its numbers overflow."""
    stiffness = [40.0, 1e12, 50.0]
    keys = {"simulation.duration": 2.0, "output.every": 0.5}
    scenes = pysim.load_scenes(SCENES / "spring.toml", {"joint[0].stiffness": stiffness, **keys})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        run = pysim.rollout(scenes)
    ends = ["", "it reached NaN or infinite values or opened its loops before t = 0.5 s", ""]
    assert list(run.failures) == ends
    assert np.isnan(run.q[1, -1]).all()
    np.testing.assert_array_equal(run.q[2], pysim.simulate(scenes[2]).q)


def test_many_starts_of_a_scene_are_a_batch(rng: np.random.Generator) -> None:
    scene = scene_of("driven_pendulum")
    q0, v0 = rng.normal(size=(2, 5, 1))
    run = pysim.rollout(scene, q0, v0)
    assert run.q.shape == (5, 11, 1)
    for k in range(5):
        alone = pysim.simulate(with_start(scene, q0[k], v0[k]))
        np.testing.assert_array_equal(run.q[k], alone.q)


def test_a_duration_between_two_outputs_ends_with_a_shorter_interval() -> None:
    scene = scene_of("driven_pendulum", **{"simulation.duration": 0.0953})
    run, alone = pysim.rollout(scene), pysim.simulate(scene)
    np.testing.assert_array_equal(run.t, alone.t)
    np.testing.assert_array_equal(run.q, alone.q)
    assert run.t[-1] == 0.0953


@pytest.mark.parametrize("threads", [1, 3])
def test_steps_of_adapted_size_are_those_of_simulate(
    threads: int, rng: np.random.Generator
) -> None:
    scene = scene_of("driven_pendulum", **ADAPTED)
    q0, v0 = rng.normal(size=(2, 5, 1))
    run = pysim.rollout(scene, q0, v0, threads=threads)
    for k in range(5):
        alone = pysim.simulate(with_start(scene, q0[k], v0[k]))
        np.testing.assert_array_equal(run.q[k], alone.q)


def test_events_of_every_world_are_returned_and_one_that_stops_ends_its_world() -> None:
    scene = pysim.load_scene(SCENES / "timed_pendulum.toml")
    q0 = np.array([scene.state.q, 1.1 * scene.state.q])
    run = pysim.rollout(scene, q0)
    for k in range(2):
        alone = pysim.simulate(with_start(scene, q0[k], scene.state.v))
        np.testing.assert_array_equal(run.events[k].t, alone.events.t)
        assert run.events[k].names == alone.events.names
        rows = int(np.isfinite(run.q[k]).all(axis=1).sum())
        np.testing.assert_array_equal(run.q[k][:rows], alone.q[:rows])


@pytest.mark.parametrize("integrator", ["rk4", "generalized_alpha"])
def test_a_rollout_goes_on_from_the_state_of_another(integrator: str) -> None:
    scene = scene_of("five_bar", **{"simulation.integrator": integrator})
    whole = pysim.rollout(scene, step=1e-3, steps=100, every=10)
    first = pysim.rollout(scene, step=1e-3, steps=40, every=10)
    second = pysim.rollout(
        scene, first.q[-1], first.v[-1], step=1e-3, steps=60, every=10, state=first.state
    )
    np.testing.assert_allclose(second.t, whole.t[4:], rtol=1e-12)
    np.testing.assert_allclose(second.q, whole.q[4:], atol=1e-13)


def test_an_integrator_of_python_runs_world_by_world(tmp_path: Path) -> None:
    (tmp_path / "heun.py").write_text(
        """from pysim.integrators import Integrator, integrator

@integrator("rollout_heun")
class Heun(Integrator):
    \"\"\"Heun's scheme.\"\"\"

    def step(self, system, t, h, q, v):
        a = system.acceleration(t, q, v)
        end = system.integrate(q, h * v + h**2 / 2 * a)
        return end, v + h / 2 * (a + system.acceleration(t + h, end, v + h * a))
""",
        "utf-8",
    )
    text = (SCENES / "driven_pendulum.toml").read_text("utf-8")
    path = tmp_path / "scene.toml"
    path.write_text('plugins = ["heun.py"]\n' + text, "utf-8")
    keys = SHORT | {"simulation.integrator": "rollout_heun"}
    scene = pysim.load_scene(path, keys, allow_code=True)
    np.testing.assert_array_equal(pysim.rollout(scene, threads=2).q, pysim.simulate(scene).q)


def test_single_precision_is_of_models() -> None:
    scene = scene_of("driven_pendulum")
    text = r"^q0: 'rk4' runs in double precision only; pass float64 arrays$"
    with pytest.raises(SimulationError, match=text):
        pysim.rollout(scene, scene.state.q.astype(np.float32), scene.state.v.astype(np.float32))


@pytest.mark.parametrize("radius", [None, 0.4])
def test_a_requested_scheme_is_that_of_a_scene_that_names_it(radius: float | None) -> None:
    """Its own key has the scheme's default, or the number of the call."""
    named = {"simulation.integrator": "generalized_alpha"}
    requested: dict[str, Any] = {"integrator": "generalized_alpha"}
    if radius is not None:
        named["simulation.spectral_radius"] = radius  # type: ignore[assignment]
        requested["spectral_radius"] = radius
    found = pysim.rollout(scene_of("driven_pendulum"), **requested)
    expected = pysim.rollout(scene_of("driven_pendulum", **named))
    np.testing.assert_array_equal(found.q, expected.q)


STIFF = """
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -1]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
stiffness = 1e29
start = 0.1
[simulation]
duration = 0.1
step = 1e-2
[output]
every = 0.01
"""


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
@pytest.mark.parametrize("scenes", [1, 2])
def test_worlds_that_all_end_are_rows_of_nan_with_their_times(tmp_path: Path, scenes: int) -> None:
    """No step is short enough for a spring of 1e29 N·m/rad."""
    path = tmp_path / "stiff.toml"
    path.write_text(STIFF, "utf-8")
    given = pysim.load_scenes(path, {"joint.hinge.damping": [0.0, 1.0]})
    start = given[0].state.q
    run = (
        pysim.rollout(given)
        if scenes == 2
        else pysim.rollout(given[0], np.stack([start, 2 * start]))
    )
    assert np.isfinite(run.q[:, 0]).all()
    assert np.isnan(run.q[:, -1]).all()
    for failure, v in zip(run.failures, run.v, strict=True):
        last = run.t[np.isnan(v).any(axis=1).argmax()]
        assert (
            failure
            == f"it reached NaN or infinite values or opened its loops before t = {last:.6g} s"
        )


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"controls": np.zeros((10, 1))},
            (
                "controls: are values of a scene's inputs, and this one has none; "
                'add a [[signal]] with type = "input", or give forces to a rollout of its model'
            ),
        ),
        ({"signals": ["angle"]}, "signals: 'angle': the scene has no signals; leave it out"),
        (
            {"loop_q": np.zeros(0)},
            "loop_q: applies to rollouts of models only; leave it out, or pass scene.model",
        ),
        (
            {"integrator": "dopri5"},
            "integrator: 'dopri5' needs tolerances; set simulation.integrator and simulation.rtol in the scene",
        ),
    ],
)
def test_arguments_that_a_rollout_of_a_scene_cannot_run_are_rejected(
    arguments: dict[str, Any], text: str
) -> None:
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.rollout(scene_of("driven_pendulum"), **arguments)


def test_a_state_or_signals_belong_to_scenes() -> None:
    scene = scene_of("driven_pendulum")
    state = pysim.rollout(scene).state
    with pytest.raises(
        SimulationError, match=r"^state: applies to scenes only; pass the scene instead of its"
    ):
        pysim.rollout(  # type: ignore[call-overload]
            scene.model, scene.state.q, scene.state.v, None, 1e-3, steps=1, state=state
        )


def test_scenes_that_run_otherwise_or_differ_in_structure_are_rejected() -> None:
    scene = scene_of("driven_pendulum")
    other = scene_of("driven_pendulum", **{"simulation.step": 2e-3})
    text = r"^scene\[1\]: step is 0.002, but 0.001 in scene\[0\]; run it in a separate call$"
    with pytest.raises(SimulationError, match=text):
        pysim.rollout([scene, other])
    with pytest.raises(ModelError, match=r"^scene\[1\]: differs from scene\[0\] in structure: "):
        pysim.rollout([scene, scene_of("double_pendulum")])


# Starts that violate loops -----------------------------------------------------------------------


@pytest.mark.parametrize("of_scene", [False, True])
def test_a_start_that_is_open_is_rejected_with_the_remedy(*, of_scene: bool) -> None:
    """The coupler's end is 0.9 m from the knee: 0.2 rad more of it opens the loop by about 0.18 m."""
    scene = scene_of("four_bar")
    q0 = scene.state.q + np.array([0.0, 0.2, 0.0])
    text = (
        r"^q0: world 0: loop 'close' is open by 0.1\d* \[m, rad\]; give a start that satisfies it, as "
        r"pysim.loops.assemble and pysim.loops.project return it$"
    )
    arguments = (scene, q0, 0 * q0) if of_scene else (scene.model, q0, 0 * q0, None, 1e-3)
    with pytest.raises(SimulationError, match=text):
        pysim.rollout(*arguments, steps=1)


def test_the_world_whose_start_is_open_is_named() -> None:
    scene = scene_of("four_bar")
    q0 = np.tile(scene.state.q, (5, 1))
    q0[3, 2] += 0.01
    with pytest.raises(SimulationError, match=r"^q0: world 3: loop 'close' is open by "):
        pysim.rollout(scene.model, q0, 0 * q0, None, 1e-3, steps=1)
    models = [scene.model, scene.model.with_gravity([0, 0, 0])]
    with pytest.raises(SimulationError, match=r"^q0: world 1: loop 'close' is open by "):
        pysim.rollout(models, q0[2:4], 0 * q0[2:4], None, 1e-3, steps=1)


def test_velocities_that_the_loops_forbid_are_rejected() -> None:
    scene = scene_of("four_bar")
    with pytest.raises(SimulationError, match=r"^v0: world 0: loop 'close' slips at "):
        pysim.rollout(scene.model, scene.state.q, np.ones(3), None, 1e-3, steps=1)


def test_a_start_that_is_open_by_little_is_warned_of() -> None:
    scene = scene_of("four_bar")
    q0 = scene.state.q + 1e-8
    with pytest.warns(
        PysimWarning, match=r"^q0: world 0: loop 'close' is open by \S+e-08 \[m, rad\], which the"
    ):
        pysim.rollout(scene.model, q0, 0 * q0, None, 1e-3, steps=1)


def test_a_singular_start_is_warned_of_once_a_call() -> None:
    scene = scene_of("four_bars", **{"simulation.duration": 0.04, "output.every": 0.02})
    rest = np.zeros(5)
    with pytest.warns(PysimWarning, match=r"^q0: world 0: the start is a singular position "):
        pysim.rollout(scene.model, rest, rest, None, 1e-3, steps=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysim.rollout(scene.model, scene.state.q, scene.state.v, None, 1e-3, steps=1)


def test_steps_that_are_too_long_are_warned_of(tmp_path: Path) -> None:
    scene = pysim.load_scene(SCENES / "spring.toml", {"joint[0].stiffness": 1e8} | SHORT)
    with pytest.warns(PysimWarning, match="is stable at the start"):
        pysim.rollout(scene)
