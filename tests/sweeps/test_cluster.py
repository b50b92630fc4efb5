"""Sweeps on a Dask cluster. The oracle is the same sweep on this machine, bit for bit, with workers killed or slow."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import SimulationError
from pysim.sweeps import cluster

distributed = pytest.importorskip("distributed")
pytest.importorskip("xarray")

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pysim.sweeps import SweepUpdate

SPRING = Path(__file__).parents[2] / "scenes" / "spring.toml"
SHORT = {"simulation.duration": 0.2, "output.every": 0.05}
PARAMETERS = {"joint[0].damping": "0:0.4:3", "body[0].shape.density": "normal(250, 10)"}
KEYS: dict[str, Any] = {"overrides": SHORT, "piece": 4, "signals": ["energy"]}
WORKERS = 4
ROOT = Path(__file__).parents[2]
if not any(Path(folder or ".").resolve() == ROOT for folder in sys.path):
    sys.path.append(str(ROOT))  # workers import these tests, and pysim from where it is installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a cluster of four processes, which a nanny starts again when they are killed."""
    with (
        distributed.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", processes=True
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The datasets of the sweep that one machine computes."""
    path = tmp_path_factory.mktemp("alone") / "alone.nc"
    pysim.sweep(SPRING, PARAMETERS, 40, output=path, **KEYS).close()
    return data_of(path)


def data_of(path: Path) -> dict[str, bytes]:
    with h5py.File(path) as file:
        return {name: file[name][()].tobytes() for name in file}


def test_a_cluster_computes_the_bits_of_one_machine(
    client: Any, alone: dict[str, bytes], tmp_path: Path
) -> None:
    updates: list[SweepUpdate] = []
    path = tmp_path / "a.nc"
    pysim.sweep(
        SPRING, PARAMETERS, 40, output=path, scheduler=client, progress=updates.append, **KEYS
    ).close()
    assert data_of(path) == alone
    assert [update.done for update in updates] == list(range(4, 121, 4))


def test_a_killed_worker_costs_only_its_pieces(
    client: Any, alone: dict[str, bytes], tmp_path: Path
) -> None:
    """The worker is killed as soon as a first result has arrived; the sweep ends with the same bits."""
    path = tmp_path / "a.nc"
    victims = list(client.run(os.getpid).values())
    killed: list[int] = []

    def kill(update: SweepUpdate) -> None:
        if not killed and update.done < update.worlds:
            killed.append(victims[0])
            os.kill(victims[0], signal.SIGKILL)

    pysim.sweep(
        SPRING, PARAMETERS, 40, output=path, scheduler=client, progress=kill, **KEYS
    ).close()
    assert killed
    assert data_of(path) == alone
    client.wait_for_workers(WORKERS, timeout=60)


class OnceSlow:
    """A runner that takes long the first time that it computes a piece."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, values: Any, _: int) -> Any:
        first = values["x"][0] == 0
        mark = self.folder / "begun"
        if first and not mark.exists():
            mark.touch()
            time.sleep(30)
        return values["x"] * 2


def test_a_slow_task_is_given_to_an_idle_worker(client: Any, tmp_path: Path) -> None:
    """A worker that sleeps for half a minute does not hold up the others."""
    values = {"x": np.arange(24.0)}
    pieces = [slice(k, k + 1) for k in range(24)]
    begin = time.perf_counter()
    runner: Any = OnceSlow(tmp_path)
    results: Any = cluster.run_on_cluster(client, runner, values, pieces)
    found = {worlds.start: result[0] for worlds, result in results}
    assert time.perf_counter() - begin < 20
    assert found == {k: 2.0 * k for k in range(24)}


def test_an_error_of_a_task_reaches_the_caller(client: Any, tmp_path: Path) -> None:
    class Failing:
        def run(self, values: Any, _: int) -> Any:
            raise SimulationError("a world", "cannot be run; change it")

    runner: Any = Failing()
    with pytest.raises(SimulationError, match=r"^a world: cannot be run; change it$"):
        list(cluster.run_on_cluster(client, runner, {"x": np.zeros(3)}, [slice(0, 3)]))


def test_an_interrupted_sweep_continues_on_one_machine(
    client: Any, alone: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "a.nc"

    def stop(update: SweepUpdate) -> None:
        if update.done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pysim.sweep(SPRING, PARAMETERS, 40, output=path, scheduler=client, progress=stop, **KEYS)
    pysim.sweep(SPRING, PARAMETERS, 40, output=path, **KEYS).close()
    assert data_of(path) == alone


def test_the_command_uses_the_scheduler_at_an_address(client: Any, tmp_path: Path) -> None:
    words = ["sweep", str(SPRING), "--grid", "joint[0].damping=0:1:3", "-o", str(tmp_path / "a.nc")]
    words += ["--set", "simulation.duration=0.1", "--quiet"]
    assert main([*words, "--scheduler", client.scheduler.address]) == 0
    assert (pysim.load_sweep(tmp_path / "a.nc").checksum >= 0).all()


def test_an_address_without_a_scheduler_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT", 1.0)
    where = re.escape("scheduler 'tcp://127.0.0.1:9'")
    with pytest.raises(SimulationError, match=f"^{where}: no Dask scheduler answers"):
        pysim.sweep(
            SPRING, PARAMETERS, 2, output=tmp_path / "a.nc", scheduler="tcp://127.0.0.1:9", **KEYS
        )


def test_an_address_without_a_port_is_reported_at_once(tmp_path: Path) -> None:
    text = (
        "scheduler 'nonsense': is not an address, missing port number in address 'nonsense'; "
        "write it as tcp://host:8786"
    )
    begin = time.perf_counter()
    with pytest.raises(SimulationError, match=f"^{re.escape(text)}$"):
        pysim.sweep(SPRING, PARAMETERS, 2, output=tmp_path / "a.nc", scheduler="nonsense", **KEYS)
    assert time.perf_counter() - begin < 10


def test_a_worker_with_another_version_is_rejected(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pysim.__version__", "9.9")
    with pytest.raises(
        SimulationError, match=r"runs pysim .*, but this process runs 9\.9; install"
    ):
        pysim.sweep(SPRING, PARAMETERS, 2, output=tmp_path / "a.nc", scheduler=client, **KEYS)


def test_a_cluster_without_workers_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WITHOUT_WORKERS", 0.5)
    runner: Any = OnceSlow(tmp_path)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        distributed.Client(local) as client,
        pytest.raises(SimulationError) as caught,
    ):
        list(cluster.run_on_cluster(client, runner, {"x": np.ones(3)}, [slice(0, 3)]))
    assert str(caught.value) == (
        "scheduler: has had no worker for 0.5 s; start some by `dask worker`, and run the sweep again to continue it"
    )
