"""`sweep`: runs a scene with many values of its parameters and writes one labelled dataset.

    dataset = pysim.sweep("arm.toml", {"joint.hinge.damping": "0:1:21", "body.rod.mass": "normal(1, 0.05)"}, 1000,
                          output="arm.nc")

The worlds run in pieces, each a rollout. A finished piece is not computed again: a sweep that was interrupted or killed
continues where it ended, and its dataset equals that of an undisturbed sweep bit for bit.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.errors import ModelError, PysimError, PysimWarning, SimulationError
from pysim.scene import read_sweep
from pysim.simulation import load_scene, load_scenes
from pysim.simulation.rollouts import rollout
from pysim.simulation.run import output_times
from pysim.sweeps.dataset import SweepFile, create, described, load_sweep
from pysim.sweeps.parameters import plan_of
from pysim.sweeps.quantities import check_signals, default_signals, evaluate, statistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import xarray
    from numpy.typing import ArrayLike, NDArray

    from pysim.simulation.loading import Scene
    from pysim.simulation.scene_rollouts import Rollout
    from pysim.sweeps.parameters import Distribution

    Array = NDArray[np.float64]

PIECE = 256  # worlds
TRIED = 16  # worlds, before a sweep whose worlds cannot be loaded is rejected


@dataclass(frozen=True)
class SweepUpdate:
    """Progress of a sweep."""

    done: int  # worlds, including those of earlier runs
    worlds: int  # in total
    computed: int  # worlds in this run
    wall: float  # spent in this run [s]

    @property
    def rate(self) -> float:
        """Worlds per second of this run."""
        return self.computed / self.wall if self.wall > 0 else 0.0

    @property
    def left(self) -> float:
        """Estimated time left [s]."""
        return (self.worlds - self.done) / self.rate if self.rate > 0 else np.inf


class SweepProgress(Protocol):
    """Callback that is called after each piece."""

    def __call__(self, update: SweepUpdate, /) -> None: ...


def sweep(
    scene: str | PathLike[str],
    parameters: Mapping[str, ArrayLike | str | Distribution] | None = None,
    n: int | None = None,
    *,
    output: str | PathLike[str],
    method: str | None = None,
    seed: int | None = None,
    signals: Sequence[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    threads: int = 0,
    piece: int = PIECE,
    progress: SweepProgress | None = None,
    overwrite: bool = False,
    allow_code: bool = False,
) -> xarray.Dataset:
    """Run a scene with many values of its parameters and return the labelled dataset, which is read lazily.

    Args:
        scene: the `.toml` file.
        parameters: by the path of a key, a grid (a list, an array, "FIRST:LAST:COUNT" or "A,B,C") or a distribution
            ("normal(mean, deviation)", "uniform(lower, upper)", "loguniform(lower, upper)", "triangular(lower, mode,
            upper)"). The worlds are all combinations of grid values, each with the same `n` samples. None for those
            of the scene's `[sweep]` table, which also has the defaults of `n`, `method`, `seed` and `signals`.
        n: number of samples of the distributions.
        output: dataset to write, HDF5 in the layout of netCDF-4. If it holds the same sweep, unfinished, the sweep
            continues.
        method: of sampling: "random", "latin_hypercube" or "sobol"; random by default.
        seed: of the samples; 0 by default.
        signals: names of signals to record over time, "q.NAME", "v.NAME", "position.BODY.x", "kinetic", "potential",
            "energy"; their statistics are computed, too.
        overrides: other keys of the scene, the same in every world, as `load_scene` takes them.
        threads: threads that share the worlds; 0 uses every processor.
        piece: number of worlds that are run and written together.
        progress: called after each piece with a `SweepUpdate`.
        overwrite: replace another sweep at `output`, or start the same one again.
        allow_code: whether the scene may name programs to run.

    Returns:
        A dataset with the parameters and the variables `summary` (world, signal, statistic), `series` (world, record,
        time) and `failure` (world), the reason why a world could not be loaded or ended early.

    Raises:
        SimulationError: a parameter or signal is invalid, or `output` holds another sweep.
        ImportError: xarray or h5netcdf is not installed.
    """
    for name in (
        "xarray",
        "h5netcdf",
    ):  # optional dependencies, missing before rather than after a long run
        import_module(name)

    run_sweep(
        scene, parameters, n, output=output, method=method, seed=seed, signals=signals, overrides=overrides,
        threads=threads, piece=piece, progress=progress, overwrite=overwrite, allow_code=allow_code,
    )  # fmt: skip
    return load_sweep(Path(output))


def run_sweep(
    scene: str | PathLike[str],
    parameters: Mapping[str, ArrayLike | str | Distribution] | None,
    n: int | None,
    *,
    output: str | PathLike[str],
    method: str | None,
    seed: int | None,
    signals: Sequence[str] | None,
    overrides: Mapping[str, Any] | None,
    threads: int,
    piece: int,
    progress: SweepProgress | None,
    overwrite: bool,
    allow_code: bool,
) -> list[tuple[int, str]]:
    """Run a sweep as `sweep` does, and return the worlds that ended early and why."""
    same = dict(overrides or {})
    table = read_sweep(scene, same)
    if parameters is None:
        parameters = {**table.grid, **table.sample}
        n = table.samples if n is None else n
    method, seed = method or table.method, table.seed if seed is None else seed
    signals = list(table.signals if signals is None else signals)
    plan = plan_of(parameters, n, method, seed)
    if piece < 1:
        raise SimulationError(
            "piece", f"is {piece}; give the number of worlds of a piece, 1 or more"
        )
    path = Path(output)
    values = plan.values()
    first = _first_scene(scene, same, values, allow_code=allow_code)
    check_signals(first.model, signals)
    description = plan.describe() | {
        "scene": hashlib.sha256(first.spec.text.encode()).hexdigest(),
        "overrides": repr(sorted(same.items())),
        "signals": signals,
    }
    names = list(dict.fromkeys([*default_signals(first.model), *signals]))
    if path.exists() and not overwrite:
        _check_same(path, description)
    else:
        settings = first.settings
        t = np.fromiter(output_times(settings.duration, settings.every), float)
        create(path, description, values, names, signals, t, piece)
    with SweepFile(path) as file:
        pieces = file.unfinished()
    with SweepFile(path, "r+" if pieces else "r") as file:
        clock = _Clock(file.worlds, pieces, progress)
        texts: list[str] = []
        for worlds in pieces:
            own = {key: column[worlds] for key, column in values.items()}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", PysimWarning)
                summary, series, failures = _run_piece(
                    scene, same, own, names, signals, threads, allow_code=allow_code
                )
            texts.extend(str(w.message) for w in caught if issubclass(w.category, PysimWarning))
            file.write(worlds, summary, series, failures)
            clock.tick(worlds)
        failed = file.failures()
    _warn(path, texts, failed, len(next(iter(values.values()))))
    return failed


def _first_scene(
    path: str | PathLike[str], same: dict[str, Any], values: dict[str, Array], *, allow_code: bool
) -> Scene:
    """Return the scene of the first world, of some evenly spaced, that can be loaded.

    Raises:
        PysimError: none can be loaded; the error of the first.
    """
    worlds = len(next(iter(values.values())))
    first: PysimError | None = None
    for k in np.unique(np.linspace(0, worlds - 1, min(worlds, TRIED)).astype(int)).tolist():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PysimWarning)  # reported with the worlds
                own = {key: column[k].item() for key, column in values.items()}
                return load_scene(path, same | own, allow_code)
        except PysimError as error:
            first = first or error
    assert first is not None
    raise first


def _check_same(path: Path, description: dict[str, Any]) -> None:
    """Reject a file that holds another sweep."""
    found = described(path)
    for key, value in description.items():
        if found.get(key) != value:
            problem = f"holds a sweep with other {key}; choose another output, or overwrite it"
            raise SimulationError(str(path), problem)


def _run_piece(
    path: str | PathLike[str],
    same: dict[str, Any],
    values: dict[str, Array],
    names: list[str],
    records: list[str],
    threads: int,
    *,
    allow_code: bool,
) -> tuple[Array, Array, list[str]]:
    """Run some worlds; return their summaries, series and failures."""
    scenes, failures = _load(path, same, values, allow_code=allow_code)
    runs: dict[int, tuple[Scene, Array, Array]] = {}
    loaded = {k: scene for k, scene in enumerate(scenes) if scene is not None}
    for numbers, run in _runs(loaded, threads):
        for row, k in enumerate(numbers):
            runs[k] = loaded[k], run.q[row], run.v[row]
            failures[k] = run.failures[row]
    rows = max((len(q) for _, q, _ in runs.values()), default=0)
    summary = np.full((len(scenes), len(names), 5), np.nan)
    series = np.full((len(scenes), len(records), rows), np.nan)
    at = [names.index(name) for name in records]
    for k, (scene, q, v) in runs.items():
        signals = evaluate(scene.model, q, v, names)
        summary[k] = statistics(signals)
        series[k] = signals[at]
    return summary, series, failures


def _load(
    path: str | PathLike[str], same: dict[str, Any], values: dict[str, Array], *, allow_code: bool
) -> tuple[list[Scene | None], list[str]]:
    """Load the scenes of some worlds; None and a reason for one that cannot be loaded."""
    count = len(next(iter(values.values())))
    try:
        scenes = load_scenes(path, same | {k: x.tolist() for k, x in values.items()}, allow_code)
        return list(scenes), [""] * count
    except PysimError:
        pass
    found: list[Scene | None] = []
    failures = []
    for k in range(count):
        own = {key: column[k].item() for key, column in values.items()}
        try:
            found.append(load_scene(path, same | own, allow_code))
            failures.append("")
        except PysimError as error:
            found.append(None)
            failures.append(str(error))
    return found, failures


def _runs(scenes: dict[int, Scene], threads: int) -> list[tuple[list[int], Rollout]]:
    """Run scenes together, or each alone if they differ in structure."""
    numbers = list(scenes)
    if not numbers:
        return []
    try:
        return [(numbers, rollout(list(scenes.values()), threads=threads))]
    except ModelError:
        return [([k], rollout([scene], threads=1)) for k, scene in scenes.items()]


class _Clock:
    """Counter of worlds and wall time, which calls `progress`."""

    def __init__(self, worlds: int, pieces: list[slice], progress: SweepProgress | None) -> None:
        self._worlds, self._progress = worlds, progress
        self._earlier = worlds - sum(piece.stop - piece.start for piece in pieces)
        self._computed, self._begin = 0, time.perf_counter()

    def tick(self, piece: slice) -> None:
        self._computed += piece.stop - piece.start
        if self._progress is not None:
            wall = time.perf_counter() - self._begin
            done = self._earlier + self._computed
            self._progress(SweepUpdate(done, self._worlds, self._computed, wall))


def _warn(path: Path, texts: list[str], failed: list[tuple[int, str]], worlds: int) -> None:
    """Warn once of all warnings and failures of the worlds."""
    if failed:
        world, why = failed[0]
        text = f"{path}: {len(failed)} of {worlds} worlds ended early or could not be loaded, world {world}: {why}"
        warnings.warn(text, PysimWarning, stacklevel=4)
    elif texts:
        text = f"{path}: {len(texts)} warnings of worlds, the first: {texts[0]}"
        warnings.warn(text, PysimWarning, stacklevel=4)
