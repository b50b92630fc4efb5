"""Trees of joints. The oracle is the mechanism written down in each test."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pysim.errors import ModelError
from pysim.scene.spec import BodySpec, FrameSpec, JointSpec, Mimic, ModelSpec
from pysim.scene.tree import check_tree, order_from_world
from pysim.scene.urdf.joints import plain_joint

MASS = np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1])


def body(name: str, mass: float = 1.0) -> BodySpec:
    return BodySpec(name, mass * MASS, (), f"file: body {name}")


def joint(name: str, parent: str, child: str, kind: str = "revolute") -> JointSpec:
    return plain_joint(name, kind, parent, child, np.eye(4), f"file: joint {name}")


def tree(
    bodies: list[BodySpec], joints: list[JointSpec], frames: tuple[FrameSpec, ...] = ()
) -> ModelSpec:
    return ModelSpec("t", np.zeros(3), tuple(bodies), tuple(joints), frames, "file")


A, B = body("a"), body("b")
TO_A, A_TO_B = joint("ja", "world", "a"), joint("jb", "a", "b")
FRAME = FrameSpec("tip", "a", np.eye(4), "file: frame tip")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            tree([A, replace(A, where="file: second")], [TO_A]),
            "file: second: body 'a' is defined twice, first at file: body a; rename one",
        ),
        (
            tree([A, B], [TO_A, joint("ja", "a", "b")]),
            "file: joint ja: joint 'ja' is defined twice, first at file: joint ja; rename one",
        ),
        (
            tree([A], [TO_A], (FRAME, FRAME)),
            "file: frame tip: frame 'tip' is defined twice, first at file: frame tip; rename one",
        ),
        (
            tree([A], [TO_A], (replace(FRAME, name="a"),)),
            "file: frame tip: frame 'a' is defined twice, first at file: body a; rename one",
        ),
        (
            tree([A], [TO_A], (replace(FRAME, body="A"),)),
            "file: frame tip: frame 'tip' is on an unknown body 'A'; did you mean 'a'?",
        ),
        (
            tree([body("world")], []),
            "file: body world: the name 'world' is taken by the world; choose another",
        ),
        (
            tree([A], [joint("ja", "wrld", "a")]),
            "file: joint ja: joint 'ja' has an unknown parent 'wrld'; did you mean 'world'?",
        ),
        (
            tree([A], [TO_A, joint("jc", "a", "c")]),
            "file: joint jc: joint 'jc' has an unknown child 'c'; known: a",
        ),
        (
            tree([A], [TO_A, joint("jw", "a", "world")]),
            "file: joint jw: joint 'jw' has the world as its child; swap parent and child",
        ),
        (
            tree([A], [joint("ja", "a", "a")]),
            "file: joint ja: joint 'ja' joins body 'a' to itself; name another parent",
        ),
        (
            tree([A, B], [TO_A, A_TO_B, joint("jc", "world", "b")]),
            (
                "file: joint jc: body 'b' is the child of joint 'jc' and of 'jb' at file: joint jb; a body has one "
                "parent in a tree, remove one joint"
            ),
        ),
        (
            tree([A, B], [A_TO_B, joint("ja", "b", "a")]),
            (
                "file: joint jb: the joints make a cycle, 'a' → 'b' → 'a'; a tree needs one body joined to "
                "the world"
            ),
        ),
        (
            tree([A, B], [TO_A]),
            (
                "file: body b: body 'b' is not connected to the world; give it a joint whose child is 'b', "
                "or remove it"
            ),
        ),
        (
            tree([B, A], [A_TO_B]),
            (
                "file: body b: body 'a' (and 'b' below it) is not connected to the world; give it a joint "
                "whose child is 'a', or remove it"
            ),
        ),
        (
            tree([A, B], [TO_A, replace(A_TO_B, mimic=Mimic("jja"))]),
            "file: joint jb: joint 'jb' follows an unknown joint 'jja'; did you mean 'ja'?",
        ),
        (
            tree([A, body("b", 0)], [TO_A, A_TO_B]),
            (
                "file: joint jb: joint 'jb' moves only massless bodies, 'b' and what it carries; a massless "
                "leaf makes M singular; give 'b' a mass, the joint an armature, or make the joint fixed"
            ),
        ),
    ],
)
def test_joints_that_form_no_tree_are_rejected(spec: ModelSpec, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        check_tree(spec)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "spec",
    [
        tree([A, B], [A_TO_B, TO_A], (FRAME,)),
        tree([body("a", 0), B], [TO_A, A_TO_B]),  # mass further out
        tree([body("a", 0), B], [TO_A, joint("jb", "a", "b", "fixed")]),
        tree([A, body("b", 0)], [TO_A, joint("jb", "a", "b", "fixed")]),  # carried by what has mass
        tree([A, body("b", 0)], [TO_A, replace(A_TO_B, armature=np.array([0.1]))]),
        tree([A, body("b", 0)], [TO_A, replace(A_TO_B, mimic=Mimic("ja"))]),
        tree([body("a", 0)], [joint("ja", "world", "a", "fixed")]),
        tree([], []),
    ],
)
def test_trees_are_accepted(spec: ModelSpec) -> None:
    check_tree(spec)


def test_parents_come_before_their_children() -> None:
    joints = [joint("jc", "b", "c"), A_TO_B, TO_A, joint("jd", "world", "d")]
    assert order_from_world(joints) == ["a", "d", "b", "c"]


def test_a_deep_tree_needs_no_deep_stack() -> None:
    names = ["world", *(f"b{k}" for k in range(5000))]
    joints = [joint(f"j{c}", p, c) for p, c in itertools.pairwise(names)]
    check_tree(tree([body(name) for name in names[1:]], joints))
