"""Small files that stand for endless models are rejected at once, and long ones are read in linear time.

The oracle is a limit on the time, far above what is needed and far below what was.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError
from pysim.meshes import read_mesh
from pysim.scene.urdf.xml import parse_xml
from tests.time_limits import ends_within

SECONDS = 60.0
LINK = "<link name='l'/>"


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def sdf(content: str) -> str:
    return f"<sdf version='1.9'><model name='m'>{content}</model></sdf>"


def test_sdf_models_that_include_the_next_thrice_are_bounded(tmp_path: Path) -> None:
    for k in range(18):
        includes = "".join(
            f"<include><name>m{j}</name><uri>f{k + 1}.sdf</uri></include>" for j in range(3)
        )
        written(tmp_path / f"f{k}.sdf", sdf(includes))
    written(tmp_path / "f18.sdf", sdf(LINK))
    with (
        ends_within(SECONDS),
        pytest.raises(SceneError, match="more than 1000 models are included"),
    ):
        pysim.load_model(tmp_path / "f0.sdf")


def test_scenes_that_attach_the_next_thrice_are_bounded(tmp_path: Path) -> None:
    for k in range(18):
        models = [f"[[model]]\nname = 'm{j}'\nfile = 's{k + 1}.toml'\n" for j in range(3)]
        written(tmp_path / f"s{k}.toml", "".join(models))
    body = "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
    written(tmp_path / "s18.toml", body + "[[joint]]\nname = 'j'\ntype = 'free'\nchild = 'b'\n")
    with (
        ends_within(SECONDS),
        pytest.raises(SceneError, match="more than 1000 scenes are attached"),
    ):
        pysim.load_scene(tmp_path / "s0.toml")


def test_copies_of_copies_are_bounded(tmp_path: Path) -> None:
    body = "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
    written(tmp_path / "s3.toml", body + "[[joint]]\nname = 'j'\ntype = 'free'\nchild = 'b'\n")
    for k in range(3):
        models = [
            f"[[model]]\nname = 'm{j}'\ncount = 40\nfile = 's{k + 1}.toml'\n" for j in range(2)
        ]
        written(tmp_path / f"s{k}.toml", "".join(models))
    with ends_within(SECONDS), pytest.raises(SceneError, match="have more than 10000 bodies"):
        pysim.load_scene(tmp_path / "s0.toml")


def test_poses_along_a_chain_of_sdf_frames_are_found_in_linear_time(tmp_path: Path) -> None:
    n = 5000
    frames = "".join(
        f"<frame name='f{k}' attached_to='{f'f{k + 1}' if k < n - 1 else 'l'}'><pose>1 0 0 0 0 0</pose></frame>"
        for k in range(n)
    )
    path = written(tmp_path / "m.sdf", sdf(LINK + frames))
    with ends_within(SECONDS), pytest.warns(pysim.PysimWarning, match="no <inertial>|inertial"):
        model = pysim.load_model(path)
    found = {frame.name: frame.pose[0, 3] for frame in model.spec.frames}
    assert found["f0"] == n
    assert found[f"f{n - 1}"] == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "<frame name='a' attached_to='b'/><frame name='b' attached_to='a'/>",
            r"is attached to itself|in a cycle: ",
        ),
        (
            "<frame name='a'><pose relative_to='b'/></frame><frame name='b'><pose relative_to='a'/></frame>",
            "in a cycle: a → b → a",
        ),
        (
            "".join(
                f"<model name='{a}'><pose relative_to='{b}'/><link name='l'/></model>".replace(
                    "/><l", ">0 0 0 0 0 0</pose><l"
                )
                for a, b in ("ab", "ba")
            ),
            "is relative to itself in a cycle",
        ),
    ],
)
def test_sdf_frames_in_a_cycle_are_rejected(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(SceneError, match=problem):
        pysim.load_model(written(tmp_path / "m.sdf", sdf(LINK + content)))


def test_models_relative_to_each_other_over_many_are_read_or_rejected(tmp_path: Path) -> None:
    models = "".join(
        f"<model name='m{k}'><pose relative_to='m{k + 1}'>1 0 0 0 0 0</pose><link name='l'/></model>"
        for k in range(2000)
    )
    last = "<model name='m2000'><link name='l'/></model>"
    with ends_within(SECONDS), pytest.raises(SceneError, match="make them relative to the world"):
        pysim.load_model(written(tmp_path / "m.sdf", sdf(LINK + models + last)))


def test_a_text_in_many_pieces_is_joined_in_linear_time() -> None:
    n = 400_000
    with ends_within(SECONDS):
        root = parse_xml(b"<a>" + b"xy<!-- -->" * n + b"</a>", "a.xml")
    assert root.content == "xy" * n


def test_the_elements_of_a_file_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysim.scene.urdf.xml.MOST_ELEMENTS", 1000)
    parse_xml(b"<a>" + b"<b/>" * 999 + b"</a>", "a.xml")
    with pytest.raises(SceneError, match=r"a\.xml:1:4000: the file has more than 1000 elements"):
        parse_xml(b"<a>" + b"<b/>" * 1000 + b"</a>", "a.xml")


@pytest.mark.parametrize("name", ["s.toml", "r.urdf", "w.sdf", "m.xml"])
def test_a_pipe_is_no_model(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with ends_within(SECONDS), pytest.raises(SceneError, match=r"is not a regular file|no file"):
        pysim.load_model(tmp_path / name)


@pytest.mark.parametrize("kind", ["include", "model", "mesh"])
def test_a_scene_reads_no_pipe(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.stl")
    (tmp_path / "link.stl").symlink_to("pipe.stl")
    text = {
        "include": 'include = "pipe.toml"',
        "model": '[[model]]\nfile = "pipe.toml"',
        "mesh": '[[body]]\nname = "b"\nshape = { mesh = "link.stl", density = 1000 }',
    }[kind]
    with ends_within(SECONDS), pytest.raises(SceneError, match="there is no file"):
        pysim.load_scene(written(tmp_path / "s.toml", text))
    with ends_within(SECONDS), pytest.raises(SceneError, match="is not a regular file"):
        read_mesh(tmp_path / "link.stl")


def test_the_frames_of_nested_models_are_where_they_were(tmp_path: Path) -> None:
    content = (
        "<link name='l'><pose>0 0 1 0 0 0</pose></link><frame name='a' attached_to='l'><pose>1 0 0 0 0 0</pose></frame>"
        "<model name='n'><pose relative_to='a'>0 1 0 0 0 0</pose><link name='l'/>"
        "<frame name='b'><pose>0 0 5 0 0 0</pose></frame></model>"
        "<frame name='c' attached_to='n::b'><pose>1 1 1 0 0 0</pose></frame>"
        "<joint name='j' type='fixed'><parent>l</parent><child>n::l</child></joint>"
    )
    with pytest.warns(pysim.PysimWarning):
        model = pysim.load_model(written(tmp_path / "m.sdf", sdf(content)))
    found = {frame.name: (frame.body, frame.pose[:3, 3]) for frame in model.spec.frames}
    assert found["a"][0] == "l"
    np.testing.assert_allclose(found["a"][1], [1, 0, 0])
    np.testing.assert_allclose(found["n::b"][1], [0, 0, 5])
    np.testing.assert_allclose(found["c"][1], [1, 1, 6])


def test_a_key_of_many_parts_is_rejected_before_it_is_read(tmp_path: Path) -> None:
    deep = ".".join(["a"] * 50_000)
    for text in (f"{deep} = 1", f"[{deep}]", f"[[{deep}]]\nx = 1", f"x = {{ {deep} = 1 }}"):
        quoted = text.replace("a", '"a"')
        for written_as in (text, quoted):
            with (
                ends_within(SECONDS / 6),
                pytest.raises(SceneError, match=r"s\.toml:3: tables are"),
            ):
                pysim.load_scene(written(tmp_path / "s.toml", "\n\n" + written_as))


def test_texts_and_comments_may_have_many_points(tmp_path: Path) -> None:
    deep = ".".join(["a"] * 60)
    text = f'# {deep}\nname = \'{deep}\'\n[render]\ntitle = """\n{deep}\n"""\n'
    body = "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
    joint = "[[joint]]\nname = 'j'\ntype = 'free'\nchild = 'b'\n"
    scene = pysim.load_scene(written(tmp_path / "s.toml", text + body + joint))
    assert scene.spec.name == deep


@pytest.mark.parametrize("table", ["body", "joint", "controller", "exclude"])
def test_lists_of_tables_are_bounded(tmp_path: Path, table: str) -> None:
    text = "".join(f"[[{table}]]\nname = 'b{k}'\n" for k in range(30_000))
    problem = rf"s\.toml:20001: {table}: must have at most 10000 tables, got 30000; leave some out$"
    with ends_within(SECONDS / 60), pytest.raises(SceneError, match=problem):
        pysim.load_scene(written(tmp_path / "s.toml", text))


@pytest.mark.parametrize(
    ("duration", "period"), [("1.0", "1e-300"), ("1e18", "0.01"), ("1e15", "0.01")]
)
@pytest.mark.parametrize("table", ["controller", "sensor"])
def test_endless_instants_are_rejected(
    tmp_path: Path, table: str, duration: str, period: str
) -> None:
    body = "[[body]]\nname = 'b'\nmass = 1\ninertia = { xx = 1, yy = 1, zz = 1 }\n"
    joint = "[[joint]]\nname = 'j'\ntype = 'revolute'\nchild = 'b'\n"
    blocks = "[[sensor]]\nname = 's'\ntype = 'coordinates'\ncoordinates = ['j']\n"
    blocks += "[[controller]]\nname = 'c'\ntype = 'gain'\ninputs = ['s.q']\ngain = 1.0\n"
    blocks = blocks.replace("name = 's'", f"name = 's'\nperiod = {period}", table == "sensor")
    blocks = blocks.replace("name = 'c'", f"name = 'c'\nperiod = {period}", table == "controller")
    run = f"[simulation]\nduration = {duration}\nintegrator = 'dopri5'\n"
    problem = rf"{table}\[0\]\.period: .* instants of the duration .*, more than 2\*\*53; take "
    with ends_within(SECONDS), pytest.raises(SceneError, match=problem):
        pysim.load_scene(written(tmp_path / "s.toml", body + joint + blocks + run))
