"""Worlds: scenes that are loaded, the records of their states, and the steps that advance many of them."""
