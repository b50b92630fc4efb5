"""Scene files read for many worlds that differ in numbers."""
