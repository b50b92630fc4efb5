"""Settings of a run, from the `[simulation]` and `[output]` tables."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pysim.errors import PysimError, PysimWarning
from pysim.integrators import BUILTIN, check_wheels, find_integrator, make
from pysim.plugins.fields import fields_of
from pysim.scene.spec import Settings
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.toml.records.keys import ALL_JOINTS

if TYPE_CHECKING:
    from pysim.integrators import Integrator, IntegratorType
    from pysim.scene.spec import ModelSpec
    from pysim.scene.toml.problems import Problems
    from pysim.scene.toml.records.tables import Scene, Simulation
    from pysim.scene.toml.source import Steps

STEP = 1e-3  # [s]
MOST_STEPS = 2**53  # steps, outputs or instants: beyond it doubles do not count exactly
STEP_TIME = 1e-6  # [s] of wall time that a step of a small mechanism takes
DAY = 86400.0  # [s]
RTOL = 1e-8
ATOL = 1e-10  # [m, rad and per second]
OUTPUTS = 1000
SPECTRAL_RADIUS = 0.9
PASSES = 2
SLIP_SPEED = 0.01  # [m/s]
REST_SPEED = 1e-6  # [m/s]
LONGEST_STEP = 0.01  # [s] of steps under error control
LEAST_STEP = 1e-4  # of the longest one


def read_settings(scene: Scene, model: ModelSpec, problems: Problems) -> Settings:
    """Return the settings of a run; problems are added to `problems`."""
    table = scene.simulation
    kind = _integrator(scene, model, problems)
    is_controlled = "accuracy" in kind.keys and table.accuracy is not None
    step, step_file = table.step or STEP, ""
    if table.step is None and (kind.adaptive or is_controlled):
        step = math.inf if kind.adaptive else LONGEST_STEP
    elif table.step is None and model.shortest_step is not None:
        step, step_file = model.shortest_step.step, model.shortest_step.file
    _check_count(table.duration, step, ("simulation", "step"), "steps", problems)
    periods = {("sensor", k): block.period for k, block in enumerate(scene.sensor)}
    periods |= {("controller", k): block.period for k, block in enumerate(scene.controller)}
    for path, period in periods.items():
        if period is not None:
            _check_count(table.duration, period, (*path, "period"), "instants", problems)
    if table.step is not None and step > table.duration:
        problem = (
            f"{step:g} [s] is longer than the duration {table.duration:g} [s]; take a smaller step"
        )
        problems.add(("simulation", "step"), problem)
    return Settings(
        table.duration,
        step,
        kind.name,
        _every(scene, 0.0 if kind.adaptive or is_controlled else step, problems),
        _tolerance(scene, "rtol", RTOL, kind, problems),
        _tolerance(scene, "atol", ATOL, kind, problems),
        _parameters(scene, kind, step, problems),
        scene.output.work,
        table.seed,
        _slip_speed(scene, kind, model, problems),
        table.contact_law,
        _rest_speed(scene, kind, model, problems),
        table.checkpoint,
        table.on_failure,
        step_file,
    )


def _integrator(scene: Scene, model: ModelSpec, problems: Problems) -> IntegratorType:
    table = scene.simulation
    named = "integrator" in table.model_fields_set
    try:
        kind = find_integrator(table.integrator if named or not model.contacts else "convex")
        check_wheels(kind, model.wheels)
        check_contacts(kind, model)
    except PysimError as error:
        problems.add(("simulation", "integrator"), error.problem)
        return BUILTIN["rk4"]
    return kind


def check_contacts(kind: IntegratorType, model: ModelSpec) -> None:
    """Reject a scheme that computes no contacts for a scene that has some.

    Raises:
        PysimError: the scene has contacts and the scheme has none.
    """
    if kind.contacts or kind.smooth or model.contacts is None:
        return
    what, cause = "the scene has a ground", "the ground"
    if not model.contacts.grounds:
        what, cause = "bodies of the scene collide", "collision from the bodies"
    problem = f"{kind.name!r} computes no contacts, and {what}"
    raise PysimError("integrator", f'{problem}; take "convex", or remove {cause}')


def without_unsupported_contacts(scene: Scene, model: ModelSpec, problems: Problems) -> ModelSpec:
    """Return a model without the contacts that only its files ask for, if its scheme cannot compute them.

    There is a warning, unless the files' contacts are switched on or off by their key `collision`.
    """
    if model.contacts is None or scene.ground or any(m.collision for m in scene.model):
        return model
    if not model.contacts.grounds:  # the scene lets its own bodies collide
        return model
    table = scene.simulation
    name = table.integrator if "integrator" in table.model_fields_set else "convex"
    try:
        kind = find_integrator(name)
    except PysimError:
        return model  # it is reported with the settings
    try:
        check_contacts(kind, model)
    except PysimError as error:
        reason = error.problem.partition("; ")[0]
        k = next(k for k, m in enumerate(scene.model) if m.collision is None)
        text = f"the contacts of {scene.model[k].file!r} are left out: {reason}"
        place = problems.source.where(("model", k))
        remedy = 'write collision = "none" if that is meant'
        warnings.warn(f"{place}: {text}; {remedy}", PysimWarning, stacklevel=2)
        bodies = tuple(replace(body, collisions=()) for body in model.bodies)
        return replace(model, bodies=bodies, contacts=None)
    return model


def _parameters(
    scene: Scene, kind: IntegratorType, step: float, problems: Problems
) -> dict[str, Any]:
    """Return the keys of the integrator, whose longest step is `step` [s]."""
    table = scene.simulation
    radius = table.spectral_radius
    if radius is not None and "spectral_radius" not in kind.keys:
        problem = (
            f"{kind.name!r} has none; "
            f"remove spectral_radius{problems.unset('simulation', 'spectral_radius')} "
            'or take integrator = "generalized_alpha"'
        )
        problems.add(("simulation", "spectral_radius"), problem, of_key=True)
    elif radius is not None and not 0 <= radius <= 1:
        problem = f"must be from 0 (most damping) to 1 (no damping), got {radius:g}"
        problems.add(("simulation", "spectral_radius"), problem)
    for name in ("passes", "solver_tolerance", "accuracy", "least_step"):
        if getattr(table, name) is not None and name not in kind.keys:
            problem = f'{kind.name!r} has none; remove {name} or take integrator = "convex"'
            problems.add(("simulation", name), problem, of_key=True)
    if kind.plugin is not None:
        return _plugin_parameters(table, kind.plugin, problems)
    if table.parameters and table.integrator == kind.name:  # written in the file itself
        problem = (
            f"{kind.name!r} has none; remove {PARAMETERS}{problems.unset('simulation', PARAMETERS)}"
        )
        problems.add(("simulation", PARAMETERS), problem, of_key=True)
    default = SPECTRAL_RADIUS if radius is None else radius
    own = {"spectral_radius": default, "passes": table.passes or PASSES}
    if table.solver_tolerance is not None:
        own["solver_tolerance"] = table.solver_tolerance
    return {name: own[name] for name in kind.keys if name in own} | _control(
        table, kind, step, problems
    )


def _control(
    table: Simulation, kind: IntegratorType, step: float, problems: Problems
) -> dict[str, Any]:
    """Return the keys of convex steps under error control; none where their size is fixed."""
    least = table.least_step
    if "accuracy" not in kind.keys:
        return {}
    if table.accuracy is None:
        if least is not None:
            problem = "bounds steps under error control; add accuracy [m or rad], or remove it"
            problems.add(("simulation", "least_step"), problem, of_key=True)
        return {}
    if least is not None and least > step:
        problem = f"{least:g} [s] is longer than the longest step, {step:g} [s]; take a shorter one"
        problems.add(("simulation", "least_step"), problem)
    return {"accuracy": table.accuracy, "least_step": least or LEAST_STEP * step}


def _slip_speed(scene: Scene, kind: IntegratorType, model: ModelSpec, problems: Problems) -> float:
    """Return the slip speed of smooth friction [m/s]."""
    slip_speed = scene.simulation.slip_speed
    if slip_speed is None:
        return SLIP_SPEED
    problem = None
    if not kind.smooth:
        problem = f"{kind.name!r} regularises no friction of contacts"
    elif model.contacts is None:
        problem = "nothing in the scene touches"
    if problem is not None:
        remedy = f"remove slip_speed{problems.unset('simulation', 'slip_speed')}"
        problems.add(("simulation", "slip_speed"), f"{problem}; {remedy}", of_key=True)
    return slip_speed


def _rest_speed(scene: Scene, kind: IntegratorType, model: ModelSpec, problems: Problems) -> float:
    """Return the speed of approach below which surfaces do not strike each other [m/s]; reject misplaced impacts."""
    table = scene.simulation
    path: Steps = ("simulation", "contact_law")
    if table.contact_law == "impact" and not kind.adaptive:
        adaptive = ", ".join(f'"{other.name}"' for other in BUILTIN.values() if other.adaptive)
        problem = f'"impact" locates events, and {kind.name!r} takes steps of one size'
        problems.add(path, f'{problem}; take integrator = {adaptive}, or contact_law = "compliant"')
    elif table.contact_law == "impact" and model.contacts is None:
        remedy = f"remove contact_law{problems.unset('simulation', 'contact_law')}"
        problems.add(path, f"nothing in the scene touches; {remedy}", of_key=True)
    if table.rest_speed is None:
        return REST_SPEED
    if table.contact_law != "impact":
        remedy = (
            f'take contact_law = "impact", or remove it{problems.unset("simulation", "rest_speed")}'
        )
        problem = f"belongs to impacts; {remedy}"
        problems.add(("simulation", "rest_speed"), problem, of_key=True)
    return table.rest_speed


def _plugin_parameters(
    table: Simulation, plugin: type[Integrator], problems: Problems
) -> dict[str, Any]:
    taken = [name for name in fields_of(plugin) if name in type(table).model_fields]
    if taken:
        problem = (
            f"{plugin.__qualname__} has a field {taken[0]!r}, which is a key of [simulation] itself; "
            "give the field another name"
        )
        problems.add(("simulation", "integrator"), problem)
        return {}
    try:
        scheme = make(plugin, table.parameters, "")
    except PysimError as error:
        name = error.where.removeprefix(".")
        path = ("simulation", name if name in table.parameters else "integrator")
        problems.add(path, error.problem)
        return {}
    return {name: getattr(scheme, name) for name in fields_of(plugin)}


def _check_count(duration: float, step: float, path: Steps, what: str, problems: Problems) -> None:
    """Reject numbers of steps, outputs or instants that no double counts; warn of those that take days."""
    count = duration / step
    if count > MOST_STEPS:
        least = duration / MOST_STEPS
        problem = f"{step:g} [s] makes {count:.2g} {what} of the duration {duration:g} [s], more than 2**53"
        problems.add(path, f"{problem}; take {_rounded_up(least):g} or more")
    elif count * STEP_TIME > DAY:
        days = count * STEP_TIME / DAY
        long = f"{days / 365.25:.2g} years" if days > 365.25 else f"{days:.2g} days"
        place = problems.source.where(path)
        text = f"{step:g} [s] makes {count:.2g} {what} of the duration {duration:g} [s], about {long} at a"
        warnings.warn(
            f"{place}: {text} microsecond each; take longer ones", PysimWarning, stacklevel=2
        )


def _rounded_up(number: float) -> float:
    """Return the next larger number of two digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * unit


def _every(scene: Scene, step: float, problems: Problems) -> float:
    duration, every = scene.simulation.duration, scene.output.every
    if every is None:
        return max(step, duration / OUTPUTS)
    _check_count(duration, every, ("output", "every"), "outputs", problems)
    if every < step:
        problem = (
            f"{every:g} [s] is shorter than simulation.step {step:g} [s]; "
            f"take {step:g} or more, or a shorter step"
        )
        problems.add(("output", "every"), problem)
    elif every > duration:
        problem = f"{every:g} [s] is longer than the duration {duration:g} [s]; take less"
        problems.add(("output", "every"), problem)
    return every


def _tolerance(
    scene: Scene, name: str, default: float, kind: IntegratorType, problems: Problems
) -> dict[str, float]:
    """Return a tolerance for each joint, and that of all others under ALL_JOINTS."""
    given = getattr(scene.simulation, name) or {}
    path: Steps = ("simulation", name)
    if given and not kind.adaptive:
        adaptive = ", ".join(other.name for other in BUILTIN.values() if other.adaptive)
        problem = (
            f"{kind.name!r} takes steps of one size and estimates no error; "
            f"remove {name}{problems.unset('simulation', name)} or take one that adapts: {adaptive}"
        )
        problems.add(path, problem, of_key=True)
    return {ALL_JOINTS: default} | given
