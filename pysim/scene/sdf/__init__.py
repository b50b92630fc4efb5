"""Models and worlds in the Simulation Description Format (SDFormat)."""
