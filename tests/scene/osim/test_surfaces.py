"""Tori of OpenSim's models, and several surfaces between the same two points.

Oracles: OpenSim 4.6, which wraps over a cylinder instead of the torus; shortest paths in tests/oracles/wrapping.py.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from pysim.scene import read_model
from tests.oracles import wrapping
from tests.scene.osim.opensim_models import DATA

ANGLES = np.array([[-0.2], [-0.05], [0.0], [0.05], [0.2]])
RING = [
    0.996499879006369,
    1.0004371154622103,
    1.0008349144186313,
    1.0018891695499106,
    1.0097150536447,
]
TEXT = (DATA / "ring.osim").read_text("utf-8")


STRAIGHT = [
    0.996499879006369,
    1.0004371154622103,
    1.000499875062461,
    0.9999374173461729,
    0.9945042092639963,
]


def without(text, wrap):
    """Return a model whose path has one wrap less."""
    return re.sub(rf'<PathWrap name="{wrap}">.*?</PathWrap>', "", text, flags=re.DOTALL)


def lengths(folder, text):
    (folder / "m.osim").write_text(text, "utf-8")
    return pysim.moment_arms(pysim.load_model(folder / "m.osim"), ANGLES).lengths[:, 0]


def test_surfaces_are_in_the_order_in_which_the_path_meets_them():
    (band,) = read_model(DATA / "ring.osim").forces
    assert [part.kind for part in band.path] == ["point", "torus", "cylinder", "point"]
    assert band.path[1].radii == (0.05, 0.01, 0.01)
    assert band.path[1].at[:3, 2] == pytest.approx([1, 0, 0], abs=1e-15)


def test_a_path_through_a_torus_is_about_as_long_as_in_opensim(tmp_path):
    """The path crosses the ring almost along its axis, where OpenSim's cylinder along the tube is as good."""
    assert lengths(tmp_path, without(TEXT, "w1")) == pytest.approx(RING, abs=1e-6)


def test_a_path_over_two_surfaces_is_the_shortest(tmp_path):
    by_muscle = lengths(tmp_path, TEXT)
    alone = lengths(tmp_path, without(TEXT, "w1")), lengths(tmp_path, without(TEXT, "w2"))
    assert (by_muscle > np.maximum(*alone) - 1e-12).all()
    angle = ANGLES[4, 0]
    c, s = np.cos(angle), np.sin(angle)
    a, b = np.array([-0.5 * c - 0.01 * s, -0.5 * s + 0.01 * c, 0.02]), np.array([0.5, -0.02, 0.01])
    turn = np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])  # of the torus

    def ring(p, q):
        return wrapping.through_torus(
            *(turn.T @ (x - [-0.2, 0.05, 0.0]) for x in (p, q)), 0.05, 0.01
        )

    def rod(p, q):
        return wrapping.over_cylinder(p - [0.2, -0.02, 0], q - [0.2, -0.02, 0], 0.04)

    wanted = wrapping.over_several(a, b, [ring, rod], np.array([[0.0, 0.02, 0.01]]))
    assert by_muscle[4] == pytest.approx(wanted, abs=1e-9)


def test_a_path_does_not_touch_a_cylinder_beyond_its_ends(tmp_path):
    """The path leaves the rod 11 mm from its middle: a length of 20 mm is too short for it, as in OpenSim."""
    rod = without(TEXT, "w2")
    endless = lengths(tmp_path, rod)
    assert endless[4] - STRAIGHT[4] > 8e-4
    for text, expected in (("0.03", endless), ("0.02", STRAIGHT), ("0", STRAIGHT)):
        short = rod.replace("<length>1<", f"<length>{text}<")
        assert lengths(tmp_path, short) == pytest.approx(expected, abs=1e-14)
    (tmp_path / "m.osim").write_text(rod.replace("<length>1<", "<length>-1<"), "utf-8")
    with pytest.raises(
        SceneError, match=r"<length> must not be negative \[m\], got -1; give its size"
    ):
        read_model(tmp_path / "m.osim")


BALL = """<WrapEllipsoid name="ring">
<xyz_body_rotation>0 0 0</xyz_body_rotation>
<translation>-0.2 0.12 0</translation>
<dimensions>{sizes}</dimensions>
<quadrant>{quadrant}</quadrant>
</WrapEllipsoid>"""


@pytest.mark.parametrize(
    ("kind", "sizes"), [("sphere", "0.06 0.06 0.06"), ("ellipsoid", "0.06 0.05 0.05")]
)
def test_a_ball_whose_far_side_is_named_has_none_beside_others(tmp_path, kind, sizes):
    """The straight line runs below the centre of the ball: -y is its near side, and y the far one."""
    for quadrant in ("y", "-y"):
        ball = BALL.format(sizes=sizes, quadrant=quadrant)
        text = re.sub(r"<WrapTorus.*?</WrapTorus>", ball, TEXT, flags=re.DOTALL)
        (tmp_path / "m.osim").write_text(text, "utf-8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (band,) = read_model(tmp_path / "m.osim").forces
        assert [part.kind for part in band.path] == ["point", kind, "cylinder", "point"]
        assert not any(any(part.side) for part in band.path)
        left = "its quadrant cannot be kept beside another surface between the same points"
        assert any(left in str(own.message) for own in caught) == (quadrant == "y")
        (tmp_path / "m.osim").write_text(without(text, "w1"), "utf-8")
        (band,) = read_model(tmp_path / "m.osim").forces
        assert [part.kind for part in band.path] == ["point", kind, "point"]
        assert any(band.path[1].side) == (quadrant == "y")


def test_a_torus_with_a_thick_tube_is_reported(tmp_path):
    (tmp_path / "m.osim").write_text(
        TEXT.replace("<inner_radius>0.01<", "<inner_radius>0.05<"), "utf-8"
    )
    with pytest.raises(SceneError, match="is that of the tube, and not below <outer_radius>"):
        read_model(tmp_path / "m.osim")
