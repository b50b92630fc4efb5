"""Results of sweeps: first-order indices and figures.

Oracles: the closed forms of the Ishigami function and of a sum of independent parameters, arrays of the dataset, and
the picture's format.
"""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import SimulationError
from pysim.render.plots.sweep_figure import plot_sweep
from pysim.sweeps import first_order_indices, is_sweep, load_results, run_sweep

SCENES = Path(__file__).parents[2] / "scenes"
SPRING = SCENES / "spring.toml"
SHORT = {"simulation.duration": 0.2, "output.every": 0.05}


def test_a_parameter_that_determines_a_result_has_the_index_1_with_fifty_worlds(
    rng: np.random.Generator,
) -> None:
    x = rng.uniform(0.1, 0.9, 50)
    assert first_order_indices({"x": x}, np.exp(-6 * x))["x"] > 0.9


def test_first_order_indices_of_the_ishigami_function(rng: np.random.Generator) -> None:
    """S1 = (1 + b π⁴/5)²/2 / V, S2 = a²/8 / V, S3 = 0 [Ishigami and Homma 1990]."""
    a, b = 7.0, 0.1
    x = {name: rng.uniform(-np.pi, np.pi, 4000) for name in "xyz"}
    y = np.sin(x["x"]) + a * np.sin(x["y"]) ** 2 + b * x["z"] ** 4 * np.sin(x["x"])
    whole = a**2 / 8 + b * np.pi**4 / 5 + b**2 * np.pi**8 / 18 + 0.5
    expected = [(1 + b * np.pi**4 / 5) ** 2 / 2 / whole, a**2 / 8 / whole, 0.0]
    np.testing.assert_allclose(list(first_order_indices(x, y).values()), expected, atol=0.03)


def test_indices_of_grids_and_of_independent_noise_have_no_bias(rng: np.random.Generator) -> None:
    found = []
    for _ in range(200):
        x = {"grid": np.tile([0.0, 1.0, 2.0], 40), "idle": rng.normal(size=120)}
        y = x["grid"] + rng.normal(0, np.sqrt(2 / 3), 120)
        found.append(list(first_order_indices(x, y).values()))
    np.testing.assert_allclose(np.mean(found, axis=0), [0.5, 0.0], atol=0.02)


def test_few_worlds_or_a_constant_result_have_no_index() -> None:
    x = {"x": np.linspace(0, 1, 30)}
    assert np.isnan(first_order_indices(x, np.full(30, 0.1))["x"])
    assert np.isnan(first_order_indices({"x": np.arange(5.0)}, np.arange(5.0))["x"])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep whose last piece is not computed."""
    path = tmp_path_factory.mktemp("results") / "a.nc"
    run_sweep(
        SPRING,
        {"joint[0].damping": "0:2:5", "body[0].shape.density": "normal(1250, 50)"},
        8,
        output=path,
        method="latin_hypercube",
        seed=0,
        signals=["energy"],
        overrides=SHORT,
        threads=1,
        piece=30,
        progress=None,
        overwrite=False,
        allow_code=False,
    )
    with h5py.File(path, "r+") as file:
        file["summary"][30:] = np.nan
        file["series"][30:] = np.nan
        file["checksum"][1] = -1
    return path


def test_results_are_those_of_the_computed_worlds(path: Path) -> None:
    found = load_results(path)
    data = pysim.load_sweep(path)
    assert (len(found.summary), found.worlds, found.failures) == (30, 40, 0)
    assert found.sampled == ("body[0].shape.density",)
    np.testing.assert_array_equal(found.series, data.series[:30])
    energy = data.summary.sel(signal="energy")[:30]
    np.testing.assert_array_equal(found.quantity("energy"), energy.sel(statistic="end"))
    np.testing.assert_array_equal(found.quantity("energy.min"), energy.sel(statistic="min"))
    assert found.default_quantities() == ["energy"]
    assert is_sweep(path)
    assert not is_sweep(SPRING)


def test_worlds_of_a_piece_without_checksum_do_not_count(path: Path, tmp_path: Path) -> None:
    """A process that was killed while it wrote a piece leaves some of its numbers."""
    killed = tmp_path / "killed.nc"
    killed.write_bytes(path.read_bytes())
    with h5py.File(killed, "r+") as file:
        file["summary"][30:] = 1.0
        file["failure"][35] = b"no reason"
    found = load_results(killed)
    assert (len(found.summary), found.failures) == (30, 0)


def test_an_unknown_quantity_is_rejected_with_the_nearest_name(path: Path) -> None:
    text = (
        f"{path}: 'enery.max': the sweep has no such signal; did you mean 'energy'?; "
        "give SIGNAL or SIGNAL.STATISTIC"
    )
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        load_results(path).quantity("enery.max")


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_command_draws_a_sweep(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, magic: bytes
) -> None:
    picture = tmp_path / f"a.{suffix}"
    words = ["plot", str(path), "energy.max", "-o", str(picture)]
    assert main(words) in {0, None}
    assert capsys.readouterr().out == f"  plot        {picture}\n"
    assert picture.read_bytes().startswith(magic)
    assert main(["plot", str(path), "--names"]) in {0, None}
    names = capsys.readouterr().out.split()
    assert names == ["signal", "q.slide", "v.slide", "energy"]


def test_the_figure_shows_every_quantity_with_every_parameter(path: Path) -> None:
    from matplotlib.figure import Figure

    from pysim.render.plots.sweep_figure import draw

    figure = Figure()
    draw(load_results(path), ["energy", "q.slide.max"], figure)
    labels = [(axis.get_xlabel(), axis.get_ylabel()) for axis in figure.axes]
    expected = [("time [s]", "energy")]
    for name in ("energy", "q.slide.max"):
        expected += [(f"{name}  (5, 50 and 95 %)", "worlds"), ("first-order Sobol index", "")]
        expected += [("joint[0].damping", name), ("body[0].shape.density", "")]
    assert labels == expected


def nominal(folder: Path, every: float) -> pysim.Trajectory:
    overrides = SHORT | {"output.every": every}
    pysim.simulate(pysim.load_scene(SPRING, overrides=overrides), folder / "nominal.h5")
    return pysim.load_trajectory(folder / "nominal.h5")


def test_the_figure_shows_deviations_from_a_nominal_run(path: Path, tmp_path: Path) -> None:
    """Medians less the energy of the run, and the largest place less that of the run, with their units."""
    from matplotlib.figure import Figure

    from pysim.render.plots.sweep_figure import NominalRun, draw

    results = load_results(path)
    run = nominal(tmp_path, float(results.t[1] - results.t[0]))
    figure = Figure()
    draw(results, ["q.slide.max"], figure, NominalRun(run, results))
    fan, histogram, _, scatter, _ = figure.axes
    assert fan.get_ylabel() == "Δ energy [J]"
    median = np.median(results.series[:, 0], axis=0) - run.energy
    np.testing.assert_allclose(np.asarray(fan.lines[0].get_ydata(), float), median, atol=1e-12)
    assert histogram.get_xlabel() == "Δ q.slide.max [m]  (5, 50 and 95 %)"
    drawn = np.asarray(scatter.collections[0].get_offsets())[:, 1]
    expected = results.quantity("q.slide.max") - run.q[:, 0].max()
    np.testing.assert_allclose(drawn, expected, atol=1e-12)


def test_a_nominal_run_has_the_outputs_of_the_sweep(path: Path, tmp_path: Path) -> None:
    results = load_results(path)
    run = nominal(tmp_path, float(results.t[2] - results.t[0]))
    with pytest.raises(
        SimulationError, match=r"outputs, and the worlds of the sweep .*output.every"
    ):
        plot_sweep(path, tmp_path / "a.png", nominal=run)
    words = ["plot", str(path), str(tmp_path / "nominal.h5"), str(tmp_path / "nominal.h5")]
    assert main(words) == 2


def test_a_sweep_without_finished_worlds_is_rejected(path: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.nc"
    empty.write_bytes(path.read_bytes())
    with h5py.File(empty, "r+") as file:
        file["checksum"][:] = -1
    text = f"{empty}: no world has run to its end; see the variable failure"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        plot_sweep(empty, tmp_path / "a.png")
