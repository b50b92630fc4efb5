"""Functional mock-up units: scenes as models of other simulation programs, by the FMI standard 2.0 or 3.0."""

from __future__ import annotations

from pysim.fmu.archive import write_fmu
from pysim.simulation.engine_file import engine_file

__all__ = ["engine_file", "write_fmu"]
