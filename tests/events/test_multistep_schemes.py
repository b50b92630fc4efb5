"""Schemes in Python that remember accelerations, in scenes with events, where steps are tried and repeated.

Oracle: the same scene without the event: its rows are equal to the bit as long as the event has not fired.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim

PLUGINS = '''
from pysim.integrators import Integrator, integrator


@integrator("event_adams")
class Adams(Integrator):
    """Adams-Bashforth of order 2, which remembers the accelerations and velocities of the last step."""

    def __post_init__(self):
        self.last = None

    def step(self, system, t, h, q, v):
        now = system.acceleration(t, q, v), v
        a, rate = now if self.last is None else (1.5 * x - 0.5 * y for x, y in zip(now, self.last))
        self.last = now
        return system.integrate(q, h * rate), v + h * a


@integrator("event_locked")
class Locked(Adams):
    """Holds what cannot be copied."""

    def __post_init__(self):
        import threading

        super().__post_init__()
        self.lock = threading.Lock()
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
child = "stone"
axis = [0, 0, 1]
stiffness = 50.0

[[signal]]
name = "push"
type = "constant"
value = 3.0
unit = "N"

[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "push"
EVENT
[simulation]
integrator = "SCHEME"
duration = 2.0
step = 0.001953125  # 2⁻⁹: every time is exact, with and without an event
"""
EVENT = """
[[event]]
name = "low"
joint = "slide"
at = PLACE
release = ["motor"]
"""


@pytest.fixture
def mass(tmp_path: Path) -> Any:
    """Return a function that loads the scene with an event at a place, or without one."""

    def load(place: float | None, scheme: str = "event_adams") -> pysim.Scene:
        (tmp_path / "own.py").write_text(PLUGINS)
        event = "" if place is None else EVENT.replace("PLACE", f"{place}")
        text = TEXT.replace("EVENT", event).replace("SCHEME", scheme)
        (tmp_path / "mass.toml").write_text(text)
        return pysim.load_scene(tmp_path / "mass.toml", {"output.every": 0.015625}, allow_code=True)

    return load


def test_an_event_that_never_fires_changes_no_bit(mass: Any) -> None:
    plain, watched = pysim.simulate(mass(None)), pysim.simulate(mass(-9.0))
    assert not len(watched.events.t)
    assert watched.q.tobytes() == plain.q.tobytes()
    assert watched.v.tobytes() == plain.v.tobytes()


def test_the_rows_before_an_event_have_the_bits_of_a_run_without_it(mass: Any) -> None:
    plain, fired = pysim.simulate(mass(None)), pysim.simulate(mass(-0.3))
    when = float(fired.events.t[0])
    before = plain.t <= when
    assert 5 < before.sum() < len(plain.t)
    assert fired.q[before].tobytes() == plain.q[before].tobytes()
    assert not np.array_equal(fired.q[~before], plain.q[~before])


def test_memory_that_cannot_be_copied_is_named(mass: Any) -> None:
    pysim.simulate(mass(None, "event_locked"))
    with pytest.raises(pysim.PysimError, match=r"own\.py:\d+: Locked: its attribute lock holds"):
        pysim.simulate(mass(-0.3, "event_locked"))
