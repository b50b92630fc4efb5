"""`pysim schema`, and the outputs that `pysim identify` rejects first. The oracle is `pysim.scene.scene_schema`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pysim.cli.app import answer
from pysim.scene import scene_schema


def test_the_printed_schema_is_the_one_that_the_loader_generates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answer(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == scene_schema()
    jsonschema.Draft202012Validator.check_schema(printed)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("y.urdf", "y.urdf: must end in .toml like s.toml; other kinds are not converted"),
        ("s.toml", "s.toml: exists; name another file, or overwrite it"),
    ],
)
def test_identify_rejects_an_output_before_it_reads_the_data(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("s.toml", "data.csv"):
        Path(name).write_text("not read", "utf-8")
    assert answer(["identify", "s.toml", "data.csv", "-o", output]) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"
