"""Picture of everything that rests, kept with its depths, over which a moving picture draws the rest.

Without a GPU the background, the ground and the world's own shapes take as long as the bodies. While the camera rests
they are drawn once, into a framebuffer of their own, and copied from there into every picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from pysim.render.pyvista_types import Actor, Plotter

READ, DRAW = 0x8CA8, 0x8CA9  # GL_READ_FRAMEBUFFER, GL_DRAW_FRAMEBUFFER
COLOR, DEPTH = 0x4000, 0x0100  # GL_COLOR_BUFFER_BIT, GL_DEPTH_BUFFER_BIT
SCISSOR = 0x0C11  # GL_SCISSOR_TEST
NEAREST = 0x2600  # GL_NEAREST
UNSIGNED_CHAR = 3  # VTK_UNSIGNED_CHAR
DEPTH_BITS = 32  # as in vtkOpenGLRenderWindow: depths are copied between equal formats alone


class StaticLayer:
    """Draws a plotter's window; `resting` are the actors that move with no body."""

    def __init__(self, plotter: Plotter, resting: Sequence[Actor]) -> None:
        self._plotter, self._resting = plotter, resting
        self._resting_addresses = {actor.GetAddressAsString("") for actor in resting}
        self._key: Hashable = None
        self._seen: Hashable = None
        self._store: Any = None

    def draw(self) -> None:
        """Draw the window; from the second picture on with the same camera, only what moves."""
        window = self._plotter.render_window
        key = self._present()
        if key != self._seen or window.GetNeverRendered() or window.GetMultiSamples():
            self._seen = key  # the camera moves
            window.Render()
            return
        if key != self._key:
            swaps = window.GetSwapBuffers()
            window.SetSwapBuffers(False)  # a window does not show it
            try:
                _render_without(window, self._moving())
            finally:
                window.SetSwapBuffers(swaps)
            self._keep()
            self._key = key
        self._copy(self._store, window.GetRenderFramebuffer())
        renderers = list(window.GetRenderers())
        for renderer in renderers:
            renderer.SetPreserveColorBuffer(True)
            renderer.SetPreserveDepthBuffer(True)
        try:
            _render_without(window, self._resting)
        finally:
            for renderer in renderers:
                renderer.SetPreserveColorBuffer(False)
                renderer.SetPreserveDepthBuffer(False)

    def _moving(self) -> list[Actor]:
        return [
            prop
            for renderer in self._plotter.render_window.GetRenderers()
            for prop in renderer.GetViewProps()
            if prop.GetAddressAsString("") not in self._resting_addresses
        ]

    def _present(self) -> Hashable:
        """Return all that the picture of the resting actors depends on."""
        window = self._plotter.render_window
        views = [
            tuple(camera.GetCompositeProjectionTransformMatrix(1.0, -1.0, 1.0).GetData())
            for camera in (renderer.GetActiveCamera() for renderer in window.GetRenderers())
        ]
        shown = [
            (id(actor), actor.GetProperty().GetMTime(), actor.GetMapper().GetMTime())
            for actor in self._resting
            if actor.GetVisibility()
        ]
        return (tuple(window.GetSize()), tuple(views), tuple(shown))

    def _keep(self) -> None:
        """Copy the window's framebuffer into the store."""
        from vtkmodules.vtkRenderingOpenGL2 import (  # noqa: PLC0415, heavy
            vtkOpenGLFramebufferObject,
        )

        window = self._plotter.render_window
        width, height = window.GetSize()
        if self._store is None:
            self._store = vtkOpenGLFramebufferObject()
            self._store.SetContext(window)
        state = window.GetState()
        state.PushFramebufferBindings()
        self._store.PopulateFramebuffer(
            width,
            height,
            True,
            1,
            UNSIGNED_CHAR,
            True,
            DEPTH_BITS,
            0,
            bool(window.GetStencilCapable()),
        )
        state.PopFramebufferBindings()
        self._copy(window.GetRenderFramebuffer(), self._store)

    def _copy(self, source: Any, target: Any) -> None:  # noqa: ANN401, VTK has no types
        window = self._plotter.render_window
        width, height = window.GetSize()
        state, whole = window.GetState(), (0, width, 0, height)
        # A copy is limited to the scissor's rectangle, which is that of the last renderer: of plots, or of a view.
        scissor = state.GetEnumState(SCISSOR)
        state.SetEnumState(SCISSOR, False)
        state.PushFramebufferBindings()
        source.Bind(READ)
        source.ActivateReadBuffer(0)
        target.Bind(DRAW)
        target.ActivateDrawBuffer(0)
        target.Blit(whole, whole, COLOR | DEPTH, NEAREST)
        state.PopFramebufferBindings()
        state.SetEnumState(SCISSOR, scissor)


def _render_without(window: Any, actors: Sequence[Actor]) -> None:  # noqa: ANN401, VTK has no types
    """Draw a window without some of its actors."""
    hidden = [actor for actor in actors if actor.GetVisibility()]
    for actor in hidden:
        actor.SetVisibility(False)
    try:
        window.Render()
    finally:
        for actor in hidden:
            actor.SetVisibility(True)
