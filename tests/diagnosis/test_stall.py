"""Runs of dopri5 whose steps stay too short to arrive.

Oracles: closed forms (a wheel that friction brings to rest, a spring's frequency, a bounce that keeps its energy), the
scheme's published bound on the negative axis [Hairer, Wanner 1996, IV.2], and numbers of steps counted by hand.
"""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.diagnosis.stall import PATIENCE, StallDetector, stiffness
from pysim.errors import PysimWarning, SimulationError
from pysim.mechanism.model import State
from tests.scene_runs import SCENES

WHEEL = """
gravity = [0, 0, 0]

[[body]]
name = "wheel"
mass = 1.0
inertia = {{ xx = 0.1, yy = 0.1, zz = 0.1 }}

[[joint]]
name = "turn"
type = "{kind}"
child = "wheel"
axis = [0, 0, 1]
start = {{ q = 0.01, v = 1.0 }}
{keys}

[simulation]
duration = 2.0
integrator = "dopri5"
"""
FRICTION = "friction = 1.0\nfriction_width = {}"


def scene(tmp_path, keys, kind="revolute", changes=()):
    path = tmp_path / "s.toml"
    path.write_text(WHEEL.format(kind=kind, keys=keys), "utf-8")
    return pysim.load_scene(path, dict(changes))


def test_sharp_friction_ends_a_run_by_joint_rate_and_remedy(tmp_path, capsys):
    """At rest it decays at f / (w I) = 1e10 1/s or less, for its slope falls off with the speed."""
    scene(tmp_path, FRICTION.format(1e-9))
    assert main([str(tmp_path / "s.toml"), "-o", str(tmp_path / "s.h5")]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "s.toml: at t = 0.100" in text
    assert "steps stay as short as 2." in text
    assert "e-10 s, and about 7e+09 more are needed: the motion is stiff, 'turn' decays at " in text
    assert "for which a step of dopri5 is stable up to" in text
    assert "set simulation.integrator to generalized_alpha or implicit_midpoint" in text
    assert "increase friction_width" in text
    with pytest.warns(PysimWarning, match="incomplete"):
        assert pysim.load_trajectory(tmp_path / "s.h5").t[-1] == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize("width", [1e-3, 1e-4])
def test_friction_that_is_merely_stiff_is_followed_to_the_end(tmp_path, width):
    """f φ = I ω² / 2 takes it to rest; there the step is the scheme's bound, 3.31 w I / f."""
    run = pysim.simulate(scene(tmp_path, FRICTION.format(width)))
    assert run.t[-1] == 2.0
    assert run.q[-1, 0] - 0.01 == pytest.approx(0.1 / 2, abs=10 * width)


@pytest.mark.parametrize(
    ("name", "change", "reported"),
    [
        (
            "governor",
            {"force.spring1.damping": 1e12},
            "the motion is stiff, 'slide' decays at 1.2e+11",
        ),
        (
            "governor",
            {"force.spring1.stiffness": 1e20},
            "'slide' requires them, and 'slide' swings at",
        ),
        (
            "flywheel",
            {"joint.bearing.friction_width": 1e-14},
            "stiff, the acceleration of 'bearing' jumps",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*'dopri5' made:pysim.PysimWarning")
def test_a_scene_with_absurd_constants_ends_in_seconds_and_says_where(name, change, reported):
    absurd = pysim.load_scene(
        SCENES / f"{name}.toml", {"simulation.integrator": "dopri5", **change}
    )
    with pytest.raises(SimulationError) as caught:
        pysim.simulate(absurd)
    assert reported in str(caught.value)


def test_a_blow_on_the_hardest_stop_is_followed(tmp_path):
    """For 2.6e-7 s steps are of 1e-9 s, and then long again; the speed is kept."""
    stop = "limits = { upper = 0.5, stiffness = 1.44e14, damping = 0.0 }"
    run = pysim.simulate(scene(tmp_path, stop, "prismatic"))
    assert run.v[-1, 0] == pytest.approx(-1.0, abs=1e-6)
    assert run.t[-1] == 2.0


def detect_stall(scene, left, calls, tried=4096):
    """Report calls to a run's detector at a pace that leaves so many steps at the first."""
    watch, advance = StallDetector(scene), scene.settings.duration * tried / left
    for n in range(1, calls + 1):
        watch.after_call(scene.state, n * advance, advance / tried, tried, 0)


def test_a_run_that_is_not_stiff_is_stopped_beyond_1e11_steps_only(tmp_path):
    spring = scene(tmp_path, "stiffness = 1e3")
    patient = PATIENCE // 4096
    detect_stall(spring, 0.5e11, 3 * patient)
    detect_stall(spring, 1e12, patient - 1)
    with pytest.raises(
        SimulationError, match="about 1e\\+12 more are needed: the error of 'turn' requires"
    ):
        detect_stall(spring, 1e12, patient)


def test_a_stiff_run_is_stopped_beyond_1e9_steps(tmp_path):
    """λ = f / (w I) = 1e13 1/s: steps at and far below the bound 3.31 / λ."""
    stiff = scene(tmp_path, FRICTION.format(1e-12))
    rest = State(stiff.state.q, np.zeros(1), stiff.state.loop_q)
    stiff = type(stiff)(stiff.model, rest, stiff.settings, stiff.spec, stiff.actuation)
    assert "decays at 1e+13 1/s, for which a step of dopri5 is stable up to 3.3e-13 s" in stiffness(
        stiff, 0.0, 3e-13
    )
    assert stiffness(stiff, 0.0, 1e-14) is None
    detect_stall(stiff, 0.9e9, 200)
    with pytest.raises(SimulationError, match="'turn' decays at 1e\\+13 1/s"):
        detect_stall(stiff, 1.1e9, 200)


def test_a_long_run_with_frequent_outputs_is_not_a_stall(tmp_path):
    """1e8 s of a motion that requires steps of 1e-4 s, a row every 10 s: 1e12 steps, 1e5 a row."""
    changes = {"simulation.duration": 1e8, "output.every": 10.0}
    endless = scene(tmp_path, "stiffness = 1e3", changes=changes)
    detect_stall(endless, 1e12, 200)


def test_a_run_that_an_event_stops_is_measured_by_the_time_it_has_come(tmp_path):
    event = '[[event]]\nname = "e"\njoint = "turn"\nat = 5.0\nstop = true\n'
    text = WHEEL.format(kind="revolute", keys="stiffness = 1e3")
    (tmp_path / "e.toml").write_text(text + event, "utf-8")
    stopped = pysim.load_scene(
        tmp_path / "e.toml", {"simulation.duration": 1e9, "output.every": 1e9}
    )
    watch = StallDetector(stopped)
    for n in range(100):
        watch.after_call(stopped.state, 1e9 + n * 4.096, 1e-3, 4096, 0)


def test_steps_as_short_as_the_scene_requests_are_made(tmp_path):
    with pytest.warns(PysimWarning, match=r"2e\+12 steps of the duration 2 \[s\], about 23 days"):
        short = scene(tmp_path, "stiffness = 1e3", changes={"simulation.step": 1e-12})
    detect_stall(short, 1e12, 200)


def test_a_fast_call_makes_up_for_slow_ones(tmp_path):
    spring = scene(tmp_path, "stiffness = 1e3")
    watch, time = StallDetector(spring), 0.0
    for n in range(300):
        time += 1e-11 if n % 50 else 1e-3
        watch.after_call(spring.state, time, 1e-14, 4096, 0)
