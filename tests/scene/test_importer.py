"""Importers: which one reads a file, and what a package must offer. The oracle is the text."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest

import pysim
from pysim.scene.importer import (
    IMPORTERS,
    Importer,
    ImportOptions,
    find_importer,
    foreign_suffixes,
    importer,
)
from pysim.scene.importers.urdf import Urdf

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec

MODULE = '''
from pathlib import Path

import numpy as np

from pysim.scene.importer import Importer
from pysim.scene.spec import BodySpec, ModelSpec
from pysim.scene.urdf.joints import plain_joint


class Pendulum(Importer):
    """A length [m] in a text file."""

    suffixes = (".pendulum",)

    def read(self, path, options):
        length = float(Path(path).read_text("utf-8"))
        body = BodySpec("bob", np.array([1, 0, 0, -length, 9, 0, 9, 0, 0, 1.0]))
        joint = plain_joint("hinge", "revolute", "world", "bob", np.eye(4), str(path))
        return ModelSpec("pendulum", np.array([0, 0, -9.81]), (body,), (joint,))
'''
ROBOT = '<robot name="r"><link name="a"/></robot>'


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed package that offers an importer of .pendulum files."""
    (tmp_path / "importer_of_a_package.py").write_text(MODULE, "utf-8")
    entry = EntryPoint("pendulum", "importer_of_a_package:Pendulum", "pysim.importers")
    monkeypatch.setattr("pysim.plugins.registry.entry_points", lambda **_: [entry])
    find_importer(_file(tmp_path, "a.urdf", ROBOT))  # those of pysim stay registered
    monkeypatch.setattr(IMPORTERS, "registered", dict(IMPORTERS.registered))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(pysim.SceneError) as caught:
        find_importer(path)
    return str(caught.value).removeprefix(f"{path.parent}/")


@pytest.mark.usefixtures("offered")
def test_an_installed_package_reads_its_own_format(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.pendulum", "2.0")
    assert pysim.load_model(path).bodies[0].theta[3] == -2.0
    assert ".pendulum" in foreign_suffixes()


@pytest.mark.usefixtures("offered")
def test_a_scene_attaches_a_model_of_any_format(tmp_path: Path) -> None:
    _file(tmp_path, "a.pendulum", "2.0")
    scene = _file(tmp_path, "s.toml", '[[model]]\nfile = "a.pendulum"\nname = "p"\n')
    assert pysim.load_scene(scene).model.joint_names == ("p/hinge",)


@pytest.mark.parametrize("name", ["a.urdf", "A.URDF", "a.xml", "a.robot"])
def test_the_root_element_decides_before_the_suffix(tmp_path: Path, name: str) -> None:
    path = _file(tmp_path, name, f"<?xml version='1.0'?><!-- {'x' * 9000} -->{ROBOT}")
    assert find_importer(path) is Urdf


@pytest.mark.parametrize("text", ["", "no XML", "<model/>", "<!DOCTYPE r><robot/>"])
def test_a_reader_reports_the_content_of_a_file_with_its_suffix(tmp_path: Path, text: str) -> None:
    assert find_importer(_file(tmp_path, "a.urdf", text)) is Urdf


def test_an_unknown_kind_of_file_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    known = ", ".join(foreign_suffixes())
    text = f"a.dae: unknown kind of file '.dae'; models are read from {known}"
    assert refusal(_file(tmp_path, "a.dae", "<COLLADA/>")) == text


def test_an_importer_without_read_is_rejected() -> None:
    with pytest.raises(pysim.PysimError) as caught:

        @importer("nothing")
        class Nothing(Importer):
            suffixes = (".nothing",)

    text = "has no method read; write `def read(self, path, options)`, which returns a ModelSpec"
    assert str(caught.value).endswith(f"Nothing: {text}")


def test_an_importer_without_suffix_is_rejected() -> None:
    with pytest.raises(pysim.PysimError) as caught:

        @importer("nowhere")
        class Nowhere(Importer):
            def read(self, path, options):
                raise NotImplementedError

    text = 'has neither suffixes nor roots; write suffixes = (".xyz",)'
    assert str(caught.value).endswith(f"Nowhere: {text}")


@pytest.mark.usefixtures("offered")
def test_an_unknown_root_element_is_named_with_the_known_ones(tmp_path: Path) -> None:
    """Two importers read .xml, so that the suffix does not decide."""

    @importer("another_xml")
    class Another(Importer):
        """Another format."""

        suffixes = (".xml",)
        roots = ("another",)

        def read(self, path: Path, options: ImportOptions) -> ModelSpec:
            raise NotImplementedError

    found = refusal(_file(tmp_path, "a.xml", "<car/>"))
    before = "a.xml: the root element <car> does not belong to a format that pysim reads; known: "
    assert found.startswith(before)
    assert {"<robot>", "<mujoco>", "<sdf>", "<another>"} <= set(
        found.removeprefix(before).split(", ")
    )


def test_an_importer_without_read_says_what_to_write(tmp_path: Path) -> None:
    class Own(Importer):
        """A format without a reader."""

        suffixes = (".own",)

    with pytest.raises(pysim.PysimError) as caught:
        Own().read(tmp_path / "a.own", ImportOptions())
    assert str(caught.value).endswith(
        "Own: has no method read; write `def read(self, path, options)` that returns a ModelSpec"
    )
