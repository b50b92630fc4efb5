"""Changed trajectories and datasets of sweeps: the numbers that were written, or an error that names the file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import pysim
from pysim.errors import PysimError
from pysim.sweeps import load_results, run_sweep
from tests.fuzz.budget import fuzz, result_or_error
from tests.fuzz.mutations import changed_bytes
from tests.scene_runs import SCENES

FOLDER = Path(tempfile.mkdtemp(prefix="pysim-fuzz-"))
KEPT = Path(__file__).parent / "corpus"
RUN, SWEEP = FOLDER / "run.h5", FOLDER / "sweep.nc"
SHORT = {"simulation.duration": 0.02, "output.every": 0.01}
pysim.simulate(pysim.load_scene(SCENES / "spring.toml", SHORT), RUN)
run_sweep(
    SCENES / "spring.toml", {"joint[0].damping": "0:1:7"}, None, output=SWEEP, method=None, seed=1, signals=["energy"],
    overrides=SHORT, threads=1, piece=3, progress=None, overwrite=True, allow_code=False,
)  # fmt: skip
EXPECTED = pysim.load_trajectory(RUN)
RESULTS = load_results(SWEEP)


def use_trajectory(data: bytes) -> None:
    path = FOLDER / "changed.h5"
    path.write_bytes(data)
    found = result_or_error(lambda: pysim.load_trajectory(path))
    if found is not None:
        rows = len(found)
        for name in ("t", "q", "v", "a", "poses", "energy"):
            np.testing.assert_array_equal(getattr(found, name), getattr(EXPECTED, name)[:rows])
        assert rows == len(EXPECTED) or not found.complete


def use_dataset(data: bytes) -> None:
    path = FOLDER / "changed.nc"
    path.write_bytes(data)
    try:
        found = load_results(path)
    except PysimError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017, some can be read
        return
    assert (found.worlds, found.signals, found.records) == (7, RESULTS.signals, RESULTS.records)
    for name in ("summary", "series", "t"):
        np.testing.assert_array_equal(getattr(found, name), getattr(RESULTS, name))
    for name, values in RESULTS.parameters.items():
        np.testing.assert_array_equal(found.parameters[name], values)


@fuzz(changed_bytes([RUN.read_bytes()]))
def test_a_changed_trajectory_has_the_same_numbers_or_is_an_error(data: bytes) -> None:
    use_trajectory(data)


@fuzz(changed_bytes([SWEEP.read_bytes()]))
def test_a_changed_dataset_has_the_same_numbers_or_is_an_error(data: bytes) -> None:
    use_dataset(data)
