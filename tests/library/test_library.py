"""The engine's C interface, linked without Python, and the files of scenes that it reads.

Oracles: `Worlds` in Python, bit for bit; files with mutated numbers under right checksums, which end no program.
"""

from __future__ import annotations

import subprocess
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.simulation.engine_file import engine_file
from tests.built_engine import linked
from tests.elements.blocks import scene_of
from tests.fmu.test_late_signals import tumbling

ROOT = Path(__file__).parents[2]
SERVO = """
[simulation]
integrator = "{integrator}"
step = 0.002
duration = 1.0
[[body]]
name = "arm"
mass = 1.0
com = [0.3, 0, 0]
inertia = { xx = 0.01, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "arm"
axis = [0, 1, 0]
[[signal]]
name = "target"
type = "input"
value = 0.3
unit = "rad"
[[actuator]]
name = "servo"
joint = "hinge"
type = "position_servo"
command = "target"
kp = 20.0
kd = 2.0
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folders = ("engine", "tree", "library")
    return linked("library/host.c", tmp_path_factory.mktemp("host") / "host", *folders)


def scene_at(path: Path) -> pysim.Scene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(path)


def run_host(
    host: Path, folder: Path, scene: pysim.Scene, steps: int, *inputs: float
) -> list[float]:
    path = folder / "scene.pysim"
    path.write_bytes(engine_file(scene))
    command = [str(host), str(path), str(steps), *map(repr, inputs)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return [float(word) for word in ran.stdout.split()]


@pytest.mark.parametrize(
    "name", ["double_pendulum", "four_bar", "quadruped", "servo_pid", "stairs", "elbow", "skid_pad"]
)
def test_a_c_program_repeats_worlds_to_the_bit(host: Path, tmp_path: Path, name: str) -> None:
    scene = scene_at(ROOT / f"scenes/{name}.toml")
    worlds = pysim.Worlds(scene)
    worlds.step(steps=60)
    found = run_host(host, tmp_path, scene, 60)
    assert found == [*worlds.q.tolist(), *worlds.v.tolist(), worlds.t]


@pytest.mark.parametrize("integrator", ["convex", "rk4", "generalized_alpha"])
def test_inputs_of_a_c_program_act_from_the_start(
    host: Path, tmp_path: Path, integrator: str
) -> None:
    path = tmp_path / "servo.toml"
    path.write_text(SERVO.replace("{integrator}", integrator), "utf-8")
    scene = scene_at(path)
    path.write_text(path.read_text("utf-8").replace("value = 0.3", "value = -0.7"), "utf-8")
    worlds = pysim.Worlds(scene_at(path))
    worlds.step(steps=50)
    found = run_host(host, tmp_path, scene, 50, -0.7)
    assert found == [*worlds.q.tolist(), *worlds.v.tolist(), worlds.t]


def test_the_program_knows_no_python(host: Path) -> None:
    symbols = subprocess.run(["nm", "-u", str(host)], check=True, capture_output=True, text=True)
    assert "Py" not in symbols.stdout


def test_other_and_damaged_files_are_refused(host: Path, tmp_path: Path) -> None:
    data = bytearray(engine_file(scene_at(ROOT / "scenes/pendulum.toml")))
    data[-1] ^= 1
    for content, problem in (
        (b"", "is not one that pysim has written"),
        (b"pysim scene\n\x63" + bytes(100), "has format 99, and this engine reads 4"),
        (bytes(data), "is damaged: its checksum is another; take a whole copy"),
    ):
        path = tmp_path / "scene.pysim"
        path.write_bytes(content)
        ran = subprocess.run(
            [str(host), str(path), "1"], check=False, capture_output=True, text=True
        )
        assert ran.returncode == 1
        assert f"scene file: {problem}" in ran.stderr


def test_files_of_models_without_a_scene_are_read(host: Path, tmp_path: Path) -> None:
    """The reader rejects NaN: joints of an OpenSim model without limits had stops of NaN."""
    path = tmp_path / "scene.pysim"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # of the step
        scene = pysim.Worlds(ROOT / "tests/data/osim/muscles.osim").scene()
        path.write_bytes(engine_file(scene))
    ran = subprocess.run([str(host), str(path), "3"], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_accuracy_without_a_least_step_is_refused() -> None:
    scene = scene_at(ROOT / "scenes/stairs.toml")
    changed = {**scene.settings.parameters, "accuracy": 1e-6, "least_step": 1e-20}
    with pytest.raises(ValueError, match="steps under accuracy that may become too short"):
        engine_file(replace(scene, settings=replace(scene.settings, parameters=changed)))


@pytest.fixture(scope="module")
def mutations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that reads mutated files, linked once."""
    program = tmp_path_factory.mktemp("program") / "mutations"
    return linked("library/mutations.cpp", program, "engine", "tree", "library")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("four_bar", ["*"]),
        ("quadruped", ["*"]),
        ("servo_pid", []),
        ("elbow", ["body.*", "gravity"]),
        ("environments/go1", ["*"]),
        ("double_pendulum", ["*"]),
        ("convex", ["body.*"]),
        ("rk4", []),
    ],
)
def test_mutated_files_end_no_program(
    tmp_path: Path, mutations: Path, name: str, parameters: list[str]
) -> None:
    path = tmp_path / "scene.pysim"
    is_scheme = name in ("convex", "rk4")  # of a box that contact sensors observe
    scene = (
        scene_of(tmp_path, tumbling(name)) if is_scheme else scene_at(ROOT / f"scenes/{name}.toml")
    )
    path.write_bytes(engine_file(scene, parameters))
    seed = str(np.frombuffer(name.encode(), np.uint8).sum())
    ran = subprocess.run(
        [str(mutations), str(path), seed, "350", str(tmp_path / "last.pysim")],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 0  # some mutations are other numbers of a scene that runs


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("timed_pendulum", "event 'bottom' is answered in Python"),
        ("newtons_cradle", "'impact' changes velocities in Python"),
    ],
)
def test_errors_name_events_and_impacts(name: str, part: str) -> None:
    with pytest.raises(pysim.SimulationError, match=part):
        engine_file(scene_at(ROOT / f"scenes/{name}.toml"))
