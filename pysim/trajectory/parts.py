"""Parts of a trajectory file: how each is written, and its checks as it is read.

Texts have a fixed length, since HDF5 keeps others in a heap that does not survive damage, and numbers that grow have
checksums. A ValueError says what is wrong with which part. What lies outside the file is rejected.
"""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import h5py

TOO_LARGE = "larger than the memory of this machine"
NUMBERS = {"dtype": "f8", "fillvalue": np.nan}


def write_attribute(where: h5py.File | h5py.Dataset, key: str, value: object) -> None:
    """Write an attribute; a text with a fixed length."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "surrogateescape")
        where.attrs.create(key, encoded, dtype=_fixed_text([encoded]))
    else:
        where.attrs[key] = value


def write_texts(file: h5py.File, key: str, words: str | tuple[str, ...]) -> None:
    """Write one text, or a list of them."""
    if isinstance(words, str):
        encoded = words.encode("utf-8", "surrogateescape")
        file.create_dataset(key, data=encoded, dtype=_fixed_text([encoded]))
    else:
        listed = [word.encode("utf-8", "surrogateescape") for word in words]
        file.create_dataset(key, data=listed, shape=(len(words),), dtype=_fixed_text(listed))


def create_rows(
    file: h5py.File,
    key: str,
    shape: tuple[int, ...],
    chunk: int,
    unit: str,
    texts: tuple[str, ...] = (),
) -> None:
    """Make an empty dataset of rows of this shape, kept together by `chunk`; of texts if given."""
    kind = {"dtype": _fixed_text([word.encode() for word in texts])} if texts else NUMBERS
    made = file.create_dataset(
        key,
        shape=(0, *shape),
        maxshape=(None, *(length or None for length in shape)),
        chunks=(chunk, *(max(1, length) for length in shape)),
        fletcher32=True,
        **kind,
    )
    if unit:
        write_attribute(made, "unit", unit)


def _fixed_text(encoded: list[bytes]) -> np.dtype[Any]:
    """Return the fixed-length UTF-8 type that has room for each of these texts."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    kind: np.dtype[Any] = h5py.string_dtype("utf-8", max([1, *map(len, encoded)]))
    return kind


def dataset(file: h5py.File, key: str) -> h5py.Dataset:
    """Return a dataset that must be there, with its bytes in this file."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    linked = _linked(file, key)
    if not isinstance(linked, h5py.Dataset):
        raise ValueError(f"it lacks {key!r}")  # noqa: TRY004, reported as damage
    made = linked.id.get_create_plist()
    if made.get_external_count() or linked.is_virtual:
        raise ValueError(f"{key!r} is stored in another file")
    for k in range(made.get_nfilters()):
        code, _, _, name = made.get_filter(k)
        if code not in {
            h5py.h5z.FILTER_DEFLATE,
            h5py.h5z.FILTER_SHUFFLE,
            h5py.h5z.FILTER_FLETCHER32,
        }:
            raise ValueError(f"{key!r} needs the filter {name.decode(errors='replace')!r}")
    return linked


def has(file: h5py.File, key: str) -> bool:
    """Return whether there is something of this name in the file."""
    return _linked(file, key) is not None


def _linked(file: h5py.File, key: str) -> Any:  # noqa: ANN401, a group, a dataset or None
    """Return what a path leads to inside the file, None where there is nothing."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    found: Any = file
    for part in key.split("/"):
        name = part.encode()
        if not (isinstance(found, h5py.Group) and found.id.links.exists(name)):
            return None
        if found.id.links.get_info(name).type != h5py.h5l.TYPE_HARD:
            raise ValueError(f"{key!r} is a link, which may lead to another file")
        found = found[part]
    return found


def numbers(file: h5py.File, key: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
    """Return a dataset of real numbers, not read yet, of a shape in which None is any length."""
    stored = dataset(file, key)
    if stored.dtype.kind not in "fiu":
        raise ValueError(f"{key!r} must hold real numbers, not {stored.dtype}")
    lengths = stored.shape or ()  # None: empty
    if len(lengths) != len(shape) or any(
        meant not in {None, n} for meant, n in zip(shape, lengths, strict=True)
    ):
        meant = ", ".join("n" if n is None else str(n) for n in shape)
        meant += "," if len(shape) == 1 else ""
        raise ValueError(f"{key!r} has shape {stored.shape}, its header says ({meant})")
    _check_memory(stored)
    return stored


def stored_rows(found: h5py.Dataset) -> int:
    """Count the rows that a dataset can have, by the chunks that are in the file."""
    rows: int = len(found)
    if found.chunks is None or found.size == 0:
        return rows
    lengths = zip(found.shape[1:], found.chunks[1:], strict=True)
    across = math.prod(-(-length // chunk) for length, chunk in lengths)
    stored: int = found.id.get_num_chunks() // across * found.chunks[0]
    return min(rows, stored)


def _check_memory(found: h5py.Dataset) -> None:
    """Raise MemoryError for numbers that cannot fit, before HDF5 begins to fill them in."""
    if found.size * 8 > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise MemoryError(TOO_LARGE)


def text(file: h5py.File, key: str) -> str:
    """Return one text."""
    found = dataset(file, key)
    if found.shape != ():
        raise ValueError(f"{key!r} must be one text, has shape {found.shape}")
    return str(_decoded(found, key))


def texts(file: h5py.File, key: str) -> tuple[str, ...]:
    """Return a list of texts."""
    found = dataset(file, key)
    if found.shape is None or len(found.shape) != 1:
        raise ValueError(f"{key!r} must be a list of texts, has shape {found.shape}")
    return tuple(str(each) for each in _decoded(found, key))


def _decoded(found: h5py.Dataset, key: str) -> Any:  # noqa: ANN401, a text or an array of them
    try:
        return found.asstr()[()]
    except TypeError:
        raise ValueError(f"{key!r} must hold text, not {found.dtype}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{key!r} is not UTF-8") from None


def parsed(file: h5py.File, key: str, kind: type[dict[str, Any] | list[Any]]) -> Any:  # noqa: ANN401, as JSON
    """Parse a JSON text that is an object (dict) or an array (list)."""
    try:
        value = json.loads(text(file, key))
    except json.JSONDecodeError as error:
        raise ValueError(f"{key!r} is not JSON, {error}") from None
    if not isinstance(value, kind):
        shown = "an object" if kind is dict else "an array"
        raise ValueError(f"{key!r} must be {shown} of JSON")  # noqa: TRY004, reported as damage
    return value


def attribute(file: h5py.File, key: str) -> Any:  # noqa: ANN401, whatever HDF5 can hold
    """Return a required attribute."""
    if key not in file.attrs:
        raise ValueError(f"it lacks the attribute {key!r}")
    return file.attrs[key]


def has_attribute(file: h5py.File, key: str) -> bool:
    """Return whether the file has an attribute."""
    return key in file.attrs


def text_attribute(file: h5py.File, key: str) -> str:
    """Return an attribute that is a text."""
    found = attribute(file, key)
    if isinstance(found, bytes):  # of a fixed length
        found = found.decode("utf-8", "surrogateescape")
    if not isinstance(found, str):
        raise ValueError(f"{key!r} must be a text, got {_short(found)}")  # noqa: TRY004
    # h5py's substitutes for invalid bytes
    if any("\ud800" <= letter <= "\udfff" for letter in found):
        raise ValueError(f"{key!r} is not UTF-8")
    return found


def flag(file: h5py.File, key: str) -> bool:
    """Return an attribute that is true or false."""
    found = attribute(file, key)
    if not isinstance(found, np.bool_ | np.integer) or found not in (0, 1):
        raise ValueError(f"{key!r} must be true or false, got {_short(found)}")
    return bool(found)


def whole_number(file: h5py.File, key: str) -> int:
    """Return an attribute that is a whole number."""
    found = attribute(file, key)
    if not isinstance(found, np.integer):
        raise ValueError(f"{key!r} must be a whole number, got {_short(found)}")  # noqa: TRY004
    return int(found)


def real_numbers(file: h5py.File, key: str, shape: tuple[int, ...]) -> list[float]:
    """Return an attribute of real numbers, which may be infinite."""
    found = np.asarray(attribute(file, key))
    if found.dtype.kind not in "fiu" or found.shape != shape or np.isnan(found).any():
        shown = f"{shape[0]} numbers" if shape else "a number"
        raise ValueError(f"{key!r} must be {shown}, got {_short(found.tolist())}")
    return [float(number) for number in found.reshape(-1)]


def _short(value: object) -> str:
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 60 else shown[:60] + "…"
