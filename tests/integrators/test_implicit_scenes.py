"""Scenes with implicit schemes: their keys, plugins' fields as keys, what a run counts and how it fails.

Oracles: the words of the errors, and counts that follow from the scheme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import SceneError, SimulationError
from pysim.integrators import Integrator, integrator
from pysim.scene import read_scene
from pysim.simulation import summarize
from pysim.typing import Array
from tests.integrators.test_registration import PENDULUM, scene

if TYPE_CHECKING:
    from pathlib import Path


@integrator("test_theta")
class Theta(Integrator):
    """Explicit Euler with a velocity between the old and the new one."""

    theta: float
    loud: bool = False

    def step(self, system: Any, t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        end = v + h * system.acceleration(t, q, v)
        return system.integrate(q, h * ((1 - self.theta) * v + self.theta * end)), end


@integrator("test_taken_key")
class TakenKey(Integrator):
    """A scheme with a field that the table has already."""

    step: float = 1.0  # type: ignore[assignment]


def test_the_spectral_radius_is_a_key_with_a_default(tmp_path: Path) -> None:
    path = scene(tmp_path, 'integrator = "generalized_alpha"')
    assert read_scene(path).settings.parameters == {"spectral_radius": 0.9}
    changed = read_scene(path, overrides={"simulation.spectral_radius": 0.5})
    assert changed.settings.parameters == {"spectral_radius": 0.5}
    assert read_scene(scene(tmp_path, "")).settings.parameters == {}


def test_it_damps_what_it_is_reported_to(tmp_path: Path) -> None:
    """A spring far too fast for the step is gone with a small radius, and stays with 1."""
    spring = PENDULUM.replace("start = 1.0", "start = 1e-3\nstiffness = 1e10")
    left = []
    for radius in (0.2, 1.0):
        lines = f'integrator = "generalized_alpha"\nspectral_radius = {radius}\nstep = 0.01'
        trajectory = pysim.simulate(pysim.load_scene(scene(tmp_path, lines, spring)))
        left.append(trajectory.elastic[-1] + trajectory.kinetic[-1])
    assert left[0] < 1e-9 * 0.5 * 1e10 * 1e-6
    assert left[1] == pytest.approx(0.5 * 1e10 * 1e-6, rel=1e-4)


def test_fields_of_a_plugin_are_keys_of_the_table(tmp_path: Path) -> None:
    path = scene(tmp_path, 'integrator = "test_theta"\ntheta = 1')
    assert read_scene(path).settings.parameters == {"theta": 1.0, "loud": False}
    own = pysim.simulate(pysim.load_scene(path)).q
    same = pysim.simulate(pysim.load_scene(scene(tmp_path, 'integrator = "semi_implicit"'))).q
    np.testing.assert_allclose(own, same, rtol=0, atol=1e-10)  # θ = 1 is symplectic Euler


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'integrator = "generalized_alpha"\nspectral_radius = 1.5',
            "18:19: simulation.spectral_radius: must be from 0 (most damping) to 1 (no damping), got 1.5",
        ),
        (
            'integrator = "generalized_alpha"\nspectral_radius = -0.1',
            "18:19: simulation.spectral_radius: must be from 0 (most damping) to 1 (no damping), got -0.1",
        ),
        (
            'integrator = "generalized_alpha"\nspectral_radius = "large"',
            "18:19: simulation.spectral_radius: must be a number, got 'large'",
        ),
        (
            "spectral_radius = 0.9",
            "17:1: simulation.spectral_radius: 'rk4' has none; remove spectral_radius or take "  # noqa: ISC004
            'integrator = "generalized_alpha"',
        ),
        (
            'integrator = "implicit_midpoint"\nrtol = 1e-6',
            "18:1: simulation.rtol: 'implicit_midpoint' takes steps of one size and estimates no error; "  # noqa: ISC004
            "remove rtol or take one that adapts: dopri5",
        ),
        (
            "parameters = { theta = 0.5 }",
            "17:1: simulation.parameters: 'rk4' has none; remove parameters",
        ),
        (
            'integrator = "test_theta"\ntheta = 0.5\nparameters = { theta = 0.5 }',
            "19:14: simulation.parameters: unknown key; known: theta, loud",
        ),
        (
            'integrator = "test_theta"',
            "17:14: simulation.integrator: Theta needs the key theta; write theta = …",
        ),
        (
            'integrator = "test_theta"\ntheta = "half"',
            "18:9: simulation.theta: must be float, got 'half'",
        ),
        (
            'integrator = "test_theta"\ntheta = 0.5\nloudd = true',
            "19:1: simulation.loudd: unknown key; did you mean 'loud'?",
        ),
        (
            'integrator = "test_taken_key"',
            "17:14: simulation.integrator: TakenKey has a field 'step', which is a key of [simulation] "  # noqa: ISC004
            "itself; give the field another name",
        ),
        (
            'integrator = "generalised_alpha"',
            "17:14: simulation.integrator: unknown integrator 'generalised_alpha'; did you mean "  # noqa: ISC004
            "'generalized_alpha'?",
        ),
    ],
)
def test_invalid_settings_are_rejected_with_their_place(
    tmp_path: Path, lines: str, message: str
) -> None:
    path = scene(tmp_path, lines)
    with pytest.raises(SceneError) as caught:
        read_scene(path)
    assert str(caught.value) == f"{path}:{message}"


def test_check_shows_the_scheme_and_its_keys(tmp_path: Path, capsys: Any) -> None:
    path = scene(tmp_path, 'integrator = "generalized_alpha"\nspectral_radius = 0.8')
    assert main(["check", str(path)]) == 0
    assert "generalized_alpha 0.001 s, spectral_radius 0.8, output" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["implicit_midpoint", "generalized_alpha"])
def test_a_run_counts_its_iterations_and_its_rejected_steps(tmp_path: Path, name: str) -> None:
    updates: list[Any] = []
    loaded = pysim.load_scene(scene(tmp_path, f'integrator = "{name}"'))
    summary = summarize(loaded, pysim.simulate(loaded, progress=updates.append), updates[-1])
    assert summary.steps == 2000
    assert 1 <= summary.iterations / summary.steps < 5
    assert summary.rejected == 0


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
def test_a_step_too_long_for_newton_is_made_in_shorter_ones(tmp_path: Path) -> None:
    """A stop hit at full speed within one step of 50 ms."""
    hard = PENDULUM.replace(
        "start = 1.0",
        "start = 1.0\nlimits = { lower = -0.5, upper = 3.0, stiffness = 1e7, damping = 100 }",
    )
    updates: list[Any] = []
    loaded = pysim.load_scene(
        scene(tmp_path, 'integrator = "generalized_alpha"\nstep = 0.05', hard)
    )
    trajectory = pysim.simulate(loaded, progress=updates.append)
    assert np.isfinite(trajectory.q).all()
    assert trajectory.q.min() > -0.6


@pytest.mark.parametrize("name", ["implicit_midpoint", "generalized_alpha"])
def test_equations_without_a_solution_name_time_joint_causes_and_remedy(
    tmp_path: Path, name: str
) -> None:
    """Friction that turns from one side to the other within 1e-14 rad/s."""
    sticky = PENDULUM.replace("start = 1.0", "start = 1.0\nfriction = 1e12\nfriction_width = 1e-14")
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(
            pysim.load_scene(scene(tmp_path, f'integrator = "{name}"\nstep = 0.1', sticky))
        )
    text = str(caught.value)
    assert "s.toml: at t = 0 s the equations of" in text
    assert (
        f"{name!r} have no solution that Newton's method finds, even in steps of 0.0016 s" in text
    )
    assert "'hinge' converges worst" in text
    assert "reduce simulation.step, now 0.1 [s]" in text
