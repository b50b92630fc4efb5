"""Versions and dates of a release, which several files state. The oracle is pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import pysim
from pysim.cli import main

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SECTION = re.compile(r"^## \[([^]]+)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)
HEADINGS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_every_file_states_the_version_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    sections = SECTION.findall((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert pysim.__version__ == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert sections[0] == ("Unreleased", "")
    assert sections[1][0] == PROJECT["version"]
    assert f"\ndate-released: {sections[1][1]}\n" in citation
    assert all(date for _, date in sections[1:])
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{PROJECT['version']}\n"


def test_the_citation_states_the_addresses_of_the_project() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nrepository-code: {PROJECT['urls']['Source']}\n" in citation
    assert f"\nurl: {PROJECT['urls']['Documentation']}\n" in citation


def test_wheels_have_every_instruction_set_and_the_default_is_that_of_the_processor() -> None:
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    assert wheels["config-settings"] == {"cmake.define.PYSIM_ISAS": "all"}
    options = (ROOT / "cpp" / "CMakeLists.txt").read_text("utf-8")
    assert re.search(r'^set\(PYSIM_ISAS "native" CACHE STRING$', options, re.MULTILINE)


def test_the_changelog_has_the_headings_of_keep_a_changelog() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= HEADINGS


def test_nothing_installs_the_package_of_another_project() -> None:
    """`pysim` on the package index belongs to somebody else."""
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    files += ROOT.glob("pysim/**/*.py")
    named = [
        path.relative_to(ROOT)
        for path in files
        if re.search(r"pip install (-\S+ )*[\"']?pysim(?!-multibody)", path.read_text("utf-8"))
    ]
    assert named == []
    assert PROJECT["name"] == "pysim-multibody"
