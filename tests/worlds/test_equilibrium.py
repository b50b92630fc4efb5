"""Static equilibria of scenes.

Oracles: springs and pendulums by hand, bifurcation loads of columns (Euler; Timoshenko and Gere 1961), and for rods of
20 bars tests/data/reference/rods (elliptic integrals, shooting of the nonlinear rod, the catenary).
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.elements.library.forces import _rotation as rotation_of
from pysim.errors import PysimWarning, SceneError, SimulationError
from pysim.forces import Force, Pose, Wrench, force

CASES = Path(__file__).parents[1] / "data" / "reference" / "rods"


@force("dead_wrench")
class DeadWrench(Force):
    """Constant force and torque on b, in the axes of a."""

    along: tuple[float, float, float]  # [N]
    torque: tuple[float, float, float]  # [N·m]

    def wrench(self, pose: Pose) -> Wrench:
        R = rotation_of(pose)
        return Wrench(
            force=R.T @ np.array(self.along, object), torque=R.T @ np.array(self.torque, object)
        )


@force("follower_force")
class FollowerForce(Force):
    """Constant force on b, in the axes of b."""

    along: tuple[float, float, float]  # [N]

    def wrench(self, pose: Pose) -> Wrench:
        return Wrench(force=list(self.along))


def case(name):
    read = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return read["setup"], read["expect"]


def section_of(setup):
    EI = [setup.get("EIy_N_m2", setup.get("EI_N_m2")), setup.get("EIz_N_m2", setup.get("EI_N_m2"))]
    mass = setup.get("mass_per_length_kg_m", 1.0)
    return {"EI": EI, "GJ": setup.get("GJ_N_m2", EI[0]), "mass_per_length": mass}


def loaded(s, along=(0, 0, 0), torque=(0, 0, 0), gravity=(0, 0, 0), **keys):
    """Return a scene with a rod that has a load at s, and the pose of its frame there in equilibrium."""
    builder = pysim.SceneBuilder("rod", gravity=list(gravity))
    builder.rod("rod", **keys)
    place = {"rod": "rod", "s": s}
    builder.force("load", "dead_wrench", b=place, along=list(along), torque=list(torque))
    scene = builder.build()
    found = pysim.equilibrium(scene)
    return pysim.frame_placement(scene.model, found.q, f"rod@{s:.12g}"), found


@pytest.mark.parametrize("k", range(5))
def test_small_loads_bend_a_cantilever_by_their_closed_forms(k):
    setup, expect = case("tip_load_small")
    load, value = setup["loads"][k], expect[0]["value"][k]
    kind, axis = load["load"].split()
    vector = load["value"] * np.eye(3)["xyz".index(axis)]
    keys = {"along": vector} if kind == "force" else {"torque": vector}
    X, _ = loaded(0.8, length=0.8, section=section_of(setup), bars=10, **keys)
    found = X[2, 1] if axis == "x" else X["xyz".index(load["gives"].split()[1][0]), 3]
    assert found == pytest.approx(value, rel=1e-7)


def test_an_end_force_bends_ten_bars_exactly_to_first_order():
    F = 1e-7
    X, _ = loaded(
        1.0, (0, F, 0), length=1.0, section={"EI": 1.0, "mass_per_length": 1.0}, planar="z", bars=10
    )
    assert X[1, 3] == pytest.approx(F / 3, rel=1e-12)


@pytest.mark.parametrize("k", range(5))
def test_a_large_force_bends_a_cantilever_as_an_elastica(k):
    setup, expect = case("elastica")
    X, found = loaded(1.0, (0, setup["force_N"][k], 0), length=1.0, section=section_of(setup))
    angle = np.arctan2(X[1, 0], X[0, 0])
    scale = np.abs(expect[0]["value"]).max(axis=0)
    error = np.abs([X[1, 3], X[0, 3], angle] - np.array(expect[0]["value"][k]))
    assert (error < 1e-3 * scale).all()
    assert found.is_stable


@pytest.mark.parametrize("k", range(3))
def test_a_moment_rolls_a_cantilever_up(k):
    setup, expect = case("roll_up")
    moment = (0, 0, setup["moment_z_N_m"][k])
    X, _ = loaded(1.0, torque=moment, length=1.0, section=section_of(setup), planar="z")
    angle = np.arctan2(X[1, 0], X[0, 0])
    x, y, turned = expect[0]["value"][k]
    np.testing.assert_allclose(X[:2, 3], [x, y], atol=1e-3)
    assert (angle - turned + np.pi) % (2 * np.pi) - np.pi == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("k", range(21))
def test_a_strip_bends_and_twists_as_in_princeton(k):
    setup, expect = case("princeton")
    load, L = setup["loads"][k], setup["length_m"]
    angle = np.radians(load["angle_deg"])
    along = load["force_N"] * np.array([0, np.sin(angle), np.cos(angle)])
    X, _ = loaded(L, along, length=L, section=section_of(setup))
    twist = np.arctan2(X[2, 1] - X[1, 2], X[1, 1] + X[2, 2])
    values = np.array(expect[1]["value"])
    moved = np.array([X[1, 3], X[2, 3], X[0, 3] - L])
    farthest = np.linalg.norm(values[:, :3], axis=1).max()
    assert np.linalg.norm(moved - values[k, :3]) < 3e-4 * farthest
    assert abs(twist - values[k, 3]) < 2e-3 * np.abs(values[:, 3]).max()


@pytest.mark.parametrize("k", range(3))
def test_a_curved_rod_bends_out_of_its_plane(k):
    setup, expect = case("bend45")
    angles = np.linspace(0, np.pi / 4, 13)
    R = setup["radius"]
    path = [[R * np.sin(x), R * (1 - np.cos(x)), 0.0] for x in angles]
    L = R * np.pi / 4 * (1 - 1e-8)
    X, _ = loaded(L, (0, 0, setup["force_z"][k]), path=path, section=section_of(setup))
    np.testing.assert_allclose(X[:3, 3], expect[1]["value"][k], rtol=2e-3)


def test_a_quarter_of_a_ring_twists_and_bends():
    setup, expect = case("quarter_ring")
    R, F = setup["radius_m"], setup["force_N"]
    path = [[R * np.sin(x), R * (1 - np.cos(x)), 0.0] for x in np.linspace(0, np.pi / 2, 13)]
    L = R * np.pi / 2 * (1 - 1e-8)
    X, _ = loaded(L, (0, 0, F), path=path, section=section_of(setup))
    assert X[2, 3] == pytest.approx(expect[0]["value"], rel=2e-3)


def hanging(setup, **keys):
    builder = pysim.SceneBuilder("cable", gravity=[0, 0, -9.81])
    section = {"EI": 0.0, "GJ": 0.0, "mass_per_length": setup["weight_per_length_N_m"] / 9.81}
    builder.rod(
        "cable", length=setup["length_m"], section=section, b="world",
        at_b={"xyz": [setup["span_m"], 0, setup["right_end_higher_by_m"]]}, ends=["ball", "ball"], **keys,
    )  # fmt: skip
    builder.simulation(duration=0.2)
    return builder.build()


def test_a_cable_between_two_points_starts_as_a_catenary():
    setup, expect = case("catenary")
    scene = hanging(setup, start="equilibrium")
    poses = pysim.forward_kinematics(scene.model, scene.state.q)[:, :3, 3]
    lowest = expect[2]["value"]
    heights = np.interp(expect[3]["at"]["x [m]"], *np.vstack([poses, [2.0, 0, 0]])[:, [0, 2]].T)
    np.testing.assert_allclose(heights, expect[3]["value"], atol=6e-3 * abs(lowest))
    assert poses[:, 2].min() == pytest.approx(lowest, rel=3e-3)
    found = pysim.equilibrium(scene)
    assert found.is_stable
    assert np.linalg.norm(found.row_forces) == pytest.approx(expect[1]["value"][1], rel=3e-3)
    acceleration = pysim.aba(
        scene.model, scene.state.q, np.zeros(scene.model.nv), np.zeros(scene.model.nv)
    )
    assert np.isfinite(acceleration).all()


def test_a_cable_in_equilibrium_stays_there():
    scene = hanging(case("catenary")[0], start="equilibrium", bars=10)
    trajectory = pysim.simulate(scene)
    moved = scene.model.difference(trajectory.q[0], trajectory.q[-1])
    assert np.abs(moved).max() < 1e-7


def pendulum(**keys):
    builder = pysim.SceneBuilder("pendulum")
    builder.body("bob", mass=2.0, com=[0, 0, -0.5])
    builder.joint("hinge", "revolute", axis=[0, 1, 0], child="bob", **keys)
    return builder


def test_a_pendulum_hangs_down_and_swings_at_its_frequency():
    found = pysim.equilibrium(pendulum(start=2.0).build())
    assert found.q[0] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(found.eigenvalues, [9.81 / 0.5], rtol=1e-9)


def test_newtons_steps_find_the_upright_position_and_say_that_it_is_unstable():
    scene = pendulum(start=3.0).build()
    found = pysim.equilibrium(scene, stable=False)
    assert found.q[0] == pytest.approx(np.pi, abs=1e-9)
    assert not found.is_stable
    with pytest.warns(
        PysimWarning, match="the equilibrium is unstable: a displacement of 'hinge' grows"
    ):
        pysim.equilibrium(pendulum(start=np.pi).build())


def test_linearize_is_quiet_at_the_equilibrium():
    scene = pendulum(start=1.0, stiffness=3.0, rest=0.5).build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pysim.linearize(scene, state=pysim.equilibrium(scene).state)


def test_a_scene_may_start_in_equilibrium():
    builder = pendulum(start=1.0, stiffness=3.0, rest=0.5)
    builder.assembly(equilibrium=True)
    (q,) = builder.build().state.q
    assert 3.0 * (0.5 - q) == pytest.approx(2.0 * 9.81 * 0.5 * np.sin(q), abs=1e-9)


def test_some_joints_may_start_in_equilibrium():
    builder = pendulum(start=1.0)
    builder.body("tail", mass=1.0, com=[0, 0, -0.2])
    builder.joint(
        "tail", "revolute", axis=[0, 1, 0], parent="bob", child="tail", at={"xyz": [0, 0, -1]}
    )
    builder.assembly(equilibrium=["tail"])
    np.testing.assert_allclose(builder.build().state.q, [1.0, -1.0], atol=1e-9)


def test_a_stone_that_falls_has_no_equilibrium():
    builder = pysim.SceneBuilder("stone")
    builder.body("stone", mass=1.0)
    builder.joint("slide", "prismatic", axis=[0, 0, 1], child="stone")
    with pytest.raises(
        SimulationError, match=r"'slide' is still driven by 9\.81 N; hold it by a loop"
    ):
        pysim.equilibrium(builder.build())


def test_unknown_joints_are_reported():
    with pytest.raises(
        SimulationError, match="free: there is no joint 'hinje'; did you mean 'hinge'"
    ):
        pysim.equilibrium(pendulum().build(), free=["hinje"])
    builder = pendulum()
    builder.assembly(equilibrium=["hinje"])
    with pytest.raises(SceneError, match="unknown joint 'hinje'"):
        builder.build()
    with pytest.raises(TypeError, match=r"give what pysim\.load_scene returns"):
        pysim.equilibrium("scene.toml")


@pytest.mark.parametrize(("share", "is_stable"), [(0.999, True), (1.001, False)])
def test_a_column_buckles_at_eulers_load(share, is_stable):
    setup, expect = case("columns")
    L, load = setup["length_m"], share * expect[0]["value"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        _, found = loaded(L, (-load, 0, 0), length=L, section=section_of(setup))
    assert found.is_stable == is_stable


@pytest.mark.parametrize(("share", "is_stable"), [(0.998, True), (1.002, False)])
def test_a_column_buckles_under_its_weight(share, is_stable):
    setup, expect = case("columns")
    section = section_of(setup) | {"mass_per_length": share * expect[1]["value"] / 9.81}
    builder = pysim.SceneBuilder("column", gravity=[-9.81, 0, 0])
    builder.rod("rod", length=setup["length_m"], section=section)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        assert pysim.equilibrium(builder.build()).is_stable == is_stable


@pytest.mark.parametrize(("share", "is_stable"), [(0.992, True), (1.008, False)])
def test_a_column_flutters_under_becks_follower_force(share, is_stable):
    setup, expect = case("columns")
    L, load = setup["length_m"], share * expect[3]["value"]
    builder = pysim.SceneBuilder("column", gravity=[0, 0, 0])
    builder.rod("rod", length=L, section=section_of(setup), planar="z")
    end = {"rod": "rod", "s": L}
    builder.force("load", "follower_force", b=end, along=[-load, 0, 0])
    scene = builder.build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        assert pysim.equilibrium(scene).is_stable == is_stable
    poles = np.linalg.eigvals(pysim.linearize(scene).A)
    assert (poles.real.max() < 1e-6) == is_stable
    if not is_stable:
        frequency = abs(poles[poles.real.argmax()].imag)
        assert frequency == pytest.approx(expect[4]["value"], rel=0.02)


@pytest.mark.parametrize(("share", "is_stable"), [(0.995, True), (1.005, False)])
def test_a_strip_buckles_sideways_at_prandtls_load(share, is_stable):
    setup, expect = case("columns")
    load = share * expect[2]["value"]
    section = section_of(setup)
    section["EI"][0] *= 1e2  # without the deflection before it buckles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        _, found = loaded(0.8, (0, 0, load), length=0.8, section=section)
    assert found.is_stable == is_stable
