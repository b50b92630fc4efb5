"""Look-up of named files. The oracle is a folder made for each test."""

from __future__ import annotations

import os
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
from tests.time_limits import ends_within

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


def test_the_folder_above_a_file_may_be_named_and_none_above_it(folder: Path) -> None:
    mesh = folder / "my_robot/meshes/my part.stl"
    assert resolve_uri("../meshes/my part.stl", folder / "my_robot/urdf") == mesh
    deep = folder / "my_robot/urdf/arm"
    deep.mkdir(parents=True)
    (folder / "my_robot/package.xml").touch()  # which names no package, and allows nothing
    with pytest.raises(SceneError, match="is outside the folders"):
        resolve_uri("../../meshes/my part.stl", deep)
    for folders in ([folder], [str(folder / "my_robot/meshes")]):
        assert resolve_uri("../../meshes/my part.stl", deep, folders) == mesh


def test_a_file_may_name_files_in_its_ros_package(folder: Path) -> None:
    mesh, deep = folder / "my_robot/meshes/my part.stl", folder / "my_robot/urdf/arm/left"
    deep.mkdir(parents=True)
    in_package(folder / "my_robot", "my_arm")
    assert resolve_uri("../../../meshes/my part.stl", deep) == mesh
    assert resolve_uri("package://my_arm/meshes/my part.stl", deep) == mesh
    for uri in ("../../../../other/x.stl", "package://other/x.stl", "package://my_arm/../secret"):
        with pytest.raises(SceneError, match=r"is outside the folders|there is no package"):
            resolve_uri(uri, deep)


def in_package(folder: Path, name: str) -> None:
    text = f"<package format='2'>\n  <name> {name} </name></package>"
    (folder / "package.xml").write_text(text, "utf-8")


def test_a_package_is_found_by_its_folder_or_its_package_xml(folder: Path) -> None:
    base, part = folder / "my_robot/urdf", folder / "other/x.stl"
    beside = folder / "my_robot/parts/x.stl"
    beside.parent.mkdir()
    beside.touch()
    assert resolve_uri("package://parts/x.stl", base) == beside  # in a folder that may be read
    in_package(beside.parent, "my_parts")
    assert resolve_uri("package://my_parts/x.stl", base) == beside
    in_package(folder / "other", "arm_description")
    for name in ("other", "arm_description"):  # beside the package, if that is one for ROS
        with pytest.raises(SceneError, match=f"there is no package '{name}'"):
            resolve_uri(f"package://{name}/x.stl", base)
    in_package(folder / "my_robot", "my_arm")
    assert resolve_uri("package://my_arm/urdf/part.stl", base) == base / "part.stl"
    assert resolve_uri("package://other/x.stl", base) == part
    assert resolve_uri("package://arm_description/x.stl", base) == part


def test_packages_are_found_by_the_variables_of_ros(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, part = tmp_path_factory.mktemp("elsewhere"), folder / "other/x.stl"
    shared = folder / "install/share/arms/arm.stl"
    shared.parent.mkdir(parents=True)
    shared.touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{folder}:")
    assert resolve_uri("package://other/x.stl", base) == part
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(folder / "other"))
    in_package(folder / "other", "arm_description")
    assert resolve_uri("package://arm_description/x.stl", base) == part
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder / "install"))
    assert resolve_uri("package://arms/arm.stl", base) == shared


def test_a_package_xml_that_never_ends_is_none(folder: Path) -> None:
    os.mkfifo(folder / "my_robot/package.xml")
    missing = pytest.raises(SceneError, match="there is no package 'my_arm'")
    with ends_within(20), missing:
        resolve_uri("package://my_arm/urdf/part.stl", folder / "my_robot/urdf")


def test_a_folder_three_levels_above_is_not_searched_for_packages(folder: Path) -> None:
    deep = folder / "my_robot/urdf/arm/left"
    deep.mkdir(parents=True)
    with pytest.raises(SceneError, match="there is no package 'my_robot'"):
        resolve_uri("package://my_robot/urdf/part.stl", deep)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with files of its user, and one of another user beside it."""
    home = tmp_path / "home/me"
    for name in ("../you/x.stl", "x.stl", ".secrets/x.stl", "Downloads/x.stl", "robot/urdf/r.stl"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    in_package(home, "all")
    in_package(home / "Downloads", "loads")
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize(
    ("base", "uri"),
    [
        ("", "../you/x.stl"),
        ("", "package://you/x.stl"),
        ("", "package://home/you/x.stl"),
        ("", ".secrets/x.stl"),
        ("", "package://.secrets/x.stl"),
        ("", "package://me/.secrets/x.stl"),
        ("scenes", "../x.stl"),
        ("scenes", "../.secrets/x.stl"),
        ("scenes", "package://me/x.stl"),
        ("scenes", "package://all/x.stl"),
        ("scenes", "package://robot/urdf/r.stl"),
        ("Downloads", "../x.stl"),
        ("Downloads/a", "../../x.stl"),
        ("Downloads/a", "../x.stl"),
        ("Downloads/a", "../../.secrets/x.stl"),
        ("Downloads/a", "package://Downloads/x.stl"),
        ("Downloads/a", "package://loads/x.stl"),
        ("Downloads/a/b", "../../x.stl"),
        ("Downloads/a/b", "package://me/x.stl"),
        ("Downloads/a/b", "package://loads/x.stl"),
        ("Downloads/a/b", "package://Downloads/x.stl"),
    ],
)
def test_folders_that_many_sources_share_are_not_read(home: Path, base: str, uri: str) -> None:
    (home / base).mkdir(parents=True, exist_ok=True)
    with pytest.raises(SceneError, match=r"is outside|there is no package"):
        resolve_uri(uri, home / base)


def test_files_beside_a_scene_in_a_shared_folder_are_read(home: Path) -> None:
    assert resolve_uri("x.stl", home) == home / "x.stl"
    assert resolve_uri("robot/urdf/r.stl", home) == home / "robot/urdf/r.stl"
    assert resolve_uri("../x.stl", home / "Downloads/a", [home]) == home / "Downloads/x.stl"
    assert resolve_uri("../urdf/r.stl", home / "robot/scenes") == home / "robot/urdf/r.stl"
    assert folders_around(Path("/")) == []


def test_a_scene_below_the_home_folder_shows_nothing_of_its_files(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, secret = home / "Downloads/x", home / ".secrets/tokens"
    folder.mkdir()
    secret.write_text("hunter2,42\nsolid hunter2\n", "utf-8")
    shutil.copy(secret, home / "Downloads/other.csv")
    scenes = [
        f'include = ["{name}"]\n[[model]]\nfile = "{name}"\n[[signal]]\nname = "s"\ntype = "table"\n{kind}'
        for name in ("../../.secrets/tokens", str(secret), "link", "link.csv", "../other.csv")
        for kind in (
            f'file = "{name}"',
            f'file = "{name}"\n[[body]]\nshape = {{ mesh = "{name}" }}',
        )
    ]
    for name in ("link", "link.csv", "link.toml", "link.stl", "link.urdf", "link.xml"):
        (folder / name).symlink_to(secret)
    scenes += [f'[[model]]\nfile = "link.{kind}"' for kind in ("toml", "urdf", "xml")]
    scenes += ['include = "link.toml"', '[[body]]\nname = "b"\nshape = { mesh = "link.stl" }']
    for k, text in enumerate(scenes):
        (folder / f"{k}.toml").write_text(text, "utf-8")
        for command in (["check"], []):
            assert answer([*command, str(folder / f"{k}.toml")]) == 2
            assert "hunter2" not in "".join(capsys.readouterr())


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
