"""A scene read once for many worlds. Oracle: `load_scene` of every world. The README's snippet runs as it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import SceneError

ROOT = Path(__file__).parents[1]
ANDREWS = ROOT / "scenes" / "andrews.toml"
ORDER = {
    "body.K1.mass": [0.04, 0.05, 0.06],
    "joint.theta.at.xyz": np.outer([6, 7, 8], [1e-3, 0, 0]),
}


def test_a_world_is_the_scene_that_load_scene_makes_of_its_values():
    scenes = pysim.load_scenes(ANDREWS, {**ORDER, "simulation.step": 2e-5})
    for k, scene in enumerate(scenes):
        own = {key: values[k] for key, values in ORDER.items()} | {"simulation.step": 2e-5}
        alone = pysim.load_scene(ANDREWS, own)
        np.testing.assert_array_equal(scene.model.parameters, alone.model.parameters)
        np.testing.assert_array_equal(scene.model.placements, alone.model.placements)
        np.testing.assert_array_equal(scene.state.q, alone.state.q)
        assert scene.settings == alone.settings
        assert scene.spec.overrides.keys() == alone.spec.overrides.keys()
    assert [scene.model.parameters[0, 0] for scene in scenes] == ORDER["body.K1.mass"]


def test_lists_of_other_lengths_in_other_worlds_are_values_too():
    scenes = pysim.load_scenes(ANDREWS, {"assembly.hold": [["theta"], ["theta", "beta"]]})
    assert len(scenes) == 2


def test_what_is_wrong_is_said_by_world_and_key():
    cases = {
        "world 2: --set body.K1.mass: must not be negative [kg], got -3.0": {
            "body.K1.mass": [1.0, 2.0, -3.0]
        },
        "overrides: simulation.step: has values for 1 worlds, but body.K1.mass for 2; give one for each world": {
            "body.K1.mass": [1.0, 2.0],
            "simulation.step": [1e-5],
        },
        "overrides: no value has one item for each world; give a list or an array of them, or use load_scene": {
            "body.K1.mass": 2.0
        },
        "overrides: body.K1.mass: has values for no world; give one for each world": {
            "body.K1.mass": []
        },
    }
    for message, overrides in cases.items():
        with pytest.raises(SceneError) as caught:
            pysim.load_scenes(ANDREWS, overrides)
        assert str(caught.value) == message


def test_a_list_of_tables_is_no_table_of_lists():
    with pytest.raises(SceneError, match="must map paths of keys to values, got list"):
        pysim.load_scenes(ANDREWS, [{"simulation.step": 1e-3}])


def test_the_snippet_of_the_readme_runs_as_it_stands(monkeypatch):
    chapter = (
        (ROOT / "README.md").read_text("utf-8").partition("### Other numbers in every world")[2]
    )
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    exec(chapter.partition("```python\n")[2].partition("```")[0], names)
    assert np.shape(names["q"]) == np.shape(names["v"]) == (64, 11, 7)
    assert np.isfinite(names["q"]).all()
