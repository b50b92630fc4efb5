"""Identification against mechanisms whose parameters are known: what made the data is the oracle.

Recordings have 1 % noise on every torque and encoders of 2¹⁶ steps a turn; held-out motions are others than those
identified from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim import inertia
from pysim.errors import IdentificationError
from pysim.identify import Unknowns, base_parameters, identify, make_samples, predicted_torque
from tests.identify.recordings import (
    NOISE,
    Recording,
    arm_recording,
    flight_recording,
    mistaken,
)
from tests.robots import load_robot

Array = np.ndarray


@pytest.fixture(scope="module")
def panda() -> pysim.Model:
    return load_robot("panda")


@pytest.fixture(scope="module")
def recording(panda: pysim.Model) -> Recording:
    return arm_recording(panda, 10_000, seed=1)


def held_out_error(model: pysim.Model, other: Recording) -> Array:
    """Root mean square of the torque error on a motion whose kinematics are exact, over the noise."""
    samples = other.samples(model, differentiate=False)
    error = predicted_torque(model, samples) - samples.tau
    return np.sqrt((error**2).mean(axis=0))


# Base parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda", "ur5", "anymal"])
def test_the_base_parameters_are_as_many_as_the_rank_of_the_regressor(
    name: str, rng: np.random.Generator
) -> None:
    model = load_robot(name)
    base = base_parameters(Unknowns(model, tuple(range(model.nbodies))))
    q = np.array([model.random_configuration(rng) for _ in range(30)])
    v, a = rng.normal(size=(2, 30, model.nv))
    Y = pysim.joint_torque_regressor(model, q, v, a).reshape(-1, 10 * model.nbodies)
    assert len(base) == np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y, 2))
    torque = Y[:, base.independent] @ base.matrix @ model.parameters.ravel()
    np.testing.assert_allclose(torque, Y @ model.parameters.ravel(), rtol=1e-8, atol=1e-8)


def test_a_seven_joint_arm_has_43_base_parameters_and_8_for_its_fingers(panda: pysim.Model) -> None:
    base = base_parameters(Unknowns(panda, tuple(range(panda.nbodies))))
    arm = [name for name in base.names if not name.startswith(("panda_left", "panda_right"))]
    assert (len(arm), len(base)) == (43, 51)


def test_a_base_parameter_is_named_by_what_it_adds_up(panda: pysim.Model) -> None:
    base = base_parameters(Unknowns(panda, (5, 6)))
    assert "panda_link6.mcx + 0.088 panda_link7.m" in base.names
    base = base_parameters(
        Unknowns(panda, (0,), ("armature",))
    )  # it turns about the vertical alone
    assert base.names[0] == "panda_link1.Izz + panda_joint1.armature"


# Equations ---------------------------------------------------------------------------------------


def test_the_equations_of_every_unknown_hold_for_the_truth(rng: np.random.Generator) -> None:
    panda = load_robot("panda").with_armature(np.linspace(0.1, 0.5, 9))
    q = np.array([panda.random_configuration(rng) for _ in range(20)])
    v, a = rng.normal(size=(2, 20, 9))
    tau = pysim.rnea(panda, q, v, a) - pysim.passive_forces(panda, q, v)
    samples = make_samples(panda, np.arange(20), q, tau, v, a)
    unknowns = Unknowns(panda, (1, 3, 8), ("damping", "friction", "armature", "offset"))
    inertial, columns, left = unknowns.equations(samples)
    rest = unknowns.start[30:].reshape(4, 9)
    found = inertial @ unknowns.start[:30]
    found += sum(column * p for column, p in zip(columns.values(), rest, strict=True))
    np.testing.assert_allclose(found, left, atol=1e-10)


# A robot arm -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.1, 0.5])
def test_an_arm_is_identified_to_its_noise_on_a_motion_held_out(
    panda: pysim.Model, recording: Recording, size: float
) -> None:
    drawing = mistaken(panda, seed=3, size=size)
    found = identify(drawing, recording.samples(drawing), resistances=("damping", "friction"))
    assert inertia.is_physical(found.model.parameters).all()
    assert (inertia.physical_margin(found.theta) > 0).all()
    other = arm_recording(panda, 3000, seed=8)
    assert (held_out_error(drawing, other) > 3 * other.noise).any()
    assert (held_out_error(found.model, other) < 1.05 * other.noise).all()
    differentiated = other.samples(found.model)  # with the encoders' share
    error = predicted_torque(found.model, differentiated) - differentiated.tau
    assert (np.sqrt((error**2).mean(axis=0)) < 1.5 * other.noise).all()
    assert found.identifiable == len(found.base)


def test_friction_and_rotor_inertia_are_recovered(recording: Recording) -> None:
    rotor = np.r_[0.3, 0.4, 0.2, 0.25, 0.1, 0.15, 0.05, 0.5, 0.4]
    panda = load_robot("panda")
    driven = panda.with_armature(rotor)
    own = arm_recording(driven, 6000, seed=4)
    result = identify(
        panda,
        own.samples(panda, differentiate=False),
        resistances=("damping", "friction", "armature"),
    )
    # those of the first two joints cannot be distinguished from the links' own inertia; the prior keeps these
    np.testing.assert_allclose(result.resistance("armature")[2:], rotor[2:], atol=0.03)
    damping = np.array([joint.damping[0] for joint in panda.joints])
    np.testing.assert_allclose(result.resistance("damping")[:7], damping[:7], atol=0.1)
    assert (result.resistance("damping") >= 0).all()
    np.testing.assert_allclose(result.model.armature, result.resistance("armature"))


def test_cross_validation_and_deviations_equal_the_noise(
    panda: pysim.Model, recording: Recording
) -> None:
    found = identify(panda, recording.samples(panda, differentiate=False), folds=4)
    assert found.cross_validation.shape == (4, 9)
    signal = np.sqrt((recording.tau**2).mean(axis=0))
    np.testing.assert_allclose(found.noise, recording.noise, rtol=0.05)
    np.testing.assert_allclose(found.noise, NOISE * signal, rtol=0.05)
    np.testing.assert_allclose(found.cross_validation.mean(axis=0), recording.noise, rtol=0.05)
    truth = found.base.matrix @ panda.parameters.ravel()
    z = (found.base_values - truth) / found.base_deviations
    assert np.sqrt((z**2).mean()) == pytest.approx(1.0, abs=0.35)
    assert 1 < found.condition < 1e3


def test_noise_alone_still_gives_bodies(panda: pysim.Model, rng: np.random.Generator) -> None:
    own = arm_recording(panda, 400, seed=2)
    samples = make_samples(
        panda, own.t, own.q, rng.normal(size=own.tau.shape), own.true_v, own.true_a
    )
    found = identify(panda, samples, folds=2)
    assert inertia.is_physical(found.theta).all()


def test_energies_identify_an_arm_without_accelerations(
    panda: pysim.Model, recording: Recording
) -> None:
    drawing = mistaken(panda, seed=3)
    samples = recording.samples(drawing, differentiate=False)
    found = identify(drawing, samples, using="energy")
    other = arm_recording(panda, 3000, seed=8)
    assert found.residual.shape == (1,)
    before, after = (held_out_error(m, other)[:4] / other.noise[:4] for m in (drawing, found.model))
    assert (after < 1.2).all()  # the wrist moves little energy
    assert (before > 5 * after).all()


# A payload ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", ["as built", "as identified"])
def test_a_payload_of_1200_g_is_recovered_to_2_percent_and_5_mm(
    panda: pysim.Model, recording: Recording, known: str
) -> None:
    load = inertia.theta_from_com(1.2, [0.02, -0.01, 0.08], np.diag([4e-3, 3e-3, 2e-3]))
    body, pose = panda.frames["panda_hand"]
    theta = panda.parameters
    theta[body] += inertia.move_theta(load, pose)
    loaded = panda.with_parameters(theta)
    empty = panda
    if known == "as identified":
        drawing = mistaken(panda, seed=3)
        empty = identify(drawing, recording.samples(drawing)).model
    samples = arm_recording(loaded, 10_000, seed=5).samples(empty)
    found = identify(empty, samples, payload="panda_hand")
    assert found.theta[0, 0] == pytest.approx(1.2, rel=0.02)
    com = inertia.center_of_mass(found.theta[0])
    assert np.linalg.norm(com - [0.02, -0.01, 0.08]) < 5e-3
    assert inertia.is_physical(found.theta).all()
    assert found.model.total_mass == pytest.approx(empty.total_mass + found.theta[0, 0])


# A floating base ---------------------------------------------------------------------------------


def test_a_robot_in_flight_is_identified_to_its_noise_on_a_motion_held_out() -> None:
    anymal = load_robot("anymal")
    drawing = mistaken(anymal, seed=2)
    own, other = flight_recording(anymal, 4000, seed=1), flight_recording(anymal, 1500, seed=7)
    samples = make_samples(drawing, own.t, own.q, own.tau, window=0.05)
    found = identify(drawing, samples)
    assert inertia.is_physical(found.theta).all()
    assert (held_out_error(found.model, other)[6:] < 1.2 * other.noise[6:]).all()
    assert held_out_error(found.model, other)[:3].max() < 0.01 * 9.81 * anymal.total_mass
    assert found.model.total_mass == pytest.approx(anymal.total_mass, rel=0.02)


def test_momenta_identify_a_robot_in_flight_without_torques_or_accelerations() -> None:
    """Not even the joints' torques: they are replaced by nonsense."""
    anymal = load_robot("anymal")
    drawing = mistaken(anymal, seed=2)
    drawing = drawing.with_parameters(
        drawing.parameters * (anymal.total_mass / drawing.total_mass)  # weighed
    )
    own, other = flight_recording(anymal, 4000, seed=1), flight_recording(anymal, 1500, seed=7)
    tau = np.where(np.arange(anymal.nv) < 6, own.tau, 1e3)
    samples = make_samples(drawing, own.t, own.q, tau, window=0.05)
    found = identify(drawing, samples, using="momentum", folds=1)
    assert found.equations[:6] == ("p.x", "p.y", "p.z", "L.x", "L.y", "L.z")
    text = "no external force acts on the base: momentum determines mass ratios only, scaled by the model's total mass"
    assert found.notes == (text,)
    assert inertia.is_physical(found.theta).all()
    assert found.model.total_mass == pytest.approx(anymal.total_mass, rel=1e-3)
    before, after = (held_out_error(m, other)[6:] / other.noise[6:] for m in (drawing, found.model))
    assert (after < 0.25 * before).all()
    assert np.median(after) < 1.6


def test_momenta_identify_the_mass_of_a_robot_under_external_forces() -> None:
    anymal = load_robot("anymal")
    drawing = mistaken(anymal, seed=2)
    own = flight_recording(anymal, 3000, seed=1, push=30.0)
    samples = make_samples(drawing, own.t, own.q, own.tau, window=0.05)
    found = identify(drawing, samples, using="momentum", interval=0.05, folds=1)
    assert found.notes == ()
    assert len(found.equations) == 6
    assert found.model.total_mass == pytest.approx(anymal.total_mass, rel=1e-3)


def test_too_few_intervals_are_rejected_with_what_to_do() -> None:
    anymal = load_robot("anymal")
    own = flight_recording(anymal, 500, seed=1)
    samples = make_samples(anymal, own.t, own.q, own.tau, own.true_v, own.true_a)
    text = (
        r"^samples: 4 intervals of 0.1 \[s\] give 28 equations for 94 base parameters; take a shorter interval or "
        "record longer$"
    )
    with pytest.raises(IdentificationError, match=text):
        identify(anymal, samples, using="momentum", folds=2)


def test_momenta_need_a_free_base_and_know_no_friction(
    panda: pysim.Model, recording: Recording
) -> None:
    samples = recording.samples(panda, differentiate=False)
    text = "^samples: momentum is transferred to the ground, because the base is not free; use equations of torque"
    with pytest.raises(IdentificationError, match=text):
        identify(panda, samples, using="momentum")


# Refusals ----------------------------------------------------------------------------------------


def test_too_few_samples_are_rejected_with_how_many_it_takes(
    panda: pysim.Model, recording: Recording
) -> None:
    samples = recording.samples(panda, differentiate=False).part(slice(0, 5))
    text = (
        r"^samples: 5 rows give 45 equations for 51 base parameters; record at least 6 rows, preferably a "
        "hundred times as many$"
    )
    with pytest.raises(IdentificationError, match=text):
        identify(panda, samples)


def test_a_motion_that_determines_too_few_parameters_is_reported(
    panda: pysim.Model, recording: Recording
) -> None:
    still = recording.samples(panda, differentiate=False)
    rest = np.zeros_like(still.v)
    q = np.tile(still.q[:1], (50, 1))
    tau = pysim.rnea(panda, q, rest[:50], rest[:50]) - pysim.passive_forces(panda, q, rest[:50])
    found = identify(panda, make_samples(panda, still.t[:50], q, tau, rest[:50], rest[:50]))
    assert found.identifiable < 12
    text = f"the motion identifies {found.identifiable} of 51 base parameters; the others are those of the prior; "
    assert found.notes == (text + "record a richer motion",)
    assert inertia.is_physical(found.theta).all()


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        (
            {"resistances": ["damnping"]},
            "unknown 'damnping': cannot be identified; did you mean 'damping'?",
        ),
        (
            {"payload": "panda_hnd"},
            "payload 'panda_hnd': no such frame; did you mean 'panda_hand'?",
        ),
        (
            {"bodies": ["panda_link"]},
            "body 'panda_link': no such moving body; did you mean 'panda_link7'?",
        ),
        (
            {"payload": "panda_link0"},
            "payload: frame 'panda_link0' is on the world, which does not move; name a frame of a moving body",
        ),
        ({"prior": 0.0}, "prior: must be positive, got 0"),
        ({"using": "power"}, "using 'power': unknown equations; known: torque, energy, momentum"),
        (
            {"payload": "panda_hand", "bodies": ["panda_link7"]},
            "bodies: cannot be identified together with a payload; leave one out",
        ),
    ],
)
def test_unidentifiable_bodies_and_frames_are_named(
    panda: pysim.Model, recording: Recording, keywords: dict[str, Any], text: str
) -> None:
    with pytest.raises(IdentificationError) as caught:
        identify(panda, recording.samples(panda, differentiate=False), **keywords)
    assert str(caught.value) == text


FOLLOWED = """
[[body]]
name = "upper"
mass = 2.0
com = [0.2, 0, 0]
inertia = { xx = 0.05, yy = 0.05, zz = 0.05 }
[[body]]
name = "bracket"
mass = 0.0
[[body]]
name = "lower"
mass = 1.0
com = [0.1, 0, 0.05]
inertia = { xx = 0.03, yy = 0.03, zz = 0.03 }
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
damping = 0.3
armature = 0.04
[[joint]]
name = "follower"
type = "revolute"
parent = "upper"
child = "bracket"
axis = [0, 1, 0]
at = { xyz = [0.4, 0, 0] }
mimic = { joint = "shoulder", ratio = -0.5, offset = 0.2 }
[[joint]]
name = "elbow"
type = "revolute"
parent = "bracket"
child = "lower"
axis = [1, 0, 0]
damping = 0.1
armature = 0.01
"""


@pytest.mark.parametrize("using", ["torque", "energy"])
def test_a_mechanism_with_a_follower_and_a_massless_body_is_identified(
    tmp_path: Path, using: str
) -> None:
    """Armature and damping of the leaders are recovered; the massless body is named, and has none afterwards."""
    (tmp_path / "arm.toml").write_text(FOLLOWED, "utf-8")
    truth = pysim.load_scene(tmp_path / "arm.toml").model
    t = np.arange(1500) * 0.002
    w = np.array([4.0, 7.0])
    q, v, a = np.sin(t[:, None] * w), w * np.cos(t[:, None] * w), -(w**2) * np.sin(t[:, None] * w)
    tau = pysim.rnea(truth, q, v, a) - pysim.passive_forces(truth, q, v)
    bare = re.sub(r"(damping|armature) = .*\n", "", FOLLOWED)
    (tmp_path / "bare.toml").write_text(bare, "utf-8")
    drawing = pysim.load_scene(tmp_path / "bare.toml").model
    found = identify(
        drawing,
        make_samples(drawing, t, q, tau, v, a),
        using=using,
        resistances=["damping", "armature"],
    )
    assert found.notes[0] == "not identified, because they have no mass: bracket"
    joints = {joint.name: joint for joint in found.model.spec.joints}
    for name, damping, armature in (("shoulder", 0.3, 0.04), ("elbow", 0.1, 0.01)):
        assert joints[name].damping[0] == pytest.approx(damping, rel=1e-2)
        assert joints[name].armature[0] == pytest.approx(armature, rel=0.2)


def test_a_massless_body_has_no_prior_to_begin_at(tmp_path: Path) -> None:
    (tmp_path / "arm.toml").write_text(FOLLOWED, "utf-8")
    model = pysim.load_scene(tmp_path / "arm.toml").model
    still = np.zeros((30, 2))
    samples = make_samples(model, np.arange(30) * 0.1, still, still, still, still)
    with pytest.raises(IdentificationError) as caught:
        identify(model, samples, bodies=["bracket"])
    assert str(caught.value).startswith(
        "body 'bracket': has no mass in the model, and therefore no prior; give it a"
    )


@pytest.mark.parametrize("using", ["torque", "energy"])
@pytest.mark.parametrize(
    ("q", "torque", "problem"),
    [
        (0.0, 0.0, "samples: all velocities, accelerations and forces are 0; check the columns"),
        (0.3, 0.0, "samples: all velocities, accelerations and forces are 0; check the columns"),
    ],
)
def test_a_log_of_zeros_is_rejected_with_what_to_check(using, q, torque, problem):
    b = pysim.SceneBuilder("arm")
    b.body("arm", mass=1.0, com=[0.1, 0, 0], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    b.joint("hinge", "revolute", axis=[0, 1, 0], child="arm")
    model, rows = b.build().model, np.ones((200, 1))
    samples = make_samples(model, np.linspace(0, 1, 200), q * rows, torque * rows)
    with pytest.raises(IdentificationError, match=problem):
        identify(model, samples, using=using)


def test_the_energy_of_a_joint_that_stands_still_identifies_nothing():
    b = pysim.SceneBuilder("arm")
    b.body("arm", mass=1.0, com=[0.1, 0, 0], inertia={"xx": 0.1, "yy": 0.1, "zz": 0.1})
    b.joint("hinge", "revolute", axis=[0, 1, 0], child="arm")
    model, rows = b.build().model, np.ones((200, 1))
    samples = make_samples(model, np.linspace(0, 1, 200), 0.3 * rows, 0.1 * rows)
    with pytest.raises(IdentificationError, match="identifies none of the 3 base parameters; rec"):
        identify(model, samples, using="energy")
