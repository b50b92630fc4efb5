"""Gravity of an OpenSim file, read from its beginning. Oracle: the reader of whole files."""

from __future__ import annotations

import pytest

from pysim.scene.osim.gravity import stated_gravity
from pysim.scene.osim.reader import GRAVITY, gravity_of
from tests.scene.osim.opensim_models import DATA

HEAD = '<?xml version="1.0"?><OpenSimDocument Version="40000"><Model name="m">'


def test_gravity_is_read_from_the_head_of_a_file_that_ends_early(tmp_path):
    file = tmp_path / "m.osim"
    file.write_text(
        f"{HEAD}<defaults><gravity>1 2 3</gravity></defaults><gravity>0 -9 1</gravity><", "utf-8"
    )
    assert stated_gravity(file) == (0.0, -9.0, 1.0)
    assert gravity_of(DATA / "joints.osim") == (0.5, -9.8, 0.25)


@pytest.mark.parametrize(
    "text", ["<gravity>0 -9</gravity>", "<gravity>0 -9 a</gravity>", "", "</b>"]
)
def test_text_that_holds_no_three_numbers_is_left_to_the_reader_of_the_file(tmp_path, text):
    file = tmp_path / "m.osim"
    file.write_text(f"{HEAD}{text}</Model></OpenSimDocument>", "utf-8")
    assert stated_gravity(file) is None
    if not text:
        assert gravity_of(file) == GRAVITY
