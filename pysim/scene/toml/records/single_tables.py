"""Readers of single tables of a scene file; other tables are not checked.

A sweep may vary parameters without which the scene is not complete; an environment is read for learners alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from pysim.errors import SceneError
from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.number_texts import replace_texts
from pysim.scene.toml.overrides import apply_overrides
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.records.tables import Scene

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pysim.scene.toml.records.environment_table import Environment
    from pysim.scene.toml.records.optimise_table import Optimise
    from pysim.scene.toml.records.sweep_table import Sweep

SWEEP = "sweep"
OPTIMISE = "optimise"
ENVIRONMENT = "environment"
PARAMETERS = "parameters"


def read_toml_sweep(path: Path, overrides: Mapping[str, object]) -> Sweep:
    """Return the `[sweep]` table of a scene file with overrides.

    Raises:
        SceneError: the file cannot be read, or the table is invalid.
    """
    return _read_table(path, overrides, SWEEP)[0].sweep


def read_toml_optimise(path: Path, overrides: Mapping[str, object]) -> Optimise:
    """Return the `[optimise]` table of a scene file with overrides.

    Raises:
        SceneError: the file cannot be read, or the table is invalid.
    """
    return _read_table(path, overrides, OPTIMISE)[0].optimise


def read_toml_environment(
    path: Path, overrides: Mapping[str, object]
) -> tuple[Environment, Problems]:
    """Return the `[environment]` table of a scene file with overrides, and the collection of its problems.

    Raises:
        SceneError: the file cannot be read or has no such table, or the table is invalid.
    """
    scene, problems = _read_table(path, overrides, ENVIRONMENT)
    if scene.environment is None:
        remedy = "add one with period, duration, action and observations"
        raise SceneError(str(path), f"has no [environment] table; {remedy}")
    return scene.environment, problems


def has_toml_environment(path: Path, overrides: Mapping[str, object]) -> bool:
    """Return whether a scene file with overrides has an `[environment]` table."""
    source = read_with_includes(path)
    own = {key: value for key, value in overrides.items() if key.split(".")[0] == ENVIRONMENT}
    apply_overrides(source.values, own)
    return ENVIRONMENT in source.values


def _read_table(path: Path, overrides: Mapping[str, object], name: str) -> tuple[Scene, Problems]:
    """Return a scene that has the values of one table, with its units and expressions."""
    source = read_with_includes(path)
    used = (name, PARAMETERS) if name == ENVIRONMENT else (name,)
    own = {key: value for key, value in overrides.items() if key.split(".")[0] in used}
    source.overridden.update(apply_overrides(source.values, own))
    problems = Problems(source)
    values = {key: source.values[key] for key in used if key in source.values}
    if name == ENVIRONMENT:
        replace_texts(values, Scene, problems)
    try:
        return Scene.model_validate(values), problems
    except ValidationError as error:
        problems.add_invalid(error, Scene)
        problems.check()
        raise
