"""Numbers of the mechanism that programs of elements have as constants: gravity, inertias and forces of joints.

An IMU reads gravity, a sensor of the wrench at a fixed joint the inertia of the part beyond it, and a sensor of power
the damping of a joint. In these programs the numbers are open, as fields of elements are.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pysim.elements.graph_types import GRAVITY, forces_of, theta_of
from pysim.inertia.parameters import moved
from pysim.mechanism.element_places import ElementPlaces
from pysim.mechanism.model_numbers import PASSIVE
from pysim.mechanism.passive_elements import numbers_of_forces
from pysim.typing import Array
from pysim.worlds.parameters.element_fields import OF_MECHANISM
from pysim.worlds.parameters.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from pysim.worlds.loading import Scene


class ReadNumbers:
    """Numbers of a scene that programs of its elements have as constants.

    Args:
        scene: of all worlds.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def of(self, parameter: Parameter) -> list[Parameter]:
        """Return the numbers of programs that follow from a parameter: a field of an element is one itself."""
        if parameter.kind == "element":
            return [parameter]
        if parameter.kind == "gravity":
            return [own for own in self._of_mechanism if own.name == GRAVITY]
        if parameter.kind == "body":
            name = self._scene.spec.model.bodies[parameter.part].name
            parts = [own for own in self._of_mechanism if isinstance(own.part, tuple)]
            return [own for own in parts if name in dict(own.part)]
        joints: Sequence[str] = ()
        if parameter.kind == "joint" and parameter.field != "armature":
            joints = [self._scene.model.joints[parameter.part].name]
        elif parameter.kind == "rod":
            joints = self._scene.spec.model.rods[parameter.part].hinges
        names = set(map(forces_of, joints))
        return [own for own in self._of_mechanism if own.name in names]

    @cached_property
    def _of_mechanism(self) -> list[Parameter]:
        """Those of the mechanism; their `part` is a joint's number, or the links of the part at a fixed joint."""
        scene, found = self._scene, []
        reads = frozenset[str]() if scene.signals is None else scene.signals.reads

        def add(name: str, part: object, start: ArrayLike) -> None:
            row = np.array(start, float)
            found.append(Parameter(name, OF_MECHANISM, part, "", row, is_list=True))

        if not reads:
            return []
        if GRAVITY in reads:
            add(GRAVITY, None, scene.model.gravity)
        places = ElementPlaces(scene.model, scene.spec)
        for block in scene.spec.blocks:
            name = theta_of(block.name)
            if name in reads and (part := places.part(block)) is not None:
                add(name, part.links, part.theta)
        for k, joint in enumerate(scene.model.joints):
            if forces_of(joint.name) in reads:
                add(forces_of(joint.name), k, numbers_of_forces(joint))
        return found

    def values(
        self,
        wanted: Sequence[Parameter],
        gravity: Array | None,
        theta: Mapping[int, Array],
        forces: Mapping[tuple[int, str], Array],
        count: int,
    ) -> dict[str, Array]:
        """Return the values (k, size) of numbers of the mechanism, by name.

        Args:
            wanted: the numbers.
            gravity: of worlds (k, 3) [m/s²]; None if it is the scene's.
            theta: θ (k, 10) of bodies of the specification that differ.
            forces: numbers (k, n) of passive forces of joints that differ, by joint and field.
            count: k.
        """
        found: dict[str, Array] = {}
        for own in wanted:
            if own.part is None:
                found[own.name] = _repeated(own.start, count) if gravity is None else gravity
            elif isinstance(own.part, tuple):
                found[own.name] = self._inertia(own.part, theta, count)
            else:
                found[own.name] = self._forces(own, forces, count)
        return found

    def _inertia(
        self, links: tuple[tuple[str, Array], ...], theta: Mapping[int, Array], count: int
    ) -> Array:
        """Return θ (k, 10) of the part at a fixed joint, in the order of sums in which it is compiled."""
        bodies = self._scene.spec.model.bodies
        number = {body.name: k for k, body in enumerate(bodies)}
        total: Array = np.zeros((count, 10))
        for name, pose in links:
            k = number[name]
            own = theta.get(k, _repeated(bodies[k].theta, count))
            total = total + moved(own, pose[:3].T.reshape(1, 12))
        return total

    def _forces(self, own: Parameter, forces: Mapping[tuple[int, str], Array], count: int) -> Array:
        """Return the numbers (k, size) of the passive forces of a joint, in the order of `numbers_of_forces`."""
        joint = self._scene.model.joints[own.part]
        rows = [
            forces.get((own.part, field), _repeated(getattr(joint, field), count))
            for field in (*PASSIVE, "rest")
        ]
        return np.concatenate(rows, axis=1)


def _repeated(row: Array, count: int) -> Array:
    return np.tile(row, (count, 1))
