"""Parameters of tests that run at night only, `PYSIM_NIGHTLY=1 pytest`: more values of the same claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark.structures import ParameterSet


def at_night(*values: object) -> list[ParameterSet]:
    """Return parameters of `pytest.mark.parametrize` that are left out by day."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def every_other_at_night(rows: Iterable[object], columns: Iterable[object]) -> list[ParameterSet]:
    """Return the pairs of two lists: by day each row with half of the columns, each column with half of the rows."""
    columns = list(columns)
    return [
        pytest.param(row, column, marks=[pytest.mark.nightly] * ((i + j) % 2))
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]
