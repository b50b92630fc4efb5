"""A throw that hits: Gauss-Newton on the velocity with which a box is thrown, through its landing and sliding.

The box lands on a corner, tumbles, slides and rests. Where it rests differs from the target; the derivatives of that by
the six numbers of the velocity come from one gradient of two worlds, one for x and one for y. Each step changes the
velocity by the least that would hit if the throw were linear in it.
"""

import matplotlib.pyplot as plt
import numpy as np

import pysim
from pysim.typing import Array

STEPS = 600
TARGET = np.array([1.2, 0.35])  # [m]

builder = pysim.SceneBuilder("throw")
builder.body("box", shape={"box": [0.2, 0.3, 0.1]}, mass=1.5, collision=True)
place = {"xyz": [0, 0, 0.5], "rpy": [0.3, 0.2, 0.1]}
builder.joint("free", "free", child="box", start={**place, "v": [1.6, 0.2, 0, 0.5, 1.0, 0.3]})
builder.material("default", friction=0.35, dissipation=0.6)
builder.ground()
builder.simulation(integrator="convex", step=2e-3, duration=2.0, solver_tolerance=1e-12)
scene = builder.build()
worlds = pysim.Worlds(scene, 2)  # x of the first, y of the second


def rest(q: Array, v: Array) -> tuple[Array, Array, Array]:
    """The place at the end, and its derivatives."""
    by_q = np.zeros_like(q)
    by_q[[0, 1], -1, [0, 1]] = 1.0
    return q[[0, 1], -1, [0, 1]], by_q, np.zeros_like(v)


def path_of(velocity: Array) -> Array:
    """The positions (steps, 3) of the box."""
    worlds.v[:] = velocity
    saved = worlds.save()
    positions = worlds.rollout(rows=STEPS).q[0, :, :3]
    worlds.load(saved)
    return positions


velocity, paths, misses = scene.state.v.copy(), [], []
for iteration in range(12):
    paths.append(path_of(velocity))
    found = pysim.gradient(worlds, steps=STEPS, loss=rest)
    miss = found.loss - TARGET
    misses.append(np.linalg.norm(miss))
    print(f"throw {iteration}: misses by {1e3 * misses[-1]:.4f} mm")
    if misses[-1] < 1e-6:
        break
    move, share = np.linalg.lstsq(found.v, -miss, rcond=None)[0], 1.0
    while (
        np.linalg.norm(path_of(velocity + share * move)[-1, :2] - TARGET) > misses[-1]
        and share > 1e-3
    ):
        share /= 2  # the order of the contacts has changed
    velocity = velocity + share * move
assert misses[-1] < 1e-4

figure, (above, side, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(paths)))
for path, colour in zip(paths, colours, strict=True):
    above.plot(*path[:, :2].T, color=colour)
    side.plot(path[:, 0], path[:, 2], color=colour)
above.plot(*TARGET, "k+", ms=12)
above.set(xlabel="x [m]", ylabel="y [m]", title="from above", aspect="equal")
side.set(xlabel="x [m]", ylabel="z [m]", title="from the side")
right.semilogy(1e3 * np.array(misses), "o-")
right.set(xlabel="iteration", ylabel="miss [mm]", title="Gauss-Newton")
figure.savefig("throw.png", dpi=110)
