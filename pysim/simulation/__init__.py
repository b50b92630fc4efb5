"""Simulation: runs of scenes, worlds that are stepped by hand, and summaries of runs."""

from __future__ import annotations

from pysim.diagnosis.conserved_energy import conserves_energy
from pysim.scene_files.loaded_scene import load_scene
from pysim.scene_files.many_scenes import load_scenes
from pysim.simulation.fixed_steps import steps_between
from pysim.simulation.run import Progress, Update, output_times, simulate
from pysim.simulation.summary import RunSummary, summarize
from pysim.worlds.loading import (
    Scene,
    compile_model,
    compile_scene,
    load_model,
)

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
