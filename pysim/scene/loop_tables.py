"""The tables of a scene that tie its tree together: loops, and how the start is assembled."""

from __future__ import annotations

from typing import Any

from pysim.scene.keys import AnyConfiguration, Name, Pose, Positive, Table, Vector3, key


class Loop(Table):
    """A joint that closes a loop: frame A on body a and frame B on body b move as it lets them."""

    name: Name = key(..., "", "the name of the loop")
    type: Name = key(..., "", "a joint type, weld, point_on_plane, point_on_line or distance")
    a: Name = key("world", "", '"world" or a body')
    b: Name = key("world", "", '"world" or a body')
    at_a: Pose = key(Pose(), "", "frame A in body a")
    at_b: Pose = key(Pose(), "", "frame B in body b")
    axis: Vector3 | None = key(None, "", "direction in A and in B; [0, 0, 1] by default")
    pitch: float | None = key(None, "m/rad", "travel along the axis a radian, for helical joints")
    length: Positive | None = key(None, "m", "between the origins of A and B, for a distance")
    start: AnyConfiguration | None = key(None, "", "where the joint's coordinates are sought first")
    parameters: dict[str, Any] = key({}, "", "keys of a joint plugin; written beside the others")


class Assembly(Table):
    """How the start is moved so that loops close and couplings hold."""

    hold: list[Name] = key([], "", "joints (or joint.coordinate) that keep their start")
