"""Output paths of trajectories, and changes of their names during a run.

Oracles: the files of others byte for byte, the system's locks and h5py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from pysim.errors import PysimWarning, TrajectoryError
from pysim.render.output import replacing
from pysim.trajectory import Trajectory, TrajectoryWriter, load_trajectory
from pysim.trajectory.output_file import open_draft
from tests.trajectory.test_files import assert_same_rows, random_trajectory, rows_of

ROOT = Path(__file__).parents[2]
FIRST, REST = slice(0, 3), slice(3, None)


def written_around(path: Path, meanwhile: object) -> Trajectory:
    """A trajectory written to `path` in two flushes, with something done between them."""
    trajectory = random_trajectory()
    with TrajectoryWriter(path, trajectory.header) as writer:
        writer.append(*rows_of(trajectory, FIRST))
        writer.flush()
        meanwhile()  # type: ignore[operator]
        writer.append(*rows_of(trajectory, REST))
        writer.finish()
    return trajectory


def test_a_file_that_took_the_name_is_not_touched(tmp_path: Path) -> None:
    path, foreign = tmp_path / "run.h5", np.random.default_rng(1).bytes(3_000_000)

    def replace() -> None:
        path.unlink()
        path.write_bytes(foreign)

    with pytest.warns(PysimWarning, match=r"run\.h5: was removed or replaced .*; run again"):
        written_around(path, replace)
    assert path.read_bytes() == foreign


def test_a_run_whose_file_is_removed_continues_and_warns(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with pytest.warns(PysimWarning, match=r"run\.h5: was removed or replaced while a run wrote it"):
        written_around(path, path.unlink)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_moved_gets_the_rest_of_the_run(tmp_path: Path) -> None:
    path, moved = tmp_path / "run.h5", tmp_path / "moved.h5"
    with pytest.warns(PysimWarning, match="its rows are in the moved file"):
        trajectory = written_around(path, lambda: path.rename(moved))
    assert_same_rows(load_trajectory(moved), trajectory)
    assert list(tmp_path.iterdir()) == [moved]


def test_a_change_of_the_working_directory_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    trajectory = written_around(Path("run.h5"), lambda: os.chdir("other"))
    assert_same_rows(load_trajectory(tmp_path / "run.h5"), trajectory)
    assert list((tmp_path / "other").iterdir()) == []


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link.h5", tmp_path / "far" / "run.h5"
    link.symlink_to(target)
    for rows in (5, 7):  # a new file, then one that is replaced
        random_trajectory(rows).save(link, overwrite=True)
        assert link.is_symlink()
        assert len(load_trajectory(target)) == rows
    assert list((tmp_path / "far").iterdir()) == [target]


def test_a_link_into_a_missing_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to(tmp_path / "far" / "run.h5")
    with pytest.raises(TrajectoryError, match=r"link\.h5: the folder '.*/far' does not exist"):
        random_trajectory().save(tmp_path / "link.h5")


def test_a_link_to_itself_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "link.h5").symlink_to("link.h5")
    with pytest.raises(TrajectoryError, match=r"link\.h5: "):
        random_trajectory().save(tmp_path / "link.h5", overwrite=True)


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    longest = os.pathconf(tmp_path, "PC_NAME_MAX")
    path = tmp_path / ("n" * (longest - 3) + ".h5")[-longest:]
    random_trajectory().save(path)
    assert len(load_trajectory(path)) == 7
    with pytest.raises(TrajectoryError, match="file name too long; choose a shorter name"):
        random_trajectory().save(path.with_stem("n" * longest))


def test_one_of_several_threads_with_one_output_writes_and_the_others_report_an_error(
    tmp_path: Path,
) -> None:
    path, trajectory, refused = tmp_path / "run.h5", random_trajectory(), list[str]()
    random_trajectory(2).save(path)
    ready = threading.Barrier(4, timeout=30)

    def run() -> None:
        ready.wait()
        try:
            with TrajectoryWriter(path, trajectory.header, overwrite=True) as writer:
                writer.append(*rows_of(trajectory, slice(None)))
                ready.wait()  # until all others were refused
                writer.finish()
        except TrajectoryError as error:
            refused.append(str(error))
            ready.wait()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [f"{path}: another program is writing it; wait until it is done"] * 3
    assert_same_rows(load_trajectory(path), trajectory)
    assert list(tmp_path.iterdir()) == [path]


WITHOUT_HDF5_LOCKS = """
import sys
from pathlib import Path
from pysim.trajectory import TrajectoryWriter
from tests.trajectory.test_files import random_trajectory, rows_of
run = random_trajectory()
with TrajectoryWriter(sys.argv[1], run.header, overwrite=True) as writer:
    writer.append(*rows_of(run, slice(0, 3)))
    writer.flush()
    print(flush=True)
    sys.stdin.readline()
    writer.append(*rows_of(run, slice(3, None)))
    writer.finish()
"""


def test_a_second_writer_is_rejected_where_hdf5_does_not_lock(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    command = [sys.executable, "-c", WITHOUT_HDF5_LOCKS, str(path)]
    environment = {**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as first:  # type: ignore[call-overload]
        first.stdout.readline()
        second = subprocess.run(
            command, env=environment, input="\n", capture_output=True, text=True, check=False
        )
        first.communicate("\n")
    assert first.returncode == 0
    assert second.returncode == 1
    assert f"{path}: another program is writing it; wait until it is done" in second.stderr
    assert_same_rows(load_trajectory(path), random_trajectory())


def test_a_file_that_keeps_its_name_is_not_warned_of(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written_around(tmp_path / "run.h5", lambda: None)


def test_drafts_of_killed_runs_are_removed_and_those_in_use_stay(tmp_path: Path) -> None:
    abandoned = [tmp_path / f".pysim-{k:016x}.part{end}" for k, end in enumerate(("", ".png"))]
    for draft in abandoned:
        draft.write_bytes(b"half")
    used, other = tmp_path / f".pysim-{9:016x}.part", tmp_path / ".pysim-notes.part"
    descriptor = open_draft(used)
    other.write_text("mine")
    random_trajectory().save(tmp_path / "run.h5")
    os.close(descriptor)
    assert {*tmp_path.iterdir()} == {used, other, tmp_path / "run.h5"}


def test_a_picture_removes_drafts_of_killed_runs_and_keeps_its_own(tmp_path: Path) -> None:
    abandoned = tmp_path / f".pysim-{1:016x}.part"
    abandoned.touch()
    with replacing(tmp_path / "still.png", [".png"]) as draft:
        assert draft is not None
        draft.write_bytes(b"picture")
        random_trajectory().save(tmp_path / "run.h5")
    assert {*tmp_path.iterdir()} == {tmp_path / "still.png", tmp_path / "run.h5"}
