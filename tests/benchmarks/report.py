"""Printing of the benchmark table."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

ROW = "{:16} {:16} {:>10} {:>10} {:>8} {:>6}  {}"


def heading(title: str, unit: str) -> None:
    """Begin a part of the table."""
    print_line(f"\n{title}, {unit}")
    print_line(ROW.format("robot", "what", "pysim", "peer", "ratio", "peak", "peer is"))


def row(
    robot: str, what: str, mine: float, peer: float | None, how: str, share: float | None = None
) -> None:
    """One comparison; `share` of the processor's peak."""
    against = ("", "") if peer is None else (f"{peer:.2f}", f"{peer / mine:.1f}x")
    of_peak = "" if share is None else f"{share:.0%}"
    print_line(ROW.format(robot, what, f"{mine:.2f}", *against, of_peak, how))


def print_line(text: str) -> None:
    """Print at once, so that a long run shows where it is."""
    sys.stdout.write(text.rstrip() + "\n")
    sys.stdout.flush()


def cpu_name() -> str:
    """Name of the processor as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
