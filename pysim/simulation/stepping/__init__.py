"""How a run goes from one instant to the next: steps of the engine and of Python, events, impacts, segments."""
