"""Worlds of a rollout of scenes, and the groups of them that are stepped together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.errors import SimulationError
from pysim.typing import Array
from pysim.worlds.parameters.varied_numbers import alike
from pysim.worlds.parameters.world_parameters import WorldParameters
from pysim.worlds.saved_worlds import save_worlds
from pysim.worlds.world_records import WorldRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene

# before the lengths and bytes of groups that are stepped apart
_GROUPS = b"pysim groups of worlds\n"
_SIZE = 8  # bytes of a length


@dataclass(frozen=True)
class RolloutWorlds:
    """The worlds of a rollout, a row each."""

    scenes: list[Scene]  # one for all, or one for each
    q0: Array
    v0: Array
    loop_q: Array
    threads: int
    recorded: tuple[str, ...]  # names of signals
    contacts: bool  # recorded
    numbers: NDArray[np.intp]  # of the worlds
    start: float = 0.0  # [s]
    controls: Array | None = None  # (worlds, rows − 1, inputs) of the scene
    lost: NDArray[np.bool_] | None = None  # worlds that ended before a rollout that goes on

    @property
    def settings(self) -> Any:  # noqa: ANN401
        return self.scenes[0].settings

    @property
    def stops(self) -> bool:
        """Whether the first world that fails ends all of them."""
        return bool(self.settings.on_failure == "stop")

    def each(self) -> Iterator[tuple[slice, Scene]]:
        """Yield the worlds of each scene."""
        count = len(self.q0)
        for k, scene in enumerate(self.scenes):
            yield (slice(0, count) if len(self.scenes) == 1 else slice(k, k + 1)), scene

    def of(self, chosen: NDArray[np.intp]) -> RolloutWorlds:
        """Return some of the worlds, whose scenes differ."""
        names = ("q0", "v0", "loop_q", "numbers", "controls", "lost")
        rows: dict[str, Any] = {
            name: None if (x := getattr(self, name)) is None else x[chosen] for name in names
        }
        return replace(self, scenes=[self.scenes[k] for k in chosen], **rows)


class WorldGroup(NamedTuple):
    """Worlds that are stepped together."""

    worlds: NDArray[np.intp]  # their numbers
    records: WorldRecords


def grouped_worlds(worlds: RolloutWorlds) -> list[WorldGroup]:
    """Return the records of the worlds that are stepped together."""
    if len(worlds.scenes) == 1:
        count = len(worlds.q0)
        return [WorldGroup(np.arange(count), WorldRecords(worlds.scenes[0], count, worlds.numbers))]
    groups = []
    for chosen, numbers in alike(worlds.scenes):
        scenes = [worlds.scenes[k] for k in chosen]
        scene = scenes[0] if len(scenes) == 1 else scenes
        records = WorldRecords(scene, len(chosen), worlds.numbers[chosen], scene_numbers=numbers)
        groups.append(WorldGroup(chosen, records))
    return groups


def saved_groups(groups: list[WorldGroup]) -> bytes:
    """Return the state of worlds after a rollout, as `Worlds.save` does; several groups one after the other."""
    saved = []
    for _, records in groups:
        if records.parameters is None:
            records.parameters = WorldParameters(records, is_single=False)
        try:
            saved.append(save_worlds(records, records.chosen(None), live_controllers=True))
        except TypeError as error:
            scheme = records.scene.settings.integrator
            problem = f"cannot hold the attributes of scheme {scheme!r} of {records.count} worlds: {error}"
            remedy = "let the scheme keep numbers, texts, arrays, or lists of them"
            raise SimulationError("state", f"{problem}; {remedy}") from None
    if len(saved) == 1:
        return saved[0]
    return _GROUPS + b"".join(len(part).to_bytes(_SIZE, "little") + part for part in saved)


def groups_saved(state: bytes) -> list[bytes]:
    """Return the states of groups from what `saved_groups` returned."""
    if not state.startswith(_GROUPS):
        return [state]
    groups, at = [], len(_GROUPS)
    while at < len(state):
        size, at = int.from_bytes(state[at : at + _SIZE], "little"), at + _SIZE
        groups.append(state[at : at + size])
        at += size
    return groups
