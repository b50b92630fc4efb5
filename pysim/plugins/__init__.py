"""Plugins: classes of users that are found by name, with fields that are keys of scene tables."""
