"""A and B of steps of worlds.

Oracles: central differences of sixth order of the engine's own steps; the gradient, which is the product of the A of
all steps.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.analysis import step_derivatives
from pysim.analysis.differentiable_steps import DifferentiableSteps
from pysim.typing import Array
from tests.analysis.test_gradient_contacts import MATERIAL, body
from tests.analysis.test_gradients import BOX, HOPPER, WEIGHTS, covector, scene_of
from tests.analysis.test_loop_gradients import CHAIN, LOOPS

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes


def hopping(folder: Path) -> pysim.Worlds:
    """Return a hopper in contact."""
    scene = scene_of(folder, HOPPER, passes=1)
    rng = np.random.default_rng(3)
    worlds = pysim.Worlds(scene, 1)
    worlds.q[0] = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    worlds.q[0, 2] = 0.42
    worlds.v[0] = rng.normal(0, 0.4, scene.model.nv)
    worlds.step(steps=6)
    assert np.any(worlds.contacts)
    return worlds


def nodes_along(worlds: pysim.Worlds, count: int) -> pysim.Worlds:
    """Return worlds, the k-th k steps after where a single one is."""
    nodes = pysim.Worlds(worlds.scene(0), count)
    saved = worlds.save()
    for k in range(count):
        nodes.load(saved, where=[k])
    for k in range(count):
        nodes.step(steps=1, where=np.arange(count) > k)
    return nodes


@pytest.mark.parametrize("steps", [1, 4])
def test_a_and_b_are_those_of_differences(steps: int, tmp_path: Path) -> None:
    worlds = hopping(tmp_path)
    saved, model = worlds.save(), worlds.model
    derivatives = pysim.step_derivatives(worlds, steps=steps)
    assert worlds.save() == saved
    size, count = 1e-4, 2 * model.nv + 1
    differences = np.zeros((2 * model.nv, count))
    for i in range(count):
        for k, weight in WEIGHTS.items():
            worlds.load(saved)
            move = k * size * np.eye(count)[i]
            worlds.q[0] = model.integrate(worlds.q[0].copy(), move[: model.nv])
            worlds.v[0] += move[model.nv : -1]
            worlds.inputs["torque"] += move[-1]
            worlds.step(steps=steps)
            ends = model.difference(derivatives.q[0], worlds.q[0]), worlds.v[0] - derivatives.v[0]
            differences[:, i] += weight * np.concatenate(ends) / 60 / size
    rows = slice(0, 2 * model.nv)
    largest = np.abs(differences).max()
    assert np.abs(derivatives.A[0, rows, rows] - differences[:, :-1]).max() < 1e-9 * largest
    assert np.abs(derivatives.B[0, rows, 0] - differences[:, -1]).max() < 1e-9 * largest


@pytest.mark.parametrize("rolls", [False, True])
def test_the_product_of_all_steps_is_the_gradient(rolls: bool, tmp_path: Path) -> None:
    sphere = BOX.replace("box = [0.2, 0.3, 0.16]", "sphere = { radius = 0.12 }")
    text = sphere.replace("stiffness = 3e4", "stiffness = 3e4\nrolling = 2e-3")
    scene = scene_of(tmp_path, text if rolls else BOX)
    start, count, nv = pysim.Worlds(scene, 1), 60, scene.model.nv
    start.v[:] = [1.5, -0.2, -0.5, 0.1, -0.2, 0.7]
    start.step(steps=90)
    nodes = nodes_along(start, count)
    found = pysim.step_derivatives(nodes)
    assert found.states[:2] == ("q.free.vx", "q.free.vy")
    assert found.states[2 * nv] == "deflection[0].x"
    assert ("turning[0].x" in found.states) == rolls
    weights = np.random.default_rng(1).normal(size=2 * nv)
    bar = np.concatenate([weights, np.zeros(len(found.states) - 2 * nv)])
    for A in reversed(found.A):
        bar = A.T @ bar

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        by_q, by_v = np.zeros_like(q), np.zeros_like(v)
        by_v[:, -1] = weights[nv:]
        by_q[:, -1] = covector(scene.model, q[:, -1], weights[:nv])
        return np.zeros(len(q)), by_q, by_v

    own = pysim.gradient(start, steps=count, loss=loss)
    expected = np.concatenate([own.q[0], own.v[0]])
    assert np.linalg.norm(bar[: 2 * nv] - expected) < 1e-10 * np.linalg.norm(expected)


def test_controls_of_a_wrong_shape_are_refused_with_theirs(tmp_path: Path) -> None:
    worlds = hopping(tmp_path)
    with pytest.raises(pysim.SimulationError, match=r"controls: must have shape \(1, 1\)"):
        pysim.step_derivatives(worlds, np.zeros((1, 2)))


def test_a_single_world_has_no_axis_of_worlds(tmp_path: Path) -> None:
    found = pysim.step_derivatives(pysim.Worlds(scene_of(tmp_path, HOPPER)), np.zeros(1))
    size = len(found.states)
    assert (found.A.shape, found.B.shape) == ((size, size), (size, 1))
    assert found.inputs == ("torque",)


def test_nodes_that_are_solved_in_shorter_steps_are_named(tmp_path: Path) -> None:
    run = DifferentiableSteps(pysim.Worlds(scene_of(tmp_path, BOX), 9), steps=1)
    good = np.ones(len(run.packed))
    good[[2, 7]] = 0
    with pytest.raises(pysim.SimulationError, match=r"step 1 of worlds 2, 7 is solved in shorter"):
        run._stop_at_failed("step 1", good)
    good[4] = -1
    with pytest.raises(pysim.SimulationError, match=r"step 1 of world 4 needs more memory"):
        run._stop_at_failed("step 1", good)


def rows_of_products(worlds: pysim.Worlds, steps: int) -> tuple[Array, Array]:
    """Return A and B of worlds whose rows are products with rows of the identity."""
    run = DifferentiableSteps(worlds, steps=steps)
    with run.from_here() as start:
        states = step_derivatives._States(run)
        made = step_derivatives._products(run, states)
        if made is None:  # more points touch at the end
            run.records.engine.load(start, run.every)
            made = step_derivatives._products(run, states)
    assert made is not None
    return made[2], made[3]


def thrown(scene: pysim.Scene, steps: int, speed: float, count: int = 9) -> pysim.Worlds:
    """Return worlds with velocities of their own, after some steps; one more than a pack."""
    worlds = pysim.Worlds(scene, count)
    worlds.v[:] = np.random.default_rng(2).normal(0, speed, worlds.v.shape)
    worlds.step(steps=steps)
    return worlds


GROUND = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -0.15 }\n"
LOW = HOPPER.replace("plane = {", "plane = { offset = -0.3,")
ROLLING = BOX.replace("stiffness = 3e4", "stiffness = 3e4\nrolling = 2e-3")


def stacked(*shapes: str) -> str:
    rng = np.random.default_rng(5)
    bodies = [body(f"{k}", shape, 0.17 * k - 0.07, rng) for k, shape in enumerate(shapes)]
    return MATERIAL + re.sub(r", rpy = \[.*\]", "", "".join(bodies)) + GROUND


# text, passes, steps to the nodes, and the size of their velocities at the start
FAMILIES = {
    "flight": (HOPPER, 1, 0, 2.0),
    "hopper": (LOW, 1, 20, 0.5),
    "slides": (LOW, 2, 30, 2.0),
    "box": (BOX, 2, 130, 1.0),
    "rolls": (ROLLING, 2, 130, 1.0),
    "sphere on box": (stacked("box", "sphere"), 2, 40, 0.3),
    "boxes": (stacked("box", "box"), 1, 40, 0.3),
}


@pytest.mark.parametrize("family", list(FAMILIES))
def test_matrices_are_the_rows_of_products(family: str, tmp_path: Path) -> None:
    text, passes, steps, speed = FAMILIES[family]
    worlds = thrown(scene_of(tmp_path, text, passes=passes), steps, speed)
    assert bool(np.any(worlds.contacts)) == (family != "flight")
    found = pysim.step_derivatives(worlds)
    assert found.row_by_row == ""
    A, B = rows_of_products(worlds, 1)
    assert np.abs(found.A - A).max() < 1e-10 * np.abs(A).max()
    assert np.abs(found.B - B).max(initial=0.0) < 1e-10 * np.abs(B).max(initial=1.0)


def test_rows_of_one_world_are_those_of_many(tmp_path: Path) -> None:
    """A world alone, whose rows share a pack, has the bits of one among others."""
    scene = scene_of(tmp_path, CHAIN + LOOPS["ball"])
    worlds = pysim.Worlds(scene, 64)
    worlds.v[:] = np.random.default_rng(1).normal(0, 0.3, worlds.v.shape)
    worlds.step(steps=1)
    found = pysim.step_derivatives(worlds, steps=2)
    assert found.row_by_row == "loops, couplings or prescribed motions"
    saved = worlds.save()
    for count in (1, 3, 7):
        some = pysim.Worlds(scene, count)
        some.load(worlds.save(where=np.arange(count)))
        own = pysim.step_derivatives(some, steps=2)
        np.testing.assert_array_equal(own.A, found.A[:count])
    assert worlds.save() == saved
