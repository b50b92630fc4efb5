"""Couplings, springs between bodies, and loops closed by plugins.

Oracles: the coupled coordinate eliminated by hand, slopes of the energy by finite differences, built-in twins.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pysim
from pysim import _engine
from pysim.errors import JointError, ModelError
from pysim.joints import relation
from pysim.joints.relation import arguments_of, find_relation
from pysim.loops import assemble, constrained_aba, constraints, mobility, project
from pysim.scene.spec import BodySpec, CouplingSpec, LoopSpec, ModelSpec
from pysim.worlds.loading import compile_model
from tests.engine_steps import make_steps
from tests.joints import plugins  # noqa: F401, registers the twins
from tests.loops.mechanisms import closed, closed_tree
from tests.oracles.mechanisms import make_joint, random_tree, spring

CHAIN = ("revolute", "cylindrical", "prismatic", "revolute", "revolute")


@relation("wavy")
def wavy(turn, slide):
    """A surface over two coordinates."""
    return 0.3 * np.sin(2 * turn) + turn * slide**2


def coupled(spec: ModelSpec, *couplings: CouplingSpec) -> pysim.Model:
    return compile_model(replace(spec, couplings=couplings))


def test_a_gear_is_the_mechanism_with_the_coordinate_eliminated(rng):
    """(Eᵀ M E) ẍ = Eᵀ (τ − h) with q = E x."""
    spec = random_tree(rng, CHAIN)
    gear = CouplingSpec("gear", {"joint0": 1.0, "joint3": 2.5, "joint1.angle": -0.5}, offset=0.4)
    model = coupled(spec, gear)
    names = list(model.velocity_names)
    i, j, k = (names.index(n) for n in ("joint0", "joint3", "joint1.angle"))
    E = np.eye(model.nv)
    E[i, i], E[i, j], E[i, k] = 0, -2.5, 0.5
    E = np.delete(E, i, axis=1)
    q, v = rng.normal(size=model.nq), E @ rng.normal(size=model.nv - 1)
    q[i] = 0.4 - 2.5 * q[j] + 0.5 * q[k]
    tau = rng.normal(size=model.nv)

    a = constrained_aba(model, q, v, tau)

    M, h = pysim.crba(model, q), pysim.rnea(model, q, v, np.zeros(model.nv))
    expected = E @ np.linalg.solve(E.T @ M @ E, E.T @ (tau - h))
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert abs(constraints(model, q).residual[0]) < 1e-14


def test_a_traced_function_couples_with_its_exact_slopes_and_curvature(rng):
    spec = random_tree(rng, CHAIN)
    cam = CouplingSpec("cam", {"joint4": 1.0}, function="wavy", inputs=("joint0", "joint2"))
    model = coupled(spec, cam)
    at = [model.velocity_names.index(n) for n in ("joint0", "joint2", "joint4")]
    q, v = rng.normal(size=model.nq), rng.normal(size=model.nv)

    found = constraints(model, q, v)

    x, y = q[at[0]], q[at[1]]
    slopes = [-0.6 * np.cos(2 * x) - y**2, -2 * x * y, 1.0]
    dx, dy = v[at[0]], v[at[1]]
    curve = -1.2 * np.sin(2 * x) * dx**2 + 4 * y * dx * dy + 2 * x * dy**2
    assert found.residual[0] == pytest.approx(q[at[2]] - wavy(x, y), abs=1e-13)
    np.testing.assert_allclose(found.jacobian[0, at], slopes, atol=1e-12)
    np.testing.assert_allclose(np.delete(found.jacobian[0], at), 0)
    assert found.bias[0] == pytest.approx(-curve, abs=1e-12)


def test_a_follower_and_a_loop_hold_together(rng):
    """Followers are eliminated, loops are rows: M on the independent coordinates is dense."""
    tree = random_tree(rng, ("revolute",) * 6, mimic=True, chain=True)
    spec, q = closed(tree, rng, "point_on_line")
    model = compile_model(spec)
    v = project(model, q, rng.normal(size=model.nv)).v
    tau = rng.normal(size=model.nv)
    at, M = constraints(model, q, v), pysim.crba(model, q)

    a = constrained_aba(model, q, v, tau)

    free = pysim.aba(model, q, v, tau)
    J = at.jacobian
    force = np.linalg.solve(J @ np.linalg.solve(M, J.T), -(J @ free + at.bias))
    expected = free + np.linalg.solve(M, J.T @ force)
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


TWINS = {
    "twin_helical": ("helical", {"pitch": 0.3}),
    "twin_cylindrical": ("cylindrical", {}),
    "twin_universal": ("universal", {}),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_loop_closed_by_a_plugin_is_one_closed_by_its_twin(twin, rng):
    kind, keys = TWINS[twin]
    tree = ("revolute", "ball", "free", "revolute", "prismatic")
    spec, q = closed_tree(rng, kind, tree, parameters=keys)
    other = replace(spec, loops=(replace(spec.loops[0], type=twin),))
    built_in, plugin = compile_model(spec), compile_model(other)
    v = project(built_in, q, rng.normal(size=built_in.nv)).v
    tau = rng.normal(size=built_in.nv)
    expected = constrained_aba(built_in, q, v, tau)
    found = constrained_aba(plugin, q, v, tau)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_a_screw_in_a_loop_counts_its_turns():
    """A nut on a slide is driven along by the turns of its spindle: z = pitch · angle, ten times round."""
    theta = np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    bodies = tuple(BodySpec(n, theta) for n in ("spindle", "nut"))
    joints = (
        make_joint("turn", "revolute", "world", "spindle", start_v=np.array([8.0])),
        make_joint("slide", "prismatic", "world", "nut"),
    )
    parameters = {"pitch": -0.02}  # B is the spindle, A the nut
    loop = LoopSpec(
        "thread", "helical", "nut", "spindle", np.eye(4), np.eye(4), parameters=parameters
    )
    model = compile_model(ModelSpec("screw", np.zeros(3), bodies, joints, loops=(loop,)))
    state = assemble(model, np.zeros(2), np.array([8.0, 0]), hold=["turn"])
    drive = _engine.Actuation(*np.zeros((4, 2)))
    q, _, _ = make_steps(model, state.q, state.v, 0.0, 1e-2, 800, "rk4", drive)
    assert q[0] == pytest.approx(64.0, abs=1e-9)
    assert q[1] == pytest.approx(0.02 * 64.0, abs=1e-12)


def sprung(rng, stiffness=30.0, damping=0.0):
    spec = random_tree(rng, ("free", "revolute", "universal", "ball", "prismatic"))
    springs = tuple(
        spring(f"s{k}", a, b, rng.normal(size=3), rng.normal(size=3), stiffness, damping, 0.7)
        for k, (a, b) in enumerate([("world", "body4"), ("body0", "body3"), ("body2", "world")])
    )
    return compile_model(replace(spec, forces=springs))


def test_springs_between_bodies_pull_along_the_slope_of_their_energy(rng):
    model = sprung(rng)
    q, h = model.random_configuration(rng), 1e-6
    steps = h * np.eye(model.nv)
    slope = [
        pysim.elastic_energy(model, model.integrate(q, d))
        - pysim.elastic_energy(model, model.integrate(q, -d))
        for d in steps
    ]
    pull = pysim.passive_forces(model, q, np.zeros(model.nv))
    np.testing.assert_allclose(pull, -np.array(slope) / (2 * h), atol=1e-7)


def test_dampers_between_bodies_only_take_power(rng):
    """Σ τ v is a negative square of v."""
    model = sprung(rng, stiffness=0.0, damping=5.0)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    power = pysim.passive_forces(model, q, v) @ v
    half = pysim.passive_forces(model, q, 0.5 * v) @ (0.5 * v)
    assert power < 0
    assert half == pytest.approx(power / 4, rel=1e-12)


def test_a_damper_alone_pulls_against_the_rate_of_its_length():
    theta = np.array([2.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    body = BodySpec("mass", theta)
    slide = make_joint("slide", "prismatic", "world", "mass")
    end = spring("damper", "world", "mass", np.array([0, 0, -1.0]), np.zeros(3), 3.0, 7.0, 0.5)
    model = compile_model(ModelSpec("m", np.zeros(3), (body,), (slide,), forces=(end,)))
    force = pysim.passive_forces(model, np.array([0.25]), np.array([2.0]))
    np.testing.assert_allclose(force, -3.0 * (1.25 - 0.5) - 7.0 * 2.0)


def test_a_coupling_of_what_is_not_there_is_rejected(rng):
    spec = random_tree(rng, CHAIN)
    for terms, problem in (
        ({"joint0": 1.0, "joint9": 1.0}, "there is no coordinate 'joint9'; did you mean 'joint"),
        ({"joint0": 1.0, "joint1": 1.0}, "joint 'joint1' has 2 coordinates; name one, as in"),
    ):
        with pytest.raises(ModelError, match=problem):
            coupled(spec, CouplingSpec("gear", terms))


def test_an_unknown_relation_is_rejected_with_a_suggestion():
    with pytest.raises(JointError, match="unknown relation 'wavey'; did you mean 'wavy'"):
        find_relation("wavey")
    assert arguments_of(wavy) == ("turn", "slide")


def test_a_gear_takes_one_freedom_by_name(rng):
    spec = random_tree(rng, CHAIN)
    gear = CouplingSpec("gear", {"joint0": 1.0, "joint3": 2.0})
    twice = replace(gear, name="again", terms={"joint0": 2.0, "joint3": 4.0})
    model = coupled(spec, gear, twice)
    found = mobility(model, np.zeros(model.nq))
    assert (found.degrees, dict(found.redundant)) == (model.nv - 1, {"again": 1})


GEARS = """
name = "gears"
gravity = [0, 0, 0]
[[body]]
name = "a"
mass = 1
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.02 }}
[[body]]
name = "b"
mass = 1
inertia = {{ xx = 0.01, yy = 0.01, zz = 0.02 }}
[[joint]]
name = "ja"
type = "revolute"
child = "a"
axis = [0, 0, 1]
start = {{ q = {angle}, v = {speed} }}
[[joint]]
name = "jb"
type = "revolute"
child = "b"
at = {{ xyz = [1, 0, 0] }}
axis = [0, 0, 1]
start = {{ q = {follower}, v = {follower_speed} }}
[[coupling]]
name = "mesh"
joint = "jb"
ratios = {{ ja = -0.37 }}
[simulation]
integrator = "{integrator}"
duration = 0.1
step = 1e-3
"""


def gears(tmp_path, integrator, angle, speed):
    path = tmp_path / "gears.toml"
    numbers = {"follower": -0.37 * angle, "follower_speed": -0.37 * speed}
    path.write_text(
        GEARS.format(integrator=integrator, angle=angle, speed=speed, **numbers), "utf-8"
    )
    return pysim.load_scene(path)


@pytest.mark.parametrize(
    "integrator",
    [
        "rk4",
        "semi_implicit",
        "variational",
        "variational4",
        "implicit_midpoint",
        "generalized_alpha",
    ],
)
@pytest.mark.parametrize("angle", [2e6, 1e9])
@pytest.mark.filterwarnings("ignore:.*exceeds four full turns:pysim.errors.PysimWarning")
def test_gears_stay_coupled_to_the_rounding_of_large_angles(tmp_path, integrator, angle):
    """Of 1e9 rad rounding leaves 1e-7, more than the 1e-10 that loops are held to."""
    scene = gears(tmp_path, integrator, angle, 3.0)
    run = pysim.simulate(scene)
    assert run.t[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(run.v, np.tile([3.0, -1.11], (len(run.t), 1)), rtol=1e-12)
    np.testing.assert_allclose(run.q[-1, 0] - angle, 0.3, atol=1e-15 * angle * 100)


@pytest.mark.parametrize("integrator", ["variational", "variational4"])
def test_a_turn_of_pi_in_a_variational_step_is_reported_with_the_step_that_works(
    tmp_path, integrator
):
    scene = gears(tmp_path, integrator, 0.0, 1e4)
    with pytest.raises(pysim.PysimError) as caught:
        pysim.simulate(scene)
    assert str(caught.value).endswith(
        f"at t = 0 s 'ja' turns by 10 rad in a step of 0.001 s, and {integrator!r} needs less than π; reduce"
        " simulation.step to 0.0002 [s]"
    )
    scene = pysim.load_scene(tmp_path / "gears.toml", overrides={"simulation.step": 2e-4})
    assert pysim.simulate(scene).t[-1] == pytest.approx(0.1)
