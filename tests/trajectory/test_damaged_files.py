"""Trajectory files that make no sense are refused by name, with what is wrong and what to do.

Oracle: h5py writes one part of a good file anew; the texts were read by a person.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory import load_trajectory
from tests.trajectory.test_files import random_trajectory

ROWS = 7


def damaged(folder: Path, key: str, value: Any, *, complete: bool = True) -> Path:
    """A file of which one part was written anew: an attribute, or a dataset where the key names one."""
    path = folder / "run.h5"
    random_trajectory(ROWS, event_names=("hit",)).save(path)
    with h5py.File(path, "r+") as file:
        file.attrs["complete"] = complete
        if key in file:
            del file[key]
            file[key] = value
        else:
            file.attrs[key] = value
    return path


def with_nan(shape: tuple[int, ...]) -> np.ndarray:
    values = np.arange(float(np.prod(shape))).reshape(shape)
    values[3] = np.nan
    return values


CASES = [
    ("format_version", "one", "'format_version' must be a whole number, got 'one'"),
    ("format_version", np.nan, "'format_version' must be a whole number, got np.float64(nan)"),
    ("complete", "no", "'complete' must be true or false, got 'no'"),
    ("complete", [True, False], "'complete' must be true or false, got array([ True, False])"),
    ("name", 3, "'name' must be a text, got np.int64(3)"),
    ("name", b"\xff\xfe", "'name' is not UTF-8"),
    ("integrator", np.zeros(2), "'integrator' must be a text, got array([0., 0.])"),
    ("reason", 3, "'reason' must be a text, got np.int64(3)"),
    ("gravity", [1, 2], "'gravity' must be 3 numbers, got [1, 2]"),
    ("gravity", "down", "'gravity' must be 3 numbers, got 'down'"),
    ("gravity", [np.nan] * 3, "'gravity' must be 3 numbers, got [nan, nan, nan]"),
    ("step", "abc", "'step' must be a number, got 'abc'"),
    ("step", [1.0, 2.0], "'step' must be a number, got [1.0, 2.0]"),
    ("q", np.zeros((ROWS, 5), complex), "'q' must hold real numbers, not complex128"),
    ("q", "text", "'q' must hold real numbers, not object"),
    ("q", np.zeros(ROWS), "'q' has shape (7,), its header says (n, 5)"),
    ("q", np.zeros((6, 5)), "'time' has 7 rows, others have 6"),
    ("q", with_nan((ROWS, 5)), "'q' is not finite in row 3"),
    ("v", with_nan((ROWS, 4)), "'v' is not finite in row 3"),
    ("time", with_nan((ROWS,)), "'time' is not finite in row 3"),
    ("time", np.zeros(ROWS), "'time' does not increase at row 1"),
    ("time", -np.arange(ROWS), "'time' does not increase at row 1"),
    ("names/joints", np.arange(3), "'names/joints' must hold text, not int64"),
    ("names/joints", "abc", "'names/joints' must be a list of texts, has shape ()"),
    ("units/coordinates", ["rad"], "coordinate_units: must have 5 entries, got 1"),
    ("scene/text", ["a", "b"], "'scene/text' must be one text, has shape (2,)"),
    ("scene/text", b"\xff", "'scene/text' is not UTF-8"),
    ("scene/overrides", "[1]", "'scene/overrides' must be an object of JSON"),
    ("scene/overrides", "{", "'scene/overrides' is not JSON, Expecting property name"),
    ("visuals", "null", "'visuals' must be an array of JSON"),
    ("visuals", "[1]", "'visuals' must be an array of objects of JSON"),
    ("render", "7", "'render' must be an object of JSON"),
    ("frames/body", [9, 9], "'frames/body' must be from -1, the world, to 1"),
    ("frames/body", [0], "'frames/body' has shape (1,), its header says (2,)"),
    ("frames/pose", np.zeros(3), "'frames/pose' has shape (3,), its header says (2, 4, 4)"),
    ("frames/pose", np.full((2, 4, 4), np.nan), "'frames/pose' must be finite"),
    ("events/q", np.zeros((0, 4)), "'events/q' has shape (0, 4), its header says (n, 5)"),
    ("events/time", [1.0], "some of its 1 events lack a time, state or name"),
]


@pytest.mark.parametrize(("key", "value", "problem"), CASES)
def test_a_part_that_makes_no_sense_is_named(
    tmp_path: Path, key: str, value: Any, problem: str
) -> None:
    path = damaged(tmp_path, key, value)
    with pytest.raises(TrajectoryError) as told:
        load_trajectory(path)
    assert str(told.value).startswith(f"{path}: is damaged, ")
    assert problem in str(told.value)
    assert str(told.value).endswith("; run again")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("q", "it lacks 'q'"),
        ("energy", "it lacks 'energy/kinetic'"),
        ("names/loops", "it has 'loops/wrenches' and lacks 'names/loops'"),
        ("loops/wrenches", "it has 'names/loops' and lacks 'loops/wrenches'"),
        ("events", "it has 'names/events' and lacks 'events'"),
    ],
)
def test_a_part_that_is_missing_is_named(tmp_path: Path, key: str, problem: str) -> None:
    path, forces = tmp_path / "run.h5", {"loops/wrenches": np.zeros((ROWS, 1, 6))}
    made = random_trajectory(ROWS, loop_names=("close",), event_names=("hit",))
    object.__setattr__(made, "constraint_forces", forces)
    made.save(path)
    with h5py.File(path, "r+") as file:
        del file[key]
    with pytest.raises(TrajectoryError, match=re.escape(f"{path}: is damaged, {problem}")):
        load_trajectory(path)


@pytest.mark.parametrize(
    ("key", "value", "rows"),
    [
        ("q", with_nan((ROWS, 5)), 3),
        ("time", [0.0, 1.0, 2.0, 2.0, 4.0, 5.0, 6.0], 3),
        ("v", np.zeros((5, 4)), 5),
        ("time", np.full(ROWS, np.nan), 0),
    ],
)
def test_a_run_that_was_cut_short_is_read_up_to_its_first_bad_row(
    tmp_path: Path, key: str, value: Any, rows: int
) -> None:
    path = damaged(tmp_path, key, value, complete=False)
    with pytest.warns(PysimWarning, match="incomplete"):
        assert len(load_trajectory(path)) == rows


def test_what_does_not_fit_into_memory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    with h5py.File(path, "r+") as file:
        for key in random_trajectory().header.row_shapes:
            file[key].resize(10**14, axis=0)
    with pytest.raises(
        TrajectoryError, match=r"run\.h5: does not fit into memory; .* output.every"
    ):
        load_trajectory(path)


def test_an_unlimited_step_is_a_number(tmp_path: Path) -> None:
    assert load_trajectory(damaged(tmp_path, "step", np.inf)).header.step == np.inf


def test_bytes_that_rot_are_told_by_the_name_of_the_file_or_read(tmp_path: Path) -> None:
    path, rng = tmp_path / "run.h5", np.random.default_rng(11)
    random_trajectory(ROWS).save(path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(60):
        rotten = whole.copy()
        rotten[rng.integers(0, min(20_000, len(whole)), 10)] = rng.integers(0, 256, 10)
        path.write_bytes(rotten.tobytes())
        try:
            load_trajectory(path)
        except TrajectoryError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017, some can be read
