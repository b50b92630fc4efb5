"""Steps that Python makes in the records of worlds: of integrator plugins, and of mechanisms with callback joints.

The loop is that of all worlds (cpp/stepping/world_advance.hpp), which calls here for every step; clocks, outputs,
inputs and the instants of sampled blocks are its own. What a scheme remembers from step to step are the attributes of
its object. Every world has one.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import SimulationError
from pysim.worlds.python_stepping import (
    ModelSystem,
    make_step,
    scheme_of,
)
from pysim.worlds.scheme_memory import NO_MEMORY, attributes_of, copied_memory, memory_of
from pysim.worlds.signal_runs import SignalRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pysim import _engine
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


class PythonSteps:
    """Steps of the worlds of a scene, whose engine's worlds call this object.

    Args:
        scene: whose scheme or joints are computed in Python.
        count: of worlds.

    Raises:
        SimulationError: the scheme is the engine's alone, or the scene has states of elements.
    """

    def __init__(self, scene: Scene, count: int) -> None:
        _check_states(scene)
        self._scene = scene
        self.schemes = [scheme_of(scene) for _ in range(count)]
        self.errors: dict[int, Exception] = {}  # of worlds in which the code of a plugin failed
        self._raised: Exception | None = None  # the last of them that was not yet raised
        # what schemes of worlds remembered at a start of a step
        self._held: dict[int, dict[str, Any]] = {}
        self._q = self._v = self._loop_q = self._signals = np.zeros((count, 0))
        self._systems: list[ModelSystem] = []

    def attach(self, parts: Mapping[str, Any]) -> None:
        """Step the arrays of records."""
        self._q, self._v, self._loop_q = parts["q"], parts["v"], parts["loop_q"]
        self._signals = parts["signals"]
        self._systems = [self._system(k) for k in range(len(self.schemes))]

    def _system(self, k: int) -> ModelSystem:
        scene = self._scene
        signals = None if scene.signals is None else SignalRun(scene, self._signals[k])
        return ModelSystem(scene.model, scene.actuation, self._loop_q[k], signals, scene.contacts)

    def __call__(self, world: int, t: float, h: float) -> bool:
        """Make a step of length h [s] from t [s] in a world; return whether its state is good."""
        q, v = self._q[world], self._v[world]
        try:
            found = make_step(self.schemes[world], self._systems[world], t, h, q, v)
        except Exception as error:  # noqa: BLE001, raised when the loop has left the world whole
            self.errors[world] = self._raised = error
            return False
        if found is None:
            return False
        q[:], v[:] = found
        return True

    def raise_error(self) -> None:
        """Raise the error of a plugin's code in the last call of the engine, if there is one."""
        error, self._raised = self._raised, None
        if error is not None:
            raise error

    def set_actuation(self, actuation: _engine.Actuation) -> None:
        """Let other prescribed forces act from now on."""
        self._systems = [replace(system, actuation=actuation) for system in self._systems]

    def set_model(self, model: Model) -> None:
        """Step by another model from now on."""
        self._scene = replace(self._scene, model=model)
        self._systems = [self._system(k) for k in range(len(self.schemes))]

    # --------------------------------------------------------------------------------- what schemes remember

    def begin(self, worlds: NDArray[Any]) -> None:
        """Let the schemes of worlds begin."""
        for k in worlds.tolist():
            self.schemes[k] = scheme_of(self._scene)
            self.errors.pop(k, None)

    def copy(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Copy what the schemes of worlds remember to those of other worlds."""
        memories = [copied_memory(self.schemes[k]) for k in source.tolist()]
        for k, memory in zip(target.tolist(), memories, strict=True):
            self._remember(k, memory)

    def hold(self, world: int, /) -> None:
        """Note what the scheme of a world remembers, for `put_back`.

        Raises:
            JointError: an attribute cannot be copied.
        """
        self._held[world] = copied_memory(self.schemes[world])

    def put_back(self, world: int, /) -> None:
        """Put the scheme of a world back into the state that `hold` has noted."""
        self._remember(world, deepcopy(self._held[world]))

    def _remember(self, k: int, memory: dict[str, Any]) -> None:
        vars(self.schemes[k]).clear()
        vars(self.schemes[k]).update(memory)

    def memories(self, worlds: NDArray[Any]) -> list[str]:
        """Return what the schemes of worlds remember, as texts.

        Raises:
            TypeError: an attribute of another kind than files hold; the text names it.
        """
        return [memory_of(self.schemes[k]) for k in worlds.tolist()]

    def saved(self, worlds: NDArray[Any]) -> bytes:
        """Return what the schemes of worlds remember.

        Raises:
            TypeError: an attribute of another kind than files hold; the text names it.
        """
        return json.dumps(self.memories(worlds)).encode()

    def read(self, saved: bytes, worlds: NDArray[Any]) -> dict[int, dict[str, Any]]:
        """Return what the schemes of worlds remember by what `saved` returned, for `load`.

        Raises:
            ValueError: it is something else.
        """
        try:
            texts = list(json.loads(saved))
        except NO_MEMORY as error:
            raise ValueError("the memory of their schemes cannot be read") from error
        if len(texts) != len(worlds):
            raise ValueError(
                f"they hold the memory of {len(texts)} schemes for {len(worlds)} worlds"
            )
        return {
            k: attributes_of(text, self.schemes[k])
            for k, text in zip(worlds.tolist(), texts, strict=True)
        }

    def load(self, memories: dict[int, dict[str, Any]]) -> None:
        """Put the schemes of worlds into the states that `read` returned."""
        for k, memory in memories.items():
            vars(self.schemes[k]).update(memory)
            self.errors.pop(k, None)


def _check_states(scene: Scene) -> None:
    """Reject states of elements under a scheme that runs in Python, which does not carry them."""
    if scene.signals is None or not scene.signals.state_names:
        return
    name = scene.signals.state_names[0]
    problem = f"integrator {scene.settings.integrator!r} runs in Python, without states of elements such as {name!r}"
    raise SimulationError(
        str(scene.spec.path), f"{problem}; choose one of the engine's, such as rk4"
    )
