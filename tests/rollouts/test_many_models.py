"""A rollout of many models at once. Oracle: the rollout of every model alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import ModelError
from pysim.integrators import BUILTIN
from pysim.joints import Joint, Pose, joint, real, spline
from pysim.loops import assemble
from pysim.scene import read_scene
from pysim.scene.spec import CouplingSpec, LoopSpec, Mimic
from pysim.worlds.loading import compile_model, compile_scene
from tests.loops.mechanisms import closed_tree
from tests.oracles.mechanisms import one_body, random_theta, random_tree, shaken, spring
from tests.oracles.model_variations import Variation
from tests.oracles.single_rollouts import assert_same, rolled_alone

SCENES = Path(__file__).parents[2] / "scenes"
SCHEMES = [name for name, kind in BUILTIN.items() if not (kind.adaptive or kind.contacts)]
STEP = 1e-3  # [s]
WORLDS = 11  # more than a register of any width, and some left


def random_models(rng, **options):
    """Trees of every joint shape, alike; friction, springs and stops in some of the worlds alone."""
    spec = random_tree(rng, passive=True, **options)
    specs = [Variation(rng, 0.3).model(spec) for _ in range(WORLDS)]
    bare = {"friction": 0, "damping": 0, "stiffness": 0, "lower": -np.inf, "upper": np.inf}
    for k in (1, 4, 9):
        joints = tuple(
            replace(j, **{name: np.full(j.damping.size, x) for name, x in bare.items()})
            for j in specs[k].joints
        )
        specs[k] = replace(specs[k], joints=joints)
    return [compile_model(each) for each in specs]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mimic", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_world_gets_the_bits_of_its_own_model_alone(scheme, mimic, dtype, rng):
    models = random_models(rng, mimic=mimic)
    q0 = np.array([model.random_configuration(rng) for model in models]).astype(dtype)
    v0 = rng.normal(size=(WORLDS, models[0].nv)).astype(dtype)
    controls = rng.normal(size=(WORLDS, 4, models[0].nv)).astype(dtype)
    together = pysim.rollout(models, q0, v0, controls, STEP, scheme)
    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, v0, controls, STEP, scheme))
    assert len({q.tobytes() for q in together[0][:, -1] - q0}) == WORLDS


CLOSED = ["andrews", "stewart_platform", "slider_crank", "differential", "governor"]
PLUGINS = ["knee", "cam", "screw_spline", "ellipsoid_joint", "rolling", "constant_velocity"]


@pytest.mark.parametrize("scheme", ["rk4", "variational", "generalized_alpha"])
@pytest.mark.parametrize("name", [*CLOSED, *PLUGINS, "spring"])
def test_loops_couplings_springs_and_plugins_vary_from_world_to_world(name, scheme, rng):
    spec = read_scene(SCENES / f"{name}.toml", allow_code=True)
    scenes = [
        compile_scene(replace(spec, model=Variation(rng).model(spec.model))) for _ in range(WORLDS)
    ]
    models = [scene.model for scene in scenes]
    q0, v0 = (np.array([getattr(scene.state, x) for scene in scenes]) for x in "qv")
    controls = 0.01 * rng.normal(size=(WORLDS, 5, models[0].nv))
    step = spec.settings.step
    together = pysim.rollout(models, q0, v0, controls, step, scheme)
    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, v0, controls, step, scheme))


@pytest.mark.parametrize(
    "kind", ["helical", "cylindrical", "point_on_plane", "distance", "wheel_on_plane"]
)
def test_loops_of_every_kind_close_by_their_own_frames(kind, rng):
    changes = {"helical": {"parameters": {"pitch": 0.2}}, "distance": {"length": 0.5}}
    changes["wheel_on_plane"] = {"radius": 0.4}
    kinds = ("revolute", "ball", "cylindrical", "universal", "revolute", "prismatic")
    spec, q = closed_tree(rng, kind, kinds, **changes.get(kind, {}))
    models = [compile_model(Variation(rng).model(spec)) for _ in range(WORLDS)]
    q0 = np.array([assemble(model, q).q for model in models])
    v0, controls = np.zeros((WORLDS, models[0].nv)), np.zeros((WORLDS, 5, models[0].nv))
    together = pysim.rollout(models, q0, v0, controls, STEP)
    assert np.isfinite(together[0]).all()
    assert_same(together, rolled_alone(models, q0, v0, controls, STEP))


@joint("test_worlds_cam")
class Cam(Joint):
    """A spline and a force whose numbers are fields."""

    rise: float  # [m]
    pull: float  # [N]
    coordinates = real("angle")

    def placement(self, q):
        lift = spline(q.angle, [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 0.1, self.rise, 0.3, 0.2])
        return Pose.rotate_z(q.angle) @ Pose.translate(0.1, 0, lift)

    def force(self, q, v):
        return [-self.pull * np.sin(q.angle) - 0.1 * v.angle]


def cam(theta, **fields):
    """A body on the plugin above."""
    spec = one_body("revolute", theta)
    return compile_model(shaken(spec, "joint", type="test_worlds_cam", parameters=fields))


@pytest.mark.parametrize("scheme", ["rk4", "implicit_midpoint"])
def test_splines_and_forces_of_plugins_have_the_numbers_of_their_world(scheme, rng):
    fields = [{"rise": 0.2 + 0.009 * k, "pull": 1.1 + 0.3 * k} for k in range(WORLDS)]
    theta = random_theta(rng)
    models = [cam(theta, **f) for f in fields]
    assert "program" in models[0].joint_motions[0]
    q0, v0 = rng.uniform(-1.5, 1.5, (WORLDS, 1)), rng.normal(size=(WORLDS, 1))
    controls = np.zeros((WORLDS, 200, 1))
    together = pysim.rollout(models, q0, v0, controls, STEP, scheme)
    assert_same(together, rolled_alone(models, q0, v0, controls, STEP, scheme))


def test_order_threads_and_instruction_set_change_no_bit(rng):
    models = random_models(rng)
    q0 = np.array([model.random_configuration(rng) for model in models])
    v0, order = rng.normal(size=(WORLDS, models[0].nv)), rng.permutation(WORLDS)
    together = pysim.rollout(models, q0, v0, None, STEP, steps=4)
    mixed = [models[k] for k in order]
    np.testing.assert_array_equal(
        pysim.rollout(mixed, q0[order], v0[order], None, STEP, steps=4)[0], together[0][order]
    )
    np.testing.assert_array_equal(
        pysim.rollout(models, q0, v0, None, STEP, steps=4, threads=3)[0], together[0]
    )
    for name in set(pysim.available_isas()) - {"baseline"}:
        pysim.use_isa(name)
        np.testing.assert_array_equal(
            pysim.rollout(models, q0, v0, None, STEP, steps=4)[0], together[0]
        )
    pysim.use_isa("auto")


def test_every_instruction_set_gives_the_bits_of_its_own_worlds_alone(rng, isa):
    assert isa in pysim.available_isas()
    models = random_models(rng, mimic=True)
    q0 = np.array([model.random_configuration(rng) for model in models])
    v0, controls = np.zeros((WORLDS, models[0].nv)), np.zeros((WORLDS, 3, models[0].nv))
    together = pysim.rollout(models, q0, v0, controls, STEP)
    assert_same(together, rolled_alone(models, q0, v0, controls, STEP))


def test_one_start_and_one_control_serve_every_model(rng):
    spec = random_tree(rng, ("revolute", "prismatic"))
    models = [compile_model(Variation(rng).model(spec)) for _ in range(3)]
    controls = rng.normal(size=(5, 2))
    together = pysim.rollout(models, np.zeros(2), np.zeros(2), controls, STEP)
    rows = [(np.zeros((3, 2))), np.zeros((3, 2)), np.tile(controls, (3, 1, 1))]
    assert_same(together, rolled_alone(models, *rows, STEP))


def test_a_model_for_every_world_is_the_same_as_one_for_all(rng):
    model = compile_model(random_tree(rng))
    q0 = np.array([model.random_configuration(rng) for _ in range(WORLDS)])
    v0 = rng.normal(size=(WORLDS, model.nv))
    twin = compile_model(model.spec)
    expected = pysim.rollout(model, q0, v0, None, STEP, steps=3)
    for models in ([model] * WORLDS, [model, *[twin] * (WORLDS - 1)]):
        found = pysim.rollout(models, q0, v0, None, STEP, steps=3)
        np.testing.assert_array_equal(found[0], expected[0])


def test_arguments_that_are_not_models_and_lists_of_another_length_are_reported(rng):
    model = compile_model(random_tree(rng, ("revolute", "prismatic")))
    start = np.zeros((3, 2)), np.zeros((3, 2))
    with pytest.raises(
        pysim.ModelError, match=r"model\[1\]: is not a model but a NoneType; give what"
    ):
        pysim.rollout([model, None, model], *start, None, STEP, steps=1)
    scene = pysim.load_scene(SCENES / "spring.toml")
    with pytest.raises(pysim.ModelError, match=r"is not a model but a Scene; give scene\.model"):
        pysim.rollout([model, scene], *start, None, STEP, steps=1)
    with pytest.raises(ValueError, match="there are 1 models for 3 worlds; pass one model for all"):
        pysim.rollout([model], *start, None, STEP, steps=1)


CHAIN = ("revolute", "cylindrical", "prismatic", "revolute")
CALL = "; the models of one call share joints, loops, couplings and programs and differ in numbers alone, so run it in "


def changed(spec, k, **changes):
    joints = tuple(replace(j, **changes) if i == k else j for i, j in enumerate(spec.joints))
    return replace(spec, joints=joints)


def test_models_that_differ_in_structure_are_rejected_by_what_differs(rng):
    spec = random_tree(rng, CHAIN, chain=True)
    ends = np.zeros(3), np.ones(3)
    spring_of_1, spring_of_3 = (
        spring("s", "world", b, *ends, 1.0, 0.0, 0.0) for b in ("body1", "body3")
    )
    gear = CouplingSpec("gear", {"joint0": 1.0, "joint3": 2.0})
    other_gear = CouplingSpec("gear", {"joint0": 1.0, "joint2": 2.0})
    loop = LoopSpec("loop", "distance", "body0", "body3", np.eye(4), np.eye(4), length=1.0)
    tied = replace(spec, couplings=(gear,), loops=(loop,), forces=(spring_of_1,))
    cases = {
        "its joint 'joint3' has another type of motion": (spec, changed(spec, 3, type="prismatic")),
        "its joint 'joint3' has an armature in one of the two only": (
            changed(spec, 3, armature=np.zeros(1)),
            changed(spec, 3, armature=np.ones(1)),
        ),
        "it has 3 moving bodies, not 4": (spec, random_tree(rng, CHAIN[:3], chain=True)),
        "its joint 0 is 'hip', not 'joint0'": (spec, changed(spec, 0, name="hip")),
        "its joint 'joint3' has another parent body": (spec, changed(spec, 3, parent="body1")),
        "its joint 'joint3' mimics another joint": (spec, changed(spec, 3, mimic=Mimic("joint0"))),
        "it has 0 couplings, not 1": (tied, replace(tied, couplings=())),
        "its coupling 'gear' connects other coordinates": (
            tied,
            replace(tied, couplings=(other_gear,)),
        ),
        "it has 0 loops, not 1": (tied, replace(tied, loops=())),
        "its loop 'loop' connects other bodies": (
            tied,
            replace(tied, loops=(replace(loop, b="body2"),)),
        ),
        "its loop 'loop' is of another type": (
            tied,
            replace(tied, loops=(replace(loop, type="point_on_plane"),)),
        ),
        "it has 0 forces, not 1": (tied, replace(tied, forces=())),
        "its force 0 is not 's' between the same bodies": (
            tied,
            replace(tied, forces=(spring_of_3,)),
        ),
    }
    for difference, pair in cases.items():
        first, second = map(compile_model, pair)
        zeros = np.zeros((2, first.nq))
        with pytest.raises(ModelError) as caught:
            pysim.rollout([first, second], zeros, zeros, None, STEP, steps=1)
        text = f"model[1]: differs from model[0] in structure: {difference}{CALL}a separate call"
        assert str(caught.value) == text


def test_programs_that_simplify_differently_are_rejected_by_the_plugin(rng):
    theta = random_theta(rng)
    models = [cam(theta, rise=0.2, pull=pull) for pull in (1.5, 0.0)]
    message = (
        "the program of 'joint' has other instructions: some of its numbers are equal, or 0 or 1"
    )
    with pytest.raises(ModelError, match=message):
        pysim.rollout(models, np.zeros(1), np.zeros(1), None, STEP, steps=1)


def test_the_number_of_models_must_equal_the_number_of_worlds(rng):
    spec = random_tree(rng, ("revolute",))
    models = [compile_model(Variation(rng).model(spec)) for _ in range(3)]
    with pytest.raises(
        ValueError,
        match="there are 3 models for 2 worlds; pass one model for all, or a list with one",
    ):
        pysim.rollout(models, np.zeros((2, 1)), np.zeros((2, 1)), None, STEP, steps=1)
    with pytest.raises(ValueError, match="models must hold a model for every world, got none"):
        pysim.rollout([], np.zeros((0, 1)), np.zeros((0, 1)), None, STEP, steps=1)
