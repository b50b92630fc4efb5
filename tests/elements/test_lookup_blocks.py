"""Tables of signals. Oracle: SciPy's interpolation at the signals' values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, RegularGridInterpolator

import pysim
from tests.elements.blocks import mass, scene_of, simulation, table

X, Y = [0.0, 1.0, 3.0], [-1.0, 0.0, 2.0, 5.0]
MAP = [[0.0, 1.0, 4.0, 2.0], [1.0, 2.0, 6.0, 3.0], [-2.0, 0.0, 1.0, 9.0]]


def waves():
    """Return two signals that pass through their tables and beyond their ends."""
    keys = {"frequency": 3.0, "type": "sine"}
    return table("signal", name="u", offset=1.5, amplitude=2.0, **keys) + table(
        "signal", name="w", offset=2.0, amplitude=4.0, phase=1.0, **keys
    )


def run(folder, text):
    keys = {"duration": 2.0, "interval": 0.1}
    return pysim.simulate(scene_of(folder, mass(1.0) + waves() + text + simulation("rk4", **keys)))


def test_a_characteristic_of_a_signal(tmp_path):
    (tmp_path / "curve.csv").write_text("x,pull\n0,1\n1,4\n3,2\n", "utf-8")
    values = [1.0, 4.0, 2.0]
    text = table("controller", name="line", type="lookup", inputs=["u"], x=X, values=values)
    text += table(
        "controller",
        name="curve",
        type="lookup",
        inputs=["u"],
        file="curve.csv",
        interpolation="natural",
    )
    text += table(
        "controller",
        name="steps",
        type="lookup",
        inputs=["u"],
        x=X,
        values=values,
        interpolation="previous",
    )
    whole = run(tmp_path, text)
    u = np.clip(whole.signals["u"], 0, 3)
    np.testing.assert_allclose(whole.signals["line"], np.interp(u, X, values), rtol=1e-13)
    spline = CubicSpline(X, values, bc_type="natural")(u)
    np.testing.assert_allclose(whole.signals["curve"], spline, rtol=1e-13)
    held = np.array(values)[np.searchsorted(X, u, side="right") - 1]
    np.testing.assert_array_equal(whole.signals["steps"], held)


def test_a_map_of_two_signals_from_lists_and_from_a_file(tmp_path):
    lines = [",".join(map(str, ["x\\y", *Y]))]
    lines += [",".join(map(str, [x, *row])) for x, row in zip(X, MAP, strict=True)]
    (tmp_path / "map.csv").write_text("\n".join(lines), "utf-8")
    keys = {"type": "lookup_2d", "inputs": ["u", "w"]}
    text = table("controller", name="lists", x=X, y=Y, values=MAP, **keys)
    text += table("controller", name="file", file="map.csv", **keys)
    text += table("controller", name="smooth", file="map.csv", interpolation="cubic", **keys)
    whole = run(tmp_path, text)
    u, w = np.clip(whole.signals["u"], 0, 3), np.clip(whole.signals["w"], -1, 5)
    expected = RegularGridInterpolator((X, Y), MAP)(np.column_stack([u, w]))
    np.testing.assert_allclose(whole.signals["lists"], expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(whole.signals["file"], whole.signals["lists"])
    along = CubicSpline(X, MAP, bc_type="natural")(u)
    smooth = [CubicSpline(Y, row, bc_type="natural")(y) for row, y in zip(along, w, strict=True)]
    np.testing.assert_allclose(whole.signals["smooth"], smooth, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("lookup", {"x": [0.0, 0.0], "values": [1.0, 2.0]}, "x: must be two or more numbers"),
        ("lookup", {"x": X, "values": [1.0]}, "values: must have one number for each x, got 1"),
        ("lookup", {"x": X, "values": [*X[1:], np.inf]}, "values: and x must be finite"),
        ("lookup", {"x": X, "values": X, "interpolation": "linaer"}, "did you mean 'linear'"),
        ("lookup", {"file": "missing.csv"}, "there is no file"),
        ("lookup_2d", {"x": X, "y": Y, "values": MAP[:2]}, "must have 3 rows of 4 numbers"),
        ("lookup_2d", {"x": X, "y": Y, "values": [[1.0]]}, "row 1 has 1 number"),
    ],
)
def test_tables_that_do_not_fit_are_rejected_with_the_key(tmp_path, kind, keys, message):
    inputs = ["u"] if kind == "lookup" else ["u", "w"]
    with pytest.raises(pysim.SceneError, match=message):
        run(tmp_path, table("controller", name="t", type=kind, inputs=inputs, **keys))
