"""Plots of recorded quantities, identifications and sweeps."""
