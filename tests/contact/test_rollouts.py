"""Rollouts with contacts: scenes and models in packs, the same bits as alone, their controls, forces and failures.

Oracle: `pysim.simulate` of the same scene, bit for bit; balance of momentum; closed forms.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SimulationError
from tests.contact.scenes import GROUND, free, free_body, world
from tests.contact.test_convex_steps import steps

G = 9.81
BODIES = (
    free("box", "{ box = [0.2, 0.25, 0.15] }", 1.0, "{ xyz = [0, 0, 0.3], rpy = [0.2, 0.1, 0] }")
    + free("ball", "{ sphere = { radius = 0.1 } }", 0.5, "{ xyz = [0.05, 0, 0.6] }")
    + GROUND
)


def starts(
    scene: pysim.Scene, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Starts of worlds at different heights and velocities."""
    q = np.tile(scene.state.q, (count, 1))
    q[:, [2, 9]] += rng.uniform(-0.05, 0.2, (count, 1))
    return q, rng.normal(size=(count, scene.model.nv))


def block(tmp_path: Path, **changes) -> pysim.Scene:
    """A block of 2 kg at rest on the plane."""
    given: dict[str, Any] = {
        "shape": "{ box = [0.2, 0.2, 0.1] }",
        "mass": 2.0,
        "start": "{ xyz = [0, 0, 0.05] }",
        "surface": "friction = 0.5\nstiffness = 1e6",
        "every": 0.01,
    }
    return free_body(tmp_path, **(given | changes))


def test_worlds_of_a_scene_are_the_runs_of_simulate(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = world(tmp_path, BODIES, surface="friction = 0.6", duration=0.4, every=0.02)
    q0, v0 = starts(scene, rng, 11)
    run = pysim.rollout(scene, q0, v0, threads=2, contacts=True)
    assert run.failures == ("",) * 11
    assert run.contacts is not None
    for k in (0, 4, 10):
        state = pysim.State(q0[k], v0[k], scene.state.loop_q)
        alone = pysim.simulate(replace(scene, state=state))
        np.testing.assert_array_equal(run.t, alone.t)
        np.testing.assert_array_equal(run.q[k], alone.q)
        np.testing.assert_array_equal(run.v[k], alone.v)
        assert run.contacts.names == alone.names["contacts"]
        np.testing.assert_array_equal(run.contacts.force[k], alone.contact_forces)
        np.testing.assert_array_equal(run.contacts.impulse[k], alone.contact_impulses)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_smooth_contacts_act_from_the_first_row_on(tmp_path: Path, integrator: str) -> None:
    """Under smooth forces, unlike convex steps, a body that starts in the ground has a force at once."""
    ball = free("ball", "{ sphere = { radius = 0.1 } }", 0.5, "{ xyz = [0, 0, 0.0999] }") + GROUND
    scene = world(
        tmp_path,
        ball,
        surface="friction = 0.6\nstiffness = 1e4",
        duration=0.02,
        every=0.01,
        run=f'integrator = "{integrator}"',
    )
    run, alone = pysim.rollout(scene, contacts=True), pysim.simulate(scene)
    assert run.contacts is not None
    np.testing.assert_allclose(alone.contact_forces[0], [[0, 0, 0.5]], rtol=1e-9)
    np.testing.assert_array_equal(run.contacts.force, alone.contact_forces)
    np.testing.assert_array_equal(run.contacts.impulse, alone.contact_impulses)


def test_worlds_of_many_bodies_are_the_runs_of_simulate(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """More trees than packs hold: every world eliminates them in an order of its own."""
    pile = "".join(
        free(f"ball {k}", "{ sphere = { radius = 0.1 } }", 1.0,
             f"{{ xyz = [{0.02 * (k % 3)}, {0.21 * (k % 2)}, {0.1 + 0.21 * (k // 2)}] }}")
        for k in range(20)
    ) + GROUND  # fmt: skip
    scene = world(tmp_path, pile, surface="friction = 0.6", duration=0.2, every=0.05)
    q0 = np.tile(scene.state.q, (9, 1))
    v0 = rng.normal(size=(9, scene.model.nv))
    run = pysim.rollout(scene, q0, v0, contacts=True)
    assert run.contacts is not None
    between = [k for k, name in enumerate(run.contacts.names) if not name.startswith("world")]
    assert np.abs(run.contacts.impulse[..., between, :]).sum() > 1
    for k in (0, 8):
        alone = pysim.simulate(replace(scene, state=pysim.State(q0[k], v0[k], scene.state.loop_q)))
        np.testing.assert_array_equal(run.q[k], alone.q)
        np.testing.assert_array_equal(run.contacts.impulse[k], alone.contact_impulses)


def test_a_rollout_of_a_scene_continues_with_the_memory_of_contacts(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = world(tmp_path, BODIES, surface="friction = 0.6", duration=0.4, every=0.02)
    q0, v0 = starts(scene, rng, 9)
    whole = pysim.rollout(scene, q0, v0, steps=400, every=20)
    first = pysim.rollout(scene, q0, v0, steps=200, every=20)
    second = pysim.rollout(
        scene, first.q[:, -1], first.v[:, -1], steps=200, every=20, state=first.state
    )
    np.testing.assert_allclose(whole.q[:, 11:], second.q[:, 1:], atol=1e-9)
    np.testing.assert_allclose(whole.v[:, 11:], second.v[:, 1:], atol=1e-9)


def test_a_model_collides_with_the_ground_of_its_scene(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = world(tmp_path, BODIES, surface="friction = 0.6", duration=0.4, every=0.02)
    q0, v0 = starts(scene, rng, 11)
    q, v = pysim.rollout(scene.model, q0, v0, None, 1e-3, "convex", threads=2, steps=400, every=20)
    end_q, end_v, _ = steps(scene, q0, v0, 400)
    np.testing.assert_array_equal(q[:, -1], end_q)
    np.testing.assert_array_equal(v[:, -1], end_v)
    one_q, one_v = pysim.rollout(
        scene.model, q0[3], v0[3], None, 1e-3, "convex", steps=400, every=20
    )
    np.testing.assert_array_equal(one_q, q[3])
    np.testing.assert_array_equal(one_v, v[3])
    out = np.empty_like(q), np.empty_like(v)
    found = pysim.rollout(
        [scene.model] * 11, q0, v0, None, 1e-3, "convex", steps=400, every=20, out=out
    )
    assert found[0] is out[0]
    np.testing.assert_array_equal(out[1], v)


def test_controls_push_a_block_against_friction(tmp_path: Path) -> None:
    """A block stands below its friction of 9.81 N and accelerates with F/m − μ g above it."""
    model = block(tmp_path).model
    q0, v0 = block(tmp_path).state.q, np.zeros(6)
    forces = np.array([0.0, 5.0, 9.7, 9.9, 12.0, 20.0, -12.0, 30.0, 15.0])
    controls = np.zeros((len(forces), 500, 6))
    controls[:, 100:, 0] = forces[:, np.newaxis]
    q, v = pysim.rollout(model, q0, v0, controls, 1e-3, "convex", every=50)
    assert np.abs(v[:, 2]).max() < 1e-9  # without a push
    pulls = np.sign(forces) * np.maximum(np.abs(forces) - 0.5 * 2 * G, 0) / 2
    np.testing.assert_allclose(v[:, -1, 0], 0.4 * pulls, atol=3e-3)  # elastic sticking first
    assert np.abs(q[:3, -1, 0]).max() < 1e-4


def test_models_of_a_batch_have_masses_of_their_own(tmp_path: Path) -> None:
    scene = block(tmp_path)
    models = []
    for mass in (1.0, 2.0, 4.0, 8.0):
        theta = scene.model.parameters.copy()
        models.append(scene.model.with_parameters(theta * mass / 2.0))
    q0, v0 = scene.state.q, np.zeros(6)
    controls = np.zeros((4, 300, 6))
    controls[:, :, 0] = 30.0
    _, v = pysim.rollout(models, q0, v0, controls, 1e-3, "convex", every=100)
    expected = np.maximum(30.0 / np.array([1.0, 2, 4, 8]) - 0.5 * G, 0) * 0.3
    np.testing.assert_allclose(v[:, -1, 0], expected, rtol=5e-3, atol=1e-9)


def test_a_world_that_ends_early_leaves_the_others_as_they_were(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    scene = world(tmp_path, BODIES, surface="friction = 0.6", duration=0.4, every=0.02)
    q0, v0 = starts(scene, rng, 9)
    good = pysim.rollout(scene, q0, v0)
    bad = v0.copy()
    bad[4, 0] = 1e200  # overflows
    with pytest.warns(PysimWarning, match="1 of 9 worlds ended early, world 4"):
        run = pysim.rollout(scene, q0, bad)
    assert np.isnan(run.q[4, 1:]).all()
    assert run.failures[4]
    others = np.arange(9) != 4
    np.testing.assert_array_equal(run.q[others], good.q[others])
    settings = (None, 1e-3, "convex")
    q, _ = pysim.rollout(scene.model, q0, v0, *settings, steps=100, every=20)
    with pytest.warns(PysimWarning, match="world 4"):
        lost, _ = pysim.rollout(scene.model, q0, bad, *settings, steps=100, every=20)
    assert np.isnan(lost[4, 1:]).all()
    np.testing.assert_array_equal(lost[others], q[others])


def test_bad_arguments_of_rollouts_with_contacts_are_reported(tmp_path: Path) -> None:
    scene = block(tmp_path)
    model, q0, v0 = scene.model, scene.state.q, np.zeros(6)
    with pytest.raises(SimulationError) as caught:
        pysim.rollout(
            model, q0.astype(np.float32), v0.astype(np.float32), None, 1e-3, "convex", steps=1
        )
    assert str(caught.value) == "q0: 'convex' runs in double precision only; pass float64 arrays"
    with pytest.raises(ValueError, match="every must divide the number of steps, 10, got 3"):
        pysim.rollout(model, q0, v0, None, 1e-3, "convex", steps=10, every=3)
    shapes = r"controls must have shape \(10, 6\) or \(batch, 10, 6\), got \(10, 5\)"
    with pytest.raises(ValueError, match=shapes):
        pysim.rollout(model, q0, v0, np.zeros((10, 5)), 1e-3, "convex")
    with pytest.raises(ValueError, match=r"controls must be finite, got nan at \[0, 0\]"):
        pysim.rollout(model, q0, v0, np.full((10, 6), np.nan), 1e-3, "convex")
    with pytest.raises(
        SimulationError, match="contacts: applies to scenes only; pass the scene instead"
    ):
        pysim.rollout(model, q0, v0, None, 1e-3, steps=1, contacts=True)  # type: ignore[call-overload]
    pendulum = pysim.load_scene(Path(__file__).parents[2] / "scenes" / "pendulum.toml")
    with pytest.raises(SimulationError, match="contacts: 'rk4' has none to record; leave it out"):
        pysim.rollout(pendulum, contacts=True)


def test_contacts_of_scenes_with_other_pairs_are_recorded_apart(tmp_path: Path) -> None:
    scenes = []
    for name, more in (("a", ""), ("b", '[[exclude]]\nbetween = ["box", "ball"]\n')):
        (tmp_path / name).mkdir()
        scenes.append(
            world(tmp_path / name, BODIES + more, surface="friction = 0.6", duration=0.02)
        )
    with pytest.raises(SimulationError) as caught:
        pysim.rollout(scenes, contacts=True)
    expected = "scene[1]: has other pairs that touch than scene[0]; record it in a call of its own"
    assert str(caught.value) == expected
