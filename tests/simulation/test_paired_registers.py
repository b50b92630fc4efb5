"""Rollouts that take two registers of worlds at a time: motion in planes, plugins. Oracle: every world alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning
from pysim.integrators import BUILTIN
from pysim.loops import project
from pysim.scene import read_scene
from pysim.typing import Array
from pysim.worlds.loading import compile_model, compile_scene
from tests.loops.mechanisms import many_four_bars
from tests.oracles.mechanisms import spring
from tests.oracles.model_variations import Variation
from tests.oracles.planar import hinge_loop, planar_tree
from tests.oracles.single_rollouts import assert_same, rolled_alone
from tests.oracles.tree import Tree

SCENES = Path(__file__).parents[2] / "scenes"
SCHEMES = [name for name, kind in BUILTIN.items() if not (kind.adaptive or kind.contacts)]
WORLDS = 31  # packs of two registers, of one, and worlds alone, under any instruction set
STEP = 1e-3  # [s]


def linkage(rng: np.random.Generator) -> tuple[Any, Array]:
    """Two loops on a branching tree, all joints with forces of their own, a spring and a damper."""
    normal = rng.normal(size=3)
    kinds = ("revolute", "revolute", "prismatic", "revolute", "planar", "revolute", "prismatic")
    spec = planar_tree(rng, kinds, normal=normal)
    spec = replace(
        spec,
        joints=tuple(
            replace(
                j,
                damping=rng.uniform(0, 1, j.damping.size),
                friction=rng.uniform(0, 1, j.damping.size),
                stiffness=rng.uniform(0, 9, j.damping.size),
                upper=rng.uniform(0, 1, j.damping.size),
                stop_stiffness=np.full(j.damping.size, 50.0),
            )
            for j in spec.joints
        ),
        forces=(spring("pull", "body6", "world", rng.normal(size=3), np.zeros(3), 40.0, 0.3, 2.0),),
    )
    q = rng.uniform(-1, 1, Tree(spec).own_nq)
    loops = [
        hinge_loop(rng, spec, q, a, b, normal) for a, b in (("body6", "body2"), ("body5", "world"))
    ]
    return compile_model(replace(spec, loops=tuple(loops))), q


def tree_in_a_plane(rng: np.random.Generator) -> tuple[Any, Array]:
    kinds = ("revolute", "planar", "revolute", "prismatic", "revolute")
    model = compile_model(planar_tree(rng, kinds))
    return model, model.random_configuration(rng)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mechanism", [linkage, tree_in_a_plane])
def test_a_world_gets_the_bits_that_it_gets_alone(
    mechanism: Any, scheme: str, rng: Any, isa: str
) -> None:
    model, q = mechanism(rng)
    assert model.planar_tree
    assert model.planar_loops == (mechanism is linkage)
    near = [model.integrate(q, 0.02 * x) for x in rng.normal(size=(WORLDS, model.nv))]
    start = project(model, np.array(near), rng.normal(size=(WORLDS, model.nv)))
    controls = rng.normal(size=(WORLDS, 6, model.nv))

    together = pysim.rollout(model, start.q, start.v, controls, STEP, scheme)

    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(WORLDS * [model], start.q, start.v, controls, STEP, scheme))
    order = rng.permutation(WORLDS)
    q, v, u = (x[order] for x in (start.q, start.v, controls))
    mixed = pysim.rollout(model, q, v, u, STEP, scheme, threads=2)
    for part, whole in zip(mixed, together, strict=True):
        np.testing.assert_array_equal(part, whole[order])


@pytest.mark.parametrize("scheme", ["rk4", "variational", "generalized_alpha"])
@pytest.mark.parametrize("name", ["knee", "cam", "ellipsoid_joint"])
def test_programs_of_plugins_run_on_two_registers_too(
    name: str, scheme: str, rng: Any, isa: str
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml", allow_code=True)
    model, q = scene.model, scene.state.q
    assert any("program" in motion for motion in model.joint_motions)
    v0 = scene.state.v + 0.1 * rng.normal(size=(WORLDS, model.nv))
    q0 = np.array([model.integrate(q, 0.1 * x) for x in v0])
    controls = 0.01 * rng.normal(size=(WORLDS, 4, model.nv))

    together = pysim.rollout(model, q0, v0, controls, STEP, scheme)

    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(WORLDS * [model], q0, v0, controls, STEP, scheme))


@pytest.mark.parametrize("scheme", ["rk4", "variational", "generalized_alpha"])
def test_a_world_with_a_model_of_its_own_gets_the_bits_that_it_gets_alone(
    scheme: str, rng: Any, isa: str
) -> None:
    spec = read_scene(SCENES / "andrews.toml")
    scenes = [
        compile_scene(replace(spec, model=Variation(rng).model(spec.model))) for _ in range(WORLDS)
    ]
    models = [scene.model for scene in scenes]
    assert all(model.planar_loops for model in models)
    q0 = np.array([scene.state.q for scene in scenes])
    controls = 0.01 * rng.normal(size=(WORLDS, 4, models[0].nv))

    together = pysim.rollout(models, q0, 0 * q0, controls, STEP, scheme)

    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, 0 * q0, controls, STEP, scheme))


@pytest.mark.parametrize("threads", [1, 2])
def test_worlds_in_planes_share_packs_with_none_that_leaves_them(
    threads: int, rng: Any, isa: str
) -> None:
    seed, kinds = int(rng.integers(1 << 30)), ["revolute", "prismatic", "revolute", "revolute"]
    tilts = 38 * [0.0] + 18 * [0.2] + 35 * [0.0] + [0.1, 0.0, 0.3, 0.0] + 7 * [0.0]
    made = {
        x: compile_model(planar_tree(np.random.default_rng(seed), kinds, tilt=x)) for x in tilts
    }
    models = [made[x] for x in tilts]
    assert [model.planar_tree for model in models] == [x == 0 for x in tilts]
    q0, v0 = rng.normal(size=(2, len(models), models[0].nv))
    controls = rng.normal(size=(len(models), 3, models[0].nv))

    together = pysim.rollout(models, q0, v0, controls, STEP, threads=threads)

    assert_same(together, rolled_alone(models, q0, v0, controls, STEP))


def test_worlds_that_are_lost_or_at_singular_positions_disturb_no_neighbour(
    rng: Any, isa: str
) -> None:
    model = compile_model(many_four_bars(3))
    assert model.planar_loops
    tilt = rng.permutation(np.geomspace(1e-7, 1, WORLDS))
    tilt[[2, 11, 20]] = 0
    post = np.array([1 if name.startswith("pivot") else -1 for name in model.joint_names])
    q0, v0 = tilt[:, None] * post, np.ones((WORLDS, 1)) * post
    v0[[5, 24]] *= 1e200
    controls = np.zeros((WORLDS, 5, model.nv))

    with pytest.warns(PysimWarning, match="2 of 31 worlds reached NaN or infinite values"):
        together = pysim.rollout(model, q0, v0, controls, STEP)
    with pytest.warns(PysimWarning, match="reached NaN or infinite values"):
        alone = rolled_alone(WORLDS * [model], q0, v0, controls, STEP)

    assert np.isnan(together[0][[5, 24], -1]).all()
    assert np.isfinite(np.delete(together[0], [5, 24], 0)).all()
    assert_same(together, alone)
