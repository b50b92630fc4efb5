"""Names for PyVista's objects, whose own types refuse half of what its functions take and give."""

from __future__ import annotations

from typing import Any, TypeAlias

Plotter: TypeAlias = Any  # pyvista.Plotter
Mesh: TypeAlias = Any  # pyvista.PolyData
Actor: TypeAlias = Any  # pyvista.Actor
