"""Units of variables as powers of SI base units, as far as they are known."""

from __future__ import annotations

import re

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
POWERS = {  # of the base units
    **{name: {name: 1} for name in BASE},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "Hz": {"s": -1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "C": {"A": 1, "s": 1},
    "Ω": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "1": {},
}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def powers(unit: str) -> dict[str, int] | None:
    """Return the powers of the base units in a unit such as N·m/rad; None if a part of it is not known."""
    found: dict[str, int] = {}
    text = unit.translate(_RAISED)
    for sign, part in re.findall(r"([/·*]?)([^/·*]+)", text):
        match = re.fullmatch(r"\(?([^\d()^-]+|1)\^?(-?\d+)?\)?", part.strip())
        if match is None or match[1] not in POWERS:
            return None
        times = int(match[2] or 1) * (-1 if sign == "/" else 1)
        for name, power in POWERS[match[1]].items():
            found[name] = found.get(name, 0) + times * power
    return {name: power for name, power in found.items() if power}


def per_second(unit: str) -> str:
    """Return the unit of a rate."""
    known = {"m/s": "m/s²", "rad/s": "rad/s²", "": "1/s"}
    return known.get(unit, f"{unit}/s")
