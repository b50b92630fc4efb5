"""Worlds whose time is divided at random, and which are saved, moved, pickled and reset between, by every integrator.

Oracle: worlds that are stepped one step at a time and never disturbed, bit for bit: of a world with its number, episode
and count of steps.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.integrators import BUILTIN
from tests.resumed_scenes import CONTROL, DISC

SCENES = Path(__file__).parents[2] / "scenes"
INTEGRATORS = sorted(BUILTIN)
WORLDS, STEPS, EPISODES = 7, 48, 3
ROD = """
[[body]]
name = "rod"
mass = 0.5
com = [0.2, 0, 0]
inertia = { xx = 0.001, yy = 0.01, zz = 0.01 }

[[joint]]
name = "knee"
type = "universal"
parent = "disc"
child = "rod"
at = { xyz = [0.2, 0, 0] }
start = { q = [0.3, -0.4] }
stiffness = 3.0
damping = 0.02
"""
BALL = """
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 }, density = 300 }
collision = true

[[joint]]
name = "falls"
type = "free"
child = "ball"
start = { xyz = [2, 0, 0.13], v = [1, 0, 0, 0.5, 0, 0] }

[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
"""

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def scene_file(folder: Path, integrator: str) -> Path:
    """Write a pendulum under sampled control with noise, for convex steps with a ball that lands."""
    body = ROD + (BALL if BUILTIN[integrator].contacts else "")
    text = DISC.replace("TYPE", "revolute").replace('plugins = ["own.py"]', "")
    text = text.replace(
        "[simulation]", f'{CONTROL}{body}\n[simulation]\nintegrator = "{integrator}"'
    )
    path = folder / f"{integrator}.toml"
    path.write_text(text)
    return path


def undisturbed(scene: pysim.Scene) -> np.ndarray:
    """Return q, v (episodes, steps + 1, worlds, nq + nv) of worlds that make one step after the other."""
    episodes = []
    for episode in range(EPISODES):
        worlds = pysim.Worlds(scene, WORLDS)
        for _ in range(episode):
            worlds.reset()
        rows = [np.hstack([worlds.q, worlds.v])]
        for _ in range(STEPS):
            worlds.step(steps=1)
            rows.append(np.hstack([worlds.q, worlds.v]))
        episodes.append(rows)
    return np.array(episodes)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_no_division_move_save_or_reset_changes_a_bit(
    integrator: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = pysim.load_scene(scene_file(tmp_path, integrator))
    expected_rows = undisturbed(scene)
    assert (
        (expected_rows[0, -1] != expected_rows[1, -1]).any(axis=1).all()
    )  # noise of episodes differs
    worlds = pysim.Worlds(scene, WORLDS)
    number, episode, steps_made = np.arange(WORLDS), np.zeros(WORLDS, int), np.zeros(WORLDS, int)
    for _ in range(30):
        match rng.choice(["step", "step", "step", "save", "pickle", "move", "reset"]):
            case "step":
                span, which = int(rng.integers(1, 7)), rng.random(WORLDS) < 0.7
                which &= steps_made + span <= STEPS
                worlds.step(steps=span, where=which)
                steps_made[which] += span
            case "save":
                saved = worlds.save()
                worlds.v[:] = 7.0
                worlds.load(saved)
            case "pickle":
                worlds = pickle.loads(pickle.dumps(worlds))
            case "move":
                places = rng.permutation(WORLDS)
                worlds.load(worlds.save(places), np.arange(WORLDS))
                number, episode, steps_made = number[places], episode[places], steps_made[places]
            case "reset":
                which = (rng.random(WORLDS) < 0.3) & (episode < EPISODES - 1)
                worlds.reset(where=which)
                number[which] = np.flatnonzero(which)
                episode[which] += 1
                steps_made[which] = 0
        expected = expected_rows[episode, steps_made, number]
        assert np.hstack([worlds.q, worlds.v]).tobytes() == expected.tobytes()
        np.testing.assert_allclose(worlds.t, steps_made * scene.settings.step, rtol=1e-15)


def test_worlds_of_every_integrator_go_on_in_another_process(tmp_path: Path) -> None:
    """One process loads all of them, and makes the remaining steps in spans of its own."""
    expected = {}
    for integrator in INTEGRATORS:
        worlds = pysim.Worlds(scene_file(tmp_path, integrator), WORLDS)
        worlds.step(steps=19)
        (tmp_path / f"{integrator}.saved").write_bytes(worlds.save())
        worlds.step(steps=STEPS - 19)
        expected[integrator] = worlds.save()
    code = f"""
import sys, warnings
from pathlib import Path
import pysim
warnings.simplefilter("ignore")
for integrator in {INTEGRATORS}:
    worlds = pysim.Worlds(f"{{integrator}}.toml", {WORLDS})
    worlds.load(Path(f"{{integrator}}.saved").read_bytes())
    for span in (5, 1, {STEPS} - 19 - 6):
        worlds.step(steps=span)
    Path(f"{{integrator}}.gone_on").write_bytes(worlds.save())
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True, cwd=tmp_path)
    for integrator, saved in expected.items():
        assert (tmp_path / f"{integrator}.gone_on").read_bytes() == saved, integrator


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
@pytest.mark.parametrize("name", ["gripper", "servo_pid", "four_bar", "catapult"])
def test_calls_of_no_wall_time_change_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine makes a step a call then, and goes on."""
    whole, parts = (pysim.Worlds(SCENES / f"{name}.toml", 3, threads=2) for _ in range(2))
    for worlds in (whole, parts):
        if worlds is parts:
            monkeypatch.setattr("pysim.worlds.world_records.CALL_TIME", 0.0)
        for _ in range(2):  # the first call of the engine finds out how little it may do
            worlds.step(seconds=0.2)
    assert parts.save() == whole.save()
    if whole.pairs and whole._records.is_convex:
        assert parts.contacts.tobytes() == whole.contacts.tobytes()
        assert whole.contacts.any()
