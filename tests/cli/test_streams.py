"""Commands whose streams are closed, broken or narrow do their work all the same.

Oracles: the exit status, the files that are there afterwards, and pipes whose readers have gone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import pysim
from pysim.cli import main
from tests.cli.test_app import SCENE
from tests.nightly import at_night

COMMAND = (sys.executable, "-m", "pysim")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scene, as the working directory."""
    body = '[[body]]\nname = "stone"\n'
    shown = SCENE.replace(body, body + "visual = { sphere = { radius = 0.1 } }\n", 1)
    assert shown != SCENE
    (tmp_path / "stone.toml").write_text(shown, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def to_nobody(*words: str, stream: str = "stdout") -> subprocess.CompletedProcess[str]:
    """Run a command that prints into a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    streams = {stream: writer, other: subprocess.PIPE}
    try:
        return subprocess.run([*COMMAND, *words], **streams, text=True, check=False)  # type: ignore[call-overload]
    finally:
        os.close(writer)


@pytest.mark.render
def test_a_run_with_a_closed_output_stream_still_draws_its_picture(here: Path) -> None:
    run = to_nobody("stone.toml", "--still", "end.png")
    assert (run.returncode, run.stderr) == (0, "")
    assert pysim.load_trajectory(here / "stone.h5").complete
    assert (here / "end.png").stat().st_size > 0


@pytest.mark.parametrize("words", ["check stone.toml", *at_night("joints", "--help", "--version")])
@pytest.mark.usefixtures("here")
def test_a_closed_output_stream_is_not_an_error(words: str) -> None:
    run = to_nobody(*words.split())
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.usefixtures("here")
def test_errors_keep_their_exit_status_with_a_closed_error_stream() -> None:
    run = to_nobody("nothing.toml", stream="stderr")
    assert (run.returncode, run.stdout) == (2, "")


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", *at_night(">&- 2>&-")])
def test_closed_streams_are_not_an_error_and_their_text_enters_no_file(
    here: Path, closed: str
) -> None:
    line = f'exec "$0" -m pysim stone.toml {closed}'
    run = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert pysim.load_trajectory(here / "stone.h5").complete


@pytest.mark.usefixtures("here")
def test_letters_that_stdout_lacks_are_written_as_their_codes() -> None:
    run = subprocess.run(
        [*COMMAND, "check", "stone.toml"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, b"")
    assert b"  gravity     0 0 -9.81 m/s\\xb2\n" in run.stdout


def test_a_command_in_a_thread_works(here: Path) -> None:
    statuses: list[int] = []
    thread = threading.Thread(target=lambda: statuses.append(main(["stone.toml", "--quiet"])))
    thread.start()
    thread.join()
    assert statuses == [0]
    assert pysim.load_trajectory(here / "stone.h5").complete
