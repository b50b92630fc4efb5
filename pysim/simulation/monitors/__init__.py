"""Judgement of a run while it goes on, and the causes of a run that fails."""
