"""Paths through the hole of a torus, and over several obstacles between two points.

Oracle: tests/oracles/wrapping.py. Slopes and second derivatives are compared with differences of lengths and forces.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from tests.elements.blocks import scene_of, simulation, table
from tests.elements.reference_cases import rotation
from tests.elements.test_wrapping import distance, lengths_and_slopes, link, rotations_of
from tests.oracles import wrapping

AXIS = np.array([0, 0.6, 0.8])
SIXTH = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60  # weights of a difference of sixth order


def by_differences(tmp_path, text, angles, step=2e-3):
    """Return the derivative of the length of the path `rope` by the angle, from lengths."""
    around = np.concatenate([angles + k * step for k in range(-3, 4)])
    lengths = lengths_and_slopes(tmp_path, text, around)[0].reshape(7, -1)
    return SIXTH @ lengths / step


@pytest.mark.parametrize(("R", "r"), [(0.3, 0.06), (0.2, 0.09), (0.4, 0.05)])
def test_lengths_through_the_hole_of_a_torus_are_those_of_the_oracle(tmp_path, R, r):
    rng = np.random.default_rng(3)
    turn, at = [0.4, -0.2, 0.7], np.array([0.1, 0.2, -0.1])
    X, bends = rotations_of(turn), 0
    for _ in range(3):
        way = np.array([*rng.uniform(-0.5, 0.5, 2), 1.0])
        bearing, share = rng.uniform(0, 2 * np.pi), rng.uniform(0.8, 1.1)
        through = share * R * np.array([np.cos(bearing), np.sin(bearing), 0.0])
        a, b = (at + X @ (through + s * way) for s in (0.9, -1.2))
        path = [
            {"body": "world", "point": a.tolist()},
            {"body": "link", "torus": [R, r], "at": {"xyz": at.tolist(), "rpy": turn}},
            {"body": "world", "point": b.tolist()},
        ]
        angles = rng.uniform(-0.05, 0.05, 2)
        text = link(AXIS) + distance(path)
        length, slope = lengths_and_slopes(tmp_path, text, angles)
        difference = by_differences(tmp_path, text, angles)
        for k, angle in enumerate(angles):
            ends = [X.T @ (rotation(angle * AXIS).T @ p - at) for p in (a, b)]
            wanted = wrapping.through_torus(*ends, R, r)
            assert length[k] == pytest.approx(wanted, abs=1e-9)
            if abs(length[k] - np.linalg.norm(b - a)) > 1e-3:
                assert slope[k] == pytest.approx(difference[k], abs=1e-8)
                bends += 1
    assert bends > 2


CHAINS = {
    "two cylinders": [
        ({"cylinder": 0.2, "at": {"xyz": [-0.4, -0.08, 0], "rpy": [0.2, 0.1, 0]}}, "cylinder"),
        ({"cylinder": 0.15, "at": {"xyz": [0.4, -0.06, 0], "rpy": [-0.1, 0.2, 0]}}, "cylinder"),
    ],
    "two cylinders on named sides": [
        ({"cylinder": 0.2, "at": {"xyz": [-0.4, 0.1, 0]}, "side": [0, 1, 0]}, "cylinder"),
        ({"cylinder": 0.2, "at": {"xyz": [0.4, -0.1, 0]}, "side": [0, -1, 0]}, "cylinder"),
    ],
    "a sphere and an ellipsoid": [
        ({"sphere": 0.2, "at": {"xyz": [-0.4, -0.08, 0]}}, "sphere"),
        ({"ellipsoid": [0.2, 0.15, 0.3], "at": {"xyz": [0.35, -0.06, 0.05]}}, "ellipsoid"),
    ],
    "a cylinder and a torus": [
        ({"cylinder": 0.2, "at": {"xyz": [-0.4, 0.05, 0], "rpy": [0.2, 0.1, 0]}}, "cylinder"),
        ({"torus": [0.12, 0.03], "at": {"xyz": [0.4, 0.35, 0.05], "rpy": [0, 1.5, 0]}}, "torus"),
    ],
    "three obstacles": [
        ({"cylinder": 0.2, "at": {"xyz": [-0.6, -0.1, 0]}, "side": [0, 1, 0]}, "cylinder"),
        ({"sphere": 0.2, "at": {"xyz": [0.0, 0.15, 0.05]}}, "sphere"),
        ({"cylinder": 0.15, "at": {"xyz": [0.55, -0.1, 0]}, "side": [0, 1, 0]}, "cylinder"),
    ],
}


def length_over(obstacle, kind):
    """Return the length of a path over an obstacle between two points of its body's frame."""
    pose = obstacle["at"]
    X, at = rotations_of(pose.get("rpy", [0, 0, 0])), np.array(pose["xyz"])
    side = None if "side" not in obstacle else np.array(obstacle["side"], float)

    def length(a, b):
        ends = X.T @ (a - at), X.T @ (b - at)
        if kind == "torus":
            return wrapping.through_torus(*ends, *obstacle["torus"])
        if kind == "ellipsoid":
            return wrapping.over_ellipsoid(*ends, np.array(obstacle["ellipsoid"]), side)
        return getattr(wrapping, f"over_{kind}")(*ends, obstacle[kind], side)

    return length


def chain_path(parts, a, b):
    return [
        {"body": "world", "point": a.tolist()},
        *({"body": "link", **part} for part, _ in parts),
        {"body": "world", "point": b.tolist()},
    ]


@pytest.mark.parametrize("name", CHAINS)
def test_lengths_over_several_obstacles_are_the_least_of_the_oracle(tmp_path, name):
    parts = CHAINS[name]
    a, b = np.array([-1.2, 0.1, -0.1]), np.array([1.1, -0.05, 0.1])
    text = link(AXIS) + distance(chain_path(parts, a, b))
    angles = np.array([-0.1, 0.0, 0.03, 0.12])  # no contact begins within a difference
    length, slope = lengths_and_slopes(tmp_path, text, angles)
    difference = by_differences(tmp_path, text, angles)
    assert np.abs(slope - difference).max() < 1e-9
    lengths = [length_over(*part) for part in parts]
    centres = [np.array(part["at"]["xyz"], float) for part, _ in parts]
    lifted = [
        c + np.array([0, {"torus": 0.0}.get(kind, 0.2 * np.sign(part.get("side", [0, 1])[1])), 0])
        for c, (part, kind) in zip(centres, parts, strict=True)
    ]
    between = np.array([0.5 * (p + q) for p, q in pairwise(lifted)])
    slow = any(kind in {"torus", "ellipsoid"} for _, kind in parts)
    for k in range(1 if slow else len(angles)):
        R = rotation(angles[k] * AXIS)
        wanted = wrapping.over_several(R.T @ a, R.T @ b, lengths, between)
        assert length[k] == pytest.approx(wanted, abs=1e-9)
        assert length[k] > np.linalg.norm(b - a) + 1e-4


def test_an_obstacle_of_several_that_the_path_misses_changes_nothing(tmp_path):
    parts = CHAINS["two cylinders"]
    a, b = np.array([-1.2, 0.1, -0.1]), np.array([1.1, -0.05, 0.1])
    angles = np.linspace(-0.3, 0.3, 7)
    for away in (0, 1):
        moved = [dict(part) for part, _ in parts]
        moved[away]["at"] = {"xyz": [0.8 * away - 0.4, 3.0, 0]}
        both = chain_path([(part, "") for part in moved], a, b)
        alone = chain_path([parts[1 - away]], a, b)
        found = lengths_and_slopes(tmp_path, link(AXIS) + distance(both), angles)
        wanted = lengths_and_slopes(tmp_path, link(AXIS) + distance(alone), angles)
        assert np.allclose(found, wanted, rtol=0, atol=1e-12)


def test_a_path_of_several_obstacles_is_smooth_where_it_comes_off_one(tmp_path):
    parts = [({**part, "side": [0, 1, 0]}, kind) for part, kind in CHAINS["two cylinders"]]
    a, b = np.array([-1.2, 0.1, -0.1]), np.array([1.1, -0.05, 0.1])
    angles = np.linspace(-1.0, 1.0, 401)
    text = link([0, 0, 1]) + distance(chain_path(parts, a, b))
    length, slope = lengths_and_slopes(tmp_path, text, angles)
    h = angles[1] - angles[0]
    hermite = 0.5 * (slope[1:] + slope[:-1]) * h  # exact to h³ of the third derivative
    assert np.abs(np.diff(length) - hermite).max() < 2e-5
    assert np.abs(np.diff(slope)).max() < 0.02


@pytest.mark.parametrize("name", ["a torus", *CHAINS])
def test_slopes_of_a_force_over_moving_obstacles_are_those_of_its_differences(tmp_path, name):
    torus = {"torus": [0.2, 0.06], "at": {"xyz": [0.0, 0.18, 0.05], "rpy": [0.1, 1.5, 0]}}
    parts = CHAINS.get(name, [(torus, "torus")])
    bodies = ["a", *(f"o{k}" for k in range(len(parts)))]
    path = [
        {"body": "world", "point": [-1.2, 0.1, -0.1]},
        *({"body": f"o{k}", **part} for k, (part, _) in enumerate(parts)),
        {"body": "a", "point": [1.1, -0.05, 0.1]},
    ]
    inertia = {"xx": 1, "yy": 1, "zz": 1}
    text = "".join(
        table("body", name=body, mass=1, inertia=inertia)
        + table("joint", name=f"{body}/free", type="free", child=body)
        for body in bodies
    )
    keys = {"stiffness": 3.0, "rest_length": 0.5, "damping": 0.4}
    text += table("force", name="spring", type="path_spring", path=path, **keys)
    model = scene_of(tmp_path, text + simulation("rk4")).model
    rng, step, n = np.random.default_rng(0), 1e-6, model.nv
    for _ in range(3):
        q = model.integrate(model.neutral(), 0.03 * rng.normal(size=n))
        v = rng.normal(size=n)

        def force(dq, dv, q=q, v=v):
            return pysim.passive_forces(model, model.integrate(q, dq), v + dv)

        zero = np.zeros(n)
        by_q, by_v = pysim.passive_force_derivatives(model, q, v)
        for k, e in enumerate(step * np.eye(n)):
            slope = (force(e, zero) - force(-e, zero)) / (2 * step)
            np.testing.assert_allclose(by_q[:, k], slope, atol=1e-6)
            slope = (force(zero, e) - force(zero, -e)) / (2 * step)
            np.testing.assert_allclose(by_v[:, k], slope, atol=1e-8)


def test_a_spring_over_several_moving_obstacles_keeps_energy(tmp_path):
    parts = CHAINS["three obstacles"]
    path = chain_path(parts, np.array([-1.2, 0.1, -0.1]), np.array([1.1, -0.05, 0.1]))
    text = link([0, 0.6, 0.8], (0.0, 0.3)) + table(
        "force", name="spring", type="path_spring", path=path, stiffness=2.0, rest_length=2.0
    )
    run = pysim.simulate(
        scene_of(tmp_path, text + simulation("dopri5", duration=0.3, interval=0.05))
    )
    assert np.ptp(run.elastic) > 1e-3
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-6)


POINT = '{ body = "world" }'
BALL = '{ body = "link", sphere = 0.1 }'
SIDED = '{ body = "link", sphere = 0.1, side = [1, 0, 0] }'


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        ('{ body = "link", torus = [0.1, 0.2] }', "a tube as thick as its ring"),
        ('{ body = "link", torus = [0.1, 0.1] }', "give a tube below 0.1 [m]"),
        ('{ body = "link", torus = [0.1] }', "must have 2 numbers"),
        (
            '{ body = "link", torus = [0.1, 0.01], side = [1, 0, 0] }',
            "passes through the hole of a torus; remove side",
        ),
        (
            '{ body = "link", torus = [0.1, 0.01], inside = true }',
            "belongs to a sphere or cylinder",
        ),
        (f"{BALL}, {SIDED}", "path[2].side"),
        (
            f'{SIDED}, {{ body = "link", cylinder = 0.1 }}',
            "is that of a sphere or ellipsoid beside another obstacle",
        ),
        (
            f'{BALL}, {{ body = "link", ellipsoid = [0.1, 0.2, 0.1], side = [1, 0, 0] }}',
            "remove it, or put a point between the obstacles",
        ),
        (", ".join([BALL] * 5), "is obstacle 5 between two points, and there may be 4"),
        (
            f'{BALL}, {{ body = "link", when = {{ coordinate = "hinge", above = 0 }} }}',
            "has the condition `when`, but is not between two points without one",
        ),
    ],
)
def test_wrong_obstacles_are_reported(tmp_path, part, problem):
    text = link([0, 1, 0]) + table("sensor", name="rope", type="distance").rstrip()
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, f"{text}\npath = [{POINT}, {part}, {POINT}]\n")
    assert problem in str(caught.value)
