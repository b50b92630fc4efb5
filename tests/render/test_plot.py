"""Plots: a panel for each unit, every line named, extremes kept when points are thinned."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure  # noqa: TID253

from pysim.errors import PysimError, TrajectoryError
from pysim.render import plot
from pysim.render.plot import MOST_POINTS, draw, subsampled
from pysim.trajectory import Trajectory
from tests.render.scenes import cart, moving


def free_body() -> Trajectory:
    """Like the cart, but with the coordinates of a free joint."""
    trajectory = cart(
        coordinate_names=("x", "y", "z", "qx", "qy", "qz", "qw"),
        velocity_names=("vx", "vy", "vz", "wx", "wy", "wz"),
        coordinate_units=("m",) * 3 + ("1",) * 4,
        velocity_units=("m/s",) * 3 + ("rad/s",) * 3,
    )
    rows = len(trajectory)
    v = np.ones((rows, 6))
    return dataclasses.replace(trajectory, q=trajectory.poses[:, 0], v=v, a=v)


@pytest.mark.parametrize("name", ["cart.png", "cart.pdf", "cart.svg"])
def test_a_plot_is_written(tmp_path: Path, name: str) -> None:
    plot(cart(), tmp_path / name)
    assert (tmp_path / name).stat().st_size > 5000
    assert len(list(tmp_path.iterdir())) == 1


def test_lines_that_share_a_unit_share_a_panel() -> None:
    figure = Figure()
    draw(free_body(), figure)
    titles = [axis.get_ylabel() for axis in figure.axes]
    assert titles == [
        "position [m]",
        "position, quaternion",
        "velocity [m/s]",
        "velocity [rad/s]",
        "energy [J]",
    ]
    assert [len(axis.lines) for axis in figure.axes] == [3, 4, 3, 3, 3]
    assert figure.axes[-1].get_xlabel() == "time [s]"


def test_what_loops_and_couplings_carry_has_panels_of_its_own() -> None:
    trajectory = cart(loop_names=("left", "right"), coupling_names=("gear",))
    wrenches = np.zeros((len(trajectory), 2, 6))
    wrenches[:, 1, :3] = [3.0, 0.0, 4.0]
    forces = {"loops/wrenches": wrenches, "couplings/forces": np.ones((len(trajectory), 1))}
    figure = Figure()
    draw(dataclasses.replace(trajectory, constraint_forces=forces), figure)
    panels = {axis.get_ylabel(): axis for axis in figure.axes}
    assert "moment [N·m]" not in panels  # there is none
    (left, right) = panels["loop's force [N]"].lines
    assert not np.any(left.get_ydata())
    np.testing.assert_allclose(np.asarray(right.get_ydata()), 5.0)
    assert len(panels["coupling [N, N·m]"].lines) == 1


def test_a_hundred_lines_share_one_note_instead_of_a_legend() -> None:
    names = tuple(f"hinge{k}" for k in range(100))
    trajectory = cart(coordinate_names=names, coordinate_units=("rad",) * 100)
    figure = Figure()
    draw(dataclasses.replace(trajectory, q=np.ones((len(trajectory), 100))), figure)
    (note,) = figure.axes[0].texts
    assert note.get_text() == "100 lines, hinge0 … hinge99"
    assert figure.axes[0].get_legend() is None


def test_thinning_keeps_both_ends_and_every_extreme() -> None:
    t = np.arange(100_000.0)
    values = np.zeros(len(t))
    values[[123, 77_777]] = 5.0, -3.0
    x, y = subsampled(t, values)
    assert len(x) <= 2 * MOST_POINTS
    assert (x[0], x[-1], y.max(), y.min()) == (0.0, 99_999.0, 5.0, -3.0)


def test_a_run_without_rows_has_no_plot(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="has no rows to plot"):
        plot(moving(np.zeros((0, 3))), tmp_path / "cart.png")


def test_a_plot_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PysimError, match=r"unknown kind of picture '\.h5'"):
        plot(cart(), tmp_path / "cart.h5")


def test_a_plot_without_a_display_asks_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(PysimError, match="plot: there is no display to show it on; give a file"):
        plot(cart())
