"""Compilation of a specification's forces into the engine's elements: plugins traced once, and what they act on."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pysim._engine import ElementCoordinate, ElementDescription, ElementKind
from pysim.elements.force import Force, find_force
from pysim.elements.tracing import note_recipes, open_numbers, trace_force
from pysim.errors import JointError, ModelError, PysimError
from pysim.mechanism.path_compiler import compile_path
from pysim.plugins.fields import build
from pysim.tracing.open_numbers import open_numbers_in
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pysim.elements.tracing import TracedForce
    from pysim.mechanism.constraint_compiler import CompositeBody, Coordinates
    from pysim.mechanism.joint_description import TraceCache
    from pysim.scene.spec import ForceSpec

    Placed = Mapping[str, tuple[CompositeBody, Array]]


@dataclass
class ForceCompiler:
    """Compiler of forces into elements; it collects the names of those whose energy is not stored."""

    placed: Placed
    coordinates: Coordinates
    cache: TraceCache
    nonconservative: list[str] = field(default_factory=list)
    unstored: list[str] = field(default_factory=list)
    _count: int = 0  # of elements

    def element(self, force: ForceSpec) -> ElementDescription:
        """Return the engine's element of a force.

        Raises:
            JointError: a plugin cannot be traced; the error names the author's line.
            ModelError: a force acts within one rigid body, or on an unknown coordinate.
        """
        kind: Any = find_force(force.type)
        try:
            plugin = build(kind, force.parameters, force.where)
            traced = self._traced(plugin, force)
        except PysimError as error:
            problem = f"{error.problem} ({force.where}: force {force.name!r})"
            raise JointError(error.where, problem) from error
        note_recipes(traced, plugin, f"element {self._count}")
        self._count += 1
        if not traced.is_conservative:
            self.nonconservative.append(force.name)
        if traced.is_unstored:
            self.unstored.append(force.name)
        description = ElementDescription(
            force.name,
            ElementKind[traced.method.acts],
            traced.program,
            traced.derivative,
            traced.energy,
        )
        if traced.method.acts == "path":
            return self._along_path(description, force)
        if traced.method.acts == "coordinates":
            return self._on_coordinates(description, traced, force)
        (a, pose_a), (b, pose_b) = self.placed[force.a], self.placed[force.b]
        if a is b:
            problem = (
                f"force {force.name!r} acts between {force.a!r} and {force.b!r}, which are one rigid body; "
                "name bodies that move against each other, or remove the force"
            )
            raise ModelError(force.where, problem)
        return description.replaced(
            a=a.index, b=b.index, at_a=pose_a @ force.at_a, at_b=pose_b @ force.at_b
        )

    def _traced(self, plugin: Force, force: ForceSpec) -> TracedForce:
        numbers = open_numbers(plugin)
        given = tuple(x == 0 for x in numbers) if numbers else dict(force.parameters)
        changing = [own.number for x in force.parameters.values() for own in open_numbers_in(x)]
        key = (type(plugin), pickle.dumps((given, len(force.coordinates), changing)))
        if key not in self.cache.forces:
            self.cache.forces[key] = trace_force(plugin, len(force.coordinates))
        return self.cache.forces[key].with_numbers(numbers)

    def _along_path(self, description: ElementDescription, force: ForceSpec) -> ElementDescription:
        def place(name: str) -> tuple[int, Array]:
            body, pose = self.placed[name]
            return body.index, pose

        points = compile_path(force.path, place, self.coordinates, force.where)
        if len({point.body for point in points}) == 1 and not any(p.moves for p in force.path):
            names = " and ".join(
                repr(name) for name in dict.fromkeys(part.body for part in force.path)
            )
            problem = f"force {force.name!r} acts along a path on {names}, which are one rigid body"
            remedy = "name bodies that move against each other, or remove the force"
            raise ModelError(force.where, f"{problem}; {remedy}")
        return description.replaced(points=points)

    def _on_coordinates(
        self, description: ElementDescription, traced: TracedForce, force: ForceSpec
    ) -> ElementDescription:
        places = [self.coordinates.place(name, force.where) for name in force.coordinates]
        for k, (name, (q, _)) in enumerate(zip(force.coordinates, places, strict=True)):
            if q < 0 and k in traced.inputs:
                problem = (
                    f"force {force.name!r} depends on q[{k}], but {name!r} is a velocity whose position is not a "
                    "single number; name another coordinate"
                )
                raise ModelError(force.where, problem)
        return description.replaced(coordinates=[ElementCoordinate(q, v) for q, v in places])
