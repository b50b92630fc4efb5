"""FMUs in masters of other programs.

Oracles: `Worlds` in Python, bit for bit; FMPy (FMI 2 and 3) with its validation of descriptions, and libcosim (FMI 2).
"""

from __future__ import annotations

import subprocess
import warnings
import zipfile
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimWarning
from pysim.fmu import write_fmu
from pysim.fmu.archive import binary, token_of
from pysim.fmu.units import powers
from pysim.simulation.engine_file import engine_file
from tests.built_engine import linked
from tests.fmu.master import ROOT, Master, fmpy, scene_of

SCENES = (
    "double_pendulum",
    "four_bar",
    "quadruped",
    "servo_pid",
    "environments/go1",
    "motor_run_up",
)


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("name", SCENES)
def test_states_and_poses_are_those_of_worlds(tmp_path: Path, name: str, fmi: int) -> None:
    scene = scene_of(name)
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi)
    master, worlds = Master(tmp_path / "a.fmu", tmp_path / "a"), pysim.Worlds(scene)
    length = scene.settings.step
    for k in range(40):
        worlds.step()
        master.step(k * length, length)
    assert master.get("q.", "v.") == [*worlds.q.tolist(), *worlds.v.tolist()]
    body = scene.model.body_names[-1]
    suffix = "." if fmi == 2 else ""
    x = master.get(f"pose.{body}{suffix}")[:3]
    assert x == worlds.poses[-1, :3, 3].tolist()


@pytest.mark.parametrize("fmi", [2, 3])
def test_communication_steps_do_not_change_states(tmp_path: Path, fmi: int) -> None:
    scene = scene_of("quadruped")
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi)
    length, found = scene.settings.step, []
    for k, share in enumerate((1.0, 2.5, 0.3, 7.0)):
        master, t = Master(tmp_path / "a.fmu", tmp_path / f"m{k}"), 0.0
        while t < 21 * length * (1 - 1e-9):
            own = min(share * length, 21 * length - t)
            master.step(t, own)
            t += own
        found.append(master.get("q.", "v."))
    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_master_goes_back_to_the_bit(tmp_path: Path, fmi: int) -> None:
    scene = scene_of("environments/go1")
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi)
    master, length = Master(tmp_path / "a.fmu", tmp_path / "a"), scene.settings.step
    for k in range(15):
        master.step(k * length, length)
    fmu, names = master.fmu, ("FMUstate", "FMUstate") if fmi == 2 else ("FMUState", "FMUState")
    state = getattr(fmu, f"get{names[0]}")()
    serialized = getattr(fmu, f"serialize{names[0]}")(state)
    for k in range(15, 30):
        master.step(k * length, length)
    first = master.get("q.", "v.")
    again = getattr(fmu, "deSerializeFMUstate" if fmi == 2 else "deserializeFMUState")(serialized)
    for saved in (state, again):
        getattr(fmu, f"set{names[0]}")(saved)
        for k in range(15, 30):
            master.step(k * length, length)
        assert master.get("q.", "v.") == first


def test_inputs_act_as_those_of_worlds(tmp_path: Path) -> None:
    scene = scene_of("environments/reacher")
    variables = write_fmu(scene, tmp_path / "a.fmu")
    names = [own.name for own in variables if own.causality == "input"]
    assert names
    master, worlds = Master(tmp_path / "a.fmu", tmp_path / "a"), pysim.Worlds(scene)
    rng, length = np.random.default_rng(5), scene.settings.step
    for k in range(30):
        values = rng.normal(size=len(names))
        worlds.inputs.all[:] = values
        master.set(**dict(zip(names, values.tolist(), strict=True)))
        worlds.step()
        master.step(k * length, length)
    assert master.get("q.", "v.") == [*worlds.q.tolist(), *worlds.v.tolist()]
    named = {own.name for own in variables if not own.name.startswith(("q.", "v.", "pose."))}
    signal = next(name for name in worlds.signals if name in named and name not in names)
    assert master.get(signal)[:1] == np.atleast_1d(worlds.signals[signal]).tolist()[:1]


def test_two_instances_run_in_two_threads(tmp_path: Path) -> None:
    scene = scene_of("quadruped")
    write_fmu(scene, tmp_path / "a.fmu")
    masters = [Master(tmp_path / "a.fmu", tmp_path / f"m{k}") for k in range(2)]
    length = scene.settings.step

    def run(master: Master) -> None:
        for k in range(300):
            master.step(k * length, length)

    threads = [Thread(target=run, args=(master,)) for master in masters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert masters[0].get("q.", "v.") == masters[1].get("q.", "v.")


@pytest.mark.parametrize("fmi", [2, 3])
def test_another_token_is_refused_with_both_tokens(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], fmi: int
) -> None:
    scene = scene_of("four_bar")
    write_fmu(scene, tmp_path / "a.fmu", fmi=fmi)
    description = fmpy.read_model_description(str(tmp_path / "a.fmu"))
    token = description.guid if fmi == 2 else description.instantiationToken
    assert token == token_of(engine_file(scene), fmi)
    other = token_of(engine_file(scene), 5 - fmi)  # of the other version
    with pytest.raises(Exception, match=r"(?i)instantiate"):
        Master(tmp_path / "a.fmu", tmp_path / "a", token=other)
    text = capfd.readouterr().out
    assert other in text
    assert token in text


def test_a_c_program_runs_two_instances_without_python(tmp_path: Path) -> None:
    scene = scene_of("quadruped")
    write_fmu(scene, tmp_path / "a.fmu")
    program = linked("fmu/host.c", tmp_path / "host")
    with zipfile.ZipFile(tmp_path / "a.fmu") as archive:
        archive.extractall(tmp_path / "a")
    names = range(scene.model.nq)
    steps, step = 40, scene.settings.step
    words = [
        str(next((tmp_path / "a/binaries").glob("*/*"))),
        (tmp_path / "a/resources").as_uri(),
        token_of(engine_file(scene), 2),
        repr(step),
        str(steps),
        "another",
        *(str((2 << 24) + k) for k in names),
    ]
    ran = subprocess.run(
        [str(program), *words], check=False, capture_output=True, text=True, env={}
    )
    assert ran.returncode == 0, ran.stderr
    assert "the token is 'another'" in ran.stderr
    worlds = pysim.Worlds(scene)
    worlds.step(steps=steps)
    rows = [[float(x) for x in line.split()] for line in ran.stdout.splitlines()]
    assert rows == [worlds.q.tolist()] * 2


def test_libcosim_runs_one_without_a_message(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cosim: Any = pytest.importorskip("libcosimpy", reason="needs libcosimpy, of the extra test")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    del cosim
    scene = scene_of("double_pendulum")
    write_fmu(scene, tmp_path / "a.fmu", outputs=["q.*"])
    length = scene.settings.step
    execution = CosimExecution.from_step_size(step_size=round(length * 1e9))
    slave = CosimLocalSlave(fmu_path=str(tmp_path / "a.fmu"), instance_name="one")  # kept alive
    index = execution.add_local_slave(slave)
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    assert execution.step(25)
    worlds = pysim.Worlds(scene)
    worlds.step(steps=25)
    references = [(2 << 24) + k for k in range(scene.model.nq)]
    found = observer.last_real_values(index, references)
    np.testing.assert_array_equal(found, worlds.q)
    printed = "".join(capfd.readouterr())
    assert not [line for line in printed.splitlines() if "error" in line or "warning" in line]


def test_a_lost_world_is_an_error(tmp_path: Path) -> None:
    changes = {
        "joint[0].stiffness": 1e12,
        "simulation.step": 0.1,
        "simulation.integrator": "rk4",
        "output.every": 0.1,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # of the step
        write_fmu(pysim.load_scene(ROOT / "scenes/spring.toml", changes), tmp_path / "a.fmu")
    master = Master(tmp_path / "a.fmu", tmp_path / "a")

    def run() -> None:
        for k in range(200):
            master.step(0.1 * k, 0.1)

    with pytest.raises(Exception, match="fmi2DoStep"):
        run()


def test_the_binary_needs_no_python_and_exports_the_standard_alone() -> None:
    tables = {}
    for flag in ("--undefined-only", "--defined-only"):
        command = ["nm", "-D", flag, str(binary())]
        tables[flag] = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Py" not in tables["--undefined-only"]
    exported = [line.split()[-1] for line in tables["--defined-only"].splitlines()]
    assert {name[:4] for name in exported} == {"fmi2", "fmi3"}
    assert binary().stat().st_size < 6e6


def test_an_fmu_is_written_in_the_same_bytes_again(tmp_path: Path) -> None:
    scene = scene_of("four_bar")
    for name in ("a.fmu", "b.fmu"):
        write_fmu(scene, tmp_path / name, fmi=3)
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "b.fmu").read_bytes()


def test_the_command_writes_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a.fmu"
    words = ["fmu", str(ROOT / "scenes/four_bar.toml"), "-o", str(target)]
    assert main([*words, "--outputs", "q.*"]) == 0
    assert capsys.readouterr().out == f"  wrote       {target}, FMI 2.0: 0 inputs, 3 outputs\n"
    with zipfile.ZipFile(target) as archive:
        assert "resources/scene.pysim" in archive.namelist()
    assert main(words) == 2
    assert "exists and is not overwritten; pass --overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--outputs", "p.*"]) == 2
    assert "outputs: 'p.*' matches none of" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--version", "1"]) == 2
    assert "fmi: must be 2 or 3, got 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("N·m/rad", {"kg": 1, "m": 2, "s": -2, "rad": -1}),
        ("m/s²", {"m": 1, "s": -2}),
        ("1/s", {"s": -1}),
        ("rad", {"rad": 1}),
        ("furlong", None),
    ],
)
def test_units_are_powers_of_base_units(unit: str, found: dict[str, int] | None) -> None:
    assert powers(unit) == found
