"""Loops of every type against dense Jacobians and a least-squares KKT solve (tests/oracles/loops.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pysim import _engine
from pysim.algorithms import kinetic_energy, potential_energy
from pysim.loops import (
    constrained_aba,
    constraint_forces,
    constraint_residual,
    constraints,
    project,
)
from pysim.mechanism.compile import start_state
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.joints import plugins  # noqa: F401, registers its joints
from tests.loops.mechanisms import closed_tree, four_bar
from tests.oracles.loops import Loops

LOOPS: dict[str, dict[str, Any]] = {
    "weld": {},
    "revolute": {},
    "prismatic": {},
    "helical": {"parameters": {"pitch": 0.3}},
    "cylindrical": {},
    "universal": {},
    "ball": {},
    "planar": {},
    "translation": {},
    "point_on_plane": {},
    "point_on_line": {},
    "distance": {"length": 0.7},
    "wheel_on_plane": {"radius": 0.4},
}
PLUGINS: dict[str, dict[str, Any]] = {
    "screw_slot": {"parameters": {"lift": 0.3}},
    "test_swing": {},
    "test_ellipsoid": {},
}
TREE = ("revolute", "ball", "free", "cylindrical", "universal", "revolute", "prismatic")


def closed(kind: str, rng: np.random.Generator):
    """A random tree with one loop, and where it is closed."""
    if kind in PLUGINS:
        return closed_tree(rng, kind, TREE, **PLUGINS[kind])
    axis = np.array([0, 0, 1.0]) if kind in ("universal", "planar") else rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    return closed_tree(rng, kind, TREE, axis=tuple(axis), **LOOPS[kind])


@pytest.mark.parametrize("kind", LOOPS)
def test_accelerations_and_forces_are_those_of_the_dense_kkt_system(
    kind: str, rng: np.random.Generator
) -> None:
    spec, q = closed(kind, rng)
    model, oracle = compile_model(spec), Loops(spec)
    v = project(model, q, rng.normal(size=model.nv)).v
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.nbodies, 6))

    a = constrained_aba(model, q, v, tau, f_ext)
    pull = constraints(model, q).jacobian.T @ constraint_forces(model, q, v, tau, f_ext)

    expected, forces = oracle.acceleration(q, v, tau, f_ext)
    assert np.abs(constraint_residual(model, q)).max() < 1e-13
    assert np.abs(oracle.jacobian(q) @ v).max() < 1e-12
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(pull, forces, rtol=0, atol=1e-8 * max(np.abs(forces).max(), 1))


@pytest.mark.parametrize("kind", LOOPS)
def test_a_disturbed_loop_closes_again_where_the_definition_says(
    kind: str, rng: np.random.Generator
) -> None:
    spec, q = closed(kind, rng)
    model, oracle = compile_model(spec), Loops(spec)
    away = model.integrate(q, 0.02 * rng.normal(size=model.nv))
    assert np.abs(oracle.residual(away)).max() > 1e-4

    back = project(model, away, np.zeros(model.nv))

    assert back.residual < 1e-12
    assert np.abs(oracle.residual(back.q)).max() < 1e-12


@pytest.mark.parametrize("kind", [*LOOPS, *PLUGINS])
def test_rows_are_the_slopes_of_their_residual_and_bias_the_slope_of_the_rows(
    kind: str, rng: np.random.Generator
) -> None:
    """By central differences, where the loop is closed."""
    spec, q = closed(kind, rng)
    model = compile_model(spec)
    v = project(model, q, rng.normal(size=model.nv)).v
    at, h = constraints(model, q, v), 1e-5
    direction = rng.normal(size=model.nv)

    ahead, behind = (constraints(model, model.integrate(q, s * direction)) for s in (h, -h))
    slope = (ahead.residual - behind.residual) / (2 * h)
    rows = slice(1) if kind == "wheel_on_plane" else slice(None)  # its others have no residual
    np.testing.assert_allclose(slope[rows], (at.jacobian @ direction)[rows], atol=1e-8)
    along, back = (constraints(model, model.integrate(q, s * v)).jacobian for s in (h, -h))
    np.testing.assert_allclose((along - back) @ v / (2 * h), at.bias, atol=1e-7)


def test_a_four_bar_keeps_its_loop_and_its_energy() -> None:
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    state = project(model, start_state(model).q, np.array([1.0, 0, 0]))
    drive = _engine.Actuation(*np.zeros((4, 3)))
    q, v, loop_q = state.q, state.v, state.loop_q.copy()
    energy = kinetic_energy(model, q, v) + potential_energy(model, q)
    for k in range(10):
        q, v, done = make_steps(model, q, v, 0.1 * k, 1e-3, 100, "rk4", drive, loop_q=loop_q)
        np.testing.assert_allclose(loop_q, constraints(model, q).loop_q, atol=1e-10)
        c = constraints(model, q, v)
        assert done == 100
        assert np.abs(c.residual).max() < 1e-10
        assert np.abs(c.jacobian @ v).max() < 1e-10
    assert kinetic_energy(model, q, v) + potential_energy(model, q) == pytest.approx(
        energy, abs=1e-7
    )
