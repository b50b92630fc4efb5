"""Reader of field tables: a shape plugin by its type and keys, as a shape of a ground or a body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pysim.errors import JointError, PysimError
from pysim.plugins.fields import build, fields_of
from pysim.shapes import Shape, SignedDistance, find_shape
from pysim.shapes.signed_distance import Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.source import Steps

_SHAPES: dict[tuple[type[SignedDistance], str, bool], Shape] = {}  # of plugins with their keys


def read_field(
    table: Mapping[str, Any], path: Steps, problems: Problems, *, moves: bool = False
) -> Shape | None:
    """Return the shape of a field table, None if there is a problem with it.

    Args:
        table: type and keys of the plugin.
        path: of the table.
        problems: receives what is wrong.
        moves: whether the field is on a body, so that its solid must lie within its bounds.
    """
    kind = table.get("type")
    if not isinstance(kind, str):
        problems.add(path, 'needs the type of a shape plugin: { type = "…" }')
        return None
    try:
        plugin: Any = find_shape(kind)
    except PysimError as error:
        problems.add((*path, "type"), error.problem)
        return None
    keys = {name: value for name, value in table.items() if name != "type"}
    try:
        made = build(plugin, keys, "")
    except JointError as error:
        name = error.where.removeprefix(".")
        problems.add((*path, name) if name in keys else path, error.problem)
        return None
    except PysimError as error:  # the plugin's own check of its fields
        problems.add(path, f"{error.where}: {error.problem}")
        return None
    known = (plugin, repr([getattr(made, name) for name in fields_of(plugin)]), moves)
    if known not in _SHAPES:
        try:
            _SHAPES[known] = _shape(made, moves=moves)
        except PysimError as error:
            problems.add(path, str(error))
            return None
    return _SHAPES[known]


def _shape(plugin: SignedDistance, *, moves: bool) -> Shape:
    from pysim.meshes.field_surface import surface_file  # noqa: PLC0415, only where a field is named

    field = Field(plugin)
    field.check(moves=moves)
    return Shape("field", (), surface_file(field), field=field)
