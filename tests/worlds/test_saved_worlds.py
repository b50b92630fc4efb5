"""Records of worlds that are refused, by what is wrong with them, and what they keep.

Oracles: the bytes that worlds save before and after; worlds that were never saved, bit for bit. The numbers of records
one by one: tests/fuzz/test_records.py.
"""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.environments import Environment
from pysim.environments.sealed_file import read_sealed, write_sealed
from pysim.errors import PysimError, SimulationError
from pysim.worlds.saved_parts import packed, unpacked
from tests.fuzz.records import FOLDER, Change, changed, places, sealed, split, stack as stack_scene
from tests.resumed_scenes import disc_text

SCENES = Path(__file__).parents[2] / "scenes"
ARM = """
<mujoco><option timestep="0.002"/>
<worldbody><body name="arm"><joint name="j" type="hinge" axis="0 1 0"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3"/></body></worldbody>
<actuator><position name="a" joint="j" kp="5"/></actuator>
<keyframe><key name="home" qpos="0.4" ctrl="0.7"/></keyframe></mujoco>
"""


def stack(n: int = 3, **overrides: Any) -> pysim.Worlds:
    return pysim.Worlds(pysim.load_scene(stack_scene(), overrides), n)


def with_number(worlds: pysim.Worlds, part: str, place: int, value: float) -> bytes:
    head, record = split(worlds.save())
    return sealed(head, changed(record, places(worlds, record), Change(part, place, value)))


@pytest.mark.parametrize(
    ("part", "place", "value", "problem"),
    [
        ("contacts", 0, np.nan, "names point nan where one from 0 to 23 follows"),
        ("contacts", 0, -1.0, "names point -1 where"),
        ("contacts", 0, 0.5, "names point 0.5 where"),
        ("contacts", 6, 0.0, "names point 0 where one from 1"),
        ("contacts", 0, 1e300, "names point 1e+300 where"),
        ("made", 0, -1, "is -1, and must be from 0"),
        ("begin", 0, 1e-3, "is 0.001 s, and t 0.04 s after 20 steps of 0.002 s"),
        ("length", 0, -2, "is -2, and must be from -1"),
        ("status", 0, 77, "is 77, and must be from 0 to 6"),
        ("begin", 0, np.nan, "is nan"),
        ("step", 0, 1e-300, "is 1e-300 s, and steps here have 0.002 s"),
        ("q", 1, np.inf, "holds inf"),
        ("q", 3, 5.0, "holds a quaternion of length"),
        ("episode", 0, -1, "is -1, and must be from 0"),
        ("scheme", 2, 99.0, "holds 99 where it counts"),
    ],
)
def test_a_number_that_no_world_has_is_named_and_no_world_changes(
    part: str, place: int, value: float, problem: str
) -> None:
    worlds = stack()
    worlds.step(steps=20)
    saved, wrong = worlds.save(), with_number(worlds, part, place, value)
    worlds.step(steps=1)
    before = worlds.save()
    with pytest.raises(SimulationError) as reported:
        worlds.load(wrong)
    expected = f"saved: the record of world 0 is impossible: its part '{part}'"
    assert str(reported.value).startswith(expected)
    assert problem in str(reported.value)
    assert worlds.save() == before
    worlds.load(saved)
    assert worlds.save() == saved


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"simulation.step": 0.01}, "simulation.step = 0.002, and here it is 0.01"),
        ({"simulation.solver_tolerance": 1e-6}, "simulation.solver_tolerance ="),
        ({"simulation.integrator": "semi_implicit"}, "simulation.integrator = convex"),
    ],
)
def test_records_of_other_settings_are_refused_by_their_key(
    changes: dict[str, Any], problem: str
) -> None:
    saved, other = stack().save(), stack(**changes)
    with pytest.raises(SimulationError, match=re.escape(f"saved: is of worlds with {problem}")):
        other.load(saved)


@pytest.mark.parametrize(
    ("scene", "given", "other", "problem"),
    [
        ("four_bar", {"integrator": "generalized_alpha", "spectral_radius": 0.9},
         {"integrator": "generalized_alpha", "spectral_radius": 0.2}, "spectral_radius = 0.9, and here it is 0.2"),
        ("double_pendulum", {"integrator": "dopri5", "rtol": 1e-6}, {"integrator": "dopri5", "rtol": 1e-9},
         "rtol = {'': 1e-06}, and here it is {'': 1e-09}"),
    ],
)  # fmt: skip
def test_records_of_another_scheme_are_refused_by_its_parameter(
    scene: str, given: dict[str, Any], other: dict[str, Any], problem: str
) -> None:
    worlds = [
        pysim.Worlds(
            pysim.load_scene(
                SCENES / f"{scene}.toml", {f"simulation.{key}": value for key, value in own.items()}
            )
        )
        for own in (given, other)
    ]
    with pytest.raises(SimulationError, match=re.escape(f"is of worlds with simulation.{problem}")):
        worlds[1].load(worlds[0].save())


def test_records_of_another_period_of_a_block_are_refused(tmp_path: Path) -> None:
    worlds = []
    for period in (0.007, 0.011):
        path = tmp_path / f"{period}.toml"
        text = disc_text("revolute").replace('plugins = ["own.py"]', "")
        path.write_text(text.replace("period = 0.007", f"period = {period}"), "utf-8")
        worlds.append(pysim.Worlds(path))
    problem = r"saved: is of worlds with the period of 'measured' = 0\.007, and here it is 0\.011"
    with pytest.raises(SimulationError, match=problem):
        worlds[1].load(worlds[0].save())


def test_worlds_that_refuse_parameters_keep_their_records_and_parameters() -> None:
    worlds, other = stack(), stack()
    for own in (worlds, other):
        own.parameters["body.low.mass"][:] = [1.0, 2.0, 3.0]
        own.step(steps=5)
    head, record = split(other.save())
    mass = np.array([1.0, 2.0, 3.0]).tobytes()
    assert mass in head
    wrong = sealed(head.replace(mass, np.array([1.0, -2.0, 3.0]).tobytes()), record)
    worlds.step(steps=1)
    before = worlds.save()
    with pytest.raises(SimulationError, match=r"^parameters: body\.low\.mass: is -2\.0 in world 1"):
        worlds.load(wrong)
    assert worlds.save() == before
    np.testing.assert_array_equal(worlds.parameters["body.low.mass"], [1.0, 2.0, 3.0])


def test_records_of_lost_worlds_are_loaded_and_say_that_they_are_lost() -> None:
    worlds, other = stack(), stack()
    worlds.q[1, 0] = np.nan
    with pytest.warns(pysim.errors.PysimWarning, match="1 of 3 worlds are lost"):
        worlds.step(steps=3)
    other.load(worlds.save())
    np.testing.assert_array_equal(other.lost, [False, True, False])
    assert "set to an impossible value" in other.reason(1)
    other.reset(where=[1])
    assert not other.lost.any()


@pytest.mark.parametrize("integrator", ["variational", "generalized_alpha", "dopri5"])
def test_worlds_that_were_written_and_saved_go_on_as_those_that_were_not_saved(
    integrator: str,
) -> None:
    scene = pysim.load_scene(SCENES / "double_pendulum.toml", {"simulation.integrator": integrator})
    worlds, other = pysim.Worlds(scene, 2), pysim.Worlds(scene, 2)
    for own in (worlds, other):
        own.step(seconds=0.02) if integrator == "dopri5" else own.step(steps=20)
        own.v[1, 0] += 0.5
    other.load(other.save())
    for own in (worlds, other):
        own.step(seconds=0.02) if integrator == "dopri5" else own.step(steps=20)
    np.testing.assert_array_equal(other.q, worlds.q)


@pytest.mark.parametrize("integrator", ["generalized_alpha", "dopri5"])
def test_inputs_that_come_with_a_record_were_not_written(tmp_path: Path, integrator: str) -> None:
    (tmp_path / "arm.xml").write_text(ARM, "utf-8")
    text = f"""
[[model]]
name = "arm"
file = "arm.xml"
[simulation]
step = 2e-3
integrator = "{integrator}"
"""
    (tmp_path / "scene.toml").write_text(text, "utf-8")
    scene = pysim.load_scene(tmp_path / "scene.toml")
    worlds, other = pysim.Worlds(scene), pysim.Worlds(scene)
    worlds.inputs["ctrl"][:] = 0.3
    for _ in range(3):
        worlds.step(seconds=0.01)
    saved = worlds.save()
    other.load(saved)
    assert other.save() == saved


def test_unpickled_worlds_keep_the_commands_of_keyframes() -> None:
    path = FOLDER / "arm.xml"
    path.write_text(ARM, "utf-8")
    worlds = pysim.Worlds(path, 2)
    for own in (worlds, pickle.loads(pickle.dumps(worlds)), pysim.Worlds(worlds.scene(), 2)):
        own.reset(keyframe="home")
        np.testing.assert_array_equal(own.inputs["ctrl"].ravel(), 0.7)
        np.testing.assert_allclose(own.q.ravel(), 0.4)


def test_an_environment_that_is_reset_by_a_seed_keeps_the_commands_of_keyframes(
    tmp_path: Path,
) -> None:
    (tmp_path / "arm.xml").write_text(ARM, "utf-8")
    (tmp_path / "scene.toml").write_text(
        """
[[model]]
name = "arm"
file = "arm.xml"
[[signal]]
name = "push"
type = "input"
unit = "N·m"
[[actuator]]
name = "motor"
type = "force"
joint = "arm/j"
command = "push"
[environment]
period = 0.02
duration = 1.0
action = { input = "push", range = [-1, 1] }
observations = ["arm.ctrl"]
start = { keyframe = ["arm/home"] }
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["arm/j"]
[simulation]
step = 2e-3
integrator = "semi_implicit"
""".replace('"arm.ctrl"', '"angle.q"'),
        "utf-8",
    )
    environment = Environment(tmp_path / "scene.toml", 2)
    name = next(name for name in environment.worlds.inputs if name.endswith("ctrl"))
    environment.reset()
    np.testing.assert_array_equal(environment.worlds.inputs[name].ravel(), 0.7)
    environment.reset(seed=3)
    np.testing.assert_array_equal(environment.worlds.inputs[name].ravel(), 0.7)


@pytest.mark.parametrize("given", [{"seed": 2**53}, {"numbers": [0, 2**53]}])
def test_seeds_and_numbers_that_doubles_do_not_hold_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(
        SimulationError, match=r"must be (from 0 to 9007199254740991|below 2\*\*53)"
    ):
        pysim.Worlds(stack_scene(), 2, **given)
    with pytest.raises(
        SimulationError, match=r"must be (from 0 to 9007199254740991|below 2\*\*53)"
    ):
        Environment(SCENES / "environments/cart_pole.toml", 2, **given)


@pytest.mark.parametrize(
    ("name", "value"),
    [("history", np.nan), ("action", np.inf), ("key", 0.5), ("steps", -1), ("episode", -2), ("seed", -1),
     ("key", 2.0**53)],
)  # fmt: skip
def test_an_environment_refuses_numbers_that_none_has_and_stays_as_it_was(
    name: str, value: float
) -> None:
    environment = Environment(SCENES / "environments/cart_pole.toml", 2)
    environment.reset(seed=3)
    environment.step(np.zeros((2, 1)))
    saved = environment.save()
    parts = unpacked(saved)
    parts[name] = np.full_like(parts[name], value)
    environment.step(np.ones((2, 1)))
    before = environment.save()
    with pytest.raises(
        SimulationError, match=f"^saved: holds .* as {name}, which no environment has"
    ):
        environment.load(packed(parts))
    assert environment.save() == before
    environment.load(saved)
    assert environment.save() == saved


def test_compressed_arrays_are_no_saved_arrays() -> None:
    file = io.BytesIO()
    np.savez_compressed(file, x=np.zeros(1 << 20))
    with pytest.raises(ValueError, match="no arrays by name"):
        unpacked(file.getvalue())


def test_every_bit_of_a_sealed_file_is_checked(tmp_path: Path) -> None:
    path, data = tmp_path / "learner.pt", bytes(range(40))
    write_sealed(path, b"form\n", data)
    assert read_sealed(path, b"form\n", "learner") == data
    whole = path.read_bytes()
    for k in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[k // 8] ^= 1 << (k % 8)
        path.write_bytes(flipped)
        with pytest.raises(PysimError, match=f"^{re.escape(str(path))}: is (no|a damaged) learner"):
            read_sealed(path, b"form\n", "learner")
