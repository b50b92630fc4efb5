"""Functions of OpenSim's joints and couplers: values and two derivatives at, between and beyond the knots.

The oracle is OpenSim 4.6 (tests/data/reference/opensim/functions.json).
"""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

import numpy as np
import pytest

from pysim.errors import SceneError
from pysim.joints.coordinate_functions import function_named, relation_name, value_of
from pysim.joints.relation import relation_derivatives
from pysim.scene.osim.functions import read_function
from pysim.scene.urdf.xml import parse_xml
from tests.robots import REFERENCE

FILE = json.loads((REFERENCE / "opensim" / "functions.json").read_text("utf-8"))
CASES = {f"{c['class']} {c['name']}": c for c in FILE["cases"]}
NOT_READ = {"PiecewiseConstantFunction", "Sine", "StepFunction"}
READ = [
    name for name, c in CASES.items() if c["class"] not in NOT_READ and c.get("half_order", 2) == 2
]


def xml_of(case):
    """Return the element of a case in a file."""
    tags = {
        key: case[key] for key in ("x", "y", "coefficients", "value", "half_order") if key in case
    }
    lists = {k: " ".join(map(repr, v)) if isinstance(v, list) else repr(v) for k, v in tags.items()}
    inside = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in lists.items())
    if case["class"] == "MultiplierFunction":
        points = f"<function><SimmSpline>{inside}</SimmSpline></function>"
        inside = f"{points}<scale>{case['scale']!r}</scale>"
    return f"<{case['class']}>{inside}</{case['class']}>"


@pytest.mark.parametrize("name", READ)
def test_values_and_derivatives_are_those_of_opensim(name):
    case = CASES[name]
    function = read_function(parse_xml(xml_of(case).encode(), "f.osim"))
    named = function_named(relation_name(function))
    for x, *expected in np.array(case["table"], float):
        first, second, _ = relation_derivatives(named, [x])
        got = [value_of(function, x), float(first[0]), float(second[0, 0])]
        knots = np.array(case.get("x", []), float)
        at_knot = len(knots) > 0 and np.abs(knots - x).min() < 1e-9
        jumping = 1 if case["class"].startswith("Piecewise") else 2  # f′, or f″ at the ends
        count = jumping if at_knot else 3
        scale = 1 + np.abs(case["table"]).max()
        assert np.allclose(got[:count], expected[:count], rtol=1e-11, atol=1e-13 * scale)


@pytest.mark.parametrize("kind", sorted(NOT_READ))
def test_a_function_that_is_not_read_is_refused_with_its_name(kind):
    with pytest.raises(SceneError, match=f"<{kind}> is not read"):
        read_function(parse_xml(f"<{kind}/>".encode(), "f.osim"))
