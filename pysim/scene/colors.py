"""Colours in files: hexadecimal, names and lists, converted to (red, green, blue, opacity) in 0 to 1."""

from __future__ import annotations

import re

from pysim.errors import did_you_mean

HEX = "#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})"
NAMED = {
    "amber": "#e8973a",
    "black": "#22262b",
    "blue": "#4878b0",
    "brown": "#8a6246",
    "cyan": "#4fb3d0",
    "gray": "#7c8794",
    "green": "#5aa469",
    "grey": "#7c8794",
    "orange": "#e8973a",
    "pink": "#d98ba6",
    "plum": "#9a6fb0",
    "purple": "#9a6fb0",
    "red": "#d1605e",
    "sand": "#d9b44a",
    "silver": "#c0c6cc",
    "slate": "#7c8794",
    "steel": "#9aa7b3",
    "teal": "#4fa7a6",
    "white": "#f4f5f6",
    "yellow": "#e3c93f",
}


def read_color(value: object) -> tuple[float, float, float, float]:
    """Return (r, g, b, a) of "#rrggbb", "#rrggbbaa", a name, or three or four numbers in 0 to 1.

    Raises:
        ValueError: it is another value; the error lists the accepted forms.
    """
    if isinstance(value, str):
        digits = NAMED.get(value, value)
        if re.fullmatch(HEX, digits) is None:
            hint = did_you_mean(value, NAMED) if value.isalpha() else '; write "#rrggbb" or a name'
            raise ValueError(f"unknown color {value!r}{hint}")
        parts = [int(digits[k : k + 2], 16) / 255 for k in range(1, len(digits), 2)]
    elif isinstance(value, list) and len(value) in {3, 4}:
        parts = [float(v) if _is_part(v) else -1.0 for v in value]
        if min(parts) < 0:
            raise ValueError(f"the components of a color must be between 0 and 1, got {value!r}")
    else:
        raise ValueError(
            f'a color is "#rrggbb", a name, or 3 or 4 numbers in 0 to 1, got {value!r}'
        )
    red, green, blue, alpha = (*parts, 1.0)[:4]
    return red, green, blue, alpha


def _is_part(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
