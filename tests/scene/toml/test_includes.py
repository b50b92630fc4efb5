"""Scenes of several files: `include`, and `[[model]]` tables that attach other scenes.

The oracle is the same scene written in one file: its dynamics are equal to 1e-13; error messages are compared word for
word, with the place in the file that has the mistake.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pysim.algorithms import aba, crba, forward_kinematics
from pysim.cli import main
from pysim.errors import SceneError
from pysim.inertia import is_physical
from pysim.simulation import load_scene, load_scenes, simulate

FINGER = """
name = "finger"

[parameters]
reach = 0.1
m = "= 2 * reach"

[[body]]
name = "link"
mass = "= m"
com = ["= reach", 0, 0]
inertia = { xx = 0.001, yy = 0.002, zz = 0.003, xy = 0.0002 }

[[joint]]
name = "hinge"
type = "revolute"
child = "link"
at = { xyz = ["= reach / 2", 0, 0] }
axis = [0, 1, 0]
damping = 0.1
start = "10 deg"

[[frame]]
name = "tip"
body = "link"
at = { xyz = [0, 0, 0.2] }

[[actuator]]
joint = "hinge"
offset = 0.5

[simulation]
duration = 0.25
"""
ARM = """
include = ["parts/finger.toml"]

[parameters]
reach = 0.3

[[body]]
name = "arm"
mass = 3
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "shoulder"
type = "revolute"
child = "arm"

[simulation]
step = 1e-3
"""
HAND = """
[[body]]
name = "arm"
mass = 3
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "shoulder"
type = "revolute"
child = "arm"

[[frame]]
name = "palm"
body = "arm"
at = { xyz = [0.2, 0, 0.1], rpy = [0.1, 0.2, 0.3] }

[[model]]
file = "parts/finger.toml"
name = "finger"
parent = "palm"
at = { xyz = [0, 0, 0.05] }
count = 3
offset = { rpy = [0, 0, "120 deg"] }
overrides = { "parameters.reach" = 0.2 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    write("parts/finger.toml", FINGER)


def write(name: str, text: str) -> None:
    Path(name).write_text(text, "utf-8")


def error_of(text: str, overrides: dict[str, Any] | None = None) -> str:
    write("s.toml", text)
    with pytest.raises(SceneError) as caught:
        load_scene("s.toml", overrides)
    return str(caught.value)


def flat_hand(reach: float = 0.2) -> str:
    """The scene HAND in one file."""
    body = FINGER.split("[[body]]")[1].split("[[joint]]", maxsplit=1)[0]
    joint = FINGER.split("[[joint]]")[1].split("[[frame]]", maxsplit=1)[0]
    text = (
        f"[parameters]\nreach = {reach}\nm = '= 2 * reach'\n"
        + HAND.split("[[frame]]", maxsplit=1)[0]
    )
    for k in range(3):
        own = joint.replace('"link"', f'"finger_{k}/link"').replace("hinge", f"finger_{k}/hinge")
        own = own.replace("at = { xyz = [", f"at = {{ rpy = [0, 0, '{120 * k} deg'], xyz = [")
        text += "\n[[body]]" + body.replace('"link"', f'"finger_{k}/link"')
        x, y = (f"= cos({k} * tau / 3) * reach / 2", f"= sin({k} * tau / 3) * reach / 2")
        own = own.replace('["= reach / 2", 0, 0]', f"['{x}', '{y}', 0]")
        text += f"\n[[joint]]\nparent = 'mount_{k}'" + own
        text += f"\n[[actuator]]\njoint = 'finger_{k}/hinge'\noffset = 0.5\n"
        text += f"\n[[body]]\nname = 'mount_{k}'\nmass = 0\n[[joint]]\nname = 'fix_{k}'\n"
        text += f"type = 'fixed'\nparent = 'palm'\nchild = 'mount_{k}'\n"
        text += "at = { xyz = [0, 0, 0.05] }\n"
    return text + "\n[[frame]]" + HAND.split("[[frame]]")[1].split("[[model]]", maxsplit=1)[0]


def same_dynamics(one: Any, other: Any) -> None:
    """Mass matrix, accelerations and poses agree to 1e-13."""
    a, b = one.model, other.model
    assert sorted(a.joint_names) == sorted(b.joint_names)
    at = [b.joint_names.index(name) for name in a.joint_names]
    rng = np.random.default_rng(5)
    q, v, tau = rng.normal(size=(3, a.nv))
    there = [a.joint_names.index(name) for name in b.joint_names]
    q_b, v_b, tau_b = q[there], v[there], tau[there]
    np.testing.assert_allclose(crba(a, q), crba(b, q_b)[np.ix_(at, at)], rtol=0, atol=1e-13)
    acc = aba(a, q, v, tau)
    np.testing.assert_allclose(acc, aba(b, q_b, v_b, tau_b)[at], rtol=1e-12, atol=1e-12)
    bodies = [b.body_names.index(name) for name in a.body_names]
    poses = forward_kinematics(b, q_b)[bodies]
    np.testing.assert_allclose(forward_kinematics(a, q), poses, rtol=0, atol=1e-13)


def test_the_including_file_changes_parameters_and_settings() -> None:
    write("s.toml", ARM)
    scene = load_scene("s.toml")
    assert scene.model.joint_names == ("shoulder", "hinge")
    assert scene.model.bodies[1].theta[0] == 0.6  # 2 · 0.3, where the finger alone has 2 · 0.1
    assert (scene.settings.duration, scene.settings.step) == (0.25, 1e-3)
    assert scene.spec.name == "s"  # the included file keeps its name to itself
    assert "# included: parts/finger.toml" in scene.spec.text
    assert len(simulate(scene).t) == 251


def test_lists_follow_those_of_the_including_file_and_the_last_file_decides_about_keys() -> None:
    write("a.toml", 'gravity = [0, 0, -1]\n[output]\nevery = 0.1\n[assembly]\nhold = ["hinge"]\n')
    write("b.toml", 'include = ["a.toml"]\ngravity = [0, 0, -2]\n[output]\nevery = 0.05\n')
    text = ARM.replace('"parts/finger.toml"', '"parts/finger.toml", "b.toml", "a.toml"')
    write("s.toml", text)
    scene = load_scene("s.toml")
    assert scene.model.gravity[2] == -2  # a.toml is read once, where b.toml includes it
    assert scene.settings.every == 0.05
    assert scene.spec.hold == ("hinge",)


def test_keys_of_included_tables_can_be_set_from_outside() -> None:
    write("s.toml", ARM)
    changes = {"joint.hinge.damping": 0.7, "parameters.m": 5}
    scene = load_scene("s.toml", changes)
    assert scene.model.joints[1].damping == 0.7
    assert scene.model.bodies[1].theta[0] == 5
    worlds = load_scenes("s.toml", {"parameters.reach": [0.1, 0.2]})
    assert [scene.model.bodies[1].theta[0] for scene in worlds] == [0.2, 0.4]


def test_files_are_relative_to_the_file_that_names_them() -> None:
    mesh = Path(__file__).parents[3] / "scenes" / "meshes"
    Path("parts/meshes").mkdir()
    name = min(mesh.glob("*.obj")).name
    Path("parts/meshes", name).write_bytes((mesh / name).read_bytes())
    shape = f'visual = {{ mesh = "meshes/{name}" }}\n'
    write("parts/finger.toml", FINGER.replace("[[joint]]", shape + "[[joint]]"))
    for text in (ARM, HAND):
        write("s.toml", text)
        body = load_scene("s.toml").spec.model.bodies[1]
        assert body.geometries[0].shape.mesh == Path("parts/meshes", name).resolve()


def test_copies_attached_to_a_frame_equal_the_scene_in_one_file() -> None:
    write("s.toml", HAND)
    write("flat.toml", flat_hand())
    scene, flat = load_scene("s.toml"), load_scene("flat.toml")
    assert [d.name for d in scene.spec.actuators] == [f"finger_{k}/hinge" for k in range(3)]
    assert [d.offset for d in scene.spec.actuators] == [0.5] * 3
    assert "finger_2/tip" in scene.model.frame_names
    same_dynamics(scene, flat)
    assert np.sort(scene.state.q) == pytest.approx([0, *[np.radians(10)] * 3], abs=1e-15)


def test_copies_can_be_changed_from_outside() -> None:
    write("s.toml", HAND)
    write("flat.toml", flat_hand(0.35))
    changes = {"model.finger.overrides": {"parameters": {"reach": 0.35}}}
    same_dynamics(load_scene("s.toml", changes), load_scene("flat.toml"))
    outer = HAND.replace("[[body]]", "[parameters]\nlong = 0.35\n\n[[body]]", 1)
    write("s.toml", outer.replace('"parameters.reach" = 0.2', '"parameters.reach" = "= long"'))
    same_dynamics(load_scene("s.toml"), load_scene("flat.toml"))


def test_a_scene_in_a_scene_in_a_scene() -> None:
    model = '[[model]]\nfile = "{}"\nname = "{}"\nat = {{ xyz = [1, 0, 0] }}\n'
    write("b.toml", model.format("parts/finger.toml", "f"))
    write("s.toml", model.format("b.toml", "b"))
    scene = load_scene("s.toml")
    assert scene.model.joint_names == ("b/f/hinge",)
    assert scene.spec.actuators[0].joint == "b/f/hinge"
    assert scene.model.joints[0].at[0, 3] == pytest.approx(2.05, abs=1e-15)


def test_a_joint_may_have_a_frame_as_its_parent() -> None:
    joint = '[[body]]\nname = "tool"\nmass = 0\n[[joint]]\nname = "mount"\ntype = "fixed"\n'
    write("s.toml", FINGER + joint + 'parent = "tip"\nchild = "tool"\nat = { xyz = [0, 1, 0] }\n')
    placed = load_scene("s.toml").spec.model.joints[1]
    assert (placed.parent, placed.at[:3, 3].tolist()) == ("link", [0, 1, 0.2])


@pytest.mark.filterwarnings("ignore:the mechanisms of")
def test_materials_and_contacts_of_an_attached_scene_come_along() -> None:
    ball = """
[materials.rubber]
friction = 0.9
stiffness = 1e4
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 }, density = 1000 }
collision = true
material = "rubber"
[[joint]]
name = "free"
type = "free"
child = "ball"
[[contact]]
between = ["world", "ball"]
friction = 0.3
"""
    write("ball.toml", ball)
    ground = "[[ground]]\nplane = { offset = -1 }\n"
    write(
        "s.toml",
        ground + '[[model]]\nfile = "ball.toml"\nname = "a"\ncount = 2\noffset.xyz = [9, 0, 0]\n',
    )
    contacts = load_scene("s.toml").spec.model.contacts
    assert contacts is not None
    assert sorted(contacts.materials) == ["a_0/rubber", "a_1/rubber", "default"]
    assert [pair.between for pair in contacts.pairs] == [("world", "a_0/ball"), ("world", "a_1/ball")]  # fmt: skip
    bodies = load_scene("s.toml").spec.model.bodies
    assert [shape.material for body in bodies for shape in body.collisions] == ["a_0/rubber", "a_1/rubber"]  # fmt: skip


def test_errors_of_included_and_attached_files_are_reported_there_and_together() -> None:
    write("bad.toml", FINGER.replace("= m", "= n").replace("damping = 0.1", "damping = -1"))
    wrong = [
        "body[0].mass: unknown parameter 'n'; known: pi, tau, e, reach, m",
        "joint[0].damping: must not be negative [N·s/m or N·m·s/rad], got -1",
    ]
    included = error_of(ARM.replace("parts/finger", "bad").replace("mass = 3", "mas = 3")).split("\n")  # fmt: skip
    assert included[1] == "bad.toml:10:11: " + wrong[0]
    write("bad.toml", FINGER.replace("mass =", "mas =").replace("damping = 0.1", "damping = -1"))
    included = error_of(ARM.replace("parts/finger", "bad").replace("mass = 3", "mas = 3")).split("\n")  # fmt: skip
    assert included == [
        "s.toml:9:1: body[0].mas: unknown key; did you mean 'mass'?",
        "bad.toml:10:1: body[0].mas: unknown key; did you mean 'mass'?",
        "bad.toml:20:11: " + wrong[1],
    ]
    attached = error_of(HAND.replace("parts/finger", "bad")).split("\n")
    assert attached == [
        "bad.toml:10:1: body[0].mas: unknown key; did you mean 'mass'?",
        "bad.toml:20:11: " + wrong[1],
    ]


MISTAKES = [
    ('include = ["none.toml"]', "s.toml:1:12: include[0]: there is no file "),
    ('include = "none.toml"', "s.toml:1:11: include: there is no file "),
    (
        'include = ["finger.urdf"]',
        "s.toml:1:12: include[0]: unknown kind of file '.urdf'; use one of .toml",
    ),
    (
        'include = ["/etc/x.toml"]',
        "s.toml:1:12: include[0]: '/etc/x.toml' is outside the folders from which this file may name files; ",
    ),
    (
        'include = ["s.toml"]',
        "s.toml:1:12: include[0]: the file includes itself: 's.toml' → 's.toml'; remove this one",
    ),
    (
        'include = ["a.toml"]',
        "b.toml:1:12: include[0]: the file includes itself: 'a.toml' → 'b.toml' → 'a.toml'; remove this one",
    ),
    ("include = [3]", "s.toml:1:12: include[0]: must be text in quotes, got 3"),
    (
        'include = ["parts/finger.toml"]\n[[body]]\nname = "link"\nmass = 1',
        "parts/finger.toml:9:8: body[0].name: 'link' is taken by s.toml:3:8: body[0].name; rename one",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\ncount = 2',
        "s.toml:3:9: model[0].count: 2 copies need a name, which is numbered; give the model a name",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\ncount = 0',
        "s.toml:3:9: model[0].count: must be at least 1, got 0",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\noffset = { xyz = [1, 0, 0] }',
        "s.toml:3:1: model[0].offset: is for several copies; give count, or leave it out",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\nfree_base = true',
        "s.toml:3:1: model[0].free_base: is for files of other programs; write it in the scene file",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\noverrides = { "parameters.reach" = "long" }',
        "s.toml:3:36: model[0].overrides.\"parameters.reach\": must be a number, got 'long'",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\noverrides = { "joint.hing.damping" = 1 }',
        "s.toml:3:38: model[0].overrides.\"joint.hing.damping\": nothing is named 'hing'; did you mean 'hinge'?",
    ),
    (
        '[[model]]\nfile = "c.toml"',
        "d.toml:2:8: model[0].file: the file attaches itself: 'c.toml' → 'd.toml' → 'c.toml'; remove this one",
    ),
    (
        '[[model]]\nfile = "parts/finger.toml"\nparent = "palm"',
        "s.toml:3:10: model[0].parent: unknown body or frame 'palm'; known: link, tip, world",
    ),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_a_mistake_with_several_files_is_reported(text: str, expected: str) -> None:
    write("a.toml", 'include = ["b.toml"]')
    write("b.toml", 'include = ["a.toml"]')
    write("c.toml", '[[model]]\nfile = "d.toml"')
    write("d.toml", '[[model]]\nfile = "c.toml"')
    Path("finger.urdf").write_text("<robot/>")
    assert error_of(text + "\n").startswith(expected)


def test_scenes_that_attach_each_other_too_deep_are_rejected() -> None:
    """Twenty-two files, each with a body of its own and the next file."""
    for k in range(22):
        body = f'[[body]]\nname = "b{k}"\nmass = 1\n[[joint]]\nname = "j{k}"\ntype = "free"\nchild = "b{k}"\n'
        more = f'[[model]]\nfile = "m{k + 1}.toml"\n' if k < 21 else ""
        write(f"m{k}.toml", body + more)
    found = error_of('[[model]]\nfile = "m0.toml"\n')
    assert found.startswith("m19.toml:9:8: model[0].file: ")
    assert found.endswith("scenes attach one another more than 20 deep; attach them to one")


def test_a_policy_of_inertias_reaches_an_attached_scene() -> None:
    part = FINGER.replace("zz = 0.003", "zz = 0.03")
    write("parts/finger.toml", part)
    attached = '[[model]]\nfile = "parts/finger.toml"\n'
    assert "is not physically consistent" in error_of(attached)
    write("s.toml", attached + 'inertia = "nearest"\n')
    theta = load_scene("s.toml").model.parameters
    assert is_physical(theta).all()


def test_the_option_set_cannot_change_what_is_included() -> None:
    expected = "--set include: is read before keys are set; edit the file"
    assert error_of(ARM, {"include": ["x.toml"]}) == expected


def test_code_of_an_attached_scene_needs_consent() -> None:
    write("code.toml", 'plugins = ["own.py"]\n' + FINGER)
    Path("parts/own.py").write_text("raise SystemExit('ran')\n")
    expected = (
        "code.toml:1:11: plugins: would run the Python code of own.py; read it, then allow it with --allow-code, or "
        "allow_code=True from Python"
    )
    assert error_of('[[model]]\nfile = "code.toml"\n') == expected
    assert error_of('include = ["code.toml"]\n').replace("plugins[0]", "plugins") == expected


def test_a_scene_of_three_included_files_is_checked_and_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("settings.toml", "[simulation]\nduration = 0.01\n")
    write("gravity.toml", "gravity = [0, 0, -1.62]\n")
    text = ARM.replace('finger.toml"', 'finger.toml", "settings.toml", "gravity.toml"')
    write("s.toml", text)
    assert main(["check", "s.toml"]) == 0
    assert "0 0 -1.62 m/s²" in capsys.readouterr().out
    assert main(["s.toml", "--quiet"]) == 0
    assert main(["sweep", "s.toml", "--grid", "parameters.reach=0.1,0.2", "--quiet"]) == 0


GEARED = (
    FINGER
    + """
[[body]]
name = "wheel"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }

[[joint]]
name = "geared"
type = "revolute"
child = "wheel"
mimic = { joint = "hinge", ratio = 2.0 }
"""
)


@pytest.mark.parametrize("mimic", [True, False])
def test_followers_of_an_attached_scene_follow_unless_they_are_set_free(*, mimic: bool) -> None:
    write("geared.toml", GEARED)
    write("s.toml", f'[[model]]\nfile = "geared.toml"\nmimic = {str(mimic).lower()}\n')
    model = load_scene("s.toml").model
    assert model.nv == (1 if mimic else 2)
    assert [joint.mimic is not None for joint in model.joints] == [False, mimic]


def test_the_start_of_a_follower_is_that_of_its_leader() -> None:
    write("geared.toml", GEARED)
    problem = "follows joint 'hinge'; give the start to that joint"
    text = '[[model]]\nfile = "geared.toml"\nstart = { geared = 0.5 }\n'
    assert error_of(text) == f"s.toml:3:11: model[0].start.geared: {problem}"
    text = '[[model]]\nfile = "geared.toml"\njoint.geard.damping = 0.5\n'
    assert error_of(text) == (
        "s.toml:3:13: model[0].joint.geard: the file has no joint 'geard'; did you mean 'geared'?"
    )


def test_names_of_motions_and_measured_elements_of_an_attached_scene_follow_it() -> None:
    """The signal that drives a joint and the element whose power is measured get the model's prefix."""
    write(
        "driven.toml",
        FINGER.replace("damping = 0.1\n", 'motion = { signal = "drive" }\n')
        .replace('start = "10 deg"\n', "")
        .replace('[[actuator]]\njoint = "hinge"\noffset = 0.5\n', "")
        + """
[[signal]]
name = "drive"
type = "sine"
unit = "rad"
amplitude = 0.1
frequency = 1.0

[[force]]
name = "drag"
type = "path_spring"
path = [{ body = "world", point = [1, 0, 0] }, { body = "link", point = [0, 1, 0] }]
stiffness = 3
rest_length = 1

[[sensor]]
name = "power"
type = "power"
element = "drag"
""",
    )
    write("hand.toml", '[[model]]\nfile = "driven.toml"\nname = "f"\n')
    spec = load_scene("hand.toml").spec
    assert spec.model.joints[0].motions[0].signal == "f/drive"
    assert [block.element for block in spec.blocks] == [None, "f/drag"]
