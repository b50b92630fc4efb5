"""Signals of scenes that another scene attaches. Oracle: the attached scene by itself, bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

import pysim
from pysim.forces import Force, Signal, force
from tests.elements.blocks import disc, scene_of, simulation, table

TORQUE = Signal["N·m"]


@force("commanded_torque")
class CommandedTorque(Force):
    """Torque of a signal on a coordinate."""

    torque: TORQUE  # type: ignore[valid-type]

    def force(self):
        return [self.torque]


def driven():
    """Return a disc under control, with noise, an input, a path and a force that reads a signal."""
    text = disc(q=0.5)
    text += table(
        "sensor", name="noisy", type="noisy", inputs=["angle.q"], period=0.01, deviation=0.1
    )
    text += table("signal", name="target", type="step", time=0.3, after=0.2, unit="rad")
    text += table(
        "controller", name="pd", type="pd", inputs=["target", "noisy", "angle.v"], kp=2.0, kd=0.3
    )
    text += table("actuator", name="motor", type="force", joint="hinge", command="pd")
    text += table("signal", name="wave", type="sine", amplitude=0.1, frequency=3.0, unit="N·m")
    text += table(
        "force", name="shaker", type="commanded_torque", coordinates=["hinge"], torque="wave"
    )
    path = [
        {"body": "world", "point": [-1.0, 0.0, 0.0]},
        {"body": "disc", "point": [0.1, 0.1, 0.0], "when": {"coordinate": "hinge", "above": 0.0}},
        {"body": "disc", "point": [1.0, 0.0, 0.0]},
    ]
    return text + table("sensor", name="tape", type="distance", path=path)


SIGNALS = ("noisy", "target", "pd", "wave", "tape.length")


def test_two_copies_of_a_scene_have_signals_of_their_own(tmp_path):
    (tmp_path / "disc.toml").write_text(driven(), "utf-8")
    run = simulation("rk4", duration=0.6)
    alone = pysim.simulate(scene_of(tmp_path, driven() + run))
    text = "gravity = [0, 0, 0]\n" + "".join(
        table("model", file="disc.toml", **own) for own in ({}, {"name": "left"}, {"name": "right"})
    )
    both = pysim.simulate(scene_of(tmp_path, text + run))
    assert_array_equal(both.q[:, 0], alone.q[:, 0])
    for name in SIGNALS:
        assert_array_equal(both.signals[name], alone.signals[name])
        assert both.signals[f"left/{name}"].shape == alone.signals[name].shape
    # the copies differ in their noise alone
    left, right = both.signals["left/noisy"], both.signals["right/noisy"]
    assert len(np.intersect1d(left, right)) == 0
    assert_array_equal(both.signals["left/wave"], alone.signals["wave"])
