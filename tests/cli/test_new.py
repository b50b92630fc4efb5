"""`pysim new KIND NAME`, as a user sees it. Oracles: text, files, and the tests that it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pysim
from pysim.cli import main

ROOT = str(Path(pysim.__file__).parents[1])
KINDS = ("force", "controller", "sensor")


def test_new_plugins_are_explained_and_their_tests_pass_as_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind in KINDS:
        explained_and_described(kind, capsys)
    files = [f"test_fresh_{kind}.py" for kind in KINDS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": ROOT, "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout


def explained_and_described(kind, capsys):
    """Write a new plugin, and check what is said of it and what it looks like."""
    name = f"fresh_{kind}"
    assert main(["new", kind, name]) == 0
    assert capsys.readouterr().out == (
        f"  wrote       {name}.py\n"
        f"  wrote       test_{name}.py\n"
        f"  try         python -m pytest test_{name}.py    (pip install pytest)\n"
        f"              pysim elements {name} --plugin {name}.py\n"
    )
    assert main(["elements", name, "--plugin", f"{name}.py"]) == 0
    assert capsys.readouterr().out.startswith(f'[[{kind}]] type = "{name}"\n')
    assert main(["new", kind, name]) == 2
    assert "exists" in capsys.readouterr().err
    code = Path(f"{name}.py").read_text("utf-8").split("\n@", 1)[1]
    assert len([line for line in code.splitlines() if line.strip()]) <= 16
    text = Path(f"{name}.py").read_text("utf-8") + Path(f"test_{name}.py").read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 120
    assert "{{" not in text


ERRORS = [
    (
        "fore mine",
        "new: unknown kind 'fore'; did you mean 'force'?; choose one of joint, force, controller, sensor",
    ),
    (
        "force My-Force",
        "new: 'My-Force' is not a valid name for a force; use small letters, digits and _, such as cross_wind",
    ),
    (
        "sensor lambda",
        "new: 'lambda' is not a valid name for a sensor; use small letters, digits and _, such as cross_wind",
    ),
    ("force rope", "new: force type 'rope' exists; choose another name"),
    ("force spring", "new: force type 'spring' exists; choose another name"),
    ("controller pid", "new: controller type 'pid' exists; choose another name"),
    ("sensor imu", "new: sensor type 'imu' exists; choose another name"),
    ("force mine", "mine.py: exists and is not overwritten; choose another name"),
    ("sensor old", "test_old.py: exists and is not overwritten; choose another name"),
]


@pytest.mark.parametrize(("line", "message"), ERRORS)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch, capsys, line, message):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("", "utf-8")
    Path("test_old.py").write_text("", "utf-8")
    assert main(["new", *line.split()]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py", "test_old.py"]
