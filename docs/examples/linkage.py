"""A linkage for a coupler curve: 20 lengths of an eight-bar linkage by gradients through its closed loops.

A crank turns once a second; three dyads, each a coupler with a point and a rocker, hang one on the other, and a pen
follows the point of the last. Lengths are slides, so heavy that loops move everything else instead: derivatives by
their positions at the start are those by the lengths.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pysim
from pysim.typing import Array

STEPS, HEAVY = 72, 1e6  # a turn in one second; [kg] of a slide, against grams of what it carries
SMALL = {"mass": 0.01, "inertia": {"xx": 1e-4, "yy": 1e-4, "zz": 1e-4}}
X, Y, Z = [1, 0, 0], [0, -1, 0], [0, 0, 1]
lengths = {"crank x": 0.0, "crank": 0.12}  # [m]
for k, numbers in enumerate(
    [
        (0.55, 0.5, 0.3, 0.25, 0.5, -0.15),
        (0.5, 0.45, 0.3, -0.25, 0.75, 0.2),
        (0.5, 0.5, 0.35, -0.4, 0.9, -0.2),
    ]
):
    names = ("coupler", "rocker", "point x", "point z", "pivot x", "pivot z")
    lengths |= {f"{name} {k}": number for name, number in zip(names, numbers, strict=True)}

builder = pysim.SceneBuilder("linkage", gravity=[0, 0, 0])


def slide(name: str, parent: str | None, axis: list[int]) -> str:
    """Add a length along an axis of a body, and return the body at its end."""
    builder.body(name, **SMALL)
    keys = {} if parent is None else {"parent": parent}
    builder.joint(
        name, "prismatic", child=name, axis=axis, armature=HEAVY, start={"q": lengths[name]}, **keys
    )
    return name


def hinge(name: str, parent: str, **keys: object) -> str:
    """Add a body that turns on another, and return it."""
    builder.body(name, **SMALL)
    builder.joint(name, "revolute", parent=parent, child=name, axis=Y, **keys)
    return name


builder.signal("turn", "waypoints", t=[0.0, 1.0], values=[0.0, 2 * np.pi], unit="rad")
tip = slide("crank", hinge("driven", slide("crank x", None, X), motion={"signal": "turn"}), X)
for k, (at_coupler, at_rocker) in enumerate([(0.4, 1.6), (0.2, 1.9), (0.3, 2.0)]):
    bar = hinge(f"bar {k}", tip, start={"q": at_coupler})
    end = slide(f"coupler {k}", bar, X)
    tip = slide(f"point z {k}", slide(f"point x {k}", bar, X), Z)
    pivot = slide(f"pivot z {k}", slide(f"pivot x {k}", None, X), Z)
    arm = slide(f"rocker {k}", hinge(f"arm {k}", pivot, start={"q": at_rocker}), X)
    builder.loop(f"pin {k}", "revolute", a=end, b=arm, axis=Y)
builder.body("pen x", **SMALL)
builder.joint("pen x", "prismatic", child="pen x", axis=X)
builder.body("pen z", **SMALL)
builder.joint("pen z", "prismatic", parent="pen x", child="pen z", axis=Z)
builder.loop("pen", "revolute", a=tip, b="pen z", axis=Y)
builder.assembly(hold=list(lengths))
builder.simulation(integrator="convex", step=1 / STEPS, duration=1.0)
scene = builder.build()
model = scene.model
joints = [joint.name for joint in model.joints]  # each has one coordinate
slides = np.array([joints.index(name) for name in lengths])
pen = np.array([joints.index("pen x"), joints.index("pen z")])
nearest = scene.state.q.copy()  # closed state, next to which others are sought


def closed(numbers: Array) -> Array | None:
    """Return the configuration at the start with these lengths; None if they do not close."""
    q = nearest.copy()
    q[slides] = numbers
    try:
        return pysim.loops.assemble(model, q, hold=[*lengths, "driven"]).q
    except pysim.PysimError:
        return None


def curves(starts: Array) -> Array:
    """Return the pen's positions (n, steps, 2) from configurations at the start; NaN where a linkage locks."""
    worlds = pysim.Worlds(scene, len(starts))
    worlds.q[:], worlds.v[:] = starts, 0
    found = np.empty((len(starts), STEPS, 2))
    for k in range(STEPS):
        worlds.step(steps=1)
        found[:, k] = worlds.q[:, pen]
    found[np.asarray(worlds.lost)] = np.nan
    return found


first = curves(nearest[None])[0]
begin = np.array(list(lengths.values()))
others = begin + np.random.default_rng(1).uniform(-0.03, 0.03, len(begin))
wanted = closed(others)
assert wanted is not None
target = curves(wanted[None])[0]  # the curve of another linkage of this kind


def deviation(q: Array, v: Array) -> tuple[float, Array, Array]:
    """Mean squared distance from the curve [mm²], and its derivatives."""
    off, by_q = 1e3 * (q[:, pen] - target), np.zeros_like(q)
    by_q[:, pen] = 2e3 * off / STEPS
    return (off**2).sum(1).mean(), by_q, np.zeros_like(v)


def objective(numbers: Array) -> tuple[float, Array]:
    """Return the deviation of these lengths, and its derivatives by them."""
    start = closed(numbers)
    if start is None:
        return 1e6, np.zeros(len(numbers))
    worlds = pysim.Worlds(scene)
    worlds.q[:], worlds.v[:] = start, 0
    try:
        found = pysim.gradient(worlds, steps=STEPS, loss=deviation)
    except pysim.SimulationError:  # the linkage locks within the turn
        return 1e6, np.zeros(len(numbers))
    nearest[:] = start
    losses.append(found.loss)
    return found.loss, found.q[slides]


losses: list[float] = []
clock = time.process_time()
value, slopes = objective(begin)
by_gradient = time.process_time() - clock
clock = time.process_time()
part = 1e-6
moved = [closed(begin + sign * part * unit) for unit in np.eye(len(begin)) for sign in (1, -1)]
off = ((1e3 * (curves(np.array(moved)) - target)) ** 2).sum(2).mean(1)
differences = (off[::2] - off[1::2]) / (2 * part)
by_differences = time.process_time() - clock
error = np.linalg.norm(slopes - differences) / np.linalg.norm(differences)
print(
    f"gradient {1e3 * by_gradient:.0f} ms, differences {1e3 * by_differences:.0f} ms, which differ by {error:.0e}"
)
bounds = [(x - 0.25, x + 0.25) for x in begin]
bounds[1] = (0.05, 0.25)
options = {"maxiter": 100, "maxfun": 110}
result = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
final = closed(result.x)
assert final is not None
best = curves(final[None])[0]
print(
    f"deviation {value**0.5:.1f} mm before, {result.fun**0.5:.2f} mm after {len(losses)} gradients"
)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot(*first.T, color="0.6", label="before")
left.plot(*best.T, color="C3", lw=3, label="after")
left.plot(*target.T, "k--", lw=1, label="wanted")
left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal")
left.legend(loc="lower right")
right.semilogy(np.sqrt(losses), ".-", ms=3)
right.set(xlabel="gradients", ylabel="deviation [mm]")
figure.savefig("linkage.png", dpi=110)
