"""The command `pysim`: run a scene, check it, view and plot its trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.cli.exit_status import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        from pysim.cli.app import answer  # noqa: PLC0415, takes 0.2 s, and Ctrl-C may come in them
    except KeyboardInterrupt:
        return INTERRUPTED
    return answer(arguments)
