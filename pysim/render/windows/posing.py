"""Interactive view of a mechanism before any run: a slider for every coordinate, with its limits.

    wheel over the sliders   scroll       0   start       n   neutral       p   print the configuration

Loops and couplings stay closed: the dragged joint is held, the others follow; where they cannot, the pose stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.algorithms import forward_kinematics
from pysim.errors import ModelError
from pysim.loops.assembly import assemble
from pysim.mechanism.compile import start_state
from pysim.render.meshes import OF_WINDOWS
from pysim.render.options import OF_PICTURES, render_options
from pysim.render.overlay import SQUARE, Outline, Text
from pysim.render.player import Player
from pysim.render.windows.controls import Slider
from pysim.render.windows.interactive import InteractiveWindow, check_display, open_plotter
from pysim.trajectory.from_states import trajectory_of_states
from pysim.typing import Array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pysim.mechanism.model import Model, State
    from pysim.render.options import RenderOptions
    from pysim.render.pyvista_types import Plotter
    from pysim.scene.spec import BlockSpec

PANEL = 330.0  # [pixel] width of the sliders
ROW = 36.0  # [pixel] height of a slider's row
EDGE_WIDTH = 14.0  # [pixel]
LETTERS = 15.0  # [pixel]
ZOOM = 0.8  # leaves room for other configurations
UNLIMITED = {"m": 1.0, "rad": np.pi}  # range either way of a coordinate without limits


@dataclass(frozen=True)
class Coordinate:
    """Coordinate of the tangent space at the start, and the range of its slider."""

    name: str
    joint: str
    unit: str
    index: int  # of v
    start: float  # at the start, 0 for rotations of a ball or a free joint
    ends: tuple[float, float]
    limited: bool


def coordinates_of(model: Model, start: Array) -> list[Coordinate]:
    """Return the coordinates of a model: those of q where these are real numbers, else displacements from the start."""
    coordinates = []
    for joint, at_q, at_v, nq, nv in zip(
        model.joints, model.q_offsets, model.v_offsets, model.joint_nq, model.joint_nv, strict=True
    ):
        for k in range(nv):
            unit = model.velocity_units[at_v + k].removesuffix("/s")
            first = float(start[at_q + k]) if nq == nv else 0.0
            reach = UNLIMITED.get(unit, 1.0)
            low, high = float(joint.lower[k]), float(joint.upper[k])
            limited = bool(np.isfinite([low, high]).all()) and nq == nv
            if not np.isfinite(low) or nq != nv:
                low = min(first, high if np.isfinite(high) and nq == nv else first) - reach
            if not np.isfinite(high) or nq != nv:
                high = max(first, low) + reach
            ends = (min(low, first), max(high, first))
            name = model.velocity_names[at_v + k]
            coordinates.append(Coordinate(name, joint.name, unit, at_v + k, first, ends, limited))
    return coordinates


class Poser(InteractiveWindow):
    """Mechanism whose coordinates are moved by sliders."""

    help = """drag a slider  move a coordinate     wheel over the sliders  scroll
0  start     n  neutral     p  print the configuration
1 3 7 5  front, right, top, corner     o  parallel     r  all of it
h  hide this     Escape  close"""

    def __init__(
        self,
        plotter: Plotter,
        model: Model,
        options: RenderOptions,
        start: State | None = None,
        blocks: Sequence[BlockSpec] = (),
    ) -> None:
        self.model = model
        self.start = start_state(model) if start is None else start
        first = trajectory_of_states(model, [0.0], self.start.q[None], blocks=blocks)
        super().__init__(plotter, Player(plotter, first, options, left_out=OF_WINDOWS))
        self.q, self._loop_q = self.start.q.copy(), self.start.loop_q.copy()
        self.coordinates = coordinates_of(model, self.start.q)
        self.values = np.zeros(model.nv)  # displacement from the start
        self._scrolled = 0
        self._back = Outline(plotter, SQUARE, color="#ffffff", opacity=0.6)
        self.rows = [_Row(plotter, c, self._set) for c in self.coordinates]
        self.controls += [row.slider for row in self.rows]
        self.keys |= {"0": self.reset, "n": self._to_neutral, "p": self._print}
        self.layout(*plotter.window_size)
        if self.player.captions is not None:
            self.player.captions.write(_sizes(model))
        self._show()

    def set(self, name: str, value: float) -> None:
        """Move the coordinate with a name to a value [m or rad]."""
        row = next(row for row in self.rows if row.coordinate.name == name)
        self._set(row.coordinate, value)

    def reset(self) -> None:
        """Return to the start."""
        self.values[:] = 0.0
        self.q, self._loop_q = self.start.q.copy(), self.start.loop_q.copy()
        self._show()

    def wheel(self, notches: float) -> None:
        if self._last[0] > self.plotter.render_window.GetSize()[0] - PANEL:
            self._scrolled -= int(notches)
            self.resize()
        else:
            super().wheel(notches)

    def layout(self, width: int, height: int) -> None:
        super().layout(width, height)
        fitting = max(1, int((height - 2 * EDGE_WIDTH) // ROW))
        self._scrolled = int(np.clip(self._scrolled, 0, max(0, len(self.rows) - fitting)))
        left = width - PANEL
        shown = min(fitting, len(self.rows))
        self._back.place(
            left, height - 2 * EDGE_WIDTH - shown * ROW, PANEL, shown * ROW + 2 * EDGE_WIDTH
        )
        self._back.show(visible=bool(self.rows))
        for k, row in enumerate(self.rows):
            at = k - self._scrolled
            row.place(left, height - EDGE_WIDTH - (at + 1) * ROW, visible=0 <= at < fitting)
        if self.player.captions is not None:
            room = PANEL if self.rows else 0.0
            self.player.captions.place(width - room, height)
        shift = PANEL / width if self.rows else 0.0  # the mechanism is in the middle of the rest
        self.plotter.camera.SetWindowCenter(shift, 0.0)

    def _set(self, coordinate: Coordinate, value: float) -> None:
        before = self.values.copy()
        self.values[coordinate.index] = value - coordinate.start
        q = np.asarray(self.model.integrate(self.start.q, self.values))
        if self.model.loop_names or self.model.coupling_names:
            try:
                closed = assemble(self.model, q, hold=(coordinate.joint,), loop_q=self._loop_q)
            except ModelError:
                self.values = before  # it does not close there
                self._show()
                return
            q, self._loop_q = closed.q, closed.loop_q
            self.values = np.asarray(self.model.difference(self.start.q, q))
        self.q = q
        self._show()

    def _show(self) -> None:
        for row in self.rows:
            row.show(row.coordinate.start + float(self.values[row.coordinate.index]))
        poses = np.asarray(forward_kinematics(self.model, self.q))
        self.player.values = self.player.coordinates(self.q)
        self.player.pose(np.concatenate([poses, np.eye(4)[None]]))
        self.changed()

    def _to_neutral(self) -> None:
        self.q = self.model.neutral()
        self.values = np.asarray(self.model.difference(self.start.q, self.q))
        self._show()

    def _print(self) -> None:
        print("q =", np.array2string(self.q, precision=6, separator=", "))  # noqa: T201, on purpose


class _Row:
    """Name, slider and value of one coordinate."""

    def __init__(self, plotter: Plotter, coordinate: Coordinate, change: Any) -> None:  # noqa: ANN401
        self.coordinate = coordinate
        self._name, self._value = Text(plotter), Text(plotter, align="right")
        self._low, self._high = Text(plotter), Text(plotter, align="right")
        for text, end in zip((self._low, self._high), coordinate.ends, strict=True):
            text.opacity(0.6)
            text.write(_shown(end, coordinate.unit) if coordinate.limited else "")
        name = coordinate.name
        self._name.write(name if len(name) <= 24 else name[:11] + "…" + name[-12:])
        self.slider = Slider(
            plotter, coordinate.ends, coordinate.start, lambda value: change(coordinate, value)
        )

    def place(self, left: float, bottom: float, *, visible: bool) -> None:
        """Put it into a row of the panel."""
        right = left + PANEL
        self._name.place(left + EDGE_WIDTH, bottom + 15, LETTERS)
        self._value.place(right - EDGE_WIDTH, bottom + 15, LETTERS)
        self._low.place(left + EDGE_WIDTH, bottom, 11)
        self._high.place(right - EDGE_WIDTH, bottom, 11)
        self.slider.place(left + EDGE_WIDTH + 44, right - EDGE_WIDTH - 44, bottom + 5, 6)
        for part in (self._name, self._value, self._low, self._high, self.slider):
            part.show(visible=visible)

    def show(self, value: float) -> None:
        """Show a value [m or rad]."""
        self.slider.set(value)
        self._value.write(_shown(value, self.coordinate.unit))


def _shown(value: float, unit: str) -> str:
    """Return a value with its unit; angles in degrees."""
    if unit == "rad":
        return f"{np.degrees(value):.1f}°"
    return f"{value:.3f} {unit}" if unit not in {"", "1"} else f"{value:.3f}"


def _sizes(model: Model) -> str:
    return f"{model.nbodies} bodies   nq {model.nq}   nv {model.nv}   {model.total_mass:.4g} kg"


def pose(
    model: Model,
    start: State | None = None,
    render: Mapping[str, Any] | None = None,
    blocks: Sequence[BlockSpec] = (),
    **options: Any,  # noqa: ANN401, see RenderOptions
) -> None:
    """Open a window in which sliders pose a model; options are those of `RenderOptions`, actuators are in `blocks`."""
    check_display()

    first = trajectory_of_states(model, [0.0], model.neutral()[None], render=render)
    chosen = render_options(first, **{"zoom": ZOOM, **options, **OF_PICTURES, "plots": ()})
    plotter = open_plotter(chosen.size)
    Poser(plotter, model, chosen, start, blocks).run(f"pysim: {model.name}")
