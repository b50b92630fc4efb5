"""`pysim sweep`: the oracle is `pysim.sweep` with the same parameters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pysim
from pysim.cli import main, sweep
from pysim.sweeps.sweep import PIECE

pytest.importorskip("xarray")
SPRING = str(Path(__file__).parents[2] / "scenes" / "spring.toml")
WORDS = ["--grid", "joint[0].damping=0:0.4:3", "--sample", "body[0].shape.density~normal(250,10)"]
WORDS += ["-n", "4", "--set", "simulation.duration=0.2", "--signal", "energy"]


def test_the_command_writes_the_dataset_of_the_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_command, by_function = tmp_path / "a.nc", tmp_path / "b.nc"
    words = ["sweep", SPRING, *WORDS, "--method", "sobol", "--seed", "3", "-o", str(by_command)]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "  worlds      12, 12 of them computed in " in printed
    assert f"  dataset     {by_command}; open it with pysim.load_sweep" in printed
    parameters = {"joint[0].damping": "0:0.4:3", "body[0].shape.density": "normal(250,10)"}
    expected = pysim.sweep(
        SPRING, parameters, 4, output=by_function, method="sobol", seed=3, signals=["energy"],
        overrides={"simulation.duration": 0.2},
    )  # fmt: skip
    assert pysim.load_sweep(by_command).equals(expected)  # attributes hold the texts of --set
    assert main(words) == 0
    finished = f"  sweep       {by_command} is finished already; --overwrite computes it again\n"
    assert capsys.readouterr().out == finished


def test_duration_and_step_are_those_of_the_scene_set_so(tmp_path: Path) -> None:
    options = ["--duration", "0.1", "--step", "0.01"]
    settings = ["--set", "simulation.duration=0.1", "--set", "simulation.step=0.01"]
    for name, words in (("a.nc", options), ("b.nc", settings)):
        grid = ["--grid", "joint[0].damping=0,0.4", "--quiet"]
        assert main(["sweep", SPRING, *grid, *words, "-o", str(tmp_path / name)]) == 0
    by_option, by_set = (pysim.load_sweep(tmp_path / name) for name in ("a.nc", "b.nc"))
    assert by_option.identical(by_set.assign_attrs(by_option.attrs))
    assert by_option["time"][-1] == 0.1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["--grid", "joint[0].damping"],
            "error: --grid joint[0].damping: is not complete; write for example KEY=FIRST:LAST:COUNT or KEY=A,B,…\n",
        ),
        (
            ["--sample", "joint[0].damping=normal(0,1)"],
            "error: --sample joint[0].damping=normal(0,1): is not complete; write for example KEY~normal(1,0.05)\n",
        ),
        (
            ["--grid", "joint[0].damping=1,2", "-o", "a.zip"],
            "error: a.zip: unknown kind of file '.zip'; name it .nc or .h5\n",
        ),
        (
            ["--grid", "joint[0].damping=1,2", "--grid", "joint[0].damping=3"],
            "error: --grid joint[0].damping=3: gives its key a second time; leave one out\n",
        ),
        (
            ["--grid", "joint[0].damping=1", "--sample", "joint[0].damping~normal(1,0.1)"],
            "error: --sample joint[0].damping~normal(1,0.1): gives its key a second time; leave one out\n",
        ),
    ],
)
def test_an_option_that_is_not_understood_is_rejected(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["sweep", SPRING, *words]) == 2
    assert capsys.readouterr().err == text


def test_only_scenes_are_swept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = tmp_path / "a.h5"
    run.touch()
    assert main(["sweep", str(run), "--grid", "joint[0].damping=1,2"]) == 2
    expected = f"error: {run}: is a trajectory; open it with pysim view\n"
    assert capsys.readouterr().err == expected
    dataset = tmp_path / "a.nc"
    dataset.touch()
    assert main([str(dataset)]) == 2
    expected = f"error: {dataset}: is the dataset of a sweep; draw it with pysim plot\n"
    assert capsys.readouterr().err == expected


def test_an_interrupt_before_the_first_world_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run_sweep", interrupt)
    assert main(["sweep", SPRING, *WORDS, "-o", str(tmp_path / "a.nc")]) == 130
    assert capsys.readouterr().err == "interrupted: before the first world\n"


INTERRUPTED_AFTER_A_PIECE = """
import signal, sys
from pysim.cli import main, sweep

class Bar(sweep._Bar):
    def __call__(self, update):
        super().__call__(update)
        assert 0 < update.done < update.worlds
        signal.raise_signal(signal.SIGINT)

sweep._Bar = Bar
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.usefixtures("received")
def test_an_interrupted_sweep_says_how_to_continue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The signal comes as soon as the file holds a piece, however fast the machine is."""
    path = tmp_path / "a.nc"
    words = ["sweep", SPRING, "--grid", f"joint[0].damping=0:0.4:{2 * PIECE + 1}", "-o", str(path)]
    words += ["--set", "simulation.duration=0.01", "--threads", "1"]
    command = [sys.executable, "-c", INTERRUPTED_AFTER_A_PIECE, *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 130
    note = f"interrupted: {path} holds the finished worlds; the same command continues\n"
    assert ended.stderr == note
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert f"  worlds      {2 * PIECE + 1}, {PIECE + 1} of them computed in " in printed
    assert (pysim.load_sweep(path).checksum >= 0).all()
