"""Inverse dynamics in controllers, at the state of the mechanism and at one of their own.

Oracle: `pysim.rnea` of the same q, v and a.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.controllers import Controller, controller, signal
from pysim.errors import PysimError
from tests.elements.blocks import FIXED, scene_of, simulation, table

if TYPE_CHECKING:
    from pathlib import Path

SPHERE = {"xx": 0.3, "yy": 0.2, "zz": 0.25}


@controller("test_reference_dynamics")
class ReferenceDynamics(Controller):
    """Forces of a reference motion, and of the accelerations alone."""

    inputs = (
        signal("q", unit="", size="n")
        * signal("v", unit="", size="k")
        * signal("a", unit="", size="m")
    )
    outputs = signal("ahead", unit="", size=5) * signal("own", unit="", size=5)

    def output(self, inputs: Any, dynamics: Any) -> Any:
        ahead = dynamics.inverse(inputs.q, inputs.v, inputs.a)
        return ahead, dynamics.inverse(inputs.a)


def mechanism(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> str:
    """Return a hinge, a ball joint, a slide, and a hinge that follows the first, with a constant reference."""
    text = ""
    joints = [("hinge", "revolute"), ("ball", "ball"), ("slide", "prismatic")]
    parent = "world"
    for name, kind in joints:
        text += table("body", name=f"{name}_body", mass=1.3, com=[0.1, 0.2, -0.1], inertia=SPHERE)
        axis = {} if kind == "ball" else {"axis": [0.6, 0.0, 0.8]}
        at = {"at": {"xyz": [0.3, 0.1, 0.2]}}
        text += table(
            "joint", name=name, type=kind, parent=parent, child=f"{name}_body", **axis, **at
        )
        parent = f"{name}_body"
    text += table("body", name="follower", mass=0.7, com=[0, 0.1, 0], inertia=SPHERE)
    follow = {"joint": "hinge", "ratio": -0.5, "offset": 0.2}
    text += table(
        "joint", name="led", type="revolute", parent=parent, child="follower", mimic=follow
    )
    for name, value in (("q", q), ("v", v), ("a", a)):
        text += table("signal", name=name, type="constant", value=value.tolist(), unit="")
    return text + table(
        "controller", name="forces", type="test_reference_dynamics", inputs=["q", "v", "a"]
    )


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5"])
def test_forces_of_a_reference_are_those_of_rnea(
    tmp_path: Path, rng: np.random.Generator, integrator: str
) -> None:
    q, v, a = rng.normal(size=6), rng.normal(size=5), rng.normal(size=5)
    q[1:5] /= np.linalg.norm(q[1:5])
    scene = scene_of(tmp_path, mechanism(q, v, a) + simulation(integrator, duration=0.2))
    run = pysim.simulate(scene)
    expected = pysim.rnea(scene.model, q, v, a)
    np.testing.assert_allclose(
        run.signals["forces.ahead"], np.tile(expected, (len(run.t), 1)), rtol=1e-12, atol=1e-12
    )
    own = pysim.rnea(scene.model, run.q, run.v, np.tile(a, (len(run.t), 1)))
    np.testing.assert_allclose(run.signals["forces.own"], own, rtol=1e-10, atol=1e-10)


def test_forces_of_worlds_that_differ_are_those_of_their_models(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    q, v, a = rng.normal(size=6), rng.normal(size=5), rng.normal(size=5)
    q[1:5] /= np.linalg.norm(q[1:5])
    scene = scene_of(tmp_path, mechanism(q, v, a) + simulation("rk4", duration=0.2))
    masses = rng.uniform(0.5, 2.0, 11)
    worlds = pysim.Worlds(scene, 11, observe=["forces.ahead"])
    worlds.parameters["body.slide_body.mass"][:] = masses
    worlds.step(steps=3)
    seen = worlds.signals["forces.ahead"]
    for k, mass in enumerate(masses):
        changed = pysim.load_scene(scene.spec.path, {"body.slide_body.mass": float(mass)})
        np.testing.assert_allclose(seen[k], pysim.rnea(changed.model, q, v, a), rtol=1e-12)


@controller("test_feedforward")
class Feedforward(Controller):
    """Forces of a reference, without feedback."""

    inputs = (
        signal("q", unit="rad", size=2)
        * signal("v", unit="rad/s", size=2)
        * signal("a", unit="rad/s^2", size=2)
    )
    outputs = signal("torque", unit="N·m", size=2)

    def output(self, inputs: Any, dynamics: Any) -> Any:
        return dynamics.inverse(inputs.q, inputs.v, inputs.a)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "implicit_midpoint"])
def test_an_arm_follows_a_known_motion_without_feedback(tmp_path: Path, integrator: str) -> None:
    """Oracle: the motion itself, 0.3 sin 2 t and 0.5 sin 2 t."""
    text, parent = "", "world"
    at: dict[str, Any] = {}
    for k in (1, 2):
        text += table("body", name=f"link{k}", mass=1.2, com=[0.2, 0, 0], inertia=SPHERE)
        keys = {"type": "revolute", "axis": [0, 1, 0], "parent": parent, "child": f"link{k}"}
        text += table("joint", name=f"q{k}", start={"q": 0.0, "v": 0.4 + 0.2 * k}, **keys, **at)
        parent, at = f"link{k}", {"at": {"xyz": [0.4, 0, 0]}}
    wave = {"type": "sine", "amplitude": [0.3, 0.4], "frequency": 2.0, "unit": "rad"}
    text += table("signal", name="r", **wave)
    text += table(
        "controller",
        name="ahead",
        type="test_feedforward",
        inputs=["r", "r.rate", "r.acceleration"],
    )
    text += table(
        "actuator", name="motors", type="force", coordinates=["q1", "q2"], command="ahead"
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation(integrator, duration=1.0, step=1e-3)))
    expected = np.sin(2 * run.t)[:, None] * [0.3, 0.4]
    atol = 2e-6 if integrator == "implicit_midpoint" else 1e-8
    np.testing.assert_allclose(run.q, expected, atol=atol)


def test_wrong_numbers_of_a_motion_are_refused(tmp_path: Path) -> None:
    text = mechanism(np.eye(6)[4], np.zeros(5), np.zeros(4)) + simulation("rk4", duration=0.2)
    with pytest.raises(PysimError, match=r"dynamics.inverse needs 5 accelerations, got 4"):
        scene_of(tmp_path, text)
