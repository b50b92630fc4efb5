"""Measured motions: OpenSim's files of motions and markers, and the motion and forces of a model that follow from them.

markers = pysim.motions.read_markers("walk.trc")
fit = pysim.motions.fit_markers(model, markers)
table = pysim.motions.coordinate_table(model, fit.times, fit.q)
pysim.motions.write_table("walk.mot", table)
forces = pysim.motions.inverse_dynamics(model, fit.times, fit.q, cutoff=6.0)
muscles = pysim.motions.static_optimization(model, fit.times, fit.q, cutoff=6.0)
"""

from __future__ import annotations

from pysim.motions.coordinate_tables import configurations, coordinate_table
from pysim.motions.external_loads import columns_at, read_external_loads
from pysim.motions.generalized_forces import GroundLoad, inverse_dynamics
from pysim.motions.marker_files import Markers, read_markers, write_markers
from pysim.motions.marker_fit import MarkerFit, fit_markers
from pysim.motions.motion_tables import MotionTable, read_table, write_table
from pysim.motions.static_optimization import Activations, static_optimization

__all__ = [
    "Activations",
    "GroundLoad",
    "MarkerFit",
    "Markers",
    "MotionTable",
    "columns_at",
    "configurations",
    "coordinate_table",
    "fit_markers",
    "inverse_dynamics",
    "read_external_loads",
    "read_markers",
    "read_table",
    "static_optimization",
    "write_markers",
    "write_table",
]
