"""Pieces of a sweep in which worlds cannot be loaded. Oracle: `load_scene` of every world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pysim
from pysim.scene.toml import reader, world_specs
from pysim.sweeps.pieces import PieceRunner

if TYPE_CHECKING:
    import pytest

SPRING = Path(__file__).parents[2] / "scenes" / "spring.toml"
KEY = "body[0].shape.density"


def test_worlds_beside_one_that_fails_are_loaded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 worlds only the first and the two that fail are read in full."""
    read, full = reader.read_tables, []

    def counting(*given: Any) -> Any:
        full.append(given)
        return read(*given)

    monkeypatch.setattr(world_specs, "read_tables", counting)
    runner = PieceRunner(str(SPRING), {}, [], [], 1, allow_code=False)
    density = np.linspace(200.0, 300.0, 64)
    density[[5, 40]] = -1.0
    scenes, failures = runner._load({KEY: density})
    assert len(full) == 3
    for value, scene, failure in zip(density.tolist(), scenes, failures, strict=True):
        if value < 0:
            assert scene is None
            assert failure == f"{KEY}: must be positive [kg/m³], got -1.0"
            continue
        assert scene is not None
        assert failure == ""
        expected = pysim.load_scene(SPRING, {KEY: value}).model.parameters
        np.testing.assert_array_equal(scene.model.parameters, expected)


def test_a_list_that_holds_in_all_worlds_is_no_value_of_each(tmp_path: Path) -> None:
    """A ball joint has three numbers for its damping, or one; here there are as many worlds."""
    builder = pysim.SceneBuilder("ball")
    builder.body("bob", mass=1.0, com=[0, 0, -1])
    builder.joint("ball", "ball", child="bob", armature=0.1)
    path, damping = builder.save(tmp_path / "ball.toml"), [0.1, 0.2, 0.3]
    runner = PieceRunner(str(path), {"joint.ball.damping": damping}, [], [], 1, allow_code=False)
    scenes, failures = runner._load({"body.bob.mass": np.array([1.0, 1.5, 2.0])})
    assert failures == [""] * 3
    assert [scene and scene.model.joints[0].damping.tolist() for scene in scenes] == [damping] * 3
