"""Descriptions of a model at the engine's boundary. Oracle: the values that they were made of."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pysim import _engine
from pysim._engine import (
    Block,
    Column,
    CouplingDescription,
    Group,
    JointDescription,
    LoopDescription,
    LoopKind,
    MotionDescription,
    Op,
    Passive,
    Program,
    Shape,
    Term,
)
from pysim.scene.spec import PER_COORDINATE

POSE = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
PROGRAM = Program([(Op.add, 3, 0, 1, 0), (Op.neg, 4, 3, 0, 0)], 1, 5, [0.25], [1.0, 2.0], [4])
MOTION = MotionDescription(
    Shape.program,
    axis=[0, 1, 0],
    pitch=0.5,
    blocks=[Block(Group.rotation, 0, 0, 3)],
    columns=[Column.wx, Column.stored, Column.wz],
    biased=True,
    program=PROGRAM,
    derivative=PROGRAM,
)
TERM = Term(3, 2, -1.5)
RECORDS = [
    PROGRAM,
    MOTION,
    TERM,
    Block(Group.pose, 1, 2, 6),
    Passive(damping=2.0, upper=1.0),
    JointDescription("a", MOTION, 2, POSE, 1, 3.0, 4.0, [1.0], [2.0], [Passive(friction=1.0)]),
    LoopDescription("b", LoopKind.wheel, MOTION, 0, -1, POSE, np.eye(4), 0.5, [0, 2], [1.0, 2.0]),
    CouplingDescription("c", [TERM], 0.5, [TERM], PROGRAM, PROGRAM),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_description_is_pickled_by_its_fields(record):
    again = pickle.loads(pickle.dumps(record))
    assert type(again) is type(record)
    assert repr(again) == repr(record)
    assert again == record
    assert len(record.fields) > 2


def test_a_description_gives_back_what_it_was_made_of():
    joint, loop = RECORDS[5], RECORDS[6]
    np.testing.assert_array_equal(joint.placement, POSE)
    np.testing.assert_array_equal(loop.at_a, POSE)
    assert (joint.motion.columns, joint.motion.blocks[0].group) == (
        [Column.wx, Column.stored, Column.wz],
        Group.rotation,
    )
    assert joint.motion.program.code == [(Op.add, 3, 0, 1, 0), (Op.neg, 4, 3, 0, 0)]
    assert (loop.kind, loop.motion.force) == (LoopKind.wheel, None)


def test_a_copy_with_other_fields_leaves_the_first_as_it_was():
    joint = RECORDS[5]
    changed = joint.replaced(ratio=-1.0, armature=np.array([5.0]))
    assert (changed.ratio, changed.armature, changed.name) == (-1.0, [5.0], "a")
    assert (joint.ratio, joint.armature) == (3.0, [2.0])
    with pytest.raises(AttributeError):
        joint.ratio = 2.0


def test_descriptions_are_equal_if_all_fields_are():
    joint = RECORDS[5]
    assert joint == joint.replaced()
    for changed in (
        {"offset": 4.5},
        {"placement": np.eye(4)},
        {"motion": MOTION.replaced(pitch=1)},
    ):
        assert joint != joint.replaced(**changed)
    assert joint != MOTION


def test_every_passive_number_of_the_engine_is_a_field_of_a_joint_specification():
    elements = {"stop_dissipation"}  # a force element of the coordinate takes it
    assert set(Passive.fields) == set(PER_COORDINATE) - {"armature"} - elements


def test_passive_forces_default_to_zero_and_reject_unknown_names():
    assert repr(Passive()) == (
        "Passive(damping=0.0, stiffness=0.0, friction=0.0, friction_width=1.0, lower=-inf, upper=inf, "
        "stop_stiffness=0.0, stop_damping=0.0)"
    )
    with pytest.raises(TypeError) as error:
        Passive(dampin=1.0)
    assert str(error.value) == (
        "Passive has no field 'dampin'; it has damping, stiffness, friction, friction_width, lower, "
        "upper, stop_stiffness, stop_damping"
    )
    with pytest.raises(TypeError, match=r"^Passive has 8 numbers, got 9$"):
        Passive(*range(9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: JointDescription("a", MOTION, placement=np.eye(3)),
            "placement must have shape (4, 4), got (3, 3)",
        ),
        (lambda: MotionDescription(Shape.ball, [1.0, 0]), "axis must have shape (3,), got (2,)"),
        (
            lambda: _engine.Model([JointDescription("a", MOTION)], np.zeros((2, 10)), np.zeros(3)),
            "inertias must have shape (1, 10), got (2, 10)",
        ),
        (
            lambda: _engine.Model([], np.zeros((0, 10)), np.zeros(2)),
            "gravity must have shape (3,), got (2,)",
        ),
        (
            lambda: _engine.Model(
                [JointDescription("a", MotionDescription(Shape.program))],
                np.zeros((1, 10)),
                np.zeros(3),
            ),
            "joint 'a': a plugin needs 1 to 6 blocks of coordinates",
        ),
        (
            lambda: _engine.Model(
                [JointDescription("a", MOTION.replaced(program=None))],
                np.zeros((1, 10)),
                np.zeros(3),
            ),
            "joint 'a': a program is missing",
        ),
        (
            lambda: _engine.Model(
                [JointDescription("a", MotionDescription(Shape.ball), rest=[0.0])],
                np.zeros((1, 10)),
                np.zeros(3),
            ),
            "joint 'a': rest needs 4 numbers, armature and passive forces 3",
        ),
    ],
)
def test_inconsistent_descriptions_are_rejected(make, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011, the text is compared
        make()
    assert str(error.value) == message
