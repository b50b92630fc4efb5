"""Recordings from files. The oracle is what was written, and analytical derivatives of what was recorded.

Every refusal names file, row and column and says what to do; the texts are held word for word.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pysim
from pysim.errors import IdentificationError, PysimWarning
from pysim.identify import differentiated, make_samples, read_run, read_samples
from pysim.scene.spec import ModelSpec
from pysim.scene.stop_defaults import with_stops
from pysim.worlds.loading import compile_model

ARM = """
[[body]]
name = "upper"
mass = 2.0
com = [0.2, 0, 0]
inertia = { xx = 0.01, yy = 0.05, zz = 0.05 }
[[body]]
name = "lower"
mass = 1.0
com = [0.1, 0, 0]
inertia = { xx = 0.01, yy = 0.02, zz = 0.02 }
[[joint]]
name = "shoulder"
type = "revolute"
child = "upper"
axis = [0, 1, 0]
damping = 0.3
[[joint]]
name = "elbow"
type = "revolute"
parent = "upper"
child = "lower"
at = { xyz = [0.4, 0, 0] }
axis = [0, 1, 0]
[[actuator]]
joint = "shoulder"
amplitude = 3.0
frequency = 5.0
[[actuator]]
joint = "elbow"
offset = 0.5
amplitude = 1.0
frequency = 7.0
phase = 1.0
[simulation]
duration = 2.0
[output]
every = 2e-3
"""
HEADER = "t,q.shoulder,q.elbow,tau.shoulder,tau.elbow"


@pytest.fixture
def arm(tmp_path: Path) -> pysim.Scene:
    path = tmp_path / "arm.toml"
    path.write_text(ARM, "utf-8")
    return pysim.load_scene(path)


@pytest.fixture
def table(tmp_path: Path):
    def write(*lines: str, header: str = HEADER) -> Path:
        path = tmp_path / "data.csv"
        path.write_text("\n".join([header, *lines]), "utf-8")
        return path

    return write


def rows(count: int) -> list[str]:
    return [f"{0.01 * k:.4f},{0.1 * k},0,1,2" for k in range(count)]


def test_columns_are_found_by_name_in_any_order(arm: pysim.Scene, table) -> None:
    names = [
        "a.elbow",
        "tau.elbow",
        "q.elbow",
        "v.shoulder",
        "t",
        "q.shoulder",
        "v.elbow",
        "a.shoulder",
    ]
    path = table("1,2,3,4,0,5,6,7", "1,2,3,4,0.5,5,6,7", header=", ".join(names))
    samples = read_samples(arm.model, path)
    np.testing.assert_array_equal(samples.t, [0, 0.5])
    np.testing.assert_array_equal(samples.q[0], [5, 3])
    np.testing.assert_array_equal(samples.v[0], [4, 6])
    np.testing.assert_array_equal(samples.a[0], [7, 1])
    np.testing.assert_array_equal(samples.tau[0], [0, 2])  # no motor at the shoulder


@pytest.mark.parametrize(
    ("lines", "header", "text"),
    [
        (
            ["0,1,2,3,4", "0.1,1,nan,3,4"],
            HEADER,
            "row 3: column 'q.elbow' is nan; leave out the rows that were not measured, or fill them by interpolation",
        ),
        (
            ["0,1,2,3,4", "0.1,1,2,3,4", "0.1,1,2,3,4"],
            HEADER,
            "row 4: column 't' must increase, got 0.1 [s] after 0.1 [s]; sort the rows and leave out repeated ones",
        ),
        (
            ["0,1,2,3,4", "0.1,1,2,x,4"],
            HEADER,
            "row 3: column 'tau.shoulder' must be a number, got 'x'; leave the row out",
        ),
        (
            ["0,1,2,3,4", "0.1,1,2,3"],
            HEADER,
            "row 3: has 4 columns, the first line names 5; complete it or leave it out",
        ),
        (
            ["0,1,2"],
            "t,q.shoulder,q.elbow",
            (
                "column 'tau.shoulder' is missing; give the columns t, q.shoulder, … and tau.shoulder, …, and "
                "v.shoulder, … and a.shoulder, … if they were measured"
            ),
        ),
        (
            ["0,1,2"],
            "t,q.shoulder,tau.elbow",
            "column 'q.elbow' is missing, but 'q.shoulder' is present; add it",
        ),
        (
            ["0,1,2,3,4,5"],
            HEADER + ",v.elbow",
            "column 'v.shoulder' is missing, but 'v.elbow' is present; add it, or remove all columns of v",
        ),
        (["0,1,2,3,4,5"], HEADER + ",q.elbw", "unknown column 'q.elbw'; did you mean 'q.elbow'?"),
        (["0,1,2,3,4,5"], HEADER + ",q.elbow", "column 'q.elbow' occurs twice; keep one"),
        (
            ["0,1_0,2,3,4"],
            HEADER,
            "is not a table of numbers; check that commas separate its columns",
        ),
        ([], HEADER, "has no rows below the names of the columns"),
        (["0,1,2,3,4"], HEADER, "has 1 rows; record a motion"),
        (
            rows(10),
            HEADER,
            "10 rows of 0.01 [s] are fewer than the filter's 21; record longer, or give v and a, or a shorter window",
        ),
    ],
)
def test_a_bad_table_is_rejected_by_file_row_and_column(
    arm: pysim.Scene, table, lines: list[str], header: str, text: str
) -> None:
    path = table(*lines, header=header)
    with pytest.raises(IdentificationError) as caught:
        read_samples(arm.model, path)
    assert str(caught.value) == f"{path}: {text}"


def test_a_missing_file_is_named(arm: pysim.Scene, tmp_path: Path) -> None:
    with pytest.raises(
        IdentificationError,
        match=r"none.csv: cannot be read: no such file or directory; check the path$",
    ):
        read_samples(arm.model, tmp_path / "none.csv")


def test_a_file_in_another_encoding_is_named(arm: pysim.Scene, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(HEADER.encode("utf-16"))
    with pytest.raises(IdentificationError) as caught:
        read_samples(arm.model, path)
    assert str(caught.value) == f"{path}: is not UTF-8 text; save it as UTF-8"


def test_a_column_of_times_and_a_window_of_no_length_are_rejected(arm: pysim.Scene) -> None:
    zero = np.zeros((30, 2))
    t = np.arange(30) * 0.01
    with pytest.raises(
        IdentificationError, match=r"^samples: t must have shape \(n,\), got \(30, 1\)$"
    ):
        make_samples(arm.model, t[:, None], zero, zero)
    with pytest.raises(IdentificationError, match=r"^window: must be positive \[s\], got 0$"):
        make_samples(arm.model, t, zero, zero, window=0.0)


def test_unevenly_spaced_rows_are_rejected_where_they_must_be_differentiated(
    arm: pysim.Scene, table
) -> None:
    lines = rows(40)
    del lines[20]
    with pytest.raises(
        IdentificationError, match=r"data.csv: rows \d+ and \d+ are 0.0\d+ \[s\] apart, on average"
    ):
        read_samples(arm.model, table(*lines))


def test_a_trajectory_is_driven_by_its_scenes_actuators(arm: pysim.Scene, tmp_path: Path) -> None:
    pysim.simulate(arm, output=tmp_path / "arm.h5")
    samples = read_run(arm, tmp_path / "arm.h5")
    model = arm.model
    tau = pysim.rnea(model, samples.q, samples.v, samples.a)
    tau -= pysim.passive_forces(model, samples.q, samples.v)
    np.testing.assert_allclose(samples.tau, tau, atol=1e-9)


def test_a_trajectory_of_another_mechanism_is_rejected(arm: pysim.Scene, tmp_path: Path) -> None:
    pysim.simulate(arm, output=tmp_path / "arm.h5")
    path = tmp_path / "other.toml"
    path.write_text(ARM.replace('"elbow"', '"hinge"'), "utf-8")
    text = r"arm.h5: has the coordinates shoulder, elbow, the scene shoulder, hinge; give the scene that was run$"
    with pytest.raises(IdentificationError, match=text):
        read_run(pysim.load_scene(path), tmp_path / "arm.h5")


def test_the_filter_has_no_delay_and_keeps_slow_motions(arm: pysim.Scene) -> None:
    t = np.linspace(0, 2, 2001)
    w, phase = np.array([3.0, 8.0]), np.array([0.0, 1.0])
    q = np.sin(np.outer(t, w) + phase)
    drop, found = differentiated(arm.model, t, q)
    inner = t[drop:-drop, None] * w + phase
    np.testing.assert_allclose(found["v"], w * np.cos(inner), atol=3e-3 * 8)
    np.testing.assert_allclose(found["a"], -(w**2) * np.sin(inner), atol=1e-2 * 64)


def test_balls_and_free_joints_are_differentiated_on_their_groups() -> None:
    from tests.robots import load_robot

    model = load_robot("anymal")
    rng = np.random.default_rng(3)
    v = rng.normal(size=model.nv)
    t = np.arange(400) * 1e-3
    q = np.array([model.integrate(model.neutral(), v * time) for time in t])  # a constant twist
    samples = make_samples(model, t, q, np.zeros((400, model.nv)))
    np.testing.assert_allclose(samples.v, np.tile(v, (len(samples), 1)), atol=1e-9)
    np.testing.assert_allclose(samples.a, 0, atol=1e-6)


def test_wrong_shapes_are_rejected(arm: pysim.Scene) -> None:
    t = np.arange(5.0)
    with pytest.raises(
        IdentificationError,
        match=r"^samples: q must have shape \(5, 2\), an instant a row, got \(5, 3\)$",
    ):
        make_samples(arm.model, t, np.zeros((5, 3)), np.zeros((5, 2)))
    with pytest.raises(
        IdentificationError, match=r"^samples: row 3: column 't' must be finite; leave the row out$"
    ):
        make_samples(arm.model, [0, 1, 2, np.inf], np.zeros((4, 2)), np.zeros((4, 2)))


def test_samples_on_a_stop_whose_stiffness_is_a_guess_are_reported(arm: pysim.Scene) -> None:
    t, zeros = np.linspace(0, 1, 5), np.zeros((5, 2))
    q = zeros + np.array([[0.0], [0.3], [0.41], [-0.6], [0.1]])
    guessed = with_limits(arm.model.spec, np.nan)
    with pytest.warns(PysimWarning, match="2 of 5 samples lie on a stop of joint 'shoulder'; its"):
        make_samples(guessed, t, q, zeros, zeros, zeros)
    measured = with_limits(arm.model.spec, 50.0)
    make_samples(measured, t, q, zeros, zeros, zeros)
    make_samples(arm.model, t, q, zeros, zeros, zeros)
    q[2:4, 0] = np.nextafter(0.4, 1), -0.5 - 1e-8
    make_samples(guessed, t, q, zeros, zeros, zeros)


def with_limits(spec: ModelSpec, stiffness: float) -> pysim.Model:
    """The same with limits from −0.5 to 0.4 rad at its first joint; NaN for what pysim chooses."""
    first, *others = spec.joints
    bounded = replace(first, lower=np.array([-0.5]), upper=np.array([0.4]))
    stop, unsaid = np.array([stiffness]), np.array([np.nan])
    stopped = replace(bounded, stop_stiffness=stop, stop_damping=unsaid)
    joints = with_stops((stopped, *others), spec.bodies)
    return compile_model(replace(spec, joints=joints))
