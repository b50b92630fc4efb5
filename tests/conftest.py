"""Fixtures every test may use."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim

if TYPE_CHECKING:
    from collections.abc import Iterator

collect_ignore = [
    "plugin_example"
]  # a package of its own; test_plugin_example.py installs and tests it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long random runs and further values of a claim to the night: `PYSIM_NIGHTLY=1 pytest` runs them as well."""
    if os.environ.get("PYSIM_NIGHTLY"):
        return
    left = [item for item in items if item.get_closest_marker("nightly")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run."""
    return np.random.default_rng(20261121)


@pytest.fixture(params=pysim.available_isas())
def isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every instruction set of this processor, in turn."""
    pysim.use_isa(request.param)
    yield request.param
    pysim.use_isa("auto")


@pytest.fixture
def received() -> Iterator[None]:
    """Restore Python's handler of Ctrl-C, here and in child processes, also if the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
