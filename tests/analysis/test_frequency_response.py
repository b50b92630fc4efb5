"""Frequency responses, systems with fewer states, and regulators for some of the states.

Oracles: closed forms of an oscillator, sums over modes, and a long run under a sine.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from tests.analysis.test_linearization import oscillator
from tests.elements.blocks import table

SCENES = Path(__file__).parents[2] / "scenes"
UPRIGHT = [0.0, 0.0], [0.0, 0.0]


def cart_pole(**options) -> pysim.LinearSystem:
    """A cart with a pole that stands up, without its regulator."""
    changes = {"controller[0].gain": [[0.0, 0.0, 0.0, 0.0]]}
    scene = pysim.load_scene(SCENES / "cart_pole.toml", changes)
    return pysim.linearize(scene, ["push"], state=UPRIGHT, **options)


def test_the_response_of_an_oscillator_is_its_closed_form(tmp_path: Path) -> None:
    system = pysim.linearize(oscillator(tmp_path), ["push"], ["q.x", "v.x"])
    omega = np.array([0.0, 1.0, 5.0, 40.0])
    found = system.frequency_response(omega)
    exact = 1 / (50.0 - 2.0 * omega**2 + 4.0j * omega)  # stiffness, mass, damping
    np.testing.assert_allclose(found.G[:, 0, 0], exact, rtol=1e-9)
    np.testing.assert_allclose(found.G[:, 1, 0], 1j * omega * exact, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.magnitude[:, 0, 0], np.abs(exact), rtol=1e-9)
    np.testing.assert_allclose(found.phase[:, 0, 0], np.angle(exact), rtol=1e-9, atol=1e-15)
    assert (found.inputs, found.outputs) == (("push",), ("q.x", "v.x"))


@pytest.mark.parametrize("period", [None, 0.02])
def test_responses_are_sums_over_the_modes(period: float | None) -> None:
    """G = Σ (C xₖ) (yₖᵀ B) / (λ − sₖ) + D, with the eigenvectors xₖ of A and the rows yₖ of their inverse."""
    system = cart_pole(period=period)
    found = system.frequency_response()
    assert np.all(np.diff(found.omega) > 0)
    A, B, C, D = system
    s, X = np.linalg.eig(A)
    residues = (C @ X)[:, None, :] * np.linalg.solve(X, B).T[None, :, :]
    points = 1j * found.omega if period is None else np.exp(1j * found.omega * period)
    exact = (residues / (points[:, None, None, None] - s)).sum(axis=-1) + D
    np.testing.assert_allclose(found.G, exact, rtol=1e-7, atol=1e-11 * np.abs(exact).max())
    if period is not None:
        assert found.omega[-1] == pytest.approx(np.pi / period)


def test_a_run_under_a_sine_has_the_amplitude_of_the_response(tmp_path: Path) -> None:
    system = pysim.linearize(oscillator(tmp_path), ["push"], ["q.x"])
    omega = 4.0
    sine = table(
        "signal", name="wave", type="sine", amplitude=3.0, frequency=omega, unit="N"
    ) + table("actuator", name="other", type="force", joint="x", command="wave")
    run = {"integrator": "rk4", "duration": 12.0, "step": 2e-3}
    trajectory = pysim.simulate(oscillator(tmp_path, sine, **run))
    late = trajectory.t > 12.0 - 2 * np.pi / omega
    waves = np.column_stack([f(omega * trajectory.t[late]) for f in (np.sin, np.cos)])
    fitted = np.linalg.lstsq(waves, trajectory.q[late, 0], rcond=None)[0]
    expected = 3.0 * system.frequency_response([omega]).magnitude[0, 0, 0]
    assert np.linalg.norm(fitted) == pytest.approx(expected, rel=1e-4)


def test_the_picture_has_curves_for_every_input_and_output(tmp_path: Path) -> None:
    cart_pole().frequency_response().plot(tmp_path / "bode.png")
    assert (tmp_path / "bode.png").stat().st_size > 10_000


@pytest.mark.parametrize("omega", [[-1.0], [np.nan], [[1.0]]])
def test_wrong_frequencies_are_errors(omega) -> None:
    with pytest.raises(SimulationError, match="omega: must be finite frequencies"):
        cart_pole().frequency_response(omega)


def test_a_system_without_inputs_has_no_response() -> None:
    scene = pysim.load_scene(SCENES / "pendulum.toml")
    with pytest.raises(SimulationError, match="the system has no input; name one"):
        pysim.linearize(scene, state=([0.0], [0.0])).frequency_response()


def test_a_state_that_acts_on_nothing_is_left_out_and_the_poles_stay() -> None:
    system = cart_pole()
    small = system.reduced(["q.hinge", "v.slide", "v.hinge"])
    assert small.states == ("q.hinge", "v.slide", "v.hinge")
    with_origin = np.sort_complex(np.append(small.poles, 0.0))  # of the position
    np.testing.assert_allclose(with_origin, np.sort_complex(system.poles), atol=1e-9)
    wide, narrow = (s.frequency_response([2.0]).G for s in (system, small))
    row = system.outputs.index("q.hinge")
    np.testing.assert_allclose(narrow[:, row], wide[:, row], rtol=1e-9)


def test_a_state_that_acts_on_others_cannot_be_left_out() -> None:
    with pytest.raises(SimulationError, match=r"'q\.hinge' acts on 'v\.\w+' and cannot be left"):
        cart_pole().reduced(["q.slide", "v.slide", "v.hinge"])


def test_a_regulator_for_some_states_balances_without_holding_the_others() -> None:
    system = cart_pole()
    states = ["q.hinge", "v.hinge", "v.slide"]
    regulator = pysim.lqr(system, [20.0, 1.0, 1.0], 0.5, states=states)
    assert regulator.K.shape == (1, 3)
    small = system.reduced(states)
    exact = pysim.lqr((small.A, small.B), [20.0, 1.0, 1.0], 0.5)
    np.testing.assert_allclose(regulator.K, exact.K, rtol=1e-12)
    closed = np.linalg.eigvals(small.A - small.B @ regulator.K)
    assert closed.real.max() < 0
    with pytest.raises(pysim.PysimError, match="states: are those of a system"):
        pysim.lqr((small.A, small.B), 1.0, 1.0, states=states)
