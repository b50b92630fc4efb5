"""Steppers of runs: steps of the engine and of Python, events, impacts and segments."""
