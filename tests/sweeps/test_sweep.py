"""Sweeps: what they compute, and that nothing is lost or computed twice. The oracle is `simulate` of each world alone,
and the bytes of an undisturbed sweep.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SimulationError
from pysim.files import descriptors
from pysim.sweeps import SweepUpdate, dataset
from pysim.sweeps.dataset import SweepFile
from pysim.sweeps.signal_statistics import statistics

pytest.importorskip("xarray")

SCENES = Path(__file__).parents[2] / "scenes"
SHORT = {"simulation.duration": 0.2, "output.every": 0.05}
MASSES = {"joint[0].damping": "0:0.4:3", "body[0].shape.density": "normal(250, 10)"}
SPRING = SCENES / "spring.toml"


def data_of(path: Path) -> dict[str, Any]:
    """Return all datasets of a file as bytes."""
    with h5py.File(path) as file:
        return {name: file[name][()].tobytes() for name in file}


def test_every_world_has_the_numbers_of_simulate(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"overrides": SHORT}
    keys["signals"] = ["energy", f"q.{pysim.load_scene(SPRING).model.coordinate_names[0]}"]
    results = pysim.sweep(SPRING, MASSES, 4, output=tmp_path / "a.nc", piece=5, **keys)
    assert dict(results.sizes) == {
        "world": 12, "signal": 3, "statistic": 5, "record": 2, "time": 5, "piece": 3
    }  # fmt: skip
    assert (results.failure == "").all()
    for k in (0, 5, 11):
        own = {key: float(results[key][k]) for key in MASSES}
        run = pysim.simulate(pysim.load_scene(SPRING, SHORT | own))
        one = results.isel(world=k)
        np.testing.assert_array_equal(one.series[0], run.energy)
        np.testing.assert_array_equal(one.series[1], run.q[:, 0])
        np.testing.assert_array_equal(one.time, run.t)
        row = one.summary.sel(signal=str(results.record[1].item()))
        x = run.q[:, 0]
        expected = [x[-1], x.min(), x.max(), x.mean(), np.sqrt((x * x).mean())]
        np.testing.assert_allclose(row, expected, rtol=1e-15)
        assert [str(name) for name in results.statistic.values] == [
            "end",
            "min",
            "max",
            "mean",
            "rms",
        ]


def test_pieces_and_threads_do_not_change_a_bit(tmp_path: Path) -> None:
    for name, piece, threads in (("a", 4, 1), ("b", 4, 2), ("c", 12, 1)):
        path = tmp_path / f"{name}.nc"
        pysim.sweep(
            SPRING, MASSES, 4, output=path, overrides=SHORT, piece=piece, threads=threads
        ).close()
    a, b, c = (data_of(tmp_path / f"{name}.nc") for name in "abc")
    assert a == b
    for name in ("summary", "series", "failure", *MASSES):
        assert a[name] == c[name]


def test_a_finished_sweep_is_not_computed_again_and_a_damaged_piece_is(tmp_path: Path) -> None:
    path, done = tmp_path / "a.nc", []

    def run(**keys: Any) -> list[SweepUpdate]:
        updates: list[SweepUpdate] = []
        pysim.sweep(
            SPRING,
            MASSES,
            4,
            output=path,
            overrides=SHORT,
            piece=5,
            progress=updates.append,
            **keys,
        ).close()
        return updates

    done = run()
    assert [update.done for update in done] == [5, 10, 12]
    assert all(update.worlds == 12 for update in done)
    before = data_of(path)
    assert run() == []
    with h5py.File(path, "r+") as file:
        file["summary"][7, 0, 0] += 1.0
    (again,) = run()
    assert (again.computed, again.done) == (5, 12)
    assert data_of(path) == before
    assert len(run(overwrite=True)) == 3


def test_a_finished_sweep_can_be_asked_for_again_while_its_dataset_is_open(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    first = pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT)
    assert first.equals(pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT))


def test_random_samples_do_not_import_scipy_stats(tmp_path: Path) -> None:
    """Its import takes as long as hundreds of worlds."""
    text = SCRIPT.format(
        scene=str(SPRING), parameters={"body[0].shape.density": "uniform(200, 300)"},
        output=str(tmp_path / "a.nc"), keys=SHORT,
    )  # fmt: skip
    text = text.replace("300,", "3,", 1) + "\nassert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)


def test_another_sweep_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT).close()
    text = f"{path}: holds a sweep with other seed; choose another output, or overwrite it"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT, seed=1)
    other = tmp_path / "text.nc"
    other.write_text("text", "utf-8")
    text = f"{other}: is not the file of a sweep; choose another, or overwrite it"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=other, overrides=SHORT)


PLUGIN = """
from pysim.forces import Force, force

@force("pull")
class Pull(Force):
    def force(self, q, v):
        return [-{stiffness} * q[0]]
"""
PULLED = """
plugins = ["pull.py"]
[[body]]
name = "b"
mass = 1.0
[[joint]]
name = "j"
type = "prismatic"
child = "b"
start = 0.1
[[force]]
name = "p"
type = "pull"
coordinates = ["j"]
"""


def test_a_sweep_is_not_continued_after_a_file_that_its_scene_names_has_changed(
    tmp_path: Path,
) -> None:
    path, scene, plugin = (tmp_path / name for name in ("a.nc", "s.toml", "pull.py"))
    scene.write_text(PULLED, "utf-8")
    plugin.write_text(PLUGIN.format(stiffness=10), "utf-8")

    def run(most: int, **keys: Any) -> None:
        def stop(update: SweepUpdate) -> None:
            if update.done >= most:
                raise KeyboardInterrupt

        pysim.sweep(
            scene, {"body.b.mass": "1:2:6"}, output=path, overrides=SHORT, piece=2, progress=stop,
            allow_code=True, **keys,
        ).close()  # fmt: skip

    for most in (2, 4):  # the second continues the first
        with pytest.raises(KeyboardInterrupt):
            run(most)
    plugin.write_text(PLUGIN.format(stiffness=20), "utf-8")
    text = (
        f"{path}: world 0 has other results now, because a file that the scene names or the version of pysim has "
        "changed; choose another output, or overwrite it"
    )
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        run(9)
    run(9, overwrite=True)


def test_a_file_that_another_program_writes_is_not_taken_for_another(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT).close()
    text = f"import h5py, sys; f = h5py.File({str(path)!r}, 'r+'); print(1, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", text]
    expected = f"{path}: is open in another program; close it there, or wait until it is done"
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(SimulationError, match=f"^{re.escape(expected)}$"):
            pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT)
        with pytest.raises(SimulationError, match=f"^{re.escape(expected)}$"):
            pysim.load_sweep(path)
        process.communicate()
    pysim.load_sweep(path).close()
    missing = tmp_path / "none.nc"
    expected = f"{missing}: cannot be opened, no such file or directory; choose another file"
    with pytest.raises(SimulationError, match=f"^{re.escape(expected)}$"):
        pysim.load_sweep(missing)


WRITE = """
import resource, sys, pysim
from pysim.sweeps import sweep
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, most))
try:
    pysim.sweep({scene!r}, {{"joint[0].damping": "0:0.4:300"}}, output={output!r})
except pysim.SimulationError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))  # what coverage measured is written at the exit
"""


@pytest.mark.parametrize("limit", [100, 20_000, 100_000])
def test_a_dataset_that_does_not_fit_is_reported_before_the_first_world(
    tmp_path: Path, limit: int
) -> None:
    """A limit on the size of files stands for a full disk; libhdf5 crashes where its own writes fail."""
    path = tmp_path / "a.nc"
    text = WRITE.format(limit=limit, scene=str(SPRING), output=str(path))
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    expected = f"{path}: cannot be written, file too large; raise the limit on file sizes\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, expected, "")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "folder.nc").mkdir()
    for path, problem in (
        (tmp_path / "none" / "a.nc", "no such file or directory"),
        (tmp_path / "folder.nc", "is a directory"),
    ):
        text = f"{path}: cannot be written, {problem}; choose another file"
        with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
            pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.nc"]


def test_a_piece_that_cannot_be_written_is_reported_and_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, writes = tmp_path / "a.nc", []

    def fail_late(descriptor: int, data: bytes, offset: int) -> None:
        writes.append(offset)
        if len(writes) > 5:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        descriptors.write_all(descriptor, data, offset)

    text = f"{path}: cannot be written, input/output error; run the sweep again to continue it"
    with monkeypatch.context() as patch:
        patch.setattr(dataset, "write_all", fail_late)
        with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
            pysim.sweep(SPRING, MASSES, 4, output=path, overrides=SHORT, piece=4)
    pysim.sweep(SPRING, MASSES, 4, output=path, overrides=SHORT, piece=4).close()
    pysim.sweep(SPRING, MASSES, 4, output=tmp_path / "b.nc", overrides=SHORT, piece=4).close()
    assert data_of(path) == data_of(tmp_path / "b.nc")


def test_others_read_a_dataset_while_it_is_written_and_do_not_write_it(tmp_path: Path) -> None:
    path, outputs = tmp_path / "a.nc", []
    read = f"import pysim; print(int((pysim.load_sweep({str(path)!r}).checksum >= 0).sum()))"
    write = f"""
from pysim.errors import SimulationError
from pysim.sweeps.dataset import SweepFile
from pathlib import Path
try:
    SweepFile(Path({str(path)!r}), write=True)
except SimulationError as error:
    print(error)
"""

    def look(update: SweepUpdate) -> None:
        if update.done == 8:
            for text in (read, write):
                command = [sys.executable, "-c", text]
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                outputs.append(run.stdout)

    pysim.sweep(SPRING, MASSES, 4, output=path, overrides=SHORT, piece=4, progress=look).close()
    problem = "is open in another program; close it there, or wait until it is done"
    assert outputs == ["2\n", f"{path}: {problem}\n"]


def test_xarray_alone_reads_the_labels_as_texts(tmp_path: Path) -> None:
    import xarray

    path = tmp_path / "a.nc"
    pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT, signals=["energy"]).close()
    with xarray.open_dataset(path) as found:
        assert found.summary.sel(signal="energy", statistic="max").shape == (6,)
        assert found.series.sel(record="energy").shape == (6, 5)
        assert (found.failure == "").all()


def test_datasets_whose_labels_have_no_encoding_are_read(tmp_path: Path) -> None:
    """Earlier versions wrote none."""
    path = tmp_path / "a.nc"
    with pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT, signals=["energy"]) as data:
        expected = data.load()
    with h5py.File(path, "r+") as file:
        for name in ("signal", "statistic", "record", "failure"):
            del file[name].attrs["_Encoding"]
    assert pysim.load_sweep(path).equals(expected)


def test_a_dataset_in_another_layout_is_not_continued(tmp_path: Path) -> None:
    """Pieces are written at places that datasets in chunks do not have."""
    path = tmp_path / "a.nc"
    pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT).close()
    with h5py.File(path, "r+") as file:
        del file["summary"]
        file.create_dataset("summary", (6, 2, 5), "f8", chunks=(1, 2, 5))
    text = f"{path}: is not the file of a sweep; choose another, or overwrite it"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=path, overrides=SHORT)


def test_a_file_system_without_locks_has_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    found = pysim.sweep(SPRING, MASSES, 2, output=tmp_path / "a.nc", overrides=SHORT)
    assert (found.checksum >= 0).all()


def test_a_scene_that_was_not_read_from_a_file_is_rejected(tmp_path: Path) -> None:
    scene = pysim.load_scene(SPRING)
    elsewhere = replace(scene, spec=replace(scene.spec, path=tmp_path / "none.toml"))
    text = "scene: was not read from a file; save it, and pass the file"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(elsewhere, MASSES, 2, output=tmp_path / "a.nc")


def test_a_scene_that_was_loaded_is_swept_with_its_overrides(tmp_path: Path) -> None:
    scene = pysim.load_scene(SPRING, SHORT)
    pysim.sweep(scene, MASSES, 2, output=tmp_path / "a.nc").close()
    pysim.sweep(SPRING, MASSES, 2, output=tmp_path / "b.nc", overrides=SHORT).close()
    assert data_of(tmp_path / "a.nc") == data_of(tmp_path / "b.nc")


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"n": 2.5}, "n: is 2.5; give a whole number, 1 or more"),
        ({"n": 0}, "n: is 0; give 1 or more"),
        ({"seed": -1}, "seed: is -1; give 0 or more"),
        ({"threads": -3}, "threads: is -3; give 0 or more"),
        (
            {"parameters": ["body.mass"]},
            'parameters: must map keys to values, got list; write {"body.rod.mass": [1, 2]}',
        ),
        (
            {"parameters": {"joint[0].damping": "0 N:1 N:3"}},
            "joint[0].damping: '0 N' has a unit; give the number alone, in SI units and radians",
        ),
    ],
)
def test_an_invalid_argument_is_rejected_and_nothing_is_written(
    tmp_path: Path, keys: dict[str, Any], text: str
) -> None:
    arguments: dict[str, Any] = {"parameters": MASSES, "n": 2, "overrides": SHORT} | keys
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, output=tmp_path / "a.nc", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_key_of_a_parameter_is_named_as_it_is_given(tmp_path: Path) -> None:
    text = "joint.slid.damping: nothing is named 'slid'; did you mean 'slide'?"
    with pytest.raises(pysim.SceneError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, {"joint.slid.damping": [1, 2]}, output=tmp_path / "a.nc")


@pytest.mark.parametrize(
    ("name", "keys", "text"),
    [
        (
            "xarray",
            {},
            'pysim.sweep: needs xarray; install it with pip install "pysim-multibody[sweeps]"',
        ),
        (
            "distributed",
            {"scheduler": "tcp://127.0.0.1:9"},
            'scheduler: needs distributed; install it with pip install "pysim-multibody[dask]"',
        ),
    ],
)
def test_a_missing_package_is_reported_with_its_extra_before_the_first_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, keys: dict[str, Any], text: str
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=tmp_path / "a.nc", overrides=SHORT, **keys)
    assert list(tmp_path.iterdir()) == []


def test_one_signal_may_be_given_without_a_list(tmp_path: Path) -> None:
    found = pysim.sweep(
        SPRING, MASSES, 2, output=tmp_path / "a.nc", overrides=SHORT, signals="energy"
    )
    assert found.record.values.tolist() == ["energy"]


def test_signals_and_their_statistics_are_those_of_simulate(tmp_path: Path) -> None:
    body = pysim.load_scene(SPRING).model.body_names[0]
    names = ["kinetic", "potential", f"position.{body}.z"]
    grid: dict[str, Any] = {"joint[0].damping": [0.3]}
    found = pysim.sweep(SPRING, grid, output=tmp_path / "a.nc", overrides=SHORT, signals=names)
    run = pysim.simulate(pysim.load_scene(SPRING, SHORT | {"joint[0].damping": 0.3}))
    for k, row in enumerate((run.kinetic, run.potential, run.poses[:, 0, 2])):
        np.testing.assert_allclose(found.series[0, k], row, rtol=1e-15, atol=1e-15)
    assert np.isnan(statistics(np.full((3, 4), np.nan))).all()


def test_signals_of_the_scene_and_places_of_frames_are_those_of_simulate(tmp_path: Path) -> None:
    """A body that is welded by a fixed joint is a frame, too."""
    scene = tmp_path / "top.toml"
    rest = "mass = 0.1\n[[joint]]\nname = 'weld'\ntype = 'fixed'\nparent = 'top'\nchild = 'tip'\n"
    text = (SCENES / "instrumented_top.toml").read_text("utf-8")
    scene.write_text(
        text + f"\n[[body]]\nname = 'tip'\n{rest}at = {{ xyz = [0, 0, 0.1] }}\n", "utf-8"
    )
    keys = {"simulation.duration": 0.02, "output.every": 0.01}
    grid: dict[str, Any] = {"body.tip.mass": [0.1, 0.2]}
    names = ["imu.acceleration[2]", "position.tip.x", "imu.acceleration[0]"]
    results = pysim.sweep(scene, grid, output=tmp_path / "a.nc", overrides=keys, signals=names)
    for k, mass in enumerate((0.1, 0.2)):
        loaded = pysim.load_scene(scene, keys | {"body.tip.mass": mass})
        run = pysim.simulate(loaded)
        measured = run.signals["imu.acceleration"]
        np.testing.assert_array_equal(results.series[k, 0], measured[:, 2])
        np.testing.assert_array_equal(results.series[k, 2], measured[:, 0])
        place = pysim.frame_placement(loaded.model, run.q, "tip")[:, 0, 3]
        np.testing.assert_allclose(results.series[k, 1], place, rtol=1e-15)
    assert abs(results.series[:, 1].values).max() > 1e-3
    end = results.summary.sel(signal="imu.acceleration[2]", statistic="end")
    np.testing.assert_array_equal(end, results.series[:, 0, -1])


def test_a_piece_has_worlds(tmp_path: Path) -> None:
    text = "piece: is 0; give the number of worlds of a piece, 1 or more"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=tmp_path / "a.nc", piece=0)


def test_worlds_that_fail_say_why_and_the_others_are_computed(tmp_path: Path) -> None:
    """A density below zero cannot be loaded; a spring beyond the stability limit overflows."""
    keys = {"simulation.duration": 1.0, "output.every": 0.5}
    path = tmp_path / "a.nc"
    with pytest.warns(
        PysimWarning, match=r"a.nc: 3 of 4 worlds ended early or could not be loaded"
    ):
        results = pysim.sweep(
            SPRING,
            {"body[0].shape.density": [250.0, -1.0], "joint[0].stiffness": [40.0, 1e12]},
            output=path,
            overrides=keys,
        )
    texts = results.failure.values
    assert texts[2] == "body[0].shape.density: must be positive [kg/m³], got -1.0"
    assert texts[0] == ""
    assert texts[1] == "it reached NaN or infinite values or opened its loops before t = 0.5 s"
    assert all("density" in text for text in texts[2:])
    assert np.isfinite(results.summary[0]).all()


def test_a_sweep_stops_at_the_first_failed_world_and_goes_on_if_it_is_dropped(
    tmp_path: Path,
) -> None:
    values = {"joint[0].stiffness": [40.0, 50.0, 60.0, 1e12, 70.0, 1e13]}
    keys = {"simulation.duration": 1.0, "output.every": 0.5}
    path = tmp_path / "a.nc"
    reason = "it reached NaN or infinite values or opened its loops before t = 0.5 s"
    text = (
        f"{path}: world 3: {reason}; the dataset has the pieces finished so far; "
        'on_failure = "drop_world" goes on with the others'
    )
    stops = keys | {"simulation.on_failure": "stop"}
    for overrides, choice in ((stops, None), (keys, "stop"), (keys, "stop")):
        with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
            pysim.sweep(
                SPRING, values, output=path, overrides=overrides, piece=2, on_failure=choice
            )
        with SweepFile(path) as file:
            assert file.unfinished() == [slice(4, 6)]
    with pytest.warns(PysimWarning, match="2 of 6 worlds ended early .*, world 3: it reached"):
        found = pysim.sweep(SPRING, values, output=path, overrides=keys, piece=2)
    assert [bool(why) for why in found.failure.values] == [False, False, False, True, False, True]


def test_a_world_that_cannot_be_loaded_stops_a_sweep(tmp_path: Path) -> None:
    values = {"body[0].shape.density": [250.0, -1.0]}
    with pytest.raises(SimulationError, match=r"a.nc: world 1: body\[0\].shape.density: must be"):
        pysim.sweep(SPRING, values, output=tmp_path / "a.nc", overrides=SHORT, on_failure="stop")


def test_a_world_with_several_errors_names_the_first_and_a_long_one_is_cut(tmp_path: Path) -> None:
    masses = {"body[0].shape.density": [250.0, -1.0], "joint[0].stiffness": [-1.0, 40.0]}
    with pytest.warns(PysimWarning, match="ended early"):
        found = pysim.sweep(SPRING, masses, output=tmp_path / "a.nc", overrides=SHORT)
    first = "body[0].shape.density: must be positive [kg/m³], got -1.0"
    assert found.failure.values.tolist() == [
        "joint[0].stiffness: must not be negative [N/m or N·m/rad], got -1.0",
        "",
        f"{first} (and 1 more)",
        first,
    ]
    with SweepFile(tmp_path / "a.nc", write=True) as file:
        rows = (np.zeros((4, *found.summary.shape[1:])), np.zeros((4, 0, 5)))
        file.write(slice(0, 4), *rows, ["é" * 200, "", "x" * 240, "x" * 241])
        texts = dict(file.failures())
    assert texts == {0: "é" * 118 + "…", 2: "x" * 240, 3: "x" * 237 + "…"}


def test_a_sweep_without_a_loadable_world_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(pysim.SceneError, match="has mass, and shape has a density"):
        pysim.sweep(SPRING, {"body[0].mass": [1.0, 2.0]}, output=tmp_path / "a.nc")
    assert not list(tmp_path.iterdir())


def test_a_signal_that_the_scene_does_not_have_is_rejected(tmp_path: Path) -> None:
    text = "signals: 'enery': the scene has no such signal; did you mean 'energy'?"
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, MASSES, 2, output=tmp_path / "a.nc", signals=["enery"])


SCRIPT = """
import sys, pysim
pysim.sweep({scene!r}, {parameters!r}, 300, output={output!r}, overrides={keys!r}, piece=8, signals=["energy"],
            progress=lambda update: print(update.done, flush=True))
"""


def test_a_sweep_that_is_killed_three_times_equals_an_undisturbed_one(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "killed.nc"
    keys = {"simulation.duration": 1.0, "output.every": 0.05}
    text = SCRIPT.format(scene=str(SPRING), parameters=MASSES, output=str(path), keys=keys)
    counts = []
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            pieces = rng.integers(1, 20)  # of 113
            lines = [process.stdout.readline() for _ in range(pieces)]
            time.sleep(rng.uniform(0.0, 0.005))
            process.send_signal(signal.SIGKILL)
            lines += process.stdout.read().split()
        counts.append(int(lines[-1]))
    assert counts == sorted(counts)
    again: list[SweepUpdate] = []
    arguments: dict[str, Any] = {"overrides": keys, "piece": 8, "signals": ["energy"]}
    pysim.sweep(SPRING, MASSES, 300, output=path, progress=again.append, **arguments).close()
    assert again[0].computed == 8
    assert again[-1].done == 900
    assert sum(1 for _ in again) <= (900 - counts[-1]) // 8 + 1
    other = tmp_path / "whole.nc"
    pysim.sweep(SPRING, MASSES, 300, output=other, **arguments).close()
    assert data_of(path) == data_of(other)


IN_SCENE = """
[sweep]
samples = 2
method = "sobol"
seed = 5
signals = ["energy"]
grid = { "joint[0].damping" = [0.0, 0.2, 0.4] }
sample = { "body[0].shape.density" = "normal(250, 10)" }
"""


def with_table(folder: Path, table: str) -> Path:
    path = folder / "swept.toml"
    path.write_text(SPRING.read_text("utf-8") + table, "utf-8")
    return path


def test_the_table_of_a_scene_gives_what_the_call_leaves_out(tmp_path: Path) -> None:
    path = with_table(tmp_path, IN_SCENE)
    keys: dict[str, Any] = {"method": "sobol", "seed": 5, "signals": ["energy"]}
    pysim.sweep(path, MASSES, 2, output=tmp_path / "a.nc", overrides=SHORT, **keys).close()
    pysim.sweep(path, output=tmp_path / "b.nc", overrides=SHORT).close()
    assert data_of(tmp_path / "a.nc") == data_of(tmp_path / "b.nc")
    fewer = SHORT | {"sweep.samples": 1}
    with pysim.sweep(path, output=tmp_path / "c.nc", overrides=fewer, seed=1) as found:
        assert found.sizes["world"] == 3
    with pysim.sweep(path, {"joint[0].damping": [1.0]}, output=tmp_path / "d.nc") as found:
        assert found.sizes["world"] == 1


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            '[sweep]\ngrid = { a = "1,2" }\nsample = { a = "normal(0, 1)" }\n',
            "sweep: 'a' is in grid and in sample; give it in one of them",
        ),
        (
            '[sweep]\nmethod = "sobel"\n',
            "sweep.method: unknown value 'sobel'; did you mean 'sobol'?",
        ),
        ("[sweep]\nsamples = 0\n", "sweep.samples: must be positive, got 0"),
    ],
)
def test_an_invalid_table_is_rejected_with_its_line(tmp_path: Path, table: str, text: str) -> None:
    path = with_table(tmp_path, table)
    for load in (pysim.load_scene, lambda path: pysim.sweep(path, output=tmp_path / "a.nc")):
        with pytest.raises(pysim.SceneError) as error:
            load(path)
        assert re.fullmatch(rf"{re.escape(str(path))}:\d+:\d+: {re.escape(text)}", str(error.value))


def test_a_piece_imports_nothing_that_a_worker_does_not_need() -> None:
    """A worker of a cluster is small: NumPy, pydantic and the TOML parser."""
    text = f"""
import sys, numpy as np
from pysim.sweeps import cluster
from pysim.sweeps.pieces import PieceRunner
runner = PieceRunner({str(SPRING)!r}, {SHORT!r}, ["energy"], [], 1, False)
cluster.compute_pieces(runner, [(slice(0, 2), {{"joint[0].damping": np.array([0.0, 0.1])}})])
heavy = ("scipy", "h5py", "matplotlib", "vtkmodules", "pyvista", "trimesh", "rich", "cyclopts", "tomlkit", "xarray")
assert [name for name in heavy if name in sys.modules] == []
"""
    subprocess.run([sys.executable, "-c", text], check=True, capture_output=True)
