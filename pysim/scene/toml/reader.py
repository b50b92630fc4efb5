"""Reader of scene files, which checks a TOML document key by key and returns a specification."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import ValidationError

from pysim.elements.force import find_force
from pysim.errors import PysimError, PysimWarning, SceneError
from pysim.joints import find_joint
from pysim.joints.loop_joints import find_loop_type
from pysim.scene.attachment import Parts
from pysim.scene.drive_loads import drive_loads
from pysim.scene.importer import scene_text
from pysim.scene.packages import allowed_folders, is_shared
from pysim.scene.spec import (
    EventSpec,
    FrameSpec,
    ModelSpec,
    RenderSpec,
    SceneSpec,
    Settings,
    with_fields,
)
from pysim.scene.stop_defaults import (
    Demand,
    SoftStop,
    demand_of,
    soft_stop_text,
    with_stops,
)
from pysim.scene.stop_forces import with_stop_forces
from pysim.scene.toml.actuators import read_actuators
from pysim.scene.toml.blocks import BlockReader
from pysim.scene.toml.events import read_events, release_forces
from pysim.scene.toml.includes import (
    INCLUDE,
    cycle_text,
    read_with_includes,
    with_includes,
)
from pysim.scene.toml.keyframes import read_keyframes, started
from pysim.scene.toml.mechanism import MechanismReader
from pysim.scene.toml.number_texts import TABLE as PARAMETERS, check_new_parameters, replace_texts
from pysim.scene.toml.overrides import apply_overrides, checked_overrides
from pysim.scene.toml.plausibility import check_numbers
from pysim.scene.toml.plugin_keys import gather_parameters, load_plugins
from pysim.scene.toml.problems import Problems, is_list_of_tables
from pysim.scene.toml.records.tables import SHARED_KEYS, Scene
from pysim.scene.toml.settings import read_settings
from pysim.scene.toml.source import INCLUDED, source_of
from pysim.scene.toml.table_cache import TableCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from os import PathLike

    from pysim.scene.inertia_policy import InertiaPolicy
    from pysim.scene.spec import BlockSpec
    from pysim.scene.toml.records.tables import Model as ModelTable
    from pysim.scene.toml.source import Source, Steps

BUILT = "scene"  # place of the tables of a scene made in Python that has no name
MOST_NESTED = 20  # scenes that attach one another
MOST_ATTACHED = 1000  # scenes that a scene attaches, with those that these attach
_ARRAYS = [name for name, info in Scene.model_fields.items() if is_list_of_tables(info)]


def read_toml(
    path: Path,
    overrides: Mapping[str, object],
    *,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> SceneSpec:
    """Return the specification of a scene file with overrides.

    Raises:
        SceneError: the file is invalid; the error lists every problem as `file:line:column: key.path`.
        ModelError: bodies and joints do not form a tree.
    """
    reading = Reading(tuple(map(Path, package_dirs)), allow_code)
    text, folders = scene_text(path), reading.folders  # the text of a model that runs by itself
    source = read_with_includes(path, folders) if text is None else source_of(str(path), text)
    return read_tables(source, path, overrides, TableCache(), reading).spec


def read_built(
    text: str,
    folder: Path,
    label: str = BUILT,
    *,
    allow_code: bool = False,
    package_dirs: Iterable[str | PathLike[str]] = (),
) -> SceneSpec:
    """Return the specification of a scene made in Python, whose files are relative to a folder.

    Messages have the label, such as "scene 'arm'", in place of a file.

    Raises:
        SceneError, ModelError: as in `read_toml`; places are the keys, without lines.
    """
    reading = Reading(tuple(map(Path, package_dirs)), allow_code)
    path = folder / label.replace("/", "_")  # which has the folder alone of a file
    source = with_includes(source_of(str(path), text, label=label), path, reading.folders)
    return read_tables(source, path, {}, TableCache(), reading).spec


def read_again(spec: SceneSpec, overrides: Mapping[str, object]) -> SceneSpec:
    """Return the specification of a scene from the text that it was read from, with further overrides.

    Raises:
        SceneError, ModelError: as in `read_toml`.
    """
    reading = Reading((), allow_code=True)  # whose code has run
    overrides = {**spec.overrides, **overrides}
    return read_tables(_source_again(spec, ()), spec.path, overrides, TableCache(), reading).spec


def tables_of(spec: SceneSpec, folders: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the tables that a scene was read from, with those of included files and its overrides."""
    values = _source_again(spec, folders).values
    apply_overrides(values, spec.overrides)
    values.pop(INCLUDE, None)
    return values


def _source_again(spec: SceneSpec, folders: tuple[Path, ...]) -> Source:
    text = spec.text.partition(INCLUDED)[0]  # texts of included files follow
    return with_includes(source_of(str(spec.path), text), spec.path, folders)


@dataclass(frozen=True)
class Reading:
    """Circumstances of reading a scene file: what it may read and run, and the scenes that attach it."""

    folders: tuple[Path, ...]  # that the user allows
    allow_code: bool
    chain: tuple[Path, ...] = ()  # files that attach one another; empty for the first scene
    has_ground: bool = False  # of the scene that attaches it
    option: Callable[[str], str] | None = None  # place of an override, by its key
    counter: Iterator[int] = field(default_factory=lambda: count(1))  # of all attached scenes


@dataclass(frozen=True)
class ReadScene:
    """Specification of a scene, and what it was made from."""

    spec: SceneSpec
    bare: ModelSpec  # the mechanism before default stops are chosen
    parts: Parts  # of other files
    frames: Mapping[str, FrameSpec]  # in the bodies or frames that the file names
    tables: Scene
    values: dict[str, Any]  # with the keys of plugins in tables of their own
    source: Source
    package_dirs: tuple[Path, ...]
    demand: Demand | None  # on its default stops, None of an attached scene


def read_tables(
    source: Source,
    path: Path,
    overrides: Mapping[str, object],
    table_cache: TableCache,
    reading: Reading,
) -> ReadScene:
    """Read the values of a file, which are changed, with overrides.

    Raises:
        SceneError, ModelError: as in `read_toml`.
    """
    values = source.values
    if checked_overrides(overrides):
        for name in _ARRAYS:
            values.setdefault(name, [])
    parameters = values.get(PARAMETERS, {})
    known = list(parameters) if isinstance(parameters, dict) else []
    changed = apply_overrides(values, overrides, reading.option)
    check_new_parameters(values, changed, known)
    source = replace(source, overridden=changed)
    if (INCLUDE,) in {steps[:1] for steps in changed}:
        raise SceneError(source.where((INCLUDE,)), "is read before keys are set; edit the file")
    load_plugins(source, allow_code=reading.allow_code)
    problems = Problems(source)
    scene = _validated(values, problems)
    package_dirs = (*reading.folders, *_package_dirs(scene, problems, reading.folders))
    reading = replace(reading, folders=package_dirs)
    if not reading.chain:
        reading = replace(reading, counter=count(1))
    mechanism = MechanismReader(scene, problems, path, reading, table_cache, _read_attached)
    bare, parts, frames = mechanism.read()
    model = with_stop_forces(replace(bare, joints=with_stops(bare.joints, bare.bodies)))
    actuators = read_actuators(scene, model, parts, problems)
    blocks = read_blocks(scene, model, parts, package_dirs, problems)
    model = replace(model, keyframes=read_keyframes(scene, model, parts, problems))
    if scene.keyframe is not None:
        model, blocks = started(model, blocks, scene.keyframe, problems)
    settings, render = Settings(), RenderSpec()
    events: tuple[EventSpec, ...] = ()
    demand: Demand | None = None
    if not reading.chain:  # those of an attached scene have no effect
        settings, render = read_settings(scene, model, problems), _render(scene, problems)
        if not problems.entries:
            loads = drive_loads(bare.joints, actuators, blocks, settings.duration)
            demand = demand_of(settings, bare, loads)
            model = with_stops_for(demand, model, bare)
        events = read_events(scene, model, problems)
        model = release_forces(model, events, (*blocks, *parts.blocks), problems)
    problems.check()
    spec = SceneSpec(
        name=model.name,
        model=model,
        actuators=actuators,
        settings=settings,
        render=render,
        text=source.full_text,
        path=path,
        overrides=dict(overrides),
        events=events,
        hold=(*scene.assembly.hold, *parts.hold),
        equilibrium=_in_equilibrium(scene, parts),
        blocks=blocks,
    )
    return ReadScene(spec, bare, parts, frames, scene, values, source, package_dirs, demand)


def _in_equilibrium(scene: Scene, parts: Parts) -> tuple[str, ...]:
    """Return the joints that start in equilibrium, "*" for all."""
    chosen = scene.assembly.equilibrium
    if isinstance(chosen, bool):
        return ("*",) if chosen else parts.equilibrium
    return (*chosen, *parts.equilibrium)


def with_stops_for(demand: Demand, model: ModelSpec, bare: ModelSpec) -> ModelSpec:
    """Return a model whose default stops carry a demand, and warn of those that cannot.

    Args:
        demand: loads of the stops.
        model: the model, with stops of its inertias.
        bare: the same before stops were chosen.
    """
    soft: list[SoftStop] = []
    joints = with_stops(bare.joints, bare.bodies, demand=demand, soft=soft)
    for stop in soft:
        warnings.warn(soft_stop_text(stop, demand), PysimWarning, stacklevel=2)
    stopped = with_stop_forces(replace(bare, joints=joints))
    names = ("stop_stiffness", "stop_damping")
    same = [
        all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
        for a, b in zip(model.joints, stopped.joints, strict=True)
    ]
    chosen = (
        own if equal else with_fields(own, **{name: getattr(other, name) for name in names})
        for own, other, equal in zip(model.joints, stopped.joints, same, strict=True)
    )
    return replace(model, joints=tuple(chosen), forces=stopped.forces)


def _read_attached(
    table: ModelTable, path: Path, at: Steps, source: Source, outer: Path, reading: Reading
) -> SceneSpec:
    """Return the scene of a [[model]] table at a path of a file.

    Raises:
        PysimError: it is invalid, or attaches itself.
    """
    chain = [*(reading.chain or (outer.resolve(),))]
    if path.resolve() in chain:
        problem = f"{cycle_text('attaches', chain, path.resolve())}; remove this one"
        raise SceneError(source.where((*at, "file")), problem)
    if len(chain) > MOST_NESTED:
        problem = f"scenes attach one another more than {MOST_NESTED} deep; attach them to one"
        raise SceneError(source.where((*at, "file")), problem)
    if next(reading.counter) > MOST_ATTACHED:
        problem = f"more than {MOST_ATTACHED} scenes are attached, with those that these attach"
        raise SceneError(source.where((*at, "file")), f"{problem}; use count, or fewer")
    overrides: dict[str, object] = dict(table.overrides)
    if table.inertia is not None:
        overrides["inertia"] = table.inertia

    def option(key: str) -> str:
        given = (key,) if key in table.overrides else (key.partition(".")[0],)
        return source.where((*at, "overrides", *given) if key != "inertia" else (*at, key))

    inner = replace(reading, chain=(*chain, path.resolve()), option=option)
    read = read_with_includes(path, reading.folders)
    return read_tables(read, path, overrides, TableCache(), inner).spec


def _validated(values: dict[str, Any], problems: Problems) -> Scene:
    """Return the tables of a scene; problems of their keys and values are raised together."""
    replace_texts(values, Scene, problems)
    gather_parameters(values, SHARED_KEYS)
    check_numbers(values, (), problems)
    try:
        scene = Scene.model_validate(values)
    except ValidationError as error:
        problems.add_invalid(error, Scene)
        _add_unknown_types(values, problems)
        problems.check()
        raise
    problems.check()
    return scene


def _add_unknown_types(values: Mapping[str, Any], problems: Problems) -> None:
    """Report unknown types of joints and loops together with the other problems."""
    finders = {"joint": find_joint, "loop": find_loop_type, "force": find_force}
    for name, find in finders.items():
        tables = values.get(name, [])
        for k, table in enumerate(tables if isinstance(tables, list) else []):
            kind = table.get("type") if isinstance(table, dict) else None
            try:
                find(kind) if isinstance(kind, str) else None
            except PysimError as error:
                problems.add((name, k, "type"), error.problem)


def read_mechanism(
    path: Path,
    *,
    mimic: bool = True,
    package_dirs: Iterable[str | PathLike[str]] = (),
    inertia: InertiaPolicy = "check",
    allow_code: bool = False,
) -> ModelSpec:
    """Return the mechanism of a scene file; a given inertia policy precedes the file's."""
    overrides = {} if inertia == "check" else {"inertia": inertia}
    model = read_toml(path, overrides, allow_code=allow_code, package_dirs=package_dirs).model
    if mimic:
        return model
    return replace(model, joints=tuple(replace(joint, mimic=None) for joint in model.joints))


def _package_dirs(scene: Scene, problems: Problems, given: tuple[Path, ...]) -> list[Path]:
    """Return the folders that a scene lists; one outside the allowed folders is an error unless the user set it."""
    by_user = any(steps[0] == "package_dirs" for steps in problems.source.overridden)
    folders = []
    for k, name in enumerate(scene.package_dirs):
        base = problems.source.folder(("package_dirs", k))
        folder = base / name
        folders.append(folder)
        place = folder.resolve()
        is_allowed = allowed_folders(base, given).holds(place) and not is_shared(place)
        if not (by_user or is_allowed):
            problem = f"{str(folder.resolve())!r} is outside the folders that a scene may read"
            remedy = "allow it with --package-dir, in Python with package_dirs"
            problems.add(("package_dirs", k), f"{problem}; {remedy}")
        elif not folder.is_dir():
            problem = f"there is no folder {str(folder)!r}; paths are relative to the scene"
            problems.add(("package_dirs", k), problem)
    return folders


def read_blocks(
    scene: Scene,
    model: ModelSpec,
    parts: Parts,
    package_dirs: tuple[Path, ...],
    problems: Problems,
) -> tuple[BlockSpec, ...]:
    """Return the signals, sensors, controllers and actuators of a scene and of the files that it attaches."""
    reader = BlockReader(problems, model, package_dirs)
    return (*reader.read(scene, parts.blocks), *parts.blocks)


def _render(scene: Scene, problems: Problems) -> RenderSpec:
    table = scene.render
    times = [entry.t for entry in table.camera_path or ()]
    for k, (before, after) in enumerate(pairwise(times)):
        if after <= before:
            path: Steps = ("render", "camera_path", k + 1, "t")
            problems.add(path, f"must be later than {before:g} s, got {after:g} s")
    return RenderSpec(**table.spec_fields(RenderSpec))
