"""Warnings before a run: Python and the command say the same, once. The oracle is the command's text on stderr."""

from __future__ import annotations

import dataclasses
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimWarning
from pysim.scene import read_scene
from pysim.worlds.loading import compile_scene

SCENES = Path(__file__).parents[2] / "scenes"
STICK = """
name = "stick"
[[body]]
name = "bob"
mass = 1.0
com = [0, 0, -1]
inertia = { xx = 0.001, yy = 0.001, zz = 0.001 }
[[joint]]
name = "hinge"
type = "revolute"
child = "bob"
axis = [0, 1, 0]
friction = 1000
friction_width = 1e-3
start = { q = 0.1, v = 0.5 }
[simulation]
duration = 0.02
step = 1e-3
[output]
every = 0.01
"""
SPRUNG = """
name = "sprung"
[[body]]
name = "bob"
mass = 1.0
inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }
[[joint]]
name = "slide"
type = "prismatic"
child = "bob"
axis = [0, 0, 1]
stiffness = 1e8
rest = 0.0
start = { q = 1e-6 }
[simulation]
duration = 0.001
step = 1e-3
[output]
every = 0.001
"""
PULLED_IN = """
name = "pulled in"
gravity = [0, 0, 0]
[[body]]
name = "arm"
mass = 1.0
inertia = { xx = 0.005, yy = 0.005, zz = 0.005 }
[[body]]
name = "bob"
mass = 1.0
inertia = { xx = 0.005, yy = 0.005, zz = 0.005 }
[[joint]]
name = "turn"
type = "revolute"
child = "arm"
axis = [0, 0, 1]
friction = 0.2
friction_width = 1e-4
start = { v = 0.02 }
[[joint]]
name = "pull"
type = "prismatic"
parent = "arm"
child = "bob"
axis = [1, 0, 0]
stiffness = 20
start = { q = 1.0 }
[simulation]
duration = 1.0
step = 1e-3
[output]
every = 0.01
"""
TOO_LIGHT = {"body.coupler.shape.density": 2.7e-9, "simulation.duration": 0.02}
SPIN = {
    "joint.float.start.v": [0, 0, 0, 1000, 1, 0],
    "simulation.integrator": "generalized_alpha",
    "simulation.duration": 0.02,
}
FLAT = {"joint.drive.start.q": 0.0, "joint.drive.start.v": 0.0}


def texts(call: Any, *arguments: Any, **keys: Any) -> list[str]:
    """What a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments, **keys)
    assert all(issubclass(w.category, PysimWarning) for w in caught)
    return [str(w.message) for w in caught]


def scene_file(folder: Path, text: str) -> Path:
    path = folder / "scene.toml"
    path.write_text(text, "utf-8")
    return path


def test_friction_sharper_than_the_step_is_warned_of_with_the_step_that_would_do(
    tmp_path: Path,
) -> None:
    """By hand: s = friction / (width I), I = 1.001 kg·m²; rk4 is stable to h s = 2.785."""
    scene = pysim.load_scene(scene_file(tmp_path, STICK))
    (text,) = texts(pysim.simulate, scene)
    bound = 2.785 * 1e-3 * 1.001 / 1000
    assert text == (
        f"simulation.step is 0.001 [s], but rk4 needs at most {bound:.3g} [s] to resolve the friction of 'hinge' "
        "where it comes to rest; take 2.2e-06 [s] or less, or a wider friction_width"
    )


@pytest.mark.parametrize(("integrator", "limit"), [("semi_implicit", 2.0), ("rk2", 2.0)])
def test_a_step_within_the_bound_of_friction_comes_to_rest_in_silence(
    tmp_path: Path, integrator: str, limit: float
) -> None:
    """The truth, where it comes to rest, is dopri5's at rtol 1e-8."""
    soft = STICK.replace("1000", "20").replace("duration = 0.02", "duration = 0.1")
    bound = limit * 1e-3 * 1.001 / 20
    keys = {"simulation.integrator": integrator, "simulation.step": 0.9 * bound}
    scene = pysim.load_scene(scene_file(tmp_path, soft), keys)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = pysim.simulate(scene)
    precise = {"simulation.integrator": "dopri5", "simulation.rtol": 1e-8}
    truth = pysim.simulate(pysim.load_scene(tmp_path / "scene.toml", precise))
    assert run.q[-1, 0] == pytest.approx(truth.q[-1, 0], abs=1e-4)
    assert abs(run.v[-1, 0]) < 1e-3
    keys["simulation.step"] = 1.1 * bound
    (text,) = texts(pysim.simulate, pysim.load_scene(tmp_path / "scene.toml", keys))
    assert "resolve the friction of 'hinge'" in text


def test_friction_that_becomes_sharper_than_the_step_along_the_run_is_warned_of(
    tmp_path: Path,
) -> None:
    """By hand: at the distance r the inertia is 0.01 + r² kg·m², and rk4 is stable to h s = 2.785."""
    scene = pysim.load_scene(scene_file(tmp_path, PULLED_IN))
    runs: list[pysim.Trajectory] = []
    (text,) = texts(lambda: runs.append(pysim.simulate(scene)))
    found = re.search(r"needs at most (\S+) \[s\] .* friction of 'turn' .* at t = (\S+) s; ", text)
    assert found is not None
    longest, when = map(float, found.groups())
    row = int(np.argmin(abs(runs[0].t - when)))
    inertia = 0.01 + runs[0].q[row, 1] ** 2
    assert longest == pytest.approx(2.785 * inertia / (0.2 / 1e-4), rel=1e-2)
    assert longest < 1e-3
    (of_rollout,) = texts(pysim.rollout, scene)
    assert of_rollout == f"rollout: world 0: {text}"
    model, start = scene.model, scene.state
    (of_model,) = texts(pysim.rollout, model, start.q, start.v, None, 1e-3, steps=1000, every=10)
    assert re.match(r"rollout: world 0: step is 0.001 \[s\], but .* at t = ", of_model)
    fine = pysim.load_scene(tmp_path / "scene.toml", {"simulation.step": 1e-5})
    assert texts(pysim.simulate, fine) == []


def test_a_rollout_of_a_model_warns_of_its_step_once(tmp_path: Path) -> None:
    scene = pysim.load_scene(scene_file(tmp_path, SPRUNG))
    arguments = (scene.model, scene.state.q, scene.state.v, None)
    (text,) = texts(pysim.rollout, *arguments, 1e-3, steps=1)
    assert text == (
        "rollout: step is 0.001 [s], beyond the 0.000283 [s] for which rk4 is stable at the start, because of joint "
        "'slide'; take 0.00023 or less, or a softer spring, damper or friction there"
    )
    assert texts(pysim.rollout, *arguments, 1e-3, steps=1) == []
    assert texts(pysim.rollout, *arguments, 1e-5, steps=1) == []
    assert len(texts(pysim.rollout, *arguments, 5e-4, steps=1)) == 1


def test_an_implicit_scheme_and_one_that_adapts_are_not_warned_of_friction(tmp_path: Path) -> None:
    path = scene_file(tmp_path, STICK.replace("1000", "20"))
    for keys in (
        {"simulation.integrator": "generalized_alpha"},
        {"simulation.integrator": "dopri5", "simulation.rtol": 1e-6},
    ):
        assert texts(pysim.simulate, pysim.load_scene(path, keys)) == []


def test_check_prints_the_friction_and_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(scene_file(tmp_path, STICK))]) == 0
    printed = capsys.readouterr()
    assert (
        "  friction    9.99e+05 1/s at 'hinge' near rest, a step of 2.79e-06 s at most to come to rest there"
        in printed.out
    )
    assert printed.err.startswith(
        "warning: simulation.step is 0.001 [s], but rk4 needs at most 2.79e-06"
    )
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "keys", "begins", "loading"),
    [
        ("four_bar", TOO_LIGHT, "'coupler' (1.9e-12 kg) is so much lighter than the others", True),
        ("t_handle", SPIN, "simulation.step is 0.001 [s], and joint 'float' spins at 1000", False),
    ],
)
def test_python_warns_of_what_the_command_warns_of(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    keys: dict[str, Any],
    begins: str,
    *,
    loading: bool,
) -> None:
    path = SCENES / f"{name}.toml"
    scenes: list[pysim.Scene] = []
    at_load = texts(lambda: scenes.append(pysim.load_scene(path, keys)))
    at_run = texts(pysim.simulate, scenes[0])
    assert any(text.startswith(begins) for text in (at_load if loading else at_run))
    words = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    capsys.readouterr()
    status = main([str(path), *words, "--quiet", "-o", str(tmp_path / "run.h5")])
    lines = [
        line.removeprefix("warning: ")
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("warning: ")
    ]
    assert status == 0
    assert lines == [*at_load, *at_run]


def test_a_body_too_light_for_its_loop_is_not_called_a_singular_start() -> None:
    """Ranks are measured with the masses: by hand, no four-bar with an angle between its links is singular."""
    (text,) = texts(pysim.load_scene, SCENES / "four_bar.toml", TOO_LIGHT)
    assert text == (
        "'coupler' (1.9e-12 kg) is so much lighter than the others that the forces which close the loops lose "
        "accuracy; give it 5e-09 kg or more"
    )


def test_a_light_crank_before_a_heavy_load_is_warned_of_beyond_its_limit(tmp_path: Path) -> None:
    """By hand: the rotor alone would be thrown at 1e5 rad/s², with its load at 10 rad/s²."""
    rotor = "mass = 1.0\ninertia = { xx = 1e-4, yy = 1e-4, zz = 1e-4 }\n"
    load = "mass = 1.0\ninertia = { xx = 1.0, yy = 1.0, zz = 1.0 }\n"
    limit = "limits = { upper = -0.1, stiffness = 100.0 }\n"
    text = "gravity = [0, 0, 0]\n" + "".join(
        f'[[body]]\nname = "{name}"\n{body}[[joint]]\nname = "to {name}"\ntype = "revolute"\n'
        f'child = "{name}"\naxis = [0, 0, 1]\n{limits}'
        for name, body, limits in (("rotor", rotor, limit), ("load", load, ""))
    )
    text += '[[coupling]]\nname = "gear"\njoint = "to load"\nratios = { "to rotor" = 1.0 }\n'
    text += "[simulation]\nduration = 0.01\nstep = 1e-3\n"
    found = texts(pysim.load_scene, scene_file(tmp_path, text))
    assert any("'to rotor' starts 0.1 [rad] beyond its upper limit -0.1 [rad]" in x for x in found)


def test_a_step_beyond_stability_is_warned_of_by_simulate(tmp_path: Path) -> None:
    """By hand: ω = 1e4 rad/s, rk4 is stable to h ω = 2.828."""
    (text,) = texts(pysim.simulate, pysim.load_scene(scene_file(tmp_path, SPRUNG)))
    assert text == (
        "simulation.step is 0.001 [s], beyond the 0.000283 [s] for which rk4 is stable at the start, because of joint "
        "'slide'; take 0.00023 or less, or a softer spring, damper or friction there"
    )


def test_warnings_of_a_scene_appear_once_and_again_for_a_copy(
    tmp_path: Path,
) -> None:
    scene = pysim.load_scene(scene_file(tmp_path, SPRUNG))
    assert len(texts(pysim.simulate, scene)) == 1
    assert texts(pysim.simulate, scene) == []
    assert len(texts(pysim.simulate, dataclasses.replace(scene))) == 1


def test_a_start_that_is_replaced_is_looked_at_anew() -> None:
    scene = pysim.load_scene(SCENES / "four_bars.toml", {"simulation.duration": 0.02})
    flat = dataclasses.replace(
        scene, state=pysim.State(np.zeros(5), np.zeros(5), scene.state.loop_q)
    )
    assert texts(pysim.simulate, scene) == []
    (text,) = texts(pysim.simulate, flat)
    assert text.startswith("the start is a singular position (1 degree of freedom; ")


def test_many_worlds_are_warned_of_by_the_first_that_has_something_to_warn_of() -> None:
    densities = [2700.0, 2.7e-9, 2.7e-10]
    found = texts(
        pysim.load_scenes, SCENES / "four_bar.toml", {"body.coupler.shape.density": densities}
    )
    assert all(text.startswith("world 1: ") for text in found)
    assert any("is so much lighter than the others" in text for text in found)


def test_loading_warns_of_a_start_and_compiling_does_not(tmp_path: Path) -> None:
    path = tmp_path / "stick.toml"
    path.write_text(
        STICK.replace("friction = 1000\nfriction_width = 1e-3", "limits = { upper = 0.05 }")
    )
    with pytest.warns(PysimWarning, match="hinge"):
        loaded = pysim.load_scene(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = compile_scene(read_scene(path))
    assert compiled.state.q.tobytes() == loaded.state.q.tobytes()
