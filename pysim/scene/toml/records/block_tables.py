"""Tables of signals, sensors and controllers."""

from __future__ import annotations

from typing import Any, ClassVar

from pysim.scene.toml.records.constraint_tables import PathPoint, PointOrPose
from pysim.scene.toml.records.keys import Name, Numbers, Pose, Positive, key
from pysim.scene.toml.records.references import JointName, MountName
from pysim.scene.toml.records.schema import with_plugin_keys
from pysim.scene.toml.records.table import Table

# of all actuators with a type
ACTUATOR_KEYS = frozenset(
    {"name", "type", "command", "joint", "coordinate", "coordinates", "path", "multiplicity"}
)


class Signal(Table, json_schema_extra=with_plugin_keys("type")):
    """A source of a signal."""

    name: Name = key(..., "", "the name of the signal")
    type: Name = key(..., "", "constant, step, sine, table, …, or a plugin")
    unit: str = key("1", "", "unit of the values; signals in deg, mm, rpm, … are converted to SI")
    parameters: dict[str, Any] = key({}, "", "keys of a plugin; written beside the others")


class Sensor(Table, json_schema_extra=with_plugin_keys("type")):
    """A sensor, whose outputs are signals."""

    spec_names: ClassVar = {"path": "points", "start": "first"}
    name: Name = key(..., "", "the name of the sensor")
    type: Name = key(..., "", "coordinates, pose, twist, imu, …, or a plugin")
    coordinates: list[Name] = key([], "", "joints (or joint.coordinate) that it measures")
    frame: MountName | None = key(None, "", '"world", a body or a frame that it is on')
    at: PointOrPose = key(Pose(), "m", "its point, or its frame, in that body or frame")
    relative_to: MountName = key("world", "", '"world", a body or a frame that it measures against')
    path: list[PathPoint] = key([], "", "points of a path whose length it measures")
    multiplicity: Positive = key(1.0, "", "strands of all parts of the path")
    joint: JointName | None = key(None, "", "the joint whose wrench it measures")
    element: Name | None = key(
        None, "", "the force, actuator or joint whose power or energy it measures"
    )
    others: list[MountName] = key(
        [], "", 'bodies, or "world", whose contacts it counts; those of all by default'
    )
    start: dict[str, Numbers] = key(
        {}, "", "by output: values at t = 0 of accelerations, wrenches and contacts; 0 by default"
    )
    inputs: list[Name] = key([], "", "signals that it reads, in the order of its inputs")
    period: Positive | None = key(None, "s", "of a sampled sensor, whose outputs are held")
    parameters: dict[str, Any] = key({}, "", "keys of a plugin; written beside the others")


class Controller(Table, json_schema_extra=with_plugin_keys("type")):
    """A controller: continuous, or sampled at the multiples of its period."""

    name: Name = key(..., "", "the name of the controller")
    type: Name = key(..., "", "pd, pid, …, or a plugin")
    inputs: list[Name] = key([], "", "signals that it reads, in the order of its inputs")
    period: Positive | None = key(None, "s", "of a sampled controller, whose outputs are held")
    parameters: dict[str, Any] = key({}, "", "keys of a plugin; written beside the others")
