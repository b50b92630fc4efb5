"""Reader of fields: shape plugins by their type and keys, and grids of heights, as shapes of grounds and bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.elements.library.sources import csv_columns
from pysim.errors import PysimError
from pysim.meshes.field_surface import distance_shape, height_shape
from pysim.scene.toml.plugin_keys import built_plugin, values_of
from pysim.scene.toml.records.contact_tables import GroundRoad
from pysim.shapes import HeightField, Shape, SignedDistance, find_shape
from pysim.shapes.height_field import IMAGE, SUFFIXES, read_heights
from pysim.shapes.road import iso_8608_profile, road_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.contact_tables import GroundHeights
    from pysim.scene.toml.source import Steps

_TERRAINS: dict[tuple[Any, ...], Shape] = {}  # of files as they were
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
    made = built_plugin(plugin, keys, path, problems)
    if made is None:
        return None
    known = (plugin, repr(list(values_of(made).values())), moves)
    if known not in _SHAPES:
        try:
            _SHAPES[known] = distance_shape(made, moves=moves)
        except PysimError as error:
            problems.add(path, str(error))
            return None
    return _SHAPES[known]


def read_height_field(table: GroundHeights, path: Steps, problems: Problems) -> Shape | None:
    """Return the shape of a table of heights, None if there is a problem with it."""
    at = (*path, "file")
    file = problems.source.folder(at) / table.file
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        problems.add(at, f"must be a {', '.join(SUFFIXES)} file, got {table.file!r}")
        return None
    if (suffix == IMAGE) != (table.height is not None):
        if suffix == IMAGE:
            problems.add(path, "needs the height of white [m] for an image: height = …")
        else:
            problems.add((*path, "height"), f"is for an image; a {suffix} file is in metres")
        return None
    if not file.is_file():
        problems.add(at, f"there is no file {str(file)!r}; paths are relative to the scene")
        return None
    stat = file.stat()
    size = table.size[0], table.size[1]
    known = (file, stat.st_mtime_ns, stat.st_size, size, table.height)
    if known not in _TERRAINS:
        try:
            heights = read_heights(file, table.height)
        except PysimError as error:
            problems.add(at, str(error))
            return None
        keys: dict[str, Any] = {"file": file, "size": list(size)}
        if table.height is not None:
            keys["height"] = table.height
        source = {"height_field": keys}
        _TERRAINS[known] = height_shape(HeightField(heights, size, source))
    return _TERRAINS[known]


def read_road(table: GroundRoad, path: Steps, problems: Problems) -> Shape | None:
    """Return the shape of a road, None if there is a problem with it."""
    keys = table.model_dump(exclude_none=True)
    at: Steps = path
    try:
        if table.roughness is not None:
            places, heights = iso_8608_profile(
                table.roughness, table.length or 0.0, table.spacing or 0.05, table.seed or 0
            )
        elif table.file is not None:
            at = (*path, "file")
            keys["file"] = problems.source.folder(at) / table.file
            places, heights = csv_columns(str(keys["file"]), "x", "z")
        else:
            at = (*path, "profile")
            places, heights = np.array(table.profile, float).reshape(-1, 2).T
        spacing = None if table.roughness is not None else table.spacing
        road = road_of(places, heights, table.width, spacing)
    except PysimError as error:
        if error.where == "profile":
            problems.add(at, error.problem)
        elif error.where in GroundRoad.model_fields:
            problems.add((*path, error.where), error.problem)
        else:  # a place in the file
            problems.add(at, str(error))
        return None
    return height_shape(replace(road, source={"road": keys}))
