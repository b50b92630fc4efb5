"""Laws of pairs of surfaces.

Oracle: the formulas of Hunt and Crossley's restitution and of Hertz, restitution also by integrating an impact.
"""

from __future__ import annotations

import math

import pytest

from pysim.contact import dissipation_of, restitution_of
from pysim.contact.laws import Load, pair_law
from pysim.errors import ModelError
from pysim.scene.spec import SurfaceSpec

LOAD = Load(mass=2.0, gravity=9.81, points=4, radius=None)


def surface(**numbers) -> SurfaceSpec:
    return SurfaceSpec(**({"static_friction": 0.5, "dynamic_friction": 0.4} | numbers))


def integrated_restitution(d: float, speed: float) -> float:
    """Speed after over before of m ẍ = −K x (1 + d ẋ), m = K = 1, by small steps of Runge and Kutta."""

    def rate(x: float, v: float) -> tuple[float, float]:
        return v, -x * (1 + d * v)

    x, v, h = 0.0, speed, 1e-4
    while x >= 0:
        k1 = rate(x, v)
        k2 = rate(x + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rate(x + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rate(x + h * k3[0], v + h * k3[1])
        x += h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        v += h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    return -v / speed


@pytest.mark.parametrize(("e", "speed"), [(0.2, 1.0), (0.6, 2.0), (0.95, 0.5)])
def test_dissipation_gives_the_restitution_of_an_impact(e: float, speed: float) -> None:
    d = dissipation_of(e, speed)
    assert restitution_of(d, speed) == pytest.approx(e, abs=1e-12)
    assert integrated_restitution(d, speed) == pytest.approx(e, abs=2e-4)


def test_elastic_surfaces_dissipate_nothing() -> None:
    assert dissipation_of(1.0, 1.0) == 0
    assert restitution_of(0.0, 3.0) == 1


def test_surfaces_combine_in_series() -> None:
    first = surface(stiffness=1e5, dissipation=0.2, static_friction=0.9, relaxation_time=1e-3)
    second = surface(stiffness=3e5, dissipation=0.6, static_friction=0.4, relaxation_time=2e-3)
    law = pair_law(first, second, None, LOAD)
    assert law.stiffness == pytest.approx(0.75e5)
    assert law.dissipation == pytest.approx((0.2 / 1e5 + 0.6 / 3e5) * 0.75e5)
    assert law.static_friction == pytest.approx(0.6)
    assert law.dynamic_friction == pytest.approx(0.4)
    assert law.tangential_stiffness == pytest.approx(law.stiffness)
    assert law.relaxation_time == 2e-3


def test_sink_is_the_depth_under_the_weight_of_each_surface() -> None:
    law = pair_law(surface(sink=1e-4), surface(sink=3e-4), None, LOAD)
    assert law.sink == pytest.approx(4e-4)
    assert law.stiffness == pytest.approx(LOAD.weight / 4e-4)


def test_a_pairs_own_numbers_replace_those_of_its_materials() -> None:
    changes = SurfaceSpec(stiffness=7e4, static_friction=0.1, dynamic_friction=0.1, dissipation=0.5)
    law = pair_law(surface(sink=1e-4), surface(stiffness=1e5), changes, LOAD)
    assert (law.stiffness, law.static_friction, law.dissipation) == pytest.approx((7e4, 0.1, 0.5))


def test_two_elastic_spheres_follow_hertz() -> None:
    steel = surface(young=2.1e11, poisson=0.3, dissipation=0.0)
    law = pair_law(steel, steel, None, Load(0.03, 9.81, 1, 0.01))
    modulus = 2.1e11 / (1 - 0.09) / 2
    assert law.exponent == 1.5
    assert law.stiffness == pytest.approx(4 / 3 * modulus * math.sqrt(0.01))
    assert law.stiffness * law.sink**1.5 == pytest.approx(0.03 * 9.81)


def test_an_elastic_surface_on_a_spring_has_the_spring() -> None:
    law = pair_law(surface(young=1e9, poisson=0.3), surface(stiffness=2e5), None, LOAD)
    assert law.stiffness == pytest.approx(2e5)
    assert law.exponent == 1.0


def test_two_elastic_flat_surfaces_are_reported() -> None:
    steel = surface(young=2.1e11, poisson=0.3, where="s.toml:3:1: materials.steel")
    with pytest.raises(ModelError) as error:
        pair_law(steel, steel, None, LOAD)
    assert str(error.value) == (
        "s.toml:3:1: materials.steel: both surfaces have young, and Hertz's law needs a sphere or a capsule; "
        "give one a stiffness [N/m]"
    )


def test_without_restitution_rest_is_damped_critically() -> None:
    law = pair_law(surface(sink=1e-4), surface(sink=1e-4), None, LOAD)
    damper = law.dissipation * LOAD.weight  # [N·s/m] at rest
    critical = 2 * math.sqrt(law.stiffness * LOAD.weight / LOAD.gravity)
    assert damper == pytest.approx(critical * math.sqrt(2))  # each surface at its own sink


@pytest.mark.parametrize(("size", "sink"), [(0.2, 1e-4), (0.02, 1e-4), (2e-3, 1e-5)])
def test_a_surface_without_stiffness_sinks_by_no_more_than_a_share_of_its_shape(
    size: float, sink: float
) -> None:
    law = pair_law(surface(), surface(), None, Load(2.0, 9.81, 4, None, size))
    assert law.sink == pytest.approx(2 * sink)  # of both surfaces
