"""Meshes of gears by teeth. Oracles: Willis's equation, arcs of pitch circles, and velocities of points that touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from tests.elements.blocks import table
from tests.scene_runs import run_scene

if TYPE_CHECKING:
    from pathlib import Path

Z = {"sun": 24, "planet": 18, "ring": -60}
M = 0.004  # [m], module
INERTIA = dict.fromkeys(("xx", "yy", "zz"), 0.01)


def hinge(name: str, parent: str = "world", x: float = 0.0, **keys: object) -> str:
    """Return a body that turns about z, or about `axis`, at a place along x of its parent."""
    body = table("body", name=name, mass=1.0, inertia=INERTIA)
    place = {"xyz": [x, 0.0, 0.0]}
    return body + table(
        "joint", name=name, type="revolute", parent=parent, child=name, at=place, **keys
    )


def ratios_of(folder: Path, text: str) -> dict[str, float]:
    """Return q of the joint over that of each other coordinate, of the first coupling of a scene."""
    path = folder / "gears.toml"
    path.write_text("gravity = [0, 0, 0]\n" + text, "utf-8")
    (coupling,) = pysim.load_scene(path).spec.model.couplings
    (_, lead), *others = coupling.terms.items()
    assert lead == 1
    return {name: -ratio for name, ratio in others}


def test_outer_gears_turn_against_each_other(tmp_path: Path) -> None:
    text = hinge("a") + hinge("b", x=0.1)
    found = ratios_of(
        tmp_path, text + table("coupling", name="m", joint="b", teeth={"a": 20, "b": 30}, module=M)
    )
    assert found == {"a": pytest.approx(-20 / 30)}


def test_a_gear_in_a_ring_turns_with_it_and_opposite_axes_change_the_sign(tmp_path: Path) -> None:
    teeth = {"ring": -60, "pinion": 20}
    mesh = table("coupling", name="m", joint="pinion", teeth=teeth, module=M)
    same = hinge("ring") + hinge("pinion", x=0.08)
    assert ratios_of(tmp_path, same + mesh) == {"ring": pytest.approx(3.0)}
    opposite = hinge("ring") + hinge("pinion", x=0.08, axis=[0, 0, -1])
    assert ratios_of(tmp_path, opposite + mesh) == {"ring": pytest.approx(-3.0)}


@pytest.mark.parametrize("flipped", ["", "sun", "planet", "arm"])
def test_a_planetary_gear_keeps_willis_equation(tmp_path: Path, flipped: str) -> None:
    """(ω_sun − ω_arm) z_sun = −(ω_planet − ω_arm) z_planet, of absolute rates about z, whatever the axes' signs."""
    turned: dict[str, dict[str, Any]] = {
        name: {"axis": [0, 0, -1]} if name == flipped else {} for name in ("sun", "planet", "arm")
    }
    text = hinge("sun", **turned["sun"]) + hinge("arm", **turned["arm"])
    text += hinge("planet", "arm", 0.084, **turned["planet"])
    teeth = {"sun": 24, "planet": 18}
    found = ratios_of(
        tmp_path,
        text + table("coupling", name="m", joint="planet", teeth=teeth, carrier="arm", module=M),
    )
    sign = {name: -1.0 if name == flipped else 1.0 for name in turned}
    sun, arm = 2.3, -0.7  # [rad/s], of the coordinates
    planet = found["sun"] * sun + found["arm"] * arm
    rate = {"sun": sign["sun"] * sun, "arm": sign["arm"] * arm}
    rate["planet"] = sign["planet"] * planet + rate["arm"]
    of_sun = (rate["sun"] - rate["arm"]) * 24
    assert of_sun == pytest.approx(-(rate["planet"] - rate["arm"]) * 18, rel=1e-12)


def test_a_rack_moves_by_the_arc_of_the_pitch_circle(tmp_path: Path) -> None:
    rack = table("body", name="rack", mass=1.0, inertia=INERTIA)
    rack += table("joint", name="rack", type="prismatic", axis=[1, 0, 0], child="rack")
    mesh = table("coupling", name="m", joint="rack", teeth={"pinion": 20}, module=M)
    assert ratios_of(tmp_path, hinge("pinion") + rack + mesh) == {"pinion": pytest.approx(0.04)}


def test_teeth_of_the_planetary_scene_roll_on_each_other() -> None:
    """Points of the pitch circles that touch have one velocity: of sun and planet, of planet and the fixed ring."""
    run = run_scene("planetary_gear")
    names = run.trajectory.names["velocities"]
    sun, arm, planet = (run.trajectory.v[:, names.index(n)] for n in ("sun", "carrier", "planet 1"))
    r = {name: M * abs(z) / 2 for name, z in Z.items()}
    assert np.abs(arm[-1]) > 1
    at_arm = (r["sun"] + r["planet"]) * arm
    np.testing.assert_allclose(at_arm - r["planet"] * (planet + arm), r["sun"] * sun, atol=1e-12)
    np.testing.assert_allclose(at_arm + r["planet"] * (planet + arm), 0, atol=1e-12)
    np.testing.assert_allclose(arm, sun * 24 / (24 + 60), atol=1e-12)


TWO = hinge("a") + hinge("b", x=0.1)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"teeth": {"a": 20}}, "module: is missing: 'b' has no teeth, so it is a rack"),
        (
            {"teeth": {"b": 20}},
            "teeth: must be given for two gears, or for the pinion of a rack, got 1",
        ),
        (
            {"teeth": {"a": 20, "b": 0}},
            "teeth: must not be 0; write a negative number for a ring with inner teeth",
        ),
        ({"teeth": {"c": 20, "b": 30}}, "teeth: unknown joint 'c'"),
        (
            {"teeth": {"a": 20, "b": 30}, "module": 0.005},
            "module: 0.005 m and 20 and 30 teeth need axes 0.125 m apart, and they are 0.1 m apart",
        ),
        (
            {"teeth": {"world": -60, "b": 30}},
            "carrier: a gear fixed to the world turns 'b' only with a carrier",
        ),
        (
            {"teeth": {"a": 20, "b": 30}, "ratios": {"a": 1.0}},
            "teeth: are given together with ratios",
        ),
        (
            {"teeth": {"a": 20}, "module": 0.004},
            "teeth: 'b' has none, and only a prismatic joint is that of a rack; give its number of teeth",
        ),
        ({"ratios": {"a": 1.0}, "module": 0.004}, "module: is a key of gears; add teeth"),
        ({"teeth": {"a": 20}, "module": 0.004, "carrier": "a"}, "carrier: a rack has no carrier"),
    ],
)
def test_faulty_meshes_are_reported_at_their_key(
    tmp_path: Path, keys: dict[str, object], message: str
) -> None:
    with pytest.raises(SceneError) as found:
        ratios_of(tmp_path, TWO + table("coupling", name="m", joint="b", **keys))
    assert message in str(found.value)


def test_a_planet_on_a_bracket_of_the_carrier_is_on_the_carrier(tmp_path: Path) -> None:
    bracket = table("body", name="bracket", mass=1.0, inertia=INERTIA)
    bracket += table("joint", name="weld", type="fixed", parent="arm", child="bracket")
    teeth = {"sun": 24, "planet": 18}
    mesh = table("coupling", name="m", joint="planet", teeth=teeth, carrier="arm", module=M)
    start = hinge("sun") + hinge("arm")
    direct = ratios_of(tmp_path, start + hinge("planet", "arm", 0.084) + mesh)
    welded = ratios_of(tmp_path, start + bracket + hinge("planet", "bracket", 0.084) + mesh)
    assert welded == pytest.approx(direct)


def test_a_planet_on_another_body_is_reported(tmp_path: Path) -> None:
    text = hinge("sun") + hinge("arm") + hinge("other", x=0.5) + hinge("planet", "other", 0.084)
    teeth = {"sun": 24, "planet": 18}
    mesh = table("coupling", name="m", joint="planet", teeth=teeth, carrier="arm")
    with pytest.raises(SceneError, match="'planet' turns neither on the carrier 'arm' nor on"):
        ratios_of(tmp_path, text + mesh)


def test_a_joint_that_slides_is_no_gear(tmp_path: Path) -> None:
    slide = table("body", name="c", mass=1.0, inertia=INERTIA)
    slide += table("joint", name="c", type="prismatic", axis=[1, 0, 0], child="c")
    mesh = table("coupling", name="m", joint="b", teeth={"b": 30, "c": 20})
    with pytest.raises(SceneError, match="'c' is a joint of type prismatic, and gears turn"):
        ratios_of(tmp_path, hinge("b") + slide + mesh)
