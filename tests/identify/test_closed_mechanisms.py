"""Identification of closed mechanisms. The oracle is the scene that made the motion, with bodies the model has wrong.

Base values are compared with those of the true bodies; motions that nothing drives determine them up to one factor.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim import inertia
from pysim.cli import main
from pysim.errors import IdentificationError
from pysim.identify import (
    Identification,
    Samples,
    Unknowns,
    base_parameters,
    exciting_trajectory,
    identify,
    make_samples,
    predicted_torque,
)
from pysim.identify.momenta import check_floats
from pysim.joints import Joint, Pose, joint, real
from pysim.mechanism.actuation import actuator_forces
from tests.identify.recordings import mistaken

Array = np.ndarray
SCENES = Path(__file__).parents[2] / "scenes"
NOTHING_DRIVES = (
    "no force drives the recorded motion: it determines only ratios of the parameters, scaled by the "
    "model's energy"
)


def run_of(scene: pysim.Scene, model: pysim.Model | None = None) -> Samples:
    """The scene's run, driven by its actuators, as samples of a model."""
    run = pysim.simulate(scene)
    tau = actuator_forces(scene.actuation, run.t)
    return make_samples(model or scene.model, run.t, run.q, tau, run.v, run.a)


def scene_of(name: str, **settings: float) -> pysim.Scene:
    keys = {"simulation.duration": 2.0, "output.every": 0.01} | {
        f"simulation.{key}": value for key, value in settings.items()
    }
    return pysim.load_scene(SCENES / f"{name}.toml", keys)


def true_base(found: Identification, truth: pysim.Model) -> Array:
    return found.base.matrix[:, : 10 * found.unknowns.blocks] @ (
        truth.parameters[list(found.unknowns.bodies)].ravel()
    )


@pytest.mark.parametrize(("name", "digits"), [("five_bar", 1e-9), ("differential", 1e-9)])
def test_a_driven_closed_mechanism_gives_back_its_base_parameters(name: str, digits: float) -> None:
    scene = scene_of(name)
    drawing = mistaken(scene.model, seed=3, size=0.2)
    found = identify(drawing, run_of(scene, drawing))
    truth = true_base(found, scene.model)
    np.testing.assert_allclose(found.base_values, truth, atol=digits * np.abs(truth).max())
    assert inertia.is_physical(found.theta).all()
    assert (found.residual < 1e-6 * found.residual_before.max()).all()
    assert found.cross_validation.shape == (5, scene.model.nv)


def test_andrews_mechanism_gives_back_its_base_parameters() -> None:
    scene = pysim.load_scene(SCENES / "andrews.toml", {"output.every": 1e-4})
    drawing = mistaken(scene.model, seed=3, size=0.2)
    found = identify(drawing, run_of(scene, drawing), prior=0.2)
    truth = true_base(found, scene.model)
    np.testing.assert_allclose(found.base_values, truth, atol=1e-5 * np.abs(truth).max())


def test_the_five_bar_of_the_readme_has_the_moment_that_its_bodies_have() -> None:
    """0.292 kg·m of the left crank with the rod that it carries, whatever the loop adds to it."""
    scene = scene_of("five_bar")
    found = identify(scene.model, run_of(scene))
    crank, rod = (scene.model.body_names.index(name) for name in ("left crank", "left rod"))
    theta = scene.model.parameters
    assert theta[crank, 1] + 0.3 * theta[rod, 0] == pytest.approx(0.292, abs=5e-4)
    assert found.base.names[0] == "left crank.mcx + 0.3 left rod.m + 0.667 right rod.mcx"
    right = scene.model.body_names.index("right rod")
    expected = theta[crank, 1] + 0.3 * theta[rod, 0] + 0.3 / 0.45 * theta[right, 1]
    assert found.base_values[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "bricard"])
def test_an_undriven_motion_determines_ratios_and_reports_it(name: str) -> None:
    scene = scene_of(name)
    drawing = mistaken(scene.model, seed=3, size=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = identify(drawing, run_of(scene, drawing))
    assert NOTHING_DRIVES in found.notes
    assert found.equations[-1] == "kinetic energy of all [J]"
    truth = true_base(found, scene.model)
    factor = (found.base_values @ truth) / (truth @ truth)
    assert 0.5 < factor < 2
    np.testing.assert_allclose(
        found.base_values, factor * truth, atol=1e-5 * factor * np.abs(truth).max()
    )


def test_the_prior_of_a_motion_that_nothing_drives_is_its_own_answer() -> None:
    scene = scene_of("four_bar")
    found = identify(scene.model, run_of(scene))
    truth = true_base(found, scene.model)
    np.testing.assert_allclose(found.base_values, truth, atol=1e-9 * np.abs(truth).max())
    np.testing.assert_allclose(
        found.theta, inertia.nearest_physical(scene.model.parameters, margin=1e-4), atol=1e-9
    )


PENDULUM = """
name = "free"
[[body]]
name = "rod"
mass = 2.0
com = [0.3, 0, 0]
inertia = { xx = 0.01, yy = 0.1, zz = 0.1 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
start = { q = 0.3 }
[simulation]
duration = 2.0
step = 1e-3
[output]
every = 0.01
"""


def test_an_open_mechanism_that_nothing_drives_is_not_massless(tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text(PENDULUM, "utf-8")
    scene = pysim.load_scene(tmp_path / "free.toml")
    found = identify(scene.model, run_of(scene))
    assert found.notes == (NOTHING_DRIVES,)
    values = dict(zip(found.base.names, found.base_values, strict=True))
    expected = {"rod.mcx": 0.6, "rod.mcz": 0.0, "rod.Iyy": 0.28}
    assert values == pytest.approx(expected, abs=1e-9)


def test_redundant_rows_leave_the_figures_of_the_open_mechanism(rng: np.random.Generator) -> None:
    """A coupling that says the same twice over is one; N is what any basis of the null space gives."""
    scene = scene_of("differential")
    model = scene.model
    samples = run_of(scene)
    found = identify(model, samples)
    J = pysim.loops.constraint_jacobian(model, samples.q)
    predicted = predicted_torque(found.model, samples)
    left = predicted - samples.tau
    for J_k, left_k in zip(J, left, strict=True):
        _, s, Vt = np.linalg.svd(J_k)
        N = Vt[(s > 1e-9).sum() :].T
        np.testing.assert_allclose(N.T @ left_k, 0, atol=1e-6)


def test_noise_of_motors_is_estimated_and_explains_the_deviations(rng: np.random.Generator) -> None:
    scene = scene_of("five_bar", duration=10.0)
    samples = run_of(scene)
    driven = [0, 2]
    noise = np.array([0.05, 0.2])
    z = []
    for _ in range(4):
        tau = samples.tau.copy()
        tau[:, driven] += noise * rng.standard_normal((len(samples), 2))
        noisy = (samples.t, samples.q, tau, samples.v, samples.a)
        found = identify(scene.model, make_samples(scene.model, *noisy), folds=1)
        np.testing.assert_allclose(found.noise[driven], noise, rtol=0.1)
        z.append((found.base_values - true_base(found, scene.model)) / found.base_deviations)
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1.0, abs=0.35)


def test_encoders_leave_the_loops_open_and_the_samples_are_moved_onto_them(
    rng: np.random.Generator,
) -> None:
    scene = scene_of("five_bar", duration=10.0)
    samples = run_of(scene)
    q = np.round(samples.q / 1e-4) * 1e-4
    found = identify(
        scene.model, make_samples(scene.model, samples.t, q, samples.tau, samples.v, samples.a)
    )
    (note,) = found.notes
    assert note.startswith("loop 'pen hinge' is open by ")
    assert note.endswith(": the samples were moved onto the constraints")
    truth = true_base(found, scene.model)
    np.testing.assert_allclose(found.base_values, truth, atol=1e-3 * np.abs(truth).max())


def test_energies_identify_a_closed_mechanism() -> None:
    scene = scene_of("five_bar", duration=10.0)
    samples = run_of(pysim.load_scene(SCENES / "five_bar.toml", {"output.every": 1e-3}))
    found = identify(scene.model, samples, using="energy", resistances=("damping",))
    truth = true_base(found, scene.model)
    z = np.abs(found.base_values[: len(truth)] - truth) / np.abs(truth).max()
    assert (z[np.abs(truth) > 0] < 1e-2).all()


FLOATING = """
name = "floating four-bar"
gravity = [0, 0, 0]
[[body]]
name = "frame"
mass = 3.0
inertia = { xx = 0.1, yy = 0.2, zz = 0.2 }
[[body]]
name = "crank"
shape = { box = [0.3, 0.03, 0.04], at = { xyz = [0.15, 0, 0] }, density = 2700 }
[[body]]
name = "coupler"
shape = { box = [0.9, 0.02, 0.04], at = { xyz = [0.45, 0, 0] }, density = 2700 }
[[body]]
name = "rocker"
shape = { box = [0.6, 0.03, 0.04], at = { xyz = [0.3, 0, 0] }, density = 2700 }
[[joint]]
name = "base"
type = "free"
child = "frame"
start = { v = [0.1, 0, 0, 0.5, 0.3, -0.2] }
[[joint]]
name = "drive"
type = "revolute"
parent = "frame"
child = "crank"
axis = [0, -1, 0]
start = { q = 0.4, v = 9.0 }
[[joint]]
name = "knee"
type = "revolute"
parent = "crank"
child = "coupler"
at = { xyz = [0.3, 0, 0] }
axis = [0, -1, 0]
start = { q = 0.5 }
[[joint]]
name = "swing"
type = "revolute"
parent = "frame"
child = "rocker"
at = { xyz = [0.8, 0, 0] }
axis = [0, -1, 0]
start = { q = 1.7 }
[[loop]]
name = "close"
type = "revolute"
a = "coupler"
b = "rocker"
at_a = { xyz = [0.9, 0, 0] }
at_b = { xyz = [0.6, 0, 0] }
axis = [0, -1, 0]
[assembly]
hold = ["base", "drive"]
[simulation]
duration = 4.0
step = 1e-3
[output]
every = 0.002
"""


def test_momenta_identify_a_closed_mechanism_that_floats(tmp_path: Path) -> None:
    path = tmp_path / "floating.toml"
    path.write_text(FLOATING, "utf-8")
    scene = pysim.load_scene(path)
    samples = run_of(scene)
    found = identify(scene.model, samples, using="momentum", interval=0.01, folds=2)
    before = np.abs(
        np.diff(pysim.algorithms.momentum_regressor(scene.model, samples.q, samples.v), axis=0)
        @ found.model.parameters.ravel()
    )
    assert before.max() < 1e-6


FLOATING_ARM = """
gravity = [0, 0, 0]
[[body]]
name = "frame"
mass = 3.0
inertia = { xx = 0.1, yy = 0.2, zz = 0.2 }
[[body]]
name = "arm"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "base"
type = "free"
child = "frame"
[[joint]]
name = "drive"
type = "revolute"
parent = "frame"
child = "arm"
"""
GROUNDED = {
    "loop 'rail'": '[[loop]]\nname = "rail"\ntype = "point_on_line"\nb = "arm"\n',
    "force 'tether'": '[[force]]\nname = "tether"\ntype = "spring"\nb = "frame"\nat_a = [0, 0, 1]\nstiffness = 1.0\n',
    "force 'bush'": '[[force]]\nname = "bush"\ntype = "linear_drag"\nb = "arm"\ncoefficient = 1.0\n',
    "force 'rest'": (
        '[[force]]\nname = "rest"\ntype = "stribeck_friction"\ncoordinates = ["base.vz"]\n'
        "kinetic = 1.0\nstatic = 1.0\nstribeck_speed = 0.1\n"
    ),
}


@pytest.mark.parametrize("tie", GROUNDED)
def test_momenta_of_what_is_tied_to_the_world_are_rejected(tmp_path: Path, tie: str) -> None:
    path = tmp_path / "floating.toml"
    path.write_text(FLOATING_ARM + GROUNDED[tie], "utf-8")
    model = pysim.load_scene(path).model
    with pytest.raises(IdentificationError) as caught:
        identify(model, at_rest(model), using="momentum")
    assert str(caught.value) == (
        f"samples: momentum is transferred to the ground through {tie}; use equations of torque or energy"
    )


def test_ties_between_floating_bodies_leave_the_momentum_alone(tmp_path: Path) -> None:
    """Newton's third law: a spring, a drag and a gear inside the mechanism pass the check."""
    inside = """
[[force]]
name = "tether"
type = "spring"
a = "frame"
b = "arm"
at_a = [0, 0, 1]
stiffness = 1.0
[[force]]
name = "bush"
type = "linear_drag"
a = "frame"
b = "arm"
coefficient = 1.0
[[force]]
name = "rest"
type = "coordinate_spring"
coordinates = ["drive"]
stiffness = 1.0
[[body]]
name = "wheel"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "geared"
type = "revolute"
parent = "frame"
child = "wheel"
[[coupling]]
name = "gear"
joint = "geared"
ratios = { drive = 2.0 }
"""
    path = tmp_path / "floating.toml"
    path.write_text(FLOATING_ARM + inside, "utf-8")
    model = pysim.load_scene(path).model
    check_floats(Unknowns(model, tuple(range(model.nbodies))), "samples")


def at_rest(model: pysim.Model) -> Samples:
    """A recording in which nothing moves."""
    t, still = np.arange(50) * 0.01, np.zeros((50, model.nv))
    return make_samples(model, t, np.tile(model.neutral(), (50, 1)), still, still, still)


def test_momenta_know_no_resistances_and_need_an_interval_a_fold(tmp_path: Path) -> None:
    path = tmp_path / "floating.toml"
    path.write_text(FLOATING_ARM, "utf-8")
    model = pysim.load_scene(path).model
    with pytest.raises(IdentificationError) as caught:
        identify(model, at_rest(model), using="momentum", resistances=["damping"])
    assert str(caught.value) == (
        "unknown 'damping': does not affect the total momentum; use equations of torque or energy"
    )
    samples = replace(at_rest(model), v=np.ones((50, model.nv)))
    with pytest.raises(IdentificationError) as caught:
        identify(model, samples, using="momentum", interval=1.0, folds=2)
    assert str(caught.value) == (
        "samples: lasts 0.49 [s], less than 2 intervals of 1 [s]; record longer or take a shorter interval"
    )


PRESS = """
gravity = [0, 0, 0]
[[body]]
name = "screw"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.02 }
[[body]]
name = "ram"
mass = 3.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "turn"
type = "revolute"
child = "screw"
start = { v = 9.0 }
[[joint]]
name = "lift"
type = "prismatic"
child = "ram"
[[loop]]
name = "thread"
type = "helical"
a = "screw"
b = "ram"
pitch = 0.05
[[actuator]]
joint = "turn"
amplitude = 0.5
frequency = 3.0
[assembly]
hold = ["turn"]
[simulation]
duration = 2.0
step = 1e-3
[output]
every = 0.01
"""


@joint("thread_of_a_press")
class Thread(Joint):
    """A screw, as a plugin."""

    coordinates = real("angle")

    def placement(self, q):
        return Pose.rotate_z(q.angle) @ Pose.translate(0, 0, 0.05 * q.angle)


@pytest.mark.parametrize("kind", ["helical", "thread_of_a_press"])
def test_a_screw_press_is_identified_over_several_turns(tmp_path: Path, kind: str) -> None:
    """The reduced inertia I + p² m; the coordinate of the thread is followed from row to row."""
    path = tmp_path / "press.toml"
    text = PRESS.replace('"helical"', f'"{kind}"')
    path.write_text(text if kind == "helical" else text.replace("pitch = 0.05\n", ""), "utf-8")
    scene = pysim.load_scene(path)
    samples = run_of(scene)
    assert np.ptp(samples.q[:, 0]) > 4 * np.pi
    theta = scene.model.parameters.copy()
    theta[:, [0, 4, 5, 6]] *= 1.3  # a heavier guess
    found = identify(scene.model.with_parameters(theta), samples)
    reduced = found.theta[0, 9] + 0.05**2 * found.theta[1, 0]
    assert reduced == pytest.approx(0.02 + 0.05**2 * 3.0, rel=1e-4)


TRIANGLE = """
[[body]]
name = "left"
mass = 1.0
com = [0.5, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[body]]
name = "right"
mass = 1.0
com = [0.5, 0, 0]
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "base"
type = "revolute"
child = "left"
start = 1.0471975511965976
[[joint]]
name = "top"
type = "revolute"
parent = "left"
child = "right"
at = { xyz = [1, 0, 0] }
start = -2.0943951023931953
[[loop]]
name = "foot"
type = "revolute"
a = "right"
at_a = { xyz = [1, 0, 0] }
at_b = { xyz = [1, 0, 0] }
"""


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_truss_that_cannot_move_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "truss.toml"
    path.write_text(TRIANGLE, "utf-8")
    scene = pysim.load_scene(path)
    t, still = np.arange(50) * 0.01, np.zeros((50, 2))
    samples = make_samples(scene.model, t, np.tile(scene.state.q, (50, 1)), still, still, still)
    with pytest.raises(IdentificationError) as caught:
        identify(scene.model, samples)
    assert str(caught.value) == (
        "samples: loops and couplings of the model allow no motion, so nothing can be identified; check their axes"
    )


@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_loop_whose_rows_vanish_leaves_the_open_mechanism(tmp_path: Path) -> None:
    """A point of a planar arm stays in its plane without the loop's force."""
    arm = TRIANGLE.partition("[[loop]]")[0]
    plane = '[[loop]]\nname = "plane"\ntype = "point_on_plane"\nb = "right"\n'
    results = []
    for text in (arm, arm + plane):
        (tmp_path / "arm.toml").write_text(text, "utf-8")
        model = pysim.load_scene(tmp_path / "arm.toml").model
        t = np.arange(400) * 0.01
        w = np.array([3.0, 5.0])
        q, v, a = (
            np.sin(t[:, None] * w),
            w * np.cos(t[:, None] * w),
            -(w**2) * np.sin(t[:, None] * w),
        )
        tau = pysim.rnea(model, q, v, a)
        guess = mistaken(model, 5)
        results.append(identify(guess, make_samples(guess, t, q, tau, v, a)))
    np.testing.assert_allclose(results[1].base_values, results[0].base_values, rtol=1e-6, atol=1e-9)


def test_a_recording_of_another_mechanism_is_rejected_by_row_and_loop() -> None:
    scene = scene_of("five_bar")
    samples = run_of(scene)
    q = samples.q.copy()
    q[7] = [0.0, 0.0, np.pi, 0.0]
    with pytest.raises(IdentificationError) as caught:
        identify(
            scene.model, make_samples(scene.model, samples.t, q, samples.tau, samples.v, samples.a)
        )
    assert str(caught.value).startswith("samples: row 7: loop 'pen hinge' is open by ")
    assert str(caught.value).endswith(
        "and does not close nearby; give the model that was recorded, or leave the row out"
    )


def test_instants_beside_a_singular_position_are_left_out() -> None:
    """Four equal bars in one line can fold either way; what a sample says of forces there is not believed."""
    scene = scene_of("four_bars")
    own = run_of(scene)
    q, v, a, tau = own.q.copy(), own.v.copy(), own.a.copy(), own.tau.copy()
    q[7] = v[7] = a[7] = 0.0
    tau[7] = 1e3
    assert pysim.loops.mobility(scene.model, q[7]).singular
    found = identify(scene.model, make_samples(scene.model, own.t, q, tau, v, a))
    assert found.notes[0] == "1 of 201 samples are near a singular configuration and left out"
    truth = true_base(found, scene.model)
    factor = (found.base_values @ truth) / (truth @ truth)
    np.testing.assert_allclose(
        found.base_values, factor * truth, atol=1e-4 * factor * np.abs(truth).max()
    )


def test_base_parameters_without_a_recording_begin_at_the_models_start() -> None:
    model = scene_of("four_bar").model
    base = base_parameters(Unknowns(model, tuple(range(model.nbodies))))
    assert len(base) == 8


def test_exciting_trajectories_of_closed_mechanisms_are_rejected() -> None:
    model = scene_of("four_bar").model
    with pytest.raises(IdentificationError) as caught:
        exciting_trajectory(model)
    assert str(caught.value) == (
        "four-bar: 'close' couples its coordinates, which independent series of angles would violate; excite its "
        "motors with trajectories of your own and record them"
    )


def test_the_command_identifies_a_closed_scene_from_its_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run.h5"
    pysim.simulate(scene_of("five_bar"), output=run)
    picture = tmp_path / "fit.png"
    words = [str(SCENES / "five_bar.toml"), str(run), "--plot", str(picture)]
    assert main(["identify", *words]) == 0
    printed = capsys.readouterr().out
    assert "left crank.mcx + 0.3 left rod.m + 0.667 right rod.mcx" in printed
    assert picture.stat().st_size > 10_000
