"""Replays of runs with adaptive steps.

Oracle: the same run divided into other calls, whose steps are the same to the bit; and scenes that fail for one reason,
at a time that their error names.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pysim
from pysim.simulation.adaptive_runs import AdaptiveRun
from pysim.simulation.run import output_times
from pysim.worlds.ledger import with_ledger
from pysim.worlds.world_records import WorldRecords
from tests.resumed_runs import run_to_stop
from tests.resumed_scenes import BALLS, EVENT, disc_text
from tests.simulation.test_replay import STONE, WRONG, failed

SCENES = Path(__file__).parents[2] / "scenes"
ADAPTIVE = {"simulation.integrator": "dopri5"}
STEPS = "pysim.simulation.adaptive_runs"
HARD_STOP = (
    STONE.replace("q = 0.1", "q = 0.1, v = 1.0")
    + """
limits = { upper = 0.5, stiffness = 1e30, damping = 0.0 }

[simulation]
integrator = "dopri5"
duration = 2.0

[output]
every = 0.15
"""
)

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")


def test_a_run_that_diverges_ends_with_its_own_error_in_memory_and_in_a_file(
    tmp_path: Path,
) -> None:
    """Its work overflows before its state does."""
    (tmp_path / "scene.toml").write_text(WRONG.replace("rk4", "dopri5"))
    scene = pysim.load_scene(tmp_path / "scene.toml", {"simulation.rtol": 1e-6})
    errors = []
    for output in (None, tmp_path / "run.h5"):
        with pytest.raises(
            pysim.SimulationError, match="has grown beyond what numbers hold"
        ) as caught:
            pysim.simulate(scene, output)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert pysim.load_trajectory(tmp_path / "run.h5").t[-1] == pytest.approx(17.2)


def shown_steps(
    scene: pysim.Scene, *, watched: bool = True
) -> tuple[list[object], list[tuple[bytes, ...]]]:
    """Run a scene; return what is shown of its steps, and its rows."""
    scene = with_ledger(scene)
    run, shown = AdaptiveRun(scene), list[object]()
    run.begin()

    def show(records: WorldRecords) -> None:
        t, state, numbers = records.step_start(0)
        own = None if numbers is None else numbers.tobytes()
        shown.append((t, state.q.tobytes(), state.v.tobytes(), own))

    if watched:
        run.watch = show
    times = output_times(scene.settings.duration, scene.settings.every)
    rows: list[tuple[bytes, ...]] = [
        (s.t.tobytes(), s.q.tobytes(), s.v.tobytes()) for s in run.segments(times)
    ]
    return shown, rows


def scene_named(name: str, folder: Path) -> pysim.Scene:
    """Return a scene of the folder of scenes or of the tests, with adaptive steps."""
    texts = {
        "sampled": disc_text("revolute", EVENT).replace("plugins", "#"),
        "balls": BALLS.replace("LAW", "0.4"),
    }
    if name not in texts:
        return pysim.load_scene(SCENES / f"{name}.toml", {**ADAPTIVE, "simulation.duration": 0.8})
    (folder / "scene.toml").write_text(texts[name])
    return pysim.load_scene(folder / "scene.toml", ADAPTIVE)


SCENE_NAMES = [
    "double_pendulum",
    "timed_pendulum",  # events
    "catapult",  # an event that releases
    "four_bar",  # loops whose rows depend on others
    "servo_pid",  # states of elements
    "falling_box",  # smooth contacts
    "sampled",  # blocks with a period and noise
    "balls",  # impacts
]


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_a_run_whose_steps_are_watched_keeps_its_bits(name: str, tmp_path: Path) -> None:
    scene = scene_named(name, tmp_path)
    shown, rows = shown_steps(scene)
    assert len(shown) > 2
    assert shown_steps(scene, watched=False) == ([], rows)


@pytest.mark.parametrize("name", SCENE_NAMES)
def test_the_steps_shown_are_those_of_the_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In calls of one attempt and one output, the state after every call is the state after a step."""
    scene = scene_named(name, tmp_path)
    shown, _ = shown_steps(scene)
    monkeypatch.setattr(f"{STEPS}.OUTPUTS_A_CALL", 1)
    monkeypatch.setattr(f"{STEPS}.ATTEMPTS_A_CALL", 1)
    assert shown_steps(scene)[0] == shown


def test_the_last_step_shown_is_the_last_before_the_error(tmp_path: Path) -> None:
    """The stone meets a stop of 1e30 N/m at t = 0.4 s; the row at 0.3 s does not end the replay before it."""
    path = failed(HARD_STOP, tmp_path)
    before = path.read_bytes()
    found = pysim.replay(path, 6)
    assert len(found.steps) == 6
    when = re.search(r"at t = (\S+) s", found.problem)
    assert when is not None
    assert found.steps[-1].t == pytest.approx(float(when[1]), rel=1e-8)
    assert found.steps[-1].t == pytest.approx(0.4, abs=1e-6)
    assert found.steps[-1].q[0] == pytest.approx(0.5, abs=1e-6)
    assert path.read_bytes() == before


def test_a_controller_of_the_wrong_sign_is_named(tmp_path: Path) -> None:
    text = WRONG.replace("rk4", "dopri5").replace("100.0", "1000.0")
    found = pysim.replay(failed(text, tmp_path), 8)
    assert "the control of joint 'slide' by 'motor' pushes the way the joint moves" in found.cause


def test_a_run_that_was_stopped_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{STEPS}.OUTPUTS_A_CALL", 25)
    scene = pysim.load_scene(
        SCENES / "double_pendulum.toml", {**ADAPTIVE, "simulation.checkpoint": 1e-6}
    )
    run_to_stop(scene, tmp_path / "run.h5", 2, monkeypatch)
    with pytest.raises(pysim.SimulationError, match="does not fail when it goes on"):
        pysim.replay(tmp_path / "run.h5")
