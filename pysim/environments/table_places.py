"""Places of the keys of `[environment]` in the file of a scene, for errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.errors import SimulationError

if TYPE_CHECKING:
    from pysim.scene.toml.problems import Problems


class TablePlaces:
    """Places of the keys of `[environment]` in its file, for errors.

    Args:
        problems: of the file.
    """

    def __init__(self, problems: Problems) -> None:
        self._source = problems.source

    def where(self, *keys: str | int) -> str:
        """Return the place of a key."""
        return self._source.where(("environment", *keys))

    def error(self, keys: tuple[str | int, ...], problem: str) -> SimulationError:
        """Return the error of a key's value."""
        return SimulationError(self.where(*keys), problem)
