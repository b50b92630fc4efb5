"""Faults of finished runs that leave no error, and runs without any, which are silent.

Oracles: statics (a box of many weights sinks by as many depths, a stop of stiffness k gives way by F / k), and rows
written here: a body that catches at a seam, one that meets a wall, one that chatters, one that rocks ever less.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.diagnosis.silent_faults import silent_faults
from pysim.trajectory.contacts import contact_points
from pysim.trajectory.header import PAIR_IMPULSES
from tests.scene_runs import load_own_scene


def free(b, name, size, z, mass, **start):
    inertia = dict.fromkeys(("xx", "yy", "zz"), mass * size**2 / 6)
    b.body(name, mass=mass, inertia=inertia, collision=[{"box": [size] * 3}])
    b.joint(f"{name} moves", "free", child=name, start={"xyz": [0, 0, z], **start})


def found(scene, trajectory=None):
    if trajectory is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trajectory = pysim.simulate(scene)
    return list(silent_faults(scene, trajectory))


def driven(stiffness, **settings):
    b = pysim.SceneBuilder("arm", gravity=[0, 0, 0])
    b.body("arm", mass=1.0, com=[0.2, 0, 0], inertia={"xx": 0.001, "yy": 0.02, "zz": 0.02})
    limits = {"lower": -0.5, "upper": 0.5, "stiffness": stiffness}
    b.joint("hinge", "revolute", child="arm", limits=limits)
    b.actuator("push", joint="hinge", type="force", command="torque")
    b.signal("torque", "constant", value=-120.0, unit="N·m")
    b.simulation(duration=1.0, step=1e-3, **settings)
    return b.build()


def test_a_joint_that_stays_beyond_its_limit_is_named_with_drive_depth_and_stiffness():
    (text,) = found(driven(600.0))
    assert text.startswith(
        "joint 'hinge' stays 0.2 rad beyond its lower limit under 'push', from t = 0."
    )
    assert text.endswith("s; give limits.stiffness = 1.2e+04 or more, or a smaller load")
    assert found(driven(12_000.0)) == []


def test_a_run_warns_of_a_limit_that_is_passed():
    with pytest.warns(pysim.PysimWarning, match="'hinge' stays 0.2 rad beyond its lower limit"):
        pysim.simulate(driven(600.0))


def test_a_bounce_off_a_stop_passes_no_limit():
    b = pysim.SceneBuilder("mass", gravity=[0, 0, 0])
    b.body("mass", mass=1.0)
    limits = {"lower": -1.0, "upper": 0.0, "stiffness": 1e4, "damping": 20.0}
    b.joint("slide", "prismatic", child="mass", limits=limits, start={"q": -0.5, "v": 6.0})
    b.simulation(duration=0.3, step=1e-4)
    run = pysim.simulate(b.build())
    assert run.q.max() > 0.04
    assert found(b.build(), run) == []


def test_a_start_beyond_a_limit_is_reported_before_the_run_alone():
    b = pysim.SceneBuilder("mass", gravity=[0, 0, 0])
    b.body("mass", mass=1.0)
    limits = {"lower": -1.0, "upper": 0.0, "stiffness": 1.0, "damping": 0.0}
    b.joint("slide", "prismatic", child="mass", limits=limits, start=0.5)
    b.simulation(duration=0.3, step=1e-3)
    with pytest.warns(pysim.PysimWarning, match="starts 0.5"):
        scene = b.build()
    assert found(scene) == []


def stack(mass):
    b = pysim.SceneBuilder("stack")
    free(b, "light", 0.2, 0.1, 1.0)
    free(b, "heavy", 0.2, 0.3, mass)
    b.ground()
    b.simulation(duration=1.0, step=1e-3)
    return b.build()


def test_a_box_under_many_times_its_weight_is_named_with_its_depth_and_a_stiffness():
    (text,) = found(stack(20.0))
    assert text.startswith(
        "contact world, light: rests 0.0042 m deep, 20.8 times the 0.0002 m of its law, under what it carries"
    )
    assert "give the surfaces a stiffness of 2.6e+05 N/m" in text
    assert text.endswith("(1 more: light, heavy)")
    assert found(stack(2.0)) == []


def test_a_depth_that_is_small_beside_the_box_is_silent():
    """Stiff surfaces under 20 times the weight that their depth at rest is of."""
    b = pysim.SceneBuilder("stack")
    b.material("default", stiffness=1e6)
    free(b, "light", 0.2, 0.1, 0.1)
    free(b, "heavy", 0.2, 0.3, 10.0)
    b.ground()
    b.simulation(duration=1.0, step=1e-3)
    assert found(b.build()) == []


def test_a_box_that_a_drive_presses_down_is_no_sinking_one():
    b = pysim.SceneBuilder("press")
    b.body("plate", mass=1.0, collision=[{"box": [0.2, 0.2, 0.02]}])
    b.joint("ram", "prismatic", child="plate", start=0.0099)
    b.actuator("ram", offset=-300.0)
    b.ground()
    b.simulation(duration=0.5, step=1e-3, integrator="convex")
    assert found(b.build()) == []


def slider(rise=0.0):
    """A box that slides on two slabs beside each other, the second one higher, with a row every 5 ms."""
    b = pysim.SceneBuilder("slabs")
    free(b, "box", 0.1, 0.05, 1.0, v=[1.0, 0, 0, 0, 0, 0])
    for k in range(2):
        slab = {"box": [1.0, 1.0, 0.2]}
        b.body(f"slab{k}", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1}, collision=[slab])
        b.joint(f"fixed{k}", "fixed", child=f"slab{k}", at={"xyz": [k - 0.45, 0, k * rise - 0.1]})
    b.simulation(duration=0.2, step=1e-3)
    b.output(every=0.005)
    return b.build()


def caught(scene, impulse, *, slower=0.2, every=1):
    """A run whose box gets slower in row 20, by an impulse (against its sliding, upwards) of slab 1, every n-th row."""
    run = pysim.simulate(replace(scene, settings=replace(scene.settings, duration=0.2)))
    names = [pair.name for pair in scene.contacts.pairs]
    floor, wall = names.index("box, slab0"), names.index("box, slab1")
    t, rows = run.t, len(run)
    poses = run.poses.copy()
    poses[:, 0, 0] = np.where(np.arange(rows) <= 20, t, t[20] + slower * (t - t[20]))
    impulses = np.zeros((rows, len(names), 3))
    impulses[20, wall] = [impulse[0], 0, -impulse[1]]  # on the slab
    parts = [impulses[max(k - every + 1, 0) : k + 1].sum(axis=0) for k in range(0, rows, every)]
    columns = {
        "pair": np.full(len(parts), floor),
        "point": np.column_stack([poses[::every, 0, :2], np.full(len(parts), -2e-4)]),
        "normal": np.tile([0, 0, -1.0], (len(parts), 1)),
        "penetration": np.full(len(parts), 2e-4),
        "force": np.zeros((len(parts), 3)),
        "slip_speed": np.zeros(len(parts)),
        "stuck": np.zeros(len(parts), bool),
    }
    return replace(
        run,
        t=t[::every],
        q=run.q[::every],
        v=run.v[::every],
        poses=poses[::every],
        constraint_forces={PAIR_IMPULSES: np.array(parts)},
        contacts=contact_points(np.ones(len(parts), int), columns),
    )


@pytest.mark.parametrize("every", [1, 4, 5])
def test_a_normal_against_the_sliding_on_a_face_that_continues_is_named_with_both_pairs(every):
    """Rows 5, 20 and 25 ms apart, without a point at the seam."""
    scene = slider()
    (text,) = found(scene, caught(scene, [0.8, 0.1], every=every))
    assert text.startswith(
        "contact box, slab1: its normal stands against 'box', which slides on a face that continues"
    )
    assert "(box, slab0), at t = 0.1 s" in text


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize(
    ("rise", "impulse", "slower"),
    [(0.02, [0.8, 0.1], 0.2), (0.0, [0.8, 0.1], 1.0), (0.0, [0.45, 0.9], 0.5), (0.0, [0, 0], 0.2)],
)
def test_a_riser_a_touch_that_slows_nothing_friction_and_a_brake_are_no_seams(
    rise, impulse, slower, every
):
    scene = slider(rise)
    assert found(scene, caught(scene, impulse, slower=slower, every=every)) == []


@pytest.mark.parametrize(
    ("name", "seed"),
    [*(("wrecking_ball", seed) for seed in (2, 5, 18, 22)), ("quadruped", 17)],
)
def test_chaotic_scenes_are_silent_whatever_the_last_digits_of_their_starts(name, seed):
    """Boxes that are still pressed apart do not rest; what lands on a plane, or on its corner, catches at no seam."""
    scene = load_own_scene(name)
    start = scene.state
    change = 1e-9 * np.random.default_rng(seed).standard_normal(len(start.v))
    begin = replace(start, q=_engine.integrate(scene.model, start.q, change))
    assert found(replace(scene, state=begin)) == []


def test_boxes_that_slide_apart_and_rest_are_silent():
    assert found(slider()) == []


def standing(driven=False):
    b = pysim.SceneBuilder("table")
    free(b, "cup", 0.06, 0.0301, 0.3)
    if driven:
        b.actuator("cup moves", coordinate="vz", offset=0.01)
    b.ground()
    b.simulation(duration=2.0, step=1e-3)
    b.output(every=0.02)
    return b.build()


def rocking(run, speed, time=np.inf, mean=0.0):
    """The run with velocities that go to and fro about x, and fall by e in a time."""
    v, sign = run.v.copy(), np.where(np.arange(len(run)) % 2, 1.0, -1.0)
    v[:, 3] += speed * sign * np.exp(-run.t / time) + mean
    return replace(run, v=v)


def test_a_body_that_goes_to_and_fro_where_it_should_rest_is_named_with_its_speed():
    scene = standing()
    (text,) = found(scene, rocking(pysim.simulate(scene), 0.3))
    assert text.startswith(
        "body 'cup' does not come to rest: 'cup moves.wx' goes to and fro at 0.3 rad/s until the end"
    )


@pytest.mark.parametrize(
    "keys",
    [{"speed": 0.0}, {"speed": 3.0, "time": 0.3}, {"speed": 0.01}, {"speed": 0.3, "mean": 1.0}],
)
def test_rest_decay_creep_and_steady_turning_are_silent(keys):
    scene = standing()
    assert found(scene, rocking(pysim.simulate(scene), **keys)) == []


def test_a_body_that_a_drive_moves_need_not_rest():
    scene = standing(driven=True)
    assert found(scene, rocking(pysim.simulate(scene), 0.3)) == []
