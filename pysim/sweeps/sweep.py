"""`sweep`: runs a scene with many values of its parameters and writes one labelled dataset.

    dataset = pysim.sweep("arm.toml", {"joint.hinge.damping": "0:1:21", "body.rod.mass": "normal(1, 0.05)"}, 1000,
                          output="arm.nc")

The worlds run in pieces, each a rollout. A finished piece is not computed again: a sweep that was interrupted or killed
continues where it ended, and its dataset equals that of an undisturbed sweep bit for bit.
"""

from __future__ import annotations

import hashlib
import pickle
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.errors import PysimError, PysimWarning, SimulationError
from pysim.scene import read_sweep
from pysim.scene.toml.overrides import checked_overrides
from pysim.simulation.run import output_times
from pysim.sweeps.dataset import SweepFile, described, load_sweep
from pysim.sweeps.extras import check_installed
from pysim.sweeps.new_dataset import create
from pysim.sweeps.parameters import plan_of, whole_number
from pysim.sweeps.pieces import PieceRunner, with_keys_as_given
from pysim.sweeps.signal_statistics import check_signals, default_signals
from pysim.typing import Array
from pysim.worlds.failed_worlds import checked_on_failure, failed_world
from pysim.worlds.loading import Scene

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    import xarray
    from distributed import Client
    from numpy.typing import ArrayLike

    from pysim.sweeps.parameters import Distribution
    from pysim.sweeps.pieces import PieceResult, SceneChange

PIECE = 256  # worlds
_ON_FAILURE = "simulation.on_failure"  # a key with which a sweep is the same
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
    scene: str | PathLike[str] | Scene,
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
    scheduler: str | Client | None = None,
    on_failure: str | None = None,
    change: SceneChange | None = None,
) -> xarray.Dataset:
    """Run a scene with many values of its parameters and return the labelled dataset, which is read lazily.

    Args:
        scene: the `.toml` file, or a scene that was loaded from one, whose overrides hold in all worlds.
        parameters: by the path of a key, a grid (a list, an array, "FIRST:LAST:COUNT" or "A,B,C") or a distribution
            ("normal(mean, deviation)", "uniform(lower, upper)", "loguniform(lower, upper)", "triangular(lower, mode,
            upper)"). The worlds are all combinations of grid values, each with the same `n` samples. None for those
            of the scene's `[sweep]` table, which also has the defaults of `n`, `method`, `seed` and `signals`.
        n: number of samples of the distributions.
        output: dataset to write, HDF5 in the layout of netCDF-4. If it holds the same sweep, unfinished, the sweep
            continues.
        method: of sampling: "random", "latin_hypercube" or "sobol"; random by default.
        seed: of the samples; 0 by default.
        signals: names of signals to record over time, "q.NAME", "v.NAME", "position.NAME.x" of a body or frame,
            "kinetic", "potential", "energy", and the scene's own signals; their statistics are computed, too.
        overrides: other keys of the scene, the same in every world, as `load_scene` takes them.
        threads: threads that share the worlds; 0 uses every processor.
        piece: number of worlds that are run and written together.
        progress: called after each piece with a `SweepUpdate`.
        overwrite: replace another sweep at `output`, or start the same one again.
        allow_code: whether the scene may name programs to run.
        scheduler: address of a Dask scheduler, or a client of one, whose workers run the worlds. They read the scene at
            the same path; `threads` is then that of a task of a worker, 1 by default.
        on_failure: "drop_world", by which worlds that fail have NaN in the dataset and a reason, or "stop", by which
            the first is an error, once its piece is written; the scene's `simulation.on_failure` by default.
        change: makes what runs in place of each world's scene, for instance
            `functools.partial(with_policy, path=scene, policy="policy.npz")` of `pysim.environments.trained_policy`;
            it is pickled.

    Returns:
        A dataset with the parameters and the variables `summary` (world, signal, statistic), `series` (world, record,
        time) and `failure` (world), the reason why a world could not be loaded or ended early.

    Raises:
        SimulationError: a parameter or signal is invalid, `output` holds another sweep or cannot be written, or the
            package of an extra is not installed. Or, with `on_failure="stop"`, a world could not be loaded or ended
            early; the error has its number and the reason.
    """
    check_installed("pysim.sweep", "xarray")  # before rather than after a long run
    run_sweep(
        scene, parameters, n, output=output, method=method, seed=seed, signals=signals, overrides=overrides,
        threads=threads, piece=piece, progress=progress, overwrite=overwrite, allow_code=allow_code,
        scheduler=scheduler, on_failure=on_failure, change=change,
    )  # fmt: skip
    return load_sweep(Path(output))


def run_sweep(
    scene: str | PathLike[str] | Scene,
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
    scheduler: str | Client | None = None,
    on_failure: str | None = None,
    change: SceneChange | None = None,
) -> list[tuple[int, str]]:
    """Run a sweep as `sweep` does, and return the worlds that ended early and why."""
    choice, source = checked_on_failure(on_failure), scene
    scene, same = _source(scene, overrides)
    table = read_sweep(scene, same)
    if parameters is None:
        parameters = {**table.grid, **table.sample}
        n = table.samples if n is None else n
    method, seed = method or table.method, table.seed if seed is None else seed
    signals = table.signals if signals is None else signals
    signals = [signals] if isinstance(signals, str) else list(signals)
    threads = whole_number("threads", threads, 0)
    plan = plan_of(parameters, n, method, seed)
    if scheduler is not None:
        check_installed("scheduler", "distributed")
    if piece < 1:
        raise SimulationError(
            "piece", f"is {piece}; give the number of worlds of a piece, 1 or more"
        )
    path = Path(output)
    values = plan.values()
    runner = PieceRunner(
        str(Path(scene).resolve()) if scheduler is not None else str(scene), same, [], signals,
        threads if scheduler is None else max(threads, 1), allow_code, change,
    )  # fmt: skip
    first = _first_scene(runner, values)
    if isinstance(source, Scene) and _blocks(source) != _blocks(first):
        problem = "has other signals than its file, such as those of a policy"
        raise SimulationError("scene", f"{problem}; give the file, and change=")
    check_signals(first, signals)
    description = plan.describe() | _described(first, change, same) | {"signals": signals}
    names = list(dict.fromkeys([*default_signals(first.model), *signals]))
    if path.exists() and not overwrite:
        _check_same(path, description)
    else:
        settings = first.settings
        t = np.fromiter(output_times(settings.duration, settings.every), float)
        create(path, description, values, names, signals, t, piece)
    stops = (choice or first.settings.on_failure) == "stop"
    return _run_unfinished(
        replace(runner, signals=names), values, path, scheduler, progress, stops=stops
    )


def _described(
    first: Scene, change: SceneChange | None, overrides: Mapping[str, Any]
) -> dict[str, str]:
    """Return what a sweep runs, by which it is the same one: a digest of the scene, and the overrides of all worlds."""
    text = first.spec.text.encode() + (pickle.dumps(change) if change else b"")
    chosen = sorted((key, x) for key, x in overrides.items() if key != _ON_FAILURE)
    return {"scene": hashlib.sha256(text).hexdigest(), "overrides": repr(chosen)}


def _run_unfinished(
    runner: PieceRunner,
    values: Mapping[str, Array],
    path: Path,
    scheduler: str | Client | None,
    progress: SweepProgress | None,
    *,
    stops: bool,
) -> list[tuple[int, str]]:
    """Run the pieces that a dataset lacks and write them; return the worlds that ended early and why.

    With `stops` the first of these is an error.
    """
    with SweepFile(path) as file:
        pieces = file.unfinished()
        earlier = file.failures() if stops else []
        _check_same_results(path, file, runner, values, pieces)
    if earlier:
        raise _failed(path, *earlier[0])
    with SweepFile(path, write=bool(pieces)) as file:
        clock = _Clock(file.worlds, pieces, progress)
        texts: list[str] = []
        for worlds, result in _computed(runner, values, pieces, scheduler):
            texts.extend(result.warnings)
            file.write(worlds, result.summary, result.series, result.failures)
            clock.tick(worlds)
            if stops and any(result.failures):
                k, reason = next((k, text) for k, text in enumerate(result.failures) if text)
                raise _failed(path, worlds.start + k, reason)
        failed = file.failures()
    _warn(path, texts, failed, len(next(iter(values.values()))))
    return failed


def _source(
    scene: str | PathLike[str] | Scene, overrides: Mapping[str, Any] | None
) -> tuple[str | PathLike[str], dict[str, Any]]:
    """Return the file of a scene, and the keys that are changed in all worlds."""
    same = dict(checked_overrides(overrides or {}))
    if isinstance(scene, Scene):
        if not scene.spec.path.is_file():
            problem = "was not read from a file; save it, and pass the file"
            raise SimulationError("scene", problem)
        return scene.spec.path, {**scene.spec.overrides, **same}
    return scene, same


def _blocks(scene: Scene) -> list[tuple[str, str, str]]:
    return [(block.kind, block.name, block.type) for block in scene.spec.blocks]


def _first_scene(runner: PieceRunner, values: dict[str, Array]) -> Scene:
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
                return runner.load({key: column[k].item() for key, column in values.items()})
        except PysimError as error:
            first = first or error
    assert first is not None
    raise with_keys_as_given(first, values) from None


def _check_same(path: Path, description: dict[str, Any]) -> None:
    """Reject a file that holds another sweep."""
    found = described(path)
    for key, value in description.items():
        if found.get(key) != value:
            problem = f"holds a sweep with other {key}; choose another output, or overwrite it"
            raise SimulationError(str(path), problem)


def _check_same_results(
    path: Path,
    file: SweepFile,
    runner: PieceRunner,
    values: Mapping[str, Array],
    unfinished: Sequence[slice],
) -> None:
    """Reject a sweep to be continued whose first finished world has other results now.

    The description of a sweep has the text of the scene, but not those of the meshes, models and plugins that it names.
    """
    missing = {piece.start for piece in unfinished}
    finished = [k for k in range(0, file.worlds, file.size) if k not in missing]
    if not unfinished or not finished:
        return
    k = finished[0]
    now = runner.run({key: column[k : k + 1] for key, column in values.items()}, k)
    if not np.array_equal(now.summary[0], file.summary(k), equal_nan=True):
        problem = (
            f"world {k} has other results now, because a file that the scene names or the version of pysim has "
            "changed; choose another output, or overwrite it"
        )
        raise SimulationError(str(path), problem)


def _computed(
    runner: PieceRunner,
    values: Mapping[str, Array],
    pieces: Sequence[slice],
    scheduler: str | Client | None,
) -> Iterator[tuple[slice, PieceResult]]:
    """Yield the worlds and results of pieces, computed here or on a cluster."""
    if scheduler is None or not pieces:
        yield from _on_one_machine(runner, values, pieces)
        return
    from pysim.sweeps.cluster import connected, run_on_cluster  # noqa: PLC0415, an optional package

    with connected(scheduler) as client:
        yield from run_on_cluster(client, runner, values, pieces)


def _on_one_machine(
    runner: PieceRunner, values: Mapping[str, Array], pieces: Sequence[slice]
) -> Iterator[tuple[slice, PieceResult]]:
    """Yield the worlds and results of pieces, one after the other."""
    for worlds in pieces:
        columns = {key: column[worlds] for key, column in values.items()}
        yield worlds, runner.run(columns, worlds.start)


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


def _failed(path: Path, world: int, reason: str) -> SimulationError:
    """Return the error of a world that ends the sweep."""
    return failed_world(f"{path}", world, f"{reason}; the dataset has the pieces finished so far")


def _warn(path: Path, texts: list[str], failed: list[tuple[int, str]], worlds: int) -> None:
    """Warn once of all warnings and failures of the worlds."""
    if failed:
        world, why = failed[0]
        text = f"{path}: {len(failed)} of {worlds} worlds ended early or could not be loaded, world {world}: {why}"
        warnings.warn(text, PysimWarning, stacklevel=5)
    elif texts:
        text = f"{path}: {len(texts)} warnings of worlds, the first: {texts[0]}"
        warnings.warn(text, PysimWarning, stacklevel=5)
