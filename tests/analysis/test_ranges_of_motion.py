"""Ranges of motion and overlapping links of `pysim check --ranges`.

Oracles: closed forms of arms whose links touch at a known angle.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import pysim
from pysim.analysis.ranges_of_motion import STEPS, ranges_of_motion
from pysim.cli import main
from pysim.errors import ModelError
from pysim.scene.packages import robots_folder

SCENES = Path(__file__).parents[2] / "scenes"
ARM = """
[[body]]
name = "lower"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
collision = { capsule = { radius = 0.05, length = 0.8 }, at = { xyz = [0, 0, 0.5] } }
[[body]]
name = "elbow"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body]]
name = "upper"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
collision = { capsule = { radius = 0.05, length = 0.7 }, at = { xyz = [0, 0, 0.65] } }
[[joint]]
name = "shoulder"
type = "revolute"
child = "lower"
limits = { lower = -1, upper = 1 }
axis = [0, 1, 0]
[[joint]]
name = "bend"
type = "revolute"
parent = "lower"
child = "elbow"
axis = [0, 1, 0]
at = { xyz = [0, 0, 1] }
limits = { lower = -3, upper = 3 }
[[joint]]
name = "twist"
type = "revolute"
parent = "elbow"
child = "upper"
axis = [0, 0, 1]
[simulation]
duration = 0.1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_range_without_overlap_ends_where_the_links_touch() -> None:
    """Both capsules lie on rays from the elbow; bent by β, the nearest points are 0.3 sin(π − β) from each other."""
    Path("s.toml").write_text(ARM, "utf-8")
    scene = pysim.load_scene("s.toml")
    ranges = ranges_of_motion(scene.model, scene.state.q)
    shoulder, bend, twist = ranges.coordinates
    own = (shoulder.name, shoulder.lower, shoulder.upper, shoulder.unit)
    assert own == ("shoulder", -1.0, 1.0, "rad")
    assert shoulder.clear == pytest.approx((-1, 1))
    assert shoulder.first is None
    assert (twist.lower, twist.upper) == (-math.pi, math.pi)
    touching = math.pi - math.asin(0.1 / 0.3)
    step = 6 / (STEPS - 1)
    assert bend.clear is not None
    for end in (-bend.clear[0], bend.clear[1]):
        assert touching - 1.2 * step <= end <= touching + 0.2 * step
    assert bend.first == ("lower", "upper")
    (pair,) = ranges.overlapping
    assert (pair.first, pair.second, pair.at_start) == ("lower", "upper", False)
    assert pair.share == pytest.approx((3 - touching) / 3, abs=0.02)
    assert (ranges.pairs, ranges.without_shape, ranges.without_range) == (1, (), ())


def test_the_command_prints_ranges_and_overlaps(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text(ARM, "utf-8")
    assert main(["check", "s.toml", "--ranges"]) == 0
    printed = capsys.readouterr().out
    assert "  shoulder    -1 to 1 rad (-57.3 to 57.3 deg)" in printed
    assert "lower, upper\n" in printed
    assert (
        "  overlap     1 pair of links in 548 configurations, meshes as their convex hulls\n"
        in printed
    )
    assert (
        "  note        s.toml:11:1: body[2]: links 'lower' and 'upper' overlap in 7 % of 400 "
        in printed
    ), printed
    assert main(["check", "s.toml", "--ranges", "--strict"]) == 0
    bent = ARM.replace(
        "limits = { lower = -3, upper = 3 }", "limits = { lower = -3, upper = 3 }\nstart = 2.95"
    )
    Path("s.toml").write_text(bent, "utf-8")
    capsys.readouterr()
    assert main(["check", "s.toml", "--ranges", "--strict"]) == 3
    assert "links 'lower' and 'upper' overlap at the start, and in 7 %" in capsys.readouterr().out
    assert main(["check", "s.toml", "--ranges", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["ranges"]
    assert [own["name"] for own in report["coordinates"]] == ["shoulder", "bend", "twist"]
    assert report["overlapping"][0]["at_start"] is True


def test_excluded_links_may_overlap() -> None:
    Path("s.toml").write_text(ARM + '[[exclude]]\nbetween = ["lower", "upper"]\n', "utf-8")
    scene = pysim.load_scene("s.toml")
    found = ranges_of_motion(scene.model, scene.state.q)
    assert (found.pairs, found.overlapping) == (0, ())


def test_joints_and_links_that_are_not_examined_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = "{ capsule = { radius = 0.05, length = 0.7 }"
    text = ARM.replace(f"collision = {own}", f"visual = {own}")
    text += "[[ground]]\nplane = { offset = -9 }\n"
    text = text.replace(
        'name = "shoulder"\ntype = "revolute"', 'name = "shoulder"\ntype = "prismatic"'
    )
    Path("s.toml").write_text(text.replace("limits = { lower = -1, upper = 1 }\n", ""), "utf-8")
    assert main(["check", "s.toml", "--ranges"]) == 0
    printed = capsys.readouterr().out
    assert "  overlap     shoulder: at the start, as not all coordinates have limits\n" in printed
    assert "  overlap     upper: not examined, without a collision shape\n" in printed


def test_a_scene_without_coordinates_that_have_a_range_is_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A free body and a slide without limits: neither coordinates nor pairs are examined."""
    text = """
    [[body]]
    name = "block"
    shape = { box = { x = 0.1, y = 0.1, z = 0.1 }, density = 500 }
    [[joint]]
    name = "flies"
    type = "free"
    child = "block"
    """
    Path("s.toml").write_text(text, "utf-8")
    assert main(["check", "s.toml", "--ranges"]) == 0
    printed = capsys.readouterr().out
    assert "  overlap     0 pairs of links in 401 configurations" in printed
    assert "  overlap     flies: at the start, as not all coordinates have limits\n" in printed
    assert "without overlap" not in printed


def test_a_follower_narrows_the_range_of_its_leader() -> None:
    follow = 'mimic = { joint = "bend", ratio = -2.0, offset = 0.5 }\nlimits = { lower = -1.5, upper = 2.5 }\n'
    Path("s.toml").write_text(
        ARM.replace("axis = [0, 0, 1]\n", f"axis = [0, 0, 1]\n{follow}"), "utf-8"
    )
    scene = pysim.load_scene("s.toml")
    bend = next(
        own
        for own in ranges_of_motion(scene.model, scene.state.q).coordinates
        if own.name == "bend"
    )
    assert (bend.lower, bend.upper) == (-1.0, 1.0)


def test_coordinates_of_loops_have_no_ranges_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    with pytest.raises(ModelError, match="'close' makes coordinates depend on each other"):
        ranges_of_motion(scene.model, scene.state.q)
    assert main(["check", str(SCENES / "four_bar.toml"), "--ranges"]) == 0
    assert "'close' makes coordinates depend on each other" in capsys.readouterr().out


def test_a_robot_with_meshes_is_examined() -> None:
    """The links of a Panda are clear of each other at the middle of the ranges; its forearm meets its base."""
    folder = robots_folder()
    assert folder is not None
    model = pysim.load_model(folder / "robots/panda_description/urdf/panda.urdf")
    q = model.neutral()
    for joint, at in zip(model.joints, model.q_offsets, strict=True):
        if at >= 0:
            q[at] = (joint.lower[0] + joint.upper[0]) / 2
    found = ranges_of_motion(model, q)
    assert len(found.coordinates) == 8  # one finger follows the other
    assert not any(pair.at_start for pair in found.overlapping)
    clear = {own.name: own.clear for own in found.coordinates}
    assert clear["panda_joint1"] == pytest.approx((-2.8973, 2.8973))
    lower, _ = clear["panda_joint4"] or (0, 0)
    assert -3.05 < lower < -2.9  # folded further, the fingers reach the base
    names = {(pair.first, pair.second) for pair in found.overlapping}
    assert ("panda_link1", "panda_link5") in names
    assert ("panda_link3", "panda_link5") not in names
