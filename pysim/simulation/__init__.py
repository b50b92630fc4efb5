"""Simulation: loading of scenes, runs, rollouts of many worlds, stability limits and summaries."""

from __future__ import annotations

from pysim.simulation.batches.scenes import load_scenes
from pysim.simulation.loading import (
    Scene,
    compile_model,
    compile_scene,
    load_model,
    load_scene,
)
from pysim.simulation.records.summary import RunSummary, conserves_energy, summarize
from pysim.simulation.run import Progress, Update, output_times, simulate
from pysim.simulation.stepping.fixed_steps import steps_between

__all__ = [
    "Progress",
    "RunSummary",
    "Scene",
    "Update",
    "compile_model",
    "compile_scene",
    "conserves_energy",
    "load_model",
    "load_scene",
    "load_scenes",
    "output_times",
    "simulate",
    "steps_between",
    "summarize",
]
