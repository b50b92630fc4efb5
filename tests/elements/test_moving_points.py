"""Points of paths that coordinates move. Oracle: the same point on a massless body whose joints follow the coordinates.

Such bodies are what the engine's trees are made of: their lengths, forces, derivatives and steps are tested elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pysim
from pysim.analysis.moment_arms import path_slopes
from pysim.joints import find_joint
from pysim.scene.spec import BodySpec, Mimic
from pysim.scene.stop_defaults import with_stops
from pysim.scene.urdf.joints import plain_joint
from pysim.worlds.loading import compile_model, compile_scene

if TYPE_CHECKING:
    from pathlib import Path

    from pysim.scene.spec import ModelSpec, SceneSpec

LEG = """
name = "leg"

[[body]]
name = "thigh"
mass = 8.0
com = [0, 0.01, -0.2]
inertia = { xx = 0.1, yy = 0.11, zz = 0.02 }

[[body]]
name = "shank"
mass = 3.0
com = [0.01, 0, -0.2]
inertia = { xx = 0.04, yy = 0.045, zz = 0.01, xy = 0.002 }

[[body]]
name = "foot"
mass = 1.0
com = [0.05, 0, 0]
inertia = { xx = 0.004, yy = 0.005, zz = 0.003 }

[[joint]]
name = "hip"
type = "ball"
child = "thigh"
start = { v = [0.3, -0.7, 0.2] }

[[joint]]
name = "knee"
type = "revolute"
axis = [0.1, 1, 0.2]
parent = "thigh"
child = "shank"
at = { xyz = [0, 0, -0.4] }
start = { q = 0.7, v = 1.1 }

[[joint]]
name = "ankle"
type = "prismatic"
axis = [0, 0.2, 1]
parent = "shank"
child = "foot"
at = { xyz = [0, 0, -0.4], rpy = [0.2, 0.1, 0] }
start = { q = -0.05, v = 0.4 }

[[joint]]
name = "toe"
type = "revolute"
axis = [0, 1, 0]
parent = "foot"
child = "toes"
mimic = { joint = "knee", ratio = -0.5, offset = 0.1 }

[[body]]
name = "toes"
mass = 0.2
com = [0.05, 0, 0]
inertia = { xx = 0.0004, yy = 0.0005, zz = 0.0003 }

FORCE

[[signal]]
name = "nerve"
type = "constant"
value = 0.4

[[frame]]
name = "tilted"
body = "shank"
at = { xyz = [0.02, 0.01, -0.05], rpy = [0.4, -0.3, 0.8] }

[simulation]
step = 1e-3
duration = 0.05
"""
SPRING = 'type = "path_spring"\nstiffness = 300.0\nrest_length = 0.3\ndamping = 4.0\n'
MUSCLE = """type = "rigid_tendon_muscle"
excitation = "nerve"
max_isometric_force = 30.0
optimal_fibre_length = 0.7
tendon_slack_length = 0.35
pennation_angle = 0.1
"""
MOVES = """[
    { coordinate = "knee", axis = [1, 0, 0], spline = { x = [-1, 0, 0.6, 1, 2], y = [0.02, 0.05, 0.04, 0.06, 0.1] } },
    { coordinate = "ankle", axis = [0, 1, 2], polynomial = [0.01, 0.3, -0.4] },
    { coordinate = "knee", axis = [0, 0, 1], polyline = { x = [-2, 2], y = [0.04, 0.02] }, range = [-0.5, 1.5] },
    { coordinate = "toe", axis = [0, 1, 0], natural_spline = { x = [-2, 0, 2], y = [0.0, 0.03, 0.0] } },
]"""
PATHS = {
    "straight": f'{{ body = "world", point = [0.1, 0, 0.1] }}, {{ body = "tilted", moves = {MOVES} }}',
    "within a body": f'{{ body = "shank", point = [0, 0.1, 0] }}, {{ body = "tilted", moves = {MOVES} }}',
    "on the world": f'{{ body = "world", moves = {MOVES} }}, {{ body = "foot", point = [0.1, 0, 0] }}',
    "both ends": (
        f'{{ body = "thigh", point = [0.1, 0, 0], moves = {MOVES} }}, {{ body = "foot", moves = {MOVES} }}, '
        f'{{ body = "tilted", point = [0.3, 0, 0], moves = {MOVES}, multiplicity = 2 }}'
    ),
    "over a cylinder": (
        '{ body = "world", point = [0.3, 0, 0.1] }, '
        '{ body = "thigh", cylinder = 0.06, at = { xyz = [0, 0, -0.3], rpy = [1.5, 0, 0] }, side = [1, 0, 0] }, '
        f'{{ body = "tilted", moves = {MOVES} }}, {{ body = "foot", point = [0.2, 0, 0] }}'
    ),
    "conditional": (
        '{ body = "world", point = [0.1, 0, 0.1] }, '
        f'{{ body = "tilted", when = {{ coordinate = "knee", above = 0.2 }}, moves = {MOVES} }}, '
        '{ body = "foot", point = [0.2, 0, 0] }'
    ),
}


def scene_with(tmp_path: Path, path: str, law: str = SPRING) -> pysim.Scene:
    """Return a leg with a force along a path."""
    file = tmp_path / "leg.toml"
    force = f'[[force]]\nname = "pull"\n{law}path = [ {path} ]\n'
    file.write_text(LEG.replace("FORCE", force), "utf-8")
    return pysim.load_scene(file)


def with_bodies(spec: ModelSpec) -> ModelSpec:
    """Return a mechanism whose moving points are massless bodies on joints that follow, one for each move."""
    bodies, joints, forces = list(spec.bodies), list(spec.joints), []
    led = {joint.name: joint.mimic for joint in joints if joint.mimic is not None}
    for force in spec.forces:
        path = []
        for part in force.path:
            body, at = part.body, part.at
            for move in part.moves:
                name, kind = f"point {len(bodies)}", "custom_joint"
                joint = plain_joint(name, kind, body, name, at, "")
                mimic = led.get(move.coordinate, Mimic(move.coordinate))
                keys = {"translations": [{"axis": list(move.axis), **move.function}]}
                start = np.zeros(find_joint(kind).nq)
                joints.append(replace(joint, mimic=mimic, parameters=keys, start_q=start))
                bodies.append(BodySpec(name, np.zeros(10)))
                body, at = name, np.eye(4)
            path.append(replace(part, body=body, at=at, moves=()))
        forces.append(replace(force, path=tuple(path)))
    stops = with_stops(tuple(joints), tuple(bodies))
    return replace(spec, bodies=tuple(bodies), joints=stops, forces=tuple(forces))


def scene_with_bodies(scene: pysim.Scene) -> pysim.Scene:
    """Return the same scene with massless bodies for moving points."""
    spec: SceneSpec = scene.spec
    return compile_scene(replace(spec, model=with_bodies(spec.model)))


def states(model: pysim.Model, rng: np.random.Generator) -> tuple[Any, Any]:
    q = np.array([model.random_configuration(rng) for _ in range(7)])
    q[:, -1] *= 0.02  # a slide of centimetres
    return q, rng.normal(size=(7, model.nv))


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", PATHS)
def test_forces_and_derivatives_are_those_of_a_massless_body(tmp_path, rng, name):
    model = scene_with(tmp_path, PATHS[name]).model
    rebuilt = compile_model(with_bodies(model.spec))
    q, v = states(model, rng)
    a = rng.normal(size=v.shape)
    assert (model.nv, model.nbodies) == (rebuilt.nv, 4)
    assert_close(pysim.elastic_energy(model, q), pysim.elastic_energy(rebuilt, q))
    assert_close(pysim.passive_forces(model, q, v), pysim.passive_forces(rebuilt, q, v))
    pairs = zip(
        pysim.passive_force_derivatives(model, q, v),
        pysim.passive_force_derivatives(rebuilt, q, v),
        strict=True,
    )
    for matrix, expected in pairs:
        assert_close(matrix, expected, 1e-11)
    assert_close(pysim.rnea(model, q, v, a), pysim.rnea(rebuilt, q, v, a))
    accelerations = (pysim.aba(own, q, v, 0.0 * v, passive=True) for own in (model, rebuilt))
    assert_close(*accelerations, 1e-11)


@pytest.mark.parametrize("name", PATHS)
def test_moment_arms_are_slopes_of_the_length(tmp_path, rng, name):
    """To 1e-9 of central differences, extrapolated to the width 0."""
    model = scene_with(tmp_path, PATHS[name]).model
    paths = {"pull": model.spec.forces[0].path}
    q, _ = states(model, rng)
    _, slopes = path_slopes(model, paths, q)

    def difference(h: float) -> Any:
        columns = []
        for k in range(model.nv):
            step = np.zeros_like(slopes[:, 0])
            step[:, k] = h
            ends = [path_slopes(model, paths, model.integrate(q, s))[0] for s in (-step, step)]
            columns.append((ends[1] - ends[0])[:, 0] / (2 * h))
        return np.stack(columns, axis=-1)

    wide, narrow = difference(2e-4), difference(1e-4)
    np.testing.assert_allclose(slopes[:, 0], (4 * narrow - wide) / 3, rtol=0, atol=1e-9)


SCHEMES = ["rk4", "semi_implicit", "implicit_midpoint", "variational"]


def with_scheme(scene: pysim.Scene, scheme: str, step: float = 1e-3) -> pysim.Scene:
    settings = replace(scene.spec.settings, integrator=scheme, step=step)
    return compile_scene(replace(scene.spec, settings=settings))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("law", [SPRING, MUSCLE], ids=["spring", "muscle"])
def test_steps_are_those_of_a_massless_body(tmp_path, scheme, law):
    scene = with_scheme(scene_with(tmp_path, PATHS["over a cylinder"], law), scheme)
    runs = [pysim.simulate(own) for own in (scene, scene_with_bodies(scene))]
    assert_close(runs[0].q, runs[1].q, 1e-11)
    assert_close(runs[0].v, runs[1].v, 1e-10)


def test_convex_steps_are_of_first_order(tmp_path):
    """Against `rk4`; massless bodies that follow have no convex steps."""
    scene = scene_with(tmp_path, PATHS["both ends"])
    exact = pysim.simulate(with_scheme(scene, "rk4", 1e-4)).q[-1]
    coarse, fine = (
        np.abs(pysim.simulate(with_scheme(scene, "convex", step)).q[-1] - exact).max()
        for step in (1e-3, 5e-4)
    )
    assert coarse / fine == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("law", [SPRING, MUSCLE], ids=["spring", "muscle"])
def test_derivatives_of_convex_steps_are_those_of_differences(tmp_path, law):
    scene = with_scheme(scene_with(tmp_path, PATHS["both ends"], law), "convex")
    model = scene.model
    nv = model.nv
    exact = pysim.step_derivatives(pysim.Worlds(scene, 1), steps=3).A[0]

    def difference(h: float) -> Any:
        worlds = pysim.Worlds(scene, 4 * nv)
        deltas = h * np.repeat(np.eye(2 * nv), 2, axis=0) * np.tile([[-1.0], [1.0]], (2 * nv, 1))
        worlds.q[:] = model.integrate(np.array(worlds.q), deltas[:, :nv])
        worlds.v[:] += deltas[:, nv:]
        worlds.step(steps=3)
        after = np.hstack([worlds.q[:, 4:], worlds.v])  # of joints with one coordinate; velocities
        return (after[1::2] - after[::2]).T / (2 * h)

    wide, narrow = difference(2e-4), difference(1e-4)
    rows = [*range(3, nv), *range(nv, 2 * nv)]
    assert_close(exact[np.ix_(rows, range(2 * nv))], (4 * narrow - wide) / 3, 1e-8)


def test_single_precision_follows_double_precision(tmp_path, rng):
    model = scene_with(tmp_path, PATHS["both ends"]).model
    q, v = states(model, rng)
    double, single = (
        pysim.rollout(model, q.astype(kind), v.astype(kind), steps=20, step=1e-3)[0]
        for kind in (np.float64, np.float32)
    )
    assert single.dtype == np.float32
    assert_close(single, double, 1e-4)


def test_a_saved_scene_has_the_same_path(tmp_path, rng):
    scene = scene_with(tmp_path, PATHS["both ends"])
    again = pysim.load_scene(scene.save(tmp_path / "again.toml"))
    q, v = states(scene.model, rng)
    forces = [pysim.passive_forces(own.model, q, v) for own in (scene, again)]
    assert_close(forces[1], forces[0])


def test_moves_are_along_the_axes_of_a_frame(tmp_path):
    """Closed form: the path's length is the move itself."""
    path = (
        '{ body = "tilted" }, '
        '{ body = "tilted", moves = [{ coordinate = "knee", axis = [0, 2, 0], polynomial = [0, 1] }] }'
    )
    model = scene_with(tmp_path, path).model
    q = model.neutral()
    q[4] = 0.7
    lengths, slopes = path_slopes(model, {"": model.spec.forces[0].path}, q[None])
    assert lengths[0, 0] == pytest.approx(0.7, rel=1e-15)
    assert slopes[0, 0] == pytest.approx([0, 0, 0, 1, 0], abs=1e-15)


def test_a_copy_of_a_model_moves_by_coordinates_of_its_own(tmp_path):
    scene_with(tmp_path, PATHS["both ends"])
    text = '[[model]]\nname = "left"\nfile = "leg.toml"\n[simulation]\nstep = 1e-3\n'
    (tmp_path / "two.toml").write_text(text, "utf-8")
    model = pysim.load_scene(tmp_path / "two.toml").model
    names = {move.coordinate for part in model.spec.forces[0].path for move in part.moves}
    assert names == {"left/knee", "left/ankle", "left/toe"}


@pytest.mark.parametrize("name", ["both ends", "conditional"])
@pytest.mark.parametrize("angle", [-0.3, 0.4])
def test_points_of_welded_coordinates_stay(tmp_path, rng, name, angle):
    model = scene_with(tmp_path, PATHS[name]).model
    welded = model.locked({"knee": angle})
    q, _ = states(model, rng)
    q[:, 4] = angle
    energy = pysim.elastic_energy(model, q)
    assert_close(pysim.elastic_energy(welded, np.delete(q, 4, axis=1)), energy)
