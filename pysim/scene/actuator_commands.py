"""Commands of the actuators in an imported mechanism: constants, which a scene replaces by numbers or signals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pysim.elements.block import signal_fields_of
from pysim.elements.force import depends_on_signals, find_force

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.scene.attachment import Parts
    from pysim.scene.spec import BlockSpec, ForceSpec, KeyframeSpec

CONSTANT = "constant"
COMMANDS = ("command", "excitation")  # fields of forces that follow one


def followed(parts: Parts) -> dict[str, str]:
    """Return the signal that each actuator follows, by the name of the actuator."""
    found = {
        block.name: block.inputs[0]
        for block in parts.blocks
        if block.kind == "actuator" and block.inputs
    }
    return found | {force.name: force.parameters[key] for force, key in _commanded(parts)}


def _commanded(parts: Parts) -> Iterator[tuple[ForceSpec, str]]:
    """Yield the forces that follow a command, with the field that names it."""
    for force in parts.forces:
        if not depends_on_signals(force.type, force.parameters):
            continue
        fields = signal_fields_of(find_force(force.type))
        key = next((key for key in COMMANDS if key in fields), None)
        if key is not None:
            yield force, key


def with_value(parts: Parts, signal: str, value: float) -> Parts | None:
    """Return the parts with another value of a constant; None if the signal is not a constant of theirs."""
    blocks = tuple(
        replace(block, parameters={"value": value}) if _is_constant(block, signal) else block
        for block in parts.blocks
    )
    changed = any(_is_constant(block, signal) for block in parts.blocks)
    return parts._replace(blocks=blocks) if changed else None


def _is_constant(block: BlockSpec, name: str) -> bool:
    return block.kind == "signal" and block.type == CONSTANT and block.name == name


def with_signal(parts: Parts, actuator: str, signal: str) -> Parts:
    """Return the parts with an actuator that follows another signal; a constant that nothing reads is left out."""
    before = followed(parts)[actuator]
    keys = {force.name: key for force, key in _commanded(parts)}
    parts = parts._replace(
        blocks=tuple(
            replace(block, inputs=(signal, *block.inputs[1:]))
            if block.kind == "actuator" and block.name == actuator
            else block
            for block in parts.blocks
        ),
        forces=tuple(
            replace(force, parameters={**force.parameters, keys[actuator]: signal})
            if force.name == actuator and actuator in keys
            else force
            for force in parts.forces
        ),
    )
    return _without_unread(parts, {before})


def without_actuators(parts: Parts) -> Parts:
    """Return the parts without actuators and the constants that only these read."""
    sources = set(followed(parts).values())
    gone = {force.name for force, _ in _commanded(parts)}
    parts = parts._replace(
        actuators=(),
        blocks=tuple(block for block in parts.blocks if block.kind != "actuator"),
        forces=tuple(force for force in parts.forces if force.name not in gone),
    )
    return _without_unread(parts, sources)


def _without_unread(parts: Parts, names: set[str]) -> Parts:
    """Return the parts without the constants of some names that nothing reads."""
    read = set(followed(parts).values())
    read |= {name for block in parts.blocks for name in block.inputs}
    unread = names - read
    return parts._replace(
        blocks=tuple(
            block
            for block in parts.blocks
            if block.name not in unread or not _is_constant(block, block.name)
        )
    )


def at_keyframe(blocks: tuple[BlockSpec, ...], keyframe: KeyframeSpec) -> tuple[BlockSpec, ...]:
    """Return blocks with the commands and activations of a keyframe."""
    return tuple(_started(block, keyframe) for block in blocks)


def _started(block: BlockSpec, keyframe: KeyframeSpec) -> BlockSpec:
    if block.kind == "signal" and block.name in keyframe.commands:
        return replace(block, parameters={"value": keyframe.commands[block.name]})
    if block.kind == "actuator" and block.name in keyframe.activations:
        start = {"initial_activation": keyframe.activations[block.name]}
        return replace(block, parameters={**block.parameters, **start})
    return block
