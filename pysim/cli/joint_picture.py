"""`pysim joints NAME --still`: picture of a joint type's motion over the range of each coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim import _engine
from pysim.errors import PysimError
from pysim.joints import engine_probe, pose, real, rotation
from pysim.joints.coordinate_ranges import bounds, limits_of, start_of
from pysim.joints.invariants import numbers_of
from pysim.plugins.fields import checked
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pysim.joints import Joint, JointType
    from pysim.joints.coordinates import Coordinates
    from pysim.joints.trace import Traced

GHOSTS = {1: 9, 2: 7, 3: 5}  # poses for each coordinate, by the number of coordinates
Axis = tuple[float, float, float]
PITCH = 0.1  # [m/rad] of a helical joint whose pitch is not set
TURN_SHARE = 0.8  # of a whole turn, whose ends would meet
TURN = 1.0  # [rad or m] either way of a rotation's and a displacement's axes


def draw_plugin(kind: JointType, joint: Joint, traced: Traced | None, path: Path) -> None:
    """Draw a plugin's motion from its start within its limits."""
    numbers, limits = numbers_of(joint, traced), limits_of(joint)
    ends = bounds(joint.coordinates, limits)
    for part, _, at in joint.coordinates.offsets():
        if part.name not in limits:
            ends[:, at] *= TURN_SHARE
    _draw(kind, joint.coordinates, ends, start_of(joint), numbers.poses, path)


def draw_builtin(kind: JointType, keys: dict[str, Any], path: Path) -> None:
    """Draw a built-in shape about or along z, or the axis that is set."""
    if kind.nv == 0:
        raise PysimError(str(path), f"a {kind.name} joint has no motion to draw")
    coordinates = _coordinates(kind)
    axis = np.array(checked(keys.get("axis", (0.0, 0.0, 1.0)), Axis, "--set axis"))
    if not np.linalg.norm(axis) > 0:
        raise PysimError("--set axis", "has no direction; give it a length, as in [0, 0, 1]")
    pitch = checked(keys.get("pitch", PITCH), float, "--set pitch")
    model = engine_probe.of_shape(coordinates, kind.name, axis / np.linalg.norm(axis), pitch)
    ends = TURN_SHARE * bounds(coordinates, {})

    def poses(q: Array) -> Array:
        return np.asarray(_engine.forward_kinematics(model, q))[:, 0]

    _draw(kind, coordinates, ends, np.array(coordinates.neutral()), poses, path)


def _draw(
    kind: JointType,
    coordinates: Coordinates,
    ends: Array,
    start: Array,
    poses: Callable[[Array], Array],
    path: Path,
) -> None:
    from pysim.render.sweep import Sweep, draw_sweep  # noqa: PLC0415, VTK costs a second

    sweeps = []
    count = GHOSTS.get(coordinates.nv, 5)
    model = engine_probe.of_coordinates(coordinates)
    for part, at, at_v in coordinates.offsets():
        for i in range(part.nv):
            low, high = (ends[:, at_v] - start[at]) if part.group == "real" else (-TURN, TURN)
            steps = np.zeros((count, coordinates.nv))
            steps[:, at_v + i] = np.linspace(low, high, count)
            q = _engine.integrate(model, np.tile(start, (count, 1)), steps)
            label = _label(kind, at_v + i, low + start[at], high + start[at])
            if part.group != "real":
                label = _label(kind, at_v + i, low, high)
            sweeps.append(Sweep(label, poses(q)))
    draw_sweep(kind.name, poses(start[None])[0], sweeps, path)


def _label(kind: JointType, velocity: int, low: float, high: float) -> str:
    """Return a coordinate and its drawn range, for example `flexion −2 … 0.2 rad`."""
    unit = kind.v_units[velocity].removesuffix("/s")
    return f"{kind.v_names[velocity]} {low:.3g} … {high:.3g} {unit}".replace("-", "−")


def _coordinates(kind: JointType) -> Coordinates:
    """Return the coordinates of a built-in shape."""
    if not kind.is_real:
        return rotation("turn") if kind.nv == 3 else pose("at")
    found = [real(name, unit=unit) for name, unit in zip(kind.q_names, kind.q_units, strict=True)]
    product = found[0]
    for other in found[1:]:
        product = product * other
    return product
