"""Freedoms at singular positions: what can be followed, and what moves for an instant only.

Oracle: counts by hand. Posts and couplers of one length that lie flat stand up together, one freedom and two rows a
loop, whatever they weigh. Two bars in one line between two pivots are a structure. A platform on legs between similar
regular hexagons turns about its axis and sinks: of |R b + p − a|² on a circle the second harmonics ask R₁₁ = R₂₂ and
R₁₂ = −R₂₁, squares of the tilt, so it shakes about two more axes and follows neither.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.loops import Mobility, mobility
from pysim.loops.mobility import SMALLEST_ANGLE, _dependent_rows, is_independent
from pysim.scene.spec import BodySpec, LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.commands import check_scene
from tests.loops.mechanisms import bar, many_four_bars, shifted
from tests.oracles.mechanisms import make_joint
from tests.oracles.spatial import pose

SCENES = Path(__file__).parents[2] / "scenes"


def flat_posts(loops: int, masses: np.ndarray, turned: float) -> Mobility:
    spec = many_four_bars(loops)
    bodies = [
        replace(body, theta=m * body.theta) for body, m in zip(spec.bodies, masses, strict=True)
    ]
    model = compile_model(replace(spec, bodies=tuple(bodies)))
    signs = [1 if name.startswith("pivot") else -1 for name in model.velocity_names]
    return mobility(model, turned * np.array(signs))


@pytest.mark.parametrize("turned", [0.0, np.pi])
@pytest.mark.parametrize("loops", [1, 2, 3, 4])
def test_flat_posts_have_one_freedom_whatever_they_weigh(loops: int, turned: float) -> None:
    rng = np.random.default_rng(loops)
    for spread in (0.0, 0.3, 1.0, 1.0):
        found = flat_posts(loops, 10 ** (spread * rng.uniform(-1, 1, 2 * loops + 1)), turned)
        assert (found.degrees, found.rank, found.rank_here) == (1, 2 * loops, loops)
        assert found.singular
        assert found.stuck == 0


@pytest.mark.parametrize("cranks", [2, 3, 4, 5])
def test_cranks_on_one_bar_have_one_freedom_at_their_dead_centre(cranks: int) -> None:
    places = [float(k) for k in range(cranks)]
    bodies = [bar(f"c{k}", 0.6) for k in range(cranks)] + [bar("bar", cranks - 1.0)]
    joints = [
        make_joint(f"j{k}", "revolute", "world", f"c{k}", shifted(x)) for k, x in enumerate(places)
    ]
    joints.append(make_joint("pin", "revolute", "c0", "bar", shifted(0.6)))
    loops = [
        LoopSpec(f"l{k}", "revolute", "bar", f"c{k}", shifted(places[k]), shifted(0.6))
        for k in range(1, cranks)
    ]
    spec = ModelSpec("cranks", np.zeros(3), tuple(bodies), tuple(joints), loops=tuple(loops))
    found = mobility(compile_model(spec), np.zeros(cranks + 1))
    assert (found.degrees, found.rank, found.rank_here) == (1, cranks, cranks - 1)
    assert found.redundant == {"l1": 3} | {f"l{k}": 4 for k in range(2, cranks)}


def arch(*, pendulum: bool) -> ModelSpec:
    """Two bars in one line between two pivots, and a third that hangs from the first."""
    joints = [
        make_joint("left", "revolute", "world", "a"),
        make_joint("right", "revolute", "world", "b", shifted(2.0)),
    ]
    bodies = [bar("a", 1.0), bar("b", 1.0, 1.7)]
    if pendulum:
        joints.append(make_joint("hanger", "revolute", "a", "p", shifted(0.3)))
        bodies.append(bar("p", 0.4))
    loop = LoopSpec("apex", "revolute", "a", "b", shifted(1.0), shifted(1.0))
    return ModelSpec("arch", np.zeros(3), tuple(bodies), tuple(joints), loops=(loop,))


def test_an_arch_of_two_bars_in_one_line_shakes_and_cannot_move() -> None:
    found = mobility(compile_model(arch(pendulum=False)), np.array([0.0, np.pi]))
    assert (found.degrees, found.rank, found.stuck) == (0, 1, 1)
    assert found.singular
    assert str(found) == (
        "0 degrees of freedom; 5 rows of rank 1, redundant: 4 of 'apex'; singular here, 1 infinitesimal motion that "
        "cannot be continued"
    )


@pytest.mark.parametrize("angle", [0.0, 0.7, -2.0])
def test_a_pendulum_below_a_singular_arch_swings(angle: float) -> None:
    model = compile_model(arch(pendulum=True))
    q = np.zeros(3)
    for name, value in {"right": np.pi, "hanger": angle}.items():
        q[model.coordinate_names.index(name)] = value
    found = mobility(model, q)
    assert (found.degrees, found.rank, found.stuck) == (1, 1, 1)


def test_a_rod_at_its_furthest_reach_holds_both_cranks() -> None:
    """Its one row vanishes: no motion lengthens it at first, every motion later."""
    spec = arch(pendulum=False)
    rod = replace(spec.loops[0], type="distance", length=4.0)
    model = compile_model(replace(spec, loops=(rod,)))
    found = mobility(model, np.array([np.pi, 0.0]))
    assert (found.degrees, found.rank, found.stuck) == (0, 0, 2)
    assert str(found).startswith("0 degrees of freedom; 1 row of rank 0")


def test_a_platform_between_similar_hexagons_turns_and_shakes_about_two_more_axes() -> None:
    corners = [np.array([np.cos(t), np.sin(t), 0.0]) for t in np.pi / 3 * np.arange(6)]
    legs = tuple(
        LoopSpec(
            f"leg{k}",
            "distance",
            "world",
            "plate",
            pose(np.eye(3), a),
            pose(np.eye(3), a / 2),
            length=float(np.linalg.norm(a / 2 + [0, 0, 1] - a)),
        )
        for k, a in enumerate(corners)
    )
    spec = ModelSpec(
        "hexapod",
        np.zeros(3),
        (bar("plate", 0.5),),
        (make_joint("plate", "free", "world", "plate"),),
        loops=legs,
    )
    found = mobility(compile_model(spec), np.array([0, 0, 1.0, 0, 0, 0, 1.0]))
    assert (found.degrees, found.rank, found.stuck) == (1, 3, 2)


FLAT = {f"joint.{name}.start.q": 0 for name in ("pivot0", "pivot1", "pivot2", "elbow0", "elbow1")}


@pytest.mark.parametrize(
    ("speeds", "reported"),
    [
        (
            (0, 0, 0, 0, 0),
            "several motions are possible, and a start at rest does not determine which one",
        ),
        ((1, 2, 4, 0, -3), "its start velocity cannot be followed"),
        ((1, 1, 1, -1, -1), None),  # as one
        ((0, 1, 1, 1, -1), None),  # the first post stays, its coupler turns with the second
    ],
)
def test_check_warns_of_a_start_from_which_the_motion_is_not_determined(
    speeds: tuple[int, ...], reported: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    joints = ("pivot0", "pivot1", "pivot2", "elbow0", "elbow1")
    changes = FLAT | {f"joint.{name}.start.v": v for name, v in zip(joints, speeds, strict=True)}
    check_scene(SCENES / "four_bars.toml", tuple(f"{key}={x}" for key, x in changes.items()))
    text = capsys.readouterr()
    assert "1 degree of freedom; 10 rows of rank 4" in text.out
    assert ("warning: the start is a singular position (1 degree" in text.err) == bool(reported)
    assert (reported or "") in text.err


def test_a_start_whose_motion_is_not_determined_says_nothing_about_steps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes = {
        "joint.knee.at.xyz": "[0.6, -0.03, 0]",
        "loop.close.at_a.xyz": "[0.8, 0.03, 0]",
    } | {f"joint.{name}.start.q": "0" for name in ("drive", "knee", "swing")}
    check_scene(SCENES / "four_bar.toml", tuple(f"{key}={x}" for key, x in changes.items()))
    text = capsys.readouterr().err
    assert "its start velocity cannot be followed" in text
    assert "simulation.step" not in text


def test_check_warns_of_a_structure_that_shakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arch.toml"
    file.write_text(
        f"""name = "arch"
[[body]]
name = "a"
shape = {{ box = [1, 0.1, 0.1], density = 500 }}
[[body]]
name = "b"
shape = {{ box = [1, 0.1, 0.1], density = 500 }}
[[joint]]
name = "left"
type = "revolute"
child = "a"
[[joint]]
name = "right"
type = "revolute"
child = "b"
at = {{ xyz = [2, 0, 0] }}
start = {{ q = {np.pi} }}
[[loop]]
name = "apex"
type = "revolute"
a = "a"
b = "b"
at_a = {{ xyz = [1, 0, 0] }}
at_b = {{ xyz = [1, 0, 0] }}
[simulation]
duration = 1.0
"""
    )
    check_scene(file)
    text = capsys.readouterr().err
    assert (
        "constraints exert no force against loads along an infinitesimal motion; start near it"
        in text
    )


def test_check_warns_of_no_start_that_is_regular(capsys: pytest.CaptureFixture[str]) -> None:
    for scene in ("four_bars", "bricard"):
        check_scene(SCENES / f"{scene}.toml")
    assert "singular" not in capsys.readouterr().err


def net(rows: int, columns: int) -> ModelSpec:
    """Points on a square grid, tied to their neighbours by rods of unit length; the corners are held."""
    corners = {(i, j) for i in (0, rows - 1) for j in (0, columns - 1)}
    points = [(i, j) for i in range(rows) for j in range(columns)]
    theta = np.array([1.0, *np.zeros(9)])
    free = [point for point in points if point not in corners]
    bodies = [BodySpec(f"p{i}{j}", theta) for i, j in free]
    joints = [
        make_joint(f"j{i}{j}", "translation", "world", f"p{i}{j}", start_q=np.array([i, j, 0.0]))
        for i, j in free
    ]
    loops = []
    for i, j in points:
        for k, m in ((i + 1, j), (i, j + 1)):
            if k < rows and m < columns and not {(i, j), (k, m)} <= corners:
                loops.append(rod((i, j), (k, m), corners))
    return ModelSpec("net", np.zeros(3), tuple(bodies), tuple(joints), loops=tuple(loops))


def rod(a: tuple[int, int], b: tuple[int, int], held: set[tuple[int, int]]) -> LoopSpec:
    ends = [
        ("world", pose(np.eye(3), np.array([*point, 0.0])))
        if point in held
        else (f"p{point[0]}{point[1]}", np.eye(4))
        for point in (a, b)
    ]
    (from_, at_a), (to, at_b) = ends
    return LoopSpec(f"{a}-{b}", "distance", from_, to, at_a, at_b, length=1.0)


@pytest.mark.parametrize(
    ("rows", "columns"), [(4, 4), (5, 5), pytest.param(6, 9, marks=pytest.mark.nightly)]
)
def test_a_flat_net_pulled_tight_by_its_corners_cannot_move(rows: int, columns: int) -> None:
    """Its edges are straight between held corners, and then so is every line between the edges.

    Motions across the plane open an inner line by their second power and an edge by their fourth only. 93 rows take
    2 s; a singular value decomposition of all rows in every step took minutes.
    """
    spec = net(rows, columns)
    model = compile_model(spec)
    found = mobility(model, start_of(spec))
    assert (found.degrees, found.rank) == (0, found.rows - 4)
    assert found.stuck == model.nv - found.rank


def start_of(spec: ModelSpec) -> np.ndarray:
    return np.concatenate([joint.start_q for joint in spec.joints])


@pytest.mark.parametrize("seed", range(8))
def test_dependent_rows_of_groups_are_those_of_one_group_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 60))
    rows[rng.integers(5, 40, seed)] = rows[rng.integers(0, 5, seed)]
    ends = [0, *np.sort(rng.choice(np.arange(1, 40), 9, replace=False)).tolist(), 40, 40]
    left = [
        end - int((np.linalg.svd(rows[:end], compute_uv=False) > SMALLEST_ANGLE).sum())
        for end in ends
    ]
    assert _dependent_rows(rows, ends) == np.diff(left).tolist()


def test_rows_are_surely_independent_down_to_a_small_angle_only() -> None:
    rows = np.eye(4, 6)
    rows[3] = [1, 0, 0, 1e-3, 0, 0]
    assert is_independent(rows)
    assert not is_independent(rows[:0])
    rows[3, 3] = 1e-5
    assert not is_independent(rows)
    assert not is_independent(np.ones((7, 6)))


def test_a_net_of_independent_loops_is_assembled_without_a_decomposition_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decompose, calls = np.linalg.svd, []

    def counted(*args: Any, **keys: Any) -> Any:
        calls.append(args[0].shape)
        return decompose(*args, **keys)

    monkeypatch.setattr(np.linalg, "svd", counted)
    builder = pysim.SceneBuilder("ring", gravity=[0, 0, -9.81])
    n, angle = 30, 2 * np.pi / 30
    side = 2 * np.sin(angle / 2)
    for k in range(n):
        place = [np.cos(k * angle), np.sin(k * angle), 0]
        turn = (k + 0.5) * angle + np.pi / 2
        builder.body(
            f"link{k}", mass=0.1, com=[0.05, 0, 0], inertia={"xx": 1e-5, "yy": 1e-4, "zz": 1e-4}
        )
        builder.joint(f"free{k}", "free", child=f"link{k}", at={"xyz": place, "rpy": [0, 0, turn % 6.28]})  # fmt: skip
    for k in range(n):
        builder.loop(f"loop{k}", "ball", a=f"link{k}", b=f"link{(k + 1) % n}", at_a={"xyz": [side, 0, 0]})  # fmt: skip
    builder.simulation(duration=0.1, step=1e-3, integrator="generalized_alpha")
    scene = builder.build()
    assert mobility(scene.model, scene.state.q).degrees == 3 * n
    assert len(calls) < 24
