"""Laws of pairs of one kind, computed at once. Oracle: `pair_law` of every pair in every world, alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pysim.contact.laws import Load, pair_law
from pysim.contact.laws_at_once import LawGroup, law_kind
from pysim.scene.spec import SurfaceSpec

WORLDS = 5
SOFT = SurfaceSpec(0.6, 0.5, sink=2e-4, restitution=(0.3, 1.0))
STIFF = SurfaceSpec(0.9, 0.8, stiffness=3e5, dissipation=0.2, rolling=1e-3)
STEEL = SurfaceSpec(0.3, 0.3, young=2e11, poisson=0.3)
RUBBER = SurfaceSpec(0.7, 0.7, young=5e6, poisson=0.45, restitution=(0.5, 2.0))
CHANGES = SurfaceSpec(0.4, 0.3, sink=1e-4, restitution=(0.2, 1.0))
CASES = {
    "sinks": (SOFT, SOFT, None),
    "stiffness": (SOFT, STIFF, None),
    "Hertz": (STEEL, RUBBER, None),
    "Hertz beside a spring": (STEEL, STIFF, None),
    "changed pair": (SOFT, STIFF, CHANGES),
    "friction of a pair": (SOFT, SOFT, SurfaceSpec(0.4, 0.3)),
}


def varied(
    surface: SurfaceSpec | None, rng: np.random.Generator, size: tuple[int, ...] | None
) -> SurfaceSpec | None:
    """Return a surface with other numbers, or arrays of them, in the fields that it has."""
    if surface is None:
        return None
    found: dict[str, Any] = {}
    for name in ("static_friction", "dynamic_friction", "stiffness", "sink", "rolling"):
        if (own := getattr(surface, name)) is not None:
            found[name] = own * rng.uniform(0.5, 2.0, size)
    return replace(surface, **found)


def of_world(surface: SurfaceSpec | None, k: int) -> SurfaceSpec | None:
    if surface is None:
        return None
    numbers = {n: x[k].item() for n, x in vars(surface).items() if isinstance(x, np.ndarray)}
    return replace(surface, **numbers)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shared", [False, True])
def test_pairs_of_one_kind_have_their_own_laws(
    name: str, shared: bool, rng: np.random.Generator
) -> None:
    first, second, changes = CASES[name]
    surfaces: list[Any] = []
    for n in range(3):  # numbers of some pairs are the same in all worlds
        size = (WORLDS,) if n else None
        surfaces.append(
            (first, second, varied(changes, rng, size))
            if shared
            else tuple(varied(own, rng, size) for own in (first, second, changes))
        )
    loads = [Load(0.0, 0.0, points, 0.05, 0.1) for points in (1, 4, 2)]
    masses: list[Any] = [12.0, rng.uniform(5, 20, WORLDS), 3.0]
    gravity = rng.uniform(5, 15, WORLDS)

    law = LawGroup([4, 7, 1], loads).law(surfaces, masses, gravity)

    for i, numbers in enumerate(law.numbers):
        found = np.broadcast_to(numbers, (3, WORLDS))
        for n in range(3):
            for k in range(WORLDS):
                mass = masses[n] if np.ndim(masses[n]) == 0 else masses[n][k]
                load = replace(loads[n], mass=float(mass), gravity=float(gravity[k]))
                own: list[Any] = [of_world(surface, k) for surface in surfaces[n]]
                alone = pair_law(own[0], own[1], own[2], load)
                assert found[n, k] == pytest.approx(alone.numbers[i], rel=1e-14)


def test_kinds_differ_where_formulas_do() -> None:
    load = Load(0.0, 0.0, 4, 0.05, 0.1)
    kinds = [law_kind(case, load) for case in CASES.values()]
    assert len(set(kinds)) == len(kinds)
    assert law_kind(CASES["sinks"], load) == law_kind(
        (replace(SOFT, sink=1e-3), SOFT, None), replace(load, points=1, radius=0.2)
    )
    hertz = CASES["Hertz"]
    assert law_kind(hertz, load) != law_kind(hertz, replace(load, radius=0.2))
