"""Judgement of a scene before it runs: its start, its step, its stability, its contacts."""
