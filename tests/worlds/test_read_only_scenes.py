"""Arrays of scenes and models that cannot be written. Oracle: the run before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim.mechanism.model import State
from tests.scene_runs import SCENES, load_own_scene


@pytest.mark.parametrize("name", ["four_bar", "servo_pid", "quadruped"])
def test_no_array_of_a_scene_can_be_written(name: str) -> None:
    scene = load_own_scene(name)
    arrays = {
        "gravity": scene.model.gravity,
        "q": scene.state.q,
        "v": scene.state.v,
        "loop_q": scene.state.loop_q,
        "pose": scene.model.bodies[0].geometries[0].pose,
        "theta": scene.model.bodies[0].theta,
        "start": scene.model.joints[0].start_q,
        **{
            key: getattr(scene.actuation, key)
            for key in ("offset", "amplitude", "frequency", "phase")
        },
        **{f"at {block.name}": block.at for block in scene.spec.blocks},
    }
    for key, array in arrays.items():
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.5
            assert not array.flags.writeable, key


def test_a_scene_with_another_state_owns_it() -> None:
    scene = pysim.load_scene(SCENES / "pendulum.toml")
    q = np.array([0.3])
    other = replace(scene, state=State(q, np.zeros(1)))
    q[0] = 9.0
    assert other.state.q[0] == 0.3
    np.testing.assert_array_equal(pysim.simulate(scene).q[0], scene.state.q)


def test_copies_can_be_written() -> None:
    scene = pysim.load_scene(SCENES / "four_bar.toml")
    q, loop_q = scene.state.q.copy(), scene.state.loop_q.copy()
    q[0], loop_q[0] = 0.1, 0.2
    theta = scene.model.parameters
    theta[0] *= 2
    assert scene.model.with_parameters(theta).parameters[0, 0] == 2 * scene.model.parameters[0, 0]
