"""What a run leaves: rows of its file, forces, checkpoints, and what continues or replays them."""
