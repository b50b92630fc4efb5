"""Reader of actuators without a type: forces that a scene prescribes, or that callers do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pysim.joints import find_joint
from pysim.scene.spec import ActuatorSpec
from pysim.scene.toml.coordinates import place_of

if TYPE_CHECKING:
    from pysim.scene.attachment import Parts
    from pysim.scene.spec import ModelSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import Actuator, Scene
    from pysim.scene.toml.source import Steps


def read_actuators(
    scene: Scene, model: ModelSpec, parts: Parts, problems: Problems
) -> tuple[ActuatorSpec, ...]:
    """Return the prescribed forces of a scene and of the files that it attaches."""
    actuators = (
        _read_actuator(table, ("actuator", k), model, problems)
        for k, table in enumerate(scene.actuator)
        if table.type is None
    )
    return (*actuators, *parts.actuators)


def _read_actuator(
    table: Actuator, path: Steps, model: ModelSpec, problems: Problems
) -> ActuatorSpec:
    """Return the specification of an actuator table; problems are added to `problems`."""
    assert table.joint is not None  # as its table requires
    joint = next(joint for joint in model.joints if joint.name == table.joint)
    name, at = table.name or table.joint, None
    if joint.mimic is not None:
        problem = f"joint {joint.name!r} follows {joint.mimic.joint!r}; drive that joint"
        problems.add((*path, "joint"), problem)
    else:
        kind = find_joint(joint.type)
        if kind.nv == 0:
            problem = f"joint {joint.name!r} is fixed; there is nothing to drive"
            problems.add((*path, "joint"), problem)
        else:
            at = place_of(table.coordinate, kind.v_names, kind.name, path, problems)
        if at is not None and kind.nv > 1 and table.name is None:
            name = f"{table.joint}.{kind.v_names[at]}"
    own = {"name": name, "coordinate": at or 0, "where": problems.source.where(path)}
    return ActuatorSpec(**{**table.spec_fields(ActuatorSpec), **own})
