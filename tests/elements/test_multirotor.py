"""Control of multirotors. Oracle: the statics and the linear dynamics of a hovering body."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import constant, scene_of, simulation, table

RING = [[np.cos(k * np.pi / 3), np.sin(k * np.pi / 3)] for k in range(6)]
KEYS = {
    "mass": 2.0,
    "inertia": [0.03, 0.04, 0.06],
    "thrust": 2e-5,
    "torque": 4e-7,
    "position_gains": [2.0, 2.5],
    "attitude_gains": [60.0, 14.0],
}


def multirotor(rotors, spins, target=(0.0, 0.0, 0.0), **more):
    """Return a multirotor whose rotors are propellers."""
    I = dict(zip(("xx", "yy", "zz"), KEYS["inertia"], strict=True))
    text = "gravity = [0, 0, -9.81]\n" + table("body", name="hull", mass=2.0, inertia=I)
    text += table("joint", name="flight", type="free", child="hull")
    text += constant("there", list(target), "m")
    text += table("sensor", name="place", type="pose", frame="hull")
    text += table("sensor", name="motion", type="twist", frame="hull", axes="base")
    text += table("sensor", name="gyroscope", type="twist", frame="hull")
    inputs = [
        "there",
        "place.position",
        "place.orientation",
        "motion.velocity",
        "gyroscope.rate",
    ]
    keys = {"rotors": rotors, "spins": spins} | KEYS | more
    text += table("controller", name="pilot", type="multirotor", inputs=inputs, **keys)
    for k, ((x, y), spin) in enumerate(zip(rotors, spins, strict=False)):
        text += table(
            "force",
            name=f"rotor {k}",
            type="propeller",
            b="hull",
            at_b=[float(x), float(y), 0.0],
            thrust=2e-5,
            torque=4e-7 * spin,
            speed=f"pilot[{k}]",
        )
    return text


@pytest.mark.parametrize(
    ("rotors", "spins"),
    [
        ([[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2], [0.2, -0.2]], [1, -1, 1, -1]),
        (np.round(RING, 6).tolist(), [1, -1, 1, -1, 1, -1]),
    ],
)
def test_a_multirotor_climbs_as_its_position_gains_say(tmp_path, rotors, spins):
    """Straight up, z'' = k_p (1 − z) − k_v z'."""
    text = multirotor(rotors, spins, target=(0.0, 0.0, 1.0))
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=4.0, interval=0.5)))
    a, w = 1.25, np.sqrt(2 - 1.25**2)
    z = 1 - np.exp(-a * run.t) * (np.cos(w * run.t) + a / w * np.sin(w * run.t))
    np.testing.assert_allclose(run.q[:, 2], z, atol=1e-8)
    np.testing.assert_allclose(run.q[:, :2], 0, atol=1e-9)
    hover = np.sqrt(2 * 9.81 / (len(rotors) * 2e-5))
    np.testing.assert_allclose(run.signals["pilot"][-1], hover, rtol=0.02)


def test_a_multirotor_turns_to_its_heading_and_returns_to_its_place(tmp_path):
    rotors = [[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2], [0.2, -0.2]]
    text = multirotor(rotors, [1, -1, 1, -1], heading=0.8).replace(
        'child = "hull"', 'child = "hull"\nstart = { xyz = [0.5, -0.4, 0.2], rpy = [0.9, -0.5, 0] }'
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=10.0, interval=10.0)))
    np.testing.assert_allclose(run.q[-1, :3], 0, atol=2e-3)
    half = [0, 0, np.sin(0.4), np.cos(0.4)]
    np.testing.assert_allclose(run.q[-1, 3:], half, atol=2e-3)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"spins": [1, -1, 1]}, "must have one number for each rotor, got 3 for 4"),
        ({"spins": [1, 1, 1, 1]}, "do not produce a thrust and three torques independently"),
        ({"mass": 0.0}, "mass: must be positive"),
    ],
)
def test_impossible_numbers_of_a_multirotor_are_rejected(tmp_path, keys, message):
    rotors = [[0.2, 0.2], [-0.2, 0.2], [-0.2, -0.2], [0.2, -0.2]]
    text = multirotor(rotors, **({"spins": [1, -1, 1, -1]} | keys))
    with pytest.raises(pysim.SceneError, match=message):
        scene_of(tmp_path, text + simulation())
