"""Fittings, which join bodies in a picture: springs, dampers, rods, ropes, pins, guides and supports."""
