"""Commands of the actuators of model files as inputs of a scene: `ctrl`, or `NAME.ctrl` where several models have some.

A file's actuators follow constants, which a scene replaces by numbers or signals. What is left of them becomes an
input, in the file's order and with the constants as its start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pysim.scene.actuator_commands import COMMANDS
from pysim.scene.spec import BlockSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.scene.spec import ForceSpec, SceneSpec

INPUT = "ctrl"


@dataclass(frozen=True)
class ControlPlace:
    """Component of an input that has taken the place of a constant."""

    input: str
    index: int


def with_control_inputs(spec: SceneSpec) -> tuple[SceneSpec, dict[str, ControlPlace]]:
    """Return the scene with inputs for the commands of its model files, and where each constant has gone.

    A scene that has a block of the input's name already is returned as it is, with the places of the commands if that
    is such an input.
    """
    known = {
        name: ControlPlace(block.name, k)
        for block in spec.blocks
        for k, name in enumerate(block.commands)
    }
    if known:
        return spec, known
    models: dict[str, list[BlockSpec]] = {}
    for block in spec.blocks:
        if block.command_of is not None:
            models.setdefault(block.command_of, []).append(block)
    names = {model: INPUT if len(models) == 1 else f"{model}.{INPUT}" for model in models}
    taken = {block.name for block in spec.blocks}
    if not models or taken & set(names.values()):
        return spec, {}
    places = {
        block.name: ControlPlace(names[model], k)
        for model, blocks in models.items()
        for k, block in enumerate(blocks)
    }
    inputs = [
        BlockSpec(
            "signal",
            names[model],
            "input",
            size=len(blocks),
            parameters={
                "size": len(blocks),
                "value": tuple(float(block.parameters["value"]) for block in blocks),
            },
            where=blocks[0].where,
            commands=tuple(block.name for block in blocks),
        )
        for model, blocks in models.items()
    ]
    sizes = {names[model]: len(blocks) for model, blocks in models.items()}
    follows = {
        name: at.input if sizes[at.input] == 1 else f"{at.input}[{at.index}]"
        for name, at in places.items()
    }
    blocks = tuple(
        replace(block, inputs=tuple(follows.get(name, name) for name in block.inputs))
        for block in spec.blocks
        if block.name not in places
    )
    forces = tuple(_following(force, follows) for force in spec.model.forces)
    model_spec = replace(spec.model, forces=forces)
    return replace(spec, model=model_spec, blocks=(*inputs, *blocks)), places


def _following(force: ForceSpec, follows: Mapping[str, str]) -> ForceSpec:
    """Return a force whose command is the component of an input, if it was a constant's."""
    parameters = dict(force.parameters)
    for key in COMMANDS:
        command = parameters.get(key)
        if isinstance(command, str) and command in follows:
            parameters[key] = type(command)(follows[command])
    return force if parameters == force.parameters else replace(force, parameters=parameters)
