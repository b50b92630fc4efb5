"""Numbers in which worlds of a scene differ: their paths, and how they reach the engine."""
