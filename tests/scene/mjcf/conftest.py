"""Models in MJCF that tests write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "m.xml"
        path.write_text(f'<mujoco model="m">{text}</mujoco>', "utf-8")
        return path

    return write
