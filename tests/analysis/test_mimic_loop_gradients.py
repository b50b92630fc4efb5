"""Gradients through steps of mechanisms in which joints mimic others beside loops, couplings and motions.

Oracle: the best of central differences of sixth order, of six sizes, of the engine's own steps: by motions of the
start that keep the loops closed, whose velocities follow, and by every velocity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.analysis.test_gradients import Rollout, check_parameters, error
from tests.analysis.test_linear_loops import check as check_linear_system
from tests.analysis.test_loop_gradients import (
    ENDS,
    FOUR_BAR,
    LINK,
    SCHEMES,
    SMOOTH,
    check,
    closed,
    scene_of,
    started,
)
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes


def chain(seed: int, loop: str, *, coupled: bool = False, motion: str = "") -> str:
    """Return a random chain whose third joint mimics the second, with a loop on its end."""
    rng = np.random.default_rng(seed)

    def link(name: str) -> str:
        return LINK.format(name=name).replace("mass = 1.2", f"mass = {rng.uniform(0.5, 2):.3f}")

    def joint(name: str, kind: str, child: str, parent: str = "", **keys: object) -> str:
        at = {"xyz": rng.uniform(-0.3, 0.3, 3).round(3).tolist()}
        axis = {"axis": rng.normal(size=3).round(3).tolist()} if kind == "revolute" else {}
        of = {"parent": parent} if parent else {}
        return link(child) + table(
            "joint", name=name, type=kind, child=child, at=at, **of, **axis, **keys
        )

    ratio = round(rng.uniform(0.5, 1.5), 3)
    lead = {"motion": {"signal": motion}} if motion else {"start": {"q": 0.3}, "damping": 0.05}
    text = joint("one", "ball", "a")
    text += joint("two", "revolute", "b", "a", **lead)
    mimic = {"joint": "two", "ratio": -ratio, "offset": 0.2}
    text += joint("three", "revolute", "c", "b", mimic=mimic, stiffness=1.5)
    text += joint("four", "ball", "d", "c")
    text += f'[[loop]]\ntype = "{loop}"\n' + ENDS.replace('a = "c"', 'a = "d"')
    if loop == "distance":
        text += "length = 0.5\n"
    if coupled:
        text += joint("aside", "revolute", "e", "a")
        text += joint("dial", "revolute", "f", "e", mimic={"joint": "aside", "ratio": 2.0})
        text += table("coupling", name="pair", joint="aside", ratios={"two": 0.7})
    return text


@pytest.mark.parametrize(
    ("seed", "loop", "coupled"),
    [(1, "ball", False), (2, "distance", True), (3, "universal", False), (4, "ball", True)],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_random_closed_chain_with_mimic_joints_has_the_gradient_of_differences(
    scheme: str, seed: int, loop: str, coupled: bool, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, chain(seed, loop, coupled=coupled), scheme)
    assert scene.model.nv == 7 + coupled
    check(Rollout(scene, *started(scene, seed, 1.0), 4))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_chain_whose_leading_joint_is_driven_has_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    sine = {"type": "sine", "amplitude": 0.3, "frequency": 2.0, "unit": "rad"}
    text = chain(5, "distance", motion="turn") + table("signal", name="turn", **sine)
    scene = scene_of(tmp_path, text, scheme)
    start = closed(scene, scene.state.q, scene.state.v, 0.0)
    check(Rollout(scene, *start, 4))
    rollout = Rollout(scene, *start, 6)
    path = "signal.turn.amplitude"
    check_parameters(rollout, [path])


def test_linear_systems_of_a_chain_with_mimic_joints_are_those_of_differences(
    tmp_path: Path,
) -> None:
    scene = scene_of(tmp_path, chain(6, "ball", coupled=True))
    check_linear_system(scene, *started(scene, 6, 1.0))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_numbers_of_a_closed_chain_with_mimic_joints_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, chain(7, "distance", coupled=True), scheme)
    rollout = Rollout(scene, *started(scene, 7, 1.0), 10)
    paths = [
        "gravity",
        "joint.three.stiffness",
        "joint.two.damping",
        *(f"body.c.{key}" for key in ("mass", "com")),
    ]
    check_parameters(rollout, paths)


def gripper() -> str:
    """Return two fingers on parallelograms that grasp a ball; the right driver mimics the left one."""
    text = "gravity = [0.1, 0.2, -1.0]\n"
    text += "[materials.default]\nfriction = 0.6\nstiffness = 2e4\ndissipation = 0.3\n"
    for side, sign in (("left", -1.0), ("right", 1.0)):
        for name in ("driver", "spring", "finger"):
            text += LINK.format(name=f"{side}_{name}").replace(
                "[0.2, 0.01, -0.02]", "[0, 0, -0.04]"
            )
            if name == "finger":
                text += (
                    "collision = [{ box = [0.012, 0.03, 0.05], at = { xyz = [0, 0, -0.03] } }]\n"
                )
        hinge = {"type": "revolute", "axis": [0, 1, 0]}
        follow = {"mimic": {"joint": "left_drive", "ratio": -1}} if side == "right" else {}
        lead = {"start": {"q": -0.18}} if side == "left" else {}
        start = {"start": {"q": 0.18 * sign}}
        text += table(
            "joint",
            name=f"{side}_drive",
            child=f"{side}_driver",
            at={"xyz": [0.06 * sign, 0, 0]},
            damping=0.01,
            **hinge,
            **follow,
            **lead,
        )
        text += table(
            "joint",
            name=f"{side}_turn",
            child=f"{side}_spring",
            at={"xyz": [0.03 * sign, 0, 0]},
            stiffness=0.3,
            **hinge,
            **start,
        )
        text += table(
            "joint",
            name=f"{side}_tip",
            parent=f"{side}_driver",
            child=f"{side}_finger",
            at={"xyz": [0, 0, -0.1]},
            **hinge,
            start={"q": -0.18 * sign},
        )
        text += table(
            "loop",
            name=f"{side}_bar",
            type="revolute",
            a=f"{side}_finger",
            b=f"{side}_spring",
            at_a={"xyz": [-0.03 * sign, 0, 0]},
            at_b={"xyz": [0, 0, -0.1]},
            axis=[0, 1, 0],
        )
    text += LINK.format(name="ball").replace("[0.2, 0.01, -0.02]", "[0.002, 0.001, 0]")
    text += "collision = [{ sphere = { radius = 0.032 } }]\n"
    text += table("joint", name="free", type="free", child="ball", start={"xyz": [0, 0, -0.125]})
    text += table("signal", name="grip", type="input", unit="N*m")
    return text + table("actuator", name="motor", type="force", joint="left_drive", command="grip")


def test_a_gripper_of_four_bars_has_the_gradient_of_differences(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, gripper())
    worlds = pysim.Worlds(scene)
    worlds.inputs["grip"] = -2.0
    worlds.step(steps=60)
    assert sum(np.linalg.norm(worlds.contacts, axis=-1) > 1) == 2
    rng = np.random.default_rng(3)
    q, v = closed(scene, worlds.q, worlds.v + rng.normal(0, 0.02, worlds.v.shape), 0.0)
    controls = -2.0 + rng.normal(0, 0.1, (1, 8, 1))
    rollout = Rollout(scene, q, v, 8, controls)
    check(rollout)
    assert error(rollout.gradient().controls[0].ravel(), rollout.by_controls()) < SMOOTH


def test_a_dial_that_mimics_a_crank_has_the_gradient_of_differences(tmp_path: Path) -> None:
    dial = LINK.format(name="dial") + table(
        "joint",
        name="dial",
        type="revolute",
        child="dial",
        axis=[0, 0, 1],
        friction=0.02,
        mimic={"joint": "drive", "ratio": 1.5},
    )
    scene = scene_of(tmp_path, FOUR_BAR + dial)
    rollout = Rollout(scene, *started(scene, 1, 0.0), 20, np.full((1, 20, 1), 0.4))
    check(rollout)
    paths = ["joint.dial.friction", "joint.drive.armature", "body.dial.inertia"]
    check_parameters(rollout, paths)
