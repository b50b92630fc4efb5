"""Loops whose rows are nearly dependent: because they depend on each other, because they pass a singular position, or
because what lies between them is light.

Oracles: Bennett's relation between the angles of his linkage, tan(θ/2) tan(φ/2) = sin((β + α)/2) / sin((β − α)/2), and
its energy; the reduced equation of parallelograms that turn as one; a dense solution of M v̇ = Jᵀλ − h, J v̇ + J̇ v = 0
by singular values of J M^(−1/2), which does not square the angles.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pysim
from pysim.loops import constrained_aba, constraints
from tests.commands import check_scene

SCENES = Path(__file__).parents[2] / "scenes"
ALPHA, LONGER = 0.5, 1.4  # twist of the short bars [rad], length of the long ones in theirs
BETA = math.asin(LONGER * math.sin(ALPHA))
RELATION = math.sin((BETA + ALPHA) / 2) / math.sin((BETA - ALPHA) / 2)

BODY = """
[[body]]
name = "{name}"
mass = {mass}
shape = {{ box = [{length}, {thick}, {thin}], at = {{ xyz = [{half}, 0, 0] }} }}
"""

JOINTS = """
[[joint]]
name = "first"
type = "revolute"
child = "A"
start = {{ q = {theta}, v = 2.0 }}

[[joint]]
name = "second"
type = "revolute"
parent = "A"
child = "B"
at = {{ xyz = [{short}, 0, 0], rpy = [{alpha}, 0, 0] }}
start = {phi}

[[joint]]
name = "third"
type = "revolute"
parent = "B"
child = "C"
at = {{ xyz = [{long}, 0, 0], rpy = [{beta}, 0, 0] }}
start = {theta}

[[loop]]
name = "close"
type = "revolute"
a = "C"
b = "world"
at_a = {{ xyz = [{short}, 0, 0], rpy = [{alpha}, 0, 0] }}
at_b = {{ xyz = [-{long}, 0, 0], rpy = [-{beta}, 0, 0] }}
"""

LIGHT = """
[[body]]
name = "a"
mass = 1.0
shape = { box = [0.3, 0.1, 0.1], at = { xyz = [0.15, 0, 0] } }

[[body]]
name = "b"
mass = MASS
com = [0.45, 0, 0]
inertia = { xx = MOMENTe-1, yy = MOMENT, zz = MOMENT }

[[body]]
name = "c"
mass = 1.0
shape = { box = [0.6, 0.1, 0.1], at = { xyz = [0.3, 0, 0] } }

[[joint]]
name = "ja"
type = "revolute"
child = "a"
axis = [0, -1, 0]
start = 0.4

[[joint]]
name = "jb"
type = "revolute"
parent = "a"
child = "b"
at = { xyz = [0.3, 0, 0] }
axis = [0, -1, 0]
start = 0.5

[[joint]]
name = "jc"
type = "revolute"
child = "c"
at = { xyz = [0.8, 0, 0] }
axis = [0, -1, 0]
start = 1.7

[[loop]]
name = "close"
type = "revolute"
a = "b"
b = "c"
axis = [0, -1, 0]
at_a = { xyz = [0.9, 0, 0] }
at_b = { xyz = [0.6, 0, 0] }
"""


def bennett(folder: Path, short: float, **simulation: object) -> pysim.Scene:
    """Bennett's linkage: four hinges whose five rows have rank two, and so one degree of freedom."""
    theta = 1.1
    phi = 2 * math.atan(RELATION / math.tan(theta / 2))
    text = 'name = "bennett"\ngravity = [0, -9.81, 0]\n'
    for name, length in (("A", short), ("B", LONGER * short), ("C", short)):
        size = {"length": length, "half": length / 2, "thick": short / 10, "thin": short / 12}
        text += BODY.format(name=name, mass=2000 * short**3, **size)
    text += JOINTS.format(
        theta=theta, phi=phi, short=short, long=LONGER * short, alpha=ALPHA, beta=BETA
    )
    path = folder / "bennett.toml"
    path.write_text(text, "utf-8")
    overrides = {f"simulation.{key}": value for key, value in simulation.items()}
    return pysim.load_scene(path, overrides | {"output.every": 0.05 * math.sqrt(short)})


@pytest.mark.parametrize("short", [1.0, 0.03])
@pytest.mark.parametrize(
    ("integrator", "step", "energy", "relation"),
    [
        ("rk4", 1e-3, 1e-10, 1e-8),
        ("rk4", 1e-2, 1e-6, 1e-8),
        ("dopri5", 1e-2, 1e-7, 1e-8),
        ("generalized_alpha", 2e-3, 1e-4, 1e-8),
        ("variational4", 1e-3, 1e-10, 1e-8),
    ],
)
def test_rows_that_depend_on_each_other_hold_nothing_that_is_free(
    tmp_path: Path, short: float, integrator: str, step: float, energy: float, relation: float
) -> None:
    """Within an explicit step all five rows seem independent, and would stop the linkage."""
    time = math.sqrt(short)
    scene = bennett(tmp_path, short, integrator=integrator, step=step * time, duration=2.0 * time)
    run = pysim.simulate(scene)
    drift = np.abs(run.energy - run.energy[0]).max() / run.kinetic.max()
    assert drift < energy
    assert run.kinetic.max() > 5 * run.kinetic[0]
    theta, phi = run.q[:, 0], run.q[:, 1]
    left = np.sin(theta / 2) * np.sin(phi / 2) - RELATION * np.cos(theta / 2) * np.cos(phi / 2)
    assert np.abs(left).max() < relation


def test_a_batch_of_linkages_whose_rows_depend_moves_as_each_alone(tmp_path: Path) -> None:
    scene = bennett(tmp_path, 1.0)
    model, state = scene.model, scene.state
    v = np.linspace(0.5, 1.5, 11)[:, None] * state.v
    q = np.tile(state.q, (11, 1))
    together = pysim.rollout(model, q, v, np.zeros((11, 40, model.nv)), 4e-3, "rk4")
    for k in range(11):
        alone = pysim.rollout(model, q[k], v[k], np.zeros((40, model.nv)), 4e-3, "rk4")
        np.testing.assert_array_equal(together[0][k], alone[0])
        np.testing.assert_array_equal(together[1][k], alone[1])


@pytest.mark.parametrize(
    ("integrator", "q_error", "v_error"), [("rk4", 2e-9, 4e-9), ("dopri5", 5e-8, 5e-8)]
)
def test_parallelograms_of_any_numbers_pass_flat_positions(
    integrator: str, q_error: float, v_error: float
) -> None:
    """Ten of them pass some three hundred flat positions, by fixed steps that may end or halve anywhere beside them."""
    rng = np.random.default_rng(11)
    for _ in range(10):
        overrides, (inertia, moment, gravity, w) = parallelogram(rng)
        keys = {"simulation.integrator": integrator, "simulation.step": 1e-3, "output.every": 0.01}
        run = pysim.simulate(pysim.load_scene(SCENES / "four_bars.toml", overrides | keys))
        exact = solve_ivp(
            lambda _, y, k=moment / inertia, g=gravity: [
                y[1],
                k * (g[1] * np.cos(y[0]) - g[0] * np.sin(y[0])),
            ],
            (0, 10),
            [np.pi / 2, w],
            t_eval=run.t,
            rtol=1e-12,
            atol=1e-13,
            method="DOP853",
        ).y
        post = run.names["coordinates"].index("pivot0")
        np.testing.assert_allclose(run.q[:, post], exact[0], rtol=0, atol=q_error)
        np.testing.assert_allclose(run.v[:, post], exact[1], rtol=0, atol=v_error)


def parallelogram(
    rng: np.random.Generator,
) -> tuple[dict[str, object], tuple[float, float, list[float], float]]:
    """Overrides of four_bars.toml, and what its reduced equation needs: inertia, first moment, gravity, start."""
    post, coupler, length = (
        rng.uniform(0.5, 3, 3),
        rng.uniform(0.5, 3, 2),
        float(rng.uniform(0.6, 1.6)),
    )
    g = [float(rng.uniform(-2, 2)), -float(rng.uniform(4, 12)), 0]
    w = float(rng.uniform(-9, -0.5))
    keys: dict[str, object] = {"gravity": g}
    for i in range(3):
        keys |= {
            f"body.post{i}.mass": float(post[i]),
            f"body.post{i}.shape.box": [length, 1e-6, 1e-6],
            f"body.post{i}.shape.at.xyz": [length / 2, 0, 0],
            f"joint.pivot{i}.start.v": w,
        }
    for i in range(2):
        keys |= {
            f"body.coupler{i}.mass": float(coupler[i]),
            f"joint.elbow{i}.at.xyz": [length, 0, 0],
            f"loop.hinge{i}.at_b.xyz": [length, 0, 0],
            f"joint.elbow{i}.start.v": -w,
        }
    inertia = (post.sum() / 3 + coupler.sum()) * length**2
    return keys, (inertia, (post.sum() / 2 + coupler.sum()) * length, g, w)


@pytest.mark.parametrize("mass", [1e-3, 1e-6, 1e-8, 1e-9])
def test_a_light_coupler_is_accelerated_as_its_loop_requires(tmp_path: Path, mass: float) -> None:
    """Rows at its end meet at an angle of about the root of its share of the mass."""
    path = tmp_path / "light.toml"
    text = LIGHT.replace("MOMENTe-1", f"{0.01 * mass}").replace("MOMENT", f"{0.07 * mass}")
    path.write_text('name = "light"\n' + text.replace("MASS", f"{mass}"), "utf-8")
    scene = pysim.load_scene(path)
    model, q = scene.model, scene.state.q
    jacobian = constraints(model, q, scene.state.v).jacobian
    v = np.linalg.svd(jacobian)[2][-1]
    v = 3 * v / np.abs(v).max()
    found = constrained_aba(model, q, v, np.zeros(3))
    at = constraints(model, q, v)
    root = np.linalg.cholesky(pysim.crba(model, q))
    rows = np.linalg.solve(root, at.jacobian.T).T
    size = np.linalg.norm(rows, axis=1)
    x = np.linalg.solve(root, -pysim.nonlinear_effects(model, q, v))
    for _ in range(3):  # refined
        x -= np.linalg.pinv(rows / size[:, None], 1e-13) @ ((rows @ x + at.bias) / size)
    expected = np.linalg.solve(root.T, x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("density", "light"), [(2700.0, False), (1e-4, False), (2.7e-7, True), (2.7e-9, True)]
)
def test_check_warns_of_a_coupler_too_light_for_its_loop_and_the_mass_it_names_is_enough(
    density: float, light: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Closing forces fade where pivots of J M⁻¹ Jᵀ are near 1e-10: energy of the lighter one drifts by 1e-3."""
    key = "body.coupler.shape.density"
    check_scene(SCENES / "four_bar.toml", (f"{key}={density}",))
    reported = re.search(
        r"'coupler' \((\S+) kg\) is so much lighter .* give it (\S+) kg", capsys.readouterr().err
    )
    assert bool(reported) == light
    if reported is None:
        return
    mass, enough = (float(number) for number in reported.groups())
    check_scene(SCENES / "four_bar.toml", (f"{key}={density * enough / mass}",))
    assert "lighter" not in capsys.readouterr().err
