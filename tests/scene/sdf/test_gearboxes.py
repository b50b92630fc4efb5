"""Gearboxes of SDF models. The oracle is the inertia of two wheels: I₁ + r² I₂ at the first, for θ₂ = −r θ₁."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError, PysimWarning
from pysim.loops.constraints import constrained_motion
from pysim.scene import read_model
from pysim.scene.packages import robots_folder

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = """<link name="{0}"><pose>{1} 0 0 0 0 0</pose><inertial><mass>1</mass><inertia>
<ixx>1</ixx><iyy>1</iyy><izz>{2}</izz></inertia></inertial></link>"""
HINGE = """<joint name="{0} hinge" type="revolute"><parent>base</parent><child>{0}</child>
<axis><xyz>{1}</xyz></axis></joint>"""
GEARBOX = """<joint name="gear" type="gearbox"><parent>motor</parent><child>load</child>
<gearbox_reference_body>base</gearbox_reference_body><gearbox_ratio>{0}</gearbox_ratio>
<axis><xyz>{1}</xyz></axis><axis2><xyz>{2}</xyz></axis2></joint>"""
BASE = """<link name="base"/><joint name="weld" type="fixed"><parent>world</parent><child>base</child></joint>"""


def write(
    folder: Path, gearbox: str, motor: str = "0 0 1", load: str = "0 0 1", links: str = ""
) -> Path:
    parts = [BASE, WHEEL.format("motor", 0, 0.02), WHEEL.format("load", 1, 0.5)]
    parts += [HINGE.format("motor", motor), HINGE.format("load", load), links, gearbox]
    path = folder / "m.sdf"
    text = f'<sdf version="1.9"><model name="m">\n{"".join(parts)}</model></sdf>'
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("axes", [("0 0 1", "0 0 1"), ("0 0 2", "0 0 -1"), ("0 0 -1", "0 0 1")])
@pytest.mark.parametrize("hinges", [("0 0 1", "0 0 1"), ("0 0 1", "0 0 -1")])
@pytest.mark.filterwarnings("ignore:.*link 'base'")
def test_a_gearbox_couples_two_hinges(
    tmp_path: Path, axes: tuple[str, str], hinges: tuple[str, str]
) -> None:
    ratio = 0.04
    path = write(tmp_path, GEARBOX.format(ratio, *axes), *hinges)
    model = pysim.load_model(path)
    found = constrained_motion(model, np.zeros(2), np.zeros(2), np.array([3.0, 0.0]))
    sign = -1.0
    for axis in (*axes, *hinges):
        sign *= np.sign(float(axis.split()[2]))
    first = 3.0 / (0.02 + ratio**2 * 0.5)
    np.testing.assert_allclose(found.a, [first, sign * ratio * first], rtol=1e-12)


LEFT = {
    ("0 1 0", "0 0 1", ""): "no hinge about its <axis> joins 'base' and 'motor'",
    ("0 0 1", "0.1 0 1", ""): "no hinge about its <axis2> joins 'base' and 'load'",
}


@pytest.mark.parametrize("axes", LEFT)
@pytest.mark.filterwarnings("ignore:.*link 'base'")
def test_a_gearbox_without_hinges_is_left_out(tmp_path: Path, axes: tuple[str, str, str]) -> None:
    path = write(tmp_path, "\n" + GEARBOX.format(2, *axes[:2]))
    with pytest.warns(PysimWarning) as warned:
        assert read_model(path).couplings == ()
    (text,) = [str(w.message) for w in warned if "'gear'" in str(w.message)]
    assert text == f"{path}:7:1: joint 'gear' is left out: {LEFT[axes]}"


MISTAKES = {
    GEARBOX.format(2, "0 0 1", "0 0 1").replace("gearbox_reference_body>", "reference>"): (
        "a gearbox joint needs a <gearbox_reference_body>; name the body of both hinges"
    ),
    GEARBOX.format(2, "0 0 1", "0 0 1").replace(
        "axis2>", "axis3>"
    ): "a gearbox joint needs an <axis2>",
    GEARBOX.format("two", "0 0 1", "0 0 1"): "<gearbox_ratio> must be a number, got 'two'",
}


@pytest.mark.parametrize("text", MISTAKES)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_gearbox_with_a_fault_is_rejected(tmp_path: Path, text: str) -> None:
    with pytest.raises(PysimError) as caught:
        read_model(write(tmp_path, text))
    assert str(caught.value).partition("'gear': ")[2] == MISTAKES[text]


def test_the_gearboxes_of_a_robot_are_read() -> None:
    """Those of Cassie, whose joints "-ip" turn with the motors and "-op" with the links."""
    folder = robots_folder()
    assert folder is not None
    path = folder / "robots/cassie_description/robots/cassie.sdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        spec = read_model(path)
    assert len(spec.couplings) == 10
    assert spec.couplings[0].terms == {"left-roll-op": 1.0, "left-roll-ip": 0.04}
