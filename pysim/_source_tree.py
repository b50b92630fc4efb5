"""Use of the installed engine if Python runs in a clone's folder, whose `pysim` has no compiled engine."""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def use_installed_engine(search_path: list[str]) -> None:
    """Let this package find the engine of an installed pysim on `sys.path`.

    Raises:
        ModuleNotFoundError: there is none; the text says how to install it.
    """
    for folder in map(Path, sys.path):
        package = folder / "pysim"
        if any((package / f"_engine{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
            search_path.append(str(package))
            return
    message = "pysim: the compiled engine is not installed; run `pip install .` in the clone"
    raise ModuleNotFoundError(message, name="pysim._engine")
