"""A monoped jumps as high as it can by 200 torques, found by first-order gradients through its take-off.

A trunk on a vertical rail stands on a leg of two links with a foot. Motors of hip and knee have bounds. The height of
the flight that follows from the last state is maximised over the torques of all steps, with L-BFGS.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pysim
from pysim.typing import Array

STEPS, STEP, BOUND, EFFORT = 100, 3e-3, 12.0, 1e-6  # [s], [N·m]

builder = pysim.SceneBuilder("monoped")
builder.body("trunk", shape={"box": [0.15, 0.1, 0.1]}, mass=2.0)
builder.joint("rail", "prismatic", child="trunk", axis=[0, 0, 1], start={"q": 0.436})
rod = {"capsule": {"radius": 0.015, "length": 0.25}, "at": {"xyz": [0, 0, -0.125]}}
foot = {"sphere": {"radius": 0.03}, "at": {"xyz": [0, 0, -0.25]}}
builder.body("thigh", shape=rod, mass=0.4)
builder.body("shank", shape=rod, mass=0.2, collision=[foot])
hip = {"axis": [0, 1, 0], "start": {"q": 0.62}, "damping": 0.02}
knee = {"axis": [0, 1, 0], "start": {"q": -1.24}, "damping": 0.02}
builder.joint("hip", "revolute", parent="trunk", child="thigh", **hip)
builder.joint("knee", "revolute", parent="thigh", child="shank", at={"xyz": [0, 0, -0.25]}, **knee)
builder.signal("torque", "input", size=2)
builder.actuator("motors", type="force", coordinates=["hip", "knee"], command="torque")
builder.material("default", friction=0.8)
builder.ground()
builder.simulation(integrator="convex", step=STEP, duration=1.0, solver_tolerance=1e-12)
worlds = pysim.Worlds(builder.build())


def lowness(q: Array, v: Array) -> tuple[float, Array, Array]:
    """Minus the height that the trunk reaches in flight after the last step, and its derivatives."""
    by_q, by_v = np.zeros_like(q), np.zeros_like(v)
    by_q[-1, 0], by_v[-1, 0] = -1.0, -max(v[-1, 0], 0) / 9.81
    return -q[-1, 0] - max(v[-1, 0], 0) ** 2 / (2 * 9.81), by_q, by_v


def objective(x: Array) -> tuple[float, Array]:
    """Lowness and effort of the torques (200,), and their derivatives."""
    found = pysim.gradient(worlds, x.reshape(STEPS, 2), loss=lowness)
    heights.append(-found.loss)
    return found.loss + EFFORT * x @ x, found.controls.ravel() + 2 * EFFORT * x


heights: list[float] = []
x0 = np.tile([-1.0, 3.0], STEPS)
found = minimize(
    objective,
    x0,
    jac=True,
    method="L-BFGS-B",
    bounds=[(-BOUND, BOUND)] * len(x0),
    options={"maxiter": 150},
)
torques = found.x.reshape(STEPS, 2)
print(f"height {heights[0]:.3f} m at first, {max(heights):.3f} m after {len(heights)} gradients")
assert max(heights) > heights[0] + 0.2

rows = worlds.rollout(torques)
worlds.inputs["torque"][:] = 0
flight = worlds.rollout(rows=60)
q = np.concatenate([rows.q, flight.q])
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
picked = [0, 40, 60, 70, 80, 90, 99, 120, 150]
for n, k in enumerate(picked):
    z, hip, knee = q[k]
    thigh = np.array([-np.sin(hip), -np.cos(hip)]) * 0.25
    shank = np.array([-np.sin(hip + knee), -np.cos(hip + knee)]) * 0.25
    points = np.cumsum([[0.3 * n, z], thigh, shank], axis=0)
    left.plot(*points.T, "o-", ms=3, color=plt.get_cmap("viridis")(n / len(picked)))
left.axhline(0, color="0.6")
left.set(xlabel="frames, 0.3 m apart", ylabel="z [m]", aspect="equal")
middle.step(STEP * np.arange(STEPS), torques, label=["hip", "knee"])
middle.set(xlabel="time [s]", ylabel="torque [N·m]")
middle.legend()
right.plot(np.maximum.accumulate(heights))
right.set(xlabel="gradient", ylabel="height of the trunk [m]")
figure.savefig("jump.png", dpi=110)
