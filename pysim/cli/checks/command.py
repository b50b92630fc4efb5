"""`pysim check`: prints the content of a scene or robot file as it was read, and what looks wrong."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pysim.analysis.file_check import find_faults, find_notes
from pysim.analysis.linearization import linearize
from pysim.analysis.ranges_of_motion import ranges_of_motion
from pysim.cli.checks.contact_table import print_contacts
from pysim.cli.checks.doctor import (
    DOUBTFUL,
    print_findings,
    print_report,
    print_tree,
)
from pysim.cli.checks.environment_check import (
    checked_environment,
    environment_report,
    print_environment,
    trial_findings,
)
from pysim.cli.checks.linear_modes import print_linear
from pysim.cli.checks.ranges import overlap_findings, print_ranges
from pysim.cli.checks.scene_content import (
    print_connections,
    print_constraints,
    print_model,
    print_omitted,
    print_settings,
)
from pysim.cli.checks.step_advice import print_step
from pysim.cli.messages import notes_as_lines, print_line
from pysim.cli.options import CheckOptions
from pysim.cli.run import parse_overrides
from pysim.diagnosis.scene_warnings import warn_of_scene
from pysim.diagnosis.stability import step_bounds
from pysim.diagnosis.start_checks import mobility_at_start
from pysim.errors import ModelError, PysimError, PysimWarning
from pysim.mechanism.compile import start_state
from pysim.scene import has_environment
from pysim.scene.doctor import Finding
from pysim.simulation import load_scene
from pysim.worlds.loading import load_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pysim.analysis.ranges_of_motion import RangesOfMotion
    from pysim.diagnosis.stability import StepBounds
    from pysim.environments.environment import Environment
    from pysim.environments.trial import Trial
    from pysim.loops import Mobility
    from pysim.mechanism.model import Model
    from pysim.worlds.loading import Scene


def check_scene(path: Path, options: CheckOptions | None = None) -> int:
    """Read a file, print its content and what looks wrong, and return the exit status; only environments are tried."""
    options = options or CheckOptions()
    is_scene = path.suffix.lower() == ".toml"
    if not is_scene and (options.overrides or options.unset):
        option = "--set" if options.overrides else "--unset"
        raise PysimError(str(path), f"{option} is for scenes; a robot file has no such keys")
    if options.linear and not is_scene:
        raise PysimError(
            str(path), "--linear is for scenes; write one with a [[model]] of this file"
        )
    if options.linear and options.json:
        raise PysimError("--linear", "prints text; leave out --json, or call pysim.linearize")
    warned: list[str] = []
    shown = not options.json
    with recorded_warnings(warned, shown=shown), notes_as_lines(shown=shown):
        scene, model = _loaded(path, options)
        if not options.json:
            print_line(f"{path}: {scene.spec.name if scene else model.name}", style="bold")
            print_model(model)
        mobility, bounds = _judged(scene, shown=not options.json, full=options.full)
        tried = _tried(path, options) if is_scene else None
    if not (scene or options.json):
        print_connections(model)
        print_omitted(model.spec.omitted)
    findings = find_faults(model.spec, warned, meshes=options.meshes)
    findings += find_notes(path, scene, options.package_dirs) if scene else []
    if tried is not None:
        findings += trial_findings(*tried)
    ranges = _ranges(scene, model, findings) if options.ranges else None
    if options.json:
        environment = None if tried is None else environment_report(*tried)
        print_report(path, model, findings, scene, mobility, bounds, ranges, environment)
    else:
        if tried is not None:
            print_environment(*tried)
        if options.tree:
            print_tree(model.spec)
        if ranges is not None:
            print_ranges(ranges)
        if options.linear and scene is not None:
            print_linear(linearize(scene))
        print_findings(findings[len(warned) :])
    doubtful = any(finding.severity == "warning" for finding in findings)
    return DOUBTFUL if options.strict and doubtful else 0


def _tried(path: Path, options: CheckOptions) -> tuple[Environment, Trial] | None:
    """Return the environment of a scene and a trial of it, None without one."""
    changes = parse_overrides(options.overrides, options.unset)
    if not has_environment(path, changes):
        return None
    return checked_environment(
        path, changes, allow_code=options.allow_code, package_dirs=options.package_dirs
    )


def _loaded(path: Path, options: CheckOptions) -> tuple[Scene | None, Model]:
    """Return the scene of a file, None for a model of another program, and its model."""
    if path.suffix.lower() == ".toml":
        changes = parse_overrides(options.overrides, options.unset)
        folders = options.package_dirs
        scene = load_scene(path, changes, allow_code=options.allow_code, package_dirs=folders)
        return scene, scene.model
    model = load_model(
        path,
        package_dirs=options.package_dirs,
        allow_code=options.allow_code,
        strict=options.strict,
    )
    return None, model


def _ranges(scene: Scene | None, model: Model, found: list[Finding]) -> RangesOfMotion | None:
    """Return the ranges of motion, and append the links that overlap in them, or why there are none, to `found`."""
    start = (start_state(model) if scene is None else scene.state).q
    try:
        ranges = ranges_of_motion(model, start)
    except ModelError as error:
        found.append(Finding("note", error.where, error.problem))
        return None
    found += overlap_findings(ranges)
    return ranges


def _judged(
    scene: Scene | None, *, shown: bool, full: bool
) -> tuple[Mobility | None, StepBounds | None]:
    """Return the mobility and step bounds of a scene, printed if `shown`, and warn of them."""
    if scene is None:
        return None, None
    found = mobility_at_start(scene)
    if shown:
        print_constraints(scene, found)
        print_contacts(scene, full=full)
        print_settings(scene)
    bounds = step_bounds(scene)
    if shown:
        print_step(scene, bounds)
    warn_of_scene(scene, found, bounds)
    return found, bounds


@contextmanager
def recorded_warnings(texts: list[str], *, shown: bool) -> Iterator[None]:
    """Append the texts of pysim's warnings, each once; they are printed as well if `shown`."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PysimWarning)
            yield
    finally:
        for warning in caught:
            text, is_own = str(warning.message), issubclass(warning.category, PysimWarning)
            is_new = not is_own or text not in texts
            texts.extend([text] if is_own and is_new else [])
            if is_new and (shown or not is_own):
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
