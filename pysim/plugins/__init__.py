"""Plugins: users' classes that scenes find by name, and whose annotated fields are keys of scene tables."""
