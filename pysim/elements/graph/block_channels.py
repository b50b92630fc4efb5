"""Inputs, outputs, states and memory that a block declares, and the signals that it reads."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pysim.errors import SceneError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.elements.block import Block
    from pysim.elements.channels import Channel
    from pysim.elements.graph_types import GraphBlock

TIME_DERIVATIVES = ("rate", "acceleration")  # outputs of every source besides its value


def output_method(block: GraphBlock) -> str:
    """Return the method that computes the outputs of a block."""
    return "measure" if block.kind == "sensor" else "output"


def argument_names(plugin: Any, method: str) -> list[str]:
    """Return the arguments of a method that it has to be given."""
    return [
        name
        for name, parameter in inspect.signature(getattr(plugin, method)).parameters.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]


def states_of(plugin: Any) -> list[Channel]:
    """Return the states of a plugin."""
    return list(getattr(plugin, "states", ()) or ())


def memory_of(plugin: Any) -> list[Channel]:
    """Return the memory of a plugin, which changes at instants."""
    return list(getattr(plugin, "memory", ()) or ())


def kept_by(plugin: Any) -> list[Channel]:
    """Return the states and the memory of a plugin."""
    return [*states_of(plugin), *memory_of(plugin)]


def output_of(plugin: Block, name: str) -> Channel:
    """Return the output of a name."""
    return next(channel for channel in plugin.output_channels() if channel.name == name)


def connected(block: GraphBlock) -> Iterator[tuple[Channel, str]]:
    """Yield the inputs of a block with the signals that they read; the last may read many."""
    declared = list(block.plugin.input_channels())
    for k, name in enumerate(block.inputs):
        if k < len(declared) or (declared and declared[-1].many):
            yield declared[min(k, len(declared) - 1)], name


def readable_names(block: GraphBlock) -> set[str]:
    """Return what is read of a block under a name of its own: outputs, states, derivatives of sources."""
    names = {channel.name for channel in (*block.plugin.output_channels(), *kept_by(block.plugin))}
    return names | set(TIME_DERIVATIVES if block.kind == "signal" else ())


def check_inputs(block: GraphBlock) -> None:
    """Reject a block that does not name one signal for each of its inputs.

    Raises:
        SceneError: it names more or fewer.
    """
    declared = list(block.plugin.input_channels())
    names, count = [channel.name for channel in declared], len(block.inputs)
    takes_many = bool(declared) and declared[-1].many
    if count == len(names) or (takes_many and count > len(names)):
        return
    given = "1 signal" if count == 1 else f"{count} signals"
    if not names:
        raise SceneError(block.where, f"{block.label}: has no inputs, got {given}; remove inputs")
    problem = f"{block.label}: has the inputs {', '.join(names)}, got {given}"
    remedy = "name one signal or more" if takes_many else "name one signal for each"
    raise SceneError(block.where, f"{problem}; {remedy}")


def count_text(count: int) -> str:
    """Return "1 number" or "N numbers", for messages."""
    return "1 number" if count == 1 else f"{count} numbers"


def check_count(block: GraphBlock, what: str, count: int, most: int) -> None:
    """Reject more numbers of a block than memory is taken for.

    Raises:
        SceneError: there are more than `most`.
    """
    if count > most:
        problem = f"{block.label}: {what} {count} numbers, at most {most} are allowed"
        raise SceneError(block.where, f"{problem}; take fewer signals, or shorter ones")
