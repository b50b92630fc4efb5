"""Colours: a palette for bodies without a colour, and the colours of the ground and the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SKY_TOP = "#c9d6e3"
SKY_BOTTOM = "#f7f9fb"
GROUND = (226, 231, 237)
SHADOW = (196, 204, 214)
GRID = (120, 134, 150)
TEXT = "#33414f"
AXES = ("#d1495b", "#4f9d69", "#3d6fb6")  # x, y, z

# Blue, amber, green, red, teal, plum, sand, slate: apart in hue and close in lightness.
PALETTE = (
    "#4f86c6", "#f0a03c", "#5fb072", "#de6661", "#4fb3b0", "#a87cc0", "#e3bd4d", "#8492a1",
)  # fmt: skip
WORLD = "#aab3bd"


def rgb(color: str) -> tuple[float, float, float]:
    """Return red, green, blue in 0…1 of "#rrggbb"."""
    red, green, blue = (int(color[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def body_color(body: int) -> tuple[float, ...]:
    """Return a colour for a body whose shapes name none; the world is grey."""
    return (*rgb(WORLD if body < 0 else PALETTE[body % len(PALETTE)]), 1.0)


def display_rgba(color: Sequence[float]) -> NDArray[np.uint8]:
    """Return four bytes of a colour with three or four parts in 0…1."""
    full = np.ones(4)
    full[: len(color)] = color
    return np.round(255 * np.clip(full, 0, 1)).astype(np.uint8)


def linear_rgba(rgba: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return an sRGB colour (4,) as linear numbers in 0…1, which materials of glTF and USD have."""
    s = rgba / 255.0
    linear = np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)
    return np.append(linear[:3], s[3])
