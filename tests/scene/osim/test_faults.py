"""Mistakes in files of OpenSim, and files that attack their reader: each is reported with its place and a remedy."""

from __future__ import annotations

import re
import warnings

import pytest

import pysim
from pysim.errors import PysimError
from pysim.scene import read_model
from tests.scene.osim.opensim_models import DATA

EVERYWHERE = {  # replaced in opening and closing tags
    "OpenSimDocument",
    "Model",
    "PlanarJoint",
    "GimbalJoint",
    "SpatialTransform",
    "SimmSpline",
}
# file, text, text in its place, what the error says
FAULTS = {
    "another root": (
        "joints",
        "OpenSimDocument",
        "OpenSimDoc",
        "the root element of a model is <OpenSimDocument>",
    ),
    "no version": ("joints", ' Version="40000"', "", "the version '' of <OpenSimDocument>"),
    "early version": ("joints", "40000", "10000", "the version '10000'"),
    "strange version": ("joints", "40000", "four", "the version 'four'"),
    "no model": ("joints", "Model", "Modell", "needs a <Model>"),
    "open tag": ("joints", "</BodySet>", "", "not well-formed XML"),
    "doctype": ("joints", "<OpenSimDocument ", "<!DOCTYPE a><OpenSimDocument ", "is rejected"),
    "entity": ("joints", "<mass>5<", "<mass>&five;<", "undefined entity"),
    "no mass": ("joints", "<mass>5</mass>", "<mass>five</mass>", "must be finite numbers"),
    "negative mass": (
        "joints",
        "<mass>5<",
        "<mass>-5<",
        "<mass> must not be negative [kg], got -5",
    ),
    "infinite mass": ("joints", "<mass>5<", "<mass>1e999<", "must be finite numbers"),
    "huge mass": ("joints", "<mass>5<", "<mass>1e200<", "<mass> is beyond 1e+30, got 1e+200"),
    "two masses": ("joints", "<mass>5</mass>", "<mass>5</mass><mass>6</mass>", "second <mass>"),
    "short centre": ("joints", "0.01 0.1 0.02", "0.01 0.1", "must be 3 numbers"),
    "short inertia": ("joints", "-0.002 0.0015", "-0.002", "<inertia> must be 6 numbers"),
    "body twice": ("joints", '<Body name="shin">', '<Body name="thigh">', "second body 'thigh'"),
    "body without a name": ("joints", '<Body name="foot">', "<Body>", "needs the attribute 'name'"),
    "two gravities": (
        "joints",
        "<gravity>",
        "<gravity>0 0 1</gravity><gravity>",
        "second <gravity>",
    ),
    "short gravity": ("joints", "0.5 -9.8 0.25", "0.5 -9.8", "<gravity> must be 3 numbers"),
    "unknown frame": (
        "joints",
        ">/bodyset/hand<",
        ">/bodyset/hnad<",
        "there is no frame '/bodyset/hnad'",
    ),
    "no frame": (
        "joints",
        "<socket_child_frame>/bodyset/hand</socket_child_frame>",
        "",
        "names no frame",
    ),
    "frame on itself": (
        "joints",
        "<socket_parent>..</socket_parent>\n              <translation>0 0.1 0",
        "<socket_parent>/bodyset/cap/cap_frame</socket_parent>\n              <translation>0 0.1 0",
        "stands on itself",
    ),
    "joint class": (
        "joints",
        "PlanarJoint",
        "PlanarJiont",
        "joint 'table': the class PlanarJiont is not read; did you mean 'PlanarJoint'?",
    ),
    "ellipsoid": (
        "joints",
        "GimbalJoint",
        "EllipsoidJoint",
        "joint 'hip': the class EllipsoidJoint is not read; make it a CustomJoint",
    ),
    "moves the ground": (
        "joints",
        "<socket_child_frame>/bodyset/hand<",
        "<socket_child_frame>/ground<",
        "moves the ground",
    ),
    "joins itself": (
        "joints",
        "<socket_child_frame>/bodyset/hand<",
        "<socket_child_frame>/bodyset/arm<",
        "joins 'arm' to itself",
    ),
    "moved twice": (
        "joints",
        "<socket_child_frame>/bodyset/hand<",
        "<socket_child_frame>/bodyset/trunk<",
        "both move 'trunk'",
    ),
    "coordinate twice": ("joints", '"hip_y"', '"hip_x"', "has two coordinates 'hip_x'"),
    "coordinate elsewhere": ("joints", '"ankle_x"', '"hip_x"', "second coordinate 'hip_x'"),
    "surplus coordinate": (
        "joints",
        '<Coordinate name="raise">',
        '<Coordinate name="more"/><Coordinate name="raise">',
        "has 1 coordinates, got 2",
    ),
    "range back": (
        "joints",
        "<range>-1 2</range>",
        "<range>2 -1</range>",
        "is from 2 to -1; swap them",
    ),
    "locked maybe": ("joints", "<locked>true<", "<locked>maybe<", "<locked> must be true or false"),
    "no transform": (
        "joints",
        "SpatialTransform",
        "SpatialTransfrom",
        "needs a <SpatialTransform>",
    ),
    "five axes": (
        "joints",
        '<TransformAxis name="translation3">',
        '<TransformAxes name="translation3">',
        "not well-formed XML",
    ),
    "axis without direction": (
        "joints",
        "<axis>0 0 2</axis>",
        "<axis>0 0 0</axis>",
        "has no direction",
    ),
    "axis of an unknown coordinate": (
        "joints",
        "<coordinates>bend</coordinates>",
        "<coordinates>bent</coordinates>",
        "which is no coordinate of the joint; did you mean 'bend'",
    ),
    "axis of two coordinates": (
        "joints",
        "<coordinates>tilt</coordinates>",
        "<coordinates>tilt list</coordinates>",
        "depends on 2 coordinates",
    ),
    "knots back": ("joints", "<x>-1 0 1</x>", "<x>-1 1 0</x>", "must increase, got 1 before 0"),
    "values missing": ("joints", "<y>0 0.02 0.01</y>", "<y>0 0.02</y>", "as many y, got 3 and 2"),
    "function class": (
        "joints",
        "SimmSpline",
        "SimpleSpline",
        "the function <SimpleSpline> is not read",
    ),
    "coefficients": (
        "joints",
        "<coefficients>-1 0.1</coefficients>",
        "<coefficients>-1</coefficients>",
        "needs two coefficients",
    ),
    "coupled to nothing": (
        "joints",
        "<independent_coordinate_names>raise<",
        "<independent_coordinate_names>rise<",
        "there is no coordinate 'rise'",
    ),
    "coupled to itself": (
        "joints",
        "<independent_coordinate_names>raise<",
        "<independent_coordinate_names>wag_angle<",
        "couples 'wag_angle' to itself",
    ),
    "coupled to two": (
        "joints",
        "<independent_coordinate_names>raise<",
        "<independent_coordinate_names>raise bend<",
        "has 2 independent coordinates",
    ),
    "marker on nothing": (
        "joints",
        "<socket_parent_frame>/bodyset/shin</socket_parent_frame>\n          <location>",
        "<socket_parent_frame>/bodyset/shn</socket_parent_frame>\n          <location>",
        "there is no frame '/bodyset/shn'",
    ),
    "parent of a joint": (
        "before_version_4",
        "<parent_body>thigh<",
        "<parent_body>thight<",
        "did you mean 'thigh'",
    ),
    "reversed joint": (
        "before_version_4",
        "<reverse>false<",
        "<reverse>true<",
        "<reverse> true is not read",
    ),
    "surface": (
        "muscles",
        "<wrap_object>knee_cylinder<",
        "<wrap_object>knee_cylindre<",
        "no such surface",
    ),
    "quadrant": ("muscles", "<quadrant>-x<", "<quadrant>-w<", "unknown quadrant '-w'"),
    "radius": (
        "muscles",
        "<radius>0.04<",
        "<radius>-0.04<",
        "<radius> must be positive [m], got -0.04",
    ),
    "range of a surface": ("muscles", "<range>1 2<", "<range>2 1<", "is from point 2 to point 1"),
    "strength": (
        "muscles",
        "<max_isometric_force>800<",
        "<max_isometric_force>0<",
        "<max_isometric_force> must be positive [N], got 0",
    ),
    "point on nothing": (
        "muscles",
        '<PathPoint name="P1">\n                  <socket_parent_frame>/bodyset/pelvis<',
        '<PathPoint name="P1">\n                  <socket_parent_frame>/bodyset/pelvic<',
        "there is no frame '/bodyset/pelvic'",
    ),
    "point of a coordinate": (
        "muscles",
        "<socket_coordinate>/jointset/knee/knee_angle<",
        "<socket_coordinate>/jointset/knee/knee_angel<",
        "there is no coordinate 'knee_angel'",
    ),
    "damping": (
        "muscles",
        "<fiber_damping>0<",
        "<fiber_damping>-1<",
        "<fiber_damping> must not be negative [1], got -1",
    ),
    "range of a point": (
        "muscles",
        "<range>-2.5 -0.7<",
        "<range>-0.7 -2.5<",
        "<range> is from -0.7 to -2.5; swap them",
    ),
    "point without a frame": (
        "muscles",
        "<socket_parent_frame>/bodyset/shin</socket_parent_frame>\n                  <location>-0.02",
        "<location>-0.02",
        "names no frame; give the path of one",
    ),
    "muscle without a name": (
        "muscles",
        '<Thelen2003Muscle name="extensor">',
        "<Thelen2003Muscle>",
        "needs the attribute 'name'",
    ),
    "transition": (
        "muscles",
        "<transition>15<",
        "<transition>0<",
        "<transition> must be positive [°], got 0",
    ),
    "limit of an unknown coordinate": (
        "muscles",
        "<coordinate>slide<",
        "<coordinate>slid<",
        "there is no coordinate 'slid'; did you mean 'slide'?",
    ),
    "limits back": ("muscles", "<upper_limit>-20<", "<upper_limit>-80<", "swap them"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.filterwarnings("ignore::pysim.PysimWarning")
def test_a_mistake_is_reported_with_its_place(tmp_path, fault):
    name, old, new, message = FAULTS[fault]
    text = (DATA / f"{name}.osim").read_text("utf-8")
    assert old in text
    count = -1 if old in EVERYWHERE else 1
    file = tmp_path / "model.osim"
    file.write_text(text.replace(old, new, count), "utf-8")
    with pytest.raises(PysimError) as caught:
        read_model(file)
    error = str(caught.value)
    assert message in error
    assert re.search(r"model\.osim:\d+:\d+: ", error)  # the place
    assert re.search(r"; \w", error)  # the remedy


@pytest.mark.parametrize(
    ("tag", "value", "message"),
    [
        ("pennation_angle_at_optimal", "1.5", "pennation_angle: must be less than 1.471 rad"),
        ("min_norm_active_fiber_length", "0.95", "active_lengths: must increase"),
        ("max_norm_active_fiber_length", "1.0", "active_lengths: must increase"),
        ("shallow_ascending_slope", "50", "shallow_slope: must be positive and less than 5, got"),
    ],
)
def test_a_curve_that_cannot_be_is_reported_with_the_place_of_its_muscle(
    tmp_path, tag, value, message
):
    text = (DATA / "muscles.osim").read_text("utf-8")
    start = text.index('name="rigid"')
    at = text.index(f"<{tag}>", start)
    end = text.index("</", at)
    file = tmp_path / "model.osim"
    file.write_text(f"{text[:at]}<{tag}>{value}{text[end:]}", "utf-8")
    with pytest.raises(PysimError) as caught:
        pysim.load_scene(file)
    assert str(caught.value).startswith(message)
    assert re.search(r"; correct|; change", str(caught.value))
    assert re.search(r"model\.osim:\d+:\d+: force 'rigid'", str(caught.value))


UNREAD = {
    "Schutte": (
        "Thelen2003Muscle",
        "Schutte1993Muscle_Deprecated",
        "muscle 'hamstring' is left out",
    ),
    "rigid Thelen": (
        "<FmaxTendonStrain>",
        "<ignore_tendon_compliance>true</ignore_tendon_compliance><FmaxTendonStrain>",
        "its tendon is rigid",
    ),
    "surface": (
        "WrapCylinder",
        "WrapDoubleCylinderObst",
        "a WrapDoubleCylinderObst is not read",
    ),
    "contact": ("PathSpring", "HuntCrossleyForce", "a HuntCrossleyForce is not read"),
    "activation": (
        "<fiber_damping>",
        "<ignore_activation_dynamics>true</ignore_activation_dynamics><fiber_damping>",
        "its activation follows the excitation at once",
    ),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_an_unread_part_is_a_warning_with_its_name_and_an_error_if_strict(tmp_path, kind):
    old, new, message = UNREAD[kind]
    text = (DATA / "muscles.osim").read_text("utf-8")
    file = tmp_path / "model.osim"
    file.write_text(text.replace(old, new), "utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = pysim.load_model(file)
    assert any(message in str(w.message) for w in caught)
    assert any(message in line for line in model.spec.omitted)
    with pytest.raises(PysimError):
        pysim.load_model(file, strict=True)
