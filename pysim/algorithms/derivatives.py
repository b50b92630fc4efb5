"""Analytical derivatives: of forces and accelerations by the state, and of forces by where the joints are.

Like the algorithms, these are the engine's functions as they are.
"""

from __future__ import annotations

from pysim import _engine

aba_derivatives = _engine.aba_derivatives
passive_force_derivatives = _engine.passive_force_derivatives
placement_derivatives = _engine.placement_derivatives
rnea_derivatives = _engine.rnea_derivatives
twist_derivatives = _engine.twist_derivatives
