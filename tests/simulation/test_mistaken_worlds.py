"""Mistakes with many worlds are errors in plain words, or lose the one world that they are in.

Oracle: worlds without the mistake, and the texts.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import pysim

INERTIA = {"xx": 0.001, "yy": 0.001, "zz": 0.001}


def four_bar():
    b = pysim.SceneBuilder("four")
    b.body("crank", mass=0.1, inertia=INERTIA)
    b.joint("j1", "revolute", child="crank", axis=[0, 1, 0])
    b.body("coupler", mass=0.1, inertia=INERTIA)
    at = {"xyz": [0.1, 0, 0]}
    b.joint("j2", "revolute", parent="crank", child="coupler", axis=[0, 1, 0], at=at)
    b.body("rocker", mass=0.1, inertia=INERTIA)
    b.joint("j3", "revolute", child="rocker", axis=[0, 1, 0], at={"xyz": [0.3, 0, 0]})
    ends = {"at_a": {"xyz": [0.3, 0, 0]}, "at_b": {"xyz": [0, 0, 0.25]}}
    b.loop("close", "revolute", "coupler", "rocker", axis=[0, 1, 0], **ends)
    return b.build()


def slider(*joints):
    b = pysim.SceneBuilder("slider")
    for k in range(*joints):
        b.body(f"b{k}", mass=1.0)
        b.joint(f"s{k}", "prismatic", child=f"b{k}")
    return b.build()


@pytest.mark.parametrize("span", [10, 0.5])
def test_a_span_without_a_keyword_is_rejected_with_what_to_write(span):
    world = pysim.Worlds(slider(1))
    text = f"Worlds.step: takes keywords alone; write step(steps={span}) for steps, or step(seconds={span})"
    with pytest.raises(TypeError, match=re.escape(text)):
        world.step(span)
    assert world.t == 0.0


@pytest.mark.parametrize("array", ["q", "v", "t"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite_loses_its_world_alone_where_loops_close(array, number):
    worlds, undisturbed = pysim.Worlds(four_bar(), 3), pysim.Worlds(four_bar(), 3)
    getattr(worlds, array)[1, ...] = number
    with pytest.warns(
        pysim.PysimWarning, match=f"1 of 3 worlds are lost, world 1: .* {array} was set"
    ):
        worlds.step(steps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        undisturbed.step(steps=3)
    assert worlds.lost.tolist() == [False, True, False]
    np.testing.assert_array_equal(worlds.q[[0, 2]], undisturbed.q[[0, 2]])


def test_scenes_of_different_sizes_are_rejected_with_the_difference():
    text = "scene[1]: differs from scene[0] in structure: it has 2 moving bodies, not 1"
    with pytest.raises(pysim.ModelError, match=re.escape(text)):
        pysim.Worlds([slider(1), slider(2)])


def test_scenes_of_other_tolerances_are_rejected_as_worlds_are_stepped_by_one():
    scenes = [
        pysim.load_scene(
            "scenes/pendulum.toml", {"simulation.integrator": "dopri5", "simulation.rtol": rtol}
        )
        for rtol in (1e-3, 1e-9)
    ]
    text = "scene[1]: rtol is {'': 1e-09}, but {'': 0.001} in scene[0]; give it Worlds of its own"
    with pytest.raises(pysim.SimulationError, match=re.escape(text)):
        pysim.Worlds(scenes)


def test_worlds_are_shown_with_their_scene_number_and_time():
    worlds = pysim.Worlds(slider(1), 4)
    assert repr(worlds) == "<pysim.Worlds of 'slider': 4 worlds in float64, t = 0 s>"
    worlds.step(steps=5, where=[1])
    assert repr(worlds) == "<pysim.Worlds of 'slider': 4 worlds in float64, t = 0 to 0.005 s>"
    worlds.v[2] = np.nan
    with pytest.warns(pysim.PysimWarning, match="lost"):
        worlds.step(steps=0)
    assert repr(worlds).endswith("t = 0 to 0.005 s, 1 lost>")
    assert (
        repr(pysim.Worlds(slider(1))) == "<pysim.Worlds of 'slider': one world in float64, t = 0 s>"
    )


def test_the_names_of_pysim_are_the_public_ones():
    private = [name for name in dir(pysim) if name.startswith("_") and not name.startswith("__")]
    assert private == []
    assert set(pysim.__all__) <= set(dir(pysim))
    assert {"child_process", "errors"}.isdisjoint(dir(pysim))
