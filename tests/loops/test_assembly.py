"""Closing the loops of a start state, freedoms and redundant rows.

Oracles: circles by hand, counts from the literature.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.algorithms import crba
from pysim.errors import ModelError
from pysim.loops import assemble, constraint_residual, independence, mobility
from pysim.mechanism.compile import start_state
from pysim.scene.spec import LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.loops.mechanisms import bar, four_bar, shifted
from tests.oracles.mechanisms import make_joint
from tests.oracles.spatial import pose, quaternion_rotation

SCENES = Path(__file__).parents[2] / "scenes"


def disturbed(spec: ModelSpec, by: float) -> ModelSpec:
    """The same linkage, its knee and rocker started off the closed position."""
    joints = tuple(
        joint if joint.name == "crank" else replace(joint, start_q=joint.start_q + by)
        for joint in spec.joints
    )
    return replace(spec, joints=joints)


def test_the_start_is_closed_on_the_nearest_branch_while_the_crank_is_held() -> None:
    spec = four_bar((1.0, 0.5, 1.2, 0.9), crank=0.8)
    model = compile_model(disturbed(spec, 0.15))
    v = np.array([2.0, 0, 0])

    closed = assemble(model, start_state(model).q, v, hold=["crank"])

    np.testing.assert_allclose(closed.q, start_state(compile_model(spec)).q, atol=1e-12)
    assert closed.v[0] == 2.0
    assert closed.moved == pytest.approx(0.15, abs=1e-9)


def test_without_a_hold_the_motion_is_the_smallest_in_the_norm_of_the_inertia() -> None:
    model = compile_model(disturbed(four_bar((1.0, 0.5, 1.2, 0.9), crank=0.8), 0.01))
    start = start_state(model).q
    free = assemble(model, start)
    held = assemble(model, start, hold=["crank"])
    M = crba(model, start)
    length = [np.sqrt((c.q - start) @ M @ (c.q - start)) for c in (free, held)]
    assert length[0] < 0.9 * length[1]


def test_a_loop_that_is_too_short_is_named_with_what_is_left() -> None:
    spec = four_bar()
    short = replace(spec.loops[0], at_a=shifted(0.1), at_b=shifted(0.1))
    far = replace(spec, loops=(replace(short, a="a", b="c", at_a=shifted(0.1)),))
    model = compile_model(far)
    with pytest.raises(
        ModelError, match=r"loop 'close' \(0\.\d+\) cannot be closed \(residuals in"
    ):
        assemble(model, start_state(model).q)


CARDAN = """
gravity = [0, 0, 0]
[[body]]
name = "s1"
mass = 1.0
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.02 }}
[[body]]
name = "s2"
mass = 1.0
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.02 }}
[[joint]]
name = "in"
type = "revolute"
child = "s1"
at.xyz = [0, 0, -0.2]
start.q = 0.3
[[joint]]
name = "cross"
type = "universal"
parent = "s1"
child = "s2"
at.xyz = [0, 0, 0.2]
start = [0.1, 0.1]
[[loop]]
name = "bearing"
type = "{kind}"
b = "s2"
at_a = {{ xyz = [{x}, 0, {z}], rpy = [0, 0.5, 0] }}
at_b.xyz = [0, 0, 0.3]
[assembly]
hold = ["in"]
"""


@pytest.mark.parametrize(
    ("kind", "digits", "closes"),
    [("cylindrical", 8, True), ("cylindrical", 6, False), ("point_on_line", 6, True)],
)
def test_dimensions_with_few_digits_close_no_loop_that_has_redundant_rows(
    tmp_path: Path, kind: str, digits: int, closes: bool
) -> None:
    """A shaft through a cross at 0.5 rad: its line meets the cross to as many digits as are written."""
    x, z = (round(0.3 * part, digits) for part in (np.sin(0.5), np.cos(0.5)))
    path = tmp_path / "s.toml"
    path.write_text(CARDAN.format(kind=kind, x=x, z=z), "utf-8")
    if closes:
        scene = pysim.load_scene(path)
        assert mobility(scene.model, scene.state.q, scene.state.loop_q).degrees == 1
        return
    problem = (
        r"loop 'bearing' \(\d\.\d+e-07\) cannot be closed \(residuals in \[m, rad\]\): here 2 of 4 rows are "
        r"redundant, so that dimensions must agree to about 1e-07; write them with more digits, or close a loop by "
        r"a type with fewer rows, such as ball instead of revolute or point_on_line instead of ball$"
    )
    with pytest.raises(ModelError, match=problem):
        pysim.load_scene(path)


def test_loops_that_contradict_each_other_are_named_together() -> None:
    spec = four_bar()
    other = replace(spec.loops[0], name="again", at_b=shifted(0.6))
    model = compile_model(replace(spec, loops=(*spec.loops, other)))
    with pytest.raises(ModelError, match=r"loops .*'(close|again)'.* cannot be closed together"):
        assemble(model, start_state(model).q)


def test_a_start_velocity_that_the_loops_forbid_is_rejected() -> None:
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    with pytest.raises(
        ModelError, match="'close' is violated by the start velocities of the held joints"
    ):
        assemble(model, start_state(model).q, np.array([1.0, 0, 0]), hold=["crank", "rocker"])


def test_a_planar_linkage_in_space_has_three_redundant_rows_and_the_engine_solves_two() -> None:
    model = compile_model(four_bar((1.0, 0.5, 1.2, 0.9)))
    found = mobility(model, start_state(model).q)
    assert (found.degrees, found.rows, found.rank) == (1, 5, 2)
    assert found.redundant == {"close": 3}
    assert not found.singular
    assert model.rows == 2
    assert str(found) == "1 degree of freedom; 5 rows of rank 2, redundant: 3 of 'close'"


def test_a_flat_parallelogram_is_singular() -> None:
    spec = four_bar()
    q = np.zeros(3)  # all bars along x
    found = mobility(compile_model(spec), q)
    assert found.singular
    assert (found.rank_here, found.rank) == (1, 2)


def test_independence_vanishes_towards_a_flat_parallelogram() -> None:
    model = compile_model(four_bar())
    angle = np.array([1e-6, 1e-3, 0.1, np.pi / 2])
    q = np.column_stack([angle, -angle, angle])
    found = independence(model, q, 2)
    assert found[3] == 1
    np.testing.assert_allclose(found[:2] / angle[:2], found[0] / 1e-6, rtol=1e-3)


def test_a_loop_open_across_the_plane_of_its_linkage_is_rejected() -> None:
    spec = four_bar()
    loop = replace(spec.loops[0], at_a=pose(np.eye(3), np.array([1.0, 0, 0.02])))
    with pytest.raises(ModelError, match=r"loop 'close' is open by 0\.02 .* cannot move"):
        compile_model(replace(spec, loops=(loop,)))


def test_a_loop_within_one_rigid_body_is_rejected() -> None:
    bodies = (bar("a", 1.0), bar("tip", 0.1))
    joints = (
        make_joint("hinge", "revolute", "world", "a"),
        make_joint("glue", "fixed", "a", "tip", shifted(1.0)),
    )
    loop = LoopSpec("knot", "ball", "a", "tip", np.eye(4), np.eye(4), where="file:7")
    spec = ModelSpec("one", np.zeros(3), bodies, joints, loops=(loop,))
    problem = "file:7: loop 'knot' joins 'a' and 'tip', which are one rigid body already"
    with pytest.raises(ModelError, match=problem):
        compile_model(spec)


def test_assembled_states_have_no_residual() -> None:
    model = compile_model(disturbed(four_bar((1.0, 0.5, 1.2, 0.9), crank=0.8), 0.2))
    closed = assemble(model, start_state(model).q)
    assert np.abs(constraint_residual(model, closed.q)).max() < 1e-12


@pytest.mark.parametrize(
    ("scene", "joint", "q", "v"),
    [
        ("andrews", "beta", 0.5, 3.0),
        ("bricard", "hinge1", 0.3, 1.0),
        ("differential", "right", 0.2, 5.0),
        ("five_bar", "left motor", 2.0, 1.0),
        ("four_bar", "drive", 0.7, 9.0),
        ("four_bars", "pivot0", 1.2, -2.0),
        ("slider_crank", "crank", 0.4, 4.0),
    ],
)
def test_a_scene_starts_where_and_as_fast_as_its_driving_joint_is_reported(
    scene: str, joint: str, q: float, v: float
) -> None:
    changes = {f"joint.{joint}.start": {"q": q, "v": v}}
    loaded = pysim.load_scene(SCENES / f"{scene}.toml", changes)
    at = loaded.model.velocity_names.index(joint)
    place = loaded.model.q_offsets[loaded.model.joint_names.index(joint)]
    assert (loaded.state.q[place], loaded.state.v[at]) == (q, v)


def test_a_rolling_disk_starts_with_the_lean_and_the_spin_it_is_reported_whatever_its_mass() -> (
    None
):
    """Height r cos(lean); the centre moves as rolling says, v = r z × ω there."""
    spin = [0.3, -1.0, -2.0]
    changes = {
        "body.disk.mass": 3.0,
        "loop.floor.radius": 0.5,
        "joint.free.start": {"rpy": [-1.2, 0, 0], "v": [0, 0, 0, *spin]},
    }
    state = pysim.load_scene(SCENES / "rolling_disk.toml", changes).state
    assert state.q[2] == pytest.approx(0.5 * np.sin(1.2), abs=1e-12)
    np.testing.assert_array_equal(state.v[3:], spin)
    down = np.array([0, 0.5, 0])  # from the centre to the floor, in the disk's frame
    np.testing.assert_allclose(state.v[:3] + np.cross(spin, down), 0, atol=1e-12)


def test_a_stewart_platform_starts_in_the_pose_it_is_reported_and_its_legs_follow() -> None:
    changes = {"joint.platform.start": {"xyz": [0.05, -0.03, 0.62], "rpy": [0.1, 0, 0.2]}}
    scene = pysim.load_scene(SCENES / "stewart_platform.toml", changes)
    turned = quaternion_rotation(scene.state.q[3:7])
    np.testing.assert_array_equal(scene.state.q[:3], [0.05, -0.03, 0.62])
    np.testing.assert_allclose(np.arctan2(turned[1, 0], turned[0, 0]), 0.2, atol=1e-12)
    assert np.abs(constraint_residual(scene.model, scene.state.q)).max() < 1e-12


@pytest.mark.parametrize("angle", ["1.5708", "1.5707963", "1.5707963267948966"])
def test_a_second_bearing_that_misses_a_right_angle_does_not_move_the_start(
    tmp_path: Path, angle: str
) -> None:
    text = f"""
[[body]]
name = "arm"
mass = 1.0
com = [0, 0.3, 0]
inertia = {{ xx = 0.1, yy = 0.1, zz = 0.1 }}
[[joint]]
name = "pivot"
type = "revolute"
child = "arm"
axis = [1, 0, 0]
start = 0.3
[[loop]]
name = "second bearing"
type = "revolute"
a = "world"
b = "arm"
at_a = {{ xyz = [0.2, 0, 0], rpy = [0, {angle}, 0] }}
at_b = {{ xyz = [0.2, 0, 0], rpy = [0, {angle}, 0] }}
[simulation]
duration = 0.1
"""
    path = tmp_path / "bearings.toml"
    path.write_text(text, "utf-8")
    if len(angle) > 6:
        assert pysim.load_scene(path).state.q[0] == pytest.approx(0.3, abs=1e-12)
        return
    with pytest.raises(pysim.ModelError) as caught:
        pysim.load_scene(path)
    problem = "loop 'second bearing' is off by 1.09e-06 [m, rad] at the start, and closes only where 'pivot' is 0.3 "
    assert problem in str(caught.value)
