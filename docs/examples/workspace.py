"""Share of the points in front of a Franka Panda at which its hand can point straight down.

    python workspace.py

Writes workspace.png. Needs the extra `robots`. 3000 inverse kinematics take a second.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import pysim

ROBOT = "package://example-robot-data/robots/panda_description/urdf/panda.urdf"
HEIGHT = 0.2  # [m] of the hand


def reachable(model: pysim.Model, points: np.ndarray) -> np.ndarray:
    """Return for each point (n, 3) [m] whether the hand reaches it and points down."""
    targets = np.tile(np.eye(4), (len(points), 1, 1))
    targets[:, :3, :3] = np.diag([1.0, -1.0, -1.0])
    targets[:, :3, 3] = points
    about_its_axis = {"panda_hand": [1, 1, 1, 1, 1, 0]}  # any angle about the vertical will do
    found = pysim.inverse_kinematics(
        model, {"panda_hand": targets}, model.neutral(), weights=about_its_axis, restarts=10
    )
    return np.asarray(found.converged)


if __name__ == "__main__":
    x, y = np.linspace(0.0, 1.0, 60), np.linspace(-0.8, 0.8, 50)
    grid = np.stack([*np.meshgrid(x, y, indexing="ij"), np.full((60, 50), HEIGHT)], axis=-1)
    reached = reachable(pysim.load_model(ROBOT), grid.reshape(-1, 3)).reshape(60, 50)
    print(f"{reached.mean():.0%} of the points are reached")
    figure, axes = plt.subplots(figsize=(5, 3.6), layout="constrained")
    axes.pcolormesh(y, x, reached, cmap="Greens", vmin=0, vmax=1.5)
    axes.set(
        xlabel="y [m]", ylabel="x [m]", title=f"reached at z = {HEIGHT} m, hand down", aspect=1
    )
    figure.savefig("workspace.png", dpi=110)
