"""A piece of a sweep: some worlds that are loaded, run and summarised together, here or on a worker."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pysim.diagnosis.scene_warnings import warn_of_start, warn_of_worlds
from pysim.errors import ModelError, PysimError, PysimWarning
from pysim.rollouts.rollout import rollout
from pysim.scene_files.many_scenes import load_each
from pysim.simulation import load_scene
from pysim.sweeps.signal_statistics import STATISTICS, evaluate, statistics, to_record
from pysim.typing import Array
from pysim.worlds.failed_worlds import DROP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pysim.rollouts.result import Rollout
    from pysim.worlds.loading import Scene


@dataclass(frozen=True)
class PieceResult:
    """Results of a piece's worlds."""

    summary: Array  # (worlds, signals, statistics)
    series: Array  # (worlds, records, times)
    failures: list[str]
    warnings: list[str]


class SceneChange(Protocol):
    """Makes what runs in place of a world's scene, such as the scene in which a policy acts; it is pickled."""

    def __call__(self, scene: Scene, *, overrides: Mapping[str, Any]) -> Scene: ...


@dataclass(frozen=True)
class PieceRunner:
    """Everything that the pieces of a sweep have in common; it can be pickled."""

    scene: str
    overrides: Mapping[str, Any]
    signals: list[str]
    records: list[str]
    threads: int
    allow_code: bool
    change: SceneChange | None = None

    def run(self, values: Mapping[str, Array], first: int = 0) -> PieceResult:
        """Run the worlds with these values of the parameters, (worlds,) each; the number of the first is given."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PysimWarning)
            summary, series, failures = self._run(values, first)
        texts = [str(w.message) for w in caught if issubclass(w.category, PysimWarning)]
        return PieceResult(summary, series, failures, texts)

    def _run(self, values: Mapping[str, Array], first: int) -> tuple[Array, Array, list[str]]:
        scenes, failures = self._load(values)
        runs: dict[int, tuple[Scene, Array, Array, dict[str, Array]]] = {}
        loaded = {k: scene for k, scene in enumerate(scenes) if scene is not None}
        for numbers, run in self._runs(loaded, first):
            for row, k in enumerate(numbers):
                recorded = {name: values[row] for name, values in run.signals.items()}
                runs[k] = loaded[k], run.q[row], run.v[row], recorded
                failures[k] = run.failures[row]
        rows = max((len(q) for _, q, _, _ in runs.values()), default=0)
        summary = np.full((len(scenes), len(self.signals), len(STATISTICS)), np.nan)
        series = np.full((len(scenes), len(self.records), rows), np.nan)
        at = [self.signals.index(name) for name in self.records]
        for k, (scene, q, v, recorded) in runs.items():
            signals = evaluate(scene.model, q, v, recorded, self.signals)
            summary[k] = statistics(signals)
            series[k] = signals[at]
        return summary, series, failures

    def _load(self, values: Mapping[str, Array]) -> tuple[list[Scene | None], list[str]]:
        """Load the scenes of some worlds; None and a reason for one that cannot be loaded."""
        each = {key: column.tolist() for key, column in values.items()}
        worlds = [dict(zip(each, row, strict=True)) for row in zip(*each.values(), strict=True)]
        all_keys = [{**self.overrides, **own} for own in worlds]
        scenes: list[Scene | None] = []
        failures = []
        for scene, own in zip(
            load_each(self.scene, all_keys, self.allow_code), worlds, strict=True
        ):
            try:
                if isinstance(scene, PysimError):
                    raise scene
                scenes.append(self.changed(scene, own))
                failures.append("")
            except PysimError as error:
                scenes.append(None)
                failures.append(_first_line(with_keys_as_given(error, each)))
        warn_of_worlds([scene for scene in scenes if scene is not None], warn_of_start)
        return scenes, failures

    def load(self, own: Mapping[str, Any]) -> Scene:
        """Load the scene of a world with these values of the parameters."""
        scene = load_scene(self.scene, {**self.overrides, **own}, self.allow_code)
        return self.changed(scene, own)

    def changed(self, scene: Scene, own: Mapping[str, Any]) -> Scene:
        """Return what runs in place of the scene of a world."""
        return self.change(scene, overrides={**self.overrides, **own}) if self.change else scene

    def _runs(self, scenes: dict[int, Scene], first: int) -> list[tuple[list[int], Rollout]]:
        """Run scenes together, or each alone if they differ in structure."""
        numbers = list(scenes)
        if not numbers:
            return []
        signals = to_record(scenes[numbers[0]], self.signals)

        def run(some: list[int], threads: int) -> tuple[list[int], Rollout]:
            worlds = [first + k for k in some]
            each = [scenes[k] for k in some]
            # a piece is finished and written, whatever follows
            run = rollout(each, threads=threads, worlds=worlds, signals=signals, on_failure=DROP)
            return some, run

        try:
            return [run(numbers, self.threads)]
        except ModelError:
            return [run([k], 1) for k in numbers]


def with_keys_as_given(error: PysimError, keys: Iterable[str]) -> PysimError:
    """Return an error that names parameters of a sweep as they are given, without the option of a single run."""
    where, problem = error.where, error.problem
    for key in keys:
        where = where.replace(f"--set {key}", key)
        problem = problem.replace(f"--set {key}", key)
    return type(error)(where, problem)


def _first_line(error: PysimError) -> str:
    """Return the first of the errors of a file, with the number of the others."""
    first, *others = str(error).splitlines()
    return f"{first} (and {len(others)} more)" if others else first
