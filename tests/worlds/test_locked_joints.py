"""Models with locked joints, and the limits of models.

Oracles: rows and columns of the whole model's matrices and of its forces at rest in the locked joints; its frames.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError
from pysim.worlds.loading import compile_model
from tests.algorithms.random_states import KINDS, close
from tests.oracles.mechanisms import random_tree

SCENES = Path(__file__).parents[2] / "scenes"


def whole_of(model: pysim.Model, lock: list[str], rng: np.random.Generator):
    """A configuration of the whole model, and where the coordinates and velocities that remain are in it."""
    q = model.random_configuration(rng)
    places = zip(
        model.joint_names,
        model.q_offsets,
        model.v_offsets,
        model.joint_nq,
        model.joint_nv,
        strict=True,
    )
    keep_q: list[int] = []
    keep_v: list[int] = []
    values = {}
    for name, at_q, at_v, nq, nv in places:
        if name in lock:
            values[name] = q[at_q : at_q + nq]
        else:
            keep_q += range(at_q, at_q + nq)
            keep_v += range(at_v, at_v + nv)
    return q, keep_q, keep_v, values


@pytest.mark.parametrize("seed", range(4))
def test_a_locked_model_is_the_whole_one_at_rest_in_its_joints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = compile_model(random_tree(rng, rng.permutation(KINDS).tolist()))
    lock = [str(x) for x in rng.choice(model.joint_names, 3, replace=False)]
    q, keep_q, keep_v, values = whole_of(model, lock, rng)
    small = model.locked(values)
    free_q = q[keep_q]
    assert set(model.frame_names) == set(small.frame_names)
    assert set(small.joint_names) == set(model.joint_names) - set(lock)
    order = [model.velocity_names.index(name) for name in small.velocity_names]
    assert sorted(order) == sorted(keep_v)
    free_q = np.concatenate(
        [
            q[model.q_offsets[k] : model.q_offsets[k] + model.joint_nq[k]]
            for k in (model.joint_names.index(name) for name in small.joint_names)
        ]
    )
    for frame in model.frame_names:
        close(
            pysim.frame_placement(small, free_q, frame),
            pysim.frame_placement(model, q, frame),
            1e-12,
        )
    close(pysim.crba(small, free_q), pysim.crba(model, q)[np.ix_(order, order)], 1e-11)
    v = np.zeros(model.nv)
    v[order] = rng.normal(size=len(order))
    close(
        pysim.nonlinear_effects(small, free_q, v[order]),
        pysim.nonlinear_effects(model, q, v)[order],
        1e-10,
    )


def test_followers_are_locked_with_their_leader() -> None:
    model = pysim.load_scene(SCENES / "robot_arm.toml").model
    follower = next(joint for joint in model.joints if joint.mimic is not None)
    assert follower.mimic is not None
    leader = follower.mimic.joint
    small = model.locked({leader: 0.013})
    assert follower.name not in small.joint_names
    q = model.neutral()
    q[model.q_offsets[model.joint_names.index(leader)]] = 0.013
    whole = pysim.frame_placement(model, q, follower.child)
    np.testing.assert_allclose(
        pysim.frame_placement(small, q[: small.nq], follower.child), whole, atol=1e-14
    )
    with pytest.raises(ModelError, match=f"follows '{leader}'; lock that joint"):
        model.locked({follower.name: 0.0})


def test_changed_parameters_and_gravity_are_those_of_the_locked_model(
    rng: np.random.Generator,
) -> None:
    model = compile_model(
        random_tree(rng, ["revolute", "prismatic", "ball", "revolute"], chain=True)
    )
    other = model.with_parameters(model.parameters * 1.7).with_gravity([1.0, 2.0, 3.0])
    other = other.with_armature(np.full(model.nv, 0.3))
    lock = model.joint_names[1]
    q, _, _, values = whole_of(other, [lock], rng)
    small = other.locked(values)
    order = [model.velocity_names.index(name) for name in small.velocity_names]
    own = np.delete(q, model.q_offsets[1])
    close(pysim.crba(small, own), pysim.crba(other, q)[np.ix_(order, order)], 1e-11)
    close(pysim.generalized_gravity(small, own), pysim.generalized_gravity(other, q)[order], 1e-11)


def test_loops_and_couplings_stay_with_their_other_coordinates() -> None:
    model = pysim.load_scene(SCENES / "four_bar.toml").model
    q = pysim.load_scene(SCENES / "four_bar.toml").state.q
    drive = model.joint_names[0]
    assert pysim.loops.mobility(model, q).degrees == 1
    small = model.locked({drive: q[0]})
    assert pysim.loops.mobility(small, q[1:]).degrees == 0
    gears = pysim.load_scene(SCENES / "differential.toml").model
    if gears.coupling_names:
        coupling = gears.spec.couplings[0]
        joint = next(iter(coupling.terms)).partition(".")[0]
        less = gears.locked({joint: 0.2})
        kept = [c for c in less.spec.couplings if c.name == coupling.name]
        ratio = coupling.terms[next(iter(coupling.terms))]
        assert kept[0].offset == pytest.approx(coupling.offset - 0.2 * ratio)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, 2.0], "has 1 coordinates, got 2 numbers"),
        (np.nan, "must be finite"),
    ],
)
def test_wrong_coordinates_are_errors(value: float, message: str) -> None:
    model = pysim.load_scene(SCENES / "double_pendulum.toml").model
    with pytest.raises(ModelError, match=message):
        model.locked({model.joint_names[0]: value})


def test_limits_are_those_of_the_file(tmp_path: Path) -> None:
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "r.urdf").write_text(
        f"""<robot name="r"><link name="base"/><link name="a">{inertial}</link><link name="b">{inertial}</link>
<joint name="one" type="revolute"><parent link="base"/><child link="a"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
<joint name="two" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
    )
    model = pysim.load_model(tmp_path / "r.urdf", free_base=False)
    order = [model.joint_names.index(name) for name in ("one", "two")]
    np.testing.assert_array_equal(model.limits[:, order], [[-1, -np.inf], [2, np.inf]])
    np.testing.assert_array_equal(model.effort_limits[order], [3, np.inf])
    np.testing.assert_array_equal(model.velocity_limits[order], [4, np.inf])
