"""Derivatives of every force of the library. Oracle: differences of sixth order of the forces themselves, to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.elements.force import FORCES, depends_on_signals, find_force, method_of
from pysim.plugins.fields import field_type, fields_of
from tests.elements.blocks import scene_of, simulation, table

STEP = 5e-4
WEIGHTS = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
BODY = {"mass": 1.0, "com": [0.1, 0, 0.2], "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25}}
BUSHING = np.diag([50.0, 60, 70, 5, 6, 7]) + 0.3
KEYS = {  # of fields that take more than any positive number
    "table_spring": {"stretch": [-3.0, -1.5, 1.4, 2.5], "pull": [-9.0, -1.0, 0.5, 8.0]},
    "bushing": {"stiffness": BUSHING.tolist(), "damping": (0.02 * BUSHING).tolist()},
    "path_stop": {"lower": 0.2, "upper": 0.4},
    "weighted_spring": {"weights": [0.7, -1.3]},
    "weighted_stop": {"weights": [0.7, -1.3], "lower": -0.02, "upper": 0.01},
    "stribeck_friction": {"rounding_speed": 0.3, "exponent": 1.5},
    "rope": {"rest_length": 0.3},
    "impedance": {
        "stiffness": np.diag([2.0, 3.0, 4.0]).tolist(),
        "damping": (np.diag([0.2, 0.3, 0.4]) + 0.1).tolist(),
        "orientation": [0.0, 0.6, 0.0, 0.8],
        "turning_stiffness": 1.5,
        "turning_damping": 0.3,
    },
    "fluid_ellipsoid": {"semi_axes": [0.5, 0.4, 0.2]},
    "spring": {"stiffness": 1.3, "length": 0.3},
    "slack_spring": {"rest_length": 0.3, "slack": 0.1},
    "coordinate_limit": {"lower": -0.02, "upper": 0.01, "transition": 0.2},
    "ligament": {
        "rest_length": 0.3,
        "lengths": [1.0, 1.5, 3.0, 6.0],
        "forces": [0.0, 0.3, 1.1, 2.0],
    },
}
PLACES = {
    "frames": {"a": "one", "b": "two", "at_a": [0.1, 0.2, 0], "at_b": [0, 0.1, -0.2]},
    "points": {"a": "one", "b": "two", "at_a": [0.1, 0.2, 0.3], "at_b": [0, 0.3, 0.1]},
    "path": {
        "path": [
            {"body": "world", "point": [0.3, 0, 1.0]},
            {"body": "one", "point": [0.1, 0.2, 0.3]},
            {"body": "two", "point": [0, 0.3, 0.1]},
        ]
    },
    "coordinates": {"coordinates": ["bend", "slide"]},
}
ONE_COORDINATE = {"coordinate_limit", "gas_spring"}


def library():
    """Return the names of pysim's own forces that depend on positions and velocities alone."""
    find_force("path_spring")
    own = [n for n, plugin in FORCES.registered.items() if plugin.__module__.startswith("pysim.")]
    return sorted(name for name in own if not depends_on_signals(name))


def required(plugin):
    """Return a number, or three, for every field without a default."""
    values = {}
    for name, field in fields_of(plugin).items():
        given = KEYS.get(plugin_name(plugin), {}).get(name)
        if given is not None:
            values[name] = given
        elif field.default is field.default_factory:  # both are missing
            triple = field_type(plugin, field) == tuple[float, float, float]
            values[name] = [0.4, -0.7, 1.1] if triple else 1.3
        elif name == "damping":
            values[name] = 0.6
    return values


def plugin_name(plugin):
    return next(name for name, known in FORCES.registered.items() if known is plugin)


def model_of(tmp_path, name):
    plugin = find_force(name)
    places = dict(PLACES["points" if plugin.between_points else method_of(plugin).acts])
    if name in ONE_COORDINATE:
        places["coordinates"] = ["slide"]
    text = table("body", name="one", **BODY) + table("body", name="two", **BODY)
    text += table("body", name="three", **BODY)
    text += table("joint", name="free", type="free", child="one")
    turn = {"axis": [0.6, 0, 0.8], "at": {"xyz": [0.2, 0.1, 0.3]}}
    text += table("joint", name="bend", type="revolute", parent="one", child="three", **turn)
    text += table(
        "joint", name="slide", type="prismatic", parent="three", child="two", axis=[0, 0.6, 0.8]
    )
    text += table("force", name="force", type=name, **places, **required(plugin))
    return scene_of(tmp_path, text + simulation("rk4")).model


def differences(function, nv):
    """Return the derivative (nv, nv) of f(d) at d = 0, for displacements d."""
    columns = []
    for k in range(nv):
        unit = np.eye(nv)[k]
        parts = (
            w * (function(n * STEP * unit) - function(-n * STEP * unit)) for n, w in WEIGHTS.items()
        )
        columns.append(sum(parts) / STEP)
    return np.array(columns).T


@pytest.mark.parametrize("name", library())
def test_derivatives_of_a_force_are_those_of_differences(tmp_path, rng, name):
    model = model_of(tmp_path, name)
    for _ in range(3):
        q = model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv))
        v = 0.5 * rng.normal(size=model.nv)
        by_q, by_v = pysim.passive_force_derivatives(model, q, v)
        move = lambda d, q=q, v=v: pysim.passive_forces(model, model.integrate(q, d), v)  # noqa: E731
        speed = lambda d, q=q, v=v: pysim.passive_forces(model, q, v + d)  # noqa: E731
        scale = max(
            np.abs(by_q).max(), np.abs(by_v).max(), np.abs(pysim.passive_forces(model, q, v)).max()
        )
        np.testing.assert_allclose(by_q, differences(move, model.nv), rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(by_v, differences(speed, model.nv), rtol=0, atol=1e-9 * scale)
