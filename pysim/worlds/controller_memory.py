"""Memory of controllers in Python, as text: what their methods `state` and `restore` return and take."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysim.elements.block import CallbackController
from pysim.errors import JointError, PysimError, SimulationError
from pysim.tracing.author_code import author_error, method_place
from pysim.worlds.scheme_memory import NO_MEMORY, decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.elements.graph_types import CompiledSignals
    from pysim.worlds.loading import Scene


def with_own_controllers(scene: Scene) -> Scene:
    """Return a scene whose controllers in Python are new ones, which share no memory with others of the scene."""
    signals = scene.signals
    if signals is None or not signals.callbacks:
        return scene
    own = tuple(
        replace(callback, plugin=replace(callback.plugin)) for callback in signals.callbacks
    )
    return replace(scene, signals=replace(signals, callbacks=own))


def without_state(signals: CompiledSignals | None) -> str:
    """Return why the controllers of a scene cannot be saved; an empty text if they can, or if there are none."""
    for callback in () if signals is None else signals.callbacks:
        for method in ("state", "restore"):
            if getattr(type(callback.plugin), method) is getattr(CallbackController, method):
                return f"controller {callback.name!r} runs in Python without a method {method}"
    return ""


def saved_controllers(signals: CompiledSignals | None) -> str:
    """Return the states of the controllers of a scene.

    Raises:
        JointError: a method `state` raises, or returns what files do not hold.
    """
    states = {}
    for callback in () if signals is None else signals.callbacks:
        state = _call(callback.plugin, "state")
        try:
            states[callback.name] = encoded(state, "it")
        except TypeError as error:
            problem = f"returns what files do not hold: {error}"
            remedy = "return numbers, texts, arrays, or lists and dictionaries of them"
            place = method_place(callback.plugin, "state")
            raise JointError(place, f"{problem}; {remedy}") from error
    return json.dumps(states)


def restore_controllers(signals: CompiledSignals | None, saved: str, where: str) -> None:
    """Put the controllers of a scene back into the state that `saved_controllers` returned.

    Raises:
        SimulationError: `saved` is something else; the error begins with `where`.
        JointError: a method `restore` raises; the error names the author's line.
    """
    callbacks = () if signals is None else signals.callbacks
    try:
        texts = json.loads(saved)
        states = {callback.name: decoded(texts[callback.name]) for callback in callbacks}
    except NO_MEMORY:
        problem = "holds no states of the scene's controllers in Python"
        raise SimulationError(where, f"{problem}; save again") from None
    for callback in callbacks:
        _call(callback.plugin, "restore", states[callback.name])


def _call(plugin: CallbackController, name: str, *arguments: Any) -> Any:  # noqa: ANN401, the author's choice
    method: Callable[..., Any] = getattr(plugin, name)
    try:
        return method(*arguments)
    except PysimError:
        raise
    except Exception as error:
        raise author_error(error, method, f"{type(plugin).__qualname__}.{name}") from error
