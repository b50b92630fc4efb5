"""Bodies at rest stay at rest: grippers, slopes, stacks, and boxes dropped over an edge; short forms of long runs.

Oracle: statics. The long runs of `docs/contact.md` (a minute, ten minutes, an hour) are the same scenes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.contact.scenes import GROUND, at, case, free, free_body, on_slope, ran, world
from tests.contact.test_body_contacts import gripper

STEPS = [5e-4, 1e-3, 5e-3]  # [s]
TABLE = """
[[body]]
name = "table"
shape = { box = [0.6, 0.6, 0.2] }
mass = 20.0
collision = true
[[joint]]
name = "base"
type = "fixed"
child = "table"
at = { xyz = [0, 0, 0.1] }
"""


@pytest.mark.parametrize("step", STEPS)
def test_no_step_lets_a_gripper_slip(tmp_path: Path, step: float) -> None:
    setup, _ = case("gripper_holds")
    trajectory = ran(gripper(tmp_path, setup | {"step_s": step}, duration=11.0, every=0.5))
    lost = trajectory.q[at(trajectory, 1.0), 2] - trajectory.q[-1, 2]
    assert abs(lost) / 10 < 1e-9
    assert np.abs(trajectory.v[-1]).max() < 1e-9


@pytest.mark.parametrize("step", STEPS)
def test_no_step_lets_a_box_creep_for_a_minute(tmp_path: Path, step: float) -> None:
    setup, _ = case("slope_threshold")
    sides = [2 * side for side in setup["half_sides_m"]]
    scene = free_body(
        tmp_path,
        shape=f"{{ box = {sides} }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {sides[2] / 2 - 2e-4}] }}",
        surface=f"friction = {setup['mu']}",
        gravity=on_slope(setup["angle_below_rad"]),
        duration=60.0,
        step=step,
        every=1.0,
    )
    trajectory = ran(scene)
    moved = np.ptp(trajectory.q[at(trajectory, 5.0) :, :3], axis=0).max()
    assert moved / 55 < 1e-9
    assert moved < 1e-13  # rounding


@pytest.mark.parametrize(
    ("rpy", "axis"), [((0, 0), 2), ((np.pi, 0), 2), ((np.pi / 2, 0), 1), ((0, np.pi / 2), 0)]
)
def test_a_box_sticks_on_every_face(tmp_path: Path, rpy: tuple[float, float], axis: int) -> None:
    setup, _ = case("slope_threshold")
    sides = (0.2, 0.25, 0.15)
    scene = free_body(
        tmp_path,
        shape=f"{{ box = {list(sides)} }}",
        mass=setup["mass_kg"],
        start=f"{{ xyz = [0, 0, {sides[axis] / 2 - 1e-4}], rpy = [{rpy[0]}, {rpy[1]}, 0.0] }}",
        surface=f"friction = {setup['mu']}",
        gravity=on_slope(setup["angle_below_rad"]),
        duration=2.0,
        every=0.5,
    )
    trajectory = ran(scene)
    assert np.ptp(trajectory.q[at(trajectory, 1.0) :, :3], axis=0).max() < 1e-12
    contacts = trajectory.contacts
    assert contacts is not None
    corners = contacts.of_row(len(trajectory.t) - 1)
    assert len(corners) == 4
    assert np.abs(corners.point[:, 2]).max() < 1e-3
    assert corners.stuck.all()


@pytest.mark.slow
def test_a_stack_and_a_heavy_box_do_not_drift_in_minutes(tmp_path: Path) -> None:
    setup, _ = case("stack_10")
    side, gap = setup["side_m"], setup["gap_m"]
    shape = f"{{ box = [{side}, {side}, {side}] }}"
    boxes = "".join(
        free(
            f"box {k}",
            shape,
            setup["mass_kg"],
            f"{{ xyz = [0, 0, {side / 2 + gap + k * (side + gap)}], rpy = [0, 0, {0.01 * (k % 2)}] }}",
        )
        for k in range(setup["boxes"])
    )
    heavy, _ = case("heavy_on_light")
    side = heavy["side_m"]
    shape = f"{{ box = [{side}, {side}, {side}] }}"
    pair = free("lower", shape, heavy["lower_kg"], f"{{ xyz = [0, 0, {side / 2}] }}") + free(
        "upper", shape, heavy["upper_kg"], f"{{ xyz = [0, 0, {1.5 * side}] }}"
    )
    for text, surface in ((boxes, "sink = 2e-5"), (pair, "stiffness = 2e8")):
        scene = world(
            tmp_path,
            text + GROUND,
            surface=f"friction = {setup['mu']}\n{surface}",
            duration=120.0,
            step=setup["step_s"],
            every=1.0,
        )
        trajectory = ran(scene)
        drift = np.ptp(trajectory.q[at(trajectory, 60.0) :], axis=0).max()
        assert drift < 1e-13
        assert np.abs(trajectory.v[-1]).max() < 1e-11


@pytest.mark.parametrize("base", ["table", "free"])
def test_boxes_dropped_over_an_edge_come_to_rest(
    tmp_path: Path, rng: np.random.Generator, base: str
) -> None:
    """The polygon of two faces may have more than four corners, and all of them carry."""
    low = TABLE
    if base == "free":
        low = free("table", "{ box = [0.6, 0.6, 0.2] }", 20.0, "{ xyz = [0, 0, 0.1] }")
    for _ in range(6):
        x, y, rpy = rng.uniform(0.18, 0.3), rng.uniform(-0.25, 0.25), rng.uniform(-3, 3, 3)
        start = f"{{ xyz = [{x}, {y}, 0.5], rpy = {rpy.tolist()} }}"
        text = low + free("box", "{ box = [0.3, 0.2, 0.1] }", 1.0, start) + GROUND
        scene = world(tmp_path, text, surface="friction = 0.6", duration=5.0, every=0.1)
        trajectory = ran(scene)
        assert np.abs(trajectory.v[-1]).max() < 1e-9
        assert np.ptp(trajectory.q[-3:], axis=0).max() < 1e-9


@pytest.mark.parametrize("length", [0.25, 1.0, 3.0])
def test_a_ground_lies_as_far_out_as_its_offset_says_however_long_its_normal(
    tmp_path: Path, length: float
) -> None:
    normal = [0.0, 0.6 * length, 0.8 * length]
    ground = f"[[ground]]\nplane = {{ normal = {normal}, offset = 0.3 }}\n"
    shape, start = "{ sphere = { radius = 0.1 } }", "{ xyz = [0, 0.24, 0.3201] }"
    ball = free("ball", shape, 1.0, start)
    rest = ran(world(tmp_path, ball + ground, gravity=(0, -6, -8)))
    assert rest.poses[-1, 0, :3] @ [0, 0.6, 0.8] == pytest.approx(0.4, abs=3e-4)
