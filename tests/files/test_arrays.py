"""Files of arrays are read as NumPy reads them, and are rejected before they take more memory than they may.

Oracles: numpy.load, and the peak of the memory that Python allocates.
"""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pysim import PysimError
from pysim.files.arrays import read_npy, read_npz

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_those_of_numpy(tmp_path: Path, save: Any) -> None:
    arrays = {
        "row": np.arange(3.0),
        "columns": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        "number": np.array(2.5),
        "text": np.array(["a", "bc"]),
        "nothing": np.zeros((0, 4)),
    }
    save(tmp_path / "a.npz", **arrays)
    found = read_npz(str(tmp_path / "a.npz"))
    assert found.keys() == arrays.keys()
    for name, expected in arrays.items():
        np.testing.assert_array_equal(found[name], expected)
        assert found[name].dtype == expected.dtype
    np.save(tmp_path / "a.npy", arrays["columns"])
    np.testing.assert_array_equal(read_npy(str(tmp_path / "a.npy")), arrays["columns"])


def test_an_archive_that_unpacks_to_more_is_rejected_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file,
        file.open("x.npy", "w") as member,
    ):
        for _ in range(300):
            member.write(bytes(MIB))
    tracemalloc.start()
    with pytest.raises(PysimError, match="unpacks to 300 MiB, 64 MiB at most; write fewer numbers"):
        read_npz(str(path), 64 * MIB)
    assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    tracemalloc.stop()


def test_an_array_that_declares_more_numbers_than_it_has_is_rejected(tmp_path: Path) -> None:
    out = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(out, header)
    path = tmp_path / "a.npy"
    path.write_bytes(out.getvalue() + bytes(16))
    with pytest.raises(PysimError, match=r"a\.npy: it has the shape .* and 16 bytes follow"):
        read_npy(str(path))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_rejected(tmp_path: Path, method: int) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("x.npy", bytes(100))
    with pytest.raises(PysimError, match=r"'x\.npy' is neither stored nor deflated"):
        read_npz(str(path))


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([{}], object))
    with pytest.raises(PysimError, match=r"a\.npz: the array 'x' has object instead of numbers"):
        read_npz(str(tmp_path / "a.npz"))
