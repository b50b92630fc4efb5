"""Worlds whose scenes have events and impacts.

Oracle: runs of `simulate` bit for bit where both make the same steps, closed forms where they do not, and worlds that
are divided into other calls, batches and threads, or saved in between.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pysim
from pysim.scene.toml.overrides import UNSET
from pysim.trajectory.checkpoint import read_checkpoint
from pysim.worlds.ledger import with_ledger
from pysim.worlds.loading import with_settings
from pysim.worlds.saved_parts import SavedParts
from tests.elements.blocks import mass, scene_of, simulation
from tests.elements.test_releases import FIXED, release, spring, wanted
from tests.resumed_runs import run_to_stop
from tests.resumed_scenes import BALLS, EVENT, PLUGINS, disc_text

STEP = 1e-3
DYADIC = {"simulation.step": 2.0**-10, "output.every": 2.0**-4}  # times that are exact
SCHEMES = [*FIXED, "dopri5"]
PLANE = (
    '[[event]]\nname = "release"\nrelease = ["spring"]\nbody = "mass"\n'
    "plane = { normal = [2, 0, 0], offset = 0.15 }\n"
)
PRESSED_BALL = """
gravity = [0, 0, 0]
[simulation]
step = 0.01
duration = 0.02
[output]
every = 0.01
[[body]]
name = "ball"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body.collision]]
sphere = { radius = 0.1 }
[[joint]]
name = "slide"
type = "prismatic"
axis = [0, 0, 1]
child = "ball"
start = 1.0
[[ground]]
plane = { normal = [0, 0, 1], offset = 0.0 }
[[signal]]
name = "push"
type = "constant"
value = -20000.0
unit = "N"
[[actuator]]
name = "motor"
type = "force"
joint = "slide"
command = "push"
[[event]]
name = "low"
joint = "slide"
at = 0.99
release = ["motor"]
"""

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def sprung(
    folder: Path, scheme: str, *, stop: bool = False, event: str | None = None
) -> pysim.Scene:
    """Return the scene of a mass that a spring pulls until an event releases it, of 1 s."""
    text = mass(2.0) + spring() + (release(stop=stop) if event is None else event)
    return scene_of(folder, text + simulation(scheme, duration=1.0, step=STEP, interval=0.05))


def starts(count: int) -> Any:
    """Return places from which worlds pass the event at different times, or never."""
    return np.linspace(-0.2, 0.3, count)[:, None]


def check_run(scene: pysim.Scene, q: Any, rows: Any, k: int) -> None:
    """Check that a world of a rollout has the rows and events of its own run."""
    alone = pysim.simulate(replace(scene, state=replace(scene.state, q=q)))
    assert rows.q[k].tobytes() == alone.q.tobytes()
    assert rows.v[k].tobytes() == alone.v.tobytes()
    assert rows.events[k].t.tobytes() == alone.events.t.tobytes()
    assert rows.events[k].q.tobytes() == alone.events.q.tobytes()
    assert rows.events[k].names == alone.events.names


@pytest.mark.parametrize("event", [None, PLANE])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_rollout_in_packs_has_the_rows_and_events_of_each_run_to_the_bit(
    scheme: str, event: str | None, tmp_path: Path
) -> None:
    scene, q0 = sprung(tmp_path, scheme, event=event), starts(19)
    rows = pysim.rollout(scene, q0, np.zeros_like(q0), threads=2)
    assert {len(events) for events in rows.events} == {0, 1}
    for k in (0, 3, 7, 18):
        check_run(scene, q0[k], rows, k)


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4", "implicit_midpoint", "convex"])
def test_scenes_that_differ_in_numbers_release_as_each_alone(scheme: str, tmp_path: Path) -> None:
    base = mass(2.0) + spring()
    end = simulation(scheme, duration=1.0, step=STEP, interval=0.05)
    texts = [base.replace("50.0", f"{40 + k}") + (PLANE if k % 2 else release()) for k in range(9)]
    scenes = [scene_of(tmp_path, text + end) for text in texts]
    rows = pysim.rollout(scenes)
    for k in (0, 4, 5):
        check_run(scenes[k], scenes[k].state.q, rows, k)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_worlds_stepped_by_hand_pass_an_event_as_the_closed_form_does(
    scheme: str, tmp_path: Path
) -> None:
    worlds = pysim.Worlds(sprung(tmp_path, scheme), 5)
    for _ in range(4):
        worlds.step(seconds=0.25)
        if worlds.t[0] == 0.5:
            assert [events.names for events in worlds.events] == [("release",)] * 5
            assert worlds.events[0].t[0] == pytest.approx(
                wanted(np.ones(1))[0], abs=FIXED.get(scheme, 1e-9)
            )
    assert worlds.t.tolist() == [1.0] * 5
    end, x, v = wanted(np.array([1.0]))
    assert end < 0.5
    np.testing.assert_allclose(worlds.q[:, 0], x[0], atol=2 * FIXED.get(scheme, 1e-9))
    np.testing.assert_allclose(worlds.v[:, 0], v[0], atol=5 * FIXED.get(scheme, 1e-9))
    assert not worlds.events[0].names  # in the last call


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_division_into_calls_nor_other_worlds_change_a_bit(scheme: str, tmp_path: Path) -> None:
    scene, q0 = sprung(tmp_path, scheme), starts(11)
    whole, parts = pysim.Worlds(scene, 11, threads=2), pysim.Worlds(scene, 11)
    for worlds in (whole, parts):
        worlds.q[:] = q0
    whole.step(seconds=0.6)
    for k in range(11):
        for _ in range(60 if scheme != "dopri5" else 1):
            parts.step(seconds=0.01 if scheme != "dopri5" else 0.6, where=[k])
    assert parts.q.tobytes() == whole.q.tobytes()
    assert parts.v.tobytes() == whole.v.tobytes()


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_saved_worlds_go_on_through_an_event_to_the_bit(
    scheme: str, stop: bool, tmp_path: Path
) -> None:
    worlds = pysim.Worlds(sprung(tmp_path, scheme, stop=stop), 3)
    worlds.q[:] = starts(3)
    worlds.step(seconds=0.2)
    saved = worlds.save()
    other = pysim.Worlds(sprung(tmp_path, scheme, stop=stop), 3)
    other.load(saved)
    for own in (worlds, other):
        own.step(seconds=0.3)
        middle = own.save()
        own.step(seconds=0.2)
        own.load(middle)
        own.step(seconds=0.2)
    assert worlds.save() == other.save()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_world_that_an_event_has_ended_stays_there(scheme: str, tmp_path: Path) -> None:
    worlds = pysim.Worlds(sprung(tmp_path, scheme, stop=True), 2, on_failure="stop")
    worlds.q[1] = 0.3  # which never falls back to 0.15 in 0.2 s
    worlds.v[1] = 5.0
    worlds.step(seconds=0.5)
    assert worlds.ended.tolist() == [True, False]
    assert not worlds.lost.any()
    assert worlds.q[0, 0] == pytest.approx(0.15, abs=1e-12)
    assert worlds.t[0] == worlds.events[0].t[0] < worlds.t[1]
    when = worlds.t[0]
    worlds.step(seconds=0.1)
    assert worlds.t[0] == when
    worlds.reset(where=[0])
    worlds.step(seconds=0.1)
    assert worlds.ended.tolist() == [False, False]
    assert worlds.t[0] == pytest.approx(0.1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_rollout_goes_on_from_its_state_and_from_saved_worlds(
    scheme: str, tmp_path: Path
) -> None:
    q0 = starts(5)
    scene = pysim.load_scene(sprung(tmp_path, scheme).spec.path, DYADIC)
    rows = pysim.rollout(scene, q0, np.zeros_like(q0))
    half = replace(scene, settings=replace(scene.settings, duration=0.3125))
    first = pysim.rollout(half, q0, np.zeros_like(q0))
    worlds = pysim.Worlds(scene, 5)
    worlds.load(first.state)
    for state in (first.state, worlds.save()):
        rest = replace(scene, settings=replace(scene.settings, duration=0.6875))
        second = pysim.rollout(rest, state=state)
        assert second.t[0] == first.t[-1]
        assert second.q[:, 0].tobytes() == first.q[:, -1].tobytes()
        assert second.q.tobytes() == rows.q[:, len(first.t) - 1 :].tobytes()
    assert pysim.rollout(rest, state=first.state).q.tobytes() == second.q.tobytes()


def test_two_events_at_one_instant_are_both_reported(tmp_path: Path) -> None:
    second = release().replace('name = "release"', 'name = "again"').replace('["spring"]', "[]")
    scene = sprung(tmp_path, "rk4", event=second + release())
    assert pysim.simulate(scene).events.names == ("again", "release")
    worlds = pysim.Worlds(scene, 2)
    worlds.step(seconds=0.5)
    assert [events.names for events in worlds.events] == [("again", "release")] * 2
    assert worlds.events[0].t[0] == worlds.events[0].t[1]


def test_a_world_written_beyond_an_event_has_not_passed_it(tmp_path: Path) -> None:
    worlds = pysim.Worlds(sprung(tmp_path, "rk4"), 1)
    worlds.step(seconds=0.01)
    worlds.q[0] = 0.16
    worlds.step(steps=1)
    assert not worlds.events[0].names


@pytest.mark.parametrize("scheme", ["resumed_heun", "resumed_adams"])
def test_schemes_in_python_go_through_events_as_runs_do(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PLUGINS.replace("resumed", "watched"))
    path = tmp_path / "disc.toml"
    text = disc_text("revolute", EVENT.replace("at = 0.0", "at = 0.31")).replace(
        "step = 2e-3", f'integrator = "{scheme}"\nstep = 2e-3'
    )
    path.write_text(text.replace("resumed", "watched"))
    scene = pysim.load_scene(path, allow_code=True)
    rows = pysim.rollout(scene, np.tile(scene.state.q, (2, 1)), np.tile(scene.state.v, (2, 1)))
    check_run(scene, scene.state.q, rows, 0)
    assert rows.events[0].names == ("passes",)


@pytest.mark.parametrize("law", ["0.4", "0.0"])
def test_worlds_with_impacts_have_the_rows_of_runs_to_the_bit(law: str, tmp_path: Path) -> None:
    path = tmp_path / "balls.toml"
    path.write_text(BALLS.replace("LAW", law))
    scene = pysim.load_scene(path)
    run = pysim.simulate(scene)
    assert len(run.events.t) > 1
    rows = pysim.rollout(scene, np.tile(scene.state.q, (2, 1)), np.tile(scene.state.v, (2, 1)))
    assert rows.q[1].tobytes() == run.q.tobytes()
    assert rows.events[0].t.tobytes() == run.events.t.tobytes()
    assert rows.events[0].names == run.events.names
    free = pysim.load_scene(path, {"simulation.step": UNSET})
    worlds, times = pysim.Worlds(free, 2), list[float]()
    for k in range(1, len(run.t) - 1):
        worlds.step(seconds=0.01)
        times += worlds.events[1].t.tolist()
        if k == 40:
            saved = worlds.save()
            worlds = pysim.Worlds(free, 2)
            worlds.load(saved)
        np.testing.assert_allclose(worlds.q[1], run.q[k], atol=1e-8)
    np.testing.assert_allclose(times, run.events.t, atol=1e-8)


def test_contacts_of_rollouts_with_impacts_are_those_of_runs(tmp_path: Path) -> None:
    path = tmp_path / "balls.toml"
    path.write_text(BALLS.replace("LAW", "0.4"))
    scene = pysim.load_scene(path)
    run = pysim.simulate(scene)
    rows = pysim.rollout(scene, contacts=True)
    assert rows.contacts is not None
    np.testing.assert_allclose(rows.contacts.impulse, run.contact_impulses, atol=1e-12)


def test_worlds_in_single_precision_refuse_events_by_name(tmp_path: Path) -> None:
    with pytest.raises(pysim.SimulationError, match="event 'release' is located in double"):
        pysim.Worlds(sprung(tmp_path, "rk4"), 2, dtype=np.float32)


RESTING = (
    "[[ground]]\nplane = { normal = [0, 0, 1] }\n"
    '[[body]]\nname = "box"\nshape = { box = [0.2, 0.2, 0.2] }\nmass = 1.0\ncollision = true\n'
    '[[joint]]\nname = "free"\ntype = "free"\nchild = "box"\nstart = { xyz = [0, 2, 0.1] }\n'
)


def test_an_event_of_a_world_leaves_the_contacts_of_the_others(tmp_path: Path) -> None:
    falls = mass(2.0).replace("gravity = [0, 0, 0]", "gravity = [0, 0, -9.81]")
    text = falls + spring() + release() + RESTING
    scene = scene_of(tmp_path, text + simulation("convex", duration=1.0, step=STEP, interval=0.05))
    worlds = pysim.Worlds(scene, 2)
    place = scene.model.coordinate_names.index("x")
    worlds.q[:, place] = [0.14, 0.2]  # the second stays where its spring is relaxed
    seen = []
    for _ in range(150):
        worlds.step()
        seen.append((len(worlds.events[0].t), np.abs(worlds.contacts[1]).max()))
    events, forces = np.array(seen).T
    assert events.sum() == 1
    assert forces[2:].min() > 0.1


def test_steps_after_a_run_of_rows_are_those_of_the_grid(tmp_path: Path) -> None:
    changes = {"simulation.step": 0.003, "output.every": 0.01}
    text = mass(2.0) + spring() + release()
    path = tmp_path / "s.toml"
    path.write_text(text + simulation("rk4", duration=0.2, step=STEP, interval=0.05), "utf-8")
    scene = pysim.load_scene(path, changes)
    worlds = pysim.Worlds(scene, 1)
    worlds.load(pysim.rollout(scene).state)
    begin = worlds.t[0]
    rows = worlds.rollout(rows=3)
    np.testing.assert_allclose(rows.t[0] - begin, [0.003, 0.006, 0.009], atol=1e-12)


def test_a_step_taken_back_at_an_event_leaves_no_force_at_its_row(tmp_path: Path) -> None:
    """A motor would press a ball on the ground within a step, but an event releases it high above."""
    scene = scene_of(tmp_path, PRESSED_BALL)
    rows = pysim.rollout(scene, contacts=True)
    assert rows.events[0].names == ("low",)
    assert rows.q.min() > 0.5  # the ball touches nothing
    assert rows.contacts is not None
    assert not rows.contacts.force.any()
    assert not rows.contacts.impulse.any()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_checkpoint_a_rollout_and_saved_worlds_continue_each_other_to_the_bit(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of a file is stopped before its event; worlds have its ledger, as its records do."""
    scene = with_ledger(sprung(tmp_path, scheme))
    often = replace(scene.settings, checkpoint=1e-6, step=DYADIC["simulation.step"], every=2.0**-4)
    scene = with_settings(scene, often)
    run = pysim.simulate(scene)
    monkeypatch.setattr("pysim.simulation.adaptive_runs.OUTPUTS_A_CALL", 1)
    run_to_stop(scene, tmp_path / "run.h5", 3, monkeypatch)
    with h5py.File(tmp_path / "run.h5") as file:
        checkpoint = read_checkpoint(file)
    assert checkpoint is not None
    record = SavedParts.of(checkpoint.record, "run.h5").part("run.").data("record")

    worlds = pysim.Worlds(scene, 1)
    worlds.load(record)
    assert worlds.save() == record
    rows = pysim.rollout(scene, state=record)
    first = int(np.flatnonzero(run.t == rows.t[0])[0])
    count = len(run.t) - first
    assert rows.t[:count].tobytes() == run.t[first:].tobytes()
    assert rows.q[:count].tobytes() == run.q[first:].tobytes()
    assert rows.v[:count].tobytes() == run.v[first:].tobytes()
    worlds.load(rows.state)
    assert worlds.save() == rows.state
