"""Contacts of MJCF models. The oracle is MuJoCo: how it combines geoms, and where its bodies rest, bounce and slide."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.contact import PairLaw, compile_contacts
from pysim.errors import PysimError, PysimWarning
from pysim.scene import read_model
from pysim.scene.mjcf.surfaces import depth_at_rest, impedance, mixed, of_geom, restitution

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pysim.scene.spec import ContactsSpec

    Write = Callable[[str], Path]

G = 9.81  # [m/s²]
BALL = """
<option timestep="1e-4" integrator="implicitfast"/>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" {numbers}/>
  <body name="ball" pos="0 0 0.1"><freejoint name="free"/><geom name="skin" size="0.1" mass="2" {numbers}/></body>
</worldbody>
"""
SURFACES = {
    "default": "",
    "bouncing": 'solref="0.02 0.2"',
    "soft": 'solimp="0.8 0.99 0.01"',
    "direct": 'solref="-5000 -20"',
    "sharp": 'solimp="0.7 0.98 0.0002 0.3 3"',
    "overdamped": 'solref="0.01 3"',
    "without a width": 'solimp="0.8 0.9 0"',
}


def contacts_of(path: Path) -> ContactsSpec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        found = read_model(path).contacts
    assert found is not None
    return found


def warnings_of(read: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = read()
    return found, [str(w.message) for w in caught if w.category is PysimWarning]


def scene_of(folder: Path, keys: str = "", settings: str = "") -> pysim.Scene:
    text = f'[[model]]\nfile = "m.xml"\n{keys}\n[simulation]\n{settings}'
    (folder / "s.toml").write_text(text, "utf-8")
    return pysim.load_scene(folder / "s.toml")


def bounce_and_rest(path: Path, speed: float) -> tuple[float, float]:
    """MuJoCo's speed after an impact over that before, and the depth of the ball at rest [m]."""
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qvel[2] = -speed
    up = 0.0
    for _ in range(30_000):
        mujoco.mj_step(m, data)
        up = max(up, data.qvel[2])
    return up / speed, 0.1 - data.qpos[2]


@pytest.mark.parametrize("surface", SURFACES)
def test_depth_and_restitution_are_those_of_mujoco(write: Write, surface: str) -> None:
    path = write(BALL.format(numbers=SURFACES[surface]))
    numbers = of_geom(mujoco.MjModel.from_xml_path(str(path)), 0)
    bounce, depth = bounce_and_rest(path, speed=2.0)
    assert depth_at_rest(numbers, G) == pytest.approx(depth, rel=1e-4)
    assert restitution(numbers) == pytest.approx(bounce, abs=0.02)


def test_a_damping_ratio_of_zero_is_as_stiff_as_numbers_allow() -> None:
    m = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom type="plane" size="1 1 1" solref="0.02 0"/></worldbody></mujoco>'
    )
    assert 0 <= depth_at_rest(of_geom(m, 0), G) < 1e-9


def test_an_undamped_surface_returns_the_whole_speed(write: Write) -> None:
    """In MuJoCo, too; the ball is never at rest."""
    path = write(BALL.format(numbers='solref="-5000 0"'))
    bounce, _ = bounce_and_rest(path, speed=2.0)
    assert restitution(of_geom(mujoco.MjModel.from_xml_path(str(path)), 0)) == 1.0
    assert bounce == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("surface", "step"), [("default", 1e-4), ("bouncing", 1e-5)])
def test_a_ball_bounces_as_in_mujoco(
    write: Write, tmp_path: Path, surface: str, step: float
) -> None:
    """Gravity acts during the impact, with more effect in pysim."""
    path = write(BALL.format(numbers=SURFACES[surface]))
    bounce, _ = bounce_and_rest(path, speed=1.0)
    keys = "start_v = { free = [0, 0, -1, 0, 0, 0] }"
    settings = f"duration = 0.1\nstep = {step}\n[output]\nevery = 1e-3"
    trajectory = pysim.simulate(scene_of(tmp_path, keys, settings))
    assert trajectory.v[:, 2].max() == pytest.approx(bounce, abs=0.03)


@pytest.mark.filterwarnings(
    "ignore:.*the run gained:pysim.PysimWarning"
)  # 2e-5 J in the first contact
@pytest.mark.parametrize("surface", SURFACES)
def test_a_ball_rests_as_deep_as_in_mujoco(write: Write, tmp_path: Path, surface: str) -> None:
    path = write(BALL.format(numbers=SURFACES[surface]))
    _, depth = bounce_and_rest(path, speed=0.1)
    trajectory = pysim.simulate(scene_of(tmp_path, "", "duration = 2"))
    assert 0.1 - trajectory.q[-1, 2] == pytest.approx(depth, rel=1e-3)


def test_impedance_is_a_sigmoid_between_the_two_numbers() -> None:
    solimp = (0.9, 0.95, 0.001, 0.5, 2.0)
    assert impedance(solimp, 0.0) == 0.9
    assert impedance(solimp, 5e-4) == pytest.approx(0.925, rel=1e-15)
    assert impedance(solimp, 0.01) == 0.95


MIXED = """<worldbody>
  <geom name="floor" type="plane" size="1 1 1" {}/>
  <body pos="0 0 0.09"><freejoint/><geom name="skin" size="0.1" mass="2" {}/></body>
</worldbody>"""
COMBINATIONS = [
    ('friction="0.5 0.01 0.002"', 'friction="0.8 0.002 0.03" condim="6"'),
    ('solref="0.01 1"', 'solref="0.03 0.5" solmix="3"'),
    ('solref="-1000 -3"', 'solref="0.03 0.5"'),
    ('solimp="0.5 0.9 0.01 0.4 3" solmix="0"', 'friction="0.3"'),
    ('priority="1" friction="0.3" condim="1" solimp="0.6 0.7 0.1"', 'friction="0.9" margin="0.02"'),
    ('margin="0.01"', 'margin="0.002" priority="2" friction="0.1"'),
    ('solmix="0" solref="0.01 1"', 'solmix="0" solref="0.03 0.5"'),
]


@pytest.mark.parametrize("case", COMBINATIONS)
def test_geoms_are_combined_as_in_mujoco(write: Write, case: tuple[str, str]) -> None:
    m = mujoco.MjModel.from_xml_path(str(write(MIXED.format(*case))))
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    found, contact = mixed(m, 0, 1), data.contact[0]
    assert found.condim == contact.dim
    assert found.friction == tuple(contact.friction[[0, 2, 3]])
    assert np.array(found.solref) == pytest.approx(contact.solref, rel=1e-14)
    assert np.array(found.solimp) == pytest.approx(contact.solimp, rel=1e-14)
    assert found.margin == contact.includemargin


def test_the_pair_of_a_link_and_a_plane_has_the_numbers_of_mujoco(
    write: Write, tmp_path: Path
) -> None:
    """√(0.5 · 0.8) is not max(0.5, 0.8), so the pair has a friction of its own."""
    touching = MIXED.replace("0.09", "0.1")
    path = write(touching.format('friction="0.5"', 'friction="0.8" solref="0.04 1"'))
    (pair,) = contacts_of(path).pairs
    assert pair.between == ("world", "body1")
    assert pair.surface.static_friction == pair.surface.dynamic_friction == 0.8
    m = mujoco.MjModel.from_xml_path(str(path))
    depth = depth_at_rest(mixed(m, 0, 1), G)
    scene = scene_of(tmp_path)
    assert scene.contacts is not None
    (shape,) = scene.contacts.shapes
    assert (shape.law.static_friction, shape.law.dynamic_friction) == (0.8, 0.8)
    assert shape.law.sink == pytest.approx(depth, rel=1e-12)


def test_a_block_slides_with_the_friction_of_mujoco(write: Write, tmp_path: Path) -> None:
    block = """<worldbody><geom type="plane" size="1 1 1" friction="0.3"/>
    <body pos="0 0 0.1"><freejoint name="free"/><geom type="box" size="0.3 0.3 0.1" friction="0.2"/></body>
    </worldbody>"""
    write(block)
    settings = "duration = 0.5\n[output]\nevery = 0.01"
    keys = "start_v = { free = [2, 0, 0, 0, 0, 0] }"
    trajectory = pysim.simulate(scene_of(tmp_path, keys, settings))
    rate = (trajectory.v[-1, 0] - trajectory.v[20, 0]) / (trajectory.t[-1] - trajectory.t[20])
    assert rate == pytest.approx(-0.3 * G, rel=1e-3)


MASKS = """<worldbody>
  <geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="0"/>
  <body name="a"><joint name="j"/><geom name="both" size="0.1" conaffinity="3"/><geom name="other" size="0.2"/>
    <geom name="drawn" size="0.3" contype="0" conaffinity="0"/></body>
  <body name="b"><joint name="k"/><geom name="chosen" size="0.4" contype="0" conaffinity="0"/></body>
</worldbody>
<contact><pair geom1="chosen" geom2="floor" friction="0.7 0.7 0 0 0"/><exclude body1="a" body2="b"/></contact>"""


def test_geoms_collide_that_match_a_plane_or_are_paired_with_it(write: Write) -> None:
    path = write(MASKS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        spec = read_model(path)
    radii = {body.name: [c.shape.size[0] for c in body.collisions] for body in spec.bodies}
    assert radii == {"a": [0.1, 0.2], "b": [0.4]}
    model = pysim.load_model(path)
    touching = [(s.shape.size[0], s.ground is not None) for s in compile_contacts(model).shapes]
    assert touching == [(0.1, True), (0.4, True)]  # that of 0.2 matches neither the plane nor b
    assert spec.contacts is not None
    assert spec.contacts.excluded == (("a", "b"),)
    (pair,) = spec.contacts.pairs
    assert pair.between == ("world", "b")
    assert pair.surface.dynamic_friction == 0.7


def test_a_margin_raises_the_ground(write: Write) -> None:
    text = BALL.format(numbers='margin="0.01"')
    path = write(text)
    (ground,) = contacts_of(path).grounds
    assert ground.offset == 0.02  # the sum of both
    _, depth = bounce_and_rest(path, speed=0.1)
    m = mujoco.MjModel.from_xml_path(str(path))
    assert depth_at_rest(of_geom(m, 0), G) - 0.02 == pytest.approx(depth, rel=1e-4)


def test_a_plane_of_a_fixed_body_is_placed_in_the_scene(write: Write, tmp_path: Path) -> None:
    tilted = """<worldbody><body pos="0 0 1" euler="0 30 0"><body pos="0 0 0.5">
    <geom type="plane" size="1 1 1" pos="0 0 0.5"/></body></body>
    <body name="b" pos="0 0 3"><freejoint/><geom size="0.1"/></body></worldbody>"""
    write(tilted)
    scene = scene_of(tmp_path, "at = { xyz = [0, 0, 2], rpy = [0, 0, 1.5707963267948966] }")
    contacts = scene.spec.model.contacts
    assert contacts is not None
    (ground,) = contacts.grounds
    assert ground.normal == pytest.approx((0, 0.5, np.sqrt(0.75)), abs=1e-15)
    assert ground.offset == pytest.approx(1 + 3 * np.sqrt(0.75), rel=1e-14)
    assert ground.material == "m/surface"


def test_a_scene_redefines_a_material_of_the_file(write: Write, tmp_path: Path) -> None:
    write(BALL.format(numbers=""))
    keys = '[materials."m/surface"]\nfriction = 0.2'
    contacts = scene_of(tmp_path, keys).contacts
    assert contacts is not None
    assert contacts.shapes[0].law.dynamic_friction == pytest.approx(0.2, rel=1e-15)


def test_a_scene_without_contacts_says_why(write: Write, tmp_path: Path) -> None:
    write(BALL.format(numbers=""))
    scene, texts = warnings_of(lambda: scene_of(tmp_path, "", 'integrator = "variational"'))
    assert scene.contacts is None
    assert texts == [
        (
            f"{tmp_path}/s.toml:1:1: model[0]: the contacts of 'm.xml' are left out: 'variational' computes no "
            'contacts, and the scene has a ground; write collision = "none" if that is meant'
        )
    ]
    scene, texts = warnings_of(
        lambda: scene_of(tmp_path, 'collision = "none"', 'integrator = "variational"')
    )
    assert scene.contacts is None
    assert texts == []
    with pytest.raises(PysimError) as caught:
        scene_of(tmp_path, 'collision = "file"', 'integrator = "variational"')
    assert str(caught.value) == (
        f"{tmp_path}/s.toml:5:14: simulation.integrator: 'variational' computes no contacts, and the scene has a "
        'ground; take "convex", or remove the ground'
    )


def test_the_ground_of_a_file_on_a_moving_body_is_left_out(write: Write, tmp_path: Path) -> None:
    write(BALL.format(numbers=""))
    text = """[[body]]
name = "cart"
mass = 1.0
[[joint]]
name = "rail"
type = "prismatic"
child = "cart"
axis = [1, 0, 0]
[[model]]
file = "m.xml"
parent = "cart"
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    scene, texts = warnings_of(lambda: pysim.load_scene(tmp_path / "s.toml"))
    assert scene.contacts is None
    assert texts == [
        (
            f"{tmp_path}/s.toml:9:1: model[0]: the ground of 'm.xml' is left out, because 'cart' may move; "
            'write a [[ground]], or parent = "world"'
        )
    ]


LEFT_OUT = """<worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0"/>
  <body name="a"><joint name="j"/><geom name="skin" size="0.1" condim="4" margin="0.01" friction="0"/>
    <geom name="sole" size="0.1" friction="0"/></body>
  <body name="b"><joint name="k"/><geom name="bone" size="0.1" friction="0.4"/></body>
</worldbody>"""


def test_contacts_that_pysim_cannot_represent_are_named(write: Write) -> None:
    path = write(LEFT_OUT)
    _, texts = warnings_of(lambda: read_model(path))
    assert [text.removeprefix(f"{path.parent}/") for text in texts] == [
        "m.xml:2: ground 'floor' has no margin: those of the geoms on it differ, up to 0.01 m",
        (
            "m.xml:3: geom 'skin' of 'a' slides freely and does not resist turning: torsional friction 0.005 m and "
            "rolling friction 0.0001 m are left out"
        ),
    ]
    with pytest.raises(PysimError, match="ground 'floor' has no margin"):
        pysim.load_model(path, strict=True)


TURNING = """
<option timestep="1e-3" integrator="implicitfast" cone="elliptic"/>
<worldbody>
  <geom name="floor" type="plane" size="5 5 1" friction="0.5 0.002 0.001"/>
  <body name="ball" pos="0 0 0.1"><freejoint name="free"/>
    <geom name="skin" size="0.1" mass="2" condim="{condim}" friction="0.5 0.004 0.003"/></body>
</worldbody>
"""


@pytest.mark.parametrize(
    ("condim", "velocity", "place", "rate"),
    [
        (6, [1.0, 0, 0, 0, 10.0, 0], 0, -5 / 7 * 0.003 * G / 0.1),
        (4, [0, 0, 0, 0, 0, 20.0], 5, -0.004 * G / (0.4 * 0.1**2)),
    ],
)
def test_ball_that_rolls_or_spins_slows_down_as_in_mujoco(
    write: Write, condim: int, velocity: list[float], place: int, rate: float
) -> None:
    path = write(TURNING.format(condim=condim))
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qvel[:] = velocity
    for _ in range(500):
        mujoco.mj_step(m, d)
    scene_path = path.parent / "s.toml"
    scene_path.write_text(
        f'[[model]]\nfile = "m.xml"\nstart.free = {{ xyz = [0, 0, 0.1], v = {velocity} }}\n'
        "[simulation]\nduration = 0.5\nstep = 1e-3\n"
    )
    scene = pysim.load_scene(scene_path)
    trajectory = pysim.simulate(scene)
    R = pysim.forward_kinematics(scene.model, trajectory.q[-1])[0, :3, :3]
    v = np.concatenate([R @ trajectory.v[-1, :3], R @ trajectory.v[-1, 3:]])
    change, theirs = v[place] - velocity[place], d.qvel[place] - velocity[place]
    assert change == pytest.approx(0.5 * rate, rel=3e-3)  # the closed form
    assert change == pytest.approx(theirs, rel=1e-2)


def test_lengths_of_turning_friction_bound_mujocos_moments(write: Write) -> None:
    surface = _surface_of(write(TURNING.format(condim=6)))
    assert surface.rolling * surface.dynamic_friction == pytest.approx(0.003)
    assert surface.spinning * surface.dynamic_friction == pytest.approx(0.004)
    surface = _surface_of(write(TURNING.format(condim=4)))
    assert surface.rolling == 0
    assert surface.spinning * surface.dynamic_friction == pytest.approx(0.004)
    text = TURNING.format(condim=6).replace("0.5 0.002 0.001", "1 0.01 0.001")
    surface = _surface_of(write(text))  # a pair of its own: MuJoCo takes the larger ones
    assert surface.dynamic_friction == 1
    assert surface.rolling == pytest.approx(0.003)
    assert surface.spinning == pytest.approx(0.01)


def _surface_of(path: Path) -> PairLaw:
    model = pysim.load_model(path)
    return compile_contacts(model).shapes[0].law


def test_check_prints_the_surfaces(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(BALL.format(numbers='friction="0.7"'))
    assert main(["check", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "ground      0 x + 0 y + 1 z = 0 m, of m/surface" in printed
    assert (
        "material    m/surface: friction 0.7, sink 0.000184 m, restitution 0.135 at 1 m/s"
        in printed
    )


def test_a_file_without_contacts_has_none(write: Write) -> None:
    flag = '<option><flag contact="disable"/></option>'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        assert read_model(write(flag + BALL.format(numbers=""))).contacts is None
    drawn = 'contype="0" conaffinity="0"'
    assert (
        read_model(
            write(f'<worldbody><body><joint/><geom size="1" {drawn}/></body></worldbody>')
        ).contacts
        is None
    )


def test_the_planes_of_two_files_that_coincide_count_once(write: Write, tmp_path: Path) -> None:
    write(BALL.format(numbers=""))
    text = '[[model]]\nfile = "m.xml"\nname = "{}"\nat = {{ xyz = [{}, 0, 0] }}\n'
    (tmp_path / "s.toml").write_text(text.format("a", 0) + text.format("b", 1), "utf-8")
    contacts = pysim.load_scene(tmp_path / "s.toml").contacts
    assert contacts is not None
    grounds = [shape.ground for shape in contacts.shapes if shape.ground is not None]
    assert [ground.material for ground in grounds] == ["a/m/surface"] * 2


CHAIN = """<worldbody><geom type="plane" size="1 1 1"/>
  <body name="pelvis" pos="0 0 1"><freejoint/><geom size="0.1"/>
    <body name="thigh" pos="0 0 -0.1"><joint axis="1 0 0"/><joint axis="0 1 0"/><geom size="0.1"/>
      <body name="shin" pos="0 0 -0.1"><joint axis="0 1 0"/><geom size="0.1"/></body></body></body>
</worldbody>"""


def test_parent_and_child_with_several_joints_do_not_touch(write: Write, tmp_path: Path) -> None:
    """MuJoCo's contacts at a start where every body overlaps its parent and its grandparent."""
    path = write(CHAIN)
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    names = [m.body(i).name for i in range(m.nbody)]
    bodies = m.geom_bodyid[data.contact.geom]
    expected = {frozenset(names[i] for i in pair) for pair in bodies}
    scene, _ = warnings_of(lambda: scene_of(tmp_path))
    found = {frozenset((pair.first, pair.second)) for pair in scene.contacts.pairs}
    moving = {pair for pair in found if "world" not in pair}
    assert moving == expected == {frozenset(("pelvis", "shin"))}


RUNNERS = """<worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.4"/>
  <body name="sled" pos="0 0 1"><freejoint/><geom size="0.1" friction="0.6"/>
    <geom size="0.1" pos="1 0 0" friction="0.8"/></body>
</worldbody>"""


def test_two_surfaces_of_a_body_that_combine_otherwise_are_named(write: Write) -> None:
    """MuJoCo takes the larger coefficient, a scene the geometric mean; a pair of links has one number."""
    _, texts = warnings_of(lambda: read_model(write(RUNNERS)))
    assert [text.partition(": ")[2] for text in texts] == [
        "the surfaces of body 'sled' combine with the ground as materials of pysim do, not as MuJoCo's"
    ]


def test_a_pair_without_rolling_friction_takes_it_from_its_geoms(write: Write) -> None:
    text = RUNNERS.replace('size="0.1" friction="0.6"', 'name="a" size="0.1" condim="6"')
    text = text.replace('<geom size="0.1" pos="1 0 0" friction="0.8"/>', "")
    pair = '<contact><pair geom1="floor" geom2="a" condim="3"/></contact>'
    (changed,) = contacts_of(write(text + pair)).pairs
    assert changed.between == ("world", "sled")
    assert (changed.surface.rolling, changed.surface.spinning) == (0.0, 0.0)


def test_two_static_bodies_need_not_be_kept_apart(write: Write) -> None:
    """A fixed body with a plane is the world, which does not touch itself."""
    bodies = '<worldbody><geom type="plane" size="1 1 1"/><body name="t"><geom type="plane" size="1 1 1"/></body>'
    bodies += '<body name="a"><freejoint/><geom size="0.1"/></body></worldbody>'
    exclude = '<contact><exclude body1="world" body2="t"/><exclude body1="t" body2="a"/></contact>'
    assert contacts_of(write(bodies + exclude)).excluded == (("world", "a"),)
