"""Models of OpenSim that run by themselves. The oracle is the same model in a scene."""

from __future__ import annotations

from shutil import copyfile

import numpy as np
import pytest

import pysim
from pysim.cli import main
from tests.scene.osim.opensim_models import DATA

SETTINGS = {"simulation.duration": 0.05, "output.every": 0.01}


@pytest.fixture
def file(tmp_path):
    return copyfile(DATA / "muscles.osim", tmp_path / "muscles.osim")


def test_a_model_runs_as_in_a_scene_with_its_gravity(file, tmp_path):
    alone = pysim.load_scene(file, SETTINGS)
    (tmp_path / "s.toml").write_text(
        f"gravity = {alone.model.gravity.tolist()}\n"
        '[[model]]\nfile = "muscles.osim"\n[simulation]\nintegrator = "dopri5"\n',
        "utf-8",
    )
    one, other = (
        pysim.simulate(s) for s in (alone, pysim.load_scene(tmp_path / "s.toml", SETTINGS))
    )
    assert alone.model.gravity[1] < -9
    assert np.abs(one.v[-1]).max() > 1e-3
    np.testing.assert_array_equal(one.q, other.q)


def test_overrides_excite_the_muscles_of_a_model(file):
    run = pysim.simulate(
        pysim.load_scene(file, {**SETTINGS, "model[0].command": {"hamstring": 0.7}})
    )
    assert run.signals["hamstring.activation"][-1] > run.signals["extensor.activation"][-1] + 0.3


def test_moving_points_are_no_bodies(file, tmp_path):
    def scene(key):
        settings = '[simulation]\nintegrator = "rk4"\nstep = 0.001\n'
        text = f'[[model]]\nfile = "muscles.osim"\n{key}\n{settings}'
        (tmp_path / "s.toml").write_text(text, "utf-8")
        return pysim.load_scene(tmp_path / "s.toml", SETTINGS)

    with_muscles, without = scene("actuators = true"), scene("actuators = false")
    paths = [force.path for force in with_muscles.spec.model.forces]
    assert {m.coordinate for path in paths for part in path for m in part.moves} == {"knee_angle"}
    names = [[body.name for body in own.spec.model.bodies] for own in (with_muscles, without)]
    assert names[0] == names[1]
    M = [pysim.crba(own.model, own.state.q) for own in (with_muscles, without)]
    np.testing.assert_array_equal(M[0], M[1])


def test_the_command_runs_a_model(file, capsys):
    output = file.with_suffix(".h5")
    assert main([str(file), "--set", "simulation.duration=0.05", "-o", str(output)]) == 0
    run = pysim.load_trajectory(output)
    assert run.t[-1] == pytest.approx(0.05)
    assert main([str(file.with_suffix(".urdf"))]) == 2
    assert "no such file" in capsys.readouterr().err
