"""Sequences of records that are kept as columns of numbers; a record is made where it is read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

Record = TypeVar("Record")


class Columns(Sequence[Record]):
    """Base class of dataclasses some of whose fields are arrays with a number for each record.

    Attributes:
        columns: names of these fields.
    """

    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def row(self, index: int) -> Record:
        """Return the record at an index."""

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the records, by indices or as a mask (n,)."""
        own: Any = self
        return replace(own, **{name: getattr(self, name)[rows] for name in self.columns})  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(getattr(self, self.columns[0]))

    @overload
    def __getitem__(self, index: int) -> Record: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Record | Self:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        return self.row(index)
