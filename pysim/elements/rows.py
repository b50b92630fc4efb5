"""Rows of numbers that a scene gives as a list of lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def array_of_rows(
    name: str, rows: Sequence[Any], columns: int | None = None, of: str = ""
) -> NDArray[np.float64]:
    """Return the array of a list of numbers, or of rows with the same number of numbers.

    Args:
        name: the key, for the error.
        rows: numbers, or rows of numbers.
        columns: numbers that every row must have, the same as the first one's by default.
        of: what these numbers stand for, for the error.

    Raises:
        PysimError: a row has another number of numbers.
    """
    lengths = [len(row) if isinstance(row, (tuple, list)) else None for row in rows]
    wanted = columns if columns is not None else next(iter(lengths), None)
    for k, length in enumerate(lengths):
        if length == wanted:
            continue
        if None in (length, wanted):
            problem = (
                f"row {k + 1} is {'a number' if length is None else 'a list'}, and others are not"
            )
            raise PysimError(name, f"{problem}; give numbers alone, or lists alone")
        why = f", {of}" if of else ", as the first row has"
        problem = f"row {k + 1} has {_count_text(length)}, and must have {wanted}{why}"
        raise PysimError(name, f"{problem}; give every row {_count_text(wanted)}")
    return np.array(rows, float)


def symmetric_rows(
    name: str, rows: Sequence[Any], count: int, of: str = "one for each number"
) -> NDArray[np.float64]:
    """Return the symmetric matrix (count, count) of rows.

    Args:
        name: the key, for the error.
        rows: of numbers.
        count: of rows and of columns.
        of: what rows and columns stand for, for the error.

    Raises:
        PysimError: it has another shape, or is not symmetric.
    """
    matrix = array_of_rows(name, rows, count, of)
    if matrix.shape != (count, count):
        given = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        problem = f"must have {count} rows of {_count_text(count)}, got {given}"
        raise PysimError(name, f"{problem}; write {count}")
    if np.abs(matrix - matrix.T).max() > 1e-12 * np.abs(matrix).max():
        problem = "must be symmetric; write the mean of the matrix and its transpose"
        raise PysimError(name, problem)
    return matrix


def _count_text(count: int | None) -> str:
    return "1 number" if count == 1 else f"{count} numbers"
