"""Convex steps of mechanisms with loops, couplings, mimic joints and forces between bodies, with and without contacts.

Oracle: dopri5 at tight tolerances for motion without contacts; one body in place of two that a loop welds; statics.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.contact.scenes import GROUND, G, finger, free, ran, world
from tests.loops.leg_mechanisms import two_legs

SCENES = Path(__file__).parents[2] / "scenes"
FRICTION = "friction = 0.5\nsink = 1e-4"

PENDULUM = """
[[body]]
name = "{name}"
shape = {{ capsule = {{ radius = 0.02, length = 0.4 }}, at = {{ xyz = [0, 0, -0.2] }} }}
mass = {mass}
[[joint]]
name = "{name} hinge"
type = "revolute"
axis = [0, 1, 0]
child = "{name}"
at = {{ xyz = [{x}, 0, 0] }}
start = {{ q = {q} }}
{extra}
"""
TWO = PENDULUM.format(name="a", mass=1.0, x=0, q=0.6, extra="")
LEADER = PENDULUM.format(name="a", mass=1.0, x=0, q=0.6, extra="damping = 0.1")
MIMIC = (
    '[[joint]]\nname = "b slides"\ntype = "prismatic"\nchild = "b"\nmimic = { joint = "a hinge", ratio = 0.3 }\n'
    '[[body]]\nname = "b"\nshape = { sphere = { radius = 0.1 } }\nmass = 0.7\n'
)
MECHANISMS = {
    "mimic": LEADER + MIMIC,
    "coupling": TWO
    + PENDULUM.format(name="b", mass=0.5, x=1, q=0.3, extra="")
    + '[[coupling]]\nname = "gear"\njoint = "b hinge"\nratios = { "a hinge" = 0.5 }\n',
    "spring": TWO
    + PENDULUM.format(name="b", mass=0.5, x=0.3, q=0.1, extra="")
    + '[[force]]\nname = "s"\ntype = "spring"\na = "a"\nb = "b"\nat_a = [0, 0, -0.4]\nat_b = [0, 0, -0.4]\n'
    "stiffness = 200\ndamping = 1\nlength = 0.2\n",
    "rope": TWO
    + PENDULUM.format(name="b", mass=0.5, x=0.3, q=0.1, extra="")
    + '[[force]]\nname = "r"\ntype = "rope"\npath = [{ body = "a", point = [0, 0, -0.4] }, '
    '{ body = "b", point = [0, 0, -0.4] }]\nrest_length = 0.25\nstiffness = 100\n',
}


def without_contacts(tmp_path: Path, name: str, integrator: str, step: float) -> np.ndarray:
    """End of a run of 0.3 s."""
    changes = {
        "simulation.integrator": integrator,
        "simulation.duration": 0.3,
        "simulation.step": step,
        "output.every": 0.1,
    }
    if integrator == "dopri5":
        changes |= {"simulation.rtol": 1e-10, "simulation.atol": 1e-10}
    if name in MECHANISMS:
        path = tmp_path / "mechanism.toml"
        path.write_text(MECHANISMS[name], "utf-8")
    else:
        path = SCENES / f"{name}.toml"
    end: np.ndarray = ran(pysim.load_scene(path, overrides=changes)).q[-1]
    return end


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "stewart_platform", *MECHANISMS])
def test_convex_steps_of_a_mechanism_are_of_order_1(tmp_path: Path, name: str) -> None:
    exact = without_contacts(tmp_path, name, "dopri5", 1e-2)
    errors = [
        np.abs(without_contacts(tmp_path, name, "convex", step) - exact).max()
        for step in (5e-4, 2.5e-4)
    ]
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.1)


def halves(tmp_path: Path, start: str, welded: bool, **run) -> pysim.Scene:
    """Two boxes side by side, as one body or as two that a loop welds."""
    half = "{ box = [0.2, 0.2, 0.2], at = { xyz = [0.1, 0, 0] } }"
    other = half.replace("[0.1, 0", "[-0.1, 0")
    if not welded:
        text = free("left", "{ box = [0.4, 0.2, 0.2] }", 2.0, start)
        text = text.replace("collision = true", f"collision = [{other}, {half}]")
    else:
        text = free("left", "{ box = [0.2, 0.2, 0.2], at = { xyz = [-0.1, 0, 0] } }", 1.0, start)
        text += free("right", half, 1.0, start)
        text += '[[loop]]\nname = "weld"\ntype = "fixed"\na = "left"\nb = "right"\n'
        text += '[[exclude]]\nbetween = ["left", "right"]\n'
    # By default the relaxation time follows from the mass of a body, which the halves have half of.
    surface = "friction = 0.5\nstiffness = 2e5\ndissipation = 0.5\nrelaxation_time = 2e-3"
    return world(tmp_path, text + GROUND, surface=surface, **run)


def test_two_boxes_that_a_loop_welds_fall_as_one(tmp_path: Path) -> None:
    start = "{ xyz = [0, 0, 0.4], rpy = [0.2, 0.3, 0], v = [0.5, 0, 0, 1, 0, 2] }"
    ends = []
    for step in (
        2.5e-4,
        1.25e-4,
    ):  # until after the first impact: later ones depend on the order of corners
        pair = [
            ran(halves(tmp_path, start, welded, duration=0.25, step=step, every=0.05)).q[:, :7]
            for welded in (False, True)
        ]
        ends.append(np.abs(pair[0] - pair[1]).max())
    assert ends[0] < 1e-4
    assert ends[1] < 0.6 * ends[0]


def test_two_welded_boxes_come_to_rest_and_carry_their_weight(tmp_path: Path) -> None:
    scene = halves(tmp_path, "{ xyz = [0, 0, 0.12] }", True, duration=2.0, every=0.1)
    trajectory = ran(scene)
    assert np.abs(trajectory.v[-1]).max() < 1e-9
    assert trajectory.contact_forces[-1, :, 2].sum() == pytest.approx(2 * G, rel=1e-9)
    q = trajectory.q[-1]
    assert np.abs(q[:7] - q[7:]).max() < 1e-9


@pytest.mark.parametrize("kind", ["mimic", "coupling"])
def test_fingers_that_close_together_hold_a_box(tmp_path: Path, kind: str) -> None:
    box = free("box", "{ box = [0.06, 0.06, 0.06] }", 0.5, "{ xyz = [0, 0, 0] }")
    follower = 'mimic = { joint = "left slides", ratio = -1 }' if kind == "mimic" else ""
    text = box + finger("left", -1, "") + finger("right", 1, follower)
    if kind == "coupling":
        text += (
            '[[coupling]]\nname = "gear"\njoint = "right slides"\nratios = { "left slides" = -1 }\n'
        )
    text += '[[actuator]]\nname = "motor"\njoint = "left slides"\noffset = 40\n'
    scene = world(tmp_path, text, surface=FRICTION, duration=3.0, every=0.1)
    trajectory = ran(scene)
    names = trajectory.names["contacts"]
    for name in ("left", "right"):
        force = trajectory.contact_forces[-1, names.index(f"box, {name}")]
        assert -force[2] == pytest.approx(0.25 * G, rel=1e-6)
        assert abs(force[0]) == pytest.approx(20, rel=1e-6)
    assert np.abs(trajectory.v[-1]).max() < 1e-9


def test_a_worlds_bits_do_not_depend_on_its_neighbours(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    from tests.contact.test_convex_steps import steps

    scene = halves(tmp_path, "{ xyz = [0, 0, 0.3] }", True)
    q, v = np.tile(scene.state.q, (11, 1)), np.tile(rng.normal(size=(11, 6)), (1, 2))
    q[:, 2] = q[:, 9] = rng.uniform(0.1, 0.4, 11)
    together = steps(scene, q, v, 200)
    for k in range(11):
        alone = steps(scene, q[k : k + 1], v[k : k + 1], 200)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_array_equal(a[k], b[0])


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
@pytest.mark.parametrize("tilt", [1e-11, 1e-10, 1e-9])
def test_a_row_that_rounding_makes_holds_nothing(tmp_path: Path, tilt: float) -> None:
    """Legs whose loops have a row too many, but for a tilt. Oracle: those without it."""
    ends = []
    for own in (0.0, tilt):
        path = tmp_path / "legs.toml"
        path.write_text(two_legs(tilt=own, integrator="convex"), "utf-8")
        worlds = pysim.Worlds(path, 1)
        worlds.v[0, worlds.model.velocity_names.index("right_crank")] = 3.0
        start = worlds.q[0].copy()
        worlds.step(steps=50)
        ends.append(worlds.q[0].copy())
    assert np.abs(ends[0] - start).max() > 0.05
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
