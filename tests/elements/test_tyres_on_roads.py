"""Tyres on the ground, and roads.

Oracles: the same tyre on a tilted plane z = 0 of a; F = k (R − r) along the normal of a road's piece; ISO 8608's table
of classes; SciPy's periodogram.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.signal import periodogram, welch

import pysim
from pysim.errors import PysimError
from pysim.shapes import HeightField
from pysim.shapes.road import iso_8608_profile, road_of

CLASSES = {"A": 16e-6, "B": 64e-6, "C": 256e-6, "D": 1024e-6, "E": 4096e-6, "F": 16384e-6}  # [m³]
WHEEL = """gravity = [0, 0, 0]
[[body]]
name = "wheel"
mass = 20
inertia = {{ xx = 0.5, yy = 1, zz = 0.5 }}
[[joint]]
name = "flies"
type = "free"
child = "wheel"
start = {{ xyz = {xyz}, rpy = {rpy}, v = [0.3, 12.0, -0.2, 3.0, 0.4, -0.5] }}
[[force]]
name = "tyre"
type = "brush_tyre"
b = "wheel"
radius = 0.3
stiffness = 2e5
damping = 300
bristle_stiffness = 3e6
half_length = 0.07
friction = 0.9
rolling_resistance = 0.01
{keys}
[simulation]
integrator = "rk4"
step = 1e-3
duration = 0.05
"""
STATIC = """gravity = [0, 0, 0]
[[body]]
name = "wheel"
mass = 1
inertia = {{ xx = 1, yy = 1, zz = 1 }}
[[joint]]
name = "flies"
type = "free"
child = "wheel"
start = {{ xyz = [{x}, 0, {z}] }}
[[force]]
name = "tyre"
type = "brush_tyre"
b = "wheel"
radius = 0.3
stiffness = 2e5
bristle_stiffness = 3e6
half_length = 0.07
friction = 0.9
road = "ground"
patch = [1e-5, 1e-5]
[[ground]]
{ground}
[simulation]
integrator = "semi_implicit"
step = 1e-6
duration = 1e-6
"""


def scene(tmp_path: Path, text: str) -> pysim.Scene:
    path = tmp_path / "tyre.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path)


def push(tmp_path: Path, x: float, z: float, ground: str) -> np.ndarray:
    """Force (3,) [N] on a wheel at rest."""
    run = pysim.simulate(scene(tmp_path, STATIC.format(x=x, z=z, ground=ground)))
    return np.asarray((run.q[-1, :3] - run.q[0, :3]) / (run.t[-1] - run.t[0]) / 1e-6)


@pytest.mark.parametrize("tilt", [0.0, 0.2, -0.35])
def test_a_tilted_ground_acts_as_a_tilted_plane_of_frame_a(tmp_path: Path, tilt: float) -> None:
    place = {"xyz": "[0.1, -0.2, 0.28]", "rpy": f"[0.05, {tilt}, 0.1]"}
    c, s = np.cos(tilt), np.sin(tilt)
    plane = f"at_a = {{ rpy = [0, {tilt}, 0] }}"
    ground = f'road = "ground"\n[[ground]]\nplane = {{ normal = [{s}, 0, {c}] }}'
    runs = [pysim.simulate(scene(tmp_path, WHEEL.format(keys=k, **place))) for k in (plane, ground)]
    assert np.abs(runs[0].q[-1] - runs[0].q[0]).max() > 1e-3
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)


def test_the_load_on_a_bump_is_that_of_its_piece_along_its_normal(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 11)
    z = 0.05 * np.sin(np.pi * x)
    rows = np.column_stack([x, z]).round(12).tolist()
    slope = (z[4] - z[3]) / 0.1
    n = np.array([-slope, 0, 1]) / np.hypot(slope, 1)
    hub = np.array([0.35, 0, (z[3] + z[4]) / 2]) + 0.285 * n
    found = push(tmp_path, hub[0], hub[2], f"road = {{ profile = {rows} }}")
    np.testing.assert_allclose(found, 2e5 * 0.015 * n, rtol=1e-4, atol=1e-2)


def test_boxes_and_height_fields_carry_a_tyre_as_planes_do(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.full((5, 5), 0.02))
    grounds = [
        "plane = { offset = 0.02 }",
        'height_field = { file = "flat.npy", size = [2, 2] }',
        "road = { profile = [[-1, 0.02], [1, 0.02]] }",
    ]
    for ground in grounds:
        found = push(tmp_path, 0.1, 0.31, ground)
        np.testing.assert_allclose(found, [0, 0, 2e5 * 0.01], rtol=1e-6, atol=1e-6)


def test_beyond_a_road_and_above_it_a_tyre_carries_nothing(tmp_path: Path) -> None:
    road = "road = { profile = [[-1, 0], [1, 0]] }"
    assert np.abs(push(tmp_path, 5.0, 0.28, road)).max() == 0
    assert np.abs(push(tmp_path, 0.0, 0.31, road)).max() == 0


def test_a_scene_of_tyres_alone_has_no_contacts_and_saves_its_road(tmp_path: Path) -> None:
    road = 'road = { roughness = "C", length = 50, seed = 4, spacing = 0.1 }'
    place = "at = { xyz = [1, 2, 0], rpy = [0, 0, 0.3] }"
    keys = f'road = "ground"\n[[ground]]\n{road}\n{place}'
    made = scene(tmp_path, WHEEL.format(xyz="[5, 2, 0.28]", rpy="[0, 0, 0.3]", keys=keys))
    assert made.contacts is None
    made.save(tmp_path / "again.toml")
    again = pysim.load_scene(tmp_path / "again.toml")
    (first,), (second,) = made.model.spec.grounds, again.model.spec.grounds
    assert first.field is not None
    assert second.field is not None
    np.testing.assert_allclose(second.field.pose, first.field.pose, atol=1e-12)
    assert pysim.simulate(again).q.tobytes() == pysim.simulate(made).q.tobytes()


def test_worlds_on_a_road_have_the_bits_of_one_alone(tmp_path: Path) -> None:
    keys = 'road = "ground"\n[[ground]]\nroad = { roughness = "E", length = 20 }'
    made = scene(tmp_path, WHEEL.format(xyz="[5, 0, 0.29]", rpy="[0, 0, 0]", keys=keys))
    found = []
    for count in (1, 5):
        with pysim.Worlds(made, count) as worlds:
            worlds.step(steps=50)
            found.append(worlds.q.copy())
    assert (found[1] == found[0]).all()
    np.testing.assert_allclose(found[0][0], pysim.simulate(made).q[-1], atol=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_the_spectrum_of_a_random_road_is_that_of_its_class(name: str) -> None:
    length, spacing = 200.0, 0.05
    x, z = iso_8608_profile(name, length, spacing, seed=7)
    assert z[0] == z[-1]
    np.testing.assert_allclose(np.diff(x), spacing)
    n, density = periodogram(z[:-1], 1 / spacing, detrend=False)
    inside = (n >= 0.011) & (n <= 2.83)
    np.testing.assert_allclose(density[inside], CLASSES[name] * (n[inside] / 0.1) ** -2, rtol=1e-9)
    assert density[n > 2.84].max() < 1e-12 * density[inside].min()


def test_the_smoothed_spectrum_of_a_road_is_within_two_percent() -> None:
    _, z = iso_8608_profile("C", 4000, 0.05, seed=1)
    n, density = welch(z[:-1], 20, nperseg=4096)
    inside = (n > 0.05) & (n < 2.0)
    ratio = density[inside] * (n[inside] / 0.1) ** 2 / 256e-6
    assert ratio.mean() == pytest.approx(1, abs=0.02)


def test_roads_of_other_seeds_are_independent() -> None:
    heights = np.array([iso_8608_profile("B", 500, 0.1, seed=k)[1] for k in range(4)])
    assert np.abs(np.corrcoef(heights) - np.eye(4)).max() < 0.35
    assert (iso_8608_profile("B", 500, 0.1, seed=2)[1] == heights[2]).all()


def test_nodes_between_the_places_of_a_profile_are_interpolated() -> None:
    road = road_of(np.array([0.0, 0.25, 1.0]), np.array([0.0, 0.1, 0.4]), 3.0)
    assert isinstance(road, HeightField)
    assert road.size == (1.0, 3.0)
    np.testing.assert_allclose(road.heights[0], [0, 0.1, 0.2, 0.3, 0.4])


FAULTS = {
    "road = { profile = [[0, 0], [0, 1]] }": "ground[0].road.profile: has places that do not increase, at row 1; "
    "sort the rows by x",
    "road = { profile = [[0, 0], [0.3, 1], [1, 0]] }": "stations that are no multiples of their least distance, 0.3 m; "
    "give the spacing of the nodes",
    'road = { roughness = "I", length = 5 }': "ground[0].road.roughness: unknown class 'I'",
    'road = { roughness = "C" }': "a random road needs its length [m]; give length",
    'road = { roughness = "C", length = 1e9 }': "of them, 8388608 at most; enlarge it",
    'road = { roughness = "C", length = 0.1 }': "have no wave of the standard's range",
    "road = { profile = [[0, 0], [1, 0]], seed = 1 }": "seed is that of a random road; remove it",
    "road = { width = 2 }": "needs exactly one of profile, file, roughness, got none",
    'road = { file = "none.csv" }': "cannot be read, no such file or directory",
}


@pytest.mark.parametrize("ground", FAULTS)
def test_a_mistake_in_a_road_is_named(tmp_path: Path, ground: str) -> None:
    with pytest.raises(PysimError) as caught:
        push(tmp_path, 0, 0.3, ground)
    assert FAULTS[ground] in str(caught.value)


def test_a_tyre_on_ground_that_is_missing_or_moves_is_named(tmp_path: Path) -> None:
    place = {"xyz": "[0, 0, 0.3]", "rpy": "[0, 0, 0]"}
    with pytest.raises(PysimError, match=r"reads the ground, and the scene has none; add a \[\["):
        scene(tmp_path, WHEEL.format(keys='road = "ground"', **place))
    text = WHEEL.format(keys='road = "ground"\nat_a = { xyz = [0, 0, 1] }', **place)
    with pytest.raises(PysimError, match="is relative to a frame; leave out a and at_a"):
        scene(tmp_path, text + "[[ground]]\nplane = {}\n")
    with pytest.raises(PysimError, match="unknown road 'grund'; did you mean 'ground'"):
        scene(tmp_path, WHEEL.format(keys='road = "grund"', **place))
