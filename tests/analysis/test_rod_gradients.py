"""Gradients of steps by the numbers of rods, and of springs on rotations.

Oracle: differences of eighth order between worlds with other numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pysim

STEPS = 40
WEIGHTS = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])  # of central differences


def swinging(planar: str | None, **keys: Any) -> pysim.Scene:
    builder = pysim.SceneBuilder("swinging", gravity=[0, 0, -9.81])
    section = {"EI": [0.5, 0.8], "GJ": 0.4, "mass_per_length": 0.3}
    builder.rod(
        "hose", length=0.8, section=section, bars=4, damping=2e-3, at_a={"rpy": [0.2, 0.3, 0]},
        **({} if planar is None else {"planar": planar}), **keys,
    )  # fmt: skip
    builder.simulation(duration=0.1, step=2e-3, integrator="convex")
    return builder.build()


def loss(q: Any, v: Any) -> tuple[Any, Any, Any]:
    """Weighted sums of the coordinates and velocities at the end."""
    weights = np.cos(np.arange(q.shape[-1])), np.sin(np.arange(v.shape[-1]))
    slopes = np.zeros_like(q), np.zeros_like(v)
    slopes[0][..., -1, :], slopes[1][..., -1, :] = weights
    return q[..., -1, :] @ weights[0] + v[..., -1, :] @ weights[1], *slopes


def difference(
    scene: pysim.Scene, path: str, k: int, begin: np.ndarray, steps: int = STEPS
) -> float:
    """Return the derivative of the loss by number k of a parameter."""
    start = np.atleast_1d(pysim.Worlds(scene, 2).parameters[path][0])
    part = 3e-3 * start[k]
    shares = np.array([n * sign for n in range(1, 5) for sign in (1, -1)])
    worlds = pysim.Worlds(scene, len(shares))
    for world, share in enumerate(shares):
        values = start.copy()
        values[k] += share * part
        worlds.parameters[path][world] = values if worlds.parameters[path].ndim > 1 else values[0]
    worlds.v[:] = begin
    worlds.step(steps=steps)
    value = loss(worlds.q[:, None], worlds.v[:, None])[0]
    return float(WEIGHTS @ (value[::2] - value[1::2]) / part)


@pytest.mark.parametrize("planar", [None, "y"])
@pytest.mark.parametrize("key", ["EI", "GJ", "damping", "length"])
def test_gradients_by_numbers_of_rods(key: str, planar: str | None) -> None:
    scene = swinging(planar)
    path = f"rod.hose.{key}"
    begin = np.random.default_rng(7).normal(0, 1, scene.model.nv)
    worlds = pysim.Worlds(scene, 1)
    worlds.v[:] = begin
    found = pysim.gradient(worlds, steps=STEPS, loss=loss, by=[path]).parameters[path]
    exact = [difference(scene, path, k, begin) for k in range(np.size(found))]
    size = max(1e-3, np.abs(exact).max())
    np.testing.assert_allclose(np.ravel(found), exact, atol=1e-7 * size, rtol=0)


def test_a_gradient_by_a_rod_whose_length_was_written_is_that_of_its_scene() -> None:
    worlds = pysim.Worlds(swinging("y"), 1)
    worlds.parameters["rod.hose.length"][:] = 1.2
    by = ["rod.hose.EI", "rod.hose.GJ", "rod.hose.damping"]
    found = pysim.gradient(worlds, steps=5, loss=loss, by=by).parameters
    exact = pysim.gradient(pysim.Worlds(worlds.scene(0), 1), steps=5, loss=loss, by=by).parameters
    for path in by:
        np.testing.assert_allclose(found[path], exact[path], rtol=1e-9, atol=1e-12)


def turned(stiffness: list[float], kind: str = "ball", tail: int = 0) -> pysim.Scene:
    """A body far from the rest of its springs, and a tail of light ones, whose matrix is factored by recursion."""
    builder = pysim.SceneBuilder("turned", gravity=[0, 0, -9.81])
    for k in range(1 + tail):
        size = 0.2 if k == 0 else 1e-3
        inertia = {"xx": size, "yy": 0.8 * size, "zz": 0.5 * size}
        spring: dict[str, Any] = {"stiffness": 5.0, "damping": 0.01}
        mass, height = 0.1, 0.05
        if k == 0:
            mass, height = 1.0, 0.2
            spring = {"stiffness": stiffness, "start": {"rpy": [0.9, -0.4, 0.7]}}
        builder.body(f"body{k}", mass=mass, com=[0, 0, height], inertia=inertia)
        builder.joint(
            f"joint{k}", kind if k == 0 else "ball", child=f"body{k}",
            parent="world" if k == 0 else f"body{k - 1}", at={"xyz": [0, 0, 0.2 * min(k, 1)]}, **spring,
        )  # fmt: skip
    builder.simulation(duration=0.1, step=2e-3, integrator="convex")
    return builder.build()


@pytest.mark.parametrize(
    ("stiffness", "kind", "tail", "steps"),
    [
        ([300.0, 20.0, 5.0], "ball", 0, STEPS),
        ([300.0, 20.0, 5.0], "ball", 13, 2),
        ([2e3, 500.0, 1e3, 300.0, 20.0, 5.0], "free", 0, STEPS),
    ],
    ids=["ball", "deep", "free"],
)
def test_gradients_by_springs_that_couple_the_axes_of_a_joint(
    stiffness: list[float], kind: str, tail: int, steps: int
) -> None:
    """Later than after two steps, the deep tree's rounds of velocity terms are other ones within the differences."""
    scene = turned(stiffness, kind, tail)
    path = "joint.joint0.stiffness"
    begin = np.random.default_rng(5).normal(0, 1, scene.model.nv)
    worlds = pysim.Worlds(scene, 1)
    worlds.v[:] = begin
    gradient = pysim.gradient(worlds, steps=steps, loss=loss, by=[path])
    exact = np.array([difference(scene, path, k, begin, steps) for k in range(len(stiffness))])
    part = 1e-3
    shares = [n * sign for n in range(1, 5) for sign in (1, -1)]
    moved = pysim.Worlds(scene, len(shares))
    moved.v[:] = begin
    moved.v[:, 1] += part * np.array(shares)
    moved.step(steps=steps)
    value = loss(moved.q[:, None], moved.v[:, None])[0]
    by_v = WEIGHTS @ (value[::2] - value[1::2]) / part
    np.testing.assert_allclose(gradient.v.ravel()[1], by_v, rtol=1e-7)
    by_stiffness = np.ravel(gradient.parameters[path])
    np.testing.assert_allclose(by_stiffness, exact, atol=1e-7 * np.abs(exact).max(), rtol=0)
