"""Robots in the Unified Robot Description Format (URDF)."""
