"""Arrays of .npy and .npz files. The sizes that a file declares are checked before memory is taken.

Archives are those of `numpy.savez` and `numpy.savez_compressed`, whose members are stored or deflated.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from pysim.errors import PysimError, SceneError
from pysim.files.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zipfile import ZipInfo

    from numpy.typing import NDArray

MOST_BYTES = 1 << 28  # bytes of the arrays of a file
# by version of the format; later ones have fields with names
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_bytes(path: str, largest: int = MOST_BYTES) -> bytes:
    """Return the content of a regular file.

    Raises:
        PysimError: it cannot be read, or is larger than `largest` bytes.
    """
    try:
        return read_regular(Path(path), largest)
    except SceneError as error:
        raise PysimError(error.where, error.problem) from None


def read_npy(path: str, largest: int = MOST_BYTES) -> NDArray[Any]:
    """Return the array of a .npy file.

    Raises:
        PysimError: it cannot be read, or is larger than `largest` bytes.
    """
    return _array(path, "", read_bytes(path, largest))


def read_npz(path: str, largest: int = MOST_BYTES) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by name.

    Raises:
        PysimError: it cannot be read, or its arrays are larger than `largest` bytes together.
    """
    data = read_bytes(path, largest)
    arrays = {}
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            _check_members(path, members, largest)
            for member in members:
                name = member.filename.removesuffix(".npy")
                arrays[name] = _array(path, name, archive.read(member))
    except PysimError:
        raise
    except Exception as error:  # noqa: BLE001, whatever zipfile and zlib raise of damaged archives
        problem = f"is no .npz of arrays ({_cause(error)})"
        raise PysimError(path, f"{problem}; give one, or export it again") from None
    return arrays


def _check_members(path: str, members: Sequence[ZipInfo], largest: int) -> None:
    """Reject members that unpack to more than `largest` bytes together, or by other methods."""
    size = sum(member.file_size for member in members)
    if size > largest:
        problem = f"unpacks to {size >> 20} MiB, {largest >> 20} MiB at most"
        raise PysimError(path, f"{problem}; write fewer numbers")
    for member in members:
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            problem = f"{member.filename!r} is neither stored nor deflated"
            raise PysimError(path, f"{problem}; write the file with numpy.savez")


def _array(path: str, name: str, data: bytes) -> NDArray[Any]:
    """Return an array whose header and numbers are `data`."""
    what = f"the array {name!r}" if name else "it"
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        shape, is_fortran, kind = _HEADERS[version](stream)
    except KeyError:
        raise PysimError(path, f"{what} has a later format; write numbers alone") from None
    except Exception as error:  # noqa: BLE001, whatever NumPy raises of damaged headers
        problem = f"{what} is no array of numbers ({_cause(error)})"
        raise PysimError(path, f"{problem}; export it again") from None
    if kind.hasobject or kind.names is not None or not kind.itemsize:
        problem = f"{what} has {kind} instead of numbers"
        raise PysimError(path, f"{problem}; export it again without pickled objects")
    rest = data[stream.tell() :]
    size = math.prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or size != len(rest):
        problem = f"{what} has the shape {shape} of {size} bytes, and {len(rest)} bytes follow"
        raise PysimError(path, f"{problem}; export it again")
    return np.frombuffer(rest, kind).reshape(shape, order="F" if is_fortran else "C").copy()


def _cause(error: Exception) -> str:
    """Return the text of a library's error on one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
