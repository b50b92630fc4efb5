"""Contacts in `pysim check`: creep of friction without stiction, lengths of rolling and spinning friction, braking.

Oracle: the speed at which a box slides, and the height that a ball reaches in a bowl, in runs of the same scene.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.contact import creep_speed
from tests.contact.scenes import GROUND, free, in_bowl, world

BOX = free("box", "{ box = [0.2, 0.2, 0.02] }", 1.0, "{ xyz = [0, 0, 0.01] }") + GROUND
G = 9.81


def shown(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Lines that `check` prints about creep."""
    assert main(["check", str(path)]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("  creep")]


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_creep_on_a_slope_is_that_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slope = math.atan(0.3)
    gravity = (G * math.sin(slope), 0.0, -G * math.cos(slope))
    surface = "friction = 0.5\nstiffness = 2e4"
    run = 'integrator = "rk4"\nslip_speed = 0.02'
    scene = world(tmp_path, BOX, surface=surface, gravity=gravity, duration=1.0, every=0.1, run=run)
    speed = creep_speed(0.6, 0.02)
    assert speed == pytest.approx(0.015, rel=1e-12)
    trajectory = pysim.simulate(scene)
    assert np.diff(trajectory.q[-3:, 0]) / 0.1 == pytest.approx(speed, rel=1e-3)
    slips = "at half its bound, contacts slip at 0.0115 m/s (slip_speed = 0.02)"
    assert shown(tmp_path / "world.toml", capsys) == [
        f'  creep       friction of rk4 does not stick: {slips}; integrator = "convex" holds them',
        "  creep       world, box: creeps down its slope at 0.015 m/s",
    ]


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_steep_slope_is_reported_as_sliding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world(
        tmp_path,
        BOX,
        surface="friction = 0.2",
        gravity=(0.5 * G, 0, -G),
        run='integrator = "dopri5"',
    )
    assert shown(tmp_path / "world.toml", capsys)[1:] == [
        "  creep       world, box: slides, its slope exceeds the angle of friction"
    ]


def test_the_convex_scheme_has_no_creep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world(tmp_path, BOX, surface="friction = 0.5")
    assert shown(tmp_path / "world.toml", capsys) == []


def test_lengths_of_rolling_and_spinning_are_in_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path, BOX, surface="friction = 0.5\nrolling = 1e-3\nspinning = 0.02")
    assert main(["check", str(tmp_path / "world.toml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if "steps in contact" in line or "world, box" in line]
    assert table[0].endswith("rolling, spinning [m]")
    assert table[1].rstrip().endswith("0.001, 0.02")


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_contact_of_bodies_and_of_ice_has_no_slope(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither two bodies nor a surface without friction creep down a slope."""
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 1.0, "{ xyz = [0, 0, 0.5] }")
    gravity = (3.0, 0.0, -9.0)
    run = 'integrator = "rk4"'
    for surface, lines in (("friction = 0.0", 1), ("friction = 0.5", 3)):
        world(tmp_path, ball + BOX, surface=surface, gravity=gravity, duration=0.1, run=run)
        assert len(shown(tmp_path / "world.toml", capsys)) == lines


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_light_body_under_a_heavy_one_is_reported_with_depth_and_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    light = free("light", "{ box = [0.2, 0.2, 0.1] }", 1.0, "{ xyz = [0, 0, 0.05] }")
    heavy = free("heavy", "{ box = [0.2, 0.2, 0.1] }", 100.0, "{ xyz = [0, 0, 0.15] }")
    world(tmp_path, light + heavy + GROUND)
    assert main(["check", str(tmp_path / "world.toml")]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = next(line for line in lines if line.startswith("  overload"))
    depth = 100 * 2e-4
    settles = depth * 2 / math.sqrt(G * 1e-4)  # x d, d critical for each surface's own depth
    assert found == (
        "  overload    light, heavy: the law is that of the lighter mechanism's weight; under 100 kg it sinks "
        f"{depth:.2g} m and settles in {settles:.2g} s; give a stiffness [N/m]"
    )


@pytest.mark.parametrize(("size", "passes"), [(0.3, True), (0.05, False)])
def test_faces_larger_than_cells_of_a_terrain_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: float, passes: bool
) -> None:
    np.save(tmp_path / "terrain.npy", np.zeros((11, 11)))
    box = free("box", f"{{ box = [{size}, {size}, {size}] }}", 1.0, "{ xyz = [0, 0, 1] }")
    ground = '[[ground]]\nheight_field = { file = "terrain.npy", size = [1, 1] }\n'
    world(tmp_path, box + ground)
    assert main(["check", str(tmp_path / "world.toml")]) == 0
    text = capsys.readouterr().out
    line = (
        "  peaks       world, box: peaks of the terrain, whose cells are 0.1 m, pass through a face of the box of "
        f"{size:g} m between its points; let spheres or capsules touch it\n"
    )
    assert (line in text) == passes
    assert ("peaks  " in text) == passes


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_cube_of_2_mm_sinks_by_a_hundredth(tmp_path: Path) -> None:
    cube = free("cube", "{ box = [0.002, 0.002, 0.002] }", 2e-5, "{ xyz = [0, 0, 0.001] }")
    trajectory = pysim.simulate(world(tmp_path, cube + GROUND, duration=0.5, every=0.1))
    assert 1e-3 - trajectory.q[-1, 2] == pytest.approx(2e-5, rel=1e-2)


def test_contacts_of_two_mechanisms_with_equal_laws_share_a_row_unless_full(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two bodies of one mechanism have one row with the ground, and another mechanism of other numbers its own."""
    sphere = "{ sphere = { radius = 0.1 } }"
    legs = "".join(
        f'[[body]]\nname = "{name}"\nshape = {sphere}\nmass = 1.0\ncollision = true\n'
        f'[[joint]]\nname = "{name}"\nparent = "box"\nchild = "{name}"\ntype = "revolute"\n'
        f"at = {{ xyz = [{x}, 0, 1] }}\n"
        for name, x in (("left", -1), ("right", 1))
    )
    alone = free("alone", sphere, 9.0, "{ xyz = [5, 0, 1] }")
    world(tmp_path, BOX + legs + alone, surface="friction = 0.5", duration=0.1)
    rows = {}
    for option in ((), ("--full",)):
        assert main(["check", str(tmp_path / "world.toml"), *option]) == 0
        lines = capsys.readouterr().out.splitlines()
        rows[option] = [line.split("  ")[1] for line in lines if line.startswith("  world, ")]
        shares = any(line.endswith(" contacts; --full prints each") for line in lines)
        assert shares is not bool(option)
    assert rows[()] == ["world, box", "world, left and 1 more", "world, alone"]
    assert rows["--full",] == ["world, box", "world, left", "world, right", "world, alone"]


def swing(
    folder: Path, step: float, stiffness: float, extra: str, capsys: pytest.CaptureFixture[str]
) -> tuple[float, list[str]]:
    """Return the height [m] that a ball loses on its way through a bowl, and the lines of `check` about braking."""
    angle = 1.2
    place = [0.9 * math.sin(angle), 0.0, -0.9 * math.cos(angle)]
    surface = f"friction = 0\nstiffness = {2 * stiffness}\n{extra}"
    run: dict[str, Any] = {"surface": surface, "step": step, "duration": 8.0, "every": 0.004}
    folder.mkdir()
    scene = in_bowl(folder, "{ sphere = { radius = 0.1 } }", f"{{ xyz = {place} }}", **run)
    main(["check", "--allow-code", str(folder / "world.toml")])
    lines = capsys.readouterr().out.splitlines()
    height = pysim.simulate(scene).q[1500:, 2].max()
    return float(place[2] - height), [x for x in lines if x.startswith("  braking")]


@pytest.mark.filterwarnings("ignore::pysim.errors.PysimWarning")
def test_a_stiff_contact_that_brakes_in_a_bowl_is_reported_with_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At d h v²/R = 16; the step and the stiffness of the report leave less than a tenth of the loss."""
    lost, lines = swing(tmp_path / "stiff", 1e-3, 2e7, "", capsys)
    d = 2 / math.sqrt(G * G / 4e7)  # critical at the depth of 1 kg at rest in each surface
    most = 1 / (d * 1e-3)
    helps = f"a step of {most / G * 1e-3:.2g} s or a stiffness of {2e7 * (most / G) ** 2:.2g} N/m"
    text = (
        "  braking     world, body: the damper brakes what slides or rolls along a curved surface where "
        f"v²/R exceeds {most:.2g} m/s²; {helps} allows 9.81 m/s², dissipation = 0 any"
    )
    assert lines == [text]
    assert lost > 0.01
    for name, changes in {
        "short": (most / G * 1e-3, 2e7, ""),
        "soft": (1e-3, 2e7 * (most / G) ** 2, ""),
        "undamped": (1e-3, 2e7, "dissipation = 0.0"),
    }.items():
        better, none = swing(tmp_path / name, *changes, capsys)
        assert none == []
        assert better < 0.1 * lost


def test_flat_surfaces_brake_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 1.0, "{ xyz = [0, 0, 0.1] }")
    world(tmp_path, ball + GROUND, surface="stiffness = 4e7")
    assert main(["check", str(tmp_path / "world.toml")]) == 0
    assert "braking" not in capsys.readouterr().out
