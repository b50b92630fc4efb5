"""Gradients of losses of worlds through steps with loops, couplings and prescribed motions.

Oracle: the best of central differences of sixth order, of six sizes, of the engine's own steps: by motions of the
start that keep the loops closed, whose velocities follow, and by every velocity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pysim
from pysim.loops.constraints import constraints
from pysim.typing import Array
from pysim.worlds.ledger import with_ledger
from tests.analysis.test_gradients import WEIGHTS, Rollout, check_parameters, error
from tests.elements.blocks import table
from tests.loops.leg_mechanisms import two_legs

pytestmark = pytest.mark.filterwarnings("ignore::pysim.PysimWarning")  # of starts and planes
SIZES = 10.0 ** np.array([-2.0, -2.5, -3.0, -4.0, -5.0, -6.0])
SMOOTH = 1e-7
SCENES = Path(__file__).parents[2] / "scenes"
SCHEMES = ["convex", "semi_implicit", "rk2", "rk4", "implicit_midpoint", "generalized_alpha"]
LINK = """
[[body]]
name = "{name}"
mass = 1.2
com = [0.2, 0.01, -0.02]
inertia = {{ xx = 0.01, yy = 0.02, zz = 0.025, xy = 0.001 }}
"""


def keys_of(scheme: str) -> dict[str, object]:
    """Return the keys of a simulation by a scheme."""
    exact = {"passes": 1, "solver_tolerance": 1e-13} if scheme == "convex" else {}
    return {"integrator": scheme, "step": 2e-3, **exact}


def scene_of(folder: Path, text: str, scheme: str = "convex") -> pysim.Scene:
    path = folder / "scene.toml"
    run = table("simulation", **keys_of(scheme), duration=1.0).replace(
        "[[simulation]]", "[simulation]"
    )
    path.write_text(text + run, "utf-8")
    return pysim.load_scene(path)


def closed(scene: pysim.Scene, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return the nearest states that satisfy the constraints."""
    model = scene.model
    for _ in range(8):
        at = constraints(model, q, loop_q=scene.state.loop_q, t=t)
        move = np.linalg.lstsq(at.jacobian, -at.residual, rcond=1e-9)[0]
        q = model.integrate(q, move)
    at = constraints(model, q, loop_q=scene.state.loop_q, t=t)
    off = at.jacobian @ v + at.rates
    return q, v - np.linalg.lstsq(at.jacobian, off, rcond=1e-9)[0]


def tangents(scene: pysim.Scene, q: Array, t: float) -> Array:
    """Return directions (dof, nv) along which g stays zero; slip of a wheel is no change of g."""
    model = scene.model
    rows = []
    for unit in np.eye(model.nv):
        both = [
            constraints(model, model.integrate(q, k * 1e-6 * unit), loop_q=scene.state.loop_q, t=t)
            for k in (1, -1)
        ]
        rows.append((both[0].residual - both[1].residual) / 2e-6)
    _, sizes, V = np.linalg.svd(np.array(rows).T)
    return np.asarray(V[(sizes > 1e-6).sum() :]).reshape(-1, model.nv)


def by_start(rollout: Rollout) -> tuple[Array, list[Array], Array]:
    """Differences by tangents and by v, of every size; and how q and v move along the tangents."""
    scene, t = rollout.scene, float(rollout.worlds.t[0])
    directions = tangents(scene, rollout.q, t)
    _, v0 = closed(scene, rollout.q, rollout.v, t)
    weights = np.array(list(WEIGHTS.values()))
    derivatives, moved = [], []
    for size in SIZES:
        q, v = [], []
        for tangent in directions:
            for k in WEIGHTS:
                at = closed(
                    scene, scene.model.integrate(rollout.q, k * size * tangent), rollout.v, t
                )
                q.append(at[0])
                v.append(at[1])
        moves = np.array([scene.model.difference(rollout.q, x) for x in q]).reshape(len(q), len(v0))
        changes = np.hstack([moves, np.array(v).reshape(moves.shape) - v0])
        changes = changes.reshape(len(directions), len(WEIGHTS), changes.shape[1])
        slopes = np.einsum("dkn,k->dn", changes, weights)
        moved.append(slopes / (60 * size))
        for unit in np.eye(len(rollout.v)):
            for k in WEIGHTS:
                q.append(rollout.q)
                v.append(rollout.v + k * size * unit)
        held = None if rollout.controls is None else np.repeat(rollout.controls, len(q), axis=0)
        values = rollout.values(np.array(q), np.array(v), held)
        derivatives.append(values.reshape(-1, len(WEIGHTS)) @ weights / (60 * size))
    return moved[2], derivatives, directions


def check(rollout: Rollout, bound: float = SMOOTH) -> None:
    found = rollout.gradient()
    motions, oracles, own = by_start(rollout)
    along = motions @ np.concatenate([found.q[0], found.v[0]])
    assert len(own) == len(along)
    assert error(np.concatenate([along, found.v[0]]), oracles) < bound


def started(scene: pysim.Scene, seed: int, speed: float = 0.5) -> tuple[Array, Array]:
    """Return a random closed start."""
    rng = np.random.default_rng(seed)
    return closed(scene, scene.state.q, scene.state.v + rng.normal(0, speed, scene.model.nv), 0.0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_row_that_rounding_makes_has_no_part_in_derivatives(scheme: str, tmp_path: Path) -> None:
    """Legs whose loops have a row too many, but for a tilt of 1e-10; the base is displaced, which turns nothing."""
    path = tmp_path / "legs.toml"
    path.write_text(two_legs(tilt=1e-10, step=2e-3, integrator=scheme), "utf-8")
    scene = pysim.load_scene(path)
    q, v = started(scene, 5)
    rollout = Rollout(scene, q, v, 3)
    gradient = rollout.gradient()
    sizes = (1e-2, 1e-3, 1e-4, 1e-5)
    units = np.concatenate([np.outer(list(WEIGHTS), unit) for unit in np.eye(scene.model.nv)])
    by_v = [
        rollout.values(np.tile(q, (len(units), 1)), v + size * units, None).reshape(
            -1, len(WEIGHTS)
        )
        @ np.array(list(WEIGHTS.values()))
        / (60 * size)
        for size in sizes
    ]
    assert error(gradient.v[0], by_v) < SMOOTH
    places = np.tile(q, (2, 1))
    places[:, :3] += [[1e-3, 2e-3, 3e-3], [-1e-3, -2e-3, -3e-3]]
    moved = rollout.values(places, np.tile(v, (2, 1)), None)
    along = rotation_of(q[3:7]).T @ [1e-3, 2e-3, 3e-3]
    assert abs(gradient.q[0, :3] @ along - (moved[0] - moved[1]) / 2) < 1e-11


def rotation_of(quaternion: Array) -> Array:
    """Return the matrix of a quaternion (x, y, z, w)."""
    return np.asarray(Rotation.from_quat(quaternion).as_matrix())


FOUR_BAR = "".join(
    [
        "gravity = [0.3, 0.2, -9.81]\n",
        *(LINK.format(name=name) for name in ("crank", "coupler", "rocker")),
        """
[[joint]]
name = "drive"
type = "revolute"
child = "crank"
axis = [0, -1, 0]
start = { q = 0.4, v = 2.0 }
friction = 0.05
damping = 0.02
armature = 0.003
[[joint]]
name = "knee"
type = "revolute"
parent = "crank"
child = "coupler"
at = { xyz = [0.3, -0.03, 0] }
axis = [0, -1, 0]
start = { q = 0.5 }
[[joint]]
name = "swing"
type = "revolute"
child = "rocker"
at = { xyz = [0.8, 0, 0] }
axis = [0, -1, 0]
start = { q = 1.7 }
stiffness = 2.0
[[loop]]
name = "close"
type = "revolute"
a = "coupler"
b = "rocker"
at_a = { xyz = [0.9, 0.03, 0] }
at_b = { xyz = [0.6, 0, 0] }
axis = [0, -1, 0]
[assembly]
hold = ["drive"]
[[signal]]
name = "torque"
type = "input"
[[actuator]]
name = "motor"
type = "position_servo"
joint = "drive"
command = "torque"
kp = 40.0
kd = 0.5
force_range = [-15.0, 15.0]
""",
    ]
)
CHAIN = "".join(
    [
        *(LINK.format(name=name) for name in ("a", "b", "c")),
        """
[[joint]]
name = "one"
type = "ball"
child = "a"
start = { xyz = [0.1, 0.2, 0.3] }
[[joint]]
name = "two"
type = "universal"
parent = "a"
child = "b"
at = { xyz = [0.4, 0, 0.1] }
start = { q = [0.4, 0.3] }
[[joint]]
name = "three"
type = "ball"
parent = "b"
child = "c"
at = { xyz = [0.4, 0.1, 0] }
""",
    ]
).replace("start = { xyz = [0.1, 0.2, 0.3] }\n", "")
ENDS = 'name = "end"\na = "c"\nat_a = { xyz = [0.4, 0.05, 0.02], rpy = [0.2, 0.1, 0.3] }\n'
LOOPS = {
    kind: f'[[loop]]\ntype = "{kind}"\n{ENDS}{rest}\n'
    for kind, rest in {
        "ball": "",
        "revolute": "",
        "prismatic": "",
        "cylindrical": "",
        "universal": "",
        "helical": "pitch = 0.1",
        "planar": "",
        "translation": "",
        "point_on_plane": "",
        "point_on_line": "",
        "distance": "length = 0.3",
    }.items()
}


@pytest.mark.parametrize("steps", [1, 20])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_four_bar_with_a_servo_has_the_gradient_of_differences(
    scheme: str, steps: int, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, FOUR_BAR, scheme)
    controls = np.random.default_rng(4).normal(0.4, 0.2, (1, steps, 1))
    rollout = Rollout(scene, *started(scene, 1, 0.0), steps, controls)
    check(rollout)
    found = rollout.gradient()
    assert error(found.controls[0].ravel(), rollout.by_controls()) < SMOOTH


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_chain_that_a_loop_holds_has_the_gradient_of_differences(
    scheme: str, kind: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, CHAIN + LOOPS[kind], scheme)
    check(Rollout(scene, *started(scene, 2), 3))


CLOSED = ["bricard", "stewart_platform", "five_bar", "differential"]
ROLLING = [(scheme, "rolling_disk") for scheme in SCHEMES if scheme != "convex"]


@pytest.mark.parametrize(
    ("scheme", "name"), [*((scheme, name) for scheme in SCHEMES for name in CLOSED), *ROLLING]
)
def test_a_scene_with_loops_or_couplings_has_the_gradient_of_differences(
    scheme: str, name: str
) -> None:
    changes = {f"simulation.{key}": value for key, value in keys_of(scheme).items()}
    scene = pysim.load_scene(SCENES / f"{name}.toml", changes)
    check(Rollout(scene, *started(scene, 1, 0.3), 10))


def test_a_closed_chain_in_contact_has_the_gradient_of_differences(tmp_path: Path) -> None:
    foot = "collision = [{ sphere = { radius = 0.04 }, at = { xyz = [0, 0.3, 0] } }]\n"
    text = CHAIN.replace('name = "c"\n', 'name = "c"\n' + foot, 1) + LOOPS["ball"]
    ground = "[[ground]]\nplane = { normal = [0, 0, 1], offset = -0.334 }\n"
    material = (
        "[materials.default]\nfriction = 0.6\nstiffness = 2e4\ndissipation = 0.3\n"
        "relaxation_time = 1e-3\n"
    )
    scene = scene_of(tmp_path, material + text + ground)
    rollout = Rollout(scene, *started(scene, 2), 5)
    assert np.abs(rollout.reference.contacts).max() > 10
    check(rollout)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_gradient_by_numbers_of_a_closed_chain_is_that_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    scene = scene_of(tmp_path, FOUR_BAR, scheme)
    rollout = Rollout(scene, *started(scene, 1, 0.0), 20, np.full((1, 20, 1), 0.4))
    drive = ["armature", "friction", "damping"]
    paths = [
        "gravity",
        "joint.swing.stiffness",
        "actuator.motor.kp",
        *(f"joint.drive.{key}" for key in drive),
        *(f"body.coupler.{key}" for key in ("mass", "com", "inertia")),
    ]
    check_parameters(rollout, paths)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_amplitude_of_a_prescribed_motion_has_the_gradient_of_differences(
    scheme: str, tmp_path: Path
) -> None:
    drive = "start = { q = 0.4, v = 2.0 }\nfriction = 0.05\n"
    text = FOUR_BAR.split("[[signal]]")[0].replace(drive, 'motion = { signal = "turn" }\n')
    text = text.replace('[assembly]\nhold = ["drive"]\n', "")
    sine = {"type": "sine", "amplitude": 0.2, "frequency": 3.0, "unit": "rad"}
    scene = scene_of(tmp_path, text + table("signal", name="turn", **sine), scheme)
    rollout = Rollout(scene, *closed(scene, scene.state.q, scene.state.v, 0.0), 8)
    path = "signal.turn.amplitude"
    check_parameters(rollout, [path])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_ledger_of_energies_changes_no_gradient_of_a_driven_chain(scheme: str) -> None:
    """It integrates the work of the motion, which acts on nothing."""
    keys = {"simulation.integrator": scheme, "simulation.step": 2e-3}
    scene = pysim.load_scene(SCENES / "driven_linkage.toml", keys)
    found = [
        Rollout(own, scene.state.q, scene.state.v, 5).gradient()
        for own in (scene, with_ledger(scene))
    ]
    assert np.array_equal(found[0].q, found[1].q)


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_a_step_past_a_singular_position_is_refused(scheme: str) -> None:
    """It is made in short steps of another scheme."""
    keys = {"simulation.integrator": scheme, "simulation.step": 2e-3}
    scene = pysim.load_scene(SCENES / "four_bars.toml", keys)
    with pytest.raises(pysim.SimulationError, match="step 370 of world 0 is solved in shorter"):
        Rollout(scene, scene.state.q, scene.state.v, 400).gradient()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_end_of_a_driven_chain_does_not_depend_on_its_speed_at_the_start(scheme: str) -> None:
    scene = pysim.load_scene(
        SCENES / "driven_linkage.toml", {"simulation.integrator": scheme, "simulation.step": 2e-3}
    )
    rollout = Rollout(scene, scene.state.q, scene.state.v, 5)
    found = rollout.gradient()
    assert np.abs(found.v[0]).max() < 1e-6
