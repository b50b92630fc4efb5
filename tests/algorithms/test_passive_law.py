"""The law of a coordinate's passive force, as Python calls and traces it.

Oracles: the force, slopes and energy that kernels compute for a slide, and the values of a tape.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim._engine import Passive
from pysim.tracing.expression import Scalar
from pysim.tracing.tape import Tape

PASSIVE = Passive(0.3, 2.0, 0.5, 0.1, -0.4, 0.7, 90.0, 5.0)
REST = 0.1


@pytest.fixture
def model(tmp_path):
    keys = "damping = 0.3\nstiffness = 2.0\nrest = 0.1\nfriction = 0.5\nfriction_width = 0.1\n"
    limits = "limits = {lower = -0.4, upper = 0.7, stiffness = 90.0, damping = 5.0}\n"
    (tmp_path / "s.toml").write_text(
        '[[body]]\nname = "b"\nmass = 1.0\n'
        f'[[joint]]\nname = "j"\ntype = "prismatic"\nchild = "b"\n{keys}{limits}'
    )
    return pysim.load_scene(tmp_path / "s.toml").model


def states(rng):
    return rng.uniform(-1, 1, (50, 1)), rng.uniform(-20, 20, (50, 1))


def test_python_computes_what_kernels_compute(model, rng):
    q, v = states(rng)
    law = PASSIVE.law(q, v, REST)
    by_q, by_v = pysim.passive_force_derivatives(model, q, v)
    np.testing.assert_allclose(law.force, pysim.passive_forces(model, q, v), rtol=1e-14)
    np.testing.assert_allclose(law.by_q[..., None], by_q, rtol=1e-14)
    np.testing.assert_allclose(law.by_v[..., None], by_v, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(law.energy[:, 0], pysim.elastic_energy(model, q), rtol=1e-14)


def test_numbers_and_traces_give_what_arrays_give(rng):
    q, v = states(rng)
    law = PASSIVE.law(q, v, REST)
    tape = Tape()
    trace = PASSIVE.law(Scalar(tape, tape.input(0)), Scalar(tape, tape.input(1)), REST)
    traced = {name: getattr(trace, name).index for name in ("force", "by_q", "by_v", "energy")}
    for k in range(len(q)):
        values = tape.values([q[k, 0], v[k, 0]])
        numbers = PASSIVE.law(q[k, 0], v[k, 0], REST)
        for name, node in traced.items():
            wanted = getattr(law, name)[k, 0]
            found = [values[node], getattr(numbers, name)]
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_trace_records_nothing_of_absent_forces():
    tape = Tape()
    q, v = Scalar(tape, tape.input(0)), Scalar(tape, tape.input(1))
    nodes = [
        Passive(stiffness=2.0).law(q, v, REST).force.index,
        Passive(damping=3.0).law(q, v).force.index,
    ]
    assert {tape.nodes[k].op for k in tape.needed(nodes)} == {"input", "const", "sub", "mul", "neg"}
