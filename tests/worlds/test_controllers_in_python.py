"""Controllers in Python with a memory of their own: killed and resumed runs, and saved worlds.

Oracle: the same run or worlds, never stopped, to the bit.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import pysim
from pysim.errors import JointError, SimulationError
from tests.resumed_runs import differing, run_killed, run_to_stop, segments_of

PLUGINS = '''
import numpy as np
from pysim.controllers import CallbackController, controller, signal


@controller("remembering_pi")
class PI(CallbackController):
    """A proportional-integral controller, which keeps its sum in Python."""

    inputs = signal("q", unit="m")
    outputs = signal("force", unit="N")

    def begin(self, worlds):
        self.sum = np.zeros((worlds, 1))

    def output(self, inputs):
        self.sum += 0.01 * (0.1 - inputs.q)
        return 30.0 * (0.1 - inputs.q) + 8.0 * self.sum

    def state(self):
        return {"sum": self.sum, "calls": [1, "a"]}

    def restore(self, state):
        assert state["calls"] == [1, "a"]
        self.sum = state["sum"]


@controller("pi_by_world")
class ByWorld(PI):
    """Begins again, is copied and runs in some of its worlds."""

    def begin_again(self, worlds):
        self.sum[worlds] = 0.0

    def copy(self, source, target):
        self.sum[target] = self.sum[source]

    def output(self, inputs, worlds):
        self.sum[worlds] += 0.01 * (0.1 - inputs.q)
        return 30.0 * (0.1 - inputs.q) + 8.0 * self.sum[worlds]


@controller("forgetful_pi")
class Forgetful(PI):
    """Returns a set, which files cannot hold."""

    def state(self):
        return {1, 2}


@controller("failing_pi")
class Failing(PI):
    """Fails when it is saved."""

    def state(self):
        raise ZeroDivisionError("nothing left")
'''
TEXT = """
name = "mass"
plugins = ["own.py"]

[[body]]
name = "stone"
mass = 2.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "slide"
type = "prismatic"
parent = "world"
child = "stone"
axis = [0, 0, 1]
stiffness = 50.0

[[sensor]]
name = "place"
type = "coordinates"
coordinates = ["slide"]

[[controller]]
name = "regulator"
type = "TYPE"
inputs = ["place.q"]
period = 0.01

[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "regulator"

[simulation]
integrator = "rk4"
duration = 1.2
step = 1e-3
checkpoint = 1e-6
"""
EVENT = """
[[event]]
name = "low"
joint = "slide"
at = -0.05
release = ["motor"]
"""
OWN_SCHEME = '''
from pysim.integrators import Integrator, integrator


@integrator("remembering_euler")
class Euler(Integrator):
    """Symplectic Euler."""

    def step(self, system, t, h, q, v):
        v = v + h * system.acceleration(t, q, v)
        return system.integrate(q, h * v), v
'''

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


@pytest.fixture
def mass(tmp_path: Path) -> Any:
    """Return a function that writes and loads the scene with a type of controller, and changes of keys."""

    def load(kind: str = "remembering_pi", event: str = "", **changes: Any) -> pysim.Scene:
        (tmp_path / "own.py").write_text(PLUGINS + OWN_SCHEME)
        (tmp_path / "mass.toml").write_text(
            TEXT.replace("TYPE", kind).replace("[simulation]", f"{event}[simulation]")
        )
        return pysim.load_scene(tmp_path / "mass.toml", changes, allow_code=True)

    return load


@pytest.mark.parametrize("integrator", ["rk4", "dopri5", "remembering_euler"])
def test_a_killed_run_ends_with_the_same_bits(integrator: str, mass: Any, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"simulation.integrator": integrator, "output.every": 0.01}
    if integrator == "dopri5":
        changes |= {"simulation.rtol": 1e-8, "simulation.atol": 1e-10}
    pysim.simulate(mass(**changes), tmp_path / "whole.h5")
    output = tmp_path / "run.h5"
    assert run_killed(tmp_path / "mass.toml", output, changes, 0.3, 0.01, allow_code=True)
    assert not pysim.load_trajectory(output).complete
    pysim.resume(output, allow_code=True)
    assert not differing(tmp_path / "whole.h5", output)


@pytest.mark.parametrize(
    ("integrator", "event"),
    [
        ("rk4", EVENT),
        ("dopri5", EVENT),
        ("generalized_alpha", ""),
        ("convex", ""),
        ("remembering_euler", EVENT),
    ],
)
def test_a_stopped_run_resumed_has_the_same_bits(
    integrator: str, event: str, mass: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"simulation.integrator": integrator, "simulation.duration": 0.2}
    scene = mass("remembering_pi", event, **changes)
    count = segments_of(scene, tmp_path / "whole.h5", monkeypatch)
    stop = random.Random(integrator).randrange(count // 3, count)
    run_to_stop(scene, tmp_path / "run.h5", stop, monkeypatch)
    resumed = pysim.resume(tmp_path / "run.h5", allow_code=True)
    assert len(resumed.events) == bool(event)
    assert not differing(tmp_path / "whole.h5", tmp_path / "run.h5")


@pytest.mark.parametrize("integrator", ["rk4", "remembering_euler"])
def test_saved_worlds_go_on_with_the_same_bits(integrator: str, mass: Any) -> None:
    worlds, reloaded = (
        pysim.Worlds(mass(**{"simulation.integrator": integrator}), 3) for _ in range(2)
    )
    worlds.v[:, 0] = [0.0, 0.4, -0.2]
    worlds.step(steps=35)
    saved = worlds.save()
    worlds.step(steps=35)
    reloaded.load(saved)
    reloaded.step(steps=35)
    assert reloaded.q.tobytes() == worlds.q.tobytes()
    worlds.load(saved)
    worlds.step(steps=35)
    assert reloaded.v.tobytes() == worlds.v.tobytes()
    for call in (lambda: worlds.save(where=[0]), lambda: worlds.load(saved, where=[0])):
        with pytest.raises(
            SimulationError, match=r"regulator' runs in Python for all worlds|holds 3"
        ):
            call()


def test_states_that_cannot_be_saved_are_named_with_the_method(mass: Any, tmp_path: Path) -> None:
    place = r"own\.py:\d+: Forgetful\.state"
    with pytest.raises(JointError, match=f"{place}: returns what files do not hold: it holds set"):
        pysim.Worlds(mass("forgetful_pi"), 2).save()
    with pytest.raises(JointError, match="nothing left"):
        pysim.simulate(mass("failing_pi"), tmp_path / "run.h5")


def stepped(scene: pysim.Scene, count: int, steps: int) -> pysim.Worlds:
    """Return worlds after some steps."""
    worlds = pysim.Worlds(scene, count)
    worlds.step(steps=steps)
    return worlds


@pytest.mark.parametrize("kind", ["remembering_pi", "pi_by_world"])
def test_worlds_that_are_all_reset_are_as_new_ones(kind: str, mass: Any) -> None:
    worlds = stepped(mass(kind), 3, 45)
    worlds.reset()
    worlds.step(steps=45)
    assert (worlds.q == stepped(mass(kind), 3, 45).q).all()


def test_some_worlds_are_reset_and_others_go_on(mass: Any) -> None:
    worlds = stepped(mass("pi_by_world"), 3, 45)
    worlds.reset([1])
    worlds.step(steps=45)
    new, old = (stepped(mass("pi_by_world"), 1, steps) for steps in (45, 90))
    assert (worlds.q[1] == new.q[0]).all()
    assert (worlds.q[[0, 2]] == old.q[0]).all()


def test_some_worlds_step_alone(mass: Any) -> None:
    worlds = stepped(mass("pi_by_world"), 3, 45)
    worlds.step(steps=45, where=[2])
    assert (worlds.q[2] == stepped(mass("pi_by_world"), 1, 90).q[0]).all()
    assert (worlds.q[:2] == stepped(mass("pi_by_world"), 1, 45).q[0]).all()


def test_a_copied_world_remembers_what_its_source_does(mass: Any) -> None:
    worlds = pysim.Worlds(mass("pi_by_world"), 2)
    worlds.q[1] = 0.3
    worlds.step(steps=45)
    worlds.copy(1, [0])
    worlds.step(steps=45)
    assert (worlds.q[0] == worlds.q[1]).all()


@pytest.mark.parametrize("kind", ["remembering_pi", "pi_by_world"])
def test_worlds_of_one_scene_share_no_memory_of_a_controller(kind: str, mass: Any) -> None:
    scene = mass(kind)
    one, other = pysim.Worlds(scene, 3), pysim.Worlds(scene, 2)
    for _ in range(3):
        one.step(steps=15)
        other.step(steps=30)
    pysim.simulate(scene)
    one.step(steps=15)
    assert (one.q == stepped(mass(kind), 3, 60).q).all()
    assert (other.q == stepped(mass(kind), 2, 90).q).all()


def test_a_controller_without_methods_for_some_worlds_is_an_error(mass: Any) -> None:
    worlds = stepped(mass("remembering_pi"), 3, 45)
    with pytest.raises(pysim.PysimError, match=r"PI.*begin_again\(self, worlds\)`, or reset all"):
        worlds.reset([1])
    with pytest.raises(pysim.PysimError, match=r"copy\(self, source, target\)`"):
        worlds.copy(0, [1])
