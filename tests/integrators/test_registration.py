"""Integrators by name: those of the engine, plugins, and the keys of a scene that go with them.

Oracles: closed forms, the engine's own schemes, and the words of the errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.errors import PysimError, SceneError, SimulationError
from pysim.integrators import BUILTIN, Integrator, integrator
from pysim.scene import read_scene
from pysim.typing import Array
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from pathlib import Path


PENDULUM = """
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -1]
inertia = { xx = 1e-3, yy = 1e-3, zz = 1e-3 }

[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
start = 1.0

[simulation]
duration = 2.0
"""


@integrator("test_heun")
class Heun(Integrator):
    """Heun's scheme, of order 2."""

    def step(self, system: Any, t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        a = system.acceleration(t, q, v)
        end = system.integrate(q, h * v + h**2 / 2 * a)
        return end, v + h / 2 * (a + system.acceleration(t + h, end, v + h * a))


def scene(tmp_path: Path, lines: str, text: str = PENDULUM) -> Path:
    path = tmp_path / "s.toml"
    path.write_text(text + lines, "utf-8")
    return path


def final(path: Path) -> float:
    return float(pysim.simulate(pysim.load_scene(path)).q[-1, 0])


def test_the_names_are_those_of_the_engine() -> None:
    fixed = [kind.name for kind in BUILTIN.values() if not (kind.adaptive or kind.contacts)]
    assert fixed == _engine.integrators()


@pytest.mark.parametrize("name", [*BUILTIN, "test_heun"])
def test_every_scheme_runs_a_scene(tmp_path: Path, name: str) -> None:
    exact = final(scene(tmp_path, 'integrator = "dopri5"\nrtol = 1e-12\natol = 1e-13'))
    angle = final(scene(tmp_path, f'integrator = "{name}"'))
    assert angle == pytest.approx(exact, abs=5e-3 if name in {"semi_implicit", "convex"} else 1e-5)


def test_a_plugin_has_the_order_it_claims(tmp_path: Path) -> None:
    exact = final(scene(tmp_path, 'integrator = "dopri5"\nrtol = 1e-12\natol = 1e-13'))
    errors = [
        abs(final(scene(tmp_path, f'integrator = "test_heun"\nstep = {h}')) - exact)
        for h in (4e-3, 2e-3)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)


def test_adapted_steps_take_fewer_and_count_them(tmp_path: Path) -> None:
    updates: list[Any] = []
    path = scene(tmp_path, 'integrator = "dopri5"\nrtol = 1e-6\natol = 1e-6')
    trajectory = pysim.simulate(pysim.load_scene(path), progress=updates.append)
    assert updates[-1].steps < 60
    assert len(trajectory) == 1001  # outputs are interpolated
    energy = trajectory.energy
    assert np.abs(energy - energy[0]).max() < 1e-4


def test_tolerances_may_be_given_by_joint(tmp_path: Path) -> None:
    settings = read_scene(
        scene(tmp_path, 'integrator = "dopri5"\nrtol = { hinge = 1e-4 }\natol = 1e-7')
    ).settings
    assert settings.rtol == {"": 1e-8, "hinge": 1e-4}
    assert settings.atol == {"": 1e-7}
    assert settings.step == np.inf


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'integrator = "dopri"',
            "17:14: simulation.integrator: unknown integrator 'dopri'; did you mean 'dopri5'?",
        ),
        (
            "rtol = 1e-6",
            "17:1: simulation.rtol: 'rk4' takes steps of one size and estimates no error; "  # noqa: ISC004
            "remove rtol or take one that adapts: dopri5",
        ),
        (
            'integrator = "dopri5"\nrtol = { hing = 1e-6 }',
            "18:10: simulation.rtol.hing: unknown joint 'hing'; did you mean 'hinge'?",
        ),
        (
            'integrator = "dopri5"\natol = 0.0',
            "18:8: simulation.atol: must be positive [m, rad, m/s or rad/s], got 0.0",
        ),
        (
            'integrator = "dopri5"\natol = { hinge = -1 }',
            "18:18: simulation.atol.hinge: must be positive [m, rad, m/s or rad/s], got -1",
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


def test_a_step_that_shrinks_to_nothing_names_time_joint_and_causes(tmp_path: Path) -> None:
    lines = """step = 0.1
integrator = "dopri5"

[[actuator]]
joint = "hinge"
amplitude = 1e30
frequency = 1e30
"""
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(pysim.load_scene(scene(tmp_path, lines)))
    text = str(caught.value)
    assert "at t = 0 s the step shrank to" in text
    assert "the error of 'hinge' is the largest" in text
    assert "raise simulation.rtol and atol" in text


def test_names_that_are_taken_are_rejected_by_both_owners() -> None:
    with pytest.raises(PysimError, match="integrator 'rk4' is built in; choose another name"):
        integrator("rk4")(Heun)

    class Other(Heun):
        pass

    taken = r"integrator 'test_heun' is already taken by .*\.py:\d+: Heun; choose another name"
    with pytest.raises(PysimError, match=taken):
        integrator("test_heun")(Other)


def test_a_plugin_without_a_step_is_rejected() -> None:
    class Empty(Integrator):
        pass

    here = r"^.*test_registration\.py:\d+: .*Empty: has no method step; write `def step"
    with pytest.raises(PysimError, match=here):
        integrator("test_empty")(Empty)
    with pytest.raises(PysimError, match=here):
        Empty().step(None, 0.0, 0.1, np.zeros(1), np.zeros(1))  # type: ignore[arg-type]


@integrator("test_nan")
class NoNumbers(Heun):
    """Heun's scheme until 20 ms."""

    def step(self, system: Any, t: float, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        q, v = super().step(system, t, h, q, v)
        return q, v * (1 if t < 0.02 else np.nan)


def test_a_scheme_that_leaves_the_numbers_is_not_blamed_on_a_loop() -> None:
    overrides = {"simulation.integrator": "test_nan", "simulation.step": 1e-3}
    faulty = pysim.load_scene(SCENES / "four_bar.toml", overrides)
    with pytest.raises(
        SimulationError, match=r"reaches NaN or infinite values at t = 0\.021 s"
    ) as caught:
        pysim.simulate(faulty)
    assert "kept closed" not in str(caught.value)
    line = r"or fix NoNumbers\.step, \S+test_registration\.py:\d+"
    assert re.search(line, str(caught.value))


def test_a_scheme_that_leaves_the_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    path = faulty(tmp_path, "test_log", "return q * np.log(-1.0), v", PENDULUM)
    reported = r"reduce simulation\.step, now 0\.\d+ \[s\], or fix Faulty\.step, \S+:\d+, `.*np\.log.*`, invalid value"
    with pytest.raises(SimulationError, match=reported):
        pysim.simulate(pysim.load_scene(path, allow_code=True))


FREE = PENDULUM.replace('type = "revolute"', 'type = "free"').replace(
    "axis = [0, 1, 0]\nstart = 1.0\n", ""
)
NOT_UNIT = (
    "Faulty.step: at t = {} s its q holds a quaternion (x, y, z, w) of length {} for joint 'hinge', "
    "it must be 1; divide it by its length, or move q by system.integrate"
)
WRONG_STEPS = {
    "return system.integrate(q, h * v[:-1]), v": "at t = 1.1 s ValueError: dv must have shape (6,)",
    "system.acceleration(t, 2 * q, v)": "at t = 1.1 s ValueError: q holds a quaternion (x, y, z, w) of length 2",
    "return q, v[:0]": "got arrays of shapes (7,) and (0,) at t = 1.2 s",
    "return 2 * q, v": NOT_UNIT.format("1.2", "2.000000"),
    "q[:] = 0": NOT_UNIT.format("1.2", "0.000000"),
}


@pytest.mark.parametrize("fault", WRONG_STEPS)
def test_an_invalid_step_of_a_plugin_is_reported_with_its_time_and_not_as_divergence(
    tmp_path: Path, fault: str
) -> None:
    path = faulty(tmp_path, f"test_wrong_{list(WRONG_STEPS).index(fault)}", fault, FREE)
    with pytest.raises(PysimError) as caught:
        pysim.simulate(pysim.load_scene(path, allow_code=True))
    assert WRONG_STEPS[fault] in str(caught.value)
    assert "Faulty.step" in str(caught.value)


def test_stages_that_leave_the_numbers_are_a_divergence(tmp_path: Path) -> None:
    stages = "system.acceleration(t, system.integrate(q, np.inf * v), v)"
    path = faulty(tmp_path, "test_infinite", stages, PENDULUM)
    with pytest.raises(
        SimulationError, match=r"'hinge' reaches NaN or infinite values at t = 1\.2 s"
    ):
        pysim.simulate(pysim.load_scene(path, allow_code=True))


def test_a_step_may_return_other_numbers_than_doubles(tmp_path: Path) -> None:
    text = "return system.integrate(q, h * v).astype(np.float32), v.astype(np.float32)"
    path = faulty(tmp_path, "test_float32", text, FREE)
    trajectory = pysim.simulate(pysim.load_scene(path, allow_code=True))
    assert np.isfinite(trajectory.q).all()


def test_a_step_that_returns_no_numbers_is_reported(tmp_path: Path) -> None:
    path = faulty(tmp_path, "test_text", 'return "a", v', PENDULUM)
    with pytest.raises(pysim.JointError, match=r"Faulty\.step: must return numbers, at t = 1\.2 s"):
        pysim.simulate(pysim.load_scene(path, allow_code=True))


def test_a_step_that_ruins_the_state_of_a_loop_is_reported_as_divergence(tmp_path: Path) -> None:
    path = faulty(tmp_path, "test_ruin", "v += 1; q *= np.nan", PENDULUM)
    four_bar = (SCENES / "four_bar.toml").read_text("utf-8")
    path.write_text('plugins = ["faulty.py"]\n' + four_bar, "utf-8")
    keys = {"integrator": "test_ruin", "step": 0.01, "duration": 2.0}
    changes = {f"simulation.{key}": value for key, value in keys.items()} | {"output.every": 0.1}
    with pytest.raises(SimulationError, match=r"reaches NaN or infinite values at t = 1\.0"):
        pysim.simulate(pysim.load_scene(path, changes, allow_code=True))


def test_a_step_may_change_the_state_that_it_is_given(tmp_path: Path) -> None:
    path = faulty(tmp_path, "test_in_place", "pass", PENDULUM, "q += h; v += 1")
    start = pysim.load_scene(path, allow_code=True)
    trajectory = pysim.simulate(start)
    assert start.state.q == 1
    assert trajectory.q[0] == 1
    np.testing.assert_allclose(trajectory.v[:, 0] * 0.1, trajectory.t, atol=1e-12)


FAULTS = {
    "raise ValueError('my own')": "ValueError: my own, in `raise ValueError('my own')`; fix Faulty.step",
    "np.linalg.solve(np.zeros((1, 1)), v)": "LinAlgError: Singular matrix, in `np.linalg.solve",
    "{}['k']": "KeyError: 'k', in `{}['k']`; fix Faulty.step",
    "return 1": "Faulty.step: must return (q, v) of shapes (1,) and (1,), got int",
    "return q, v[:0]": "got arrays of shapes (1,) and (0,)",
}


@pytest.mark.parametrize(("k", "fault"), list(enumerate(FAULTS)))
def test_a_fault_of_an_author_is_reported_by_the_authors_line(
    tmp_path: Path, k: int, fault: str
) -> None:
    path = faulty(tmp_path, f"test_faulty_{k}", fault, PENDULUM)
    with pytest.raises(PysimError) as caught:
        pysim.simulate(pysim.load_scene(path, allow_code=True))
    assert FAULTS[fault] in str(caught.value)
    assert str(tmp_path / "faulty.py") in str(caught.value)


def faulty(folder: Path, name: str, fault: str, text: str, before: str = "pass") -> Path:
    """A scene whose scheme, steps of 0.1 s, does something after 1 s."""
    code = (
        "import numpy as np\nfrom pysim.integrators import Integrator, integrator\n\n\n"
        f"@integrator({name!r})\nclass Faulty(Integrator):\n"
        f"    def step(self, system, t, h, q, v):\n        {before}\n"
        f"        if t > 1.05:\n            {fault}\n        return q, v\n"
    )
    (folder / "faulty.py").write_text(code, "utf-8")
    lines = f'integrator = "{name}"\nstep = 0.1\n\n[output]\nevery = 0.1\n'
    return scene(folder, lines, 'plugins = ["faulty.py"]\n' + text)


@pytest.mark.parametrize("tolerance", [1e-14, 1e-15])
def test_a_tolerance_as_fine_as_numbers_are_is_kept(tmp_path: Path, tolerance: float) -> None:
    lines = f'integrator = "dopri5"\nrtol = {tolerance}\natol = {tolerance}'
    path = scene(tmp_path, lines, PENDULUM.replace("duration = 2.0", "duration = 0.05"))
    run = pysim.simulate(pysim.load_scene(path))
    assert np.abs(run.energy - run.energy[0]).max() < 1e-13


@pytest.mark.parametrize("tolerance", [1e-20, 1e-30, 5e-324])
def test_a_tolerance_finer_than_numbers_are_ends_the_run_by_name(
    tmp_path: Path, tolerance: float
) -> None:
    """At 1 rad numbers are 2.2e-16 apart, so that no step is short enough."""
    lines = f'integrator = "dopri5"\nrtol = {tolerance}\natol = {tolerance}'
    reported = (
        rf"s\.toml: at t = .* s 'hinge' cannot be resolved as finely as simulation.rtol {tolerance:g} and atol "
        rf"{tolerance:g} require: .*; raise rtol to 1e-15 or more"
    )
    with pytest.raises(SimulationError, match=reported):
        pysim.simulate(pysim.load_scene(scene(tmp_path, lines)))


def test_an_absolute_tolerance_that_can_be_met_is_enough(tmp_path: Path) -> None:
    exact = final(scene(tmp_path, 'integrator = "dopri5"\nrtol = 1e-12\natol = 1e-13'))
    angle = final(scene(tmp_path, 'integrator = "dopri5"\nrtol = 1e-30\natol = 1e-12'))
    assert angle == pytest.approx(exact, abs=1e-10)
