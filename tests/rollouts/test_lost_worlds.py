"""Rollouts that go on with lost worlds or make no steps, and consent to run code. Oracle: the other worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from tests.elements.blocks import disc, motor, scene_of, simulation, table


def driven(folder: Path, integrator: str) -> pysim.Scene:
    text = disc() + table("signal", name="u", type="input", unit="N·m")
    text += table("controller", name="slow", type="low_pass", inputs=["u"], time_constant=0.1)
    return scene_of(folder, text + motor("slow") + simulation(integrator))


@pytest.mark.parametrize("integrator", ["rk4", "implicit_midpoint", "convex", "dopri5"])
def test_a_lost_world_stays_lost_and_the_others_go_on(tmp_path: Path, integrator: str) -> None:
    scene = driven(tmp_path, integrator)
    q = np.array([[0.1], [0.2], [0.3]])
    u = np.random.default_rng(3).normal(size=(3, 10, 1))
    first = pysim.rollout(scene, q, 0 * q, u)
    q1, v1, state = first.q[:, -1].copy(), first.v[:, -1].copy(), first.state
    whole = pysim.rollout(scene, q1, v1, u, state=state, signals=["slow"])
    q1[1], v1[1] = np.nan, np.nan
    lost = pysim.rollout(scene, q1, v1, u, state=state, signals=["slow"])
    for k in (0, 2):
        np.testing.assert_array_equal(lost.q[k], whole.q[k])
        np.testing.assert_array_equal(lost.signals["slow"][k], whole.signals["slow"][k])
    assert np.isnan(lost.q[1]).all()
    assert np.isnan(lost.v[1]).all()
    assert np.isnan(lost.signals["slow"][1]).all()
    assert lost.failures[1] == "it ended before this rollout"
    again = pysim.rollout(scene, lost.q[:, -1], lost.v[:, -1], u, state=lost.state)
    assert np.isfinite(again.q[[0, 2]]).all()
    assert np.isnan(again.q[1]).all()


def test_a_start_that_is_nan_is_rejected_where_nothing_goes_on(tmp_path: Path) -> None:
    scene = driven(tmp_path, "rk4")
    with pytest.raises(ValueError, match="q0 must be finite"):
        pysim.rollout(scene, np.array([[0.1], [np.nan]]), np.zeros((2, 1)))


@pytest.mark.parametrize("integrator", ["rk4", "convex"])
@pytest.mark.parametrize("shape", [(2, 0, 1), (0, 1)])
def test_no_steps_give_the_start(tmp_path: Path, integrator: str, shape: tuple[int, ...]) -> None:
    scene = driven(tmp_path, integrator)
    q = np.array([[0.1], [0.2]])
    run = pysim.rollout(scene, q, q, np.zeros(shape), steps=0, signals=["slow"])
    np.testing.assert_array_equal(run.q[:, 0], q)
    assert run.t.tolist() == [0.0]
    assert run.signals["slow"].shape == (2, 1)
    after = pysim.rollout(scene, q, q, np.zeros(shape), steps=0, state=run.state)
    np.testing.assert_array_equal(after.q, run.q)


@pytest.mark.parametrize("consent", [{"simulation.step": 1e-3}, {}, "yes", 1, None, [True]])
def test_a_consent_that_is_no_truth_value_is_rejected(tmp_path: Path, consent: Any) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(disc() + simulation("rk4"), "utf-8")
    for load in (
        lambda: pysim.load_scenes(file, {"body.disc.mass": [1.0, 2.0]}, consent),
        lambda: pysim.load_scene(file, {}, consent),
        lambda: pysim.load_model(file, allow_code=consent),
    ):
        with pytest.raises(pysim.SceneError, match="allow_code: must be true or false, got"):
            load()


LIMITING: dict[str, dict[str, Any]] = {
    "saturation": {"lower": -2.0, "upper": 5.0},
    "dead_zone": {"lower": -1.0, "upper": 1.0},
    "rate_limiter": {"rising": 1.0},
    "lookup": {"x": [0.0, 1.0, 2.0], "values": [1.0, 2.0, 3.0], "unit": "N·m"},
}


@pytest.mark.parametrize("integrator", ["rk4", "convex", "semi_implicit", "generalized_alpha"])
@pytest.mark.parametrize("kind", [*LIMITING, "previous"])
def test_a_world_whose_input_is_nan_is_lost_behind_a_limit(
    tmp_path: Path, kind: str, integrator: str
) -> None:
    keys: dict[str, Any] = dict(LIMITING["lookup" if kind == "previous" else kind])
    keys |= {"interpolation": "previous"} if kind == "previous" else {}
    text = disc() + table("signal", name="u", type="input", unit="N·m")
    block = "lookup" if kind == "previous" else kind
    text += table("controller", name="limit", type=block, inputs=["u"], **keys)
    worlds = pysim.Worlds(scene_of(tmp_path, text + motor("limit") + simulation(integrator)), 3)
    worlds.inputs["u"][1] = np.nan
    with pytest.warns(pysim.PysimWarning, match="world 1"):
        worlds.step(steps=3)
    np.testing.assert_array_equal(worlds.lost, [False, True, False])
