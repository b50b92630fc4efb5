"""Paths of OpenSim's models: lengths and their slopes, of fixed, conditional and moving points and over surfaces.

The oracle is OpenSim 4.6; over cylinders the shortest path, which OpenSim approximates. Slopes of coordinates that
others follow are compared with the moment arms, which follow the coupling as well. OpenSim does not clamp the speed of
a moving point beyond the range of its coordinate; such states are left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.mechanism.compile import compile_tree
from pysim.mechanism.joint_description import TraceCache
from pysim.scene import read_model
from pysim.scene.spec import ForceSpec
from tests.scene.osim.opensim_models import model_of, public

MODELS = ["muscles", *public("gait2392_thelen2003muscle")]
SPHERE = {"undamped": (1e-6, 1e-4)}  # OpenSim's own tolerance over a sphere


def spring_on(spec, path, rest_length, cache):
    """Return the mechanism with a spring of 1 N/m along a path as its only force."""
    keys = {"stiffness": 1.0, "rest_length": rest_length}
    spring = ForceSpec("spring", "path_spring", path=path, parameters=keys)
    return compile_tree(replace(spec, forces=(spring,), blocks=(), couplings=()), cache)


def length_and_slope(soft, short, q):
    """Return L and ∂L/∂q from the forces −L ∂L/∂q and −(L − 1) ∂L/∂q of two springs."""
    v = np.zeros(soft.nv)
    one, other = pysim.passive_forces(soft, q, v), pysim.passive_forces(short, q, v)
    slope = other - one
    return -(one @ slope) / (slope @ slope), slope


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_lengths_and_slopes_are_those_of_opensim(name):
    numbers = model_of(name).numbers
    coordinates = numbers["coordinates"]
    spec, cache = read_model(model_of(name).path), TraceCache()
    ranges = {c["name"]: c["range"] for c in coordinates}
    forces = [force for force in spec.forces if force.name in numbers["states"][0]["path"]]
    assert len(forces) == len(numbers["paths"])
    for force in forces:
        soft, short = (spring_on(spec, force.path, rest, cache) for rest in (0.0, 1.0))
        moving = any(part.moves for part in force.path)
        for state in numbers["states"]:
            path = state["path"][force.name]
            q = np.zeros(soft.nq)
            for c, value in zip(coordinates, state["q"], strict=True):
                q[soft.q_offsets[soft.joint_names.index(c["name"])]] = value
            length, slope = length_and_slope(soft, short, q)
            of_length, of_slope = SPHERE.get(force.name, (1e-12, 1e-11))
            expected = path.get("shortest", path)
            assert length == pytest.approx(expected["length"], abs=of_length)
            outside = any(
                not low <= value <= high
                for (low, high), value in zip(ranges.values(), state["q"], strict=True)
            )
            if "slope_is_off_by" in path and "shortest" not in path:
                continue
            for joint, value in expected["slope"].items():
                if value is None or (moving and outside):
                    continue
                at = soft.v_offsets[soft.joint_names.index(joint)]
                assert slope[at] == pytest.approx(
                    value, abs=1e-7 if "shortest" in path else of_slope
                )


@pytest.mark.parametrize("name", public("Rajagopal2016"))
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_slopes_of_a_knee_include_the_patella_that_follows_it(name):
    numbers = model_of(name).numbers
    coordinates = numbers["coordinates"]
    spec, cache = read_model(model_of(name).path), TraceCache()
    for force in spec.forces:
        if not force.name.startswith("vas"):
            continue
        soft, short = (spring_on(spec, force.path, rest, cache) for rest in (0.0, 1.0))
        for state in numbers["states"][:6]:
            path = state["path"][force.name]
            if "slope_is_off_by" in path or "shortest" in path:
                continue
            q = np.zeros(soft.nq)
            for c, value in zip(coordinates, state["q"], strict=True):
                if not c["dependent"]:
                    q[soft.q_offsets[soft.joint_names.index(c["name"])]] = value
            _, slope = length_and_slope(soft, short, q)
            for joint, arm in path["moment_arm"].items():
                if "beta" not in joint:
                    at = soft.v_offsets[soft.joint_names.index(joint)]
                    assert -slope[at] == pytest.approx(arm, abs=1e-9)
