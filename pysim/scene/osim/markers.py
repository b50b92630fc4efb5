"""Markers of an OpenSim model as frames of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pysim.scene.osim.frames import socket
from pysim.scene.osim.values import members, name_of, numbers, text
from pysim.scene.spec import FrameSpec

if TYPE_CHECKING:
    from pysim.scene.osim.frames import Frames
    from pysim.scene.urdf.xml import Element


def read_markers(model: Element, frames: Frames, taken: set[str]) -> list[FrameSpec]:
    """Return the markers; one named like a body or another marker gets a number."""
    specs, names = [], set(taken)
    for element in members(model, "MarkerSet"):
        name = name_of(element)
        reference = socket(element, "parent_frame") or text(element, "body")
        body, X = frames.place(reference, f"/markerset/{name}", element)
        at = np.eye(4)
        at[:3, 3] = numbers(element, "location", 3, (0.0, 0.0, 0.0))
        label, count = name, 1
        while label in names:
            count += 1
            label = f"{name}_{count}"
        names.add(label)
        specs.append(FrameSpec(label, body, X @ at, element.where))
    return specs
