"""Type names for PyVista's objects, whose annotations are too narrow for their actual use."""

from __future__ import annotations

from typing import Any, TypeAlias

Plotter: TypeAlias = Any  # pyvista.Plotter
Mesh: TypeAlias = Any  # pyvista.PolyData
Actor: TypeAlias = Any  # pyvista.Actor
