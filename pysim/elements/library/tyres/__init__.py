"""Tyres on roads: brush model and Magic Formula, and files of their parameters."""
