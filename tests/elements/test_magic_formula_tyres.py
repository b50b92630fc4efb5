"""Tyres of property files, Magic Formula 5.2.

Oracles: the formulas of commonroad-vehicle-models (data/tyres/pac2002.json) at the nominal load without camber; slopes,
peaks and symmetries that the coefficients state; a car on its springs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.testing import assert_allclose

import pysim
from pysim.elements.library.tyres.magic_formula_tyre import MagicFormulaTyre
from pysim.elements.library.tyres.tyre_property_file import read_tyre_property_file
from pysim.errors import PysimError, SceneError
from tests.elements.blocks import scene_of, simulation, table

if TYPE_CHECKING:
    from pysim.typing import Array

DATA = Path(__file__).parents[1] / "data" / "tyres"
CAR = DATA / "car.tir"
LOAD = 4850.0  # [N], F_z0


@pytest.fixture(scope="module")
def tyre() -> MagicFormulaTyre:
    return MagicFormulaTyre(file=str(CAR))


def forces(
    tyre: MagicFormulaTyre,
    *,
    load: float = LOAD,
    kappa: float = 0.0,
    alpha: float = 0.0,
    camber: float = 0.0,
) -> Array:
    """Return F_x, F_y [N] and M_z [N·m]; α > 0 pushes to the left."""
    return np.array(tyre.forces(load, kappa, np.tan(alpha), camber), float)


def test_forces_of_both_slips_are_those_of_another_program(tyre: MagicFormulaTyre) -> None:
    """Its α has the sign of the file, in which α < 0 pushes to the left."""
    case = json.loads((DATA / "pac2002.json").read_text("utf-8"))
    for kappa, alpha, along, across, *both in case["rows"]:
        assert forces(tyre, kappa=kappa)[0] == pytest.approx(along, rel=1e-12)
        assert_allclose(forces(tyre, kappa=kappa, alpha=-alpha)[:2], both, rtol=1e-9, atol=1e-6)
        assert across * alpha < 0


def test_slopes_at_rest_are_the_stiffnesses_of_the_file(tyre: MagicFormulaTyre) -> None:
    """K_xκ = F_z PKX1 and K_yα = PKY1 F_z0 sin(2 atan(F_z/(PKY2 F_z0))), also at half the load, without shifts."""
    numbers, step = read_tyre_property_file(str(CAR)).numbers, 1e-6
    for share in (1.0, 0.5):
        load = share * LOAD
        along = forces(tyre, load=load, kappa=step) - forces(tyre, load=load, kappa=-step)
        assert along[0] / (2 * step) == pytest.approx(load * numbers["PKX1"], rel=1e-6)
        across = forces(tyre, load=load, alpha=step) - forces(tyre, load=load, alpha=-step)
        wanted = -numbers["PKY1"] * LOAD * np.sin(2 * np.arctan(share))
        assert across[1] / (2 * step) == pytest.approx(wanted, rel=1e-6)


def test_the_largest_forces_are_the_peaks_of_the_file(tyre: MagicFormulaTyre) -> None:
    numbers, slips = read_tyre_property_file(str(CAR)).numbers, np.linspace(-1, 1, 4001)
    along = max(forces(tyre, kappa=float(x))[0] for x in slips)
    across = max(forces(tyre, alpha=float(x))[1] for x in slips)
    assert along == pytest.approx(numbers["PDX1"] * LOAD, rel=2e-3)  # × G_xα at α = 0, which is 1
    assert across == pytest.approx(numbers["PDY1"] * LOAD, rel=2e-3)


def test_camber_pushes_to_the_side_to_which_the_wheel_leans(tyre: MagicFormulaTyre) -> None:
    assert forces(tyre, camber=0.05)[1] > 50
    assert forces(tyre, camber=-0.05)[1] < -50


def test_the_moment_aligns_and_its_trail_is_that_of_the_file(tyre: MagicFormulaTyre) -> None:
    """t = F_z QDZ1 R_0/F_z0 · cos(C atan …) at a small α beside the shift QHZ1, less the residual moment."""
    numbers = read_tyre_property_file(str(CAR)).numbers
    arms = []
    for alpha in (0.02, -0.02):
        _, across, moment = forces(tyre, alpha=alpha)
        assert across * moment < 0
        arms.append(-moment / across)
    trail = numbers["QDZ1"] * numbers["UNLOADED_RADIUS"]
    assert np.mean(arms) == pytest.approx(trail, rel=0.15)


@pytest.mark.parametrize(("measured", "side"), [("left", "right"), ("right", "left")])
def test_a_tyre_of_the_other_side_is_mirrored(tmp_path: Path, measured: str, side: str) -> None:
    """F_y(−α, −γ) and M_z change their signs, F_x stays; at the side of the file, or without one, nothing changes."""
    file = tmp_path / "car.tir"
    text = CAR.read_text("utf-8")
    file.write_text(text.replace("LONGVL ", f"TYRESIDE = '{measured}'\nLONGVL "), "utf-8")
    case = {"load": 3000.0, "kappa": 0.04, "alpha": 0.03, "camber": 0.02}
    across = {"alpha": -0.03, "camber": -0.02}
    same, other = MagicFormulaTyre(file=str(file)), MagicFormulaTyre(file=str(file), side=side)
    mirrored = forces(same, **{**case, **across}) * [1, -1, -1]
    assert_allclose(forces(other, **case), mirrored, rtol=1e-15)
    assert np.abs(forces(same, **case) - mirrored)[1] > 1  # the shifts of the file
    with_side = MagicFormulaTyre(file=str(file), side=measured)
    assert_allclose(forces(with_side, **case), forces(same, **case), rtol=0)


def test_a_side_is_left_or_right() -> None:
    with pytest.raises(
        PysimError, match=r"^side: unknown side 'front'; known: as measured, left, right"
    ):
        MagicFormulaTyre(file=str(CAR), side="front")


def test_a_wheel_in_the_air_has_no_forces(tyre: MagicFormulaTyre) -> None:
    assert_allclose(forces(tyre, load=0.0, kappa=0.1, alpha=0.1, camber=0.1), 0, atol=0)


def test_keys_left_out_are_those_of_the_file(tyre: MagicFormulaTyre) -> None:
    numbers = read_tyre_property_file(str(CAR)).numbers
    assert tyre.radius == numbers["UNLOADED_RADIUS"]
    assert tyre.stiffness == numbers["VERTICAL_STIFFNESS"]
    assert tyre.damping == numbers["VERTICAL_DAMPING"]
    assert tyre.relaxation_longitudinal == pytest.approx(2.3657 * 0.344)
    assert 0.9 * tyre.radius < tyre.rolling_radius < tyre.radius
    assert MagicFormulaTyre(file=str(CAR), stiffness=1e5).stiffness == 1e5


WHEEL = table("body", name="wheel", mass=400.0, inertia={"xx": 1.0, "yy": 1.5, "zz": 1.0}) + table(
    "joint", name="up", type="prismatic", axis=[0, 0, 1], child="wheel", start={"q": 0.344}
)


def scene_text(**keys: object) -> str:
    tyre = table("force", name="tyre", type="magic_formula_tyre", b="wheel", **keys)
    return WHEEL + tyre + simulation("rk4", duration=2.0)


def test_a_wheel_stands_on_the_stiffness_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "car.tir").write_bytes(CAR.read_bytes())
    text = scene_text(file="car.tir", damping=2e4)
    run = pysim.simulate(scene_of(tmp_path, text))
    place = run.poses[-1, 0, 2]
    assert place == pytest.approx(0.344 - 400 * 9.81 / 2.1e5, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("'radian'", "'degrees'"), "has ANGLE = 'degrees', but numbers are read in radian"),
        (("= 6 ", "= 61"), "has the version 61 of the Magic Formula, but only 5.2 is read"),
        (("FNOMIN ", "FNORMAL"), "FNOMIN is missing; give a complete property file"),
        (("= 4850", "= -4850"), "FNOMIN must be positive, got -4850"),
        (
            ("PKY2          = 1.0", "PKY2          = 0.0"),
            "PKY2 is 0; give a complete property file",
        ),
        (("= -21.92", "= -21,92"), "PKY1 must be a number, got '-21,92'; write a decimal point"),
        (
            ("LONGVL ", "TYRESIDE = 'Both'\nLONGVL "),
            "TYRESIDE must be LEFT, RIGHT, SYMMETRIC or UNKNOWN, got 'BOTH'",
        ),
        (("[MDI_HEADER]", "MDI_HEADER"), "is not a tyre property file, file contains no section"),
    ],
)
def test_faulty_property_files_are_reported(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    text = CAR.read_text("utf-8")
    assert change[0] in text
    (tmp_path / "car.tir").write_text(text.replace(*change), "utf-8")
    with pytest.raises(PysimError) as found:
        scene_of(tmp_path, scene_text(file="car.tir"))
    assert message in str(found.value)


def test_a_property_file_is_beside_the_scene(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"file: there is no file .*paths are relative"):
        scene_of(tmp_path, scene_text(file="car.tir"))
    with pytest.raises(SceneError, match="is outside the folders that a scene may read"):
        scene_of(tmp_path, scene_text(file=str(CAR)))


def test_a_saved_scene_keeps_its_property_file(tmp_path: Path) -> None:
    (tmp_path / "car.tir").write_bytes(CAR.read_bytes())
    scene = scene_of(tmp_path, scene_text(file="car.tir", damping=2e4))
    (tmp_path / "saved").mkdir()
    scene.save(tmp_path / "saved" / "scene.toml")
    again = pysim.load_scene(tmp_path / "saved" / "scene.toml")
    (force,) = again.spec.model.forces
    assert Path(force.parameters["file"]).samefile(tmp_path / "car.tir")
    run, other = pysim.simulate(scene), pysim.simulate(again)
    assert_allclose(run.q, other.q, atol=0)


def test_exponents_of_fortran_are_read(tmp_path: Path) -> None:
    (tmp_path / "car.tir").write_text(
        CAR.read_text("utf-8").replace("= 4850", "= 4.850D+3"), "utf-8"
    )
    assert read_tyre_property_file(str(tmp_path / "car.tir")).numbers["FNOMIN"] == LOAD
