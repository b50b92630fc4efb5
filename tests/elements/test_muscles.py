"""Hill muscles.

Oracles: the cases `thelen_*`, `millard_*` and `activation_*` of tests/data/reference/elements, which two independent
programs computed, and a muscle on a bench in OpenSim 4.6 (tests/data/reference/opensim).
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import pysim
from pysim.elements.library.muscles.degroote_fregly_muscle import (
    DeGrooteFreglyMuscle,
    RigidDeGrooteFreglyMuscle,
)
from pysim.elements.library.muscles.millard_muscle import MillardMuscle, RigidTendonMuscle
from pysim.elements.library.muscles.thelen_muscle import ThelenMuscle
from tests.elements.blocks import FIXED, constant, run_at, scene_of, simulation, table
from tests.elements.reference_cases import FOLDER, Case
from tests.scene_runs import SCENES

CURVES = json.loads((FOLDER.parent / "opensim" / "muscle_curves.json").read_text("utf-8"))
BENCH = json.loads((FOLDER.parent / "opensim" / "muscle_bench.json").read_text("utf-8"))
SMOOTH = json.loads((FOLDER.parent / "opensim" / "degroote_fregly_muscle.json").read_text("utf-8"))
OTHER_CURVES = {"active_width": 1.2, "passive_strain": 0.5, "tendon_strain": 0.06}
STANDARD = {
    "max_isometric_force": 1000.0,
    "optimal_fibre_length": 0.1,
    "tendon_slack_length": 0.2,
    "excitation": "u",
}
PAPER = {"toe": 0.609, "slope": 1.712, "lengthening_limit": 0.999}  # rounded, and nowhere linear


def properties(s):
    """Return the keys of a muscle from the setup of a case."""
    return {
        "max_isometric_force": s["Fmax_N"],
        "optimal_fibre_length": s["Lopt_m"],
        "tendon_slack_length": s["tendon_slack_length_m"],
        "pennation_angle": s["pennation_at_Lopt_rad"],
        "excitation": "u",
    }


def bench(kind, length, source, **keys):
    """Return a scene of a muscle of constant length: the mass at its end hardly moves."""
    text = "gravity = [0, 0, 0]\n"
    text += table("body", name="mass", mass=1e13, inertia=dict.fromkeys(("xx", "yy", "zz"), 1))
    text += table("joint", name="slide", type="prismatic", child="mass")
    path = [{"body": "world"}, {"body": "mass", "point": [0.0, 0.0, length]}]
    return text + source + table("force", name="muscle", type=kind, path=path, **keys)


# ------------------------------------------------------------------------------------------------ curves


def test_the_curves_of_thelen():
    case = Case("thelen_curves")
    muscle = ThelenMuscle(**properties(case.setup), **PAPER)
    case.agrees("active force-length", muscle.active_force(case.at("active force-length")))
    case.agrees("passive", muscle.passive_force(case.at("passive")))
    case.agrees("tendon force", muscle.tendon_force(case.at("tendon force")))
    forces = np.array(case.expected("active force/Fmax")["value"])
    velocity = muscle.velocity(forces, 1.0, 1.0)
    np.testing.assert_allclose(velocity, case.at("active force/Fmax"), rtol=1e-11, atol=1e-12)


def test_the_tendon_of_thelen_has_no_corner_with_the_unrounded_constants():
    muscle = ThelenMuscle(**STANDARD)
    end, h = muscle.toe * muscle.tendon_strain, 1e-7
    below, above = (
        (muscle.tendon_force(end + s * h) - muscle.tendon_force(end)) / (s * h) for s in (-1, 1)
    )
    assert below == pytest.approx(above, rel=1e-5)


def test_the_curves_of_millard():
    case = Case("millard_curves")
    muscle = MillardMuscle(**STANDARD)
    curves = {
        "active": muscle.active_curve,
        "passive": muscle.passive_curve,
        "force-velocity": muscle.velocity_curve,
        "tendon": muscle.tendon_force,
    }
    for quantity, curve in curves.items():
        case.agrees(quantity, [curve(x) for x in case.at(quantity).tolist()])


def test_the_default_curves_of_millard_are_those_of_opensim():
    """A tendon's are of its length; pysim's active curve has the minimum 0 of damped muscles, OpenSim's alone 0.1."""
    muscle = MillardMuscle(**STANDARD)
    found = {
        "FiberForceLengthCurve": muscle.passive_curve,
        "TendonForceLengthCurve": lambda length: muscle.tendon_force(length - 1),
        "ForceVelocityCurve": muscle.velocity_curve,
    }
    for name, curve in found.items():
        for x, value, _ in CURVES["curves"][name]:
            assert curve(float(x)) == pytest.approx(value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Thelen2003Muscle", ThelenMuscle), ("Millard2012EquilibriumMuscle", MillardMuscle)],
)
def test_activation_changes_as_in_opensim(name, kind):
    """Above the minimum: below it pysim lets activation rest there, and OpenSim's state goes on without effect."""
    least = 0.01
    for activation, excitation, rate in CURVES["activation_rate"][name]:
        if min(activation, excitation) >= least:
            muscle = kind(**STANDARD | {"excitation": float(excitation)})
            assert muscle.activation_rate(float(activation)) == pytest.approx(
                rate, rel=1e-12, abs=1e-12
            )


@pytest.mark.parametrize(("name", "kind"), [("thelen", ThelenMuscle), ("millard", MillardMuscle)])
def test_fibre_velocity_and_tension_are_those_of_opensim(name, kind):
    muscle = kind(**STANDARD, pennation_angle=BENCH["pennation_angle_rad"])
    for row in BENCH[name]:
        length, _, activation, fibre, velocity, *_, tension, _ = map(float, row)
        a = muscle.used_activation(activation)
        pull = muscle.tension(length, fibre) / 1000
        found = muscle.fibre_velocity(a, fibre / 0.1, muscle.cosine(fibre), pull)
        assert muscle.tension(length, fibre) == pytest.approx(tension, rel=1e-8, abs=1e-7)
        assert 0.1 * found == pytest.approx(velocity, rel=1e-8, abs=1e-8)


def test_a_rigid_tendon_carries_the_force_of_opensim():
    muscle = RigidTendonMuscle(**STANDARD, pennation_angle=BENCH["pennation_angle_rad"])
    for row in BENCH["rigid"]:
        length, speed, activation = map(float, row[:3])
        expected = float(row[-2])
        if expected > 0:
            found = muscle.tension(length, speed, activation)
            assert found == pytest.approx(expected, rel=1e-8)


def test_the_curves_of_de_groote_and_fregly_are_those_of_opensim():
    muscle = DeGrooteFreglyMuscle(**STANDARD)
    found = {
        "active": muscle.active_force,
        "passive": muscle.passive_force,
        "velocity": muscle.velocity_force,
        "tendon": lambda length: muscle.tendon_force(length - 1),
    }
    for name, curve in found.items():
        for x, value in SMOOTH["curves"][name]:
            assert curve(x) == pytest.approx(value, rel=1e-12, abs=1e-14)
    for activation, excitation, rate in SMOOTH["activation_rate"]:
        muscle = DeGrooteFreglyMuscle(**STANDARD | {"excitation": excitation})
        assert muscle.activation_rate(activation) == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("elastic", {}),
        ("elastic, other curves", OTHER_CURVES),
        ("elastic, without passive force", {"passive_share": 0.0}),
    ],
)
def test_fibres_of_de_groote_and_fregly_move_as_in_opensim(name, keys):
    muscle = DeGrooteFreglyMuscle(**STANDARD, pennation_angle=0.3, **keys)
    for length, _, activation, fibre, velocity, tension in SMOOTH[name]:
        pull = muscle.tension(length, fibre) / 1000
        found = muscle.fibre_velocity(activation, fibre / 0.1, muscle.cosine(fibre), pull)
        assert muscle.tension(length, fibre) == pytest.approx(tension, abs=1e-8)
        assert 0.1 * found == pytest.approx(velocity, rel=1e-10)


@pytest.mark.parametrize(("name", "damping"), [("rigid", 0.0), ("rigid, damping 0.05", 0.05)])
def test_a_rigid_tendon_carries_the_force_of_de_groote_and_fregly_in_opensim(name, damping):
    muscle = RigidDeGrooteFreglyMuscle(**STANDARD, pennation_angle=0.3, damping=damping)
    for length, speed, activation, *_, tension in SMOOTH[name]:
        assert muscle.tension(length, speed, activation) == pytest.approx(tension, abs=1e-8)


@pytest.mark.parametrize("damping", [1e-3, 0.1, 2.0])
def test_a_damped_fibre_of_de_groote_and_fregly_balances_the_tendon(damping):
    """The velocity leaves no residual of the force balance, whether the fibre shortens or lengthens."""
    muscle = DeGrooteFreglyMuscle(**STANDARD, damping=damping)
    for a in (0.05, 0.6):
        for l, pull in ((0.7, 0.0), (0.9, 0.2), (1.0, 0.9), (1.2, 1.6)):
            v = muscle.fibre_velocity(a, l, 1.0, pull) / muscle.max_contraction_velocity
            own = a * muscle.active_force(l) * muscle.velocity_force(v) + muscle.passive_force(l)
            assert own + damping * v == pytest.approx(pull, abs=1e-12)


# ------------------------------------------------------------------------------------------------ motion


@pytest.mark.parametrize("name", ["activation_step", "activation_release"])
def test_activation_after_a_step_of_excitation(tmp_path, name):
    case = Case(name)
    s = case.setup
    keys = STANDARD | {
        "activation_time": s["tau_act_s"],
        "deactivation_time": s["tau_deact_s"],
        "initial_activation": s["start_a"],
    }
    text = bench("thelen_muscle", 0.3, constant("u", s["excitation"]), **keys)
    run, rows = run_at(tmp_path, text, case.at("activation"))
    case.agrees("activation", run.signals["muscle.activation"][rows])


@pytest.mark.parametrize(
    ("name", "kind", "more"),
    [
        ("thelen_isometric", "thelen_muscle", PAPER),
        ("millard_isometric", "millard_muscle", {}),
    ],
)
def test_an_isometric_contraction(tmp_path, name, kind, more):
    case = Case(name)
    s = case.setup
    excitation = table("signal", name="u", type="step", time=0.3, before=1.0, after=0.2)
    keys = properties(s) | more
    text = bench(kind, s["musculotendon_length_m"], excitation, **keys)
    run, rows = run_at(tmp_path, text, case.at("activation"))
    case.agrees("fibre length at the start", run.signals["muscle.fibre_length"][0])
    case.agrees("activation", run.signals["muscle.activation"][rows])
    case.agrees("fibre length", run.signals["muscle.fibre_length"][rows])
    plugin = ThelenMuscle if name.startswith("thelen") else MillardMuscle
    muscle = plugin(**(properties(s) | more))
    fibres = run.signals["muscle.fibre_length"][rows].tolist()
    case.agrees("tendon force", [muscle.tension(s["musculotendon_length_m"], x) for x in fibres])


def quick_release(s):
    """Return a load below a muscle, which is isometric before the start."""
    keys = properties(s) | PAPER | {"initial_activation": s["activation"]}
    path = [{"body": "world", "point": [0.0, 0.0, s["held_musculotendon_length_m"]]}]
    path += [{"body": "load"}]
    return (
        f"gravity = [0, 0, {-s['gravity_m_s2']}]\n"
        + table(
            "body",
            name="load",
            mass=s["load_kg"],
            inertia=dict.fromkeys(("xx", "yy", "zz"), 1),
        )
        + table("joint", name="slide", type="prismatic", child="load")
        + constant("u", s["activation"])
        + table("force", name="muscle", type="thelen_muscle", path=path, **keys)
    )


def test_a_muscle_lifts_a_load_after_a_quick_release(tmp_path):
    case = Case("thelen_quick_release")
    run, rows = run_at(tmp_path, quick_release(case.setup), case.at("x, v"))
    fibre = run.signals["muscle.fibre_length"]
    case.agrees("x, v", np.hstack([run.q, run.v, fibre.reshape(-1, 1)])[rows])
    muscle = ThelenMuscle(**properties(case.setup), **PAPER)
    held = case.setup["held_musculotendon_length_m"]
    case.agrees("isometric tendon force", muscle.tension(held, float(fibre[0])))
    tensions = [muscle.tension(held - run.q[k, 0], float(fibre[k])) for k in rows]
    case.agrees("tendon force", tensions)


@pytest.mark.parametrize(
    "kind", ["thelen_muscle", "millard_muscle", "rigid_tendon_muscle", "degroote_fregly_muscle"]
)
@pytest.mark.parametrize("integrator", [name for name in FIXED if name.startswith("i")])
def test_implicit_schemes_carry_a_muscle_with_long_steps(tmp_path, kind, integrator):
    """A stiff tendon and a light load: the steps of 2 ms are those of an arm, and the motion is that of short ones."""
    s = Case("thelen_quick_release").setup
    text = quick_release(s).replace('type = "thelen_muscle"', f'type = "{kind}"')
    for key in PAPER:
        text = "\n".join(line for line in text.splitlines() if not line.startswith(f"{key} ="))
    ends = []
    for step in (2e-3, 2.5e-4):
        run = simulation(integrator, step=step, duration=0.1, interval=0.02)
        ends.append(pysim.simulate(scene_of(tmp_path, text + "\n" + run)).q[-1, 0])
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_worlds_of_muscles_have_the_bits_of_one(tmp_path):
    """An implicit equation stops in each world at its own root, whatever its neighbours do."""
    s = Case("thelen_quick_release").setup
    text = quick_release(s).replace('type = "thelen_muscle"', 'type = "millard_muscle"')
    for key in PAPER:
        text = "\n".join(line for line in text.splitlines() if not line.startswith(f"{key} ="))
    scene = scene_of(
        tmp_path, text + "\n" + simulation("rk4", step=5e-4, duration=0.02, interval=0.02)
    )
    q0 = np.linspace(-0.01, 0.02, 11)[:, None]
    together = pysim.rollout(scene, q0, 0 * q0, steps=40)
    for k in (0, 4, 10):
        alone = pysim.rollout(scene, q0[k : k + 1], 0 * q0[:1], steps=40)
        np.testing.assert_array_equal(alone.q[0], together.q[k])


@pytest.mark.parametrize(("kind", "least"), [("thelen_muscle", 0.0), ("millard_muscle", 0.4441)])
def test_a_muscle_whose_path_is_too_short_starts_slack_at_its_least_length(tmp_path, kind, least):
    """As in OpenSim: Thelen's fibre down to the steepest pennation, Millard's down to the begin of f_l."""
    keys = {**STANDARD, "pennation_angle": 0.0}
    text = bench(kind, 0.15, constant("u", 0.0), **keys)
    run = pysim.simulate(scene_of(tmp_path, text + simulation(duration=0.01, interval=0.01)))
    shortest = least * keys["optimal_fibre_length"]
    np.testing.assert_allclose(run.signals["muscle.fibre_length"], shortest, atol=1e-9)


def test_an_excitation_is_a_number_without_a_unit(tmp_path):
    text = bench("thelen_muscle", 0.3, constant("u", 0.5, "N"), **STANDARD)
    with pytest.raises(pysim.SceneError, match=r"excitation.*is in \[1\], but 'u' is in \[N\]"):
        scene_of(tmp_path, text + simulation())


def test_a_muscle_that_is_torn_is_reported_with_its_name_and_state(tmp_path):
    text = bench("millard_muscle", 10.0, constant("u", 0.5), **STANDARD)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.1))
    with pytest.raises(pysim.SimulationError, match=r"force 'muscle' .*fibre_length.* is NaN"):
        pysim.simulate(scene)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_isometric_force": -1.0}, "max_isometric_force"),
        ({"tendon_slack_length": 0.0}, "tendon_slack_length"),
        ({"pennation_angle": 1.5}, "pennation_angle"),
        ({"lengthening_force": 1.0}, "lengthening_force"),
        ({"lengthening_limit": 1.0}, "lengthening_limit"),
    ],
)
def test_impossible_numbers_of_a_muscle_are_rejected_with_their_keys(tmp_path, keys, message):
    text = bench("thelen_muscle", 0.3, constant("u", 0.5), **(STANDARD | keys))
    with pytest.raises(pysim.SceneError, match=message):
        scene_of(tmp_path, text + simulation())


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "generalized_alpha"])
@pytest.mark.parametrize("kind", ["millard_muscle", "thelen_muscle"])
def test_a_muscle_arm_takes_at_most_three_newton_steps(tmp_path, integrator, kind):
    """Steps of 1 ms while the biceps becomes active and bends the arm; nothing holds it."""
    text = (SCENES / "elbow.toml").read_text("utf-8").replace("millard_muscle", kind)
    file = tmp_path / "elbow.toml"
    file.write_text(text, "utf-8")
    keys = {"simulation.integrator": integrator, "simulation.duration": 1.0}
    keys |= {"force[2].capacity": 0.0}
    updates = []
    pysim.simulate(pysim.load_scene(file, keys), progress=updates.append)
    assert updates[-1].iterations / updates[-1].steps < 3
