"""Checks of a plugin's class. The oracle is the text of the error, word for word, and this file's own lines."""

from __future__ import annotations

import itertools
import re
import sys
import types
from pathlib import Path

import pytest

import pysim
from pysim.joints import BUILTIN, CallbackJoint, Joint, joint
from pysim.joints.definition import SCENE_KEYS
from pysim.joints.trace import trace
from pysim.plugins.fields import build, fields_of
from pysim.scene.toml.records import tables
from tests.joints.one_joint import scene_of

HEAD = """from __future__ import annotations
from typing import ClassVar
import numpy as np
from pysim.joints import *

class Mine(Joint):
"""
MOTION = """
    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle)
"""


def defined(folder: Path, text: str, name: str = "Mine") -> type[Joint]:
    """Run an author's file and return the class it defines."""
    file = folder / "mine.py"
    file.write_text(text, "utf-8")
    module = types.ModuleType("authored")
    sys.modules["authored"] = module  # where annotations are looked up
    exec(compile(text, str(file), "exec"), vars(module))
    found = getattr(module, name)
    assert isinstance(found, type)
    return found


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(pysim.JointError) as caught:
        defined(folder, text)
    return str(caught.value).removeprefix(f"{folder}/")


FIELDS = [
    (
        "damping: float",
        "the field 'damping' is a key that every joint has; choose another name",
    ),
    ("name: str", "the field 'name' is a key that every joint has; choose another name"),
    ("at: float = 0.0", "the field 'at' is a key that every joint has; choose another name"),
    ("limits: float", "the field 'limits' is a key that every joint has; choose another name"),
    ("start: float", "the field 'start' is a key that every joint has; choose another name"),
    ("placement: float", "the field 'placement' hides a method of joints; choose another name"),
    ("force: float = 1.0", "the field 'force' hides a method of joints; choose another name"),
    ("sample: int", "the field 'sample' hides a method of joints; choose another name"),
    ("_lift: float", "the field '_lift' cannot be a scene key; begin its name with a letter"),
    (
        "lift = 0.1",
        (
            "the field 'lift' has no type, so scenes cannot set it; write `lift: float = …`, or LIFT "
            "for a constant"
        ),
    ),
    ('lift: float = "high"', "the default of 'lift' must be float, got 'high'"),
    ("teeth: int = 1.5", "the default of 'teeth' must be int, got 1.5"),
    ("teeth: int = True", "the default of 'teeth' must be int, got True"),
    (
        "axis: tuple[float, float, float] = (0.0, 1.0)",
        "the default of 'axis' must have 3 elements, got 2",
    ),
    (
        'knots: tuple[float, ...] = (0, "1")',
        "the default of 'knots' must be tuple[float, ...], got (0, '1')",
    ),
    (
        "knots: list[float] = [0.0, 1.0]",
        (
            "the default of 'knots' would be shared by all joints; write a tuple, or "
            "dataclasses.field(default_factory=…)"
        ),
    ),
    (
        "lift: float = 0.1\n    width: float",
        "the field 'width' has no default but follows one that has; put it first",
    ),
]


@pytest.mark.parametrize(("field", "problem"), FIELDS)
def test_a_field_that_cannot_be_a_scene_key_is_rejected_at_its_class(tmp_path, field, problem):
    text = refusal(tmp_path, HEAD + f"    {field}\n" + MOTION)
    assert text == f"mine.py:6: Mine: {problem}"


COORDINATES = [
    (
        'coordinates = "angle"',
        (
            "mine.py:6: Mine: coordinates must be made by real, rotation or pose, got 'angle'; "
            'write for example `coordinates = real("angle")`'
        ),
    ),
    (
        'coordinates: object = real("angle")',
        "mine.py:6: Mine: coordinates is not a field; remove its annotation",
    ),
    (
        'coordinates = real("a", "b", "a")',
        "mine.py:7: two coordinates have the same name: a, b, a; rename one",
    ),
    (
        'coordinates = real("a") * rotation("a")',
        "mine.py:7: two coordinates have the same name: a, a; rename one",
    ),
    ("coordinates = real()", 'mine.py:7: a joint needs a coordinate; write real("angle")'),
    (
        'coordinates = real("my angle")',
        "mine.py:7: coordinate 'my angle' is not a valid name; use letters, digits and _",
    ),
    (
        'coordinates = real("angle", unit="deg")',
        "mine.py:7: unknown unit 'deg' of coordinate 'angle'; known: rad, m",
    ),
]


@pytest.mark.parametrize(("line", "problem"), COORDINATES)
def test_invalid_coordinates_are_rejected_with_their_line(tmp_path, line, problem):
    assert refusal(tmp_path, HEAD + f"    {line}\n") == problem


INCOMPLETE = [
    (
        "from pysim.joints import *\n@joint('test_none')\nclass Mine(Joint):\n    def placement(self, q): ...",
        'mine.py:2: Mine: has no coordinates; write `coordinates = real("angle")`',
    ),
    (
        "from pysim.joints import *\n@joint('test_none')\nclass Mine(Joint):\n    coordinates = real('a')",
        "mine.py:2: Mine: has no method placement; write `def placement(self, q)` that returns a Pose",
    ),
    (
        "from pysim.joints import *\n@joint('test_none')\nclass Mine(CallbackJoint):\n    coordinates = real('a')",
        "mine.py:2: Mine: has no method poses; write `def poses(self, q)` that returns poses (n, 4, 4)",
    ),
    (
        "from pysim.joints import *\nclass Mine(CallbackJoint):\n    def placement(self, q): ...",
        "mine.py:2: Mine: placement is traced, and a CallbackJoint is not; write `poses`",
    ),
    (
        "from pysim.joints import *\nclass Mine(CallbackJoint):\n    def force(self, q, v): ...",
        "mine.py:2: Mine: force is traced, and a CallbackJoint is not; derive it from Joint",
    ),
    (
        "from pysim.joints import *\n@joint\nclass Mine(Joint):\n    coordinates = real('a')",
        (
            "mine.py:2: @joint: needs a name, got <class 'authored.Mine'>; "
            'write @joint("name") above the class'
        ),
    ),
    (
        "from pysim.joints import *\n@joint('test_none')\nclass Mine: ...",
        (
            "mine.py:2: @joint: <class 'authored.Mine'> is not a subclass of pysim.joints.Joint; "
            "derive it from that class"
        ),
    ),
]


@pytest.mark.parametrize(("text", "problem"), INCOMPLETE)
def test_an_incomplete_joint_class_is_rejected_at_its_registration(tmp_path, text, problem):
    assert refusal(tmp_path, text + "\n") == problem


def test_the_type_of_a_field_that_cannot_be_understood_is_rejected(tmp_path):
    registered = HEAD.replace("class", "@joint('test_none')\nclass") + "    lift: flaot\n" + MOTION
    assert refusal(tmp_path, registered) == (
        "authored.Mine: the type 'flaot' of the field 'lift' cannot be understood, name 'flaot' is "
        "not defined; use float, int, bool, str or tuples"
    )


def test_constants_class_variables_and_helpers_are_not_fields(tmp_path):
    plugin = defined(
        tmp_path,
        HEAD
        + "    KNOTS = (0.0, 1.0)\n    _cache = None\n    count: ClassVar[int] = 3\n    lift: float = 1\n"
        + "    @property\n    def twice(self):\n        return 2 * self.lift\n"
        + MOTION,
    )
    assert list(fields_of(plugin)) == ["lift"]


METHODS = [
    ("placment(self, q)", "placement"),
    ("forces(self, q, v)", "force"),
    ("limit(self)", "limits"),
    ("starts(self)", "start"),
]


@pytest.mark.parametrize(("method", "meant"), METHODS)
def test_a_method_whose_name_is_nearly_that_of_a_joint_is_rejected(tmp_path, method, meant):
    reported = refusal(tmp_path, HEAD + f"    def {method}: ...\n")
    name = method.partition("(")[0]
    assert reported == (
        f"mine.py:7: Mine: joints have no method {name!r}; did you mean {meant!r}? "
        "the name of a helper may begin with _"
    )


def test_helpers_of_a_joint_may_be_named_alike(tmp_path):
    """If they take other arguments, are private, or are defined beside the method with that name."""
    helpers = "    def limit(self, angle): ...\n    def _starts(self): ...\n"
    helpers += "    @staticmethod\n    def starts(angle): ...\n"
    beside = "    def forces(self, q, v): ...\n    def force(self, q, v): ...\n"
    further = "class More(Mine):\n    def forced(self, q, v): ...\n    def limits_(self): ...\n"
    defined(tmp_path, HEAD + MOTION + helpers + beside + "    def limits(self): ...\n" + further)


def test_the_reserved_keys_are_those_of_every_joint_of_a_scene():
    own = {key.name for kind in BUILTIN.values() for key in kind.keys}  # axis, pitch: of some types
    assert set(tables.Joint.model_fields) - own == SCENE_KEYS


VALUES = [
    ({"lift": True}, "scene.lift: must be float, got True"),
    ({"lift": "high"}, "scene.lift: must be float, got 'high'"),
    ({"lift": 1, "teeth": 2.0}, "scene.teeth: must be int, got 2.0"),
    ({"lift": 1, "axis": [1, 0]}, "scene.axis: must have 3 elements, got 2"),
    (
        {"lift": 1, "axis": [1, "0", 0]},
        "scene.axis: must be tuple[float, float, float], got [1, '0', 0]",
    ),
    ({"lift": 1, "end": 1.5}, "scene.end: must be str | None, got 1.5"),
    ({"lft": 1}, "scene.lft: unknown key; did you mean 'lift'?"),
    ({}, "scene: Mine needs the key lift; write lift = …"),
]
KEYS = """    lift: float
    teeth: int = 3
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    end: str | None = None
"""


@pytest.mark.parametrize(("given", "problem"), VALUES)
def test_values_of_the_wrong_type_are_rejected(tmp_path, given, problem):
    plugin = defined(tmp_path, HEAD + KEYS + MOTION)
    with pytest.raises(pysim.JointError) as caught:
        build(plugin, given, "scene")
    assert str(caught.value) == problem


def test_values_become_what_the_field_says(tmp_path):
    plugin = defined(tmp_path, HEAD + KEYS + MOTION)
    made = build(plugin, {"lift": 1, "axis": [0, 1, 0], "end": "up"}, "scene")
    assert repr(made) == "Mine(lift=1.0, teeth=3, axis=(0.0, 1.0, 0.0), end='up')"


def test_an_error_of_an_authors_post_init_shows_its_line(tmp_path):
    text = HEAD + KEYS + MOTION
    text += "\n    def __post_init__(self):\n        raise ValueError(f'lift {self.lift} is low')\n"
    plugin = defined(tmp_path, text)
    with pytest.raises(pysim.JointError) as caught:
        build(plugin, {"lift": 1}, "scene")
    line = 1 + text.splitlines().index("        raise ValueError(f'lift {self.lift} is low')")
    assert str(caught.value) == (
        f"{tmp_path}/mine.py:{line}: ValueError: lift 1.0 is low, "
        "in `raise ValueError(f'lift {self.lift} is low')`; fix Mine"
    )


RANGES = [
    ("limits", '{"angel": (0, 1)}', "there is no coordinate 'angel'; did you mean 'angle'?"),
    ("limits", '{"angle": 1.0}', "must give 'angle' a pair of numbers [rad], got 1.0"),
    (
        "limits",
        '{"angle": (1, 0)}',
        "lower limit of 'angle' must be below the upper, got 1 and 0 [rad]",
    ),
    ("limits", '{"angle": "ab"}', "must give 'angle' a pair of numbers [rad], got 'ab'"),
    ("limits", '{"angle": (1, 0, 3)}', "must give 'angle' a pair of numbers [rad], got (1, 0, 3)"),
    ("limits", "[(0, 1)]", "must return a dict by coordinate, got a list"),
    ("limits", "None", "must return a dict by coordinate, got a NoneType"),
    (
        "limits",
        '{"turn": (0, 1)}',
        "limits 'turn', a rotation; only real coordinates have limits",
    ),
    ("start", '{"angel": 1}', "there is no coordinate 'angel'; did you mean 'angle'?"),
    ("start", '{"angle": "up"}', "must give 'angle' a finite number, got 'up'"),
    ("start", '{"angle": np.nan}', "must give 'angle' a finite number, got nan"),
    ("start", '{"turn": (0, 0, 1)}', "must give 'turn' 4 finite numbers, got (0, 0, 1)"),
    (
        "start",
        '{"turn": (0, 0, 0, 2)}',
        "gives 'turn' a quaternion (x, y, z, w) of length 2; it must be 1",
    ),
]


@pytest.mark.parametrize(("method", "value", "problem"), RANGES)
def test_invalid_limits_and_starts_are_rejected(tmp_path, method, value, problem):
    text = HEAD + '    coordinates = real("angle") * rotation("turn")\n'
    text += f"    def {method}(self):\n        return {value}\n"
    plugin = defined(tmp_path, text)
    with pytest.raises(pysim.JointError) as caught:
        plugin().neutral()
    assert str(caught.value) == f"{tmp_path}/mine.py:8: Mine.{method}: {problem}"


count = itertools.count()


def refusal_of_scene(folder: Path, text: str) -> str:
    """What a scene says of the joint that an author's file defines."""
    kind = f"test_defined_{next(count)}"
    (folder / "mine.py").write_text(text.replace("class", f"@joint({kind!r})\nclass"), "utf-8")
    (folder / "s.toml").write_text(scene_of(kind, "mine.py"), "utf-8")
    with pytest.raises(pysim.JointError) as caught:
        pysim.load_scene(folder / "s.toml", allow_code=True)
    return str(caught.value)


@pytest.mark.parametrize(("method", "value", "problem"), RANGES)
def test_a_scene_reports_limits_and_start_in_the_same_form(tmp_path, method, value, problem):
    text = HEAD + '    coordinates = real("angle") * rotation("turn")\n'
    text += f"    def {method}(self):\n        return {value}\n"
    text += "    def placement(self, q):\n        return Pose.rotate_quaternion(q.turn)\n"
    reported = refusal_of_scene(tmp_path, text)
    assert reported == f"{tmp_path}/mine.py:9: Mine.{method}: {problem}"


@pytest.mark.parametrize("method", ["limits", "start"])
def test_an_error_in_limits_or_start_shows_the_authors_line(tmp_path, method):
    text = HEAD + MOTION + f'\n    def {method}(self):\n        return {{}}["angle"]\n'
    assert refusal_of_scene(tmp_path, text) == (
        f"{tmp_path}/mine.py:15: KeyError: 'angle', in `return {{}}[\"angle\"]`; fix Mine.{method}"
    )


def test_a_joint_without_a_placement_says_what_to_write():
    class Empty(Joint):
        coordinates = pysim.joints.real("angle")

    with pytest.raises(
        pysim.JointError, match=r"has no method placement; write `def placement\(self, q\)"
    ):
        trace(Empty())


def test_a_callback_without_poses_says_what_to_write():
    class Empty(CallbackJoint):
        coordinates = pysim.joints.real("angle")

    with pytest.raises(pysim.JointError, match=r"has no method poses; write `def poses\(self, q\)"):
        Empty().numbers(Empty().neutral()[None], None)


def test_a_type_that_is_built_in_or_taken_names_both_owners():
    first = type("First", (Joint,), {"coordinates": pysim.joints.real("a"), "placement": print})
    second = type("Second", (Joint,), {"coordinates": pysim.joints.real("a"), "placement": print})
    joint("test_taken_once")(first)
    joint("test_taken_once")(first)  # imported again
    with pytest.raises(pysim.JointError) as caught:
        joint("test_taken_once")(second)
    module = re.escape(__name__)
    assert re.fullmatch(
        rf"{module}\.Second: joint type 'test_taken_once' is already taken by {module}\.First; "
        "choose another name",
        str(caught.value),
    )
    with pytest.raises(pysim.JointError, match=r"Second: joint type 'ball' is built in; choose"):
        joint("ball")(second)
