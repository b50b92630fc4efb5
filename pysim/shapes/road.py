"""Profiles of roads: heights along x from a table, or random ones of the classes of ISO 8608.

The displacement spectral density of a class is G(n) = G₀ (n/n₀)⁻², n in cycles per metre, n₀ = 0.1 [ISO 8608:2016,
annex C]. A profile is a sum of cosines of random phases, one for each multiple of 1/length within the standard's range,
each with the variance G(n)/length: the spectrum is exact at these frequencies, and the profile is periodic.
"""

from __future__ import annotations

import math

import numpy as np

from pysim.errors import PysimError, did_you_mean
from pysim.shapes.height_field import MOST_NODES, HeightField
from pysim.typing import Array

CLASSES = {name: 16e-6 * 4**k for k, name in enumerate("ABCDEFGH")}  # G₀ [m³], geometric means
REFERENCE = 0.1  # n₀ [1/m]
RANGE = (0.011, 2.83)  # of n [1/m]
FINEST_SPACING = 1e-4  # [m], spacing of nodes
SPACING_TOLERANCE = 1e-6  # of the spacing


def iso_8608_profile(
    roughness: str, length: float, spacing: float = 0.05, seed: int = 0
) -> tuple[Array, Array]:
    """Return the places x (n,) and heights z (n,) [m] of a random road of a class of ISO 8608.

    Args:
        roughness: the class, A (a good motorway) to H.
        length: of the road [m], one period of the profile.
        spacing: of the nodes [m], which is shortened until it divides the length.
        seed: of the phases; roads of other seeds are independent of each other.

    Raises:
        PysimError: the class is unknown, or a number is out of range; the error names it.
    """
    if roughness not in CLASSES:
        problem = f"unknown class {roughness!r}{did_you_mean(roughness, CLASSES)}"
        raise PysimError("roughness", f"{problem}; ISO 8608 has {', '.join(CLASSES)}")
    count = _intervals(length, spacing)
    places = np.linspace(0, length, count + 1)
    waves = np.arange(math.ceil(RANGE[0] * length), math.floor(RANGE[1] * length) + 1)
    waves = waves[waves <= count // 2]
    if not len(waves):
        problem = f"{length:g} m of road with nodes {spacing:g} m apart have no wave of the standard's range"
        raise PysimError("length", f"{problem}, {RANGE[0]:g} to {RANGE[1]:g} per metre; enlarge it")
    density = CLASSES[roughness] * (waves / length / REFERENCE) ** -2.0
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(waves))
    amplitudes = np.zeros(count // 2 + 1, complex)
    amplitudes[waves] = np.sqrt(2 * density / length) * np.exp(1j * phases)
    heights = np.fft.irfft(amplitudes * count / 2, count)
    return places, np.append(heights, heights[0])


def road_of(
    places: Array, heights: Array, width: float, spacing: float | None = None
) -> HeightField:
    """Return a road along x whose heights [m] at increasing places [m] do not vary across it.

    Args:
        places: (n,).
        heights: (n,).
        width: of the road [m], to both sides of y = 0.
        spacing: of the nodes [m], between which heights are interpolated; by default that of the places, which must
            then be equally spaced or multiples of their least distance apart.

    Raises:
        PysimError: places do not increase, or need a spacing.
    """
    steps = np.diff(places)
    if len(places) < 2 or not (steps > 0).all():
        k = int(np.argmax(steps <= 0)) + 1 if len(places) > 1 else 0
        problem = f"needs two places or more, got {len(places)}"
        if len(places) > 1:
            problem = f"has places that do not increase, at row {k}"
        raise PysimError("profile", f"{problem}; sort the rows by x")
    length = float(places[-1] - places[0])
    if spacing is None:
        spacing = float(steps.min())
        multiples = steps / spacing
        if np.abs(multiples - multiples.round()).max() > SPACING_TOLERANCE * multiples.max():
            problem = f"has stations that are no multiples of their least distance, {spacing:g} m"
            raise PysimError("profile", f"{problem}; give the spacing of the nodes")
    count = _intervals(length, spacing)
    nodes = np.interp(np.linspace(places[0], places[-1], count + 1), places, heights)
    middle = float(places[0] + places[-1]) / 2
    return HeightField(np.vstack([nodes, nodes]), (length, width), middle=middle)


def _intervals(length: float, spacing: float) -> int:
    """Return the number of intervals between nodes that are `spacing` [m] apart at most."""
    if spacing < FINEST_SPACING:
        raise PysimError(
            "spacing", f"must be {FINEST_SPACING:g} m or more, got {spacing:g}; enlarge it"
        )
    count = max(math.ceil(length / spacing * (1 - SPACING_TOLERANCE)), 1)
    if 2 * (count + 1) > MOST_NODES:
        problem = f"{length:g} m of road with nodes {spacing:g} m apart have {count + 1} of them"
        raise PysimError("spacing", f"{problem}, {MOST_NODES // 2} at most; enlarge it")
    return count
