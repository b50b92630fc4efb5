"""Spelling of units: those typed in ASCII, `N*m` and `m/s^2`, become `N·m` and `m/s²`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pysim.errors import PysimError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORCE_UNITS = {"rad": "N·m", "m": "N"}  # by units of coordinates
RATES = {"v": "/s", "reference_rate": "/s", "reference_acceleration": "/s²"}
_TURN = 0.017453292519943295  # [rad] of a degree
# in SI
_SCALES = {"deg": ("rad", _TURN), "°": ("rad", _TURN), "cm": ("m", 0.01), "mm": ("m", 0.001)}
_OPEN = {"", "1", "1/s", "1/s²"}  # of signals whose unit is not given, and of their rates
_MOTION = re.compile(r"(rad|deg|°|m|cm|mm)(/s|/s²|/s³)?")  # units of coordinates and their rates
_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_WORDS = {  # of units, as they are written out, and their symbols
    "radian": "rad",
    "degree": "deg",
    "meter": "m",
    "metre": "m",
    "newton": "N",
    "second": "s",
    "kilogram": "kg",
    "joule": "J",
    "watt": "W",
    "volt": "V",
    "ampere": "A",
    "amp": "A",
    "hertz": "Hz",
    "newtonmeter": "N·m",
    "newtonmetre": "N·m",
}
_PRODUCT = re.compile(r"\s*\*\s*|(?<=\w)\s+(?=\w)")
_POWER = re.compile(r"(?:\^|\*\*)(-?\d+)")


def connect_in(wanted: str, given: str) -> str:
    """Return the remedy for a signal in a wrong unit: a gain if the units differ by a factor."""
    remedy = f"connect a signal in [{wanted}]"
    part, _, per = given.partition("/")
    unit, factor = _SCALES.get(part, ("", 1.0))
    if not unit or f"{unit}/{per}".rstrip("/") != wanted:
        return remedy
    return f'{remedy}: a controller of type "gain" that reads it, with gain = {factor!r}, unit = "{wanted}"'


def check_same_unit(name: str, given: str, wanted: str) -> None:
    """Reject a signal that is in another unit than it must be; signals without a unit fit.

    Raises:
        PysimError: it is, at the name of the input.
    """
    if given != wanted and not {given, wanted} & _OPEN:
        problem = f"must be in [{wanted}], but its signal is in [{given}]"
        raise PysimError(name, f"{problem}; {connect_in(wanted, given)}")


def check_force_command(
    inputs: Mapping[str, str], factors: Iterable[float], along_path: str = "N"
) -> None:
    """Reject a command in another unit than the force or torque that an actuator makes of it.

    Factors other than 1, such as a gear, may change the unit of a force, but make none of an angle or a velocity.

    Raises:
        PysimError: the command is in another unit, at the name of the input.
    """
    given = inputs["command"]
    wanted = FORCE_UNITS.get(inputs["q"], "") if "q" in inputs else along_path
    if all(factor == 1 for factor in factors):
        check_same_unit("command", given, wanted)
    if _MOTION.fullmatch(given):
        problem = f"must be a force or torque, but its signal is in [{given}]"
        remedy = "connect a controller or take a servo"
        raise PysimError("command", f"{problem}; {remedy}")


def check_tracking_units(inputs: Mapping[str, str]) -> None:
    """Reject a reference, or a rate, in another unit than follows from that of the coordinate q.

    Raises:
        PysimError: it is, at the name of the input.
    """
    q = inputs["q"]
    if q in _OPEN:
        return
    for name, given in inputs.items():
        if name in RATES or name == "reference":
            check_same_unit(name, given, q + RATES.get(name, ""))


def misspelt_unit(unit: str) -> str:
    """Return what is wrong with a unit that is written as a word, with the remedy; else ""."""
    parts = re.split(r"([·*/^ ]+)", unit.strip())
    right = "".join(_WORDS.get(p.lower().rstrip("s"), p) if len(p) > 1 else p for p in parts)
    whole = "".join(re.split("[-·* ]+", unit.strip()))
    right = "N·m" if whole == "Nm" else _WORDS.get(whole.lower().rstrip("s"), right)
    right = spelled_unit(right)
    if right == spelled_unit(unit):
        return ""
    return f'must be a symbol, got {unit!r}; write unit = "{right}"'


def spelled_unit(unit: str) -> str:
    """Return a unit with middle dots and raised exponents, by which units are compared."""
    raised = _POWER.sub(lambda found: found[1].translate(_DIGITS), unit)
    return _PRODUCT.sub("·", raised.strip()).replace(" ", "")
