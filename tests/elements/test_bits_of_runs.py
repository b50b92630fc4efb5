"""Runs that must not differ: with and without the energy ledger, and sensors that nothing reads; in one piece and in
several.

Oracles: the run without the ledger, or without the sensors, bit for bit; the run in one piece, to the rounding of its
times.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.elements.blocks import FIXED, constant, disc, motor, scene_of, simulation, table

TIMED = '''
import numpy as np
from pysim.forces import Force, force


@force("NAME")
class Timed(Force):
    """A force that depends on time."""

    size: float

    def force(self, q, v, t):
        return [self.size * np.sin(3 * t)]
'''
PARTS = {
    "lugre": table(
        "force",
        name="lugre",
        type="lugre_friction",
        coordinates=["hinge"],
        kinetic=0.1,
        static=0.15,
        stribeck_speed=0.1,
        bristle_stiffness=100.0,
        bristle_damping=0.5,
        viscous=0.01,
    ),
    "timed": table("force", name="timed", type="NAME", coordinates=["hinge"], size=0.7),
    "spring": table(
        "force",
        name="spring",
        type="table_spring",
        coordinates=["hinge"],
        stretch=[-1.0, 1.0],
        pull=[-1.3, 1.3],
        damping=0.02,
    ),
    "pd": constant("aim", 0.3, "rad")
    + table(
        "controller", name="pd", type="pd", inputs=["aim", "angle.q", "angle.v"], kp=4.0, kd=0.2
    )
    + motor("pd"),
}
TIP = [0.3, 0.1, 0.02]
ROPE = [{"body": "world", "point": [1.0, 0.4, 0.8]}, {"body": "fore", "point": TIP}]
WALL = [{"body": "world", "point": [0.2, -0.1, -1.0]}, {"body": "upper", "point": TIP}]
ARM = (
    "".join(table("body", name=name, mass=1.0, com=[0.2, 0, 0]) for name in ("upper", "fore"))
    + table("joint", name="shoulder", type="ball", child="upper", start={"v": [0.3, -0.2, 0.5]})
    + table(
        "joint", name="elbow", type="revolute", parent="upper", child="fore", at={"xyz": TIP}, axis=[0, 1, 0]
    )
    + table("sensor", name="tip", type="pose", frame="fore", at={"xyz": TIP})
    + table("sensor", name="span", type="distance", path=WALL)
    + table("controller", name="pull", type="gain", inputs=["span.rate"], gain=-1.0, unit="N·m")
    + table("controller", name="taut", type="gain", inputs=["tip.position.x"], gain=0.5, unit="m")
    + table("actuator", name="motor", type="force", joint="elbow", command="pull")
    + table("actuator", name="rope", type="rope_winch", path=ROPE, command="taut", stiffness=20.0, damping=0.2)
)  # fmt: skip
UNREAD = (
    table("sensor", name="a", type="twist", frame="fore")
    + table("sensor", name="b", type="distance", path=ROPE)
    + table("sensor", name="c", type="imu", frame="upper", at={"xyz": TIP})
    + table("sensor", name="z", type="pose", frame="upper", relative_to="fore")
)


@pytest.mark.parametrize("integrator", [*FIXED, "convex", "dopri5"])
def test_sensors_that_nothing_reads_change_no_bit_of_the_motion(
    tmp_path: Path, integrator: str
) -> None:
    run = simulation(integrator, duration=0.1, interval=0.01) + "work = true\n"
    full, bare = (
        pysim.simulate(scene_of(tmp_path, text + run))
        for text in (UNREAD + ARM + UNREAD.replace('name = "', 'name = "y'), ARM)
    )
    assert np.abs(np.diff(bare.signals["pull"])).max() > 1e-3
    np.testing.assert_array_equal(full.q, bare.q)
    np.testing.assert_array_equal(full.v, bare.v)
    for name in bare.signals:
        np.testing.assert_array_equal(full.signals[name], bare.signals[name], name)
    for name in full.signals:
        np.testing.assert_array_equal(full.signals[name], full.signals[name.removeprefix("y")])


@pytest.mark.parametrize("parts", [("lugre", "timed"), ("timed", "spring", "pd"), tuple(PARTS)])
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "implicit_midpoint", "convex"])
def test_the_ledger_changes_no_bit_of_the_motion(
    tmp_path: Path, integrator: str, parts: tuple[str, ...]
) -> None:
    kind = tmp_path.name
    (tmp_path / "timed.py").write_text(TIMED.replace("NAME", kind), "utf-8")
    text = 'plugins = ["timed.py"]\n' + disc(q=0.5, damping=0.013)
    text += "".join(PARTS[part].replace("NAME", kind) for part in parts)
    runs = []
    for work in ("true", "false"):
        run = simulation(integrator, step=2e-4, duration=0.3) + f"work = {work}\n"
        (tmp_path / "s.toml").write_text(text + run, "utf-8")
        runs.append(pysim.load_scene(tmp_path / "s.toml", allow_code=True))
    with_work, without = (pysim.simulate(scene) for scene in runs)
    rolled = pysim.rollout(runs[0])
    for other in (without, rolled):
        np.testing.assert_array_equal(with_work.q, other.q)
        np.testing.assert_array_equal(with_work.v, other.v)


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("period", [0.01, 0.015])
@pytest.mark.parametrize("integrator", [*FIXED, "convex"])
def test_a_rollout_with_sampled_control_continues_as_if_it_had_not_stopped(
    tmp_path: Path, integrator: str, period: float, noise: bool
) -> None:
    measured = "noisy" if noise else "angle.q"
    text = disc(q=0.5) + constant("aim", 0.0, "rad")
    text += table(
        "sensor", name="noisy", type="noisy", inputs=["angle.q"], deviation=0.01, period=period
    )
    text += table(
        "controller",
        name="pd",
        type="pd",
        inputs=["aim", measured, "angle.v"],
        kp=4.0,
        kd=0.2,
        period=period,
    )
    text += table("controller", name="slow", type="low_pass", inputs=["pd"], time_constant=0.1)
    scene = scene_of(tmp_path, text + motor("pd") + simulation(integrator, step=1e-3))
    whole = pysim.rollout(scene, steps=240, every=20)
    q, v, state, parts = scene.state.q, scene.state.v, None, []
    for _ in range(4):
        part = pysim.rollout(scene, q, v, steps=60, every=20, state=state)
        q, v, state = part.q[-1], part.v[-1], part.state
        parts.append(part.q[1:])
    np.testing.assert_allclose(np.concatenate(parts), whole.q[1:], rtol=0, atol=1e-13)
