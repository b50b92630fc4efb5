"""Signals of a run: their state, the instants of sampled blocks, and the forces of actuators."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from pysim import _engine
from pysim.errors import JointError, PysimError
from pysim.tracing.author_code import author_error, method_place
from pysim.tracing.random_numbers import world_key
from pysim.typing import Array
from pysim.worlds.accelerations import accelerations_and_forces, forces_of_actuators
from pysim.worlds.contact_readings import set_contact_numbers, with_contact_numbers
from pysim.worlds.contact_report import start_report

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pysim.elements.graph_types import Callback, CompiledSignals
    from pysim.worlds.loading import Scene

MOST_NEWTON_STEPS = 12  # steps of Newton's method towards initial values that depend on one another
INITIAL_VALUE_TOLERANCE = 1e-10  # what is left of them, relative to 1 and their size
SAME_INSTANT = 1e-9  # of a period: an output this close to an instant is at the instant


@dataclass
class SignalRun:
    """State of the signals in one or many worlds: numbers (…, signal_numbers), changed in place.

    If these are some of more worlds, `worlds` (n,) has their numbers, and `count` is how many there are.
    """

    scene: Scene
    numbers: Array
    calls: bool = True  # whether controllers in Python are called
    worlds: NDArray[np.int32] | None = None
    count: int = 0
    _measured: dict[str, Array | None] = field(default_factory=dict)  # of the step before

    @property
    def periods(self) -> tuple[float, ...]:
        """Periods [s] of the sampled blocks."""
        return () if self.scene.signals is None else self.scene.signals.periods

    def set_inputs(self, values: Array) -> None:
        """Set the inputs of the scene (…, inputs)."""
        self.numbers[..., self.input_places] = values

    @property
    def input_places(self) -> list[int]:
        """Places of the scene's inputs among the numbers."""
        assert self.scene.signals is not None
        return [place for own in self.scene.signals.inputs for place in own.places]

    def is_instant(self, t: float) -> bool:
        """Return whether a sampled block has run at t [s], so that held numbers have changed since the last step."""
        nearest = (abs(t - round(t / period) * period) / period for period in self.periods)
        return any(away <= SAME_INSTANT for away in nearest)

    def begin(self, t: float, q: Array, v: Array, loop_q: Array, threads: int = 1) -> None:
        """Set the states that depend on the start, and run all sampled blocks, at t [s]."""
        assert self.scene.signals is not None
        for callback in self.scene.signals.callbacks if self.calls else ():
            if self.worlds is None or len(self.worlds) == self.count:
                callback.plugin.begin(len(np.atleast_2d(self.numbers)))
            else:
                callback.plugin.begin_again(self.worlds)
        due = (1 << (self.scene.signals.begins + len(self.periods))) - 1
        if self.scene.signals.settled:
            self.settle(t, q, v, loop_q, threads)
            due &= ~((1 << self.scene.signals.begins) - 1)
        self._run(t, due, q, v, loop_q, first=True, threads=threads)

    def settle(self, t: float, q: Array, v: Array, loop_q: Array, threads: int = 1) -> None:
        """Set initial values that depend on one another, and the held outputs that they read, at t [s]."""
        assert self.scene.signals is not None
        begin = (1 << self.scene.signals.begins) - 1
        due = (1 << (self.scene.signals.begins + len(self.periods))) - 1
        called = sum(1 << callback.bit for callback in self.scene.signals.callbacks)
        self._settle(begin, due & ~(begin | called), t, q, v, loop_q, threads)

    def _settle(
        self, begin: int, sampled: int, t: float, q: Array, v: Array, loop_q: Array, threads: int
    ) -> None:
        """Set initial values: those z that depend on one another, z = f(z), by Newton's method, if there are some.

        f runs the sampled blocks, whose outputs initial values may read, and then the blocks that compute these.
        """
        assert self.scene.signals is not None
        at, outputs = (
            list(places)
            for places in (self.scene.signals.settled, self.scene.signals.settled_outputs)
        )
        self._run_engine(t, begin, q, v, loop_q, first=True, threads=threads)
        start = self.numbers.copy()
        z = start[..., at]

        def place(values: Array) -> None:
            """Set initial values, and the outputs of the sampled blocks that have some."""
            self.numbers[:] = start
            self.numbers[..., at] = values
            if sampled:
                self._run_engine(t, sampled, q, v, loop_q, first=True, threads=threads)
            own = self.numbers[..., outputs].copy()
            self.numbers[:] = start
            self.numbers[..., at], self.numbers[..., outputs] = values, own

        def f(values: Array) -> Array:
            place(values)
            if sampled:
                self._run_engine(t, sampled, q, v, loop_q, first=True, threads=threads)
                self.numbers[..., at] = values
            self._run_engine(t, begin, q, v, loop_q, first=True, threads=threads)
            found = self.numbers[..., at].copy()
            self.numbers[:] = start
            return found

        settles = np.zeros(z.shape[:-1], bool)  # world by world
        with np.errstate(all="ignore"):
            for _ in range(MOST_NEWTON_STEPS):
                left = f(z) - z
                most = INITIAL_VALUE_TOLERANCE * (1 + np.abs(z))
                settles |= np.all(np.abs(left) <= most, axis=-1)
                if settles.all():
                    break
                slopes = np.empty((*z.shape, len(at)))
                for k in range(len(at)):
                    step = np.zeros(len(at))
                    step[k] = 0.5
                    slopes[..., k] = f(z + step) - f(z - step)
                change = _solutions(np.eye(len(at)) - slopes, left)
                z = np.where(settles[..., None], z, z + change)
        place(z)
        self.numbers[:] = np.where(settles[..., None], self.numbers, start)

    def update(
        self,
        t: float,
        due: int,
        q: Array,
        v: Array,
        loop_q: Array,
        threads: int = 1,
        report: Array | None = None,
    ) -> None:
        """Run the sampled blocks that are due at t [s].

        What they read of accelerations and contacts follows the contact forces of `report` (…, points, 18) after a
        convex step.
        """
        if not due:
            return
        self._measured = {}
        if report is not None and self.measures(due):
            self._measured = self._after_contacts(t, q, v, loop_q, report)
        if self.touches(due):
            self._set_contacts(q, v, report)
        self._run(t, due, q, v, loop_q, first=False, threads=threads)

    def measures(self, due: int) -> bool:
        """Whether a block that is due reads accelerations or wrenches."""
        return self.scene.signals is not None and bool(due & self.scene.signals.measuring)

    def touches(self, due: int) -> bool:
        """Whether a block that is due reads contacts."""
        return self.scene.signals is not None and bool(due & self.scene.signals.touching)

    def _set_contacts(self, q: Array, v: Array, report: Array | None) -> None:
        """Set the numbers of contact sensors."""
        q, v, numbers = (np.atleast_2d(x) for x in (q, v, self.numbers))
        if report is not None:
            report = report.reshape(len(q), *report.shape[-2:])
        set_contact_numbers(self.scene, numbers, q, v, report)

    def _after_contacts(
        self, t: float, q: Array, v: Array, loop_q: Array, report: Array
    ) -> dict[str, Array | None]:
        """Return the accelerations and wrenches at the end of a convex step."""
        leading = q.shape[:-1]
        q, loop_q = np.atleast_2d(q), np.atleast_2d(loop_q)
        rates, numbers = np.atleast_2d(v), np.atleast_2d(self.numbers)
        report = report.reshape(len(q), *report.shape[-2:])
        tau = forces_of_actuators(self.scene, np.full(len(q), t), q, rates, numbers)
        a, _, f_ext = accelerations_and_forces(self.scene, t, tau, q, rates, loop_q, report)
        wrenches = None if f_ext is None else f_ext.reshape(*leading, *f_ext.shape[1:])
        return {"a": a.reshape(v.shape), "f_ext": wrenches}

    def _run(
        self,
        t: float,
        due: int,
        q: Array,
        v: Array,
        loop_q: Array,
        *,
        first: bool,
        threads: int,
    ) -> None:
        """Run the due blocks: the engine's up to one that is called in Python, that one, and so on."""
        callbacks = () if self.scene.signals is None else self.scene.signals.callbacks
        for callback in callbacks:
            if not due >> callback.bit & 1:
                continue
            before = due & ((2 << callback.bit) - 1)
            self._run_engine(t, before, q, v, loop_q, first=first, threads=threads)
            if self.calls:
                self._call(callback, t)
            due &= ~before
        if due:
            self._run_engine(t, due, q, v, loop_q, first=first, threads=threads)

    def _call(self, callback: Callback, t: float) -> None:
        """Call a controller in Python for all worlds, and hold what it returns.

        Raises:
            JointError: its code raises, or returns arrays of other shapes; the error names the author's line.
        """
        numbers = np.atleast_2d(self.numbers)
        inputs = SimpleNamespace(
            **{name: numbers[:, list(places)].copy() for name, places in callback.inputs}
        )
        output = callback.plugin.output
        worlds = np.arange(len(numbers)) if self.worlds is None else self.worlds
        available = {"t": t, "inputs": inputs, "worlds": worlds}
        names = [name for name in inspect.signature(output).parameters if name in available]
        try:
            result = output(**{name: available[name] for name in names})
        except PysimError:
            raise
        except Exception as error:
            owner = f"{type(callback.plugin).__qualname__}.output"
            raise author_error(error, output, owner) from error
        parts = (result,) if len(callback.outputs) == 1 else tuple(result)
        for (name, places), part in zip(callback.outputs, parts, strict=True):
            values = np.asarray(part, float)
            wanted = (len(numbers), len(places))
            if values.shape != wanted and values.shape != wanted[: 1 if wanted[1] == 1 else 2]:
                problem = f"must return an array {wanted} for {name!r}, got {values.shape}"
                place = method_place(callback.plugin, "output")
                raise JointError(place, f"{problem}; give a row for each world")
            numbers[:, list(places)] = values.reshape(wanted)

    def _run_engine(
        self,
        t: float,
        due: int,
        q: Array,
        v: Array,
        loop_q: Array,
        *,
        first: bool,
        threads: int,
    ) -> None:
        _engine.update_signals(
            self.scene.model,
            q,
            v,
            t,
            due,
            self.numbers,
            self.scene.actuation,
            loop_q=loop_q.copy(),
            first=first,
            contacts=self.scene.smooth_contacts,
            threads=threads,
            **self._measured,
        )


def _solutions(matrices: Array, b: Array) -> Array:
    """Return the solutions (…, n) of sets of equations (…, n, n), NaN where one is singular."""
    try:
        return np.asarray(np.linalg.solve(matrices, b[..., None])[..., 0])
    except np.linalg.LinAlgError:  # no start, or any, is that of its input
        if matrices.ndim == 2:
            return np.full_like(b, np.nan)
        return np.array([_solutions(A, own) for A, own in zip(matrices, b, strict=True)])


def begin_signals(
    scene: Scene, t: float, world: int = 0, inputs: Array | None = None, *, calls: bool = True
) -> SignalRun | None:
    """Return the signals of a run that begins with the scene's state at t [s]; None if it has none.

    `world` is the number of the world, which selects its random numbers; `inputs` (inputs,) are those at the start.
    Without `calls`, controllers in Python are not called, and their outputs are 0.
    """
    if scene.signals is None:
        return None
    run = SignalRun(scene, start_numbers(scene.signals, world), calls=calls)
    if inputs is not None:
        run.set_inputs(inputs)
    state = scene.state
    run.begin(t, state.q, state.v, state.loop_q)
    return run


def start_numbers(signals: CompiledSignals, worlds: ArrayLike) -> Array:
    """Return the numbers of the state before the start, (…, numbers) for numbers of worlds (…)."""
    which = np.asarray(worlds)
    numbers = np.tile(np.array(signals.start, float), (*which.shape, 1))
    if signals.noise is not None:
        numbers[..., signals.noise.place] = world_key(signals.noise.seed, which)
    return numbers


def signals_of_states(
    scene: Scene,
    t: Array,
    q: Array,
    v: Array,
    signals: Array,
    loop_q: Array | None = None,
    report: Array | None = None,
    *,
    measured: bool = True,
    threads: int = 1,
) -> Array:
    """Return the readings (n, readings) of all signals of n states at t (n,) [s].

    `report` (n, points, 18) is that of the contacts; without it they are smooth, or there are none. Without `measured`,
    accelerations, wrenches and contacts are not computed, and signals that depend on them are meaningless. The readings
    of a state whose q, v or t is NaN or infinite are NaN.
    """
    if not (np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(t).all()):
        bad = ~(np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1) & np.isfinite(t))
        t, q, v = t.copy(), q.copy(), v.copy()
        t[bad], q[bad], v[bad] = 0.0, scene.state.q, scene.state.v
        readings = signals_of_states(
            scene, t, q, v, signals, loop_q, report, measured=measured, threads=threads
        )
        readings[bad] = np.nan
        return readings
    a, f_ext = np.zeros(v.shape), None
    if measured and measures_readings(scene):
        tau = forces_of_actuators(scene, t, q, v, signals)
        found = start_report(scene, q, v) if report is None else report
        a, _, f_ext = accelerations_and_forces(scene, t, tau, q, v, loop_q, found)
    if measured:
        signals = with_contact_numbers(scene, signals, q, v, report)
    return np.asarray(
        _engine.read_signals(scene.model, t, q, v, a, signals, f_ext, threads=threads)
    )


def measures_readings(scene: Scene) -> bool:
    """Return whether a signal of the scene depends on accelerations or wrenches."""
    return scene.signals is not None and any(own.is_measured for own in scene.signals.recorded)
