"""Design optimisation of a pick-and-place arm: ten gradient steps on the mesh of a link and on the axes of the joints.

    python scenes/design/pick_and_place.py [FOLDER]     prints the steps; FOLDER gets the new scene and two pictures

The arm of pick_and_place.toml carries its load from a pick over a lift to a place, at rest in each, along quintic
curves of the joints. The objective is a smooth maximum of the torques,

    P = (mean over joints j and instants k of |τ_jk|^p)^(1/p),  p = 40, less than the greatest |τ| [N·m]

The variables are the vertices of the upper arm, along their normals, and the directions of the three axes. The
constraints are

    the material: the mesh keeps its volume and therefore its mass; no vertex moves more than 12 mm, and those near the
    joints do not move;
    the task: for tilted axes the joint angles of the waypoints are solved for again, so that the tool reaches the same
    three places; and no axis tilts by more than 3°.

The gradient by the chain rule, every factor a function of pysim:

    ∂P/∂vertices = Σ λ_k ∂τ_k/∂vertices                    λ_k = ∂P/∂τ_k       torque_vertex_gradient
    ∂P/∂ω = Σ λ_k ∂τ_k/∂ω − Σ_w (∂P/∂q_w) J_w⁻¹ ∂p_w/∂ω     ω rotates an axis    twist_derivatives, rnea_derivatives
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import pysim
from pysim.inertia import mesh_inertia_derivatives
from pysim.spatial import exp, skew

HERE = Path(__file__).parent
LINK, TOOL, JOINTS = "upper_arm", "tool", ("yaw", "shoulder", "elbow")
PLACES = np.array([[0.55, -0.45, 0.15], [0.60, 0.05, 0.75], [0.45, 0.55, 0.25]])  # of the tool [m]
ELBOW_UP = np.array(
    [[-0.69, -0.21, 1.23], [0.08, -1.17, 1.43], [0.88, -0.39, 1.33]]
)  # near it [rad]
SEGMENT = 0.6  # [s] from a place to the next
INSTANTS = 120
P = 40.0
REACH, JOINT_ZONE = 0.012, 0.06  # [m] how far a vertex may move; how near a joint none does
TILT = np.deg2rad(3.0)
STRIDE, TURN = 0.003, np.deg2rad(0.5)  # [m], [rad] the most of one step


@dataclass(frozen=True)
class Design:
    """Variables of the design: vertices of the upper arm (n, 3) [m], unit axes of the joints (3, 3)."""

    vertices: np.ndarray
    axes: np.ndarray


@dataclass(frozen=True)
class Gradient:
    """∂P/∂vertices (n, 3) [N], and ∂P/∂ω (3, 3) [N·m/rad] of the axes, rotated by ω in their joints' frames."""

    vertices: np.ndarray
    axes: np.ndarray


def start():
    """Return the design of the scene as it is."""
    mesh = pysim.mass_mesh(pysim.load_model(HERE / "pick_and_place.toml"), LINK)
    return Design(mesh.vertices, np.array([[0.0, 0, 1], [0, 1, 0], [0, 1, 0]]))


def write(design, folder):
    """Write scene and mesh of a design into a folder and return the scene."""
    text = (HERE / "pick_and_place.toml").read_text()
    for joint, axis in zip(JOINTS, design.axes, strict=True):
        head, tail = text.split(f'name = "{joint}"', 1)
        old = tail[tail.index("axis = ") :].split("\n", 1)[0]
        text = f'{head}name = "{joint}"' + tail.replace(old, f"axis = {axis.tolist()}", 1)
    path = Path(folder) / "pick_and_place.toml"
    path.write_text(text)
    faces = pysim.mass_mesh(pysim.load_model(HERE / "pick_and_place.toml"), LINK).faces
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in design.vertices.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (faces + 1).tolist()]
    (Path(folder) / "upper_arm.obj").write_text("\n".join(lines) + "\n")
    return path


def mechanism(design):
    """Return the model of a design, and its mesh on it."""
    with tempfile.TemporaryDirectory() as folder:
        model = pysim.load_model(write(design, folder))
        return model, pysim.mass_mesh(model, LINK)


# The task -------------------------------------------------------------------------------------------------------------


def waypoints(model):
    """Return the joint angles (3, 3) at which the tool is at each place [rad], by Newton's method."""
    found = []
    for place, near in zip(PLACES, ELBOW_UP, strict=True):
        q = near
        for _ in range(20):
            off = pysim.frame_placement(model, q, TOOL)[:3, 3] - place
            q = q - np.linalg.solve(pysim.jacobian(model, q, TOOL, expressed="aligned")[:3], off)
            if np.abs(off).max() < 1e-14:
                break
        found.append(q)
    return np.array(found)


def curves():
    """Return N, Ṅ, N̈ (instants, 3): q = N waypoints, along s = 10 u³ − 15 u⁴ + 6 u⁵ from each to the next."""
    t = np.linspace(0, 2, INSTANTS)
    second = t > 1
    u = t - second
    blend = np.array(
        [
            10 * u**3 - 15 * u**4 + 6 * u**5,
            (30 * u**2 - 60 * u**3 + 30 * u**4) / SEGMENT,
            (60 * u - 180 * u**2 + 120 * u**3) / SEGMENT**2,
        ]
    )
    N = np.zeros((3, INSTANTS, 3))
    k = np.arange(INSTANTS)
    N[:, k, second + 1] = blend
    N[:, k, second + 0] = np.array([1.0, 0, 0])[:, None] - blend
    return N


def torques(model):
    """Return q, v, a, τ (instants, 3) of the motion."""
    q, v, a = curves() @ waypoints(model)
    return q, v, a, pysim.rnea(model, q, v, a)


def smooth_peak(tau):
    """Return P [N·m] and its slopes ∂P/∂τ."""
    scale = np.abs(tau).max()
    powers = (np.abs(tau) / scale) ** P
    value = scale * powers.mean() ** (1 / P)
    return value, np.sign(tau) * (np.abs(tau) / value) ** (P - 1) / tau.size


# The gradient ---------------------------------------------------------------------------------------------------------


def gradient(model, mesh):
    """Return P [N·m], the greatest torque [N·m] and the gradient of P."""
    q, v, a, tau = torques(model)
    value, slopes = smooth_peak(tau)
    by_vertices = pysim.torque_vertex_gradient(model, q, v, a, mesh, slopes)

    by_twist = np.einsum("kj,kje->e", slopes, pysim.twist_derivatives(model, q, v, a))
    by_axes = by_twist.reshape(3, 6)[:, 3:]
    by_state = [np.einsum("kj,kji->ki", slopes, d) for d in pysim.rnea_derivatives(model, q, v, a)]
    by_waypoint = sum(N.T @ d for N, d in zip(curves(), by_state, strict=True))
    for q_w, slope in zip(waypoints(model), by_waypoint, strict=True):
        J = pysim.jacobian(model, q_w, TOOL, expressed="aligned")[:3]
        by_axes = by_axes - (np.linalg.solve(J.T, slope) @ tool_moves(model, q_w)).reshape(3, 3)
    return value, np.abs(tau).max(), Gradient(by_vertices, by_axes)


def tool_moves(model, q):
    """Return ∂p/∂ω (3, 9) of the tool in the world: ω of an axis rotates what it carries by (R_WJ − R_WB) ω."""
    p = pysim.frame_placement(model, q, TOOL)[:3, 3]
    columns = []
    for X, angle, joint in zip(pysim.forward_kinematics(model, q), q, model.joints, strict=True):
        turned = X[:3, :3] @ exp(
            -angle * np.asarray(joint.axis)
        )  # R_WJ, the frame before the joint
        columns.append(-skew(p - X[:3, 3]) @ (turned - X[:3, :3]))
    return np.hstack(columns)


# The steps ------------------------------------------------------------------------------------------------------------


class Shape:
    """Surface of the upper arm: vertices move along normals at constant volume."""

    def __init__(self, vertices, faces):
        self.vertices, self.faces = vertices, faces
        sides = (
            vertices[faces[:, 1]] - vertices[faces[:, 0]],
            vertices[faces[:, 2]] - vertices[faces[:, 0]],
        )
        normals = np.zeros_like(vertices)
        for corner in range(3):
            np.add.at(normals, faces[:, corner], np.cross(*sides) / 6)
        self.area = np.linalg.norm(normals, axis=1)  # [m²] of a vertex
        self.normals = normals / self.area[:, None]
        joints = np.array([[0.0, 0, 0], [0.5, 0, 0]])
        near = np.linalg.norm(vertices[:, None] - joints, axis=2).min(axis=1)
        self.free = near > JOINT_ZONE

    def volume_slopes(self, vertices):
        """Return ∂volume/∂vertices (n, 3) [m²]."""
        return mesh_inertia_derivatives(vertices, self.faces, 1.0)[0]

    def volume(self, vertices):
        """Return the volume [m³]."""
        return pysim.inertia.mesh_inertia(vertices, self.faces, 1.0)[0]

    def faired(self, field):
        """Return a field (n,) averaged with its neighbours a few times, which removes edges of single triangles."""
        for _ in range(4):
            total, count = np.zeros_like(field), np.zeros_like(field)
            for corner in range(3):
                np.add.at(total, self.faces[:, corner], field[self.faces].sum(axis=1))
                np.add.at(count, self.faces[:, corner], 3)
            field = total / count
        return field

    def step(self, now, slopes, length):
        """Return the vertices after a descent step (n, 3) of at most `length` [m] at constant volume."""
        down = -self.faired(np.einsum("ij,ij->i", slopes, self.normals) / self.area)
        down -= down[self.free].mean()
        down /= np.abs(down[self.free]).max()
        was = np.einsum("ij,ij->i", now - self.vertices, self.normals)
        wanted = self.volume(self.vertices)

        def moved(shift):
            free = np.clip(was + length * np.clip(down + shift, -1, 1), -REACH, REACH)
            return self.vertices + (self.free * free)[:, None] * self.normals

        low, high = -2.0, 2.0
        for _ in range(60):  # the volume grows with the shift
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.volume(moved(middle)) < wanted else (low, middle)
        return moved(0.5 * (low + high))


def turned(axes, given, slopes, angle):
    """Return the axes after a descent step (3, 3) of at most `angle` [rad], within TILT of those given."""
    across = (
        slopes - np.einsum("ij,ij->i", slopes, axes)[:, None] * axes
    )  # ω along an axis has no effect
    omega = -angle * across / np.linalg.norm(across, axis=1).max()
    new = np.einsum("nij,nj->ni", exp(omega), axes)
    for k, (axis, old) in enumerate(zip(new, given, strict=True)):
        tilt = np.arccos(min(1.0, axis @ old))
        if tilt > TILT:
            off = np.cross(old, axis)
            new[k] = exp(TILT * off / np.linalg.norm(off)) @ old
    return new


def improve(steps=10):
    """Yield the step, design, P and the greatest torque [N·m], at the start and after each step."""
    given = now = start()
    model, mesh = mechanism(now)
    shape = Shape(given.vertices, mesh.faces)
    value, peak, slopes = gradient(model, mesh)
    yield 0, now, value, peak
    for step in range(1, steps + 1):
        scale = 1.0
        while scale > 1e-3:  # halved until P falls
            trial = Design(
                shape.step(now.vertices, slopes.vertices, scale * STRIDE),
                turned(now.axes, given.axes, slopes.axes, scale * TURN),
            )
            model, mesh = mechanism(trial)
            found = gradient(model, mesh)
            if found[0] < value:
                break
            scale /= 2
        now, (value, peak, slopes) = trial, found
        yield step, now, value, peak


def picture(design, path):
    """Draw the arm of a design at the pick."""
    with tempfile.TemporaryDirectory() as folder:
        scene = pysim.load_scene(write(design, folder), overrides={"simulation.duration": 0.02})
        q = waypoints(scene.model)[0]
        scene = replace(scene, state=replace(scene.state, q=q))
        pysim.render.still(pysim.simulate(scene), path, time=0.0)


def main():
    """Print the steps and draw the first and the last."""
    given = start()
    print("step   P [N·m]   greatest |τ| [N·m]   mass [kg]   vertices moved by ≤ [mm]   tilts [°]")
    for step, design, value, peak in improve():
        mesh = mechanism(design)[1]
        moved = 1e3 * np.linalg.norm(design.vertices - given.vertices, axis=1).max()
        cosines = np.einsum("ij,ij->i", design.axes, given.axes)
        tilts = "  ".join(f"{x:4.2f}" for x in np.rad2deg(np.arccos(np.minimum(1, cosines))))
        print(f"{step:4d}{value:10.3f}{peak:21.3f}{mesh.theta()[0]:12.4f}{moved:27.2f}   {tilts}")
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        write(design, folder)
        picture(given, folder / "before.png")
        picture(design, folder / "after.png")


if __name__ == "__main__":
    main()
