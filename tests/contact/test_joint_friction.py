"""Joints with dry friction in motion: Newton's method of the convex step reaches their sticking ranges of 10⁻¹⁰ rad.

Oracle: the number of iterations of a method that converges, and no step that is repeated in shorter ones.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import _engine
from tests.contact.convex_worlds import FAILED, ITERATIONS, REPEATED, ConvexWorlds
from tests.contact.scenes import GROUND, world
from tests.scheme_numbers import numbers_of_state

H = 4e-3  # [s]
LEGS = 4
SCENES = Path(__file__).parents[2] / "scenes"


def walker(friction: float, knee: float) -> str:
    """A trunk on four legs of two hinges with springs and dry friction [N·m], whose feet collide with the ground."""
    text = """
[[body]]
name = "trunk"
shape = { box = [0.4, 0.2, 0.1] }
mass = 6
[[joint]]
name = "trunk moves"
type = "free"
child = "trunk"
start = { xyz = [0, 0, 0.37] }
"""
    for k in range(LEGS):
        x, y = 0.2 * (1 - 2 * (k // 2)), 0.1 * (1 - 2 * (k % 2))
        text += f"""
[[body]]
name = "thigh {k}"
shape = {{ capsule = {{ radius = 0.02, length = 0.2 }}, at = {{ xyz = [0, 0, -0.1] }} }}
mass = 1
[[joint]]
name = "hip {k}"
type = "revolute"
axis = [0, 1, 0]
parent = "trunk"
child = "thigh {k}"
at = {{ xyz = [{x}, {y}, 0] }}
friction = {friction}
stiffness = 35
damping = 0.5
armature = 0.005
rest = 0.6
start = 0.6
[[body]]
name = "shank {k}"
shape = {{ sphere = {{ radius = 0.02 }}, at = {{ xyz = [0, 0, -0.2] }} }}
collision = true
mass = 0.2
[[joint]]
name = "knee {k}"
type = "revolute"
axis = [0, 1, 0]
parent = "thigh {k}"
child = "shank {k}"
at = {{ xyz = [0, 0, -0.2] }}
friction = {knee}
stiffness = 35
damping = 0.5
armature = 0.005
rest = -1.2
start = -1.2
"""
    return text + GROUND


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_newtons_method_reaches_the_sticking_range_of_joints(
    tmp_path: Path, rng: np.random.Generator, scale: float
) -> None:
    scene = world(tmp_path, walker(0.3 * scale, 1.0 * scale), surface="friction = 0.6")
    assert scene.contacts is not None
    nv, rounds, steps = scene.model.nv, 40, 5
    each = [ConvexWorlds(scene, scene.state.q[None], np.zeros((1, nv)), H) for _ in range(16)]
    for worlds in each * rounds:
        forces = np.zeros((4, nv))
        forces[0, 6:] = scale * rng.uniform(-3, 3, nv - 6)
        worlds.engine.set_actuation(_engine.Actuation(*forces))
        worlds.step(steps)
    counts = np.concatenate([worlds.memory for worlds in each])
    assert not counts[:, FAILED].any()
    assert counts[:, REPEATED].sum() <= 1e-3 * len(each) * rounds * steps
    assert counts[:, ITERATIONS].sum() < 9 * len(each) * rounds * steps


def test_joints_of_a_loop_that_stuck_begin_within_their_range(tmp_path: Path) -> None:
    """Projection onto the loop moves velocities out of the sticking range, 10⁻¹⁰ rad / h."""
    bare = (SCENES / "five_bar.toml").read_text("utf-8")
    stiff = bare.replace("axis = [0, -1, 0]\nstart", "axis = [0, -1, 0]\nfriction = 6.0\nstart")
    text = stiff.replace("[simulation]\n", '[simulation]\nintegrator = "convex"\n')
    path = tmp_path / "five_bar.toml"
    path.write_text(text, "utf-8")
    steps = 1000
    scene = pysim.load_scene(path)
    run = pysim.rollout(scene, steps=steps, every=20)
    assert run.failures in ((), ("",))
    stuck = (np.abs(run.v) < 1e-6).mean()
    assert 0.2 < stuck < 0.9
    (counted,) = numbers_of_state(scene, run.state)
    assert counted[REPEATED] == 0
    assert counted[ITERATIONS] < 1.5 * steps


def test_a_loose_solver_tolerance_changes_a_run_by_less_than_the_step_does(tmp_path: Path) -> None:
    runs, iterations = {}, {}
    for tolerance, step in ((1e-11, H), (1e-4, H), (1e-11, H / 2)):
        keys = f"solver_tolerance = {tolerance}"
        scene = world(
            tmp_path, walker(0.3, 1.0), surface="friction = 0.6", step=step, duration=0.2, run=keys
        )
        v = np.linspace(-1, 1, scene.model.nv)
        run = pysim.rollout(
            scene, scene.state.q, v, steps=round(0.2 / step), every=round(0.02 / step)
        )
        runs[tolerance, step] = run.q
        iterations[tolerance, step] = numbers_of_state(scene, run.state)[0, ITERATIONS]
    tight = runs[1e-11, H]
    assert iterations[1e-4, H] < iterations[1e-11, H]
    by_tolerance = np.abs(runs[1e-4, H] - tight).max()
    assert 0 < by_tolerance < 0.1 * np.abs(runs[1e-11, H / 2] - tight).max()
