"""Runs of OpenSim's models, without muscles and with constant excitations.

The oracle is OpenSim 4.6, with the uncertainty of its own run. Beyond the range of a coordinate OpenSim holds a moving
point still, but goes on to push the coordinate by the point's slope: tension does work without a change of length. The
excited run of gait2392, whose knees leave their range at 0.078 s, is therefore compared with OpenSim's run of the file
with wider ranges. The passive run of Rajagopal2016 is not compared: the bias of its knees contradicts the mass matrix
(test_reader.py), and its energy drifts by 0.05 J within half a second.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pysim
from tests.robots import REFERENCE
from tests.scene.osim.opensim_models import model_of, public

GAIT = "gait2392_thelen2003muscle"
SPEED = r"<default_speed_value>[^<]*</default_speed_value>"
RANGE = re.compile(rf"({SPEED}\s*(?:<!--[^<]*-->\s*)?)<range>[^<]*</range>")  # of a coordinate
KEYS = {"fiber_length": "fibre_length"}


def scene_of(folder: Path, text: str, gravity, model: str, **simulation) -> pysim.Scene:
    """Return a scene with the model of a file's text, and further keys of its [[model]] table."""
    (folder / "m.osim").write_text(text, "utf-8")
    settings = "".join(f"{key} = {value!r}\n" for key, value in simulation.items())
    (folder / "s.toml").write_text(
        f'gravity = {[float(g) for g in gravity]}\n[[model]]\nfile = "m.osim"\n{model}'
        f'[simulation]\nintegrator = "dopri5"\n{settings}[output]\nevery = 0.05\n',
        "utf-8",
    )
    return pysim.load_scene(folder / "s.toml")


@pytest.mark.parametrize("name", ["muscles", *public("double_pendulum", "arm26", GAIT)])
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_passive_run_is_that_of_opensim(tmp_path, name):
    model, run = model_of(name), model_of(name).numbers["passive_run"]
    names = [c["name"] for c in model.numbers["coordinates"]]
    q, u = (np.array(run[key][0], float) for key in ("q", "u"))
    starts = "".join(
        f"{joint} = {{ q = {x!r}, v = {v!r} }}\n"
        for joint, x, v in zip(names, q.tolist(), u.tolist(), strict=True)
    )
    scene = scene_of(
        tmp_path,
        model.path.read_text("utf-8"),
        model.numbers["gravity"],
        f"actuators = false\n[model.start]\n{starts}",
        duration=float(run["t"][-1]),
        rtol=1e-11,
        atol=1e-12,
    )
    found = pysim.simulate(scene)
    places = [scene.model.q_offsets[scene.model.joint_names.index(n)] for n in names]
    tolerance = np.maximum(3 * np.array(run["uncertainty_q"], float).max(), 1e-7)
    assert np.allclose(found.q[:, places], np.array(run["q"], float), atol=tolerance)


def differences(scene, run):
    """Return the largest difference of every column of OpenSim's run."""
    simulated = pysim.simulate(scene)
    y = np.array([[float(x) for x in row] for row in run["y"]])
    largest = {}
    for column, expected in zip(run["columns"], y.T, strict=True):
        *_, owner, kind = column.split("/")
        if kind in {"value", "speed"}:
            k = scene.model.joint_names.index(owner)
            row = simulated.q[:, scene.model.q_offsets[k]]
            if kind == "speed":
                row = simulated.v[:, scene.model.v_offsets[k]]
        elif kind in {"activation", "fiber_length"}:
            row = np.reshape(simulated.signals[f"{owner}.{KEYS.get(kind, kind)}"], -1)
        else:
            continue
        largest[column] = float(np.abs(row - expected).max())
    return largest


def commands(excitations):
    pairs = ", ".join(f"{name} = {value!r}" for name, value in excitations.items())
    return f"command = {{ {pairs} }}\n"


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_an_excited_run_is_that_of_opensim(tmp_path):
    """Of fibres that reach their least length, a rigid tendon, and paths over a cylinder and a sphere."""
    model, run = model_of("muscles"), model_of("muscles").numbers["excited_run"]
    scene = scene_of(
        tmp_path,
        model.path.read_text("utf-8"),
        model.numbers["gravity"],
        commands(run["excitations"]),
        duration=float(run["t"][-1]),
        rtol=1e-10,
        atol=1e-11,
    )
    assert max(differences(scene, run).values()) < 3 * max(map(float, run["uncertainty"]))


@pytest.mark.parametrize("name", public("arm26"))
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_an_excited_run_over_ellipsoids_is_that_of_opensim(tmp_path, name):
    """To one percent of the motion: OpenSim's own paths over ellipsoids are no shortest ones."""
    model, run = model_of(name), model_of(name).numbers["excited_run"]
    settings = {"duration": run["t"][-1], "rtol": 1e-9, "atol": 1e-10}
    text, gravity = model.path.read_text("utf-8"), model.numbers["gravity"]
    scene = scene_of(tmp_path, text, gravity, commands(run["excitations"]), **settings)
    spans = np.ptp(np.array([[float(x) for x in row] for row in run["y"]]), axis=0)
    span = dict(zip(run["columns"], spans, strict=True))
    for column, difference in differences(scene, run).items():
        if column.endswith("/value"):
            assert difference < 0.01 * span[column]


@pytest.mark.parametrize("name", public(GAIT))
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_an_excited_run_of_a_whole_body_is_that_of_opensim(tmp_path, name):
    """Of the file with wider ranges of all coordinates."""
    model = model_of(name)
    run = json.loads((REFERENCE / "opensim" / "gait2392_wide_ranges.json").read_text("utf-8"))
    text = model.path.read_text("utf-8")
    text = RANGE.sub(r"\1<range>-10 10</range>", text)
    settings = {"duration": run["t"][-1], "rtol": 1e-8, "atol": 1e-9}
    gravity = model.numbers["gravity"]
    scene = scene_of(tmp_path, text, gravity, commands(run["excitations"]), **settings)
    assert max(differences(scene, run).values()) < 3 * run["uncertainty"]
