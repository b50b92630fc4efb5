"""Optimisation of a scene's numbers by runs of many worlds."""

from __future__ import annotations

from pysim.optimisation.optimise import METHODS, OptimisationUpdate, Optimum, optimise

__all__ = ["METHODS", "OptimisationUpdate", "Optimum", "optimise"]
