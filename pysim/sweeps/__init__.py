"""Sweeps: many runs of a scene with different parameters, in one labelled dataset."""

from __future__ import annotations

from pysim.sweeps.dataset import load_sweep
from pysim.sweeps.parameters import METHODS, Distribution
from pysim.sweeps.sweep import SweepUpdate, run_sweep, sweep

__all__ = ["METHODS", "Distribution", "SweepUpdate", "load_sweep", "run_sweep", "sweep"]
