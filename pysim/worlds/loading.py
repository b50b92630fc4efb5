"""Loading of models and scenes: files are read, specifications compiled, and loops assembled."""

from __future__ import annotations

import gc
import math
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import pysim.trajectory.source  # noqa: F401, registers the source of recorded runs
from pysim import _engine
from pysim.contact import compile_contacts, contacts_with_other_numbers
from pysim.errors import ModelError, PysimError, SceneError
from pysim.habits import AttributesByHabit
from pysim.integrators import find_integrator
from pysim.loops.assembly import assemble
from pysim.loops.trivial_rows import without_trivial_rows
from pysim.mechanism.actuation import compile_actuation
from pysim.mechanism.compile import built_tree, compile_tree, invalid_models, start_state
from pysim.mechanism.event_compiler import compile_events
from pysim.mechanism.joint_description import TraceCache
from pysim.mechanism.model import Model, State
from pysim.mechanism.motion_compiler import with_motions
from pysim.mechanism.signal_compiler import (
    compile_signals,
    limited_actuators,
    reflected_inertia,
    with_signals,
)
from pysim.mechanism.signal_reuse import has_same_signals
from pysim.scene.tree import check_followers
from pysim.tracing.recursion import once
from pysim.worlds.contact_readings import check_contact_sensors, contact_sensors
from pysim.worlds.equilibrium import with_equilibrium

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager
    from os import PathLike
    from pathlib import Path

    from numpy.typing import NDArray

    from pysim.contact import CompiledContacts
    from pysim.elements.graph_types import CompiledSignals
    from pysim.mechanism.builder import Builder
    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import ContactsSpec, ModelSpec, SceneSpec, Settings
    from pysim.tracing.open_numbers import OpenRows

_CHECKED_TOGETHER = 512  # scenes
START_IS_DETERMINED = "_start_is_determined"  # attribute of a judged scene; copies do not have it


@dataclass(frozen=True)
class Scene(AttributesByHabit):
    """Compiled scene: a model, its start state, and the settings of the run."""

    model: Model
    state: State
    settings: Settings
    spec: SceneSpec
    actuation: _engine.Actuation
    events: _engine.Events | None = None  # those of spec.events, in their order
    contacts: CompiledContacts | None = None  # that the scheme computes
    signals: CompiledSignals | None = None  # of the scene's blocks

    def __post_init__(self) -> None:
        """Own the arrays of the state, the actuation and the blocks, read-only: what is written would change runs."""
        state, drive = self.state, self.actuation
        if any(x.flags.writeable for x in (state.q, state.v, state.loop_q)):
            own = State(*(_read_only(x) for x in (state.q, state.v, state.loop_q)))
            object.__setattr__(self, "state", own)
        for array in (drive.offset, drive.amplitude, drive.frequency, drive.phase):
            array.flags.writeable = False
        for block in self.spec.blocks:
            block.at.flags.writeable = block.relative_at.flags.writeable = False

    @property
    def smooth_contacts(self) -> _engine.Contacts | None:
        """Contacts that the scheme integrates as smooth forces."""
        if self.contacts is None or find_integrator(self.settings.integrator).contacts:
            return None
        return self.contacts.engine

    @cached_property
    def contact_sensors(self) -> list[tuple[Any, ...]]:
        """Contact sensors as the engine reads them."""
        return contact_sensors(self)

    def __repr__(self) -> str:
        run = self.settings
        step = f"at {run.step:g} s" if math.isfinite(run.step) else "in adaptive steps"
        how = f"{run.integrator} {step} for {run.duration:g} s"
        return f"<pysim.Scene {self.spec.name!r}: {self.model.nbodies} bodies, {how}>"

    def save(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        package_dirs: Iterable[str | PathLike[str]] = (),
    ) -> Path:
        """Write the scene as it was read, with its overrides and included files, to a file of its own.

        Names of meshes and other files become relative to the new file. Values that were given as expressions remain
        expressions.

        Args:
            path: scene file to write, .toml.
            overwrite: replace a file of this name.
            package_dirs: folders in which packages of the scene are looked for.

        Raises:
            SceneError: the file exists, or the state, inertias or settings were changed after the scene was read.
        """
        save_scene = import_module("pysim.scene_files.saved_scene").save_scene  # a layer above
        return cast("Path", save_scene(self, path, overwrite=overwrite, package_dirs=package_dirs))

    def _repr_html_(self) -> str:
        """Return what is in the scene, for notebooks."""
        from pysim.worlds.scene_html import scene_html  # noqa: PLC0415, the table needs us

        return scene_html(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the engine's objects by the arrays and descriptions they are made of."""
        drive = self.actuation
        arrays = (drive.offset, drive.amplitude, drive.frequency, drive.phase)
        return _restored, (self.model, self.state, self.settings, self.spec, arrays, self.signals)


def with_settings(scene: Scene, settings: Settings) -> Scene:
    """Return a scene with other settings, whose start is not reported again."""
    other = replace(scene, settings=settings)
    if START_IS_DETERMINED in scene.__dict__:
        other.__dict__[START_IS_DETERMINED] = scene.__dict__[START_IS_DETERMINED]
    return other


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array that cannot be written: itself if it is one, else a copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def compile_model(spec: ModelSpec, cache: TraceCache | None = None) -> Model:
    """Compile a mechanism; plugins in the `cache` are not traced and checked again.

    Bodies connected by fixed joints become one; every body stays addressable as a frame. Joints keep the file's
    order, depth first, a parent before its children.

    Raises:
        ModelError: the joints do not form a tree, or a joint moves no inertia.
    """
    return without_trivial_rows(compile_tree(spec, cache))


def compile_scene(
    spec: SceneSpec, cache: TraceCache | None = None, opened: OpenRows | None = None
) -> Scene:
    """Compile a scene: its model, start state, prescribed forces and events. Loops are closed.

    Plugins in the `cache` are not traced and checked again. Numbers of the mechanism that are `opened` may change after
    the programs of its signals are recorded.

    Raises:
        ModelError: the mechanism is invalid, or its loops cannot be closed near the given start.
    """
    with rounding_reported(spec):
        return _completed(spec, compile_model(spec.model, cache), opened=opened)


def _completed(
    spec: SceneSpec, model: Model, first: Scene | None = None, opened: OpenRows | None = None
) -> Scene:
    """Return the scene of a compiled model, with its loops closed.

    Args:
        spec: of the scene.
        model: of its mechanism.
        first: a scene of the same file, whose parts are used again where they are the same.
        opened: numbers of the mechanism that may change.
    """
    model, state, driven = with_motions(model, spec, start_state(model))
    if model.loop_names or model.coupling_names:
        with np.errstate(all="ignore"):  # what overflows leaves the loops open
            closed = assemble(model, state.q, state.v, hold=(*spec.hold, *driven))
        state = State(closed.q, closed.v, closed.loop_q)
    model = reflected_inertia(model, spec.blocks)
    kind = find_integrator(spec.settings.integrator)
    if kind.contacts:
        check_followers(spec.model)
    signals = None if first is None else first.signals
    if (
        first is None
        or signals is None
        or signals.callbacks
        or not has_same_signals(spec, model, first.spec, first.model)
    ):
        signals = compile_signals(model, spec, impulses=kind.contacts, opened_rows=opened)
    model = with_signals(model, signals)
    events = compile_events(model, spec.events)
    contacts = _contacts(model, spec, state, first)
    drive = (
        first.actuation
        if first is not None and _are_driven_alike(spec, first.spec)
        else compile_actuation(model, spec)
    )
    scene = Scene(model, state, spec.settings, spec, drive, events, contacts, signals)
    check_contact_sensors(scene)
    return with_equilibrium(scene)


class SceneCompiler:
    """Compiler of scenes of one file.

    A scene whose specification was made of the first one's, by changing numbers, is compiled from the parts of the
    first one that are equal; its checks for a singular mass matrix and negative energies are left to `invalid`.
    """

    def __init__(self) -> None:
        self._cache = TraceCache()
        self._first: tuple[Scene, Model, Builder] | None = None
        self._unchecked: dict[int, tuple[Model, SceneSpec]] = {}  # by number of the world

    def compile(self, spec: SceneSpec, world: int) -> Scene:
        """Compile the scene of a world as `compile_scene` does; it may be invalid until it is checked."""
        with rounding_reported(spec):
            scene = self._with_numbers(spec, world)
            if scene is None:
                model, builder = built_tree(spec.model, self._cache)
                first = None if self._first is None else self._first[0]
                scene = _completed(spec, without_trivial_rows(model), first)
                self._first = self._first or (scene, model, builder)
        return scene

    def _with_numbers(self, spec: SceneSpec, world: int) -> Scene | None:
        if self._first is None or not _differ_in_numbers(spec, self._first[0].spec):
            return None
        scene, first, builder = self._first
        try:
            model = builder.with_numbers(first, spec.model)
            if model is None:
                return None
            found = _completed(spec, without_trivial_rows(model), scene)
        except (PysimError, np.linalg.LinAlgError):  # compiled in full, it may have another error
            return None
        self._unchecked[world] = model, spec
        return found

    def invalid(self) -> Iterator[tuple[int, PysimError]]:
        """Yield the numbers and errors of the worlds whose scenes `compile_scene` would reject."""
        numbers = list(self._unchecked)
        for begin in range(0, len(numbers), _CHECKED_TOGETHER):
            some = numbers[begin : begin + _CHECKED_TOGETHER]
            for at in invalid_models([self._unchecked[k][0] for k in some]).tolist():
                try:
                    compile_scene(self._unchecked[some[at]][1], self._cache)
                except PysimError as error:
                    yield some[at], error


def _differ_in_numbers(spec: SceneSpec, first: SceneSpec) -> bool:
    """Return whether a specification was made of another one by changing numbers (scene/toml/world_specs.py)."""
    return spec.settings is first.settings


def _are_driven_alike(spec: SceneSpec, first: SceneSpec) -> bool:
    """Return whether two scenes have the same prescribed forces."""
    same = _differ_in_numbers(spec, first) and spec.actuators is first.actuators
    return same and limited_actuators(spec) == limited_actuators(first)


def _touch_alike(spec: SceneSpec, first: SceneSpec) -> bool:
    """Return whether the contacts of two scenes differ in numbers of their surfaces alone."""
    contacts, others = spec.model.contacts, first.model.contacts
    if contacts is None or others is None or not _differ_in_numbers(spec, first):
        return False
    bodies = zip(spec.model.bodies, first.model.bodies, strict=True)
    joints = zip(spec.model.joints, first.model.joints, strict=True)
    if any(a.collisions is not b.collisions for a, b in bodies):
        return False
    if any(a.at is not b.at for a, b in joints):
        return False
    return contacts is others or _structure_of(contacts) == _structure_of(others)


def _structure_of(contacts: ContactsSpec) -> list[object]:
    """Return what numbers of contacts change beside laws: which surfaces resist turning, and how belts move."""
    surfaces = (*contacts.materials.values(), *(pair.surface for pair in contacts.pairs))
    resist = [(bool(own.rolling), bool(own.spinning)) for own in surfaces]
    return [*resist, *(pair.surface_velocity for pair in contacts.pairs)]


def _contacts(
    model: Model, spec: SceneSpec, state: State, first: Scene | None = None
) -> CompiledContacts | None:
    """Return the contacts that the scheme of a run needs; those of a first scene where shapes are the same."""
    settings, kind = spec.settings, find_integrator(spec.settings.integrator)
    impacts = settings.contact_law == "impact"
    if not (kind.contacts or (kind.smooth and model.spec.contacts is not None)):
        return None
    if first is not None and first.contacts is not None and _touch_alike(spec, first.spec):
        return contacts_with_other_numbers(
            model, first.contacts, settings.slip_speed, impacts=impacts
        )
    return compile_contacts(model, settings.slip_speed, impacts=impacts, q=state.q)


def _restored(
    model: Model,
    state: State,
    settings: Settings,
    spec: SceneSpec,
    actuation: tuple[NDArray[np.float64], ...],
    signals: CompiledSignals | None,
) -> Scene:
    events = compile_events(model, spec.events)
    contacts = _contacts(model, replace(spec, settings=settings), state)
    drive = _engine.Actuation(*actuation)
    return Scene(model, state, settings, spec, drive, events, contacts, signals)


def load_model(
    path: str | PathLike[str],
    free_base: bool = False,
    mimic: bool = True,
    package_dirs: Iterable[str | PathLike[str]] = (),
    *,
    inertia: InertiaPolicy = "check",
    allow_code: bool = False,
    strict: bool = False,
) -> Model:
    """Read a mechanism from a scene, or from a file of another program, and compile it.

    Args:
        path: the file, or `package://NAME/path`.
        free_base: give a URDF's root link a free joint named "root_joint" to the world.
        mimic: let mimic joints follow; otherwise each is an independent coordinate.
        package_dirs: folders that hold packages, or are packages; searched first, and meshes in them may be read.
        inertia: how to treat a physically inconsistent inertia. "check" warns of one in a robot file and rejects one in
            a scene, "strict" rejects both, "nearest" replaces it with the nearest valid one and logs that.
        allow_code: whether a scene may run Python code that it names, such as joint plugins.
        strict: reject what an importer would leave out of the model, such as a missing mesh; otherwise there is a
            warning.

    Raises:
        SceneError: the file cannot be read, or is invalid.
        ModelError: its content is not a valid mechanism.

    >>> pysim.load_model("scenes/double_pendulum.toml").joint_names
    ('shoulder', 'elbow')
    """
    from pysim.scene import read_model  # noqa: PLC0415, pydantic and lxml load when first used

    with no_garbage_collection(), not_within_itself(path):
        return compile_model(
            read_model(
                path,
                free_base=free_base,
                mimic=mimic,
                package_dirs=package_dirs,
                inertia=inertia,
                allow_code=allow_code,
                strict=strict,
            )
        )


@contextmanager
def rounding_reported(spec: SceneSpec) -> Iterator[None]:
    """Report a matrix that cannot be factored because its numbers differ by more than double precision resolves."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        problem = f"its masses, lengths or stiffnesses differ too much for double precision, {error}".lower()
        raise ModelError(str(spec.path), f"{problem}; check their units") from error


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Return a context without garbage collection.

    The tables and specifications of a large model are millions of objects that stay; searching them for garbage again
    and again takes a third of the time of loading 10 000 bodies.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def not_within_itself(path: str | PathLike[str]) -> AbstractContextManager[None]:
    """Return a context in which a file is loaded; SceneError if its own plugin loads it again meanwhile."""
    problem = "a plugin loads the file that is being loaded for it; load another one, or load it elsewhere"
    return once(("file", os.path.realpath(path)), lambda: SceneError(str(path), problem))
