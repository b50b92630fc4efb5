"""Look-up of named files. The oracle is a folder made for each test."""

from __future__ import annotations

import re
import shutil
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.cli.app import answer
from pysim.errors import SceneError
from pysim.scene import packages
from pysim.scene.packages import folders_around, resolve_uri, robots_folder
from pysim.shapes import MESH_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package my_robot with a file in urdf/ and meshes beside, and a secret above."""
    for name in ("my_robot/urdf/part.stl", "my_robot/meshes/my part.stl", "other/x.stl", "secret"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.fixture
def no_robots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if example-robot-data were not installed."""

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    packages._share.cache_clear()
    yield
    packages._share.cache_clear()


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("part.stl", "urdf/part.stl"),
        ("./part.stl", "urdf/part.stl"),
        ("file://part.stl", "urdf/part.stl"),
        ("package://my_robot/urdf/part.stl", "urdf/part.stl"),
        ("package://my_robot/meshes/my%20part.stl", "meshes/my part.stl"),
        ("package:///my_robot//urdf/part.stl", "urdf/part.stl"),
    ],
)
def test_names_lead_to_files(folder: Path, uri: str, found: str) -> None:
    assert resolve_uri(uri, folder / "my_robot/urdf") == folder / "my_robot" / found


def test_absolute_paths_are_read_below_the_file(folder: Path) -> None:
    base = folder / "my_robot"
    part = base / "urdf/part.stl"
    assert resolve_uri(str(part), base) == part
    assert resolve_uri(f"file://{part}", base) == part


def test_a_package_is_found_in_the_folders_listed(folder: Path) -> None:
    base = folder / "my_robot/urdf"
    part = folder / "other/x.stl"
    assert resolve_uri("package://other/x.stl", base, [folder]) == part
    assert resolve_uri("package://other/x.stl", base, [str(folder / "other")]) == part
    assert resolve_uri("../../other/x.stl", base, [folder / "other"]) == part


def test_the_two_folders_above_a_file_may_be_named_and_none_above_them(folder: Path) -> None:
    mesh = folder / "my_robot/meshes/my part.stl"
    assert resolve_uri("../meshes/my part.stl", folder / "my_robot/urdf") == mesh
    deep = folder / "my_robot/urdf/arm/left"
    deep.mkdir(parents=True)
    assert resolve_uri("../../meshes/my part.stl", deep.parent) == mesh
    (folder / "my_robot/package.xml").touch()  # which allows nothing
    with pytest.raises(SceneError, match="is outside the folders"):
        resolve_uri("../../../meshes/my part.stl", deep)
    for folders in ([folder], [str(folder / "my_robot/meshes")]):
        assert resolve_uri("../../../meshes/my part.stl", deep, folders) == mesh


def test_a_package_is_found_by_its_folder_or_its_package_xml(folder: Path) -> None:
    base, part = folder / "my_robot/urdf", folder / "other/x.stl"
    assert resolve_uri("package://other/x.stl", base) == part
    with pytest.raises(SceneError, match="there is no package 'arm_description'"):
        resolve_uri("package://arm_description/x.stl", base)
    text = "<package format='2'>\n  <name> arm_description </name></package>"
    (folder / "other/package.xml").write_text(text, "utf-8")
    assert resolve_uri("package://arm_description/x.stl", base) == part
    text = "<package><name>my_arm</name></package>"
    (folder / "my_robot/package.xml").write_text(text, "utf-8")
    assert resolve_uri("package://my_arm/urdf/part.stl", base) == base / "part.stl"


def test_a_folder_three_levels_above_is_not_searched_for_packages(folder: Path) -> None:
    deep = folder / "my_robot/urdf/arm/left"
    deep.mkdir(parents=True)
    with pytest.raises(SceneError, match="there is no package 'my_robot'"):
        resolve_uri("package://my_robot/urdf/part.stl", deep)


def test_folders_that_hold_home_folders_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, other = tmp_path / "home/me", tmp_path / "home/you/part.stl"
    for made in (home, other.parent):
        made.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv("HOME", str(home))
    for uri in ("../you/part.stl", "package://you/part.stl", "package://home/you/part.stl"):
        with pytest.raises(SceneError, match=r"is outside|there is no package"):
            resolve_uri(uri, home)
    assert folders_around(Path("/")) == []


@pytest.mark.parametrize("uri", ["../secret", "link.stl", "package://my_robot/urdf/model.urdf"])
def test_files_of_another_kind_are_not_read(folder: Path, uri: str) -> None:
    base = folder / "my_robot/urdf"
    (base / "model.urdf").touch()
    (folder / "my_robot/secret").touch()
    (base / "link.stl").symlink_to(folder / "my_robot/secret")
    with pytest.raises(
        SceneError, match=r"unknown kind of file '(\.urdf)?'; use one of \.stl, \.obj"
    ):
        resolve_uri(uri, base, (), MESH_SUFFIXES)


def test_a_scene_cannot_allow_itself_other_folders(tmp_path: Path) -> None:
    scene, mesh = tmp_path / "a/b/c/scene.toml", tmp_path / "far/cube.stl"
    for path in (scene, mesh):
        path.parent.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[1] / "data/malformed/cube_solid_header.stl", mesh)
    text = f"""
package_dirs = ["{tmp_path}"]
[[body]]
name = "b"
shape = {{ mesh = "package://far/cube.stl", density = 1000 }}
[[joint]]
name = "j"
type = "free"
child = "b"
"""
    scene.write_text(text, "utf-8")
    problem = f"{str(tmp_path)!r} is outside the folders that a scene may read; "
    remedy = "allow it with --package-dir, in Python with package_dirs"
    with pytest.raises(
        SceneError, match=f"2:17: package_dirs\\[0\\]: {re.escape(problem + remedy)}"
    ):
        pysim.load_scene(scene)
    assert pysim.load_scene(scene, package_dirs=[tmp_path]).model.nbodies == 1
    assert pysim.load_scene(scene, {"package_dirs": [str(tmp_path)]}).model.nbodies == 1
    worlds = pysim.load_scenes(scene, {"body.b.shape.density": [1, 2]}, package_dirs=(tmp_path,))
    assert len(worlds) == 2
    assert answer(["check", str(scene), "--package-dir", str(tmp_path)]) == 0
    assert answer(["check", str(scene)]) == 2


def test_names_that_no_system_takes_are_refused(folder: Path) -> None:
    for uri in ("n" * 5000 + ".stl", "package://" + "n" * 5000 + "/x.stl", "x/" * 2500 + "y.stl"):
        with pytest.raises(SceneError) as caught:
            resolve_uri(uri, folder)
        assert len(str(caught.value)) < 700 or "x/" in uri
    with pytest.raises(SceneError, match="cannot be looked up: file name too long; check the path"):
        resolve_uri("n" * 5000 + ".stl", folder)


@pytest.mark.parametrize(
    "uri",
    [
        "../../../secret",
        "file:///etc/../../../../etc/shadow",
        "/etc/shadow",
        "package://my_robot/../secret",
        "package://my_robot/%2e%2e/secret",
        "link",
    ],
)
def test_files_elsewhere_are_rejected(folder: Path, uri: str) -> None:
    base = folder / "my_robot/urdf/left"
    base.mkdir()
    (base / "link").symlink_to(folder / "secret")
    with pytest.raises(SceneError, match=r"is outside the folders .* package_dirs$"):
        resolve_uri(uri, base)


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("", "names no file; give a path, or package://NAME/path"),
        ("package://", "names no file; give a path, or package://NAME/path"),
        ("a\0b", "names no file; give a path, or package://NAME/path"),
        ("https://x/y.stl", "unknown scheme 'https'; use a path, file:// or package://"),
        (
            "package://none/x",
            "there is no package 'none'; list the folder that holds it in --package-dir, in Python package_dirs",
        ),
        (
            "package://../x",
            "there is no package '..'; list the folder that holds it in --package-dir, in Python package_dirs",
        ),
        (
            "none.stl",
            "there is no file '{}/none.stl'; check the path, or --package-dir, in Python package_dirs",
        ),
    ],
)
def test_paths_to_missing_files_are_rejected(folder: Path, uri: str, problem: str) -> None:
    with pytest.raises(SceneError) as caught:
        resolve_uri(uri, folder, [folder])
    assert caught.value.problem == problem.format(folder)


@pytest.mark.skipif(robots_folder() is None, reason="needs example-robot-data")
def test_installed_robots_are_found(tmp_path: Path) -> None:
    short = "panda_description/urdf/panda.urdf"
    long = f"package://example-robot-data/robots/{short}"
    assert resolve_uri(long, tmp_path) == resolve_uri(f"package://{short}", tmp_path)


@pytest.mark.usefixtures("no_robots")
@pytest.mark.parametrize("name", ["example-robot-data", "panda_description"])
def test_robots_that_are_not_installed_say_how_to_get_them(tmp_path: Path, name: str) -> None:
    with pytest.raises(SceneError) as caught:
        resolve_uri(f"package://{name}/x.urdf", tmp_path)
    assert str(caught.value) == (
        f"'package://{name}/x.urdf': there is no package {name!r}; install it with "
        '`pip install "pysim-multibody[robots]"`, or list the folder that holds it in --package-dir, '
        "in Python package_dirs"
    )
