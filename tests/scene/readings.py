"""Models of other programs as they are read, with what is warned of or refused."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import pysim
from pysim.errors import PysimError, PysimWarning
from pysim.scene import read_model

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec


def warnings_of(path: Path) -> tuple[ModelSpec, list[str]]:
    """Return a model and its warnings, with places relative to the folder of the file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = read_model(path)
    assert all(w.category is PysimWarning for w in caught)
    return spec, [str(w.message).removeprefix(f"{path.parent}/") for w in caught]


def refusal(path: Path, **options: Any) -> str:
    """Return the error of a model that is not loaded."""
    with pytest.raises(PysimError) as caught:
        pysim.load_model(path, **options)
    return str(caught.value).removeprefix(f"{path.parent}/")
