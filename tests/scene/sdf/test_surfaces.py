"""Surfaces and planes of SDF files: the numbers written there, in the laws of a scene."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimError, PysimWarning
from pysim.scene import read_model

if TYPE_CHECKING:
    from pathlib import Path

SPHERE = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
BALL = """<model name="ball"><pose>0 0 1 0 0 0</pose><link name="ball"><inertial><mass>1</mass></inertial>
<collision name="skin">{}{}</collision></link></model>"""
FLOOR = """<model name="floor"><static>1</static><pose>0 0 0.5 0 0 0</pose><link name="floor">
<collision name="top"><pose>0 0 0.25 0.3 0 0</pose><geometry><plane><normal>0 0 2</normal></plane></geometry>
<surface><friction><ode><mu>0.5</mu></ode></friction></surface></collision>
<visual name="top"><geometry><plane><normal>0 0 1</normal><size>1 1</size></plane></geometry></visual></link></model>"""
SURFACES = {
    "ODE": ("<surface><friction><ode><mu>0.7</mu></ode></friction></surface>", (0.7, 0.7), None),
    "Bullet": (
        "<surface><friction><bullet><friction>0.3</friction></bullet></friction></surface>",
        (0.3, 0.3),
        None,
    ),
    "Drake": (
        (
            "<drake:proximity_properties><drake:mu_static>0.9</drake:mu_static><drake:mu_dynamic>0.8</drake:mu_dynamic>"
            "</drake:proximity_properties>"
        ),
        (0.9, 0.8),
        None,
    ),
    "bounce": (
        "<surface><bounce><restitution_coefficient>0.6</restitution_coefficient></bounce></surface>",
        (None, None),
        (0.6, 1.0),
    ),
}


def written(folder: Path, text: str) -> Path:
    path = folder / "w.sdf"
    world = f'<world name="w">{text}</world>'
    path.write_text(f'<sdf version="1.9" xmlns:drake="drake.mit.edu">{world}</sdf>', "utf-8")
    return path


@pytest.mark.parametrize("case", SURFACES)
def test_a_surface_is_a_material(tmp_path: Path, case: str) -> None:
    surface, (static, dynamic), restitution = SURFACES[case]
    spec = read_model(written(tmp_path, BALL.format(SPHERE, surface)))
    assert spec.contacts is not None
    (material,) = spec.contacts.materials.values()
    assert (material.static_friction, material.dynamic_friction) == (static, dynamic)
    assert material.restitution == restitution


def test_a_plane_of_a_static_model_is_a_ground(tmp_path: Path) -> None:
    """Without a warning that its picture is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        spec = read_model(written(tmp_path, FLOOR + BALL.format(SPHERE, SURFACES["ODE"][0])))
    assert spec.contacts is not None
    (ground,) = spec.contacts.grounds
    assert ground.normal == pytest.approx((0, -0.29552020666133957, 0.955336489125606), abs=1e-15)
    assert ground.offset == pytest.approx(0.75 * 0.955336489125606, rel=1e-15)
    assert spec.contacts.materials[ground.material].static_friction == 0.5


def test_a_ball_rests_on_the_plane_of_its_file(tmp_path: Path) -> None:
    flat = FLOOR.replace("0.3 0 0", "0 0 0")
    written(tmp_path, flat + BALL.format(SPHERE, SURFACES["ODE"][0]))
    (tmp_path / "s.toml").write_text(
        '[[model]]\nfile = "w.sdf"\n[simulation]\nduration = 1\n', "utf-8"
    )
    scene = pysim.load_scene(tmp_path / "s.toml")
    assert scene.settings.integrator == "convex"
    trajectory = pysim.simulate(scene)
    assert trajectory.q[-1, 2] == pytest.approx(0.75 + 0.1, abs=5e-4)


def test_frictions_of_two_directions_are_named(tmp_path: Path) -> None:
    surface = "<surface><friction><ode><mu>0.7</mu><mu2>0.5</mu2></ode></friction></surface>"
    path = written(tmp_path, BALL.format(SPHERE, surface))
    with pytest.warns(PysimWarning) as caught:
        read_model(path)
    assert [str(w.message).partition(": ")[2] for w in caught] == [
        "link 'ball': the frictions 0.7 and 0.5 of collision 'skin' differ, and friction has no direction: it is 0.5"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FLOOR.replace("0 0 2", "0 0 0"),
            "link 'floor': the plane has no direction; write <normal>",
        ),
        (
            BALL.format(SPHERE, SURFACES["ODE"][0].replace("0.7", "-1")),
            "link 'ball': <mu> must not be negative [1], got -1.0",
        ),
    ],
)
def test_a_mistake_is_reported(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(PysimError) as caught:
        pysim.load_model(written(tmp_path, text))
    assert caught.value.problem == expected


TORSION = """<surface><friction><torsional><coefficient>0.8</coefficient>{}</torsional>
<ode><mu>0.5</mu></ode><bullet><rolling_friction>0.003</rolling_friction></bullet></friction></surface>"""


def test_torsional_friction_of_a_patch_bounds_the_moment_as_in_gazebo(tmp_path: Path) -> None:
    surface = TORSION.format("<patch_radius>0.02</patch_radius>")
    spec = read_model(written(tmp_path, BALL.format(SPHERE, surface)))
    assert spec.contacts is not None
    (material,) = spec.contacts.materials.values()
    assert material.dynamic_friction == 0.5
    assert material.spinning is not None
    moment = material.spinning * 0.5  # over the normal force
    assert moment == pytest.approx(3 * math.pi / 16 * 0.02 * 0.8, rel=1e-15)
    assert material.rolling == 0.003


def test_torsional_friction_of_a_depth_is_named(tmp_path: Path) -> None:
    patch = "<use_patch_radius>false</use_patch_radius><surface_radius>0.1</surface_radius>"
    path = written(tmp_path, BALL.format(SPHERE, TORSION.format(patch)))
    with pytest.warns(PysimWarning) as caught:
        read_model(path)
    assert str(caught[0].message).endswith(
        "link 'ball': the torsional friction of collision 'skin' is left out: its patch depends on the depth; give it "
        "a patch_radius"
    )


@pytest.mark.parametrize(("mu", "spinning"), [("0", None), ("0.5", None)])
def test_torsional_friction_of_what_slides_freely_or_of_no_patch_is_none(
    tmp_path: Path, mu: str, spinning: float | None
) -> None:
    """The moment of friction vanishes with its coefficient, which is named, and with the radius of the patch."""
    patch = "<patch_radius>0.02</patch_radius>" if mu == "0" else ""
    surface = TORSION.format(patch).replace("<mu>0.5</mu>", f"<mu>{mu}</mu>")
    path = written(tmp_path, BALL.format(SPHERE, surface))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = read_model(path)
    named = [
        "link 'ball': the torsional friction of collision 'skin' is left out: it slides freely"
    ]
    assert [str(w.message).partition(": ")[2] for w in caught] == (named if mu == "0" else [])
    assert spec.contacts is not None
    (material,) = spec.contacts.materials.values()
    assert material.spinning is spinning


def test_an_engine_without_numbers_leaves_the_surface_alone(tmp_path: Path) -> None:
    surface = "<surface><friction><ode/></friction></surface>"
    spec = read_model(written(tmp_path, BALL.format(SPHERE, surface)))
    assert spec.contacts is None or not any(
        material.static_friction is not None and material.where
        for material in spec.contacts.materials.values()
    )


def test_a_static_link_may_have_a_plane_and_other_shapes(tmp_path: Path) -> None:
    box = f'<collision name="lump">{SPHERE}</collision>'
    spec = read_model(written(tmp_path, FLOOR.replace("<visual", box + "<visual", 1)))
    assert spec.contacts is not None
    assert len(spec.contacts.grounds) == 1


def test_check_prints_what_a_surface_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bounce = SURFACES["bounce"][0]
    rolling = "<surface><friction><bullet><rolling_friction>0.003</rolling_friction></bullet></friction></surface>"
    other = BALL.replace('"ball"', '"puck"').format(SPHERE, rolling)
    path = written(tmp_path, BALL.format(SPHERE, bounce) + other)
    assert main(["check", str(path)]) == 0
    lines = [x for x in capsys.readouterr().out.splitlines() if x.startswith("  material")]
    assert [line.partition(": ")[2] for line in lines] == [
        "restitution 0.6 at 1 m/s",
        "rolling 0.003 m",
    ]
