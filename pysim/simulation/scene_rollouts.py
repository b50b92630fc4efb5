"""Rollouts of scenes: many worlds in one call, each with the actuators, integrator and events of its scene.

    run = pysim.rollout(scene, q0, v0, threads=2)          # many starts of a scene
    run = pysim.rollout(pysim.load_scenes(path, values))   # a scene for each world
    run.t, run.q, run.v

Worlds run in packs under schemes of fixed step, also those of scenes that differ in numbers; plugins' schemes and
callback joints make the steps of one world after the other. Events and adaptive steps run world by world, as in
`simulate`, on threads unless they call Python.
"""

from __future__ import annotations

import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from os import cpu_count
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pysim.diagnosis.element_faults import element_fault
from pysim.diagnosis.failed_steps import explain
from pysim.diagnosis.growing_states import growing_worlds
from pysim.diagnosis.scene_warnings import (
    warn_of_control,
    warn_of_obstacles,
    warn_of_scene,
    warn_of_worlds,
)
from pysim.diagnosis.start_checks import check_starts, warn_of_quaternion_order
from pysim.diagnosis.unstable_steps import (
    StepGuard,
    frozen_worlds,
    is_explicit,
    suspicious,
)
from pysim.diagnosis.world_monitor import (
    warn_of_friction_of_worlds,
    warn_of_unstable_worlds,
)
from pysim.errors import (
    ModelError,
    Named,
    PysimWarning,
    SimulationError,
    UnknownSimulationNameError,
    did_you_mean,
)
from pysim.integrators import check_wheels, find_integrator
from pysim.mechanism.model import State
from pysim.simulation.fixed_events import EventRun
from pysim.simulation.fixed_steps import steps_between
from pysim.simulation.record_runs import RecordRun
from pysim.simulation.run import output_times
from pysim.simulation.scene_run import run_of
from pysim.trajectory import Events
from pysim.trajectory.events import joined
from pysim.typing import Array
from pysim.worlds.contact_report import NUMBERS, pair_sums, start_report
from pysim.worlds.failed_worlds import failed_world, report_lost
from pysim.worlds.failure import Status
from pysim.worlds.implicit_state import SolverState
from pysim.worlds.loading import Scene, refuse_impacts, with_settings
from pysim.worlds.python_stepping import runs_in_python
from pysim.worlds.scheme_memory import memory_of, set_memory
from pysim.worlds.signal_runs import (
    SignalRun,
    begin_signals,
    signals_of_states,
    start_numbers,
)
from pysim.worlds.varied_numbers import alike
from pysim.worlds.world_records import WorldRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pysim.elements.graph_types import RecordedSignal
    from pysim.integrators import Integrator
    from pysim.simulation.checkpoints import ResumableRun
    from pysim.worlds.segment import Segment

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


@dataclass(frozen=True)
class RolloutState:
    """State of a rollout beside q and v: everything else that the next step depends on."""

    t: float  # [s]
    loop_q: Array  # coordinates of the joints that close loops (…, loop_nq)
    scheme: Array  # state of an implicit scheme (…, numbers)
    signals: (
        Array  # of the scene's signals: states of elements and held numbers (…, signal_numbers)
    )
    memory: tuple[str, ...] = ()  # what schemes in Python remember, a text a world


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
    state: RolloutState  # at the last row
    signals: Mapping[str, Array] = field(default_factory=dict)  # recorded signals (…, rows)
    events: tuple[Events, ...] = ()  # of every world; empty where the scene has none
    failures: tuple[str, ...] = ()  # of every world: why it ended early, or nothing
    contacts: PairForces | None = None  # if recorded

    def __post_init__(self) -> None:
        object.__setattr__(self, "signals", Named("signals", self.signals))


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
    state: RolloutState | None
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
    scheme: Array | None = None
    signals: Array | None = None
    start: float = 0.0  # [s]
    controls: Array | None = None  # (worlds, rows − 1, inputs) of the scene
    lost: NDArray[np.bool_] | None = None  # worlds that ended before a rollout that goes on
    memory: tuple[str, ...] = ()  # what their schemes in Python remember

    @property
    def settings(self) -> Any:  # noqa: ANN401
        return self.scenes[0].settings

    @property
    def stops(self) -> bool:
        """Whether the first world that fails ends all of them."""
        return bool(self.settings.on_failure == "stop")

    def scene(self, k: int, end: float) -> Scene:
        """Return the scene of a world with its own start and duration [s]."""
        own = self.scenes[k if len(self.scenes) > 1 else 0]
        state = State(self.q0[k], self.v0[k], self.loop_q[k])
        return replace(own, state=state, settings=replace(own.settings, duration=end))

    def each(self) -> Iterator[tuple[slice, Scene]]:
        """Yield the worlds of each scene."""
        count = len(self.q0)
        for k, scene in enumerate(self.scenes):
            yield (slice(0, count) if len(self.scenes) == 1 else slice(k, k + 1)), scene

    def of(self, chosen: NDArray[np.intp]) -> _Worlds:
        """Return some of the worlds, whose scenes differ."""
        names = ("q0", "v0", "loop_q", "numbers", "scheme", "signals", "controls")
        rows: dict[str, Any] = {
            name: None if (x := getattr(self, name)) is None else x[chosen] for name in names
        }
        memory = tuple(self.memory[k] for k in chosen) if self.memory else ()
        return replace(self, scenes=[self.scenes[k] for k in chosen], memory=memory, **rows)


def scene_rollout(scenes: Scene | Sequence[Scene], request: Request) -> Rollout:
    """Run every world from its start.

    Raises:
        SimulationError: the scenes have different settings, or an argument does not suit them.
        ModelError: the scenes' models differ in structure.
    """
    one = isinstance(scenes, Scene)
    given = [scenes] if isinstance(scenes, Scene) else list(scenes)
    _check_alike(given)
    adjusted = [_adjusted(scene, request) for scene in given]
    warn_of_worlds(adjusted, warn_of_scene, stacklevel=4)
    alone = one and (request.q0 is None or request.q0.ndim == 1)
    worlds = _worlds(adjusted, request)
    if request.q0 is not None or request.v0 is not None:
        models = [scene.model for scene in worlds.scenes]
        check_starts(models, worlds.q0, worlds.v0, worlds.loop_q, worlds.start, stacklevel=4)
        if request.q0 is not None and request.state is None:
            warn_of_quaternion_order(models[0], worlds.q0, stacklevel=4)
    if worlds.stops and worlds.lost is not None and worlds.lost.any():
        raise failed_world("rollout", int(worlds.lost.argmax()), _GONE)
    blocks = _blocks(worlds, request)
    worlds = replace(worlds, controls=_controls(worlds, request, sum(b.rows for b in blocks)))
    if worlds.q0.dtype != np.float64:
        problem = f"{worlds.settings.integrator!r} runs in double precision only"
        raise SimulationError("q0", f"{problem}; pass float64 arrays")
    _check_recorded_pairs(worlds)
    run, steps = (_in_packs if _runs_in_packs(worlds) else _one_by_one)(worlds, blocks)
    run = _without_lost(run, worlds.lost)
    warn_of_friction_of_worlds(worlds.scenes, run.t, run.q, run.v, stacklevel=4)
    warn_of_control(worlds.scenes[0], run.t, run.q[0], stacklevel=4)
    flat = run.q.reshape(-1, run.q.shape[-1])
    warn_of_obstacles(worlds.scenes[0], np.tile(run.t, len(run.q)), flat, stacklevel=4)
    if worlds.scenes[0].contacts is None:
        warn_of_unstable_worlds(worlds.scenes, run.t, run.q, run.v, steps, stacklevel=4)
    return _without_axis(run) if alone else run


def _check_alike(scenes: list[Scene]) -> None:
    for k, scene in enumerate(scenes[1:], 1):
        if difference := scenes[0].model.structure_difference(scene.model):
            problem = f"differs from scene[0] in structure: {difference}; run it in a separate call"
            raise ModelError(f"scene[{k}]", problem)
        for key in _SAME:
            own, first = getattr(scene.settings, key), getattr(scenes[0].settings, key)
            if own != first:
                problem = (
                    f"{key} is {own}, but {first} in scene[0]; run this scene in a separate call"
                )
                raise SimulationError(f"scene[{k}]", problem)


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
    refuse_impacts(scene)
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
    events = scene.spec.events
    if not kind.adaptive and events and not any(event.release for event in events):
        problem = f"{kind.name!r} has a fixed step, which detects no events; leave integrator out"
        raise SimulationError("integrator", problem)
    if not kind.adaptive and not np.isfinite(changes.get("step", settings.step)):
        raise SimulationError(
            "step", f"{kind.name!r} needs a step, which the scene does not set; pass step="
        )
    requested = replace(settings, **changes)
    return scene if requested == settings else with_settings(scene, requested)


def _worlds(scenes: list[Scene], request: Request) -> _Worlds:
    """Return the starts of every world, by default those of the scenes."""
    goes_on = request.state is not None
    q0 = _starts(request.q0, [scene.state.q for scene in scenes], "q0", goes_on=goes_on)
    v0 = _starts(request.v0, [scene.state.v for scene in scenes], "v0", goes_on=goes_on)
    q0, v0 = _broadcast(q0, v0)
    lost = np.asarray(~(np.isfinite(q0).all(axis=1) & np.isfinite(v0).all(axis=1)))
    if len(scenes) > 1 and len(scenes) != len(q0):
        problem = f"there are {len(scenes)} scenes for {len(q0)} worlds"
        raise ValueError(f"{problem}; pass one scene for all, without a list, or one for each")
    count, near = len(q0), [scene.state.loop_q for scene in scenes]
    loop_q = np.array(near if len(near) == count else near * count, q0.dtype)
    if lost.any():
        q0, v0 = q0.copy(), v0.copy()
    for k in np.flatnonzero(lost).tolist():  # in place of what is lost, which no result shows
        own_start = scenes[k if len(scenes) > 1 else 0].state
        q0[k], v0[k] = own_start.q, own_start.v
    state, own = request.state, _world_numbers(request, count)
    worlds = _Worlds(
        scenes, q0, v0, loop_q, request.threads, request.signals, request.contacts, own
    )
    if state is None:
        return worlds
    start_loop_q, loop_q = loop_q, np.array(np.atleast_2d(state.loop_q), q0.dtype)
    scheme = np.array(np.atleast_2d(state.scheme), q0.dtype)
    if len(loop_q) != count or len(scheme) != count:
        held = "1 world" if len(loop_q) == 1 else f"{len(loop_q)} worlds"
        problem = f"state is that of {held}, but this rollout has {count}"
        raise ValueError(f"{problem}; pass the state of a rollout with as many worlds")
    signals = np.array(np.atleast_2d(state.signals), float)
    if lost.any():
        loop_q[lost], scheme[lost] = start_loop_q[lost], 0.0
        if scenes[0].signals is not None:
            signals[lost] = start_numbers(scenes[0].signals, own[lost])
    if runs_in_python(scenes[0]) and len(state.memory) != count:
        problem = (
            f"does not hold what {scenes[0].settings.integrator!r} remembers of {count} worlds"
        )
        remedy = "let the scheme keep numbers, texts, arrays, or lists of them"
        raise SimulationError("state", f"{problem}; {remedy}")
    continued = replace(worlds, loop_q=loop_q, scheme=scheme, signals=signals)
    return replace(continued, start=state.t, lost=lost, memory=state.memory)


def _controls(worlds: _Worlds, request: Request, rows: int) -> Array | None:
    """Return the inputs of every world (worlds, rows, inputs), held from each row to the next."""
    given = request.controls
    if given is None:
        return None
    signals, count = worlds.scenes[0].signals, len(worlds.q0)
    size = 0 if signals is None else sum(len(own.places) for own in signals.inputs)
    if not size:
        problem = "are values of a scene's inputs, and this one has none"
        remedy = 'add a [[signal]] with type = "input", or give forces to a rollout of its model'
        raise SimulationError("controls", f"{problem}; {remedy}")
    if given.shape not in ((rows, size), (count, rows, size)):
        problem = f"controls must have shape ({count}, {rows}, {size}) or ({rows}, {size})"
        raise ValueError(f"{problem}, got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError("controls must be finite, got nan or inf")
    return np.broadcast_to(np.asarray(given, float), (count, rows, size))


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
    end: float | None = (
        None  # [s], of the last row, where rounding would miss the duration by a bit
    )

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


def _runs_in_packs(worlds: _Worlds) -> bool:
    first = worlds.scenes[0]
    return not (find_integrator(worlds.settings.integrator).adaptive or first.spec.events)


@dataclass(frozen=True)
class _PackRun:
    """Run of worlds that are stepped together."""

    run: Rollout
    steps: int  # the largest number of a world
    lost: list[int]  # worlds that ended early
    errors: dict[int, str]  # of those whose cause is known


class _Stopped(NamedTuple):
    """A world that ends all."""

    t: float  # [s]
    world: int
    reason: str


def _in_packs(worlds: _Worlds, blocks: list[_Block]) -> tuple[Rollout, int]:
    """Run worlds side by side, those of scenes together that differ in numbers alone; return the most steps, too."""
    if len(worlds.scenes) == 1:
        groups, found = [np.arange(len(worlds.q0))], [_run_together(worlds, blocks)]
    else:
        groups = [group for group, _ in alike(worlds.scenes)]
        found = [_run_together(worlds.of(group), blocks) for group in groups]
    parts = [part for part in found if isinstance(part, _PackRun)]
    if len(parts) < len(found):
        pairs = zip(groups, found, strict=True)
        ends = [x._replace(world=int(g[x.world])) for g, x in pairs if isinstance(x, _Stopped)]
        raise failed_world("rollout", min(ends).world, min(ends).reason)
    errors = dict[int, str]()
    for group, part in zip(groups, parts, strict=True):
        errors |= {int(group[k]): text for k, text in part.errors.items()}
    run = parts[0].run if len(parts) == 1 else _joined(groups, [part.run for part in parts])
    if errors:
        lost = sum(len(part.lost) for part in parts)
        _warn_of_ends(errors, len(worlds.q0), lost, stacklevel=5)
    else:
        report_lost(run.v, run.t, stacklevel=5)
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

    def texts(each: list[tuple[str, ...]]) -> tuple[str, ...]:
        if not all(each):
            return ()
        found = [""] * count
        for group, own in zip(groups, each, strict=True):
            for k, text in zip(group, own, strict=True):
                found[k] = text
        return tuple(found)

    first, states = runs[0], [run.state for run in runs]
    state = RolloutState(
        states[0].t,
        rows([own.loop_q for own in states]),
        rows([own.scheme for own in states]),
        rows([own.signals for own in states]),
        texts([own.memory for own in states]),
    )
    contacts = first.contacts
    if contacts is not None:
        each = [own for run in runs if (own := run.contacts) is not None]
        forces, impulses = rows([own.force for own in each]), rows([own.impulse for own in each])
        contacts = PairForces(contacts.names, forces, impulses)
    signals = {name: rows([run.signals[name] for run in runs]) for name in first.signals}
    q, v, failures = (
        rows([run.q for run in runs]),
        rows([run.v for run in runs]),
        texts([run.failures for run in runs]),
    )
    return Rollout(first.t, q, v, state, signals, failures=failures, contacts=contacts)


def _run_together(worlds: _Worlds, blocks: list[_Block]) -> _PackRun | _Stopped:
    """Run worlds of one scene, or of scenes that differ in numbers alone."""
    scene, count = worlds.scenes[0], len(worlds.q0)
    scenes = scene if len(worlds.scenes) == 1 else worlds.scenes
    records = WorldRecords(scenes, count, worlds.numbers)
    controls = worlds.controls
    first = None if controls is None or not controls.shape[1] else controls[:, 0]
    records.begin(
        None,
        worlds.start,
        worlds.q0,
        worlds.v0,
        worlds.loop_q,
        worlds.threads,
        first,
        worlds.signals,
    )
    if worlds.scheme is not None:
        size = records.scheme.shape[1] + 5 * records.points
        records.set_scheme_memory(worlds.scheme[:, :size])
    if records.python is not None and worlds.memory:
        for integrator, text in zip(records.python.schemes, worlds.memory, strict=True):
            set_memory(integrator, text)
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
    for rows in _parts_of_rows(len(t), count, points):
        n = rows.stop - rows.start
        found: dict[str, Array] = {
            "q_rows": np.empty((count, n, scene.model.nq)),
            "v_rows": np.empty((count, n, scene.model.nv)),
        }
        if worlds.recorded and held is not None:
            found["signal_rows"] = np.zeros((count, n, held.shape[1]))
        if reports:
            found["report_rows"] = np.zeros((count, n, points, NUMBERS))
        own = None
        if controls is not None:
            own = np.array(controls[:, rows.start - 1 : rows.stop])
        reached = records.advance(
            t[rows], worlds.threads, rows=found, report=report, inputs=own, stops=worlds.stops
        )
        if worlds.stops and (failed := records.first_lost()) is not None:
            text = str(explain(records.failure(failed)))
            return _Stopped(float(records.t[failed]), failed, text)
        q[:, rows], v[:, rows] = found["q_rows"], found["v_rows"]
        for k in range(n):
            row, alive = rows.start + k, np.flatnonzero(reached > k)
            touching = found["report_rows"][:, k] if reports else None
            if "signal_rows" in found and len(alive):
                at_row = q[alive, row], v[alive, row], records.loop_q[alive]
                numbers = found["signal_rows"][alive, k]
                with records.scene_with_numbers(alive.astype(np.int32)) as own_scene:
                    own_report = None if touching is None else touching[alive]
                    recorder.record(row, alive, own_scene, t[row], *at_row, numbers, own_report)
            if worlds.contacts:
                if touching is None:
                    touching = start_report(
                        scene, np.nan_to_num(q[:, row]), np.nan_to_num(v[:, row])
                    )
                forces.add(row, touching, reached > k)
    unstable = _unstable_worlds(records, t, q, v, None if held is None else begun)
    if worlds.stops and unstable:
        failed = min(unstable, key=lambda k: (unstable[k][0], k))
        row, text = unstable[failed]
        return _Stopped(float(t[row]), failed, text)
    lost, errors = _lost_worlds(records, unstable)
    failures = tuple(_failure(k, v[k], t, errors) if k in lost else "" for k in range(count))
    for array in (q, v, *recorder.found.values()):
        for k, row in ((k, row) for k, (row, _) in unstable.items()):
            array[k, row:] = np.nan
    scheme = records.scheme_memory()
    schemes = () if records.python is None else records.python.schemes
    state = RolloutState(
        float(t[-1]), records.loop_q.copy(), scheme, records.signals.copy(), _memories(schemes)
    )
    run = Rollout(t, q, v, state, recorder.found, failures=failures, contacts=forces.found)
    return _PackRun(run, int(records.steps.max()), lost, errors)


def _memories(schemes: Sequence[Integrator]) -> tuple[str, ...]:
    """Return what schemes in Python remember; nothing if texts cannot hold it."""
    try:
        return tuple(memory_of(scheme) for scheme in schemes)
    except TypeError:
        return ()


def _parts_of_rows(rows: int, worlds: int, points: int) -> Iterator[slice]:
    """Yield the rows after the start in parts whose contact reports fit into memory."""
    most = max(1, MOST_NUMBERS // (worlds * points * NUMBERS + 1))
    for begin in range(1, rows, most):
        yield slice(begin, min(begin + most, rows))


def _unstable_worlds(
    records: WorldRecords, t: Array, q: Array, v: Array, begun: Array | None
) -> dict[int, tuple[int, str]]:
    """Return the worlds whose steps were unstable, each with the row from which on it is lost, and why.

    Steps that do not follow their velocity are recognised at the last row; `begun` (worlds, numbers) are the numbers of
    the signals at the start.
    """
    scene, found = records.scene, dict[int, tuple[int, str]]()
    if len(t) < 2:
        return found
    span = float(t[0]), float(t[-1])
    if begun is not None:
        states = q[:, 0], v[:, 0], begun, records.signals
        grown = growing_worlds(records.scene_of, span, *states)
        found |= {k: (1, str(error)) for k, error in grown.items()}
    if not is_explicit(scene):
        return found
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
        found[k] = max(first, 1), str(error)
    return found


def _lost_worlds(
    records: WorldRecords, unstable: Mapping[int, tuple[int, str]]
) -> tuple[list[int], dict[int, str]]:
    """Return the worlds that ended early, and why, of those whose cause is known."""
    lost = sorted({*np.flatnonzero(records.status != Status.RUNNING).tolist(), *unstable})
    errors = {k: text for k, (_, text) in unstable.items()}
    for k in lost:
        if k not in errors and (
            records.status[k] == Status.UNSOLVED
            or records.python is not None
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

    def record_world(
        self,
        k: int,
        row: int,
        t: Array,
        q: Array,
        v: Array,
        loop_q: Array,
        scene: Scene,
        signals: SignalRun | None,
        numbers: Array | None = None,
        report: Array | None = None,
    ) -> None:
        """Record rows of world k from `row` on."""
        if not self._wanted or signals is None or not len(t):
            return
        own = signals.numbers[None] if numbers is None else numbers
        rows = signals_of_states(scene, t, q, v, own, loop_q, report)
        for s in self._wanted:
            values = rows[:, s.first] if s.is_single else rows[:, s.first : s.first + s.size]
            self.found[s.name][k, row : row + len(t)] = values


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

    def record_world(self, k: int, row: int, report: Array | None) -> None:
        """Record rows of world k from `row` on."""
        if self.found is None or report is None:
            return
        rows = slice(row, row + len(report))
        self.found.force[k, rows], self.found.impulse[k, rows] = pair_sums(self._contacts, report)


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


def _one_by_one(worlds: _Worlds, blocks: list[_Block]) -> tuple[Rollout, int]:
    """Run every world as `simulate` does, NaN after its end; return the largest number of steps, too."""
    t = np.concatenate([[worlds.start], *(block.times for block in blocks)])
    count, model = len(worlds.q0), worlds.scenes[0].model
    q, v = np.full((count, len(t), model.nq), np.nan), np.full((count, len(t), model.nv), np.nan)
    q[:, 0], v[:, 0] = worlds.q0, worlds.v0
    memories = [SolverState(worlds.scenes[0]) for _ in range(count)]
    recorder, forces = (
        _SignalRecorder(worlds, count, len(t)),
        _ContactRecorder(worlds, count, len(t)),
    )
    numbers = np.zeros((count, model.signal_numbers))
    loop_q, events = worlds.loop_q.copy(), [joined([], model.nq, model.nv)] * count
    errors: dict[int, str] = {}
    slow: dict[int, str] = {}
    steps = [0] * count
    first_failed = count  # world that stops those of higher numbers

    def run(k: int) -> Iterator[None]:
        """Run a world, yielding after each segment."""
        nonlocal first_failed
        if k > first_failed:
            return
        scene, row, passed = worlds.scene(k, float(t[-1])), 1, []
        own_controls = worlds.controls is not None and worlds.controls.shape[1]
        inputs = worlds.controls[k, 0] if own_controls and worlds.controls is not None else None
        signals = begin_signals(scene, worlds.start, int(worlds.numbers[k]), inputs)
        if signals is not None and worlds.signals is not None:
            signals.numbers[:] = worlds.signals[k]
            signals.jumped = signals.is_instant(worlds.start)
            if inputs is not None:
                signals.set_inputs(inputs)
        own_q, own_v, near = (x[k : k + 1] for x in (worlds.q0, worlds.v0, worlds.loop_q))
        recorder.record_world(k, 0, t[:1], own_q, own_v, near, scene, signals)
        if worlds.scheme is not None:
            memories[k].numbers[:] = worlds.scheme[k]
        scheme = memories[k].scheme
        if scheme is not None and worlds.memory:
            set_memory(scheme, worlds.memory[k])
        try:
            own = None if worlds.controls is None else worlds.controls[k]
            guard = StepGuard(scene, None, energy=False, start=worlds.start)
            for part in _parts(scene, t, memories[k], signals, partial(slow.setdefault, k), own):
                guard.check(part)
                n = len(part.t)
                q[k, row : row + n], v[k, row : row + n] = part.q, part.v
                states = part.q, part.v, part.loop_q, scene, signals, part.signals
                recorder.record_world(k, row, part.t, *states, part.report)
                report = part.report
                if report is None and worlds.contacts:
                    report = start_report(scene, part.q, part.v)
                forces.record_world(k, row, report)
                if signals is not None:
                    numbers[k] = signals.numbers
                loop_q[k] = part.loop_q[-1] if n else loop_q[k]
                row += n
                steps[k] += part.steps
                at = part.event
                if at is not None:
                    name = scene.spec.events[at.index].name
                    passed.append(Events(np.array([at.t]), (name,), at.q[None], at.v[None]))
                    events[k] = joined(passed, model.nq, model.nv)
                if k > first_failed:
                    return
                yield
        except SimulationError as error:
            errors[k] = str(error)
            if worlds.stops:
                first_failed = min(k, first_failed)

    _on_threads(run, count, 1 if _runs_python(worlds) else worlds.threads)
    if errors and worlds.stops:
        raise failed_world("rollout", min(errors), errors[min(errors)])
    if errors:
        _warn_of_ends(errors, count, len(errors), stacklevel=4)
    if slow:
        first = min(slow)
        text = f"rollout: world {first} of {len(slow)} such worlds: {slow[first]}"
        warnings.warn(text, PysimWarning, stacklevel=4)
    scheme = np.array([memory.numbers for memory in memories])
    own = tuple(events) if worlds.scenes[0].spec.events else ()
    failures = tuple(errors.get(k, "") for k in range(count))
    schemes = [memory.scheme for memory in memories if memory.scheme is not None]
    state = RolloutState(float(t[-1]), loop_q, scheme, numbers, _memories(schemes))
    run_of_all = Rollout(t, q, v, state, recorder.found, own, failures, forces.found)
    return run_of_all, max(steps)


def _parts(
    scene: Scene,
    t: Array,
    memory: SolverState,
    signals: SignalRun | None,
    report: Callable[[str], object],
    controls: Array | None = None,
) -> Iterator[Segment]:
    """Yield the segments of a world through its output times; with controls, each interval by itself."""
    if controls is None:
        yield from run_of(scene, memory, signals, warn=report).from_start(iter(t.tolist()))
        return
    assert signals is not None
    run: ResumableRun | None = None
    for row in range(len(controls)):
        if row:  # those of the first row are set at the start
            signals.set_inputs(controls[row])
        signals.inputs_until = float(t[row + 1])
        signals.next_inputs = controls[min(row + 1, len(controls) - 1)]
        part = None
        ends = iter(t[row : row + 2].tolist())
        if isinstance(run, RecordRun):  # a scheme in Python goes on with what it remembers
            parts = run.segments(scene.state, ends)
        elif isinstance(run, EventRun):
            parts = run.from_start(ends)
        else:
            run = run_of(scene, memory, signals, warn=report)
            parts = run.from_start(ends)
        for part in parts:
            yield _with_next_inputs(part, signals)
            at = part.event
            if at is not None and scene.spec.events[at.index].stop:
                return
        assert part is not None
        scene = replace(scene, state=State(part.q[-1], part.v[-1], part.loop_q[-1]))


def _with_next_inputs(part: Segment, signals: SignalRun) -> Segment:
    """Return outputs; one at the end of an interval has the inputs of the next one."""
    if part.signals is None or not part.t.size or part.t[-1] < signals.inputs_until:
        return part
    assert signals.next_inputs is not None
    rows = part.signals.copy()
    rows[-1, signals.input_places] = signals.next_inputs
    return replace(part, signals=rows)


def _runs_python(worlds: _Worlds) -> bool:
    """Return whether steps call Python, so that threads cannot share the work."""
    signals = worlds.scenes[0].signals
    return runs_in_python(worlds.scenes[0]) or (signals is not None and bool(signals.callbacks))


def _on_threads(run: Callable[[int], Iterator[None]], count: int, threads: int) -> None:
    """Exhaust run(0) … run(count − 1) on threads; an error or an interrupt ends all of them."""
    workers = min(count, threads or cpu_count() or 1)
    if workers == 1:
        for k in range(count):
            deque(run(k), maxlen=0)
        return
    ended = Event()

    def exhaust(k: int) -> None:
        for _ in run(k):
            if ended.is_set():
                return

    with ThreadPoolExecutor(workers) as pool:
        try:
            deque(pool.map(exhaust, range(count)), maxlen=0)
        except BaseException:
            ended.set()
            raise


def _without_axis(run: Rollout) -> Rollout:
    """Return the rollout of a single world without the axis of worlds."""
    own = run.state
    state = RolloutState(own.t, own.loop_q[0], own.scheme[0], own.signals[0], own.memory)
    signals = {name: values[0] for name, values in run.signals.items()}
    contacts = run.contacts
    if contacts is not None:
        contacts = replace(contacts, force=contacts.force[0], impulse=contacts.impulse[0])
    return replace(run, q=run.q[0], v=run.v[0], state=state, signals=signals, contacts=contacts)
