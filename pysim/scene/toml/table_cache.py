"""Cache of parsed tables and imported files, shared by the worlds of one scene file: what is equal is read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pysim.scene.importer import ImportOptions
    from pysim.scene.spec import ModelSpec
    from pysim.scene.toml.records.table import Table
    from pysim.scene.toml.source import Steps

T = TypeVar("T", bound="Table")
Result = TypeVar("Result")


@dataclass
class TableCache:
    """Bodies, joints and models of one file by their path, with the tables from which they were read.

    Attributes:
        imported: mechanisms in files of other programs, by the file and the options for reading it.
    """

    imported: dict[tuple[Path, ImportOptions], ModelSpec] = field(default_factory=dict)
    _known: dict[Steps, tuple[Table, object, Any]] = field(default_factory=dict)

    def copy(self) -> TableCache:
        """Return a cache of the same tables, to which others are added without this one."""
        return TableCache(dict(self.imported), dict(self._known))

    def read(
        self,
        reader: Callable[[T, Steps], Result],
        tables: Sequence[T],
        name: str,
        around: object = None,
    ) -> list[Result]:
        """Read the tables of a name; the reader's result may depend only on the table and on `around`."""
        return [self._read(reader, table, (name, k), around) for k, table in enumerate(tables)]

    def _read(
        self, reader: Callable[[T, Steps], Result], table: T, path: Steps, around: object
    ) -> Result:
        known = self._known.get(path)
        if known is None or known[:2] != (table, around):
            known = self._known[path] = (table, around, reader(table, path))
        result: Result = known[2]
        return result
