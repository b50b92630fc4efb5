"""Blocks that differ in numbers alone share the programs of a template.

Oracle: the programs of every block by itself, to the last bit.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.elements.graph import block_templates
from pysim.elements.library.muscles.thelen_muscle import ThelenMuscle
from tests.elements.blocks import constant, scene_of, simulation, table

COUNT = 5
KINDS = (
    "thelen_muscle",
    "millard_muscle",
    "rigid_tendon_muscle",
    "degroote_fregly_muscle",
    "rigid_degroote_fregly_muscle",
)


def muscles(kind, **changes):
    """Return muscles of different sizes, fibres and excitations that hang a body from the ceiling."""
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="mass", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table("joint", name="slide", type="prismatic", child="mass")
    for k in range(COUNT):
        text += constant(f"u{k}", 0.2 * k)
        path = [{"body": "world"}, {"body": "mass", "point": [0.01 * k, 0.0, 0.3 + 0.002 * k]}]
        keys = {
            "max_isometric_force": 100.0 + 30.0 * k,
            "optimal_fibre_length": 0.1 + 0.003 * k,
            "tendon_slack_length": 0.2,
            "pennation_angle": 0.1 * (k + 1),
            "excitation": f"u{k}",
        }
        keys |= {name: values[k] for name, values in changes.items()}
        text += table("force", name=f"m{k}", type=kind, path=path, **keys)
    return text + table("sensor", name="power", type="power", element="m1")


def states(folder, text, integrator):
    run = simulation(integrator, step=1e-3, duration=0.008, interval=0.002)
    found = pysim.simulate(scene_of(folder, text + run))
    return np.hstack([found.q, found.v, *(np.reshape(x, (5, -1)) for x in found.signals.values())])


@pytest.mark.parametrize(
    ("kind", "integrator"),
    [*((kind, "rk4") for kind in KINDS), ("millard_muscle", "implicit_midpoint")],
)
def test_muscles_of_a_template_have_the_bits_of_their_own_programs(
    tmp_path, monkeypatch, kind, integrator
):
    text = muscles(kind)
    together = states(tmp_path, text, integrator)
    monkeypatch.setattr(block_templates, "FEWEST_BLOCKS", COUNT + 1)
    np.testing.assert_array_equal(together, states(tmp_path, text, integrator))


def test_methods_of_blocks_that_differ_in_numbers_are_called_once(tmp_path, monkeypatch):
    calls = []
    tension = ThelenMuscle.tension

    def counted(self, length, fibre_length):
        calls.append(length)
        return tension(self, length, fibre_length)

    monkeypatch.setattr(ThelenMuscle, "tension", counted)
    scene_of(tmp_path, muscles("thelen_muscle") + simulation())
    assert len(calls) == 1


def test_blocks_whose_numbers_cannot_be_open_record_their_own_programs(tmp_path, monkeypatch):
    """The curve of the passive fibre has a constant that Python's `math` computes."""
    text = muscles("thelen_muscle", passive_shape=[4.0, 4.5, 5.0, 5.5, 6.0])
    together = states(tmp_path, text, "rk4")
    monkeypatch.setattr(block_templates, "FEWEST_BLOCKS", COUNT + 1)
    np.testing.assert_array_equal(together, states(tmp_path, text, "rk4"))


def test_muscles_without_pennation_are_apart_from_those_with_it(tmp_path, monkeypatch):
    text = muscles("thelen_muscle", pennation_angle=[0.0, 0.0, 0.1, 0.2, 0.3])
    monkeypatch.setattr(block_templates, "FEWEST_BLOCKS", 2)
    together = states(tmp_path, text, "rk4")
    monkeypatch.setattr(block_templates, "FEWEST_BLOCKS", COUNT + 1)
    np.testing.assert_array_equal(together, states(tmp_path, text, "rk4"))
