"""Loops, couplings and forces in scene files: what is refused, and in which words. Oracle: the text itself."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError
from pysim.loops import mobility

TREE = """
gravity = [0, 0, 0]
[[body]]
name = "a"
mass = 1.0
shape = { box = [1.0, 0.1, 0.1], at = { xyz = [0.5, 0, 0] } }
[[body]]
name = "b"
mass = 1.0
shape = { box = [1.0, 0.1, 0.1], at = { xyz = [0.5, 0, 0] } }
[[joint]]
name = "p"
type = "revolute"
child = "a"
[[joint]]
name = "r"
type = "revolute"
child = "b"
at = { xyz = [0.5, 0, 0] }
[[frame]]
name = "tip"
body = "a"
at = { xyz = [1.0, 0, 0] }
"""
LOOP = '[[loop]]\nname = "x"\n'
GEAR = '[[coupling]]\nname = "g"\njoint = "p"\n'
FLOATING = """
[[body]]
name = "c"
mass = 1.0
shape = { box = [1.0, 0.1, 0.1] }
[[joint]]
name = "f"
type = "free"
child = "c"
"""


def refusal(tmp_path: Path, text: str) -> str:
    path = tmp_path / "scene.toml"
    path.write_text(TREE + text, "utf-8")
    with pytest.raises(PysimError) as caught:
        pysim.load_scene(path)
    return str(caught.value).replace(str(path), "scene.toml")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            LOOP + 'type = "ball"\na = "a"\nb = "c"',
            "loop[0].b: unknown body or frame 'c'; known: a, b",
        ),
        (LOOP + 'type = "ball"', "loop[0]: has the world on both sides; name two bodies that move"),
        (LOOP + 'type = "ball"\na = "a"\nb = "tip"', "loop[0]: has body 'a' on both sides"),
        (
            LOOP + 'type = "bal"\na = "a"',
            "loop[0].type: unknown loop type 'bal'; did you mean 'ball'?",
        ),
        (
            LOOP + 'type = "free"\na = "a"',
            "loop[0].type: a free joint constrains nothing; remove the loop",
        ),
        (
            LOOP + 'type = "ball"\na = "a"\naxis = [0, 0, 1]',
            "loop[0].axis: a ball loop has no axis",
        ),
        (
            LOOP + 'type = "weld"\na = "a"\nlength = 1.0',
            "loop[0].length: a weld loop has no length; rem",
        ),
        (
            LOOP + 'type = "distance"\na = "a"',
            "loop[0].length: is missing; add it: distance between",
        ),
        (
            LOOP + 'type = "helical"\na = "a"',
            "loop[0].pitch: is missing; add it: travel along the axis",
        ),
        (
            LOOP + 'type = "revolute"\na = "a"\naxis = [0, 0, 0]',
            "loop[0].axis: has no direction, got",
        ),
        (
            LOOP + 'type = "distance"\na = "a"\nlength = -1.0',
            "loop[0].length: must be positive [m]",
        ),
        (
            LOOP + 'type = "ball"\na = "a"\nb = "b"\nparameters = { k = 1 }',
            "loop[0].parameters: a ball loop has no parameters; remove it",
        ),
        (
            LOOP + 'type = "ball"\na = "a"\nb = "b"\nfoo = 1',
            (
                "loop[0].foo: unknown key; known: a, at_a, at_b, axis, b, damping, length, name, pitch, radius, "
                "start, stiffness, type"
            ),
        ),
        (
            GEAR + "ratios = { r = 2.0 }\noffset = 0.5\n[assembly]\nhold = ['p', 'r']",
            "coupling[0]: coupling 'g' (0.5) cannot be closed (residuals in [m, rad]); start nearer",
        ),
        (
            GEAR + 'ratios = { "f.x" = 2.0 }\n' + FLOATING,
            "coupling[0]: joint 'f' is a free joint; its coordinates cannot be coupled",
        ),
        (
            LOOP + 'type = "ball"\na = "a"\nb = "b"\nlenght = 1',
            "loop[0].lenght: unknown key; did you mean",
        ),
        (
            2 * (LOOP + 'type = "ball"\na = "a"\nb = "b"\n'),
            "loop[1].name: 'x' is taken by scene.toml:",
        ),
        (
            '[[loop]]\nname = "p"\ntype = "ball"\na = "a"',
            "loop[0].name: 'p' is taken by a joint; rename",
        ),
        ('[assembly]\nhold = ["q"]', "assembly.hold[0]: unknown joint 'q'; known: p, r"),
        (
            '[[coupling]]\nname = "g"\njoint = "p"',
            "coupling[0]: couples nothing; give ratios, such as",
        ),
        (
            '[[coupling]]\nname = "g"\njoint = "p"\nratios = { p = 1.0 }',
            "coupling[0]: couples 'p' to itself; name another coordinate",
        ),
        (
            '[[coupling]]\nname = "g"\njoint = "p"\nratios = { s = 1.0 }',
            "coupling[0]: there is no coordinate 's'; known: p, r",
        ),
        (
            '[[coupling]]\nname = "g"\njoint = "p"\nfunction = "no such"\ninputs = ["r"]',
            "coupling[0].function: unknown relation 'no such'; ",
        ),
        (
            '[[force]]\nname = "f"\ntype = "spring"\na = "a"\nb = "a"\nstiffness = 1',
            "force[0]: has body 'a' on both sides",
        ),
        (
            '[[force]]\nname = "f"\ntype = "spring"\na = "a"\nstiffness = -1.0',
            "force[0].stiffness: must not be negative [N/m], got -1.0",
        ),
        (
            '[[force]]\nname = "f"\ntype = "spring"\na = "a"\nat_a = { xyz = [1, 0, 0] }',
            "force[0].at_a: must be a list [m], got a table",
        ),
        (
            LOOP + 'type = "ball"\na = "tip"\nb = "b"\nat_b = { xyz = [5.0, 0, 0] }',
            "loop[0]: loop 'x' (3.5) cannot be closed (residuals in [m, rad]); start nearer",
        ),
        (
            LOOP + 'type = "ball"\na = "tip"\nb = "b"\nat_b = { xyz = [1.0, 0, 0.2] }',
            "loop 'x' is open by 0.2 [m, rad] in a direction in which its bodies cannot move",
        ),
    ],
)
def test_invalid_constraints_are_reported_with_their_place_and_a_remedy(
    tmp_path: Path, text: str, problem: str
) -> None:
    assert problem in refusal(tmp_path, text)


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
def test_a_coupling_of_any_ratio_is_assembled_to_rounding(tmp_path: Path, ratio: float) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(TREE + GEAR + f"ratios = {{ r = {ratio} }}\n", "utf-8")
    starts = {"p": (0.05, 0.5), "r": (0.15, 0.7)}
    changes = {f"joint.{name}.start": {"q": q, "v": v} for name, (q, v) in starts.items()}
    scene = pysim.load_scene(path, changes)
    for x in (scene.state.q, scene.state.v):
        assert x[0] == pytest.approx(ratio * x[1], abs=1e-14 * ratio)
        assert abs(x).max() > 0.01


def test_held_velocities_that_a_coupling_forbids_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    hold = "[assembly]\nhold = ['p', 'r']\n"
    path.write_text(TREE + GEAR + "ratios = { r = 2.0 }\n" + hold, "utf-8")
    problem = (
        r"coupling 'g' is violated by the start velocities of the held joints, by 3 \[m/s, rad/s\]"
    )
    with pytest.raises(PysimError, match=problem):
        pysim.load_scene(path, {"joint.p.start.v": 3.0})


def test_loops_and_forces_may_stand_on_frames(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    loop = LOOP + 'type = "distance"\na = "tip"\nb = "b"\nlength = 0.9\n'
    force = '[[force]]\nname = "f"\ntype = "spring"\na = "tip"\nb = "b"\nstiffness = 2.0\n'
    path.write_text(TREE + loop + force, "utf-8")
    scene = pysim.load_scene(path, overrides={"frame.tip.at.xyz": [0.8, 0, 0]})
    tip = pysim.frame_placement(scene.model, scene.state.q, "tip")[:3, 3]
    end = pysim.frame_placement(scene.model, scene.state.q, "b")[:3, 3]
    assert ((tip - end) ** 2).sum() == pytest.approx(0.9**2, abs=1e-11)
    assert pysim.elastic_energy(scene.model, scene.state.q) == pytest.approx(0.9**2, abs=1e-11)


def test_a_scene_couples_by_a_function_of_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "cams.py").write_text(
        "import numpy as np\nfrom pysim.joints import relation\n\n\n@relation('bump')\ndef bump(angle):\n"
        "    return 0.3 * (1 - np.cos(angle))\n",
        "utf-8",
    )
    path = tmp_path / "scene.toml"
    coupling = '[[coupling]]\nname = "cam"\njoint = "r"\nfunction = "bump"\ninputs = ["p"]\n'
    run = '[simulation]\nduration = 0.5\n[assembly]\nhold = ["p"]\n'
    drive = '[[actuator]]\njoint = "p"\noffset = 2.0\n'
    path.write_text('plugins = ["cams.py"]\n' + TREE + coupling + run + drive, "utf-8")
    trajectory = pysim.simulate(pysim.load_scene(path, allow_code=True))
    turned, lifted = trajectory.q.T
    assert turned[-1] > 0.3
    assert abs(lifted - 0.3 * (1 - np.cos(turned))).max() < 1e-12


THREAD = """
from pysim.joints import Joint, Pose, joint, real


@joint("test_thread")
class Thread(Joint):
    pitch: float  # [m/rad]
    push: float = 0.0  # [N·m]
    coordinates = real("turn")

    def placement(self, q):
        return Pose.rotate_z(q.turn) @ Pose.translate(0, 0, self.pitch * q.turn)

    def force(self, q, v):
        return self.push + 0 * q.turn
"""


def threaded(tmp_path: Path, keys: str) -> Path:
    """A free body in a threaded nut, closed as a loop."""
    (tmp_path / "thread.py").write_text(THREAD, "utf-8")
    path = tmp_path / "scene.toml"
    body = '[[body]]\nname = "a"\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n'
    free = '[[joint]]\nname = "f"\ntype = "free"\nchild = "a"\n'
    loop = LOOP + f'type = "test_thread"\nb = "a"\n{keys}\n'
    path.write_text('plugins = ["thread.py"]\n' + body + free + loop, "utf-8")
    return path


def test_a_loop_takes_keys_of_its_plugin_that_other_loops_have_too(tmp_path: Path) -> None:
    with pytest.warns(pysim.PysimWarning, match="a test_thread joint acts on a "):
        scene = pysim.load_scene(threaded(tmp_path, "pitch = 0.1"), allow_code=True)
    assert scene.spec.model.loops[0].parameters == {"pitch": 0.1, "push": 0.0}
    assert mobility(scene.model, scene.state.q).degrees == 1
    with pytest.raises(PysimError, match=r"loop\[0\].ptch: unknown key; did you mean 'pitch'"):
        pysim.load_scene(threaded(tmp_path, "ptch = 0.1"), allow_code=True)


def test_a_plugin_with_a_field_that_is_the_loops_own_key_is_reported_to_rename_it(
    tmp_path: Path,
) -> None:
    path = threaded(tmp_path, "a = 0.1")
    text = THREAD[: THREAD.index("    def force")]
    text = text.replace("test_thread", "test_thread_a").replace("pitch", "a")
    (tmp_path / "thread.py").write_text(text, "utf-8")
    path.write_text(path.read_text("utf-8").replace("test_thread", "test_thread_a"), "utf-8")
    problem = "its plugin has a field 'a', which here is the loop's own key; rename the field"
    with pytest.raises(PysimError, match=rf"loop\[0\].type: {problem}"):
        pysim.load_scene(path, allow_code=True)


def test_a_plugin_with_fields_that_are_the_loops_own_keys_is_reported_all_and_of_nothing_else(
    tmp_path: Path,
) -> None:
    """What the keys are taken for is not judged: the bodies a and b are known once the fields have other names."""
    path = threaded(tmp_path, "")
    text = THREAD[: THREAD.index("    def force")].replace("test_thread", "test_thread_ab")
    text = text.replace("pitch: float", "a: float\n    b: float").replace("pitch", "a")
    (tmp_path / "thread.py").write_text(text, "utf-8")
    path.write_text(path.read_text("utf-8").replace("test_thread", "test_thread_ab"), "utf-8")
    with pytest.raises(PysimError) as caught:
        pysim.load_scene(path, allow_code=True)
    assert re.fullmatch(
        r"\S+: loop\[0\]\.type: its plugin has the fields 'a' and 'b', which here are the loop's own keys; rename the "
        "fields to close loops",
        str(caught.value),
    )


def test_limits_and_force_of_a_plugin_that_a_loop_ignores_are_reported(tmp_path: Path) -> None:
    path = threaded(tmp_path, "pitch = 0.1")
    (tmp_path / "thread.py").write_text(
        THREAD.replace("test_thread", "test_stopped_thread")
        + "\n    def limits(self):\n        return {'turn': (-1.0, 1.0)}\n"
    )
    path.write_text(path.read_text("utf-8").replace("test_thread", "test_stopped_thread"))
    with pytest.warns(pysim.PysimWarning) as caught:
        pysim.load_scene(path, allow_code=True)
    reported = [str(warning.message) for warning in caught]
    for part, verb in (("force", "acts"), ("limits", "act")):
        text = (
            f"loop[0]: the {part} of a test_stopped_thread joint {verb} on a [[joint]] only; this loop "
            f"constrains frame B to its motion without the {part}"
        )
        assert sum(text in line for line in reported) == 1


def test_a_coupling_whose_function_is_nan_at_the_start_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "roots.py").write_text(
        "import numpy as np\nfrom pysim.joints import relation\n\n\n@relation('root')\ndef root(angle):\n"
        "    return np.sqrt(angle - 9.0)\n",
        "utf-8",
    )
    path = tmp_path / "scene.toml"
    coupling = '[[coupling]]\nname = "cam"\njoint = "r"\nfunction = "root"\ninputs = ["p"]\n'
    path.write_text('plugins = ["roots.py"]\n' + TREE + coupling, "utf-8")
    with pytest.raises(
        pysim.PysimError, match="the residual of 'cam' is NaN or infinite at the start"
    ):
        pysim.load_scene(path, allow_code=True)


@pytest.mark.parametrize(
    ("fault", "reported"),
    [
        ("raise ValueError('boo')", "ValueError: boo, in `raise ValueError('boo')`; fix "),
        ("{}['k']", "KeyError: 'k', in `{}['k']`; fix "),
        ("pass", "must return one number, got NoneType; fix "),
    ],
)
def test_a_fault_in_a_coupling_is_reported_by_its_authors_line(
    tmp_path: Path, fault: str, reported: str
) -> None:
    name = f"test_{reported.split(maxsplit=1)[0].strip(':').lower()}"
    (tmp_path / "faulty.py").write_text(
        f"from pysim.joints import relation\n\n\n@relation('{name}')\ndef {name}(angle):\n    {fault}\n",
        "utf-8",
    )
    path = tmp_path / "scene.toml"
    coupling = f'[[coupling]]\nname = "cam"\njoint = "r"\nfunction = "{name}"\ninputs = ["p"]\n'
    path.write_text('plugins = ["faulty.py"]\n' + TREE + coupling, "utf-8")
    with pytest.raises(pysim.PysimError) as caught:
        pysim.load_scene(path, allow_code=True)
    assert reported in str(caught.value)
    assert str(tmp_path / "faulty.py") in str(caught.value)
    assert str(caught.value).endswith(": coupling 'cam')")
