"""Slow programs in plain NumPy that are obviously right."""
