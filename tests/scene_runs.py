"""Scenes of this repository, run once, for the tests of what they claim."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pysim
from pysim.trajectory import Trajectory
from pysim.typing import Array
from pysim.worlds.loading import Scene

SCENES = Path(__file__).parents[1] / "scenes"
G = 9.81  # [m/s²]


@dataclass(frozen=True)
class Run:
    """A scene, its model and its trajectory."""

    scene: Scene
    model: pysim.Model
    trajectory: Trajectory

    @property
    def momenta(self) -> Array:
        """M v (n, nv)."""
        M = pysim.crba(self.model, self.trajectory.q)
        momenta: Array = np.einsum("nij,nj->ni", M, self.trajectory.v)
        return momenta


def load_own_scene(name: str) -> Scene:
    """A scene of this repository, its plugins run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)  # ANYmal has a weightless link
        return pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)


def run_scene(name: str) -> Run:
    scene = load_own_scene(name)
    return Run(scene, scene.model, pysim.simulate(scene))


def constant(values: Array, tolerance: float) -> None:
    """Hold that rows do not change by more than `tolerance` times the largest entry."""
    scale = np.abs(values).max()
    start = np.broadcast_to(values[0], values.shape)
    np.testing.assert_allclose(values, start, rtol=0, atol=tolerance * scale)
