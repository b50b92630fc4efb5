"""Files of runs that stopped before their first row, and writers that are closed. Oracle: the texts of the messages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.errors import PysimError, PysimWarning, TrajectoryError
from pysim.trajectory import TrajectoryWriter
from tests.scene_runs import SCENES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.trajectory import Trajectory

SCENE = pysim.load_scene(SCENES / "pendulum.toml", {"simulation.duration": 0.01})


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trajectory:
    """A file, empty.h5, without rows."""
    monkeypatch.chdir(tmp_path)
    writer = TrajectoryWriter("empty.h5", pysim.simulate(SCENE).header)
    writer.close("the run stopped")
    with pytest.warns(PysimWarning, match="it has no rows, the run stopped"):
        return pysim.load_trajectory("empty.h5")


USES: dict[str, Callable[[Trajectory], object]] = {
    "empty.h5: has no rows; the run stopped before its first": lambda run: run.poses_at([0.0]),
    "empty.h5: has no rows to draw; the run stopped before its first": lambda run: (
        pysim.render.still(run, "still.png")
    ),
    "empty.h5: has no rows to plot; the run stopped before its first": lambda run: (
        pysim.render.plot([run], path="plot.png")
    ),
}


@pytest.mark.parametrize("text", USES)
def test_a_run_without_rows_is_reported(text: str, empty: Trajectory) -> None:
    assert len(empty) == 0
    with pytest.raises(TrajectoryError, match=f"^{re.escape(text)}$"):
        USES[text](empty)


def test_a_signal_needs_two_rows_of_a_recording(empty: Trajectory) -> None:
    scene = (SCENES / "pendulum.toml").read_text("utf-8")
    table = '[[signal]]\nname = "c"\ntype = "trajectory"\nfile = "empty.h5"\ncolumn = "q.hinge"\n'
    Path("s.toml").write_text(f"{scene}\n{table}", "utf-8")
    line = scene.count("\n") + 2
    text = (
        "empty.h5: has 0 rows; a signal needs two or more, so record a longer run "
        f"(s.toml:{line}:1: signal[0]: signal 'c')"
    )
    with (
        pytest.warns(PysimWarning, match="it has no rows"),
        pytest.raises(PysimError, match=f"^{re.escape(text)}$"),
    ):
        pysim.load_scene("s.toml")


def test_a_closed_writer_takes_no_rows(tmp_path: Path) -> None:
    run = pysim.simulate(SCENE)
    writer = TrajectoryWriter(tmp_path / "run.h5", run.header)
    writer.finish()
    text = f"{tmp_path / 'run.h5'}: is closed; rows go in before finish() or close()"
    with pytest.raises(TrajectoryError, match=f"^{re.escape(text)}$"):
        writer.append_events(run.events)
