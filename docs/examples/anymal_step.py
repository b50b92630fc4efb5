"""An ANYmal puts its forefeet on a step of 8 cm, by an iterative linear-quadratic regulator through its contacts.

Servos that follow a plan of inverse kinematics, which ignores weight, rock the robot, and a forefoot misses the step.
The regulator changes the targets of the servos in every control period.
"""

import matplotlib.pyplot as plt
import numpy as np

import pysim
from pysim.typing import Array

PERIOD, STEPS, NODES, ITERATIONS = 0.02, 10, 100, 30  # [s], steps in a period, periods
HEIGHT, EDGE = 0.08, 0.44  # of the step, x where it begins [m]
FEET = ["LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"]
JOINTS = [foot[:2] + joint for foot in FEET for joint in ("_HAA", "_HFE", "_KFE")]
HOME = [-0.1, 0.7, -1.0, 0.1, 0.7, -1.0, -0.1, -0.7, 1.0, 0.1, -0.7, 1.0]  # [rad]
WEIGHTS = np.repeat([300.0, 30.0, 0.3], [6, 12, 18])  # of base, joints and velocities
EFFORT, LAST, SHARES = 30.0, 10.0, 0.5 ** np.arange(10)[:, None]

builder = pysim.SceneBuilder("anymal_step", inertia="nearest")
robot = "package://example-robot-data/robots/anymal_b_simple_description/robots/anymal.urdf"
start = {"root_joint": {"xyz": [0, 0, 0.4945]}} | dict(zip(JOINTS, HOME, strict=True))
builder.model(robot, free_base=True, collision=FEET, start=start)
builder.body("step", shape={"box": [1.0, 1.6, HEIGHT], "density": 1000}, collision=True)
builder.joint("built", "fixed", child="step", at={"xyz": [EDGE + 0.5, 0, HEIGHT / 2]})
builder.ground()
builder.material("default", friction=0.8)
builder.signal("target", "input", size=12, value=HOME)
gains = {"kp": 200.0, "kd": 5.0, "force_range": [-80.0, 80.0]}
builder.actuator("servos", type="position_servo", coordinates=JOINTS, command="target", **gains)
builder.simulation(integrator="convex", step=PERIOD / STEPS, duration=PERIOD * NODES)
scene = builder.build()
model, nv, nx = scene.model, scene.model.nv, 2 * scene.model.nv
nodes, trials = pysim.Worlds(scene, NODES), pysim.Worlds(scene, len(SHARES))


def rise(begin: float, duration: float) -> Array:
    """Return 0 before `begin`, then a cubic that reaches 1 after `duration` (NODES + 1,)."""
    x = np.clip((PERIOD * np.arange(NODES + 1) - begin) / duration, 0, 1)
    return np.asarray(x * x * (3 - 2 * x))


def paths(q: Array, name: str) -> Array:
    """Return positions of a frame (n, 3) [m]."""
    return np.array([pysim.frame_placement(model, row, name)[:3, 3] for row in q])


base = np.tile(pysim.frame_placement(model, scene.state.q, "base"), (NODES + 1, 1, 1))
base[:, :3, 3] += np.outer(rise(0.2, 1.4), [0.08, 0, 0.4 * HEIGHT])
feet = {foot: np.tile(paths(scene.state.q[None], foot), (NODES + 1, 1)) for foot in FEET}
for foot, begin in (("LF_FOOT", 0.3), ("RF_FOOT", 1.0)):
    feet[foot][:, 0] += 0.18 * rise(begin + 0.15, 0.3)
    feet[foot][:, 2] += (HEIGHT + 0.06) * rise(begin, 0.2) - 0.06 * rise(begin + 0.4, 0.15)
plan = pysim.inverse_kinematics(model, {"base": base, **feet}, scene.state.q, path=True).q
rate = np.vstack([model.difference(plan[:-1], plan[1:]) / PERIOD, np.zeros(nv)])


def run(controls: Array, moves: Array, gains: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return q, errors, controls and costs of runs that take the SHARES of moves."""
    trials.reset()
    q, errors, used, cost = [], [], [], np.zeros(len(SHARES))
    for k in range(NODES + 1):
        q.append(trials.q.copy())
        off = model.difference(np.broadcast_to(plan[k], trials.q.shape), trials.q)
        errors.append(np.hstack([off, trials.v - rate[k]]))
        cost += (WEIGHTS * errors[k] ** 2).sum(1) * (LAST if k == NODES else 1) / 2
        if k < NODES:
            used.append(controls[k] + SHARES * moves[k] + (errors[k] - x[k]) @ gains[k].T)
            cost += EFFORT * ((used[k] - plan[k, 7:]) ** 2).sum(1) / 2
            trials.inputs.all[:] = used[k]
            trials.step(steps=STEPS)
    return np.array(q), np.array(errors), np.array(used), np.where(trials.lost, np.inf, cost)


def regulator(controls: Array, x: Array, regularisation: float) -> tuple[Array, Array]:
    """Return moves (NODES, 12) and gains (NODES, 12, nx) from A and B of all nodes."""
    for k, u in enumerate(controls[:-1]):
        nodes.copy(k, [k + 1])
        nodes.inputs.all[k + 1] = u
        nodes.step(steps=STEPS, where=[k + 1])
    step = pysim.step_derivatives(nodes, controls, steps=STEPS)
    V_x, V_xx = np.zeros(len(step.states)), np.zeros_like(step.A[0])  # deflections cost nothing
    V_x[:nx], V_xx[range(nx), range(nx)] = LAST * WEIGHTS * x[-1], LAST * WEIGHTS
    moves, gains = np.zeros((NODES, 12)), np.zeros((NODES, 12, nx))
    for k in reversed(range(NODES)):
        A, B = step.A[k], step.B[k]
        Q_x, Q_u = A.T @ V_x, EFFORT * (controls[k] - plan[k, 7:]) + B.T @ V_x
        Q_x[:nx] += WEIGHTS * x[k]
        Q_xx, Q_ux = A.T @ V_xx @ A, B.T @ V_xx @ A
        Q_xx[range(nx), range(nx)] += WEIGHTS
        Q_uu = B.T @ V_xx @ B + (EFFORT + regularisation) * np.eye(12)
        moves[k], gain = -np.linalg.solve(Q_uu, Q_u), -np.linalg.solve(Q_uu, Q_ux)
        V_x = Q_x + gain.T @ (Q_uu @ moves[k] + Q_u) + Q_ux.T @ moves[k]
        V_xx = Q_xx + gain.T @ Q_uu @ gain + gain.T @ Q_ux + Q_ux.T @ gain
        gains[k] = gain[:, :nx]
    return moves, gains


controls, regularisation, x = plan[:-1, 7:], 100.0, np.zeros((NODES + 1, nx))
q, errors, _, cost = run(controls, np.zeros((NODES, 12)), np.zeros((NODES, 12, nx)), x)
x, followed, costs = errors[:, 0], q[:, 0], [cost[0]]
for _ in range(ITERATIONS):
    q, errors, used, cost = run(controls, *regulator(controls, x, regularisation), x)
    best = int(np.argmin(cost))
    if cost[best] < costs[-1]:
        controls, x, motion = used[:, best], errors[:, best], q[:, best]
        regularisation = max(regularisation / 2, 1.0)
    else:
        regularisation *= 8
    costs.append(min(cost[best], costs[-1]))
print(f"cost {costs[0]:.0f} at first, {costs[-1]:.1f} after {ITERATIONS} iterations")
misses = [[paths(m[-1:], f) - paths(plan[-1:], f) for f in FEET] for m in (followed, motion)]
first, last = 1e3 * np.linalg.norm(misses, axis=-1).max((1, 2))
print(f"feet end up to {first:.0f} mm from the plan at first, up to {last:.0f} mm at last")
assert costs[-1] < costs[0] / 4
assert last < 20

figure, axes = plt.subplot_mosaic("AA;BC;BC", figsize=(11, 4.6), layout="constrained")
top, left, right = axes.values()
for n, k in enumerate([0, 30, 45, 60, 67, 100]):
    top.plot(1.4 * n + EDGE + np.array([0.2, 0, 0]), [HEIGHT, HEIGHT, 0], "0.6")
    top.text(1.4 * n - 0.1, 0.6, f"{PERIOD * k:.2f} s")
    for foot in FEET:
        links = ["base", *(foot[:3] + link for link in ("HIP", "THIGH", "SHANK", "FOOT"))]
        points = np.vstack([paths(motion[[k]], link) for link in links])
        top.plot(1.4 * n + points[:, 0], points[:, 2], "C0.-" if foot[0] == "L" else "C1.-")
top.set(xlabel="left legs blue, right legs orange", aspect="equal", ylim=(-0.05, 0.75), xticks=[])
for q, style in ((plan, "k:"), (followed, "C3"), (motion, "C1")):
    left.plot(*paths(q, "RF_FOOT")[:, [0, 2]].T, style)
left.legend(["plan", "servos follow the plan", "regulator"])
left.plot([EDGE - 0.1, EDGE, EDGE, EDGE + 0.2], [0, 0, HEIGHT, HEIGHT], "0.6")
left.set(xlabel="right forefoot: x [m]", ylabel="z [m]", aspect="equal")
right.plot(costs)
right.set(xlabel="iteration", ylabel="cost", ylim=0)
figure.savefig("anymal_step.png", dpi=110)
