"""Reader of the `[sweep]` table alone, because the scene may need the values of its parameters to be complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from pysim.scene.toml.includes import read_with_includes
from pysim.scene.toml.overrides import apply_overrides
from pysim.scene.toml.problems import Problems
from pysim.scene.toml.tables import Scene

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pysim.scene.toml.sweep_table import Sweep

SWEEP = "sweep"


def read_toml_sweep(path: Path, overrides: Mapping[str, object]) -> Sweep:
    """Return the `[sweep]` table of a scene file with overrides; other tables are not checked.

    Raises:
        SceneError: the file cannot be read, or the table is invalid.
    """
    source = read_with_includes(path)
    own = {key: value for key, value in overrides.items() if key.split(".")[0] == SWEEP}
    source.overridden.update(apply_overrides(source.values, own))
    problems = Problems(source)
    try:
        return Scene.model_validate({SWEEP: source.values.get(SWEEP, {})}).sweep
    except ValidationError as error:
        problems.add_invalid(error, Scene)
        problems.check()
        raise
