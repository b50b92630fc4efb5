"""Wrong values of every key of every element of the library, and of every argument of the tools.

Oracle: an error of pysim that gives the place in the scene, or the name of the argument, whatever the value is.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

import pysim
from pysim.elements.block import find_block
from pysim.elements.force import find_force
from pysim.errors import PysimError
from pysim.plugins.fields import fields_of
from tests.elements.blocks import disc, simulation, table

TYPES = {
    "force": "bushing buoyancy propeller rope table_spring thelen_muscle pacejka_tyre impedance lugre_friction",
    "signal": "constant input sine step table waypoints",
    "sensor": "imu noisy pose twist force_torque distance contact height_scan",
    "controller": "pid impedance mlp state_space transfer_function delay lookup_2d relay join "
    "variable_delay actuator_network",
    "actuator": "dc_motor hydraulic_cylinder position_servo series_elastic winch",
}
SHARED = {
    "force": ["a", "b", "at_a", "coordinates", "path"],
    "signal": ["unit"],
    "sensor": ["frame", "at", "relative_to", "path", "joint", "inputs", "period", "start"],
    "controller": ["inputs", "period"],
    "actuator": ["joint", "command", "coordinate", "path"],
}
BAD = ['"x"', "true", "nan", "-1.0", "inf", "[]", "{}", "[1, 2]", "1e308", '""', "[[1]]"]


def cases():
    """Yield the tables of elements with one key of a value that may be wrong."""
    for kind, types in TYPES.items():
        for name in types.split():
            plugin = find_force(name) if kind == "force" else find_block(kind, name)
            for key, bad in product([*fields_of(plugin), *SHARED[kind], "unknwon"], BAD):
                yield f'[[{kind}]]\nname = "own"\ntype = "{name}"\n{key} = {bad}\n'


def error_of(path):
    """Return the text of the error of a scene, "scene.toml:" if it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pysim.load_scene(path)
        except PysimError as error:
            return str(error)
    return "scene.toml:"


def test_a_wrong_value_is_an_error_with_its_place(tmp_path):
    every = list(cases())
    rng = np.random.default_rng(42)
    path = tmp_path / "scene.toml"
    for k in rng.choice(len(every), 300, replace=False).tolist():
        path.write_text(disc() + every[k] + simulation())
        assert "scene.toml:" in error_of(path), every[k]


NO_NUMBERS = ["x", ["angle.q"], b"x", 1j, object(), np.array(["a"])]


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_the_tools_name_an_argument_that_holds_no_numbers(tmp_path, value):
    path = tmp_path / "scene.toml"
    text = disc() + table("signal", name="u", type="input", unit="N·m")
    text += table("actuator", name="motor", type="force", joint="hinge", command="u")
    path.write_text(text + simulation("rk4", duration=0.1))
    scene = pysim.load_scene(path)
    system = pysim.linearize(scene, ["u"], ["angle.q", "angle.v"])
    q, v = scene.state.q, scene.state.v
    calls = {
        "system": lambda: pysim.lqr(value, 1.0, 1.0),
        "Q": lambda: pysim.lqr(system, value, 1.0),
        "R": lambda: pysim.lqr(system, 1.0, value),
        "N": lambda: pysim.lqr(system, 1.0, 1.0, value),
        "t": lambda: pysim.element_forces(scene, value, q, v),
        "q": lambda: pysim.element_forces(scene, 0.0, value, v),
        "signals": lambda: pysim.element_forces(scene, 0.0, q, v, signals=value),
        "states": lambda: pysim.element_forces(scene, 0.0, q, v, states=value),
        "signals['u']": lambda: pysim.element_forces(scene, 0.0, q, v, signals={"u": value}),
    }
    for name, call in calls.items():
        with pytest.raises(PysimError) as error:
            call()
        assert error.value.where == name


def test_a_constant_that_is_infinite_is_rejected_in_the_scene(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(
        disc() + '[[signal]]\nname = "c"\ntype = "constant"\nvalue = inf\n' + simulation()
    )
    with pytest.raises(
        PysimError, match=r"scene.toml:\d+:\d+: signal\[0\].*must be finite, got inf"
    ):
        pysim.load_scene(path)
