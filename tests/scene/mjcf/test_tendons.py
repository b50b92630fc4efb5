"""Tendons and compensated weights of MJCF models. The oracle is MuJoCo: forces and accelerations in random states."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import mujoco
import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.scene import read_model
from pysim.scene.mjcf.model import MujocoModel
from tests.corpus.mujoco_agreement import Pair, agreement, smooth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Write = Callable[..., Path]

ARM = """
<compiler angle="radian"/>
<default><geom contype="0" conaffinity="0" type="capsule" size="0.02"/></default>
<worldbody>
  <site name="anchor" pos="0.3 0.1 0.5"/><site name="hook" pos="0.5 0 0.2"/>
  <body name="a" gravcomp="{gravcomp}"><joint name="qa" axis="0 1 0"/><geom fromto="0 0 0 0 0 1"/>
    <site name="mid" pos="0.05 0 0.5"/>
    <body name="b" pos="0 0 1" gravcomp="0.5"><joint name="qb" type="slide" axis="1 0 0"/>
      <geom fromto="0 0 0 1 0.2 0"/><site name="tip" pos="1 0 0"/>
      <body name="c" pos="1 0 0"><joint name="qc" type="ball"/><geom fromto="0 0 0 0 0 0.4"/>
        <site name="end" pos="0 0.1 0.4"/></body></body></body>
</worldbody>
<tendon>{tendons}</tendon>
"""
FIXED = '<fixed name="t" {}><joint joint="qa" coef="0.7"/><joint joint="qb" coef="-1.5"/></fixed>'
SPATIAL = '<spatial name="t" {}><site site="anchor"/><site site="mid"/><site site="hook"/><site site="end"/></spatial>'
LAWS = {
    "spring": 'stiffness="40" springlength="0.2"',
    "spring from its length at the reference": 'stiffness="40"',
    "damper": 'damping="3"',
    "slack spring": 'stiffness="40" damping="2" springlength="0.3 1.1"',
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(tendons: str, gravcomp: float = 0.0) -> Path:
        path = tmp_path / "m.xml"
        text = ARM.format(tendons=tendons, gravcomp=gravcomp)
        path.write_text(f'<mujoco model="m">{text}</mujoco>', "utf-8")
        return path

    return write


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("tendon", [FIXED, SPATIAL], ids=["fixed", "spatial"])
def test_a_tendon_pulls_as_in_mujoco(write: Write, tendon: str, law: str) -> None:
    path = write(tendon.format(LAWS[law]), gravcomp=1.3)
    model = pysim.load_model(path)
    assert "t" in {force.name for force in model.spec.forces}
    errors = agreement(model, path)
    assert errors.pop("acceleration") < 1e-10  # of slender bodies
    assert max(errors.values()) < 1e-12, errors


RANGES = {"fixed": (FIXED, 0.4, 0.9), "spatial": (SPATIAL, 1.9, 2.3)}


@pytest.mark.parametrize("case", RANGES)
def test_a_limit_of_a_tendon_pushes_back_along_mujoco_s_jacobian(write: Write, case: str) -> None:
    """Stiffness and damping are those of solref for the tendon's inverse weight."""
    tendon, lower, upper = RANGES[case]
    law = f'limited="true" range="{lower} {upper}" solreflimit="0.05 0.8"'
    path = write(tendon.format(law))
    model = pysim.load_model(path)
    (stop,) = (force for force in model.spec.forces if force.name == "t/limit")
    m = mujoco.MjModel.from_xml_path(str(path))
    k, b = 1 / (0.05 * 0.8) ** 2 / m.tendon_invweight0[0], 2 / 0.05 / m.tendon_invweight0[0]
    assert stop.parameters["stiffness"] == pytest.approx(k, rel=1e-12)
    data, rng, sides = mujoco.MjData(m), np.random.default_rng(3), set()
    for _ in range(20):
        data.qpos[:] = m.qpos0
        mujoco.mj_integratePos(m, data.qpos, 0.8 * rng.standard_normal(m.nv), 1.0)
        data.qvel[:] = rng.standard_normal(m.nv)
        mujoco.mj_forward(m, data)
        length, rate = data.ten_length[0], data.ten_velocity[0]
        over = max(length - upper, 0.0) - max(lower - length, 0.0)
        pull = k * over + b * rate
        pull = (max(pull, 0.0) if over > 0 else min(pull, 0.0)) * (over != 0)
        q = np.concatenate([data.qpos[:2], np.roll(data.qpos[2:], -1)])
        expected = -pull * jacobian_row(m, data) + data.qfrc_passive
        found = pysim.passive_forces(model, q, data.qvel)
        assert np.abs(found - expected).max() < 1e-12 * max(1, abs(pull))
        sides.add(float(np.sign(over)))
    assert len(sides) > 1


def jacobian_row(m: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Jacobian (nv,) of the only tendon."""
    row = np.zeros(m.nv)
    start, count = int(m.ten_J_rowadr[0]), int(m.ten_J_rownnz[0])
    row[m.ten_J_colind[start : start + count]] = data.ten_J[start : start + count]
    return row


AROUND = """
<worldbody><geom name="drum" type="cylinder" size="0.11 0.1" pos="0.4 0.1 0.4" euler="1.2 0.3 0"/>
<site name="above" pos="0.4 0.1 0.9"/>
<geom name="hole" type="sphere" size="0.08" pos="0.1 -0.2 0.7"/><site name="centre" pos="0.1 -0.2 0.71"/></worldbody>
"""
COURSES = {
    "a cylinder": '<site site="anchor"/><geom geom="drum"/><site site="end"/>',
    "a cylinder on a side": '<site site="anchor"/><geom geom="drum" sidesite="above"/><site site="end"/>',
    "a sphere that moves": '<site site="anchor"/><geom geom="knob"/><site site="tip"/>',
    "a sphere on a side": '<site site="hook"/><geom geom="knob" sidesite="knob_side"/><site site="end"/>',
    "a hole": '<site site="anchor"/><geom geom="hole" sidesite="centre"/><site site="end"/>',
    "a tunnel that moves": '<site site="hook"/><geom geom="tunnel" sidesite="in_tunnel"/><site site="end"/>',
    "pulleys": (
        '<site site="anchor"/><site site="mid"/><site site="hook"/><pulley divisor="2"/><site site="hook"/>'
        '<site site="tip"/><pulley divisor="3"/><site site="anchor"/><geom geom="drum"/><site site="end"/>'
    ),
}
PARTS = (  # of the bodies of ARM that tendons wrap over
    '<geom name="knob" type="sphere" size="0.09" pos="0.1 0.1 0.6"/><site name="knob_side" pos="0.3 0.2 0.6"/>'
    '<geom name="tunnel" type="cylinder" size="0.07 0.1" pos="0.1 -0.2 0.4" euler="0.3 0.5 0"/>'
    '<site name="in_tunnel" pos="0.1 -0.18 0.4"/>'
)


def around(course: str, law: str = 'stiffness="40" damping="2"') -> str:
    return f'<spatial name="t" springlength="0.2" {law}>{course}</spatial>'


def obstacles(path: Path) -> Path:
    """Add the geoms of `AROUND` and `PARTS` to a file."""
    text = path.read_text("utf-8").replace("<tendon>", AROUND + "<tendon>")
    path.write_text(text.replace('<site name="mid"', PARTS + '<site name="mid"'), "utf-8")
    return path


@pytest.mark.parametrize("course", COURSES)
def test_a_tendon_over_obstacles_and_pulleys_has_the_length_and_the_moments_of_mujoco(
    write: Write, course: str
) -> None:
    """Inside a geom MuJoCo's search for the bend ends at 1e-6 of an angle."""
    path = obstacles(write(around(COURSES[course])))
    model = pysim.load_model(path)
    assert not any("tendon" in line for line in model.spec.omitted)
    tolerance = 1e-5 if course in {"a hole", "a tunnel that moves"} else 1e-11
    reference = MujocoModel(path)
    pair = Pair(smooth(model), reference)
    data, rng, wrapped = pair.data, np.random.default_rng(8), []
    for _ in range(60):
        q, v = pair.random_state(rng)
        found = pysim.passive_forces(pair.model, q, v)
        assert np.abs(found - data.qfrc_passive).max() < tolerance * 40
        wrapped.append(data.ten_wrapnum[0] > 2)
    assert sum(wrapped) > 0
    if course not in {"pulleys", "a hole"}:
        assert sum(wrapped) < len(wrapped)


LEFT_OUT = {
    "side on another body": (
        around('<site site="anchor"/><geom geom="drum" sidesite="mid"/><site site="end"/>'),
        "tendon 't' is left out: it runs around a cylinder with the side of site 'mid' on another body",
    ),
    "friction": (
        FIXED.format('frictionloss="1" stiffness="1"'),
        "tendon 't' has friction, which is left out",
    ),
    "armature": (
        FIXED.format('armature="1"'),
        "tendon 't' has an armature, which is left out",
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_parts_of_a_tendon_that_are_left_out_are_named(write: Write, case: str) -> None:
    text, expected = LEFT_OUT[case]
    path = obstacles(write(text))
    lines = path.read_text("utf-8").splitlines()
    line = next(k for k, own in enumerate(lines, 1) if 'name="t"' in own)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_model(path)
    assert [
        str(w.message).removeprefix(f"{path.parent}/") for w in caught if w.category is PysimWarning
    ] == [f"m.xml:{line}: {expected}"]


def test_a_tendon_on_one_body_is_listed(write: Write) -> None:
    tendon = '<spatial name="t" stiffness="3"><site site="anchor"/><site site="hook"/></spatial>'
    path = write(tendon)
    assert any("it lies on one rigid body" in line for line in read_model(path).omitted)


def test_a_compensated_body_floats(write: Write) -> None:
    """With gravcomp 1 on every body, nothing but motion needs a force."""
    path = write("", gravcomp=1.0)
    text = path.read_text("utf-8").replace('gravcomp="0.5"', 'gravcomp="1"')
    path.write_text(text.replace('<body name="c"', '<body name="c" gravcomp="1"'), "utf-8")
    model = pysim.load_model(path)
    q = model.random_configuration(np.random.default_rng(0))
    a = pysim.aba(model, q, np.zeros(model.nv), np.zeros(model.nv), passive=True)
    assert np.abs(a).max() < 1e-13


def test_the_forces_of_a_file_move_with_its_model(write: Write, tmp_path: Path) -> None:
    write(SPATIAL.format('stiffness="40"') + FIXED.format("").replace('"t"', '"u"'))
    text = (
        '[[model]]\nfile = "m.xml"\nname = "m"\nat = { xyz = [1.0, 2.0, 3.0], rpy = [0, 0, 0.7] }\n'
    )
    (tmp_path / "s.toml").write_text(text, "utf-8")
    placed, alone = (
        pysim.load_scene(tmp_path / "s.toml").model,
        pysim.load_model(tmp_path / "m.xml"),
    )
    assert {"m/t"} <= {force.name for force in placed.spec.forces}
    q = alone.random_configuration(np.random.default_rng(1))
    v = np.ones(alone.nv)
    forces = [pysim.passive_forces(model, q, v) for model in (placed, alone)]
    assert np.abs(forces[0] - forces[1]).max() < 1e-12
