"""Limits on the step size at a joint's stop.

Oracles: closed forms of a mass on a spring and a damper, the speed that an undamped stop gives back, and runs on either
side of the bound.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.diagnosis.modes import stop_modes
from pysim.diagnosis.stability import BOUNCE_ERROR, bounce_bound, stable_step
from pysim.inertia import theta_from_com
from pysim.integrators import BUILTIN
from pysim.worlds.loading import compile_model
from tests.diagnosis.test_stability import scene_file, slider
from tests.oracles.mechanisms import one_body

STOP = "limits = {{ upper = {upper}, stiffness = {k}, damping = {d} }}"


def test_a_stop_has_the_root_of_its_spring_and_damper(tmp_path: Path) -> None:
    """s² + (d s + k)/m = 0; behind a slider that runs free, of the mass m₀ m₁/(m₀ + m₁)."""
    stop = STOP.format(upper=1.0, k=5e4, d=300.0)
    (alone,) = stop_modes(pysim.load_scene(scene_file(tmp_path, slider(stop, 2.0))))
    assert alone.s == pytest.approx(complex(-75, np.sqrt(25000 - 75**2)), rel=1e-12)
    assert alone.joint == "slide0"
    pair = slider("", 3.0) + slider(stop, 2.0, k=1, parent="mass0")
    (carried,) = stop_modes(pysim.load_scene(scene_file(tmp_path, pair)))
    mass = 3 * 2 / (3 + 2)
    expected = complex(-150 / mass, np.sqrt(5e4 / mass - (150 / mass) ** 2))
    assert carried.s == pytest.approx(expected, rel=1e-12)
    hard = STOP.format(upper=1.0, k=100.0, d=1000.0)  # decays at 0.1 and at 999.9 1/s
    (mode,) = stop_modes(pysim.load_scene(scene_file(tmp_path, slider(hard))))
    assert mode.s == pytest.approx(-500 - np.sqrt(500**2 - 100), rel=1e-12)


def test_a_scene_without_stops_has_no_mode_of_one(tmp_path: Path) -> None:
    assert stop_modes(pysim.load_scene(scene_file(tmp_path, slider("stiffness = 100")))) == []


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
@pytest.mark.filterwarnings("ignore:.*starts 0.05 .m. beyond its upper limit:pysim.PysimWarning")
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4"])
def test_a_body_that_lies_at_its_stop_gains_energy_beyond_the_bound_and_none_below(
    tmp_path: Path, integrator: str
) -> None:
    text = slider(STOP.format(upper=0.05, k=1e4, d=0.0))
    (stop,) = stop_modes(pysim.load_scene(scene_file(tmp_path, text, 1e-3, integrator)))
    bound = stable_step(stop.s, integrator)
    assert bound == pytest.approx(
        {"semi_implicit": 2.0, "rk4": np.sqrt(8)}[integrator] / 100, rel=1e-4
    )

    def gained(step: float) -> float:
        run = pysim.simulate(pysim.load_scene(scene_file(tmp_path, text, step, integrator)))
        return float(run.energy[-1] / run.energy[0])

    assert gained(0.1 * bound) < 1.2
    assert gained(1.5 * bound) > 2


def test_a_stop_too_hard_for_the_step_is_reported_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = scene_file(tmp_path, slider(STOP.format(upper=1.0, k=1e12, d=0.0)))
    main(["check", str(path)])
    reported = capsys.readouterr()
    assert (
        "stops       1e+06 1/s at 'slide0', a step of 4.4e-07 s at most to follow" in reported.out
    )
    text = " ".join(reported.err.split())
    assert "simulation.step is 0.001 [s], beyond the 4.4e-07 [s] up to which rk4 follows" in text
    assert "'slide0' is at its stop; a longer one may throw it back faster than it came" in text
    assert "take 4.2e-07 or less, or a softer stop" in text
    main([str(path), "--duration", "0.002", "-o", str(tmp_path / "a.h5")])
    assert capsys.readouterr().err.startswith(reported.err)
    main(["check", str(path), "--set", "joint.slide0.limits.stiffness=1e4"])
    assert "warning" not in capsys.readouterr().err
    main(["check", str(path), "--set", "simulation.integrator=dopri5"])
    assert "warning" not in capsys.readouterr().err


FIXED = [name for name, kind in BUILTIN.items() if not (kind.adaptive or kind.contacts)]


def rebounds(integrator: str, step_times_frequency: float, radius: float = 0.9) -> np.ndarray:
    """Speeds given back by an undamped stop for 1, met at 101 instants of a step of 1 s."""
    k = np.array([step_times_frequency**2])
    theta = theta_from_com(1.0, np.zeros(3), np.eye(3))
    stop = {"upper": np.zeros(1), "stop_stiffness": k}
    model = compile_model(one_body("prismatic", theta, gravity=np.zeros(3), **stop))
    before = -1 - np.linspace(1e-6, 1 - 1e-6, 101)[:, np.newaxis]
    steps = int(20 + 1.2 * np.pi / step_times_frequency)
    _, v = pysim.rollout(
        model,
        before,
        np.ones((101, 1)),
        None,
        1.0,
        integrator,
        steps=steps,
        every=steps,
        spectral_radius=radius,
    )
    return np.asarray(-v[:, -1, 0])


def test_every_scheme_of_fixed_steps_has_a_bound() -> None:
    assert [kind.name for kind in BUILTIN.values() if kind.bounce is not None] == list(FIXED)


@pytest.mark.filterwarnings("ignore:rollout. step is:pysim.PysimWarning")
@pytest.mark.parametrize(
    ("integrator", "radius"),
    [(name, 0.9) for name in FIXED] + [("generalized_alpha", r) for r in (0.0, 0.2, 1.0)],
)
def test_a_bounce_keeps_its_speed_up_to_the_bound_and_not_far_beyond(
    tmp_path: Path, integrator: str, radius: float
) -> None:
    """Energy: what comes with 1 m/s leaves with 1 m/s."""
    path = scene_file(tmp_path, slider(STOP.format(upper=1.0, k=1.0, d=0.0)), 1.0, integrator)
    own = {"simulation.spectral_radius": radius} if integrator == "generalized_alpha" else {}
    _, bound = bounce_bound(pysim.load_scene(path, own))
    for part in (1.0, 0.9, 0.7, 0.4):
        errors = np.abs(rebounds(integrator, part * bound, radius) - 1)
        assert errors.max() < BOUNCE_ERROR
    assert np.abs(rebounds(integrator, 2 * bound, radius) - 1).max() > BOUNCE_ERROR


@pytest.mark.filterwarnings("ignore:rollout. step is:pysim.PysimWarning")
@pytest.mark.parametrize("integrator", ["generalized_alpha", "variational", "variational4"])
def test_an_implicit_scheme_at_a_stop_too_hard_for_it_gives_energy_and_is_reported_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], integrator: str
) -> None:
    assert rebounds(integrator, 10.0).max() > 2.5
    path = scene_file(tmp_path, slider(STOP.format(upper=1.0, k=1e8, d=0.0)), integrator=integrator)
    main(["check", str(path)])
    reported = capsys.readouterr().err
    assert f"up to which {integrator} follows a bounce" in " ".join(reported.split())
    main([str(path), "--duration", "0.002", "-o", str(tmp_path / "a.h5")])
    assert capsys.readouterr().err.startswith(reported)
    main(["check", str(path), "--set", "simulation.step=2.8e-5"])
    assert "warning" not in capsys.readouterr().err
