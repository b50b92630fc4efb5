"""Damaged trajectory files, rejected with the part that is wrong and a remedy.

Oracle: h5py writes one part of a good file anew; the texts were read by a person.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, TrajectoryError
from pysim.trajectory import Events, limited_child, load_trajectory
from pysim.trajectory.page_file import CRC, FIELDS, journal_of
from tests.contact.scenes import GROUND, free, world
from tests.trajectory.test_files import assert_same_rows, random_trajectory

ROWS = 7


def damaged(folder: Path, key: str, value: Any, *, complete: bool = True) -> Path:
    """A file with one part rewritten: an attribute, or a dataset where the key names one."""
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
    ("a", with_nan((ROWS, 4)), "'a' is NaN in row 3"),
    ("energy/elastic", with_nan((ROWS,)), "'energy/elastic' is NaN in row 3"),
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
    ("visuals", "[1]", "'visuals' must be a JSON array of objects"),
    ("render", "7", "'render' must be an object of JSON"),
    ("frames/body", [9, 9], "'frames/body' must be from -1, the world, to 1"),
    ("frames/body", [0], "'frames/body' has shape (1,), its header says (2,)"),
    ("frames/pose", np.zeros(3), "'frames/pose' has shape (3,), its header says (2, 4, 4)"),
    ("frames/pose", np.full((2, 4, 4), np.nan), "'frames/pose' must be finite"),
    ("events/q", np.zeros((0, 4)), "'events/q' has shape (0, 4), its header says (n, 5)"),
    ("events/time", [1.0], "some of its 1 events lack a time, state or name"),
]


@pytest.mark.parametrize(("key", "value", "problem"), CASES)
def test_an_invalid_part_of_a_file_is_named(
    tmp_path: Path, key: str, value: Any, problem: str
) -> None:
    path = damaged(tmp_path, key, value)
    with pytest.raises(TrajectoryError) as reported:
        load_trajectory(path)
    assert str(reported.value).startswith(f"{path}: is damaged, ")
    assert problem in str(reported.value)
    assert str(reported.value).endswith("; run again")


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


def test_a_dataset_larger_than_memory_is_named(tmp_path: Path) -> None:
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


def test_rows_that_are_not_stored_are_not_taken_for_a_complete_run(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    with h5py.File(path, "r+") as file:
        for key in random_trajectory().header.row_shapes:
            file[key].resize(10**7, axis=0)
    problem = "is damaged, 'time' has 10000000 rows, but 1024 are stored; run again"
    with pytest.raises(TrajectoryError, match=problem):
        load_trajectory(path)


def rotten(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A copy with one fault: bits, bytes, a run of zeros, a copied block, an end cut off."""
    damaged, at = rows.copy(), int(rng.integers(len(rows)))
    kind = rng.integers(5)
    if kind == 0:
        damaged[at] ^= 1 << rng.integers(8)
    elif kind == 1:
        damaged[rng.integers(0, min(20_000, len(rows)), 10)] = rng.integers(0, 256, 10)
    elif kind == 2:
        damaged[at : at + 64] = 0
    elif kind == 3:
        block = rows[:300]
        damaged[at : at + 300] = block[: len(damaged[at : at + 300])]
    else:
        damaged = damaged[:at]
    return damaged


def test_bytes_that_rot_are_reported_and_never_change_a_number(tmp_path: Path) -> None:
    path, rng = tmp_path / "run.h5", np.random.default_rng(11)
    written = random_trajectory(ROWS)
    written.save(path)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    refused = 0
    for _ in range(100):
        path.write_bytes(rotten(whole, rng).tobytes())
        try:
            assert_same_rows(load_trajectory(path), written)
        except TrajectoryError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017, some can be read
            refused += 1
    assert refused > 80


def test_a_damaged_page_is_named_before_hdf5_parses_it(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    made = bytearray(path.read_bytes())
    made[2400:2464] = bytes(64)
    path.write_bytes(made)
    problem = "is damaged, the bytes from 0 to 65535 do not match their checksum; run again"
    with pytest.raises(TrajectoryError, match=f"^{re.escape(f'{path}: {problem}')}$"):
        load_trajectory(path)


def table_with_a_wrong_byte(whole: bytes) -> bytes:
    at = len(whole) - FIELDS.size - CRC.size - 1
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


def end_beyond_the_file(whole: bytes) -> bytes:
    at = len(whole) - FIELDS.size - CRC.size
    kind, size, start = FIELDS.unpack_from(whole, at)
    return whole[:at] + FIELDS.pack(kind, 100 * size, start) + whole[at + FIELDS.size :]


def journal_elsewhere(whole: bytes) -> bytes:
    return whole + journal_of(len(whole), 100 * len(whole), [])


def journal_with_a_wrong_byte(whole: bytes) -> bytes:
    record = journal_of(len(whole), len(whole), [(0, b"abc")])
    return whole + record[:1] + b"\xff" + record[2:]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (table_with_a_wrong_byte, "its table of checksums does not match its checksum"),
        (end_beyond_the_file, "its checksums lie beyond its end"),
        (journal_elsewhere, "its journal does not match its checksum"),
        (journal_with_a_wrong_byte, "its journal does not match its checksum"),
    ],
)
def test_damage_to_the_checksums_themselves_is_named(
    tmp_path: Path, change: Callable[[bytes], bytes], problem: str
) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(TrajectoryError) as reported:
        load_trajectory(path)
    assert str(reported.value) == f"{path}: is damaged, {problem}; run again"


CONTACTS = [
    ("offsets", np.arange(3), "'contacts/offsets' must have 4 numbers that do not decrease"),
    ("offsets", [0, 2, 1, 3], "'contacts/offsets' must have 4 numbers that do not decrease"),
    ("penetration", np.full(5, np.nan), "'contacts/penetration' must have"),
    ("pair", -np.ones(5), "'contacts/pair' must hold indices of rows of names/contacts"),
]


@pytest.mark.parametrize(("name", "value", "problem"), CONTACTS)
def test_an_invalid_part_of_the_contacts_is_named(
    tmp_path: Path, name: str, value: Any, problem: str
) -> None:
    """Of a ball that rests on the ground for three rows."""
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 1.0, "{ xyz = [0, 0, 0.1] }") + GROUND
    path = tmp_path / "run.h5"
    pysim.simulate(world(tmp_path, ball, surface="friction = 0.5", duration=0.02, every=0.01), path)
    with h5py.File(path, "r+") as file:
        key = f"contacts/{name}"
        length = len(file[key])
        del file[key]
        file[key] = np.resize(value, length) if name != "offsets" else value
    with pytest.raises(TrajectoryError) as reported:
        load_trajectory(path)
    assert str(reported.value).startswith(f"{path}: is damaged, {problem}")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (
            "while True: pass",
            rf"is damaged, HDF5 did not finish reading it within (1|{limited_child.PATIENCE}) s; copy it again",
        ),
        (
            "import os; os.kill(os.getpid(), 11)",
            r"is damaged, HDF5 crashes on it \(SIGSEGV\); copy it again, or run again",
        ),
        ("raise OSError('no h5py')", "cannot be read by a child process, OSError: no h5py; copy"),
    ],
)
def test_hdf5_that_hangs_or_crashes_on_a_file_from_elsewhere_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    path = damaged(tmp_path, "name", "changed by another program")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\n"
    monkeypatch.setattr(limited_child, "CODE", limit + code)
    monkeypatch.setattr(limited_child, "SECONDS", 1)
    with pytest.raises(TrajectoryError, match=problem):
        load_trajectory(path)


def test_reading_a_file_of_another_program_has_a_memory_limit(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    with h5py.File(path, "r+") as file:
        del file["names/joints"]
        file.create_dataset("names/joints", (2 << 30,), "S1", chunks=(1 << 20,))
    problem = r"is damaged, reading it takes more than 51\d MB; run again"
    with pytest.raises(TrajectoryError, match=problem):
        load_trajectory(path)


def test_a_file_that_another_program_wrote_on_reads_as_before(tmp_path: Path) -> None:
    path, forces = tmp_path / "run.h5", {"loops/wrenches": np.ones((ROWS, 1, 6))}
    written = random_trajectory(ROWS, loop_names=("close",), event_names=("hit",))
    object.__setattr__(written, "constraint_forces", forces)
    object.__setattr__(written, "events", Events(written.t, ("hit",) * ROWS, written.q, written.v))
    written.save(path)
    here = load_trajectory(path)
    with h5py.File(path, "r+") as file:
        file["remarks"] = "good"
    there = load_trajectory(path)
    assert_same_rows(there, here)
    np.testing.assert_array_equal(there.loop_wrenches, here.loop_wrenches)
    np.testing.assert_array_equal(there.events.q, here.events.q)
    assert there.events.names == here.events.names
    assert repr(there.header) == repr(here.header)
    for key in ("frame_bodies", "gravity", "overrides", "visuals", "render", "event_names"):
        assert getattr(there.header, key) == getattr(here.header, key)


SECRET = np.arange(float(ROWS))


def external_storage(file: h5py.File, other: Path) -> None:
    del file["time"]
    SECRET.tofile(other)
    file.create_dataset("time", (ROWS,), "f8", external=[(str(other), 0, 8 * ROWS)])


def link_to(kind: type) -> Any:
    def change(file: h5py.File, other: Path) -> None:
        with h5py.File(other, "w") as elsewhere:
            elsewhere["time"] = SECRET
        del file["time"]
        path = (str(other), "/time") if kind is h5py.ExternalLink else ("/q",)
        file["time"] = kind(*path)

    return change


def link_of_a_group(file: h5py.File, other: Path) -> None:
    with h5py.File(other, "w") as elsewhere:
        for kind in ("kinetic", "potential", "elastic"):
            elsewhere[f"energy/{kind}"] = SECRET
    del file["energy"]
    file["energy"] = h5py.ExternalLink(str(other), "/energy")


def virtual(file: h5py.File, other: Path) -> None:
    with h5py.File(other, "w") as elsewhere:
        elsewhere["time"] = SECRET
    layout = h5py.VirtualLayout((ROWS,), "f8")
    layout[:] = h5py.VirtualSource(str(other), "time", (ROWS,))
    del file["time"]
    file.create_virtual_dataset("time", layout)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (external_storage, "'time' is stored in another file"),
        (virtual, "'time' is stored in another file"),
        (link_to(h5py.ExternalLink), "'time' is a link, which may lead to another file"),
        (link_to(h5py.SoftLink), "'time' is a link, which may lead to another file"),
        (link_of_a_group, "'energy/kinetic' is a link, which may lead to another file"),
    ],
)
def test_numbers_of_another_file_are_not_read(tmp_path: Path, change: Any, problem: str) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS).save(path)
    with h5py.File(path, "r+") as file:
        change(file, tmp_path / "secret")
    with pytest.raises(TrajectoryError, match=re.escape(f"{path}: is damaged, {problem}")):
        load_trajectory(path)


def test_no_text_lies_in_the_global_heap(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    random_trajectory(ROWS, event_names=("hit",)).save(path)
    assert b"GCOL" not in path.read_bytes()
    with h5py.File(path) as file:
        for key in random_trajectory().header.row_shapes:
            assert file[key].fletcher32


def test_a_named_pipe_is_not_a_trajectory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.h5")
    with pytest.raises(TrajectoryError, match=r"run\.h5: is not a regular file; give a trajectory"):
        load_trajectory(tmp_path / "run.h5")
