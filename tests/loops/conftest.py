"""Fixtures of tests of closed mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import pysim


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., pysim.Scene]:
    """Return a function that loads the text of a scene."""

    def loaded(text: str, overrides: Mapping[str, object] | None = None) -> pysim.Scene:
        path = tmp_path / "scene.toml"
        path.write_text(text)
        return pysim.load_scene(path, overrides)

    return loaded
