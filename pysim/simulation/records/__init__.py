"""Records of a run: rows of its file, forces and checkpoints, and the functions that continue or replay it."""
