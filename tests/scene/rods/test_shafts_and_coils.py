"""Rods that rotate, coil or are twisted, of 20 bars, and of 36 bars a turn of a coil.

Oracle: tests/data/reference/rods (Southwell and Gough 1921; Love 1927; Greenhill 1883; Michell 1889).
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.elements.library.forces import _rotation as rotation_of
from pysim.errors import PysimWarning
from pysim.forces import Force, Pose, Wrench, force

CASES = Path(__file__).parents[2] / "data" / "reference" / "rods"


@force("centrifugal_of_shafts")
class Centrifugal(Force):
    """Forces on a bar in the x–y plane whose middle is frame b, away from the x axis of frame a that turns about it."""

    mass: float  # [kg]
    length: float  # [m]
    speed: float  # [rad/s]

    def wrench(self, pose: Pose) -> Wrench:
        R = rotation_of(pose)
        away = np.array([0.0, pose.p[1], pose.p[2]], object)
        inertia = self.mass * self.length**2 / 12
        torque = inertia * self.speed**2 * R[0, 0] * R[1, 0]
        return Wrench(
            force=R.T @ (self.mass * self.speed**2 * away),
            torque=R.T @ np.array([0.0, 0.0, torque], object),
        )


@force("dead_load_of_coils")
class DeadLoad(Force):
    """Constant force and torque on b, in the axes of a."""

    along: tuple[float, float, float]  # [N]
    torque: tuple[float, float, float]  # [N·m]

    def wrench(self, pose: Pose) -> Wrench:
        R = rotation_of(pose)
        return Wrench(
            force=R.T @ np.array(self.along, object), torque=R.T @ np.array(self.torque, object)
        )


def case(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    read = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return read["setup"], read["expect"]


@pytest.mark.parametrize(("quantity", "planar"), [(0, "y"), (1, "z")])
@pytest.mark.parametrize("k", range(5))
def test_a_rod_on_a_hub_stiffens_with_its_speed(quantity: int, planar: str, k: int) -> None:
    setup, expect = case("rotating_cantilever")
    speed = expect[quantity]["at"]["speed of the hub [rad/s]"][k]
    builder = pysim.SceneBuilder("hub", gravity=[0, 0, 0])
    builder.body("hub", mass=1e12, inertia={"xx": 1e12, "yy": 1e12, "zz": 1e12})
    builder.joint("hub", "revolute", axis=[0, 0, 1], child="hub", start={"q": 0.0, "v": speed})
    section = {"EI": setup["EI_N_m2"], "mass_per_length": setup["mass_per_length_kg_m"]}
    builder.rod("rod", a="hub", length=setup["length_m"], section=section, planar=planar)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        A = pysim.linearize(builder.build()).A
    found = np.sort(np.abs(np.linalg.eigvals(A).imag))
    found = found[found > 1e-3][::2]
    bound = (
        3e-3 if speed <= 6 else 5e-3
    )  # the tension, which differs along a bar, counts most there
    np.testing.assert_allclose(found[:3], expect[quantity]["value"][k], rtol=bound)


@pytest.mark.parametrize("k", range(4))
def test_an_unbalanced_shaft_bends_by_its_speed(k: int) -> None:
    """In axes that turn with the shaft: the mass is beside the axis by the eccentricity, and so are the ends."""
    setup, expect = case("unbalanced_shaft")
    L, e = setup["length_m"], setup["eccentricity_m"]
    speed = setup["speed_over_first_critical"][k] * setup["first_critical_speed_rad_s"]
    m, bars = setup["mass_per_length_kg_m"], 20
    builder = pysim.SceneBuilder("shaft", gravity=[0, 0, 0])
    builder.rod(
        "rod", length=L, section={"EI": setup["EIz_N_m2"], "mass_per_length": m}, planar="z", bars=bars,
        ends=["ball", "ball"], at_a={"xyz": [0, e, 0]}, b="world", at_b={"xyz": [L, e, 0]}, slide=True,
    )  # fmt: skip
    for bar in range(bars):
        middle = {"rod": "rod", "s": (bar + 0.5) * L / bars}
        mass = m * L / bars
        builder.force(
            f"pull {bar}",
            "centrifugal_of_shafts",
            b=middle,
            mass=mass,
            speed=speed,
            length=L / bars,
        )
    scene = builder.build()
    found = pysim.equilibrium(scene, stable=False)
    middle = pysim.forward_kinematics(scene.model, found.q)[bars // 2, 1, 3] - e
    assert middle == pytest.approx(expect[0]["value"][k], rel=3e-3)


def test_a_coil_has_the_stiffness_of_its_twist_and_bend() -> None:
    setup, expect = case("helical_spring")
    R, alpha = setup["mean_diameter_m"] / 2, np.radians(setup["pitch_angle_deg"])
    turns, L = setup["turns"], setup["rod_length_m"]
    angle = np.linspace(0, 2 * np.pi * turns, 16 * turns + 1)
    path = np.stack([R * np.cos(angle), R * np.sin(angle), R * angle * np.tan(alpha)], axis=1)
    section = {"EI": setup["EIy_N_m2"], "GJ": setup["GJ_N_m2"]}
    section["mass_per_length"] = setup["mass_per_length_kg_m"]
    flexibility = np.zeros(
        (2, 2)
    )  # of the end on the axis: displacement and turn, by force and torque
    for column, load in enumerate((np.array([0.1, 0.0]), np.array([0.0, 1e-3]))):
        builder = pysim.SceneBuilder("coil", gravity=[0, 0, 0])
        builder.rod("rod", path=path.tolist(), section=section, bars=36 * turns)
        scene = builder.build()
        length = float(scene.spec.model.rods[0].length)
        assert length == pytest.approx(L, rel=1e-4)
        start = pysim.frame_placement(scene.model, scene.state.q, "rod/end")
        axis = np.linalg.inv(start) @ np.array([0, 0, path[-1, 2], 1.0])
        builder.force(
            "load", "dead_load_of_coils", b="rod/end", at_b={"xyz": axis[:3].tolist()},
            along=[0, 0, load[0]], torque=[0, 0, load[1]],
        )  # fmt: skip
        scene = builder.build()
        end = pysim.frame_placement(scene.model, pysim.equilibrium(scene).q, "rod/end")
        moved = (end @ axis)[2] - (start @ axis)[2]
        turned = pysim.spatial.log(end[:3, :3] @ start[:3, :3].T)[2]
        flexibility[:, column] = np.array([moved, turned]) / load.sum()
    assert 1 / flexibility[0, 0] == pytest.approx(expect[0]["value"], rel=5e-3)
    held = np.linalg.inv(flexibility)[0, 0]
    assert held == pytest.approx(expect[1]["value"], rel=5e-3)
    assert flexibility[1, 0] == pytest.approx(expect[2]["value"], rel=5e-3)


def twisted(setup: dict[str, Any], twist: float, *, ring: bool, bars: int = 20) -> pysim.Scene:
    """Return a scene whose rod is clamped at both ends and starts straight or as a ring, evenly twisted."""
    L, EI = setup["length_m"], setup["EI_N_m2"]
    section = {"EI": EI, "GJ": setup["GJ_N_m2"], "mass_per_length": 1.0}
    end = {"rpy": [twist, 0, 0]} if ring else {"xyz": [L, 0, 0], "rpy": [twist, 0, 0]}
    keys: dict[str, Any] = {}
    if ring:
        s = np.linspace(0, 2 * np.pi, 49)
        R = L / (2 * np.pi)
        keys["start"] = np.stack([R * np.sin(s), R * (1 - np.cos(s)), 0 * s], axis=1).tolist()
    builder = pysim.SceneBuilder("rod", gravity=[0, 0, 0])
    builder.rod(
        "rod", length=L, section=section, bars=bars, b="world", at_b=end, slide=not ring, **keys
    )
    builder.assembly(hold=[])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        scene = builder.build()
    weights = np.array(scene.spec.model.rods[0].weights)
    turn = 2 * np.pi if ring else 0.0
    frames = [np.eye(3)]  # of the clamp, of the bars and of the end
    for share in np.cumsum(weights) / L:
        about_z = pysim.spatial.exp(np.array([0, 0, turn * share]))
        frames.append(about_z @ pysim.spatial.exp(np.array([twist * share, 0, 0])))
    q = np.concatenate(
        [
            pysim.spatial.quaternion_from_rotation(before.T @ after)
            for before, after in pairwise(frames)
        ]
    )
    return replace(scene, state=replace(scene.state, q=q))


def equilibrium(scene: pysim.Scene) -> pysim.Equilibrium:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.equilibrium(scene)


@pytest.mark.parametrize(("share", "stands"), [(0.98, True), (1.02, False)])
def test_a_shaft_clamped_at_both_ends_buckles_at_greenhills_twist(
    share: float, stands: bool
) -> None:
    setup, expect = case("twist_buckling")
    found = equilibrium(twisted(setup, share * expect[1]["value"][1], ring=False))
    assert found.is_stable == stands


@pytest.mark.parametrize(("share", "stands"), [(0.97, True), (1.03, False)])
def test_a_ring_leaves_its_plane_at_michells_twist(share: float, stands: bool) -> None:
    """Out of its plane, it passes through itself to a ring that is twisted by two turns less.

    Its turn about the tangent at the clamp is neutral.
    """
    setup, expect = case("twist_buckling")
    scene = twisted(setup, share * expect[2]["value"], ring=True)
    found = equilibrium(scene)
    q = found.q.reshape(-1, 4)
    angle = 2 * np.arctan2(np.linalg.norm(q[:, :3], axis=1), np.abs(q[:, 3]))
    sine = np.maximum(np.linalg.norm(q[:, :3], axis=1), 1e-300)
    twist = float((angle / sine * q[:, 0] * np.sign(q[:, 3])).sum())
    left = share * expect[2]["value"] - (0.0 if stands else 4 * np.pi)
    assert twist == pytest.approx(left, rel=0.02)
    assert found.is_stable
    assert (np.abs(found.eigenvalues) < found.rounding).sum() == 1
