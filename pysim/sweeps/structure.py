"""Structure of a sweep's dataset: its description, labels and parameters, and the places of its results.

libhdf5 trusts what it parses. It therefore parses a file here only if its bytes match their checksum
(`pysim.sweeps.dataset_checksum`); an earlier version of pysim or another program wrote any other, which a child
process with limits parses (`pysim.trajectory.limited_child`). What lies outside the file is rejected.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.sweeps.dataset_checksum import checked_size
from pysim.trajectory.limited_child import limited, output_of_child, unreadable
from pysim.trajectory.page_checks import RestoredFile, is_hdf5
from pysim.trajectory.parts import attribute, dataset, numbers

if TYPE_CHECKING:
    import h5py

FORMAT = 1
FAILURE = 240  # bytes of a reason
DONE_BY_PIECE = ("summary", "series", "failure")
RESULTS = {  # types and dimensions of what is written while the sweep runs
    "summary": ("<f8", ("world", "signal", "statistic")),
    "series": ("<f8", ("world", "record", "time")),
    "failure": (f"|S{FAILURE}", ("world",)),
    "checksum": ("<i8", ("piece",)),
}
REMEDY = "copy it again, or overwrite it with a new run of the sweep"


class NotASweepError(SimulationError):
    """A file of another kind."""


@dataclass(frozen=True)
class Structure:
    """Everything in a sweep's dataset but the results of its worlds."""

    text: str  # the description, as JSON
    piece_size: int
    signals: tuple[str, ...]
    statistics: tuple[str, ...]
    records: tuple[str, ...]
    t: list[float]  # [s]
    parameters: dict[str, list[float]]  # (worlds,) each
    worlds: int
    offsets: dict[str, int]  # of `RESULTS` in the file

    @property
    def description(self) -> dict[str, Any]:
        """Return the description of the sweep."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def lengths(self) -> dict[str, int]:
        """Return the length of every dimension."""
        return {
            "world": self.worlds,
            "signal": len(self.signals),
            "statistic": len(self.statistics),
            "record": len(self.records),
            "time": len(self.t),
            "piece": -(-self.worlds // self.piece_size),
        }

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of one of `RESULTS`."""
        return tuple(self.lengths[dim] for dim in RESULTS[name][1])


def structure_of(path: Path, descriptor: int) -> Structure:
    """Read the structure of the dataset at `path`, which is open.

    Raises:
        SimulationError: it is not a sweep's, or damaged.
    """
    if not is_hdf5(descriptor):
        raise not_a_sweep(path)
    try:
        size = checked_size(descriptor)
    except ValueError as error:
        raise damaged(path, str(error)) from error
    if size is None:
        structure = _read_by_child(path)
    else:
        import h5py  # noqa: PLC0415, which workers of a cluster do not need

        with h5py.File(RestoredFile(descriptor, size, []), "r") as file:
            structure = read_structure(path, file)
    end = os.fstat(descriptor).st_size
    for name, offset in structure.offsets.items():
        length = (
            int(np.prod(structure.shape(name), dtype=int)) * np.dtype(RESULTS[name][0]).itemsize
        )
        if length > 0 and not 0 < offset <= end - length:
            raise damaged(path, f"{name!r} lies beyond the end of the file")
    return structure


def not_a_sweep(path: Path) -> SimulationError:
    """Return the error for a file of another kind."""
    problem = "is not the file of a sweep; choose another, or overwrite it"
    return NotASweepError(str(path), problem)


def damaged(path: Path, what: str) -> SimulationError:
    """Return the error for a damaged dataset."""
    return SimulationError(str(path), f"is damaged, {what}; {REMEDY}")


def read_structure(path: Path, file: h5py.File) -> Structure:
    """Read the structure from a file.

    Raises:
        SimulationError: a part is missing or invalid.
    """
    try:
        if "sweep" not in file.attrs or attribute(file, "format") != FORMAT:
            raise not_a_sweep(path)
        text = attribute(file, "sweep")
        description = json.loads(text)
        if not isinstance(description, dict):
            raise not_a_sweep(path)
        names = [*description["grids"], *description["distributions"]]
        return _structure_in(path, file, text, names)
    except SimulationError:
        raise
    except (LookupError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
        raise damaged(path, str(error.args[0] if error.args else error)) from error
    except MemoryError as error:
        raise damaged(path, "it does not fit into memory") from error
    except (OSError, RuntimeError) as error:
        raise damaged(path, str(error).splitlines()[0]) from error


def _structure_in(path: Path, file: h5py.File, text: str, parameters: list[str]) -> Structure:
    (worlds,) = dataset(file, "failure").shape
    piece_size = int(attribute(file, "piece_size"))
    if piece_size < 1 or worlds < 1:
        raise ValueError(f"it has {worlds} worlds in pieces of {piece_size}")
    structure = Structure(
        text=text,
        piece_size=piece_size,
        signals=_texts(file, "signal"),
        statistics=_texts(file, "statistic"),
        records=_texts(file, "record"),
        t=numbers(file, "time", (None,))[()].astype(float).tolist(),
        parameters={
            name: numbers(file, name, (worlds,))[()].astype(float).tolist() for name in parameters
        },
        worlds=int(worlds),
        offsets={name: _offset(path, file, name) for name in RESULTS},
    )
    for name, (kind, _) in RESULTS.items():
        data = dataset(file, name)
        if data.shape != structure.shape(name) or data.dtype != np.dtype(kind):
            shown = f"has shape {data.shape} of {data.dtype}"
            raise ValueError(f"{name!r} {shown}, its labels say {structure.shape(name)} of {kind}")
    return structure


def _offset(path: Path, file: h5py.File, name: str) -> int:
    data = dataset(file, name)
    offset = data.id.get_offset()
    if offset is None and data.size:
        raise not_a_sweep(path)  # in chunks
    return int(offset or 0)


def _texts(file: h5py.File, name: str) -> tuple[str, ...]:
    found = dataset(file, name)
    if found.dtype.kind != "S" or found.shape is None or len(found.shape) != 1:
        raise ValueError(f"{name!r} must be a list of texts")
    try:
        return tuple(text.decode() for text in found[()])
    except UnicodeDecodeError:
        raise ValueError(f"{name!r} is not UTF-8") from None


def _read_by_child(path: Path) -> Structure:
    output, errors = output_of_child(path, __name__, "structure", error=SimulationError)
    try:
        found = json.loads(output)
        if "error" in found:
            kind = NotASweepError if found["foreign"] else SimulationError
            raise kind(*found["error"])
        names = {key: tuple(found[key]) for key in ("signals", "statistics", "records")}
        return Structure(**(found | names))
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, SimulationError):
            raise
        raise unreadable(path, errors, SimulationError) from error


def main() -> None:
    """Read the structure of the file that the command line names, within its limits, and print it as JSON."""
    import h5py  # noqa: PLC0415

    path = Path(sys.argv[2])
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        limited()
        try:
            try:
                file = h5py.File(path, "r")
            except (OSError, RuntimeError) as error:
                raise damaged(path, str(error).splitlines()[0]) from error
            with file:
                found: dict[str, Any] = asdict(read_structure(path, file))
        except SimulationError as error:
            foreign = isinstance(error, NotASweepError)
            found = {"error": [error.where, error.problem], "foreign": foreign}
        json.dump(found, out)
