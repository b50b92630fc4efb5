"""Numbers of the scene that differ from world to world and from episode to episode: `[[environment.randomise]]`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.environments.draws import LEAST_UNIFORM, Draws, distribution_or_number
from pysim.errors import SimulationError
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from pysim.scene.toml.records.environment_table import Randomise
    from pysim.worlds.parameters.world_parameters import WorldParameters

NUMBERS = 1 << 10  # use of the draws of the first table
WORDS = ("scale", "add", "value")


class Randomised:
    """The parameters of one table, and what is drawn for them.

    Args:
        own: the table.
        number: of the table.
        parameters: of the worlds, as in the scene.
        where: place of a key of the table in the file.
        schedule: number of that of draws in an episode.

    Raises:
        SimulationError: worlds cannot differ in the numbers, or their count is not that of the distributions.
    """

    def __init__(
        self,
        table: Randomise,
        number: int,
        parameters: WorldParameters,
        where: Callable[..., str],
        schedule: int,
    ) -> None:
        self._number, self.where, self.schedule = number, where("path"), schedule
        self.is_redrawn = table.at == "reset"
        self._word = next(word for word in WORDS if getattr(table, word) is not None)
        written = getattr(table, self._word)
        self.starts = {
            path: np.atleast_1d(np.array(parameters[path][0], float))
            for path in self._matched(table.path, parameters)
        }
        if self._word == "scale" and not any(
            (np.isfinite(start) & (start != 0)).any() for start in self.starts.values()
        ):
            path, start = next(iter(self.starts.items()))
            problem = f"changes nothing, for {path!r} is {start[0]:g}"
            raise SimulationError(where("scale"), f"{problem}; give add or value")
        texts = written if isinstance(written, list) else [written]
        drawn = []
        for path, start in self.starts.items():
            if len(texts) not in (len(start), 1) or (
                len(texts) < len(start) and self._word != "scale"
            ):
                problem = f"has {len(texts)} distributions, and {path!r} has {len(start)} numbers"
                raise SimulationError(where(self._word), f"{problem}; give one for each")
            drawn += [distribution_or_number(where(self._word), text) for text in texts]
        self._draws, self._per_path = Draws(drawn), len(texts)
        self._check(parameters)

    def _matched(self, pattern: str, parameters: WorldParameters) -> list[str]:
        """Return the paths that a path with * and ? stands for."""
        if pattern.endswith("]"):
            whole = pattern.rpartition("[")[0]
            remedy = f"name {whole!r} and give a list, with one for each number"
            raise SimulationError(self.where, f"{pattern!r} is one number of several; {remedy}")
        try:
            if "*" not in pattern and "?" not in pattern:
                parameters[pattern]
                return [pattern]
        except SimulationError as error:
            raise SimulationError(self.where, f"{error.where}: {error.problem}") from None
        found = [path for path in parameters if fnmatchcase(path, pattern)]
        if not found:
            problem = f"{pattern!r} matches no number in which worlds may differ"
            raise SimulationError(self.where, f"{problem}; list(worlds.parameters) has them")
        return found

    def _check(self, parameters: WorldParameters) -> None:
        """Give a world the ends of the distributions, and the numbers of the scene again."""
        world = np.zeros(1, np.intp)
        for u in (LEAST_UNIFORM, 1 - LEAST_UNIFORM):
            self._write(parameters, world, self._draws.quantiles(u))
            accept_drawn([self], parameters)
        for path, start in self.starts.items():
            parameters[path][0] = start if parameters[path].ndim > 1 else start[0]
        parameters.accept()

    def draw(
        self,
        parameters: WorldParameters,
        worlds: NDArray[np.integer[Any]],
        key: Array,
        index: ArrayLike,
    ) -> None:
        """Draw the numbers of worlds, by the keys of their episodes and their control steps."""
        drawn = self._draws.values(key, index, NUMBERS + self._number)
        self._write(parameters, worlds, drawn)

    def has(self, parameter: str) -> bool:
        """Return whether this table draws a parameter, whose name may be longer than its path here."""
        return any(f".{parameter}".endswith(f".{path}") for path in self.starts)

    def shared_with(self, other: Randomised) -> str | None:
        """Return a path that another table draws, too."""
        return next((own for own in self.starts if other.has(own)), None) or next(
            (own for own in other.starts if self.has(own)), None
        )

    def _write(
        self, parameters: WorldParameters, worlds: NDArray[np.integer[Any]], drawn: Array
    ) -> None:
        for k, (path, start) in enumerate(self.starts.items()):
            values = drawn[:, k * self._per_path : (k + 1) * self._per_path]
            if self._word == "scale":
                values = start * values
            elif self._word == "add":
                values = start + values
            own = parameters[path]
            own[worlds] = values.reshape(len(worlds), *own.shape[1:])


def accept_drawn(randomised: Sequence[Randomised], parameters: WorldParameters) -> None:
    """Let the numbers that tables have drawn be those of the worlds.

    Raises:
        SimulationError: a number was drawn that its key in the scene does not allow.
    """
    try:
        parameters.accept()
    except SimulationError as error:
        name = error.where.split(": ")[-1]
        where = next((own.where for own in randomised if own.has(name)), "environment.randomise")
        raise SimulationError(where, f"{error.where}: {error.problem}") from None
