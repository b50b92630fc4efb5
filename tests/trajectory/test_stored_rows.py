"""Trajectories whose rows stay in the file. Oracle: the same file read whole, and NumPy's own indices."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, TrajectoryError
from pysim.render.movie import frames_of
from pysim.render.options import RenderOptions
from pysim.render.plots.recorded_quantities import quantities_of
from pysim.trajectory import TrajectoryWriter, load_trajectory, reader, stored_rows
from pysim.trajectory.stored_rows import StoredRows
from tests.render.scenes import cart
from tests.scene_runs import SCENES
from tests.trajectory.test_files import random_trajectory, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.trajectory import Trajectory

ROWS = 3000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("stored") / "run.h5"
    random_trajectory(ROWS).save(found)
    return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 1 << 15)


def streamed(path: Path) -> Trajectory:
    found = load_trajectory(path, stream=True)
    poses: Any = found.poses
    assert isinstance(poses, StoredRows)
    return found


INDICES: tuple[Any, ...] = (
    0,
    -1,
    np.int64(7),
    slice(None),
    slice(5, 5),
    slice(None, None, 700),
    slice(None, None, -411),
    slice(-3, None),
    [5, 2, 2, -1],
    np.array([[1, 2], [2999, 0]]),
    np.arange(ROWS) % 500 == 3,
    (slice(None), 1),
    (slice(10, 20), 1, slice(3)),
    (slice(None, None, 1000), slice(None), [0, 2]),
    ([3, 1], 0),
    ([3, 1], [0, 1]),
    (..., 0),
    (slice(4), None, 0),
    (None, 2),
)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_an_index_selects_as_that_of_an_array(path: Path, index: Any) -> None:
    whole, found = load_trajectory(path), streamed(path)
    np.testing.assert_array_equal(found.poses[index], whole.poses[index])


def test_rows_behave_as_an_array(path: Path) -> None:
    whole, stored = load_trajectory(path), streamed(path)
    assert stored.q.shape == whole.q.shape
    assert (stored.q.ndim, stored.q.size, len(stored.q)) == (2, 5 * ROWS, ROWS)
    np.testing.assert_array_equal(2 * stored.q + 1, 2 * whole.q + 1)
    np.testing.assert_array_equal(np.abs(stored.v).max(axis=0), np.abs(whole.v).max(axis=0))
    np.testing.assert_array_equal(list(stored.kinetic), list(whole.kinetic))
    np.testing.assert_array_equal(stored.energy, whole.energy)
    with pytest.raises(IndexError, match="'q' must lie within 3000"):
        stored.q[[ROWS]]
    shown = f"<'poses' of {path}: (3000, 2, 7), read when indexed>"
    assert repr(stored.poses) == shown


def test_every_quantity_is_that_of_the_whole_file(tmp_path: Path) -> None:
    changes = {"simulation.duration": 0.5}
    run = pysim.simulate(pysim.load_scene(SCENES / "bouncing_balls.toml", overrides=changes))
    run.save(tmp_path / "run.h5")
    found = streamed(tmp_path / "run.h5")
    whole, names = quantities_of(run), quantities_of(found)
    assert list(names) == list(whole)
    for name, quantity in names.items():
        np.testing.assert_array_equal(quantity.values(), whole[name].values(), err_msg=name)
    for row in (0, 20, -1):
        mine, theirs = found.contacts.of_row(row), run.contacts.of_row(row)
        for key in ("pair", "point", "force", "stuck"):
            assert getattr(mine, key).dtype == getattr(theirs, key).dtype
            np.testing.assert_array_equal(getattr(mine, key), getattr(theirs, key))


def test_a_run_that_was_cut_short_ends_at_the_same_row(tmp_path: Path) -> None:
    run, path = random_trajectory(40), tmp_path / "run.h5"
    with TrajectoryWriter(path, run.header) as writer:
        writer.append(*rows_of(run, slice(0, 25)))
    with pytest.warns(PysimWarning, match="was cut short"):
        found = load_trajectory(path, stream=True)
    assert len(found) == len(found.poses) == 25
    np.testing.assert_array_equal(found.poses, run.poses[:25])


def test_a_frame_drawn_from_the_file_is_that_of_the_whole_run(tmp_path: Path) -> None:
    run, path = cart(), tmp_path / "cart.h5"
    run.save(path)
    options = RenderOptions(size=(64, 48), supersample=1, trails=("tip",), frames=("tip",))
    pictures = []
    for each in (load_trajectory(path), pickle.loads(pickle.dumps(streamed(path)))):
        with frames_of(each, options, np.array([0.1, 0.4])) as frame:
            pictures.append([frame(k) for k in range(2)])
    np.testing.assert_array_equal(pictures[0], pictures[1])


def changed(path: Path) -> None:
    random_trajectory(9).save(path, overwrite=True)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (Path.unlink, "was removed while its rows were read; run again"),
        (changed, "was changed while its rows were read; open it again"),
    ],
)
def test_another_process_reads_the_same_file_or_none(
    tmp_path: Path, change: Callable[[Path], None], problem: str
) -> None:
    path = tmp_path / "run.h5"
    random_trajectory().save(path)
    packed = pickle.dumps(streamed(path))
    change(path)
    with pytest.raises(TrajectoryError) as caught:
        pickle.loads(packed)
    assert str(caught.value) == f"{path}: {problem}"


def test_an_invalid_row_is_an_error_where_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path = random_trajectory(20), tmp_path / "run.h5"
    run.poses[12, 0, 0] = np.nan
    with monkeypatch.context() as patch:
        patch.setattr("pysim.trajectory.writer.valid_rows", lambda _, x: np.ones(len(x), bool))
        run.save(path)
    found = streamed(path)
    assert np.isfinite(found.poses[:12]).all()
    with pytest.raises(TrajectoryError) as caught:
        found.poses[11:14]
    problem = "is damaged, 'poses' is not valid in the rows 11 to 13; run again"
    assert str(caught.value) == f"{path}: {problem}"


def test_memory_does_not_grow_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / "run.h5", 60_000
    random_trajectory(rows).save(path)
    monkeypatch.setattr(reader, "STREAMED_BYTES", path.stat().st_size - 1)
    tracemalloc.start()
    try:
        found = reader.load_for_pictures(path)
        found.poses_at([2.0, 3.0])
        found.path_of("tool", slice(None, None, 100))
        found.contacts.of_row(-1)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 8 * 8 * rows  # eight numbers a row, of 31
    assert path.stat().st_size > 31 * 8 * rows
