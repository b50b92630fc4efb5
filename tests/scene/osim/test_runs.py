"""Runs of OpenSim's models without muscles. The oracle is OpenSim 4.6, with the uncertainty of its own run."""

from __future__ import annotations

from shutil import copyfile

import numpy as np
import pytest

import pysim
from tests.scene.osim.opensim_models import model_of, public


@pytest.mark.parametrize("name", ["muscles", *public("double_pendulum", "arm26")])
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_passive_run_is_that_of_opensim(tmp_path, name):
    model, run = model_of(name), model_of(name).numbers["passive_run"]
    copyfile(model.path, tmp_path / "m.osim")
    names = [c["name"] for c in model.numbers["coordinates"]]
    q, u = (np.array(run[key][0], float) for key in ("q", "u"))
    starts = "".join(
        f"{joint} = {{ q = {x!r}, v = {v!r} }}\n"
        for joint, x, v in zip(names, q.tolist(), u.tolist(), strict=True)
    )
    gravity = [float(g) for g in model.numbers["gravity"]]
    end = float(run["t"][-1])
    (tmp_path / "s.toml").write_text(
        f'gravity = {gravity}\n[[model]]\nfile = "m.osim"\nactuators = false\n[model.start]\n{starts}'
        f'[simulation]\nduration = {end}\nintegrator = "dopri5"\nrtol = 1e-11\natol = 1e-12\n',
        "utf-8",
    )
    trajectory = pysim.simulate(pysim.load_scene(tmp_path / "s.toml"))
    scene_model = pysim.load_model(model.path)
    places = [scene_model.q_offsets[scene_model.joint_names.index(n)] for n in names]
    tolerance = np.maximum(3 * np.array(run["uncertainty_q"], float).max(), 1e-7)
    assert np.allclose(trajectory.q[-1][places], run["q"][-1], atol=tolerance)
