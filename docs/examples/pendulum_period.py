"""Period of a pendulum against its amplitude, beside the closed form by the complete elliptic integral.

    python pendulum_period.py

Writes pendulum_period.png. All amplitudes run at once, as worlds of one call.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk

import pysim

LENGTH, GRAVITY = 0.5, 9.81  # [m], [m/s²]
STEP = 1e-3  # [s]


def scene() -> pysim.Scene:
    """Return a point mass of 1 kg on a hinge."""
    builder = pysim.SceneBuilder("pendulum")
    builder.body("bob", mass=1.0, com=[0, 0, -LENGTH], inertia={"xx": 1e-9, "yy": 1e-9, "zz": 1e-9})
    builder.joint("hinge", "revolute", child="bob", axis=[0, 1, 0])
    return builder.build()


def periods(amplitudes: np.ndarray) -> np.ndarray:
    """Return the period [s] of every amplitude [rad]: four times the time to the first passage of the bottom."""
    start = amplitudes[:, None]
    model = scene().model
    q, _ = pysim.rollout(model, start, 0 * start, None, step=STEP, steps=3000, integrator="rk4")
    angle = q[:, :, 0]
    after = np.argmax(angle < 0, axis=1)  # the first row beyond the bottom
    rows = np.arange(len(angle))
    before, beyond = angle[rows, after - 1], angle[rows, after]
    return 4 * STEP * (after - 1 + before / (before - beyond))


if __name__ == "__main__":
    amplitudes = np.radians(np.linspace(5, 170, 34))
    measured = periods(amplitudes)
    exact = 4 * np.sqrt(LENGTH / GRAVITY) * ellipk(np.sin(amplitudes / 2) ** 2)
    print(f"largest relative error {np.abs(measured / exact - 1).max():.1e}")
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.plot(np.degrees(amplitudes), exact, label="closed form")
    axes.plot(np.degrees(amplitudes), measured, "o", markersize=3, label="pysim")
    axes.set(xlabel="amplitude [deg]", ylabel="period [s]")
    axes.legend()
    figure.savefig("pendulum_period.png", dpi=110)
