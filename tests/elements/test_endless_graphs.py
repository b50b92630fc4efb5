"""Short scenes whose signals have endless numbers are rejected before memory is taken; chains take linear time.

The oracle is a limit on the time, far above what is needed and far below what was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim import SceneError
from tests.time_limits import ends_within

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 30.0
BODY = """
[[body]]
name = "rod"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
[[sensor]]
name = "s"
type = "coordinates"
coordinates = ["hinge"]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(BODY + text, "utf-8")
    return path


def block(name: str, kind: str, inputs: list[str], keys: str = "") -> str:
    return f'[[controller]]\nname = "{name}"\ntype = "{kind}"\ninputs = {inputs!r}\n{keys}\n'


def doubled(kind: str, count: int, first: str = "s.q", index: str = "") -> str:
    """A chain of blocks. Each reads the one before twice."""
    names = [first, *(f"c{k}{index}" for k in range(count))]
    return "".join(block(f"c{k}", kind, [names[k]] * 2) for k in range(count))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            doubled("join", 40),
            "the input 'values' reads 131072 numbers, at most 100000 are allowed",
        ),
        ('[[signal]]\nname = "u"\ntype = "input"\nsize = 1000000000\n', "must be at most 100000"),
        (
            block("c", "delay", ["s.q"], "period = 0.01\nperiods = 1000000000000"),
            "must be from 1 to 100000, got 1000000000000",
        ),
        (
            '[[signal]]\nname = "u"\ntype = "input"\nsize = 50\n'
            + block("c", "delay", ["u"], "period = 0.01\nperiods = 90000"),
            "'past' has 4500000 numbers, at most 100000 are allowed",
        ),
        (
            '[[signal]]\nname = "u"\ntype = "input"\nsize = 90000\n'
            + "".join(block(f"c{k}", "gain", ["u"], "gain = 1.0") for k in range(3)),
            "with those before has 360002 numbers, at most 300000 are allowed",
        ),
    ],
)
def test_endless_numbers_of_a_signal_are_rejected(tmp_path: Path, text: str, problem: str) -> None:
    path = written(tmp_path, text)
    with ends_within(SECONDS), pytest.raises(SceneError, match=re.escape(problem)):
        pysim.load_scene(path)


LOOP = block("d", "delay", ["c39"], "period = 0.01") + block("e", "sum", ["s.q", "d"])


@pytest.mark.parametrize("first", ["", LOOP])
def test_blocks_that_read_the_one_before_twice_take_linear_time(tmp_path: Path, first: str) -> None:
    path = written(tmp_path, first + doubled("sum", 40, "e" if first else "s.q"))
    with ends_within(SECONDS):
        pysim.load_scene(path)


@pytest.mark.parametrize(
    "text",
    [doubled("sum", 40), LOOP + doubled("sum", 40, "e"), doubled("join", 40, "s.q", "[0]")],
)
def test_an_unknown_name_of_such_a_signal_is_found_in_linear_time(
    tmp_path: Path, text: str
) -> None:
    path = written(tmp_path, text + block("r", "gain", ["c39.elbow"], "gain = 1.0"))
    with ends_within(SECONDS), pytest.raises(SceneError, match="'c39' has no output 'elbow'"):
        pysim.load_scene(path)


def test_thousands_of_gains_are_judged_in_linear_time(tmp_path: Path) -> None:
    blocks = [block(f"c{k}", "gain", ["s.q"], "gain = 1.0") for k in range(5000)]
    with ends_within(SECONDS):
        pysim.load_scene(written(tmp_path, "".join(blocks)))


def test_names_through_too_many_blocks_are_an_error(tmp_path: Path) -> None:
    names = ["s.q", *(f"c{k}" for k in range(2000))]
    blocks = [block(names[k + 1], "gain", [names[k]], "gain = 1.0") for k in range(2000)]
    text = "".join(blocks) + block("r", "gain", ["c1999.elbow"], "gain = 1.0")
    with pytest.raises(SceneError, match="come through too many blocks; read one by its index"):
        pysim.load_scene(written(tmp_path, text))
