"""Sweeps: many runs of a scene with different parameters, in one labelled dataset."""

from __future__ import annotations

from pysim.sweeps.dataset import load_sweep
from pysim.sweeps.parameters import METHODS, Distribution
from pysim.sweeps.results import SweepResults, is_sweep, load_results
from pysim.sweeps.sensitivity import first_order_indices
from pysim.sweeps.sweep import SweepUpdate, run_sweep, sweep

__all__ = [
    "METHODS",
    "Distribution",
    "SweepResults",
    "SweepUpdate",
    "first_order_indices",
    "is_sweep",
    "load_results",
    "load_sweep",
    "run_sweep",
    "sweep",
]
