"""Rollouts of scenes: many worlds in one call, each with the actuators, integrator and events of its scene.

    run = pysim.rollout(scene, q0, v0, threads=2)          # many starts of a scene
    run = pysim.rollout(pysim.load_scenes(path, values))   # a scene for each world
    run.t, run.q, run.v

Worlds run in packs, also those of scenes that differ in numbers; plugins' schemes, callback joints and impacts make
the steps of one world after the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.failed_steps import explain, too_large
from pysim.diagnosis.growing_states import growing_worlds
from pysim.diagnosis.scene_warnings import (
    warn_of_control,
    warn_of_obstacles,
    warn_of_scene,
    warn_of_worlds,
)
from pysim.diagnosis.start_checks import check_starts, warn_of_quaternion_order
from pysim.diagnosis.unstable_steps import (
    frozen_worlds,
    is_explicit,
    suspicious,
)
from pysim.diagnosis.world_monitor import (
    warn_of_friction_of_worlds,
    warn_of_unstable_worlds,
)
from pysim.errors import (
    Named,
    PysimWarning,
    SimulationError,
    UnknownSimulationNameError,
    did_you_mean,
)
from pysim.integrators import check_wheels, find_integrator
from pysim.mechanism.model import State
from pysim.rollouts.adaptive_worlds import AdaptiveMonitors
from pysim.simulation.fixed_steps import steps_between
from pysim.simulation.run import output_times
from pysim.simulation.world_events import events_of
from pysim.trajectory import Events
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS, pair_sums, start_report
from pysim.worlds.failed_worlds import failed_world, report_lost
from pysim.worlds.failure import Status
from pysim.worlds.loading import Scene, with_settings
from pysim.worlds.saved_worlds import load_worlds, number_saved, save_worlds
from pysim.worlds.signal_runs import signals_of_states
from pysim.worlds.varied_numbers import alike, check_alike
from pysim.worlds.world_parameters import WorldParameters
from pysim.worlds.world_records import WorldRecords

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pysim.elements.graph_types import RecordedSignal

MOST_DIAGNOSED = 16  # worlds that end early
MOST_NUMBERS = 1 << 24  # of contact reports that are held at once
_SAME = (  # of all scenes
    "integrator",
    "step",
    "duration",
    "every",
    "parameters",
    "rtol",
    "atol",
    "on_failure",
)
_GONE = "it ended before this rollout"
# before the lengths and bytes of groups that are stepped apart
_GROUPS = b"pysim groups of worlds\n"
_SIZE = 8  # bytes of a length


@dataclass(frozen=True)
class PairForces:
    """Contacts of pairs of links in many worlds; … is their axis. NaN after a world's end."""

    names: tuple[str, ...]  # of the pairs
    force: Array  # on the second link of every pair (…, rows, pairs, 3) [N], world axes
    impulse: Array  # since the row before (…, rows, pairs, 3) [N·s]


@dataclass(frozen=True)
class Rollout:
    """Trajectories of many worlds; … is their axis, which the result of a single world lacks."""

    t: Array  # (rows,) [s]
    q: Array  # (…, rows, nq); NaN after a world's end
    v: Array  # (…, rows, nv)
    save: Callable[[], bytes]  # returns `state`
    signals: Mapping[str, Array] = field(default_factory=dict)  # recorded signals (…, rows)
    events: tuple[Events, ...] = ()  # of every world; empty where the scene has none
    failures: tuple[str, ...] = ()  # of every world: why it ended early, or nothing
    contacts: PairForces | None = None  # if recorded

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", Named("signals", self.signals))

    @cached_property
    def state(self) -> bytes:
        """State of all worlds at the last row, which `rollout` and `Worlds.load` continue from to the bit.

        Raises:
            SimulationError: a scheme in Python remembers what bytes do not hold.
        """
        return self.save()


@dataclass(frozen=True)
class Request:
    """Arguments of a rollout of scenes; None for the value of the scene."""

    q0: Array | None
    v0: Array | None
    step: float | None
    integrator: str | None
    threads: int
    steps: int | None
    every: int | None
    spectral_radius: float | None
    state: bytes | None
    signals: tuple[str, ...] = ()  # to record
    contacts: bool = False  # whether to record them
    worlds: tuple[int, ...] | None = None  # numbers of the worlds; 0, 1, … by default
    controls: Array | None = None  # (…, rows − 1, inputs) of the scene
    on_failure: str | None = None  # "stop" or "drop_world"


@dataclass(frozen=True)
class _Worlds:
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

    def of(self, chosen: NDArray[np.intp]) -> _Worlds:
        """Return some of the worlds, whose scenes differ."""
        names = ("q0", "v0", "loop_q", "numbers", "controls", "lost")
        rows: dict[str, Any] = {
            name: None if (x := getattr(self, name)) is None else x[chosen] for name in names
        }
        return replace(self, scenes=[self.scenes[k] for k in chosen], **rows)


class _Group(NamedTuple):
    """Worlds that are stepped together."""

    worlds: NDArray[np.intp]  # their numbers
    records: WorldRecords


def scene_rollout(scenes: Scene | Sequence[Scene], request: Request) -> Rollout:
    """Run every world from its start.

    Raises:
        SimulationError: the scenes have different settings, or an argument does not suit them.
        ModelError: the scenes' models differ in structure.
    """
    one = isinstance(scenes, Scene)
    given = [scenes] if isinstance(scenes, Scene) else list(scenes)
    check_alike(given, _SAME, "run it in a separate call")
    adjusted = [_adjusted(scene, request) for scene in given]
    warn_of_worlds(adjusted, warn_of_scene, stacklevel=4)
    worlds, groups = _worlds(adjusted, request)
    alone = one and (len(worlds.q0) == 1 if request.q0 is None else request.q0.ndim == 1)
    if request.q0 is not None or request.v0 is not None:
        models = [scene.model for scene in worlds.scenes]
        check_starts(models, worlds.q0, worlds.v0, worlds.loop_q, worlds.start, stacklevel=4)
        if request.q0 is not None and request.state is None:
            warn_of_quaternion_order(models[0], worlds.q0, stacklevel=4)
    if worlds.stops and worlds.lost is not None and worlds.lost.any():
        raise failed_world("rollout", int(worlds.lost.argmax()), _GONE)
    blocks = _blocks(worlds, request)
    worlds = replace(worlds, controls=_controls(worlds, request, sum(b.rows for b in blocks)))
    _check_recorded_pairs(worlds)
    run, steps = _in_packs(worlds, groups, blocks)
    run = _without_lost(run, worlds.lost)
    warn_of_friction_of_worlds(worlds.scenes, run.t, run.q, run.v, stacklevel=4)
    warn_of_control(worlds.scenes[0], run.t, run.q[0], stacklevel=4)
    flat = run.q.reshape(-1, run.q.shape[-1])
    warn_of_obstacles(worlds.scenes[0], np.tile(run.t, len(run.q)), flat, stacklevel=4)
    if worlds.scenes[0].contacts is None:
        warn_of_unstable_worlds(worlds.scenes, run.t, run.q, run.v, steps, stacklevel=4)
    return _without_axis(run) if alone else run


def _adjusted(scene: Scene, request: Request) -> Scene:
    """Return the scene with the requested scheme and step; the scene itself if they are its own."""
    settings = scene.settings
    kind = find_integrator(request.integrator or settings.integrator)
    if kind.adaptive and not find_integrator(settings.integrator).adaptive:
        problem = f"{kind.name!r} needs tolerances; set simulation.integrator and simulation.rtol in the scene"
        raise SimulationError("integrator", problem)
    if scene.contacts is not None and not (kind.contacts or kind.smooth):
        problem = f"{kind.name!r} computes no contacts, and the scene has some"
        raise SimulationError("integrator", f"{problem}; leave integrator out")
    if kind.contacts and scene.contacts is None:
        own = settings.integrator
        problem = (
            f"{kind.name!r} cannot replace {own!r}, because only {kind.name!r} handles contacts"
        )
        raise SimulationError("integrator", f"{problem}; leave integrator out")
    check_wheels(kind, scene.model.spec.wheels)
    changes: dict[str, Any] = {"integrator": kind.name}
    if kind.name != settings.integrator:
        default = {"spectral_radius": 0.9, "passes": 2}
        changes["parameters"] = {key: default[key] for key in kind.keys if key in default}
    if request.spectral_radius is not None and "spectral_radius" in kind.keys:
        changes["parameters"] = {"spectral_radius": request.spectral_radius}
    if request.step is not None:
        changes["step"] = request.step
    if request.on_failure is not None:
        changes["on_failure"] = request.on_failure
    if kind.adaptive and request.steps is not None:
        raise SimulationError("steps", f"{kind.name!r} chooses its steps; leave steps out")
    if not kind.adaptive and not np.isfinite(changes.get("step", settings.step)):
        raise SimulationError(
            "step", f"{kind.name!r} needs a step, which the scene does not set; pass step="
        )
    requested = replace(settings, **changes)
    return scene if requested == settings else with_settings(scene, requested)


def _worlds(scenes: list[Scene], request: Request) -> tuple[_Worlds, list[_Group]]:
    """Return the starts of every world, by default those of the scenes, and their records, which have not begun."""
    goes_on = request.state is not None
    q0 = _starts(request.q0, [scene.state.q for scene in scenes], "q0", goes_on=goes_on)
    v0 = _starts(request.v0, [scene.state.v for scene in scenes], "v0", goes_on=goes_on)
    has_starts = request.q0 is not None or request.v0 is not None
    saved = [] if request.state is None else _groups_saved(request.state)
    held = sum(number_saved(saved_group) for saved_group in saved)
    if goes_on and not has_starts:
        q0, v0 = (np.tile(x[:1], (held, 1)) if len(x) == 1 else x for x in (q0, v0))
    q0, v0 = _broadcast(q0, v0)
    if len(scenes) > 1 and len(scenes) != len(q0):
        problem = f"there are {len(scenes)} scenes for {len(q0)} worlds"
        raise ValueError(f"{problem}; pass one scene for all, without a list, or one for each")
    count, near = len(q0), [scene.state.loop_q for scene in scenes]
    if goes_on and held != count:
        those = "1 world" if held == 1 else f"{held} worlds"
        problem = f"state is that of {those}, but this rollout has {count}"
        raise ValueError(f"{problem}; pass the state of a rollout with as many worlds")
    if q0.dtype != np.float64:
        problem = f"{scenes[0].settings.integrator!r} runs in double precision only"
        raise SimulationError("q0", f"{problem}; pass float64 arrays")
    loop_q = np.array(near if len(near) == count else near * count, q0.dtype)
    numbers = _world_numbers(request, count)
    worlds = _Worlds(
        scenes, q0, v0, loop_q, request.threads, request.signals, request.contacts, numbers
    )
    groups = _groups(worlds)
    if not goes_on:
        return worlds, groups
    if len(saved) != len(groups):
        problem = "is of scenes that are stepped together in other groups"
        raise SimulationError("state", f"{problem}; pass that of a rollout of the same scenes")
    start, lost = 0.0, np.zeros(count, bool)
    for (chosen, records), saved_group in zip(groups, saved, strict=True):
        records.parameters = WorldParameters(records, one=False)  # saved worlds may have some
        load_worlds(records, saved_group, records.chosen(None), live_controllers=True)
        begun = records.q.copy(), records.v.copy()
        gone = records.status != Status.RUNNING
        start = max([start, *records.t[~gone].tolist()])
        if has_starts:
            q, v = q0[chosen], v0[chosen]
            gone |= ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1))
            goes = ~gone
            records.q[goes], records.v[goes] = q[goes], v[goes]
            records.status[gone & (records.status == Status.RUNNING)] = Status.WRITTEN
            records.engine.accept(None)
        lost[chosen] = gone
        q0, v0 = q0.copy(), v0.copy()
        # finite numbers in place of lost states, which results leave out
        q0[chosen] = np.where(gone[:, None], begun[0], records.q)
        v0[chosen] = np.where(gone[:, None], begun[1], records.v)
        loop_q[chosen] = records.loop_q
    return replace(worlds, q0=q0, v0=v0, loop_q=loop_q, start=start, lost=lost), groups


def _groups(worlds: _Worlds) -> list[_Group]:
    """Return the records of the worlds that are stepped together."""
    if len(worlds.scenes) == 1:
        count = len(worlds.q0)
        return [_Group(np.arange(count), WorldRecords(worlds.scenes[0], count, worlds.numbers))]
    groups = []
    for chosen, numbers in alike(worlds.scenes):
        own = worlds.of(chosen)
        scenes = own.scenes[0] if len(own.scenes) == 1 else own.scenes
        records = WorldRecords(scenes, len(chosen), own.numbers, scene_numbers=numbers)
        groups.append(_Group(chosen, records))
    return groups


def _saved_groups(groups: list[_Group]) -> bytes:
    """Return the state of worlds after a rollout: what `Worlds.save` returns, of several groups one after the other."""
    saved = []
    for _, records in groups:
        if records.parameters is None:
            records.parameters = WorldParameters(records, one=False)
        try:
            saved.append(save_worlds(records, records.chosen(None), live_controllers=True))
        except TypeError as error:
            scheme = records.scene.settings.integrator
            problem = f"does not hold what {scheme!r} remembers of {records.count} worlds: its attribute {error}"
            remedy = "let the scheme keep numbers, texts, arrays, or lists of them"
            raise SimulationError("state", f"{problem}; {remedy}") from None
    if len(saved) == 1:
        return saved[0]
    return _GROUPS + b"".join(len(own).to_bytes(_SIZE, "little") + own for own in saved)


def _groups_saved(state: bytes) -> list[bytes]:
    """Return the states of groups from what `_saved_groups` returned."""
    if not state.startswith(_GROUPS):
        return [state]
    found, at = [], len(_GROUPS)
    while at < len(state):
        size, at = int.from_bytes(state[at : at + _SIZE], "little"), at + _SIZE
        found.append(state[at : at + size])
        at += size
    return found


def _controls(worlds: _Worlds, request: Request, rows: int) -> Array | None:
    """Return the inputs of every world (worlds, rows, inputs), held from each row to the next."""
    controls = request.controls
    if controls is None:
        return None
    signals, count = worlds.scenes[0].signals, len(worlds.q0)
    size = 0 if signals is None else sum(len(own.places) for own in signals.inputs)
    if not size:
        problem = "are values of a scene's inputs, and this one has none"
        remedy = 'add a [[signal]] with type = "input", or give forces to a rollout of its model'
        raise SimulationError("controls", f"{problem}; {remedy}")
    if controls.shape not in ((rows, size), (count, rows, size)):
        problem = f"controls must have shape ({count}, {rows}, {size}) or ({rows}, {size})"
        raise ValueError(f"{problem}, got {controls.shape}")
    if not np.isfinite(controls).all():
        raise ValueError("controls must be finite, got nan or inf")
    return np.broadcast_to(np.asarray(controls, float), (count, rows, size))


def _world_numbers(request: Request, count: int) -> NDArray[np.intp]:
    """Return the numbers of the worlds, by which their random numbers differ."""
    if request.worlds is None:
        return np.arange(count)
    if len(request.worlds) != count:
        problem = f"worlds has {len(request.worlds)} numbers for {count} worlds"
        raise ValueError(f"{problem}; pass one for each")
    return np.array(request.worlds, np.intp)


def _without_lost(run: Rollout, lost: NDArray[np.bool_] | None) -> Rollout:
    """Return a rollout with NaN in the rows of the worlds that ended before it."""
    if lost is None or not lost.any():
        return run
    arrays = [run.q, run.v, *run.signals.values()]
    if run.contacts is not None:
        arrays += [run.contacts.force, run.contacts.impulse]
    for array in arrays:
        array[lost] = np.nan
    failures = run.failures or ("",) * len(lost)
    texts = zip(failures, lost, strict=True)
    return replace(run, failures=tuple(_GONE if gone else other for other, gone in texts))


def _starts(given: Array | None, own: list[Array], name: str, *, goes_on: bool) -> Array:
    if given is None:
        return np.array(own)
    if given.ndim not in (1, 2) or given.shape[-1] != len(own[0]):
        problem = f"must have shape ({len(own[0])},) or (batch, {len(own[0])}), got {given.shape}"
        raise ValueError(f"{name} {problem}")
    if not goes_on and not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite, got nan or inf")
    return np.atleast_2d(given)


def _broadcast(q0: Array, v0: Array) -> tuple[Array, Array]:
    count = max(len(q0), len(v0))
    if {len(q0), len(v0)} - {1, count}:
        raise ValueError(f"q0 has {len(q0)} worlds and v0 has {len(v0)}; pass the same number")
    dtype = np.result_type(q0, v0) if np.float32 not in (q0.dtype, v0.dtype) else np.float32
    q0, v0 = (
        np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[1])), dtype) for x in (q0, v0)
    )
    return q0, v0


@dataclass(frozen=True)
class _Block:
    """Equidistant rows from `start` [s]: each row is `every` steps, `length` [s] together, after the one before."""

    start: float
    length: float
    every: int
    rows: int
    # [s], of the last row, where rounding would miss the duration by a bit
    end: float | None = None

    @property
    def times(self) -> Array:
        """Times of the rows [s]."""
        times = np.asarray(self.start + self.length * np.arange(1, self.rows + 1))
        if self.end is not None:
            times[-1] = self.end
        return times


def _blocks(worlds: _Worlds, request: Request) -> list[_Block]:
    """Return the output times: as requested, or the multiples of the output interval and the end."""
    settings, start = worlds.settings, worlds.start
    if request.steps is not None:
        every = 1 if request.every is None else request.every
        if request.steps < 0 or every < 1 or request.steps % every:
            problem = f"every must divide the number of steps, {request.steps}, got {every}"
            raise ValueError(problem)
        return [_Block(start, settings.step * every, every, request.steps // every)]
    if request.every is not None:
        raise ValueError("every is a number of steps; give steps as well, or leave it out")
    whole = len(list(output_times(settings.duration, settings.every))) - 1
    even = abs(whole * settings.every - settings.duration) <= 1e-9 * settings.every
    first = whole if even else whole - 1
    blocks = []
    for begin, length, rows in (
        (0.0, settings.every, first),
        (first * settings.every, settings.duration - first * settings.every, whole - first),
    ):
        if rows:
            every = 1 if np.isinf(settings.step) else steps_between(0.0, length, settings.step)
            blocks.append(_Block(start + begin, length, every, rows))
    if blocks and start == 0.0:
        blocks[-1] = replace(blocks[-1], end=settings.duration)
    return blocks


@dataclass(frozen=True)
class _PackRun:
    """Run of worlds that are stepped together."""

    run: Rollout
    steps: int  # the largest number of a world
    lost: list[int]  # worlds that ended early
    errors: dict[int, str]  # of those whose cause is known
    slow: list[tuple[int, str]]  # worlds that made very many steps, and why
    ended: NDArray[np.bool_]  # worlds that an event has ended


class _Stopped(NamedTuple):
    """A world that ends all."""

    t: float  # [s]
    world: int
    reason: str


def _in_packs(
    worlds: _Worlds, of_groups: list[_Group], blocks: list[_Block]
) -> tuple[Rollout, int]:
    """Run worlds side by side, those of scenes together that differ in numbers alone; return the most steps, too."""
    groups = [group.worlds for group in of_groups]
    found = [
        _run_together(worlds.of(own) if len(worlds.scenes) > 1 else worlds, records, blocks)
        for own, records in of_groups
    ]
    parts = [part for part in found if isinstance(part, _PackRun)]
    if len(parts) < len(found):
        pairs = zip(groups, found, strict=True)
        ends = [x._replace(world=int(g[x.world])) for g, x in pairs if isinstance(x, _Stopped)]
        raise failed_world("rollout", min(ends).world, min(ends).reason)
    errors = dict[int, str]()
    for group, part in zip(groups, parts, strict=True):
        errors |= {int(group[k]): text for k, text in part.errors.items()}
    run = parts[0].run if len(parts) == 1 else _joined(groups, [part.run for part in parts])
    if worlds.scenes[0].signals is not None and worlds.scenes[0].signals.callbacks:
        run = replace(run, save=partial(bytes, _saved_groups(of_groups)))  # before others change
    else:
        run = replace(run, save=partial(_saved_groups, of_groups))
    slow = [
        (int(g[k]), text) for g, part in zip(groups, parts, strict=True) for k, text in part.slow
    ]
    if slow:
        first, text = min(slow)
        text = f"rollout: world {first} of {len(slow)} such worlds: {text}"
        warnings.warn(text, PysimWarning, stacklevel=4)
    if errors:
        lost = sum(len(part.lost) for part in parts)
        _warn_of_ends(errors, len(worlds.q0), lost, stacklevel=5)
    elif any(part.lost for part in parts):
        failed = run.v.copy()
        for group, part in zip(groups, parts, strict=True):
            failed[group[part.ended]] = 0.0
        report_lost(failed, run.t, stacklevel=5)
    return run, max(part.steps for part in parts)


def _joined(groups: list[NDArray[np.intp]], runs: list[Rollout]) -> Rollout:
    """Return the rollout of all worlds from those of groups of them."""
    count = sum(map(len, groups))

    def rows(arrays: list[Array]) -> Array:
        size = max(own.shape[-1] for own in arrays)
        found = np.zeros((count, *arrays[0].shape[1:-1], size))
        for group, own in zip(groups, arrays, strict=True):
            found[group, ..., : own.shape[-1]] = own
        return found

    def entries(each: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        pairs = [
            pair for g, own in zip(groups, each, strict=True) for pair in zip(g, own, strict=False)
        ]
        return tuple(entry for _, entry in sorted(pairs, key=lambda pair: int(pair[0])))

    first = runs[0]
    contacts = first.contacts
    if contacts is not None:
        each = [own for run in runs if (own := run.contacts) is not None]
        forces, impulses = rows([own.force for own in each]), rows([own.impulse for own in each])
        contacts = PairForces(contacts.names, forces, impulses)
    signals = {name: rows([run.signals[name] for run in runs]) for name in first.signals}
    q, v = rows([run.q for run in runs]), rows([run.v for run in runs])
    events, failures = (
        entries([run.events for run in runs]),
        entries([run.failures for run in runs]),
    )
    return Rollout(first.t, q, v, first.save, signals, events, failures, contacts)


def _begin(worlds: _Worlds, records: WorldRecords) -> None:
    """Let worlds begin at their starts, or go on, under the inputs up to the first row."""
    controls = worlds.controls
    first = None if controls is None or not controls.shape[1] else controls[:, 0]
    if worlds.lost is None:
        starts = (worlds.q0, worlds.v0, worlds.loop_q, worlds.threads)
        records.begin(None, worlds.start, *starts, first)
    elif first is not None:
        records.set_inputs(first)
    records.occurred.clear()


def _run_together(
    worlds: _Worlds, records: WorldRecords, blocks: list[_Block]
) -> _PackRun | _Stopped:
    """Run worlds of one scene, or of scenes that differ in numbers alone."""
    scene, count = worlds.scenes[0], len(worlds.q0)
    _begin(worlds, records)
    controls, made = worlds.controls, records.steps.copy()
    t = np.concatenate([[worlds.start], *(block.times for block in blocks)])
    q, v = (
        np.full((count, len(t), scene.model.nq), np.nan),
        np.full((count, len(t), scene.model.nv), np.nan),
    )
    q[:, 0], v[:, 0] = worlds.q0, worlds.v0
    recorder = _SignalRecorder(worlds, count, len(t))
    forces = _ContactRecorder(worlds, count, len(t))
    held = None if scene.signals is None else records.signals
    begun = np.zeros((count, 0)) if held is None else held.copy()
    for which, own_scene in worlds.each():
        start = worlds.q0[which], worlds.v0[which], worlds.loop_q[which]
        numbers = None if held is None else held[which]
        recorder.record(0, which, own_scene, t[0], *start, numbers)
    convex = find_integrator(worlds.settings.integrator).contacts
    reports = convex and (worlds.contacts or bool(worlds.recorded))
    points = scene.contacts.engine.points if reports and scene.contacts is not None else 0
    report = np.zeros((count, points, NUMBERS)) if reports else None
    monitors = AdaptiveMonitors(records, worlds.settings.duration) if records.is_adaptive else None
    most = (
        1 if records.impacts and worlds.contacts else MOST_NUMBERS // (count * points * NUMBERS + 1)
    )
    for rows in _parts_of_rows(len(t), max(1, most)):
        n = rows.stop - rows.start
        call_rows: dict[str, Array] = {
            "q_rows": np.full((count, n, scene.model.nq), np.nan),
            "v_rows": np.full((count, n, scene.model.nv), np.nan),
        }
        if worlds.recorded and held is not None:
            call_rows["signal_rows"] = np.zeros((count, n, held.shape[1]))
        if reports:
            call_rows["report_rows"] = np.zeros((count, n, points, NUMBERS))
        own = None
        if controls is not None:
            own = np.array(controls[:, rows.start - 1 : rows.stop])
        given: dict[str, Any] = {"report": report, "inputs": own, "stops": worlds.stops}
        after = None if monitors is None else monitors.after_call
        reached = records.advance(t[rows], worlds.threads, rows=call_rows, after=after, **given)
        if worlds.stops and monitors is not None and monitors.errors:
            failed = min(monitors.errors)
            return _Stopped(float(records.t[failed]), failed, monitors.errors[failed])
        if worlds.stops and (first := records.first_lost()) is not None:
            text = str(explain(records.failure(first)))
            return _Stopped(float(records.t[first]), first, text)
        q[:, rows], v[:, rows] = call_rows["q_rows"], call_rows["v_rows"]
        for k in range(n):
            row, alive = rows.start + k, np.flatnonzero(reached > k)
            touching = call_rows["report_rows"][:, k] if reports else None
            if "signal_rows" in call_rows and len(alive):
                at_row = q[alive, row], v[alive, row], records.loop_q[alive]
                numbers = call_rows["signal_rows"][alive, k]
                with records.scene_with_numbers(alive.astype(np.int32)) as own_scene:
                    own_report = None if touching is None else touching[alive]
                    recorder.record(row, alive, own_scene, t[row], *at_row, numbers, own_report)
            if worlds.contacts:
                if touching is None:
                    touching = _smooth_report(records, q[:, row], v[:, row])
                forces.add(row, touching, reached > k)
    unstable = _unstable_worlds(records, t, q, v, None if held is None else begun)
    if worlds.stops and unstable:
        failed = min(unstable, key=lambda k: (unstable[k][0], k))
        row, text = unstable[failed]
        return _Stopped(float(t[row]), failed, text)
    known = {} if monitors is None else monitors.errors | _overflows(records, t, q, v)
    if worlds.lost is not None:  # which no result shows
        q[worlds.lost], v[worlds.lost] = worlds.q0[worlds.lost, None], worlds.v0[worlds.lost, None]
    gone = () if worlds.lost is None else np.flatnonzero(worlds.lost).tolist()
    lost, errors = _lost_worlds(records, unstable, known, gone)
    failures = tuple(_failure(k, v[k], t, errors) if k in lost else "" for k in range(count))
    for array in (q, v, *recorder.found.values()):
        for k, row in ((k, row) for k, (row, _) in unstable.items()):
            array[k, row:] = np.nan
    events = events_of(records) if scene.spec.events or records.impacts else ()
    run = Rollout(t, q, v, bytes, recorder.found, events, failures, forces.found)
    slow = [] if monitors is None else monitors.end()
    ended = records.status == Status.ENDED
    return _PackRun(run, int((records.steps - made).max()), lost, errors, slow, ended)


def _overflows(records: WorldRecords, t: Array, q: Array, v: Array) -> dict[int, str]:
    """Return why rows within steps that were good are NaN or infinite, which they are from there on, by world."""
    found = dict[int, str]()
    wild = np.asarray(~(np.isfinite(q).all(axis=2) & np.isfinite(v).all(axis=2)))
    for k in np.flatnonzero(wild.any(axis=1) & (records.status == Status.RUNNING)).tolist():
        row = int(wild[k].argmax())
        found[k] = str(too_large(records.scene_of(k), float(t[row]), v[k, row - 1]))
        q[k, row:] = v[k, row:] = np.nan
    return found


def _smooth_report(records: WorldRecords, q: Array, v: Array) -> Array:
    """Return the reports (worlds, points, 18) of smooth contacts at a row, and of impacts since the one before."""
    q, v = np.nan_to_num(q), np.nan_to_num(v)
    if not records.impacts:
        return start_report(records.scene, q, v)
    each = [own.report(q[k : k + 1], v[k : k + 1]) for k, own in enumerate(records.impacts)]
    return np.concatenate(each)


def _parts_of_rows(rows: int, most: int) -> Iterator[slice]:
    """Yield the rows after the start in parts of `most` at most, whose contact reports fit into memory."""
    for begin in range(1, rows, most):
        yield slice(begin, min(begin + most, rows))


def _unstable_worlds(
    records: WorldRecords, t: Array, q: Array, v: Array, begun: Array | None
) -> dict[int, tuple[int, str]]:
    """Return the worlds whose steps were unstable, each with the row from which on it is lost, and why.

    Steps that do not follow their velocity are recognised at the last row; `begun` (worlds, numbers) are the numbers of
    the signals at the start.
    """
    scene, unstable = records.scene, dict[int, tuple[int, str]]()
    if len(t) < 2 or records.is_adaptive:
        return unstable
    span = float(t[0]), float(t[-1])
    if begun is not None:
        states = q[:, 0], v[:, 0], begun, records.signals
        grown = growing_worlds(records.scene_of, span, *states)
        unstable |= {k: (1, str(error)) for k, error in grown.items()}
    if not is_explicit(scene):
        return unstable
    before, after = (State(q[:, k], v[:, k], records.loop_q) for k in (-2, -1))
    numbers = None if begun is None else records.signals
    alive = records.status == Status.RUNNING
    last = float(t[-2]), span[1]
    frozen = frozen_worlds(records.scene_of, last, before, after, numbers, alive)
    for k, error in frozen.items():
        rows = set(suspicious(scene, t, q[k], v[k]).tolist())
        first = len(t) - 1
        while first - 1 in rows:
            first -= 1
        unstable[k] = max(first, 1), str(error)
    return unstable


def _lost_worlds(
    records: WorldRecords,
    unstable: Mapping[int, tuple[int, str]],
    known: Mapping[int, str],
    gone: Sequence[int],
) -> tuple[list[int], dict[int, str]]:
    """Return the worlds that failed, and why, of those whose cause is known; those `gone` had failed before."""
    lost = sorted({*np.flatnonzero(records.lost).tolist(), *unstable, *known} - set(gone))
    errors = {k: text for k, (_, text) in unstable.items()} | dict(known)
    for k in lost:
        if k not in errors and (
            records.status[k] == Status.UNSOLVED
            or records.python is not None
            or records.is_adaptive
            or (records.scenes is not None and records.scene.signals is not None)
            or find_integrator(records.scene.settings.integrator).contacts
        ):
            errors[k] = str(explain(records.failure(k)))
    for k in [k for k in lost if k not in errors][:MOST_DIAGNOSED]:
        step = records.failure(k)
        fault = element_fault(step.scene, step.state, step.numbers, step.t, step.step)
        if fault is not None:
            errors[k] = f"{records.scene.spec.path}: {fault}"
    return lost, errors


def _failure(k: int, v: Array, t: Array, errors: Mapping[int, str]) -> str:
    """Return why world k ended early, whose velocities (rows, nv) are NaN from then on."""
    if k in errors:
        return errors[k]
    return f"it reached NaN or infinite values or opened its loops before t = {_end(v, t):.6g} s"


def _warn_of_ends(errors: Mapping[int, str], count: int, ended: int, stacklevel: int) -> None:
    """Warn of worlds that ended early, with the error of the first that has one."""
    first = min(errors)
    problem = f"{ended} of {count} worlds ended early, world {first}: {errors[first]}"
    text = f"rollout: {problem}; their rows are NaN from there on"
    warnings.warn(text, PysimWarning, stacklevel=stacklevel + 1)


class _SignalRecorder:
    """Recorder of the requested signals of worlds."""

    def __init__(self, worlds: _Worlds, count: int, rows: int) -> None:
        self._scene = worlds.scenes[0]
        self._wanted = _wanted_signals(self._scene, worlds.recorded)
        self.found: dict[str, Array] = {
            s.name: np.full((count, rows) if s.is_single else (count, rows, s.size), np.nan)
            for s in self._wanted
        }

    def record(
        self,
        row: int,
        worlds: slice | NDArray[np.intp],
        scene: Scene,
        t: float,
        q: Array,
        v: Array,
        loop_q: Array,
        numbers: Array | None,
        report: Array | None = None,
    ) -> None:
        """Record one row of worlds at t [s], after a convex step with what its contacts report."""
        if not self._wanted or numbers is None:
            return
        rows = signals_of_states(scene, np.full(len(q), t), q, v, numbers, loop_q, report)
        for s in self._wanted:
            values = rows[:, s.first] if s.is_single else rows[:, s.first : s.first + s.size]
            self.found[s.name][worlds, row] = values


class _ContactRecorder:
    """Recorder of the contact forces and impulses of worlds, if they are requested."""

    def __init__(self, worlds: _Worlds, count: int, rows: int) -> None:
        self.found: PairForces | None = None
        if not worlds.contacts:
            return
        first = worlds.scenes[0].contacts
        assert first is not None
        names = tuple(pair.name for pair in first.pairs)
        empty = np.full((2, count, rows, len(names), 3), np.nan)
        self._contacts = first
        self.found = PairForces(names, *empty)
        for which, scene in worlds.each():
            start = start_report(scene, worlds.q0[which], worlds.v0[which])
            self.found.force[which, 0], self.found.impulse[which, 0] = pair_sums(first, start)

    def add(self, row: int, report: Array, worlds: NDArray[np.bool_]) -> None:
        """Record the forces at a row, and add the impulses before it, of the worlds that are chosen."""
        if self.found is None:
            return
        force, impulse = pair_sums(self._contacts, report)
        self.found.force[worlds, row] = force[worlds]
        before = self.found.impulse[worlds, row]
        self.found.impulse[worlds, row] = np.where(np.isnan(before), 0, before) + impulse[worlds]


def _check_recorded_pairs(worlds: _Worlds) -> None:
    """Reject scenes whose contacts cannot be recorded together."""
    if not worlds.contacts:
        return
    first = worlds.scenes[0].contacts
    if first is None:
        problem = f"{worlds.settings.integrator!r} has none to record"
        raise SimulationError("contacts", f"{problem}; leave it out")
    names = [pair.name for pair in first.pairs]
    for k, scene in enumerate(worlds.scenes):
        if scene.contacts is None or [pair.name for pair in scene.contacts.pairs] != names:
            problem = "has other pairs that touch than scene[0]"
            raise SimulationError(f"scene[{k}]", f"{problem}; record it in a call of its own")


def _wanted_signals(scene: Scene, names: Sequence[str]) -> list[RecordedSignal]:
    """Return the signals of these names.

    Raises:
        SimulationError: the scene has none of this name.
    """
    known = {} if scene.signals is None else {s.name: s for s in scene.signals.recorded}
    for name in names:
        where = f"signals: {name!r}"
        if not known:
            raise SimulationError(where, "the scene has no signals; leave it out")
        if name not in known:
            raise UnknownSimulationNameError(
                where, f"the scene has no such signal{did_you_mean(name, known)}"
            )
    return [known[name] for name in names]


def _end(v: Array, t: Array) -> float:
    """Return the time of the first row that is NaN [s]."""
    return float(t[np.isnan(v).any(axis=1).argmax()])


def _without_axis(run: Rollout) -> Rollout:
    """Return the rollout of a single world without the axis of worlds."""
    signals = {name: values[0] for name, values in run.signals.items()}
    contacts = run.contacts
    if contacts is not None:
        contacts = replace(contacts, force=contacts.force[0], impulse=contacts.impulse[0])
    return replace(run, q=run.q[0], v=run.v[0], signals=signals, contacts=contacts)
