"""List of the elements of a URDF file that have no effect on its mechanism: sensors and extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pysim.scene.import_omissions import Omissions
    from pysim.scene.urdf.xml import Element

_REASONS = {
    "gazebo": "is read for its friction alone: an extension for Gazebo",
    "sensor": "is not read: a sensor for other programs",
    "safety_controller": "is not read: a controller for other programs",
    "calibration": "is not read: a reference position of an encoder",
    "contact": "is read for its friction alone: contact parameters of Bullet",
}


def list_extensions(robot: Element, omissions: Omissions) -> None:
    """List the known extensions of a robot and of its links and joints."""
    for element in robot.children:
        inside = element.children if element.tag in {"link", "joint"} else [element]
        for child in inside:
            if child.tag in _REASONS:
                name = child.attributes.get("name") or child.attributes.get("reference")
                item = f"<{child.tag}>" + (f" {name!r}" if name else "")
                if child is not element:
                    item = f"{element.owner}: {item}"
                omissions.note("extensions", item, child.where, _REASONS[child.tag])
