"""Loops that only have trivial rows, against the same mechanism without them.

A cart on rails cannot turn, so a loop that keeps its angle has no row left. It carries nothing, at any place in
the file; the others carry what they carry without it. By hand: a bar on a hinge whose tip lies on a plane leans on it
with half its weight.
"""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.joints import Joint, Pose, joint, real
from pysim.loops import (
    actuation_map,
    constrained_aba,
    constrained_aba_derivatives,
    constraints,
    loop_wrenches,
    mobility,
    project,
)

MASS = 10.0  # [kg] of the bar

CART = """
name = "cart"
[[body]]
name = "cart"
shape = { box = [0.2, 0.2, 0.2], density = 100 }
[[body]]
name = "bar"
shape = { box = [1.0, 0.1, 0.1], at = { xyz = [0.5, 0, 0] }, density = 1000 }
[[joint]]
name = "slide"
type = "prismatic"
child = "cart"
axis = [1, 0, 0]
start = { v = 0.2 }
[[joint]]
name = "hinge"
type = "ball"
parent = "cart"
child = "bar"
[simulation]
duration = 0.05
"""

LOOPS = {
    "tip": 'type = "point_on_plane"\nb = "bar"\nat_b = { xyz = [1, 0, 0] }',
    "side": 'type = "point_on_plane"\nb = "bar"\nat_a = { rpy = [1.5707963267948966, 0, 0] }\n'
    "at_b = { xyz = [1, 0, 0] }",
    "angle": 'type = "translation"\nb = "cart"',
}


def cart(folder: Path, *loops: str) -> pysim.Scene:
    path = folder / f"{'_'.join(loops) or 'open'}.toml"
    path.write_text(CART + "".join(f'[[loop]]\nname = "{k}"\n{LOOPS[k]}\n' for k in loops), "utf-8")
    return pysim.load_scene(path)


@pytest.mark.parametrize("order", [*permutations(LOOPS)])
def test_an_idle_loop_carries_nothing_and_changes_no_other(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    scene = cart(tmp_path, *order)
    assert dict(zip(order, scene.model.loop_rows, strict=True)) == {"tip": 1, "side": 1, "angle": 0}
    run = pysim.simulate(scene)
    without = pysim.simulate(cart(tmp_path, *(name for name in order if name != "angle")))
    others = [k for k, name in enumerate(order) if name != "angle"]
    np.testing.assert_array_equal(run.loop_wrenches[:, order.index("angle")], 0)
    np.testing.assert_array_equal(run.loop_wrenches[:, others], without.loop_wrenches)
    np.testing.assert_array_equal(run.q, without.q)
    force = run.loop_wrenches[0, order.index("tip"), :3]
    np.testing.assert_allclose(force, [0, 0, MASS * 9.81 / 2], atol=1e-9)


def test_two_idle_loops_in_a_row_carry_nothing(tmp_path: Path) -> None:
    path = tmp_path / "twice.toml"
    loops = (("one", "angle"), ("tip", "tip"), ("two", "angle"), ("three", "angle"))
    reported = "".join(f'[[loop]]\nname = "{name}"\n{LOOPS[kind]}\n' for name, kind in loops)
    path.write_text(CART + reported, "utf-8")
    run = pysim.simulate(pysim.load_scene(path))
    np.testing.assert_array_equal(run.loop_wrenches[:, [0, 2, 3]], 0)
    np.testing.assert_allclose(run.loop_wrenches[0, 1, 2], MASS * 9.81 / 2, rtol=1e-10)


def test_a_mechanism_of_idle_loops_alone_moves_as_its_tree(tmp_path: Path) -> None:
    scene = cart(tmp_path, "angle")
    run, tree = pysim.simulate(scene, tmp_path / "run.h5"), pysim.simulate(cart(tmp_path))
    np.testing.assert_array_equal(run.q, tree.q)
    np.testing.assert_array_equal(run.a, tree.a)
    np.testing.assert_array_equal(run.loop_wrenches, np.zeros((len(run), 1, 6)))
    read = pysim.load_trajectory(tmp_path / "run.h5")
    np.testing.assert_array_equal(read.loop_wrenches, run.loop_wrenches)
    assert mobility(scene.model, scene.state.q).degrees == 4


@pytest.mark.parametrize("worlds", [(), (1,), (19,)])
def test_wrenches_have_a_row_for_every_loop_of_any_batch(
    worlds: tuple[int, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    for loops in (("angle",), ("angle", "tip", "side"), ("tip", "angle")):
        model = cart(tmp_path, *loops).model
        q = np.broadcast_to(pysim.load_scene(tmp_path / "angle.toml").state.q, (*worlds, model.nq))
        v, tau = rng.normal(size=(2, *worlds, model.nv))
        at = project(model, q, v)
        wrenches = loop_wrenches(model, at.q, at.v, tau)
        assert wrenches.shape == (*worlds, len(loops), 6)
        np.testing.assert_array_equal(wrenches[..., loops.index("angle"), :], 0)
        assert constraints(model, q).wrenches.shape == (*worlds, model.rows, 6)


def test_motors_move_what_idle_loops_leave_free(tmp_path: Path) -> None:
    scene = cart(tmp_path, "angle")
    active = list(scene.model.velocity_names)
    np.testing.assert_array_equal(actuation_map(scene.model, scene.state.q, active).E, np.eye(4))


@pytest.mark.parametrize("loops", [("angle",), ("tip", "angle")])
def test_the_command_runs_checks_and_plots_loops_without_motion(
    loops: tuple[str, ...], capsys, tmp_path: Path
) -> None:
    cart(tmp_path, *loops)
    scene, run = tmp_path / f"{'_'.join(loops)}.toml", tmp_path / "run.h5"
    assert main([str(scene), "-o", str(run)]) == 0
    assert main(["check", str(scene)]) == 0
    assert main(["plot", str(run), "-o", str(tmp_path / "run.png")]) == 0
    assert capsys.readouterr().err == ""


HELD_WHEEL = """
name = "held wheel"
[[body]]
name = "cart"
shape = { box = [0.2, 0.2, 0.2], density = 100 }
[[body]]
name = "wheel"
shape = { cylinder = { radius = 0.5, length = 0.1 }, density = 100 }
[[joint]]
name = "floor"
type = "planar"
child = "cart"
[[joint]]
name = "axle"
type = "revolute"
parent = "cart"
child = "wheel"
axis = [0, 0, 1]
at = { xyz = [0, 0, 0.5], rpy = [1.5707963267948966, 0, 0] }
[[loop]]
name = "tread"
type = "wheel_on_plane"
b = "wheel"
radius = 0.5
"""


def test_a_wheel_at_a_height_that_is_held_still_may_stand(tmp_path: Path) -> None:
    """Its contact row is idle; what is left rolls: ẋ = −r φ̇ ahead, and nothing aside."""
    path = tmp_path / "wheel.toml"
    path.write_text(HELD_WHEEL, "utf-8")
    model = pysim.load_scene(path).model
    assert model.loop_rows == [2]
    assert mobility(model, pysim.load_scene(path).state.q).degrees == 2


@pytest.mark.parametrize("lift", [0.0, 0.5])
def test_a_wheel_that_is_held_flat_is_rejected(lift: float, tmp_path: Path) -> None:
    flat = HELD_WHEEL.replace("rpy = [1.5707963267948966, 0, 0]", "rpy = [0, 0, 0]")
    path = tmp_path / "wheel.toml"
    path.write_text(flat.replace("[0, 0, 0.5]", f"[0, 0, {lift}]"), "utf-8")
    reported = "lies flat on its plane; tilt its axis" if lift == 0 else "is open by 0.5"
    with pytest.raises(pysim.ModelError, match=reported):
        pysim.load_scene(path)


DOOR = """
name = "door"
[[body]]
name = "door"
mass = 20
com = [0.4, 0.1, 1.0]
inertia = {{ xx = 2, yy = 3, zz = 1 }}
[[joint]]
name = "lower"
type = "{lower}"
child = "door"
at = {{ {turn} }}
axis = {axis}
start = {{ q = 0.3, v = 0.5 }}
[simulation]
duration = 0.3
"""
UPPER = """
[[loop]]
name = "upper"
type = "{upper}"
b = "door"
at_a = {{ {turn} }}
axis = {axis}
"""


@joint("idle_hinge")
class Hinge(Joint):
    """Turns about z."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle)


BESIDE = """
[[body]]
name = "beside"
mass = 1
com = [0, 0, -0.3]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "beside"
type = "idle_hinge"
child = "beside"
"""
TURNS = ["xyz = [0, 0, 0]", "rpy = [0.1, 0.2, 0.3]", "xyz = [3, -2, 1], rpy = [0.7, -1.1, 2]"]


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    ("lower", "upper", "axis", "plugin"),
    [
        ("revolute", "revolute", [0, 0, 1], False),
        ("revolute", "revolute", [1, 1, 0], False),
        ("revolute", "cylindrical", [1, 2, 3], False),
        ("prismatic", "prismatic", [1, 1, 0], False),
        ("revolute", "planar", [0, 0, 1], False),
        ("revolute", "revolute", [1, 1, 0], True),
        ("idle_hinge", "revolute", [0, 0, 1], True),
    ],
)
def test_a_loop_that_repeats_its_joint_changes_nothing_however_it_is_turned(
    lower: str, upper: str, axis: list[int], plugin: bool, turn: str, tmp_path: Path
) -> None:
    """A door on two hinges of one axis; nothing in the file is live, which rounding could be measured by."""
    names = {"lower": lower, "upper": upper, "axis": axis, "turn": turn}
    tree = DOOR.format(**names)
    tree = tree.replace("axis = [0, 0, 1]\n", "") + BESIDE * (plugin and lower != "idle_hinge")
    loop = UPPER.format(**names)
    if upper == "planar":
        loop = loop.replace("axis = [0, 0, 1]\n", "")
    runs = []
    for text in (tree + loop, tree):
        (tmp_path / "s.toml").write_text(text, "utf-8")
        scene = pysim.load_scene(tmp_path / "s.toml")
        assert mobility(scene.model, scene.state.q).degrees == scene.model.nv
        runs.append(pysim.simulate(scene))
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(runs[0].v, runs[1].v, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(runs[0].loop_wrenches, 0)
    assert np.ptp(runs[0].energy) < 1e-8 * max(1.0, np.abs(runs[0].energy).max())


LOCK = """
[[body]]
name = "arm"
mass = 1
com = [0.3, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
[[loop]]
name = "lock"
b = "arm"
"""


@pytest.mark.parametrize(
    "loop",
    [
        'type = "ball"\nat_a = { xyz = [0.5, 0, 0] }\nat_b = { xyz = [0.5, 0, 0] }',
        'type = "ball"\nat_a.xyz = [0.5, 0, 0]\nat_b = { xyz = [0.5, 0, 0], rpy = [0.3, 0.2, 0.5] }',
        'type = "revolute"\naxis = [1, 1, 0]\nat_a.xyz = [0.5, 0.2, 0]\nat_b.xyz = [0.5, 0.2, 0]',
        'type = "weld"\nat_a.xyz = [0.5, 0.2, 0]\nat_b.xyz = [0.5, 0.2, 0]',
    ],
)
def test_fully_constrained_bodies_do_not_move_and_have_zero_derivatives(
    loop: str, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(LOCK + loop, "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    q, v, tau = scene.state.q, scene.state.v, np.ones(1)
    assert mobility(scene.model, q).degrees == 0
    np.testing.assert_allclose(constrained_aba(scene.model, q, v, tau), 0, atol=1e-12)
    for slope in constrained_aba_derivatives(scene.model, q, v, tau):
        np.testing.assert_allclose(slope, 0, atol=1e-12)


def test_a_loop_that_cannot_close_to_second_order_is_rejected(tmp_path: Path) -> None:
    """A sleeve along the tangent of a circle: it holds at one angle, to first order nothing there."""
    sleeve = (
        'type = "cylindrical"\naxis = [0, 1, 0]\nat_a.xyz = [0.5, 0, 0]\nat_b.xyz = [0.5, 0, 0]'
    )
    (tmp_path / "s.toml").write_text(LOCK.replace("lock", "sleeve") + sleeve, "utf-8")
    with pytest.raises(pysim.ModelError, match="in a direction in which its bodies cannot move"):
        pysim.load_scene(tmp_path / "s.toml")


@joint("idle_bend")
class Bend(Joint):
    """Slides along x, and from x = 1.5 m on rises."""

    coordinates = real("x", unit="m")

    def placement(self, q):
        return Pose.translate(q.x, 0, np.maximum(0.0, q.x - 1.5) ** 3)


@pytest.mark.filterwarnings("ignore:.*the loops nearly lose rank there:pysim.PysimWarning")
def test_a_plugin_made_of_pieces_keeps_rows_that_bind_elsewhere(tmp_path: Path) -> None:
    """Held in the plane z = 0 it cannot go past its bend, far from where configurations are drawn.

    Its kinetic energy is lost there, which may be reported.
    """
    text = (
        '[[body]]\nname = "b"\nmass = 1\ninertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n'
        '[[joint]]\nname = "j"\ntype = "idle_bend"\nchild = "b"\nstart.v = 1\n'
        '[[loop]]\nname = "plane"\ntype = "point_on_plane"\nb = "b"\n'
        "[simulation]\nduration = 2.5\n"
    )
    (tmp_path / "s.toml").write_text(text, "utf-8")
    scene = pysim.load_scene(tmp_path / "s.toml")
    assert tuple(scene.model.loop_rows) == (1,)
    assert np.abs(pysim.simulate(scene).poses[:, 0, 2]).max() < 1e-6
