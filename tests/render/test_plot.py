"""Plots: a panel for each unit, every line named, extremes kept when points are thinned."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure  # noqa: TID253

import pysim
from pysim.errors import PysimError, PysimWarning, TrajectoryError
from pysim.render import plot
from pysim.render.plots.plot import MOST_POINTS, amplitudes, draw, panels_of, subsampled
from pysim.render.plots.recorded_quantities import default_patterns, quantities_of, select
from pysim.trajectory import Trajectory
from tests.render.scenes import cart, moving


def drawn(*runs: Trajectory, names: Sequence[str] = (), **options: Any) -> Figure:
    figure = Figure()
    panels, x_title = panels_of(runs, names, **options)
    draw(runs, panels, x_title, figure)
    return figure


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
    figure = drawn(free_body())
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


def test_forces_of_loops_and_couplings_have_panels_of_their_own() -> None:
    trajectory = cart(loop_names=("left", "right"), coupling_names=("gear",))
    wrenches = np.zeros((len(trajectory), 2, 6))
    wrenches[:, 1, :3] = [3.0, 0.0, 4.0]
    forces = {"loops/wrenches": wrenches, "couplings/forces": np.ones((len(trajectory), 1))}
    figure = drawn(dataclasses.replace(trajectory, constraint_forces=forces))
    panels = {axis.get_ylabel(): axis for axis in figure.axes}
    assert "loop's moment [N·m]" not in panels  # there is none
    (left, right) = panels["loop's force [N]"].lines
    assert not np.any(left.get_ydata())
    np.testing.assert_allclose(np.asarray(right.get_ydata()), 5.0)
    assert len(panels["coupling [N, N·m]"].lines) == 1


def test_a_hundred_lines_share_one_note_instead_of_a_legend() -> None:
    names = tuple(f"hinge{k}" for k in range(100))
    trajectory = cart(coordinate_names=names, coordinate_units=("rad",) * 100)
    figure = drawn(dataclasses.replace(trajectory, q=np.ones((len(trajectory), 100))))
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


def test_a_plot_without_a_display_requires_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(PysimError, match="plot: there is no display to show it on; give a file"):
        plot(cart())


def legend(figure: Figure, panel: int = 0) -> list[str]:
    found = figure.axes[panel].get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_quantities_are_chosen_by_name_by_part_and_by_wildcard() -> None:
    body = free_body()
    assert [x.name for x in select(body, ["v.wy", "q.x"])] == ["v.wy", "q.x"]
    assert [x.name for x in select(body, ["energy"])] == [
        "energy.kinetic",
        "energy.potential",
        "energy.elastic",
        "energy.total",
    ]
    found = [x.name for x in select(body, ["v.w*", "v.wx", "position.tip"])]
    assert found == ["v.wx", "v.wy", "v.wz", *(f"position.tip.{axis}" for axis in "xyz")]
    (x,) = select(body, ["position.tip.x"])
    np.testing.assert_array_equal(x.values(), body.path_of("tip")[:, 0])


def test_contacts_are_quantities() -> None:
    trajectory = cart(contact_names=("world, foot",))
    forces = np.zeros((len(trajectory), 1, 3))
    forces[:, 0] = [0.0, 3.0, 4.0]
    recorded = {"contacts/pairs/force": forces, "contacts/pairs/impulse": 0.1 * forces}
    run = dataclasses.replace(trajectory, constraint_forces=recorded)
    (found,) = select(run, ["contacts.*.force"])
    np.testing.assert_allclose(found.values(), 5.0)
    np.testing.assert_allclose(select(run, ["contacts.world, foot.z"])[0].values(), 4.0)
    assert "contact force [N]" in [axis.get_ylabel() for axis in drawn(run).axes]


def test_numbers_of_a_signal_are_quantities_with_an_index(tmp_path: Path) -> None:
    """Of a sensor with three and four numbers; a loop that holds a body by all its axes has a moment."""
    text = """
[[body]]
name = "bar"
shape = { box = [1.0, 0.1, 0.1], density = 500, at = { xyz = [0.5, 0, 0] } }
[[joint]]
name = "hinge"
type = "ball"
child = "bar"
[[loop]]
name = "held"
type = "weld"
b = "bar"
[[sensor]]
name = "seen"
type = "pose"
frame = "bar"
at = { xyz = [1, 2, 3] }
[simulation]
duration = 0.01
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        run = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    found = select(run, ["signals.seen.position*"])
    assert [(x.name, x.unit) for x in found] == [
        (f"signals.seen.position[{k}]", "m") for k in range(3)
    ]
    values = np.stack([x.values() for x in found], axis=1)
    np.testing.assert_array_equal(values, run.signals["seen.position"])
    np.testing.assert_allclose(values, np.tile([1.0, 2.0, 3.0], (len(run), 1)), atol=1e-9)
    assert "loops.*.moment" in default_patterns(run)


UNKNOWN = [
    ("q.slid", "unknown quantity 'q.slid'; did you mean 'q.slide'?"),
    ("slide", "unknown quantity 'slide'; did you mean 'q.slide'?"),
    ("w.*", "no quantity matches 'w.*'; names begin with q, v, a, energy, position"),
]


@pytest.mark.parametrize(("name", "problem"), UNKNOWN)
def test_a_name_that_matches_nothing_is_rejected_with_a_suggestion(name: str, problem: str) -> None:
    with pytest.raises(TrajectoryError) as caught:
        select(cart(), [name])
    assert str(caught.value) == f"trajectory: {problem}"


def test_a_quantity_is_drawn_against_another() -> None:
    figure = drawn(cart(), names=["energy.kinetic"], against="q.slide")
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(np.asarray(line.get_xdata()), cart().q[:, 0])
    assert figure.axes[0].get_xlabel() == "q.slide [m]"
    with pytest.raises(TrajectoryError) as caught:
        drawn(cart(), names=["q"], against="energy")
    problem = "'energy' on the horizontal axis matches 4 quantities; name one, as 'energy.kinetic'"
    assert str(caught.value) == f"trajectory: {problem}"


def test_rows_are_left_out_of_a_long_phase_plot_and_not_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["pysim.render.plots.plot"], "MOST_OF_PHASES", 10)
    figure = drawn(moving(np.zeros((100, 3))), names=["v"], against="q.slide")
    (line,) = figure.axes[0].lines
    shown = len(np.asarray(line.get_xdata())), line.get_linestyle(), line.get_marker()
    assert shown == (10, "None", ".")


def test_a_spectrum_has_the_amplitude_at_the_frequency() -> None:
    """Oracle: 0.3 sin(2π 5 t) + 2, on times with unequal intervals."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, 10.0, 4000))
    t[[0, -1]] = 0.0, 10.0
    way = np.column_stack([0.3 * np.sin(2 * np.pi * 5 * t) + 2, np.zeros((len(t), 2))])
    run = moving(way, times=t)
    frequency, amplitude = amplitudes(run, run.q[:, 0])
    peak = int(np.argmax(amplitude))
    assert frequency[peak] == pytest.approx(5.0, abs=0.06)
    assert amplitude[peak] == pytest.approx(0.3, rel=0.02)
    figure = drawn(run, names=["q"], spectrum=True)
    assert figure.axes[0].get_ylabel() == "amplitude [m]"
    axis = figure.axes[-1]
    assert (axis.get_xlabel(), axis.get_xscale(), axis.get_yscale()) == (
        "frequency [Hz]",
        "log",
        "log",
    )
    assert axis.get_ylim() == pytest.approx((0.3e-6, 0.6), rel=0.02)
    nothing = drawn(moving(np.zeros((100, 3))), names=["q"], spectrum=True)
    assert nothing.axes[0].get_yscale() == "linear"


def test_runs_are_compared_in_the_same_panels() -> None:
    runs = [dataclasses.replace(cart(), source=f"/a/{name}.h5") for name in ("first", "second")]
    figure = drawn(*runs, names=["q", "energy.total"])
    assert legend(figure) == ["first: slide", "second: slide"]
    first, second = figure.axes[0].lines
    assert first.get_color() == second.get_color()
    assert first.get_linestyle() != second.get_linestyle()


def test_runs_of_one_file_name_are_named_by_their_folders() -> None:
    runs = [dataclasses.replace(cart(), source=f"/{name}/run.h5") for name in ("a", "b")]
    assert legend(drawn(*runs, names=["q"])) == ["a/run: slide", "b/run: slide"]


@pytest.mark.parametrize("name", ["_hidden", "a$x^2$b", "cost $5", "<b>bold</b>", "a\\frac{1"])
def test_names_with_markup_are_drawn_as_they_are(tmp_path: Path, name: str) -> None:
    trajectory = cart(coordinate_names=(name,), name=name)
    figure = drawn(trajectory, names=["q"])
    assert legend(figure) == [name]
    plot(trajectory, tmp_path / "a.svg", ["q"])
    text = (tmp_path / "a.svg").read_text("utf-8")
    escaped = name.replace("<", "&lt;").replace(">", "&gt;")
    assert text.count(f">{escaped}</text>") == 2


BAD_PLOTS = [
    ({"runs": 9}, "plot: draws 1 to 8 runs, got 9; name fewer files"),
    (
        {"runs": 1, "against": "t", "spectrum": True},
        "plot: draws against a quantity or as a spectrum; leave out one of them",
    ),
]


@pytest.mark.parametrize(("options", "message"), BAD_PLOTS)
def test_plots_that_cannot_be_drawn_are_rejected(options: dict[str, Any], message: str) -> None:
    count = options.pop("runs")
    with pytest.raises(PysimError) as caught:
        panels_of([cart()] * count, **options)
    assert str(caught.value) == message


def test_a_run_too_short_for_a_spectrum_is_rejected() -> None:
    with pytest.raises(TrajectoryError) as caught:
        drawn(moving(np.zeros((4, 3))), names=["q"], spectrum=True)
    problem = "has 4 rows, a spectrum needs at least 8; lower output.every"
    assert str(caught.value) == f"trajectory: {problem}"


def test_every_quantity_has_a_value_for_each_row() -> None:
    for quantity in quantities_of(free_body()).values():
        assert np.shape(quantity.values()) == (11,)
