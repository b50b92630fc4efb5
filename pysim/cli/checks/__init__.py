"""`pysim check`: its command, and what it prints of a model, its contacts, its steps and its environment."""
