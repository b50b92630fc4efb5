"""Default stops of joints whose drives push against them.

Oracles: statics (a stop of stiffness k gives way by F / k), MuJoCo's arm at the same limit, the energy of a body that a
stop throws back, and the worlds of `load_scenes` against scenes that are read alone.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pysim
from pysim.diagnosis.stability import DAMPED
from pysim.inertia import theta_from_com
from pysim.integrators import BUILTIN
from pysim.worlds.loading import compile_model
from tests.oracles.mechanisms import one_body

FIXED = [name for name, kind in BUILTIN.items() if not kind.adaptive]
SQUARE = {"t": [0.0, 0.6, 1.2, 1.8], "interpolation": "previous", "outside": "hold"}
URDF = """<robot name="r"><link name="base"/><link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
<inertia ixx="0.001" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-0.5" upper="0.5" effort="40" velocity="10"/></joint></robot>"""


def arm(limits=None, gravity=(0, 0, 0), **settings):
    b = pysim.SceneBuilder("arm", gravity=list(gravity))
    b.body("arm", mass=1.0, com=[0.2, 0, 0], inertia={"xx": 0.001, "yy": 0.02, "zz": 0.02})
    b.joint("hinge", "revolute", child="arm", limits=limits or {"lower": -0.5, "upper": 0.5})
    b.simulation(**({"duration": 2.4, "step": 1e-3} | settings))
    b.output(every=0.002)
    return b


def beyond(scene, limit=0.5):
    return float(np.abs(pysim.simulate(scene).q[:, 0]).max()) - limit


def stopped(builder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return builder.build()


@pytest.mark.parametrize("integrator", [*FIXED, "dopri5"])
@pytest.mark.parametrize("gain", [10.0, 100.0])
def test_a_velocity_servo_drives_a_joint_a_hundredth_of_its_range_beyond_the_limit(
    integrator, gain
):
    if integrator.startswith("variational") and gain > 10:
        pytest.skip("the scheme is unstable with this servo, with or without a limit")
    step = {} if integrator == "dopri5" else {"step": 1e-3}
    b = arm(**({"integrator": integrator} | step))
    b.signal("w", "table", values=[2.0, -2.0, 2.0, -2.0], unit="rad/s", **SQUARE)
    b.actuator("hinge", type="velocity_servo", kd=gain, command="w")
    assert beyond(stopped(b)) < 0.0105


@pytest.mark.parametrize("integrator", ["convex", "generalized_alpha", "implicit_midpoint"])
@pytest.mark.parametrize("gain", [500.0, 5000.0])
@pytest.mark.filterwarnings("ignore:.*gained:pysim.PysimWarning")
def test_implicit_schemes_hold_servos_that_explicit_ones_cannot_step(integrator, gain):
    b = arm(integrator=integrator)
    b.signal("w", "table", values=[2.0, -2.0, 2.0, -2.0], unit="rad/s", **SQUARE)
    b.actuator("hinge", type="velocity_servo", kd=gain, command="w")
    assert beyond(stopped(b)) < 0.0105


@pytest.mark.parametrize("command", ["value = 3.0", 'type = "input"\nvalue = 3.0'])
def test_the_effort_of_a_robot_whose_servo_aims_beyond_the_limit_is_held(tmp_path, command):
    """40 N·m, for a command that is constant and for one that is given from outside; MuJoCo gives way by 0.039 rad."""
    (tmp_path / "r.urdf").write_text(URDF, "utf-8")
    kind = "" if "type" in command else 'type = "constant"\n'
    text = f"""gravity = [0, 0, 0]
[[model]]
file = "r.urdf"
[[signal]]
name = "aim"
unit = "rad"
{kind}{command}
[[actuator]]
joint = "hinge"
type = "position_servo"
kp = 200.0
kd = 5.0
command = "aim"
[simulation]
duration = 2.0
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    assert run.q[-1, 0] - 0.5 == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("integrator", ["rk4", "convex"])
def test_a_force_of_two_kilonewtons_on_a_kilogram_is_held_within_a_hundredth_of_the_range(
    integrator,
):
    b = pysim.SceneBuilder("slide", gravity=[0, 0, 0])
    b.body("block", mass=1.0)
    b.joint("slide", "prismatic", axis=[1, 0, 0], child="block", limits={"lower": 0, "upper": 0.8})
    b.actuator("slide", offset=2000.0)
    b.simulation(duration=1.0, step=1e-3, integrator=integrator)
    assert pysim.simulate(stopped(b)).q[-1, 0] - 0.8 == pytest.approx(0.008, rel=1e-3)


def test_the_weight_that_a_joint_carries_is_held_within_a_hundredth_of_the_range():
    b = pysim.SceneBuilder("lift")
    b.body("cage", mass=3.0)
    b.joint("rail", "prismatic", child="cage", limits={"lower": 0, "upper": 0.04})
    b.simulation(duration=1.0, step=1e-3)
    assert pysim.simulate(stopped(b)).q[-1, 0] == pytest.approx(-4e-4, rel=1e-3)


@pytest.mark.parametrize("has_ground", [True, False])
def test_the_leg_of_a_robot_that_stands_carries_its_trunk_at_the_limit(has_ground):
    """20 kg on a foot of 0.2 kg; without a ground the joint carries the foot alone."""
    b = pysim.SceneBuilder("stands")
    inertia = {"xx": 0.2, "yy": 0.2, "zz": 0.2}
    b.body("trunk", mass=20.0, inertia=inertia)
    b.joint("root", "free", child="trunk", start={"xyz": [0, 0, 0.02]})
    foot = [{"box": [0.4, 0.4, 0.04]}]
    own = {"collision": foot} if has_ground else {}
    b.body("foot", mass=0.2, inertia=dict.fromkeys(inertia, 1e-3), **own)
    limits = {"lower": 0.0, "upper": 0.5}
    b.joint(
        "leg", "prismatic", parent="trunk", child="foot", axis=[0, 0, -1], limits=limits, start=0.0
    )
    if has_ground:
        b.ground()
    b.simulation(duration=2.0, step=1e-3, integrator="convex")
    scene = b.build()
    (stiffness,) = scene.model.joints[1].stop_stiffness
    if not has_ground:
        assert stiffness == pytest.approx(1e4 * 0.2)
        return
    run = pysim.simulate(scene)
    assert run.q[-1, -1] == pytest.approx(-0.005, rel=0.02)


def test_a_stop_that_the_step_forbids_to_be_stiff_is_reported_with_limit_drive_and_depth():
    b = arm(integrator="rk4")
    b.actuator("push", joint="hinge", offset=2000.0)
    with pytest.warns(pysim.PysimWarning) as caught:
        scene = b.build()
    (text,) = [str(w.message) for w in caught]
    assert text.startswith(
        "scene 'arm': joint[0]: limits of joint 'hinge': the default stop gives way by 0.017 rad"
    )
    assert "under the 2e+03 N·m of 'push' and its weight" in text
    assert (
        'take simulation.step = 0.00076 or less, integrator = "convex", or limits.stiffness [N·m/rad]'
        in text
    )
    assert pysim.simulate(scene).q[-1, 0] - 0.5 == pytest.approx(0.0167, rel=0.02)
    b.simulation(duration=2.4, step=7.6e-4, integrator="rk4")
    assert stopped(b).model.joints[0].stop_stiffness == pytest.approx(2e5, rel=0.03)


def test_a_stiffness_that_the_scene_gives_stays():
    b = arm({"lower": -0.5, "upper": 0.5, "stiffness": 700.0})
    b.actuator("hinge", offset=200.0)
    (joint,) = stopped(b).spec.model.joints
    assert joint.stop_stiffness == 700.0


def test_a_drive_that_pulls_away_from_its_limits_leaves_the_stop_as_it_is():
    b, plain = arm(), arm()
    b.signal("aim", "constant", value=0.0, unit="rad")
    b.actuator("hinge", type="position_servo", kp=1e5, command="aim")
    joints = [stopped(x).spec.model.joints[0] for x in (b, plain)]
    assert joints[0].stop_stiffness == joints[1].stop_stiffness == pytest.approx(1e4 * 0.06)


@pytest.mark.filterwarnings("ignore:rollout. step is:pysim.PysimWarning")
@pytest.mark.parametrize("integrator", [name for name in FIXED if name != "convex"])
@pytest.mark.parametrize("ratio", [DAMPED, 0.5, 1.0, 2.0])
def test_a_damped_stop_takes_speed_up_to_the_bound_of_every_scheme(integrator, ratio):
    """The largest speed after a stop is met with 1 m/s at 19 instants of a step of 1 s."""
    rate = BUILTIN[integrator].damped_bounce
    frequency = (
        rate if ratio <= 1 else rate / (ratio + np.sqrt(ratio**2 - 1))
    )  # of the faster decay
    stop = {
        "upper": np.zeros(1),
        "stop_stiffness": np.array([frequency**2]),
        "stop_damping": np.array([2 * ratio * frequency]),
    }
    theta = theta_from_com(1.0, np.zeros(3), np.eye(3))
    model = compile_model(one_body("prismatic", theta, gravity=np.zeros(3), **stop))
    before = -1 - np.linspace(0.05, 0.95, 19)[:, np.newaxis]
    steps = int(20 + 8 / frequency)
    _, v = pysim.rollout(
        model, before, np.ones((19, 1)), None, 1.0, integrator, steps=steps, every=steps
    )
    assert np.abs(v[:, -1]).max() < 0.8


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("actuator.push.kp", [20.0, 50.0]),
        ("body.arm.mass", [1.0, 3.0]),
        ("actuator.push.force_range", [[-30.0, 30.0], [-90.0, 90.0]]),
        ("joint.hinge.limits.upper", [0.5, 0.7]),
    ],
)
def test_worlds_have_the_stops_of_scenes_that_are_read_alone(tmp_path, path, values):
    text = """
[[body]]
name = "arm"
mass = 1.0
com = [0.2, 0, 0]
inertia = { xx = 0.001, yy = 0.02, zz = 0.02 }
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
limits = { lower = -0.5, upper = 0.5 }
[[signal]]
name = "aim"
type = "input"
unit = "rad"
[[actuator]]
name = "push"
joint = "hinge"
type = "position_servo"
kp = 20.0
force_range = [-30.0, 30.0]
command = "aim"
"""
    file = tmp_path / "s.toml"
    file.write_text(text, "utf-8")
    worlds = pysim.load_scenes(file, {path: values})
    alone = [pysim.load_scene(file, {path: value}) for value in values]
    for world, scene in zip(worlds, alone, strict=True):
        for name in ("stop_stiffness", "stop_damping"):
            found, expected = (getattr(x.model.joints[0], name) for x in (world, scene))
            np.testing.assert_array_equal(found, expected)
    stiffness = [float(scene.model.joints[0].stop_stiffness[0]) for scene in alone]
    assert stiffness[0] > 3000


def roped(
    integrator: str, end: list[float], tension: object = 600.0, **limits: float
) -> pysim.SceneBuilder:
    """An arm on a hinge that a winch pulls to a point of the world."""
    b = arm(limits or None, integrator=integrator)
    b.signal("pull", "constant", value=tension, unit="N")
    b.actuator(
        "rope", type="winch", command="pull",
        path=[{"body": "world", "point": end}, {"body": "arm", "point": [0.3, 0.05, 0]}],
    )  # fmt: skip
    return b


@pytest.mark.parametrize("integrator", ["rk4", "convex", "generalized_alpha"])
@pytest.mark.parametrize("end", [[0.0, 0.5, 0.0], [0.1, -0.4, 0.0], [0.0, 0.2, 0.3]])
def test_a_rope_that_pulls_a_joint_beyond_its_limit_is_held_as_a_motor_is(integrator, end):
    rests = pysim.simulate(stopped(roped(integrator, end))).q[-1, 0]
    assert 0.001 < abs(rests) - 0.5 < 0.0105


def test_a_rope_over_a_joint_between_two_limbs_loads_that_joint_alone():
    """Both of its ends move with the first limb's joint."""
    stiffnesses = {}
    for drive in (False, True):
        b = arm(integrator="convex")
        b.body("hand", mass=0.5, com=[0.1, 0, 0], inertia={"xx": 0.001, "yy": 0.002, "zz": 0.002})
        at = {"xyz": [0.4, 0, 0]}
        limits = {"lower": -0.3, "upper": 0.3}
        b.joint("wrist", "revolute", parent="arm", child="hand", at=at, limits=limits)
        if drive:
            path = [
                {"body": "arm", "point": [0.2, 0.05, 0]},
                {"body": "hand", "point": [0.1, 0.05, 0]},
            ]
            b.signal("pull", "constant", value=600.0, unit="N")
            b.actuator("rope", type="winch", command="pull", path=path)
        stiffnesses[drive] = [joint.stop_stiffness[0] for joint in stopped(b).model.joints]
    assert stiffnesses[True][0] == stiffnesses[False][0]
    assert stiffnesses[True][1] > 10 * stiffnesses[False][1]


def test_a_rope_that_a_stop_cannot_carry_is_named():
    b = roped("rk4", [0.0, 0.5, 0.0], tension=3e5)
    with pytest.warns(pysim.PysimWarning, match="'hinge': the default stop gives way .* of 'rope'"):
        b.build()


EXPLICIT = {
    "rk4": lambda z: 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24,
    "semi_implicit": lambda z: 1 + z,
}


@pytest.mark.parametrize("integrator", [*EXPLICIT])
@pytest.mark.parametrize("gain", [10.0, 100.0, 500.0, 5000.0])
@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_servos_that_a_scheme_cannot_step_have_growing_eigenvalues_without_a_limit_too(
    integrator, gain
):
    """Oracle: |R(−h k/I)|, the factor of v of a step of the servo alone; beyond 1 the run is an error that names it."""
    grows = abs(EXPLICIT[integrator](-1e-3 * gain / 0.06)) > 1
    assert grows == (gain > 100)
    for limits in ({"lower": -0.5, "upper": 0.5}, {"lower": -1e3, "upper": 1e3}):
        b = arm(limits, integrator=integrator)
        b.signal("w", "table", values=[2.0, -2.0, 2.0, -2.0], unit="rad/s", **SQUARE)
        b.actuator("hinge", type="velocity_servo", kd=gain, command="w")
        if grows:
            with pytest.raises(
                pysim.SimulationError, match="because of the control of joint 'hinge'"
            ):
                pysim.simulate(b.build())
        else:
            assert beyond(b.build()) < (0.0105 if limits["upper"] < 1 else 2.0)
