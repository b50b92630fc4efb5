"""Runs whose steps Python makes, stopped at random segments and resumed.

Oracle: the same run, never stopped: every dataset of the two files is equal, bit for bit.
"""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.integrators import Integrator
from pysim.worlds.scheme_memory import memory_of, set_memory
from tests.resumed_runs import differing, run_killed, run_to_stop, segments_of
from tests.resumed_scenes import EVENT, PLUGINS, disc_text

SCENES = Path(__file__).parents[2] / "scenes"
OFTEN = {"simulation.checkpoint": 1e-6}

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


@pytest.fixture
def disc(tmp_path: Path) -> Any:
    """Return a function that writes the scene with a scheme, a type of joint and an event, and loads it."""

    def write(scheme: str, kind: str = "revolute", event: str = "", **changes: object) -> Any:
        (tmp_path / "own.py").write_text(PLUGINS)
        (tmp_path / "disc.toml").write_text(disc_text(kind, event))
        given = {"simulation.integrator": scheme, **changes}
        return pysim.load_scene(tmp_path / "disc.toml", given, allow_code=True)

    return write


@pytest.mark.parametrize(
    ("scheme", "kind", "event"),
    [
        ("resumed_heun", "revolute", ""),
        ("resumed_adams", "revolute", ""),
        ("rk4", "resumed_slot", ""),
        ("semi_implicit", "resumed_slot", ""),
        ("resumed_adams", "resumed_slot", ""),
        ("resumed_heun", "revolute", EVENT),
        ("resumed_adams", "revolute", EVENT),
    ],
    ids=lambda part: "event" if part == EVENT else part or "none",
)
def test_schemes_and_joints_in_python_are_resumed_to_the_bit(
    scheme: str,
    kind: str,
    event: str,
    disc: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = disc(scheme, kind, event)
    segments_of(scene, tmp_path / "whole.h5", monkeypatch)
    # Every output ends a segment; others end where a call took long.
    count = round(scene.settings.duration / scene.settings.every)
    draw = random.Random(f"{scheme} {kind} {event}")
    for _ in range(2):
        run_to_stop(scene, tmp_path / "run.h5", draw.randrange(3, count), monkeypatch)
        pysim.resume(tmp_path / "run.h5", allow_code=True)
        assert not differing(tmp_path / "whole.h5", tmp_path / "run.h5")


@pytest.mark.parametrize(
    ("name", "duration"), [("four_bar", 0.5), ("bouncing_balls", 0.3), ("spherical_pendulum", 1.0)]
)
def test_a_scheme_in_python_is_resumed_to_the_bit_with_loops_contacts_and_rotations(
    name: str, duration: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(PLUGINS)
    text = (SCENES / f"{name}.toml").read_text()
    (tmp_path / "scene.toml").write_text('plugins = ["own.py"]\n' + text)
    changes = {
        "simulation.integrator": "resumed_adams",
        "simulation.duration": duration,
        "simulation.step": 1e-3,
        **OFTEN,
    }
    scene = pysim.load_scene(tmp_path / "scene.toml", changes, allow_code=True)
    count = segments_of(scene, tmp_path / "whole.h5", monkeypatch)
    run_to_stop(scene, tmp_path / "run.h5", random.Random(name).randrange(2, count), monkeypatch)
    pysim.resume(tmp_path / "run.h5", allow_code=True)
    assert not differing(tmp_path / "whole.h5", tmp_path / "run.h5")


def test_a_killed_run_of_a_scheme_in_python_ends_with_the_same_bits(
    disc: Any,
    tmp_path: Path,
) -> None:
    changes = {"simulation.integrator": "resumed_adams", "simulation.duration": 3.0}
    pysim.simulate(disc("resumed_adams", **changes), tmp_path / "whole.h5")
    output = tmp_path / "run.h5"
    assert run_killed(tmp_path / "disc.toml", output, changes, 0.8, 0.01, allow_code=True)
    assert not pysim.load_trajectory(output).complete
    pysim.resume(output, allow_code=True)
    assert not differing(tmp_path / "whole.h5", output)


def test_a_scheme_with_memory_that_no_file_holds_is_named_and_begins_again(
    disc: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = disc("resumed_odd")
    pysim.simulate(disc("resumed_heun"), tmp_path / "whole.h5")
    problem = r"own\.py:\d+: Odd: its attribute seen holds set, which checkpoints do not hold"
    with pytest.warns(pysim.PysimWarning, match=problem):
        run_to_stop(scene, tmp_path / "run.h5", 15, monkeypatch)
    with pytest.warns(pysim.PysimWarning, match=problem):
        resumed = pysim.resume(tmp_path / "run.h5", allow_code=True)
    whole = pysim.load_trajectory(tmp_path / "whole.h5")
    assert resumed.q.tobytes() == whole.q.tobytes()


def test_the_memory_of_a_scheme_returns_to_the_bit_with_its_types() -> None:
    class Own(Integrator):
        pass

    first, second = Own(), Own()
    rows = np.random.default_rng(3).normal(size=(2, 3))
    first.nothing, first.flag, first.count, first.name = None, True, 2**70, "Adams"  # type: ignore[attr-defined]
    first.step_size, first.none = 0.1 + 0.2, float("nan")  # type: ignore[attr-defined]
    first.rows, first.single = rows, np.float32(1 / 3)  # type: ignore[attr-defined]
    first.places = np.array([3, 1], np.int32)  # type: ignore[attr-defined]
    first.last = deque([(rows[0], 1), [rows[1]]], 5)  # type: ignore[attr-defined]
    first.by_name = {"a": rows[0] * 1j}  # type: ignore[attr-defined]
    set_memory(second, memory_of(first))
    assert memory_of(second) == memory_of(first)
    assert second.rows.tobytes() == rows.tobytes()  # type: ignore[attr-defined]
    assert {name: type(value) for name, value in vars(second).items()} == {
        name: type(value) for name, value in vars(first).items()
    }
    assert second.last.maxlen == 5  # type: ignore[attr-defined]
    assert second.last[0][0].tobytes() == rows[0].tobytes()  # type: ignore[attr-defined]
    first.seen = {1}  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="seen holds set"):
        memory_of(first)
