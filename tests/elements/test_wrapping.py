"""Paths over obstacles and through conditional points.

Oracles: the reference cases `wrap_cylinder`, `wrap_sphere` and `wrap_on_off_motion`, and tests/oracles/wrapping.py.
Derivatives are those of test_every_algorithm.py, whose mechanisms have such paths.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from pysim.forces import Force, force
from tests.elements.blocks import run_at, scene_of, simulation, table
from tests.elements.reference_cases import Case, axis_angle, rotation
from tests.oracles import wrapping

ORACLES = {"cylinder": wrapping.over_cylinder, "sphere": wrapping.over_sphere}


@force("spring_that_pulls")
class SpringThatPulls(Force):
    """Spring and damper whose tension is cut at zero, whatever the length."""

    stiffness: float
    damping: float
    rest_length: float

    def tension(self, length, rate):
        return np.maximum(self.stiffness * (length - self.rest_length) + self.damping * rate, 0.0)


def link(axis, start=(0.0, 0.0), inertia=0.02):
    """Return a link hinged to the world at the origin."""
    body = {"xx": inertia, "yy": inertia, "zz": inertia}
    q, v = start
    return (
        "gravity = [0, 0, 0]\n"
        + table("body", name="link", mass=1, inertia=body)
        + table(
            "joint", name="hinge", type="revolute", axis=axis, child="link", start={"q": q, "v": v}
        )
    )


def distance(path, name="rope"):
    return table("sensor", name=name, type="distance", path=path)


def lengths_and_slopes(tmp_path, text, angles):
    """Return the length of the path `rope` and its derivative by the angle, at given angles."""
    scene = scene_of(tmp_path, text + simulation("rk4", duration=1e-6, interval=1e-6, step=1e-6))
    q = np.array(angles)[:, None]
    run = pysim.rollout(scene, q, np.ones_like(q), steps=0, signals=("rope.length", "rope.rate"))
    return run.signals["rope.length"][:, 0], run.signals["rope.rate"][:, 0]


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
@pytest.mark.parametrize("owner", ["force", "actuator"])
def test_an_end_that_enters_its_obstacle_is_warned_of_with_the_time(tmp_path, kind, owner):
    path = [
        {"body": "world", "point": [-0.5, 0.2, 0.0]},
        {"body": "world", kind: 0.1, "at": {"xyz": [0.0, 0.3, 0.0]}},
        {"body": "link", "point": [0.3, 0.0, 0.0]},
    ]
    tables = {
        "force": table(
            "force", name="rope", type="path_spring", stiffness=1.0, rest_length=0.1, path=path
        ),
        "actuator": table("signal", name="pull", type="constant", value=0.1, unit="N")
        + table("actuator", name="rope", type="winch", path=path, command="pull"),
    }
    text = link([0, 0, 1], start=(0.5, 1.0)) + tables[owner]
    scene = scene_of(tmp_path, text + simulation("rk4", duration=1.2, interval=0.01))
    wanted = rf"{owner} 'rope': the point on 'link' is inside the {kind} of radius 0\.1 \[m\].* at t = 0\.[0-9]+ s"
    for simulated in (pysim.simulate, pysim.rollout):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")  # energy is lost as well
            run = simulated(scene)
        assert any(re.search(wanted, str(found.message)) for found in caught)
    place = 0.3 * np.stack([np.cos(run.q[:, 0]), np.sin(run.q[:, 0])], axis=1)
    assert (np.linalg.norm(place - [0.0, 0.3], axis=1) < 0.1).any()


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
def test_lengths_and_moment_arms_over_an_obstacle_in_the_world(tmp_path, kind):
    case = Case(f"wrap_{kind}")
    s = case.setup
    turn = axis_angle(s["orientation_rotation_vector_rad"])
    path = [
        {"body": "world", "point": s["A_m"]},
        {"body": "world", kind: s["radius_m"], "at": {"xyz": s["centre_m"], "axis_angle": turn}},
        {"body": "link", "point": s["B_in_link_m"]},
    ]
    angles = case.at("length")
    length, slope = lengths_and_slopes(tmp_path, link(s["hinge_axis"]) + distance(path), angles)
    case.agrees("length", length)
    case.agrees("∂L/∂q", slope)
    axis, B = np.array(s["hinge_axis"]), np.array(s["B_in_link_m"])
    ends = np.array([rotation(angle * axis) @ B for angle in angles])
    straight = np.linalg.norm(ends - s["A_m"], axis=1)
    case.agrees("wraps", np.where(length > straight * (1 + 1e-12), 1.0, 0.0))


def test_a_rope_comes_off_a_cylinder_and_back(tmp_path):
    case = Case("wrap_on_off_motion")
    s = case.setup
    at = {"xyz": s["centre_m"], "rpy": [np.pi / 2, 0, 0]}
    path = [
        {"body": "world", "point": s["A_m"]},
        {"body": "world", "cylinder": s["radius_m"], "at": at},
        {"body": "link", "point": s["B_in_link_m"]},
    ]
    text = link([0, 1, 0], (s["start_q_rad"], s["start_v_rad_s"]), s["inertia_about_axis_kg_m2"])
    text += distance(path) + table(
        "force",
        name="spring",
        type="spring_that_pulls",
        path=path,
        stiffness=s["stiffness_N_m"],
        damping=s["damping_N_s_m"],
        rest_length=s["rest_length_m"],
    )
    whole, rows = run_at(tmp_path, text, case.at("q, v"), step=2e-3)  # which skip no pull
    case.agrees("q, v", np.column_stack([whole.q, whole.v])[rows])
    case.agrees("length", whole.signals["rope.length"][rows])


@pytest.mark.parametrize("side", [None, [0.0, 0.0, 1.0], [0.3, 1.0, -0.4], [-1.0, -0.2, 0.1]])
@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
def test_lengths_over_a_moving_obstacle_are_those_of_the_oracle(tmp_path, kind, side):
    rng = np.random.default_rng(5)
    radius, turn, at = 0.3, [0.4, -0.2, 0.7], [0.1, 0.2, -0.1]
    count = 0
    for _ in range(6):
        a, b = rng.normal(size=(2, 3)) * 1.5
        obstacle = {"body": "link", kind: radius, "at": {"xyz": at, "rpy": turn}}
        if side is not None:
            obstacle["side"] = side
        path = [
            {"body": "world", "point": a.tolist()},
            obstacle,
            {"body": "world", "point": b.tolist()},
        ]
        angles = rng.uniform(-3, 3, 12)
        length, slope = lengths_and_slopes(tmp_path, link([0, 0.6, 0.8]) + distance(path), angles)
        X = rotations_of(turn)
        for k, angle in enumerate(angles):
            step = 1e-6
            wanted = []
            for q in (angle, angle - step, angle + step):
                R = rotation(q * np.array([0, 0.6, 0.8]))
                ends = [X.T @ (R.T @ p - np.array(at)) for p in (a, b)]
                low = min(np.linalg.norm(p[:2] if kind == "cylinder" else p) for p in ends)
                named = None if side is None else np.array(side)
                wanted.append(
                    ORACLES[kind](*ends, radius, named) if low > 1.05 * radius else np.nan
                )
            if np.isfinite(wanted).all() and abs(wanted[2] - wanted[1]) < 0.1:
                np.testing.assert_allclose(length[k], wanted[0], rtol=1e-12)
                difference = (wanted[2] - wanted[1]) / (2 * step)
                np.testing.assert_allclose(slope[k], difference, atol=1e-7)
                count += 1
    assert count > 40


@pytest.mark.parametrize("side", [None, [0.3, 1.0, -0.4]])
def test_lengths_over_a_moving_ellipsoid_are_those_of_the_oracle(tmp_path, side):
    rng = np.random.default_rng(11)
    radii, turn, at = np.array([0.35, 0.2, 0.27]), [0.4, -0.2, 0.7], [0.1, 0.2, -0.1]
    X, step, count = rotations_of(turn), 1e-5, 0
    for _ in range(4):
        a = rng.normal(size=3)
        b = 0.3 * rng.normal(size=3) - a
        obstacle = {"body": "link", "ellipsoid": radii.tolist(), "at": {"xyz": at, "rpy": turn}}
        if side is not None:
            obstacle["side"] = side
        path = [
            {"body": "world", "point": a.tolist()},
            obstacle,
            {"body": "world", "point": b.tolist()},
        ]
        angles = np.linspace(-3, 3, 12)
        near = np.concatenate([angles, angles - step, angles + step])
        length, slope = lengths_and_slopes(tmp_path, link([0, 0.6, 0.8]) + distance(path), near)
        length, below, above = length.reshape(3, -1)
        straight = np.linalg.norm(b - a)
        for k in np.flatnonzero(length > straight * (1 + 1e-12)):
            R = rotation(angles[k] * np.array([0, 0.6, 0.8]))
            ends = [X.T @ (R.T @ p - np.array(at)) for p in (a, b)]
            named = None if side is None else np.array(side)
            A, B = (end / radii for end in ends)
            if -0.95 * np.linalg.norm(A) * np.linalg.norm(B) > A @ B:
                continue  # several paths are about as short
            wanted = wrapping.over_ellipsoid(*ends, radii, named)
            np.testing.assert_allclose(length[k], wanted, atol=1e-10)
            np.testing.assert_allclose(slope[k], (above[k] - below[k]) / (2 * step), atol=1e-8)
            count += 1
    assert count > 5


@pytest.mark.parametrize("kind", ["cylinder", "sphere"])
def test_lengths_through_a_moving_ring_are_those_of_the_oracle(tmp_path, kind):
    """Where the straight line passes through the inside the path is straight, elsewhere it bends at the surface."""
    rng = np.random.default_rng(6)
    radius, turn, at = 0.25, [0.4, -0.2, 0.7], [0.1, 0.2, -0.1]
    through = getattr(wrapping, f"through_{kind}")
    bends = []
    for _ in range(6):
        a = rng.normal(size=3)
        b = 0.3 * rng.normal(size=3) - a
        ring = {"body": "link", kind: radius, "at": {"xyz": at, "rpy": turn}, "inside": True}
        path = [
            {"body": "world", "point": a.tolist()},
            ring,
            {"body": "world", "point": b.tolist()},
        ]
        angles = rng.uniform(-3, 3, 12)
        length, slope = lengths_and_slopes(tmp_path, link([0, 0.6, 0.8]) + distance(path), angles)
        X = rotations_of(turn)

        def expected(q, ends=(a, b), X=X):
            R = rotation(q * np.array([0, 0.6, 0.8]))
            return through(*(X.T @ (R.T @ p - np.array(at)) for p in ends), radius)

        wanted = np.array([expected(q) for q in angles])
        np.testing.assert_allclose(length, wanted, rtol=1e-12)
        step = 1e-5
        slopes = [(expected(q + step) - expected(q - step)) / (2 * step) for q in angles]
        np.testing.assert_allclose(slope, slopes, atol=1e-8)
        bends += (wanted > np.linalg.norm(b - a) * (1 + 1e-9)).tolist()
    assert 10 < sum(bends) < len(bends)


@pytest.mark.parametrize("side", [None, [0.1, 0.9, 0.2]])
def test_slopes_of_a_force_over_a_moving_ellipsoid_are_those_of_its_differences(tmp_path, side):
    obstacle = {"body": "o", "ellipsoid": [0.35, 0.2, 0.27], "at": {"rpy": [0.4, -0.2, 0.7]}}
    path = [
        {"body": "world", "point": [-0.8, 0.1, 0.05]},
        obstacle if side is None else {**obstacle, "side": side},
        {"body": "a", "point": [0.7, -0.05, 0.1]},
    ]
    inertia = {"xx": 1, "yy": 1, "zz": 1}
    text = "".join(
        table("body", name=name, mass=1, inertia=inertia)
        + table("joint", name=f"{name}/free", type="free", child=name)
        for name in ("a", "o")
    )
    keys = {"stiffness": 3.0, "rest_length": 0.5, "damping": 0.4}
    text += table("force", name="spring", type="path_spring", path=path, **keys)
    model = scene_of(tmp_path, text + simulation("rk4")).model
    rng, step = np.random.default_rng(0), 1e-6
    for _ in range(4):
        q, v = model.integrate(model.neutral(), 0.15 * rng.normal(size=12)), rng.normal(size=12)

        def force(dq, dv, q=q, v=v):
            return pysim.passive_forces(model, model.integrate(q, dq), v + dv)

        zero = np.zeros(12)
        by_q, by_v = pysim.passive_force_derivatives(model, q, v)
        for k, e in enumerate(step * np.eye(12)):
            slope = (force(e, zero) - force(-e, zero)) / (2 * step)
            np.testing.assert_allclose(by_q[:, k], slope, atol=1e-7)
            slope = (force(zero, e) - force(zero, -e)) / (2 * step)
            np.testing.assert_allclose(by_v[:, k], slope, atol=1e-8)


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid"])
def test_wrapped_lengths_have_the_same_bits_alone_and_in_a_batch(tmp_path, kind):
    """A single world computes several rules of a geodesic at once, a pack one after the other."""
    size = [0.35, 0.2, 0.27] if kind == "ellipsoid" else 0.25
    obstacle = {
        "body": "link",
        kind: size,
        "at": {"xyz": [0.1, 0.2, -0.1], "rpy": [0.4, -0.2, 0.7]},
    }
    ends = ([-0.9, 0.3, 0.1], [0.8, 0.35, -0.2])
    path = [{"body": "world", "point": ends[0]}, obstacle, {"body": "world", "point": ends[1]}]
    text = link([0, 0.6, 0.8]) + distance(path)
    angles = np.linspace(-3, 3, 37)
    together = lengths_and_slopes(tmp_path, text, angles)
    alone = [lengths_and_slopes(tmp_path, text, [angle]) for angle in angles]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))
    straight = np.linalg.norm(np.subtract(*ends))
    assert (together[0] > straight * (1 + 1e-9)).sum() > 3


def test_strands_count_as_often_as_their_multiplicity(tmp_path):
    """L = 2 (3 |AB| + |DE|): parts count by their end's number, the part to D not at all, and all of it twice."""
    A, B, D, E = [0.0, 1.0, 0.2], [0.5, 0.1, 0.0], [0.0, -1.0, 0.0], [0.3, 0.2, -0.1]
    path = [
        {"body": "world", "point": A},
        {"body": "link", "point": B, "multiplicity": 3},
        {"body": "world", "point": D, "multiplicity": 0},
        {"body": "link", "point": E},
    ]
    sensor = table("sensor", name="rope", type="distance", path=path, multiplicity=2.0)
    angles = np.array([-0.7, 0.1, 1.3])
    length, slope = lengths_and_slopes(tmp_path, link([0, 0, 1]) + sensor, angles)
    for k, angle in enumerate(angles):
        R = rotation(angle * np.array([0, 0, 1.0]))
        rates = [np.cross([0, 0, 1], R @ p) for p in (B, E)]
        d = [R @ np.array(B) - A, R @ np.array(E) - D]
        l_ab, l_de = np.linalg.norm(d, axis=1)
        np.testing.assert_allclose(length[k], 2 * (3 * l_ab + l_de), rtol=1e-14)
        wanted = 2 * (3 * d[0] @ rates[0] / l_ab + d[1] @ rates[1] / l_de)
        np.testing.assert_allclose(slope[k], wanted, rtol=1e-13)


def test_a_block_and_tackle_of_one_strand_with_a_multiplicity(tmp_path):
    """A rope of stiffness k with n strands, all alike, holds n T: the block oscillates with ω² = n² k/m."""
    path = [{"body": "world", "point": [0, 0, 1.0]}, {"body": "load"}]
    text = "gravity = [0, 0, 0]\n" + table(
        "body", name="load", mass=2.0, inertia=dict.fromkeys(("xx", "yy", "zz"), 1)
    )
    text += table("joint", name="x", type="prismatic", child="load", start={"q": -0.1})
    text += table(
        "force",
        name="rope",
        type="path_spring",
        path=path,
        multiplicity=4,
        stiffness=50.0,
        rest_length=4.0,
    )
    whole, rows = run_at(tmp_path, text, np.array([0.1, 0.35]), step=1e-4)
    omega = 4 * np.sqrt(50.0 / 2.0)
    np.testing.assert_allclose(
        whole.q[rows, 0], -0.1 * np.cos(omega * np.array([0.1, 0.35])), atol=1e-9
    )


def rotations_of(rpy):
    """Return the rotation matrix of roll, pitch and yaw."""
    x, y, z = (rotation(angle * axis) for angle, axis in zip(rpy, np.eye(3), strict=True))
    return z @ y @ x


def test_a_conditional_point_counts_within_its_range(tmp_path):
    when = {"coordinate": "hinge", "above": -0.5, "below": 1.0}
    path = [
        {"body": "world", "point": [-1.0, 0.0, 0.0]},
        {"body": "link", "point": [0.2, 0.0, 0.3], "when": when},
        {"body": "link", "point": [1.0, 0.0, 0.0]},
    ]
    angles = np.array([-0.7, -0.5, 0.0, 0.9, 1.0, 1.1])
    length, slope = lengths_and_slopes(tmp_path, link([0, 1, 0]) + distance(path), angles)
    for k, angle in enumerate(angles):
        A = np.array([-1.0, 0, 0])
        R = rotation(angle * np.array([0, 1, 0]))
        points = [np.array([0.2, 0, 0.3]), np.array([1.0, 0, 0])]
        first = points[0 if -0.5 <= angle <= 1.0 else 1]
        d = R @ first - A
        wanted = np.linalg.norm(d) + np.linalg.norm(points[1] - first)
        np.testing.assert_allclose(length[k], wanted, rtol=1e-14)
        rate = d @ np.cross([0, 1, 0], R @ first) / np.linalg.norm(d)
        np.testing.assert_allclose(slope[k], rate, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "obstacle",
    [
        {"body": "link", "sphere": 0.2, "at": [0.1, 0.0, 0.05]},
        {"body": "link", "ellipsoid": [0.1, 0.25, 0.2], "at": [0.1, 0.0, 0.05]},
        {"body": "link", "sphere": 0.1, "at": [0.1, 0.3, 0.05], "inside": True},
        {"body": "link", "cylinder": 0.1, "at": [0.1, 0.3, 0.05], "inside": True},
    ],
    ids=["over a sphere", "over an ellipsoid", "through a sphere", "through a cylinder"],
)
def test_a_spring_along_a_moving_obstacle_keeps_energy(tmp_path, obstacle):
    path = [
        {"body": "world", "point": [-0.6, 0.1, 0.1]},
        obstacle,
        {"body": "world", "point": [0.7, -0.1, 0.1], "multiplicity": 1.5},
    ]
    text = link([0, 0.6, 0.8], (0.2, 1.0)) + table(
        "force", name="spring", type="path_spring", path=path, stiffness=40.0, rest_length=1.0
    )
    run = pysim.simulate(
        scene_of(tmp_path, text + simulation("dopri5", duration=2.0, interval=0.1))
    )
    assert np.ptp(run.elastic) > 0.05
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-7)


OBSTACLE = '{ body = "link", sphere = 0.1 }'
POINT = '{ body = "world" }'


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (
            f"[{OBSTACLE}, {POINT}]",
            "is an obstacle, but not between two points; put a point before and after it",
        ),
        (
            f'[{POINT}, {{ body = "link", sphere = 0.1, cylinder = 0.1 }}, {POINT}]',
            "has sphere and cylinder; keep one of them",
        ),
        (
            f'[{POINT}, {{ body = "link", side = [0, 0, 1] }}]',
            "has side, which belongs to a sphere or cylinder; give its radius",
        ),
        (
            f'[{POINT}, {{ body = "link", at = [0, 0, 1] }}]',
            "has at, which belongs to a sphere or cylinder; give its radius, or write the place of a point as point",
        ),
        (
            f'[{POINT}, {{ body = "link", inside = true }}]',
            "has inside, which belongs to a sphere or cylinder; give its radius",
        ),
        (
            f'[{POINT}, {{ body = "link", ellipsoid = [1, 2, 1], inside = true }}, {POINT}]',
            "has inside, which belongs to a sphere or cylinder; give its radius",
        ),
        (
            f'[{POINT}, {{ body = "link", sphere = 0.1, inside = true, side = [0, 0, 1] }}, {POINT}]',
            "has side and inside; keep one of them",
        ),
        (
            f'[{POINT}, {{ body = "link", sphere = 0.1, multiplicity = 2 }}, {POINT}]',
            "has multiplicity, which belongs to a point that always counts; give it to the point after this one",
        ),
        (
            '[{ body = "world", multiplicity = 2 }, { body = "link" }]',
            "the first point has a multiplicity, and no part of the path is before it; remove it",
        ),
        (
            f'[{POINT}, {{ body = "link", when = {{ coordinate = "hinge" }} }}, {POINT}]',
            "has no range; give above, below or both",
        ),
    ],
)
def test_wrong_parts_of_a_path_are_reported(tmp_path, path, problem):
    text = link([0, 1, 0]) + f'[[sensor]]\nname = "rope"\ntype = "distance"\npath = {path}\n'
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text)
    assert problem in str(caught.value)


@pytest.mark.parametrize("side", [None, [0.0, 1.0, 0.0]])
def test_a_cylinder_is_not_touched_beyond_both_of_its_ends(tmp_path, side):
    """The path over an endless cylinder where a point of contact is between the ends, else the straight line."""
    rng, radius, long = np.random.default_rng(9), 0.3, 0.8
    angles = np.linspace(-0.6, 0.6, 9)
    counts = [0, 0]
    for _ in range(4):
        a, b = np.array([-1.0, 0.1, 0.0]), np.array([1.1, 0.05, 0.0])
        a[2], b[2] = rng.uniform(-0.9, 0.9, 2)
        obstacle = {"body": "link", "cylinder": radius, "length": long}
        if side is not None:
            obstacle["side"] = side
        ends = [{"body": "world", "point": p.tolist()} for p in (a, b)]
        path = [ends[0], obstacle, ends[1]]
        length, slope = lengths_and_slopes(tmp_path, link([0, 1, 0]) + distance(path), angles)
        for k, angle in enumerate(angles):
            R = rotation(angle * np.array([0, 1, 0]))
            first, last = R.T @ a, R.T @ b
            parts = wrapping.around_circle(first[:2], last[:2], radius, None)
            assert parts is not None
            rise = (last[2] - first[2]) / sum(parts)
            heights = first[2] + rise * parts[0], last[2] - rise * parts[1]
            is_touched = min(map(abs, heights)) <= long / 2
            counts[int(is_touched)] += 1
            wanted = wrapping.over_cylinder(first, last, radius)
            wanted = wanted if is_touched else float(np.linalg.norm(b - a))
            np.testing.assert_allclose(length[k], wanted, rtol=1e-12)
            assert is_touched or abs(slope[k]) < 1e-12
    assert min(counts) > 5


def test_a_length_without_a_cylinder_is_reported(tmp_path):
    ends = [{"body": "world", "point": [x, 0.0, 0.5]} for x in (-1.0, 1.0)]
    for obstacle in ({"sphere": 0.1}, {"cylinder": 0.1, "inside": True}):
        part = {"body": "link", "length": 0.5, **obstacle}
        with pytest.raises(
            SceneError, match="has length, which belongs to a cylinder to wrap over"
        ):
            scene_of(tmp_path, link([0, 1, 0]) + distance([ends[0], part, ends[1]]))
