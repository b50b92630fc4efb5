"""Ligaments, springs, bushings, limits and muscles of OpenSim's models. The oracle is OpenSim 4.6."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.elements.library.muscles.millard_muscle import MillardMuscle, RigidTendonMuscle
from pysim.elements.library.muscles.thelen_muscle import ThelenMuscle
from pysim.errors import SceneError
from pysim.mechanism.compile import compile_tree
from pysim.scene import read_model
from pysim.scene.convert import convert
from tests.robots import REFERENCE
from tests.scene.osim.opensim_models import DATA, model_of, public

KINDS = {
    "thelen_muscle": ThelenMuscle,
    "millard_muscle": MillardMuscle,
    "rigid_tendon_muscle": RigidTendonMuscle,
}
PASSIVE = ["knee_stop", "slide_stop", "bushing", "band", "ligament", "strut"]
MUSCLES = ["muscles", *public("arm26", "gait2392_thelen2003muscle", "Rajagopal2016")]


@pytest.mark.parametrize("name", PASSIVE)
def test_force_of_an_element_is_that_of_opensim(name):
    model = model_of("muscles")
    spec = read_model(model.path)
    (force,) = (force for force in spec.forces if force.name == name)
    alone = compile_tree(replace(spec, forces=(force,), blocks=()))
    acts = 0
    for state in model.states:
        q, v, T, _ = model.state(state)
        found = T.T @ pysim.passive_forces(alone, q, v)
        expected = np.array(state.get("other_forces", {}).get(name, np.zeros(len(q))), float)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
        acts += bool(expected.any())
    assert acts > 0


@pytest.mark.parametrize("name", MUSCLES)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_tension_of_a_muscle_is_that_of_opensim(name):
    """Elastic tendons: of OpenSim's fibre and path; rigid ones: of the path and its speed."""
    model = model_of(name)
    spec = read_model(model.path)
    columns = model.numbers["muscle_columns"]
    muscles = {m["name"] for m in model.numbers["muscles"]}
    count = 0
    for force in spec.forces:
        if force.name not in muscles:
            continue
        keys = {**force.parameters, "excitation": 0.5}
        muscle = KINDS[force.type](**keys)
        strongest = muscle.max_isometric_force
        for state in model.numbers["states"]:
            path = state["path"][force.name]
            for activation, rows in state["muscle"].items():
                values = rows["rest"].get(force.name) if isinstance(rows["rest"], dict) else None
                if values is None or None in values:
                    continue
                row = dict(zip(columns, map(float, values), strict=True))
                a = float(activation)
                if force.type == "rigid_tendon_muscle":
                    found = muscle.tension(path["length"], 0.0, a)
                else:
                    found = muscle.tension(path["length"], row["fiber_length"])
                assert found == pytest.approx(row["tendon_force"], abs=1e-8 * strongest)
                count += 1
    assert count > 0


DEFAULTS = {
    "activation_time": 0.015,
    "deactivation_time": 0.06,
    "initial_activation": 0.5,
    "activation_smoothing": 0.1,
    "active_width": 1.0,
    "passive_strain": 0.6,
    "passive_share": 1.0,
    "damping": 0.0,
    "tendon_strain": 0.049,
}


@pytest.mark.parametrize(
    ("keys", "kind", "changes"),
    [
        ("", "degroote_fregly_muscle", {}),
        ("<fiber_damping>0.1</fiber_damping>", "degroote_fregly_muscle", {}),
        (
            (
                "<fiber_damping>0.1</fiber_damping>"
                "<tendon_compliance_dynamics_mode>implicit</tendon_compliance_dynamics_mode>"
                "<ignore_passive_fiber_force>true</ignore_passive_fiber_force>"
            ),
            "degroote_fregly_muscle",
            {"damping": 0.1, "passive_share": 0.0},
        ),
        (
            "<fiber_damping>0.1</fiber_damping><ignore_tendon_compliance>true</ignore_tendon_compliance>",
            "rigid_degroote_fregly_muscle",
            {"damping": 0.1, "tendon_strain": None},
        ),
    ],
)
def test_a_muscle_of_de_groote_and_fregly_is_read(tmp_path, keys, kind, changes):
    """With the defaults of OpenSim 4.6, whose explicit dynamics of an elastic tendon leave damping out."""
    text = with_smooth_muscles(keys)
    (tmp_path / "m.osim").write_text(text, "utf-8")
    spec = read_model(tmp_path / "m.osim")
    (force,) = (force for force in spec.forces if force.name == "hamstring")
    assert force.type == kind
    expected = {key: x for key, x in (DEFAULTS | changes).items() if x is not None}
    assert {key: force.parameters[key] for key in expected} == expected


def with_smooth_muscles(keys):
    """Return a model of muscles of De Groote and Fregly, the first with further properties."""
    text = (DATA / "muscles.osim").read_text("utf-8")
    text = text.replace("Thelen2003Muscle", "DeGrooteFregly2016Muscle")
    return text.replace("<max_isometric_force>", f"{keys}<max_isometric_force>", 1)


def test_an_unknown_mode_of_a_tendon_is_reported_with_those_that_exist(tmp_path):
    key = "tendon_compliance_dynamics_mode"
    (tmp_path / "m.osim").write_text(with_smooth_muscles(f"<{key}>both</{key}>"), "utf-8")
    with pytest.raises(SceneError, match="must be explicit or implicit, got 'both'; correct it"):
        read_model(tmp_path / "m.osim")


def test_a_spring_on_a_coordinate_is_that_of_opensim(tmp_path):
    """OpenSim 4.6 gives −0.95 N·m at 0.7 rad and −1.1 rad/s."""
    spring = (
        '<SpringGeneralizedForce name="spring"><coordinate>knee_angle</coordinate><stiffness>3</stiffness>'
        "<rest_length>0.2</rest_length><viscosity>0.5</viscosity></SpringGeneralizedForce>"
    )
    text = model_of("muscles").path.read_text("utf-8")
    (tmp_path / "m.osim").write_text(text.replace("<Ligament ", f"{spring}<Ligament ", 1), "utf-8")
    spec = read_model(tmp_path / "m.osim")
    (force,) = (force for force in spec.forces if force.name == "spring")
    model = compile_tree(replace(spec, forces=(force,), blocks=()))
    at = model.joint_names.index("knee_angle")
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    q[model.q_offsets[at]], v[model.v_offsets[at]] = 0.7, -1.1
    tau = pysim.passive_forces(model, q, v)
    assert tau[model.v_offsets[at]] == pytest.approx(-0.95, abs=1e-14)


def test_undamped_fibres_move_as_in_opensim():
    bench = json.loads((REFERENCE / "opensim" / "undamped_muscle_bench.json").read_text("utf-8"))
    muscle = MillardMuscle(
        excitation=0.5,
        max_isometric_force=1000.0,
        optimal_fibre_length=0.1,
        tendon_slack_length=0.2,
        pennation_angle=0.3,
        damping=0.0,
        active_minimum=0.1,
        velocity_slopes=(0.125, 0.25, 5.0, 0.15, 0.075),
    )
    for values in bench["rows"]:
        row = dict(zip(bench["columns"], map(float, values), strict=True))
        fibre, length = row["fiber_length"], row["path_length"]
        a, pull = muscle.used_activation(row["activation"]), muscle.tension(length, fibre) / 1000
        velocity = 0.1 * muscle.fibre_velocity(a, fibre / 0.1, muscle.cosine(fibre), pull)
        assert velocity == pytest.approx(row["fiber_velocity"], rel=1e-8, abs=1e-8)
        assert muscle.tension(length, fibre) == pytest.approx(row["tendon_force"], abs=1e-5)


def test_a_converted_model_has_the_forces_of_the_file(tmp_path):
    file = model_of("muscles").path
    convert(file, tmp_path / "muscles.toml")
    one, other = read_model(file), read_model(tmp_path / "muscles.toml")
    assert [f.name for f in other.forces] == [f.name for f in one.forces]
    for force, written in zip(one.forces, other.forces, strict=True):
        assert written.type == force.type
        assert len(written.path) == len(force.path)
        assert {key: written.parameters[key] for key in force.parameters} == {**force.parameters}
