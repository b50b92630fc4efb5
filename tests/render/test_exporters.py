"""Registry of exporters. Oracle: a dummy in a file of its own, and its text."""

from __future__ import annotations

import importlib
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import pysim
from pysim.cli import main
from pysim.cli.app import _add_exporter
from pysim.cli.application import app
from pysim.render import exporters
from pysim.trajectory import exporter as registry
from pysim.trajectory.exporter import Exporter, exporter, exporter_commands, find_exporter

PENDULUM = Path(__file__).parents[2] / "scenes/double_pendulum.toml"
DUMMY = '''"""Times of a run as lines of text."""

from pysim.trajectory.exporter import Exporter, exporter


@exporter("times")
class Times(Exporter):
    """Times."""

    suffixes = (".txt",)
    result = "times"

    def write(self, trajectory, path, *, fps, mesh_dirs):
        path.write_text("\\n".join(f"{t:.2f}" for t in trajectory.t))
        return path
'''


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.EXPORTERS, "registered", {**registry.EXPORTERS.registered})


def test_every_module_of_the_folder_is_a_command() -> None:
    commands = exporter_commands()
    assert set(commands) == {"gltf", "usd"}
    assert commands["usd"].startswith("Universal Scene Description: the bodies of a run")
    for name in commands:
        assert name in app
        assert issubclass(find_exporter(name), Exporter)


def test_a_file_adds_an_exporter_and_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "exporters"
    shutil.copytree(registry.FOLDER, folder)
    (folder / "times.py").write_text(DUMMY, "utf-8")
    monkeypatch.setattr(registry, "FOLDER", folder)
    monkeypatch.setattr(exporters, "__path__", [str(folder)])
    importlib.invalidate_caches()
    _add_exporter("times", exporter_commands()["times"])
    monkeypatch.chdir(tmp_path)
    pysim.simulate(pysim.load_scene(PENDULUM, {"simulation.duration": 0.1})).save(
        tmp_path / "run.h5"
    )
    try:
        assert main(["times", "run.h5"]) == 0
        assert "times       run.txt" in capsys.readouterr().out
        assert (tmp_path / "run.txt").read_text("utf-8").startswith("0.00\n")
        assert main(["times", "--help"]) == 0
        assert "Times of a run as lines of text." in capsys.readouterr().out
    finally:
        del app["times"]


def test_an_installed_package_offers_an_exporter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = DUMMY.replace('@exporter("times")\n', "")
    (tmp_path / "package_of_times.py").write_text(module, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("times", "package_of_times:Times", "pysim.exporters")
    monkeypatch.setattr("pysim.plugins.registry.entry_points", lambda **_: [entry])
    assert exporter_commands()["times"] == "Format times, by an unnamed package."
    assert find_exporter("times").__name__ == "Times"


def test_an_exporter_that_is_incomplete_is_rejected() -> None:
    with pytest.raises(pysim.PysimError, match="Nothing: has no method write; write `def write"):

        @exporter("nothing")
        class Nothing(Exporter):
            suffixes = (".nothing",)

    with pytest.raises(pysim.PysimError, match="Nowhere: has no suffixes; write suffixes = "):

        @exporter("nowhere")
        class Nowhere(Exporter):
            def write(self, trajectory, path, *, fps, mesh_dirs):
                raise NotImplementedError

    with pytest.raises(pysim.PysimError, match="unknown exporter 'gltff'; did you mean 'gltf'"):
        find_exporter("gltff")
