"""Events in runs of adapted steps.

Oracles: closed forms (a fall, the pendulum's elliptic integrals, a phase that turns evenly), and the same run cut
otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipk

import pysim
from pysim import _engine
from pysim._engine import Direction, EventDescription
from pysim.algorithms import kinetic_energy, potential_energy
from pysim.cli import main
from pysim.errors import PysimError, PysimWarning, SceneError
from pysim.events import Event, event, record_event, trace_event
from pysim.inertia import theta_from_com
from pysim.joints import Joint, Pose, find_joint, joint, real, rotation
from pysim.loops import constraints
from pysim.tracing.evaluation import evaluate
from pysim.trajectory import TrajectoryWriter
from pysim.worlds.engine_calls import Stop
from pysim.worlds.loading import compile_model
from tests.integrators.adaptive_worlds import AdaptiveWorlds
from tests.integrators.test_closed_forms import NO_GRAVITY, pendulums
from tests.oracles.mechanisms import one_body
from tests.scene_runs import SCENES

G = 9.81


def coordinate(index, at=0.0, direction=Direction.both):
    return EventDescription.coordinate(index, at, direction)


def passings(model, q, v, times, events, tolerance=1e-10):
    """(times, which, states) of every event, the outputs, for one world, call by call."""
    worlds = AdaptiveWorlds(model, q, v, tolerance, events=_engine.Events(model, events))
    seen, rows, left = [], [], np.asarray(times, float)
    while left.size:
        made = worlds.advance(left)
        n = made.reached[0]
        assert made.stops[0] in (Stop.REACHED, Stop.EVENT)
        rows += list(np.hstack([made.q[0, :n], made.v[0, :n]]))
        left = left[n:]
        if made.stops[0] is Stop.EVENT:
            q, v = (worlds.engine.parts[x][0].copy() for x in "qv")
            seen.append((worlds.seen[0].item(), worlds.event[0], q, v))
    return seen, np.array(rows)


@event("test_height")
class Height(Event):
    """A joint's height over a level, written by an author."""

    level: float = 0.0

    def value(self, q, v):
        return q.drop + 0 * v.drop - self.level


FALL = """
[[body]]
name = "ball"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "drop"
type = "prismatic"
child = "ball"
limits = { lower = -50.0 }

[simulation]
duration = 2.0
integrator = "dopri5"

[output]
every = 0.1
"""


def run(tmp_path, lines, text=FALL, output=None):
    path = tmp_path / "s.toml"
    path.write_text(text + lines, "utf-8")
    return pysim.simulate(pysim.load_scene(path), output)


PLANE = '[[event]]\nname = "floor"\nbody = "ball"\nplane = { normal = [0, 0, 2], offset = -3.0 }\n'


@pytest.mark.parametrize(
    "lines",
    [
        PLANE,
        '[[event]]\nname = "floor"\njoint = "drop"\nat = -3.0\n',
        '[[event]]\nname = "floor"\ntype = "test_height"\nlevel = -3.0\n',
        PLANE.replace("2], offset = -3.0", f"2], offset = {-3.5 / 2**0.5}")
        .replace("[0, 0, 2]", "[2, 0, 2]")
        .replace("plane", "point = [-0.5, 1, 0]\nplane"),
    ],
)
def test_a_ball_falls_through_a_plane_when_the_closed_form_says(tmp_path, lines):
    trajectory = run(tmp_path, lines)
    fall = np.sqrt(2 * 3 / G)
    assert trajectory.events.names == ("floor",)
    assert trajectory.events.t[0] == pytest.approx(fall, abs=1e-10)
    assert trajectory.events.q[0, 0] == pytest.approx(-3, abs=1e-10)
    assert trajectory.events.v[0, 0] == pytest.approx(-G * fall, abs=1e-9)
    assert trajectory.t[-1] == 2.0


@pytest.mark.parametrize("length", [1e-3, 1.0, 3.7, 250.0])
def test_a_plane_lies_as_far_out_as_its_offset_says_however_long_its_normal(tmp_path, rng, length):
    """The ball's own height where it passes: its normal is turned at random, but never flat."""
    n = rng.normal(size=3) + np.array([0, 0, 3])
    n /= np.linalg.norm(n)
    given = f"normal = {(length * n).tolist()}, offset = {-3 * n[2]}"
    events = run(tmp_path, PLANE.replace("normal = [0, 0, 2], offset = -3.0", given)).events
    assert events.q[:, 0] == pytest.approx([-3], abs=1e-10)


def test_a_stop_ends_the_run_at_the_event(tmp_path):
    trajectory = run(tmp_path, PLANE + "stop = true\n")
    assert trajectory.t[-1] == trajectory.events.t[0] == pytest.approx(np.sqrt(6 / G), abs=1e-10)
    assert len(trajectory) == 9
    assert trajectory.complete


def test_a_crossing_in_the_other_direction_is_not_an_event(tmp_path):
    assert len(run(tmp_path, PLANE + 'direction = "rising"\n').events) == 0
    assert len(run(tmp_path, PLANE + 'direction = "falling"\n').events) == 1


def test_a_pendulum_passes_at_quarters_of_its_elliptic_period():
    """Every odd quarter passes the bottom, every half period turns at the speed 0."""
    theta = theta_from_com(1.0, np.array([0.0, 0, -1]), 1e-9 * np.eye(3))
    model = compile_model(one_body("revolute", theta, axis=(0, 1, 0)))
    period = 4 * ellipk(np.sin(0.5) ** 2) * np.sqrt((1 + 1e-9) / G)
    found, _ = passings(model, [1.0], [0.0], [10.0], [coordinate(0)], 1e-13)
    times = np.array([t for t, *_ in found])
    expected = period * (0.25 + 0.5 * np.arange(len(times)))
    assert len(times) == int((10.0 / period - 0.25) / 0.5) + 1
    np.testing.assert_allclose(times, expected, rtol=0, atol=1e-10)


def spinning(speed=1.0):
    """A wheel without gravity: its angle is speed · t, in long steps."""
    theta = theta_from_com(1.0, np.zeros(3), np.eye(3))
    return compile_model(one_body("revolute", theta, gravity=NO_GRAVITY)), [0.0], [speed]


def test_many_events_of_one_step_come_in_their_order_and_none_twice():
    model, q, v = spinning()
    angles = [0.9, 0.3, 0.3, 0.7, 0.30000000001, 0.1]
    found, rows = passings(model, q, v, [0.5, 2.0], [coordinate(0, a) for a in angles])
    assert [which for _, which, *_ in found] == [5, 1, 2, 4, 3, 0]
    np.testing.assert_allclose([t for t, *_ in found], np.sort(angles), rtol=0, atol=1e-14)
    assert found[1][0] == found[2][0]
    np.testing.assert_allclose(rows[:, 0], [0.5, 2.0], atol=1e-14)


def test_a_run_that_begins_on_an_event_leaves_it_and_passes_it_later(tmp_path):
    trajectory = run(
        tmp_path,
        '[[event]]\nname = "home"\njoint = "drop"\nat = 0.0\n',
        FALL.replace('child = "ball"', 'child = "ball"\nstart = { v = 4.905 }'),
    )
    np.testing.assert_allclose(trajectory.events.t, [1.0], atol=1e-10)


def thrown(speed):
    return FALL.replace('child = "ball"', f'child = "ball"\nstart = {{ v = {speed} }}')


@pytest.mark.parametrize(
    "kind", ['joint = "drop"\nat = {0!r}', 'type = "test_height"\nlevel = {0!r}']
)
@pytest.mark.parametrize("duration", [1.0, 2.0, 100.0])
@pytest.mark.parametrize("below", [1.0, 0.2, 1e-2, 1e-6, 1e-10])
def test_a_ball_that_is_thrown_passes_a_height_twice_however_long_the_steps(
    tmp_path, kind, duration, below
):
    """z = v t − g t²/2, followed in seven steps, the last far longer than the flight."""
    line = f'[[event]]\nname = "top"\n{kind.format(4.905 / 4 - below)}\n'
    text = thrown(4.905).replace("duration = 2.0", f"duration = {duration}")
    trajectory = run(tmp_path, line, text.replace("limits = { lower = -50.0 }", ""))
    half = np.sqrt(2 * below / G)
    np.testing.assert_allclose(trajectory.events.t, 0.5 + np.array([-half, half]), atol=1e-9)
    assert (trajectory.events.v[:, 0] * [1, -1] > 0).all()


def test_a_path_that_stays_short_of_a_height_does_not_pass_it(tmp_path):
    for above in (1e-2, 1e-6, 1e-10):
        line = f'[[event]]\nname = "top"\njoint = "drop"\nat = {4.905 / 4 + above!r}\n'
        assert len(run(tmp_path, line, thrown(4.905)).events) == 0


def test_two_crossings_in_one_step_are_assigned_to_their_directions(tmp_path):
    lines = "".join(
        f'[[event]]\nname = "{way}"\njoint = "drop"\nat = 1.0\ndirection = "{way}"\n'
        for way in ("rising", "falling")
    )
    events = run(tmp_path, lines, thrown(4.905)).events
    assert events.names == ("rising", "falling")
    half = np.sqrt(2 * (4.905 / 4 - 1) / G)
    np.testing.assert_allclose(events.t, [0.5 - half, 0.5 + half], atol=1e-12)
    alone = run(tmp_path, lines[lines.rindex("[[event]]") :], thrown(4.905)).events
    np.testing.assert_allclose(alone.t, events.t[1:], rtol=0, atol=1e-14)


@pytest.mark.parametrize("order", [1, -1])
def test_pairs_of_several_events_in_one_step_come_in_their_order(tmp_path, order):
    heights = [1.2, 0.4, 1.0, 1.0, 1.0 + 1e-12][::order]
    lines = "".join(
        f'[[event]]\nname = "e{k}"\njoint = "drop"\nat = {at!r}\n' for k, at in enumerate(heights)
    )
    events = run(tmp_path, lines, thrown(4.905).replace("duration = 2.0", "duration = 20.0")).events
    up = [(0.5 - np.sqrt(2 * (4.905 / 4 - at) / G), k) for k, at in enumerate(heights)]
    down = [(1 - t, k) for t, k in up]
    expected = sorted(up + down, key=lambda passing: (round(passing[0], 14), passing[1]))
    np.testing.assert_allclose(events.t, [t for t, _ in expected], atol=1e-12)
    assert sorted(events.names) == sorted(f"e{k}" for _, k in expected)
    assert (np.diff(events.t) >= 0).all()


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_an_oscillation_passes_a_level_near_its_crests_at_every_one(tmp_path, tolerance):
    """x = 0.1 cos 10 t at 0.1 (1 − d): at t = (2 π k ± arccos(1 − d)) / 10."""
    text = FALL.replace("[[body]]", "gravity = [0, 0, 0]\n[[body]]", 1)
    text = text.replace("limits = { lower = -50.0 }", "stiffness = 100\nstart = 0.1")
    text = text.replace('"dopri5"', f'"dopri5"\nrtol = {tolerance}\natol = {tolerance * 0.01}')
    levels = [1e-2, 0.1]
    lines = "".join(
        f'[[event]]\nname = "e{k}"\njoint = "drop"\nat = {0.1 * (1 - d)!r}\n'
        for k, d in enumerate(levels)
    )
    events = run(tmp_path, lines, text).events
    for k, d in enumerate(levels):
        crests = 2 * np.pi / 10 * np.arange(4)[:, np.newaxis]
        expected = (crests + np.arccos(1 - d) / 10 * np.array([-1, 1])).ravel()
        expected = expected[(expected > 0) & (expected < 2)]
        found = events.t[np.array(events.names) == f"e{k}"]
        np.testing.assert_allclose(found, expected, atol=max(1e-6, 3 * tolerance))


def test_a_ball_thrown_from_a_level_meets_it_once_more_in_a_step_that_spans_the_flight(tmp_path):
    line = '[[event]]\nname = "home"\njoint = "drop"\nat = 0.0\n'
    for speed in (1e-4, 0.1, 4.905):
        text = thrown(speed).replace('"dopri5"', '"dopri5"\nrtol = 1e-2\natol = 1e-2')
        np.testing.assert_allclose(run(tmp_path, line, text).events.t, [2 * speed / G], atol=1e-12)


@pytest.mark.parametrize("step", ["", "step = 0.1", "step = 0.25", "step = 0.3"])
@pytest.mark.parametrize("stop", ["", "stop = true\n"])
def test_a_passing_at_the_very_end_of_a_run_counts(tmp_path, step, stop):
    """Home after 2 v/g = 1 s, and so says a second event."""
    line = '[[event]]\nname = "home"\njoint = "drop"\nat = 0.0\n' + stop
    text = thrown(4.905).replace("duration = 2.0", "duration = 1.0")
    text = text.replace('"dopri5"', f'"dopri5"\n{step}')
    trajectory = run(tmp_path, line + line.replace("home", "again"), text)
    assert sorted(trajectory.events.names) == (["home"] if stop else ["again", "home"])
    np.testing.assert_allclose(trajectory.events.t, 1.0, rtol=0, atol=1e-13)
    assert trajectory.t[-1] == 1.0 or (stop and trajectory.t[-1] == trajectory.events.t[-1])
    assert (trajectory.events.t <= 1.0).all()
    assert len(trajectory) == 11
    assert (
        len(run(tmp_path, line, text.replace("duration = 1.0", "duration = 0.999999")).events) == 0
    )


def test_an_event_at_an_output_comes_before_it_and_once():
    model, q, v = spinning()
    found, rows = passings(model, q, v, [0.25, 0.5, 1.0], [coordinate(0, a) for a in (0.5, 1.0)])
    assert [which for _, which, *_ in found] == [0, 1]
    np.testing.assert_allclose([t for t, *_ in found], [0.5, 1.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(rows[:, 0], [0.25, 0.5, 1.0], atol=1e-14)


def test_a_pair_in_one_step_is_found_alike_in_a_batch_alone_and_whatever_the_outputs(isa):
    theta = theta_from_com(1.0, np.zeros(3), np.eye(3))
    model = compile_model(one_body("prismatic", theta, axis=(0, 0, 1)))
    events = [coordinate(0, 1.0, Direction.falling), coordinate(0, 1.0), coordinate(0, 0.2)]
    speeds = np.linspace(4.2, 6.0, 11)
    watch = _engine.Events(model, events)
    worlds = AdaptiveWorlds(model, np.zeros((11, 1)), speeds[:, np.newaxis], events=watch)
    worlds.advance([9.0])
    for k, speed in enumerate(speeds):
        whole, _ = passings(model, [0.0], [speed], [9.0], events)
        split, _ = passings(model, [0.0], [speed], np.linspace(0.05, 9, 90), events)
        high = speed**2 / (2 * G) > 1
        assert [which for _, which, *_ in whole] == ([2, 1, 0, 1, 2] if high else [2, 2])
        for one, other in zip(whole, split, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
        assert worlds.seen[k] == whole[0][0]
        assert worlds.event[k] == whole[0][1]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_every_change_of_sign_that_dense_outputs_show_is_found(rng, tolerance):
    """A double pendulum in long steps, levels just inside its turning points."""
    model, times = pendulums(2), np.linspace(0, 5, 10_001)[1:]
    for _ in range(4):
        q, v = rng.normal(size=2), np.zeros(2)
        dense = AdaptiveWorlds(model, q, v, tolerance).advance(times).q[0]
        x = np.r_[q[0], dense[:, 0]]
        turns = np.flatnonzero(np.diff(np.sign(np.diff(x)))) + 1
        inside = 10.0 ** rng.uniform(-5, -1, size=len(turns))
        levels = x[turns] + inside * np.sign(x[turns - 1] + x[turns + 1] - 2 * x[turns])
        found, _ = passings(model, q, v, [5.0], [coordinate(0, at) for at in levels], tolerance)
        assert (np.diff([t for t, *_ in found]) >= 0).all()
        for k, at in enumerate(levels):
            after = np.flatnonzero(np.diff(np.sign(x - at)))
            own = np.array([t for t, which, *_ in found if which == k])
            assert len(own) >= len(after) > 0
            for step in after:
                assert np.abs(own - times[step]).min() <= 5e-4 + 1e-12


def test_events_change_no_output_and_any_split_gives_the_same_bits(isa):
    theta = theta_from_com(1.0, np.array([0.1, 0, -1]), np.eye(3))
    model = compile_model(one_body("revolute", theta, axis=(0, 1, 0)))
    times = np.linspace(0.05, 5, 60)
    plain = AdaptiveWorlds(model, [1.0], [0.0]).advance(times)
    events = [coordinate(0), coordinate(0, 0.5, Direction.rising)]
    found, rows = passings(model, [1.0], [0.0], times, events)
    sparse, last = passings(model, [1.0], [0.0], times[-1:], events)
    np.testing.assert_array_equal(rows, np.hstack([plain.q[0], plain.v[0]]))
    np.testing.assert_array_equal(last[-1], rows[-1])
    assert len(found) == len(sparse) == 4
    for one, other in zip(found, sparse, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_batch_finds_the_events_of_each_run_alone(isa):
    model, _, _ = spinning()
    speeds = np.linspace(0.5, 3, 11)[:, np.newaxis]
    events = [coordinate(0, 0.6), coordinate(0, 0.2)]
    watch = _engine.Events(model, events)
    zeros = np.zeros((11, 1))
    worlds = AdaptiveWorlds(model, zeros, speeds, events=watch)
    stops = worlds.advance([0.3], threads=2).stops
    for k in range(11):
        alone = AdaptiveWorlds(model, zeros[k], speeds[k], events=watch)
        assert alone.advance([0.3]).stops[0] is stops[k]
        assert alone.saved(0) == worlds.saved(k)
    assert set(stops) == {Stop.REACHED, Stop.EVENT}


def test_events_are_in_the_file_and_are_read_back(tmp_path):
    both = PLANE + '[[event]]\nname = "lower"\njoint = "drop"\nat = "lower"\n'
    made = run(tmp_path, both, output=tmp_path / "s.h5")
    read = pysim.load_trajectory(tmp_path / "s.h5")
    assert read.header.event_names == ("floor", "lower")
    assert read.events.names == made.events.names == ("floor",)
    for key in ("t", "q", "v"):
        np.testing.assert_array_equal(getattr(read.events, key), getattr(made.events, key))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('joint = "drap"\nat = 0.0', "joint: unknown joint 'drap'; did you mean 'drop'?"),
        (
            'joint = "drop"\nat = "upper"',
            "at: joint 'drop' has no upper limit; give limits.upper, or a number here",
        ),
        (
            'joint = "drop"\nat = 0.0\ncoordinate = 1',
            "coordinate: a prismatic joint has no coordinate 1; it has 0 slide",
        ),
        (
            'joint = "drop"\nat = 0.0\ncoordinate = "slid"',
            "coordinate: a prismatic joint has no coordinate slid; it has 0 slide",
        ),
        (
            'joint = "drop"\nat = 0.0\npoint = [0, 0, 1]',
            "event[0]: point goes with body; give body, or leave point out",
        ),
        (
            'body = "ball"\nplane = { normal = [0, 0, 1] }\ncoordinate = 1',
            "event[0]: coordinate goes with joint; give joint, or leave coordinate out",
        ),
        (
            'body = "bal"\nplane = { normal = [0, 0, 1] }',
            "body: unknown body or frame 'bal'; did you mean 'ball'?",
        ),
        (
            'body = "world"\nplane = { normal = [0, 0, 1] }',
            "event[0].body: 'world' is a fixed point; name a body or frame that moves",
        ),
        (
            'body = "wrld"\nplane = { normal = [0, 0, 1] }',
            "event[0].body: unknown body or frame 'wrld'; known: ball",
        ),
        (
            "plane = { normal = [0, 0, 1] }",
            'plane and body go together: body = "rod", plane = { normal = [0, 0, 1] }',
        ),
        (
            'body = "ball"\nplane = { normal = [0, 0, 0] }',
            "plane.normal: is zero; give it a direction",
        ),
        ('type = "test_heigt"', "unknown event type 'test_heigt'; did you mean 'test_height'?"),
        ('type = "test_height"\nlevel = "x"', "must be float, got 'x'"),
        (
            'joint = "drop"\nat = 0.0\nparameters = { level = 1.0 }',
            "event[0].parameters: only an event with a type has keys of its own; remove parameters",
        ),
        (
            'type = "test_height"\nlevel = 1.0\nparameters = { level = 1.0 }',
            "event[0].parameters: unknown key; known: level",
        ),
        ('joint = "drop"', 'joint and at go together: joint = "hinge", at = 0.0'),
        ("stop = true", "needs exactly one of joint, plane, type, got none"),
        *(
            (
                f'joint = "drop"\nat = {written}',
                f'event[0].at: must be a number [m or rad], "lower" or "upper", got {reported}',
            )
            for written, reported in (('"top"', "'top'"), ("nan", "nan"), ("[1]", "[1]"))
        ),
    ],
)
def test_invalid_settings_are_rejected_with_their_place(tmp_path, lines, message):
    with pytest.raises(PysimError) as caught:
        run(tmp_path, f'[[event]]\nname = "e"\n{lines}\n')
    assert message in str(caught.value)
    assert "s.toml:" in str(caught.value)


def test_the_names_of_events_differ(tmp_path):
    with pytest.raises(SceneError) as caught:
        run(tmp_path, PLANE + PLANE)
    place = f"{tmp_path}/s.toml"
    assert str(caught.value) == (
        f"{place}:24:8: event[1].name: 'floor' is taken by {place}:20:8: event[0].name; rename one"
    )


POST = """
[[body]]
name = "post"
mass = 1.0

[[joint]]
name = "weld"
type = "fixed"
child = "post"

[[frame]]
name = "corner"
body = "world"

[[frame]]
name = "knob"
body = "post"
"""


@pytest.mark.parametrize("name", ["post", "corner", "knob"])
def test_bodies_welded_to_the_world_cannot_be_watched(tmp_path, name):
    with pytest.raises(SceneError) as caught:
        run(tmp_path, PLANE.replace('"ball"', f'"{name}"') + POST)
    problem = f"event[0].body: {name!r} is a fixed point; name a body or frame that moves"
    assert str(caught.value) == f"{tmp_path}/s.toml:21:8: {problem}"


def test_a_frame_on_what_moves_passes_a_plane(tmp_path):
    frame = '[[frame]]\nname = "tip"\nbody = "ball"\n'
    assert len(run(tmp_path, PLANE.replace('"ball"', '"tip"') + frame).events) == 1


FIXED = ["rk2", "rk4", "implicit_midpoint", "generalized_alpha", "variational", "variational4"]


@pytest.mark.parametrize("scheme", [*FIXED, "semi_implicit", "convex"])
def test_schemes_of_fixed_steps_locate_events_that_release_nothing(tmp_path, scheme):
    """A parabola, which schemes of order 2 repeat; of order 1 a step moves its time by half a step."""
    text = FALL[: FALL.index("[simulation]")].replace("limits = { lower = -50.0 }\n", "")
    text += f'[simulation]\nintegrator = "{scheme}"\nstep = 1e-3\nduration = 1.0\n[output]\nevery = 0.1\n'
    found = run(tmp_path, PLANE, text)
    expected = np.sqrt(2 * 3 / 9.81)
    assert len(found.events) == 1
    assert found.events.t[0] == pytest.approx(expected, abs=1e-12 if scheme in FIXED else 6e-4)
    assert found.events.q[0, 0] == pytest.approx(-3, abs=1e-12)
    assert found.t[-1] == 1.0
    ended = run(tmp_path, PLANE + "stop = true\n", text)
    assert ended.t[-1] == found.events.t[0]
    scene = pysim.load_scene(tmp_path / "s.toml")
    assert pysim.rollout(scene).events[0].t[0] == found.events.t[0]


@event("test_broken")
class Broken(Event):
    """A value that cannot be recorded."""

    def value(self, q, v):
        return 1.0 if q.drop > 0 else 0.0


def test_a_plugin_that_branches_is_reported_with_its_line(tmp_path):
    with pytest.raises(PysimError) as caught:
        run(tmp_path, '[[event]]\nname = "e"\ntype = "test_broken"\n')
    assert "test_events.py:" in str(caught.value)
    assert "a branch depends on a symbolic number" in str(caught.value)


@event("test_constant")
class Constant(Event):
    """A value that depends on nothing."""

    def value(self, q, v):
        return 1.0


def test_a_value_that_depends_on_nothing_is_reported(tmp_path):
    with pytest.raises(PysimError) as caught:
        run(tmp_path, '[[event]]\nname = "e"\ntype = "test_constant"\n')
    text = "Constant.value: must return a number that depends on q or v, got float"
    assert text in str(caught.value)


def test_the_summary_lists_events_and_the_stop(tmp_path, capsys):
    path = tmp_path / "s.toml"
    path.write_text(FALL + PLANE + "stop = true\n", "utf-8")
    assert main([str(path), "-o", str(tmp_path / "s.h5")]) == 0
    reported = capsys.readouterr().out
    assert f"event       floor: once, at {np.sqrt(6 / G):.12g} s" in reported
    assert f"stopped     by floor at {np.sqrt(6 / G):.12g} s" in reported


def test_a_file_that_was_cut_short_keeps_its_events_and_one_without_them_loads(tmp_path):
    made = run(tmp_path, PLANE, output=tmp_path / "whole.h5")
    with TrajectoryWriter(tmp_path / "cut.h5", made.header) as writer:
        writer.append_events(made.events)
    with pytest.warns(PysimWarning, match="incomplete"):
        cut = pysim.load_trajectory(tmp_path / "cut.h5")
    assert len(cut) == 0
    np.testing.assert_array_equal(cut.events.t, made.events.t)
    assert cut.events.names == made.events.names
    run(tmp_path, "", output=tmp_path / "plain.h5")
    assert len(pysim.load_trajectory(tmp_path / "plain.h5").events) == 0


def test_saved_again_the_events_stay(tmp_path):
    made = run(tmp_path, PLANE)
    made.save(tmp_path / "again.h5")
    np.testing.assert_array_equal(
        pysim.load_trajectory(tmp_path / "again.h5").events.q, made.events.q
    )


def test_a_program_gives_the_bits_of_the_coordinate_it_reads(isa):
    """One event written in two ways, of each of five joints, so that the registers are many."""
    model = pendulums(5)
    joints = {name: (find_joint("revolute"), k, k) for k, name in enumerate(model.joint_names)}

    class Angle(Event):
        name_of: str

        def value(self, q, v):
            return q[self.name_of] - 0.25 + 0 * v[self.name_of]

    one, other = [], []
    for k, name in enumerate(model.joint_names):
        program = trace_event(Angle(name), joints, 5, 5)
        one.append(coordinate(k, 0.25))
        other.append(EventDescription.program(program, Direction.both))
    found, _ = passings(model, np.zeros(5), np.zeros(5), [0.4], one)
    same, _ = passings(model, np.zeros(5), np.zeros(5), [0.4], other)
    assert len(found) == len(same) > 0
    for a, b in zip(found, same, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x, y, z, w = q.ball", "ball has quat_x, quat_y, quat_z, quat_w; write q.ball.quat_x"),
        ("v.ball[0]", "ball has wx, wy, wz; write v.ball.wx"),
        ('q["left/ball"][0]', 'left/ball has x, y, z; write q["left/ball"].x'),
        ("sum(q)", "q has ball, left/ball; write q.ball"),
        ("sum(q.post)", "post has no coordinates"),
    ],
)
def test_numbers_that_have_names_are_not_counted_through(line, message):
    class Counting(Event):
        def value(self, q, v):
            exec(line)

    joints = {"ball": (find_joint("ball"), 0, 0), "left/ball": (find_joint("translation"), 4, 3)}
    if "post" in line:
        joints["post"] = find_joint("fixed"), 7, 6
    with pytest.raises(PysimError) as caught:
        trace_event(Counting(), joints, 7, 6)
    assert f"TypeError: {message}, in `exec(line)`; fix " in str(caught.value)


def test_events_of_a_closed_mechanism_stand_on_its_loops(tmp_path):
    """Of a four-bar, which keeps its energy: the rocker's passings, between outputs far apart."""
    scene = pysim.load_scene(
        SCENES / "four_bar.toml",
        {"simulation.integrator": "dopri5", "simulation.duration": 1.0, "output.every": 0.5}
        | {"simulation.rtol": 1e-11, "simulation.atol": 1e-11},
    )
    text = scene.spec.text.replace(
        "[simulation]", '[[event]]\nname = "tall"\njoint = "swing"\nat = 1.5\n[simulation]'
    )
    path = tmp_path / "scene.toml"
    path.write_text(text)
    closed = pysim.load_scene(path, scene.spec.overrides)
    run = pysim.simulate(closed)
    model, events = closed.model, run.events
    swing = model.q_offsets[model.joint_names.index("swing")]
    assert len(events) == 3
    np.testing.assert_allclose(events.q[:, swing], 1.5, rtol=0, atol=1e-10)
    at = constraints(model, events.q, events.v)
    assert np.abs(at.residual).max() <= 1e-10
    assert np.abs(np.einsum("nij,nj->ni", at.jacobian, events.v)).max() <= 1e-10
    energy = kinetic_energy(model, events.q, events.v) + potential_energy(model, events.q)
    np.testing.assert_allclose(energy, run.energy[0], rtol=1e-8)


@joint("test_turning_slide")
class TurningSlide(Joint):
    """Turns every way, then slides: its slide is number 4 of q and 3 of v."""

    coordinates = rotation("turn") * real("slide", unit="m")

    def placement(self, q):
        return Pose.rotate_quaternion(q.turn) @ Pose.translate(0, 0, q.slide)

    def limits(self):
        return {"slide": (-0.3, 0.2)}


@pytest.mark.parametrize("coordinate", ["4", '"slide"'])
def test_a_limit_is_that_of_the_coordinate_that_is_watched(tmp_path, coordinate):
    """The slide of a joint that also turns falls from 0 onto its lower limit: t = sqrt(2 s / g)."""
    text = f"""
[[body]]
name = "ball"
mass = 1
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "drop"
type = "test_turning_slide"
child = "ball"
[[event]]
name = "floor"
joint = "drop"
coordinate = {coordinate}
at = "lower"
stop = true
[simulation]
integrator = "dopri5"
duration = 1
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    made = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    assert made.events.t[0] == pytest.approx(np.sqrt(0.6 / 9.81), abs=1e-10)


@joint("test_lifted_hinge")
class LiftedHinge(Joint):
    """A hinge that rises as it turns."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, 0.1 * q.angle)


@joint("test_angle_and_slide")
class AngleAndSlide(Joint):
    """Two coordinates."""

    coordinates = real("angle") * real("slide", unit="m")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, q.slide)


@event("test_of_plugins")
class OfPlugins(Event):
    """A number of a joint with one coordinate by its joint; of one with two by the names of these."""

    def value(self, q, v):
        return q.one + 2 * q.two.slide + 3 * v.one + 4 * v.two.angle - 1


def test_numbers_of_plugin_joints_are_those_of_their_definitions():
    """The program of the value on the numbers 0.1, … of q and v: 0.1 + 2 · 0.3 + 3 · 0.4 + 4 · 0.5 − 1."""
    joints = {
        "one": (find_joint("test_lifted_hinge"), 0, 0),
        "two": (find_joint("test_angle_and_slide"), 1, 1),
    }
    tape, node = record_event(OfPlugins(), joints, 3, 3)
    numbers = np.array([[0.1], [0.2], [0.3], [0.4], [0.5], [0.6]])
    found = evaluate(tape, numbers, [node])[0]
    np.testing.assert_allclose(found, 0.1 + 2 * 0.3 + 3 * 0.4 + 4 * 0.5 - 1, rtol=1e-15)


def test_an_unknown_joint_in_a_value_is_named(tmp_path):
    class Misnamed(Event):
        """A joint that the scene does not have."""

        def value(self, q, v):
            return q.blal

    with pytest.raises(PysimError) as caught:
        trace_event(Misnamed(), {"ball": (find_joint("revolute"), 0, 0)}, 1, 1)
    assert "AttributeError: no joint 'blal'; did you mean 'ball'?, in `return q.blal`" in str(
        caught.value
    )


def test_a_field_with_the_name_of_a_key_is_rejected():
    with pytest.raises(PysimError) as caught:

        @event("test_with_joint")
        class WithJoint(Event):
            """A field that every event has."""

            joint: str = ""

            def value(self, q, v):
                return q.drop

    assert str(caught.value).endswith(
        "WithJoint: the field 'joint' is a key that every event has; choose another name"
    )
