"""Datasets of sweeps that are damaged, or made to read other files.

Oracle: the numbers of the same dataset before; a read gives these or a `SimulationError` that names the file.
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
from pysim.cli import main
from pysim.errors import SimulationError
from pysim.sweeps import load_results, run_sweep
from pysim.sweeps.dataset import SweepFile
from pysim.sweeps.dataset_checksum import SEAL
from pysim.sweeps.structure import read_structure

SPRING = Path(__file__).parents[2] / "scenes" / "spring.toml"
SHORT = {"simulation.duration": 0.02, "output.every": 0.01}
WORLDS = 60


def sweep(path: Path, **keys: Any) -> None:
    options: dict[str, Any] = {
        "method": None,
        "seed": 3,
        "threads": 1,
        "piece": 8,
        "progress": None,
    }
    options |= {"overwrite": False, "allow_code": False, "overrides": SHORT, "signals": ["energy"]}
    parameters = {"joint[0].damping": "0:0.4:3", "body[0].shape.density": "normal(250, 10)"}
    run_sweep(SPRING, parameters, WORLDS // 3, output=path, **(options | keys))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "whole.nc"
    sweep(path)
    return path


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    copy = tmp_path / "a.nc"
    copy.write_bytes(whole.read_bytes())
    return copy


def by_results(path: Path) -> dict[str, Any]:
    found = load_results(path)
    return {
        **found.parameters,
        "names": (found.sampled, found.signals, found.records, found.worlds, found.failures),
        "summary": found.summary,
        "series": found.series,
        "t": found.t,
    }


def by_xarray(path: Path) -> dict[str, Any]:
    pytest.importorskip("xarray")
    with pysim.load_sweep(path) as found:
        values = {str(name): found[name].values for name in found.variables}
        return values | {"attributes": repr(found.attrs)}


def by_command(path: Path) -> dict[str, Any]:
    picture = path.with_suffix(".txt")
    assert main(["plot", str(path), "--names"]) in {0, None}
    return {"picture": picture.exists()}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(found[name], values, err_msg=name)
        else:
            assert found[name] == values


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A copy with one fault: a bit, a byte, some bytes, a run of zeros or ones, a copied block, an end cut off."""
    changed, at = bytearray(data), int(rng.integers(len(data)))
    kind = rng.integers(7)
    if kind == 0:
        changed[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        changed[at] ^= int(rng.integers(1, 256))
    elif kind == 2:
        for k in rng.integers(0, len(data), 10):
            changed[k] ^= int(rng.integers(1, 256))
    elif kind in (3, 4):
        end = min(len(changed), at + 64)
        changed[at:end] = (b"\0" if kind == 3 else b"\xff") * (end - at)
    elif kind == 5:
        end = min(len(changed), at + 300)
        changed[at:end] = changed[: end - at]
    else:
        del changed[at:]
    return bytes(changed)


def faults_of_reading(
    path: Path, change: Callable[[bytes], bytes], expected: list[dict[str, Any]]
) -> int:
    """Damage a copy, read it, and return how many reads were refused."""
    data, refused = path.read_bytes(), 0
    made = change(data)
    path.write_bytes(made)
    for read, numbers in zip((by_results, by_xarray), expected, strict=True):
        try:
            assert_same(read(path), numbers)
        except SimulationError as error:
            assert str(error).startswith(f"{path}: "), error  # noqa: PT017, some can be read
            assert "; " in error.problem  # noqa: PT017
            refused += 1
    path.write_bytes(data)
    return refused


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_change_are_reported_and_never_change_a_number(path: Path, seed: int) -> None:
    """Of 150 datasets with one byte changed, at places that cover all of the file."""
    rng = np.random.default_rng(seed)
    expected = [by_results(path), by_xarray(path)]
    size = path.stat().st_size
    refused = 0
    for stratum in range(50):
        at = int((stratum + rng.random()) * size / 50)
        value = int(rng.integers(1, 256))

        def change(data: bytes, at: int = at, value: int = value) -> bytes:
            return data[:at] + bytes([data[at] ^ value]) + data[at + 1 :]

        refused += faults_of_reading(path, change, expected)
    assert refused == 100  # every byte has a checksum


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.nightly)])
def test_datasets_with_larger_faults_give_the_same_numbers_or_an_error(
    path: Path, count: int
) -> None:
    rng = np.random.default_rng(5)
    expected = [by_results(path), by_xarray(path)]
    refused = 0
    for _ in range(count):
        refused += faults_of_reading(path, lambda data: damaged(data, rng), expected)
    assert refused > 4 / 3 * count


def test_every_byte_of_the_seal_and_of_the_checksums_counts(path: Path) -> None:
    with h5py.File(path) as file:
        first = file["checksum"].id.get_offset()
        marks = range(first, first + file["checksum"].size * 8)
    data = path.read_bytes()
    at = data.rindex(SEAL)
    for k in (*marks, *range(at - 8, len(data))):
        path.write_bytes(data[:k] + bytes([data[k] ^ 0x81]) + data[k + 1 :])
        with pytest.raises(SimulationError, match=re.escape(f"{path}: is damaged, ")):
            load_results(path)


def test_worlds_with_other_results_are_named_and_computed_anew(path: Path, whole: Path) -> None:
    with SweepFile(path) as file:
        offset = file.structure.offsets["series"]
    made = bytearray(path.read_bytes())
    made[offset + 20 * 24 + 3] ^= 4  # of world 20, which has 3 times
    path.write_bytes(made)
    text = (
        f"{path}: is damaged, the results of worlds 16 to 23 do not match their checksum; run the sweep again, "
        "which computes these anew, or copy the file again"
    )
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        load_results(path)
    sweep(path)
    assert path.read_bytes() == whole.read_bytes()


def test_other_worlds_of_a_damaged_dataset_can_be_read(path: Path) -> None:
    pytest.importorskip("xarray")
    expected = by_xarray(path)
    with SweepFile(path) as file:
        made = bytearray(path.read_bytes())
        made[file.structure.offsets["summary"] + 100] ^= 1
    path.write_bytes(made)
    with pysim.load_sweep(path) as found:
        np.testing.assert_array_equal(found.summary[8:], expected["summary"][8:])
        np.testing.assert_array_equal(
            found.series[::-1][:30:7, 0], expected["series"][::-1][:30:7, 0]
        )
        with pytest.raises(SimulationError, match="results of worlds 0 to 7 do not match"):
            found.summary[3].load()


def test_a_piece_that_is_not_finished_reads_as_nan(path: Path) -> None:
    """A process that is killed while it writes a piece leaves some numbers of it."""
    pytest.importorskip("xarray")
    with SweepFile(path) as file:
        at = file.structure.offsets["checksum"] + 8
    made = bytearray(path.read_bytes())
    made[at : at + 8] = b"\xff" * 8
    path.write_bytes(made)
    assert len(load_results(path).summary) == WORLDS - 8
    found = by_xarray(path)
    assert np.isnan(found["series"][8:16]).all()
    assert np.isfinite(found["series"][:8]).all()


def test_the_command_reports_damage(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = bytearray(path.read_bytes())
    made[70] ^= 1
    path.write_bytes(made)
    assert main(["plot", str(path), "--names"]) == 2
    problem = (
        "is damaged, its parameters or its structure do not match their checksum; copy it again"
    )
    assert f"{path}: {problem}" in capsys.readouterr().err


def external_storage(file: h5py.File, name: str, other: Path) -> None:
    shape, kind = file[name].shape, file[name].dtype
    size = int(np.prod(shape)) * kind.itemsize
    other.write_bytes(bytes(size))
    del file[name]
    file.create_dataset(name, shape, kind, external=[(str(other), 0, size)])


def external_link(file: h5py.File, name: str, other: Path) -> None:
    with h5py.File(other, "w") as elsewhere:
        elsewhere[name] = file[name][()]
    del file[name]
    file[name] = h5py.ExternalLink(str(other), name)


def soft_link(file: h5py.File, name: str, other: Path) -> None:
    file["elsewhere"] = file[name][()]
    del file[name]
    file[name] = h5py.SoftLink("/elsewhere")


def virtual(file: h5py.File, name: str, other: Path) -> None:
    shape, kind = file[name].shape, file[name].dtype
    with h5py.File(other, "w") as elsewhere:
        elsewhere[name] = np.zeros(shape, kind)
    layout = h5py.VirtualLayout(shape, kind)
    layout[:] = h5py.VirtualSource(str(other), name, shape)
    del file[name]
    file.create_virtual_dataset(name, layout)


ELSEWHERE = {
    external_storage: "is stored in another file",
    external_link: "is a link, which may lead to another file",
    soft_link: "is a link, which may lead to another file",
    virtual: "is stored in another file",
}


@pytest.mark.parametrize(
    ("change", "name"),
    [*zip(ELSEWHERE, ("time", "joint[0].damping", "signal", "summary"), strict=True)],
)
def test_numbers_of_another_file_are_not_read(
    path: Path, tmp_path: Path, change: Any, name: str
) -> None:
    with h5py.File(path, "r+") as file:
        change(file, name, tmp_path / "secret")
    text = re.escape(f"{path}: is damaged, {name!r} {ELSEWHERE[change]}; copy it again")
    with pytest.raises(SimulationError, match=f"^{text}"):
        load_results(path)


def test_every_way_to_read_rejects_numbers_of_another_file(path: Path, tmp_path: Path) -> None:
    with h5py.File(path, "r+") as file:
        external_storage(file, "series", tmp_path / "secret")
    text = re.escape(f"{path}: is damaged, 'series' is stored in another file; copy it again")
    for read in (load_results, pysim.load_sweep, sweep):
        with pytest.raises(SimulationError, match=f"^{text}"):
            read(path)


PARTS: list[tuple[str, Any, str]] = [
    ("summary", None, "it lacks 'summary'"),
    ("checksum", None, "it lacks 'checksum'"),
    ("record", None, "it lacks 'record'"),
    ("joint[0].damping", None, "it lacks 'joint[0].damping'"),
    ("joint[0].damping", np.zeros(3), "'joint[0].damping' has shape (3,), its header says (60,)"),
    ("time", "now", "'time' must hold real numbers, not object"),
    ("signal", np.zeros(3), "'signal' must be a list of texts"),
    ("signal", np.array([b"\xff"]), "'signal' is not UTF-8"),
    ("checksum", np.zeros(8, "f8"), "'checksum' has shape (8,) of float64, its labels say (8,) of <i8"),
    ("checksum", np.zeros(9, "i8"), "'checksum' has shape (9,) of int64, its labels say (8,) of <i8"),
    ("failure", np.zeros((0,), "S240"), "it has 0 worlds in pieces of 8"),
    ("@piece_size", 0, "it has 60 worlds in pieces of 0"),
    ("@piece_size", None, "it lacks the attribute 'piece_size'"),
    ("@sweep", "{", "Expecting property name"),
    ("@sweep", "{}", "grids"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "problem"), PARTS)
def test_a_part_that_is_missing_or_invalid_is_named(
    path: Path, name: str, value: Any, problem: str
) -> None:
    with h5py.File(path, "r+") as file:
        where, key = (file.attrs, name[1:]) if name.startswith("@") else (file, name)
        del where[key]
        if value is not None:
            where[key] = value
    text = re.escape(f"{path}: is damaged, {problem}")
    with h5py.File(path) as file, pytest.raises(SimulationError, match=text):
        read_structure(path, file)


def test_a_dataset_that_another_program_wrote_on_reads_as_before(path: Path) -> None:
    expected = [by_results(path), by_xarray(path)]
    with h5py.File(path, "r+") as file:
        file["remarks"] = "good"
    assert SEAL not in path.read_bytes()
    assert_same(by_results(path), expected[0])
    assert_same(by_xarray(path), expected[1])


def test_hdf5_that_crashes_on_a_dataset_from_elsewhere_ends_a_child_process(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with h5py.File(path, "r+") as file:
        file["remarks"] = "good"
    crash = "import os; os.kill(os.getpid(), 11)"
    monkeypatch.setattr("pysim.trajectory.limited_child.CODE", crash)
    problem = r"is damaged, HDF5 crashes on it \(SIGSEGV\); copy it again, or run again"
    with pytest.raises(SimulationError, match=problem):
        load_results(path)
    assert main(["plot", str(path), "--names"]) == 2
    assert "HDF5 crashes on it (SIGSEGV)" in capsys.readouterr().err


def test_a_named_pipe_and_a_folder_are_not_datasets(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.nc")
    (tmp_path / "b.nc").mkdir()
    for name, problem in {
        "a": "is not a regular file; give",
        "b": "cannot be opened, is a dir",
    }.items():
        with pytest.raises(SimulationError, match=problem):
            load_results(tmp_path / f"{name}.nc")
