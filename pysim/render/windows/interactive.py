"""Interactive window: an orbiting camera, controls, keys, and one drawing for all that has happened meanwhile.

    left drag    orbit            right drag, wheel    zoom         middle drag, shift + left drag    move
    1 3 7 5      front, right, top, corner             r            the whole motion
    o            parallel or perspective               q  Escape    close
    h            the keys

VTK's own interaction, its keys included, is switched off. Events change the state; the timer draws at most once a tick,
so that a slow drawing never lags behind the mouse.
"""

from __future__ import annotations

import os
import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from pysim.errors import PysimError
from pysim.render.overlay import SQUARE, Outline, Text
from pysim.render.window import has_display, quiet_vtk

if TYPE_CHECKING:
    from collections.abc import Callable

    from pysim.render.player import Player
    from pysim.render.pyvista_types import Plotter
    from pysim.render.windows.controls import Control

TICK = 15  # [ms] between two looks at the clock
TURN = np.pi  # [rad] of orbit for a drag across the window's height
WHEEL = 1.15  # zoom of one notch
CLICK = 4.0  # [pixel] that a click may move
SMOOTH = 4  # samples of a pixel
SLOW_DRAWING = 0.03  # [s] of one drawing, above which moving pictures are drawn with one sample
REMEDY = "make a picture with pysim still, or a movie with pysim movie, which need none"
REST = 0.4  # [s] without a change after which the picture is drawn with all samples
MARGIN = 28.0  # [pixel]
LINE = 16.0  # [pixel] height of a line of the keys' description
BUTTONS = {"Left": "turn", "Middle": "pan", "Right": "zoom"}


class HelpBox:
    """Description of the keys, which can be shown in the middle of the left side."""

    def __init__(self, plotter: Plotter, text: str) -> None:
        self._text, self._is_shown = text, False
        self._lines = text.count("\n") + 1
        self._back = Outline(plotter, SQUARE, color="#ffffff", opacity=0.75)
        self._back.show(visible=False)
        self._letters = Text(plotter)

    def toggle(self) -> None:
        """Show it, or hide it."""
        self._is_shown = not self._is_shown
        self._back.show(visible=self._is_shown)
        self._letters.write(self._text if self._is_shown else "")

    def place(self, _width: float, height: float) -> None:
        """Put it into a window of this size [pixel]."""
        bottom = 0.5 * (height - self._lines * LINE)
        self._back.place(MARGIN - 12, bottom - 14, 580, self._lines * LINE + 28)
        self._letters.place(MARGIN, bottom, 15)


class InteractiveWindow:
    """Plotter whose events move the camera, the controls, and what a subclass adds to `keys`."""

    help = ""  # description of the keys, a line for each kind

    def __init__(self, plotter: Plotter, player: Player) -> None:
        self.plotter, self.player = plotter, player
        self._help = HelpBox(plotter, self.help)
        self.controls: list[Control] = []
        self.closed = False
        self._pressed: Control | None = None
        self._dragging = ""
        self._last = self._first = (0.0, 0.0)
        self._changed = True
        self._slow, self._fine, self._rested = False, False, 0.0
        self.keys: dict[str, Callable[[], object]] = {
            "1": lambda: self._look_from("front"),
            "3": lambda: self._look_from("right"),
            "7": lambda: self._look_from("top"),
            "5": lambda: self._look_from("corner"),
            "o": self._toggle_parallel,
            "r": self.player.reset_camera,
            "h": self._help.toggle,
            "q": self.close,
            "Escape": self.close,
        }

    def press(self, button: str, x: float, y: float, *, shift: bool = False) -> None:
        """Handle a press of the "Left", "Middle" or "Right" button at a pixel."""
        self._last = self._first = (x, y)
        if button == "Left":
            self._pressed = next((c for c in self.controls if c.contains(x, y)), None)
        if self._pressed is not None:
            self._pressed.press(x, y)
            self._changed = True
            return
        self._dragging = "pan" if shift else BUTTONS[button]

    def move(self, x: float, y: float) -> None:
        """Handle a motion of the mouse to a pixel."""
        dx, dy = x - self._last[0], y - self._last[1]
        self._last = (x, y)
        if self._pressed is not None:
            self._pressed.drag(x, y)
        elif self._dragging:
            self._drag(dx, dy)
        else:
            return
        self._changed = True

    def release(self) -> None:
        """Handle a release; without a motion since the press it was a click."""
        still = np.hypot(*np.subtract(self._last, self._first)) <= CLICK
        if self._pressed is not None:
            self._pressed.release()
        elif self._dragging == "turn" and still:
            self.click(*self._last)
        self._pressed, self._dragging, self._changed = None, "", True

    def wheel(self, notches: float) -> None:
        """Zoom in by notches of the wheel."""
        self.player.orbit.zoom(WHEEL**notches)
        self.player.aim()
        self._changed = True

    def key(self, name: str) -> None:
        """Handle a key, which is given with its name in X11; others do nothing."""
        action = self.keys.get(name) or self.keys.get(name.removeprefix("KP_").lower())
        if action is not None:
            action()
            self._changed = True

    def click(self, x: float, y: float) -> None:
        """Handle a click beside the controls."""

    def layout(self, width: int, height: int) -> None:
        """Place captions and controls in a window of this size [pixel]."""
        self._help.place(width, height)

    def resize(self) -> None:
        """Place everything anew in the window's present size."""
        self.layout(*self.plotter.render_window.GetSize())
        self._changed = True

    def advance(self, seconds: float) -> None:
        """Pass `seconds` of wall time."""

    def changed(self) -> None:
        """Request a new picture at the next tick."""
        self._changed = True

    def draw(self, elapsed: float = 0.0) -> None:
        """Draw if anything has changed; if drawing is slow, coarsely at first, and finely after a rest."""
        if self._changed:
            self._changed, self._rested = False, 0.0
            if self._slow:
                self._set_fine(fine=False)
            self.player.draw()
        elif self._slow and not self._fine:
            self._rested += elapsed
            if self._rested > REST:
                self._set_fine(fine=True)
                self.player.draw()

    def _draws_slowly(self) -> bool:
        """Draw, and return whether it took too long for a moving picture."""
        first = clock.monotonic()
        self.player.draw()
        self.plotter.render_window.WaitForCompletion()
        self._changed = False
        return clock.monotonic() - first > SLOW_DRAWING

    def _set_fine(self, *, fine: bool) -> None:
        if fine is not self._fine:
            self._fine = fine
            self.player.set_detail(fine=fine)
            self.plotter.render_window.SetMultiSamples(SMOOTH if fine else 0)

    def close(self) -> None:
        """End `run`."""
        self.closed = True

    def run(self, title: str) -> None:
        """Open the window and handle its events until it is closed."""
        window, interactor = self.plotter.render_window, self.plotter.iren.interactor
        if "EGL" in window.GetClassName() or "OSMesa" in window.GetClassName():
            problem = f"cannot reach the display {os.environ.get('DISPLAY', '')!r}"
            raise PysimError("view", f"{problem}; {REMEDY}")
        self._observe(interactor)
        window.SetWindowName(title)
        with quiet_vtk():
            interactor.Initialize()
            window.Render()
        self.resize()
        failed: list[BaseException] = []
        self._slow = self._draws_slowly()
        if not self._slow:
            self._set_fine(fine=True)
            self._slow = self._draws_slowly()
        last = clock.monotonic()

        def tick(*_: object) -> None:
            nonlocal last
            now = clock.monotonic()
            elapsed, last = now - last, now
            try:
                self.advance(elapsed)
                self.draw(elapsed)
            except BaseException as error:  # noqa: BLE001, VTK would print it and go on
                failed.append(error)
            if self.closed or failed:
                interactor.TerminateApp()

        interactor.AddObserver("TimerEvent", tick)
        interactor.CreateRepeatingTimer(TICK)
        interactor.Start()
        self.plotter.close()
        if failed:
            raise failed[0]

    def _observe(self, interactor: Any) -> None:  # noqa: ANN401, VTK has no types
        """Handle the interactor's events in place of VTK's own style."""
        interactor.RemoveAllObservers()
        interactor.SetInteractorStyle(None)

        def at() -> tuple[float, float]:
            x, y = interactor.GetEventPosition()
            return float(x), float(y)

        for button in BUTTONS:
            interactor.AddObserver(
                f"{button}ButtonPressEvent",
                lambda *_, button=button: self.press(
                    button, *at(), shift=bool(interactor.GetShiftKey())
                ),
            )
            interactor.AddObserver(f"{button}ButtonReleaseEvent", lambda *_: self.release())
        events: dict[str, Callable[[], object]] = {
            "MouseMoveEvent": lambda: self.move(*at()),
            "MouseWheelForwardEvent": lambda: self.wheel(1),
            "MouseWheelBackwardEvent": lambda: self.wheel(-1),
            "KeyPressEvent": lambda: self.key(interactor.GetKeySym() or ""),
            "ConfigureEvent": self.resize,
            "ExitEvent": self.close,
        }
        for event, handle in events.items():
            interactor.AddObserver(event, lambda *_, handle=handle: handle())

    def _drag(self, dx: float, dy: float) -> None:
        height = float(self.plotter.render_window.GetSize()[1])
        orbit = self.player.orbit
        if self._dragging == "turn":
            orbit.turn(-TURN * dx / height, -TURN * dy / height)
        elif self._dragging == "pan":
            orbit.pan(-dx / height, -dy / height)
        else:
            orbit.zoom(float(np.exp(3 * dy / height)))
        self.player.aim()

    def _look_from(self, preset: str) -> None:
        self.player.orbit.look_from(preset)
        self.player.aim()

    def _toggle_parallel(self) -> None:
        orbit = self.player.orbit
        orbit.parallel = not orbit.parallel
        self.player.aim()


def check_display() -> None:
    """Reject a window where there is no display."""
    if not has_display():
        raise PysimError("view", f"there is no display to open a window on; {REMEDY}")


def open_plotter(size: tuple[int, int]) -> Plotter:
    """Return a plotter with a window of its own, which appears when `InteractiveWindow.run` draws."""
    import pyvista as pv

    with quiet_vtk():
        plotter: Plotter = pv.Plotter(off_screen=False, window_size=list(size), lighting="none")
        plotter.render_window.SetMultiSamples(0)
    return plotter
