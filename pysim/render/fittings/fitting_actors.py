"""Fittings: actors of springs, dampers, rods, ropes, pins, guides and supports, placed by a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.render.fittings import fitting_shapes as shapes
from pysim.render.fittings.fitting_plan import placed
from pysim.render.fittings.rope_path import count_places, gaps, rope_places
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pysim.render.fittings.fitting_plan import Fixed, Line, Plan
    from pysim.render.pyvista_types import Mesh, Plotter


class Fittings:
    """Actors of a plan."""

    def __init__(self, plotter: Plotter, plan: Plan) -> None:
        self._fixed = [(part, _fixed_actor(plotter, part)) for part in plan.fixed]
        self._lines = [_LineActors(plotter, line) for line in plan.lines]

    @property
    def actors(self) -> list[Any]:
        """Everything that can be hidden."""
        return [actor for _, actor in self._fixed] + [
            actor for line in self._lines for actor in line.actors
        ]

    @property
    def resting(self) -> list[Any]:
        """Parts of the world."""
        return [actor for part, actor in self._fixed if part.body < 0]

    def show(self, matrices: Array, values: Mapping[str, float]) -> None:
        """Move everything to the bodies at the poses (nbodies + 1, 4, 4).

        `values` are recorded tensions [N], which colour the lines, and the coordinates of conditional and
        moving points.
        """
        for part, actor in self._fixed:
            actor.user_matrix = matrices[part.body] @ part.pose
        for line in self._lines:
            line.show(matrices, values)


def _fixed_actor(plotter: Plotter, part: Fixed) -> Any:  # noqa: ANN401, VTK has no types
    make: dict[str, Callable[..., Mesh]] = {
        "pin": shapes.pin,
        "ball": shapes.ball,
        "plate": shapes.plate,
        "pedestal": shapes.pedestal,
        "pulley": shapes.pulley,
    }
    return shapes.add(plotter, make[part.kind](*part.sizes), part.color)


NOTHING = np.array([0.0, 0.0, 1e-9])  # [m], in place of a strand that is not there


class _LineActors:
    """Actors along the points of a line."""

    def __init__(self, plotter: Plotter, line: Line) -> None:
        self.line = line
        count = count_places(line.points) - 1
        if line.kind == "coil":
            self.actors = [shapes.add(plotter, shapes.coil(line.length, line.radius))]
        elif line.kind == "damper":
            self.actors = [
                shapes.add(plotter, shapes.rod(line.radius), shapes.DARK),
                shapes.add(plotter, shapes.rod(0.45 * line.radius), "#aeb7c0"),
            ]
        else:
            self.actors = [shapes.add(plotter, shapes.rod(line.radius)) for _ in range(count)]
            starts = [count_places(line.points[:k]) for k in range(len(line.points))]
            pairs = zip(starts, line.points, strict=True)
            self._ends = [start for start, point in pairs if not point.is_obstacle]
            self._joints = [shapes.add(plotter, shapes.ball(self._end())) for _ in self._ends]
            self.actors += self._joints

    def _end(self) -> float:
        return self.line.radius * (1.9 if self.line.kind == "rod" else 1.0)

    def show(self, matrices: Array, values: Mapping[str, float]) -> None:
        line, tension = self.line, values.get(self.line.name)
        places, total = rope_places(line.points, matrices, values)
        if line.kind == "damper":
            whole = places[1] - places[0]
            length = max(float(np.linalg.norm(whole)), 1e-9)
            end = places[0] + whole * min(0.55 * line.length / length, 0.9)
            self.actors[0].user_matrix = shapes.between(places[0], end)
            self.actors[1].user_matrix = shapes.between(places[0], places[1])
            return
        missing = gaps(line.points)
        for k, (actor, first, last) in enumerate(
            zip(self.actors, places, places[1:], strict=False)
        ):
            actor.user_matrix = shapes.between(first, first + NOTHING if k in missing else last)
        if line.kind in {"rod", "rope"}:
            for ball, k in zip(self._joints, self._ends, strict=True):
                ball.user_matrix = placed(places[k])
        if line.strongest > 0:
            if tension is None:
                tension = line.stiffness * (total - line.rest)
            load = tension / line.strongest
            color = shapes.of_load(max(load, 0.0) if line.slack else load)
            for actor in self.actors:
                actor.prop.color = color
