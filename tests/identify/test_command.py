"""`pysim identify` from the files to the files. The oracle is the scene that made the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.cli.identify import PAYLOAD
from tests.identify.test_reading import ARM


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of the arm as built, beside the scene as drawn: lighter, without damping."""
    built = tmp_path / "built.toml"
    built.write_text(ARM, "utf-8")
    pysim.simulate(pysim.load_scene(built), output=tmp_path / "run.h5")
    drawn = ARM.replace("mass = 2.0", "mass = 1.5").replace("damping = 0.3", "damping = 0.0")
    (tmp_path / "drawn.toml").write_text(drawn, "utf-8")
    return tmp_path


def test_a_run_gives_back_the_scene_that_made_it(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(run / "drawn.toml"), str(run / "run.h5"), "--resistance", "damping"]
    outputs = ["-o", str(run / "found.toml"), "--plot", str(run / "found.png")]
    assert main(["identify", *words, *outputs]) == 0
    reported = capsys.readouterr().out
    assert "shoulder.damping" in reported
    assert "base        " in reported
    parameters = int(reported.split("base        ")[1].split(" of ")[0])
    shown = f"shown       12 of {parameters} base parameters, the most certain ones\n"
    assert (shown in reported) == (parameters > 12)
    found, built = (pysim.load_scene(run / name) for name in ("found.toml", "built.toml"))
    samples = pysim.load_trajectory(run / "run.h5")
    expected = pysim.rnea(built.model, samples.q, samples.v, samples.a)
    expected -= pysim.passive_forces(built.model, samples.q, samples.v)
    torque = pysim.rnea(found.model, samples.q, samples.v, samples.a)
    torque -= pysim.passive_forces(found.model, samples.q, samples.v)
    np.testing.assert_allclose(torque, expected, atol=1e-3)
    assert found.model.joints[0].damping[0] == pytest.approx(0.3, abs=1e-3)
    assert (run / "found.png").stat().st_size > 10_000
    assert main(["identify", *words, *outputs]) == 2  # it is there already


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["drawn.toml", "data.csv"],
            "data.csv: row 3: column 'q.elbow' is nan; leave out the rows",
        ),
        (
            ["arm.urdf", "run.h5"],
            "arm.urdf: a trajectory is identified with the scene that was run; give",
        ),
        (
            ["drawn.toml", "run.h5", "--using", "power"],
            "using 'power': unknown equations; known: torque, energy, momentum",
        ),
    ],
)
def test_an_identification_that_fails_prints_one_line_and_exits_with_2(
    run: Path, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    (run / "arm.urdf").write_text("<robot/>", "utf-8")
    table = "t,q.shoulder,q.elbow,tau.shoulder\n0,1,2,3\n0.1,1,nan,3\n"
    (run / "data.csv").write_text(table, "utf-8")
    words = [str(run / word) if "." in word else word for word in words]
    assert main(["identify", *words]) == 2
    reported = capsys.readouterr().err
    assert text in reported
    assert reported.count("\n") == 1


def test_a_resistance_that_the_data_want_negative_is_reported_to_be_at_its_bound(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The torques are those of a joint that something pushes along."""
    model = pysim.load_scene(run / "drawn.toml").model
    at = pysim.load_trajectory(run / "run.h5")
    tau = pysim.rnea(model, at.q, at.v, at.a) - 0.3 * at.v
    names = [f"{x}.{joint}" for x in ("q", "v", "a", "tau") for joint in model.joint_names]
    table = np.column_stack([at.t, at.q, at.v, at.a, tau])
    header = ",".join(["t", *names])
    np.savetxt(run / "pushed.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    words = [str(run / "drawn.toml"), str(run / "pushed.csv"), "--resistance", "damping"]
    assert main(["identify", *words]) == 0
    lines = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    assert ["shoulder.damping", "0", "at its bound"] in lines


ROBOT = """<robot name="r"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<joint name="k" type="continuous"><parent link="arm"/><child link="hand"/><origin xyz="0.4 0 0"/>
<axis xyz="0 0 1"/></joint></robot>
"""


def test_a_payload_of_a_robot_is_printed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ball of 0.5 kg at (0.05, 0.02, 0.03) m of the hand is recovered from its torques."""
    monkeypatch.chdir(tmp_path)
    Path("r.urdf").write_text(ROBOT, "utf-8")
    model = pysim.load_model("r.urdf")
    theta = model.parameters.copy()
    theta[1] += pysim.inertia.theta_from_com(0.5, [0.05, 0.02, 0.03], 1e-3 * np.eye(3))
    t = np.arange(800) * 0.005
    w = np.array([3.0, 7.0])
    q, v, a = np.sin(t[:, None] * w), w * np.cos(t[:, None] * w), -(w**2) * np.sin(t[:, None] * w)
    tau = pysim.rnea(model.with_parameters(theta), q, v, a)
    names = [f"{x}.{j}" for x in ("q", "v", "a", "tau") for j in ("j", "k")]
    header = ",".join(["t", *names])
    np.savetxt(
        "data.csv", np.column_stack([t, q, v, a, tau]), "%.17g", ",", header=header, comments=""
    )
    assert main(["identify", "r.urdf", "data.csv", "--payload", "hand", "-o", "found.urdf"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = {" ".join(row[:-2]): float(row[-2]) for row in rows if " ".join(row[:-2]) in PAYLOAD}
    assert list(found.values()) == pytest.approx([0.5, 0.05, 0.02, 0.03], rel=1e-3)
    again = pysim.load_model("found.urdf")
    np.testing.assert_allclose(again.parameters[1], theta[1], rtol=0, atol=1e-3)
