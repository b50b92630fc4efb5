"""OpenSim's files of external loads. The oracle is the same load, given in the world's axes."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.errors import PysimError
from pysim.motions import (
    GroundLoad,
    MotionTable,
    coordinate_table,
    inverse_dynamics,
    read_external_loads,
    read_table,
    write_table,
)
from tests.scene.osim.opensim_models import DATA

TIMES = np.linspace(0, 1, 41)
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads name="loads"><objects>
<ExternalForce name="push"><applied_to_body>shin</applied_to_body>
<force_expressed_in_body>FRAME</force_expressed_in_body><point_expressed_in_body>FRAME</point_expressed_in_body>
<force_identifier>plate_v</force_identifier><point_identifier>plate_p</point_identifier>
<torque_identifier>plate_t</torque_identifier></ExternalForce>
<ExternalForce name="off"><appliesForce>false</appliesForce><applied_to_body>shin</applied_to_body>
<force_identifier>plate_v</force_identifier></ExternalForce>
</objects><datafile>plates.mot</datafile></ExternalLoads></OpenSimDocument>"""


@pytest.fixture
def model():
    return pysim.load_model(DATA / "muscles.osim")


@pytest.fixture
def q(model):
    return np.column_stack([0.1 * np.sin(TIMES + k) for k in range(model.nq)])


@pytest.fixture
def numbers(tmp_path):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(41, 9))
    columns = tuple(f"plate_{kind}{axis}" for kind in "vpt" for axis in "xyz")
    write_table(tmp_path / "plates.mot", MotionTable(TIMES, columns, values))
    return values.reshape(41, 3, 3).transpose(1, 0, 2)


@pytest.mark.parametrize("frame", ["ground", "/bodyset/thigh"])
def test_a_load_acts_as_the_same_load_in_the_axes_of_the_world(tmp_path, model, q, numbers, frame):
    (tmp_path / "loads.xml").write_text(LOADS.replace("FRAME", frame), "utf-8")
    (load,) = read_external_loads(tmp_path / "loads.xml", model, TIMES, q)
    force, point, torque = numbers
    if frame != "ground":
        X = pysim.frame_placement(model, q, "thigh")
        force, torque = (np.einsum("nij,nj->ni", X[:, :3, :3], x) for x in (force, torque))
        point = np.einsum("nij,nj->ni", X[:, :3, :3], point) + X[:, :3, 3]
    expected = inverse_dynamics(model, TIMES, q, [GroundLoad("shin", force, point, torque)])
    assert np.allclose(inverse_dynamics(model, TIMES, q, [load]), expected, atol=1e-10)


def test_a_force_without_a_point_acts_at_the_origin_of_its_body(tmp_path, model, q, numbers):
    text = LOADS.replace("FRAME", "ground").replace(">plate_p<", "><").replace(">plate_t<", "><")
    (tmp_path / "loads.xml").write_text(text, "utf-8")
    (load,) = read_external_loads(tmp_path / "loads.xml", model, TIMES, q)
    assert load.torque is None
    assert np.allclose(load.force, numbers[0])
    assert np.allclose(load.point, pysim.frame_placement(model, q, "shin")[:, :3, 3])


def test_the_command_reads_external_loads(tmp_path, model, q, numbers, capsys):
    (tmp_path / "loads.xml").write_text(LOADS.replace("FRAME", "ground"), "utf-8")
    write_table(tmp_path / "walk.mot", coordinate_table(model, TIMES, q))
    files = [str(DATA / "muscles.osim"), str(tmp_path / "walk.mot")]
    loads = ["--loads", str(tmp_path / "loads.xml")]
    assert main(["id", *files, *loads]) == 0
    expected = inverse_dynamics(model, TIMES, q, [GroundLoad("shin", *numbers)])
    assert np.allclose(read_table(tmp_path / "walk.sto").values, expected, atol=1e-8)
    assert main(["id", *files, *loads, "--on", "shin=a,b", "--overwrite"]) == 2
    assert "does not go with a file of external loads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "other", "problem"),
    [
        ("<applied_to_body>shin", "<applied_to_body>ground", "acts on the ground; name a body"),
        ("plates.mot", "../../etc/plates.csv", "plates.csv"),
        ("plates.mot", "none.mot", "there is no file"),
        (">plate_v<", ">plate_w<", "column 'plate_wx': is not in the table"),
        ("ExternalLoads", "Loads", "<ExternalLoads>"),
        ("<datafile>plates.mot</datafile>", "", "<datafile>"),
        (">plate_t<", "><", "has neither force_identifier nor torque_identifier"),
    ],
)
def test_mistakes_in_a_file_of_loads_are_reported(
    tmp_path, model, q, numbers, text, other, problem
):
    document = LOADS.replace("FRAME", "ground")
    assert text in document
    if "neither" in problem:
        document = document.replace(">plate_v<", "><")
    (tmp_path / "loads.xml").write_text(document.replace(text, other), "utf-8")
    with pytest.raises(PysimError) as caught:
        read_external_loads(tmp_path / "loads.xml", model, TIMES, q)
    assert problem in str(caught.value)
