"""Friction and dissipation of a surface from a logged bounce and slide, by gradients, from several starts.

A box falls flat onto the ground with 2 m/s along it, rebounds and slides. The log has its position every 20 ms, with
noise of 0.5 mm. Unknown are the friction of the material and the dissipation of its contacts, which decides how the box
rebounds.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pysim
from pysim.typing import Array

STEPS, EVERY, NOISE = 500, 10, 5e-4  # steps of 2 ms, a row every 20 ms, [m]
PATHS = ["materials.default.friction", "materials.default.dissipation"]
TRUE = np.array([0.28, 0.45])
rng = np.random.default_rng(0)

builder = pysim.SceneBuilder("slide")
builder.body("box", shape={"box": [0.2, 0.3, 0.1]}, mass=1.5, collision=True)
builder.joint(
    "free", "free", child="box", start={"xyz": [0, 0, 0.4], "v": [2.0, 0.3, 0, 0, 0, 0.4]}
)
builder.material("default", friction=0.5, dissipation=0.2, stiffness=2e4)
builder.ground()
builder.simulation(integrator="convex", step=2e-3, duration=1.0, solver_tolerance=1e-12)
worlds = pysim.Worlds(builder.build())


def motion(numbers: Array) -> Array:
    """The positions (rows, 3) of the box with other numbers of the surface."""
    for path, number in zip(PATHS, numbers, strict=True):
        worlds.parameters[path] = number
    worlds.reset()
    positions = worlds.rollout(rows=STEPS).q[:, :3]
    worlds.reset()
    return positions[EVERY - 1 :: EVERY]


log = motion(TRUE) + NOISE * rng.normal(size=(STEPS // EVERY, 3))


def misfit(q: Array, v: Array) -> tuple[float, Array, Array]:
    """Mean squared deviation from the log, in units of the noise, and its derivatives."""
    by_q = np.zeros_like(q)
    error = (q[EVERY - 1 :: EVERY, :3] - log) / NOISE
    by_q[EVERY - 1 :: EVERY, :3] = 2 * error / NOISE / error.size
    return (error**2).mean(), by_q, np.zeros_like(v)


def objective(logarithms: Array) -> tuple[float, Array]:
    """The misfit at numbers exp(x), and its derivatives by x."""
    numbers = np.exp(logarithms)
    motion(numbers)
    found = pysim.gradient(worlds, steps=STEPS, loss=misfit, by=PATHS)
    slopes = np.array([found.parameters[path] for path in PATHS])
    visited.append((*numbers, found.loss))
    return found.loss, slopes * numbers


starts = [(0.1, 0.1), (0.8, 0.1), (0.8, 1.5)]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
results = []
for start in starts:
    visited: list[tuple[float, ...]] = []
    bounds = [(np.log(0.02), np.log(1.5)), (np.log(0.02), np.log(3.0))]
    found = minimize(objective, np.log(start), jac=True, method="L-BFGS-B", bounds=bounds)
    numbers = np.exp(found.x)
    results.append((found.fun, *numbers))
    print(
        f"from {start}: friction {numbers[0]:.4f}, dissipation {numbers[1]:.4f} s/m, "
        f"misfit {found.fun:.3f}, {found.nfev} gradients"
    )
    left.plot(*np.array(visited)[:, :2].T, ".-", lw=0.8)
best = np.array(min(results))
print(f"found {best[1:].round(4)}, true {TRUE}")
assert np.abs(best[1:] / TRUE - 1).max() < 0.05
left.plot(*TRUE, "k+", ms=12)
left.set(xlabel="friction", ylabel="dissipation [s/m]", xscale="log", yscale="log")
times = 2e-3 * EVERY * np.arange(1, len(log) + 1)
right.plot(times, log[:, [0, 2]], ".", ms=4, color="0.5")
right.plot(times, motion(best[1:])[:, [0, 2]], label=["x", "z"])
right.set(xlabel="time [s]", ylabel="position [m]")
right.legend()
figure.savefig("slide.png", dpi=110)
