"""Elements: forces written in Python, which are traced once and run in the engine (see `pysim.forces`)."""
