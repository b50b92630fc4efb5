"""Parts of a trajectory file, each checked as it is read: a ValueError says what is wrong with which."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def dataset(file: h5py.File, key: str) -> h5py.Dataset:
    """A dataset that must be there."""
    import h5py  # noqa: PLC0415, costs 0.1 s

    found = file.get(key)
    if not isinstance(found, h5py.Dataset):
        raise ValueError(f"it lacks {key!r}")  # noqa: TRY004, told as damage
    return found


def numbers(file: h5py.File, key: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
    """A dataset of real numbers, not read yet, of a shape in which None is any length."""
    found = dataset(file, key)
    if found.dtype.kind not in "fiu":
        raise ValueError(f"{key!r} must hold real numbers, not {found.dtype}")
    lengths = found.shape or ()  # None: empty
    if len(lengths) != len(shape) or any(
        meant not in {None, n} for meant, n in zip(shape, lengths, strict=True)
    ):
        meant = ", ".join("n" if n is None else str(n) for n in shape)
        meant += "," if len(shape) == 1 else ""
        raise ValueError(f"{key!r} has shape {found.shape}, its header says ({meant})")
    return found


def text(file: h5py.File, key: str) -> str:
    """One text."""
    found = dataset(file, key)
    if found.shape != ():
        raise ValueError(f"{key!r} must be one text, has shape {found.shape}")
    return str(_decoded(found, key))


def texts(file: h5py.File, key: str) -> tuple[str, ...]:
    """A list of texts."""
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
    """A JSON text that is an object (dict) or an array (list)."""
    try:
        value = json.loads(text(file, key))
    except json.JSONDecodeError as error:
        raise ValueError(f"{key!r} is not JSON, {error}") from None
    if not isinstance(value, kind):
        told = "an object" if kind is dict else "an array"
        raise ValueError(f"{key!r} must be {told} of JSON")  # noqa: TRY004, told as damage
    return value


def attribute(file: h5py.File, key: str) -> Any:  # noqa: ANN401, whatever HDF5 can hold
    """An attribute that must be there."""
    if key not in file.attrs:
        raise ValueError(f"it lacks the attribute {key!r}")
    return file.attrs[key]


def text_attribute(file: h5py.File, key: str) -> str:
    """An attribute that is a text."""
    found = attribute(file, key)
    if not isinstance(found, str):
        raise ValueError(f"{key!r} must be a text, got {_short(found)}")  # noqa: TRY004
    if any("\ud800" <= letter <= "\udfff" for letter in found):  # h5py's for bytes that are none
        raise ValueError(f"{key!r} is not UTF-8")
    return found


def flag(file: h5py.File, key: str) -> bool:
    """An attribute that is true or false."""
    found = attribute(file, key)
    if not isinstance(found, np.bool_ | np.integer) or found not in (0, 1):
        raise ValueError(f"{key!r} must be true or false, got {_short(found)}")
    return bool(found)


def whole_number(file: h5py.File, key: str) -> int:
    """An attribute that is a whole number."""
    found = attribute(file, key)
    if not isinstance(found, np.integer):
        raise ValueError(f"{key!r} must be a whole number, got {_short(found)}")  # noqa: TRY004
    return int(found)


def real_numbers(file: h5py.File, key: str, shape: tuple[int, ...]) -> list[float]:
    """An attribute of real numbers, infinite ones among them."""
    found = np.asarray(attribute(file, key))
    if found.dtype.kind not in "fiu" or found.shape != shape or np.isnan(found).any():
        told = f"{shape[0]} numbers" if shape else "a number"
        raise ValueError(f"{key!r} must be {told}, got {_short(found.tolist())}")
    return [float(number) for number in found.reshape(-1)]


def _short(value: object) -> str:
    told = " ".join(repr(value).split())
    return told if len(told) <= 60 else told[:60] + "…"
