"""Mistakes of people who know other programs, in scenes: words, units, degrees, sizes. Oracle: texts that were read by
a person.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.diagnosis.stability import step_bounds
from pysim.errors import SceneError, UnknownNameError

ARM = """name = "arm"
[[body]]
name = "rod"
mass = 1.0
com = [0, 0, -0.5]
inertia = { xx = 0.1, yy = 0.1, zz = 0.01 }
[[joint]]
name = "hinge"
type = "revolute"
child = "rod"
axis = [0, 1, 0]
[[signal]]
name = "target"
type = "constant"
value = 0.3
unit = "rad"
[[sensor]]
name = "angle"
type = "coordinates"
coordinates = ["hinge"]
[[controller]]
name = "pd"
type = "pd"
inputs = ["target", "angle.q", "angle.v"]
kp = 3.0
[[actuator]]
name = "motor"
type = "force"
joint = "hinge"
command = "pd"
[simulation]
duration = 0.01
step = 1e-3
"""
BOX = """name = "box"
[[body]]
name = "box"
shape = { box = [0.1, 0.1, 0.1], density = 500 }
[[joint]]
name = "root"
type = "free"
child = "box"
start = %s
"""
SEVEN = "must have 7 numbers for a free joint: x [m], y [m], z [m], quat_x [1], quat_y [1], quat_z [1], quat_w [1]"


def load(folder: Path, text: str) -> pysim.Scene:
    path = folder / "s.toml"
    path.write_text(text, "utf-8")
    return pysim.load_scene(path)


MISTAKES = {
    "NaN": (
        ("kp = 3.0", "kp = nan"),
        "s.toml:25:6: controller[0].kp: must not be NaN; give a number",
    ),
    "NaN in a list": (
        ("kp = 3.0", "kp = [1.0, nan]"),
        "s.toml:25:6: controller[0].kp: must not be NaN; give a number",
    ),
    "NaN of a signal": (
        ("value = 0.3", "value = nan"),
        "s.toml:15:9: signal[0].value: must not be NaN; give a number",
    ),
    "capitals": (
        ("kp = 3.0", "Kp = 3.0"),
        "s.toml:25:6: controller[0].Kp: unknown key; did you mean 'kp'?",
    ),
    "capitals of a second key": (
        ("kp = 3.0", "kp = 3.0\nKD = 2.0"),
        "s.toml:26:6: controller[0].KD: unknown key; did you mean 'kd'?",
    ),
    "a word of textbooks": (
        ("[simulation]", "[materials.rubber]\nmu = 0.5\n[simulation]"),
        "s.toml:32:1: materials.rubber.mu: unknown key; did you mean 'friction'?",
    ),
    "a shape of other programs": (
        ("mass = 1.0\n", "shape = { cube = 0.1, density = 1 }\n"),
        "s.toml:4:11: body[0].shape.cube: unknown key; did you mean 'box'?",
    ),
    "a unit in words": (
        ('unit = "rad"', 'unit = "radians"'),
        's.toml:16:8: signal[0].unit: must be a symbol, got \'radians\'; write unit = "rad"',
    ),
    "a product of units in words": (
        ('unit = "rad"', 'unit = "newton meters"'),
        's.toml:16:8: signal[0].unit: must be a symbol, got \'newton meters\'; write unit = "N·m"',
    ),
    "a rate in words": (
        ('unit = "rad"', 'unit = "radians/second"'),
        's.toml:16:8: signal[0].unit: must be a symbol, got \'radians/second\'; write unit = "rad/s"',
    ),
    "a number beyond all": (
        ("kp = 3.0", "kp = 1e300"),
        "s.toml:25:6: controller[0].kp: is beyond 1e+30, got 1e+300; take another unit",
    ),
    "two commands": (
        ('command = "pd"', 'command = ["pd", "target"]'),
        "s.toml:26:1: actuator[0]: actuator 'motor': has the inputs command, got 2 signals; name one signal for each",
    ),
    "too many inputs": (
        ('["target", "angle.q", "angle.v"]', '["target", "angle.q", "angle.v", "angle.v"]'),
        (
            "s.toml:21:1: controller[0]: controller 'pd': has the inputs reference, q, v, got 4 signals; "
            "name one signal for each"
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_at_its_key_with_the_right_word(
    tmp_path: Path, change: tuple[str, str], text: str
) -> None:
    with pytest.raises(SceneError) as reported:
        load(tmp_path, ARM.replace(*change))
    assert text in str(reported.value).replace(f"{tmp_path}/", "").splitlines()


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        ("[0, 0, 0.2]", f"{SEVEN}; got 3; write {{ xyz = [0, 0, 0.2] }}"),
        (
            "[0, 0, 0.2, 0, 0.1, 0]",
            f"{SEVEN}; got 6; write {{ xyz = [0, 0, 0.2], rpy = [0, 0.1, 0] }}",
        ),
        ("[0, 0]", f"{SEVEN}; got 2"),
    ],
)
def test_the_start_of_a_free_joint_that_lacks_numbers_is_written_as_a_pose(
    tmp_path: Path, start: str, problem: str
) -> None:
    with pytest.raises(SceneError) as reported:
        load(tmp_path, BOX % start)
    assert reported.value.problem == problem


@pytest.mark.parametrize(
    "start",
    [
        '[[model]]\nname = "arm"\nfile = "arm.toml"\nstart = { hinge = -90 }\n',
        '[[model]]\nname = "arm"\nfile = "arm.toml"\nstart = { hinge = { q = -90 } }\n',
        '[[model]]\nname = "arm"\nfile = "arm.toml"\n[keyframes.home]\nstart = { "arm/hinge" = -90 }\n',
    ],
)
def test_the_start_of_an_attached_joint_that_looks_like_degrees_is_warned_of(
    tmp_path: Path, start: str
) -> None:
    (tmp_path / "arm.toml").write_text(ARM[: ARM.index("[[signal]]")], "utf-8")
    text = r"hinge: -90 \[rad\] exceeds four full turns, 25.1 \[rad\]; if degrees were meant, write -1.570796327"
    with pytest.warns(pysim.PysimWarning, match=text):
        load(tmp_path, f'name = "s"\n{start}')


def test_a_signal_that_was_not_recorded_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    run = pysim.simulate(load(tmp_path, ARM))
    rolled = pysim.rollout(load(tmp_path, ARM), steps=2, signals=["pd"])
    for signals in (run.signals, rolled.signals):
        with pytest.raises(UnknownNameError, match=r"^signals: has no 'pdd'; did you mean 'pd'\?$"):
            signals["pdd"]
        with pytest.raises(KeyError):
            signals["pdd"]
        assert signals.get("pdd") is None
        assert "pdd" not in signals
    with pytest.raises(pysim.PysimError, match=r"^work: has no 'moter'; did you mean 'motor'\?$"):
        run.work["moter"]
    with pytest.raises(pysim.PysimError, match=r"^signals: has no 'pd'; it is empty$"):
        pysim.rollout(load(tmp_path, ARM), steps=2).signals["pd"]


def test_gains_that_overflow_are_no_warning_of_numpy(tmp_path: Path) -> None:
    small = ARM.replace("mass = 1.0", "mass = 1e-290").replace(
        "0.1, yy = 0.1, zz = 0.01", "1e-290, yy = 1e-290, zz = 1e-290"
    )
    for kp in ("1e20", "1e30", "-1e30"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pysim.PysimWarning)  # of the sign
            scene = load(tmp_path, small.replace("kp = 3.0", f"kp = {kp}\nkd = {kp}"))
            warnings.simplefilter("error")
            step_bounds(scene)


def test_infinite_values_of_an_element_of_pysim_are_reported_at_its_table(tmp_path: Path) -> None:
    text = r"s\.toml: controller 'pd' is NaN or infinite at t = 0 s; correct its keys or its inputs, .*s\.toml:21:1: "
    with pytest.raises(pysim.SimulationError, match=text):
        pysim.simulate(load(tmp_path, ARM.replace("kp = 3.0", "kp = 1e30\nkd = inf")))


BUSHING = """name = "bushing"
[[body]]
name = "box"
mass = 1.0
inertia = { xx = 0.1, yy = 0.1, zz = 0.1 }
[[joint]]
name = "root"
type = "free"
child = "box"
[[force]]
name = "mount"
type = "bushing"
b = "box"
stiffness = [%s]
"""


def rows_of(K: np.ndarray) -> str:
    return ", ".join(str(row) for row in K.tolist())


def test_a_stiffness_that_is_symmetric_but_for_rounding_is_taken(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    A = rng.normal(size=(6, 6))
    J = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    K = J @ (A @ A.T) @ J.T  # rotated, as from a finite-element program
    assert not np.array_equal(K, K.T)
    load(tmp_path, BUSHING % rows_of(K))
    K[1, 4] += 1e-6 * np.abs(K).max()
    with pytest.raises(
        SceneError, match="stiffness: must be symmetric; write the mean of the matrix"
    ):
        load(tmp_path, BUSHING % rows_of(K))


def test_the_tool_of_a_pendulum_is_its_centre_of_mass(tmp_path: Path) -> None:
    """The frame of its rod is at the hinge, which rests."""
    updates: list[pysim.simulation.Update] = []
    scene = load(tmp_path, ARM)
    summary = pysim.simulation.summarize(
        scene, pysim.simulate(scene, progress=updates.append), updates[-1]
    )
    assert (summary.tool, summary.tool_is_centre) == ("rod", True)
    assert abs(np.linalg.norm(summary.tool_position) - 0.5) < 1e-12


RAGGED = {
    'type = "table"\nt = [0, 1]\nvalues = [[1, 2], [3]]': (
        "values: row 2 has 1 number, and must have 2, as the first row has; give every row 2 numbers"
    ),
    'type = "waypoints"\nt = [0, 1]\nvalues = [[1], [3, 4]]': (
        "values: row 2 has 2 numbers, and must have 1, as the first row has; give every row 1 number"
    ),
    'type = "spline"\nt = [0, 1, 2]\nvalues = [[], [3, 4], []]': "values: row 2 has 2 numbers, and must have 0",
}


@pytest.mark.parametrize(("keys", "problem"), RAGGED.items())
def test_rows_of_unequal_length_are_named(tmp_path: Path, keys: str, problem: str) -> None:
    signal = f'[[signal]]\nname = "rows"\n{keys}\n'
    with pytest.raises(pysim.PysimError) as reported:
        load(tmp_path, ARM.replace("[simulation]", f"{signal}[simulation]"))
    assert problem in str(reported.value)


def test_gains_of_a_state_feedback_that_do_not_fit_are_named(tmp_path: Path) -> None:
    keys = 'type = "state_feedback"\ninputs = ["angle.q", "angle.v"]\n'
    scene = ARM.replace(
        'type = "pd"\ninputs = ["target", "angle.q", "angle.v"]\nkp = 3.0', f"{keys}%s"
    )
    for gain, problem in (
        (
            "gain = [[1, 2, 3]]",
            "gain: row 1 has 3 numbers, and must have 2, one for each number of q and v; ",
        ),
        (
            "gain = [[1, 2], [3]]",
            "gain: row 2 has 1 number, and must have 2, one for each number of q and v; ",
        ),
        (
            "gain = [[1, 2]]\ntarget = [1.0]",
            "target: has 1 numbers, and q and v have 2; give as many",
        ),
    ):
        with pytest.raises(SceneError) as reported:
            load(tmp_path, scene % gain)
        assert problem in str(reported.value)
        assert "controller 'pd'" in str(reported.value)
