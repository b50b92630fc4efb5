"""The command `pysim`: run a scene, check it, view and plot what came of it."""

from __future__ import annotations

from pysim.cli.app import main

__all__ = ["main"]
