"""Scene files: scenes are loaded with warnings of their starts, many at once, written in Python, and saved."""
