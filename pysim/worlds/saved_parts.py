"""Arrays by name as bytes, and what is read of them: each is checked where it is read, for a file may be anyone's.

Arrays are stored as they are, never compressed, so that what is read is no larger than its file.
"""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

LARGEST_WHOLE = 2**53  # whole numbers below it are exact as doubles
NO_ARRAYS = (
    ValueError,
    TypeError,
    LookupError,
    OSError,
    EOFError,
    RuntimeError,
    SyntaxError,  # of the header of an array
    MemoryError,  # of the size that it gives
    BadZipFile,
    zlib.error,
)


def packed(parts: Mapping[str, Any]) -> bytes:
    """Return arrays by name as bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **parts)
    return buffer.getvalue()


def unpacked(record: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `packed` took.

    Raises:
        ValueError: the bytes are not what `packed` returned.
    """
    try:
        with ZipFile(io.BytesIO(record)) as archive:
            stored = all(part.compress_type == ZIP_STORED for part in archive.infolist())
        if stored:
            with np.load(io.BytesIO(record), allow_pickle=False) as parts:
                return {name: parts[name] for name in parts.files}
    except NO_ARRAYS:
        pass
    raise ValueError("they are no arrays by name")


class SavedParts:
    """Arrays of a checkpoint by name.

    Args:
        arrays: by name.
        where: the file, for errors.
        prefix: with which the names begin that are read.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], where: str, prefix: str = "") -> None:
        self._arrays, self.where, self._prefix = arrays, where, prefix

    @classmethod
    def of(cls, record: bytes, where: str) -> SavedParts:
        """Return the parts of what `packed` returned.

        Raises:
            SimulationError: the bytes are something else.
        """
        try:
            return cls(unpacked(record), where)
        except ValueError as error:
            raise cls({}, where).error(f"holds a checkpoint that cannot be read: {error}") from None

    def part(self, prefix: str) -> SavedParts:
        """Return the parts whose names begin with a prefix."""
        return SavedParts(self._arrays, self.where, self._prefix + prefix)

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return (
            name.removeprefix(self._prefix)
            for name in self._arrays
            if name.startswith(self._prefix)
        )

    def error(self, problem: str) -> SimulationError:
        """Return the error of a checkpoint that its scene does not make."""
        return SimulationError(self.where, f"{problem}; run its scene again with --overwrite")

    def wrong(self, name: str, problem: str) -> SimulationError:
        """Return the error of a part."""
        what = f"holds a checkpoint that is not one of its scene: {self._prefix}{name} {problem}"
        return self.error(what)

    def numbers(self, name: str, shape: tuple[int | None, ...], *, finite: bool = False) -> Array:
        """Return an array of real numbers; None stands for any length of an axis.

        Raises:
            SimulationError: it is missing, of another shape or type, or not finite if it has to be.
        """
        array = self._arrays.get(self._prefix + name)
        if array is None:
            raise self.wrong(name, "is missing")
        if array.dtype != np.float64:
            raise self.wrong(name, f"holds {array.dtype}, not numbers")
        if len(array.shape) != len(shape) or any(
            size not in (None, own) for size, own in zip(shape, array.shape, strict=True)
        ):
            raise self.wrong(name, f"has shape {array.shape}, not {shape}")
        if finite and not np.isfinite(array).all():
            raise self.wrong(name, "holds nan or inf")
        return array.copy()

    def number(self, name: str) -> float:
        """Return a finite number."""
        return float(self.numbers(name, (), finite=True))

    def counts(
        self, name: str, shape: tuple[int | None, ...], *, least: int = 0, most: int = LARGEST_WHOLE
    ) -> list[int]:
        """Return whole numbers from `least` to `most`, which are stored as whole or as real numbers."""
        found = self._arrays.get(self._prefix + name)
        if found is not None and found.dtype == np.int64:
            arrays = {**self._arrays, self._prefix + name: found.astype(float)}
            return SavedParts(arrays, self.where, self._prefix).counts(
                name, shape, least=least, most=most
            )
        values = self.numbers(name, shape, finite=True)
        if (values != np.floor(values)).any() or (values < least).any() or (values > most).any():
            raise self.wrong(name, f"holds other numbers than whole ones from {least} to {most}")
        return [int(value) for value in values.ravel()]

    def count(self, name: str, *, most: int = LARGEST_WHOLE) -> int:
        """Return a whole number from 0 to `most`."""
        return self.counts(name, (), most=most)[0]

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        found = self._arrays.get(self._prefix + name)
        if found is None or found.dtype != np.bool_ or found.shape != ():
            raise self.wrong(name, "is no truth value")
        return bool(found)

    def data(self, name: str) -> bytes:
        """Return bytes."""
        found = self._arrays.get(self._prefix + name)
        if found is None or found.dtype != np.uint8 or found.ndim != 1:
            raise self.wrong(name, "is missing")
        return found.tobytes()
