"""Paths that depend on coordinates which are held: their moving points stay, and conditional ones count or do not."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pysim.scene.spec import BlockSpec, ForceSpec, PathPart


def with_held_path(force: ForceSpec, held: Mapping[str, float]) -> ForceSpec:
    """Return a force whose path depends on no held coordinate; they are by name [m or rad]."""
    return replace(force, path=tuple(_parts(force.path, held))) if force.path else force


def with_held_points(block: BlockSpec, held: Mapping[str, float]) -> BlockSpec:
    """Return a block whose path depends on no held coordinate."""
    return replace(block, points=tuple(_parts(block.points, held))) if block.points else block


def _parts(path: Sequence[PathPart], held: Mapping[str, float]) -> Iterator[PathPart]:
    for part in path:
        yield from _held(part, held)


def _held(part: PathPart, held: Mapping[str, float]) -> Iterator[PathPart]:
    """Yield a part of a path, nothing in place of a point that does not count."""
    stays = tuple(move for move in part.moves if move.coordinate in held)
    if stays:
        at = part.at.copy()
        at[:3, 3] = replace(part, moves=stays).place(held)
        moves = tuple(move for move in part.moves if move.coordinate not in held)
        part = replace(part, at=at, moves=moves)
    if part.kind != "conditional" or part.coordinate not in held:
        yield part
    elif part.above <= held[part.coordinate] <= part.below:
        yield replace(part, kind="point", coordinate="", above=-inf, below=inf)
