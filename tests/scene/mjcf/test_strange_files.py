"""MJCF of strangers: no file outside the folders, no endless model, and no NaN.

The oracles are files that are made for each test; a process of its own runs what might crash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pysim
from pysim.errors import PysimError, SceneError
from pysim.mechanism.compile import start_state
from tests.time_limits import ends_within

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("mujoco")

CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESH = '<asset><mesh name="m" file="{}"/></asset>'
BALL = '<worldbody><body name="{}"><geom size="0.1"/></body></worldbody>'
SHAPE = '<worldbody><body name="b"><geom type="mesh" mesh="m"/></body></worldbody>'
ATTACH = (
    '<asset><model name="s" file="{}"/></asset><worldbody><body name="b"><geom size="1"/><frame>'
    '<attach model="s" body="b" prefix="p/"/></frame></body></worldbody>'
)
OUTSIDE = "is outside the folders from which this model may name files"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<mujoco>{text}</mujoco>" if path.suffix == ".xml" else text, "utf-8")
    return path


ESCAPES = {  # files of a model, whose main file is m.xml; far/ is a folder that it may not read
    "a mesh folder of an included file, for the including one": {
        "m.xml": '<include file="in.xml"/>' + MESH.format("c.obj") + SHAPE,
        "in.xml": '<compiler meshdir="../../far"/>',
    },
    "a mesh folder of the including file, for an included one": {
        "m.xml": '<compiler meshdir="../../far"/><include file="sub/in.xml"/>',
        "sub/in.xml": MESH.format("c.obj") + SHAPE,
    },
    "an asset folder of a file that is included by an included one": {
        "m.xml": '<include file="sub/in.xml"/>' + MESH.format("c.obj") + SHAPE,
        "sub/in.xml": '<include file="two.xml"/>',
        "sub/two.xml": '<compiler assetdir="../../far"/>',
    },
    "a mesh of an attached model, in its own folder": {
        "m.xml": ATTACH.format("a/b.xml"),
        "a/b.xml": MESH.format("../../../far/c.obj") + SHAPE,
    },
    "a mesh folder of an attached model": {
        "m.xml": ATTACH.format("a/b/c.xml"),
        "a/b/c.xml": '<compiler meshdir="../../../../far"/>' + MESH.format("c.obj") + SHAPE,
    },
    "a file that an included file includes, in the folder of that": {
        "m.xml": '<include file="a/in.xml"/>',
        "a/in.xml": '<include file="../../../far/x.xml"/>',
    },
    "a file that an included file includes, in the main folder": {
        "m.xml": '<include file="a/b/in.xml"/>',
        "a/b/in.xml": '<include file="../../far/x.xml"/>',
    },
    "a model that an attached model attaches": {
        "m.xml": ATTACH.format("a/b.xml"),
        "a/b.xml": ATTACH.format("../../../far/x.xml"),
    },
    "a texture, and a link": {"m.xml": '<asset><texture type="2d" file="link/t.png"/></asset>'},
    "a face of a texture": {
        "m.xml": '<compiler texturedir="../../far"/><asset><texture type="cube" fileright="t.png"/></asset>'
    },
    "a mesh of an attached robot": {
        "m.xml": ATTACH.format("a/r.urdf"),
        "a/r.urdf": '<robot name="r"><link name="b"><visual><geometry><mesh filename="../../../far/c.obj"/>'
        "</geometry></visual></link></robot>",
    },
}


@pytest.mark.parametrize("case", ESCAPES)
def test_a_model_reads_no_file_outside_its_folders(tmp_path: Path, case: str) -> None:
    written(tmp_path / "far/c.obj", CUBE)
    written(tmp_path / "far/x.xml", BALL.format("b"))
    written(tmp_path / "far/t.png", "")
    folder = tmp_path / "robots/mine"
    for name, text in ESCAPES[case].items():
        written(folder / name, text)
    (folder / "link").symlink_to(tmp_path / "far")
    with pytest.raises(SceneError, match=OUTSIDE) as caught:
        pysim.load_model(folder / "m.xml")
    assert str(tmp_path / "far") in str(caught.value)
    if case != "a mesh of an attached robot":  # which MuJoCo reads as a model of its own
        far = [tmp_path / "far"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pysim.scene.mjcf.reader.MujocoModel", _Reached)
            with pytest.raises(_ReachedError):
                pysim.load_model(folder / "m.xml", package_dirs=far)


class _ReachedError(Exception):
    """The check of the files has passed."""


class _Reached:
    def __init__(self, _path: Path) -> None:
        raise _ReachedError


def test_files_in_the_folders_are_read_from_every_file_of_a_model(tmp_path: Path) -> None:
    folder = tmp_path / "robots/mine"
    written(tmp_path / "robots/meshes/c.obj", CUBE)
    written(folder / "a/d.obj", CUBE)
    written(folder / "m.xml", '<compiler meshdir="../meshes"/><include file="sub/in.xml"/>')
    asset = '<asset><mesh name="m" file="c.obj"/><model name="s" file="../a/b.xml"/></asset>'
    frame = '<frame><attach model="s" body="b" prefix="p/"/></frame>'
    moving = SHAPE.replace('"b">', '"b"><joint/>')
    shape = moving.replace("</body>", f"</body>{frame}")
    written(folder / "sub/in.xml", asset + shape)
    written(folder / "a/b.xml", MESH.format("d.obj") + moving)
    assert pysim.load_model(folder / "m.xml").nbodies == 2


CYCLES = {
    "itself": {"m.xml": ATTACH.format("m.xml")},
    "by another": {"m.xml": ATTACH.format("o.xml"), "o.xml": ATTACH.format("m.xml")},
    "by an included file": {
        "m.xml": '<include file="i.xml"/>',
        "i.xml": ATTACH.format("o.xml"),
        "o.xml": ATTACH.format("./o.xml"),
    },
}


@pytest.mark.parametrize("case", CYCLES)
def test_a_model_that_attaches_itself_is_rejected(tmp_path: Path, case: str) -> None:
    for name, text in CYCLES[case].items():
        written(tmp_path / name, text)
    code = "import sys, pysim; pysim.load_model(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "m.xml")]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert run.returncode == 1
    assert "attaches itself; remove this <model>" in run.stderr


BOUNDED = {
    "'count' of <replicate> make 1000000000, more than 10000": '<replicate count="1000000000"/>',
    "copies have more than 10000 elements": '<replicate count="101"><replicate count="100"/></replicate>',
    "'count' of <composite> make 1000000000000, more than 10000": (
        '<composite type="cable" count="10000 10000 10000"/>'
    ),
    "'count' of <flexcomp> make 1000000, more than 10000": '<flexcomp count="100 100 100"/>',
    "must be whole numbers, got '1e9'": '<replicate count="1e9"/>',
}
DECLARED = {
    "'nrow' and 'ncol' of <hfield> make": '<asset><hfield nrow="100000" ncol="100000"/></asset>',
    "'nkey' of <size> is 2000000000, more than 1000000": '<size nkey="2000000000"/>',
    "'size' of <numeric> make": '<custom><numeric size="2000000000"/></custom>',
    "'params' of <mesh> has 3000, more": '<asset><mesh builtin="supersphere" params="3000 1 1"/></asset>',
}


@pytest.mark.parametrize("problem", [*BOUNDED, *DECLARED])
def test_a_model_that_would_not_end_is_rejected(tmp_path: Path, problem: str) -> None:
    text = DECLARED.get(problem) or f"<worldbody>{BOUNDED[problem]}</worldbody>"
    path = written(tmp_path / "m.xml", text)
    with ends_within(60), pytest.raises(SceneError) as caught:
        pysim.load_model(path)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{path}:1:")


def test_models_that_attach_each_other_many_times_are_bounded(tmp_path: Path) -> None:
    twice = ATTACH + ATTACH.partition("</asset>")[2].replace('"b"', '"c"', 1).replace("p/", "q/")
    for k in range(15):
        written(tmp_path / f"m{k}.xml", twice.format(f"m{k + 1}.xml"))
    written(tmp_path / "m15.xml", BALL.format("b"))
    with ends_within(60), pytest.raises(SceneError, match=r"has \d+ elements with the models"):
        pysim.load_model(tmp_path / "m0.xml")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xml")
    os.mkfifo(tmp_path / "pipe.obj")
    for text in ('<include file="pipe.xml"/>', MESH.format("pipe.obj") + SHAPE):
        path = written(tmp_path / "m.xml", text)
        with ends_within(60), pytest.raises(SceneError, match=r"is not a regular file"):
            pysim.load_model(path)


NUMBERS = [
    '<option gravity="0 0 nan"/>',
    '<option timestep="NaN"/>',
    "<worldbody><body><joint {}/><geom size='0.1'/></body></worldbody>",
    "<keyframe><key qpos='nan'/></keyframe>",
    "<default><geom friction='inf 0 0'/></default>",
    "<worldbody><body pos='0 -nan 0'/></worldbody>",
    "<worldbody><geom size='1e999'/></worldbody>",
]
OF_JOINTS = (
    "damping",
    "stiffness",
    "frictionloss",
    "range",
    "solreflimit",
    "armature",
    "ref",
    "axis",
)


@pytest.mark.parametrize(
    "text",
    [t for t in NUMBERS if "{}" not in t] + [NUMBERS[2].format(f"{k}='nan 1'") for k in OF_JOINTS],
)
def test_numbers_that_are_not_finite_are_rejected(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "m.xml", text)
    with pytest.raises(SceneError, match=r"m\.xml:1:\d+: '\w+' of <\w+> must be finite, got"):
        pysim.load_model(path)


@pytest.mark.parametrize("key", ["friction", "frictionloss"])
def test_negative_friction_is_rejected(tmp_path: Path, key: str) -> None:
    joint = '<joint frictionloss="-1"/>' if key == "frictionloss" else "<joint/>"
    friction = ' friction="1 -0.1 0"' if key == "friction" else ""
    text = f'<worldbody><geom type="plane" size="1 1 1"{friction}/><body>{joint}<geom size="0.1"/></body></worldbody>'
    with pytest.raises(
        SceneError, match=rf"m\.xml:1:\d+: '{key}' of <\w+> must not be negative, got"
    ):
        pysim.load_model(written(tmp_path / "m.xml", text))


def test_names_and_bounds_of_ranges_may_read_like_numbers_that_are_not_finite(
    tmp_path: Path,
) -> None:
    body = '<body name="nan"><joint name="inf"/><geom name="nan" size="0.1"/></body>'
    actuator = '<actuator><motor name="nan" joint="inf" ctrlrange="-1 inf"/></actuator>'
    path = written(tmp_path / "m.xml", f"<worldbody>{body}</worldbody>{actuator}")
    assert pysim.load_model(path).joint_names == ("inf",)


def test_warnings_of_mujoco_are_given_and_leave_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mujoco

    monkeypatch.chdir(tmp_path)
    path = written(tmp_path / "m.xml", BALL.format("b"))
    from pysim.scene.mjcf import model

    with model._without_log(mujoco) as logged:
        mujoco.MjSpec.from_string('<mujoco><option gravity="0 0 nan"/></mujoco>')
    assert logged == ["XML contains a 'NaN'. Please check it carefully."]
    pysim.load_model(path)
    assert sorted(tmp_path.iterdir()) == [path]


def models_with(value: str) -> Iterator[str]:
    """Models that give one attribute of a kind that pysim reads a value."""
    for tag, keys in ATTRIBUTES.items():
        for word in keys.split():
            key, _, count = word.partition("*")
            given = " ".join([value] * int(count or 1))
            yield MODEL.replace(f"<{tag} ", f'<{tag} {key}="{given}" ', 1)


ATTRIBUTES = {  # with the count of numbers
    "option": "gravity*3 timestep density wind*3",
    "compiler": "boundmass settotalmass",
    "joint": "damping stiffness frictionloss armature springref ref range*2 solreflimit*2 margin axis*3"
    " actuatorfrcrange*2",
    "geom": "friction*3 solref*2 solimp*3 margin gap mass density pos*3 quat*4 priority solmix",
    "motor": "gear*2 ctrlrange*2 forcerange*2",
    "position": "kp kv dampratio timeconst gear",
    "fixed": "stiffness damping springlength range*2 frictionloss armature",
    "key": "qpos qvel ctrl*2 time",
    "pair": "friction*5 solref*2 solimp*3 margin",
}
MODEL = """<option /><compiler inertiafromgeom="auto" /><worldbody>
<geom name="floor" type="plane" size="1 1 1"/><body name="a" pos="0 0 1">
<joint name="j" limited="false" /><geom size="0.1" name="g" /></body></worldbody>
<tendon><fixed name="t" ><joint joint="j" coef="1"/></fixed></tendon>
<contact><pair geom1="g" geom2="floor" /></contact>
<actuator><motor joint="j" /><position joint="j" /></actuator><keyframe><key name="k" /></keyframe>"""


@pytest.mark.parametrize("value", ["nan", "-1", "0", "inf", "1e308", "1 2 3 4 5 6 7 8"])
def test_every_number_of_a_model_is_read_or_rejected_with_its_file(
    tmp_path: Path, value: str
) -> None:
    read = 0
    for text in models_with(value):
        path = written(tmp_path / "m.xml", text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = pysim.load_model(path)
            except PysimError as error:
                assert "m.xml" in str(error), text  # noqa: PT017, some are read
            else:
                read += 1
                assert np.isfinite(model.gravity).all(), text
                assert np.isfinite(pysim.rnea(model, *start(model))).all(), text
    assert value not in {"0", "-1"} or read


def start(model: pysim.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    state = start_state(model)
    return state.q, state.v, np.zeros(model.nv)
