"""Parts of `pysim check` that judge a model: its tree, doubtful numbers, and a report in JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.cli.messages import print_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pysim.analysis.ranges_of_motion import RangesOfMotion
    from pysim.diagnosis.stability import StepBounds
    from pysim.loops import Mobility
    from pysim.mechanism.model import Model
    from pysim.scene.doctor import Finding
    from pysim.scene.spec import JointSpec, ModelSpec
    from pysim.worlds.loading import Scene

DOUBTFUL = 3  # exit status of --strict where there are warnings


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
    findings: Sequence[Finding],
    scene: Scene | None = None,
    mobility: Mobility | None = None,
    bounds: StepBounds | None = None,
    ranges: RangesOfMotion | None = None,
    environment: dict[str, Any] | None = None,
) -> None:
    """Print a model, its findings, ranges of motion, and the run and environment of a scene as JSON."""
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
        "findings": [asdict(finding) for finding in findings],
    }
    if environment is not None:
        report["environment"] = environment
    if scene is not None:
        settings = scene.settings
        report["simulation"] = {
            "duration": settings.duration,
            "step": _finite(settings.step),
            "step_file": settings.step_file or None,
            "integrator": settings.integrator,
        }
    if bounds is not None:
        report["step"] = {"stable": _finite(bounds.stable), "accurate": _finite(bounds.accurate)}
    if ranges is not None:
        report["ranges"] = asdict(ranges)
    sys.stdout.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def _finite(value: float) -> float | None:
    """Return a number that JSON holds, None for an infinite one."""
    return value if np.isfinite(value) else None
