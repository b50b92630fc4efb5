"""Spelling of units: those typed in ASCII, `N*m` and `m/s^2`, become `N·m` and `m/s²`."""

from __future__ import annotations

import re

_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_PRODUCT = re.compile(r"\s*\*\s*|(?<=\w)\s+(?=\w)")
_POWER = re.compile(r"(?:\^|\*\*)(-?\d+)")


def spelled_unit(unit: str) -> str:
    """Return a unit with middle dots and raised exponents, by which units are compared."""
    raised = _POWER.sub(lambda found: found[1].translate(_DIGITS), unit)
    return _PRODUCT.sub("·", raised.strip()).replace(" ", "")
