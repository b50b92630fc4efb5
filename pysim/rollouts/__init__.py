"""Rollouts: many worlds in one call, of models or of scenes."""
