"""Adaptive runs with very many steps, and drives that end at a velocity limit.

Oracles: numbers of steps counted in the calls of the engine, and closed forms: a drive whose force falls linearly to 0
over the last β of the limit V against a load f rests at V (1 − β f/F).
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.diagnosis.adaptive_pace import PaceMonitor
from pysim.errors import PysimWarning
from tests.elements.blocks import FIXED, constant, disc, motor, scene_of, simulation
from tests.robots import robot_path

PANDA = [f"panda_joint{k}" for k in range(1, 8)]


class Counter:
    """Steps tried by the engine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps, after_call = 0, PaceMonitor.after_call

        def count(own: PaceMonitor, *call: Any) -> None:
            self.steps += call[3]
            after_call(own, *call)

        monkeypatch.setattr(PaceMonitor, "after_call", count)


def panda(
    folder: Path, amplitude: float, keys: str = "", rtol: float = 1e-6, duration: float = 1.0
) -> pysim.Scene:
    """The arm under sine torques of 1 Hz on its seven joints."""
    text = f'[[model]]\nfile = "{robot_path("panda")}"\n{keys}\n'
    for name in PANDA:
        text += f'[[actuator]]\njoint = "{name}"\namplitude = {amplitude}\nfrequency = 1.0\n'
    text += f'[simulation]\nintegrator = "dopri5"\nrtol = {rtol}\natol = {rtol}\nduration = {duration}\n'
    path = folder / "panda.toml"
    path.write_text(text, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        return pysim.load_scene(path)


def limited(band: float | None) -> str:
    """A disc with a velocity limit of 6 rad/s, driven by 3 N·m against 0.2 N·m·s/rad."""
    keys = (
        "velocity_limit = 6.0" if band is None else f"velocity_limit = 6.0\nvelocity_band = {band}"
    )
    text = disc(0.1, 0.2).replace('child = "disc"', f'child = "disc"\n{keys}')
    return text + constant("torque", 3.0, "N·m") + motor("torque")


@pytest.mark.parametrize("amplitude", [5.0, 10.0, 12.0, 50.0])
def test_imported_velocity_limits_do_not_shorten_steps(tmp_path, monkeypatch, amplitude):
    counter = Counter(monkeypatch)
    scene = panda(tmp_path, amplitude)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        run = pysim.simulate(scene)
    assert run.t[-1] == 1.0
    assert counter.steps <= 5000


def test_a_urdf_limit_has_a_band_that_a_scene_can_set(tmp_path):
    assert band_of(panda(tmp_path, 1.0)) == 0.05
    own = panda(tmp_path, 1.0, "[model.joint.panda_joint1]\nvelocity_band = 0.2")
    assert band_of(own) == 0.2


def band_of(scene: pysim.Scene) -> float | None:
    """The band of the first joint of the arm."""
    joint = next(joint for joint in scene.spec.model.joints if joint.name == PANDA[0])
    return joint.velocity_band


@pytest.mark.parametrize("band", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("integrator", [*FIXED, "dopri5", "convex"])
def test_the_drive_falls_linearly_over_the_band(tmp_path, band, integrator):
    """At rest of the speed: 3 (6 − v)/(6 β) = 0.2 v."""
    if integrator.startswith("variational"):
        pytest.skip("takes no dissipation of this kind")
    keys = {"duration": 4.0, "step": 1e-3} if integrator != "dopri5" else {"duration": 4.0}
    run = pysim.simulate(scene_of(tmp_path, limited(band) + simulation(integrator, **keys)))
    speed = 3.0 / (0.2 * band + 3.0 / 6.0)
    np.testing.assert_allclose(run.v[-1, 0], speed, rtol=1e-3)


def test_the_drive_is_whole_below_the_band_and_never_reversed_above(tmp_path):
    scene = scene_of(tmp_path, limited(0.1) + simulation("rk4"))
    found = [scene_force(scene, v) for v in (0.0, 5.39, 5.7, 6.0, 8.0, -8.0)]
    np.testing.assert_allclose(found, [3.0, 3.0, 1.5, 0.0, 0.0, 3.0], atol=1e-12)


def scene_force(scene: pysim.Scene, v: float) -> float:
    """The effort of the motor at a speed."""
    run = pysim.rollout(
        scene, [[0.0]], [[v]], steps=1, every=1, step=1e-6, signals=["effort.hinge"]
    )
    return float(run.signals["effort.hinge"][0, 0])


@pytest.mark.parametrize(
    ("band", "word"), [("0", "greater than 0"), ("1.5", "less than or equal to 1")]
)
def test_a_band_outside_the_limit_is_rejected(tmp_path, band, word):
    with pytest.raises(pysim.SceneError, match="velocity_band") as error:
        scene_of(
            tmp_path,
            limited(0.1).replace("velocity_band = 0.1", f"velocity_band = {band}") + simulation(),
        )
    assert word in str(error.value) or "must be" in str(error.value)


def test_very_many_steps_are_warned_of_with_the_velocity_limit(tmp_path):
    bands = "".join(f"[model.joint.{name}]\nvelocity_band = 1e-6\n" for name in PANDA)
    scene = panda(tmp_path, 10.0, bands, duration=0.15)
    with pytest.warns(PysimWarning) as caught:
        pysim.simulate(scene)
    (text,) = [str(w.message) for w in caught if "steps from t" in str(w.message)]
    assert "'dopri5' made " in text
    assert "more than 1e+05 a second: the force of the actuators on 'panda_joint" in text
    assert "widen its velocity_band" in text


def test_very_many_steps_are_warned_of_with_what_is_stiff(tmp_path):
    text = disc(0.1, v=0.1).replace(
        'child = "disc"', 'child = "disc"\nfriction = 1.0\nfriction_width = 1e-5'
    )
    with pytest.warns(PysimWarning) as caught:
        pysim.simulate(scene_of(tmp_path, text + simulation("dopri5", duration=0.1)))
    (found,) = [str(w.message) for w in caught if "steps from t" in str(w.message)]
    assert "'hinge' decays at" in found


def test_runs_of_few_steps_are_not_warned_of(tmp_path):
    scene = scene_of(tmp_path, limited(0.05) + simulation("dopri5", duration=2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PysimWarning)
        pysim.simulate(scene)


def test_a_rollout_warns_once_of_worlds_with_very_many_steps(tmp_path):
    scene = scene_of(tmp_path, limited(1e-6) + simulation("dopri5", duration=0.3))
    with pytest.warns(PysimWarning) as caught:
        pysim.rollout(scene, np.zeros((3, 1)), np.zeros((3, 1)))
    (text,) = [str(w.message) for w in caught if "steps from t" in str(w.message)]
    assert "rollout: world 0 of 3 such worlds" in text
    assert "on 'hinge' falls to 0 within 6e-06 rad/s of its velocity_limit of 6 rad/s" in text
