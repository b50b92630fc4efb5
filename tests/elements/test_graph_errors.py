"""Mistakes in signal graphs and blocks, asserted word for word. Oracle: the texts, which were read by a person."""

# ruff: noqa: E501, a message stays in one piece

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.actuators import Actuator, actuator
from pysim.controllers import (
    CallbackController,
    Controller,
    Source,
    controller,
    real,
    signal,
    source,
)
from pysim.elements.units import spelled_unit
from pysim.errors import PysimError
from pysim.forces import Force, Signal, Wrench, force
from pysim.sensors import Sensor, sensor
from tests.elements.blocks import constant, disc, motor, scene_of, simulation, table

DISC = disc()
TARGET = constant("target", 0.8, "rad")
BODY = table("body", name="other", mass=1, inertia={"xx": 1, "yy": 1, "zz": 1}) + table(
    "joint", name="two", type="revolute", child="other"
)


def pd(*inputs: str, name: str = "pd", **keys: Any) -> str:
    return table("controller", name=name, type="pd", inputs=inputs, kp=1.0, **keys)


def drive(**keys: Any) -> str:
    return table(
        "actuator", name="m", type="torque_speed", joint="hinge", command="angle.q", **keys
    )


def state_space(**keys: Any) -> str:
    matrices = {"A": [[-1.0]], "B": [[1.0]], "C": [[1.0]]}
    return table("controller", name="c", type="state_space", inputs=["angle.q"], **matrices, **keys)


def samples(kind: str = "table", **keys: Any) -> str:
    return table("signal", name="s", type=kind, unit="rad", **keys)


def on_disc(**keys: Any) -> str:
    return table("force", name="f", **keys)


def message(folder: Path, text: str) -> str:
    """The error of a scene, without the folder."""
    with pytest.raises(PysimError) as caught:
        scene_of(folder, text + simulation())
    return str(caught.value).replace(f"{folder}/", "")


GIVEN = table("signal", name="u", type="input", unit="rad")
THROWN = table("body", name="disc", mass=1, inertia={"xx": 1, "yy": 1, "zz": 1}) + table(
    "joint", name="free", type="free", child="disc"
)
PLACE_OF_GIVEN = "scene.toml:20:1: controller[0]: controller 'pd'"
PLACE = "scene.toml:21:1: controller[0]: controller 'pd'"
TABLE = "(scene.toml:16:1: signal[0]: signal 's')"
MISTAKES = {
    "an unknown signal": (
        DISC + TARGET + pd("target", "angle.q", "angel.v") + motor("pd"),
        f"{PLACE}: unknown signal 'angel.v'; did you mean 'angle.v'?",
    ),
    "one of several outputs": (
        DISC + TARGET + pd("target", "angle", "angle.v") + motor("pd"),
        f"{PLACE}: 'angle' has several outputs; write one of angle.q, angle.v",
    ),
    "an unknown output": (
        DISC + TARGET + pd("target", "angle.x", "angle.v") + motor("pd"),
        f"{PLACE}: 'angle' has no output 'x'; write one of angle.q, angle.v",
    ),
    "an index beyond the last": (
        DISC + TARGET + pd("target", "angle.q[1]", "angle.v") + motor("pd"),
        f"{PLACE}: 'angle.q[1]' does not exist; the last index of the signal is 0",
    ),
    "too few inputs": (
        DISC + TARGET + pd("target") + motor("pd"),
        f"{PLACE}: has the inputs reference, q, v, got 1 signal; name one signal for each",
    ),
    "inputs of a block without any": (
        DISC
        + TARGET
        + table("controller", name="pd", type="gravity_compensation", inputs=["target"])
        + motor("pd"),
        f"{PLACE}: has no inputs, got 1 signal; remove inputs",
    ),
    "inputs of two sizes": (
        DISC
        + constant("target", [0.8, 0.1], "rad")
        + pd("target", "angle.q", "angle.v")
        + motor("pd"),
        f"{PLACE}: the input 'q' needs 2 numbers, but 'angle.q' has 1; connect a signal of that size",
    ),
    "an algebraic loop": (
        DISC
        + pd("b", "angle.q", "angle.v", name="a")
        + pd("a", "angle.q", "angle.v", name="b")
        + motor("a"),
        (
            "scene.toml:16:1: controller[0]: algebraic loop a → b → a: each signal depends on itself at the same instant; "
            "give one controller in it a period [s] or a state"
        ),
    ),
    "a force that depends on a reaction": (
        DISC + table("sensor", name="i", type="force_torque", joint="hinge") + motor("i.torque[2]"),
        (
            "scene.toml:16:1: sensor[1]: the forces depend on 'i', which measures accelerations or wrenches, and these on "
            "the forces; give the controller between them a period [s]"
        ),
    ),
    "a table of two lengths": (
        DISC + samples(t=[0.0, 1.0], values=[1.0]),
        (
            "scene.toml:20:5: signal[0].t: needs two or more times with a value each, got 2 times and 1 values; give one "
            "value for each time"
        ),
    ),
    "times that do not increase": (
        DISC + samples(t=[0.0, 0.0], values=[1.0, 2.0]),
        "scene.toml:20:5: signal[0].t: times must increase, got 0 after 0; sort the times",
    ),
    "waypoints that do not increase": (
        DISC
        + samples("waypoints", t=[0.0, 0.0], values=[1.0, 2.0])
        + pd("s", "angle.q", "angle.v")
        + motor("pd"),
        "scene.toml:20:5: signal[0].t: times must increase, got 0 after 0; sort the times",
    ),
    "a value that is not a number": (
        DISC + samples(t=[0.0, 1.0], values=[1.0, float("nan")]),
        "scene.toml:21:10: signal[0].values: must not be NaN; give a number",
    ),
    "a table shorter than the run": (
        DISC + samples(t=[0.5, 0.6], values=[1.0, 2.0]),
        (
            "scene.toml:16:1: signal[0]: signal 's' is given from t = 0.5 to 0.6 s, the run is from 0 to 1 s; "
            'add points, or write outside = "hold" or "periodic"'
        ),
    ),
    "an unknown column": (
        DISC + samples(file="a.csv", column="y"),
        f"a.csv:1: has no column 'y'; known: t, x {TABLE}",
    ),
    "an unknown column of times": (
        DISC + samples(file="a.csv", time="tt"),
        f"a.csv:1: has no column 'tt'; did you mean 't'? {TABLE}",
    ),
    "a bushing of one number": (
        DISC + BODY + on_disc(type="bushing", b="disc", stiffness=[[1.0]]),
        "scene.toml:28:13: force[0].stiffness: must have 6 rows of 6 numbers; write 0 for entries without effect",
    ),
    "a stiffness that is not symmetric": (
        DISC
        + BODY
        + on_disc(type="bushing", b="disc", stiffness=np.triu(np.ones((6, 6))).tolist()),
        "scene.toml:28:13: force[0].stiffness: must be symmetric; write the mean of the matrix and its transpose",
    ),
    "a rest pose of one number": (
        DISC + BODY + on_disc(type="bushing", b="disc", stiffness=np.eye(6).tolist(), home=[0.0]),
        "scene.toml:29:8: force[0].home: must have 6 numbers, got 1; write x, y, z and a rotation vector",
    ),
    "a spring between three coordinates": (
        DISC
        + BODY
        + on_disc(type="coordinate_spring", coordinates=["hinge", "two", "hinge"], stiffness=1.0),
        (
            "coordinates: acts on one coordinate or between two, got 3; name one or two "
            "(scene.toml:24:1: force[0]: force 'f')"
        ),
    ),
    "the rate of an input": (
        DISC + GIVEN + pd("u", "angle.q", "u.rate") + motor("pd"),
        f"{PLACE_OF_GIVEN}: 'u' is given from outside and has no rate; give its rate as another input",
    ),
    "an output that an input does not have": (
        DISC + GIVEN + pd("u.angle", "angle.q", "angle.v") + motor("pd"),
        f"{PLACE_OF_GIVEN}: 'u' has no output 'angle'; write one of u.value",
    ),
    "more sampled blocks than the engine has bits": (
        DISC
        + "".join(
            table("sensor", name=f"s{k}", type="noisy", inputs=["angle.q"], deviation=0, period=0.1)
            for k in range(65)
        ),
        "scene.toml:400:1: sensor[65]: sensor 's64': too many sampled blocks, 65; use at most 64",
    ),
    "a speed without a limit": (
        DISC + drive(speed=[0.0, 1.0], limit=[1.0]),
        (
            "scene.toml:21:9: actuator[0].speed: needs two or more points, got 2 and 1 limits; "
            "write one limit for each speed"
        ),
    ),
    "speeds that do not increase": (
        DISC + drive(speed=[1.0, 1.0], limit=[1.0, 2.0]),
        "scene.toml:21:9: actuator[0].speed: must increase, got [1.0, 1.0]; sort the points",
    ),
    "a negative limit": (
        DISC + drive(speed=[0.0, 1.0], limit=[1.0, -2.0]),
        "scene.toml:22:9: actuator[0].limit: must not be negative, got -2; change it",
    ),
    "a force that depends on the position of a rotation": (
        THROWN + on_disc(type="by_time_and_q", coordinates=["free.wx"]),
        (
            "scene.toml:9:1: force[0]: force 'f': force depends on q, but 'free.wx' is a velocity whose position is not a "
            "single number; name another coordinate"
        ),
    ),
    "the power of a spring on a rotation": (
        THROWN.replace("[[joint]]", "[[joint]]\nstiffness = 2.0")
        + table("sensor", name="s", type="power", element="free"),
        (
            "scene.toml:10:1: sensor[0]: sensor 's': the spring of joint 'free' acts on a rotation; use a bushing, whose "
            "power is measured"
        ),
    ),
    "axes that do not exist": (
        DISC + table("sensor", name="s", type="twist", frame="disc", axes="bas"),
        ("scene.toml:20:8: sensor[1].axes: unknown 'bas'; did you mean 'base'?"),
    ),
    "a weight too many": (
        DISC
        + table("sensor", name="s", type="weighted_sum", coordinates=["hinge"], weights=[1.0, 2.0]),
        (
            "weights: must have one number for each coordinate, got 2 for 1; write as many as coordinates "
            "(scene.toml:16:1: sensor[1]: sensor 's')"
        ),
    ),
    "a limiter that falls upwards": (
        DISC
        + table(
            "controller",
            name="c",
            type="rate_limiter",
            inputs=["angle.q"],
            rising=1.0,
            falling=-1.0,
        ),
        "scene.toml:21:11: controller[0].falling: must not be negative, got -1; change it",
    ),
    "a start of too many states": (
        DISC + state_space(x0=[1.0, 2.0]),
        "scene.toml:23:6: controller[0].x0: must have one number for each state, got 2 for 1; write one for each",
    ),
    "an input of no number": (
        DISC + table("signal", name="u", type="input", size=0),
        "scene.toml:19:8: signal[0].size: must be 1 or more, got 0; give the number of values",
    ),
    "an interpolation that does not exist": (
        DISC + samples("spline", t=[0.0, 1.0], values=[1.0, 2.0], interpolation="pchap"),
        (
            "scene.toml:22:17: signal[0].interpolation: unknown interpolation 'pchap'; did you mean "
            "'pchip'?"
        ),
    ),
    "a filter without time": (
        DISC
        + table(
            "actuator",
            name="m",
            type="affine_filter",
            joint="hinge",
            command="angle.q",
            time_constant=0.0,
        ),
        "scene.toml:21:17: actuator[0].time_constant: must be positive [s], got 0",
    ),
    "a force of time between frames that returns a number": (
        DISC + on_disc(type="number_of_time", b="disc"),
        "LINE: NumberOfTime.wrench: must return a Wrench, got a Scalar",
    ),
    "an actuator of two forces": (
        DISC + table("actuator", name="m", type="two_forces", joint="hinge", command="angle.q"),
        "LINE: TwoForces.force: must return 1 number, got 2",
    ),
    "an unknown type": (
        DISC + table("sensor", name="s", type="posse", frame="disc"),
        "scene.toml:18:8: sensor[1].type: unknown sensor type 'posse'; did you mean 'pose'?",
    ),
    "an unknown joint": (
        DISC + TARGET + motor("target", "hing"),
        "scene.toml:24:9: actuator[0].joint: unknown joint 'hing'; did you mean 'hinge'?",
    ),
    "an unknown frame": (
        DISC + table("sensor", name="s", type="pose", frame="disk"),
        "scene.toml:19:9: sensor[1].frame: unknown body or frame 'disk'; did you mean 'disc'?",
    ),
    "a name for two": (
        DISC + TARGET + constant("target", 1.0),
        (
            "scene.toml:22:8: signal[1].name: 'target' is taken by scene.toml:16:1: signal[0]; rename one"
        ),
    ),
    "a follower that is driven": (
        DISC
        + table("body", name="other", mass=1, inertia={"xx": 1, "yy": 1, "zz": 1})
        + table("joint", name="two", type="revolute", child="other", mimic={"joint": "hinge"})
        + motor("angle.q", "two"),
        "scene.toml:28:9: actuator[0].joint: joint 'two' follows 'hinge'; drive that joint",
    ),
    "a coordinate that a joint does not have": (
        THROWN
        + table("actuator", name="m", type="force", joint="free", coordinate="v", command="x"),
        "scene.toml:13:14: actuator[0].coordinate: a free joint has no coordinate v; it has 0 vx, 1 vy, 2 vz, 3 wx, 4 wy, 5 wz; did you mean 'vz'?",
    ),
    "a file of data that is not there": (
        DISC + samples(file="b.csv", column="x"),
        "scene.toml:20:8: signal[0].file: there is no file 'b.csv'; paths are relative to the scene",
    ),
    "a file of data elsewhere": (
        DISC + samples(file="/etc/hostname", column="x"),
        "scene.toml:20:8: signal[0].file: '/etc/hostname' is outside the folders that a scene may read; move it beside the scene",
    ),
    "stretches that do not increase": (
        DISC + on_disc(type="table_spring", coordinates=["hinge"], stretch=[1.0, 0.0], pull=[1, 2]),
        ("scene.toml:20:11: force[0].stretch: must increase, got [1.0, 0.0]; sort the points"),
    ),
}


@force("by_time_and_q")
class ByTimeAndPosition(Force):
    """A force that depends on time and a position."""

    def force(self, t, q):
        return [t * q[0]]


@force("number_of_time")
class NumberOfTime(Force):
    """A number in place of a wrench."""

    def wrench(self, t, twist):
        return t * twist.v[0]


@actuator("two_forces")
class TwoForces(Actuator):
    """A force too many."""

    def force(self, command):
        return [command, command]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_scene_is_reported(tmp_path: Path, mistake: str) -> None:
    (tmp_path / "a.csv").write_text("t,x\n0,1\n1,2\n")
    text, expected = MISTAKES[mistake]
    found = re.sub(rf"^{re.escape(__file__)}:\d+:", "LINE:", message(tmp_path, text))
    assert found == expected


class OneAngle(Controller):
    """A controller of one angle."""

    inputs = signal("q", unit="rad")
    outputs = signal("f", unit="")


class Inverse(OneAngle):
    """Its accelerations are too many."""

    def output(self, dynamics: Any) -> Any:
        return dynamics.inverse([1.0, 2.0])[0]


class Twice(OneAngle):
    """It computes dynamics from a result of dynamics."""

    def output(self, dynamics: Any) -> Any:
        return dynamics.inverse([dynamics.gravity[0]])[0]


class Pair(OneAngle):
    """Two outputs, one returned."""

    outputs = signal("f", unit="") * signal("g", unit="")

    def output(self) -> Any:
        return 1.0


class Size(OneAngle):
    """One output for which it returns two numbers."""

    def output(self, inputs: Any) -> Any:
        return [1.0, inputs.q]


class Text(OneAngle):
    """Text in place of a number."""

    def output(self) -> Any:
        return "x"


class Nothing(OneAngle):
    """No return."""

    def output(self, inputs: Any) -> Any:
        inputs.q  # noqa: B018


class NotFinite(OneAngle):
    """NaN."""

    def output(self) -> Any:
        return np.nan


class Misspelt(OneAngle):
    """A misspelt argument."""

    def output(self, inptus: Any) -> Any:
        return inptus


class Lazy(OneAngle):
    """A state without a rate."""

    states = real("x")

    def output(self, x: Any) -> Any:
        return x


class TwoStates(Lazy):
    """Two states and one rate."""

    states = real("x") * real("y")

    def state_rate(self) -> Any:
        return 1.0


class TwoRates(Lazy):
    """One state and two rates."""

    def state_rate(self) -> Any:
        return [1.0, 2.0]


class TwoStarts(Lazy):
    """One state and two numbers at the start."""

    def start(self) -> dict[str, Any]:
        return {"x": [1.0, 2.0]}

    def state_rate(self) -> Any:
        return 0.0


class Unsized(CallbackController):
    """An output as long as an input that it does not have."""

    inputs = signal("q", unit="rad")
    outputs = signal("list", unit="", size="n")

    def output(self, t: float, inputs: Any) -> Any:
        return inputs.q


KEPT: list[Any] = []


class Hoarder(OneAngle):
    """It returns what an earlier trace has passed to it."""

    def output(self, inputs: Any) -> Any:
        KEPT.append(inputs.q)
        return KEPT[0]


class Vector(OneAngle):
    """A sampled output as long as its input, for which it returns a number more."""

    inputs = signal("q", unit="rad", size="n")
    outputs = signal("f", unit="", size="n")

    def output(self, inputs: Any) -> Any:
        return [inputs.q, inputs.q]


class ThreeStarts(Lazy):
    """Two numbers for the state at the start."""

    def initial(self, inputs: Any) -> Any:
        return [inputs.q, 1.0]

    def state_rate(self) -> Any:
        return 0.0


class Remembering(OneAngle):
    """A memory for which it returns two numbers."""

    memory = real("x")

    def output(self, x: Any) -> Any:
        return x

    def update(self, x: Any) -> Any:
        return [x, x]


WRONG: list[tuple[type[Controller], str]] = [
    (
        Inverse,
        (
            "LINE: ValueError: dynamics.inverse needs 1 accelerations, got 2, in `return dynamics.inverse([1.0, 2.0])[0]`; "
            "fix Inverse.output"
        ),
    ),
    (
        Twice,
        (
            "signals: a number passed to dynamics.inverse depends on another result of dynamics; use only one of the "
            "two"
        ),
    ),
    (Pair, "Pair.output: must return 2 values: f, g; got 1.0"),
    (
        Size,
        "Size.output: must return 1 number for 'f', got 2; change it, or the size that it declares",
    ),
    (Text, "Text.output: returns a str instead of a number"),
    (Nothing, "Nothing.output: returns None; end it with `return`"),
    (NotFinite, "NotFinite.output: returns nan; return a finite number"),
    (
        Misspelt,
        "Misspelt.output: has the unknown argument 'inptus'; choose among t, inputs, dynamics, gravity, noise",
    ),
    (Lazy, "Lazy: has x, but no state_rate; write `def state_rate(self, t, inputs, x)`"),
    (TwoStates, "TwoStates.state_rate: must return 2 values, one for each of x, y"),
    (TwoRates, "TwoRates.state_rate: must return 1 number for 'x', got 2"),
    (
        Unsized,
        "Unsized.output: the output 'list' has the size 'n', which no input has; give a number",
    ),
    (
        Hoarder,
        "Hoarder.output: returns a symbolic number from an earlier call; compute it from this call's arguments",
    ),
    (Vector, "Vector.output: must return 1 number for 'f', got 2"),
    (ThreeStarts, "ThreeStarts.initial: must return 1 number, got 2"),
    (Remembering, "Remembering.update: must return 1 number for 'x', got 2"),
    (TwoStarts, "TwoStarts.start: must give 'x' 1 number, got 2"),
]


@pytest.mark.parametrize(("plugin", "expected"), WRONG, ids=lambda x: getattr(x, "__name__", ""))
def test_a_wrong_controller_is_reported_with_its_line(
    tmp_path: Path, plugin: type[Controller], expected: str
) -> None:
    name = f"wrong_{plugin.__name__.lower()}"
    controller(name)(plugin)
    sampled = {"period": 0.1} if plugin in (Unsized, Remembering, Vector) else {}
    keys = {"name": "pd", "type": name, "inputs": ["angle.q"], **sampled}
    text = DISC + table("controller", **keys) + motor("pd")
    if plugin is Hoarder:
        scene_of(tmp_path, text + simulation())  # its first trace
    found = message(tmp_path, text)
    assert re.sub(rf"^{re.escape(__file__)}:\d+: ", "", found) == expected.removeprefix("LINE: ")


def _clashing() -> type[Controller]:
    class Clash(OneAngle):
        """A field that every controller has."""

        name: str = ""

        def output(self) -> Any:
            return 0

    return Clash


def _force(*methods: str, **fields: type) -> type[Force]:
    def method(_: Force, **_given: Any) -> float:
        return 1.0

    own = dict.fromkeys(methods, method)
    return type("Own", (Force,), {"__annotations__": fields, **own})


def _tuple_of_inputs() -> type[Controller]:
    own = {"inputs": (signal("a"), signal("b")), "output": lambda _self, _t, inputs: inputs.a}
    return type("Own", (Controller,), own)


DEFINITIONS: list[tuple[Any, str]] = [
    (
        lambda: source("none")(type("Own", (Source,), {})),
        "Own: has no method output; write `def output(self, t)`",
    ),
    (
        lambda: controller("none")(type("Own", (Controller,), {})),
        "Own: has no method output; write `def output(self, t, inputs)`",
    ),
    (
        lambda: sensor("none")(type("Own", (Sensor,), {})),
        "Own: has no method measure; write `def measure(self, q, v)`, or with pose, twist, acceleration, length or rate",
    ),
    (
        lambda: actuator("none")(type("Own", (Actuator,), {})),
        "Own: has no method force; write `def force(self, command, q, v)` or `def tension(self, command, length, rate)`",
    ),
    (
        lambda: force("none")(_force()),
        (
            "Own: has no force; write `def wrench(self, pose, twist)`, `def tension(self, length, rate)` or "
            "`def force(self, q, v)`"
        ),
    ),
    (
        lambda: force("none")(_force("tension", "force")),
        "Own: has the methods tension and force; write a plugin for each",
    ),
    (
        lambda: force("none")(_force("tension", name=str)),
        "Own: the field 'name' is a key that every force has; choose another name",
    ),
    (
        lambda: controller("none")(_clashing()),
        "_clashing.<locals>.Clash: the field 'name' is a key that every controller has; choose another name",
    ),
    (
        lambda: controller("none")(_tuple_of_inputs()),
        (
            "Own: inputs is a tuple instead of channels; join them by *, such as "
            'inputs = signal("a") * signal("b")'
        ),
    ),
    (lambda: signal("q", size=0), "signal 'q' has the size 0; give 1 or more"),
    (
        lambda: signal("q") * signal("q"),
        "two signals have the same name: q, q; rename one",
    ),
    (
        lambda: signal("a b"),
        "signal 'a b' is not a valid name; use letters, digits and _",
    ),
    (lambda: Source().output(0.0), "Source: has no method output; write `def output(self, t)`"),
    (
        lambda: Sensor().measure(),
        (
            "Sensor: has no method measure; write `def measure(self, q, v)`, or with pose, twist, acceleration, length or "
            "rate"
        ),
    ),
]


@pytest.mark.parametrize(("define", "expected"), DEFINITIONS)
def test_a_wrong_definition_is_reported_with_its_line(define: Any, expected: str) -> None:
    with pytest.raises(PysimError) as caught:
        define()
    assert re.sub(r"^\S+\.py:\d+: ", "", str(caught.value)) == expected
    assert inspect.getsourcefile(define) == __file__


def test_a_wrench_of_two_numbers_is_rejected() -> None:
    with pytest.raises(
        ValueError, match=r"^a wrench needs 3 numbers of force and 3 of torque, got 2 and 3$"
    ):
        Wrench(force=(0, 0), torque=(0, 0, 0))


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("m/s^2", "m/s²"),
        ("N*m", "N·m"),
        ("N m/rad**2", "N·m/rad²"),
        ("s^-1", "s⁻¹"),
        ("kg·m²", "kg·m²"),
    ],
)
def test_units_typed_in_ascii_are_those_with_raised_exponents(typed, spelled):
    assert spelled_unit(typed) == spelled
    assert Signal[typed].unit == spelled
    assert signal("x", unit=typed).parts[0].unit == spelled


def test_a_signal_with_its_unit_in_ascii_fits(tmp_path):
    text = disc() + table("signal", name="push", type="constant", value=0.2, unit="N*m")
    text += table("sensor", name="noisy", type="noisy", inputs=["push"], deviation=0, period=0.1)
    run = pysim.simulate(scene_of(tmp_path, text + motor("push") + simulation("rk4")))
    units = dict(zip(run.header.signal_names, run.header.signal_units, strict=True))
    assert units["noisy"] == "N·m"
