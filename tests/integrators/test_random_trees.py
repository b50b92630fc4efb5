"""Steps of trees of every joint shape with springs, stops, friction, followers and motors.

Oracles: the schemes on the dense tree (tests/oracles/stepping.py), and the balance of energy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.typing import Array
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS
from tests.engine_steps import make_steps
from tests.oracles import springs, stepping, tree as oracle
from tests.oracles.mechanisms import MOVING, random_tree

if TYPE_CHECKING:
    from pysim.scene.spec import ModelSpec

SCHEMES = {"semi_implicit": stepping.semi_implicit, "rk4": stepping.rk4}


def random_rest(rng: np.random.Generator, kind: str) -> Array:
    """Rest coordinates; a random rotation where there is one."""
    nq, nv = oracle.SIZES[kind]
    rest = rng.normal(size=nq)
    if nq > nv:
        rest[-4:] /= np.linalg.norm(rest[-4:])
    return rest


def sprung(spec: ModelSpec, rng: np.random.Generator) -> ModelSpec:
    """The same tree with a spring on every coordinate, rotations too."""
    joints = tuple(
        replace(
            joint,
            stiffness=rng.uniform(1, 5, oracle.SIZES[joint.type][1]),
            rest=random_rest(rng, joint.type),
        )
        for joint in spec.joints
    )
    return replace(spec, joints=joints)


class Machine:
    """One random mechanism in the engine and in the oracle, with its motors."""

    def __init__(self, rng: np.random.Generator, *, mimic: bool) -> None:
        kinds = [str(kind) for kind in rng.permutation(KINDS)]
        spec = sprung(random_tree(rng, kinds, passive=True, mimic=mimic), rng)
        self.model, self.tree = compile_model(spec), oracle.Tree(spec)
        self.motors = rng.normal(size=(4, self.model.nv))
        self.actuation = _engine.Actuation(*self.motors)

    def force(self, t: float, q: Any, v: Any) -> Any:
        """τ(t, q, v) of motors, dampers and stops as the oracle has them, and springs by energy."""
        offset, amplitude, frequency, phase = self.motors
        passive = self.tree.passive(q, v) + self._turning_springs(q)
        return offset + amplitude * np.sin(frequency * t + phase) + passive

    def _turning_springs(self, q: Any) -> Any:
        """What Tree.passive leaves out: springs of joints whose coordinates hold a rotation."""
        turning = [
            link
            for link in self.tree.links
            if link.own_v is not None and link.joint.type in ("ball", "free")
        ]
        forces = springs.spring_forces(self.tree, q)
        kept = np.zeros_like(forces)
        for link in turning:
            assert link.own_v is not None
            kept[link.own_v] = forces[link.own_v]
        return kept


@pytest.fixture(params=[False, True], ids=["tree", "mimic"])
def machine(request: pytest.FixtureRequest, rng: np.random.Generator) -> Machine:
    return Machine(rng, mimic=request.param)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_steps_are_those_of_the_scheme_on_the_dense_tree(
    machine: Machine, rng: np.random.Generator, isa: str, scheme: str
) -> None:
    model, n = machine.model, 3
    q = np.array([model.random_configuration(rng) for _ in range(n)])
    v, t, h = rng.normal(size=(n, model.nv)), 0.7, 0.03

    q1, v1, done = make_steps(model, q, v, t, h, 3, scheme, machine.actuation)

    assert (done == 3).all()
    for k in range(n):
        state = q[k], v[k]
        for step in range(3):
            state = SCHEMES[scheme](machine.tree, *state, machine.force, t + step * h, h)
        np.testing.assert_allclose(model.difference(state[0], q1[k]), 0, atol=1e-12)
        np.testing.assert_allclose(v1[k], state[1], rtol=0, atol=1e-11 * np.abs(state[1]).max())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_runs_are_bit_identical_on_avx2_and_avx512(
    machine: Machine, rng: np.random.Generator, scheme: str
) -> None:
    if not {"avx2", "avx512"} <= set(pysim.available_isas()):
        pytest.skip("needs AVX2 and AVX-512")
    model = machine.model
    q = np.array([model.random_configuration(rng) for _ in range(19)])
    v = rng.normal(size=(19, model.nv))
    runs = []
    for isa in ("avx2", "avx512"):
        pysim.use_isa(isa)
        runs.append(make_steps(model, q, v, 0.2, 1e-3, 50, scheme, machine.actuation))
    pysim.use_isa("auto")
    for avx2, avx512 in zip(*runs, strict=True):
        np.testing.assert_array_equal(avx2, avx512)


def test_elastic_energy_and_its_pull_are_those_of_the_definition(
    machine: Machine, rng: np.random.Generator, isa: str
) -> None:
    model, tree = machine.model, machine.tree
    q = np.array([model.random_configuration(rng) for _ in range(5)])
    q = model.integrate(q, rng.normal(size=(5, model.nv)))  # beyond the limits, too
    energy = [springs.elastic_energy(tree, row) for row in q]
    pull = [springs.spring_forces(tree, row) for row in q]
    np.testing.assert_allclose(pysim.elastic_energy(model, q), energy, rtol=1e-12)
    np.testing.assert_allclose(
        pysim.passive_forces(model, q, np.zeros((5, model.nv))),
        pull,
        rtol=0,
        atol=1e-12 * np.abs(pull).max(),
    )


def test_energy_falls_by_the_work_of_dampers_and_friction_alone(rng: np.random.Generator) -> None:
    """Without motors and stops: d(kinetic + potential + elastic)/dt = v·(damping + friction)."""
    spec = sprung(random_tree(rng, MOVING, passive=True), rng)
    unstopped = tuple(
        replace(j, lower=np.full(len(j.lower), -np.inf), upper=np.full(len(j.upper), np.inf))
        for j in spec.joints
    )
    slack = tuple(replace(j, stiffness=np.zeros(len(j.stiffness))) for j in unstopped)
    model = compile_model(replace(spec, joints=unstopped))
    losing = compile_model(replace(spec, joints=slack))
    still = _engine.Actuation(*np.zeros((4, model.nv)))
    q, v, h = model.random_configuration(rng), rng.normal(size=model.nv), 1e-3
    steps = 200

    def energy() -> float:
        parts = (
            pysim.kinetic_energy(model, q, v),
            pysim.potential_energy(model, q),
            pysim.elastic_energy(model, q),
        )
        return float(sum(parts))

    def power() -> float:
        return float(v @ pysim.passive_forces(losing, q, v))

    start, powers = energy(), [power()]
    for k in range(steps):
        q, v, _ = make_steps(model, q, v, k * h, h, 1, "rk4", still)
        powers.append(power())
    odd, even = sum(powers[1:-1:2]), sum(powers[2:-1:2])
    work = h / 3 * (powers[0] + 4 * odd + 2 * even + powers[-1])  # Simpson's rule
    assert abs(work) > 1
    assert energy() - start == pytest.approx(work, abs=1e-7 * abs(start))
