"""Servos in closed loops, planar mechanisms, behind mimic joints and on joints of plugins.

Oracle: the spring and damper of the joint itself, which a servo with a constant command is equal to.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pysim
from pysim.joints import Joint, Pose, joint, real
from tests.elements.blocks import FIXED, simulation, table

FIVE_BAR = (Path(__file__).parents[2] / "scenes" / "five_bar.toml").read_text("utf-8")
INERTIA = {"xx": 0.1, "yy": 0.1, "zz": 0.1}


@joint("test_wave_guide")
class WaveGuide(Joint):
    """Turns about z and waves along z."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.translate(0, 0, 0.1 * np.sin(q.angle)) @ Pose.rotate_z(q.angle)


def arm(kind, **mimic):
    """Return two links; the second follows the first or is driven itself."""
    text = "gravity = [0, 0, -9.81]\n"
    for k, parent in ((1, "world"), (2, "link1")):
        text += table("body", name=f"link{k}", mass=1.0, com=[0.3, 0, 0.1], inertia=INERTIA)
        own = {"axis": [0, -1, 0]} if kind == "revolute" else {}
        if k == 2 and mimic:
            own |= {"mimic": mimic}
        at = {"xyz": [0.5 * (k - 1), 0, 0]}
        text += table(
            "joint", name=f"q{k}", type=kind, parent=parent, child=f"link{k}", at=at, **own
        )
    return text


def driven(text, joints, *, by_servo):
    """Return a scene whose joints are held by servos, or by springs of their own."""
    if not by_servo:
        for name, (kp, kd, rest) in joints.items():
            before = f'name = "{name}"\n'
            own = f"stiffness = {kp!r}\ndamping = {kd!r}\nrest = {rest!r}\n"
            assert text.count(before) == 1
            text = text.replace(before, before + own)
        return text
    for name, (kp, kd, rest) in joints.items():
        text += table("signal", name=f"target of {name}", type="constant", value=rest, unit="rad")
        text += table(
            "actuator",
            name=f"servo of {name}",
            type="position_servo",
            joint=name,
            command=f"target of {name}",
            kp=kp,
            kd=kd,
        )
    return text


def five_bar():
    text = FIVE_BAR[: FIVE_BAR.index("[[actuator]]")]
    for line in ("rest = 2.2\n", "rest = 0.94\n"):
        text = text.replace(line, "")
    lines = [x for x in text.splitlines() if not x.startswith(("stiffness", "damping", "#:schema"))]
    return "\n".join(lines) + "\n"


GAINS = (30.0, 1.5)
MECHANISMS = {
    "closed loop": (five_bar(), {"left motor": (*GAINS, 1.9), "right motor": (*GAINS, 1.2)}),
    "chain": (arm("revolute"), {"q1": (*GAINS, 0.4), "q2": (*GAINS, -0.3)}),
    "mimic": (arm("revolute", joint="q1", ratio=-1.5), {"q1": (*GAINS, 0.4)}),
    "joint plugin": (arm("test_wave_guide"), {"q1": (*GAINS, 0.4), "q2": (*GAINS, -0.3)}),
}


def scenes(tmp_path, mechanism, run):
    text, joints = MECHANISMS[mechanism]
    found = []
    for by_servo in (False, True):
        file = tmp_path / f"{by_servo}.toml"
        file.write_text(driven(text, joints, by_servo=by_servo) + run, "utf-8")
        found.append(pysim.load_scene(file))
    return found


@pytest.mark.parametrize("scheme", [*FIXED, "dopri5"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_servos_are_equal_to_springs_of_the_joints(tmp_path, mechanism, scheme):
    run = simulation(
        scheme, duration=0.3, interval=0.05, **({} if scheme == "dopri5" else {"step": 1e-3})
    )
    springs, servos = (pysim.simulate(scene) for scene in scenes(tmp_path, mechanism, run))
    assert np.abs(springs.q[-1] - springs.q[0]).max() > 0.05
    assert_allclose(servos.q, springs.q, atol=2e-10)
    assert_allclose(servos.v, springs.v, atol=2e-8)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_world_alone_has_the_bits_of_the_batch_on_any_number_of_threads(tmp_path, mechanism):
    run = simulation("semi_implicit", duration=0.05, interval=0.05, step=1e-3)
    scene = scenes(tmp_path, mechanism, run)[1]
    rng = np.random.default_rng(1)
    q0 = np.tile(scene.state.q, (11, 1))
    v0 = np.zeros((11, scene.model.nv))
    if not scene.model.rows:
        v0 += rng.normal(size=v0.shape)
    elif scene.model.nv:
        q0[:] = scene.state.q
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pysim.PysimWarning)
        batch = pysim.rollout(scene, q0, v0)
        threaded = pysim.rollout(scene, q0, v0, threads=2)
        alone = [pysim.rollout(scene, q, v) for q, v in zip(q0, v0, strict=True)]
    assert_array_equal(threaded.q, batch.q)
    assert_array_equal([one.q for one in alone], batch.q)


def test_single_precision_is_rejected(tmp_path):
    scene = scenes(tmp_path, "chain", simulation("rk4", duration=0.1))[1]
    q0 = np.zeros((2, 2), np.float32)
    with pytest.raises(pysim.errors.SimulationError) as caught:
        pysim.rollout(scene, q0, q0)
    assert str(caught.value) == "q0: 'rk4' runs in double precision only; pass float64 arrays"
