"""Signed distances on bodies that move, and what they touch: shapes that are fixed to the world, and other fields.

Oracle: closed forms of statics, the pendulum, and momentum.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import SHAPES, STIFF, G, free, ran, world

RING, TUBE, PEG = 0.2, 0.03, 0.02
TORUS = f'{{ field = {{ type = "torus", radius = {RING}, tube = {TUBE} }}, density = 1000 }}'


def body(name: str, shape: str, start: str) -> str:
    """A free body whose shape has a density."""
    return f"""
[[body]]
name = "{name}"
shape = {shape}
collision = true
[[joint]]
name = "{name} moves"
type = "free"
child = "{name}"
start = {start}
"""


def on_a_peg(tmp_path: Path, peg: str, start: str, **changes: object) -> pysim.Scene:
    """A ring in the plane y = 0 about a peg that is fixed to the world."""
    tables = f"""
[[body]]
name = "peg"
shape = {{ {peg}, density = 1000 }}
collision = true
[[joint]]
name = "wall"
type = "fixed"
child = "peg"
""" + body("ring", TORUS, start)
    return world(
        tmp_path,
        tables,
        plugins=(SHAPES / "torus.py",),
        **{"surface": f"friction = 0.5\n{STIFF}", "every": 0.01, **changes},  # type: ignore[arg-type]
    )


PEGS = {
    "sphere": f"sphere = {{ radius = {PEG} }}",
    "capsule": f"capsule = {{ radius = {PEG}, length = 0.2 }}, at = {{ rpy = [{math.pi / 2}, 0, 0] }}",
    "cylinder": f"cylinder = {{ radius = {PEG}, length = 0.2 }}, at = {{ rpy = [{math.pi / 2}, 0, 0] }}",
}


@pytest.mark.parametrize("kind", PEGS)
def test_ring_around_a_peg_that_is_fixed_to_the_world_is_carried_by_it(
    tmp_path: Path, kind: str
) -> None:
    height = -(RING - TUBE - PEG)
    upright = f"{{ xyz = [0, 0, {height}], rpy = [{math.pi / 2}, 0, 0] }}"
    scene = on_a_peg(tmp_path, PEGS[kind], upright)
    trajectory = ran(scene)
    assert trajectory.q[-1, 2] == pytest.approx(height, abs=2e-5)
    (pair,) = scene.contacts.pairs  # type: ignore[union-attr]
    assert (pair.first, pair.second) == ("peg", "ring")
    force = trajectory.contact_forces[-1, 0]
    assert force == pytest.approx([0, 0, scene.model.bodies[0].theta[0] * G], rel=1e-4, abs=1e-3)
    points = trajectory.contacts.of_row(-1)
    assert (
        points.normal[:, 2] > 0.99
    ).all()  # from the peg to the ring, which rests on its inner side


def test_ring_swings_about_a_peg_as_a_pendulum_that_rolls(tmp_path: Path) -> None:
    """Its centre moves on a circle of radius a − b, of its inner radius a and the peg's b, with a φ̇ = (a − b) θ̇."""
    a, lean = RING - TUBE, 0.02
    reach = a - PEG
    x, z = reach * math.sin(lean), -reach * math.cos(lean)
    start = f"{{ xyz = [{x!r}, 0, {z!r}], rpy = [{math.pi / 2}, 0, 0] }}"
    scene = on_a_peg(
        tmp_path, PEGS["capsule"], start, duration=4.0, step=5e-4, run="accuracy = 1e-6"
    )
    trajectory = ran(scene)
    theta = scene.model.bodies[0].theta
    mass, inertia = theta[0], theta[9]
    # the centre's angle φ about the peg, the ring's angle φ reach/a: (m + I/a²) reach φ″ = −m g φ
    period = 2 * math.pi * math.sqrt((mass + inertia / a**2) * reach / (mass * G))
    angle, t = np.arctan2(trajectory.q[:, 0], -trajectory.q[:, 2]), trajectory.t
    down = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
    passed = t[down] + (t[1] - t[0]) * angle[down] / (angle[down] - angle[down + 1])
    assert len(passed) >= 3
    assert np.diff(passed).mean() == pytest.approx(period, rel=5e-3)


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint"])
def test_smooth_schemes_carry_a_ring_around_a_peg(tmp_path: Path, integrator: str) -> None:
    height = -(RING - TUBE - PEG) - 5e-5
    upright = f"{{ xyz = [0, 0, {height}], rpy = [{math.pi / 2}, 0, 0] }}"
    scene = on_a_peg(
        tmp_path,
        PEGS["capsule"],
        upright,
        surface="friction = 0.5\nstiffness = 1e5\nrestitution = { value = 0, at = 1 }",
        step=2e-4,
        run=f'integrator = "{integrator}"',
    )
    trajectory = ran(scene)
    assert trajectory.contact_forces[-1, 0, 2] == pytest.approx(
        scene.model.bodies[0].theta[0] * G, rel=1e-3
    )


@pytest.mark.filterwarnings("ignore:.*the state is no equilibrium:pysim.PysimWarning")
@pytest.mark.parametrize("kind", ["sphere", "capsule"])
def test_linearization_of_a_moving_field_on_a_fixed_shape_is_that_of_differences(
    tmp_path: Path, kind: str
) -> None:
    height, h, e = -(RING - TUBE - PEG) - 5e-5, 1e-8, 1e-6  # [m], [s], and of differences
    turned = f"{math.pi / 2}, 0.01, 0.02"
    scene = on_a_peg(
        tmp_path,
        PEGS[kind],
        f"{{ xyz = [0.001, 0.002, {height}], rpy = [{turned}], v = [0.01, 0.02, 0.03, 0.1, 0.2, 0.3] }}",
        surface="friction = 0.5\nstiffness = 1e5\nrestitution = { value = 0, at = 1 }",
        step=h,
        duration=h,
        every=h,
        run='integrator = "rk4"',
    )
    q, v = scene.state.q, scene.state.v
    dv = e * np.vstack([np.eye(6), -np.eye(6)])

    def accelerations(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (pysim.rollout(scene, q, v).v[:, -1] - v) / h

    at = np.tile(q, (12, 1)), np.tile(v, (12, 1))
    by_q = accelerations(scene.model.integrate(at[0], dv), at[1])
    by_v = accelerations(at[0], at[1] + dv)
    expected = np.hstack([(x[:6] - x[6:]).T / (2 * e) for x in (by_q, by_v)])
    A = pysim.linearize(scene).A[6:]
    assert np.abs(A).max() > 1000  # [1/s²], in contact
    np.testing.assert_allclose(A, expected, atol=2e-4 * np.abs(A).max())


def test_worlds_with_moving_fields_have_the_bits_of_one(tmp_path: Path) -> None:
    start = f"{{ xyz = [0, 0, -0.1], rpy = [{math.pi / 2}, 0, 0] }}"
    scene = on_a_peg(tmp_path, PEGS["sphere"], start, duration=0.3)
    q = np.tile(ran(scene).q[0], (9, 1))
    q[:, 0] += np.linspace(0, 0.08, 9)
    together = pysim.rollout(scene, q, np.zeros((9, scene.model.nv)))
    for k in (0, 4, 8):
        alone = pysim.rollout(scene, q[k], np.zeros(scene.model.nv))
        assert (together.q[k, -1] == alone.q[-1]).all()


DISC = """import numpy as np

from pysim.shapes import SignedDistance, shape


@shape("{name}")
class Disc(SignedDistance):
    def distance(self, p):
        rho = np.hypot(p[0], p[1])
        return np.maximum(rho - 0.1, abs(p[2]) - 0.05)

    def bounds(self):
        return (-0.11, -0.11, -0.06), (0.11, 0.11, 0.06)

    def points(self):
        return {points}
"""
RIM = "[[0.1 * np.cos(a), 0.1 * np.sin(a), z] for a in np.arange(12) * np.pi / 6 for z in (-0.05, 0.05)]"


def disc_file(tmp_path: Path, points: str) -> tuple[Path, str]:
    name = tmp_path.name
    file = tmp_path / "disc.py"
    file.write_text(DISC.format(name=name, points=points), "utf-8")
    return file, name


def test_field_rests_on_a_field_at_points_of_its_own(tmp_path: Path) -> None:
    file, name = disc_file(tmp_path, RIM)
    ground = '[[ground]]\nfield = { type = "bowl", radius = 0.5 }\n'
    depth = math.sqrt(0.5**2 - 0.1**2)
    shape = f'{{ field = {{ type = "{name}" }}, density = 1000 }}'
    scene = world(
        tmp_path,
        ground + body("disc", shape, f"{{ xyz = [0, 0, {0.05 - depth!r}] }}"),
        plugins=(file, SHAPES / "bowl.py"),
        surface=f"friction = 0\n{STIFF}",
        every=0.1,
    )
    trajectory = ran(scene)
    assert trajectory.q[-1, 2] == pytest.approx(0.05 - depth, abs=1e-5)
    points = trajectory.contacts.of_row(-1)
    assert len(points.force) == 12
    assert points.normal[:, 2] == pytest.approx(depth / 0.5, abs=1e-5)
    assert points.force.sum(axis=0)[2] == pytest.approx(scene.model.total_mass * G, rel=1e-5)


def test_two_free_fields_that_collide_keep_their_momentum(tmp_path: Path) -> None:
    shape = f'{{ field = {{ type = "torus", radius = {RING}, tube = {TUBE} }}, density = 1000 }}'
    tables = body("left", shape, "{ xyz = [-0.4, 0, 0], v = [1, 0, 0, 0, 0, 0] }") + body(
        "right", shape, "{ xyz = [0.2, 0.05, 0.01], rpy = [0.5, 0, 0], v = [-1, 0, 0, 0, 0, 0] }"
    )
    scene = world(
        tmp_path,
        tables,
        plugins=(SHAPES / "torus.py",),
        surface="friction = 0.4\nstiffness = 1e5",
        gravity=(0, 0, 0),
        duration=0.4,
        every=0.01,
    )
    trajectory = ran(scene)
    mass = scene.model.bodies[0].theta[0]
    v = trajectory.v.reshape(-1, 2, 6)
    assert np.abs(np.diff(v[:, 0], axis=0)).max() > 0.1  # they rebound
    R = [
        pysim.forward_kinematics(scene.model, q)[:, :3, :3] for q in trajectory.q
    ]  # v is in body axes
    total = [
        mass * sum(r @ u[:3] for r, u in zip(Rs, us, strict=True))
        for Rs, us in zip(R, v, strict=True)
    ]
    assert np.abs(total).max() < 1e-9


def test_ring_on_a_ring_rests_at_the_sum_of_the_tubes_radii(tmp_path: Path) -> None:
    ground = f'[[ground]]\nfield = {{ type = "torus", radius = {RING}, tube = {TUBE} }}\n'
    scene = world(
        tmp_path,
        ground + body("ring", TORUS, f"{{ xyz = [0, 0, {2 * TUBE + 0.002}] }}"),
        plugins=(SHAPES / "torus.py",),
        surface=f"friction = 0.8\n{STIFF}",
        every=0.1,
    )
    trajectory = ran(scene)
    spacing = math.sqrt(4 * math.pi**2 * RING * TUBE / 400)
    assert trajectory.q[-1, 2] == pytest.approx(2 * TUBE, abs=spacing**2 / TUBE / 4)
    assert trajectory.contact_forces[-1, 0, 2] == pytest.approx(
        scene.model.total_mass * G, rel=1e-4
    )


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        ("[[0.1, 0, 0], [0.09, 0, 0]]", "returns (0.09, 0, 0), 0.01 [m] off the surface"),
        ("[0.1, 0, 0]", "must return points (n, 3) [m], 4096 at most, got the shape (3,)"),
        ("np.full((1, 3), np.nan)", "off the surface; return points where distance is 0"),
    ],
)
def test_points_that_do_not_lie_on_the_surface_are_refused(
    tmp_path: Path, points: str, problem: str
) -> None:
    file, name = disc_file(tmp_path, points)
    shape = f'{{ field = {{ type = "{name}" }}, density = 1000 }}'
    with pytest.raises(pysim.SceneError, match=re.escape(problem)) as error:
        world(tmp_path, body("disc", shape, "{ xyz = [0, 0, 0] }"), plugins=(file,))
    assert f"{file}:15: Disc.points" in str(error.value)


@pytest.mark.parametrize("radius", [0.01, 0.005])
def test_ball_lies_on_a_sheet_of_a_gyroid_at_its_threefold_axis(
    tmp_path: Path, radius: float
) -> None:
    cell, thickness = 0.12, 0.012
    k, up = 2 * math.pi / cell, np.ones(3) / math.sqrt(3)
    level = (
        math.sqrt(3) * k * thickness / 2
    )  # of sin x cos y + … = (3/2) sin(2 k u), u = s/√3 at the height s
    top = math.sqrt(3) * math.asin(level / 1.5) / (2 * k)
    start = ((top + radius) * up).tolist()
    scene = world(
        tmp_path,
        f'[[ground]]\nfield = {{ type = "gyroid", cell = {cell}, thickness = {thickness}, edge = 0.24 }}\n'
        + free("ball", f"{{ sphere = {{ radius = {radius} }} }}", 0.1, f"{{ xyz = {start} }}"),
        plugins=(SHAPES / "gyroid.py",),
        gravity=-G * up,
        surface=f"friction = 1\nrolling = 0.01\nspinning = 0.01\n{STIFF}",
        duration=0.3,
        every=0.01,
    )
    trajectory = ran(scene)
    assert trajectory.q[-1, :3] == pytest.approx(start, abs=2e-6)
    assert trajectory.contact_forces[-1, 0] == pytest.approx(0.1 * G * up, abs=1e-6)
