"""Stability limits of a scene's step size.

Oracles: closed forms of oscillators and dampers, the schemes' published bounds on the axes, and runs on either side.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import pysim
from pysim.cli import main
from pysim.diagnosis import modes as mechanism_modes
from pysim.diagnosis.modes import MOST_MOTIONS, modes_of
from pysim.diagnosis.stability import stable_step, step_bounds
from pysim.diagnosis.step_checks import long_steps
from pysim.errors import PysimWarning, SimulationError

SCENES = Path(__file__).parents[2] / "scenes"
SLIDERS = """
gravity = [0, 0, 0]
{bodies}
[simulation]
duration = {duration}
step = {step}
integrator = "{integrator}"

[output]
every = {step}
"""
SLIDER = """
[[body]]
name = "mass{k}"
mass = {m}
inertia = {{ xx = 1, yy = 1, zz = 1 }}

[[joint]]
name = "slide{k}"
type = "prismatic"
parent = "{parent}"
child = "mass{k}"
axis = [1, 0, 0]
start = 0.1
{keys}
"""


def slider(keys: str, m: float = 1.0, k: int = 0, parent: str = "world") -> str:
    return SLIDER.format(k=k, m=m, parent=parent, keys=keys)


def scene_file(
    tmp_path: Path, bodies: str, step: float = 1e-3, integrator: str = "rk4", duration: float = 1.0
) -> Path:
    path = tmp_path / "s.toml"
    text = SLIDERS.format(bodies=bodies, step=step, integrator=integrator, duration=duration)
    path.write_text(text, "utf-8")
    return path


def test_a_mass_on_spring_and_damper_has_the_closed_forms_root(tmp_path: Path) -> None:
    path = scene_file(tmp_path, slider("stiffness = 200\ndamping = 6", 2.0))
    (mode,) = modes_of(pysim.load_scene(path))
    assert mode.s == pytest.approx(complex(-1.5, np.sqrt(100 - 2.25)), rel=1e-8)
    assert mode.joint == "slide0"
    bounds = step_bounds(pysim.load_scene(path))
    assert bounds.accurate == pytest.approx(2 * np.pi / np.sqrt(97.75) / 20, rel=1e-8)


SERVO = """[[signal]]
name = "target"
type = "constant"
value = 0.0
[[actuator]]
name = "servo"
type = "affine"
joint = "slide0"
command = "target"
gain = [{kp}]
bias = [0.0, -{kp}, -{kv}]
"""


def test_a_servo_has_the_roots_of_a_spring_and_a_damper(tmp_path: Path) -> None:
    bodies = slider("", 2.0) + SERVO.format(kp=200.0, kv=6.0)
    (mode,) = modes_of(pysim.load_scene(scene_file(tmp_path, bodies)))
    assert mode.s == pytest.approx(complex(-1.5, np.sqrt(100 - 2.25)), rel=1e-7)


def test_a_servo_bounds_the_step(tmp_path: Path) -> None:
    bodies = slider("", 2.0) + SERVO.format(kp=0.0, kv=4000.0)
    scene = pysim.load_scene(scene_file(tmp_path, bodies, step=1e-4, integrator="rk4"))
    bounds = step_bounds(scene)
    assert bounds.stable == pytest.approx(2.785293563405289 / 2000, rel=1e-6)
    assert bounds.limiting is not None
    assert bounds.limiting.joint == "slide0"


@pytest.mark.parametrize("gains", [{"kp": 0.0, "kv": 4000.0}, {"kp": 1e8, "kv": 1e3}])
def test_no_servo_of_a_joint_bounds_the_convex_step(
    tmp_path: Path, gains: dict[str, float]
) -> None:
    """Explicit steps would be unstable beyond 2 m / kv = 1 ms, or 2 √(m / kp); these come to rest at 10 ms."""
    bodies = slider("", 2.0) + SERVO.format(**gains)
    scene = pysim.load_scene(
        scene_file(tmp_path, bodies, step=1e-2, integrator="convex", duration=2.0)
    )
    assert step_bounds(scene).stable == np.inf
    assert list(long_steps(scene)) == []
    run = pysim.simulate(scene)
    assert np.abs(run.v[-1]).max() < 1e-6


ACROSS = """
[[sensor]]
name = "other"
type = "coordinates"
coordinates = ["slide1"]
[[signal]]
name = "zero"
type = "constant"
value = 0.0
unit = "m"
[[controller]]
name = "pd"
type = "pd"
inputs = ["zero", "other.q", "other.v"]
kp = 0.0
kd = {kd}
[[actuator]]
name = "push"
type = "force"
joint = "slide0"
command = "pd"
"""


def test_gains_across_joints_bound_the_convex_step(tmp_path: Path) -> None:
    """Two masses of 2 kg in a row; a force c v₁ on the first joint gives v̇₁ = −c v₁ / 2, stable up to h = 4 / c."""
    bodies = slider("", 2.0) + slider("", 2.0, k=1, parent="mass0") + ACROSS.format(kd=-8000.0)
    slow = pysim.load_scene(scene_file(tmp_path, bodies, step=0.45e-3, integrator="convex"))
    assert step_bounds(slow).stable == pytest.approx(0.5e-3, rel=2e-3)
    assert list(long_steps(slow)) == []
    fast = scene_file(tmp_path, bodies, step=1e-3, integrator="convex")
    (text,) = long_steps(pysim.load_scene(fast))
    assert text == (
        "simulation.step is 0.001 [s], but convex needs at most 0.0005 [s] for the actuators of "
        "joint 'slide0'; take 0.0004 [s] or less, or smaller gains there"
    )


def test_two_masses_in_a_row_have_the_chains_frequencies(tmp_path: Path) -> None:
    """Equal masses and springs: ω² = k/m (3 ± √5) / 2."""
    bodies = slider("stiffness = 100") + slider("stiffness = 100", k=1, parent="mass0")
    modes = modes_of(pysim.load_scene(scene_file(tmp_path, bodies)))
    expected = np.sqrt(100 * (3 + np.array([-1, 1]) * np.sqrt(5)) / 2)
    np.testing.assert_allclose(sorted(m.frequency for m in modes), expected, rtol=1e-7)
    assert all(mode.decay == 0 for mode in modes)


def test_every_mode_names_the_joint_that_carries_it(tmp_path: Path, monkeypatch) -> None:
    """Sliders apart from each other, ω² = k / m; one joint has six velocities, one follows. One M is enough."""
    masses = np.arange(1.0, 21.0)
    free = (
        slider("", k=50).replace("prismatic", "free").replace("axis = [1, 0, 0]\nstart = 0.1", "")
    )
    led = slider('mimic = { joint = "slide1", ratio = 0.0 }', k=51).replace("start = 0.1\n", "")
    bodies = (
        free
        + led
        + "".join(slider(f"stiffness = {k * m}", m, k=k) for k, m in enumerate(masses.tolist(), 1))
    )
    scene = pysim.load_scene(scene_file(tmp_path, bodies))
    crba = Mock(wraps=pysim.algorithms.crba)
    monkeypatch.setattr(mechanism_modes, "crba", crba)
    modes = modes_of(scene)
    assert crba.call_count == 2
    found = {mode.joint: mode.frequency for mode in modes}
    assert found == {f"slide{k}": pytest.approx(np.sqrt(k), rel=1e-7) for k in range(1, 21)}
    assert len(modes) == 20


def test_modes_of_many_motions_are_omitted_and_check_reports_it(tmp_path: Path, capsys) -> None:
    keys = "stiffness = 1e4\nlimits = { lower = -1.0, stiffness = 1e6, damping = 0.0 }"
    many = MOST_MOTIONS + 1
    path = scene_file(tmp_path, "".join(slider(keys, k=k) for k in range(many)), step=0.05)
    bounds = step_bounds(pysim.load_scene(path))
    assert (bounds.fastest, bounds.limiting, bounds.motions) == (None, None, many)
    assert bounds.stop is not None
    assert abs(bounds.stop.s) == pytest.approx(1e3, rel=1e-9)
    assert main(["check", str(path)]) == 0
    reported = (
        f"  step        not judged, modes are computed for at most 200 motions, not for {many}\n"
    )
    assert reported in capsys.readouterr().out


def test_a_coupled_pair_has_the_frequency_of_one_slider_with_both_masses_on_it(
    tmp_path: Path,
) -> None:
    """q₁ = 3 q₀: ω² = k / (m₀ + 9 m₁), λ = d / (m₀ + 9 m₁) beside it; the tree alone would swing at √(k/m₀)."""
    bodies = slider("stiffness = 200\ndamping = 6", 2.0) + slider("", 0.5, k=1)
    bodies = bodies.replace("start = 0.1", "", 2)
    tie = '[[coupling]]\nname = "gear"\njoint = "slide1"\nratios = { slide0 = 3 }\n'
    (mode,) = modes_of(pysim.load_scene(scene_file(tmp_path, bodies + tie)))
    decay = 6 / 2 / 6.5
    assert mode.s == pytest.approx(complex(-decay, np.sqrt(200 / 6.5 - decay**2)), rel=1e-8)


def test_hanging_parallelograms_swing_as_one_post_with_its_share() -> None:
    """Three posts and two couplers of m = 1, l = 1: ω² = (3/2 + 2) g / (3/3 + 2)."""
    turned = {"pivot0": -1, "elbow0": 1, "pivot1": -1, "elbow1": 1, "pivot2": -1}
    start = {f"joint.{j}.start": {"q": n * np.pi / 2, "v": 0.0} for j, n in turned.items()}
    bounds = step_bounds(pysim.load_scene(SCENES / "four_bars.toml", start))
    assert bounds.fastest is not None
    assert bounds.fastest.frequency == pytest.approx(np.sqrt(3.5 * 9.81 / 3), rel=1e-7)
    assert bounds.steepest is None


def test_the_slope_of_friction_and_a_damper_are_decays(tmp_path: Path) -> None:
    keys = "friction = 3.0\nfriction_width = 1e-3\ndamping = 5.0"
    bounds = step_bounds(pysim.load_scene(scene_file(tmp_path, slider(keys, 2.0))))
    assert bounds.steepest is not None
    assert bounds.steepest.decay == pytest.approx((3 / 1e-3 + 5) / 2, rel=1e-6)
    assert bounds.fastest is None
    assert bounds.stable == pytest.approx(2.785293563 / 1502.5, rel=1e-6)


@pytest.mark.parametrize(
    ("integrator", "s", "bound"),
    [
        ("rk4", -1.0, 2.785293563),
        ("rk4", 1j, 2 * np.sqrt(2)),
        ("rk2", -1.0, 2.0),
        ("semi_implicit", 1j, 2.0),
        ("semi_implicit", -1.0, 2.0),
    ],
)
def test_bounds_on_the_axes_are_the_published_ones(
    integrator: str, s: complex, bound: float
) -> None:
    tolerance = 1e-2 if s == 1j else 1e-6  # a growth of 1e-4 a step is allowed there
    assert stable_step(complex(10 * s), integrator) == pytest.approx(bound / 10, rel=tolerance)


@pytest.mark.filterwarnings("ignore:simulation.step is:pysim.PysimWarning")
@pytest.mark.filterwarnings("ignore:.* without work:pysim.PysimWarning")
@pytest.mark.parametrize("integrator", ["semi_implicit", "rk2", "rk4"])
@pytest.mark.parametrize("keys", ["damping = 300", "stiffness = 1e4\ndamping = 20"])
def test_a_run_beyond_the_bound_blows_up_and_one_below_does_not(
    tmp_path: Path, integrator: str, keys: str
) -> None:
    bodies = slider(keys + "\n").replace("start = 0.1", "start = { q = 0.1, v = 1.0 }")
    bound = step_bounds(pysim.load_scene(scene_file(tmp_path, bodies, 1e-3, integrator))).stable

    def largest(step: float) -> float:
        path = scene_file(tmp_path, bodies, step, integrator, 2000 * step)
        try:
            return float(np.abs(pysim.simulate(pysim.load_scene(path)).v[-1, 0]))
        except SimulationError:
            return np.inf

    assert largest(0.97 * bound) < 1.0
    assert largest(1.03 * bound) > 1e3


def test_check_suggests_a_step_and_warns_of_one_too_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", str(scene_file(tmp_path, slider("stiffness = 1e4"), 1e-3))])
    reported = capsys.readouterr()
    assert "fastest     100 rad/s, period 0.0628 s, mostly slide0" in reported.out
    assert "0.0031 s or less to be accurate" in reported.out
    assert "warning" not in reported.err
    stiff = str(scene_file(tmp_path, slider("damping = 3e4"), 1e-3))
    main(["check", stiff])
    reported = capsys.readouterr()
    assert (
        "simulation.step is 0.001 [s], beyond the 9.28e-05 [s] for which rk4 is stable"
        in " ".join(reported.err.split())
    )
    assert "'slide0'" in reported.err
    main([stiff, "--duration", "0.002", "-o", str(tmp_path / "a.h5")])
    assert capsys.readouterr().err.startswith(reported.err)


SWING = """
gravity = [0, 0, -9.81]
[[body]]
name = "left"
mass = 1.5
com = [0, 0, -0.4]
inertia = { xx = 0, yy = 0.02, zz = 0.02 }
[[body]]
name = "right"
mass = 1.5
com = [0, 0, -0.4]
inertia = { xx = 0, yy = 0.02, zz = 0.02 }
[[body]]
name = "seat"
mass = 4.0
com = [0.35, 0, 0]
inertia = { xx = 0.1, yy = 0.2, zz = 0.2 }
[[joint]]
name = "left"
type = "revolute"
child = "left"
axis = [0, 1, 0]
damping = DAMPING
[[joint]]
name = "right"
type = "revolute"
child = "right"
at = { xyz = [0.7, 0, 0] }
axis = [0, 1, 0]
[[joint]]
name = "seat"
type = "revolute"
parent = "left"
child = "seat"
at = { xyz = [0, 0, -0.9] }
axis = [0, 1, 0]
start = { q = 0.0, v = 0.0 }
[[loop]]
name = "close"
type = "revolute"
a = "seat"
b = "right"
at_a = { xyz = [0.7, 0, 0] }
at_b = { xyz = [0, 0, -0.9] }
axis = [0, 1, 0]
[simulation]
duration = 1.0
step = 1e-3
"""


def swing(tmp_path: Path, damping: float) -> Path:
    path = tmp_path / "swing.toml"
    path.write_text(SWING.replace("DAMPING", str(damping)), "utf-8")
    return path


def test_a_seat_on_two_bars_swings_as_its_loop_allows(tmp_path: Path) -> None:
    """The seat keeps level: (2 I + 2 m c² + M l²) φ̈ + d φ̇ + g (2 m c + M l) φ = 0."""
    (mode,) = modes_of(pysim.load_scene(swing(tmp_path, 1.5)))
    inertia = 2 * 0.02 + 2 * 1.5 * 0.4**2 + 4.0 * 0.9**2
    k, d = 9.81 * (2 * 1.5 * 0.4 + 4.0 * 0.9) / inertia, 1.5 / inertia
    assert mode.s == pytest.approx(complex(-d / 2, np.sqrt(k - d * d / 4)), rel=1e-7)


def test_a_step_too_long_for_a_closed_loop_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Below the bound the swing creeps at k q/d = 0.001 rad/s; beyond it, the run ends or swings, and is warned of."""
    path = swing(tmp_path, 4000.0)
    bound = step_bounds(pysim.load_scene(path)).stable
    assert bound == pytest.approx(2.785293563 * (4 * 0.9**2 + 3 * 0.4**2 + 0.04) / 4000, rel=1e-3)
    for step, fine in ((0.9 * bound, True), (1.2 * bound, False)):
        output = ["-o", str(tmp_path / "run.h5"), "--overwrite"]
        code = main(
            [
                str(path),
                "--duration",
                "2",
                "--set",
                f"simulation.step={step}",
                "--set",
                "joint.left.start=0.1",
                *output,
            ]
        )
        reported = capsys.readouterr().err
        assert (code == 0 and speed_at_end(tmp_path / "run.h5") < 0.01) == fine
        assert ("because of joint" in reported) != fine


def speed_at_end(path: Path) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)  # of a run that ended early
        return float(np.abs(pysim.load_trajectory(path).v[-1]).max())


QUARTER_CAR = """
plugins = ["road.py"]
[[body]]
name = "carriage"
mass = 1
[[body]]
name = "chassis"
mass = 300
[[body]]
name = "wheel"
mass = 40
[[body]]
name = "patch"
mass = 1e-6
[[joint]]
name = "travel"
type = "prismatic"
child = "carriage"
axis = [1, 0, 0]
start = { v = 5.0 }
[[joint]]
name = "heave"
type = "prismatic"
parent = "carriage"
child = "chassis"
[[joint]]
name = "hop"
type = "prismatic"
parent = "carriage"
child = "wheel"
[[joint]]
name = "road"
type = "prismatic"
parent = "carriage"
child = "patch"
[[coupling]]
name = "profile"
joint = "road"
function = "kerb_profile"
inputs = ["travel"]
[[force]]
name = "tire"
type = "spring"
a = "patch"
b = "wheel"
at_b = [0, 0, 0.3]
stiffness = 2e5
length = 0.3
[[force]]
name = "suspension"
type = "spring"
a = "wheel"
b = "chassis"
at_b = [0, 0, 0.5]
stiffness = 2e4
damping = 1500
length = 0.5
"""
ROAD = """import numpy as np
from pysim.joints import relation
@relation("kerb_profile")
def kerb_profile(x):
    return 0.05 * np.exp(-(((x - 3.0) / 0.4) ** 2))
"""


def test_the_fastest_motion_of_a_car_before_a_bump_is_the_hop_of_its_wheel(tmp_path: Path) -> None:
    """The road's slope is 1e-24 here. Oracle: the two masses on two springs of the textbook."""
    (tmp_path / "road.py").write_text(ROAD, "utf-8")
    (tmp_path / "car.toml").write_text(QUARTER_CAR, "utf-8")
    modes = modes_of(pysim.load_scene(tmp_path / "car.toml", allow_code=True))
    K = np.array([[2e4, -2e4], [-2e4, 2.2e5]]) / [[300], [40]]
    D = np.array([[1500, -1500], [-1500, 1500]]) / [[300], [40]]
    roots = np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -D]]))
    expected = sorted((s for s in roots if s.imag > 0), key=lambda s: s.imag)
    found = sorted(modes, key=lambda mode: mode.s.imag)
    assert [mode.joint for mode in found] == ["heave", "hop"]
    np.testing.assert_allclose([mode.s for mode in found], expected, rtol=1e-7)


@pytest.mark.parametrize("name", ["solo_description/robots/solo12", "panda_description/urdf/panda"])
def test_a_robot_in_free_fall_has_no_step_bound_made_of_rounding(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Free joints without springs have no mode; differences of accelerations left rates of 4e-5 1/s."""
    text = f"""[[model]]
file = "package://example-robot-data/robots/{name}.urdf"
free_base = true
damping = false
friction = false
limits = false
"""
    (tmp_path / "s.toml").write_text(text, "utf-8")
    bounds = step_bounds(pysim.load_scene(tmp_path / "s.toml"))
    assert (bounds.fastest, bounds.steepest, bounds.stable) == (None, None, np.inf)
    assert main(["check", str(tmp_path / "s.toml")]) == 0
    assert "to be stable" not in capsys.readouterr().out


HAND = """[[model]]
file = "package://example-robot-data/robots/allegro_hand_description/urdf/allegro_left_hand.urdf"
start = { "joint_12.0" = 0.8 }
inertia = "nearest"
[simulation]
duration = 0.02
"""


def test_an_implicit_scheme_is_advised_for_a_stiff_hand_and_runs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dampers of the Allegro hand decay at 2e6 1/s: rk4 needs steps of 1 μs, generalized_alpha runs at 1 ms."""
    (tmp_path / "hand.toml").write_text(HAND, "utf-8")
    scene = pysim.load_scene(tmp_path / "hand.toml")
    with (
        pytest.warns(PysimWarning) as caught,
        pytest.raises(SimulationError) as ended,
    ):
        pysim.simulate(scene)
    (text,) = (str(w.message) for w in caught if "stable at the start" in str(w.message))
    assert (
        'take integrator = "generalized_alpha", which is stable at this step, or 1.2e-06 or less'
        in text
    )
    assert str(ended.value).endswith(
        '; take integrator = "generalized_alpha", or reduce simulation.step, now 0.001 [s]'
    )
    assert main(["check", str(tmp_path / "hand.toml")]) == 0
    advice = "  scheme      generalized_alpha is stable at 0.001 s, for this stiff scene\n"
    assert advice in capsys.readouterr().out
    run = pysim.load_scene(tmp_path / "hand.toml", {"simulation.integrator": "generalized_alpha"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PysimWarning)
        assert np.isfinite(pysim.simulate(run).q).all()


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit", "rk2"])
def test_friction_of_a_joint_whose_motion_is_prescribed_limits_no_step(integrator: str) -> None:
    """Nothing is free, so that nothing has a rate; warnings are errors here."""
    b = pysim.SceneBuilder("driven")
    b.body("block", mass=1.0)
    b.signal("path", "sine", amplitude=0.1, frequency=2.0, unit="m")
    keys: dict[str, Any] = {"friction": 10.0, "damping": 3.0, "motion": {"signal": "path"}}
    b.joint("slide", "prismatic", child="block", **keys)
    b.simulation(duration=0.1, step=1e-3, integrator=integrator)
    scene = b.build()
    assert step_bounds(scene).sticks == np.inf
    assert pysim.simulate(scene).q[-1, 0] == pytest.approx(0.1 * np.sin(0.2), rel=1e-9)
