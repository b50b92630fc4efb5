"""Worlds that are held, stepped, changed, saved and reset by hand.

Oracles: one undisturbed run, bit for bit, for any division of time, order, threads, copies, saves and processes;
`pysim.rollout` for the schemes; closed forms.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import PysimWarning, SimulationError
from tests.robots import MJCF_ARM
from tests.scene_runs import SCENES

UNDISTURBED = (  # a scene for each part of the record: schemes, loops, contacts, limits, sampled blocks, states
    "andrews", "anymal_in_the_air", "anymal_pushed", "billiards", "conveyor", "drive_shaft", "euler_disk",
    "falling_box", "four_bar", "gripper", "humanoid_fall", "motor_run_up", "puck", "quarter_car", "screw",
    "servo_pid", "standing_up", "stewart_platform", "tracking_arm", "wrecking_ball",
)  # fmt: skip
SERVO = """
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
child = "rod"
start = { q = 0.2 }
[[signal]]
name = "target"
type = "input"
unit = "rad"
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
PERIOD
[[controller]]
name = "pd"
type = "pd"
inputs = ["target", "angle.q", "angle.v"]
kp = 20.0
kd = 2.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "pd"
[simulation]
step = 2e-3
duration = 1.0
integrator = "INTEGRATOR"
"""
CALLED = """
from pysim.controllers import CallbackController, controller, signal

@controller("called")
class Called(CallbackController):
    inputs = signal("target", unit="rad") * signal("q", unit="rad") * signal("v", unit="rad/s")
    outputs = signal("torque", unit="N·m")

    def output(self, t, inputs):
        return 20.0 * (inputs.target - inputs.q) - 4.0 * inputs.v
"""
BALL = """
[[body]]
name = "ball"
shape = { sphere = { radius = 0.1 } }
mass = 1.0
collision = true
[[joint]]
name = "free"
type = "free"
child = "ball"
start = { xyz = [0, 0, 0.3] }
[[ground]]
plane = { normal = [0, 0, 1] }
[simulation]
step = 1e-3
duration = 1.0
"""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Starts of the scenes are judged by their own tests."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=PysimWarning, message="(?!worlds:)")
        yield


def load(tmp_path: Path, text: str) -> pysim.Scene:
    path = tmp_path / "scene.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path)


def disturbed(scene: pysim.Scene, n: int, **keys) -> pysim.Worlds:
    """Worlds that differ in their velocities where nothing closes loops."""
    worlds = pysim.Worlds(scene, n, **keys)
    if not scene.model.rows:
        worlds.v[:] += 0.05 * np.random.default_rng(1).standard_normal(worlds.v.shape)
    return worlds


def test_division_changes_no_bit_of_a_mechanism_that_runs_through_its_dead_centre(
    rng: np.random.Generator,
) -> None:
    """Pivots of the constraint rows are part of the record: steps compare theirs with those before."""
    keys = {"simulation.integrator": "rk2", "simulation.step": 1e-3}
    scene = pysim.load_scene(SCENES / "slider_crank.toml", keys)
    for _ in range(8):
        one, other, left = pysim.Worlds(scene, 10), pysim.Worlds(scene, 10), 24
        for worlds in (one, other):
            worlds.v[7] *= 50.0
        one.step(steps=24)
        while left:
            span = min(left, int(rng.integers(1, 7)))
            other.step(steps=span)
            left -= span
        assert other.save() == one.save()


@pytest.mark.parametrize("name", UNDISTURBED)
def test_division_saving_pickling_threads_and_places_change_no_bit(
    name: str, rng: np.random.Generator
) -> None:
    scene = pysim.load_scene(SCENES / f"{name}.toml")
    n, steps = 11, 40  # a pack and a remainder of every width
    single_thread = disturbed(scene, n)
    single_thread.step(steps=steps)

    two_threads, left = disturbed(scene, n, threads=2), steps
    while left:
        span = min(left, int(rng.integers(1, 8)))
        two_threads.step(steps=span)
        left -= span
        if rng.random() < 0.4:
            saved = two_threads.save()
            two_threads.v[:] = np.nan
            two_threads.load(saved)
        if rng.random() < 0.3:
            two_threads = pickle.loads(pickle.dumps(two_threads))
    assert two_threads.save() == single_thread.save()

    places = rng.permutation(n)
    moved = disturbed(scene, n)
    moved.step(steps=steps // 2)
    moved.copy(places, np.arange(n))
    for half in (np.arange(n) % 2 == 0, np.arange(n) % 2 == 1):
        moved.step(steps=steps - steps // 2, where=half)
    np.testing.assert_array_equal(moved.q, single_thread.q[places])
    np.testing.assert_array_equal(moved.v, single_thread.v[places])
    np.testing.assert_array_equal(moved.t, single_thread.t)


@pytest.mark.parametrize("name", ["anymal_pushed", "motor_run_up", "servo_pid", "four_bar"])
def test_one_world_by_hand_follows_simulate_to_rounding(name: str) -> None:
    scene = pysim.load_scene(
        SCENES / f"{name}.toml", {"simulation.duration": 0.1, "output.every": 0.1}
    )
    run = pysim.simulate(scene)
    world = pysim.Worlds(scene)
    world.step(seconds=0.1)
    assert world.t == pytest.approx(0.1, rel=1e-15)
    np.testing.assert_allclose(world.q, run.q[-1], rtol=0, atol=1e-10)


def test_reset_gives_the_run_from_the_start_again() -> None:
    scene = pysim.load_scene(SCENES / "standing_up.toml")
    fresh, used = pysim.Worlds(scene, 5), pysim.Worlds(scene, 5)
    used.step(steps=30)
    used.reset(where=[1, 3])
    assert used.t.tolist() == [0.03, 0.0, 0.03, 0.0, 0.03]
    used.step(steps=20, where=np.array([False, True, False, True, False]))
    fresh.step(steps=20)
    np.testing.assert_array_equal(used.q[[1, 3]], fresh.q[[1, 3]])


def test_worlds_saved_here_continue_in_another_process(tmp_path: Path) -> None:
    path = SCENES / "anymal_pushed.toml"
    worlds = disturbed(pysim.load_scene(path), 3)
    worlds.step(steps=25)
    (tmp_path / "saved").write_bytes(worlds.save())
    code = f"""
import sys, warnings
from pathlib import Path
import pysim
warnings.simplefilter("ignore")
worlds = pysim.Worlds({str(path)!r}, 3)
worlds.load(Path("saved").read_bytes())
worlds.step(steps=25)
Path("continued").write_bytes(worlds.save())
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True, cwd=tmp_path)
    worlds.step(steps=25)
    assert (tmp_path / "continued").read_bytes() == worlds.save()


@pytest.mark.parametrize("integrator", ["semi_implicit", "rk4", "generalized_alpha"])
def test_inputs_count_from_the_step_after_they_are_written(tmp_path: Path, integrator: str) -> None:
    scene = load(tmp_path, SERVO.replace("INTEGRATOR", integrator).replace("PERIOD", ""))
    targets = np.random.default_rng(2).uniform(-1, 1, (9, 25, 1))
    starts = np.tile(scene.state.q, (9, 1))
    run = pysim.rollout(scene, starts, controls=targets, steps=500, every=20)
    worlds = pysim.Worlds(scene, 9)
    for k in range(25):
        worlds.inputs["target"][:] = targets[:, k]
        worlds.step(seconds=0.04)
        np.testing.assert_allclose(worlds.q, run.q[:, k + 1], rtol=0, atol=1e-11)


def test_controls_of_a_call_are_those_of_its_steps(tmp_path: Path) -> None:
    scene = load(tmp_path, SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", ""))
    values = np.random.default_rng(3).uniform(-1, 1, (4, 10, 1))
    one, other = pysim.Worlds(scene, 4), pysim.Worlds(scene, 4)
    one.step(steps=10, controls=values)
    for n in range(10):
        other.inputs.all[:] = values[:, n]
        other.step()
    np.testing.assert_array_equal(one.q, other.q)


@pytest.mark.parametrize("period", [0.006, 0.0031, 0.0007])  # [s]; the step is 0.002
def test_sampled_blocks_act_at_their_instants_on_and_off_the_grid(
    tmp_path: Path, period: float
) -> None:
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", f"period = {period}")
    world = pysim.Worlds(load(tmp_path, text))
    fine = {"simulation.step": 1e-4, "output.every": 1e-4}
    run = pysim.simulate(pysim.load_scene(tmp_path / "scene.toml", fine))
    for n in range(1, 41):
        world.step()
        assert world.t == n * 0.002
        instant = np.floor(world.t / period + 1e-9) * period
        row = int(np.abs(run.t - instant).argmin())
        assert world.signals["angle.q"] == pytest.approx(run.q[row, 0], abs=1e-8)
    np.testing.assert_allclose(world.q, run.q[800], rtol=0, atol=1e-8)


def test_written_states_count_and_impossible_ones_lose_their_world_alone(tmp_path: Path) -> None:
    scene = load(tmp_path, BALL)
    worlds = pysim.Worlds(scene, 4)
    worlds.q[1, 2] = 5.0
    worlds.v[2, 0] = np.nan
    worlds.q[3, 3:] = [0.0, 0.0, 0.6, 0.9]
    with pytest.warns(
        PysimWarning, match="2 of 4 worlds are lost, world 2: .*v was set to nan for"
    ):
        worlds.step(steps=100)
    assert worlds.lost.tolist() == [False, False, True, True]
    assert "quaternion (x, y, z, w) of length 1.0816" in worlds.reason(3)
    assert worlds.v[2, 0] == 0.0  # the last good state
    np.testing.assert_allclose(worlds.q[1, 2], 5.0 - 0.5 * 9.81 * 0.1**2, atol=1e-3)
    worlds.reset(where=worlds.lost)
    worlds.step(steps=100)
    assert not worlds.lost.any()
    np.testing.assert_array_equal(worlds.q[2], pysim_ball_after(scene, 100))


def test_a_reset_of_some_worlds_hides_nothing_that_was_written_to_others(tmp_path: Path) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 2)
    worlds.v[1, 0] = np.nan
    worlds.reset(where=[0], v=np.zeros(6))
    with pytest.warns(PysimWarning, match="1 of 2 worlds are lost, world 1: .*v was set to nan"):
        worlds.step()
    assert worlds.v[1, 0] == 0.0  # the last good state


def pysim_ball_after(scene: pysim.Scene, steps: int) -> np.ndarray:
    world = pysim.Worlds(scene)
    world.step(steps=steps)
    return world.q


def test_a_written_state_with_an_open_loop_is_lost(tmp_path: Path) -> None:
    worlds = pysim.Worlds(SCENES / "four_bar.toml", 2)
    worlds.q[1, 0] += 0.1
    with pytest.warns(PysimWarning, match="is open by"):
        worlds.step()
    assert worlds.lost.tolist() == [False, True]


def test_a_time_that_is_not_finite_loses_its_world_with_a_reason(tmp_path: Path) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 3)
    worlds.t[1] = np.nan
    worlds.t[2] = np.inf
    with pytest.warns(PysimWarning, match="2 of 3 worlds are lost, world 1: .*t was set to nan"):
        worlds.step()
    assert "t was set to inf" in worlds.reason(2)


@pytest.mark.parametrize("varied", [False, True])
@pytest.mark.parametrize("damage", ["flipped", "truncated", "appended", "deleted"])
def test_damaged_records_are_refused_and_change_no_world(
    tmp_path: Path, damage: str, varied: bool
) -> None:
    scene = load(tmp_path, SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", ""))
    worlds = pysim.Worlds(scene, 3)
    if varied:
        worlds.parameters["body.rod.mass"][:] = [0.9, 1.0, 1.1]
    worlds.step(steps=20)
    whole = worlds.save()
    worlds.step(steps=5)
    before = worlds.save()
    rng = np.random.default_rng(5)
    for at in rng.integers(0, len(whole), 100).tolist():
        saved = bytearray(whole)
        if damage == "flipped":
            saved[at] ^= 1 << int(rng.integers(8))
        elif damage == "truncated":
            del saved[at:]
        elif damage == "appended":
            saved += bytes(1 + at % 9)
        else:
            del saved[at : at + 8]
        with pytest.raises(SimulationError, match="saved"):
            worlds.load(bytes(saved))
        assert worlds.save() == before


def test_records_with_parameters_of_another_scene_change_no_world(tmp_path: Path) -> None:
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "")
    source = pysim.Worlds(load(tmp_path, text), 2)
    source.parameters["body.rod.mass"][:] = [0.9, 1.1]
    source.step(steps=10)
    worlds = pysim.Worlds(load(tmp_path, text.replace('"rod"', '"stick"')), 2)
    before = worlds.save()
    with pytest.raises(SimulationError, match="saved: is of worlds whose scheme, bodies"):
        worlds.load(source.save())
    assert worlds.save() == before


def test_records_of_larger_worlds_change_no_world(tmp_path: Path) -> None:
    saved = pysim.Worlds(SCENES / "four_bar.toml", 2).save()
    worlds = pysim.Worlds(load(tmp_path, BALL), 2)
    worlds.step(steps=10)
    before = worlds.save()
    with pytest.raises(SimulationError, match="saved: is of worlds whose scheme"):
        worlds.load(saved)
    assert worlds.save() == before
    with pytest.raises(TypeError, match="saved must be bytes, got str; give what"):
        worlds.load("records")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"steps": 1.7}, "steps: must be a whole number, got 1.7"),
        ({"steps": "3"}, "steps: must be a whole number, got '3'"),
        ({"steps": True}, "steps: must be a whole number, got True"),
        ({"steps": -1}, "steps: must be from 0 to 2147483647, got -1"),
        ({"steps": 10**20}, "steps: must be from 0 to"),
        ({"seconds": np.nan}, "seconds: must be finite, got nan"),
        ({"seconds": np.inf}, "seconds: must be finite, got inf"),
    ],
)
def test_a_step_of_a_span_that_is_not_whole_or_finite_is_refused(
    tmp_path: Path, given: dict[str, float], problem: str
) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 2)
    with pytest.raises(SimulationError, match=problem):
        worlds.step(**given)  # type: ignore[arg-type]
    assert worlds.t.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n": 2.7}, "n: must be a whole number, got 2.7"),
        ({"n": 0}, "n: must be from 1 to"),
        ({"n": 10**12}, "n: must be from 1 to"),
        ({"n": 2, "numbers": [0, 1.5]}, "numbers: must be whole numbers, got float64 ones"),
        ({"n": 2, "numbers": [0, np.nan]}, "numbers: must be whole numbers"),
        ({"n": 2, "numbers": [[0], [1, 2]]}, "numbers: has rows of different lengths"),
        ({"n": 2, "threads": -1}, "threads: must be from 0 to"),
        ({"n": 2, "threads": 1.5}, "threads: must be a whole number, got 1.5"),
        ({"n": 2, "seed": 1.5}, "seed: must be a whole number, got 1.5"),
        ({"n": 2, "seed": -1}, "seed: must be from 0 to"),
        (
            {"n": 2, "observe": "imu"},
            r"observe: must be a list of names, got a text; give \['imu'\]",
        ),
        ({"n": 2, "dtype": "exact"}, "dtype: must be np.float64 or np.float32, got exact"),
    ],
)
def test_arguments_of_worlds_are_checked(
    tmp_path: Path, given: dict[str, float], problem: str
) -> None:
    with pytest.raises(SimulationError, match=problem):
        pysim.Worlds(load(tmp_path, BALL), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda w: w.reset(q=1j * w.q), "q: must be real numbers, got an array of complex128"),
        (lambda w: w.reset(v=[[1.0], [1.0, 2.0]]), "v: has rows of different lengths"),
        (lambda w: w.reset(keyframe=3), "keyframe: must be the name of a keyframe, got 3"),
        (lambda w: w.reset(where=[[0], [0, 1]]), "where: has rows of different lengths"),
        (lambda w: w.inputs[None], "inputs: None: the scene has no such input"),
        (lambda w: w.signals[3], "signals: 3: the scene has no such signal"),
        (lambda w: w.step(seconds="3"), "seconds: must be a number, got '3'"),
        (lambda w: w.step(seconds=True), "seconds: must be a number, got True"),
        (lambda w: w.step(controls=[[1.0], [1.0, 2.0]]), "controls: has rows of different"),
        (lambda w: setattr(w, "q", 1j * w.q), "q: must be real numbers"),
        (lambda w: setattr(w, "t", "now"), "t: must be real numbers"),
        (lambda w: w.copy([[0], [0, 1]], 1), "source: has rows of different lengths"),
        (lambda w: w.reason(1.5), "world: must be the number of a world, got 1.5"),
    ],
)
def test_arguments_of_calls_are_checked_and_change_nothing(
    tmp_path: Path, call: Callable[[pysim.Worlds], object], problem: str
) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 2)
    worlds.step(steps=3)
    saved = worlds.save()
    with pytest.raises(SimulationError, match=problem):
        call(worlds)
    assert worlds.save() == saved


def test_worlds_are_made_of_paths_too(tmp_path: Path) -> None:
    load(tmp_path, BALL)
    path = next(tmp_path.glob("*.toml"))
    assert pysim.Worlds([path, str(path)]).q.shape == (2, 7)


def test_as_many_sources_as_targets_are_copied_or_one(tmp_path: Path) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 4)
    for source in ([0, 1], []):
        with pytest.raises(SimulationError, match=f"source: names {len(source)} worlds for 3 targ"):
            worlds.copy(source, [1, 2, 3])


def test_worlds_with_controllers_in_python_are_not_saved(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CALLED, "utf-8")
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "")
    text = text.replace('type = "pd"', 'type = "called"\nperiod = 0.01').replace(
        "kp = 20.0\nkd = 2.0\n", ""
    )
    (tmp_path / "scene.toml").write_text('plugins = ["own.py"]\n' + text, "utf-8")
    scene = pysim.load_scene(tmp_path / "scene.toml", allow_code=True)
    worlds = pysim.Worlds(scene, 3)
    worlds.inputs["target"][:, 0] = [0.0, 0.5, 1.0]
    worlds.step(steps=500)
    run = pysim.rollout(
        scene,
        np.tile(scene.state.q, (3, 1)),
        controls=np.repeat(np.array([0.0, 0.5, 1.0])[:, None, None], 50, axis=1),
        steps=500,
        every=10,
    )
    np.testing.assert_allclose(worlds.q, run.q[:, -1], atol=0.02)  # the first period apart
    with pytest.raises(SimulationError, match="controller 'pd' runs in Python"):
        worlds.save()


def test_a_step_that_fails_loses_one_world_and_the_others_go_on(tmp_path: Path) -> None:
    scene = load(
        tmp_path, SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "").replace("2.0", "2e6")
    )
    worlds, alone = pysim.Worlds(scene, 9), pysim.Worlds(scene, 9)
    worlds.q[:] = alone.q[:] = 0.0
    worlds.v[4] = 1.0
    with pytest.warns(PysimWarning, match="1 of 9 worlds are lost, world 4: .*hinge"):
        worlds.step(steps=200)
    alone.step(steps=200)
    others = np.arange(9) != 4
    np.testing.assert_array_equal(worlds.q[others], alone.q[others])
    assert worlds.t[4] < worlds.t[0]


def test_contact_forces_of_the_last_step_carry_the_weight(tmp_path: Path) -> None:
    worlds = pysim.Worlds(load(tmp_path, BALL), 3)
    worlds.step(seconds=2.0)
    assert worlds.pairs == ("world, ball",)
    np.testing.assert_allclose(worlds.contacts[:, 0], np.tile([0, 0, 9.81], (3, 1)), atol=1e-6)
    points = worlds.contact_points()
    np.testing.assert_allclose(points.point[:, 2], 0.0, atol=1e-3)


def test_accelerometers_sampled_under_convex_steps_read_gravity_at_rest(tmp_path: Path) -> None:
    imu = '[[sensor]]\nname = "imu"\ntype = "imu"\nframe = "ball"\nperiod = 4e-3\n'
    worlds = pysim.Worlds(load(tmp_path, BALL + imu), 3, observe=["imu.acceleration"])
    worlds.step(seconds=2.0)
    up = np.tile([0, 0, 9.81], (3, 1))
    np.testing.assert_allclose(worlds.signals["imu.acceleration"], up, atol=1e-6)


def test_spans_that_are_no_whole_number_of_steps_are_rejected(tmp_path: Path) -> None:
    world = pysim.Worlds(load(tmp_path, BALL))
    with pytest.raises(
        SimulationError,
        match=r"0.0025 s is no whole number of steps of 0.001 s; the nearest is 0.002",
    ):
        world.step(seconds=0.0025)


def test_records_of_other_worlds_are_rejected(tmp_path: Path) -> None:
    ball, arm = pysim.Worlds(load(tmp_path, BALL), 2), pysim.Worlds(SCENES / "robot_arm.toml", 2)
    with pytest.raises(SimulationError, match="load it into Worlds of the scene"):
        arm.load(ball.save())
    with pytest.raises(SimulationError, match="holds 2 worlds, and 1 are to be loaded"):
        ball.load(ball.save(), where=[0])
    with pytest.raises(SimulationError, match=r"is not what Worlds\.save returns"):
        ball.load(b"something")


def test_records_of_another_scene_with_as_many_numbers_are_rejected(tmp_path: Path) -> None:
    """Names distinguish them; numbers of one scene may change between saving and loading."""
    ball = pysim.Worlds(load(tmp_path, BALL), 2)
    saved = ball.save()
    heavy = pysim.Worlds(load(tmp_path, BALL.replace("mass = 1.0", "mass = 2.0")), 2)
    heavy.load(saved)
    other = pysim.Worlds(load(tmp_path, BALL.replace('"ball"', '"stone"')), 2)
    with pytest.raises(SimulationError, match="saved: is of worlds whose scheme, bodies, joints"):
        other.load(saved)


def test_worlds_and_episodes_have_random_numbers_of_their_own(tmp_path: Path) -> None:
    noisy = (
        '[[sensor]]\nname = "imu"\ntype = "imu"\nframe = "ball"\nperiod = 1e-2\nrate_noise = 0.1\n'
    )
    scene = load(tmp_path, BALL + noisy)

    def readings(worlds: pysim.Worlds) -> np.ndarray:
        worlds.step(seconds=0.02)
        return np.array(worlds.signals["imu.rate"])

    worlds = pysim.Worlds(scene, 3)
    first = readings(worlds)
    assert len(np.unique(first[:, 0])) == 3
    np.testing.assert_array_equal(first[1], readings(pysim.Worlds(scene, 1, numbers=[1]))[0])
    assert not np.array_equal(first, readings(pysim.Worlds(scene, 3, seed=7)))

    worlds.reset(where=[0])
    worlds.copy(2, 1)  # the state of 2, the random numbers of 1
    later = readings(worlds)
    assert not np.array_equal(later[0], first[0])
    assert not np.array_equal(later[1], later[2])

    q, other = worlds.q, pysim.Worlds(scene, 3, seed=7)
    worlds.set_seed(7)
    worlds.reset()
    other.reset()
    np.testing.assert_array_equal(readings(worlds), readings(other))
    assert worlds.q is q
    assert worlds.scene(1).settings.seed == 7


def test_keyframes_set_state_and_inputs(tmp_path: Path) -> None:
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "")
    scene = load(tmp_path, text + "\n[keyframes.up]\nstart = { hinge = 3.0 }\n")
    worlds = pysim.Worlds(scene, 2)
    worlds.reset(where=[1], keyframe="up")
    assert worlds.q[:, 0].tolist() == [0.2, 3.0]
    with pytest.raises(SimulationError, match="there is none named 'pu'; known: up"):
        worlds.reset(keyframe="pu")


def test_sampled_blocks_begin_with_the_inputs_of_a_keyframe(tmp_path: Path) -> None:
    text = SERVO.replace("INTEGRATOR", "rk4").replace("PERIOD", "period = 0.01")
    home = "\n[keyframes.home]\nstart = { hinge = 0.5 }\ncommands = { target = 0.7 }\n"
    worlds = pysim.Worlds(load(tmp_path, text.replace("kp =", "period = 0.01\nkp =") + home), 2)
    worlds.reset(where=[1], keyframe="home")
    assert worlds.inputs["target"][:, 0].tolist() == [0.0, 0.7]
    np.testing.assert_allclose(worlds.signals["pd"], [20.0 * (0.0 - 0.2), 20.0 * (0.7 - 0.5)])


@pytest.mark.parametrize("integrator", ["rk4", "generalized_alpha", "dopri5"])
def test_controls_of_steps_are_inputs_written_before_each(integrator: str, tmp_path: Path) -> None:
    scene = load(tmp_path, SERVO.replace("INTEGRATOR", integrator).replace("PERIOD", ""))
    values = np.sin(np.arange(20.0))
    one, other = pysim.Worlds(scene), pysim.Worlds(scene)
    one.step(steps=20, controls=values[:, None])
    for value in values:
        other.inputs["target"][:] = value
        other.step()
    assert one.save() == other.save()


def test_arrays_are_shared_with_torch() -> None:
    torch = pytest.importorskip("torch")
    worlds = pysim.Worlds(SCENES / "pendulum.toml", 4)
    shared = torch.from_numpy(worlds.q)
    shared[:] = 0.5
    assert (worlds.q == 0.5).all()


def test_actuators_of_a_model_file_are_the_input_ctrl_in_its_order(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(MJCF_ARM, "utf-8")
    worlds = pysim.Worlds(tmp_path / "arm.xml", 3)
    assert list(worlds.inputs) == ["ctrl"]
    assert worlds.inputs["ctrl"].shape == (3, 2)
    worlds.reset(keyframe="raised")
    np.testing.assert_allclose(worlds.inputs["ctrl"], np.tile([0.5, 0.1], (3, 1)))
    worlds.inputs["ctrl"][1] = [-0.4, 0.2]
    worlds.step(seconds=4.0)

    m = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    for k, ctrl in enumerate([[0.5, 0.1], [-0.4, 0.2]]):
        d = mujoco.MjData(m)
        mujoco.mj_resetDataKeyframe(m, d, 0)
        d.ctrl[:] = ctrl
        for _ in range(1000):
            mujoco.mj_step(m, d)
        np.testing.assert_allclose(worlds.q[k], d.qpos, atol=1e-3)  # at rest: the same equilibrium


def test_several_model_files_have_an_input_each(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(MJCF_ARM, "utf-8")
    models = "".join(
        f'[[model]]\nname = "{name}"\nfile = "arm.xml"\nat = {{ xyz = [{x}, 0, 0] }}\n'
        for name, x in (("left", 0), ("right", 2))
    )
    scene = load(
        tmp_path,
        models + "[model.command]\nlift = 0.3\n[simulation]\nduration = 1.0\nstep = 2e-3\n",
    )
    worlds = pysim.Worlds(scene, 2)
    assert list(worlds.inputs) == ["left.ctrl", "right.ctrl"]
    assert worlds.inputs["right.ctrl"].tolist() == [[0.3, 0.0], [0.3, 0.0]]
    assert worlds.inputs.all.shape == (2, 4)
    worlds.inputs["left.ctrl"][:, 0] = -0.3
    worlds.step(seconds=1.0)
    np.testing.assert_allclose(worlds.q[:, 0], -0.3, atol=0.1)
    np.testing.assert_allclose(worlds.q[:, 2], 0.3, atol=0.1)


def test_names_of_inputs_and_signals_are_asked_for_like_those_of_a_mapping() -> None:
    worlds = pysim.Worlds(SCENES / "environments/cart_pole.toml", 2)
    assert "push" in worlds.inputs
    assert "pole.q" in worlds.signals
    assert "pull" not in worlds.inputs
    assert "pole" not in worlds.signals
