"""Analysis: linearised scenes, their regulators, ranges of motion, and the forces of elements in given states."""
