"""Gains of the wrong sign, numbers beyond their bounds, and commands in the unit of a motion.

Oracles: the energy that a negative damper feeds; the units that the pages about signals state.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import pysim
from tests.elements.blocks import constant, disc, motor, scene_of, simulation, table

READS = ["target", "angle.q", "angle.v"]


def warnings_of(folder: Path, text: str) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scene_of(folder, text)
    return [str(found.message) for found in caught]


def controlled(kind: str, inputs: list[str], **keys: Any) -> str:
    return (
        disc()
        + constant("target", 0.5, "rad")
        + constant("rate", 0.0, "rad/s")
        + constant("acceleration", 0.0, "rad/s²")
        + table("controller", name="control", type=kind, inputs=inputs, **keys)
        + motor("control")
    )


FOLLOWING = ["target", "rate", "acceleration", "angle.q", "angle.v"]


@pytest.mark.parametrize(
    ("kind", "inputs", "keys", "name"),
    [
        ("pd", READS, {"kp": 40.0, "kd": -3.0}, "kd"),
        ("pd", READS, {"kp": 4.0, "kd": [-3.0]}, "kd"),
        ("pid", READS[:2], {"kp": 4.0, "kd": -1.0}, "kd"),
        ("trajectory_follower", FOLLOWING, {"kp": 4.0, "kd": -2.0}, "kd"),
        ("computed_torque", FOLLOWING, {"kp": 4.0, "kd": -2.0}, "kd"),
    ],
)
def test_a_negative_gain_of_a_controller_is_warned_of(
    tmp_path: Path, kind: str, inputs: list[str], keys: dict[str, Any], name: str
) -> None:
    (found,) = warnings_of(tmp_path, controlled(kind, inputs, **keys))
    assert f"{name} is -" in found
    assert "positive feedback" in found
    assert "scene.toml:" in found


@pytest.mark.parametrize(
    ("kind", "unit", "keys", "name"),
    [
        ("velocity_servo", "rad/s", {"kd": -3.0}, "kd"),
        ("position_servo", "rad", {"kp": 3.0, "kd": -3.0}, "kd"),
        ("position_servo", "rad", {"kp": -3.0}, "kp"),
    ],
)
def test_a_negative_gain_of_a_servo_is_warned_of(
    tmp_path: Path, kind: str, unit: str, keys: dict[str, float], name: str
) -> None:
    text = constant("wanted", 0.0, unit) + table(
        "actuator", name="servo", type=kind, joint="hinge", command="wanted", **keys
    )
    (found,) = warnings_of(tmp_path, disc() + text)
    assert f"{name} is -3" in found


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("spring", {"stiffness": 2.0, "damping": -1.0}),
        ("table_spring", {"stretch": [-1.0, 1.0], "pull": [-1.0, 1.0], "damping": -1.0}),
    ],
)
def test_a_negative_damping_of_a_force_is_warned_of(
    tmp_path: Path, kind: str, keys: dict[str, Any]
) -> None:
    text = disc() + table("force", name="f", type=kind, coordinates=["hinge"], **keys)
    try:
        (found,) = warnings_of(tmp_path, text)
    except pysim.PysimError as error:  # the joint spring of this name is a table of its own
        assert "damping" in str(error)  # noqa: PT017, either is an answer
    else:
        assert "damping is -1" in found


DRY = {"kinetic": 1.0, "static": 1.0, "stribeck_speed": 1.0}
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "dc_motor": ("actuator", {"joint": "hinge", "command": "x"}),
    "pid": ("controller", {"inputs": ["x", "angle.q"]}),
    "noisy": ("sensor", {"inputs": ["x"], "period": 0.1}),
    "imu": ("sensor", {"frame": "disc", "period": 0.1}),
    "stribeck_friction": ("force", {"coordinates": ["hinge"]}),
    "lugre_friction": ("force", {"coordinates": ["hinge"]}),
}


def test_positive_gains_are_silent(tmp_path: Path) -> None:
    assert not warnings_of(tmp_path, controlled("pd", READS, kp=40.0, kd=3.0))
    assert not warnings_of(tmp_path, controlled("pid", READS[:2], kp=40.0, ki=3.0, kd=0.0))


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (
            {"type": "dc_motor", "inductance": 0.1, "constant": 1.0, "resistance": -1.0},
            "resistance",
        ),
        ({"type": "dc_motor", "resistance": 1.0, "constant": 1.0, "inductance": 0.0}, "inductance"),
        ({"type": "pid", "kp": 1.0, "limit": -1.0}, "limit"),
        ({"type": "pid", "kp": 1.0, "filter": -1.0}, "filter"),
        ({"type": "pid", "kp": 1.0, "back_calculation": -1.0}, "back_calculation"),
        ({"type": "noisy", "deviation": -1.0}, "deviation"),
        ({"type": "imu", "rate_noise": -1.0}, "rate_noise"),
        ({"type": "stribeck_friction", **DRY, "kinetic": -1.0}, "kinetic"),
        ({"type": "stribeck_friction", **DRY, "stribeck_speed": 0.0}, "stribeck_speed"),
        ({"type": "lugre_friction", **DRY, "bristle_stiffness": -1.0}, "bristle_stiffness"),
    ],
)
def test_a_number_beyond_its_bound_is_rejected_with_its_name(
    tmp_path: Path, keys: dict[str, Any], name: str
) -> None:
    kind, own = PLACES[keys["type"]]
    text = table(kind, name="element", **own, **keys)
    unit = "V" if kind == "actuator" else "1"
    with pytest.raises(
        pysim.SceneError, match=rf"{name}.* must (be positive|not be negative), got"
    ):
        scene_of(tmp_path, disc() + constant("x", 0.0, unit) + text)


@pytest.mark.parametrize("unit", ["rad", "rad/s", "rad/s^2"])
@pytest.mark.parametrize(
    "keys",
    [
        {"type": "force"},
        {"type": "force", "gear": 3.0},
        {"type": "motor"},
        {"type": "motor", "gear": [2.0]},
        {"type": "torque_speed", "speed": [0.0, 1.0], "limit": [1.0, 0.5]},
    ],
)
def test_the_unit_of_a_motion_is_no_command_of_a_motor(
    tmp_path: Path, keys: dict[str, Any], unit: str
) -> None:
    text = constant("angle_wanted", 0.5, unit) + table(
        "actuator", name="m", joint="hinge", command="angle_wanted", **keys
    )
    with pytest.raises(pysim.SceneError, match=r"'command' must be (in|a force or torque)"):
        scene_of(tmp_path, disc() + text + simulation())


def test_a_force_is_no_command_of_a_torque(tmp_path: Path) -> None:
    for kind in ("force", "motor"):
        text = constant("push", 0.5, "N") + table(
            "actuator", name="m", type=kind, joint="hinge", command="push"
        )
        with pytest.raises(
            pysim.SceneError, match=r"must be in \[N·m\], but its signal is in \[N\]"
        ):
            scene_of(tmp_path, disc() + text)


@pytest.mark.parametrize(
    ("unit", "gear"), [("N·m", 1.0), ("1", 1.0), ("N*m", 5.0), ("N", 0.1), ("A", 0.2)]
)
def test_commands_that_may_be_forces_are_accepted(tmp_path: Path, unit: str, gear: float) -> None:
    text = constant("push", 0.5, unit) + table(
        "actuator", name="m", type="force", joint="hinge", command="push", gear=gear
    )
    scene_of(tmp_path, disc() + text)


def test_signals_of_different_units_have_no_sum(tmp_path: Path) -> None:
    tables = constant("a", 1.0, "rad") + constant("b", 1.0, "N·m")
    with pytest.raises(pysim.SceneError, match=r"'second' must be in \[rad\]"):
        scene_of(
            tmp_path,
            disc()
            + tables
            + table("controller", name="s", type="sum", inputs=["a", "b"], weights=[1.0, -1.0])
            + motor("s"),
        )
    weights = [10.0, 3.0]  # [N·m/rad], [1]
    scene_of(
        tmp_path,
        disc()
        + tables
        + table("controller", name="s", type="sum", inputs=["a", "b"], weights=weights)
        + motor("s"),
    )


UNIT_BLOCKS = {  # blocks with a key `unit`, and what they need
    "gain": "gain = 2.0",
    "matrix": "matrix = [[2.0]]",
    "relay": "lower = 0.0\nupper = 1.0\nperiod = 0.01",
    "transfer_function": "numerator = [1.0]\ndenominator = [1.0, 1.0]",
    "lookup": "x = [0.0, 1.0]\nvalues = [0.0, 1.0]",
    "lookup_2d": "x = [0.0, 1.0]\ny = [0.0, 1.0]\nvalues = [[0.0, 1.0], [1.0, 2.0]]",
}
DRIVEN = """
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
[[signal]]
name = "u"
type = "constant"
value = 0.5
unit = "N·m"
[[actuator]]
joint = "hinge"
type = "force"
command = "sum"
[[controller]]
name = "sum"
type = "sum"
inputs = ["c", "u"]
"""


@pytest.mark.parametrize("kind", UNIT_BLOCKS)
@pytest.mark.parametrize("unit", ["N·m", "N*m", "N m", "N * m"])
def test_the_unit_of_a_block_may_be_typed_in_ascii(tmp_path: Path, kind: str, unit: str) -> None:
    inputs = ["u", "u"] if kind == "lookup_2d" else ["u"]
    block = f'[[controller]]\nname = "c"\ntype = "{kind}"\ninputs = {inputs}\nunit = "{unit}"\n'
    path = tmp_path / "s.toml"
    path.write_text(DRIVEN + block + UNIT_BLOCKS[kind] + "\n", "utf-8")
    assert pysim.load_scene(path).signals is not None


@pytest.mark.parametrize("kind", UNIT_BLOCKS)
def test_the_unit_of_a_block_that_is_a_word_is_named_with_its_symbol(
    tmp_path: Path, kind: str
) -> None:
    inputs = ["u", "u"] if kind == "lookup_2d" else ["u"]
    block = f'[[controller]]\nname = "c"\ntype = "{kind}"\ninputs = {inputs}\nunit = "Nm"\n'
    path = tmp_path / "s.toml"
    path.write_text(DRIVEN + block + UNIT_BLOCKS[kind] + "\n", "utf-8")
    problem = r"controller\[1\]\.unit: must be a symbol, got 'Nm'; write unit = \"N·m\""
    with pytest.raises(pysim.SceneError, match=problem):
        pysim.load_scene(path)
