"""`on_failure`: a world that fails among many stops the others or is dropped.

Oracle: the same worlds without the one that fails, bit for bit, and the error of `simulate`.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SceneError, SimulationError
from tests.scene_runs import SCENES
from tests.simulation.test_worlds import BALL, SERVO, load

GO_ON = '; on_failure = "drop_world" goes on with the others'
SPRING = SCENES / "spring.toml"
KEYS = {"simulation.duration": 0.5, "output.every": 0.1}
STIFF = [40.0, 1e12, 50.0, 1e14]  # [N/m], the second and fourth beyond the stability limit


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Steps that are too long are meant here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PysimWarning, message=".*beyond the")
        yield


def fast_servo(folder: Path, integrator: str = "rk4") -> pysim.Scene:
    """Return a scene whose controller amplifies any velocity until it overflows."""
    text = SERVO.replace("INTEGRATOR", integrator).replace("PERIOD", "").replace("2.0", "2e6")
    return load(folder, text)


def stiff_scenes(**more: Any) -> list[pysim.Scene]:
    return list(pysim.load_scenes(SPRING, {"joint[0].stiffness": STIFF, **KEYS, **more}))


def starts() -> tuple[np.ndarray, np.ndarray]:
    """Return starts of the servo at rest; worlds 5 and 2 move, and 2 is the faster."""
    q, v = np.zeros((9, 1)), np.zeros((9, 1))
    v[5], v[2] = 1e-100, 1.0
    return q, v


# Rollouts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_a_rollout_in_packs_stops_at_the_world_that_fails_first_in_time(
    tmp_path: Path, threads: int
) -> None:
    scene = fast_servo(tmp_path)
    q, v = starts()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        dropped = pysim.rollout(scene, q, v, threads=threads)
    ended = np.isnan(dropped.v[..., 0])
    assert ended[2].argmax() < ended[5].argmax()
    with pytest.raises(SimulationError, match=r"^rollout: world 2: .*hinge") as error:
        pysim.rollout(scene, q, v, threads=threads, on_failure="stop")
    assert str(error.value).endswith(GO_ON)


def test_the_error_has_the_reason_that_a_single_run_has(tmp_path: Path) -> None:
    scene = fast_servo(tmp_path)
    q, v = starts()
    with pytest.raises(SimulationError) as stopped:
        pysim.rollout(scene, q, v, on_failure="stop")
    alone = pysim.Worlds(scene, 1)
    alone.q[0], alone.v[0] = q[2], v[2]
    with pytest.warns(PysimWarning, match="world 0"):
        alone.step(seconds=scene.settings.duration)
    assert str(stopped.value) == f"rollout: world 2: {alone.reason(0)}{GO_ON}"


def test_dropping_is_the_default_and_names_a_failed_world_once_with_its_reason() -> None:
    scenes = stiff_scenes()
    for choice in (None, "drop_world"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PysimWarning)
            run = pysim.rollout(scenes, on_failure=choice)
        texts = [str(w.message) for w in caught if "rollout:" in str(w.message)]
        assert len(texts) == 1
        assert "2 of 4 worlds" in texts[0]
        assert "world 1" in texts[0]
        for k in (0, 2):
            np.testing.assert_array_equal(run.q[k], pysim.simulate(scenes[k]).q)
        assert run.failures[1].startswith("it reached NaN or infinite values")


@pytest.mark.parametrize("threads", [1, 2])
def test_worlds_of_a_list_of_scenes_stop_at_the_one_that_fails_first_in_time(
    tmp_path: Path, threads: int
) -> None:
    fast_servo(tmp_path)
    scenes = pysim.load_scenes(
        tmp_path / "scene.toml",
        {"controller.pd.kd": [2.5, 3.5, 2.5e5, 2.5e8], "simulation.duration": 0.2},
    )
    with pytest.warns(PysimWarning, match="2 of 4 worlds ended early, world 2: "):
        run = pysim.rollout(scenes, threads=threads)
    assert [bool(text) for text in run.failures] == [False, False, True, True]
    with pytest.raises(SimulationError) as error:
        pysim.rollout(scenes, threads=threads, on_failure="stop")
    assert str(error.value) == f"rollout: world 3: {run.failures[3]}{GO_ON}"


def test_the_key_of_the_scene_is_the_default_and_the_argument_wins() -> None:
    scenes = stiff_scenes(**{"simulation.on_failure": "stop"})
    with pytest.raises(SimulationError, match=r"^rollout: world 3: .*'slide' reaches NaN"):
        pysim.rollout(scenes)
    with pytest.warns(PysimWarning, match="2 of 4 worlds"):
        run = pysim.rollout(scenes, on_failure="drop_world")
    assert np.isfinite(run.q[[0, 2]]).all()


def test_no_failure_changes_no_bit() -> None:
    scenes = stiff_scenes()[::2]
    stopping = pysim.rollout(scenes, on_failure="stop")
    np.testing.assert_array_equal(stopping.q, pysim.rollout(scenes).q)


@pytest.mark.parametrize("integrator", ["rk4", "convex"])
def test_a_rollout_of_models_stops_with_the_number_and_the_time(integrator: str) -> None:
    model = pysim.load_model(SCENES / "double_pendulum.toml")
    q0, controls = np.zeros((5, 2)), np.zeros((5, 20, 2))
    controls[3, 4:] = 1e300
    arguments = (model, q0, q0, controls, 1e-3, integrator)
    with pytest.warns(PysimWarning, match="1 of 5 worlds .*, world 3 first, before t = 0.00"):
        q, _ = pysim.rollout(*arguments)
    assert np.isnan(q[3, -1]).all()
    with pytest.raises(SimulationError, match=r"^rollout: world 3: it reached .* before t = 0.00"):
        pysim.rollout(*arguments, on_failure="stop")


def test_a_rollout_that_goes_on_with_a_lost_world_stops_at_once(tmp_path: Path) -> None:
    scene = fast_servo(tmp_path)
    q, v = starts()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        run = pysim.rollout(scene, q, v)
    text = f"rollout: world 2: it ended before this rollout{GO_ON}"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.rollout(scene, run.q[:, -1], run.v[:, -1], state=run.state, on_failure="stop")


# Worlds by hand ----------------------------------------------------------------------------------


def test_worlds_stop_with_the_number_and_the_reason_until_the_lost_one_is_reset(
    tmp_path: Path,
) -> None:
    scene = fast_servo(tmp_path)
    worlds, alone = (pysim.Worlds(scene, 9, on_failure=choice) for choice in ("stop", None))
    for some in (worlds, alone):
        some.q[:] = 0.0
    worlds.v[4] = 1.0
    with pytest.raises(SimulationError, match=r"^worlds: world 4: .*hinge") as error:
        worlds.step(steps=200)
    assert str(error.value) == f"worlds: world 4: {worlds.reason(4)}{GO_ON}"
    alone.step(steps=200)
    others = np.arange(9) != 4
    np.testing.assert_array_equal(worlds.q[others], alone.q[others])
    with pytest.raises(SimulationError, match=r"^worlds: world 4: "):
        worlds.step()
    assert worlds.t.max() == alone.t[0]  # nothing was stepped
    worlds.step(where=others)
    assert (worlds.t[others] > alone.t[0]).all()
    worlds.reset(where=[4], q=np.zeros(1))
    worlds.step()
    assert not worlds.lost.any()


def test_an_impossible_written_state_stops_worlds_before_they_step(tmp_path: Path) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 3, on_failure="stop")
    worlds.v[1, 0] = np.nan
    with pytest.raises(SimulationError, match=r"^worlds: world 1: .*v was set to nan"):
        worlds.step(steps=5)
    assert not worlds.t.any()


def test_worlds_take_the_key_of_their_scene_and_keep_it_in_a_pickle(tmp_path: Path) -> None:
    scene = load(tmp_path, BALL.replace("[simulation]", '[simulation]\non_failure = "stop"'))
    assert scene.settings.on_failure == "stop"
    for worlds in (
        pysim.Worlds(scene, 2),
        pickle.loads(pickle.dumps(pysim.Worlds(load(tmp_path, BALL), 2, on_failure="stop"))),
    ):
        worlds.v[0, 0] = np.nan
        with pytest.raises(SimulationError, match=r"^worlds: world 0: "):
            worlds.step()
    worlds = pysim.Worlds(scene, 2, on_failure="drop_world")
    worlds.v[0, 0] = np.nan
    with pytest.warns(PysimWarning, match="1 of 2 worlds are lost"):
        worlds.step()


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            "drop",
            "on_failure: there is no choice 'drop'; known: stop, drop_world",
        ),
        ("drop_worlds", "on_failure: there is no choice 'drop_worlds'; did you mean 'drop_world'?"),
        (
            True,
            "on_failure: must be 'stop' or 'drop_world', got True; leave it out for that of the scene",
        ),
    ],
)
def test_another_choice_is_refused(tmp_path: Path, given: Any, text: str) -> None:
    scene = load(tmp_path, BALL)
    model = pysim.load_model(SCENES / "double_pendulum.toml")
    zeros = np.zeros(2)
    for call in (
        lambda: pysim.rollout(scene, on_failure=given),
        lambda: pysim.rollout(model, zeros, zeros, None, 1e-3, steps=1, on_failure=given),
        lambda: pysim.Worlds(scene, 2, on_failure=given),
        lambda: pysim.sweep(SPRING, {}, output=tmp_path / "a.nc", on_failure=given),
    ):
        with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
            call()


def test_another_value_of_the_key_is_refused() -> None:
    text = "simulation.on_failure: unknown value 'ignore'; known: stop, drop_world"
    with pytest.raises(SceneError, match=re.escape(text)):
        pysim.load_scene(SPRING, {"simulation.on_failure": "ignore"})


def test_scenes_that_differ_in_the_choice_are_refused() -> None:
    scene = pysim.load_scene(SPRING, KEYS)
    other = pysim.load_scene(SPRING, {**KEYS, "simulation.on_failure": "stop"})
    for call in (pysim.rollout, pysim.Worlds):
        with pytest.raises(
            SimulationError, match=r"scene\[1\]: on_failure is stop, but drop_world"
        ):
            call([scene, other])
