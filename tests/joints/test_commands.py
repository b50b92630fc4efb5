"""`pysim joints NAME`, its picture, and `pysim new joint`, as a user sees them. Oracles: text, files, pixels."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.joints.loop_joints import LOOP_ONLY_TYPES
from pysim.joints.registry import JOINTS
from pysim.render.sweep import Sweep, draw_sweep

PLUGIN = '''"""Joints for the tests of commands."""

from __future__ import annotations

import numpy as np
from pysim.joints import CallbackJoint, Joint, Pose, joint, pose, real


@joint("command_cam")
class Cam(Joint):
    """Turns while a cam lifts it.

    Two lines of words.
    """

    lift: float  # [m] how far it lifts
    waves: int = 2  # a turn
    coordinates = real("angle")

    def placement(self, q):
        height = self.lift * np.sin(self.waves * q.angle)
        return Pose.translate(0, 0, height) @ Pose.rotate_z(q.angle)

    def limits(self):
        return {"angle": (-2.0, 0.5)}

    def force(self, q, v):
        return -q.angle - v.angle


@joint("command_slide")
class Slide(CallbackJoint):
    """Slides along x."""

    coordinates = real("slide", unit="m")

    def poses(self, q):
        X = np.tile(np.eye(4), (len(q), 1, 1))
        X[:, 0, 3] = q[:, 0]
        return X


@joint("command_free")
class Free(Joint):
    """Moves every way."""

    coordinates = pose("at")

    def placement(self, q):
        return q.at
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a plugin, as the working directory; what it registers is forgotten."""
    monkeypatch.setattr(JOINTS, "registered", dict(JOINTS.registered))
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(PLUGIN, "utf-8")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_joints_lists_those_of_a_plugin(capsys):
    assert main(["joints", "--plugin", "mine.py"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"\n  command_cam +angle \[rad\] +lift, waves +Turns while a cam lifts it\.", out
    )


def test_joints_lists_and_explains_constraints_of_loops(capsys):
    assert main(["joints"]) == 0
    assert re.search(r"\n  distance +length +Keeps the origins", capsys.readouterr().out)
    for name in LOOP_ONLY_TYPES:
        assert main(["joints", name]) == 0
        assert "for frames A and B of a [[loop]]" in capsys.readouterr().out
    assert main(["joints", "distance"]) == 0
    assert re.search(r"\n  length +float +\[m\] +required +distance", capsys.readouterr().out)
    assert main(["joints", "weld", "--still", "x.png"]) == 2
    assert "--still: weld has no motion of its own; draw a scene" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_joints_explains_a_plugin_its_keys_and_how_it_runs(capsys):
    assert main(["joints", "command_cam", "--plugin", "mine.py", "--set", "lift=1"]) == 0
    out = capsys.readouterr().out
    expected = (
        r"command_cam\n"
        r"  Turns while a cam lifts it\.\n\n  Two lines of words\.\n\n"
        r"  motion  traced from mine\.py: Cam\.placement\n"
        r"          runs as a program of \d+ instructions, \d+ for pose and subspace, \d+ for the "
        r"bias, and a force of \d+ instructions\n"
        r"  q       angle \[rad\]\n"
        r"  v       angle \[rad/s\]\n"
        r"  limits  angle -2 … 0\.5 rad\n\n"
        r"  key    type   unit  default   meaning\n"
        r"  lift   float  \[m\]   required  how far it lifts\n"
        r"  waves  int          2         a turn\n"
    )
    assert re.fullmatch(expected, out)


@pytest.mark.usefixtures("here")
def test_joints_says_which_keys_it_needs_to_know_more(capsys):
    assert main(["joints", "command_cam", "--plugin", "mine.py"]) == 0
    assert "          how it runs depends on its keys: --set lift=…\n" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("command_slide", "runs in Python for every evaluation"),
        ("command_free", "runs as the built-in free"),
    ],
)
def test_joints_says_what_a_plugin_runs_as(kind, words, capsys):
    assert main(["joints", kind, "--plugin", "mine.py"]) == 0
    assert f"\n          {words}\n" in capsys.readouterr().out


ERRORS = [
    (
        "joints command_cam --plugin mine.py --still a.png",
        "a.png: command_cam cannot be drawn before its keys are set; add --set lift=…",
    ),
    (
        "joints command_cam --plugin mine.py --set lft=1",
        "--set lft: a command_cam joint has no such key; did you mean 'lift'?",
    ),
    (
        "joints helical --set ptch=1 --still a.png",
        "--set ptch: a helical joint has no such key; did you mean 'pitch'?",
    ),
    ("joints helical --set pitch=up --still a.png", "--set pitch: must be float, got 'up'"),
    (
        "joints helical --set axis=[0,0,0] --still a.png",
        "--set axis: has no direction; give it a length, as in [0, 0, 1]",
    ),
    (
        "joints command_cam --plugin mine.py --set lift=high",
        "--set.lift: must be float, got 'high'",
    ),
    ("joints --still a.png", "joints: --still and --set are for one joint type; name it"),
    ("joints fixed --still a.png", "a.png: a fixed joint has no motion to draw"),
    (
        "joints ball --still a.mp4",
        "a.mp4: unknown kind of picture '.mp4'; use one of .png, .jpg, .jpeg, .webp, .bmp, .tif, .tiff",
    ),
    ("joints command_cam --plugin mne.py", "mne.py: no such file; did you mean 'mine.py'?"),
    (
        "new joint My-Joint",
        "new: 'My-Joint' is not a valid name for a joint; use small letters, digits and _, such as screw_slot",
    ),
    (
        "new joint lambda",
        "new: 'lambda' is not a valid name for a joint; use small letters, digits and _, such as screw_slot",
    ),
    ("new joint ball", "new: joint type 'ball' exists; choose another name"),
    ("new joint mine", "mine.py: exists and is not overwritten; choose another name"),
    ("new joint old", "test_old.py: exists and is not overwritten; choose another name"),
]


@pytest.mark.parametrize(("line", "message"), ERRORS)
def test_bad_input_is_one_line_and_writes_nothing(here, capsys, line, message):
    Path("test_old.py").write_text("", "utf-8")
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}
    assert main(line.split()) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_a_new_joints_test_passes_as_written_and_its_commands_work(here, capsys):
    assert main(["new", "joint", "cam_slot"]) == 0
    assert capsys.readouterr().out == (
        "  wrote       cam_slot.py\n"
        "  wrote       test_cam_slot.py\n"
        "  try         python -m pytest test_cam_slot.py    (pip install pytest)\n"
        "              pysim joints cam_slot --plugin cam_slot.py --set lift=0.1 --still cam_slot.png\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_cam_slot.py"],
        check=False,
        capture_output=True,
        text=True,
        cwd=here,
        env={"PYTHONPATH": str(Path(pysim.__file__).parents[1]), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
    assert main(["new", "joint", "cam_slot"]) == 2
    assert "cam_slot.py: exists and is not overwritten" in capsys.readouterr().err
    Path("s.toml").write_text(
        'plugins = ["cam_slot.py"]\n[[body]]\nname = "b"\nmass = 1.0\n'
        "inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }\n"
        '[[joint]]\nname = "j"\ntype = "cam_slot"\nchild = "b"\nlift = 0.1\nstart = { v = 1.0 }\n'
        "[simulation]\nduration = 0.01\n",
        "utf-8",
    )
    assert main(["s.toml", "--allow-code"]) == 0


def test_the_template_follows_the_style_of_its_reader(here):
    """Names are filled in everywhere, and nothing of the template is left."""
    main(["new", "joint", "two_words"])
    text = Path("two_words.py").read_text("utf-8") + Path("test_two_words.py").read_text("utf-8")
    assert "class TwoWords(Joint):" in text
    assert '@joint("two_words")' in text
    assert "{" not in re.sub(r"\{\"angle\": .*\}", "", text)
    assert max(map(len, text.splitlines())) <= 120


# Pictures ----------------------------------------------------------------------------------------

SMALL = {"size": (160, 120), "supersample": 1}


@pytest.mark.render
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["command_cam", "ball"])
def test_still_draws_the_motion(kind, capsys):
    line = ["joints", kind, "--plugin", "mine.py", "--still", "a.png"]
    assert main([*line, "--set", "lift=0.1"] if kind == "command_cam" else line) == 0
    assert capsys.readouterr().out.endswith("\n  still   a.png\n")
    from PIL import Image

    with Image.open("a.png") as picture:
        assert picture.size == (1280, 720)
        assert np.asarray(picture).std() > 5


def blue(image):
    r, _, b = np.moveaxis(image.astype(int), -1, 0)
    return b - r > 60


@pytest.mark.render
def test_intermediate_poses_are_drawn_along_the_sweep(tmp_path):
    poses = np.tile(np.eye(4), (5, 1, 1))
    poses[:, 1, 3] = np.linspace(0, 2, 5)
    rising = poses.copy()
    rising[:, 2, 3], rising[:, 1, 3] = poses[:, 1, 3], 0
    for moved, tall in ((poses, False), (rising, True)):
        options = {**SMALL, "azimuth": 0.0, "frames": ()}
        image = draw_sweep("a", np.eye(4), [Sweep("x", moved)], tmp_path / "a.png", **options)
        image[:40, :20] = 0  # the caption
        rows, columns = np.nonzero(blue(image))
        assert len(rows) > 50
        assert (np.ptp(rows) > np.ptp(columns)) == tall


@pytest.mark.render
def test_each_coordinate_has_a_colour_and_the_caption_names_it(tmp_path):
    one = Sweep("x", np.tile(np.eye(4), (2, 1, 1)))
    plain = draw_sweep("a", np.eye(4), [one], tmp_path / "a.png", **SMALL)
    named = draw_sweep("a long name", np.eye(4), [one], tmp_path / "a.png", **SMALL)
    assert (plain != named).any(axis=-1)[:40].any()
    assert not (plain != named)[60:].any()
