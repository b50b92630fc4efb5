"""Mechanisms: specifications compiled into frozen models, joint by joint, constraint by constraint, event by event."""
