"""Sources of signals. Oracles: the reference cases `interpolation` and `minimum_jerk`, NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate
from numpy.testing import assert_allclose

import pysim
from pysim.errors import PysimError, SceneError
from tests.elements.blocks import disc, mass, scene_of, simulation, table
from tests.elements.reference_cases import Case


def values(folder, times, **keys):
    """Return value, rate and acceleration (n, 3) of a source at times [s], by followers that copy them."""
    text = disc() + table("signal", name="r", **keys)
    for name, of in (("rate", "r.rate"), ("acceleration", "r.acceleration")):
        text += table("controller", name=name, type="pd", inputs=["zero", of, "zero"], kp=-1.0)
    text += table("signal", name="zero", type="constant", value=0.0)
    scene = scene_of(folder, text + simulation("rk4", duration=0.01, interval=0.01))
    from pysim.worlds.signal_runs import signals_of_states

    n = len(times)
    rows = signals_of_states(
        scene, np.array(times), np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((n, 0))
    )
    at = {s.name: s.first for s in scene.signals.recorded}
    return rows[:, [at["r"], at["rate"], at["acceleration"]]]


KINDS = {
    "natural": "cubic spline, natural",
    "clamped": "cubic spline, clamped",
    "not_a_knot": "cubic spline, not-a-knot",
}


@pytest.mark.parametrize("kind", KINDS)
def test_cubic_splines_with_their_derivatives(tmp_path, kind):
    case = Case("interpolation")
    s = case.setup
    found = values(
        tmp_path,
        case.at(KINDS[kind]),
        type="spline",
        t=s["t_s"],
        values=s["x"],
        interpolation=kind,
    )
    case.agrees(KINDS[kind], found)


@pytest.mark.parametrize(
    ("kind", "quantity"), [("pchip", "monotone"), ("linear", "linear"), ("previous", "previous")]
)
def test_other_interpolations(tmp_path, kind, quantity):
    case = Case("interpolation")
    s = case.setup
    keys = {"type": "table", "t": s["t_s"], "values": s["x"], "interpolation": kind}
    case.agrees(quantity, values(tmp_path, case.at(quantity), **keys)[:, 0])


def test_a_table_that_holds_its_ends(tmp_path):
    case = Case("interpolation")
    s = case.setup
    for kind in ("linear", "natural", "previous"):
        keys = {"type": "table", "t": s["t_s"], "values": s["x"], "interpolation": kind}
        found = values(tmp_path, case.at("outside"), outside="hold", **keys)
        expected = np.ravel(case.expected("outside")["value"])
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize(("stop", "quantity"), [(False, "through: x"), (True, "stop: x")])
def test_waypoints_of_minimum_jerk(tmp_path, stop, quantity):
    case = Case("minimum_jerk")
    s = case.setup
    found = values(
        tmp_path, case.at(quantity), type="waypoints", t=s["t_s"], values=s["x"], stop=stop
    )
    expected = np.array(case.expected(quantity)["value"])[:, :3]
    tolerance = case.expected(quantity)["tolerance"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_a_periodic_table_repeats(tmp_path):
    keys = {"type": "table", "t": [0.0, 0.25, 1.0], "values": [0.0, 1.0, 0.0]}
    times = np.array([0.1, 1.1, 7.1, -0.9, 0.25, 3.25])
    found = values(tmp_path, times, outside="periodic", **keys)[:, 0]
    np.testing.assert_allclose(found, [0.4, 0.4, 0.4, 0.4, 1.0, 1.0], rtol=1e-12)


def test_a_table_from_a_csv_file(tmp_path):
    (tmp_path / "climb.csv").write_text("t,height,other\n0,0,9\n1,2,9\n3,3,9\n", "utf-8")
    keys = {"type": "table", "file": "climb.csv", "column": "height"}
    found = values(tmp_path, np.array([0.5, 2.0]), **keys)[:, 0]
    np.testing.assert_allclose(found, [1.0, 2.5], rtol=1e-14)


def test_a_hole_in_a_csv_file_is_reported_with_its_line(tmp_path):
    file = tmp_path / "climb.csv"
    file.write_text("t,height\n0,0\n1,\n3,3\n", "utf-8")
    with pytest.raises(pysim.PysimError) as error:
        values(tmp_path, np.array([0.5]), type="table", file="climb.csv", column="height")
    text = f"{file}:3: column 'height' must hold a number, it is empty; fill it or remove the line"
    assert text in str(error.value)


def recorded(tmp_path):
    """Write the run of a driven mass, with a sensor of its place."""
    text = mass(2.0, 0.1, -0.3) + table(
        "actuator", name="wave", joint="x", amplitude=4.0, frequency=3.0
    )
    scene = scene_of(tmp_path, text + simulation(duration=2.0, interval=0.02))
    return pysim.simulate(scene, tmp_path / "run.h5")


@pytest.mark.parametrize(
    ("column", "power", "unit"), [("x", 0, "m"), ("v.x", 1, "m/s"), ("place.q", 0, "m")]
)
def test_a_recorded_run_drives_a_signal(tmp_path, column, power, unit):
    run = recorded(tmp_path)
    text = disc() + table(
        "signal", name="past", type="trajectory", file="run.h5", column=column, unit=unit
    )
    again = pysim.simulate(
        scene_of(tmp_path, text + simulation("rk4", duration=2.0, interval=0.005))
    )
    w, force = 3.0, 4.0 / 2.0
    v0 = -0.3 + force / w
    exact = (
        0.1 + v0 * again.t - force / w**2 * np.sin(w * again.t),
        v0 - force / w * np.cos(w * again.t),
    )[power]
    tolerance = 1e-9 if column == "x" else 2e-4
    np.testing.assert_allclose(again.signals["past"], exact, atol=tolerance)
    rows = np.isin(again.t.round(9), run.t.round(9))
    np.testing.assert_allclose(again.signals["past"][rows], exact[rows], atol=1e-9)


def test_a_recorded_run_does_not_reach_beyond_its_end(tmp_path):
    recorded(tmp_path)
    text = disc() + table(
        "signal", name="past", type="trajectory", file="run.h5", column="x", unit="m"
    )
    with pytest.raises(SceneError) as caught:
        scene_of(tmp_path, text + simulation("rk4", duration=3.0))
    assert "signal 'past' is given from t = 0 to 2 s, the run is from 0 to 3 s" in str(caught.value)
    wrong = text.replace('column = "x"', 'column = "y"')
    with pytest.raises(PysimError, match=r"run.h5: has no coordinate, velocity or signal 'y'"):
        scene_of(tmp_path, wrong + simulation("rk4", duration=1.0))


def test_a_recorded_run_whose_accelerations_overflow_is_rejected(tmp_path, monkeypatch):
    run = recorded(tmp_path)
    run.a[3] = np.inf
    monkeypatch.setattr("pysim.trajectory.source.load_trajectory", lambda _: run)
    text = disc() + table(
        "signal", name="past", type="trajectory", file="run.h5", column="x", unit="m"
    )
    with pytest.raises(PysimError, match=r"run.h5: 'x' has infinite values"):
        scene_of(tmp_path, text + simulation("rk4", duration=1.0))


END_SLOPES = {
    "one parabola through three points": ("not_a_knot", [1.0, 4.0, 2.0]),
    "flat where the end formula has the other sign": ("pchip", [0.0, 0.1, 3.0]),
    "steepest where the next piece turns": ("pchip", [0.0, 1.0, -9.0]),
}


@pytest.mark.parametrize("case", END_SLOPES)
def test_slopes_at_the_ends_of_short_splines(tmp_path, case):
    """Oracle: SciPy's CubicSpline and PchipInterpolator."""
    kind, x = END_SLOPES[case]
    t = [0.0, 0.4, 1.0]
    exact = {
        "not_a_knot": scipy.interpolate.CubicSpline,
        "pchip": scipy.interpolate.PchipInterpolator,
    }[kind](t, x)
    times = np.linspace(0, 1, 11)
    found = values(tmp_path, times, type="spline", t=t, values=x, interpolation=kind)
    for order, column in enumerate(found.T):
        np.testing.assert_allclose(column, exact(times, order), rtol=1e-12, atol=1e-11)


def shares(u):
    """Share of the motion and its derivatives by u, as formulas of cam design."""
    pi = np.pi
    b = 0.25
    speed = 1 / (1 - b)
    ends = u < b, u > 1 - b
    return {
        "ramp": (u, np.ones_like(u), 0 * u),
        "polynomial_345": (
            10 * u**3 - 15 * u**4 + 6 * u**5,
            30 * u**2 - 60 * u**3 + 30 * u**4,
            60 * u - 180 * u**2 + 120 * u**3,
        ),
        "cycloidal": (
            u - np.sin(2 * pi * u) / (2 * pi),
            1 - np.cos(2 * pi * u),
            2 * pi * np.sin(2 * pi * u),
        ),
        "trapezoid": (
            np.select(
                ends,
                (speed * u**2 / (2 * b), 1 - speed * (1 - u) ** 2 / (2 * b)),
                speed * (u - b / 2),
            ),
            np.select(ends, (speed * u / b, speed * (1 - u) / b), speed),
            np.select(ends, (speed / b, -speed / b), 0.0),
        ),
    }


@pytest.mark.parametrize("kind", ["ramp", "polynomial_345", "cycloidal", "trapezoid"])
def test_laws_of_motion_are_those_of_cam_design(tmp_path, kind):
    """Oracle: the formulas, and rest before and after."""
    begin, T, before, after = 0.3, 0.8, 0.4, -1.1
    more = {"blend": 0.25} if kind == "trapezoid" else {}
    u = np.array([0.03, 0.2, 0.31, 0.5, 0.62, 0.9, 0.99])
    times = np.concatenate([[0.0, 0.2], begin + T * u, [1.2, 3.0]])
    law = {"type": kind, "time": begin, "duration": T, "before": before, "after": after}
    found = values(tmp_path, times, **law, **more)
    rise = after - before
    for order, share in enumerate(shares(u)[kind]):
        inner = (before if order == 0 else 0.0) + rise * share / T**order
        expected = [before * (order == 0)] * 2 + inner.tolist() + [after * (order == 0)] * 2
        np.testing.assert_allclose(found[:, order], expected, atol=2e-13 / T**order)


def test_laws_of_motion_take_lists_and_a_trapezoid_without_a_middle(tmp_path):
    text = disc() + table(
        "signal", name="r", type="cycloidal", duration=2.0, before=[0.0, 1.0], after=[4.0, 3.0]
    )
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=1.0, interval=1.0)))
    np.testing.assert_allclose(run.signals["r"][-1], [2.0, 2.0], rtol=1e-15)
    found = values(tmp_path, [0.25, 0.5, 0.75], type="trapezoid", duration=1.0, blend=0.5)
    np.testing.assert_allclose(found[:, 0], [0.125, 0.5, 0.875], rtol=1e-15)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"duration": 0.0}, "duration: must be more than 0 and finite, got 0 s"),
        ({"duration": 1.0, "blend": 0.6}, "blend: must be more than 0 and at most 0.5, got 0.6"),
        ({"duration": 1.0, "before": [0.0, 1.0], "after": [1.0, 2.0, 3.0]}, "after: has 3 numbers"),
    ],
)
def test_laws_of_motion_with_wrong_numbers_are_errors(tmp_path, keys, message):
    text = disc() + table("signal", name="r", type="trapezoid", **keys)
    with pytest.raises(SceneError, match=message.replace(".", r"\.")):
        scene_of(tmp_path, text + simulation("rk4", duration=1.0))


@pytest.mark.parametrize("kind", ["polynomial_345", "cycloidal", "trapezoid", "ramp"])
def test_a_joint_follows_a_law_of_motion_unless_its_rate_jumps(tmp_path, kind):
    text = disc() + table("signal", name="lift", type=kind, duration=0.5, after=0.2, unit="rad")
    text = text.replace('name = "hinge"', 'name = "hinge"\nmotion = { signal = "lift" }')
    if kind == "ramp":
        with pytest.raises(SceneError, match="rate that jumps"):
            scene_of(tmp_path, text + simulation("rk4", duration=1.0))
        return
    run = pysim.simulate(scene_of(tmp_path, text + simulation("rk4", duration=1.0)))
    np.testing.assert_allclose(run.q[:, 0], run.signals["lift"], atol=1e-9)


@pytest.mark.parametrize(
    ("unit", "si", "factor"),
    [
        ("deg", "rad", np.pi / 180),
        ("deg/s", "rad/s", np.pi / 180),
        ("mm", "m", 1e-3),
        ("rpm", "rad/s", np.pi / 30),
        ("kN*m", "N·m", 1e3),
        ("mm/s^2", "m/s²", 1e-3),
        ("N·m", "N·m", 1.0),
        ("V", "V", 1.0),
    ],
)
def test_sources_in_other_units_are_converted_to_si(tmp_path, unit, si, factor):
    """Oracle: factors of the units. Rates and accelerations of the signal are converted with it."""
    text = table("signal", name="given", type="sine", unit=unit, amplitude=30.0, frequency=2.0)
    rate = table("controller", name="rate", type="gain", inputs=["given.rate"], gain=1.0)
    run = pysim.simulate(scene_of(tmp_path, disc() + text + rate + simulation(duration=0.5)))
    assert dict(zip(run.names["signals"], run.units["signals"], strict=True))["given"] == si
    assert_allclose(run.signals["given"], 30 * factor * np.sin(2 * run.t), atol=1e-12)
    assert_allclose(run.signals["rate"], 60 * factor * np.cos(2 * run.t), atol=1e-12)


def test_an_input_from_outside_is_in_si_units(tmp_path):
    text = disc() + table("signal", name="wish", type="input", unit="deg")
    with pytest.raises(SceneError, match=r'an input is in SI units, got .deg.; .* unit = "rad"'):
        scene_of(tmp_path, text)
