"""Parts of `pysim check` that judge a model: its tree, doubtful numbers, a report in JSON, and a repaired copy."""

from __future__ import annotations

import difflib
import json
import sys
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.cli.messages import print_line
from pysim.errors import PysimError, PysimWarning
from pysim.identify.file_changes import Changes
from pysim.inertia import theta_from_com, unphysical_reason
from pysim.scene import read_model
from pysim.scene.doctor import Finding, examine, examine_meshes
from pysim.scene.inertia_text import nearest_printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pysim.loops import Mobility
    from pysim.mechanism.model import Model
    from pysim.scene.spec import JointSpec, ModelSpec
    from pysim.simulation.loading import Scene
    from pysim.simulation.stability import StepBounds

DOUBTFUL = 3  # exit status of --strict where there are warnings
INCONSISTENT = "not physically consistent"


def find_faults(spec: ModelSpec, warned: Sequence[str], *, meshes: bool) -> list[Finding]:
    """Return what a reader warned of and what looks wrong; an inconsistent inertia is reported once."""
    found = [_of_warning(text) for text in warned]
    own = examine(spec) + (examine_meshes(spec) if meshes else [])
    known = any(INCONSISTENT in text for text in warned)
    return found + [f for f in own if not (known and INCONSISTENT in f.text)]


def find_unused(path: Path, package_dirs: tuple[Path, ...]) -> list[Finding]:
    """Return the parameters of a scene file that no expression uses."""
    from pysim.scene.toml.includes import read_with_includes  # noqa: PLC0415, pydantic loads when used
    from pysim.scene.toml.quantities import TABLE, unused_parameters  # noqa: PLC0415

    source = read_with_includes(path, package_dirs)
    return [
        Finding(
            "note", source.where((TABLE, name), of_key=True), "is used by no expression; remove it"
        )
        for name in unused_parameters(source.values)
    ]


def _of_warning(text: str) -> Finding:
    """Return a warning as a finding, with the place before its first colon and space."""
    where, colon, rest = text.partition(": ")
    return Finding("warning", where if colon else "", rest if colon else text)


def print_findings(found: Iterable[Finding]) -> None:
    """Print what looks wrong, one line each."""
    for finding in found:
        print_line(f"  {finding.severity:<10}  {finding}")


def print_tree(spec: ModelSpec) -> None:
    """Draw the tree of bodies with the joints that move them."""
    print_line()
    print_line("  world")
    masses = {body.name: float(body.theta[0]) for body in spec.bodies}
    children: dict[str, list[JointSpec]] = {}
    for joint in spec.joints:
        children.setdefault(joint.parent, []).append(joint)
    stack = [(joint, "") for joint in reversed(children.get("world", []))]
    while stack:
        joint, indent = stack.pop()
        is_last = children[joint.parent][-1] is joint
        mass = f", {masses[joint.child]:.4g} kg" if masses[joint.child] else ""
        branch = "└─" if is_last else "├─"
        print_line(f"  {indent}{branch} {joint.child}  ({joint.name}, {joint.type}{mass})")
        below = indent + ("   " if is_last else "│  ")
        stack += [(inner, below) for inner in reversed(children.get(joint.child, []))]


def print_report(
    path: Path,
    model: Model,
    found: Sequence[Finding],
    scene: Scene | None = None,
    mobility: Mobility | None = None,
    bounds: StepBounds | None = None,
) -> None:
    """Print a model, its findings, and the run of a scene as JSON."""
    spec = model.spec
    report: dict[str, Any] = {
        "file": str(path),
        "name": model.name,
        "totals": {
            "bodies": model.nbodies,
            "links": len(spec.bodies),
            "mass": model.total_mass,
            "nq": model.nq,
            "nv": model.nv,
            "mobility": None if mobility is None else str(mobility),
        },
        "gravity": model.gravity.tolist(),
        "bodies": [
            {"name": body.name, "mass": float(body.theta[0]), "theta": body.theta.tolist()}
            for body in spec.bodies
        ],
        "joints": [
            {"name": j.name, "type": j.type, "parent": j.parent, "child": j.child}
            for j in spec.joints
        ],
        "loops": [loop.name for loop in spec.loops],
        "couplings": [coupling.name for coupling in spec.couplings],
        "omitted": list(spec.omitted),
        "findings": [asdict(finding) for finding in found],
    }
    if scene is not None:
        settings = scene.settings
        report["simulation"] = {
            "duration": settings.duration,
            "step": _finite(settings.step),
            "integrator": settings.integrator,
        }
    if bounds is not None:
        report["step"] = {"stable": _finite(bounds.stable), "accurate": _finite(bounds.accurate)}
    sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def _finite(value: float) -> float | None:
    """Return a number that JSON holds, None for an infinite one."""
    return value if np.isfinite(value) else None


def write_fixed(
    path: Path, target: Path, package_dirs: tuple[Path, ...], *, allow_code: bool
) -> None:
    """Write a copy of a file whose inconsistent inertias are the nearest consistent ones, and print the difference.

    Raises:
        PysimError: the file is neither a scene nor a URDF file, or the target exists or has another suffix.
    """
    suffix = path.suffix.lower()
    if suffix not in {".toml", ".urdf"} or target.suffix.lower() != suffix:
        problem = f"must end in {path.suffix} like {path}; scenes and URDF files are repaired"
        raise PysimError(str(target), problem)
    if target.exists():
        raise PysimError(str(target), "exists; name another file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        policy: Any = "check" if suffix == ".urdf" else "nearest"
        spec = read_model(path, package_dirs=package_dirs, inertia=policy, allow_code=allow_code)
    if suffix == ".urdf":
        from pysim.identify.writing_urdf import changed_urdf  # noqa: PLC0415

        faulty = {body.name: body.theta for body in spec.bodies if _is_faulty(body.theta)}
        new = changed_urdf(path.read_bytes(), _repairs(faulty)).decode()
    else:
        from pysim.identify.writing_scene import changed_scene  # noqa: PLC0415

        new = changed_scene(path.read_text("utf-8"), _repairs(_faulty_tables(path)), spec)
    old = path.read_text("utf-8")
    rows = difflib.unified_diff(
        old.splitlines(), new.splitlines(), str(path), str(target), lineterm="", n=1
    )
    difference = list(rows)
    if not difference:
        print_line("  nothing to repair")
        return
    target.write_text(new, "utf-8")
    for row in difference:
        print_line(row)
    print_line(f"  written     {target}")


def _is_faulty(theta: Any) -> bool:  # noqa: ANN401, an array
    return bool(theta[0] > 0) and unphysical_reason(theta) is not None


def _repairs(faulty: Mapping[str, Any]) -> Changes:
    return Changes({name: nearest_printable(theta) for name, theta in faulty.items()})


def _faulty_tables(path: Path) -> dict[str, Any]:
    """Return θ (10,) of the bodies of a scene file whose numbers are inconsistent."""
    from pysim.scene.toml.source import read_source  # noqa: PLC0415, pydantic loads when used

    found = {}
    for body in read_source(path).values.get("body", []):
        inertia = body.get("inertia")
        numbers = [body.get("mass"), *body.get("com", []), *(inertia or {}).values()]
        if inertia is None or not all(isinstance(value, int | float) for value in numbers):
            continue
        entry = {
            name: float(inertia.get(name, 0.0)) for name in ("xx", "yy", "zz", "xy", "yz", "xz")
        }
        xx, yy, zz, xy, yz, xz = entry.values()
        tensor = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
        theta = theta_from_com(float(body["mass"]), body.get("com", [0, 0, 0]), tensor)
        if _is_faulty(theta):
            found[str(body.get("name"))] = theta
    return found
