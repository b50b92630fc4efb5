"""Look-up of named files. The oracle is a folder made for each test."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import pytest

from pysim.errors import SceneError
from pysim.scene import packages
from pysim.scene.packages import resolve_uri, robots_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def test_the_whole_package_of_a_file_may_be_named(folder: Path) -> None:
    base = folder / "my_robot/urdf"
    with pytest.raises(SceneError, match="is outside the folders"):
        resolve_uri("../meshes/my part.stl", base)
    (folder / "my_robot/package.xml").touch()
    assert resolve_uri("../meshes/my part.stl", base) == folder / "my_robot/meshes/my part.stl"


@pytest.mark.parametrize(
    "uri",
    [
        "../../secret",
        "file:///etc/../../../../etc/shadow",
        "/etc/shadow",
        "package://my_robot/../secret",
        "package://my_robot/%2e%2e/secret",
        "link",
    ],
)
def test_files_elsewhere_are_rejected(folder: Path, uri: str) -> None:
    base = folder / "my_robot/urdf"
    (base / "link").symlink_to(folder / "secret")
    with pytest.raises(SceneError, match=r"is outside the folders .* package_dirs$"):
        resolve_uri(uri, base)


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("", "names no file"),
        ("package://", "names no file"),
        ("a\0b", "names no file"),
        ("https://x/y.stl", "unknown scheme 'https'; use a path, file:// or package://"),
        (
            "package://none/x",
            "there is no package 'none'; list the folder that holds it in package_dirs",
        ),
        (
            "package://../x",
            "there is no package '..'; list the folder that holds it in package_dirs",
        ),
        ("none.stl", "there is no file '{}/none.stl'; check the path, or package_dirs"),
    ],
)
def test_what_leads_nowhere_is_rejected_by_name(folder: Path, uri: str, problem: str) -> None:
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
        '`pip install "pysim[robots]"`, or list the folder that holds it in package_dirs'
    )
