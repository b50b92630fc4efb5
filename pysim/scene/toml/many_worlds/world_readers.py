"""Readers of the tables of a world that differs from the first one in numbers, and that has no problem.

A problem makes the world be read in full, so that it is reported as in any scene.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from pysim.scene.toml.bodies import BodyReader, theta_as_written
from pysim.scene.toml.constraints import ConstraintReader
from pysim.scene.toml.joints import JointReader
from pysim.scene.toml.many_worlds.world_numbers import UnlikeWorldError
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.source import Source
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pysim.scene.toml.reader import ReadScene
    from pysim.scene.toml.records.tables import Body
    from pysim.scene.toml.source import Step, Steps


@dataclass
class _NoProblems(Problems):
    """Problems of a world that must have none."""

    def add(
        self,
        path: Iterable[Step],  # noqa: ARG002
        problem: str,  # noqa: ARG002
        *,
        of_key: bool = False,  # noqa: ARG002
        offset: int | None = None,  # noqa: ARG002
    ) -> NoReturn:
        raise UnlikeWorldError


@dataclass(frozen=True)
class _LocatedSource(Source):
    """Source of worlds with the same overrides, in which a place has the same description in all of them."""

    _described: dict[tuple[Step, ...], str] = field(default_factory=dict, repr=False)

    def where(self, path: Iterable[Step], *, of_key: bool = False) -> str:
        steps = tuple(path)
        if of_key:
            return super().where(steps, of_key=of_key)
        if steps not in self._described:
            self._described[steps] = super().where(steps)
        return self._described[steps]


class _UncheckedBodies(BodyReader):
    """Reader of bodies whose physical consistency is left to be checked."""

    def _from_numbers(self, body: Body, path: Steps) -> Array:  # noqa: ARG002
        return theta_as_written(body)


@dataclass(frozen=True)
class WorldReaders:
    """Readers of tables with the names and places of the first world.

    They raise UnlikeWorldError where they find a problem; the consistency of bodies is left to be checked.
    """

    read: ReadScene

    @cached_property
    def problems(self) -> Problems:
        return _NoProblems(
            _LocatedSource(
                **{item.name: getattr(self.read.source, item.name) for item in fields(Source)}
            )
        )

    @cached_property
    def bodies(self) -> BodyReader:
        read = self.read
        return _UncheckedBodies(self.problems, read.package_dirs, read.tables.inertia)

    @cached_property
    def joints(self) -> JointReader:
        return JointReader(self.problems)

    @property
    def constraints(self) -> ConstraintReader:
        """A new reader, which has seen no name yet."""
        spec = self.read.spec.model
        return ConstraintReader(
            self.problems,
            self.joints,
            {joint.name: joint for joint in spec.joints},
            {frame.name: frame for frame in spec.frames},
        )
