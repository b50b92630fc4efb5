"""Friction with a state. Oracles: the cases `lugre_*` of tests/data/reference/elements, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from pysim.forces import Force, force, real
from tests.elements.blocks import disc, mass, run_at, scene_of, simulation, table
from tests.elements.reference_cases import Case


def friction(s, coordinates=("x",)):
    return table(
        "force",
        name="friction",
        type="lugre_friction",
        coordinates=list(coordinates),
        kinetic=s["Fc_N"],
        static=s["Fs_N"],
        stribeck_speed=s["vs_m_s"],
        bristle_stiffness=s["sigma0_N_m"],
        bristle_damping=s["sigma1_N_s_m"],
        viscous=s["sigma2_N_s_m"],
    )


def test_steady_friction_follows_the_stribeck_curve(tmp_path):
    """A body too heavy to be braked slides until its bristles have settled."""
    case = Case("lugre_steady")
    s, m, found = case.setup, 1e15, []
    for v in case.at("steady").tolist():
        until = 60 * s["Fs_N"] / s["sigma0_N_m"] / abs(v)
        run = simulation(duration=until, interval=until, rtol=1e-12, atol=1e-18)
        whole = pysim.simulate(scene_of(tmp_path, mass(m, v=v) + friction(s) + run))
        found.append(-m * whole.a[-1, 0])
    case.agrees("steady", found)


def test_small_displacements_before_sliding_form_a_loop(tmp_path):
    case = Case("lugre_presliding")
    s = case.setup
    push = {"t": [0, 5, 7, 17, 19, 29], "values": [0, 1.425, 1.425, -1.425, -1.425, 1.425]}
    text = mass(s["mass_kg"]) + friction(s)
    text += table("signal", name="push", type="table", unit="N", **push)
    text += table("actuator", name="push force", type="force", joint="x", command="push")
    whole, rows = run_at(tmp_path, text, case.at("x"), rtol=1e-9, atol=1e-15)
    case.agrees("push", whole.signals["push"][rows])
    case.agrees("x", whole.q[rows, 0])
    case.agrees("bristle z", whole.signals["friction.bristle"][rows])


@force("reference_pull")
class Pull(Force):
    """Spring on a coordinate whose other end moves at a constant speed."""

    stiffness: float  # [N/m]
    speed: float  # [m/s]

    def force(self, t, q):
        return [self.stiffness * (self.speed * t - q[0])]


def test_a_mass_on_a_moving_spring_sticks_and_slips(tmp_path):
    case = Case("lugre_stick_slip")
    s = case.setup
    speed, k = s["speed_of_the_spring_end_m_s"], s["spring_N_m"]
    spring = {"coordinates": ["x"], "stiffness": k, "speed": speed}
    text = mass(s["mass_kg"]) + friction(s)
    text += table("force", name="spring", type="reference_pull", **spring)
    run = simulation(duration=40.0, interval=5e-3, rtol=1e-8, atol=1e-14)
    whole = pysim.simulate(scene_of(tmp_path, text + run))
    rows = [int(np.argmin(np.abs(whole.t - t))) for t in case.at("x")]
    case.agrees("x", whole.q[rows, 0])
    case.agrees("spring force", k * (speed * whole.t - whole.q[:, 0])[rows])
    above = whole.v[:, 0] - speed / 2
    up = crossings(whole.t, above, whole.a[:, 0], rising=True)
    case.agrees("times when", up)
    case.agrees("the same", crossings(whole.t, above, whole.a[:, 0], rising=False))
    case.agrees("period", up[-1] - up[-2])


def crossings(t, x, rate, *, rising):
    """Return the times at which x passes 0, by cubic interpolation between rows."""
    instants = []
    for k in np.flatnonzero((x[:-1] < 0) != (x[1:] < 0)):
        if (x[k + 1] > 0) == rising:
            h = t[k + 1] - t[k]
            cubic = [
                2 * (x[k] - x[k + 1]) + h * (rate[k] + rate[k + 1]),
                3 * (x[k + 1] - x[k]) - h * (2 * rate[k] + rate[k + 1]),
                h * rate[k],
                x[k],
            ]
            roots = np.roots(cubic)
            (inside,) = roots[(abs(roots.imag) < 1e-9) & (roots.real >= 0) & (roots.real <= 1)]
            instants.append(t[k] + h * inside.real)
    return instants


@pytest.mark.parametrize("integrator", ["implicit_midpoint", "generalized_alpha"])
def test_implicit_schemes_carry_the_bristles_at_steps_of_a_millisecond(tmp_path, integrator):
    """Explicit steps must be shorter than g/(σ0 |v|), 1e-4 s at 0.1 m/s."""
    s = Case("lugre_steady").setup
    run = simulation(integrator, duration=0.5, interval=0.1)
    whole = pysim.simulate(scene_of(tmp_path, mass(1.0, v=0.6) + friction(s) + run))
    exact = simulation(duration=0.5, interval=0.1, rtol=1e-10, atol=1e-15)
    closer = pysim.simulate(scene_of(tmp_path, mass(1.0, v=0.6) + friction(s) + exact))
    np.testing.assert_allclose(whole.v, closer.v, rtol=0, atol=1e-4)


def test_the_work_of_friction_with_a_state_is_dissipated(tmp_path):
    s = Case("lugre_steady").setup
    run = simulation(duration=0.2, rtol=1e-10)
    whole = pysim.simulate(scene_of(tmp_path, mass(1.0, v=0.2) + friction(s) + run))
    work = whole.work
    lost = 0.5 * (0.2**2 - whole.v[-1, 0] ** 2)
    np.testing.assert_allclose(work["dissipated"][-1], lost, rtol=1e-9)
    np.testing.assert_array_equal(work["injected"], 0)


def test_friction_acts_between_two_coordinates(tmp_path):
    s = Case("lugre_steady").setup
    text = mass(1.0, v=0.3) + table(
        "body", name="other", mass=3, inertia={"xx": 1, "yy": 1, "zz": 1}
    )
    text += table("joint", name="y", type="prismatic", axis=[1, 0, 0], child="other")
    text += friction(s, ["x", "y"]) + simulation(duration=0.5, rtol=1e-9)
    whole = pysim.simulate(scene_of(tmp_path, text))
    np.testing.assert_allclose(whole.v @ [1.0, 3.0], 0.3, rtol=1e-12)  # momentum
    np.testing.assert_allclose(whole.v[-1], 0.075, atol=1e-6)  # both stick


def test_a_clutch_joins_two_discs(tmp_path):
    """Closed at 1 s, it accelerates one disc and brakes the other by its capacity until both turn alike."""
    text = disc(0.1, v=6.0) + table(
        "body", name="other", mass=1, inertia=dict.fromkeys(("xx", "yy", "zz"), 0.2)
    )
    text += table("joint", name="output", type="revolute", child="other")
    text += table("signal", name="pedal", type="step", time=1.0)
    text += table(
        "force",
        name="clutch",
        type="clutch",
        coordinates=["hinge", "output"],
        capacity=0.5,
        engagement="pedal",
        rounding_speed=1e-2,
    )
    whole = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=3.0)))
    np.testing.assert_allclose(whole.v @ [0.1, 0.2], 0.6, rtol=1e-12)
    slips = (whole.t > 1.0) & (whole.t < 1.7)  # until 0.8 s after closing
    np.testing.assert_allclose(whole.v[slips, 1], 2.5 * (whole.t[slips] - 1.0), atol=5e-3)
    np.testing.assert_allclose(whole.v[-1], 2.0, rtol=1e-9)


def test_a_force_with_states_without_rates_is_rejected():
    with pytest.raises(PysimError) as caught:

        @force("test_without_rate")
        class WithoutRate(Force):
            """A force."""

            states = real("stretch")

            def force(self, v, stretch):
                return [-stretch - v[0]]

    problem = "has the states stretch, but no state_rate"
    remedy = "write `def state_rate(self, q, v, stretch)`"
    assert str(caught.value).endswith(f"{problem}; {remedy}")


def test_a_force_with_states_follows_a_rollout_bit_for_bit(tmp_path):
    s = Case("lugre_steady").setup | {"vs_m_s": 0.1}
    text = disc(0.1, v=0.3).replace('"hinge"', '"x"') + friction(s)
    scene = scene_of(tmp_path, text + simulation("rk4", duration=0.02, interval=0.01, step=1e-5))
    alone = pysim.simulate(scene)
    many = pysim.rollout(
        scene, np.zeros((5, 1)), np.full((5, 1), 0.3), signals=["friction.bristle"]
    )
    for k in range(5):
        np.testing.assert_array_equal(many.v[k], alone.v)
        np.testing.assert_array_equal(
            many.signals["friction.bristle"][k].ravel(), alone.signals["friction.bristle"]
        )
