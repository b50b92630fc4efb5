"""Derivatives of models with joints of splines, points that move by splines, and muscles.

Oracle of muscles: complex steps of the recorded formulas. Of joints: central differences of four widths, extrapolated
to the width 0 by Richardson, of the forces themselves. The spread of the last two extrapolations is their error;
where a knot lies between, they are no oracle.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim._engine import SignalSource
from pysim.elements.graph import block_templates
from pysim.elements.graph.builder import GraphBuilder
from pysim.elements.signal_derivatives import SignalDerivatives
from pysim.tracing.evaluation import evaluate, rate
from tests.scene.osim.opensim_models import model_of, public

WIDTHS = 3e-3 / 2.0 ** np.arange(4)
SURE = 3e-10  # of the largest derivative
MODELS = [
    "joints",
    "muscles",
    "before_version_4",
    *public("gait2392_thelen2003muscle", "Rajagopal2016"),
]


def extrapolated(forces):
    """Return ∂f/∂s and its error (nv, nv) of forces (widths, 2, nv, nv) at −h and h along each coordinate."""
    table = (forces[:, 1] - forces[:, 0]) / (2 * WIDTHS[:, None, None])
    for order in (4.0, 16.0, 64.0):
        previous = table[-1]
        table = (order * table[1:] - table[:-1]) / (order - 1)
    return table[0], np.abs(table[0] - previous)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_slopes_of_spline_joints_are_those_of_extrapolated_differences(name, rng):
    """To 1e-9 of the largest, which is a few times the error of the differences."""
    model = model_of(name)
    free = model.free
    q, *_ = model.state(model.states[1])
    v, a = rng.uniform(-1, 1, (2, free.nv))
    shape = len(WIDTHS), 2, free.nv, free.nv
    steps = WIDTHS[:, None, None, None] * np.array([-1.0, 1.0])[:, None, None] * np.eye(free.nv)
    steps = steps.reshape(-1, free.nv)
    still = np.tile(q, (len(steps), 1)), np.tile(v, (len(steps), 1)), np.tile(a, (len(steps), 1))
    moved = free.integrate(still[0], steps)
    by_q, by_v, _ = pysim.rnea_derivatives(free, q, v, a)
    varied = {
        "q": (by_q, pysim.rnea(free, moved, *still[1:])),
        "v": (by_v, pysim.rnea(free, still[0], v + steps, still[2])),
    }
    for slopes, forces in varied.values():
        exact, error = extrapolated(forces.reshape(shape))
        size = np.abs(slopes).max()
        sure = error.max(axis=1) < SURE * size
        assert sure.mean() > 0.9
        assert np.abs(slopes.T - exact)[sure].max() < 1e-9 * size


def lengths(graph, block, x, rng):
    """Draw a fibre within its working range, a tendon stretched by up to 5 %, and the speed of the path."""
    muscle, count = block.plugin, x.shape[1]
    first = graph.symbols.port_at[block.port]
    at, speed = (graph.symbols.number_of(SignalSource.port, first + k) for k in range(2))
    fibre = muscle.optimal_fibre_length * rng.uniform(0.75, 1.35, count)
    if (block.name, "fibre_length") in graph.places.of:
        (place,) = graph.places.of[block.name, "fibre_length"]
        x[graph.symbols.number_of(SignalSource.state, place)] = fibre
    along = np.sqrt(fibre**2 - min(muscle.thickness, 0.9 * fibre.min()) ** 2)
    x[at] = along + muscle.tendon_slack_length * (1 + rng.uniform(0, 0.05, count))
    x[speed] = rng.uniform(-0.3, 0.3, count)


@pytest.mark.parametrize(
    "name", ["muscles", *public("arm26", "gait2392_thelen2003muscle", "Rajagopal2016")]
)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_slopes_of_muscles_are_those_of_complex_steps(monkeypatch, rng, name):
    """Of every tension and every rate of a state by lengths, speeds and states, within 1e-12 of the largest."""
    graphs = []
    compile_graph = GraphBuilder.compile
    monkeypatch.setattr(
        GraphBuilder,
        "compile",
        lambda graph, *old: graphs.append(graph) or compile_graph(graph, *old),
    )
    monkeypatch.setattr(block_templates, "FEWEST_BLOCKS", 1000)  # formulas on one tape
    pysim.load_scene(model_of(name).path)
    graph = graphs[-1]
    rows = [*graph.forces.on_ports(graph.driven), *graph._rates()[: graph._coupled]]
    derivatives = SignalDerivatives(graph.symbols, graph.groups, graph._coupled)
    listed = {place: node for node, place in zip(*derivatives.of(rows), strict=True)}
    x = rng.uniform(0.05, 0.95, (graph.symbols._count, 16))
    for block in graph.blocks.values():
        if "excitation" in block.signals:
            lengths(graph, block, x, rng)
    for kind, index, rates in derivatives._motions(rows):
        own = [row for row, *motion in listed if motion == [kind, index]]
        along = np.zeros_like(x)
        for number, node in rates.items():
            along[number] = evaluate(graph.tape, x, [node])[0]
        if own:
            exact = rate(graph.tape, x, along, [rows[row] for row in own])
            slopes = evaluate(graph.tape, x, [listed[row, kind, index] for row in own])
            assert (
                np.abs(slopes - exact) <= 1e-12 * np.abs(exact).max(axis=1, keepdims=True)
            ).all()
