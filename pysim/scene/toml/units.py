"""Numbers with units in a scene, such as "30 deg" and "5 mm", converted to the unit of the key.

A unit is a product of symbols with integer powers, "N·m/rad" or "kg*m^2". Angles count as a dimension, so that hertz
are not taken for rad/s.
"""

from __future__ import annotations

import math
import re

Dimension = tuple[int, int, int, int]  # powers of m, kg, s, rad

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([^\d\s.].*?)\s*", re.ASCII | re.DOTALL)
_FACTOR = re.compile(r"([A-Za-zµ°]+|1)(?:\^?([+-]?\d))?")
_GROUP = re.compile(r"/\s*\(([^()/]*)\)")  # N·m/(rad·s)
_POWERS = str.maketrans({"²": "2", "³": "3", "*": "·", "⋅": "·", "μ": "µ"})
_M, _KG, _S, _RAD = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_SIZES: dict[Dimension, dict[str, float]] = {
    (0, 0, 0, 0): {"1": 1.0},
    _M: {"m": 1.0, "km": 1e3, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "in": 0.0254, "ft": 0.3048},
    _KG: {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3, "lb": 0.45359237},
    _S: {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "us": 1e-6, "min": 60.0, "h": 3600.0},
    _RAD: {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180, "rev": math.tau},
    (0, 0, -1, 1): {"rpm": math.tau / 60},
    (0, 0, -1, 0): {"Hz": 1.0},
    (1, 1, -2, 0): {"N": 1.0, "kN": 1e3, "mN": 1e-3},
    (2, 1, -2, 0): {"Nm": 1.0, "J": 1.0},
}  # fmt: skip
_WORDS = {  # of units that are written out, without the s of the plural
    "meter": "m", "metre": "m", "kilometer": "km", "kilometre": "km", "centimeter": "cm", "centimetre": "cm",
    "millimeter": "mm", "millimetre": "mm", "inche": "in", "inch": "in", "foot": "ft", "feet": "ft",
    "kilogram": "kg", "kilo": "kg", "gram": "g", "tonne": "t", "ton": "t", "pound": "lb", "lb": "lb",
    "second": "s", "sec": "s", "millisecond": "ms", "msec": "ms", "minute": "min", "hour": "h",
    "radian": "rad", "degree": "deg", "turn": "rev", "revolution": "rev", "round": "rev",
    "newton": "N", "kilonewton": "kN", "newtonmeter": "Nm", "newtonmetre": "Nm", "joule": "J", "hertz": "Hz",
    "hz": "Hz",
}  # fmt: skip
UNITS: dict[str, tuple[float, Dimension]] = {
    name: (size, dimension) for dimension, sizes in _SIZES.items() for name, size in sizes.items()
}
_SI = {  # of each unit that has a factor, the one that has none
    name: "rad/s" if name == "rpm" else next(iter(sizes))
    for sizes in _SIZES.values()
    for name, size in sizes.items()
    if size != 1
}


def split_quantity(text: str) -> tuple[float, str] | None:
    """Return the number and the unit of "30 deg"; None for other texts, a number without a unit included."""
    if len(text) > 100 or re.fullmatch(_NUMBER, text.strip()):
        return None
    match = _QUANTITY.fullmatch(text)
    return (float(match[1]), match[2]) if match else None


def read_unit(text: str) -> tuple[float, Dimension] | None:
    """Return the factor to SI units and the dimension of a unit; None for an unknown one."""
    text = _GROUP.sub(lambda group: "/" + re.sub("[*·⋅]", "/", group[1]), text)
    factor, powers = 1.0, [0, 0, 0, 0]
    for k, part in enumerate(text.translate(_POWERS).replace(" ", "").split("/")):
        for symbol in part.split("·"):
            match = _FACTOR.fullmatch(symbol)
            if match is None or match[1] not in UNITS:
                return None
            power = int(match[2] or 1) * (-1 if k else 1)
            size, dimension = UNITS[match[1]]
            factor *= size**power
            powers = [a + power * b for a, b in zip(powers, dimension, strict=True)]
    return factor, (powers[0], powers[1], powers[2], powers[3])


def si_unit(unit: str) -> tuple[float, str] | None:
    """Return the factor to SI units of a unit and its name in these, `(0.01745…, "rad/s")` of "deg/s".

    None for an unknown unit, and for one of SI.
    """
    found = read_unit(unit)
    if found is None or found[0] == 1:
        return None
    parts = re.split(r"([·*/^() ]|[²³])", unit.strip())
    return found[0], "".join(_SI.get(part, part) for part in parts)


def read_words(unit: str) -> str:
    """Return the symbols of a unit whose parts are written out, such as "degrees" or "meters/second"; "" otherwise."""
    parts = re.split(r"([·*/() ]+)", unit.strip())
    symbols = [
        part if k % 2 else _WORDS.get(part.lower().removesuffix("s"), part)
        for k, part in enumerate(parts)
    ]
    symbol = "".join(symbols)
    return symbol if symbol != unit.strip() and read_unit(symbol) is not None else ""


def _is_refused(unit: str, targets: list[str]) -> bool:
    """Return whether a unit has another dimension than all targets; any is accepted without targets."""
    given = read_unit(unit)
    wanted = [read_unit(target) for target in targets]
    return bool(targets) and all(
        own is None or given is None or own[1] != given[1] for own in wanted
    )


def spelled(unit: str) -> str:
    """Return a unit without the choices that its writer has: `*` or `·`, `^2` or `²`."""
    return unit.translate(_POWERS).replace(" ", "").replace("^", "")


def convert(text: str, targets: list[str]) -> float | None:
    """Return a quantity in the first target unit of its dimension; None if the text is not a quantity.

    Raises:
        ValueError: the unit is unknown, or of another dimension than all targets; without targets, any is accepted.
    """
    found = split_quantity(text)
    if found is None:
        return None
    number, unit = found
    # one that is no product of the known ones, such as Ω
    if spelled(unit) in map(spelled, targets):
        return number
    from_unit = read_unit(unit)
    wanted = " or ".join(targets)
    if from_unit is None:
        symbol = read_words(unit)
        if symbol and not _is_refused(symbol, targets):
            message = f'unknown unit {unit[:40]!r}; write "{number:g} {symbol}"'
            raise ValueError(message)
        example = f"; write {wanted}" if wanted else f"; known: {', '.join(list(UNITS)[1:])}"
        message = f"unknown unit {unit[:40]!r}{example}"
        raise ValueError(message)
    if not targets:
        return number * from_unit[0]
    for target in targets:
        into = read_unit(target)
        if into is not None and into[1] == from_unit[1]:
            return number * from_unit[0] / into[0]
    wanted = f"the {wanted}" if wanted.startswith("unit of") else wanted
    message = f"{unit!r} cannot be converted to {wanted}; give the number in {wanted}"
    raise ValueError(message)
