"""Stiffness and damping of a suspension that let a quarter car cross a kerb with the least acceleration of its body.

    python spring_design.py PATH_OF_quarter_car.toml

Writes spring_design.png: a sweep over a grid of 15 × 15 designs, read by labelled axes. Needs the extra `sweeps`.
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import pysim

STIFFNESS = np.linspace(10e3, 40e3, 15)  # [N/m]
DAMPING = np.linspace(500, 4000, 15)  # [N·s/m]


def discomfort(scene: str) -> Any:
    """Return the root mean square [m/s] of the body's vertical velocity, on labelled axes."""
    grid = {"parameters.suspension": STIFFNESS.tolist(), "parameters.damper": DAMPING.tolist()}
    data = pysim.sweep(
        scene, grid, output="designs.nc", overrides={"simulation.duration": 2.0}, overwrite=True
    )
    speed = np.hypot(
        data.summary.sel(signal="v.tyre", statistic="rms"),
        data.summary.sel(signal="v.strut", statistic="rms"),
    )
    return speed.set_index(world=list(grid)).unstack("world")


if __name__ == "__main__":
    found = discomfort(sys.argv[1] if len(sys.argv) > 1 else "scenes/quarter_car.toml")
    best = np.unravel_index(int(found.values.argmin()), found.shape)
    print(f"the best of {found.size}: {STIFFNESS[best[0]]:.0f} N/m, {DAMPING[best[1]]:.0f} N·s/m")
    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    picture = axes.contourf(STIFFNESS / 1e3, DAMPING / 1e3, found.values.T, 12)
    axes.plot(STIFFNESS[best[0]] / 1e3, DAMPING[best[1]] / 1e3, "w*", markersize=10)
    axes.set(xlabel="stiffness [kN/m]", ylabel="damping [kN·s/m]")
    figure.colorbar(picture, label="speeds of body and wheel, rms [m/s]")
    figure.savefig("spring_design.png", dpi=110)
