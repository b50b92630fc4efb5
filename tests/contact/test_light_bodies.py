"""Light bodies under heavy ones, and bodies that turn fast, in convex steps.

Oracle: what rests has no velocity; what turns by more than a radian in a step is beyond any scheme.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SimulationError
from tests.contact.scenes import GROUND, free, world

STIFF = "stiffness = 1e8\ndissipation = 5.0"


@pytest.mark.parametrize(
    "shape", ["{ box = [0.1, 0.1, 0.1] }", "{ sphere = { radius = 0.05 } }"], ids=["box", "sphere"]
)
def test_a_light_body_under_a_heavy_one_rests(tmp_path: Path, shape: str) -> None:
    """1 µg under 1 t: impulses of 10 N·s cancel on it, and their residual is no momentum."""
    bodies = (
        GROUND
        + free("light", shape, 1e-9, "{ xyz = [0, 0, 0.05] }")
        + free("heavy", shape, 1e3, "{ xyz = [0, 0, 0.15] }")
    )
    run = pysim.simulate(world(tmp_path, bodies, surface=STIFF, duration=1.0, every=0.1))
    assert np.abs(run.v[-1]).max() < 1e-9  # spheres still settle
    assert np.abs(run.q[-1] - run.q[-2]).max() < 1e-9


def spinning(folder: Path, shape: str, v: str) -> pysim.Trajectory:
    bodies = GROUND + free("top", shape, 1.0, f"{{ xyz = [0, 0, 0.1], v = {v} }}")
    return pysim.simulate(
        world(folder, bodies, surface="friction = 0.2", duration=0.02, every=1e-3)
    )


def test_a_body_that_turns_by_more_than_a_radian_in_a_step_in_contact_is_an_error(
    tmp_path: Path,
) -> None:
    box = "{ box = [0.3, 0.1, 0.2] }"
    with pytest.raises(
        SimulationError, match=r"joint 'top.*turns by 1\.\d+ rad in a step of 0\.001 s"
    ):
        spinning(tmp_path, box, "[0, 0, 0, 0, 0, 1900]")


def test_a_wheel_that_spins_about_its_axis_is_none(tmp_path: Path) -> None:
    ball = "{ sphere = { radius = 0.1 } }"
    run = spinning(tmp_path, ball, "[0, 0, 0, 0, 1900, 0]")
    assert run.v[-1, 0] > 0.01
