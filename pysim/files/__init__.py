"""Files of strangers: what is read, and how much of it, is bounded before memory is taken."""
