"""Gradients of losses that read signals of the scene.

Oracle: the best of central differences of sixth order, of five sizes, of signals that `Worlds` returns after the
engine's own steps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from tests.analysis.test_gradients import (
    BOX,
    HOPPER,
    SHARES,
    SIZES,
    SMOOTH,
    WEIGHTS,
    error,
    scene_of,
)
from tests.analysis.test_sampled_gradients import ARM, JOINTS
from tests.elements.blocks import table

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
FRAMES = {"frame": "shank", "relative_to": "trunk"}
SPRUNG = HOPPER.replace("friction = 0.05\n", "friction = 0.05\nstiffness = 1.5\nrest = 0.1\n")
SENSORS = (
    table("sensor", name="foot", type="pose", **FRAMES)
    + table("sensor", name="rate", type="twist", frame="trunk")
    + table("sensor", name="upright", type="up", frame="trunk")
    + table(
        "sensor",
        name="rope",
        type="distance",
        path=[{"body": "world", "point": [0.3, 0.1, 0.9]}, {"body": "thigh", "point": [0, 0, 0.1]}],
    )
    + table("sensor", name="stored", type="energy", element="knee")
    + table(
        "controller",
        name="lag",
        type="low_pass",
        inputs=["rope.length"],
        time_constant=0.02,
    )
    + table("controller", name="scaled", type="gain", inputs=["torque"], gain=3.0, offset=0.2)
)
NAMES = (
    "foot.position",
    "foot.orientation",
    "rate.velocity",
    "upright",
    "rope.length",
    "lag",
    "scaled",
)


class SignalRollout:
    """A weighted sum of signals after every step, of any start, controls and scene."""

    def __init__(
        self, scene: pysim.Scene, names: tuple[str, ...], q: Array, v: Array, controls: Array
    ) -> None:
        self.scene, self.names, self.q, self.v, self.controls = scene, names, q, v, controls
        self.steps = controls.shape[1]
        self.worlds = self.at(q[None], v[None])
        rng = np.random.default_rng(1)
        self.weights = {
            name: rng.normal(size=(self.steps, *self.worlds.signals[name].shape[1:]))
            for name in names
        }
        self.reference: dict[str, Array] = {}
        self.reference = self.rows(self.at(q[None], v[None]), controls)

    def at(self, q: Array, v: Array) -> pysim.Worlds:
        worlds = pysim.Worlds(self.scene, len(q), numbers=[0] * len(q))  # of equal noise
        worlds.step(steps=1)  # writing parameters does not begin again
        worlds.q[:], worlds.v[:] = q, v
        return worlds

    def rows(self, worlds: pysim.Worlds, controls: Array) -> dict[str, Array]:
        rows: dict[str, list[Array]] = {name: [] for name in self.names}
        for n in range(self.steps):
            worlds.step(steps=1, controls=controls[:, n : n + 1])
            for name in self.names:
                rows[name].append(worlds.signals[name].copy())
        return {name: np.stack(own, axis=1) for name, own in rows.items()}

    def values(self, worlds: pysim.Worlds, controls: Array) -> Array:
        """Losses relative to the one at the start, so that nothing cancels."""
        rows = self.rows(worlds, controls)
        return np.asarray(
            sum(
                np.tensordot(own - self.reference[name], weight, weight.ndim)
                for (name, weight), own in zip(self.weights.items(), rows.values(), strict=True)
            )
        )

    def loss(self, q: Array, v: Array, signals: dict[str, Array]) -> tuple[Any, ...]:
        assert signals.keys() == self.weights.keys()
        by = {
            name: np.broadcast_to(weight, signals[name].shape)
            for name, weight in self.weights.items()
        }
        value = sum(
            np.tensordot(own, self.weights[name], own.ndim - 1) for name, own in signals.items()
        )
        return value, np.zeros_like(q), np.zeros_like(v), by

    def gradient(self, **keys: Any) -> Any:
        return pysim.gradient(
            self.worlds, self.controls, loss=self.loss, signals=self.names, **keys
        )

    def differences(self, moved: list[tuple[Array, Array, Array]], size: float) -> Array:
        q, v, controls = (np.array(x) for x in zip(*moved, strict=True))
        values = self.values(self.at(q, v), controls).reshape(-1, len(WEIGHTS))
        return np.asarray(values @ np.array(list(WEIGHTS.values())) / (60 * size))

    def by_start(self) -> list[Array]:
        nv, model = self.scene.model.nv, self.scene.model
        return [
            self.differences(
                [
                    (
                        model.integrate(self.q, k * size * unit[:nv]),
                        self.v + k * size * unit[nv:],
                        self.controls[0],
                    )
                    for unit in np.eye(2 * nv)
                    for k in WEIGHTS
                ],
                size,
            )
            for size in SIZES
        ]

    def by_controls(self) -> list[Array]:
        shape = self.controls[0].shape
        return [
            self.differences(
                [
                    (self.q, self.v, self.controls[0] + k * size * unit.reshape(shape))
                    for unit in np.eye(self.controls.size)
                    for k in WEIGHTS
                ],
                size,
            )
            for size in SIZES
        ]

    def by_parameter(self, path: str) -> list[Array]:
        """Differences by the first number of a parameter."""
        count = len(WEIGHTS) * len(SHARES)
        worlds = self.at(*(np.tile(x, (count, 1)) for x in (self.q, self.v)))
        own = worlds.parameters[path].reshape(count, -1)[:, 0]
        at = float(own[0]) or 1.0
        own += at * np.outer(SHARES, list(WEIGHTS)).ravel()
        values = self.values(worlds, np.repeat(self.controls, count, axis=0))
        weights = np.array(list(WEIGHTS.values()))
        return list((values.reshape(len(SHARES), -1) @ weights / 60 / SHARES / at)[:, None])

    def check_parameters(self, paths: list[str]) -> Any:
        """Compare the gradient by the first number of every parameter with differences, and return it."""
        found = self.gradient(by=paths)
        for path in paths:
            derivative = np.ravel(found.parameters[path][0])[:1]
            assert error(derivative, self.by_parameter(path)) < SMOOTH, path
        return found


def hopper(folder: Path, steps: int, names: tuple[str, ...] = NAMES) -> SignalRollout:
    """Return a hopper that lands, whose knee follows an input."""
    scene = scene_of(folder, SPRUNG + SENSORS, passes=1)
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.2, scene.model.nv))
    q[2], v = 0.42, rng.normal(0, 0.4, scene.model.nv)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, steps, 1))
    return SignalRollout(scene, names, q, v, controls)


def test_losses_of_signals_have_the_gradient_of_differences(tmp_path: Path) -> None:
    """Signals of positions, velocities, paths, states of elements and inputs."""
    rollout = hopper(tmp_path, 12)
    found = rollout.gradient()
    by_start = np.concatenate([found.q[0], found.v[0]])
    assert error(by_start, rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


def test_steps_that_are_made_again_change_no_bit_of_a_loss_of_signals(tmp_path: Path) -> None:
    rollout = hopper(tmp_path, 12)
    whole, parts = rollout.gradient(), rollout.gradient(memory=0)
    assert np.array_equal(whole.q, parts.q)
    assert np.array_equal(whole.controls, parts.controls)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("body.shank.mass", "foot.position"),
        ("joint.knee.stiffness", "stored"),  # which the signal reads itself
        ("controller.scaled.gain", "scaled"),
        ("controller.lag.time_constant", "lag"),
    ],
)
def test_a_loss_of_signals_has_the_gradient_by_a_parameter(
    path: str, name: str, tmp_path: Path
) -> None:
    rollout = hopper(tmp_path, 8, (name,))
    rollout.check_parameters([path])


def test_masses_act_on_signals_of_inverse_dynamics(tmp_path: Path) -> None:
    """Torques that hold the arm, which nothing applies."""
    text = ARM + table("controller", name="weight", type="gravity_compensation")
    scene = scene_of(tmp_path, text, passes=1)
    q, v = scene.state.q, np.array([0.3, -0.5])
    rollout = SignalRollout(scene, ("weight",), q, v, np.zeros((1, 4, 2)))
    found = rollout.check_parameters(["body.lower.mass"])
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("period", [4e-3, 0.7e-3])
def test_held_outputs_of_sampled_blocks_have_the_gradient_of_differences(
    period: float, tmp_path: Path
) -> None:
    keys = {"period": period}
    read = {"type": "coordinates", "coordinates": JOINTS}
    text = ARM + table("sensor", name="read", **read, **keys)
    text += table(
        "controller",
        name="pd",
        type="pd",
        inputs=["target", "read.q", "read.v"],
        kp=[30.0, 12.0],
        kd=[1.5, 0.4],
        **keys,
    )
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="pd")
    scene = scene_of(tmp_path, text, passes=1)
    controls = np.random.default_rng(2).normal(0, 0.2, (1, 9, 2))
    rollout = SignalRollout(scene, ("pd", "read.q"), scene.state.q, np.array([0.3, -0.5]), controls)
    found = rollout.gradient()
    assert error(np.concatenate([found.q[0], found.v[0]]), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


def test_the_name_of_a_signal_is_a_loss_of_its_last_value(tmp_path: Path) -> None:
    """Oracle: the same by a function."""
    rollout = hopper(tmp_path, 8, ("upright",))
    place = (
        rollout.worlds.signals.find("upright.z").first
        - rollout.worlds.signals.find("upright").first
    )

    def last(q: Array, v: Array, signals: dict[str, Array]) -> tuple[Any, ...]:
        by = np.zeros_like(signals["upright"])
        by[:, -1, place] = 1.0
        return signals["upright"][:, -1, place], 0 * q, 0 * v, {"upright": by}

    worlds, controls = rollout.worlds, rollout.controls
    own = pysim.gradient(worlds, controls, loss=last, signals=["upright"])
    named = pysim.gradient(worlds, controls, loss="upright.z")
    assert np.array_equal(named.q, own.q)
    assert np.array_equal(named.loss, own.loss)
    assert np.abs(own.v).max() > 1e-3
    alone = pysim.Worlds(rollout.scene)
    alone.step(steps=1)
    alone.q[:], alone.v[:] = rollout.q, rollout.v
    one = pysim.gradient(alone, controls[0], loss="upright.z")
    assert one.loss == named.loss[0]
    assert np.array_equal(one.v, named.v[0])


def test_a_world_has_the_same_bits_alone_and_among_others(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, SPRUNG + SENSORS)
    v = np.random.default_rng(5).normal(0, 0.4, (9, scene.model.nv))
    found = []
    for count in (1, 9):
        worlds = pysim.Worlds(scene, count)
        worlds.v[:] = v[:count]
        before = worlds.save()
        found.append(pysim.gradient(worlds, steps=6, loss="lag"))
        assert worlds.save() == before
    assert found[0].loss[0] == found[1].loss[0]
    assert np.array_equal(found[0].q[0], found[1].q[0])
    assert np.array_equal(found[0].v[0], found[1].v[0])


def test_signals_that_are_lists_or_unknown_are_refused_with_their_names(tmp_path: Path) -> None:
    text = BOX + table("sensor", name="eye", type="pose", frame="box")
    worlds = pysim.Worlds(scene_of(tmp_path, text), 1)
    with pytest.raises(pysim.SimulationError, match=r"3 numbers; give .* 'eye\.position\.x'"):
        pysim.gradient(worlds, steps=1, loss="eye.position")
    with pytest.raises(pysim.SimulationError, match="no such signal"):
        pysim.gradient(worlds, steps=1, loss="ear")
    with pytest.raises(pysim.SimulationError, match="not read by the loss 'eye"):
        pysim.gradient(worlds, steps=1, loss="eye.position.x", signals=["eye.position"])


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        ({}, "by signals must be a dictionary of 'rate'"),
        ({"rate": np.zeros((1, 3, 2))}, r"by 'rate' must have shape \(1, 3, 3\)"),
        (None, r"\(losses, by q, by v, by signals\), got 3 values"),
    ],
)
def test_wrong_derivatives_of_losses_are_reported(
    by: dict[str, Array] | None, problem: str, tmp_path: Path
) -> None:
    text = BOX + table("sensor", name="rate", type="up", frame="box")
    worlds = pysim.Worlds(scene_of(tmp_path, text), 1)

    def loss(q: Array, v: Array, signals: dict[str, Array]) -> tuple[Any, ...]:
        return (np.zeros(1), 0 * q, 0 * v, by)[: 3 if by is None else 4]

    with pytest.raises(pysim.SimulationError, match=problem):
        pysim.gradient(worlds, steps=3, loss=loss, signals=["rate"])
