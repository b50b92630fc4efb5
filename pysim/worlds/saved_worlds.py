"""Saved worlds: the bytes of `Worlds.save`, of a rollout's state and of a checkpoint, which continue each other.

    format · CRC-32 · digest of the structure · number of worlds · lengths · settings, controllers, parameters · records

The records are those of the engine, with what schemes in Python remember (world_records.py).
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError, SimulationError
from pysim.worlds.controller_memory import (
    restore_controllers,
    saved_controllers,
    without_state,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pysim.worlds.loading import Scene
    from pysim.worlds.world_records import WorldRecords

FORMAT = b"pysim worlds 4\n"
# after FORMAT: CRC-32 of all that follows [bytes]
CHECKSUM = 4
# after it: a digest of the scene's structure, then LENGTHS numbers of SIZE bytes each, the number of worlds and the
# lengths of the settings, the controllers and the parameters, which precede the records
SIZE, LENGTHS = 8, 4
SAVE_AGAIN = "save again with this version of pysim"


def save_worlds(
    records: WorldRecords, worlds: NDArray[np.int32], *, live_controllers: bool = False
) -> bytes:
    """Return the bytes of worlds.

    Args:
        records: of all worlds.
        worlds: numbers of those to save.
        live_controllers: controllers in Python without methods `state` and `restore` are left out: they keep their
            memory themselves.

    Raises:
        SimulationError: a controller in Python has no such methods, or has the memory of more worlds.
        TypeError: a scheme in Python remembers what bytes do not hold; the text names it.
        JointError: the code of a controller's method `state` raises.
    """
    controllers = controllers_of(records, len(worlds), live=live_controllers)
    parameters = records.parameters.save(worlds) if records.parameters is not None else b""
    record = records.save(worlds)
    given = (_settings(records.scene), controllers, parameters)
    sizes = [len(worlds), *(len(part) for part in given)]
    lengths = b"".join(size.to_bytes(SIZE, "little") for size in sizes)
    parts = (_structure(records.scene), lengths, *given, record)
    return b"".join((FORMAT, _checksum(*parts), *parts))


def number_saved(saved: bytes) -> int:
    """Return the number of worlds in what `save_worlds` returned.

    Raises:
        SimulationError: it is something else, or damaged.
    """
    if not saved.startswith(FORMAT):
        raise SimulationError("saved", f"is not what Worlds.save returns; {SAVE_AGAIN}")
    begin = len(FORMAT) + CHECKSUM
    if _checksum(memoryview(saved)[begin:]) != saved[len(FORMAT) : begin]:
        raise SimulationError("saved", "is damaged: its checksum is another; take a whole copy")
    return _parts(saved, begin + SIZE)[0]


def load_worlds(
    records: WorldRecords,
    saved: bytes,
    worlds: NDArray[np.int32],
    *,
    live_controllers: bool = False,
) -> None:
    """Overwrite worlds by what `save_worlds` returned of worlds of the same scene, or leave all as they are.

    Raises:
        SimulationError: it is damaged, of another number of worlds, or of other worlds.
    """
    remedy = "load it into Worlds of the scene that it was saved from"
    number_saved(saved)  # which checks the format
    begin, scene = len(FORMAT) + CHECKSUM, records.scene
    if saved[begin : begin + SIZE] != _structure(scene):
        problem = "is of worlds whose scheme, bodies, joints, signals or contacts are others"
        raise SimulationError("saved", f"{problem}; {remedy}")
    count, (settings, controllers, parameters), record = _parts(saved, begin + SIZE)
    if other := _other_setting(settings, scene):
        raise SimulationError("saved", f"is of worlds with {other}; {remedy}")
    if count != len(worlds):
        problem = f"holds {count} worlds, and {len(worlds)} are to be loaded"
        raise SimulationError("saved", f"{problem}; choose as many by where")
    if controllers or not live_controllers:
        _require_all_worlds(records, count, "load")
    load_parts(
        records, (controllers, parameters, record), worlds, live_controllers=live_controllers
    )


def load_parts(
    records: WorldRecords,
    parts: tuple[bytes, bytes, bytes],
    worlds: NDArray[np.int32],
    *,
    live_controllers: bool = False,
) -> None:
    """Overwrite worlds by controllers, parameters and records, or leave all as they are.

    Raises:
        SimulationError: one of them is of other worlds.
    """
    controllers, numbers, record = parts
    signals, parameters, before = records.scene.signals, records.parameters, b""
    if parameters is not None:
        parameters.check(numbers, worlds)
        before = parameters.save(worlds)
    memory = b""
    if controllers or not live_controllers:
        memory = controllers_of(records, len(worlds), live=live_controllers)
    try:
        if parameters is not None:
            parameters.load(numbers, worlds)
        if memory:
            restore_controllers(signals, controllers.decode(errors="replace"), "saved")
        records.load(record, worlds)
    except (PysimError, ValueError) as error:
        if parameters is not None:
            parameters.load(before, worlds)
        if memory:
            restore_controllers(signals, memory.decode(), "saved")
        if isinstance(error, PysimError):
            raise
        problem = f"{error}; load what Worlds.save returned of worlds of this scene"
        raise SimulationError("saved", problem) from None


def controllers_of(records: WorldRecords, count: int, *, live: bool = False) -> bytes:
    """Return the states of controllers in Python, which have those of all worlds, as `save_worlds` does."""
    signals = records.scene.signals
    if signals is None or not signals.callbacks:
        return b""
    if reason := without_state(signals):
        if live:
            return b""
        remedy = "write methods state and restore, or a traced @controller"
        raise SimulationError("save", f"{reason}, and records do not hold its memory; {remedy}")
    _require_all_worlds(records, count, "save")
    return saved_controllers(signals).encode()


def _require_all_worlds(records: WorldRecords, count: int, name: str) -> None:
    """Raise SimulationError for some of the worlds of a controller in Python, which has the memory of all."""
    signals = records.scene.signals
    if signals is not None and signals.callbacks and count != records.count:
        problem = f"controller {signals.callbacks[0].name!r} runs in Python for all worlds at once"
        raise SimulationError(name, f"{problem}; leave where out")


def _structure(scene: Scene) -> bytes:
    """Return a digest of what records of worlds have in common, by name: two scenes may have as many numbers."""
    spec, signals, contacts = scene.model.spec, scene.signals, scene.contacts
    names = (
        [body.name for body in spec.bodies],
        [(joint.name, joint.type, joint.parent, joint.child) for joint in spec.joints],
        [] if signals is None else [own.name for own in signals.inputs],
        [] if signals is None else [own.name for own in signals.recorded],
        [] if contacts is None else [pair.name for pair in contacts.pairs],
        *([event.name for event in scene.spec.events],) * bool(scene.spec.events),
    )
    return hashlib.sha256(repr(names).encode()).digest()[:SIZE]


def _settings(scene: Scene) -> bytes:
    """Return the settings on which steps of worlds depend, by the names of their keys, as JSON."""
    settings, signals = scene.settings, scene.signals
    values: dict[str, Any] = {
        f"simulation.{name}": getattr(settings, name)
        for name in ("integrator", "step", "rtol", "atol", "slip_speed", "contact_law")
    }
    values |= {f"simulation.{name}": value for name, value in settings.parameters.items()}
    for block in () if signals is None else scene.spec.blocks:
        if block.period is not None:
            values[f"the period of {block.name!r}"] = block.period
    return json.dumps(values, default=str).encode()


def _other_setting(saved: bytes, scene: Scene) -> str:
    """Return the first setting that is another one in a scene; an empty text if there is none."""
    now = _settings(scene)
    if saved == now:
        return ""
    of_scene: dict[str, Any] = json.loads(now)
    try:
        of_saved = dict(json.loads(saved))
    except (ValueError, TypeError, RecursionError):
        return "settings that cannot be read"
    for name in [*of_scene, *sorted(set(of_saved) - set(of_scene), key=str)]:
        if name not in of_saved or name not in of_scene or of_saved[name] != of_scene[name]:
            there, here = (str(x.get(name, "not set")) for x in (of_saved, of_scene))
            return f"{name} = {there[:40]}, and here it is {here}"
    return "other settings"


def _parts(saved: bytes, begin: int) -> tuple[int, list[bytes], bytes]:
    """Return the number of worlds, the parts before their records, and these, from the lengths at `begin`."""
    count, *sizes = (
        int.from_bytes(saved[at : at + SIZE], "little")
        for at in range(begin, begin + LENGTHS * SIZE, SIZE)
    )
    at, found = begin + LENGTHS * SIZE, []
    for size in sizes:
        if size > len(saved) - at:
            problem = "ends before its parts do; load what Worlds.save returned"
            raise SimulationError("saved", problem)
        found.append(saved[at : at + size])
        at += size
    return count, found, saved[at:]


def _checksum(*parts: bytes | memoryview) -> bytes:
    """Return the CRC-32 of parts that follow one another."""
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found.to_bytes(CHECKSUM, "little")
