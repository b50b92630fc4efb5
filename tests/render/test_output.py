"""Pictures take their place whole, or leave nothing; oracle: what is in the folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pysim.errors import PysimError
from pysim.render.options import RenderOptions
from pysim.render.output import replacing
from pysim.render.window import offscreen

ROOT = Path(__file__).parents[2]

TERMINATED = """
import os, signal, sys
from pysim.render.output import replacing
with replacing(sys.argv[1], [".png"]) as draft:
    draft.write_bytes(b"half a picture")
    os.kill(os.getpid(), signal.SIGTERM)
    print("goes on")
"""


def test_sigterm_ends_the_program_and_leaves_no_draft(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TERMINATED, str(tmp_path / "end.png")]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (-signal.SIGTERM, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_handler_of_the_caller_stays_installed(tmp_path: Path) -> None:
    received: list[int] = []

    def own(number: int, _frame: object) -> None:
        received.append(number)

    before = signal.signal(signal.SIGTERM, own)
    try:
        with replacing(tmp_path / "end.png", [".png"]):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]


def write(path: Path, content: bytes) -> None:
    with replacing(path, [".png"]) as draft:
        assert draft is not None
        draft.write_bytes(content)
        time.sleep(0.01)  # so that threads meet


def test_the_name_of_a_picture_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 4) + ".png")
    write(path, b"picture")
    assert path.read_bytes() == b"picture"


def test_a_picture_through_a_link_becomes_what_it_points_to(tmp_path: Path) -> None:
    link, target = tmp_path / "link.png", tmp_path / "end.png"
    link.symlink_to(target)
    write(link, b"picture")
    assert link.is_symlink()
    assert target.read_bytes() == b"picture"


def test_threads_that_make_one_picture_leave_a_whole_one(tmp_path: Path) -> None:
    path, contents = tmp_path / "end.png", [bytes([k]) * 1000 for k in range(4)]
    threads = [threading.Thread(target=write, args=(path, content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_picture_that_breaks_off_leaves_nothing(
    tmp_path: Path, error: type[BaseException]
) -> None:
    with pytest.raises(error), replacing(tmp_path / "end.png", [".png"]):
        raise error
    assert list(tmp_path.iterdir()) == []


def test_without_display_and_libraries_the_remedy_names_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pysim.render.window.has_display", lambda: False)
    monkeypatch.setattr("pysim.render.window._loads", lambda _: False)
    with pytest.raises(PysimError) as caught, offscreen(RenderOptions()):
        pass
    text = "no display, and neither libEGL nor libOSMesa to draw without one; install libegl1 and libgl1"
    assert str(caught.value) == f"render: {text}"
