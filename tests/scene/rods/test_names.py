"""Names of bars, frames and pairs of rods, and attached rods. Oracles: counts and places by hand."""

from __future__ import annotations

import numpy as np
import pytest

import pysim
from tests.function_calls import function_calls

RUBBER = {"young": 1e6, "density": 1000}


def scene_with(**keys):
    builder = pysim.SceneBuilder("cable", gravity=[0, 0, -9.81])
    rod = {"length": 1.0, "section": {"circle": 0.02}, "material": RUBBER, "bars": 10}
    given = {**rod, **keys}
    builder.rod("cable", **{key: value for key, value in given.items() if value is not None})
    return builder


def test_bars_hinges_and_the_end_have_names_by_number():
    model = scene_with().build().model
    bars = [*(f"cable/{k}" for k in range(10)), "cable/end"]
    assert list(model.body_names) == list(model.joint_names) == bars


def test_frames_along_a_rod_are_on_its_stress_free_shape():
    R = 0.5
    angles = np.linspace(0, np.pi / 2, 9)
    path = [[R * np.sin(x), R * (1 - np.cos(x)), 0.0] for x in angles]
    builder = scene_with(length=None, path=path, at_a={"xyz": [0, 0, 1]})
    for s in (0.1, 0.4, 0.7):
        builder.sensor(f"at {s}", "pose", frame={"rod": "cable", "s": s})
    model = builder.build().model
    for s in (0.1, 0.4, 0.7):
        X = pysim.frame_placement(model, model.neutral(), f"cable@{s}")
        a = s / R
        np.testing.assert_allclose(X[:3, 3], [R * np.sin(a), R * (1 - np.cos(a)), 1], atol=2e-4)
        np.testing.assert_allclose(X[:3, 0], [np.cos(a), np.sin(a), 0], atol=2e-3)
        np.testing.assert_allclose(X[:3, 2], [0, 0, 1], atol=1e-12)


def test_the_name_of_a_rod_stands_for_its_bars_in_contacts():
    builder = scene_with(collision=True, ends=["free", "free"])
    builder.ground()
    builder.body("post", mass=0.0, shape={"sphere": {"radius": 0.1}}, collision=True)
    builder.joint("post", "fixed", child="post", at={"xyz": [0, 0, -1]})
    builder.contact("cable", "post", friction=0.3)
    builder.exclude("world", "cable")
    contacts = builder.build().spec.model.contacts
    assert [pair.between for pair in contacts.pairs] == [(f"cable/{k}", "post") for k in range(10)]
    assert {("world", f"cable/{k}") for k in range(10)} <= set(contacts.excluded)
    near = {("cable/3", "cable/4"), ("cable/0", "cable/1")}
    assert near <= set(contacts.excluded)
    assert ("cable/0", "cable/5") not in contacts.excluded


def test_a_rod_of_an_attached_scene_keeps_its_parts(tmp_path):
    scene_with(start="equilibrium").save(tmp_path / "cable.toml")
    builder = pysim.SceneBuilder("two", folder=tmp_path, gravity=[0, 0, -9.81])
    builder.model("cable.toml", name="left")
    builder.model("cable.toml", name="right", at={"xyz": [0, 1, 0]})
    scene = builder.build()
    assert [rod.name for rod in scene.spec.model.rods] == ["left/cable", "right/cable"]
    assert scene.spec.model.rods[1].bars[0] == "right/cable/0"
    found = pysim.equilibrium(scene)
    np.testing.assert_allclose(found.q, scene.state.q, atol=1e-8)


def test_loading_a_rod_is_linear_in_the_number_of_bars():
    scene_with().build()  # imports
    short, long = (function_calls(scene_with(bars=bars).build) for bars in (100, 400))
    assert short < 1000 * 100
    assert long < 4 * short


@pytest.mark.parametrize("near", ["clamped", "ball"])
def test_a_rod_begins_at_a_frame_of_a_body_that_moves(near):
    builder = scene_with(a="hand", at_a={"xyz": [0, 0, 0.2]}, ends=[near, "free"])
    builder.body("arm", mass=1.0, inertia={"xx": 1, "yy": 1, "zz": 1})
    builder.joint("arm", "revolute", child="arm", axis=[0, 0, 1], start=0.5)
    builder.frame("hand", "arm", at={"xyz": [1, 0, 0]})
    scene = builder.build()
    place = pysim.frame_placement(scene.model, scene.state.q, "cable/0")[:3, 3]
    np.testing.assert_allclose(place, [np.cos(0.5), np.sin(0.5), 0.2], atol=1e-12)
