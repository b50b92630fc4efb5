"""Wrenches at fixed joints. Oracles: statics, and the same scene with a joint in place of the weld that never moves."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.elements.blocks import scene_of, simulation, table


def body(name, mass, com):
    inertia = {"xx": 0.02 * mass, "yy": 0.03 * mass, "zz": 0.025 * mass, "xy": 0.004 * mass}
    return table("body", name=name, mass=mass, com=com, inertia=inertia)


def arm(*, welded, base="revolute", more=""):
    """Return an arm whose flange carries a plate, a tool and a pendulum, and a sensor at the flange."""
    text = "gravity = [0.5, -1, -9.81]\n" + body("arm", 2.0, [0.1, 0, 0.3])
    own = {"axis": [0.6, 0, 0.8], "start": {"v": 1.5}} if base == "revolute" else {}
    text += table("joint", name="shoulder", type=base, child="arm", **own)
    text += body("elbow", 0.7, [0.1, 0.2, 0])
    turn = {"axis": [0, 1, 0], "at": {"xyz": [0.2, 0.1, 0]}, "start": {"q": 0.4, "v": -2.0}}
    text += table("joint", name="swing", type="revolute", parent="arm", child="elbow", **turn)
    text += body("plate", 0.5, [0, 0.1, 0.05])
    kind = {"type": "fixed"} if welded else {"type": "revolute", "motion": {"signal": "still"}}
    at = {"xyz": [0, 0.1, 0.6], "rpy": [0.4, -0.2, 0.9]}
    text += table("joint", name="flange", parent="arm", child="plate", at=at, **kind)
    text += body("tool", 0.8, [0.05, 0, 0.1])
    place = {"xyz": [0.1, 0, 0.1], "rpy": [0, 0.5, 0]}
    text += table("joint", name="grip", type="fixed", parent="plate", child="tool", at=place)
    text += body("bob", 0.4, [0, 0, -0.2])
    start = {"rpy": [0.5, 0, 0], "v": [1.0, -2.0, 0.5]}
    text += table("joint", name="hook", type="ball", parent="tool", child="bob", start=start)
    text += table("sensor", name="cell", type="force_torque", joint="flange")
    text += "" if welded else table("signal", name="still", type="constant", unit="rad", value=0.0)
    return text + more


def wrench(run):
    return np.hstack([run.signals["cell.force"], run.signals["cell.torque"]])


SPRING = table(
    "force",
    name="spring",
    type="spring",
    a="world",
    at_a=[1.0, 0.5, 2.0],
    stiffness=300.0,
    length=0.2,
)
PULLED = {  # by a spring on one side of the joint
    "nothing": "",
    "the tool": SPRING.replace('type = "spring"', 'type = "spring"\nb = "tool"'),
    "the arm": SPRING.replace('type = "spring"', 'type = "spring"\nb = "arm"'),
    "the bob": SPRING.replace('type = "spring"', 'type = "spring"\nb = "bob"'),
}


@pytest.mark.parametrize("base", ["revolute", "free"])
@pytest.mark.parametrize("pulled", PULLED)
def test_the_wrench_at_a_weld_is_that_of_a_joint_that_does_not_move(tmp_path, base, pulled):
    run = simulation(duration=0.4, interval=0.1)
    found = [
        wrench(
            pysim.simulate(
                scene_of(tmp_path, arm(welded=welded, base=base, more=PULLED[pulled]) + run)
            )
        )
        for welded in (True, False)
    ]
    scale = np.abs(found[1]).max()
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6 * scale)


def test_a_load_on_the_wall_weighs_on_its_weld(tmp_path):
    text = "gravity = [0, 0, -9.81]\n" + body("bracket", 1.0, [0.2, 0, 0])
    text += table("joint", name="wall", type="fixed", child="bracket", at={"rpy": [0, 0, 0.5]})
    text += body("bob", 2.0, [0, 0, -0.3])
    at = {"xyz": [0.5, 0, 0]}
    text += table(
        "joint", name="hook", type="revolute", axis=[0, 1, 0], parent="bracket", child="bob", at=at
    )
    text += table("sensor", name="cell", type="force_torque", joint="wall")
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=0.1)))
    np.testing.assert_allclose(wrench(run)[-1, :3], [0, 0, 3 * 9.81], atol=1e-9)
    np.testing.assert_allclose(wrench(run)[-1, 3:], [0, -(0.2 + 1.0) * 9.81, 0], atol=1e-9)


def test_forces_on_both_sides_of_a_weld_are_reported_with_their_names(tmp_path):
    both = PULLED["the tool"] + PULLED["the arm"].replace('"spring"\n', '"rope"\n', 1)
    text = arm(welded=True, more=both) + simulation()
    with pytest.raises(
        pysim.PysimError, match=r"forces act on both sides of it .*'spring'.*'rope'"
    ):
        scene_of(tmp_path, text)


def test_other_blocks_need_a_joint_that_moves(tmp_path):
    text = arm(welded=True) + table("actuator", name="m", joint="flange", offset=1.0)
    with pytest.raises(pysim.SceneError, match="is fixed; there is nothing to drive"):
        scene_of(tmp_path, text + simulation())


def test_a_foot_on_the_ground_carries_the_post_above_it(tmp_path):
    """The weld pushes the foot down with the weight of the post, whose side of the weld nothing touches."""
    text = "gravity = [0, 0, -9.81]\n" + body("post", 2.0, [0, 0, 0.3])
    at = {"xyz": [0, 0, 0.1]}
    text += table("joint", name="guide", type="prismatic", child="post", at=at)
    text += body("foot", 1.0, [0, 0, 0]) + "collision = { sphere = { radius = 0.1 } }\n"
    text += table("joint", name="ankle", type="fixed", parent="post", child="foot")
    text += "[[ground]]\nplane = { normal = [0, 0, 1], offset = 0 }\n"
    text += table("sensor", name="cell", type="force_torque", joint="ankle")
    keys = {"step": 1e-3, "duration": 1.0, "interval": 0.5}
    run = pysim.simulate(scene_of(tmp_path, text + simulation("convex", **keys)))
    np.testing.assert_allclose(wrench(run)[-1], [0, 0, -2 * 9.81, 0, 0, 0], atol=1e-5)
