"""Gradients through steps of schemes that solve no contacts.

Oracles: the best of central differences of sixth order, of five sizes, of the engine's own steps; differences along
one motion through ten thousand steps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.typing import Array
from pysim.worlds.loading import compile_scene
from tests.analysis.test_gradients import (
    BOX,
    HOPPER,
    SMOOTH,
    Rollout,
    check_parameters,
    columns_by_differences,
    columns_with_signals,
    error,
)
from tests.analysis.test_loop_gradients import FOUR_BAR
from tests.analysis.test_sampled_gradients import ARM, JOINTS, Later, New
from tests.elements.blocks import table
from tests.oracles.mechanisms import MOVING, random_tree

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and periods
SCHEMES = ["semi_implicit", "rk2", "rk4", "implicit_midpoint", "generalized_alpha"]
FLYING = HOPPER[HOPPER.index("[[body]]") : HOPPER.index("[[ground]]")].replace(
    "collision", "visual"
)


def scene_of(folder: Path, text: str, scheme: str, step: float = 2e-3) -> pysim.Scene:
    path = folder / "scene.toml"
    run = f'[simulation]\nintegrator = "{scheme}"\nstep = {step}\nduration = 1.0\n'
    path.write_text(text + run, "utf-8")
    return pysim.load_scene(path)


def thrown(scene: pysim.Scene) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    q = scene.model.integrate(scene.state.q, rng.normal(0, 0.5, scene.model.nv))
    return q, rng.normal(0, 2.0, scene.model.nv)


def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
    return (q**2).sum((1, 2)), 2 * q, 0 * v


def by_start(found: pysim.Gradient) -> Array:
    return np.concatenate([found.q[0], found.v[0]])


@pytest.mark.parametrize("mimic", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_random_tree_has_the_gradient_of_differences(
    scheme: str, mimic: bool, tmp_path: Path
) -> None:
    """Of every joint, with springs, dampers, dry friction and stops."""
    body = (
        '[[body]]\nname = "b"\nmass = 1.0\n[[joint]]\nname = "j"\ntype = "prismatic"\nchild = "b"\n'
    )
    spec = scene_of(tmp_path, body, scheme, 1e-3).spec
    for seed in range(3):
        rng = np.random.default_rng([20, seed])
        kinds = [str(kind) for kind in rng.permutation(MOVING)]
        tree = random_tree(rng, kinds, passive=True, mimic=mimic)
        scene = compile_scene(replace(spec, model=tree))
        rollout = Rollout(scene, *thrown(scene), 4)
        assert error(by_start(rollout.gradient()), rollout.by_start()) < SMOOTH


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_hopper_in_flight_has_the_gradient_of_differences(scheme: str, tmp_path: Path) -> None:
    scene = scene_of(tmp_path, FLYING, scheme)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 20, 1))
    rollout = Rollout(scene, *thrown(scene), 20, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_gradient_by_numbers_is_that_of_differences(scheme: str, tmp_path: Path) -> None:
    spring = "friction = 0.05\ndamping = 0.02\nstiffness = 1.5\nrest = 0.1\n"
    text = FLYING.replace("friction = 0.05\n", spring)
    text = text.replace(
        "xy = 0.002 }", "xy = 2e-3, yz = 1e-3, xz = -1e-3 }\ncom = [0.03, -0.02, 0.04]"
    )
    scene = scene_of(tmp_path, text, scheme)
    controls = np.random.default_rng(4).normal(0, 0.2, (1, 20, 1))
    rollout = Rollout(scene, *thrown(scene), 20, controls)
    paths = [
        *(f"body.trunk.{key}" for key in ("mass", "com", "inertia")),
        *("body.shank.mass", "body.shank.com"),
        *(f"joint.hip.{key}" for key in ("stiffness", "damping")),
        *(f"joint.knee.{key}" for key in ("armature", "friction", "damping", "stiffness", "rest")),
        *(f"actuator.motor.{key}" for key in ("kp", "kd", "force_range")),
        "gravity",
    ]
    check_parameters(rollout, paths)


@pytest.mark.parametrize("period", [6e-3, 5e-3, 0.7e-3])  # some divide steps of 2 ms
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sampled_controller_and_states_of_elements_have_the_gradient_of_differences(
    scheme: str, period: float, tmp_path: Path
) -> None:
    own = {"period": period}
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=JOINTS, **own)
    text += table("controller", name="late", type="delay", inputs=["read.q"], periods=2, **own)
    gains = {"kp": [30.0, 12.0], "kd": [1.5, 0.4]}
    inputs = ["target", "late", "read.v"]
    text += table("controller", name="pd", type="pd", inputs=inputs, **gains, **own)
    text += table("controller", name="slow", type="low_pass", inputs=["pd"], time_constant=8e-3)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="slow")
    scene = scene_of(tmp_path, text, scheme)
    controls = np.random.default_rng(2).normal(0, 0.3, (1, 12, 2))
    rollout = Later(scene, scene.state.q, np.array([0.5, -0.8]), 12, controls)
    found = rollout.gradient()
    assert error(by_start(found), rollout.by_start()) < SMOOTH
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH
    if period != 5e-3:
        return
    paths = ["controller.pd.kp", "controller.slow.time_constant", "body.lower.mass"]
    rollout = New(scene, scene.state.q, scene.state.v, 12, controls)
    check_parameters(rollout, paths)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_inverse_dynamics_of_controllers_have_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    text = ARM + table("controller", name="hold", type="gravity_compensation", share=0.8)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="hold")
    scene = scene_of(tmp_path, text, scheme)
    rollout = Later(scene, scene.state.q, np.array([0.5, -0.8]), 12)
    paths = ["body.lower.mass", "body.lower.com", "gravity"]
    found = check_parameters(rollout, paths)
    assert error(by_start(found), rollout.by_start()) < SMOOTH


PENDULUM = """
[[body]]
name = "bob"
mass = 1.3
inertia = { xx = 0.02, yy = 0.03, zz = 0.01 }
[[joint]]
name = "turn"
type = "revolute"
axis = [0, 1, 0]
child = "hub"
[[body]]
name = "hub"
mass = 0.2
inertia = { xx = 0.002, yy = 0.003, zz = 0.001 }
[[joint]]
name = "along"
type = "prismatic"
axis = [0, 0, 1]
parent = "hub"
child = "bob"
stiffness = 300.0
rest = -0.5
start = -0.5
"""


@pytest.mark.parametrize("scheme", SCHEMES[::2])
def test_products_with_the_jacobian_of_ten_thousand_steps_and_with_its_transpose_agree(
    scheme: str, tmp_path: Path
) -> None:
    """⟨λ, J x⟩ = ⟨Jᵀλ, x⟩, with J x from A of every step."""
    scene = scene_of(tmp_path, PENDULUM, scheme, 1e-3)
    rng = np.random.default_rng(6)
    worlds = pysim.Worlds(scene)
    worlds.v[:] = [0.8, 0.4]
    weights, x = rng.normal(size=(2, 4))
    steps = 10_000

    def loss(q: Array, v: Array) -> tuple[float, Array, Array]:
        by_q, by_v = np.zeros_like(q), np.zeros_like(v)
        by_q[-1], by_v[-1] = weights[:2], weights[2:]
        return 0.0, by_q, by_v

    gradient = pysim.gradient(worlds, steps=steps, loss=loss)
    nodes = pysim.Worlds(scene, 1000)
    moved = np.zeros(len(pysim.step_derivatives(worlds).states))
    moved[:4] = x  # a scheme that carries accelerations begins with those at q and v
    for _ in range(steps // 1000):
        for k in range(1000):
            nodes.load(worlds.save(), where=[k])
            worlds.step(steps=1)
        for A in pysim.step_derivatives(nodes).A:
            moved = A @ moved
    moved = moved[:4]
    transposed = np.concatenate([gradient.q, gradient.v])
    size = np.linalg.norm(weights) * np.linalg.norm(moved)
    assert abs(weights @ moved - transposed @ x) <= 1e-10 * size


@pytest.mark.parametrize(
    ("text", "by"),
    [
        (FLYING, ["body.trunk.mass", "actuator.motor.kp"]),
        (FOUR_BAR, ["body.coupler.mass", "gravity"]),
    ],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_world_has_the_same_bits_alone_and_among_others(
    scheme: str, text: str, by: list[str], tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, text, scheme)
    rng = np.random.default_rng(5)

    many = pysim.Worlds(scene, 64)
    many.v[:] = rng.normal(size=many.v.shape)
    gradient = pysim.gradient(many, steps=10, loss=loss, by=by)
    parts = pysim.gradient(many, steps=10, loss=loss, by=by, memory=0)
    assert np.array_equal(gradient.v, parts.v)
    for size in (1, 7):
        few = pysim.Worlds(scene, size)
        few.v[:] = many.v[-size:]
        own = pysim.gradient(few, steps=10, loss=loss, by=by)
        assert np.array_equal(own.q, gradient.q[-size:])
        assert np.array_equal(own.v, gradient.v[-size:])
        assert np.array_equal(own.loss, gradient.loss[-size:])
        for path in by:
            assert np.array_equal(own.parameters[path], gradient.parameters[path][-size:])


@pytest.mark.parametrize("scheme", SCHEMES[:4])
def test_states_of_elements_and_held_numbers_are_states_of_a_step(
    scheme: str, tmp_path: Path
) -> None:
    own = {"period": 5e-3}
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=JOINTS, **own)
    gains = {"kp": [30.0, 12.0], "kd": [1.5, 0.4]}
    inputs = ["target", "read.q", "read.v"]
    text += table("controller", name="pd", type="pd", inputs=inputs, **gains, **own)
    text += table("controller", name="slow", type="low_pass", inputs=["pd"], time_constant=8e-3)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="slow")
    scene = scene_of(tmp_path, text, scheme)
    worlds = pysim.Worlds(scene, 1)
    worlds.step(steps=5)
    found = pysim.step_derivatives(worlds, steps=4)
    signals = scene.signals
    assert signals is not None
    places = [*range(len(signals.state_names)), *signals.held_states]
    assert found.states[4:] == (*signals.state_names, *signals.held_states.values())
    assert found.row_by_row == f'integrator = "{scheme}"'
    columns = columns_with_signals(worlds, 4, places)
    assert np.abs(found.A[0] - columns).max() < 1e-7


def test_parts_without_derivatives_are_refused_with_their_names(tmp_path: Path) -> None:
    def reason(text: str, scheme: str) -> str:
        worlds = pysim.Worlds(scene_of(tmp_path, text, scheme), 1)
        with pytest.raises(pysim.SimulationError) as refused:
            pysim.gradient(worlds, steps=1, loss=loss)
        return str(refused.value)

    assert 'worlds with integrator = "dopri5" have no' in reason(FLYING, "dopri5")


STIFF = "stiffness = 4e5\nrest = -0.5\ndamping = 80.0\n"


@pytest.mark.parametrize("scheme", ["implicit_midpoint", "generalized_alpha"])
def test_a_stiff_mechanism_has_the_gradient_of_differences(scheme: str, tmp_path: Path) -> None:
    """h² K / m is 1.2, and a damper stops the hub within a step: generalized α begins by Euler's method."""
    text = PENDULUM.replace("stiffness = 300.0\nrest = -0.5\n", STIFF)
    text = text.replace('child = "hub"\n', 'child = "hub"\ndamping = 900.0\n', 1)
    scene = scene_of(tmp_path, text, scheme)
    rollout = Rollout(scene, np.array([0.3, -0.499]), np.array([0.8, 0.4]), 12)
    if scheme == "generalized_alpha":
        begun = rollout.at(rollout.q[None], rollout.v[None])
        begun.step(steps=1)
        assert begun._records.engine.parts["scheme"][0, 4] == 0  # the next step begins, too
    paths = ["joint.turn.damping", "joint.along.stiffness", "body.bob.mass", "gravity"]
    found = check_parameters(rollout, paths)
    assert error(by_start(found), rollout.by_start()) < SMOOTH


def test_accelerations_that_generalized_alpha_carries_are_states_of_a_step(tmp_path: Path) -> None:
    text = ARM + table("sensor", name="read", type="coordinates", coordinates=JOINTS)
    gains = {"kp": [30.0, 12.0], "kd": [1.5, 0.4]}
    inputs = ["target", "read.q", "read.v"]
    text += table("controller", name="pd", type="pd", inputs=inputs, **gains)
    text += table("controller", name="slow", type="low_pass", inputs=["pd"], time_constant=8e-3)
    text += table("actuator", name="motors", type="force", coordinates=JOINTS, command="slow")
    scene = scene_of(tmp_path, text, "generalized_alpha")
    worlds = pysim.Worlds(scene, 1)
    worlds.step(steps=5)
    derivatives = pysim.step_derivatives(worlds, steps=3)
    signals, records = scene.signals, worlds._records
    assert signals is not None
    names = signals.state_names
    first = signals.description.states + signals.description.held_numbers
    places = [*range(2), first, first + 1, first + 2, first + 3]
    carried = [7, 8, 13, 14]
    assert derivatives.states == (
        *("q.shoulder", "q.elbow", "v.shoulder", "v.elbow"),
        *names,
        *(f"algorithmic.{name}" for name in names),
        *(f"rate.{name}" for name in names),
        *(f"{kind}.{name}" for kind in ("acceleration", "algorithmic") for name in JOINTS),
    )

    def state() -> Array:
        numbers, scheme = records.signals[0, places], records.engine.parts["scheme"][0, carried]
        return np.concatenate([worlds.q[0], worlds.v[0], numbers, scheme])

    def move(x: Array) -> None:
        worlds.q[0] += x[:2]
        worlds.v[0] += x[2:4]
        records.signals[0, places] += x[4:10]
        records.engine.parts["scheme"][0, carried] += x[10:]
        records.engine.see(np.zeros(1, np.int32))  # the scheme goes on with what it carries

    columns = columns_by_differences(worlds, 3, 1e-3, state, move)
    allowed = 1e-7 * np.maximum(1, np.abs(columns).max(0))
    assert (np.abs(derivatives.A[0] - columns).max(0) < allowed).all()


def test_steps_of_a_gradient_and_after_it_have_the_bits_of_steps_without(tmp_path: Path) -> None:
    """Forces jump with the controls of every step."""
    scene = scene_of(tmp_path, FLYING, "generalized_alpha")
    controls = np.random.default_rng(4).normal(0, 0.2, (3, 8, 1))
    pair = [pysim.Worlds(scene, 3), pysim.Worlds(scene, 3)]
    for worlds in pair:
        worlds.step(steps=8, controls=controls)
    ends = []

    def loss(q: Array, v: Array) -> tuple[Array, Array, Array]:
        ends.append(q[:, -1])
        return np.zeros(3), 0 * q, 0 * v

    pysim.gradient(pair[0], -controls, loss=loss)
    pysim.gradient(pair[0], controls, loss=loss)
    for worlds in pair:
        worlds.step(steps=8, controls=controls)
    assert np.array_equal(pair[0].q, pair[1].q)
    assert np.array_equal(ends[1], pair[1].q)


BALL = """
[[body]]
name = "ball"
mass = 0.4
inertia = { xx = 0.001, yy = 0.001, zz = 0.001 }
collision = [{ sphere = { radius = 0.08 } }]
[[joint]]
name = "other"
type = "free"
child = "ball"
at = { xyz = [0.14, 0.22, 0.62] }
"""


@pytest.mark.parametrize("steps", [200, 254])  # on the plane, and with the ball on the box
@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4", "generalized_alpha"])
def test_smooth_contacts_have_the_gradient_of_differences(
    scheme: str, steps: int, tmp_path: Path
) -> None:
    """A box falls onto a plane, and a ball onto the box."""
    text = BOX.replace("stiffness = 3e4", "stiffness = 3e3") + BALL
    scene = scene_of(tmp_path, text, scheme, 5e-4)
    start = pysim.Worlds(scene)
    start.v[:] = [0.4, -0.2, -1.5, 1.0, -2.0, 0.7, 0.3, 0.1, -2.5, 0.4, -0.6, 0.5]
    start.step(steps=steps)
    rollout = Rollout(scene, start.q.copy(), start.v.copy(), 12)
    apart = scene_of(
        tmp_path, text.replace("[0, 0, 1] }", "[0, 0, 1], offset = -9 }"), scheme, 5e-4
    )
    assert steps > 200 or not same_end(rollout, apart)
    ghost = text.replace(BALL, BALL.replace("collision", "visual"))
    assert steps == 200 or not same_end(rollout, scene_of(tmp_path, ghost, scheme, 5e-4))
    paths = ["body.box.mass", "gravity"]
    found = check_parameters(rollout, paths)
    assert error(by_start(found), rollout.by_start()) < SMOOTH


def same_end(rollout: Rollout, scene: pysim.Scene) -> bool:
    """Whether the rollout ends where it would in another scene."""
    other = Rollout(scene, rollout.q, rollout.v, rollout.steps)
    return np.allclose(other.reference.v, rollout.reference.v, atol=1e-3)
