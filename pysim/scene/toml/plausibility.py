"""Checks for implausible numbers: powers that overflow, angles that look like degrees, gains of the wrong sign."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from pysim.errors import PysimWarning
from pysim.plugins.bounds import driving_gains
from pysim.scene.toml.plugin_keys import PARAMETERS
from pysim.scene.toml.problems import Problems, shown
from pysim.scene.urdf.xml import LARGEST_NUMBER

if TYPE_CHECKING:
    from pysim.scene.toml.source import Steps

_TURN = 2 * math.pi + 1e-3  # [rad]
_TURNS = 4 * _TURN  # [rad] of a hinge, more than a multi-turn axis has
ROUND_DEGREES = 5  # degrees are often whole multiples of it, radians hardly ever
_ANGLES = {"rpy": 0, "axis_angle": 3}  # keys of rotations, and the index of their first angle
_OF_HINGES = ("q", "lower", "upper")  # angles of a joint of the types below
_HINGES = ("revolute", "universal")
_ANGLES_ANYWHERE = {*_ANGLES, "phase"}
_ANGLES_OF_HINGES = {*_OF_HINGES, "start", "limits"}


def check_numbers(value: object, path: Steps, problems: Problems) -> None:
    """Reject numbers whose powers overflow; warn of angles that look like degrees."""
    if isinstance(value, dict):
        for key, inner in value.items():
            gathered = key == PARAMETERS and path[:1] != (PARAMETERS,)  # keys of a plugin
            check_numbers(inner, path if gathered and path else (*path, key), problems)
            if key in _ANGLES and isinstance(inner, list):
                _warn_of_degrees(inner, _ANGLES[key], (*path, key), problems)
        if path[:1] == ("joint",) and len(path) == 2 and value.get("type") in _HINGES:
            _check_hinge(value, path, problems)
        elif path[:1] == ("actuator",) and len(path) == 2:
            _warn_of_degrees([value.get("phase")], 0, (*path, "phase"), problems, listed=False)
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            check_numbers(inner, (*path, k), problems)
    elif isinstance(value, (int, float)) and abs(value) > LARGEST_NUMBER and abs(value) != math.inf:
        problems.add(path, f"is beyond {LARGEST_NUMBER:g}, got {shown(value)}; take another unit")


def is_plausible(path: Steps, value: object, kind: object = _HINGES[0]) -> bool:
    """Return whether `check_numbers` certainly accepts a number, or a list of numbers, without a warning.

    Args:
        path: its path, which may begin in its table.
        value: the number or list.
        kind: type of the joint that it belongs to, if there is one.
    """
    if isinstance(value, list):
        return all(is_plausible(path, inner, kind) for inner in value)
    if not isinstance(value, (int, float)) or abs(value) > LARGEST_NUMBER:
        return False
    if abs(value) <= _TURN:
        return True
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    return name not in _ANGLES_ANYWHERE and (kind not in _HINGES or name not in _ANGLES_OF_HINGES)


def check_start(q: object, kind: str, path: Steps, problems: Problems) -> None:
    """Warn of the start of a hinge, such as a number of `[[model]] start`, that looks like degrees."""
    if kind in _HINGES and isinstance(q, list):
        listed = len(q) > 1
        _warn_of_degrees(q, 0, path, problems, most=_TURNS, round_most=_TURN, listed=listed)


def _check_hinge(joint: dict[str, object], path: Steps, problems: Problems) -> None:
    """Warn of a start or limits of many turns."""
    for key in ("start", "limits"):
        given = joint.get(key)
        table = given if isinstance(given, dict) else {"": given}
        for name, value in table.items():
            if name in {"", *_OF_HINGES}:
                at = (*path, key, name) if name else (*path, key)
                numbers = value if isinstance(value, list) else [value]
                listed = isinstance(value, list)
                round_most = _TURN if key == "start" else _TURNS
                _warn_of_degrees(
                    numbers, 0, at, problems, most=_TURNS, round_most=round_most, listed=listed
                )


def _warn_of_degrees(
    numbers: list[object],
    first: int,
    path: Steps,
    problems: Problems,
    *,
    most: float = _TURN,
    round_most: float | None = None,
    listed: bool = True,
) -> None:
    """Warn of angles of more than a turn, or of more than `most` [rad], or `round_most` of whole multiples of 5."""
    for k, angle in enumerate(numbers[first:], first):
        if not isinstance(angle, (int, float)) or abs(angle) > LARGEST_NUMBER:
            continue
        limit = most
        if round_most is not None and abs(angle) <= most and angle % ROUND_DEGREES == 0:
            limit = round_most
        if abs(angle) > limit:
            place = problems.source.where((*path, k) if listed else path)
            radians = f"{math.radians(angle):.10g}"
            turns = "one full turn" if limit == _TURN else "four full turns"
            text = f"{angle:g} [rad] exceeds {turns}, {limit:.3g} [rad]; if degrees were meant, write {radians}"
            warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)


def warn_of_gains(plugin: object, path: Steps, problems: Problems) -> None:
    """Warn of negative gains and dampings of a controller, an actuator or a force, which feed energy into a motion."""
    for name, value in driving_gains(plugin).items():
        place = problems.source.where((*path, name))
        what = (
            "pushes away from where it should hold"
            if name == "kp"
            else "drives the motion it should resist"
        )
        text = f"{name} is {value:g}, which {what}; write {-value:g}, unless positive feedback is meant"
        warnings.warn(f"{place}: {text}", PysimWarning, stacklevel=2)
